//! The scripted server itself: what it says on each wire, and what it refuses.

use std::io::{Read, Write};

use serde_json::{Value, json};
use tack::model::WireKind;

use super::strict::check;
use super::*;

const WIRES: [(WireKind, &str); 3] = [
    (WireKind::Chat, "/chat/completions"),
    (WireKind::Responses, "/responses"),
    (WireKind::Messages, "/messages"),
];

fn seal() -> Seal {
    Seal("1".into())
}

/// Posts by hand, and gives what follows the head.
fn post(server: &Server, path: &str, body: &Value) -> String {
    let address = server.url().strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let body = body.to_string();
    write!(stream, "POST /v1{path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply.split_once("\r\n\r\n").unwrap().1.to_owned()
}

fn least(wire: WireKind) -> Value {
    let user = json!([{"role": "user", "content": "hi"}]);
    match wire {
        WireKind::Chat => json!({"model": "m", "messages": user}),
        WireKind::Responses => {
            json!({"model": "m", "input": "hi", "include": ["reasoning.encrypted_content"],
            "tools": [{"type": "custom", "name": "patch"}]})
        }
        WireKind::Messages => json!({"model": "m", "messages": user, "max_tokens": 1}),
    }
}

#[test]
fn one_script_is_said_in_the_events_of_each_wire() {
    let script = || {
        sse([
            thought("hm"),
            txt("I "),
            txt("look."),
            call(0, "a", "bash", "{\"command\":"),
            delta(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"ls\"}"}}]})),
            call(1, "b", "patch", "{\"text\":\"x\"}"),
            end("tool_calls"),
            usage(11, 2),
            done(),
        ])
    };
    let mut text = String::new();
    for (wire, path) in WIRES {
        let server =
            Server::start(vec![script(), sse([txt("half"), end("length")]), sse([fails("it broke")])]);
        for _ in 0..3 {
            text += &post(&server, path, &least(wire));
        }
    }
    for (pattern, shown) in
        [(r"(resp|msg|fc|ctc|rs|call)_\d{8}", "${1}_1"), (r"sealed-(\w+)-\d+-[0-9a-f]{16}", "sealed-$1")]
    {
        text = regex::Regex::new(pattern).unwrap().replace_all(&text, shown).into_owned();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn errors_have_the_shape_of_each_wires_service() {
    let mut text = String::new();
    for (wire, path) in WIRES {
        let server = Server::start(vec![error(529, "busy"), no_images(), too_long(9000, 4096)]);
        for _ in 0..3 {
            text += &(post(&server, path, &least(wire)) + "\n");
        }
    }
    insta::assert_snapshot!(text);
}

/// A turn with reasoning, text, a call, its answer and an image, on each wire.
fn history(wire: WireKind) -> Value {
    let url = "data:image/png;base64,iVBOR";
    let tool = json!({"type": "object", "properties": {}});
    match wire {
        WireKind::Chat => json!({"model": "m", "messages": [
            {"role": "system", "content": "rules"},
            {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}]},
            {"role": "assistant", "content": "I look.", "reasoning_content": "hm", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{\"x\":1}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "out"},
        ], "tools": [{"type": "function", "function": {"name": "bash", "description": "d", "parameters": tool}}]}),
        WireKind::Responses => json!({"model": "m", "store": false, "instructions": "rules", "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": url}]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": seal().make(wire, "hm")},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "a", "name": "bash", "arguments": "{\"x\":1}"},
            {"type": "function_call_output", "call_id": "a", "output": "out"},
        ], "tools": [{"type": "function", "name": "bash", "description": "d", "parameters": tool}]}),
        WireKind::Messages => json!({"model": "m", "max_tokens": 9000, "system": "rules",
            "thinking": {"type": "enabled", "budget_tokens": 2000}, "messages": [
            {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR"}}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": seal().make(wire, "hm")},
                {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "a", "name": "bash", "input": {"x": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "out"}]},
        ], "tools": [{"name": "bash", "description": "d", "input_schema": tool}]}),
    }
}

#[test]
fn every_wires_request_is_seen_as_the_same_chat() {
    let mut expected = history(WireKind::Chat);
    expected.as_object_mut().unwrap().shift_remove("model");
    for (wire, _) in WIRES {
        let body = history(wire);
        check(wire, &body, &seal()).unwrap();
        let mut seen = view::chat(wire, &body);
        seen.as_object_mut().unwrap().shift_remove("model");
        assert_eq!(seen, expected, "{}", wire.name());
        valid_history(&seen).unwrap();
    }
}

