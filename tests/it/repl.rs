//! The interactive session from end to end: the real binary on a terminal, a scripted model server.

use serde_json::json;

use crate::kit::Tack;
use crate::repl_kit::{EMPTY, idle, shell, start};
use crate::server::*;
use crate::tty::{Shown, Tty};

/// The newest message of a request.
fn newest(request: &Request) -> String {
    let body = request.chat();
    let last = body["messages"].as_array().unwrap().last().unwrap();
    last["content"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_prompt_is_answered_and_the_terminal_is_given_back() {
    let server = Server::start(vec![shell("a", "echo one two"), says("It printed **one two**.")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    assert!(tty.is_raw());
    let shown = tty.shown();
    assert!(shown.has("harness") && shown.has("workspace-write sandbox"), "{}", shown.rows.join("\n"));
    tty.keys("print it\r");
    let shown = tty.wait_for("the answer", |shown| shown.has("It printed one two.") && idle(shown));
    assert!(shown.has("› print it") && shown.has("Ran echo one two  ✓"), "{}", shown.rows.join("\n"));
    assert_eq!(shown.count("It printed one two."), 1);
    tty.keys("\x04");
    assert_eq!(tty.exit_code(), 0);
    assert!(tty.is_as_before());
    assert_eq!(tty.shown().modes, [""; 0]);
    // What was said stays on the terminal, the composer does not.
    let shown = tty.shown();
    assert!(shown.has("It printed one two.") && !shown.has(EMPTY), "{}", shown.rows.join("\n"));
}

#[test]
fn the_prompt_may_come_with_the_command() {
    let server = Server::start(vec![says("hello back")]);
    let tack = Tack::new(&server);
    let mut tty = Tty::start(&tack.command(["say hello"]), 80, 24);
    tty.wait_for("the answer", |shown| shown.has("hello back") && idle(shown));
    tty.keys("/exit\r");
    assert_eq!(tty.exit_code(), 0);
    assert_eq!(newest(&server.requests()[0]), "say hello");
}

#[test]
fn without_a_terminal_it_says_what_to_do_instead() {
    let tack = Tack::bare();
    let ran = tack.run([""; 0]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("tack exec") && !ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
}

#[test]
fn esc_stops_a_turn_and_what_waits_goes_back_to_the_composer() {
    let server = Server::start(vec![shell("a", "touch ran; sleep 300"), says("after")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("wait\r");
    tty.wait_for("the command", |shown| shown.has("Running touch ran"));
    tty.keys("and then this\r");
    tty.wait_for("the queue", |shown| shown.has("queued: and then this"));
    tty.keys("\x1b");
    tty.wait_for("the stop", |shown| shown.has("stopped") && shown.has("› and then this"));
    tty.keys("\r");
    tty.wait_for("the next answer", |shown| shown.has("after") && idle(shown));
    valid_history(&server.requests()[1].chat()).unwrap();
    assert_eq!(newest(&server.requests()[1]), "and then this");
}

#[test]
fn what_is_queued_is_sent_after_the_turn_and_what_is_steered_within_it() {
    let server = Server::start(vec![
        shell("a", "until [ -e go ]; do sleep 0.05; done"),
        says("first"),
        says("second"),
    ]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("begin\r");
    tty.wait_for("the command", |shown| shown.has("Running until"));
    tty.keys("later\r");
    tty.wait_for("the queue", |shown| shown.has("queued: later"));
    tty.keys("at once\x13");
    tack.file("go", "");
    tty.wait_for("both answers", |shown| shown.has("second") && idle(shown));
    let requests = server.requests();
    assert_eq!(newest(&requests[1]), "at once");
    assert_eq!(newest(&requests[2]), "later");
    for request in &requests {
        valid_history(&request.chat()).unwrap();
    }
}

#[test]
fn a_harness_is_changed_in_the_middle_of_a_session_and_back() {
    let server = Server::start(vec![
        shell("a", "echo one"),
        says("first"),
        calls("b", "run_shell_command", &json!({ "command": "echo two", "is_background": false })),
        says("second"),
        says("third"),
    ]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &["--harness", "minimal"]);
    tty.keys("one\r");
    tty.wait_for("the first answer", |shown| shown.has("first") && idle(shown));
    tty.keys("/harness\r");
    tty.wait_for("the picker", |shown| {
        shown.has("Harness for") && shown.has("in use") && shown.has("enter switch")
    });
    tty.keys("qwen-code");
    tty.wait_for("what it does", |shown| shown.has("Now minimal → qwen-code"));
    tty.keys("\r");
    tty.wait_for("the switch", |shown| shown.has("under qwen-code"));
    tty.keys("two\r");
    tty.wait_for("the second answer", |shown| {
        shown.has("second") && shown.has("Ran echo two") && idle(shown)
    });
    tty.keys("/harness -\r");
    tty.wait_for("the way back", |shown| shown.has("under minimal"));
    tty.keys("three\r");
    tty.wait_for("the third answer", |shown| shown.has("third") && idle(shown));
    let requests = server.requests();
    let tools = |nth: usize| {
        let body = requests[nth].chat();
        let names = body["tools"].as_array().unwrap().iter();
        names.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(tools(0).contains(&"bash".to_owned()) && tools(2).contains(&"run_shell_command".to_owned()));
    assert_eq!(tools(4), tools(0));
    for request in &requests {
        valid_history(&request.chat()).unwrap();
    }
}

#[test]
fn a_command_beyond_the_sandbox_is_asked_for_and_the_answer_counts() {
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = outside.path().join("out");
    let command = format!("echo yes > {}", file.display());
    let server = Server::start(vec![
        shell("a", &command),
        says("made"),
        shell("b", &format!("rm {}", file.display())),
        says("left"),
    ]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("make it\r");
    tty.wait_for("the question", |shown| shown.has("Run this command?") && shown.has("echo yes"));
    assert!(!file.exists());
    answer(&mut tty, "y", |shown| shown.has("made"));
    assert!(file.exists());
    tty.keys("remove it\r");
    tty.wait_for("the question", |shown| shown.has("Run this command?"));
    answer(&mut tty, "n", |shown| !shown.has("n  no, and tell"));
    tty.keys("use the package\r");
    tty.wait_for("the end", |shown| shown.has("left") && idle(shown));
    assert!(file.exists(), "what was refused did not run");
    let told = serde_json::to_string(&server.requests()[3].chat()).unwrap();
    assert!(told.contains("use the package"), "{told}");
}

/// Presses a key until the dialog takes it: keys do not count before it could be read.
pub fn answer(tty: &mut Tty, key: &str, done: impl Fn(&Shown) -> bool) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !done(&tty.shown()) {
        assert!(std::time::Instant::now() < end, "the dialog took no key: {}", tty.shown().rows.join("\n"));
        std::thread::sleep(std::time::Duration::from_millis(900));
        if !done(&tty.shown()) {
            tty.keys(key);
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }
}

#[test]
fn a_session_is_taken_up_again_with_what_was_said() {
    let server = Server::start(vec![says("the first answer"), says("the second answer")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("the first question\r");
    tty.wait_for("the answer", |shown| shown.has("the first answer") && idle(shown));
    tty.keys("\x04");
    assert_eq!(tty.exit_code(), 0);
    let mut tty = Tty::start(&tack.command(["resume", "--last"]), 100, 30);
    let shown = tty.wait_for("what was said", |shown| shown.has("the first answer") && idle(shown));
    assert!(shown.has("› the first question"), "{}", shown.rows.join("\n"));
    tty.keys("more\r");
    tty.wait_for("the answer", |shown| shown.has("the second answer") && idle(shown));
    assert_eq!(server.requests()[1].chat()["messages"].as_array().unwrap().len(), 4);
}

#[test]
fn hostile_text_never_steers_the_terminal() {
    let bad = "a\u{1b}]0;pwned\u{7}b\u{1b}[2Jc\u{202e}d\u{9b}31me";
    let server = Server::start(vec![shell("a", "printf 'x\\033]0;pwned\\007\\033[2Jy\\n'"), says(bad)]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("go\r");
    tty.wait_for("the answer", |shown| shown.has("Ran printf") && idle(shown));
    let bytes = String::from_utf8_lossy(&tty.bytes()).into_owned();
    assert!(!bytes.contains("\u{1b}]0;pwned") && !bytes.contains("\u{1b}[2J"), "{bytes:?}");
}

#[test]
fn a_paste_of_five_thousand_lines_is_one_message() {
    let lines: String = (0..5_000).map(|n| format!("line {n} 日本語 {}\n", "x".repeat(60))).collect();
    for marks in [("\x1b[200~", "\x1b[201~"), ("", "")] {
        let server = Server::start(vec![says("read")]);
        let tack = Tack::new(&server);
        let mut tty = start(&tack, &[]);
        tty.keys(&format!("{}{}{}", marks.0, lines.replace('\n', "\r"), marks.1));
        tty.wait_for("the placeholder", |shown| shown.has("[pasted 5000 lines"));
        // What follows at once would be part of an unmarked paste.
        std::thread::sleep(std::time::Duration::from_millis(100));
        tty.keys("\r");
        tty.wait_for("the answer", |shown| shown.has("read") && idle(shown));
        let requests = server.requests();
        assert_eq!(requests.len(), 1);
        assert_eq!(newest(&requests[0]).trim_end(), lines.trim_end());
    }
}

#[test]
fn a_long_answer_that_comes_at_once_is_there_line_by_line() {
    let lines: Vec<String> = (0..1_000).map(|n| format!("line {n:04}")).collect();
    let server = Server::start(vec![says(&lines.join("\n\n"))]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("write\r");
    let shown = tty.wait_for("the text", |shown| shown.has("line 0999") && idle(shown));
    let said: Vec<&str> =
        shown.lines.iter().map(|line| line.trim()).filter(|line| line.starts_with("line ")).collect();
    assert_eq!(said, lines);
}

#[test]
fn after_any_resize_there_is_one_composer_and_each_line_once() {
    let text: String = (0..60).map(|n| format!("line {n:03} of 日本語 and more words to wrap\n\n")).collect();
    let server = Server::start(vec![says(&text)]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("write\r");
    tty.wait_for("the text", |shown| shown.has("line 059") && idle(shown));
    for (columns, rows) in [(80, 24), (40, 10), (10, 3), (1, 1), (100, 30)] {
        tty.resize(columns, rows);
        if columns >= 40 {
            tty.wait_for("the composer", |shown| {
                shown.rows.iter().filter(|row| row.contains("Ask, or")).count() == 1
            });
        }
    }
    let shown = tty.wait_for("the last line", |shown| shown.has("line 059") && idle(shown));
    assert_eq!(shown.count("Ask, or / for"), 1);
    for n in [0, 30, 59] {
        assert_eq!(shown.count(&format!("line {n:03}")), 1, "line {n}");
    }
    tty.keys("\x04");
    assert_eq!(tty.exit_code(), 0);
}

#[test]
fn a_closed_terminal_ends_everything() {
    let server = Server::start(vec![shell("a", "echo $$ > pid; touch ran; sleep 500")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("go\r");
    crate::kit::wait_for("the command", || tack.work().join("ran").exists());
    tty.hang_up();
    tty.exit_code();
    let pid: u32 = tack.read("pid").trim().parse().unwrap();
    // Of its own namespace, where the sandbox has one: nothing to look for then.
    assert!(pid < 100 || !crate::kit::alive(pid), "the command lives on");
    // The history is whole: the session can be gone on with.
    let server = Server::start(vec![says("going on")]);
    tack.config(&Tack::config_for(&server));
    tack.run(["exec", "resume", "--last", "go on"]).code(0);
    valid_history(&server.requests()[0].chat()).unwrap();
}

#[test]
fn signals_give_the_terminal_back() {
    for (name, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let server = Server::start(vec![says("x")]);
        let tack = Tack::new(&server);
        let mut tty = start(&tack, &[]);
        tty.signal(name, tty.pid());
        assert_eq!(tty.exit_code(), code, "{name}");
        assert!(tty.is_as_before());
        assert_eq!(tty.shown().modes, [""; 0], "{name}");
    }
}

#[test]
fn a_person_without_a_model_can_look_around_and_choose_one() {
    let server = Server::start(vec![says("hello")]);
    let tack = Tack::bare();
    tack.config(
        &Tack::config_for(&server).replace("model = ", "# model = ").replace("model_provider = ", "# "),
    );
    let mut tty = Tty::start(&tack.command([""; 0]), 100, 30);
    tty.wait_for("the list", |shown| shown.has("No model is set up yet"));
    tty.keys("\x1b");
    tty.wait_for("the composer", idle);
    tty.keys("hi\r");
    tty.wait_for("what to do", |shown| shown.has("no model is set up: /model lists"));
    // Its list of models is asked for, as it is on this machine; nothing else.
    assert!(server.requests().iter().all(|request| request.method == "GET"));
    tty.keys("\x04");
    // The prompt that failed stands in the composer again, or not: either way a second one leaves.
    tty.keys("\x03\x03\x04");
    tty.exit_code();
    assert!(tty.is_as_before());
}

#[test]
fn a_session_that_was_killed_in_a_call_is_taken_up_and_can_be_gone_on_with() {
    let server = Server::start(vec![shell("a", "touch ran; sleep 300"), says("going on")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("go\r");
    crate::kit::wait_for("the command", || tack.work().join("ran").exists());
    tty.signal("KILL", tty.pid());
    tty.exit_code();
    let mut tty = Tty::start(&tack.command(["resume", "--last"]), 100, 30);
    let shown = tty.wait_for("the session", |shown| shown.has("› go") && shown.has("mock · minimal"));
    assert!(!shown.has("esc to stop"), "{}", shown.rows.join("\n"));
    // What was kept of the draft may be from before it was sent.
    tty.keys("\x15");
    tty.wait_for("the composer", idle);
    tty.keys("more\r");
    tty.wait_for("the answer", |shown| shown.has("going on") && idle(shown));
    valid_history(&server.requests()[1].chat()).unwrap();
}

#[test]
fn what_is_handed_in_is_shown_and_the_list_of_sessions_opens_one() {
    let server = Server::start(vec![says("one two three"), says("four")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("count please\r");
    tty.wait_for("the answer", |shown| shown.has("one two three") && idle(shown));
    tty.keys("/new\r");
    tty.wait_for("a new session", |shown| shown.count("tack 0.") == 2 && idle(shown));
    tty.keys("/resume\r");
    tty.wait_for("the list", |shown| shown.has("Sessions of this folder") && shown.has("count please"));
    tty.keys("\r");
    tty.wait_for("the session", |shown| shown.count("one two three") == 2 && idle(shown));
    tty.keys("/status\r");
    tty.wait_for("the status", |shown| shown.has("harness       minimal"));
    tty.keys("/context\r");
    tty.wait_for("the window", |shown| shown.has("system prompt"));
    tty.keys("/cost\r");
    tty.wait_for("the cost", |shown| shown.has("This session"));
    tty.keys("?");
    tty.wait_for("the keys", |shown| shown.has("esc back"));
    tty.keys("\x1b");
    tty.wait_for("the composer", idle);
    tty.keys("!echo out of $((6*7))\r");
    tty.wait_for("the command", |shown| shown.has("out of 42") && idle(shown));
    tty.keys("\x14");
    tty.wait_for("the pager", |shown| shown.alternate && shown.has("q back"));
    tty.keys("q");
    tty.wait_for("the composer", |shown| !shown.alternate && idle(shown));
    tty.keys("what did it print?\r");
    tty.wait_for("the answer", |shown| shown.has("four") && idle(shown));
    let told = serde_json::to_string(&server.requests()[1].chat()).unwrap();
    assert!(told.contains("out of 42"), "{told}");
}
