//! Work counts as done once the project's own check passes: real runs on small real projects.

use serde_json::{Value, json};

use crate::kit::{Ran, Tack, finish, on_every_wire, wait_for};
use crate::server::*;

on_every_wire! {
    a_check_that_fails_goes_back_and_then_passes,
    work_handed_in_by_a_call_is_held_to_the_check_too,
    a_stop_ends_the_check_at_once,
}

/// A project with a harness that asks for the check, `rounds` times.
fn gated(server: &Server, base: &str, rounds: u32) -> Tack {
    let tack = Tack::new(server);
    let folder = tack.home().join("harnesses/gated");
    std::fs::create_dir_all(&folder).unwrap();
    let manifest = format!(
        "schema = 1
id = \"gated\"
extends = \"{base}\"
[tools]
drop = []
\
         [loop]
reads = 3
repeats = \"refused\"
[check]
rounds = {rounds}
"
    );
    std::fs::write(folder.join("harness.toml"), manifest).unwrap();
    tack.file("a.txt", "good\n");
    tack.env("TACK_HARNESS", "gated").env("PATH", "/usr/local/bin:/usr/bin:/bin")
}

/// Checks `a.txt` by a command.
fn checked_by(tack: &Tack, command: &str, prompt: &str) -> Ran {
    tack.run(["exec", "-c", &format!("check.command={command:?}"), prompt])
}

const GOOD: &str = "grep -q good a.txt || { echo FAIL: a.txt is not good; exit 1; }";

fn write(id: &str, text: &str) -> Reply {
    calls(id, "write", &json!({ "path": "a.txt", "content": text }))
}

fn shell(id: &str, command: &str) -> Reply {
    calls(id, "bash", &json!({ "command": command }))
}

/// How each run of the check ended, and whether it was before the first change.
fn marks(tack: &Tack) -> Vec<(Value, bool)> {
    let lines = tack.log();
    let marks = lines.iter().filter(|line| line["mark"] == "checked");
    marks.map(|mark| (mark["exit"].clone(), mark["before"].as_bool().unwrap())).collect()
}

