//! The interactive session where something is wrong: the terminal, the home folder, a flood, a crash, a
//! second tack on the same session.

use crate::kit::Tack;
use crate::repl_kit::{idle, shell, start};
use crate::server::*;
use crate::tty::{Shown, Tty};

/// All that a request says.
fn all(request: &Request) -> String {
    serde_json::to_string(&request.chat()).unwrap()
}

#[test]
fn a_session_is_open_in_one_terminal_at_a_time() {
    let server = Server::start(vec![says("first"), says("second")]);
    let tack = Tack::new(&server);
    let mut first = start(&tack, &[]);
    first.keys("hello\r");
    first.wait_for("the answer", |shown| shown.has("first") && idle(shown));
    let (pid, id) = (first.pid().to_string(), tack.session_id());
    // A session that nobody else holds stays usable beside it.
    let mut other = start(&tack, &[]);
    other.keys(&format!("/resume {id}\r"));
    other.wait_for("who holds it", |shown| shown.has(&pid));
    other.keys("still here\r");
    other.wait_for("the answer", |shown| shown.has("second") && idle(shown));
    let mut second = Tty::start(&tack.command(["resume", &id]), 100, 30);
    assert_ne!(second.exit_code(), 0);
    let shown = second.shown();
    assert!(shown.has(&pid), "{}", shown.rows.join("\n"));
    assert!(second.is_as_before() && shown.modes.is_empty());
}

#[test]
fn a_home_that_cannot_be_written_is_told_of_and_the_session_goes_on() {
    let server = Server::start(vec![says("here all the same")]);
    let tack = Tack::new(&server);
    // Not even the superuser makes a folder below a file.
    for taken in ["sessions", "state", "log"] {
        std::fs::write(tack.home().join(taken), "").unwrap();
    }
    let mut tty = start(&tack, &[]);
    tty.keys("hello\r");
    let shown = tty.wait_for("the answer", |shown| shown.has("here all the same") && idle(shown));
    assert_eq!(shown.count("this session is not being recorded"), 1, "{}", shown.lines.join("\n"));
    tty.keys("\x04");
    assert_eq!(tty.exit_code(), 0);
}

#[test]
fn the_smallest_terminals_keep_a_composer() {
    let server =
        Server::start(vec![shell("a", "seq 100"), says("a longer answer than fits into one row here")]);
    let tack = Tack::new(&server);
    let mut tty = Tty::start(&tack.command([""; 0]), 20, 5);
    tty.wait_for("the composer", |shown| shown.has("› Ask"));
    tty.keys("count\r");
    tty.wait_for("the answer", |shown| shown.has("fits into one row") && shown.has("› Ask"));
    for size in [(1, 1), (2, 3), (300, 2), (5, 40), (20, 5)] {
        tty.resize(size.0, size.1);
    }
    tty.keys("typed");
    tty.wait_for("what was typed", |shown| shown.has("› typed"));
    tty.keys("\x03\x04");
    assert_eq!(tty.exit_code(), 0);
    assert!(tty.is_as_before());
}

