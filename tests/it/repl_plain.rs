//! The interactive session by lines alone, on a terminal; and `NO_COLOR` in the one that draws.

use std::time::{Duration, Instant};

use regex::Regex;

use crate::kit::Tack;
use crate::local::llamacpp;
use crate::repl_kit::shell;
use crate::server::*;
use crate::tty::{Shown, Tty};

fn start(tack: &Tack, args: &[&str]) -> Tty {
    let tty = Tty::start(&tack.command(args), 100, 40);
    tty.wait_for("the prompt", asks_for_more);
    tty
}

/// The prompt stands on the last row, and nothing behind it.
fn asks_for_more(shown: &Shown) -> bool {
    last(shown) == ">"
}

fn last(shown: &Shown) -> &str {
    shown.rows.iter().rev().find(|row| !row.is_empty()).map_or("", String::as_str)
}

/// Nothing that was written steers the terminal.
#[track_caller]
fn is_plain(tty: &Tty) {
    let bytes = String::from_utf8_lossy(&tty.bytes()).into_owned();
    let steers = bytes.chars().find(|c| c.is_control() && !matches!(c, '\r' | '\n' | '\t'));
    assert_eq!(steers, None, "{bytes:?}");
}

/// The newest message of a request.
fn newest(request: &Request) -> String {
    let body = request.chat();
    let last = body["messages"].as_array().unwrap().last().unwrap();
    last["content"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_session_by_lines_sends_no_escape_sequence() {
    let server = Server::start(vec![
        shell("a", "printf 'x\\033]0;pwned\\007\\033[2Jy\\n'"),
        says("It printed **x**.\n\n- a\u{1b}[31m\n- b\n"),
        shell("b", "exit 3"),
        says("second"),
    ]);
    let tack = Tack::new(&server);
    for (args, env) in [(vec!["--plain"], "xterm-256color"), (vec![], "dumb")] {
        let mut tty = Tty::start(tack.command(&args).env("TERM", env), 100, 40);
        tty.wait_for("the prompt", asks_for_more);
        assert!(!tty.is_raw());
        tty.keys("print it\n");
        if env == "dumb" {
            tty.wait_for("the second answer", |shown| shown.has("second") && asks_for_more(shown));
            let shown = tty.shown();
            assert!(shown.has("ran: exit 3, exit 3"), "{}", shown.rows.join("\n"));
        } else {
            let shown = tty.wait_for("the answer", |shown| shown.has("- b") && asks_for_more(shown));
            assert!(shown.has("ran: printf") && shown.has("  xy"), "{}", shown.rows.join("\n"));
            assert!(shown.has("It printed x."), "{}", shown.rows.join("\n"));
        }
        tty.keys("/exit\n");
        assert_eq!(tty.exit_code(), 0);
        is_plain(&tty);
        assert!(tty.is_as_before());
    }
}

#[test]
fn what_is_asked_is_answered_by_a_line() {
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = outside.path().join("out");
    let server = Server::start(vec![
        shell("a", &format!("echo yes > {}", file.display())),
        says("made"),
        shell("b", &format!("rm {}", file.display())),
        says("left"),
    ]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &["--plain"]);
    tty.keys("make it\n");
    let shown = tty.wait_for("the question", |shown| shown.has("y/n?"));
    assert!(shown.has("Run this command?") && shown.has("$ echo yes"), "{}", shown.rows.join("\n"));
    assert!(!file.exists());
    answer(&mut tty, "y\n", |shown| shown.has("made") && asks_for_more(shown));
    assert!(file.exists());
    tty.keys("remove it\n");
    tty.wait_for("the question", |shown| last(shown) == "y/n?");
    answer(&mut tty, "n use the package\n", |shown| shown.has("left") && asks_for_more(shown));
    assert!(file.exists(), "what was refused did not run");
    let told = serde_json::to_string(&server.requests()[3].chat()).unwrap();
    assert!(told.contains("use the package"), "{told}");
    is_plain(&tty);
}

/// Answers until it counts: an answer does not before the question could be read.
fn answer(tty: &mut Tty, line: &str, done: impl Fn(&Shown) -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !done(&tty.shown()) {
        assert!(Instant::now() < end, "no answer counted: {}", tty.shown().rows.join("\n"));
        if last(&tty.shown()) == "y/n?" {
            tty.keys(line);
        }
        std::thread::sleep(Duration::from_millis(300));
    }
}

#[test]
fn ctrl_c_stops_the_turn_and_twice_leaves() {
    let server = Server::start(vec![shell("a", "touch ran; sleep 300"), says("after")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &["--plain"]);
    tty.keys("wait\n");
    crate::kit::wait_for("the command", || tack.work().join("ran").exists());
    tty.keys("then this\n");
    tty.wait_for("the queue", |shown| shown.has("said once this turn is over"));
    tty.keys("\x03");
    tty.wait_for("the stop", |shown| {
        shown.has("note: stopped") && shown.has("not said: then this") && asks_for_more(shown)
    });
    tty.keys("go on\n");
    tty.wait_for("the answer", |shown| shown.has("after") && asks_for_more(shown));
    valid_history(&server.requests()[1].chat()).unwrap();
    assert_eq!(newest(&server.requests()[1]), "go on");
    tty.keys("\x03");
    tty.wait_for("what a second one does", |shown| shown.count("ctrl+c again leaves") == 2);
    tty.keys("\x03");
    assert_eq!(tty.exit_code(), 0);
    is_plain(&tty);
    assert!(tty.is_as_before());
}

#[test]
fn the_end_of_the_input_leaves() {
    let server = Server::start(vec![says("hello back")]);
    let tack = Tack::new(&server);
    let mut tty = Tty::start(&tack.command(["--plain", "say hello"]), 80, 24);
    let shown = tty.wait_for("the answer", |shown| shown.has("hello back") && asks_for_more(shown));
    assert!(shown.has("you: say hello"), "{}", shown.rows.join("\n"));
    tty.keys("\x04");
    assert_eq!(tty.exit_code(), 0);
    is_plain(&tty);
    let mut tty = Tty::start(&tack.command(["resume", "--last", "--plain"]), 80, 24);
    let shown = tty.wait_for("what was said", |shown| shown.has("hello back") && asks_for_more(shown));
    assert!(shown.has("you: say hello"), "{}", shown.rows.join("\n"));
    tty.keys("\x04");
    assert_eq!(tty.exit_code(), 0);
}

#[test]
fn commands_set_by_name_and_tell_by_lines() {
    let server = Server::start(vec![says("as qwen"), says("as before")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &["--plain", "--harness", "minimal"]);
    for (line, want) in [
        ("/help", "/harness [id|auto|-]: change how"),
        ("/harness", "minimal, "),
        ("/mode plan", "note: mode plan from the next call on"),
        ("/mode ask", "note: mode ask from the next call on"),
        ("/mode", "mode ask; /mode ask, edits"),
        ("/context", "system prompt"),
        ("/tasks", "the model has no list of tasks"),
        ("/nothing", "error: there is no command /nothing; /help lists them"),
        ("/harness qwen-code", "note: mock @ mock under qwen-code from the next request on"),
    ] {
        tty.keys(&format!("{line}\n"));
        tty.wait_for(line, |shown| shown.count(want) > 0 && asks_for_more(shown));
    }
    tty.keys("one\n");
    tty.wait_for("the answer", |shown| shown.has("as qwen") && asks_for_more(shown));
    tty.keys("/harness -\n");
    tty.wait_for("the way back", |shown| shown.has("under minimal from the next") && asks_for_more(shown));
    tty.keys("two\n");
    tty.wait_for("the answer", |shown| shown.has("as before") && asks_for_more(shown));
    let requests = server.requests();
    let tools = |nth: usize| serde_json::to_string(&requests[nth].chat()["tools"]).unwrap();
    assert!(tools(0).contains("run_shell_command") && !tools(1).contains("run_shell_command"));
    is_plain(&tty);
}

#[test]
fn a_pasted_text_is_one_message() {
    let server = Server::start(vec![says("read")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &["--plain"]);
    tty.keys("one\ntwo 日本語\n\nthree\n");
    tty.wait_for("the answer", |shown| shown.has("read") && asks_for_more(shown));
    let requests = server.requests();
    assert_eq!((requests.len(), newest(&requests[0]).as_str()), (1, "one\ntwo 日本語\n\nthree"));
}

#[test]
fn no_color_means_no_colour_at_all() {
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let server = Server::start(vec![
        shell("a", "printf '\\033[31mred\\033[0m\\n'; exit 3"),
        shell("b", &format!("echo x > {}/x", outside.path().display())),
        says("**Bold** and `code`:\n\n```rust\nfn main() { let a = \"b\"; }\n```\n"),
    ]);
    let tack = Tack::new(&server).env("NO_COLOR", "1").env("COLORTERM", "truecolor");
    let mut tty = Tty::start(&tack.command([""; 0]), 100, 30);
    tty.wait_for("the composer", |shown| shown.has("Ask, or / for commands"));
    // What a terminal with a light background answers does not bring colours back.
    tty.keys("\x1b]11;rgb:ffff/ffff/ffff\x1b\\");
    tty.keys("/harness\r");
    tty.wait_for("the picker", |shown| shown.has("enter switch"));
    tty.keys("\x1b");
    tty.wait_for("the composer", |shown| shown.has("Ask, or / for commands"));
    tty.keys("go\r");
    tty.wait_for("the question", |shown| shown.has("Run this command?"));
    let end = Instant::now() + Duration::from_secs(20);
    while !tty.shown().has("fn main") {
        assert!(Instant::now() < end, "the dialog took no key");
        std::thread::sleep(Duration::from_millis(900));
        tty.keys("\x1b");
    }
    let bytes = String::from_utf8_lossy(&tty.bytes()).into_owned();
    let styles = Regex::new(r"\x1b\[([0-9;:]*)m").unwrap();
    let set: Vec<u32> = styles
        .captures_iter(&bytes)
        .flat_map(|one| one[1].split([';', ':']).map(|n| n.parse().unwrap_or(0)).collect::<Vec<_>>())
        .collect();
    assert!(set.contains(&1), "bold stays: {set:?}");
    let colours: Vec<&u32> = set.iter().filter(|n| matches!(n, 30..=49 | 58 | 90..=107)).collect();
    assert!(colours.is_empty(), "{colours:?} in {bytes:?}");
}

#[test]
fn the_window_that_a_server_told_stays_known_under_another_harness() {
    let probe = || says("I cannot call tools.");
    let server = llamacpp((0..8).map(|_| probe()).collect(), 16_384);
    let tack = Tack::bare();
    tack.config(&format!(
        "model = \"qwen2.5-coder-1.5b\"\nmodel_provider = \"own\"\n[model_providers.own]\nbase_url = \"{}\"\nwire_api = \"chat\"\n",
        server.url()
    ));
    let mut tty = start(&tack, &["--plain"]);
    for (line, want, count) in [
        ("/status", "window        16.4k tokens", 1),
        ("/harness qwen-code", "under qwen-code from the next request on", 1),
        ("/status", "window        16.4k tokens", 2),
    ] {
        tty.keys(&format!("{line}\n"));
        tty.wait_for(line, |shown| shown.count(want) == count && asks_for_more(shown));
    }
}
