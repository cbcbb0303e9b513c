//! The harness for local models: what it sends and understands by the class of the model and by what
//! trying it out showed.

use serde_json::json;
use tack::harness::{Library, Verdict, sample_model, tokens};
use tack::model::{Action, Body, Calls, Class, Model, Outcome, Part, Probed, ToolCall, ToolResult, WireKind};
use tack::wire::{self, provider::Quirks};

use crate::harness_kit::{ALL, Session, call, harness, messages, played, shown};

/// A class and a result of the probe that the manifest has tables for.
const CASES: [(&str, Class, Option<Calls>); 7] = [
    ("S", Class::S, None),
    ("S_wire", Class::S, Some(Calls::Wire)),
    ("S_text", Class::S, Some(Calls::Text)),
    ("M", Class::M, None),
    ("M_none", Class::M, Some(Calls::None)),
    ("L", Class::L, None),
    ("F", Class::F, Some(Calls::Wire)),
];

fn model(class: Class, calls: Option<Calls>) -> Model {
    let probed = calls.map(|calls| Probed { calls, ..Probed::default() });
    Model { class, probed, ..sample_model() }
}

fn said(text: &str) -> Vec<Part> {
    vec![Part::Text { text: text.to_owned() }]
}

const FILE: &str = "src/greet.py\n```python\ndef greet():\n    return 'Good day'\n```";

/// The same task by a model that writes its calls as it is used to.
async fn session(model: Model) -> Session {
    let local = harness("local");
    let by_wire = !local
        .prompt(&Session { model: model.clone(), ..Session::new() }.view())
        .await
        .unwrap()
        .tools
        .is_empty();
    let mut session = Session { model, ..Session::new() };
    session.user("Make the greeting in src/greet.py polite.");
    session.reply(&*local, said("It would be nice to be polite.")).await;
    if by_wire {
        session.reply(&*local, vec![call("bash", json!({"command": "cat src/greet.py"}))]).await;
    } else {
        session.reply(&*local, said("First a look.\n```bash\ncat src/greet.py\n```\nResult: made up")).await;
        session.reply(&*local, said("{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}")).await;
    }
    if matches!(session.model.class, Class::S | Class::M) {
        session.reply(&*local, said(&format!("Now I write it.\n\n{FILE}\nIt is polite now."))).await;
    } else {
        let args = json!({"path": "src/greet.py", "old_string": "'hi'", "new_string": "'Good day'"});
        session.reply(&*local, vec![call("edit", args)]).await;
    }
    session.reply(&*local, said("The greeting is polite now.")).await;
    session
}

#[tokio::test]
async fn requests_by_class_and_probe() {
    for (name, class, calls) in CASES {
        let session = session(model(class, calls)).await;
        insta::assert_snapshot!(format!("local_{name}"), shown(&session.prompt(&*harness("local")).await));
    }
}

#[tokio::test]
async fn every_wire_takes_every_form() {
    for kind in [WireKind::Chat, WireKind::Responses, WireKind::Messages] {
        let mut all = String::new();
        for (name, class, calls) in CASES.into_iter().take(5) {
            let model = Model { wire: kind, ..model(class, calls) };
            let session = session(model).await;
            let prompt = session.prompt(&*harness("local")).await;
            let body = wire::of(kind).encode(&prompt, &session.model, &Quirks::default());
            all.push_str(&format!("=== {name}\n{}\n", serde_json::to_string_pretty(&body).unwrap()));
        }
        insta::assert_snapshot!(format!("local_over_{}", kind.name()), all);
    }
}

#[test]
fn surfaces_stay_within_their_class() {
    let library = Library::new(Vec::new());
    for (class, most) in [(Class::S, 300), (Class::M, 800), (Class::L, 1500), (Class::F, 1500)] {
        for calls in [None, Some(Calls::Wire), Some(Calls::Text), Some(Calls::None)] {
            let got = tokens(&library.sample("local", &model(class, calls)).unwrap().prompt);
            eprintln!("local, class {} {calls:?}: {got} tokens", class.letter());
            assert!(got <= most, "{} {calls:?}: {got} tokens, at most {most}", class.letter());
        }
    }
}

/// A wire's own word in a base would win over a class's for all wires.
#[tokio::test]
async fn what_a_class_asks_of_the_server_is_sent_over_every_wire() {
    let library = Library::new(Vec::new());
    let mut asked = 0;
    for id in library.ids() {
        let keys = library.spelled(&id).unwrap_or_else(|e| panic!("{e}")).keys;
        for class in Class::ALL {
            let prefix = format!("class.{}.request.", class.letter());
            let fields = keys.iter().filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?, value)));
            for (field, value) in fields.filter(|(field, _)| !field.contains('.')) {
                for wire in [WireKind::Chat, WireKind::Responses, WireKind::Messages] {
                    let model = Model { wire, ..model(class, None) };
                    let prompt = Session { model, ..Session::new() }.prompt(&*harness(&id)).await;
                    let sent = prompt.body.get(field).map(ToString::to_string);
                    assert_eq!(
                        sent.as_ref(),
                        Some(value),
                        "{id}, class {}, {}: {field}",
                        class.letter(),
                        wire.name()
                    );
                    asked += 1;
                }
            }
        }
    }
    assert!(asked > 60, "{asked}");
}

