//! Odd places: environments, folders and streams that are missing, read-only, closed, full, or hold
//! bytes that are no text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::bad::{Somebody, row, said};
use crate::kit::{Ran, Tack, finish, on_every_wire, wait_for, wire};
use crate::server::*;

on_every_wire! {
    a_working_folder_deleted_meanwhile_is_a_result_and_no_crash,
    any_environment_will_do,
    without_a_home_the_run_goes_on_and_says_what_is_not_kept,
    an_empty_environment_is_enough,
    arguments_and_folders_may_hold_any_bytes,
    closed_and_full_streams_are_not_the_end,
    a_reader_that_stops_after_a_line_stops_the_run,
    a_command_that_runs_is_stopped_when_the_reader_goes_away,
}

fn shell(id: &str, command: &str) -> Reply {
    calls(id, "bash", &json!({ "command": command }))
}

/// `script` run by sh, where `tack` is the binary; the environment is the test's own.
fn sh(tack: &Tack, script: &str) -> Ran {
    let script = format!("tack() {{ {:?} \"$@\"; }}\n{script}", env!("CARGO_BIN_EXE_tack"));
    let mut command = Command::new("sh");
    command.args(["-c", &script]).env_clear().current_dir(tack.work());
    for (name, value) in tack.command(["unused"]).get_envs() {
        command.env(name, value.unwrap());
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(command.spawn().unwrap(), None)
}

#[test]
fn a_working_folder_that_cannot_be_used_is_said() {
    let tack = Tack::bare();
    tack.file("file", "");
    let mut text = String::new();
    for (what, args) in [
        ("missing", ["-p", "hi", "-m", "ollama/x", "-C", "nowhere"]),
        ("a file", ["-p", "hi", "-m", "ollama/x", "-C", "file"]),
    ] {
        let ran = tack.run(args).code(2);
        text += &row(what, &tack, &ran);
    }
    let ran = sh(&tack, "mkdir gone && cd gone && rmdir ../gone && tack -p hi -m ollama/x").code(2);
    text += &row("deleted before", &tack, &ran);
    insta::assert_snapshot!(text);
}

#[test]
fn a_folder_that_may_not_be_read_is_said() {
    let Some(user) = Somebody::new() else { return };
    let tack = Tack::bare();
    user.give(&tack);
    let locked = tack.work().join("locked");
    std::fs::create_dir(&locked).unwrap();
    let mode = |mode| std::fs::set_permissions(&locked, std::os::unix::fs::PermissionsExt::from_mode(mode));
    mode(0o000).unwrap();
    let ran = user.run(&tack, &["-p", "hi", "-m", "ollama/x", "-C", "locked"]);
    mode(0o700).unwrap();
    insta::assert_snapshot!(row("unreadable", &tack, &ran));
}

fn a_working_folder_deleted_meanwhile_is_a_result_and_no_crash() {
    let server = Server::start(vec![
        shell("a", "rm -rf \"$PWD\"; echo removed"),
        shell("b", "echo still here"),
        calls("c", "write", &json!({"path": "new.txt", "content": "x"})),
        calls("d", "read", &json!({"path": "old.txt"})),
        says("the folder is gone"),
    ]);
    let tack = Tack::new(&server);
    std::fs::create_dir(tack.work().join("gone")).unwrap();
    tack.file("gone/old.txt", "x");
    let ran = tack.run(["-p", "x", "-C", "gone", "--add-dir", "."]).code(0);
    assert_eq!(ran.stdout, "the folder is gone\n");
    assert_eq!(server.requests().len(), 5);
    valid_history(&server.requests()[4].chat()).unwrap();
}

fn any_environment_will_do() {
    type Change = fn(&Tack, &mut Command);
    let table: &[(&str, Change)] = &[
        ("a PATH that is no text", |_, command| {
            command.env("PATH", OsStr::from_bytes(b"/x\xff:/usr/bin:/bin"));
        }),
        ("a variable that is no text", |_, command| {
            command.env("TACK_HARNESS", OsStr::from_bytes(b"\xff"));
            command.env(OsStr::from_bytes(b"N\xffME"), "x");
        }),
        ("LANG=C", |_, command| {
            command.env("LANG", "C").env("LC_ALL", "C");
        }),
        ("a dumb terminal", |_, command| {
            command.env("TERM", "dumb");
        }),
        ("no HOME", |_, command| {
            command.env_remove("HOME");
        }),
        ("no PATH", |_, command| {
            command.env_remove("PATH");
        }),
        ("a HOME that is nowhere", |_, command| {
            command.env("HOME", "/nonexistent");
        }),
        ("a time zone that is none", |_, command| {
            command.env("TZ", "Nowhere/Land");
        }),
    ];
    for (what, change) in table {
        let server = Server::start(vec![shell("a", "echo grüße > out; exit 0"), says("ok ✓")]);
        let tack = Tack::new(&server);
        let mut command = tack.command(["-p", "hi"]);
        change(&tack, &mut command);
        let ran = finish(command.spawn().unwrap(), None);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "ok ✓\n"), "{what}: {}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{what}: {}", ran.stderr);
        assert_eq!(tack.read("out"), "grüße\n", "{what}: {}", ran.stderr);
        assert_eq!(tack.logs().len(), 1, "{what}");
    }
}

