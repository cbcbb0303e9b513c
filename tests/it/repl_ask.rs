//! What a person is asked, on a terminal: the editor, and what was typed before.

use serde_json::json;

use crate::kit::Tack;
use crate::repl::answer;
use crate::repl_kit::{idle, start};
use crate::server::*;
use crate::tty::{Shown, Tty};

/// A session in which every edit is asked for, with an editor that fails, then leaves nothing, then writes.
fn with_editor(server: &Server) -> Tack {
    let tack = Tack::new(server);
    let script = "#!/bin/sh\ncase \"$(cat tries)\" in\n  '') echo 1 > tries; exit 3;;\n  1) echo 2 > tries; : > \"$1\";;\n  *) cat \"$1\" > was; printf 'mine\\n' > \"$1\";;\nesac\n";
    let editor = tack.file("editor", script);
    tack.file("tries", "");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    tack.env("EDITOR", &editor.display().to_string())
}

fn writes(id: &str) -> Reply {
    calls(id, "write", &json!({ "path": "a.txt", "content": "theirs\n" }))
}

fn is_mine(tack: &Tack, server: &Server) {
    assert_eq!((tack.read("a.txt").as_str(), tack.read("was").as_str()), ("mine\n", "theirs\n"));
    let told = serde_json::to_string(&server.requests()[1].chat()).unwrap();
    assert!(told.contains("The user changed this edit") && told.contains("+mine"), "{told}");
}

#[test]
fn the_new_text_of_an_edit_goes_to_the_editor_first() {
    let server = Server::start(vec![writes("a"), says("all made")]);
    let tack = with_editor(&server);
    let mut tty = start(&tack, &["--mode", "ask"]);
    tty.keys("make it\r");
    tty.wait_for("the question", |shown| shown.has("Make this change?"));
    answer(&mut tty, "e", |shown| shown.has("did not end well"));
    answer(&mut tty, "e", |shown| shown.has("came back empty"));
    assert!(tty.is_raw() && !tack.work().join("a.txt").exists());
    answer(&mut tty, "e", |shown| shown.has("all made") && idle(shown));
    is_mine(&tack, &server);
    assert!(tty.shown().has("allowed as edited"), "{}", tty.shown().rows.join("\n"));
    assert!(tty.is_raw());
}

#[test]
fn the_new_text_of_an_edit_goes_to_the_editor_first_by_lines() {
    let server = Server::start(vec![writes("a"), says("all made")]);
    let tack = with_editor(&server);
    let mut tty = Tty::start(&tack.command(["--plain", "--mode", "ask"]), 100, 60);
    tty.wait_for("the prompt", |shown| last(shown) == ">");
    tty.keys("make it\n");
    for said in ["did not end well", "came back empty", "all made"] {
        line(&mut tty, "e\n", |shown| shown.has(said));
    }
    is_mine(&tack, &server);
}

#[test]
fn what_was_half_typed_before_a_question_by_lines_answers_nothing() {
    let server = Server::start(vec![writes("a"), says("it was left")]);
    let tack = Tack::new(&server);
    let mut tty = Tty::start(&tack.command(["--plain", "--mode", "ask"]), 100, 60);
    tty.wait_for("the prompt", |shown| last(shown) == ">");
    tty.keys("make it\ny");
    line(&mut tty, "\n", |shown| shown.has("an answer is y, a, e, v, or n and why not"));
    assert!(!tack.work().join("a.txt").exists());
    line(&mut tty, "n not now\n", |shown| shown.has("it was left"));
    assert!(!tack.work().join("a.txt").exists());
}

fn last(shown: &Shown) -> &str {
    shown.rows.iter().rev().find(|row| !row.is_empty()).map_or("", String::as_str)
}

/// Types a line wherever an answer is wanted, until it counts.
fn line(tty: &mut Tty, line: &str, done: impl Fn(&Shown) -> bool) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !done(&tty.shown()) {
        assert!(std::time::Instant::now() < end, "no answer counted: {}", tty.shown().rows.join("\n"));
        std::thread::sleep(std::time::Duration::from_millis(700));
        if last(&tty.shown()).starts_with("y/n?") && !done(&tty.shown()) {
            tty.keys(line);
        }
    }
}