#[test]
fn every_table_of_every_harness_is_sound() {
    let library = Library::new(Vec::new());
    for id in ALL {
        library.check(id).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[tokio::test]
async fn a_small_models_session_goes_on_elsewhere_and_the_others_sessions_here() {
    let mut all = String::new();
    for to in ALL.into_iter().filter(|to| *to != "local") {
        let mut session = session(model(Class::S, None)).await;
        session.model = sample_model();
        session.user("And make it louder.");
        let prompt = session.prompt(&*harness(to)).await;
        all.push_str(&format!("=== to {to}\n{}\n", messages(&prompt.messages)));
    }
    for from in ALL.into_iter().filter(|from| *from != "local") {
        let mut session = played(from).await;
        session.model = model(Class::S, None);
        session.user("And make it louder.");
        let prompt = session.prompt(&*harness("local")).await;
        all.push_str(&format!("=== from {from}\n{}\n", messages(&prompt.messages)));
    }
    insta::assert_snapshot!(all);
}

/// A rewrite that was put into the file in parts is no write of the whole file.
#[tokio::test]
async fn a_part_of_a_file_is_told_elsewhere() {
    let mut session = session(model(Class::S, None)).await;
    for item in &mut session.items {
        if let Body::Result(ToolResult { outcome, .. }) = &mut item.body {
            *outcome = Outcome { data: json!({ "names": ["greet"] }), ..Outcome::ok("x") };
        }
    }
    session.model = sample_model();
    let prompt = session.prompt(&*harness("minimal")).await;
    let text = messages(&prompt.messages);
    assert!(text.contains("the tool `file` was called") && !text.contains(": write {"), "{text}");
}

#[tokio::test]
async fn what_is_sent_to_a_small_model_only_grows() {
    let local = harness("local");
    let mut session = session(model(Class::S, None)).await;
    let before = session.prompt(&*local).await;
    session.user("Go on.");
    session.reply(&*local, said("```bash\nls\n```")).await;
    let after = session.prompt(&*local).await;
    let text = |prompt: &tack::wire::prompt::Prompt| messages(&prompt.messages);
    assert!(text(&after).starts_with(text(&before).trim_end()), "{}", text(&after));
}

#[tokio::test]
async fn an_end_before_anything_was_done_is_refused_once() {
    let local = harness("local");
    for by_words in [true, false] {
        let mut session = Session { model: model(Class::S, Some(Calls::Wire)), ..Session::new() };
        session.user("Rename a.py.");
        let end =
            || if by_words { said("Renamed.") } else { vec![call("finish", json!({"answer": "Renamed."}))] };
        let first = session.reply(&*local, end()).await;
        assert_eq!(matches!(first, Verdict::Retry(_)), by_words);
        let last = messages(&session.prompt(&*local).await.messages);
        assert!(last.contains("So far nothing was run"), "{last}");
        assert!(session.submitted.is_empty());
        let second = session.reply(&*local, end()).await;
        assert_eq!(second, if by_words { Verdict::Done } else { Verdict::Calls });
        assert_eq!(session.submitted.len(), usize::from(!by_words), "said twice, it is an answer");
    }
    let mut session = Session { model: model(Class::S, None), ..Session::new() };
    session.user("What does a.py do?");
    assert_eq!(session.reply(&*local, said("It adds.")).await, Verdict::Done, "a question may be answered");
    let mut session = Session { model: model(Class::S, Some(Calls::Wire)), ..Session::new() };
    session.user("Rename a.py.");
    session.reply(&*local, vec![call("bash", json!({"command": "mv a.py b.py"}))]).await;
    session.reply(&*local, vec![call("finish", json!({"answer": "Renamed."}))]).await;
    assert_eq!(session.submitted, ["Renamed."]);
}

/// What a real model of 1.5B parameters wrote, in fewer words.
#[tokio::test]
async fn what_a_small_model_writes_is_understood() {
    let local = harness("local");
    let table = [
        // No path: the one file of that kind that was asked about.
        ("```json\n{\n  \"name\": \"garden\",\n  \"retries\": 5\n}\n```", "rewrite settings.json"),
        ("settings.json\n```json\n{\"retries\": 5}\n```", "rewrite settings.json"),
        ("```bash\nwc -l settings.json\n```\nResult: 10 lines in it", "shell wc -l settings.json"),
        ("To do so you run:\n\n```bash\nls\n```\n\nNow you can look:\n\n```bash\ncat a\n```\n", "shell ls"),
        (
            "```bash\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n```\n\nResult:\n```python\nx = 1\n```",
            "shell ls",
        ),
        (
            "```bash\ncat a.py\n```\nResult: print(1)\na.py\n```python\nprint(2)\n```\na.py is done.",
            "shell cat a.py",
        ),
        (
            "```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n```\nResult: 3\nYou: {\"name\": \"finish\", \"arguments\": {\"answer\": \"3\"}}",
            "shell ls",
        ),
        (
            "<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"bash\", \"parameters\": {\"type\": \"object\", \"properties\": {}}}}\n</tools>",
            "",
        ),
        (
            "To fix it, change the function. Here is the code:\n\n```python\ndef f():\n    return 1\n```\n\nIt then works.",
            "",
        ),
        ("Settings updated successfully.", ""),
    ];
    for (text, want) in table {
        let mut session = Session { model: model(Class::S, None), ..Session::new() };
        session.user("Set retries to 5 in settings.json.");
        session.reply(&*local, said(text)).await;
        assert_eq!(did(&session), want, "{text}");
    }
}

fn did(session: &Session) -> String {
    let calls = session.items.iter().filter_map(|item| match &item.body {
        Body::Assistant(reply) => Some(&reply.parts),
        _ => None,
    });
    let one = |part: &Part| match part {
        Part::Call(ToolCall { action: Action::Shell { command, .. }, .. }) => {
            Some(format!("shell {command}"))
        }
        Part::Call(ToolCall { action: Action::Rewrite { path, .. }, .. }) => Some(format!("rewrite {path}")),
        Part::Call(call) => Some(call.action.kind().to_owned()),
        _ => None,
    };
    calls.flatten().filter_map(one).collect::<Vec<_>>().join(", ")
}
