//! The harnesses of Kimi models and opencode: what their models read of calls that worked, failed or could not
//! be understood, and how that stands in the next request.

use serde_json::{Value, json};
use tack::harness::sample_model;
use tack::model::{Model, Part, Thinking, WireKind};
use tack::wire::of;
use tack::wire::provider::Quirks;

use crate::harness_kit::{Session, call, harness};
use crate::kit::Tack;
use crate::server::{self, Server, done, end, sse, txt, usage};

fn words(text: &str) -> Part {
    Part::Text { text: text.to_owned() }
}

fn thought(text: &str) -> Part {
    Part::Thinking { text: text.to_owned(), field: Some("reasoning_content".to_owned()), seal: None }
}

fn broken(name: &str) -> Part {
    let mut part = call(name, json!({}));
    if let Part::Call(call) = &mut part {
        call.args = "{\"command\" 1}".to_owned();
    }
    part
}

/// The request's messages after the system prompt.
async fn sent(id: &str, wire: WireKind) -> Value {
    let harness = harness(id);
    let mut session = Session { model: Model { wire, ..sample_model() }, ..Session::new() };
    let shell = match id {
        "kimi-cli" => "Shell",
        "kimi-code" => "Bash",
        _ => "bash",
    };
    session.user("Mend it.");
    session.reply(&*harness, vec![words("I look."), call(shell, json!({"command": "echo hi"}))]).await;
    session.reply(&*harness, vec![thought("hm"), broken(shell)]).await;
    session.reply(&*harness, vec![call("Agent", json!({"prompt": "x"})), call("nothing", json!({}))]).await;
    session.reply(&*harness, vec![call(shell, json!({"timeout": "soon"}))]).await;
    session.reply(&*harness, vec![words("Done.")]).await;
    let prompt = session.prompt(&*harness).await;
    let body = of(wire).encode(&prompt, &session.model, &Quirks::default());
    let (key, skip) = match wire {
        WireKind::Chat => ("messages", 1),
        WireKind::Responses => ("input", 0),
        WireKind::Messages => ("messages", 0),
    };
    body[key].as_array().unwrap()[skip..].to_vec().into()
}

#[tokio::test]
async fn what_could_not_be_understood_stands_as_each_client_puts_it() {
    for id in ["kimi-code", "kimi-cli", "opencode"] {
        let messages = sent(id, WireKind::Chat).await;
        let text = serde_json::to_string_pretty(&messages).unwrap();
        insta::assert_snapshot!(format!("sent-{id}"), text);
    }
}

#[tokio::test]
async fn the_arguments_of_every_call_are_an_object_on_every_wire() {
    for id in ["kimi-code", "kimi-cli", "opencode"] {
        for wire in [WireKind::Chat, WireKind::Responses, WireKind::Messages] {
            let messages = sent(id, wire).await;
            let mut count = 0;
            visit(&messages, &mut |field, value| {
                let parsed = match field {
                    "arguments" => serde_json::from_str(value.as_str().unwrap()).unwrap(),
                    "input" => value.clone(),
                    _ => return,
                };
                assert!(parsed.is_object(), "{id} over {}: {value}", wire.name());
                count += 1;
            });
            assert_eq!(count, 5, "{id} over {}", wire.name());
        }
    }
}

