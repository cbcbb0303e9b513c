//! Programs of harnesses that are slow, crash, flood, lie or are not there: one error that names the
//! program, nothing of it left running, and a session that goes on once it is mended.

use serde_json::json;

use crate::kit::{Ran, Tack, finish, wait_for};
use crate::server::*;

/// A program that does this when it is asked `verb`, and is good otherwise.
fn bad(tack: &Tack, verb: &str, code: &str) {
    tack.harness("mine", "[dialect]\nkind = \"external\"\ncommand = [\"python3\", \"mine.py\"]\nlimit = 2\n");
    let hello = if verb == "hello" { code } else { "say({'protocol': 1})" };
    let other = if verb == "hello" { "say({'default': True})" } else { code };
    let text = format!(
        "import json, os, signal, subprocess, sys, time\n\
         def out(text):\n    sys.stdout.write(text)\n    sys.stdout.flush()\n\
         def say(answer):\n    out(json.dumps({{'id': m['id'], **answer}}) + '\\n')\n\
         for line in sys.stdin:\n    m = json.loads(line)\n    if m['do'] == 'hello':\n        {hello}\n    \
         elif m['do'] == {verb:?}:\n        {other}\n    elif 'id' in m:\n        say({{'default': True}})\n"
    );
    std::fs::write(tack.home().join("harnesses/mine/mine.py"), text).unwrap();
}

/// The run's one error.
fn error(ran: &Ran) -> String {
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("the program `")).collect();
    assert_eq!(errors.len(), 1, "one error: {}", ran.stderr);
    assert!(errors[0].contains("of harness mine") && errors[0].contains("mend it in "), "{}", errors[0]);
    ran.stderr.clone()
}

#[test]
fn a_program_that_misbehaves_is_named_once_and_the_session_goes_on() {
    let table = [
        ("hello", "raise SystemExit(4)", "ended (exit code 4) instead of answering `hello`"),
        ("hello", "say({'protocol': 7})", "its `protocol` is 7; this tack speaks 1"),
        ("hello", "say({'protocol': 1, 'wants': ['promt']})", "did you mean `prompt`"),
        ("prompt", "raise SystemExit(3)", "ended (exit code 3) instead of answering `prompt`"),
        ("prompt", "no_such_name", "NameError"),
        ("prompt", "os.kill(os.getpid(), signal.SIGKILL)", "ended (signal 9)"),
        ("prompt", "os.close(1); time.sleep(60)", "gave no answer to `prompt` within 2 s"),
        ("prompt", "time.sleep(60)", "gave no answer to `prompt` within 2 s"),
        ("prompt", "out('hello\\n')", "no answer to `prompt`: `hello`; its standard output is for answers"),
        ("prompt", "out('\\x1b[31m{\\n')", "no answer to `prompt`: `[31m{`"),
        ("prompt", "out('[1]\\n')", "no answer to `prompt`: `[1]`"),
        ("prompt", "out('[' * 5000 + '\\n')", "no answer to `prompt`: `[[["),
        ("prompt", "sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush()", "no answer to `prompt`"),
        ("prompt", "out('x\\n' * 9999999)", "no answer to `prompt`: `x`"),
        ("prompt", "out('x' * (17 << 20))", "a line of more than 16 MB"),
        ("prompt", "m['id'] = 999; say({'default': True})", "its `id` is `999`, and the question's was "),
        ("prompt", "out('{\"default\": true}\\n')", "it has no `id`"),
        // By when the second one is read.
        (
            "prompt",
            "say({'default': True}); say({'default': True})",
            "wrongly: its `id`|no answer to `interpret`: `{\"id\": 2",
        ),
        ("prompt", "say({'error': 'the database is full'})", "it says `the database is full`"),
        ("prompt", "say({'promt': {}})", "it has neither `prompt`, an object, nor `\"default\": true`"),
        ("prompt", "say({'prompt': {'messages': []}})", "no message says anything"),
        ("notes", "say({'notes': 3})", "`notes` has to be a list of texts"),
        ("notes", "[sys.stderr.write('x' * 99 + '\\n') for _ in iter(int, 1)]", "within 2 s"),
        ("interpret", "say({'calls': [{'id': 'other'}]})", "the reply has no call `other`"),
        ("interpret", "say({'calls': [{'action': {'do': 'fly'}}]})", "an `action` cannot be read"),
    ];
    for (verb, code, want) in table {
        let server = Server::start(vec![says("first"), says("then")]);
        let tack = Tack::new(&server);
        bad(&tack, verb, code);
        let ran = tack.run(["-p", "go", "--harness", "mine"]).code(1);
        let said = error(&ran);
        assert!(want.split('|').any(|want| said.contains(want)), "{verb} {code}: {said}");
        assert!(said.len() < 4000 && !said.contains('\x1b'), "{code}: {} bytes", said.len());
        // Mended, the same session goes on.
        bad(&tack, "nothing", "pass");
        let ran = tack.run(["exec", "resume", "--last", "and now"]).code(0);
        assert!(["first\n", "then\n"].contains(&ran.stdout.as_str()), "{code}: {}", ran.stdout);
        valid_history(&server.requests().last().unwrap().chat()).unwrap();
    }
}

