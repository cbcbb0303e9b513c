//! What each built-in harness sends and understands, as golden requests.

use serde_json::json;
use tack::harness::{Library, Saying, Submitted, Verdict, sample_model, tokens};
use tack::model::{Action, Class, Cut, Keep, Model, Outcome, Part, Read, State, ToolCall};

use crate::harness_kit::{ALL, Session, call, harness, messages, played, shown};

#[tokio::test]
async fn golden_requests() {
    for id in ALL {
        let session = played(id).await;
        let prompt = session.prompt(&*harness(id)).await;
        insta::assert_snapshot!(format!("golden_{id}"), shown(&prompt));
    }
}

#[tokio::test]
async fn a_session_goes_on_under_any_other_harness() {
    for to in ALL {
        let mut all = String::new();
        for from in ALL.into_iter().filter(|from| *from != to) {
            let mut session = played(from).await;
            session.user("And make it louder.");
            let prompt = session.prompt(&*harness(to)).await;
            all.push_str(&format!("=== from {from}\n{}\n", messages(&prompt.messages)));
        }
        insta::assert_snapshot!(format!("switched_to_{to}"), all);
    }
}

#[tokio::test]
async fn there_and_back_leaves_the_first_requests_as_they_were() {
    for (first, second) in [("minimal", "swe-agent"), ("qwen-code", "minimal"), ("swe-agent", "qwen-code")] {
        let mut session = played(first).await;
        session.user("And louder.");
        let before = session.prompt(&*harness(first)).await;
        let reply = vec![Part::Text { text: "DISCUSSION\nWell.\n\n```\nls\n```".to_owned() }];
        session.reply(&*harness(second), reply).await;
        session.user("Go on.");
        let after = session.prompt(&*harness(first)).await;
        assert!(after.messages.starts_with(&before.messages), "{first} {second}");
    }
}

#[test]
fn surfaces_are_small() {
    let library = Library::new(Vec::new());
    let most = [
        ("local", 1500),
        ("minimal", 900),
        ("pi", 1100),
        ("swe-agent", 700),
        ("mini-swe-agent", 500),
        ("qwen-code", 3000),
        ("native", 1500),
        ("terminus-2", 779),
    ];
    for (id, most) in most {
        for class in [Class::S, Class::F] {
            let sample = library.sample(id, &Model { class, ..sample_model() }).unwrap();
            let got = tokens(&sample.prompt);
            eprintln!("{id} class {}: {got} tokens", class.letter());
            assert!(got <= most, "{id}: {got} tokens, at most {most}");
        }
    }
}

/// What the client itself costs ahead of the first prompt, in tokens, as measured of it. Of more than 6,000 a
/// third is enough here. `minimal` has no client: what its sort of surface should cost.
#[test]
fn no_surface_costs_more_than_its_client() {
    let clients = [
        ("claude-code", 18926),
        ("claude-code-bare", 928),
        ("deepseek-tui", 21814),
        ("kimi-cli", 12174),
        ("kimi-code", 20833),
        ("little-coder", 3761),
        ("mini-swe-agent", 782),
        ("minimal", 900),
        ("native", 8982),
        ("opencode", 7636),
        ("pi", 1360),
        ("qwen-code", 19546),
        ("swe-agent", 342),
        ("terminus-2", 779),
        ("zcode", 8251),
    ];
    let library = Library::new(Vec::new());
    let without: Vec<_> = library.ids().into_iter().filter(|id| !clients.iter().any(|c| c.0 == id)).collect();
    assert_eq!(without, ["local"]);
    for (id, client) in clients {
        let most = if client > 6000 { client / 3 } else { client };
        for class in [Class::S, Class::M, Class::L, Class::F] {
            let got = tokens(&library.sample(id, &Model { class, ..sample_model() }).unwrap().prompt);
            eprintln!("{id} class {}: {got} of at most {most} tokens", class.letter());
            assert!(got <= most, "{id}: {got} tokens, at most {most}");
        }
    }
}

#[test]
fn a_small_model_sees_fewer_tools() {
    let library = Library::new(Vec::new());
    let names = |id: &str, class| {
        let sample = library.sample(id, &Model { class, ..sample_model() }).unwrap();
        sample.prompt.tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("minimal", Class::M), "bash read edit write job");
    assert_eq!(names("minimal", Class::S), "bash finish");
    assert_eq!(names("qwen-code", Class::S), "read_file edit write_file run_shell_command");
    let small = Model { class: Class::S, ..sample_model() };
    let minimal = harness("minimal");
    assert_ne!(minimal.surface(&small), minimal.surface(&sample_model()));
    assert!(minimal.rules(&small).refuse_repeats && !minimal.rules(&sample_model()).refuse_repeats);
}