/// Without TACK_HOME everything hangs on HOME.
fn without_a_home_the_run_goes_on_and_says_what_is_not_kept() {
    let mut text = String::new();
    let Some(user) = Somebody::new() else { return };
    for (what, home) in
        [("HOME unset", None), ("HOME is a file", Some("file")), ("HOME read-only", Some("locked"))]
    {
        let server = Server::start(vec![shell("a", "echo x > out"), says("ok")]);
        let tack = Tack::bare();
        let there = |name: &str| tack.dir.path().join("homes").join(name);
        std::fs::create_dir_all(there("locked")).unwrap();
        std::fs::write(there("file"), "").unwrap();
        let url = format!("model_providers.mock.base_url={}", server.url());
        let api = format!("model_providers.mock.wire_api={}", wire().name());
        let args = ["-p", "hi", "-m", "mock/m", "--harness", "minimal", "-c", url.as_str(), "-c", &api];
        let mut command = match home {
            Some("locked") => {
                user.give(&tack);
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o555);
                std::fs::set_permissions(there("locked"), mode).unwrap();
                user.command(&tack, &args)
            }
            _ => tack.command(args),
        };
        command.env_remove("TACK_HOME").env_remove("HOME");
        if let Some(home) = home {
            command.env("HOME", there(home));
        }
        let ran = finish(command.spawn().unwrap(), None);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "ok\n"), "{what}: {}", ran.stderr);
        assert_eq!(tack.read("out"), "x\n", "{what}");
        assert!(!ran.stderr.contains("resume"), "{what}: {}", ran.stderr);
        assert_eq!(ran.stderr.matches("recorded").count(), 1, "{what}: {}", ran.stderr);
        text += &row(what, &tack, &ran);
    }
    insta::assert_snapshot!("without_a_home_the_run_goes_on_and_says_what_is_not_kept", text);
}

