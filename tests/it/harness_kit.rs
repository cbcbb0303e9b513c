//! For tests of harnesses from outside: a small session that each of them can play, and a prompt as
//! readable text.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Value, json};
use tack::harness::{
    Blobs, Harness, Library, NoPrograms, Submitted, Verdict, View, sample_model, sample_scene,
};
use tack::model::{
    Action, BlobId, Body, CallId, Grep, Image, Item, ItemId, JobOp, Model, Note, NoteKind, Origin, Outcome,
    Part, Read, Reply, Said, Scene, Stop, ToolCall, ToolResult, Usage, WireKind,
};
use tack::wire::prompt::{Message, Piece, Prompt, Role};

use crate::server;

pub const ALL: [&str; 8] =
    ["local", "minimal", "pi", "swe-agent", "mini-swe-agent", "qwen-code", "native", "terminus-2"];

pub fn harness(id: &str) -> Arc<dyn Harness> {
    Library::new(Vec::new()).get(id).unwrap_or_else(|e| panic!("{e}"))
}

/// Every image is the same.
struct Pixel;

impl Blobs for Pixel {
    fn base64(&self, _: &BlobId) -> Option<Arc<str>> {
        Some(Arc::from("AAAA"))
    }
}

/// A session without loop and tools: replies and outcomes are given, the harness does the rest.
pub struct Session {
    pub items: Vec<Item>,
    pub scene: Scene,
    /// Its wire is the one that the session is held over.
    pub model: Model,
    pub submitted: Vec<String>,
    /// What comes of every call in place of what is made up.
    pub comes: Option<Outcome>,
}

impl Session {
    pub fn new() -> Self {
        Self {
            items: Vec::new(),
            scene: sample_scene(),
            model: sample_model(),
            submitted: Vec::new(),
            comes: None,
        }
    }

    pub fn view(&self) -> View<'_> {
        let (items, scene, model) = (&self.items, &self.scene, &self.model);
        let (blobs, programs) = (&Pixel, &NoPrograms);
        View { items, scene, model, wire: self.model.wire, blobs, drop_images: false, programs }
    }

    fn push(&mut self, body: Body) {
        let id = ItemId(self.items.len() as u64 + 1);
        self.items.push(Item { id, turn: 1, at: jiff::Timestamp::UNIX_EPOCH, body });
    }

    pub fn user(&mut self, text: &str) {
        self.push(Body::User(Said { text: text.to_owned(), images: Vec::new() }));
    }

    pub fn user_with_image(&mut self, text: &str) {
        let images = vec![Image { mime: "image/png".to_owned(), blob: BlobId("shot".to_owned()) }];
        self.push(Body::User(Said { text: text.to_owned(), images }));
    }

    pub fn note(&mut self, kind: NoteKind, text: &str) {
        self.push(Body::Note(Note { kind, text: text.to_owned(), harness: None, file: None }));
    }

    pub async fn notes(&mut self, harness: &dyn Harness) {
        for note in harness.notes(&self.view()).await.unwrap() {
            self.push(Body::Note(note));
        }
    }

    /// One reply with these parts, its calls answered with made-up outcomes.
    pub async fn reply(&mut self, harness: &dyn Harness, parts: Vec<Part>) -> Verdict {
        let origin = Origin {
            provider: self.model.provider.clone(),
            model: self.model.name.clone(),
            wire: self.model.wire,
            harness: harness.id().to_owned(),
            surface: harness.surface(&self.model),
        };
        let mut reply = Reply::new(origin, parts, Usage::default(), Stop::Done);
        let item = ItemId(self.items.len() as u64 + 1);
        for (nth, part) in reply.parts.iter_mut().enumerate() {
            if let Part::Call(call) = part {
                call.id = CallId::of(item, nth);
            }
        }
        let verdict = harness.interpret(&mut reply, &self.view()).await.unwrap();
        let calls: Vec<ToolCall> = reply
            .parts
            .iter()
            .filter_map(|p| if let Part::Call(c) = p { Some(c.clone()) } else { None })
            .collect();
        self.push(Body::Assistant(reply));
        if let Verdict::Retry(text) = &verdict {
            self.push(Body::Note(Note {
                kind: NoteKind::Correction,
                text: text.clone(),
                harness: None,
                file: None,
            }));
        }
        for call in calls {
            let outcome = self.comes.clone().unwrap_or_else(|| outcome(&call.action));
            let shown = match harness.submitted(&call, &outcome, &self.view()).await.unwrap() {
                Submitted::Review(parts) => parts,
                Submitted::Yes(text) => {
                    self.submitted.push(text);
                    harness.tell(&call, &outcome, &self.view()).await.unwrap()
                }
                Submitted::No => harness.tell(&call, &outcome, &self.view()).await.unwrap(),
            };
            self.push(Body::Result(ToolResult { call: call.id.clone(), outcome, shown }));
        }
        verdict
    }

    /// One reply that did this, under a harness that nobody knows.
    fn did(&mut self, actions: &[Action]) {
        let origin = Origin {
            provider: self.model.provider.clone(),
            model: self.model.name.clone(),
            wire: self.model.wire,
            harness: String::new(),
            surface: 0,
        };
        let item = ItemId(self.items.len() as u64 + 1);
        let made = |(nth, action): (usize, &Action)| {
            let Part::Call(call) = call(action.kind(), json!({})) else { unreachable!("it is a call") };
            ToolCall { id: CallId::of(item, nth), action: action.clone(), ..call }
        };
        let calls: Vec<ToolCall> = actions.iter().enumerate().map(made).collect();
        let parts = calls.iter().cloned().map(Part::Call).collect();
        self.push(Body::Assistant(Reply::new(origin, parts, Usage::default(), Stop::Done)));
        for call in calls {
            let (outcome, shown) = (Outcome::ok("ok"), vec![Part::Text { text: "ok".to_owned() }]);
            self.push(Body::Result(ToolResult { call: call.id, outcome, shown }));
        }
    }

    pub async fn prompt(&self, harness: &dyn Harness) -> Prompt {
        harness.prompt(&self.view()).await.unwrap()
    }
}

