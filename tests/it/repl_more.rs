//! What a person stumbled over in the interactive session, as a person sees it.

use crate::kit::Tack;
use crate::repl_kit::{idle, shell, start};
use crate::server::*;
use crate::tty::Tty;

/// Names of the tools that a request offers.
fn tools(request: &Request) -> Vec<String> {
    let body = request.chat();
    let tools = body["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_sheet_says_what_the_keys_do_and_what_they_are_called() {
    let server = Server::start(vec![]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("?");
    tty.wait_for("the sheet", |shown| shown.has("send; while a turn runs: queue  [submit]"));
}

#[test]
fn nothing_is_called_a_model_before_one_is_chosen() {
    let tack = Tack::bare();
    let mut tty = Tty::start(&tack.command([""; 0]), 100, 30);
    tty.wait_for("the list", |shown| shown.has("Add a provider and key"));
    let shown = tty.shown();
    assert!(shown.has("no model yet: /model"), "{}", shown.rows.join("\n"));
    tty.keys("\x1b");
    let shown = tty.wait_for("the composer", idle);
    assert!(!shown.has("recorded") && shown.has("no model · edits"), "{}", shown.rows.join("\n"));
    tty.keys("/status\r");
    tty.wait_for("the status", |shown| shown.has("none yet: /model lists"));
}

#[test]
fn the_status_is_of_now() {
    let server = Server::start(vec![]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &["--harness", "minimal"]);
    tty.keys("/harness pi\r");
    tty.wait_for("the switch", |shown| shown.has("mock under pi"));
    tty.keys("/mode plan\r");
    tty.wait_for("the mode", |shown| shown.has("pi · plan"));
    tty.keys("/status\r");
    let shown = tty.wait_for("the status", |shown| shown.has("instructions  ") && shown.has("session  "));
    let row = |name: &str| shown.rows.iter().find(|row| row.starts_with(name)).cloned().unwrap_or_default();
    assert!(row("model ").contains("mock @ mock"), "{}", shown.rows.join("\n"));
    assert_eq!(row("harness ").split_whitespace().nth(1), Some("pi"));
    assert!(row("mode ").contains("plan"), "{}", shown.rows.join("\n"));
}

#[test]
fn a_new_session_goes_on_with_what_was_chosen() {
    let server = Server::start(vec![says("one"), says("two")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &["--harness", "minimal"]);
    tty.keys("/harness qwen-code\r");
    tty.wait_for("the switch", |shown| shown.has("mock under qwen-code"));
    tty.keys("/mode ask\r");
    tty.wait_for("the mode", |shown| shown.has("qwen-code · ask"));
    tty.keys("zebra crossing\r");
    tty.wait_for("the answer", |shown| shown.has("one") && idle(shown));
    tty.keys("/new\r");
    tty.wait_for("the new session", |shown| shown.has("@ mock · harness qwen-code"));
    tty.keys("second\r");
    let shown = tty.wait_for("the answer", |shown| shown.has("two") && idle(shown));
    assert!(shown.has("qwen-code · ask"), "{}", shown.rows.join("\n"));
    let requests = server.requests();
    assert!(tools(&requests[0]).contains(&"run_shell_command".to_owned()));
    assert_eq!(tools(&requests[1]), tools(&requests[0]));
    assert!(!requests[1].chat().to_string().contains("zebra"));
}

#[test]
fn a_key_is_entered_and_forgotten_by_command() {
    let server = Server::start(vec![]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("/login openrouter\r");
    tty.wait_for("the entry", |shown| shown.has("Key for openrouter"));
    tty.keys("sk-or-secret-1234567890\r");
    tty.wait_for("where it is", |shown| shown.has("The key for OpenRouter is in"));
    tty.wait_for("the list", |shown| shown.has("enter use"));
    tty.keys("\x1b");
    tty.wait_for("the composer", idle);
    tty.keys("/logout openrouter\r");
    tty.wait_for("the end of it", |shown| shown.has("is gone from"));
    let bytes = String::from_utf8_lossy(&tty.bytes()).into_owned();
    assert!(!bytes.contains("secret"), "{bytes:?}");
}

#[test]
fn a_long_message_and_a_flood_are_folded_and_counted() {
    let server = Server::start(vec![shell("a", "seq 1 200000"), says("read")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    let lines: String = (0..500).map(|n| format!("said {n}\r")).collect();
    tty.keys(&format!("\x1b[200~{lines}\x1b[201~"));
    tty.wait_for("the placeholder", |shown| shown.has("[pasted 500 lines"));
    tty.keys("\r");
    let shown = tty.wait_for("the answer", |shown| shown.has("read") && idle(shown));
    assert_eq!((shown.count("said 0"), shown.count("said 499")), (1, 0));
    assert!(shown.lines.iter().any(|line| line.contains("… +480 lines · ctrl+o")), "{:?}", shown.lines);
    // Ten rows of two hundred thousand are shown; a mark in the middle is no line of the output.
    let left = shown.lines.iter().find_map(|line| line.trim().strip_prefix("└ +")).unwrap();
    let left: u64 = left.split(' ').next().unwrap().parse().unwrap();
    assert!((199_980..=200_010).contains(&left), "{left}");
}

#[test]
fn a_retry_is_told_where_it_can_be_read_on_a_narrow_screen() {
    let server = Server::start(vec![
        error(503, "busy with the other requests of all those who ask").header("retry-after", "20"),
    ]);
    let tack = Tack::new(&server);
    let mut tty = Tty::start(&tack.command([""; 0]), 60, 20);
    tty.wait_for("the composer", idle);
    tty.keys("go\r");
    tty.wait_for("the retry", |shown| {
        shown.rows.iter().any(|row| row.contains("try ") && row.contains("esc stops"))
    });
    tty.keys("\x1b");
    tty.wait_for("the stop", |shown| shown.has("stopped"));
}

#[test]
fn the_way_back_is_named_where_there_is_one() {
    let server = Server::start(vec![says("hello")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("\x04");
    assert_eq!(tty.exit_code(), 0);
    assert!(!tty.shown().has("tack resume"), "nothing was said");
    let mut tty = start(&tack, &[]);
    tty.keys("hi\r");
    tty.wait_for("the answer", |shown| shown.has("hello") && idle(shown));
    tty.keys("\x04");
    assert_eq!(tty.exit_code(), 0);
    let shown = tty.wait_for("the way back", |shown| shown.has("goes on with this session"));
    let row = shown.rows.iter().find(|row| row.starts_with("tack resume ")).unwrap();
    let id = row.split(' ').nth(2).unwrap();
    let tty = Tty::start(&tack.command(["resume", id]), 100, 30);
    tty.wait_for("what was said", |shown| shown.has("hello") && idle(shown));
}
