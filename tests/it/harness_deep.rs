//! The harnesses deepseek-tui and little-coder: what they send, what they say of results, what they keep a
//! small model from.

use serde_json::{Value, json};
use tack::harness::{Library, sample_model, tokens};
use tack::model::{Body, Class, Cut, Model, Outcome, Part, State, ToolCall, WireKind};
use tack::wire::prompt::Piece;

use crate::harness_kit::{Session, call, harness, shown};
use crate::kit::Tack;
use crate::server::*;

fn text(text: &str) -> Part {
    Part::Text { text: text.to_owned() }
}

fn thinking(text: &str) -> Part {
    Part::Thinking { text: text.to_owned(), field: Some("reasoning_content".to_owned()), seal: None }
}

#[test]
fn their_surfaces_are_small() {
    for (id, most) in [("deepseek-tui", 3500), ("little-coder", 1500)] {
        for class in [Class::S, Class::F] {
            let sample = Library::new(Vec::new()).sample(id, &Model { class, ..sample_model() }).unwrap();
            let got = tokens(&sample.prompt);
            eprintln!("{id} class {}: {got} tokens", class.letter());
            assert!(got <= most, "{id}: {got} tokens, at most {most}");
        }
    }
}

#[tokio::test]
async fn golden_requests_over_each_wire() {
    let path = "src/greet.py";
    for (id, read, edit) in [
        (
            "deepseek-tui",
            "read_file",
            call("edit_file", json!({"path": path, "search": "'hi'", "replace": "'Good day'"})),
        ),
        (
            "little-coder",
            "read",
            call("edit", json!({"path": path, "edits": [{"oldText": "'hi'", "newText": "'Good day'"}]})),
        ),
    ] {
        for wire in [WireKind::Chat, WireKind::Responses, WireKind::Messages] {
            let mut session = Session { model: Model { wire, ..sample_model() }, ..Session::new() };
            session.user("Make the greeting polite.\n");
            session
                .reply(&*harness(id), vec![thinking("Look first."), call(read, json!({"path": path}))])
                .await;
            session.reply(&*harness(id), vec![edit.clone(), call(read, json!({"path": path}))]).await;
            session.reply(&*harness(id), vec![call("nonsense", json!({}))]).await;
            session.reply(&*harness(id), vec![text("It is polite now.")]).await;
            session.user("Thanks.");
            let prompt = session.prompt(&*harness(id)).await;
            // The tools are the same on each.
            let all = shown(&prompt);
            let all =
                if wire == WireKind::Chat { all } else { crate::harness_kit::messages(&prompt.messages) };
            insta::assert_snapshot!(format!("{id}_{}", wire.name()), all);
        }
    }
}

async fn told(id: &str, name: &str, args: Value, outcome: Outcome) -> String {
    let harness = harness(id);
    let mut session = Session::new();
    session.reply(&*harness, vec![call(name, args)]).await;
    let call: ToolCall = session
        .items
        .iter()
        .find_map(|item| match &item.body {
            Body::Assistant(reply) => reply.calls().next().cloned(),
            _ => None,
        })
        .unwrap();
    let parts = harness.tell(&call, &outcome, &session.view()).await.unwrap();
    parts.iter().map(|part| if let Part::Text { text } = part { text.as_str() } else { "" }).collect()
}