async fn told(id: &str, name: &str, args: serde_json::Value, outcome: Outcome) -> String {
    let harness = harness(id);
    let mut session = Session::new();
    session.reply(&*harness, vec![call(name, args)]).await;
    let call = read_call(&session);
    let parts = harness.tell(&call, &outcome, &session.view()).await.unwrap();
    parts.iter().map(|part| if let Part::Text { text } = part { text.as_str() } else { "[image]" }).collect()
}

fn read_call(session: &Session) -> ToolCall {
    let mut calls = session.items.iter().rev().filter_map(|item| match &item.body {
        tack::model::Body::Assistant(reply) => {
            reply.parts.iter().find_map(|p| if let Part::Call(c) = p { Some(c.clone()) } else { None })
        }
        _ => None,
    });
    calls.next().expect("the session has a call")
}

#[tokio::test]
async fn results_are_told_as_the_client_tells_them() {
    let cut = Cut {
        head: "HEAD".into(),
        tail: "TAIL".into(),
        lines: 900,
        bytes: 9999,
        left_out_lines: 800,
        left_out_bytes: 7777,
        spill: Some("/tmp/out.txt".into()),
    };
    let ran = |text: &str, exit| Outcome {
        exit: Some(exit),
        data: json!({"pid": 7, "timeout": 30000}),
        ..Outcome::ok(text)
    };
    let outcomes = [
        ("ok", ran("hello", 0)),
        ("exit 2", ran("oops", 2)),
        ("nothing", ran("", 0)),
        (
            "long",
            Outcome {
                cut: Some(cut),
                data: json!({"pid": 7, "timeout": 30000, "notes": ["[1 process was left behind]"]}),
                ..ran("HEAD…TAIL\n[1 process was left behind]", 0)
            },
        ),
        ("too slow", Outcome { state: State::TimedOut, took: 30000, ..ran("so far", 124) }),
        ("refused", Outcome::refused("writing to /etc is not allowed here; --add-dir /etc would allow it")),
        ("stopped", Outcome::interrupted("so far")),
    ];
    let tools = [
        ("minimal", "bash"),
        ("pi", "bash"),
        ("mini-swe-agent", "bash"),
        ("swe-agent", "bash"),
        ("qwen-code", "run_shell_command"),
        ("native", "exec_command"),
    ];
    let mut all = String::new();
    for (id, name) in tools {
        for (what, outcome) in &outcomes {
            let text = match id {
                "swe-agent" => {
                    let harness = harness(id);
                    let mut session = Session::new();
                    session.reply(&*harness, vec![Part::Text { text: "```\nmake\n```".to_owned() }]).await;
                    let parts = harness.tell(&read_call(&session), outcome, &session.view()).await.unwrap();
                    let [Part::Text { text }] = &parts[..] else { panic!() };
                    text.clone()
                }
                _ => told(id, name, json!({"command": "make", "cmd": "make"}), outcome.clone()).await,
            };
            all.push_str(&format!("=== {id}, {what}\n{text}\n"));
        }
    }
    insta::assert_snapshot!(all);
}

