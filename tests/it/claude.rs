//! The harnesses `claude-code`, `claude-code-bare` and `zcode`: what they send over each wire, and a turn
//! of each in the real binary.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tack::harness::sample_model;
use tack::model::{Body, Item, ItemId, Model, Said, WireKind};
use tack::wire::{self, provider::Quirks};

use crate::harness_kit::{Session, call as said_call, harness, messages};
use crate::kit::{Tack, on_every_wire};
use crate::server::*;

on_every_wire! {
    a_turn_with_claude_codes_tools,
    a_command_that_takes_long_goes_on_and_its_end_is_told,
    the_task_list_goes_on_with_the_session,
    the_bare_one_has_three_tools_and_the_other_a_plain_list,
}

const ALL: [&str; 3] = ["claude-code", "claude-code-bare", "zcode"];

/// The tools in a line each: a star for what is required.
fn tools(body: &Value) -> String {
    let mut out = String::new();
    for tool in body["tools"].as_array().unwrap() {
        let tool = tool.get("function").unwrap_or(tool);
        let schema = tool.get("parameters").or(tool.get("input_schema")).unwrap();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let param = |(name, schema): (&String, &Value)| {
            let star = if required.contains(&json!(name)) { "*" } else { "" };
            let choices = schema.get("enum").map(|choices| format!(" {choices}")).unwrap_or_default();
            let kind = schema["type"].as_str().map_or_else(|| schema["anyOf"].to_string(), str::to_owned);
            format!("{name}{star}: {kind}{choices}")
        };
        let params: Vec<String> = schema["properties"].as_object().unwrap().iter().map(param).collect();
        let extra = &schema["additionalProperties"];
        let _ = writeln!(out, "{}({}) extra {extra}", tool["name"].as_str().unwrap(), params.join(", "));
    }
    out
}

#[tokio::test]
async fn requests_over_every_wire() {
    for id in ALL {
        let harness = harness(id);
        let mut all = String::new();
        for kind in [WireKind::Messages, WireKind::Responses, WireKind::Chat] {
            let model = Model { wire: kind, ..sample_model() };
            let mut session = Session { model, ..Session::new() };
            session.user("Make the greeting polite.");
            let read = said_call("Read", json!({"file_path": "/home/me/project/src/greet.py"}));
            session.reply(&*harness, vec![read, said_call("Bash", json!({"command": "ls"}))]).await;
            let prompt = session.prompt(&*harness).await;
            let mut body = wire::of(kind).encode(&prompt, &session.model, &Quirks::default());
            let tools = tools(&body);
            body.as_object_mut().unwrap().shift_remove("tools");
            let body = serde_json::to_string_pretty(&body).unwrap();
            let _ = writeln!(all, "=== {}\n{tools}{body}", kind.name());
        }
        insta::assert_snapshot!(format!("request_of_{id}"), all);
    }
}

#[tokio::test]
async fn a_prompt_of_another_day_says_the_day_and_nothing_before_it_changes() {
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    let prompt = |id: u64, text: &str, time: &str| Item {
        id: ItemId(id),
        turn: 1,
        at: at(time),
        body: Body::User(Said { text: text.to_owned(), images: Vec::new() }),
    };
    for (id, wanted) in [("claude-code", "another day now: 2026-03-02"), ("zcode", "Today is 2026-03-02")] {
        let harness = harness(id);
        let mut session = Session::new();
        session.items.push(prompt(1, "one", "2026-03-01T10:00:00Z"));
        session.reply(&*harness, vec![tack::model::Part::Text { text: "Yes.".to_owned() }]).await;
        session.items.push(prompt(3, "two", "2026-03-01T20:00:00Z"));
        let before = session.prompt(&*harness).await;
        assert!(!messages(&before.messages[2..]).contains("system-reminder"), "{id}");
        session.reply(&*harness, vec![tack::model::Part::Text { text: "Yes.".to_owned() }]).await;
        // 0:30 of the next day in Berlin.
        session.items.push(prompt(5, "three", "2026-03-01T23:30:00Z"));
        let after = session.prompt(&*harness).await;
        assert!(after.messages.starts_with(&before.messages), "{id}");
        let told = messages(&after.messages[4..]);
        assert!(told.contains(wanted) && told.contains("three"), "{id}: {told}");
        assert!(messages(&after.messages[..1]).contains("2026-03-01"));
    }
}

#[tokio::test]
async fn the_list_is_reminded_of_after_ten_results() {
    for (id, again) in [("claude-code", 5), ("zcode", 10)] {
        let harness = harness(id);
        let mut session = Session::new();
        session.user("go");
        let mut due = Vec::new();
        for nth in 1..=21 {
            session.reply(&*harness, vec![said_call("Bash", json!({"command": "ls"}))]).await;
            let before = session.prompt(&*harness).await;
            let notes = harness.notes(&session.view()).await.unwrap().len();
            session.notes(&*harness).await;
            if notes > 0 {
                due.push(nth);
                let after = session.prompt(&*harness).await;
                let last = messages(&after.messages[after.messages.len() - 1..]);
                // At the end of the result, or behind it as the system's own word.
                let own = id == "zcode";
                assert_eq!(last.starts_with("--- system\nTodoWrite"), own, "{id}: {last}");
                assert_eq!(last.contains("src\n\n<system-reminder>\nThe task list"), !own, "{id}: {last}");
                let kept = before.messages.len() - usize::from(!own);
                assert!(after.messages.starts_with(&before.messages[..kept]), "{id}");
            }
        }
        // The prompt counts for zcode.
        let first = if id == "zcode" { 9 } else { 10 };
        assert_eq!(due, (first..=21).step_by(again).collect::<Vec<_>>(), "{id}");
    }
}

