//! The chat wire as pure code: recorded and made-up replies, and the requests it writes.

use proptest::prelude::*;
use serde_json::{Value, json};
use tack::model::{Stop, WireKind};
use tack::wire::fold::{Broken, Fold};
use tack::wire::prompt::{Message, Piece, Prompt, Role};
use tack::wire::provider::Quirks;
use tack::wire::sse::{Event, Parser};
use tack::wire::{self, Answer, AnswerPart, Delta};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/wire");

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{FOLDER}/{name}")).unwrap()
}

/// Names of the fixtures that are replies, in order.
fn replies() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(FOLDER)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".sse") || name.ends_with(".json"))
        .filter(|name| !name.starts_with("err-") || name.contains("role") || name.contains("tool"))
        .filter(|name| name != "err-bad-toolchoice.json")
        .collect();
    names.sort();
    names
}

fn stream<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Answer, Broken> {
    let (mut parser, mut events) = (Parser::default(), Vec::<Event>::new());
    for piece in pieces {
        parser.feed(piece, &mut events).unwrap();
    }
    parser.finish(&mut events);
    let mut decoder = wire::of(WireKind::Chat).decoder();
    fold(events.iter().flat_map(|event| decoder.event(&event.name, &event.data)))
}

fn body(body: &Value) -> Result<Answer, Broken> {
    fold(wire::of(WireKind::Chat).decoder().body(body))
}

fn fold(deltas: impl IntoIterator<Item = Delta>) -> Result<Answer, Broken> {
    let mut fold = Fold::default();
    for delta in deltas {
        fold.push(delta);
    }
    fold.finish()
}

/// A stream of these chunks.
fn chunks(chunks: &[Value]) -> Result<Answer, Broken> {
    let bytes: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    stream([bytes.as_bytes()])
}

/// A chunk whose delta has these calls.
fn calls(calls: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]})
}

fn stop(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// An answer as readable JSON.
fn show(answer: &Answer) -> Value {
    let part = |part: &AnswerPart| match part {
        AnswerPart::Text(text) => json!({"text": text}),
        AnswerPart::Thinking { text, field, .. } => json!({"thinking": text, "field": field}),
        AnswerPart::Call { id, name, args } => json!({"call": name, "id": id, "args": args}),
    };
    json!({
        "parts": answer.parts.iter().map(part).collect::<Vec<_>>(),
        "stop": answer.stop,
        "usage": answer.usage,
    })
}

/// `name(args)#id` for each call.
fn shown_calls(answer: &Answer) -> Vec<String> {
    let call = |part: &AnswerPart| match part {
        AnswerPart::Call { id, name, args } => {
            Some(format!("{name}({args})#{}", id.as_deref().unwrap_or("-")))
        }
        AnswerPart::Text(_) | AnswerPart::Thinking { .. } => None,
    };
    answer.parts.iter().filter_map(call).collect()
}

#[test]
fn every_fixture_reads_as_recorded() {
    let names = replies();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let bytes = fixture(&name);
        let answer = match name.ends_with(".sse") {
            true => stream([bytes.as_slice()]),
            false => body(&serde_json::from_slice(&bytes).unwrap()),
        };
        let answer = answer.unwrap_or_else(|broken| panic!("{name}: {broken:?}"));
        insta::assert_json_snapshot!(name, show(&answer));
    }
}

