//! Replies on the Messages wire: recorded, documented, damaged.

use proptest::prelude::*;
use serde_json::{Value, json};
use tack::model::{Model, Stop, WireKind};
use tack::wire::client::HttpClient;
use tack::wire::fold::{Broken, Fold};
use tack::wire::prompt::{Message, Prompt, Role};
use tack::wire::provider::{Provider, Secret};
use tack::wire::sse::{Event, Parser};
use tack::wire::{self, Answer, AnswerPart, Client, Decoder, Delta};
use tokio_util::sync::CancellationToken;

use super::server::{Server, raw, sse};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/wire/messages");

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{FOLDER}/{name}")).unwrap()
}

/// Names of the fixtures that are replies, with this ending, in order.
fn replies(ending: &str) -> Vec<String> {
    let names = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names
        .map(|name| name.into_string().unwrap())
        .filter(|name| name.ends_with(ending) && !name.starts_with("err-"))
        .collect();
    names.sort();
    names
}

fn decoder() -> Box<dyn Decoder> {
    wire::of(WireKind::Messages).decoder()
}

fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let (mut parser, mut events) = (Parser::default(), Vec::new());
    for piece in pieces {
        parser.feed(piece, &mut events).unwrap();
    }
    parser.finish(&mut events);
    events
}

fn fold(deltas: impl IntoIterator<Item = Delta>) -> Result<Answer, Broken> {
    let mut fold = Fold::default();
    for delta in deltas {
        fold.push(delta);
    }
    fold.finish()
}

fn answer<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Answer, Broken> {
    let mut decoder = decoder();
    fold(events.into_iter().flat_map(|event| decoder.event(&event.name, &event.data)))
}

fn stream(bytes: &[u8]) -> Result<Answer, Broken> {
    answer(&parse([bytes]))
}

/// A stream of these events, without names.
fn events(events: &[Value]) -> Result<Answer, Broken> {
    let unnamed = |event: &Value| Event { name: String::new(), data: event.to_string() };
    answer(&events.iter().map(unnamed).collect::<Vec<_>>())
}

fn begin(index: Option<i64>, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn add(index: Option<i64>, field: &str, text: &str) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": {"type": "x", field: text}})
}

fn stop(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "read", "input": {}})
}

/// An answer as readable JSON.
fn show(answer: &Answer) -> Value {
    let part = |part: &AnswerPart| match part {
        AnswerPart::Text(text) => json!({"text": text}),
        AnswerPart::Thinking { text, field, seal } => json!({"thinking": text, "field": field, "seal": seal}),
        AnswerPart::Call { id, name, args } => json!({"call": name, "id": id, "args": args}),
    };
    let parts: Vec<Value> = answer.parts.iter().map(part).collect();
    json!({"parts": parts, "stop": answer.stop, "usage": answer.usage})
}

/// Texts as they are, `name(args)#id` for each call.
fn shown(answer: &Answer) -> Vec<String> {
    let part = |part: &AnswerPart| match part {
        AnswerPart::Text(text) => text.clone(),
        AnswerPart::Thinking { text, .. } => format!("<{text}>"),
        AnswerPart::Call { id, name, args } => format!("{name}({args})#{}", id.as_deref().unwrap_or("-")),
    };
    answer.parts.iter().map(part).collect()
}

#[test]
fn every_fixture_reads_as_recorded() {
    for name in replies(".sse") {
        let answer = stream(&fixture(&name)).unwrap_or_else(|broken| panic!("{name}: {broken:?}"));
        insta::assert_json_snapshot!(name, show(&answer));
    }
    for name in replies(".json") {
        let body: Value = serde_json::from_slice(&fixture(&name)).unwrap();
        let answer = fold(decoder().body(&body)).unwrap_or_else(|broken| panic!("{name}: {broken:?}"));
        insta::assert_json_snapshot!(name, show(&answer));
    }
}

#[tokio::test]
async fn a_request_goes_to_the_path_and_with_the_version_of_the_api() {
    let reply = || sse([raw(String::from_utf8(fixture("made-tool-use.sse")).unwrap())]);
    let server = Server::start(vec![reply(), reply()]);
    let mut provider = Provider::new("test", server.url());
    let model = Model { wire: WireKind::Messages, ..super::wire_encode::model() };
    let messages = vec![Message::text(Role::User, "hi")];
    let prompt = Prompt { messages, stream: true, ..Prompt::default() };
    for version in ["2023-06-01", "2030-01-01"] {
        let client = HttpClient::new(provider.clone()).unwrap();
        let answer = client.ask(&model, &prompt, &mut |_| {}, &CancellationToken::new()).await.unwrap();
        assert_eq!(shown(&answer), ["I look into the file.", "read({\"path\": \"a.txt\"})#toolu_01A"]);
        let requests = server.requests();
        let request = requests.last().unwrap();
        assert_eq!(request.path, "/v1/messages");
        assert_eq!(request.header("anthropic-version"), Some(version));
        // The user's own wins.
        provider.headers = vec![("anthropic-version".into(), Secret::new("2030-01-01"))];
    }
}

