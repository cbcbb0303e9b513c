//! Commands of the interactive session that show what is in force and change it: providers, the sandbox, the
//! stored rules, settings, what changed.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::json;

use crate::cell::git;
use crate::kit::Tack;
use crate::repl_kit::shell;
use crate::server::*;
use crate::tty::{Shown, Tty};

/// A session by lines, at its prompt.
fn plain(tack: &Tack, args: &[&str]) -> Tty {
    let mut all = vec!["--plain"];
    all.extend(args);
    let tty = Tty::start(&tack.command(all), 160, 60);
    tty.wait_for("the prompt", at_prompt);
    tty
}

fn at_prompt(shown: &Shown) -> bool {
    shown.rows.iter().rev().find(|row| !row.is_empty()).is_some_and(|row| row == ">")
}

/// Types a line, and waits for a text and the next prompt.
#[track_caller]
fn says_back(tty: &mut Tty, line: &str, want: &str) -> Shown {
    let before = tty.shown().count(want);
    tty.keys(&format!("{line}\n"));
    tty.wait_for(want, |shown| shown.count(want) > before && at_prompt(shown))
}

/// A server of somebody's own, which knows these paths; `needs`: the key it wants.
fn service(paths: &[(&str, u16, &str)], needs: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let paths: BTreeMap<String, (u16, String)> = paths
        .iter()
        .map(|(path, status, body)| ((*path).to_owned(), (*status, (*body).to_owned())))
        .collect();
    // Ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream, &paths, needs);
        }
    });
    format!("http://{address}")
}

fn answer(mut stream: TcpStream, paths: &BTreeMap<String, (u16, String)>, needs: Option<&str>) {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    while !bytes.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut part) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&part[..n]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let first: Vec<&str> = head.lines().next().unwrap_or_default().split(' ').take(2).collect();
    let keyed = needs.is_none_or(|key| head.contains(key));
    let (status, body) = match paths.get(&first.join(" ")) {
        _ if !keyed => (401, "{}".to_owned()),
        Some(found) => found.clone(),
        None => (404, "{}".to_owned()),
    };
    let _ = write!(
        stream,
        "HTTP/1.1 {status} Own\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
}

const MODELS: &str = r#"{"data": [{"id": "acme-coder"}, {"id": "acme-mini"}]}"#;

#[test]
fn a_provider_is_added_tested_and_taken_away_and_the_file_keeps_its_comments() {
    let acme = service(&[("GET /v1/models", 200, MODELS), ("POST /v1/responses", 400, "{}")], None);
    let page = service(&[("GET /v1/models", 200, "<html>hello</html>")], None);
    let server = Server::start(vec![]);
    let tack = Tack::new(&server);
    tack.configure("# mine\ncheck_for_update_on_startup = false # stays");
    let mut tty = plain(&tack, &[]);
    // The wire is found by asking; the address needs no version.
    says_back(&mut tty, &format!("/provider add acme {acme}"), "acme is added");
    let shown = tty.shown();
    assert!(shown.has("/v1 over the responses wire, as asking it showed"), "{}", shown.rows.join("\n"));
    assert!(shown.has("lists 2 models; /model chooses one"), "{}", shown.rows.join("\n"));
    let file = std::fs::read_to_string(tack.home().join("config.toml")).unwrap();
    assert!(file.starts_with("# mine\ncheck_for_update_on_startup = false # stays"), "{file}");
    assert!(
        file.contains(&format!("[model_providers.acme]\nbase_url = \"{acme}/v1\"\nwire_api = \"responses\""))
    );
    says_back(&mut tty, "/provider", "acme, yours, responses, key: none needed");
    says_back(&mut tty, "/model", "acme/acme-coder");
    // One sentence each for what goes wrong; nothing of it is kept.
    says_back(&mut tty, &format!("/provider add other {page}"), "speaks none of chat, responses, messages");
    says_back(&mut tty, "/provider add other nonsense://x", "is no web address");
    says_back(&mut tty, "/provider add other http://127.0.0.1:1/v1", "error: ");
    says_back(&mut tty, "/provider add openai http://127.0.0.1:1/v1", "openai is built in");
    says_back(&mut tty, "/provider add acme http://127.0.0.1:1/v1", "there is a provider acme already");
    says_back(&mut tty, "/provider add other http://me:pw@127.0.0.1:1/v1", "enter the key as a key");
    says_back(&mut tty, "/provider rm mock", "mock serves this session");
    says_back(&mut tty, "/provider rm openai", "openai is built in and stays");
    says_back(&mut tty, "/provider test acme", "acme answers in");
    says_back(&mut tty, "/provider rm acme", "acme is gone from");
    let file = std::fs::read_to_string(tack.home().join("config.toml")).unwrap();
    assert!(!file.contains("acme") && !file.contains("other") && file.contains("# stays"), "{file}");
    says_back(&mut tty, "/provider test acme", "there is no provider `acme`");
}

