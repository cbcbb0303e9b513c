//! Replies of the Responses wire: recorded, made up, cut, doubled, shuffled and with holes.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};
use tack::model::{Stop, WireKind};
use tack::wire::fold::{Broken, Fold};
use tack::wire::prompt::{Message, Piece, Prompt, Role};
use tack::wire::provider::Quirks;
use tack::wire::sse::{Event, Parser};
use tack::wire::{self, Answer, AnswerPart, Delta, Progress};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/wire/responses");

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{FOLDER}/{name}")).unwrap()
}

fn names(ending: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(FOLDER)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(ending))
        .collect();
    names.sort();
    assert!(!names.is_empty());
    names
}

fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let (mut parser, mut events) = (Parser::default(), Vec::new());
    for piece in pieces {
        parser.feed(piece, &mut events).unwrap();
    }
    parser.finish(&mut events);
    events
}

fn recorded(name: &str) -> Vec<Event> {
    parse([fixture(name).as_slice()])
}

fn deltas(events: &[Event]) -> Vec<Delta> {
    let mut decoder = wire::of(WireKind::Responses).decoder();
    events.iter().flat_map(|event| decoder.event(&event.name, &event.data)).collect()
}

/// The answer, and the texts that a listener heard.
fn listen(events: &[Event]) -> (Result<Answer, Broken>, String) {
    let (mut fold, mut heard) = (Fold::default(), String::new());
    for delta in deltas(events) {
        if let Some(Progress::Text(text)) = fold.push(delta) {
            heard.push_str(&text);
        }
    }
    (fold.finish(), heard)
}

fn answer(events: &[Event]) -> Result<Answer, Broken> {
    listen(events).0
}

fn body(body: &Value) -> Result<Answer, Broken> {
    let mut fold = Fold::default();
    for delta in wire::of(WireKind::Responses).decoder().body(body) {
        fold.push(delta);
    }
    fold.finish()
}

/// Unnamed events with this data.
fn made(data: &[Value]) -> Vec<Event> {
    data.iter().map(|data| Event { name: String::new(), data: data.to_string() }).collect()
}

fn kind(event: &Event) -> String {
    let data: Value = serde_json::from_str(&event.data).unwrap();
    data["type"].as_str().unwrap().to_owned()
}

fn is_last(event: &Event) -> bool {
    ["response.completed", "response.incomplete"].contains(&kind(event).as_str())
}

/// Whether the last event repeats the whole answer.
fn tells_all(events: &[Event]) -> bool {
    let last: Value = serde_json::from_str(&events.last().unwrap().data).unwrap();
    last["response"]["output"].as_array().is_some_and(|output| !output.is_empty())
}

fn texts(answer: &Answer) -> String {
    let text = |part: &AnswerPart| match part {
        AnswerPart::Text(text) => Some(text.clone()),
        AnswerPart::Thinking { .. } | AnswerPart::Call { .. } => None,
    };
    answer.parts.iter().filter_map(text).collect()
}

/// `name(args)#id` for each call.
fn calls(answer: &Answer) -> Vec<String> {
    let call = |part: &AnswerPart| match part {
        AnswerPart::Call { id, name, args } => {
            Some(format!("{name}({args})#{}", id.as_deref().unwrap_or("-")))
        }
        AnswerPart::Text(_) | AnswerPart::Thinking { .. } => None,
    };
    answer.parts.iter().filter_map(call).collect()
}

fn show(answer: &Answer) -> Value {
    let part = |part: &AnswerPart| match part {
        AnswerPart::Text(text) => json!({"text": text}),
        AnswerPart::Thinking { text, field, seal } => json!({"thinking": text, "field": field, "seal": seal}),
        AnswerPart::Call { id, name, args } => json!({"call": name, "id": id, "args": args}),
    };
    let parts: Vec<Value> = answer.parts.iter().map(part).collect();
    json!({"parts": parts, "stop": answer.stop, "usage": answer.usage})
}

#[test]
fn every_fixture_reads_as_recorded() {
    for name in names(".sse") {
        let (answer, heard) = listen(&recorded(&name));
        let answer = answer.unwrap_or_else(|broken| panic!("{name}: {broken:?}"));
        assert_eq!(heard, texts(&answer), "{name}");
        insta::assert_json_snapshot!(name, show(&answer));
    }
    for name in names(".json") {
        let answer = body(&serde_json::from_slice(&fixture(&name)).unwrap());
        insta::assert_json_snapshot!(name.clone(), show(&answer.unwrap()));
    }
}