/// Applied to [`history`]: where, and what is put there (null: it is taken away).
type Break = (&'static str, Value);

#[test]
fn what_a_service_refuses_is_refused() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let chat: Vec<Break> = vec![
        ("/messages/3", json!({"role": "user", "content": "no answer"})),
        ("/messages/3/tool_call_id", json!("b")),
        ("/messages/1/content", json!("")),
        ("/messages/1/role", json!("system")),
        ("/messages/1/role", json!("tool")),
        ("/messages/2/tool_calls/0/id", json!("x".repeat(41))),
        ("/messages/2/tool_calls/0/id", json!("")),
        ("/messages/2/tool_calls", json!([])),
        ("/messages/2/tool_calls/0/function/arguments", json!("{")),
        ("/messages/2/tool_calls/0/function/name", json!("a b")),
        ("/messages/1/content/1/image_url/url", json!("http://x")),
        ("/stream_options", json!({})),
        ("/tools", json!([])),
        ("/tools/0/function/parameters", json!({})),
        ("/model", Value::Null),
    ];
    let responses: Vec<Break> = vec![
        ("/input/4/call_id", json!("b")),
        ("/input/4/type", json!("custom_tool_call_output")),
        ("/input/4", json!({"role": "user", "content": "no answer"})),
        ("/input/3/call_id", json!("x".repeat(65))),
        ("/input/3/arguments", json!("{")),
        ("/input/3/id", json!("msg_1")),
        ("/input/2", json!({"role": "user", "content": "nothing after reasoning"})),
        ("/input/2/content", json!([])),
        ("/input/2/content/0/type", json!("input_text")),
        ("/input/2/type", json!("item_reference")),
        ("/input/1/encrypted_content", json!("another's")),
        ("/input/1/encrypted_content", Value::Null),
        ("/input/0/content", json!("")),
        ("/max_tokens", json!(10)),
        ("/max_output_tokens", json!(10)),
        ("/tools/0/strict", json!(true)),
        ("/tools/0/type", json!("bash")),
    ];
    let messages: Vec<Break> = vec![
        ("/max_tokens", Value::Null),
        ("/max_tokens", json!(2000)),
        ("/messages/0/role", json!("assistant")),
        ("/messages/1/role", json!("user")),
        ("/messages/0/content", text(" \n")),
        ("/messages/0/content", json!([])),
        ("/messages/2/content", text("no answer")),
        ("/messages/2/content/0/tool_use_id", json!("b")),
        ("/messages/2/content/0/content", text("")),
        ("/messages/1/content/2/input", json!("{}")),
        ("/messages/1/content/2/id", json!("a b")),
        ("/messages/1/content/2/name", json!("")),
        ("/messages/1/content/0/signature", json!("another's")),
        ("/messages/1/content/0/thinking", json!("changed")),
        ("/messages/1/content/0", json!({"type": "text", "text": "no thinking first"})),
        ("/temperature", json!(0)),
        ("/tools", Value::Null),
        ("/tools/0/name", json!("a.b")),
        ("/stop", json!(["x"])),
    ];
    for (wire, breaks) in [chat, responses, messages].into_iter().enumerate() {
        let wire = WIRES[wire].0;
        for (place, put) in breaks {
            let mut body = history(wire);
            let (parent, last) = place.rsplit_once('/').unwrap();
            let parent = body.pointer_mut(parent).unwrap();
            match last.parse::<usize>() {
                Ok(at) => parent[at] = put.clone(),
                Err(_) => parent[last] = put.clone(),
            }
            assert!(check(wire, &body, &seal()).is_err(), "{} {place} = {put}", wire.name());
        }
    }
}

#[test]
fn an_answer_comes_before_other_words_and_marks_are_counted() {
    let wire = WireKind::Messages;
    let mut body = history(wire);
    body["messages"][2]["content"].as_array_mut().unwrap().push(json!({"type": "text", "text": "and"}));
    check(wire, &body, &seal()).unwrap();
    body["messages"][2]["content"].as_array_mut().unwrap().reverse();
    assert!(check(wire, &body, &seal()).is_err());

    let mut body = history(wire);
    let mark = json!({"type": "ephemeral"});
    for place in ["/messages/0/content/0", "/messages/0/content/1", "/messages/2/content/0", "/tools/0"] {
        body.pointer_mut(place).unwrap()["cache_control"] = mark.clone();
    }
    check(wire, &body, &seal()).unwrap();
    body["messages"][1]["content"][1]["cache_control"] = mark;
    assert!(check(wire, &body, &seal()).is_err());

    let mut body = least(wire);
    body["messages"].as_array_mut().unwrap().push(json!({"role": "assistant", "content": "so "}));
    assert!(check(wire, &body, &seal()).is_err());
}

#[test]
fn a_broken_rule_is_answered_and_fails_the_test_at_the_end() {
    for (wire, path) in WIRES {
        let server = Server::start(vec![]);
        let mut body = least(wire);
        body["model"] = Value::Null;
        assert!(post(&server, path, &body).contains("model: field required"));
        let end = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(server)));
        assert!(end.is_err());
    }
}

#[test]
fn history_check_sees_missing_double_and_stray_results() {
    let assistant = json!({"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": ""});
    let check = |messages: Vec<Value>| valid_history(&json!({"messages": messages})).is_ok();
    assert!(check(vec![assistant.clone(), result("b"), result("a")]));
    assert!(!check(vec![assistant.clone(), result("a")]));
    assert!(!check(vec![assistant.clone(), result("a"), result("a"), result("b")]));
    assert!(!check(vec![assistant.clone(), result("a"), json!({"role": "user"}), result("b")]));
    assert!(!check(vec![assistant.clone(), result("a"), result("b"), assistant]));
    assert!(!check(vec![result("a")]));
}
