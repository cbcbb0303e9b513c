//! One-shot runs against streams as servers really send them, and calls that arrive as text.

use serde_json::{Value, json};
use tack::model::WireKind;

use crate::kit::{Tack, on_every_wire};
use crate::server::*;

on_every_wire! {
    utf8_survives_any_cut_of_the_stream,
    a_stream_that_ends_early_is_asked_for_again_and_shown_once,
    half_a_call_is_never_run,
    a_call_cut_by_the_token_limit_is_answered_and_not_run,
    reasoning_goes_back_with_its_tool_turn,
    a_server_that_wants_no_reasoning_back_gets_none,
    a_call_written_as_text_is_run_when_it_is_one,
    a_text_call_that_is_not_valid_is_corrected_twice_and_no_more,
    prose_that_holds_json_is_not_a_call,
}

fn utf8_survives_any_cut_of_the_stream() {
    let text = "修复方法 👩‍💻 naïve";
    let write = json!({"path": "a.txt", "content": "修👩‍💻"});
    for bytes in [1, 2, 3, 5, 7] {
        let server = Server::start(vec![calls("a", "write", &write).flush(bytes), says(text).flush(bytes)]);
        let tack = Tack::new(&server);
        let ran = tack.run(["exec", "--json", "x"]).code(0);
        assert_eq!(tack.read("a.txt"), "修👩‍💻");
        assert!(ran.events().iter().any(|event| event["item"]["text"] == text));
        let log = std::fs::read_to_string(&tack.logs()[0]).unwrap();
        for place in [&ran.stdout, &log, &server.requests()[1].body.to_string()] {
            assert!(!place.contains('\u{fffd}'), "{place}");
        }
    }
}

/// Chat alone has choices and indexes that may be missing; so has the next test.
#[test]
fn chunks_without_choices_and_null_fields_are_harmless() {
    let reply = sse([
        event(&json!({"choices": []})),
        delta(&json!({"role": "assistant", "content": null, "tool_calls": null})),
        txt("hello"),
        event(&json!({"choices": null})),
        end("stop"),
        usage(11, 2),
        done(),
    ]);
    let server = Server::start(vec![reply]);
    let ran = Tack::new(&server).run(["exec", "--json", "x"]).code(0);
    let last = ran.events().pop().unwrap();
    assert_eq!((&last["usage"]["input_tokens"], &last["usage"]["output_tokens"]), (&json!(11), &json!(2)));
}

#[test]
fn calls_without_an_index_are_told_apart() {
    let part = |fields: Value| delta(&json!({ "tool_calls": [fields] }));
    let open = |id: &str| {
        part(
            json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": "{\"command\":"}}),
        )
    };
    let more = |text: &str| part(json!({"function": {"arguments": text}}));
    let reply = sse([
        open("a"),
        more("\"echo A >> ran\"}"),
        open("b"),
        more("\"echo B >> ran\"}"),
        end("tool_calls"),
        done(),
    ]);
    let server = Server::start(vec![reply]);
    let tack = Tack::new(&server);
    tack.run(["-p", "x"]).code(0);
    assert_eq!(tack.read("ran"), "A\nB\n");
    let second = &server.requests()[1].chat();
    valid_history(second).unwrap();
    let results = second["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool");
    let ids: Vec<_> = results.map(|message| message["tool_call_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a", "b"]);
}

fn a_stream_that_ends_early_is_asked_for_again_and_shown_once() {
    let server = Server::start(vec![sse([txt("par")]), says("whole")]);
    let ran = Tack::new(&server).run(["-p", "x"]).code(0);
    assert_eq!(ran.stdout, "whole\n");
    assert_eq!(server.requests().len(), 2);

    let finished = Server::start(vec![sse([txt("hi"), end("stop")])]);
    assert_eq!(Tack::new(&finished).run(["-p", "x"]).code(0).stdout, "hi\n");
    assert_eq!(finished.requests().len(), 1);
}

fn half_a_call_is_never_run() {
    let half = || sse([call(0, "a", "bash", "{\"command\":\"touch BAD"), Frame::Cut]);
    let server = Server::start(vec![half(), half(), half(), half(), half(), half()]);
    let tack = Tack::new(&server);
    let ran = tack.run(["exec", "--json", "x"]).code(1);
    assert!(!tack.work().join("BAD").exists());
    assert!(server.requests().len() <= 3, "{} requests", server.requests().len());
    assert_eq!(ran.events().pop().unwrap()["type"], "turn.failed");
}