#[test]
fn a_stream_cut_before_its_last_event_is_no_answer() {
    for name in names(".sse") {
        let events = recorded(&name);
        for end in 0..events.len() {
            assert!(answer(&events[..end]).is_err(), "{name} after {end} events");
        }
    }
}

#[test]
fn an_end_mark_does_not_make_half_a_call_whole() {
    let done = Event { name: String::new(), data: "[DONE]".into() };
    for name in names(".sse") {
        let events = recorded(&name);
        let whole = answer(&events).unwrap();
        for end in 0..events.len() {
            let cut = [&events[..end], std::slice::from_ref(&done)].concat();
            let Ok(answer) = answer(&cut) else { continue };
            let told = calls(&whole);
            assert!(calls(&answer).iter().all(|call| told.contains(call)), "{name} after {end} events");
        }
        let after = [events.as_slice(), std::slice::from_ref(&done)].concat();
        assert_eq!(answer(&after), Ok(whole), "{name}");
    }
    // Without the last event but with all items, the mark is enough.
    let events = recorded("made-openai-parallel.sse");
    let cut = [&events[..events.len() - 1], std::slice::from_ref(&done)].concat();
    assert_eq!(calls(&answer(&cut).unwrap()).len(), 2);
}

#[test]
fn events_told_twice_count_once() {
    for name in names(".sse") {
        let events = recorded(&name);
        let doubled: Vec<Event> = events.iter().flat_map(|event| [event.clone(), event.clone()]).collect();
        assert_eq!(answer(&doubled), answer(&events), "{name}");
        let again = [events.as_slice(), events.as_slice()].concat();
        assert_eq!(answer(&again), answer(&events), "{name}");
    }
}

/// The recording without the events that `keep` refuses; the last one stays.
fn only(events: &[Event], keep: impl Fn(&str) -> bool) -> Vec<Event> {
    events.iter().filter(|event| is_last(event) || keep(&kind(event))).cloned().collect()
}

#[test]
fn any_sort_of_event_may_be_missing_or_be_the_only_one() {
    for name in names(".sse") {
        let events = recorded(&name);
        if !tells_all(&events) {
            continue;
        }
        let whole = answer(&events).unwrap();
        let others = events.iter().filter(|event| !is_last(event));
        for sort in others.map(kind).collect::<BTreeSet<String>>() {
            for some in [only(&events, |kind| kind == sort), only(&events, |kind| kind != sort)] {
                let (answer, heard) = listen(&some);
                assert_eq!(answer.unwrap(), whole, "{name}: {sort}");
                // Several items are heard as far as events told of them.
                let single = whole.parts.len() == 1;
                assert!(!single || heard == texts(&whole), "{name}: {sort}: {heard}");
            }
        }
    }
}