#[test]
fn a_program_that_is_not_there_is_said_to_be_missing() {
    let server = Server::start(vec![]);
    let tack = Tack::new(&server);
    tack.harness("mine", "[dialect]\nkind = \"external\"\ncommand = [\"no-such-program\"]\n");
    let said = error(&tack.run(["-p", "go", "--harness", "mine"]).code(1));
    assert!(said.contains("cannot be started: cannot run no-such-program"), "{said}");
    assert!(server.requests().is_empty());
}

#[test]
fn noise_on_stderr_alone_does_no_harm() {
    let server = Server::start(vec![says("fine")]);
    let tack = Tack::new(&server);
    bad(&tack, "prompt", "sys.stderr.write('x' * 3000000); say({'default': True})");
    let ran = tack.run(["-p", "go", "--harness", "mine"]).code(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.contains("xxx")), ("fine\n", false));
}

#[test]
fn what_a_command_did_is_told_though_the_program_fails_to_tell_it() {
    for (code, want) in [
        ("raise SystemExit(5)", "ended (exit code 5) instead of answering `tell`"),
        ("say({'tell': 'x' * 99999})", "`tell` has 99999 bytes"),
        ("say({'tell': 7})", "neither `tell`, a text"),
    ] {
        let server =
            Server::start(vec![calls("c", "bash", &json!({"command": "echo done-$((1 + 1))"})), says("ok")]);
        let tack = Tack::new(&server);
        bad(&tack, "tell", code);
        let said = error(&tack.run(["-p", "go", "--harness", "mine"]).code(1));
        assert!(said.contains(want), "{said}");
        bad(&tack, "nothing", "pass");
        tack.run(["exec", "resume", "--last", "and now"]).code(0);
        let request = server.requests().pop().unwrap();
        assert!(request.said().contains("done-2"), "{}", request.said());
        valid_history(&request.chat()).unwrap();
    }
}

#[test]
fn trouble_at_the_end_of_a_turn_is_a_warning() {
    let server = Server::start(vec![says("fine")]);
    let tack = Tack::new(&server);
    bad(&tack, "interpret", "say({'default': True}); raise SystemExit(6)");
    let ran = tack.run(["-p", "go", "--harness", "mine"]);
    // Whether the pipe is closed by the time of the last event is up to the machine.
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "fine\n"), "{}", ran.stderr);
}

#[test]
fn a_signal_ends_the_wait_for_a_program() {
    let server = Server::start(vec![says("after")]);
    let tack = Tack::new(&server);
    bad(&tack, "prompt", "open(os.environ['TACK_DATA'] + '/asked', 'w').close(); time.sleep(60)");
    let manifest = tack.home().join("harnesses/mine/harness.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("limit = 2", "")).unwrap();
    let child = tack.command(["-p", "go", "--harness", "mine"]).spawn().unwrap();
    wait_for("the question", || tack.home().join("harness/mine/asked").exists());
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let ran = finish(child, None).code(130);
    assert!(!ran.stderr.contains("the program `"), "{}", ran.stderr);
    assert!(server.requests().is_empty());
}

#[test]
fn nothing_of_a_program_outlives_its_session() {
    let server = Server::start(vec![says("fine"), says("fine")]);
    let tack = Tack::new(&server);
    for code in ["say({'default': True})", "time.sleep(60)"] {
        let mark = "98761";
        bad(&tack, "prompt", &format!("subprocess.Popen(['sleep', {mark:?}]); {code}"));
        tack.run(["-p", "go", "--harness", "mine"]);
        let lives = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            std::fs::read(entry.path().join("cmdline"))
                .is_ok_and(|line| line == format!("sleep\0{mark}\0").as_bytes())
        });
        assert!(!lives, "{code}");
    }
}

