//! One-shot runs whose last message has to fit a schema: held by the server, or asked for in words,
//! checked in any case, and asked for once more.

use serde_json::{Value, json};

use crate::kit::{Ran, Tack};
use crate::server::*;

const CITY: &str = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}"#;
const OSLO: &str = r#"{"city":"Oslo"}"#;

fn tack(server: &Server) -> Tack {
    let tack = Tack::new(server);
    tack.file("schema.json", CITY);
    tack
}

fn run(tack: &Tack, more: &[&str]) -> Ran {
    tack.run([&["exec", "--json", "--output-schema", "schema.json", "which city?"], more].concat())
}

/// The text of the last message event.
fn last_message(ran: &Ran) -> String {
    let mut said = ran.events().into_iter().filter(|event| event["item"]["type"] == "agent_message");
    said.next_back().map(|event| event["item"]["text"].as_str().unwrap().to_owned()).unwrap_or_default()
}

fn messages(request: &Request) -> String {
    request.body["messages"].to_string()
}

#[test]
fn an_answer_that_fits_ends_the_turn_and_the_schema_holds_for_that_turn_only() {
    for answer in [OSLO.to_owned(), format!("```json\n{OSLO}\n```"), format!("\n {OSLO}\n")] {
        let server = Server::start(vec![
            calls("a", "bash", &json!({"command": "echo looked"})),
            says(&answer),
            says("free words"),
        ]);
        let tack = tack(&server);
        let ran = run(&tack, &["-o", "last"]).code(0);
        assert_eq!((last_message(&ran).as_str(), tack.read("last").as_str()), (OSLO, OSLO));
        let after = tack.run(["exec", "resume", "--last", "and now?"]).code(0);
        assert_eq!(after.stdout, "free words\n");
        let requests = server.requests();
        assert_eq!(requests.len(), 3);
        assert!(messages(&requests[0]).contains("JSON Schema"), "{}", messages(&requests[0]));
        for request in &requests {
            assert!(request.body.get("response_format").is_none());
            assert!(request.body.get("tools").is_some());
            valid_history(&request.body).unwrap();
        }
    }
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again_where_a_local_server_holds_it() {
    let server = Server::start(vec![says("It is Oslo."), says(OSLO)]);
    let ran = run(&tack(&server), &[]).code(0);
    assert_eq!(last_message(&ran), OSLO);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let again = &requests[1].body;
    assert!(again.get("tools").is_none(), "{again}");
    let schema: Value = serde_json::from_str(CITY).unwrap();
    assert_eq!(again["response_format"]["json_schema"]["schema"], schema);
    let asked = again["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    assert!(asked.contains("not JSON") && asked.contains(CITY), "{asked}");
}

#[test]
fn an_answer_that_never_fits_fails_the_turn_after_two_requests() {
    let server = Server::start(vec![says(r#"{"city":7}"#), says(r#"{"town":"Oslo"}"#), says(OSLO)]);
    let ran = run(&tack(&server), &[]).code(1);
    assert_eq!(server.requests().len(), 2);
    assert!(messages(&server.requests()[1]).contains("/city"));
    let events = ran.events();
    let last = events.last().unwrap();
    assert_eq!(last["type"], "turn.failed");
    let message = last["error"]["message"].as_str().unwrap();
    assert!(message.contains("output schema") && message.contains("city"), "{message}");
}

#[test]
fn a_server_that_takes_no_schema_is_asked_in_words_with_one_warning() {
    for refusal in [
        "'response_format' of type 'json_schema' is not supported",
        "Invalid schema for response_format 'answer': 'additionalProperties' is required to be false",
    ] {
        let server = Server::with(vec![says("Oslo"), says(OSLO)], move |request| {
            request.body.get("response_format").map(|_| error(400, refusal))
        });
        let ran = run(&tack(&server), &[]).code(0);
        assert_eq!(last_message(&ran), OSLO);
        let warned = ran.events().into_iter().filter(|event| event["item"]["type"] == "error").count();
        assert_eq!(warned, 1, "{}", ran.stdout);
        assert_eq!(server.requests().len(), 3);
        assert!(server.requests()[2].body.get("tools").is_some());
    }
}

#[test]
fn work_that_is_handed_in_by_a_call_or_a_block_ends_in_the_wanted_form_too() {
    let submit = || says("DISCUSSION\nDone.\n\n```\nsubmit\n```");
    let server = Server::start(vec![submit(), submit(), says(OSLO)]);
    let ran = run(&tack(&server), &["--harness", "swe-agent"]).code(0);
    assert_eq!(last_message(&ran), OSLO);
    let server = Server::start(vec![says(OSLO)]);
    let ran = run(&tack(&server), &["--harness", "swe-agent"]).code(0);
    assert_eq!(last_message(&ran), OSLO);
    assert_eq!(server.requests().len(), 1);
    let last = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && echo '{\"city\":\"Oslo\"}'";
    let server = Server::start(vec![calls("a", "bash", &json!({ "command": last }))]);
    let ran = run(&tack(&server), &["--harness", "mini-swe-agent"]).code(0);
    assert_eq!(last_message(&ran), OSLO);
}

#[test]
fn handing_in_the_same_once_more_is_an_answer_too_where_repeats_are_not_run() {
    let submit = |id| calls(id, "finish", &json!({"answer": "in Oslo"}));
    let server = Server::start(vec![submit("a"), submit("b")]);
    let ran = run(&tack(&server), &["--harness", "minimal", "-m", "local-1.5b-instruct"]).code(1);
    assert!(ran.stdout.contains("asked twice"), "{}", ran.stdout);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_schema_that_cannot_be_used_is_said_before_anything_is_sent() {
    let server = Server::start(vec![]);
    let tack = tack(&server);
    std::fs::create_dir(tack.work().join("folder")).unwrap();
    tack.file("words", "city");
    tack.file("latin", b"{\"\xe9\":1}");
    tack.file("type", r#"{"type":"strin"}"#);
    tack.file("elsewhere", r#"{"$ref":"file:///etc/hostname"}"#);
    for name in ["nowhere", "folder", "words", "latin", "type", "elsewhere"] {
        let ran = tack.run(["exec", "--json", "--output-schema", name, "x"]).code(2);
        assert!(ran.stderr.contains(name) && ran.stderr.contains("schema"), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
    assert!(server.requests().is_empty());
}