/// The text of the last message of the last request.
fn last_said(server: &Server) -> String {
    let messages = server.requests().pop().unwrap().chat()["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].to_string()
}

#[test]
fn a_check_that_passes_lets_the_turn_end() {
    let server = Server::start(vec![write("a", "good too\n"), says("done")]);
    let tack = gated(&server, "minimal", 2);
    let ran = checked_by(&tack, GOOD, "change a.txt").code(0);
    assert_eq!(ran.stdout, "done\n");
    assert_eq!(server.requests().len(), 2);
    assert_eq!(marks(&tack), [(json!(0), true), (json!(0), false)]);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    assert!(ran.stderr.contains("to check the work"), "{}", ran.stderr);
}

fn a_check_that_fails_goes_back_and_then_passes() {
    let server =
        Server::start(vec![write("a", "bad\n"), says("done"), write("b", "good\n"), says("now it is")]);
    let tack = gated(&server, "minimal", 2);
    let ran = checked_by(&tack, GOOD, "change a.txt").code(0);
    assert_eq!(ran.stdout, "now it is\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests[2].said().contains("FAIL: a.txt is not good"), "{}", requests[2].said());
    for request in requests {
        valid_history(&request.chat()).unwrap();
    }
    assert_eq!(marks(&tack), [(json!(0), true), (json!(1), false), (json!(0), false)]);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
}

#[test]
fn a_check_that_goes_on_failing_ends_the_turn_after_its_rounds() {
    let server = Server::start(vec![
        write("a", "bad\n"),
        says("done"),
        write("b", "worse\n"),
        says("done now"),
        write("c", "worst\n"),
        says("really done"),
        says("never asked for"),
    ]);
    let tack = gated(&server, "minimal", 2);
    let ran = checked_by(&tack, GOOD, "change a.txt").code(0);
    assert_eq!(ran.stdout, "really done\n");
    assert_eq!(server.requests().len(), 6);
    assert_eq!(marks(&tack).len(), 4);
    assert_eq!(ran.stderr.matches("fails (exit code 1), which passed before").count(), 1, "{}", ran.stderr);
}

#[test]
fn who_only_says_again_that_it_is_done_is_not_checked_again() {
    let server =
        Server::start(vec![write("a", "bad\n"), says("done"), says("done"), says("done"), says("no")]);
    let tack = gated(&server, "minimal", 2);
    let ran = checked_by(&tack, GOOD, "change a.txt").code(0);
    assert_eq!(server.requests().len(), 4);
    assert_eq!(marks(&tack), [(json!(0), true), (json!(1), false)]);
    assert!(ran.stderr.contains("which passed before"), "{}", ran.stderr);
}

fn work_handed_in_by_a_call_is_held_to_the_check_too() {
    let hand_in = |id| calls(id, "finish", &json!({ "answer": "it is done" }));
    let server = Server::start(vec![
        shell("a", "echo bad > a.txt"),
        hand_in("b"),
        shell("c", "echo good > a.txt"),
        hand_in("d"),
    ]);
    let tack = gated(&server, "minimal", 2);
    let ran = checked_by(&tack, GOOD, "change a.txt").code(0);
    assert_eq!(ran.stdout, "it is done\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests[2].said().contains("FAIL: a.txt is not good"), "{}", requests[2].said());
    for request in requests {
        valid_history(&request.chat()).unwrap();
    }
    assert_eq!(marks(&tack), [(json!(0), true), (json!(1), false), (json!(0), false)]);
}

#[test]
fn a_check_that_fails_as_before_is_not_held_against_the_turn() {
    let server = Server::start(vec![write("a", "good too\n"), says("done")]);
    let tack = gated(&server, "minimal", 2);
    let ran = checked_by(&tack, "echo FAIL: test_other; exit 1", "rename the greeting").code(0);
    assert_eq!(server.requests().len(), 2);
    assert!(ran.stderr.contains("fails (exit code 1) as it did before"), "{}", ran.stderr);
}

#[test]
fn a_check_that_fails_in_a_new_way_goes_back_although_it_failed_before() {
    let check = "echo FAIL: test_other; grep -q good a.txt || echo FAIL: test_a; exit 1";
    let server = Server::start(vec![write("a", "bad\n"), says("done"), write("b", "good\n"), says("done")]);
    let tack = gated(&server, "minimal", 2);
    let ran = checked_by(&tack, check, "rename the greeting").code(0);
    let said = server.requests()[2].said();
    assert!(said.contains("FAIL: test_a") && said.contains("failed before"), "{said}");
    assert_eq!(server.requests().len(), 4);
    assert!(ran.stderr.contains("as it did before"), "{}", ran.stderr);
}

#[test]
fn a_failing_test_that_is_to_be_mended_has_to_pass() {
    let server = Server::start(vec![
        calls("a", "edit", &json!({"path": "calc.py", "oldText": "a - b", "newText": "a * b"})),
        says("Fixed."),
        calls("b", "edit", &json!({"path": "calc.py", "oldText": "a * b", "newText": "a + b"})),
        says("Fixed now."),
    ]);
    let tack = gated(&server, "minimal", 2);
    tack.file("calc.py", "def add(a, b):\n    return a - b\n");
    tack.file(
        "test_calc.py",
        "import unittest\nfrom calc import add\n\nclass TestAdd(unittest.TestCase):\n    \
         def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n",
    );
    if !std::path::Path::new("/usr/bin/python3").exists() {
        return;
    }
    let ran = tack.run(["-p", "The test fails. Fix it."]).code(0);
    assert_eq!(ran.stdout, "Fixed now.\n");
    assert_eq!(server.requests().len(), 4);
    assert!(server.requests()[2].said().contains("6 != 5"), "{}", server.requests()[2].said());
    assert_eq!(marks(&tack), [(json!(1), true), (json!(1), false), (json!(0), false)]);
    assert!(!tack.work().join("__pycache__").exists(), "the check left compiled files");
}

#[test]
fn a_makefile_with_a_test_is_a_check() {
    let server = Server::start(vec![write("a", "bad\n"), says("done"), write("b", "good\n"), says("done")]);
    let tack = gated(&server, "minimal", 2);
    tack.file("Makefile", "test:\n\t@grep -q good a.txt\n");
    tack.run(["-p", "change a.txt"]).code(0);
    assert_eq!(marks(&tack), [(json!(0), true), (json!(2), false), (json!(0), false)]);
}

#[test]
fn an_empty_command_is_no_check_though_one_could_be_guessed() {
    let server = Server::start(vec![write("a", "bad\n"), says("done")]);
    let tack = gated(&server, "minimal", 2);
    tack.file("Makefile", "test:\n\t@grep -q good a.txt\n");
    checked_by(&tack, "", "change a.txt").code(0);
    assert_eq!(marks(&tack), []);
}

#[test]
fn a_check_over_its_limit_is_none_and_that_is_said_once_in_a_session() {
    let server =
        Server::start(vec![write("a", "bad\n"), says("done"), write("b", "bad still\n"), says("done again")]);
    let tack = gated(&server, "minimal", 2);
    let slow = ["-c", "check.command=sleep 100 & sleep 100", "-c", "check.limit=1"];
    let ran = tack.run(["exec"].iter().chain(&slow).chain(&["change a.txt"])).code(0);
    assert_eq!(ran.stderr.matches("it takes longer than 1 s").count(), 1, "{}", ran.stderr);
    assert_eq!(marks(&tack), [(Value::Null, true)]);
    let ran = tack.run(["exec", "resume", "--last"].iter().chain(&slow).chain(&["change a.txt"])).code(0);
    assert!(!ran.stderr.contains("longer"), "{}", ran.stderr);
    assert_eq!(marks(&tack).len(), 1);
}

#[test]
fn a_check_that_only_hangs_after_the_change_is_not_held_against_it() {
    let server = Server::start(vec![write("a", "bad\n"), says("done")]);
    let tack = gated(&server, "minimal", 2);
    let check = "check.command=grep -q good a.txt || sleep 100";
    let ran = tack.run(["exec", "-c", check, "-c", "check.limit=1", "change a.txt"]).code(0);
    assert_eq!(marks(&tack), [(json!(0), true), (Value::Null, false)]);
    assert!(ran.stderr.contains("it takes longer than 1 s"), "{}", ran.stderr);
}

#[test]
fn a_check_that_cannot_be_run_is_none() {
    for (check, why) in [
        ("no-such-runner --all", "not found"),
        ("make -f - test <<< 'test:; @no-such-runner'", "Error 127"),
        ("exit 127", "it cannot be run"),
    ] {
        let server = Server::start(vec![write("a", "bad\n"), says("done")]);
        let tack = gated(&server, "minimal", 2);
        let ran = checked_by(&tack, check, "The tests fail, fix them.").code(0);
        assert_eq!(server.requests().len(), 2, "{check}");
        assert_eq!(marks(&tack).len(), 1, "{check}");
        let told =
            ran.stderr.lines().find(|line| line.contains("nothing is checked with")).unwrap_or_default();
        assert!(told.contains(why), "{check}: {}", ran.stderr);
    }
}

#[test]
fn a_check_that_the_sandbox_blocks_is_not_held_against_the_turn() {
    let server = Server::start(vec![write("a", "good too\n"), says("done")]);
    let tack = gated(&server, "minimal", 2);
    let check = "echo 'FAIL: test_fetch: Could not resolve host: example.com'; exit 6";
    let ran = checked_by(&tack, check, "The tests fail, fix them.").code(0);
    assert_eq!(server.requests().len(), 2);
    assert!(ran.stderr.contains("as it did before"), "{}", ran.stderr);
}

#[test]
fn a_question_is_answered_without_the_check() {
    let server = Server::start(vec![shell("a", "cat a.txt"), shell("b", "sh show.sh"), says("good")]);
    let tack = gated(&server, "minimal", 2);
    tack.file("show.sh", "cat a.txt\n");
    checked_by(&tack, GOOD, "What does a.txt say?").code(0);
    assert_eq!(marks(&tack), []);
}

#[test]
fn a_request_that_is_not_understood_is_no_question() {
    let server = Server::start(vec![
        shell("a", "echo bad > a.txt"),
        says("fertig"),
        shell("b", "echo good > a.txt"),
        says("fertig"),
    ]);
    let tack = gated(&server, "minimal", 2);
    checked_by(&tack, GOOD, "Ändere den Gruß in a.txt").code(0);
    assert_eq!(marks(&tack), [(json!(0), true), (json!(1), false), (json!(0), false)]);
}

#[test]
fn a_turn_that_changed_nothing_is_not_checked() {
    let server = Server::start(vec![shell("a", "cat a.txt"), says("There is nothing to fix.")]);
    let tack = gated(&server, "minimal", 2);
    checked_by(&tack, GOOD, "fix a.txt").code(0);
    assert_eq!(marks(&tack), []);

    // A command that might have changed something, an edit that was refused.
    let miss = json!({"path": "a.txt", "oldText": "nowhere", "newText": "x"});
    let server = Server::start(vec![
        shell("a", "sh show.sh"),
        calls("b", "edit", &miss),
        says("There is nothing to fix."),
    ]);
    let tack = gated(&server, "minimal", 2);
    tack.file("show.sh", "cat a.txt\n");
    checked_by(&tack, GOOD, "fix a.txt").code(0);
    assert_eq!(marks(&tack), [(json!(0), true)]);
}

#[test]
fn what_the_check_itself_writes_is_no_change_of_the_turns() {
    let server = Server::start(vec![shell("a", "sh show.sh"), says("nothing to do")]);
    let tack = gated(&server, "minimal", 2);
    tack.file("show.sh", "cat a.txt\n");
    checked_by(&tack, "date >> report.txt; exit 1", "fix a.txt").code(0);
    assert_eq!(marks(&tack), [(json!(1), true)]);
    assert!(tack.work().join("report.txt").exists());
}

fn a_stop_ends_the_check_at_once() {
    let server = Server::start(vec![write("a", "bad\n"), says("done"), says("after")]);
    let tack = gated(&server, "minimal", 2);
    let check = "check.command=grep -q good a.txt || { touch started; sleep 300; }";
    let child = tack.command(["exec", "-c", check, "change a.txt"]).spawn().unwrap();
    wait_for("the check", || tack.work().join("started").exists());
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    finish(child, None).code(130);
    assert_eq!(marks(&tack), [(json!(0), true)]);
    tack.run(["exec", "resume", "--last", "go on"]).code(0);
    valid_history(&server.requests()[2].chat()).unwrap();
}

#[test]
fn the_time_limit_of_a_run_holds_for_the_check() {
    let server = Server::start(vec![write("a", "written\n"), says("done")]);
    let tack = gated(&server, "minimal", 2);
    let ran = tack.run(["exec", "-c", "check.command=sleep 300", "--timeout", "1", "change a.txt"]).code(3);
    assert!(ran.stderr.contains("time limit"), "{}", ran.stderr);
    assert_eq!(tack.read("a.txt"), "good\n", "nothing runs once the run is stopped");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_turn_without_requests_left_ends_as_completed_and_says_that_the_check_fails() {
    let server = Server::start(vec![write("a", "bad\n"), says("done"), says("never asked for")]);
    let tack = gated(&server, "minimal", 2);
    let set = format!("check.command={GOOD:?}");
    let ran = tack.run(["exec", "-c", &set, "--max-turns", "2", "change a.txt"]).code(0);
    assert_eq!(ran.stdout, "done\n");
    assert!(ran.stderr.contains("which passed before"), "{}", ran.stderr);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn the_check_runs_under_full_access_and_not_where_nothing_can_be_written() {
    for (mode, times) in [("danger-full-access", 2), ("read-only", 0)] {
        let server = Server::start(vec![write("a", "good too\n"), says("done")]);
        let tack = gated(&server, "minimal", 2);
        let set = format!("check.command={GOOD:?}");
        tack.run(["exec", "-s", mode, "-c", &set, "change a.txt"]).code(0);
        assert_eq!(marks(&tack).len(), times, "{mode}");
    }
}

#[test]
fn a_harness_that_keeps_notes_to_itself_passes_a_failed_check_on() {
    let block = |command: &str| says(&format!("On it.\n```bash\n{command}\n```"));
    let server = Server::start(vec![
        block("echo bad > a.txt"),
        block("submit"),
        block("submit"),
        block("echo good > a.txt"),
        block("submit"),
        block("submit"),
    ]);
    let tack = gated(&server, "swe-agent", 1);
    checked_by(&tack, GOOD, "change a.txt").code(0);
    assert!(
        server.requests()[3].said().contains("FAIL: a.txt is not good"),
        "{}",
        server.requests()[3].said()
    );
    assert_eq!(tack.read("a.txt"), "good\n");
}

#[test]
fn a_model_that_only_reads_is_told_to_make_the_edit() {
    let script = || {
        vec![
            shell("a", "cat a.txt"),
            shell("b", "cat b.txt"),
            shell("c", "ls"),
            shell("d", "cat c.txt"),
            says("x"),
        ]
    };
    for (prompt, told) in [("Fix the greeting in a.txt", 1), ("What does a.txt say?", 0)] {
        let server = Server::start(script());
        let tack = gated(&server, "minimal", 0);
        for name in ["b.txt", "c.txt"] {
            tack.file(name, "x\n");
        }
        tack.run(["-p", prompt]).code(0);
        let said = server.requests()[3].said();
        assert_eq!(said.matches("You have seen a.txt, b.txt. Make the edit now.").count(), told, "{said}");
        assert!(!last_said(&server).contains("Make the edit"), "once in a row of reads");
    }
}

#[test]
fn a_repeated_call_is_answered_with_what_it_gave_before() {
    let run = |id| shell(id, "sh show.sh");
    let finish = calls("c", "finish", &json!({ "answer": "done" }));
    let server = Server::start(vec![run("a"), run("b"), finish]);
    let tack = gated(&server, "minimal", 0);
    tack.file("show.sh", "echo >> ran; echo 41 lines; echo more\n");
    tack.run(["-p", "x"]).code(0);
    assert!(last_said(&server).contains("Same result as before: 41 lines"), "{}", last_said(&server));
    assert_eq!(tack.read("ran"), "\n", "it ran once");
}