fn visit(value: &Value, seen: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                seen(field, value);
                visit(value, seen);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| visit(value, seen)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What the model is told of these calls, each made in a reply of its own.
fn told(id: &str, script: &[(&str, Value)]) -> String {
    let mut replies: Vec<server::Reply> = script
        .iter()
        .enumerate()
        .map(|(nth, (name, args))| {
            let made = server::call(0, &format!("c{nth}"), name, &args.to_string());
            sse(vec![made, end("tool_calls"), usage(10, 5), done()])
        })
        .collect();
    replies.push(sse(vec![txt("Done."), end("stop"), usage(10, 5), done()]));
    let server = Server::start(replies);
    let tack = Tack::new(&server);
    tack.file("a.txt", "one\ntwo\nthree\n");
    tack.file("src/b.txt", "two\n");
    let ran = tack.run(["--harness", id, "-p", "work"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let requests = server.requests();
    let last = requests.last().unwrap();
    let results =
        last.body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    let shown = results.zip(script).map(|(message, (name, args))| {
        let content = match &message["content"] {
            Value::String(text) => text.clone(),
            parts => parts
                .as_array()
                .unwrap()
                .iter()
                .map(|p| format!("| {}", p["text"].as_str().unwrap()))
                .collect::<Vec<_>>()
                .join("\n"),
        };
        format!("{name} {args}\n{content}")
    });
    let text = shown.collect::<Vec<_>>().join("\n----\n");
    let cwd = tack.work().display().to_string();
    let text = text.replace(&cwd, "<cwd>");
    let pid = regex::Regex::new(r"pid:? \d+").unwrap();
    let text = pid.replace_all(&text, "pid <pid>");
    let log = regex::Regex::new(r"tail -f \S+").unwrap();
    let text = log.replace_all(&text, "tail -f <log>");
    let wall = regex::Regex::new(r"Wall time: \d+\.\d{3} seconds").unwrap();
    wall.replace_all(&text, "Wall time: <s> seconds").into_owned()
}

#[test]
fn results_have_the_form_that_each_client_gives_them() {
    let kimi_code = told(
        "kimi-code",
        &[
            ("Read", json!({"path": "a.txt"})),
            ("Read", json!({"path": "a.txt", "line_offset": -2, "n_lines": 1})),
            ("Grep", json!({"pattern": "two"})),
            (
                "Grep",
                json!({"pattern": "two", "path": "a.txt", "output_mode": "content", "-C": 1, "-n": false}),
            ),
            ("Glob", json!({"pattern": "**/b.txt"})),
            ("Edit", json!({"path": "a.txt", "old_string": "two", "new_string": "TWO"})),
            ("Write", json!({"path": "new.txt", "content": "x\n"})),
            ("Write", json!({"path": "new.txt", "content": "y\n", "mode": "append"})),
            ("Bash", json!({"command": "echo out; exit 3"})),
            ("Bash", json!({"command": "true"})),
            ("Bash", json!({"command": "true", "made_up": 1, "timeout": []})),
            ("TodoList", json!({"todos": [{"title": "t", "status": "done"}]})),
            ("TodoList", json!({})),
            ("Bash", json!({"command": "sleep 60", "run_in_background": true})),
            ("TaskList", json!({})),
            ("WaitFor", json!({"timeout": 1, "task_id": "job1"})),
            ("TaskStop", json!({"task_id": "job1"})),
            ("TaskList", json!({})),
            ("TaskList", json!({"active_only": false})),
            ("Agent", json!({})),
        ],
    );
    insta::assert_snapshot!("told-kimi-code", kimi_code);
    let kimi_cli = told(
        "kimi-cli",
        &[
            ("ReadFile", json!({"path": "a.txt", "line_offset": 2})),
            ("ReadFile", json!({"path": "nowhere"})),
            ("StrReplaceFile", json!({"path": "a.txt", "edit": {"old": "t", "new": "T"}})),
            (
                "StrReplaceFile",
                json!({"path": "a.txt", "edit": [{"old": "one", "new": "1"}, {"old": "Two", "new": "2"}]}),
            ),
            ("Shell", json!({"command": "echo out; exit 3"})),
            ("Shell", json!({"command": "true"})),
            ("Shell", json!({"command": "echo before; sleep 30", "timeout": 1})),
            ("Grep", json!({"pattern": "2", "output_mode": "content", "glob": null})),
            ("SetTodoList", json!({"todos": null})),
            ("WriteFile", json!({"content": 1})),
        ],
    );
    insta::assert_snapshot!("told-kimi-cli", kimi_cli);
    let opencode = told(
        "opencode",
        &[
            ("read", json!({"filePath": "a.txt", "limit": 2})),
            ("read", json!({"filePath": "src"})),
            ("grep", json!({"pattern": "two"})),
            ("glob", json!({"pattern": "b.*"})),
            ("edit", json!({"filePath": "a.txt", "oldString": "two", "newString": "TWO"})),
            ("bash", json!({"command": "echo out; exit 3"})),
            ("bash", json!({"command": "true"})),
            ("bash", json!({"command": "seq 3000 | sed 's/^/line /'"})),
            ("bash", json!({"command": "echo before; sleep 30", "timeout": 300})),
            ("todowrite", json!({"todos": [{"content": "t", "status": "cancelled", "priority": "low"}]})),
            ("read", json!({"filePath": 7.5, "limit": "x"})),
            ("bash", json!({})),
        ],
    );
    let spill = regex::Regex::new(r"All of it: \S+").unwrap();
    let lines = regex::Regex::new(r"(line \d+\n){20,}").unwrap();
    let opencode = spill.replace(&opencode, "All of it: <spill>");
    insta::assert_snapshot!("told-opencode", lines.replace(&opencode, "line <n>…\n"));
}

#[test]
fn each_says_all_of_it_in_few_tokens() {
    let library = tack::harness::Library::new(Vec::new());
    for (id, most, tools) in [("kimi-code", 2500, 10), ("kimi-cli", 2000, 10), ("opencode", 1500, 8)] {
        let sample = library.sample(id, &sample_model()).unwrap();
        assert!(sample.listing.tokens < most, "{id}: {}", sample.listing.tokens);
        assert!(sample.prompt.tools.len() >= tools, "{id}: {}", sample.prompt.tools.len());
    }
}

#[tokio::test]
async fn what_was_thought_is_kept_where_the_server_can_keep_it() {
    let thinking = async |provider: &str, name: &str, effort: Option<&str>| {
        let mut model = Model { provider: provider.to_owned(), name: name.to_owned(), ..sample_model() };
        model.thinking = Thinking::Toggle;
        model.effort = effort.map(str::to_owned);
        let mut session = Session { model, ..Session::new() };
        session.user("go");
        let prompt = session.prompt(&*harness("kimi-code")).await;
        of(WireKind::Chat).encode(&prompt, &session.model, &Quirks::default())["thinking"].clone()
    };
    let on = json!({"type": "enabled", "keep": "all"});
    assert_eq!(thinking("moonshotai", "kimi-k2.6", None).await, on);
    assert_eq!(thinking("moonshotai", "kimi-k2.6", Some("off")).await["type"], "disabled");
    for (provider, name) in [("moonshotai", "kimi-k3"), ("openrouter", "kimi-k2.6")] {
        assert_eq!(thinking(provider, name, None).await, json!({"type": "enabled"}), "{provider} {name}");
    }
}
