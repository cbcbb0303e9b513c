//! Choosing in a session, end to end: models and harnesses, also while a turn runs, and earlier sessions.

use serde_json::json;

use crate::kit::Tack;
use crate::repl_kit::{EMPTY, idle};
use crate::server::*;
use crate::tty::{Shown, Tty};

/// Runs until the test says so.
const WAITS: &str = "until [ -e go ]; do sleep 0.05; done; echo done waiting";

fn start(tack: &Tack, args: &[&str]) -> Tty {
    let tty = Tty::start(&tack.command(args), 110, 32);
    tty.wait_for("the composer", |shown| shown.has(EMPTY));
    tty
}

/// A service of one's own with a model of a known family.
fn kimi(server: &Server) -> Tack {
    let tack = Tack::bare();
    tack.config(&format!(
        "model = \"kimi-k3\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\n\
         base_url = \"{}\"\nwire_api = \"chat\"\nenv_key = \"A_KEY\"\n",
        server.url()
    ));
    // What wants a key is not taken for a model of this machine.
    tack.env("A_KEY", "k")
}

fn config(tack: &Tack) -> String {
    std::fs::read_to_string(tack.home().join("config.toml")).unwrap()
}

/// What models were asked; the list of them is looked at too.
fn asked(server: &Server) -> Vec<Request> {
    server.requests().into_iter().filter(|request| request.method == "POST").collect()
}

/// What `tack sessions` lists.
fn kept(tack: &Tack) -> String {
    tack.run(["sessions", "list"]).code(0).stdout
}

fn has_tool(request: &Request, name: &str) -> bool {
    let body = request.chat();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().any(|tool| tool["function"]["name"] == name)
}

#[test]
fn model_and_harness_change_while_a_turn_runs() {
    let server =
        Server::start(vec![calls("a", "bash", &json!({ "command": WAITS })), says("first"), says("second")]);
    let tack = kimi(&server);
    let mut tty = start(&tack, &["--harness", "minimal"]);
    tty.keys("wait\r");
    tty.wait_for("the command", |shown| shown.has("Running until"));
    tty.keys("/model mock/kimi-k2 session\r");
    tty.wait_for("the model", |shown| shown.has("kimi-k2 @ mock under minimal from the next request on"));
    tty.keys("/harness qwen-code\r");
    tty.wait_for("the harness", |shown| shown.has("kimi-k2 @ mock under qwen-code from the next request on"));
    // The statusline still says who speaks.
    assert!(tty.shown().has("kimi-k3 · minimal ·"), "{}", tty.shown().rows.join("\n"));
    std::fs::write(tack.work().join("go"), "").unwrap();
    tty.wait_for("the answer", |shown| shown.has("first") && idle(shown) && shown.has("· qwen-code ·"));
    let requests = asked(&server);
    assert_eq!(
        (&requests[0].chat()["model"], &requests[1].chat()["model"]),
        (&json!("kimi-k3"), &json!("kimi-k2"))
    );
    assert!(has_tool(&requests[0], "bash") && has_tool(&requests[1], "run_shell_command"));
    valid_history(&requests[1].chat()).unwrap();

    for (typed, said) in [
        ("/harness -", "under minimal"),
        ("/harness -", "under qwen-code"),
        ("/harness auto", "under kimi-code"),
    ] {
        let before = tty.shown().count(said);
        tty.keys(&format!("{typed}\r"));
        tty.wait_for(said, |shown| shown.count(said) > before && idle(shown));
    }
    tty.keys("/status\r");
    tty.wait_for("the reason", |shown| shown.has("kimi-code · auto: made for kimi*"));
}