/// What `harness` would have said for these calls of `minimal`; None where it has no words for them. Found by
/// having it speak of a session that was held under `minimal`.
pub async fn in_words_of(harness: &dyn Harness, parts: Vec<Part>, model: &Model) -> Option<Vec<Part>> {
    let mut session = Session { model: model.clone(), ..Session::new() };
    session.user("go");
    session.reply(&*self::harness("minimal"), parts).await;
    last_said(session.prompt(harness).await)
}

/// What `harness` would have said for these actions, none of which were asked for in its words.
pub async fn in_words_for(harness: &dyn Harness, actions: &[Action], model: &Model) -> Option<Vec<Part>> {
    let mut session = Session { model: model.clone(), ..Session::new() };
    session.user("go");
    session.did(actions);
    last_said(session.prompt(harness).await)
}

fn last_said(prompt: Prompt) -> Option<Vec<Part>> {
    let said = prompt.messages.into_iter().rev().find(|message| message.role == Role::Assistant)?;
    let part = |piece| match piece {
        Piece::Text(text) => Some(Part::Text { text }),
        Piece::Call { name, args, .. } => Some(call(&name, serde_json::from_str(&args).unwrap())),
        Piece::Thinking { .. } | Piece::Image { .. } | Piece::Result { .. } => None,
    };
    Some(said.pieces.into_iter().filter_map(part).collect())
}

/// The calls that the harness reads in a reply of these parts, but for those it cannot understand.
pub async fn actions(harness: &dyn Harness, parts: Vec<Part>, model: &Model) -> Vec<Action> {
    let mut session = Session { model: model.clone(), ..Session::new() };
    session.user("go");
    session.reply(harness, parts).await;
    let calls = session.items.iter().filter_map(|item| match &item.body {
        Body::Assistant(reply) => Some(reply.calls().map(|call| call.action.clone()).collect::<Vec<_>>()),
        _ => None,
    });
    calls.flatten().filter(|action| !matches!(action, Action::Unknown { .. })).collect()
}

