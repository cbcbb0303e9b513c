//! Servers that are down, wrong, busy, poorer than hoped, or send what no server should: each ends
//! in one sentence or in the right reply, and the exit code and the last event agree.

use serde_json::{Value, json};

use crate::bad::row;
use crate::kit::{Tack, on_every_wire, wire};
use crate::server::*;

on_every_wire! {
    a_server_that_cannot_serve_is_named_with_its_words_and_the_way_out,
    a_server_that_still_loads_is_waited_for,
    silence_ends_at_every_stage,
    garbage_ends_in_a_sentence_and_not_in_a_wait,
}

/// What is wrong, and the reply that shows it.
type Row = (&'static str, fn() -> Reply);

/// Runs the same prompt as text and as JSON, and checks that they agree.
fn both(server: impl Fn() -> Server, more: &str, code: i32) -> (Tack, crate::kit::Ran) {
    let first = server();
    let tack = Tack::new(&first);
    tack.config(&(std::fs::read_to_string(tack.home().join("config.toml")).unwrap() + more));
    let as_json = tack.run(["exec", "--json", "hi"]);
    assert_eq!(as_json.code, code, "{}\n{}", as_json.stdout, as_json.stderr);
    assert!(!as_json.stderr.contains("panicked"), "{}", as_json.stderr);
    let last = as_json.events().pop().unwrap();
    assert_eq!(last["type"] == "turn.completed", code == 0, "{last}");
    let second = server();
    let tack = Tack::new(&second);
    tack.config(&(std::fs::read_to_string(tack.home().join("config.toml")).unwrap() + more));
    let ran = tack.run(["-p", "hi"]);
    assert_eq!(ran.code, code, "{}", ran.stderr);
    if let Some(message) = last["error"]["message"].as_str() {
        let words: String = message.chars().take(40).collect();
        assert!(ran.stderr.contains(&words), "{message}\nis not in\n{}", ran.stderr);
    }
    (tack, ran)
}

fn a_server_that_cannot_serve_is_named_with_its_words_and_the_way_out() {
    let table: &[Row] = &[
        ("unknown model", || error(404, "The model `mock` does not exist")),
        ("wrong path", || text_body(404, "text/html", PAGE)),
        ("a web page", || text_body(200, "text/html", PAGE)),
        ("wrong key", || error(401, "Incorrect API key provided")),
        ("nothing left", || error(402, "Insufficient credits")),
        ("come back later", || error(429, "Rate limit exceeded").header("retry-after", "11180")),
        ("no tools", || error(400, "registry.ollama.ai/library/mock does not support tools")),
        ("context too small", || error(400, "the request exceeds the available context size (512 tokens)")),
        ("other mistake", || error(400, "messages: field required")),
        ("empty body", || text_body(200, "application/json", "")),
        ("JSON of something else", || text_body(200, "application/json", "{\"status\":\"ok\"}")),
        ("an error in the stream", || sse([txt("a"), fails("out of memory")])),
        ("an empty stream", || sse([])),
        ("only the end mark", || sse([done()])),
        ("closes at once", hangs_up),
    ];
    let mut text = String::new();
    for (what, reply) in table {
        let (tack, ran) = both(|| Server::start((0..12).map(|_| reply()).collect()), "", 1);
        assert_eq!(ran.stdout, "", "{what}");
        text += &row(what, &tack, &ran);
        // Nothing is lost: the prompt is there to go on from.
        assert!(std::fs::read_to_string(&tack.logs()[0]).unwrap().contains("\"hi\""), "{what}");
    }
    insta::assert_snapshot!(
        format!("a_server_that_cannot_serve_is_named_with_its_words_and_the_way_out-{}", wire().name()),
        text
    );
}

const PAGE: &str = "<!doctype html><title>Not here</title>";

#[test]
fn a_server_that_is_not_there_is_named_with_its_start() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut text = String::new();
    for (what, model, key) in [
        ("a known local server", "ollama/qwen3", "model_providers.ollama.base_url"),
        ("one of the user's own", "mine/m", "model_providers.mine.base_url"),
    ] {
        let tack = Tack::bare();
        let set = format!("{key}=http://{free}/v1");
        let ran = tack.run(["-p", "hi", "-m", model, "-c", &set]).code(1);
        text += &row(what, &tack, &ran);
    }
    insta::assert_snapshot!(text);
}