#[test]
fn what_is_heard_on_the_way_is_what_the_answer_holds() {
    for name in replies(".sse") {
        let (mut decoder, mut fold, mut heard) = (decoder(), Fold::default(), String::new());
        for event in parse([fixture(&name).as_slice()]) {
            for delta in decoder.event(&event.name, &event.data) {
                if let Some(wire::Progress::Text(text)) = fold.push(delta) {
                    heard.push_str(&text);
                }
            }
        }
        assert_eq!(decoder.skipped(), 0, "{name}");
        let texts = fold.finish().unwrap().parts.into_iter().filter_map(|part| match part {
            AnswerPart::Text(text) => Some(text),
            AnswerPart::Thinking { .. } | AnswerPart::Call { .. } => None,
        });
        assert_eq!(texts.collect::<String>(), heard, "{name}");
    }
}

/// Before the reason for the end, a reply is broken; after it, it is whole.
#[test]
fn a_stream_cut_after_any_event_is_broken_or_whole() {
    for name in replies(".sse") {
        let all = parse([fixture(&name).as_slice()]);
        let reason = all.iter().position(|event| event.data.contains("\"message_delta\"")).unwrap();
        let whole = shown(&answer(&all).unwrap());
        for cut in 0..all.len() {
            match answer(&all[..cut]) {
                Ok(answer) => assert!(cut > reason && shown(&answer) == whole, "{name} at {cut}"),
                Err(broken) => assert!(cut <= reason && broken.error.is_none(), "{name} at {cut}"),
            }
        }
    }
}

#[test]
fn doubled_events_and_unknown_ones_change_nothing() {
    let is_delta = |event: &Event| event.data.contains("\"content_block_delta\"");
    let strange = [
        json!({"type": "content_block_flush", "index": 0}),
        json!({"type": "content_block_delta", "index": 77, "delta": {"type": "new_delta", "value": 1}}),
        json!({"type": "content_block_start", "index": 78, "content_block": {"type": "new_block"}}),
        json!({"type": "content_block_start", "index": 79}),
        json!({"type": "content_block_stop", "index": 80}),
        json!({"type": "ping"}),
        json!({"type": "note", "message": "all is well"}),
    ];
    for name in replies(".sse") {
        let all = parse([fixture(&name).as_slice()]);
        let expected = answer(&all).unwrap();
        let mut doubled = Vec::new();
        let mut mixed = Vec::new();
        for event in &all {
            doubled.extend(std::iter::repeat_n(event.clone(), if is_delta(event) { 1 } else { 2 }));
            mixed.push(event.clone());
            let odd = strange.iter().map(|odd| Event { name: "odd".into(), data: odd.to_string() });
            mixed.extend(odd);
        }
        assert_eq!(answer(&doubled).unwrap(), expected, "{name} doubled");
        assert_eq!(answer(&mixed).unwrap(), expected, "{name} mixed");
    }
}

#[test]
fn names_of_events_do_not_matter() {
    for name in replies(".sse") {
        let all = parse([fixture(&name).as_slice()]);
        let renamed = |to: &str| -> Vec<Event> {
            all.iter().map(|event| Event { name: to.to_owned(), ..event.clone() }).collect()
        };
        for other in ["", "message", "content_block_delta"] {
            assert_eq!(answer(&renamed(other)).unwrap(), answer(&all).unwrap(), "{name} as {other:?}");
        }
    }
}