#[test]
fn a_program_is_held_by_the_sandbox_and_knows_no_secrets() {
    let server = Server::start(vec![says("fine")]);
    let tack = Tack::new(&server).env("MY_API_KEY", "sk-secret");
    let probe = "import os,socket\n\
        def tried(act):\n    try:\n        act(); return True\n    except OSError: return False\n\
        def net():\n    socket.create_connection(('HOST', PORT), 2)\n";
    let address = server.url().trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let (host, port) = address.split_once(':').unwrap();
    let code = "seen = [tried(lambda: open(p, 'w')) for p in (WORK + '/x', 'mine.py.new', os.environ['TACK_DATA'] + '/ok')] + [tried(lambda: open(WORK + '/a.txt')), tried(net), 'MY_API_KEY' in os.environ]; say({'prompt': {'system': json.dumps(seen)}})";
    let work = tack.file("a.txt", "x").parent().unwrap().to_owned();
    for (network, want) in [
        (false, "[false, false, true, true, false, false]"),
        (true, "[false, false, true, true, true, false]"),
    ] {
        bad(&tack, "prompt", code);
        let path = tack.home().join("harnesses/mine/mine.py");
        let text = std::fs::read_to_string(&path).unwrap();
        let probe = probe.replace("HOST", host).replace("PORT", port);
        std::fs::write(&path, format!("{probe}WORK = {work:?}\n{text}")).unwrap();
        let manifest = tack.home().join("harnesses/mine/harness.toml");
        let text = std::fs::read_to_string(&manifest).unwrap();
        std::fs::write(&manifest, format!("{text}network = {network}\n")).unwrap();
        tack.run(["-p", "go", "--harness", "mine"]).code(0);
        let said = server.requests().pop().unwrap().said();
        assert!(said.contains(want), "network = {network}: {said}");
    }
}

#[test]
fn actions_of_a_program_are_held_to_the_policy() {
    let server = Server::start(vec![says("WRITE"), says("ok")]);
    let tack = Tack::new(&server);
    let outside = tack.home().join("outside.txt");
    let code = format!(
        "say({{'calls': [{{'action': {{'do': 'write', 'path': {outside:?}, 'text': 'x'}}}}]}} if m['reply']['text'] == 'WRITE' else {{'default': True}})"
    );
    bad(&tack, "interpret", &code);
    tack.run(["-p", "go", "--harness", "mine"]).code(0);
    assert!(!outside.exists());
    assert!(
        server.requests()[1].said().contains("outside the writable folders"),
        "{}",
        server.requests()[1].said()
    );
}

#[test]
fn a_projects_program_runs_only_where_the_folder_is_trusted() {
    let server = Server::start(vec![says("fine"), says("fine")]);
    let tack = Tack::new(&server);
    std::fs::create_dir(tack.work().join(".git")).unwrap();
    bad(&tack, "prompt", "open(os.environ['TACK_DATA'] + '/ran', 'w'); say({'default': True})");
    std::fs::create_dir(tack.work().join(".tack")).unwrap();
    std::fs::rename(tack.home().join("harnesses"), tack.work().join(".tack/harnesses")).unwrap();
    let ran = tack.run(["-p", "go", "--harness", "mine"]).code(2);
    assert!(ran.stderr.contains("harness `mine` is this project's own"), "{}", ran.stderr);
    assert!(!tack.home().join("harness").exists() && server.requests().is_empty());

    let root = tack.work().canonicalize().unwrap();
    let trust = format!("[projects.{:?}]\ntrusted = true\n", root.to_str().unwrap());
    std::fs::write(tack.home().join("trust.toml"), trust).unwrap();
    tack.run(["-p", "go", "--harness", "mine"]).code(0);
    let kept: Vec<_> = std::fs::read_dir(tack.home().join("harness")).unwrap().flatten().collect();
    assert!(kept.len() == 1 && kept[0].path().join("ran").exists());
    assert_ne!(kept[0].file_name(), "mine", "not the folder of the user's own `mine`");
}

#[test]
fn manifests_that_cannot_name_a_program_so_are_told_with_their_file() {
    let table = [
        ("[dialect]\nkind = \"external\"\n", "needs `command`"),
        ("[dialect]\nkind = \"external\"\ncommand = [\"\"]\n", "needs `command`"),
        ("[dialect]\ncommand = [\"python3\"]\n", "needs `kind = \"external\"`"),
        ("[class.S.dialect]\nkind = \"external\"\ncommand = [\"x\"]\n", "name it under `[dialect]`"),
        ("[dialect]\nkind = \"external\"\ncomand = [\"x\"]\n", "did you mean `command`"),
    ];
    for (more, want) in table {
        let tack = Tack::bare();
        tack.harness("mine", more);
        let ran = tack.run(["harness", "show", "mine"]).code(2);
        assert!(
            ran.stderr.contains(want) && ran.stderr.contains("mine/harness.toml"),
            "{more}: {}",
            ran.stderr
        );
    }
}