#[tokio::test]
async fn native_answers_have_their_shapes() {
    let data = |text: &str, data| Outcome { data, ..Outcome::ok(text) };
    let job = |running: bool, output: &str| json!({"job": "job7", "background": true, "running": running, "output": output, "pid": 42});
    let cut = Cut {
        head: "HEAD".into(),
        tail: "TAIL".into(),
        lines: 9,
        bytes: 90_000,
        left_out_bytes: 50_000,
        ..Cut::default()
    };
    let cases = [
        (
            "exec_command",
            json!({"cmd": "top", "tty": true}),
            data("job7 runs in the background", job(true, "CPU")),
        ),
        ("write_stdin", json!({"session_id": 7}), data("job7 (still running)", job(true, ""))),
        (
            "write_stdin",
            json!({"session_id": 7}),
            Outcome { exit: Some(4), ..data("job7 (ended)", job(false, "bye\n")) },
        ),
        ("write_stdin", json!({"session_id": 7, "chars": "\u{3}"}), data("job7 was stopped", job(false, ""))),
        (
            "write_stdin",
            json!({"session_id": 7}),
            Outcome { cut: Some(cut), ..data("job7 (still running)", job(true, "HEAD…TAIL")) },
        ),
        ("write_stdin", json!({"session_id": 8}), Outcome::failed("there is no job `job8`; none is running")),
        ("exec_command", json!({"cmd": ""}), Outcome::failed("the command is empty")),
        (
            "apply_patch",
            json!({"input": "x"}),
            Outcome::failed("nothing was changed: the patch names no file"),
        ),
        (
            "apply_patch",
            json!({"input": "x"}),
            data(
                "x",
                json!({"files": [{"path": "a", "kind": "add"}, {"path": "b", "kind": "delete"}, {"path": "c", "kind": "move", "to": "d"}]}),
            ),
        ),
        ("view_image", json!({"path": "a.txt"}), Outcome::failed("a.txt is no image")),
        ("update_plan", json!({"plan": []}), Outcome::ok("task list")),
    ];
    let mut all = String::new();
    for (name, args, outcome) in cases {
        all.push_str(&format!("=== {name} {args}\n{}\n", told("native", name, args.clone(), outcome).await));
    }
    let ended = Saying::JobEnded {
        id: "job7",
        call: "c1",
        file: None,
        command: "make",
        exit: Some(2),
        tail: "No rule",
    };
    all.push_str(&format!("=== a command that ended by itself\n{}\n", harness("native").say(&ended)));
    insta::assert_snapshot!(all);
}