#[test]
fn a_server_that_wants_a_key_is_entered_in_the_form_and_the_key_goes_where_keys_are() {
    let paths = [("GET /v1/models", 200, MODELS), ("POST /v1/chat/completions", 400, "{}")];
    let acme = service(&paths, Some("Bearer sk-acme-right-1234567890"));
    let tack = Tack::bare();
    let mut tty = Tty::start(&tack.command([""; 0]), 100, 30);
    tty.wait_for("the list", |shown| shown.has("Other OpenAI- or Anthropic-compatible address"));
    // What was found on this machine may stand above.
    tty.keys("compatible\r");
    tty.wait_for("the form", |shown| shown.has("Add a provider or local server"));
    for (typed, at) in [(acme.as_str(), "› id"), ("\x15acme", "› wire"), ("", "› key")] {
        tty.keys(typed);
        tty.wait_for("what was typed", |shown| shown.has(typed.trim_start_matches('\x15')));
        tty.keys("\r");
        tty.wait_for("the next field", |shown| shown.has(at));
    }
    tty.keys("sk-acme-wrong-0987654321");
    tty.wait_for("how long it is", |shown| shown.has("24 characters"));
    tty.keys("\r");
    tty.wait_for("the refusal", |shown| shown.has("refuses the key that you entered"));
    tty.keys("\x15sk-acme-right-1234567890");
    tty.wait_for("how long it is", |shown| shown.has("24 characters") && !shown.has("✗"));
    tty.keys("\r");
    let shown = tty.wait_for("the models", |shown| shown.has("acme-coder") && shown.has("enter"));
    assert!(shown.count("acme is added") == 1, "{}", shown.lines.join("\n"));
    assert!(shown.lines.iter().any(|line| line.contains("it takes the key")), "{}", shown.lines.join("\n"));
    let file = std::fs::read_to_string(tack.home().join("config.toml")).unwrap();
    assert!(file.contains("acme") && !file.contains("sk-acme"), "{file}");
    assert!(!String::from_utf8_lossy(&tty.bytes()).contains("sk-acme"));
}

#[test]
fn a_folder_is_added_to_the_sandbox_for_this_session_and_taken_back() {
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let folder = outside.path().canonicalize().unwrap().display().to_string();
    let server = Server::start(vec![
        shell("a", &format!("echo one > {folder}/one")),
        says("first"),
        shell("b", &format!("echo two > {folder}/two")),
        says("second"),
        shell("c", &format!("echo three > {folder}/three")),
        says("third"),
    ]);
    let tack = Tack::new(&server);
    let mut tty = plain(&tack, &[]);
    for (line, want) in [
        ("/sandbox add /", "name a folder below it"),
        ("/sandbox add ~", "start-up files"),
        ("/sandbox add nowhere", "cannot be used"),
        ("/sandbox add .", "may be written already"),
        ("/sandbox rm .", "no folder was added"),
        ("/sandbox more", "/sandbox shows what is allowed"),
    ] {
        says_back(&mut tty, line, want);
    }
    says_back(&mut tty, &format!("/sandbox add {folder}"), "may be written in this session");
    says_back(&mut tty, "one", "first");
    assert!(outside.path().join("one").exists(), "no question was asked");
    // It outlives a change of mode, in which nothing at all may be written.
    says_back(&mut tty, "/mode plan", "mode plan from");
    says_back(&mut tty, "/mode edits", "mode edits from");
    says_back(&mut tty, "two", "second");
    assert!(outside.path().join("two").exists());
    let shown = says_back(&mut tty, "/sandbox", "This machine");
    assert!(shown.rows.iter().any(|row| row.ends_with(&folder)), "{}", shown.rows.join("\n"));
    let shown = says_back(&mut tty, "/config", "your file is");
    assert!(shown.lines.iter().any(|line| line.contains("writable_roots") && line.contains(&folder)));
    says_back(&mut tty, &format!("/sandbox rm {folder}"), "may no longer be written");
    tty.keys("three\n");
    tty.wait_for("the question", |shown| shown.has("y/n?"));
    assert!(!outside.path().join("three").exists());
}