fn a_call_cut_by_the_token_limit_is_answered_and_not_run() {
    let server = Server::start(vec![
        sse([call(0, "a", "bash", "{\"command\":\"touch BAD\"}"), end("length"), done()]),
        says("shorter"),
    ]);
    let tack = Tack::new(&server);
    tack.run(["-p", "x"]).code(0);
    assert!(!tack.work().join("BAD").exists());
    valid_history(&server.requests()[1].chat()).unwrap();
}

fn reasoning_goes_back_with_its_tool_turn() {
    let server = Server::with(
        vec![
            sse([
                thought("think "),
                thought("hard"),
                call(0, "a", "bash", "{\"command\":\"true\"}"),
                end("tool_calls"),
                done(),
            ]),
            says("ok"),
        ],
        |request| {
            let messages = request.chat()["messages"].as_array()?.clone();
            let assistant = messages.iter().find(|message| message["tool_calls"].is_array())?;
            (assistant["reasoning_content"] != "think hard")
                .then(|| error(400, "the reasoning_content of the tool turn is missing"))
        },
    );
    let tack = Tack::new(&server);
    tack.run(["-p", "x", "--harness", "qwen-code"]).code(0);
}

fn a_server_that_wants_no_reasoning_back_gets_none() {
    let server = Server::with(
        vec![
            sse([
                thought("think"),
                call(0, "a", "bash", "{\"command\":\"true\"}"),
                end("tool_calls"),
                done(),
            ]),
            says("ok"),
        ],
        |request| {
            // The words of the wire's own service.
            let words = match request.wire() {
                WireKind::Chat => "reasoning_content is not allowed in the messages",
                WireKind::Responses => "The encrypted content gAAA could not be verified.",
                WireKind::Messages => "messages.1.content.0: Invalid `signature` in `thinking` block",
            };
            request.said().contains("reasoning_content").then(|| error(400, words))
        },
    );
    let ran = Tack::new(&server).run(["-p", "x"]).code(0);
    assert_eq!(ran.stdout, "ok\n");
    assert_eq!(server.requests().len(), 3);
    valid_history(&server.requests()[2].chat()).unwrap();
}

// Text that is a call.

fn a_call_written_as_text_is_run_when_it_is_one() {
    let object =
        "{\"name\": \"write_file\", \"arguments\": {\"file_path\":\"t.sh\",\"content\":\"ls -lah\\n\"}}";
    let xml = "<function=write_file><parameter=file_path>t.sh</parameter><parameter=content>ls -lah\n</parameter></function>";
    for text in [
        format!("```json\n{object}\n```"),
        object.to_owned(),
        format!("<tool_call>\n{object}\n</tool_call>"),
        format!("<tool_call>\n{xml}\n</tool_call>"),
    ] {
        let server = Server::start(vec![says(&text), says("done")]);
        let tack = Tack::new(&server);
        tack.run(["-p", "x", "--harness", "qwen-code"]).code(0);
        assert_eq!(tack.read("t.sh").trim_end(), "ls -lah", "{text}");
        let second = &server.requests()[1].chat();
        valid_history(second).unwrap();
        let messages = second["messages"].as_array().unwrap();
        assert!(messages.iter().any(|m| m["tool_calls"][0]["function"]["name"] == "write_file"), "{text}");
    }
}

fn a_text_call_that_is_not_valid_is_corrected_twice_and_no_more() {
    for text in [
        "```json\n{\"name\": \"no_such_tool\", \"arguments\": {\"path\":\"t.sh\",\"content\":\"x\"}}\n```",
        "```json\n{\"name\": \"write_file\", \"arguments\": {\"content\":\"x\"}}\n```",
    ] {
        let server = Server::start(vec![says(text), says(text), says(text), says(text), says(text)]);
        let tack = Tack::new(&server);
        let ran = tack.run(["-p", "x", "--harness", "qwen-code"]);
        assert!(!tack.work().join("t.sh").exists());
        assert!(server.requests().len() <= 3, "{} requests", server.requests().len());
        assert!(!ran.stderr.contains("panicked"));
    }
}

fn prose_that_holds_json_is_not_a_call() {
    let text = "You could use this:\n\n```json\n{\"name\": \"write_file\", \"arguments\": {\"file_path\":\"t.sh\",\"content\":\"x\"}}\n```\n\nIt is the shape of a call; the name says which tool is meant, and the arguments follow. I have not run it, since you asked only how it looks.";
    let server = Server::start(vec![says(text)]);
    let tack = Tack::new(&server);
    let ran = tack.run(["-p", "how does a call look?", "--harness", "qwen-code"]).code(0);
    assert!(!tack.work().join("t.sh").exists());
    assert!(ran.stdout.contains("You could use this"));
}