#[test]
fn blocks_are_told_apart_whatever_a_server_does_with_indexes() {
    let text = || json!({"type": "text", "text": ""});
    let cases: Vec<(&str, Vec<Value>, Vec<&str>)> = vec![
        (
            "interleaved",
            vec![
                begin(Some(0), &call("a")),
                begin(Some(1), &call("b")),
                add(Some(1), "partial_json", "{\"p\":"),
                add(Some(0), "partial_json", "{\"q\":"),
                add(Some(1), "partial_json", "1}"),
                add(Some(0), "partial_json", "2}"),
            ],
            vec!["read({\"q\":2})#a", "read({\"p\":1})#b"],
        ),
        (
            "in the wrong order",
            vec![begin(Some(1), &call("a")), begin(Some(0), &text()), add(Some(0), "text", "first")],
            vec!["first", "read({})#a"],
        ),
        (
            "without indexes",
            vec![
                begin(None, &text()),
                add(None, "text", "x"),
                begin(None, &call("a")),
                add(None, "partial_json", "{\"p\":1}"),
                begin(None, &call("b")),
            ],
            vec!["x", "read({\"p\":1})#a", "read({})#b"],
        ),
        (
            "one index for all",
            vec![
                begin(Some(0), &text()),
                add(Some(0), "text", "x"),
                json!({"type": "content_block_stop", "index": 0}),
                begin(Some(0), &call("a")),
                add(Some(0), "partial_json", "{\"p\":1}"),
                json!({"type": "content_block_stop", "index": 0}),
                begin(Some(0), &call("b")),
                add(Some(0), "partial_json", "{\"p\":2}"),
            ],
            vec!["x", "read({\"p\":1})#a", "read({\"p\":2})#b"],
        ),
        (
            "pieces before their start, and texts without one",
            vec![
                add(Some(1), "partial_json", "{\"p\":"),
                begin(Some(1), &call("a")),
                add(Some(1), "partial_json", "1}"),
                add(Some(0), "text", "x"),
            ],
            vec!["x", "read({\"p\":1})#a"],
        ),
        (
            "arguments with the start: an object, a text, nothing",
            vec![
                begin(Some(0), &json!({"type": "tool_use", "id": "a", "name": "read", "input": {"p": 1}})),
                begin(Some(1), &json!({"type": "tool_use", "id": "b", "name": "read", "input": "{\"p\":2}"})),
                begin(Some(2), &json!({"type": "tool_use", "id": "c", "name": "read", "input": null})),
                begin(Some(3), &json!({"type": "tool_use", "id": "", "name": "read"})),
            ],
            vec!["read({\"p\":1})#a", "read({\"p\":2})#b", "read({})#c", "read({})#-"],
        ),
        (
            "text with the start, nonsense among the fields",
            vec![
                begin(Some(0), &json!({"type": "text", "text": "a"})),
                begin(Some(1), &json!(7)),
                json!({"type": "content_block_delta", "index": "0", "delta": {"text": 5, "thinking": null}}),
                json!({"type": "content_block_delta", "index": 0, "delta": null}),
                add(Some(0), "text", "b"),
            ],
            vec!["ab"],
        ),
        (
            "the server's own tools",
            vec![
                begin(Some(0), &json!({"type": "server_tool_use", "id": "s", "name": "search"})),
                add(Some(0), "partial_json", "{}"),
                begin(Some(1), &text()),
                add(Some(1), "text", "x"),
            ],
            vec!["x"],
        ),
    ];
    for (what, mut list, expected) in cases {
        list.push(stop("end_turn"));
        let answer = events(&list).unwrap();
        assert_eq!(shown(&answer), expected, "{what}");
    }
}

#[test]
fn what_comes_after_the_reason_is_still_in_its_place() {
    let late = [
        begin(Some(0), &call("a")),
        stop("tool_use"),
        add(Some(0), "partial_json", "{\"p\":1}"),
        json!({"type": "message_stop"}),
    ];
    assert_eq!(shown(&events(&late).unwrap()), ["read({\"p\":1})#a"]);
}

#[test]
fn reasons_are_mapped_and_unknown_ones_kept() {
    for (reason, expected) in [
        ("end_turn", Stop::Done),
        ("stop_sequence", Stop::Done),
        ("tool_use", Stop::Done), // no call came
        ("max_tokens", Stop::Length),
        ("model_context_window_exceeded", Stop::Length),
        ("refusal", Stop::Refused),
        ("pause_turn", Stop::Other("pause_turn".into())),
    ] {
        let answer = events(&[add(Some(0), "text", "a"), stop(reason)]).unwrap();
        assert_eq!(answer.stop, expected, "{reason}");
    }
    let with_call = events(&[begin(Some(0), &call("a")), stop("end_turn")]).unwrap();
    assert_eq!(with_call.stop, Stop::Calls);
}

/// An end mark alone is no reason: the reply broke somewhere before us.
#[test]
fn without_a_reason_a_reply_is_broken() {
    let text = add(Some(0), "text", "par");
    for end in [json!({"type": "message_stop"}), stop(""), json!({"type": "message_delta", "delta": null})] {
        let broken = events(&[text.clone(), end.clone()]).unwrap_err();
        assert_eq!(broken.partial, "par", "{end}");
    }
    assert!(stream(b"data: [DONE]\n\n").is_err());
    assert!(stream(b"").is_err());
}

