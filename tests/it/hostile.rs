//! What a server or an edited log may hold against tack: counts that overflow, seals that are none.

use serde_json::{Value, json};
use tack::model::WireKind;

use crate::kit::{Tack, on_every_wire, wire};
use crate::server::*;

on_every_wire! {
    seals_that_were_edited_in_the_log_do_not_reach_the_server,
    counts_beyond_all_numbers_are_counted_as_far_as_numbers_go,
    a_second_reply_behind_the_end_of_the_first_is_none,
    a_reply_of_endless_parts_is_broken_off,
}

/// The log with every seal replaced.
fn reseal(tack: &Tack, seal: &Value) {
    let path = &tack.logs()[0];
    let mut lines = String::new();
    let mut sealed = 0;
    for mut line in tack.log() {
        for part in line.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten() {
            if part["part"] == "thinking" {
                part["seal"] = seal.clone();
                sealed += 1;
            }
        }
        lines += &format!("{line}\n");
    }
    assert_eq!(sealed, 1, "{lines}");
    std::fs::write(path, lines).unwrap();
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!({ "a": inner }))
}

fn seals_that_were_edited_in_the_log_do_not_reach_the_server() {
    let seals = [
        json!(null),
        json!(7),
        json!([]),
        json!({}),
        json!({"encrypted_content": null}),
        json!({"encrypted_content": 7, "summary": "none"}),
        json!({"summary": 7, "content": [{"a": 1}]}),
        json!({"signature": 7}),
        json!({"redacted": {"a": 1}}),
        json!({"reasoning_details": 7}),
        json!({"reasoning_details": [7]}),
        json!({"extra_content": {"0": 7}}),
        nested(60),
    ];
    // On messages, reasoning without any seal is that of a service that signs none.
    let unsigned = |seal: &Value| seal.is_null() && wire() == WireKind::Messages;
    for seal in seals.into_iter().filter(|seal| !unsigned(seal)) {
        let args = json!({"command": "true"}).to_string();
        let reply = sse([thought("hmm"), call(0, "a", "bash", &args), end("tool_calls"), done()]);
        // The server fails the test when it meets anything that the services refuse.
        let server = Server::start(vec![reply]);
        let tack = Tack::new(&server);
        tack.run(["-p", "x"]).code(0);
        reseal(&tack, &seal);
        tack.run(["exec", "resume", "--last", "again"]).code(0);
        let request = &server.requests()[2];
        let body = request.body.to_string();
        for garbage in ["encrypted_content\"", "signature", "redacted", "reasoning_details", "extra_content"]
        {
            // What is asked for is named too.
            let body = body.replace("reasoning.encrypted_content", "");
            assert!(!body.contains(garbage), "{seal}: {body}");
        }
    }
}

fn counts_beyond_all_numbers_are_counted_as_far_as_numbers_go() {
    for count in [json!(u64::MAX), json!(1e300), json!(-5), json!("12"), json!(null), json!({"a": 1})] {
        let counts = json!({
            "prompt_tokens": count, "completion_tokens": count, "total_tokens": count,
            "input_tokens": count, "output_tokens": count,
            "cache_read_input_tokens": count, "cache_creation_input_tokens": count,
            "prompt_tokens_details": {"cached_tokens": count},
            "completion_tokens_details": {"reasoning_tokens": count},
            "input_tokens_details": {"cached_tokens": count, "cache_write_tokens": count},
            "output_tokens_details": {"reasoning_tokens": count, "thinking_tokens": count},
        });
        let part = json!({"type": "output_text", "text": "ok"});
        let said = json!({"type": "message", "role": "assistant", "content": [part]});
        let body = match wire() {
            WireKind::Chat => {
                json!({"usage": counts, "choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]})
            }
            WireKind::Responses => {
                json!({"object": "response", "status": "completed", "output": [said], "usage": counts})
            }
            WireKind::Messages => {
                json!({"content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn", "usage": counts})
            }
        };
        let server = Server::start(vec![json_body(200, &body)]);
        let ran = Tack::new(&server).run(["exec", "--json", "x"]).code(0);
        let last = ran.events().pop().unwrap();
        let most = if count.as_f64().is_some_and(|count| count > 0.0) { u64::MAX } else { 0 };
        assert_eq!(last["usage"]["input_tokens"], most, "{count}");
        assert_eq!(last["usage"]["output_tokens"], most, "{count}");
    }
}

fn a_second_reply_behind_the_end_of_the_first_is_none() {
    let args = json!({"command": "echo x >> ran"}).to_string();
    let reply = |id: &str| vec![call(0, id, "bash", &args), end("tool_calls"), done()];
    let server = Server::start(vec![sse([reply("a"), reply("b")].concat())]);
    let tack = Tack::new(&server);
    tack.run(["-p", "x"]).code(0);
    assert_eq!(tack.read("ran"), "x\n");
}

fn a_reply_of_endless_parts_is_broken_off() {
    let part = |n: u32| match wire() {
        WireKind::Chat => {
            json!({"choices": [{"delta": {"tool_calls": [{"index": n, "id": format!("c{n}")}]}}]})
        }
        WireKind::Responses => {
            json!({"type": "response.output_text.delta", "item_id": format!("m{n}"), "delta": "a"})
        }
        WireKind::Messages => {
            json!({"type": "content_block_start", "index": n, "content_block": {"type": "text", "text": "a"}})
        }
    };
    let reply = || sse((0..6000).map(part).map(|part| event(&part)));
    let server = Server::start(vec![reply(), reply()]);
    let ran = Tack::new(&server).run(["-p", "x"]).code(1);
    assert!(ran.stderr.contains("more than 4096 parts"), "{}", ran.stderr);
}

#[test]
fn a_seal_too_deep_for_the_log_does_not_cost_the_reply() {
    let sealed = json!({"type": "reasoning.encrypted", "data": nested(122)});
    let args = json!({"command": "true"}).to_string();
    let details = delta(&json!({"reasoning_details": [sealed]}));
    let server = Server::start(vec![sse([details, call(0, "a", "bash", &args), end("tool_calls"), done()])]);
    let tack = Tack::new(&server);
    tack.run(["-p", "x"]).code(0);
    let again = tack.run(["exec", "resume", "--last", "again"]).code(0);
    assert!(!again.stderr.contains("damaged"), "{}", again.stderr);
    assert!(server.requests()[2].said().contains("\"tool_calls\""));
}
