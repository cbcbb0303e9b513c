//! Sessions that are open elsewhere, damaged, cannot be written, or hold odd words; images that a
//! model does not take.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::bad::{Somebody, row, said};
use crate::kit::{Tack, finish, on_every_wire, wait_for, wire};
use crate::server::*;

on_every_wire! {
    a_second_process_on_a_session_is_told_by_whom_it_is_held,
    a_killed_run_leaves_a_history_that_servers_take,
    a_damaged_log_is_gone_on_with,
    a_title_cannot_steer_the_terminal,
    where_no_session_can_be_written_the_run_goes_on,
    a_full_disk_is_said_once_and_the_run_goes_on,
    an_image_that_a_model_refuses_is_left_out_and_kept_for_one_that_sees,
}

fn shell(id: &str, command: &str) -> Reply {
    calls(id, "bash", &json!({ "command": command }))
}

fn a_second_process_on_a_session_is_told_by_whom_it_is_held() {
    let server = Server::start(vec![shell("a", "touch ran; sleep 100"), says("ok")]);
    let tack = Tack::new(&server);
    let mut first = tack.command(["-p", "x"]).spawn().unwrap();
    wait_for("the command", || tack.work().join("ran").exists());
    let id = tack.session_id();
    let second = tack.run(["exec", "resume", &id, "y"]);
    let removal = tack.run(["sessions", "rm", &id]);
    let shown = tack.run(["sessions", "show", &id]);
    let pid = first.id().to_string();
    Command::new("kill").arg(&pid).status().unwrap();
    first.wait().unwrap();
    assert!(second.stderr.contains(&pid), "{}", second.stderr);
    assert_eq!((second.code, removal.code, shown.code), (1, 1, 0));
    insta::assert_snapshot!(
        "a_second_process_on_a_session_is_told_by_whom_it_is_held",
        row("resume", &tack, &second) + &row("remove", &tack, &removal)
    );
    // Nothing was lost, and it can be gone on with.
    tack.run(["exec", "resume", &id, "y"]).code(0);
    valid_history(&server.requests()[1].chat()).unwrap();
}