fn results(request: &Request) -> Vec<String> {
    let chat = request.chat();
    let results = chat["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    results.map(|result| result["content"].as_str().unwrap_or_default().to_owned()).collect()
}

fn two(first: (&str, &Value), second: (&str, &Value)) -> Reply {
    sse([
        call(0, "p", first.0, &first.1.to_string()),
        call(1, "q", second.0, &second.1.to_string()),
        end("tool_calls"),
        done(),
    ])
}

/// What the call of this place in the session was answered with.
fn told(server: &Server, nth: usize) -> String {
    results(server.requests().last().unwrap())[nth].clone()
}

fn a_turn_with_claude_codes_tools() {
    let tack = Tack::bare();
    let file = |name: &str| tack.work().canonicalize().unwrap().join(name).to_str().unwrap().to_owned();
    let edit = json!({"file_path": file("a.txt"), "old_string": "two", "new_string": "zwei"});
    let server = Server::start(vec![
        calls("a", "Edit", &edit),
        calls("b", "Read", &json!({"file_path": file("a.txt")})),
        calls("c", "Edit", &edit),
        calls("d", "Write", &json!({"file_path": file("b.txt"), "content": "x"})),
        two(("Bash", &json!({"command": "echo out; exit 3"})), ("Bash", &json!({"command": "true"}))),
        sse([call(0, "e", "Bash", "{\"command\": \"ls"), end("tool_calls"), done()]),
        calls("f", "Read", &json!({"offset": "many", "color": "red"})),
        calls("g", "Grep", &json!({"pattern": "x"})),
        calls("h", "Bash", &json!({"command": "seq 1 20000"})),
        calls("i", "Read", &json!({"file_path": file("big.txt")})),
        calls("j", "Read", &json!({"file_path": file("none.txt")})),
        says("Done."),
    ]);
    tack.config(&Tack::config_for(&server));
    tack.file("a.txt", "one\ntwo\n");
    tack.file("b.txt", "old\n");
    tack.file("big.txt", "0123456789\n".repeat(30_000));
    tack.run(["--harness", "claude-code", "-p", "go"]).code(0);
    let told = |nth| told(&server, nth);
    assert!(told(0).starts_with("<tool_use_error>") && told(0).contains("not been read"), "{}", told(0));
    assert_eq!(told(1), "1\tone\n2\ttwo\n3\t");
    assert!(told(2).ends_with("a.txt was updated. (You know it as it is now; no need to read it again.)"));
    assert!(told(3).contains("<tool_use_error>") && tack.read("b.txt") == "old\n", "{}", told(3));
    assert_eq!((told(4).as_str(), told(5).as_str()), ("Exit code 3\nout", "(Bash completed with no output)"));
    assert!(told(6).starts_with("<tool_use_error>InputValidationError: the input of Bash"), "{}", told(6));
    let wrong = told(7);
    for part in [
        "InputValidationError: Read: ",
        "`file_path` is missing",
        "`offset` has to be integer",
        "no parameter `color`",
    ] {
        assert!(wrong.contains(part), "{part}: {wrong}");
    }
    assert!(told(8).contains("no tool `Grep`") && told(8).contains("`grep` or `rg`"), "{}", told(8));
    let long = told(9);
    assert!(long.starts_with("<persisted-output>") && long.contains("\n...\n</persisted-output>"), "{long}");
    assert!(long.contains("(106.3KB)") && long.len() < 2_800, "{long}");
    assert!(told(10).contains("<tool_use_error>") && !told(10).contains("0123456789"), "{}", told(10));
    assert!(!told(11).contains("tool_use_error") && told(11).contains("does not exist"), "{}", told(11));
    assert_eq!(tack.read("a.txt"), "one\nzwei\n");

    // The whole output can be read by the model's own tool, in a run of its own.
    let kept = long.lines().find_map(|line| line.split("in: ").nth(1)).unwrap().to_owned();
    let again = Server::start(vec![
        calls("k", "Read", &json!({"file_path": kept, "offset": 19_999, "limit": 2})),
        says("Done."),
    ]);
    tack.config(&Tack::config_for(&again));
    tack.run(["--harness", "claude-code", "-p", "go"]).code(0);
    assert_eq!(results(again.requests().last().unwrap()), ["19999\t19999\n20000\t20000\n20001\t"]);
}

fn a_command_that_takes_long_goes_on_and_its_end_is_told() {
    let script = vec![
        calls(
            "a",
            "Bash",
            &json!({"command": "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo over", "timeout": 300}),
        ),
        calls("b", "TaskOutput", &json!({"task_id": "job1", "block": false, "timeout": 30_000})),
        calls("c", "Bash", &json!({"command": "touch go"})),
        says("Done."),
    ];
    // Goes on with something else until the end is told.
    let server = Server::with(script, |request| {
        let said = request.said();
        let waits = said.contains("touch go") && !said.contains("<task-notification>");
        let nth = request.chat()["messages"].as_array().map_or(0, Vec::len);
        waits.then(|| calls(&format!("d{nth}"), "Bash", &json!({"command": format!("echo {nth}")})))
    });
    let tack = Tack::new(&server);
    tack.run(["--harness", "claude-code", "-p", "go"]).code(0);
    let results = results(server.requests().last().unwrap());
    assert!(
        results[0].contains("not ended after 300 ms and goes on in the background with ID job1"),
        "{}",
        results[0]
    );
    assert!(results[0].contains("Its output goes to /") && results[0].ends_with("begun"), "{}", results[0]);
    assert_eq!(results[1], "<task_id>job1</task_id>\n<status>running</status>");
    let all = server.requests().last().unwrap().said();
    let notice = all.split("<task-notification>").nth(1).unwrap();
    for part in [
        "<task-id>job1</task-id>",
        "<tool-use-id>a</tool-use-id>",
        "<output-file>/",
        "<status>completed</status>",
        "<summary>",
    ] {
        assert!(notice.contains(part), "{part}: {notice}");
    }
    assert!(!all.contains("<system-reminder>\n<task-notification>"));
}

fn the_task_list_goes_on_with_the_session() {
    let server = Server::start(vec![
        calls(
            "a",
            "TaskCreate",
            &json!({"subject": "Read", "description": "all of it", "metadata": {"size": 2}}),
        ),
        calls("b", "TaskCreate", &json!({"subject": "Write", "description": "the rest"})),
        calls("c", "TaskUpdate", &json!({"taskId": "2", "status": "in_progress", "addBlockedBy": ["1"]})),
        calls("d", "TaskUpdate", &json!({"taskId": "9", "status": "completed"})),
        says("Begun."),
        calls("e", "TaskUpdate", &json!({"taskId": "1", "status": "deleted"})),
        calls("f", "TaskCreate", &json!({"subject": "Check", "description": "it"})),
        calls("g", "TaskList", &json!({})),
        calls("h", "TaskGet", &json!({"taskId": "2"})),
        says("Done."),
    ]);
    let tack = Tack::new(&server);
    tack.run(["--harness", "claude-code", "-p", "go"]).code(0);
    tack.run(["--harness", "claude-code", "exec", "resume", "--last", "go on"]).code(0);
    let results = results(server.requests().last().unwrap());
    assert_eq!(results[0], "Task #1 was created: Read");
    assert_eq!(results[2], "Task #2 was updated: status, blocked_by");
    assert_eq!(results[3], "<tool_use_error>there is no task `9`; there are 1, 2</tool_use_error>");
    assert_eq!(results[5], "Task #3 was created: Check");
    assert_eq!(results[6], "#2 [in_progress] Write\n#3 [pending] Check");
    assert_eq!(results[7], "Task #2: Write\nStatus: in_progress\nDescription: the rest");
}

fn the_bare_one_has_three_tools_and_the_other_a_plain_list() {
    let todos = |status: &str| json!({"todos": [{"content": "Read", "status": status, "priority": "high"}]});
    let server = Server::start(vec![
        calls("a", "Edit", &json!({"file_path": "new.txt", "old_string": "", "new_string": "x\n"})),
        calls("b", "Write", &json!({"file_path": "b.txt", "content": "x"})),
        says("Done."),
        calls("c", "TodoWrite", &todos("pending")),
        calls("d", "TodoWrite", &todos("completed")),
        calls("e", "TodoRead", &json!({})),
        calls("f", "Read", &json!({"file_path": "new.txt"})),
        calls("g", "Read", &json!({"file_path": "new.txt"})),
        says("Done."),
    ]);
    let tack = Tack::new(&server);
    tack.run(["--harness", "claude-code-bare", "-p", "go"]).code(0);
    let requests = server.requests();
    assert_eq!(requests[0].chat()["tools"].as_array().unwrap().len(), 3);
    assert!(results(&requests[2])[1].contains("empty old_string"), "{:?}", results(&requests[2]));
    assert_eq!(tack.read("new.txt"), "x\n");
    tack.run(["--harness", "zcode", "-p", "go"]).code(0);
    let results = results(server.requests().last().unwrap());
    assert_eq!(
        results[1],
        r#"{"oldTodos":[{"content":"Read","status":"pending","priority":"high"}],"todos":[{"content":"Read","status":"completed","priority":"high"}],"summary":"1 of 1 completed"}"#
    );
    assert_eq!(results[2], r#"[{"content":"Read","status":"completed","priority":"high"}]"#);
    assert_eq!(results[3], "1\tx\n2\t");
    assert!(results[4].contains("unchanged since you were shown it"), "{}", results[4]);
}