#[tokio::test]
async fn what_deepseek_tui_says_of_results() {
    let with = |text: &str, data: Value| Outcome { text: text.to_owned(), data, ..Outcome::default() };
    let ran = |exit, text: &str| Outcome {
        exit: Some(exit),
        state: if exit == 0 { State::Ok } else { State::Failed },
        ..with(text, json!({}))
    };
    let cut = Cut {
        head: "first\n".to_owned(),
        tail: "last\n".to_owned(),
        lines: 400,
        bytes: 9000,
        left_out_lines: 398,
        left_out_bytes: 8142,
        spill: Some("/s/output-1.txt".to_owned()),
    };
    let todos = json!({"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]});
    let listed = json!({"items": [{"id": "1", "text": "a", "status": "completed"}, {"id": "2", "text": "b", "status": "in_progress"}], "total": 2, "completed": 1});
    let plan = json!({"explanation": "why", "plan": [{"step": "a", "status": "completed"}]});
    let command = json!({"command": "make"});
    let list = json!({"path": "/p", "entries": [{"name": "src", "dir": true}, {"name": "a", "dir": false}]});
    let matches = json!({"matches": [{"path": "/p/a", "line": 2, "text": "x \"y\""}], "count": 3, "files": 1, "more": true});
    let found = json!({"matches": [{"path": "src/a.rs", "name": "a.rs", "score": 0.9}], "count": 1});
    let mut said = String::new();
    for (name, args, outcome) in [
        ("exec_shell", command.clone(), ran(0, "fine\n")),
        ("exec_shell", command.clone(), ran(0, "")),
        ("exec_shell", command.clone(), ran(2, "broken\n")),
        ("exec_shell", command.clone(), Outcome { cut: Some(cut), ..ran(0, "…") }),
        (
            "exec_shell",
            command,
            Outcome { state: State::TimedOut, took: 9, ..with("half", json!({"timeout": 5})) },
        ),
        ("checklist_write", todos, with("2 tasks", listed.clone())),
        ("todo_update", json!({"id": 2, "status": "completed"}), with("…", listed)),
        ("update_plan", plan, with("1 task", json!({"total": 1, "completed": 1}))),
        ("list_dir", json!({}), with("…", list)),
        ("grep_files", json!({"pattern": "x"}), with("…", matches)),
        ("file_search", json!({"query": "a"}), with("…", found)),
        (
            "list_dir",
            json!({"path": "x"}),
            Outcome { data: json!({"error": "not_found"}), ..Outcome::failed("x does not exist") },
        ),
    ] {
        said += &format!("=== {name} {args}\n{}\n", told("deepseek-tui", name, args.clone(), outcome).await);
    }
    insta::assert_snapshot!(said);
}

#[tokio::test]
async fn reasoning_that_is_missing_gets_a_placeholder() {
    let harness = harness("deepseek-tui");
    let mut session = Session::new();
    session.user("go");
    let list = || call("list_dir", json!({}));
    session.reply(&*harness, vec![list()]).await;
    session.reply(&*harness, vec![thinking("Hm."), list()]).await;
    session.reply(&*harness, vec![list()]).await;
    let prompt = session.prompt(&*harness).await;
    let thoughts: Vec<&str> = prompt
        .messages
        .iter()
        .flat_map(|message| &message.pieces)
        .filter_map(|piece| match piece {
            Piece::Thinking { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(thoughts, ["Hm.", "(reasoning omitted)"]);
}

#[tokio::test]
async fn little_coder_chooses_its_guidance_once() {
    let harness = harness("little-coder");
    let system = |session: &Session| {
        let prompt = futures_util::FutureExt::now_or_never(session.prompt(&*harness));
        prompt.expect("no waiting").system.concat()
    };
    let about = |first: &str| {
        let mut session = Session::new();
        session.user(first);
        session
    };
    let mut plain = about("Sort the list.");
    let before = system(&plain);
    assert!(!before.contains("there is no browser"));
    assert!(system(&about("Why does this JavaScript fail?")).contains("there is no browser"));
    plain.reply(&*harness, vec![text("Done.")]).await;
    plain.user("Now open the webpage in a browser.");
    assert_eq!(system(&plain), before);
}

#[test]
fn a_patch_in_both_forms_is_really_made() {
    let diff = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n+y = 3\n";
    let changes = json!([{"path": "new/b.py", "content": "z = 4\n"}]);
    let server = Server::start(vec![
        calls("a", "apply_patch", &json!({"patch": diff})),
        calls("b", "apply_patch", &json!({"changes": changes})),
        calls("c", "apply_patch", &json!({"patch": diff})),
        says("done"),
    ]);
    let tack = Tack::new(&server);
    tack.file("a.py", "x = 1\ny = 2\n");
    tack.run(["-p", "work", "--harness", "deepseek-tui"]).code(0);
    assert_eq!(
        (tack.read("a.py"), tack.read("new/b.py")),
        ("x = 1\ny = 3\n".to_owned(), "z = 4\n".to_owned())
    );
    let said = server.requests()[3].said();
    assert!(said.contains("nothing was changed: a.py has no such lines"), "{said}");
}

#[test]
fn the_shell_of_little_coder_lasts_until_it_is_reset() {
    let session = |id: &str, command: &str| calls(id, "ShellSession", &json!({ "command": command }));
    let server = Server::start(vec![
        session("a", "mkdir sub; cd sub; export WHO=me"),
        session("b", "echo \"$WHO\"; (exit 3)"),
        calls("c", "ShellSessionCwd", &json!({})),
        calls("d", "ShellSessionReset", &json!({})),
        session("e", "echo \"[$WHO]\""),
        says("done"),
    ]);
    let tack = Tack::new(&server);
    tack.run(["-p", "work", "--harness", "little-coder"]).code(0);
    let requests = server.requests();
    let last = |nth: usize| {
        let messages = requests[nth].chat()["messages"].clone();
        messages.as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
    };
    let cwd = tack.work().canonicalize().unwrap().display().to_string();
    assert_eq!(last(2), format!("me\n[exit=3 cwd={cwd}/sub timed_out=false]"));
    assert!(last(3).contains(&format!("{cwd}/sub")), "{}", last(3));
    assert_eq!(last(5), format!("[]\n[exit=0 cwd={cwd} timed_out=false]"));
}

#[test]
fn little_coder_keeps_files_from_slips_and_reads_its_models_form() {
    let form = |call: &str| says(&format!("<|tool_call_start|>[{call}]<|tool_call_end|>"));
    let server = Server::start(vec![
        form("write(path='a.py', content='gone')"),
        form("bash(command=\"echo gone > a.py\")"),
        form("write(path='/b.py', content='x = 1\\n')"),
        form("write(path='aux.py', content='')"),
        form("webfetch(url='http://127.0.0.1:9/x', prompt='what')"),
        says("done"),
    ]);
    let tack = Tack::new(&server);
    tack.file("a.py", "kept\n");
    tack.run(["-p", "work", "--harness", "little-coder"]).code(0);
    assert_eq!((tack.read("a.py"), tack.read("b.py")), ("kept\n".to_owned(), "x = 1\n".to_owned()));
    let requests = server.requests();
    for (nth, words) in [
        (1, "exists already"),
        (2, "its `>` would replace a.py"),
        (4, "Windows keeps that name"),
        (5, "[sandbox] blocked: network"),
    ] {
        let said = requests[nth].said();
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[tokio::test]
async fn git_tools_are_commands_and_what_is_not_offered_says_what_to_use() {
    let harness = harness("deepseek-tui");
    let mut said = String::new();
    for (name, args) in [
        ("git_status", json!({})),
        ("git_diff", json!({"cached": true, "unified": 0, "path": "a b"})),
        ("git_log", json!({"author": "x; y", "max_count": 5})),
        ("git_show", json!({"rev": "HEAD~1"})),
        ("git_show", json!({"rev": "$(x)", "patch": false, "stat": false})),
        ("git_blame", json!({"path": "-a", "start_line": 7})),
        ("grep_files", json!({"pattern": "x", "include": ["*.rs", "*.py"], "context_lines": 2})),
        ("grep_files", json!({"pattern": "x"})),
        ("agent_open", json!({})),
        ("web-x00002E-run", json!({})),
    ] {
        let mut session = Session::new();
        session.reply(&*harness, vec![call(name, args.clone())]).await;
        let action = session.items.iter().find_map(|item| match &item.body {
            Body::Assistant(reply) => reply.calls().next().map(|call| call.action.clone()),
            _ => None,
        });
        let what = match action.unwrap() {
            tack::model::Action::Shell { command, .. } => command,
            tack::model::Action::Unknown { why, .. } => why,
            grep @ tack::model::Action::Grep(_) => serde_json::to_string(&grep).unwrap(),
            other => panic!("{other:?}"),
        };
        said += &format!("{name} {args}\n  {what}\n");
    }
    insta::assert_snapshot!(said);
}