#[test]
fn a_family_gets_a_default_and_it_is_said_what_a_switch_does() {
    let bash = json!({ "command": "echo one", "description": "say one" });
    let server = Server::start(vec![calls("a", "Bash", &bash), says("first")]);
    let tack = kimi(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("one\r");
    tty.wait_for("the answer", |shown| shown.has("first") && idle(shown));
    tty.keys("/harness\r");
    tty.wait_for("the list", |shown| {
        shown.has("Harness for kimi-k3 @ mock") && shown.has("kimi-code is in use")
    });
    tty.keys("qwen-code");
    tty.wait_for("what it does", |shown| {
        shown.has("Now kimi-code → qwen-code: history is converted (3 messages, 1 tool call)")
            && shown.has("0 turns word for word, 1 re-spoken")
            && shown.has("default for kimi-*")
    });
    tty.keys("\x10");
    let shown = tty.wait_for("both", |shown| shown.alternate && shown.has("esc back"));
    assert!(shown.has("kimi-code · in use") && shown.has("only right"), "{}", shown.rows.join("\n"));
    tty.keys("\x1b");
    tty.wait_for("the list", |shown| !shown.alternate && shown.has("ctrl+p compare"));
    tty.keys("\x04");
    tty.wait_for("the default", |shown| shown.has("qwen-code is the default for kimi-* from now on"));
    tty.wait_for("the switch", |shown| shown.has("under qwen-code") && idle(shown));
    assert!(config(&tack).contains("[families.\"kimi-*\"]\nharness = \"qwen-code\""), "{}", config(&tack));
    tty.keys("\x04");
    tty.exit_code();
    let mut tty = start(&tack, &[]);
    tty.keys("/status\r");
    tty.wait_for("the reason", |shown| shown.has("qwen-code · your default for kimi-*"));
    // The session before goes on as it was.
    tty.keys("\x04");
    tty.exit_code();
    let mut tty = Tty::start(&tack.command(["resume", "--last"]), 110, 32);
    tty.wait_for("the session", |shown| shown.has("harness kimi-code") && idle(shown));
    tty.keys("/harness auto\r");
    tty.wait_for("the default", |shown| shown.has("under qwen-code"));
}

#[test]
fn a_model_is_used_next_time_too_or_in_this_session_only() {
    let server = Server::start(vec![says("one"), says("two")]);
    let tack = kimi(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("/model mock/kimi-k2 session\r");
    tty.wait_for("the model", |shown| shown.has("from here on kimi-k2"));
    assert!(config(&tack).contains("model = \"kimi-k3\""), "{}", config(&tack));
    tty.keys("/new\r");
    tty.wait_for("the new session", |shown| shown.count("kimi-k3 @ mock") == 2 && idle(shown));
    tty.keys("/model mock/kimi-k2\r");
    tty.wait_for("that it is kept", |shown| shown.has("tack starts with mock/kimi-k2 from now on"));
    assert!(config(&tack).contains("model = \"kimi-k2\""), "{}", config(&tack));
    tty.keys("/model\r");
    tty.wait_for("the list", |shown| shown.has("also next time") && shown.has("mock · "));
    tty.keys("kimi-k2\x1b[C\x1b[C");
    tty.wait_for("the effort", |shown| shown.has("effort: low"));
    tty.keys("\x13");
    tty.wait_for("the switch", |shown| !shown.has("effort: low") && idle(shown));
    tty.keys("go\r");
    tty.wait_for("the answer", |shown| shown.has("one") && idle(shown));
    let sent = asked(&server)[0].chat();
    assert_eq!((&sent["model"], &sent["reasoning_effort"]), (&json!("kimi-k2"), &json!("low")));
    assert!(!config(&tack).contains("effort"), "{}", config(&tack));
}

#[test]
fn an_earlier_session_is_looked_into_and_deleted() {
    let server = Server::start(vec![says("one two three"), says("four")]);
    let tack = Tack::new(&server);
    let mut tty = start(&tack, &[]);
    tty.keys("count please\r");
    tty.wait_for("the answer", |shown| shown.has("one two three") && idle(shown));
    tty.keys("/new\r");
    tty.wait_for("a new session", |shown| shown.count("tack 0.") == 2 && idle(shown));
    tty.keys("/resume\r");
    let listed = |shown: &Shown| shown.has("Sessions of this folder") && shown.has("space preview");
    let shown = tty.wait_for("the list", listed);
    assert!(shown.has("1 turn") && shown.has("mock · minimal"), "{}", shown.rows.join("\n"));
    tty.keys(" ");
    tty.wait_for("its end", |shown| shown.count("one two three") == 2);
    tty.keys("\x04");
    tty.wait_for("the question", |shown| shown.has("Delete “count please” (1 turn)"));
    assert!(kept(&tack).contains("count please"));
    tty.keys("n");
    tty.wait_for("the list", listed);
    tty.keys("\x04");
    tty.wait_for("the question", |shown| shown.has("y delete it for good"));
    tty.keys("y");
    tty.wait_for("that it is gone", |shown| shown.has("there is none yet"));
    assert!(!kept(&tack).contains("count please"));
}

#[test]
fn all_of_it_goes_by_lines_too() {
    let server = Server::start(vec![
        calls("a", "bash", &json!({ "command": "echo one" })),
        says("first"),
        says("second"),
    ]);
    let tack = Tack::new(&server);
    let mut tty = Tty::start(&tack.command(["--plain", "--harness", "minimal"]), 110, 32);
    let ready = |shown: &Shown| {
        shown.rows.iter().rev().find(|row| !row.is_empty()).is_some_and(|row| row.trim() == ">")
    };
    let say = |tty: &mut Tty, line: &str, wanted: &str| {
        let before = tty.shown().count(wanted);
        tty.keys(&format!("{line}\r"));
        tty.wait_for(wanted, |shown| shown.count(wanted) > before && ready(shown))
    };
    tty.wait_for("the prompt", ready);
    say(&mut tty, "one", "first");
    say(&mut tty, "/harness qwen-code compare", "only qwen-code");
    let shown = say(&mut tty, "/harness qwen-code", "under qwen-code from the next request on");
    assert!(shown.rows.concat().contains("1 re-spoken, 0 told"), "{}", shown.rows.join("\n"));
    say(&mut tty, "/harness -", "under minimal from the next request on");
    say(&mut tty, "/harness pi default", "pi is the default for mock* from now on");
    say(&mut tty, "/model mock/mock2 test", "mock2: ");
    say(&mut tty, "/model mock/mock2", "tack starts with mock/mock2 from now on");
    say(&mut tty, "/new", "tack 0.");
    let shown = say(&mut tty, "/resume", "goes on with one");
    let row = shown.rows.iter().find(|row| row.contains(": one, ")).unwrap().clone();
    assert!(row.contains("1 turn") && row.contains("mock · minimal"), "{row}");
    let id = row.split(':').next().unwrap().trim().to_owned();
    say(&mut tty, &format!("/resume {id} show"), "first");
    say(&mut tty, &format!("/resume {id} delete"), "delete yes does it");
    assert!(kept(&tack).contains(&id));
    say(&mut tty, &format!("/resume {id} delete yes"), "is deleted");
    assert!(!kept(&tack).contains(&id));
}