fn a_server_that_still_loads_is_waited_for() {
    let loading = || error(503, "Loading model");
    let (tack, ran) = both(|| Server::start(vec![loading(), loading(), says("ready")]), "", 0);
    assert_eq!(ran.stdout, "ready\n");
    insta::assert_snapshot!("a_server_that_still_loads_is_waited_for", row("loading", &tack, &ran));
}

fn silence_ends_at_every_stage() {
    let short = "stream_idle_timeout_ms = 300\n";
    let table: &[Row] = &[
        ("after the role", || sse([delta(&json!({"role": "assistant"})), Frame::Hang])),
        ("in the middle of the text", || sse([txt("half"), Frame::Hang])),
        ("in the middle of an event", || sse([raw("data: {\"choices\":["), Frame::Hang])),
        ("in the middle of a body", || sse([raw("{\"error\":"), Frame::Hang])),
        ("in the middle of a call", || sse([call(0, "a", "bash", "{\"command\":\"touch BAD"), Frame::Hang])),
    ];
    let mut text = String::new();
    for (what, reply) in table {
        let (tack, ran) = both(|| Server::start((0..9).map(|_| reply()).collect()), short, 1);
        assert!(!tack.work().join("BAD").exists());
        text += &row(what, &tack, &ran);
    }
    insta::assert_snapshot!("silence_ends_at_every_stage", text);
    // Before the first byte a slow machine may take minutes; the run's own limit holds there too.
    for reply in [silent(), sse([Frame::Hang])] {
        let server = Server::start(vec![reply]);
        let ran = Tack::new(&server).run(["exec", "--json", "hi", "--timeout", "1"]).code(3);
        assert_eq!(ran.events().pop().unwrap()["type"], "turn.failed");
    }
}