fn an_empty_environment_is_enough() {
    let server = Server::start(vec![shell("a", "echo x > out"), says("ok")]);
    let tack = Tack::bare();
    let url = format!("model_providers.mock.base_url={}", server.url());
    let mut command = Command::new(env!("CARGO_BIN_EXE_tack"));
    let api = format!("model_providers.mock.wire_api={}", wire().name());
    command.args(["-p", "hi", "-m", "mock/m", "--harness", "minimal", "-c", &url, "-c", &api]).env_clear();
    command.current_dir(tack.work()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = finish(command.spawn().unwrap(), None).code(0);
    assert_eq!((ran.stdout.as_str(), tack.read("out").as_str()), ("ok\n", "x\n"));
    insta::assert_snapshot!("an_empty_environment_is_enough", said(&tack, &ran));
}

fn arguments_and_folders_may_hold_any_bytes() {
    let odd = OsStr::from_bytes(b"d\xffr");
    let server = Server::start(vec![shell("a", "echo x > out"), says("ok")]);
    let tack = Tack::new(&server);
    let folder = tack.work().join(odd);
    std::fs::create_dir(&folder).unwrap();
    let ran = finish(tack.command(["-p", "hi"]).current_dir(&folder).spawn().unwrap(), None).code(0);
    assert_eq!(std::fs::read_to_string(folder.join("out")).unwrap(), "x\n", "{}", ran.stderr);
    // Given by flag it is the same folder, and the session is found again from there.
    let args = [
        OsStr::new("exec"),
        OsStr::new("-C"),
        folder.as_os_str(),
        OsStr::new("resume"),
        OsStr::new("--last"),
        OsStr::new("go on"),
    ];
    tack.run(args).code(0);
    assert_eq!(tack.logs().len(), 1);

    let mut text = String::new();
    for (what, args) in [
        ("a prompt", [OsStr::new("-p"), OsStr::from_bytes(b"a\xff")]),
        ("a prompt of exec", [OsStr::new("exec"), OsStr::from_bytes(b"a\xff")]),
        ("a model", [OsStr::new("-m"), OsStr::from_bytes(b"a\xff")]),
        ("a subcommand's", [OsStr::new("sessions"), OsStr::from_bytes(b"a\xff")]),
    ] {
        let ran = tack.run(args).code(2);
        text += &row(what, &tack, &ran);
    }
    insta::assert_snapshot!("arguments_and_folders_may_hold_any_bytes", text);
}

fn closed_and_full_streams_are_not_the_end() {
    let table = [
        ("stdin closed", "tack -p hi <&-", 0, "ok\n"),
        ("stderr closed", "tack -p hi 2>&-", 0, "ok\n"),
        ("all but stdout closed", "tack -p hi <&- 2>&-", 0, "ok\n"),
        ("stderr full", "tack -p hi 2>/dev/full", 0, "ok\n"),
        // A program cannot tell it from /dev/null.
        ("stdout closed", "tack -p hi >&-", 0, ""),
        ("stdout full", "tack -p hi >/dev/full", 1, ""),
        ("JSON to a full device", "tack exec --json hi >/dev/full", 1, ""),
        ("help to a full device", "tack --help >/dev/full", 1, ""),
        ("list to a full device", "tack sessions list >/dev/full", 1, ""),
        ("the last message cannot be kept", "tack -p hi -o /dev/full", 0, "ok\n"),
        ("stdin is a folder", "tack exec - < .", 2, ""),
    ];
    let mut text = String::new();
    for (what, script, code, stdout) in table {
        let server = Server::start(vec![shell("a", "echo x >> out; cat; echo y"), says("ok")]);
        let tack = Tack::new(&server);
        if script.contains("sessions") {
            tack.run(["-p", "hi"]).code(0);
        }
        let ran = sh(&tack, script);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, stdout), "{what}: {}", ran.stderr);
        text += &format!("{what} [{}]\n{}\n", ran.code, said(&tack, &ran));
    }
    insta::assert_snapshot!("closed_and_full_streams_are_not_the_end", text);
}

fn a_reader_that_stops_after_a_line_stops_the_run() {
    let ticks = || (0..2000).flat_map(|_| [txt("tick "), Frame::Pause(std::time::Duration::from_millis(5))]);
    let server = Server::start(vec![sse(ticks())]);
    let tack = Tack::new(&server);
    let ran = sh(&tack, "{ tack exec --json=full x; echo $? > code; } | head -1");
    assert!(ran.stdout.contains("thread.started"));
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert_eq!(tack.read("code"), "141\n", "{}", ran.stderr);
    server.wait(|requests| requests.iter().all(|request| request.closed_early));
    assert_eq!(tack.logs().len(), 1, "the session is kept");
}

fn a_command_that_runs_is_stopped_when_the_reader_goes_away() {
    let server = Server::start(vec![shell("a", "echo $$ > pid; sleep 300"), says("ok")]);
    let tack = Tack::new(&server);
    let started = std::time::Instant::now();
    let ran = sh(&tack, "{ tack exec --json x; echo $? > code; } | head -2");
    wait_for("the exit code", || tack.work().join("code").exists());
    assert!(started.elapsed().as_secs() < 30, "it waited for the command");
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}