#[test]
fn an_answer_that_the_last_event_does_not_repeat_is_put_together() {
    for name in names(".sse") {
        let events = recorded(&name);
        let whole = answer(&events).unwrap();
        let bare = |mut some: Vec<Event>| {
            let last = some.last_mut().unwrap();
            let mut data: Value = serde_json::from_str(&last.data).unwrap();
            data["response"].as_object_mut().unwrap().remove("output");
            last.data = data.to_string();
            answer(&some).unwrap()
        };
        if events.len() > 1 {
            let items = bare(only(&events, |kind| kind == "response.output_item.done"));
            assert_eq!((items.parts, items.stop), (whole.parts.clone(), whole.stop.clone()), "{name}");
            let pieces = bare(only(&events, |kind| !kind.ends_with(".done")));
            if name != "made-only-items.sse" && name != "made-new-ids.sse" {
                assert_eq!((calls(&pieces), texts(&pieces)), (calls(&whole), texts(&whole)), "{name}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_cut_of_the_bytes_gives_the_same_deltas(pick in any::<prop::sample::Index>(), sizes in prop::collection::vec(1usize..300, 1..20)) {
        let names = names(".sse");
        let bytes = fixture(pick.get(names.as_slice()).as_str());
        let (mut pieces, mut rest, mut at) = (Vec::new(), bytes.as_slice(), 0);
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(sizes[at % sizes.len()].min(rest.len()));
            pieces.push(piece);
            (rest, at) = (more, at + 1);
        }
        prop_assert_eq!(deltas(&parse(pieces)), deltas(&parse([bytes.as_slice()])));
        prop_assert_eq!(deltas(&parse(bytes.chunks(1))), deltas(&parse([bytes.as_slice()])));
    }

    /// The last event knows better than any order, hole or stranger among the others.
    #[test]
    fn a_stream_in_any_order_gives_the_same_answer(
        pick in any::<prop::sample::Index>(),
        order in prop::collection::vec(any::<u16>(), 80),
        dropped in prop::collection::vec(any::<bool>(), 80),
    ) {
        let names = names(".sse");
        let events = recorded(pick.get(names.as_slice()).as_str());
        prop_assume!(tells_all(&events));
        let (last, others) = events.split_last().unwrap();
        let mut mixed: Vec<(u16, Event)> = order.iter().copied().chain(std::iter::repeat(0)).zip(others.to_vec()).collect();
        for number in order.iter().take(5) {
            let data = json!({"type": "response.news", "delta": "x", "item_id": "?", "item": {"type": "news"}}).to_string();
            mixed.push((*number, Event { name: "response.news".into(), data }));
        }
        mixed.sort_by_key(|(number, _)| *number);
        let kept = mixed.into_iter().zip(dropped.into_iter().chain(std::iter::repeat(false)));
        let mut mixed: Vec<Event> = kept.filter(|(_, drop)| !drop).map(|((_, event), _)| event).collect();
        mixed.push(last.clone());
        prop_assert_eq!(answer(&mixed).unwrap(), answer(&events).unwrap());
    }

    /// Whatever a server sends, reading it does not panic.
    #[test]
    fn no_event_panics(
        data in "[\\[\\]{}\":,a-z0-9 ]{0,60}",
        kind in prop::sample::select(vec![
            "response.output_text.delta", "response.output_item.added", "response.output_item.done", "error",
            "response.completed", "response.failed", "response.function_call_arguments.done", "",
        ]),
        field in prop::sample::select(vec!["delta", "item", "response", "error", "arguments", "output_index"]),
    ) {
        let mut decoder = wire::of(WireKind::Responses).decoder();
        decoder.event(kind, &data);
        decoder.event("", &format!("{{\"type\":\"{kind}\",\"{field}\":{data}}}"));
        decoder.event("", &format!("{{\"type\":\"{kind}\",\"{field}\":{{\"type\":\"function_call\",\"output\":{data}}}}}"));
        if let Ok(value) = serde_json::from_str(&data) {
            decoder.body(&value);
        }
    }
}

#[test]
fn errors_break_the_stream_in_any_shape() {
    let text = json!({"type": "response.output_text.delta", "item_id": "m", "delta": "par"});
    let failed =
        |error: Value| json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    let cases = [
        (
            json!({"type": "error", "code": "rate_limit_exceeded", "message": "boom", "param": null}),
            Some("rate_limit_exceeded"),
        ),
        (json!({"type": "error", "code": null, "message": "boom"}), None),
        (
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "boom"}}),
            Some("overloaded_error"),
        ),
        (json!({"error": {"message": "boom", "code": 503}}), Some("503")),
        (json!({"error": "boom"}), None),
        (failed(json!({"code": "server_error", "message": "boom"})), Some("server_error")),
        (
            json!({"type": "response.completed", "response": {"status": "failed", "error": {"message": "boom"}}}),
            None,
        ),
    ];
    for (event, kind) in cases {
        let broken = answer(&made(&[text.clone(), event.clone()])).unwrap_err();
        assert_eq!(broken.error, Some(("boom".to_owned(), kind.map(str::to_owned))), "{event}");
        assert_eq!(broken.partial, "par");
    }
    for (event, words) in [
        (failed(Value::Null), "failed"),
        (json!({"type": "response.cancelled", "response": {"status": "cancelled"}}), "cancelled"),
    ] {
        let broken = answer(&made(&[event])).unwrap_err();
        assert!(broken.error.unwrap().0.contains(words));
    }
    let named = parse([b"event: error\ndata: {\"code\":1,\"msg\":\"boom\"}\n\n".as_slice()]);
    assert_eq!(answer(&named).unwrap_err().error.unwrap().0, "boom");
}

#[test]
fn a_body_that_is_no_answer_is_none() {
    for (whole, words) in [
        (json!({"error": {"message": "boom"}}), Some("boom")),
        (
            json!({"object": "response", "status": "failed", "error": {"message": "boom"}, "output": []}),
            Some("boom"),
        ),
        (
            json!({"object": "response", "status": "cancelled", "error": null, "output": []}),
            Some("cancelled"),
        ),
        (json!({"object": "response", "status": "in_progress", "output": []}), None),
        (json!({"object": "response", "status": "queued", "output": []}), None),
        (json!({}), None),
        (json!([]), None),
    ] {
        let error = body(&whole).unwrap_err().error;
        assert_eq!(error.is_some(), words.is_some(), "{whole}");
        assert!(error.is_none_or(|(said, _)| said.contains(words.unwrap())), "{whole}");
    }
}