/// These parts as the model would send them, as the so-manieth reply to a request of so many tokens.
pub fn sent(nth: usize, parts: &[Part], tokens: u64) -> server::Reply {
    let mut frames = Vec::new();
    let mut calls = 0;
    for part in parts {
        match part {
            Part::Text { text } => frames.push(server::txt(text)),
            Part::Call(said) => {
                frames.push(server::call(calls, &format!("c{nth}x{calls}"), &said.name, &said.args));
                calls += 1;
            }
            Part::Thinking { .. } | Part::Image(_) => {}
        }
    }
    let why = if calls > 0 { "tool_calls" } else { "stop" };
    server::sse(frames.into_iter().chain([server::end(why), server::usage(tokens, 5), server::done()]))
}

/// The same small task in each harness's own words.
pub async fn played(id: &str) -> Session {
    played_by(id, sample_model()).await
}

/// The same by a model, with reasoning as its wire brings it.
pub async fn played_by(id: &str, model: Model) -> Session {
    let harness = harness(id);
    let wire = model.wire;
    let mut session = Session { model, ..Session::new() };
    session.user("Make the greeting polite.");
    for mut parts in script(id) {
        for part in &mut parts {
            if let Part::Thinking { field, seal, .. } = part {
                (*field, *seal) = sealed(wire);
            }
        }
        session.notes(&*harness).await;
        session.reply(&*harness, parts).await;
    }
    session
}

/// Where reasoning arrives and what seals it.
fn sealed(wire: WireKind) -> (Option<String>, Option<Value>) {
    match wire {
        WireKind::Chat => (Some("reasoning_content".to_owned()), None),
        WireKind::Responses => (None, Some(json!({"summary": [], "encrypted_content": "sealed"}))),
        WireKind::Messages => (None, Some(json!({"signature": "signed"}))),
    }
}