fn a_killed_run_leaves_a_history_that_servers_take() {
    let parallel = || {
        sse([
            call(0, "a", "bash", "{\"command\":\"echo first\"}"),
            call(1, "b", "bash", "{\"command\":\"touch ran; sleep 100\"}"),
            end("tool_calls"),
            done(),
        ])
    };
    let streaming = || sse([txt("words"), call(0, "a", "bash", "{\"command\":\"touch BAD"), Frame::Hang]);
    let table = [
        ("one call", shell("a", "touch ran; sleep 100")),
        ("two calls, one finished", parallel()),
        ("streaming", streaming()),
    ];
    for (what, reply) in table {
        for signal in ["-KILL", "-INT"] {
            let server = Server::start(vec![reply.clone(), says("resumed")]);
            let tack = Tack::new(&server);
            let mut child =
                tack.command(["-p", "x"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            match what {
                "streaming" => wait_for("the prompt on disk", || {
                    !tack.logs().is_empty() && !server.requests().is_empty()
                }),
                _ => wait_for("the command", || tack.work().join("ran").exists()),
            }
            Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
            child.wait().unwrap();
            let ran = tack.run(["exec", "resume", "--last", "go on"]);
            assert_eq!((ran.code, ran.stdout.as_str()), (0, "resumed\n"), "{what} {signal}: {}", ran.stderr);
            assert!(!tack.work().join("BAD").exists());
        }
    }
}

fn a_damaged_log_is_gone_on_with() {
    for (what, damage) in [
        ("cut in the last line", (|bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 7)) as fn(&mut Vec<u8>)),
        ("garbage at the end", |bytes| bytes.extend(b"\0\0\xff\xfe{\"v\":1")),
        ("a broken line in the middle", |bytes| {
            let at = bytes.iter().position(|b| *b == b'\n').unwrap();
            bytes.splice(at + 1..at + 20, *b"#");
        }),
        ("no header", |bytes| {
            let at = bytes.iter().position(|b| *b == b'\n').unwrap();
            bytes.drain(..=at);
        }),
        ("empty", Vec::clear),
        ("deep nesting", |bytes| {
            bytes.extend("[".repeat(100_000).into_bytes());
            bytes.push(b'\n');
        }),
    ] {
        let server = Server::start(vec![shell("a", "echo hi"), says("one"), says("two"), says("three")]);
        let tack = Tack::new(&server);
        tack.run(["-p", "first"]).code(0);
        let log = tack.logs().remove(0);
        let mut bytes = std::fs::read(&log).unwrap();
        damage(&mut bytes);
        std::fs::write(&log, &bytes).unwrap();
        let id = tack.session_id();
        for command in ["show", "export"] {
            let ran = tack.run(["sessions", command, &id]);
            assert_eq!(ran.code, 0, "{what}: {command}: {}", ran.stderr);
        }
        assert!(tack.run(["sessions", "list"]).code(0).stdout.contains(&id), "{what}");
        let ran = tack.run(["exec", "resume", &id, "second"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "two\n"), "{what}: {}", ran.stderr);
        valid_history(&server.requests()[2].chat()).unwrap_or_else(|wrong| panic!("{what}: {wrong}"));
        // What came after the damage is read back whole.
        tack.run(["exec", "resume", &id, "third"]).code(0);
        let last = server.requests()[3].said();
        assert!(last.contains("second") && last.contains("two"), "{what}: {last}");
    }
}

#[test]
fn sessions_of_an_empty_or_damaged_folder_are_listed_as_far_as_they_go() {
    let tack = Tack::bare();
    let mut text = row("nothing there", &tack, &tack.run(["sessions", "list"]).code(0));
    for (what, args) in [
        ("show", ["sessions", "show", "0"]),
        ("export", ["sessions", "export", ".."]),
        ("rm", ["sessions", "rm", "../x"]),
    ] {
        text += &row(what, &tack, &tack.run(args).code(2));
    }
    let sessions = tack.home().join("sessions");
    let month = sessions.join("2026/11");
    std::fs::create_dir_all(month.join("01936f00-0000-7000-8000-000000000001.jsonl")).unwrap();
    std::fs::write(month.join("01936f00-0000-7000-8000-000000000002.jsonl"), "garbage\n").unwrap();
    std::fs::write(month.join("not-an-id.jsonl"), "{}").unwrap();
    std::fs::write(sessions.join("2026/x"), "").unwrap();
    Command::new("mkfifo").arg(month.join("01936f00-0000-7000-8000-000000000003.jsonl")).status().unwrap();
    tack.run(["sessions", "list", "--all"]).code(0);
    tack.run(["sessions", "list", "--json"]).code(0);
    std::fs::remove_dir_all(&sessions).unwrap();
    std::fs::write(&sessions, "a file").unwrap();
    text += &row("a file in its place", &tack, &tack.run(["sessions", "list"]).code(0));
    insta::assert_snapshot!(text);
}

fn a_title_cannot_steer_the_terminal() {
    let server = Server::start(vec![says("ok")]);
    let tack = Tack::new(&server);
    tack.run(["-p", "\u{1b}]0;owned\u{7}\u{1b}[2Jhi\rthere\u{9b}31m"]).code(0);
    let id = tack.session_id();
    for args in [vec!["sessions", "list"], vec!["sessions", "show", &id]] {
        let out = tack.run(&args).code(0).stdout;
        assert!(out.chars().all(|c| c == '\n' || !c.is_control()), "{out:?}");
    }
}

fn where_no_session_can_be_written_the_run_goes_on() {
    let Some(user) = Somebody::new() else { return };
    let server = Server::start(vec![shell("a", "echo x > out"), says("ok"), says("ok")]);
    let tack = Tack::new(&server);
    let sessions = tack.home().join("sessions");
    std::fs::create_dir(&sessions).unwrap();
    user.give(&tack);
    std::fs::set_permissions(&sessions, std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
    let ran = user.run(&tack, &["-p", "hi"]).code(0);
    assert_eq!((ran.stdout.as_str(), tack.read("out").as_str()), ("ok\n", "x\n"));
    assert!(!ran.stderr.contains("resume"), "{}", ran.stderr);
    insta::assert_snapshot!("where_no_session_can_be_written_the_run_goes_on", row("read-only", &tack, &ran));
    let ran = user.run(&tack, &["exec", "--json", "hi"]).code(0);
    let warnings = ran.events().iter().filter(|event| event["item"]["type"] == "error").count();
    assert_eq!(warnings, 1);
}

/// A home of one megabyte, filled to the end, where mounting is allowed.
fn a_full_disk_is_said_once_and_the_run_goes_on() {
    let server = Server::start(vec![shell("a", "echo x; seq 100000"), says("ok")]);
    let tack = Tack::new(&server);
    let small = tack.dir.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=1m none {small} && cp {home}/config.toml {small} && \
         {{ head -c 2000000 /dev/zero > {small}/fill; TACK_HOME={small} TMPDIR=/var/tmp {tack} -p hi; }} 2>&1 >out.txt",
        small = small.display(),
        home = tack.home().display(),
        tack = env!("CARGO_BIN_EXE_tack"),
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]).current_dir(tack.work()).env_remove("HOME");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(child) = command.spawn() else { return };
    let ran = finish(child, None);
    if server.requests().is_empty() && (ran.stdout.contains("mount") || ran.stderr.contains("unshare")) {
        let _ = writeln!(std::io::stderr(), "skipped: no small disk can be mounted here");
        return;
    }
    assert_eq!(ran.code, 0, "{} {}", ran.stdout, ran.stderr);
    assert_eq!(tack.read("out.txt"), "ok\n");
    let said = ran.stdout;
    assert_eq!(said.matches("not being recorded").count(), 1, "{said}");
    assert!(
        said.contains("No space left") && !said.contains("resume") && !said.contains("panicked"),
        "{said}"
    );
    let second = server.requests()[1].said();
    assert!(second.contains("100000"), "the command's output reached the model");
}