#[test]
fn a_call_may_ask_for_less_output() {
    let call = |args: &str| ToolCall {
        id: tack::model::CallId("c".into()),
        given: None,
        name: "exec_command".into(),
        args: args.into(),
        action: Action::Submit { text: String::new() },
        span: None,
        recovered: false,
    };
    let bytes = |args: &str| harness("native").limits(&call(args), &sample_model()).bytes;
    assert_eq!(bytes(r#"{"cmd": "ls"}"#), 40_000);
    assert_eq!(bytes(r#"{"cmd": "ls", "max_output_tokens": 100}"#), 400);
    assert_eq!(bytes(r#"{"cmd": "ls", "max_output_tokens": 1e9}"#), 50 * 1024);
    assert_eq!(bytes(r#"{"cmd": "ls", "max_output_tokens": 0}"#), 40_000);
}

#[tokio::test]
async fn qwen_answers_have_their_shapes() {
    let data = |text: &str, data| Outcome { data, ..Outcome::ok(text) };
    let cases = [
        (
            "list_directory",
            json!({"path": "/p"}),
            data(
                "x",
                json!({"path": "/p", "entries": [{"name": "a.txt", "dir": false}, {"name": "src", "dir": true}], "ignored": 2}),
            ),
        ),
        (
            "glob",
            json!({"pattern": "*.py"}),
            data("x", json!({"count": 2, "more": false, "paths": ["/p/b.py", "/p/a.py"]})),
        ),
        ("glob", json!({"pattern": "*.py"}), data("none", json!({"count": 0, "more": false, "paths": []}))),
        ("grep_search", json!({"pattern": "x"}), Outcome::failed("the pattern does not parse")),
        (
            "read_file",
            json!({"file_path": "/p/a", "offset": 2, "limit": 2}),
            data("c\nd", json!({"from": 3, "to": 4, "total": 9, "more": true, "next": 5, "kind": "text"})),
        ),
        ("write_file", json!({"file_path": "/p/a", "content": "x"}), data("x", json!({"created": true}))),
        ("write_file", json!({"file_path": "/p/a", "content": "x"}), data("x", json!({"created": false}))),
        (
            "edit",
            json!({"file_path": "/p/a", "old_string": "x", "new_string": "y"}),
            Outcome::failed("old_string does not occur"),
        ),
        // A tool that says less than the template wants: the plain text is told.
        ("task_stop", json!({"task_id": "j1"}), Outcome::ok("j1 was stopped")),
        ("list_directory", json!({"path": "/p"}), Outcome::ok("plain")),
    ];
    let mut all = String::new();
    for (name, args, outcome) in cases {
        all.push_str(&format!(
            "=== {name} {args}\n{}\n",
            told("qwen-code", name, args.clone(), outcome).await
        ));
    }
    insta::assert_snapshot!(all);
}

#[tokio::test]
async fn handing_in() {
    let mini = played("mini-swe-agent").await;
    assert_eq!(mini.submitted, [""]);
    let swe = played("swe-agent").await;
    assert_eq!(swe.submitted, ["DISCUSSION\nIt is polite now."]);

    let harness = harness("mini-swe-agent");
    let mut session = Session::new();
    session.reply(&*harness, vec![call("bash", json!({"command": "x"}))]).await;
    let call = read_call(&session);
    let line = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";
    let table = [
        (format!("\n  {line}  \nthe patch\n"), 0, Some("the patch")),
        (line.to_owned(), 1, None),
        (format!("first\n{line}"), 0, None),
    ];
    for (text, exit, want) in table {
        let outcome = Outcome { exit: Some(exit), ..Outcome::ok(text) };
        let got = harness.submitted(&call, &outcome, &session.view()).await.unwrap();
        assert_eq!(got, want.map_or(Submitted::No, |text| Submitted::Yes(text.to_owned())));
    }
}

#[test]
fn limits_and_rules_come_from_the_manifest() {
    let call = |name: &str, action| ToolCall {
        id: tack::model::CallId("c".into()),
        given: None,
        name: name.into(),
        args: "{}".into(),
        action,
        span: None,
        recovered: false,
    };
    let shell = || Action::Shell {
        command: "x".into(),
        timeout: None,
        background: false,
        yield_after: None,
        within: Default::default(),
        cwd: None,
        about: None,
    };
    let read = || Action::Read(Read { path: "x".into(), ..Read::default() });
    let model = sample_model();
    let pi = harness("pi").limits(&call("bash", shell()), &model);
    assert_eq!((pi.bytes, pi.lines, pi.keep), (50 * 1024, 2000, Keep::Tail));
    assert_eq!(harness("pi").limits(&call("read", read()), &model).keep, Keep::Head);
    let qwen = harness("qwen-code").limits(&call("run_shell_command", shell()), &model);
    assert_eq!((qwen.bytes, qwen.lines, qwen.keep), (25000, 1000, Keep::Both { head_percent: 20 }));
    let mini = harness("mini-swe-agent").limits(&call("bash", shell()), &model);
    assert_eq!((mini.bytes, mini.keep), (10000, Keep::Both { head_percent: 50 }));
    assert_eq!(harness("swe-agent").limits(&call("bash", shell()), &model).keep, Keep::Head);
    let edit = || Action::Edit { path: "x".into(), edits: Vec::new(), first: false };
    assert!(harness("qwen-code").needs_read(&call("edit", edit())));
    assert!(!harness("pi").needs_read(&call("edit", edit())));
    let swe = harness("swe-agent").rules(&model);
    assert_eq!(
        (swe.retries, swe.shell_timeout, swe.shell_timeout_most, swe.parallel),
        (3, 30_000, 30_000, false)
    );
    let pi = harness("pi").rules(&model);
    assert_eq!(
        (pi.retries, pi.shell_timeout, pi.shell_timeout_most, pi.parallel),
        (2, 600_000, 3_600_000, true)
    );
}

#[tokio::test]
async fn an_empty_reply_ends_a_turn_or_is_asked_again() {
    let mut session = Session::new();
    session.user("go");
    assert_eq!(session.reply(&*harness("pi"), vec![]).await, Verdict::Done);
    assert!(matches!(session.reply(&*harness("qwen-code"), vec![]).await, Verdict::Retry(_)));
}

#[test]
fn sayings() {
    let sayings = [
        Saying::CutOff,
        Saying::Interrupted,
        Saying::NotExecuted,
        Saying::Repeat { times: 3 },
        Saying::RepeatRefused { first: "3 lines" },
        Saying::RepeatRefused { first: "" },
        Saying::ReadsEnough { files: "a.py, b.py" },
        Saying::ReadsEnough { files: "" },
        Saying::CheckFailed { command: "make test", exit: Some(2), output: "1 failed", before: false },
        Saying::CheckFailed { command: "make test", exit: None, output: "", before: true },
        Saying::RepeatStop { times: 5 },
        Saying::StepsLeft { left: 2 },
        Saying::Compact,
        Saying::SummaryBack { summary: "Much was done.", request: "Mend it." },
        Saying::ImageLeftOut,
        Saying::Unattended,
        Saying::JobEnded {
            id: "j1",
            call: "c1",
            file: None,
            command: "make",
            exit: Some(2),
            tail: "No rule",
        },
    ];
    let all = |id: &str| sayings.iter().map(|s| format!("- {}\n", harness(id).say(s))).collect::<String>();
    insta::assert_snapshot!(format!(
        "=== minimal\n{}=== mini-swe-agent\n{}",
        all("minimal"),
        all("mini-swe-agent")
    ));
    assert!(
        harness("qwen-code")
            .say(&Saying::SummaryBack { summary: "x", request: "Mend it." })
            .starts_with("<state_snapshot>\nx")
    );
}
