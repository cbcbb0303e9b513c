//! What a session says of a request that failed, and what a key does about it: the real binary on a terminal.

use serde_json::{Value, json};

use crate::kit::Tack;
use crate::repl_kit::{EMPTY, idle, start};
use crate::server::*;
use crate::tty::{Shown, Tty};

/// The row over it after a turn that failed.
const OFFER: &str = "r retries · ↑ edits";

/// What the person said, in the requests for a reply.
fn asked(server: &Server) -> Vec<(Value, Vec<String>)> {
    let posts = server.requests().into_iter().filter(|request| request.method == "POST");
    let words = |request: Request| {
        let body = request.chat();
        let messages = body["messages"].as_array().unwrap();
        let own = messages.iter().filter(|message| message["role"] == "user");
        let said = own.filter_map(|message| message["content"].as_str());
        (request.body["model"].clone(), said.map(str::to_owned).collect())
    };
    posts.map(words).collect()
}

#[test]
fn what_failed_is_sent_again_by_a_key_and_said_once() {
    let server = Server::start(vec![error(500, "oops"), error(500, "oops"), says("there it is")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("find it\r");
    let shown = tty.wait_for("the offer", |shown| shown.has(OFFER));
    assert!(shown.has("✗ mock: server error 500: oops"), "{}", shown.rows.join("\n"));
    // Any other key types, and what was said can be had back.
    tty.keys("\x1b[A");
    tty.wait_for("the message", |shown| shown.count("› find it") == 2 && !shown.has(OFFER));
    tty.keys("\x03");
    tty.wait_for("the offer", |shown| shown.has(OFFER));
    tty.keys("r");
    tty.wait_for("the answer", |shown| shown.has("there it is") && idle(shown) && !shown.has(OFFER));
    let asked = asked(&server);
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[2], asked[0]);
    // Afterwards the letter is a letter.
    tty.keys("r");
    tty.wait_for("the letter", |shown| shown.has("› r") && !shown.has(EMPTY));
}

#[test]
fn a_session_that_ended_with_a_failure_can_be_asked_again() {
    let server = Server::start(vec![error(500, "oops"), error(500, "oops"), says("there it is")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("find it\r");
    tty.wait_for("the offer", |shown| shown.has(OFFER));
    tty.keys("\x04");
    assert_eq!(tty.exit_code(), 0);
    let mut tty = start(&tack, &["resume", "--last"]);
    let shown = tty.wait_for("the offer", |shown| shown.has(OFFER));
    assert!(shown.has("✗ mock: server error 500: oops"), "{}", shown.rows.join("\n"));
    tty.keys("r");
    tty.wait_for("the answer", |shown| shown.has("there it is") && idle(shown));
    let asked = asked(&server);
    assert_eq!(asked[2].1, ["find it"]);
}

#[test]
fn a_refused_key_is_told_by_its_variable_and_its_end() {
    let server = Server::start(vec![error(401, "bad key sk-0123456789-3f2a, see {\"x\":1}")]);
    let tack = Tack::new(&server).env("MOCK_KEY", "sk-0123456789-3f2a");
    tack.config(&format!("{}env_key = \"MOCK_KEY\"\n", Tack::config_for(&server)));
    let mut tty = start(&tack, &[]);
    tty.keys("hi\r");
    let shown = tty.wait_for("the failure", |shown| shown.has(OFFER));
    let words = "✗ mock refused the key from MOCK_KEY (ends …3f2a). /provider to change it.";
    assert!(shown.has(words) && !shown.has("{"), "{}", shown.rows.join("\n"));
    // All that the server sent, but for the key.
    tty.keys("\x14");
    tty.wait_for("the details", |shown| shown.has("bad key [secret], see"));
    assert!(!String::from_utf8_lossy(&tty.bytes()).contains("sk-0123456789"));
}

#[test]
fn a_summary_makes_room_for_what_was_too_long() {
    let server = Server::start(vec![
        says("the first answer"),
        too_long(40_030, 32_768),
        // No summary for now.
        error(400, "not now"),
        says("They greeted."),
        says("the second answer"),
    ]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("hi\r");
    tty.wait_for("the answer", |shown| shown.has("the first answer") && idle(shown));
    tty.keys("and more\r");
    let shown = tty.wait_for("the offer", |shown| shown.has("c compacts and retries · r retries"));
    let words = "✗ 40.0k tokens, the model takes 32.8k. /compact, or c to compact and retry";
    assert!(shown.has(words), "{}", shown.rows.join("\n"));
    tty.keys("c");
    tty.wait_for("the answer", |shown| shown.has("the second answer") && idle(shown));
    let asked = asked(&server);
    let last = asked.last().unwrap().1.concat();
    assert!(last.contains("They greeted.") && last.contains("and more"), "{last}");
}

#[test]
fn while_a_limit_lasts_another_model_can_be_asked() {
    let list = json!({ "data": [{ "id": "mock" }, { "id": "spare" }] });
    let server = Server::with(
        vec![error(429, "slow down").header("retry-after", "100"), says("from the spare one")],
        move |request| request.path.ends_with("/models").then(|| json_body(200, &list)),
    );
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("hi\r");
    tty.wait_for("the limit", |shown| {
        shown.has("rate limit · try 1 of 1 in ") && shown.has("s · esc stops · s other model")
    });
    tty.keys("s");
    tty.wait_for("the models", |shown| shown.has("enter use in this session"));
    tty.keys("\x1b");
    tty.wait_for("the composer", |shown| shown.has(EMPTY));
    // A name that is not there changes nothing.
    tty.keys("/model spar\r");
    tty.wait_for("the names", |shown| {
        shown.has("✗ mock has no spar. It has: spare, mock. /model lists them")
    });
    tty.keys("/model spare\r");
    tty.wait_for("the answer", |shown| shown.has("from the spare one") && idle(shown));
    let asked = asked(&server);
    assert_eq!(asked.iter().map(|(model, _)| model.as_str().unwrap()).collect::<Vec<_>>(), ["mock", "spare"]);
    assert!(asked[1].1.concat().ends_with("hi"), "{asked:?}");
}

#[test]
fn calls_that_do_not_parse_are_told_and_the_harness_is_named_once() {
    let server = Server::start(
        ["I look:\n```python\nlook()\n```", "Let me:\n```python\nlook()\n```", "```python\nlook()\n```"]
            .map(says)
            .to_vec(),
    );
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &["--harness", "mini-swe-agent"]);
    tty.keys("look\r");
    let shown = tty.wait_for("the offer", |shown| shown.has(OFFER));
    let hint = "✗ the model's call did not parse (details ctrl+t). If it repeats: /harness";
    assert_eq!(shown.count(hint), 1, "{}", shown.rows.join("\n"));
    assert!(shown.has("3 times in a row (details ctrl+t)"));
    assert!(!shown.has("--harness"), "{}", shown.rows.join("\n"));
    tty.keys("r");
    server.wait(|requests| requests.iter().filter(|one| one.method == "POST").count() >= 4);
}

#[test]
fn by_lines_a_letter_alone_sends_it_again() {
    let server = Server::start(vec![error(500, "oops"), error(500, "oops"), says("there it is")]);
    let tack = Tack::new(&server);
    let mut tty = Tty::start(&tack.command(["--plain"]), 100, 40);
    let last = |shown: &Shown| shown.rows.iter().rev().find(|row| !row.is_empty()).cloned();
    tty.wait_for("the prompt", |shown| last(shown).as_deref() == Some(">"));
    tty.keys("find it\n");
    let shown = tty.wait_for("the offer", |shown| shown.has("r alone on a line sends it again"));
    assert!(shown.has("error: mock: server error 500: oops"), "{}", shown.rows.join("\n"));
    assert!(shown.has("warning: server error 500; try 1 of 1 in 1s"), "{}", shown.rows.join("\n"));
    tty.keys("r\n");
    tty.wait_for("the answer", |shown| shown.has("there it is") && last(shown).as_deref() == Some(">"));
    assert_eq!(asked(&server)[2], asked(&server)[0]);
}

/// A letter that is a key by itself is the beginning of a text where one follows.
#[test]
fn a_message_that_begins_with_a_key_is_a_message() {
    let server = Server::start(vec![error(400, "no"), says("removed")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("hi\r");
    tty.wait_for("the offer", |shown| shown.has(OFFER));
    tty.keys("r");
    tty.keys("emove that file");
    tty.wait_for("the text", |shown| shown.has("› remove that file"));
    tty.keys("\r");
    tty.wait_for("the answer", |shown| shown.has("removed") && idle(shown));
    let asked = asked(&server);
    assert_eq!(asked.len(), 2, "nothing was sent again");
    assert!(asked[1].1.concat().ends_with("remove that file"), "{asked:?}");
}

#[test]
fn a_new_key_of_the_provider_in_use_is_used_at_once() {
    let server = Server::start(vec![error(401, "bad key"), says("let in")]);
    let tack = Tack::new(&server).env("XDG_RUNTIME_DIR", "/nonexistent");
    let mut tty = start(&tack, &[]);
    tty.keys("hi\r");
    tty.wait_for("the refusal", |shown| shown.has("mock") && shown.has(OFFER));
    tty.keys("/login mock\r");
    tty.wait_for("the question", |shown| shown.has("Key"));
    tty.keys("sk-new-key-of-mock\r");
    tty.wait_for("who speaks from here on", |shown| shown.has("from here on mock @ mock") && idle(shown));
    tty.keys("again\r");
    tty.wait_for("the answer", |shown| shown.has("let in") && idle(shown));
    let sent = server.requests().pop().unwrap();
    assert_eq!(sent.header("authorization"), Some("Bearer sk-new-key-of-mock"));
}