// Images.

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

fn an_image_that_a_model_refuses_is_left_out_and_kept_for_one_that_sees() {
    let refuses =
        |request: &Request| (request.body["model"] == "mock" && request.has_image()).then(no_images);
    let script =
        vec![calls("a", "read", &json!({"path": "dot.png"})), says("blind"), says("hi"), says("seen")];
    let server = Server::with(script, refuses);
    let tack = Tack::new(&server);
    tack.file("dot.png", PNG);
    // The image comes with a tool's result.
    let ran = tack.run(["-p", "look"]).code(0);
    assert_eq!(ran.stdout, "blind\n");
    insta::assert_snapshot!(
        format!("an_image_that_a_model_refuses_is_left_out_and_kept_for_one_that_sees-{}", wire().name()),
        said(&tack, &ran)
    );
    // Text alone goes on, also in another process, which knows and neither tries nor says it again.
    let ran = tack.run(["exec", "resume", "--last", "hi"]).code(0);
    assert_eq!(ran.stdout, "hi\n");
    assert!(!ran.stderr.contains("images are left out"), "{}", ran.stderr);
    assert_eq!(server.requests().len(), 4);
    // A model that sees gets it again.
    let ran = tack.run(["exec", "resume", "--last", "-m", "seer", "now?"]).code(0);
    assert_eq!(ran.stdout, "seen\n");
    let last = server.requests().pop().unwrap();
    assert!(last.has_image());
    for request in server.requests() {
        valid_history(&request.chat()).unwrap();
    }
}

#[test]
fn a_model_known_to_see_nothing_is_sent_no_image() {
    let server = Server::start(vec![calls("a", "read", &json!({"path": "dot.png"})), says("ok")]);
    let tack = Tack::bare();
    tack.file("dot.png", PNG);
    let moved = format!("model_providers.deepseek.base_url={}", server.url());
    let flags = ["-c", &moved, "-m", "deepseek/deepseek-v4-pro", "--harness", "minimal"];
    let refused = tack.run(flags.iter().chain(&["-p", "look", "-i", "dot.png"])).code(2);
    assert!(server.requests().is_empty());
    insta::assert_snapshot!(row("before anything is sent", &tack, &refused));
    tack.run(flags.iter().chain(&["-p", "look"])).code(0);
    assert!(!server.requests()[1].has_image());
    valid_history(&server.requests()[1].chat()).unwrap();
}