#[test]
fn a_flood_of_output_is_folded_and_never_drawn() {
    // More than is kept of any command, in lines and without any.
    let flood = "head -c 60000000 /dev/zero | tr '\\0' x; yes | head -c 40000000";
    let server = Server::start(vec![shell("a", flood), says("that was much")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("flood\r");
    let shown = tty.wait_for("the answer", |shown| shown.has("that was much") && idle(shown));
    assert!(shown.has("ctrl+"), "{}", shown.rows.join("\n"));
    assert!(tty.bytes().len() < 200_000, "{} bytes were drawn", tty.bytes().len());
}

#[test]
fn what_was_typed_and_queued_is_there_after_a_crash() {
    let server = Server::start(vec![shell("a", "touch ran; sleep 300")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("go\r");
    crate::kit::wait_for("the command", || tack.work().join("ran").exists());
    tty.keys("queued one\r");
    tty.wait_for("the queue", |shown| shown.has("queued: queued one"));
    tty.keys("half a sent");
    tty.wait_for("the draft", |shown| shown.has("› half a sent"));
    // It is kept within a second; that is looked for in the files, not waited for.
    crate::kit::wait_for("the draft on disk", || holds(&tack.home(), "half a sent"));
    tty.signal("KILL", tty.pid());
    tty.exit_code();
    let tty = Tty::start(&tack.command(["resume", "--last"]), 100, 30);
    tty.wait_for("both", |shown| shown.has("queued: queued one") && shown.has("› half a sent"));
}

/// Whichever way the session is opened.
#[test]
fn a_draft_comes_back_with_the_session_that_is_chosen_from_the_list() {
    let server = Server::start(vec![says("first")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("hello\r");
    tty.wait_for("the answer", |shown| shown.has("first") && idle(shown));
    tty.keys("half a sent");
    crate::kit::wait_for("the draft on disk", || holds(&tack.home(), "half a sent"));
    tty.signal("KILL", tty.pid());
    tty.exit_code();
    let mut tty = Tty::start(&tack.command(["resume"]), 100, 30);
    tty.wait_for("the list", |shown| shown.has("hello"));
    tty.keys("\r");
    tty.wait_for("the draft", |shown| shown.has("first") && shown.has("› half a sent"));
}

/// Whether a file somewhere below a folder holds a text.
fn holds(folder: &std::path::Path, text: &str) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| match path.is_dir() {
        true => holds(&path, text),
        false => std::fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text)),
    })
}

/// A shell that can stop and continue what runs in it.
fn in_a_shell(tack: &Tack) -> Tty {
    let mut program = tack.command([""; 0]);
    let name = program.get_program().to_str().unwrap().to_owned();
    let mut shell = std::process::Command::new("bash");
    shell.args(["--norc", "--noprofile", "-i"]).current_dir(tack.work());
    for (name, value) in program.env("PS1", "$ ").get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let mut tty = Tty::start(&shell, 100, 30);
    tty.wait_for("the shell", prompts);
    tty.keys(&format!("{name}\r"));
    tty.wait_for("the composer", idle);
    tty
}

/// The shell forgets what is typed before its prompt is there.
fn prompts(shown: &Shown) -> bool {
    shown.rows.iter().rev().find(|row| !row.is_empty()).is_some_and(|row| row == "$")
}

#[test]
fn a_shell_can_suspend_it_in_a_turn_and_go_on() {
    let server =
        Server::start(vec![shell("a", "until [ -e go ]; do sleep 0.05; done; echo went"), says("done now")]);
    let tack = Tack::new(&server);
    let mut tty = in_a_shell(&tack);
    tty.keys("go on\r");
    tty.wait_for("the command", |shown| shown.has("Running until"));
    tty.keys("\x1a");
    tty.wait_for("the shell again", |shown| shown.has("Stopped") && prompts(shown));
    assert!(!tty.is_raw() || tty.shown().modes.iter().all(|mode| mode == "?2004"));
    tty.keys("touch go; fg\r");
    tty.wait_for("the answer", |shown| shown.has("done now") && idle(shown));
    tty.keys("\x04");
    tty.wait_for("the shell", prompts);
    tty.keys("echo code $?\r");
    tty.wait_for("its code", |shown| shown.has("code 0"));
}

/// What an editor does on Ctrl+Z stops all that runs in its place of the shell.
#[test]
fn an_editor_that_is_stopped_gives_the_terminal_to_the_shell() {
    let server = Server::start(vec![]);
    let tack = Tack::new(&server);
    let editor = tack.file("editor", "#!/bin/sh\necho edited > \"$1\"\nkill -TSTP 0\n");
    std::fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let tack = tack.env("VISUAL", editor.to_str().unwrap());
    let mut tty = in_a_shell(&tack);
    tty.keys("\x07");
    tty.wait_for("the shell again", |shown| shown.has("Stopped") && prompts(shown));
    tty.keys("fg\r");
    tty.wait_for("what was edited", |shown| shown.has("› edited"));
    tty.keys("\x03\x04");
    tty.wait_for("the shell", prompts);
}

#[test]
fn full_access_is_not_in_the_cycle_of_modes() {
    let server = Server::start(vec![]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    for mode in ["plan", "ask", "edits", "plan"] {
        tty.keys("\x1b[Z");
        let shown = tty.wait_for("the mode", |shown| shown.has(&format!("· {mode} ·")));
        assert!(!shown.has("· full"), "{}", shown.rows.join("\n"));
    }
}

#[test]
fn what_a_person_runs_for_themselves_is_not_told_to_the_model() {
    let server = Server::start(vec![says("answer")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    for (typed, printed) in [("!!echo private $((6*7))", "private 42"), ("!echo told $((5*5))", "told 25")] {
        tty.keys(typed);
        tty.keys("\r");
        tty.wait_for(printed, |shown| shown.has(printed) && idle(shown));
    }
    assert_eq!(server.requests().len(), 0, "no turn began");
    tty.keys("go on\r");
    tty.wait_for("the answer", |shown| shown.has("answer") && idle(shown));
    let said = all(&server.requests()[0]);
    assert!(said.contains("told 25") && !said.contains("private 42"), "{said}");
}

#[test]
fn a_picker_that_is_squeezed_again_and_again_survives() {
    let server = Server::start(vec![]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.resize(3, 24);
    tty.keys("/status\r");
    tty.resize(100, 50);
    tty.wait_for("the status", |shown| shown.has("session"));
    tty.keys("\x1bh");
    tty.wait_for("the picker", |shown| shown.has("Harness for"));
    for (width, height) in [(20, 24), (100, 2), (1, 1), (100, 30)] {
        tty.resize(width, height);
        // Drawn before the next one comes, so that each is a size of its own.
        tty.keys("\x1b[B");
    }
    tty.wait_for("the picker again", |shown| shown.has("Harness for"));
    tty.keys("\x1b");
    tty.wait_for("the composer", idle);
    tty.keys("\x04");
    assert_eq!(tty.exit_code(), 0);
}