#[test]
fn odd_streams_give_the_same_reply() {
    let whole = |frames: Vec<Frame>| sse(frames);
    let chunk = |choices: Value| json!({"choices": choices}).to_string();
    let hello = |index: u32| chunk(json!([{"index": index, "delta": {"content": "hello"}}]));
    let stop = chunk(json!([{"index": 0, "delta": {}, "finish_reason": "stop"}]));
    let table: Vec<(&str, Reply)> = vec![
        ("byte-order mark", whole(vec![raw(b"\xef\xbb\xbf"), txt("hello"), end("stop"), done()])),
        ("split UTF-8", whole(vec![txt("hello"), end("stop"), done()]).flush(1)),
        (
            "carriage returns",
            whole(vec![raw(format!("data: {}\r\n\r\ndata: {stop}\r\n\r\ndata: [DONE]\r\n\r\n", hello(0)))]),
        ),
        (
            "lone carriage returns",
            whole(vec![raw(format!("data: {}\r\rdata: {stop}\r\rdata: [DONE]\r\r", hello(0)))]),
        ),
        (
            "comments and other fields",
            whole(vec![
                raw(": PROCESSING\n\nevent: message\nid: 7\nretry: 10\n"),
                txt("hello"),
                raw(":\n\n"),
                end("stop"),
                done(),
            ]),
        ),
        ("no DONE", whole(vec![txt("hello"), end("stop")])),
        (
            "empty and null choices",
            whole(vec![
                event(&json!({"choices": []})),
                txt("hello"),
                event(&json!({"choices": null})),
                event(&json!({})),
                end("stop"),
            ]),
        ),
        ("no blank after data", whole(vec![raw(format!("data:{}\n\ndata:{stop}\n\n", hello(0)))])),
        (
            "data over two lines",
            whole(vec![
                raw("data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"hello\"}}]}\n\n"),
                end("stop"),
            ]),
        ),
        (
            "a garbage line",
            whole(vec![raw("garbage without a field\n\n"), txt("hello"), end("stop"), done()]),
        ),
        (
            "a whole JSON body",
            json_body(
                200,
                &json!({"choices": [{"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}]}),
            ),
        ),
        (
            "huge id and strange names",
            whole(vec![
                event(
                    &json!({"id": "x".repeat(200_000), "model": "m\u{1b}[2J", "object": 7, "created": "never",
                "choices": [{"index": 0, "delta": {"content": "hello", "role": 3}}]}),
                ),
                end("stop"),
            ]),
        ),
    ];
    for (what, reply) in table {
        let server = Server::start(vec![reply]);
        let ran = Tack::new(&server).run(["-p", "hi"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "hello\n"), "{what}: {}", ran.stderr);
        assert_eq!(server.requests().len(), 1, "{what}");
    }
}

fn garbage_ends_in_a_sentence_and_not_in_a_wait() {
    let table: &[Row] = &[
        ("an endless line", || sse(std::iter::repeat_n(raw("x".repeat(1 << 20)), 80))),
        ("broken JSON", || {
            sse([raw("data: {\"choices\": [{\"delta\": {\"content\": \"he\n\n"), end("stop")])
        }),
        ("deep JSON", || sse([raw(format!("data: {}\n\n", "[".repeat(100_000)))])),
        ("binary", || sse([raw((0..=255u8).cycle().take(70_000).collect::<Vec<_>>())])),
    ];
    let mut text = String::new();
    for (what, reply) in table {
        let (tack, ran) = both(|| Server::start((0..9).map(|_| reply()).collect()), "", 1);
        text += &row(what, &tack, &ran);
    }
    insta::assert_snapshot!("garbage_ends_in_a_sentence_and_not_in_a_wait", text);
}

#[test]
fn calls_with_reused_or_missing_marks_are_all_answered() {
    let function =
        |command: &str| json!({"name": "bash", "arguments": json!({"command": command}).to_string()});
    let one = |index: Value, id: Value, command: &str| json!({"index": index, "id": id, "function": function(command)});
    let table = [
        (
            "the same index twice",
            vec![
                delta(&json!({"tool_calls": [one(json!(0), json!("a"), "echo A >> ran")]})),
                delta(&json!({"tool_calls": [one(json!(0), json!("b"), "echo B >> ran")]})),
            ],
        ),
        (
            "the same id twice",
            vec![
                delta(&json!({"tool_calls": [one(json!(0), json!("a"), "echo A >> ran")]})),
                delta(&json!({"tool_calls": [one(json!(1), json!("a"), "echo B >> ran")]})),
            ],
        ),
        (
            "no index, all in one chunk",
            vec![delta(
                &json!({"tool_calls": [one(Value::Null, json!("a"), "echo A >> ran"), one(Value::Null, json!("b"), "echo B >> ran")]}),
            )],
        ),
        (
            "empty ids",
            vec![delta(
                &json!({"tool_calls": [one(json!(0), json!(""), "echo A >> ran"), one(json!(1), json!(""), "echo B >> ran")]}),
            )],
        ),
        (
            "no ids",
            vec![delta(
                &json!({"tool_calls": [one(json!(0), Value::Null, "echo A >> ran"), one(json!(1), Value::Null, "echo B >> ran")]}),
            )],
        ),
        (
            "an index from nowhere",
            vec![
                delta(&json!({"tool_calls": [one(json!(4_000_000_000_u64), json!("a"), "echo A >> ran")]})),
                delta(&json!({"tool_calls": [one(json!(-1), json!("b"), "echo B >> ran")]})),
            ],
        ),
    ];
    for (what, mut frames) in table {
        frames.extend([end("tool_calls"), done()]);
        let server = Server::start(vec![sse(frames), says("ok")]);
        let tack = Tack::new(&server);
        let ran = tack.run(["-p", "x"]);
        assert_eq!(ran.code, 0, "{what}: {}", ran.stderr);
        assert_eq!(tack.read("ran"), "A\nB\n", "{what}");
        valid_history(&server.requests()[1].chat()).unwrap_or_else(|wrong| panic!("{what}: {wrong}"));
    }
}