fn script(id: &str) -> Vec<Vec<Part>> {
    let file = "/home/me/project/src/greet.py";
    match id {
        "minimal" => vec![
            vec![
                thinking("Look first."),
                text("I look around."),
                call("bash", json!({"command": "ls"})),
                call("read", json!({"path": "src/greet.py"})),
            ],
            vec![call("edit", json!({"path": "src/greet.py", "oldText": "'hi'", "newText": "'Good day'"}))],
            vec![text("The greeting is polite now.")],
        ],
        "local" => vec![
            vec![thinking("Look first."), call("read", json!({"path": "src/greet.py"}))],
            vec![call(
                "edit",
                json!({"path": "src/greet.py", "old_string": "'hi'", "new_string": "'Good day'"}),
            )],
            vec![call("finish", json!({"answer": "The greeting is polite now."}))],
        ],
        "pi" => vec![
            vec![
                thinking("Look first."),
                call("bash", json!({"command": "ls"})),
                call("read", json!({"path": "src/greet.py"})),
            ],
            vec![call(
                "edit",
                json!({"path": "src/greet.py", "edits": [{"oldText": "'hi'", "newText": "'Good day'"}, {"oldText": "hi()", "newText": "greet()"}]}),
            )],
            vec![text("The greeting is polite now.")],
        ],
        "qwen-code" => vec![
            vec![call(
                "todo_write",
                json!({"todos": [{"content": "Change the text", "status": "in_progress", "id": "1"}]}),
            )],
            vec![text(
                "```json\n{\"name\": \"run_shell_command\", \"arguments\": {\"command\": \"ls\"}}\n```",
            )],
            vec![
                thinking("Now read."),
                call("read_file", json!({"file_path": file})),
                call("grep_search", json!({"pattern": "hi"})),
            ],
            vec![call("edit", json!({"file_path": file, "old_string": "'hi'", "new_string": "'Good day'"}))],
            vec![text("The greeting is polite now.")],
        ],
        "native" => vec![
            vec![
                thinking("Look first."),
                text("I look around."),
                call(
                    "exec_command",
                    json!({"cmd": "ls", "workdir": "/home/me/project", "yield_time_ms": 1000}),
                ),
                call("update_plan", json!({"plan": [{"step": "Change the text", "status": "in_progress"}]})),
            ],
            vec![call("exec_command", json!({"cmd": "make watch"}))],
            vec![call("write_stdin", json!({"session_id": 1, "chars": "\u{3}"}))],
            vec![call("apply_patch", json!({"input": PATCH}))],
            vec![call("exec_command", json!({"cmd": format!("apply_patch <<'EOF'\n{PATCH}\nEOF")}))],
            vec![call("view_image", json!({"path": "shot.png"}))],
            vec![text("The greeting is polite now.")],
        ],
        "mini-swe-agent" => vec![
            vec![text("I look around."), call("bash", json!({"command": "ls"}))],
            vec![text("I think I am done.")],
            vec![call("bash", json!({"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}))],
        ],
        "swe-agent" => vec![
            vec![text("DISCUSSION\nI look around.\n\n```\nls\n```")],
            vec![text("I forgot the block.")],
            vec![text(&format!(
                "DISCUSSION\nI read it.\n\n```\nstr_replace_editor view {file} --view_range 1 2\n```"
            ))],
            vec![text(&format!(
                "DISCUSSION\nI change it.\n\n```\nstr_replace_editor str_replace {file} --old_str \"'hi'\" --new_str \"'Good day'\"\n```"
            ))],
            vec![text("DISCUSSION\nDone.\n\n```\nsubmit\n```")],
            vec![text("DISCUSSION\nIt is polite now.\n\n```\nsubmit\n```")],
        ],
        "terminus-2" => {
            let object = |analysis: &str, keys: &[&str], done: bool| {
                let commands: Vec<Value> =
                    keys.iter().map(|keys| json!({"keystrokes": keys, "duration": 0.5})).collect();
                json!({"analysis": analysis, "plan": "", "commands": commands, "task_complete": done})
                    .to_string()
            };
            vec![
                vec![text(&object("I look around.", &["ls\n"], false))],
                vec![text("I forgot the JSON.")],
                vec![text(&format!(
                    "Two at once:\n```json\n{}\n```",
                    object("I read.", &["cat a\n", "C-c"], false)
                ))],
                vec![text(&object("All is done.", &[], true))],
                vec![text(&object("It is polite now.", &[], true))],
            ]
        }
        other => panic!("no script for {other}"),
    }
}

const PATCH: &str = "*** Begin Patch\n*** Update File: src/greet.py\n@@ def greet():\n-    return 'hi'\n+    return 'Good day'\n*** End Patch";

fn text(text: &str) -> Part {
    Part::Text { text: text.to_owned() }
}

fn thinking(text: &str) -> Part {
    Part::Thinking { text: text.to_owned(), field: None, seal: None }
}

#[allow(clippy::needless_pass_by_value)] // so that a script can write json! where it calls
pub fn call(name: &str, args: Value) -> Part {
    let unread = Action::Unknown { name: name.to_owned(), why: String::new() };
    let (id, name, args) = (CallId(String::new()), name.to_owned(), args.to_string());
    Part::Call(ToolCall { id, given: None, name, args, action: unread, span: None, recovered: false })
}

/// What the tools would say.
pub fn outcome(action: &Action) -> Outcome {
    let with =
        |text: &str, data: Value| Outcome { text: text.to_owned(), data, took: 12, ..Outcome::default() };
    match action {
        Action::Shell { command, .. } if command == "make watch" => {
            let data = json!({"job": "job1", "background": true, "running": true, "output": "watching", "pid": 4243});
            with("job1 runs in the background", data)
        }
        Action::Shell { command, .. } => {
            let text = command.strip_prefix("echo ").unwrap_or("AGENTS.md\nMakefile\nsrc");
            let data =
                json!({"command": command, "cwd": "/home/me/project", "pid": 4242, "background": false});
            Outcome { exit: Some(0), ..with(text, data) }
        }
        Action::Job { op, .. } => {
            let data = json!({"job": "job1", "background": true, "running": *op == JobOp::Stop, "output": "", "pid": 4243});
            with("job1 (ended by a stop)", data)
        }
        Action::Patch { .. } => {
            let files = json!([{"path": "src/greet.py", "kind": "update"}]);
            with("updated src/greet.py", json!({"files": files, "added": 1, "removed": 1}))
        }
        Action::Read(Read { path, image: true, .. }) => {
            let image = Image { mime: "image/png".to_owned(), blob: BlobId("shot".to_owned()) };
            let data = json!({"path": path, "kind": "image"});
            Outcome { images: vec![image], ..with("shot.png is an image (image/png, 68 bytes)", data) }
        }
        Action::Read(Read { path, .. }) => {
            let data = json!({"path": path, "from": 1, "to": 2, "total": 9, "more": true, "next": 3, "kind": "text"});
            with("def greet():\n    return 'hi'", data)
        }
        Action::Edit { path, edits, .. } => {
            let data =
                json!({"path": path, "count": edits.len(), "from": 2, "snippet": "    return 'Good day'"});
            with("1 place was changed", data)
        }
        Action::Grep(Grep { .. }) => {
            let matches =
                json!([{"path": "/home/me/project/src/greet.py", "line": 2, "text": "    return 'hi'"}]);
            with(
                "src/greet.py:2:    return 'hi'",
                json!({"count": 1, "files": 1, "more": false, "matches": matches}),
            )
        }
        Action::Submit { .. } => with("", json!({"diff": "-    return 'hi'\n+    return 'Good day'"})),
        Action::Unknown { .. } => Outcome::failed(""),
        other => with(&format!("{} is done", other.kind()), Value::Null),
    }
}

/// A prompt for reading: no wire's JSON, but everything that decides it.
pub fn shown(prompt: &Prompt) -> String {
    let mut out = String::new();
    let style = prompt.style;
    let _ = writeln!(out, "stream {}, body {}", prompt.stream, Value::Object(prompt.body.clone()));
    let _ = writeln!(
        out,
        "content: user {}, result {}, empty {}, empty with thinking {}",
        word(style.user),
        word(style.result),
        word(style.empty),
        word(style.empty_with_thinking)
    );
    for tool in &prompt.tools {
        let strict = tool.strict.map(|s| format!(" (strict {s})")).unwrap_or_default();
        let _ = writeln!(out, "tool {}{strict}: {}\n  {}", tool.name, tool.about, tool.schema);
        if let Some(free) = &tool.free {
            let grammar = free.grammar.as_ref().map(|g| format!(", {}:\n{}", g.syntax, g.definition));
            let _ = writeln!(out, "  free form in {}{}", free.field, grammar.unwrap_or_default());
        }
    }
    for block in &prompt.system {
        let _ = writeln!(out, "--- {}\n{block}", word(style.system_role));
    }
    out + &messages(&prompt.messages)
}

pub fn messages(messages: &[Message]) -> String {
    let mut out = String::new();
    for message in messages {
        let _ = writeln!(out, "--- {}", word(message.role));
        message.pieces.iter().for_each(|piece| write_piece(&mut out, piece));
    }
    out
}

fn write_piece(out: &mut String, piece: &Piece) {
    let _ = match piece {
        Piece::Text(text) => writeln!(out, "{text}"),
        Piece::Image { mime, .. } => writeln!(out, "[image {mime}]"),
        Piece::Thinking { text, field, .. } => {
            writeln!(out, "[{}: {text}]", field.as_deref().unwrap_or("thinking"))
        }
        Piece::Call { id, name, args } => writeln!(out, "[{id}: {name} {args}]"),
        Piece::Result { id, name, pieces, failed } => {
            let _ = writeln!(out, "[answer to {id}, {name}{}]", if *failed { ", failed" } else { "" });
            pieces.iter().for_each(|piece| write_piece(out, piece));
            Ok(())
        }
    };
}

fn word(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}