#[test]
fn one_byte_at_a_time_reads_the_same() {
    for name in replies().iter().filter(|name| name.ends_with(".sse")) {
        let bytes = fixture(name);
        assert_eq!(stream(bytes.chunks(1)), stream([bytes.as_slice()]), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_cut_of_any_fixture_reads_the_same(pick in any::<prop::sample::Index>(), sizes in prop::collection::vec(1usize..300, 1..20)) {
        let streams: Vec<String> = replies().into_iter().filter(|name| name.ends_with(".sse")).collect();
        let bytes = fixture(pick.get(streams.as_slice()).as_str());
        let (mut pieces, mut rest, mut at) = (Vec::new(), bytes.as_slice(), 0);
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(sizes[at % sizes.len()].min(rest.len()));
            pieces.push(piece);
            (rest, at) = (more, at + 1);
        }
        prop_assert_eq!(stream(pieces), stream([bytes.as_slice()]));
    }

    /// A stream cut anywhere is broken or whole, and what is whole holds no half call.
    #[test]
    fn a_cut_stream_never_gives_half_a_call(at in 0usize..3560) {
        let bytes = fixture("chat-toolcall-real.sse");
        let whole = shown_calls(&stream([bytes.as_slice()]).unwrap());
        if let Ok(answer) = stream([&bytes[..at]]) {
            prop_assert_eq!(shown_calls(&answer), whole);
        }
    }

    /// Whatever a server sends, reading it does not panic.
    #[test]
    fn no_event_panics(data in "[\\[\\]{}\":,a-z0-9 ]{0,60}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut decoder = wire::of(WireKind::Chat).decoder();
        decoder.event("", &data);
        for field in ["choices", "usage", "error"] {
            decoder.event("error", &format!("{{\"{field}\":{data}}}"));
        }
        let _ = stream([bytes.as_slice()]);
    }
}

#[test]
fn calls_are_told_apart_whatever_a_server_does_with_ids_and_indexes() {
    let f = |name: &str, args: &str| json!({"name": name, "arguments": args});
    let cases: Vec<(&str, Vec<Value>, Vec<&str>)> = vec![
        (
            "one index for all, new ids",
            vec![
                calls(&json!([{"index": 0, "id": "a", "function": f("x", "{}")}])),
                calls(&json!([{"index": 0, "id": "b", "function": f("y", "{\"k\"")}])),
                calls(&json!([{"index": 0, "function": {"arguments": ":1}"}}])),
            ],
            vec!["x({})#a", "y({\"k\":1})#b"],
        ),
        (
            "one index, no ids",
            vec![
                calls(&json!([{"index": 0, "function": f("x", "{\"a\":1}")}])),
                calls(&json!([{"index": 0, "function": f("x", "{\"a\":2}")}])),
            ],
            vec!["x({\"a\":1})#-", "x({\"a\":2})#-"],
        ),
        (
            "neither, in one event",
            vec![calls(&json!([{"function": f("x", "{}")}, {"function": f("y", "{}")}]))],
            vec!["x({})#-", "y({})#-"],
        ),
        (
            "id and name again in each delta",
            vec![
                calls(&json!([{"index": 0, "id": "a", "function": f("bash", "{\"c")}])),
                calls(&json!([{"index": 0, "id": "a", "function": f("bash", "\":1}")}])),
                calls(&json!([{"index": 0, "id": "a", "function": f("bash", "")}])),
            ],
            vec!["bash({\"c\":1})#a"],
        ),
        (
            "name in fragments, empty id, then null",
            vec![
                calls(&json!([{"index": 0, "id": "", "function": {"name": "ba"}}])),
                calls(&json!([{"index": 0, "id": null, "function": {"name": "sh", "arguments": null}}])),
                calls(&json!([{"index": 0, "function": {"arguments": "{}"}}])),
            ],
            vec!["bash({})#-"],
        ),
        (
            "an id that comes late",
            vec![
                calls(&json!([{"index": 0, "function": f("bash", "")}])),
                calls(&json!([{"index": 0, "id": "a", "function": {"arguments": "{}"}}])),
            ],
            vec!["bash({})#a"],
        ),
        (
            "two calls with one id under two indexes",
            vec![
                calls(&json!([{"index": 0, "id": "a", "function": f("x", "{}")}])),
                calls(&json!([{"index": 1, "id": "a", "function": f("y", "{}")}])),
            ],
            vec!["x({})#a", "y({})#a"],
        ),
        (
            "indexes that begin at one and leave gaps",
            vec![
                calls(&json!([{"index": 1, "id": "a", "function": f("x", "{")}])),
                calls(&json!([{"index": 5, "id": "b", "function": f("y", "{")}])),
                calls(
                    &json!([{"index": 1, "function": {"arguments": "}"}}, {"index": 5, "function": {"arguments": "}"}}]),
                ),
            ],
            vec!["x({})#a", "y({})#b"],
        ),
        (
            "null and nonsense among the calls",
            vec![calls(
                &json!([null, 7, {"index": "0", "id": "a", "function": f("x", "{}")}, {"function": null}]),
            )],
            vec!["x({})#a"],
        ),
        (
            "the older field",
            vec![
                json!({"choices": [{"delta": {"function_call": {"name": "x", "arguments": "{"}}}]}),
                json!({"choices": [{"delta": {"function_call": {"arguments": "}"}}}]}),
            ],
            vec!["x({})#-"],
        ),
    ];
    for (what, mut events, expected) in cases {
        events.push(stop("tool_calls"));
        let answer = chunks(&events).unwrap();
        assert_eq!(shown_calls(&answer), expected, "{what}");
        assert_eq!(answer.stop, Stop::Calls, "{what}");
    }
}

#[test]
fn reasons_are_mapped_and_unknown_ones_kept() {
    let text = json!({"choices": [{"delta": {"content": "a"}}]});
    for (reason, expected) in [
        ("stop", Stop::Done),
        ("length", Stop::Length),
        ("content_filter", Stop::Refused),
        ("tool_calls", Stop::Done), // none came
        ("abort", Stop::Other("abort".into())),
    ] {
        assert_eq!(chunks(&[text.clone(), stop(reason)]).unwrap().stop, expected, "{reason}");
    }
    // An empty reason is none.
    assert!(chunks(&[text, stop("")]).is_err());
}

#[test]
fn errors_in_the_stream_break_it_in_any_shape() {
    let text = json!({"choices": [{"delta": {"content": "par"}}]});
    for error in [
        json!({"error": "boom"}),
        json!({"error": {"message": "boom", "code": 500}}),
        json!({"error": {"error": {"message": "boom"}}}),
        json!({"error": {"message": "boom"}, "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]}),
        json!({"object": "error", "message": "boom"}),
    ] {
        let broken = chunks(&[text.clone(), error.clone(), stop("stop")]).unwrap_err();
        assert_eq!(broken.error.unwrap().0, "boom", "{error}");
        assert_eq!(broken.partial, "par");
    }
    let named = stream([b"event: error\ndata: {\"code\":1,\"msg\":\"boom\"}\n\n".as_slice()]).unwrap_err();
    assert_eq!(named.error.unwrap().0, "boom");
}

#[test]
fn nothing_but_garbage_is_no_empty_success() {
    for bytes in [
        "data: <html>\n\ndata: {\"a\n\ndata: [DONE]\n\n",
        "data: {}\n\n",
        "hello\n\n",
        "",
        "data: [DONE]\n\n",
    ] {
        assert!(stream([bytes.as_bytes()]).is_err(), "{bytes:?}");
    }
}

/// G22: what a model thought before a call goes back as it came.
#[test]
fn reasoning_and_calls_survive_the_way_there_and_back() {
    let answer = stream([fixture("made-deepseek.sse").as_slice()]).unwrap();
    let pieces = answer.parts.into_iter().map(|part| match part {
        AnswerPart::Text(text) => Piece::Text(text),
        AnswerPart::Thinking { text, field, seal } => Piece::Thinking { text, field, seal },
        AnswerPart::Call { id, name, args } => Piece::Call { id: id.unwrap(), name, args },
    });
    let messages = vec![Message { role: Role::Assistant, pieces: pieces.collect() }];
    let chat = wire::of(WireKind::Chat);
    let model = super::wire_encode::model();
    let body = chat.encode(&Prompt { messages, ..Prompt::default() }, &model, &Quirks::default());
    let function = json!({"name": "read", "arguments": "{\"path\":\"a.txt\"}"});
    assert_eq!(
        body["messages"][0],
        json!({
            "role": "assistant",
            "content": "I read it.",
            "reasoning_content": "The file is small.",
            "tool_calls": [{"id": "call_0_a", "type": "function", "function": function}],
        })
    );
}

#[test]
fn usage_is_found_wherever_it_is() {
    let counts = json!({"prompt_tokens": 11, "completion_tokens": 2, "prompt_cache_hit_tokens": 8});
    for event in [
        json!({"choices": [], "usage": counts}),
        json!({"choices": null, "usage": counts}),
        json!({"usage": counts}),
        json!({"choices": [{"delta": {}, "usage": counts}]}),
        json!({"choices": [], "x_groq": {"usage": counts}}),
    ] {
        let usage = chunks(&[event.clone(), stop("stop"), json!({"usage": null})]).unwrap().usage;
        assert_eq!((usage.input, usage.cached, usage.output), (11, 8, 2), "{event}");
    }
    // Reasoning that is counted beside the output belongs to it.
    let apart = json!({"usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 20,
        "completion_tokens_details": {"reasoning_tokens": 8}}});
    assert_eq!(chunks(&[apart, stop("stop")]).unwrap().usage.output, 10);
}