#[test]
fn garbage_and_other_dialects_are_no_empty_success() {
    for data in ["<html>", "{\"a", "{}", "{\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}", "[]", "null"] {
        let event = Event { name: String::new(), data: data.into() };
        let mut decoder = wire::of(WireKind::Responses).decoder();
        assert_eq!(decoder.event(&event.name, &event.data), [], "{data}");
        assert_eq!(decoder.skipped(), 1, "{data}");
        assert!(answer(&[event]).is_err(), "{data}");
    }
}

#[test]
fn a_call_that_met_the_limit_is_cut_whatever_the_server_calls_it() {
    let item = |args: Value, status: &str| json!({"type": "function_call", "call_id": "a", "name": "write", "arguments": args, "status": status});
    let stop = |item: Value| {
        let response = json!({"status": "completed", "output": [item]});
        answer(&made(&[json!({"type": "response.completed", "response": response})])).unwrap().stop
    };
    assert_eq!(stop(item(json!("{\"text\":\"beg"), "completed")), Stop::Length);
    assert_eq!(stop(item(json!("{\"text\":\"all\"}"), "incomplete")), Stop::Length);
    assert_eq!(stop(item(json!("{\"text\":\"all\"}"), "completed")), Stop::Calls);
    assert_eq!(stop(item(json!({"text": "all"}), "completed")), Stop::Calls);
    assert_eq!(stop(item(json!(""), "completed")), Stop::Calls);
}

#[test]
fn calls_stay_apart_where_a_server_gives_all_of_them_one_number() {
    let added = |id: &str| {
        json!({"type": "response.output_item.added", "output_index": 0,
        "item": {"type": "function_call", "id": id, "call_id": format!("call_{id}"), "name": id, "arguments": ""}})
    };
    let delta = |id: &str, text: &str| {
        json!({"type": "response.function_call_arguments.delta", "output_index": 0,
        "item_id": id, "delta": text})
    };
    let done = json!({"type": "response.completed", "response": {"status": "completed"}});
    let events = [
        added("x"),
        added("y"),
        delta("y", "{\"b\":"),
        delta("x", "{\"a\":"),
        delta("x", "1}"),
        delta("y", "2}"),
        done,
    ];
    assert_eq!(calls(&answer(&made(&events)).unwrap()), ["x({\"a\":1})#call_x", "y({\"b\":2})#call_y"]);
}

#[test]
fn deltas_that_name_no_item_go_to_the_open_one() {
    let delta = |text: &str| json!({"type": "response.output_text.delta", "delta": text});
    let done = json!({"type": "response.completed", "response": {"status": "completed", "usage": null}});
    let (answer, heard) = listen(&made(&[delta("a"), delta("b"), done]));
    assert_eq!(answer.unwrap().parts, [AnswerPart::Text("ab".into())]);
    assert_eq!(heard, "ab");
}

/// What a model thought goes back as the server needs it, and the rest of the reply with it.
#[test]
fn reasoning_and_calls_survive_the_way_there_and_back() {
    let replay = |name: &str, quirks: &Quirks| {
        let answer = answer(&recorded(name)).unwrap();
        let pieces = answer.parts.into_iter().map(|part| match part {
            AnswerPart::Text(text) => Piece::Text(text),
            AnswerPart::Thinking { text, field, seal } => Piece::Thinking { text, field, seal },
            AnswerPart::Call { id, name, args } => Piece::Call { id: id.unwrap(), name, args },
        });
        let messages = vec![Message { role: Role::Assistant, pieces: pieces.collect() }];
        let prompt = Prompt { messages, ..Prompt::default() };
        let wire = wire::of(WireKind::Responses);
        wire.encode(&prompt, &super::wire_encode::model(), quirks)["input"].clone()
    };
    let plain = Quirks::default();
    insta::assert_json_snapshot!("replay", replay("made-openai-reasoning-call.sse", &plain));
    let shown = replay("made-vllm-thought.sse", &plain);
    assert_eq!(
        shown[0],
        json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "We need to write."}]})
    );
    let open = Quirks { no_sealed_reasoning: true, ..Quirks::default() };
    assert_eq!(replay("made-vllm-thought.sse", &open), shown);
    assert_eq!(replay("made-openai-reasoning-call.sse", &open)[0]["type"], "function_call");
}