#[test]
fn settings_are_told_with_the_line_the_variable_or_the_flag_they_are_from() {
    let server = Server::start(vec![]);
    let tack = Tack::new(&server).env("TACK_HARNESS", "pi");
    tack.configure("model_context_window = 32768");
    let path = tack.home().join("config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}http_headers = {{ X-Key = \"hunter2-hunter2\" }}\n")).unwrap();
    let mut tty = plain(&tack, &["-m", "mock-2", "--sandbox", "read-only"]);
    let shown = says_back(&mut tty, "/config", "your file is");
    let rows = shown.lines.join("\n");
    let is = |line: &&String, key: &str| line.starts_with("   ") && line.split(' ').any(|word| word == key);
    let row = |key: &str| shown.lines.iter().find(|line| is(line, key)).cloned().unwrap_or_default();
    assert!(row("model").contains("mock-2  (--model)"), "{rows}");
    assert!(
        row("sandbox_mode").contains("read-only") && row("sandbox_mode").contains("(--sandbox)"),
        "{rows}"
    );
    assert!(row("harness").contains("(TACK_HARNESS)"), "{rows}");
    assert!(row("model_context_window").trim_start().starts_with("1  "), "{rows}");
    assert!(row("model_providers.mock.http_headers.X-Key").contains("(not shown)"), "{rows}");
    assert!(rows.contains("built in") && row("approval_policy").contains("on-request"), "{rows}");
    assert!(!rows.contains("hunter2"), "{rows}");
    says_back(&mut tty, "/harness qwen-code", "under qwen-code from the next request on");
    let shown = says_back(&mut tty, "/config", "this session");
    assert!(shown.lines.iter().any(|line| line.trim() == "this session"), "{}", shown.lines.join("\n"));
}

#[test]
fn what_edits_and_commands_changed_is_shown_and_what_was_changed_before_is_not() {
    let server = Server::start(vec![
        shell("a", "printf 'one\\nTWO\\n' > kept.txt; rm gone.txt; echo fresh > new.txt"),
        says("done"),
        shell("b", "git diff --stat"),
        says("looked"),
    ]);
    let tack = Tack::new(&server);
    tack.file("kept.txt", "one\ntwo\n");
    tack.file("gone.txt", "away\n");
    tack.file("dirty.txt", "a\n");
    tack.file(".gitignore", "*.log\n");
    git(&tack.work(), &["init", "-q", "."]);
    git(&tack.work(), &["add", "."]);
    git(&tack.work(), &["-c", "user.email=a@b", "-c", "user.name=n", "commit", "-qm", "x"]);
    tack.file("dirty.txt", "mine\n");
    tack.file("notes.txt", "mine too\n");
    tack.file("run.log", "ignored\n");
    let mut tty = plain(&tack, &[]);
    says_back(&mut tty, "/diff", "Nothing changed since the session began");
    says_back(&mut tty, "go", "done");
    let shown = says_back(&mut tty, "/diff", "3 files changed since the session began");
    let rows = shown.lines.join("\n");
    for want in ["kept.txt", "- two", "+ TWO", "deleted gone.txt", "new new.txt"] {
        assert!(rows.contains(want), "{want}: {rows}");
    }
    for other in ["dirty.txt", "notes.txt", "run.log"] {
        assert!(!rows.contains(other), "{other}: {rows}");
    }
    // What was changed before is shown against how it was then.
    tack.file("notes.txt", "mine too\nand more\n");
    let shown = says_back(&mut tty, "/diff", "4 files changed since the session began");
    assert!(shown.lines.iter().any(|line| line.contains("notes.txt") && line.contains("+1 -0")));
}

#[test]
fn outside_of_git_the_edits_are_shown_and_that_they_are_all_that_is_known() {
    let edit = json!({ "path": "made.txt", "content": "one\n" });
    let server = Server::start(vec![calls("a", "write", &edit), says("done")]);
    let tack = Tack::new(&server);
    let mut tty = plain(&tack, &[]);
    says_back(&mut tty, "go", "done");
    let shown = says_back(&mut tty, "/diff", "only edits are known");
    assert!(shown.has("1 file changed") && shown.has("new made.txt"), "{}", shown.rows.join("\n"));
}

#[test]
fn rules_are_added_by_hand_where_they_are_sound_and_jobs_are_looked_at() {
    let server =
        Server::start(vec![calls("a", "bash", &json!({ "command": "mkdir -p by-rule" })), says("first")]);
    let tack = Tack::new(&server);
    let mut tty = plain(&tack, &["--mode", "ask"]);
    says_back(&mut tty, "/permissions add sudo make *", "no rule can be made of this");
    says_back(&mut tty, "/permissions add touch", "say what it may do");
    says_back(
        &mut tty,
        "/permissions add mkdir -p *",
        "mkdir -p * runs without asking from now on, everywhere",
    );
    says_back(&mut tty, "/permissions here cargo test *", "in this project");
    says_back(&mut tty, "go", "first");
    assert!(tack.work().join("by-rule").exists(), "no question was asked");
    says_back(&mut tty, "/permissions rm 1", "mkdir -p * is asked for again");
    says_back(&mut tty, "/permissions rm 7", "there is no rule 7");
    says_back(&mut tty, "/ps tail job9", "there is no background command job9");
    says_back(&mut tty, "/permisions", "did you mean /permissions?");
}