#[test]
fn errors_in_the_stream_break_it_in_any_shape() {
    let text = add(Some(0), "text", "par");
    for (error, kind) in [
        (
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "boom"}}),
            Some("overloaded_error"),
        ),
        (json!({"error": {"message": "boom", "type": "server_error", "code": 500}}), Some("server_error")),
        (json!({"error": "boom"}), None),
        (json!({"type": "error", "message": "boom"}), Some("error")),
        (json!({"object": "error", "message": "boom"}), None),
    ] {
        let broken = events(&[text.clone(), error.clone(), stop("end_turn")]).unwrap_err();
        assert_eq!(broken.error, Some(("boom".into(), kind.map(str::to_owned))), "{error}");
        assert_eq!(broken.partial, "par");
    }
    let named = stream(b"event: error\ndata: {\"type\":\"api_error\",\"message\":\"boom\"}\n\n").unwrap_err();
    assert_eq!(named.error.unwrap().0, "boom");
    let overloaded = stream(&fixture("err-overloaded.sse")).unwrap_err();
    assert_eq!(overloaded.error, Some(("Overloaded".into(), Some("overloaded_error".into()))));
    // As a whole body with a status that says all is well.
    let body = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_eq!(fold(decoder().body(&body)).unwrap_err().error.unwrap().0, "Overloaded");
}

#[test]
fn events_of_another_api_are_counted() {
    let mut decoder = decoder();
    for data in ["<html>", "[1]", "null", "{}", "{\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}"] {
        assert_eq!(decoder.event("", data), [], "{data}");
    }
    assert_eq!(decoder.skipped(), 5);
}

#[test]
fn counts_are_cumulative_and_the_cached_ones_belong_to_the_input() {
    let start = |usage: Value| json!({"type": "message_start", "message": {"content": [], "usage": usage}});
    let end =
        |usage: Value| json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage});
    let cases = [
        (json!({"input_tokens": 5, "output_tokens": 1}), json!({"output_tokens": 9}), (5, 0, 0, 9)),
        (
            json!({"input_tokens": 5, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 7}),
            json!({"input_tokens": 0, "output_tokens": 9}),
            (32, 20, 7, 9),
        ),
        (
            json!({"input_tokens": 0, "output_tokens": 0}),
            json!({"input_tokens": 11, "cache_read_input_tokens": 4, "output_tokens": 2.0}),
            (15, 4, 0, 2),
        ),
        (json!(null), json!({"input_tokens": null, "output_tokens": 2}), (0, 0, 0, 2)),
    ];
    for (first, last, expected) in cases {
        let usage = events(&[start(first.clone()), end(last)]).unwrap().usage;
        let seen = (usage.input, usage.cached, usage.cache_write, usage.output);
        assert_eq!(seen, expected, "{first}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_cut_of_any_fixture_reads_the_same(
        pick in any::<prop::sample::Index>(),
        sizes in prop::collection::vec(1usize..200, 1..20),
    ) {
        let bytes = fixture(pick.get(replies(".sse").as_slice()).as_str());
        let (mut pieces, mut rest, mut at) = (Vec::new(), bytes.as_slice(), 0);
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(sizes[at % sizes.len()].min(rest.len()));
            pieces.push(piece);
            (rest, at) = (more, at + 1);
        }
        prop_assert_eq!(answer(&parse(pieces)), stream(&bytes));
        prop_assert_eq!(answer(&parse(bytes.chunks(1))), stream(&bytes));
    }

    /// Events of one block keep their order; how blocks are mixed does not matter.
    #[test]
    fn blocks_may_be_mixed_in_any_way(
        pick in any::<prop::sample::Index>(),
        order in prop::collection::vec(any::<u16>(), 0..200),
    ) {
        let all = parse([fixture(pick.get(replies(".sse").as_slice()).as_str()).as_slice()]);
        let index = |event: &Event| serde_json::from_str::<Value>(&event.data).ok()?["index"].as_i64();
        let mut queues: Vec<std::collections::VecDeque<&Event>> = Vec::new();
        for event in &all {
            if let Some(index) = index(event) {
                let index = usize::try_from(index).unwrap();
                queues.resize_with(queues.len().max(index + 1), Default::default);
                queues[index].push_back(event);
            }
        }
        let mut mixed: Vec<&Event> = all.iter().take_while(|event| index(event).is_none()).collect();
        let mut order = order.into_iter();
        while let Some(last) = queues.iter().rposition(|queue| !queue.is_empty()) {
            let from = usize::from(order.next().unwrap_or(0)) % (last + 1);
            let queue = if queues[from].is_empty() { last } else { from };
            mixed.extend(queues[queue].pop_front());
        }
        let end = all.iter().rposition(|event| index(event).is_some()).unwrap();
        mixed.extend(&all[end + 1..]);
        prop_assert_eq!(answer(mixed).unwrap(), answer(&all).unwrap());
    }

    /// Whatever a server sends, reading it does not panic.
    #[test]
    fn no_event_panics(data in "[\\[\\]{}\":,a-z0-9 ]{0,60}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut decoder = decoder();
        decoder.event("error", &data);
        for kind in ["content_block_start", "content_block_delta", "message_start", "message_delta", "error"] {
            for field in ["content_block", "delta", "message", "usage", "error", "index"] {
                decoder.event("", &format!("{{\"type\":\"{kind}\",\"{field}\":{data}}}"));
            }
        }
        let _ = stream(&bytes);
    }
}
