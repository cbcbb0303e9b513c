//! Tests of reading calls and saying actions, by tables.

mod surface;

use serde_json::{Value, json};

use super::*;
use crate::harness::testing::{loaded, model};
use crate::model::{Class, Edit, JobOp, Read, TodoItem, TodoStatus, Within, WriteMode};

fn action(value: Value) -> Action {
    serde_json::from_value(value).unwrap()
}

fn why(harness: &str, name: &str, args: &str) -> String {
    match bind(loaded(harness).kit(&model(Class::F)), name, args) {
        Action::Unknown { why, .. } => why,
        known => panic!("{known:?}"),
    }
}

#[test]
fn surfaces_mean_actions() {
    let table = [
        ("minimal", "bash", json!({"command": "ls"}), json!({"do": "shell", "command": "ls"})),
        (
            "minimal",
            "bash",
            json!({"command": "ls", "timeout": 5}),
            json!({"do": "shell", "command": "ls", "timeout": 5000}),
        ),
        (
            "minimal",
            "job",
            json!({"id": "j1", "action": "stop"}),
            json!({"do": "job", "op": "stop", "id": "j1"}),
        ),
        (
            "minimal",
            "edit",
            json!({"path": "a", "oldText": "x", "newText": ""}),
            json!({"do": "edit", "path": "a", "edits": [{"old": "x", "new": ""}]}),
        ),
        (
            "pi",
            "edit",
            json!({"path": "a", "edits": [{"oldText": "x", "newText": "y"}, {"oldText": "p", "newText": "q"}]}),
            json!({"do": "edit", "path": "a", "edits": [{"old": "x", "new": "y"}, {"old": "p", "new": "q"}]}),
        ),
        (
            "pi",
            "bash",
            json!({"command": "ls", "timeout": 0.5}),
            json!({"do": "shell", "command": "ls", "timeout": 500}),
        ),
        (
            "qwen-code",
            "read_file",
            json!({"file_path": "/a", "offset": 10, "limit": 5}),
            json!({"do": "read", "path": "/a", "line": 11, "count": 5}),
        ),
        (
            "qwen-code",
            "run_shell_command",
            json!({"command": "x", "timeout": 900, "directory": "/d", "description": "why", "is_background": true}),
            json!({"do": "shell", "command": "x", "timeout": 900, "cwd": "/d", "about": "why", "background": true}),
        ),
        (
            "qwen-code",
            "todo_write",
            json!({"todos": [{"id": "1", "content": "a", "status": "in_progress"}]}),
            json!({"do": "todo", "items": [{"id": "1", "text": "a", "status": "in_progress"}]}),
        ),
        ("qwen-code", "task_stop", json!({"task_id": "j2"}), json!({"do": "job", "op": "stop", "id": "j2"})),
        (
            "swe-agent",
            "str_replace_editor",
            json!({"command": "view", "path": "/a", "view_range": [3, 9]}),
            json!({"do": "read", "path": "/a", "line": 3, "count": 7}),
        ),
        (
            "swe-agent",
            "str_replace_editor",
            json!({"command": "view", "path": "/a", "view_range": [3, -1]}),
            json!({"do": "read", "path": "/a", "line": 3}),
        ),
        (
            "swe-agent",
            "str_replace_editor",
            json!({"command": "create", "path": "/a", "file_text": "t"}),
            json!({"do": "write", "path": "/a", "text": "t", "mode": "create"}),
        ),
        (
            "swe-agent",
            "str_replace_editor",
            json!({"command": "insert", "path": "/a", "insert_line": 0, "new_str": "t"}),
            json!({"do": "insert", "path": "/a", "line": 0, "text": "t"}),
        ),
        (
            "swe-agent",
            "str_replace_editor",
            json!({"command": "str_replace", "path": "/a", "old_str": "t"}),
            json!({"do": "edit", "path": "/a", "edits": [{"old": "t", "new": ""}]}),
        ),
        ("swe-agent", "submit", json!({}), json!({"do": "submit"})),
    ];
    for (harness, name, args, want) in table {
        let loaded = loaded(harness);
        let got = bind(loaded.kit(&model(Class::F)), name, &args.to_string());
        assert_eq!(got, action(want), "{harness} {name} {args}");
    }
}

#[test]
fn what_can_be_read_in_one_way_is_read() {
    let table = [
        // Another family's names for parameters, another spelling of the tool.
        ("minimal", "Bash", r#"{"cmd": "ls"}"#, json!({"do": "shell", "command": "ls"})),
        ("minimal", "functions.read", r#"{"file_path": "a"}"#, json!({"do": "read", "path": "a"})),
        (
            "minimal",
            "edit",
            r#"{"filename": "a", "old_string": "x", "new_string": "y"}"#,
            json!({"do": "edit", "path": "a", "edits": [{"old": "x", "new": "y"}]}),
        ),
        (
            "pi",
            "edit",
            r#"{"path": "a", "oldText": "x", "newText": "y"}"#,
            json!({"do": "edit", "path": "a", "edits": [{"old": "x", "new": "y"}]}),
        ),
        (
            "pi",
            "edit",
            r#"{"path": "a", "edits": "[{\"oldText\": \"x\", \"newText\": \"y\"}]"}"#,
            json!({"do": "edit", "path": "a", "edits": [{"old": "x", "new": "y"}]}),
        ),
        // Types that can be said in one way.
        (
            "minimal",
            "read",
            r#"{"path": "a", "offset": "7", "limit": 3.0}"#,
            json!({"do": "read", "path": "a", "line": 7, "count": 3}),
        ),
        (
            "minimal",
            "read",
            r#"{"path": "a", "offset": 0, "limit": null}"#,
            json!({"do": "read", "path": "a", "line": 1}),
        ),
        (
            "minimal",
            "bash",
            r#"{"command": "ls", "background": "True"}"#,
            json!({"do": "shell", "command": "ls", "background": true}),
        ),
        (
            "minimal",
            "write",
            r#"{"path": "a", "content": 5}"#,
            json!({"do": "write", "path": "a", "text": "5"}),
        ),
        ("qwen-code", "glob", r#"{"pattern": "*", "path": ""}"#, json!({"do": "glob", "pattern": "*"})),
        // Damage that cannot change the meaning, and words nobody asked for.
        ("minimal", "bash", "\"{\\\"command\\\": \\\"ls\\\"}\"", json!({"do": "shell", "command": "ls"})),
        ("minimal", "bash", "```json\n{\"command\": \"ls\",}\n```", json!({"do": "shell", "command": "ls"})),
        (
            "minimal",
            "bash",
            r#"{"command": "ls", "reason": "to look"}"#,
            json!({"do": "shell", "command": "ls"}),
        ),
    ];
    for (harness, name, args, want) in table {
        let loaded = loaded(harness);
        assert_eq!(bind(loaded.kit(&model(Class::F)), name, args), action(want), "{harness} {name} {args}");
    }
}

#[test]
fn a_call_that_cannot_be_understood_is_answered_with_what_to_do() {
    let cases = [
        ("minimal", "bahs", r#"{"command": "ls"}"#),
        ("minimal", "write", r#"{"path": "a"}"#),
        ("minimal", "read", r#"{"path": ["a"]}"#),
        ("minimal", "read", r#"{"path": "a", "offset": -3}"#),
        ("minimal", "bash", r#"{"command": "rm -rf /tmp/x"#),
        ("minimal", "bash", "ls -la"),
        ("minimal", "job", r#"{"id": "1", "action": "look"}"#),
        ("pi", "grep", "{}"),
        ("pi", "bash", "{}"),
        ("pi", "edit", r#"{"path": "a", "edits": [{"oldText": "x"}]}"#),
        ("qwen-code", "read", "{}"),
        ("qwen-code", "write_file", "{}"),
        ("qwen-code", "run_shell_command", r#"{"command": "x", "is_background": "perhaps"}"#),
        ("swe-agent", "str_replace_editor", r#"{"command": "open", "path": "/a"}"#),
        ("swe-agent", "str_replace_editor", r#"{"command": "insert", "path": "/a"}"#),
    ];
    let told: Vec<String> = cases
        .iter()
        .map(|(h, n, a)| format!("{h}: {n} {a}\n  {}", why(h, n, a).replace('\n', "\n  ")))
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn an_action_can_be_said_on_another_surface() {
    let shell = |command: &str| Action::Shell {
        command: command.to_owned(),
        timeout: None,
        background: false,
        yield_after: None,
        within: Default::default(),
        cwd: None,
        about: None,
    };
    let edit = |edits: &[(&str, &str, bool)]| Action::Edit {
        path: "a".to_owned(),
        edits: edits
            .iter()
            .map(|(o, n, all)| Edit { old: (*o).to_owned(), new: (*n).to_owned(), all: *all })
            .collect(),
        first: false,
    };
    let read = |line, count| Action::Read(Read { path: "a".to_owned(), line, count, ..Read::default() });
    let table = [
        (shell("ls"), "qwen-code", Some(json!(["run_shell_command", {"command": "ls"}]))),
        (shell("ls"), "mini-swe-agent", Some(json!(["bash", {"command": "ls"}]))),
        (
            Action::Shell {
                command: "x".to_owned(),
                timeout: Some(1500),
                background: false,
                yield_after: None,
                within: Default::default(),
                cwd: None,
                about: None,
            },
            "minimal",
            Some(json!(["bash", {"command": "x", "timeout": 2}])),
        ),
        (
            Action::Shell {
                command: "x".to_owned(),
                timeout: None,
                background: true,
                yield_after: None,
                within: Default::default(),
                cwd: None,
                about: None,
            },
            "pi",
            None,
        ),
        (
            Action::Shell {
                command: "x".to_owned(),
                timeout: None,
                background: false,
                yield_after: None,
                within: Default::default(),
                cwd: Some("/d".to_owned()),
                about: None,
            },
            "minimal",
            None,
        ),
        (
            read(Some(11), Some(5)),
            "qwen-code",
            Some(json!(["read_file", {"file_path": "a", "offset": 10, "limit": 5}])),
        ),
        (
            read(Some(3), Some(7)),
            "swe-agent",
            Some(json!(["str_replace_editor", {"command": "view", "path": "a", "view_range": [3, 9]}])),
        ),
        (
            read(Some(3), None),
            "swe-agent",
            Some(json!(["str_replace_editor", {"command": "view", "path": "a", "view_range": [3, -1]}])),
        ),
        (read(None, None), "mini-swe-agent", None),
        (
            edit(&[("x", "y", false)]),
            "minimal",
            Some(json!(["edit", {"path": "a", "oldText": "x", "newText": "y"}])),
        ),
        (edit(&[("x", "y", false), ("p", "q", false)]), "minimal", None),
        (
            edit(&[("x", "y", false), ("p", "q", false)]),
            "pi",
            Some(
                json!(["edit", {"path": "a", "edits": [{"oldText": "x", "newText": "y"}, {"oldText": "p", "newText": "q"}]}]),
            ),
        ),
        (edit(&[("x", "y", true)]), "pi", None),
        (
            edit(&[("x", "y", true)]),
            "qwen-code",
            Some(
                json!(["edit", {"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true}]),
            ),
        ),
        (
            Action::Write { path: "a".to_owned(), text: "t".to_owned(), mode: WriteMode::Replace },
            "swe-agent",
            Some(json!(["str_replace_editor", {"command": "create", "path": "a", "file_text": "t"}])),
        ),
        (
            Action::Insert { path: "a".to_owned(), line: 4, text: "t".to_owned() },
            "swe-agent",
            Some(
                json!(["str_replace_editor", {"command": "insert", "path": "a", "new_str": "t", "insert_line": 4}]),
            ),
        ),
        (
            Action::Undo { path: "a".to_owned() },
            "swe-agent",
            Some(json!(["str_replace_editor", {"command": "undo_edit", "path": "a"}])),
        ),
        (
            Action::Job { op: JobOp::Stop, id: "j".to_owned(), wait: None, input: None, close_stdin: false },
            "qwen-code",
            Some(json!(["task_stop", {"task_id": "j"}])),
        ),
        (
            Action::Job {
                op: JobOp::Output,
                id: "j".to_owned(),
                wait: None,
                input: None,
                close_stdin: false,
            },
            "qwen-code",
            None,
        ),
        (
            Action::Todo {
                items: Some(vec![TodoItem {
                    id: None,
                    text: "t".to_owned(),
                    status: TodoStatus::Completed,
                    ..TodoItem::default()
                }]),
            },
            "qwen-code",
            Some(json!(["todo_write", {"todos": [{"content": "t", "status": "completed", "id": "1"}]}])),
        ),
        (Action::Unknown { name: "x".to_owned(), why: String::new() }, "minimal", None),
        (shell("ls"), "native", Some(json!(["exec_command", {"cmd": "ls"}]))),
        // Only an image is looked at there.
        (read(None, None), "native", None),
        (
            Action::Read(Read { path: "a".to_owned(), image: true, ..Read::default() }),
            "native",
            Some(json!(["view_image", {"path": "a"}])),
        ),
        (
            Action::Read(Read { path: "a".to_owned(), image: true, ..Read::default() }),
            "pi",
            Some(json!(["read", {"path": "a"}])),
        ),
        (
            Action::Job {
                op: JobOp::Output,
                id: "job12".to_owned(),
                wait: Some(500),
                input: None,
                close_stdin: false,
            },
            "native",
            Some(json!(["write_stdin", {"session_id": 12, "yield_time_ms": 500}])),
        ),
        (
            Action::Job {
                op: JobOp::Stop,
                id: "job12".to_owned(),
                wait: None,
                input: None,
                close_stdin: false,
            },
            "native",
            None,
        ),
        (
            Action::Patch { text: "p".to_owned(), cwd: None },
            "native",
            Some(json!(["apply_patch", {"input": "p"}])),
        ),
        (Action::Patch { text: "p".to_owned(), cwd: Some("/d".to_owned()) }, "native", None),
    ];
    for (action, harness, want) in table {
        let got =
            unbind(loaded(harness).kit(&model(Class::F)), &action).map(|(name, args)| json!([name, args]));
        assert_eq!(got, want, "{harness}: {action:?}");
    }
}

proptest::proptest! {
    /// Said and read again, an action is the same but for what only steers how it runs.
    #[test]
    fn there_and_back(
        text in "\\PC{0,30}",
        path in "[a-z/]{1,12}",
        line in proptest::option::of(1u64..9999),
        count in proptest::option::of(1u64..500),
        which in 0usize..5,
        harness in proptest::sample::select(vec!["minimal", "pi", "qwen-code", "swe-agent", "native"]),
    ) {
        let action = match which {
            0 => Action::Shell { command: text, timeout: None, background: false, yield_after: None, within: Default::default(), cwd: None, about: None },
            1 => Action::Read(Read { path, line, count: line.and(count), ..Read::default() }),
            2 => Action::Write { path, text, mode: WriteMode::Create },
            3 => Action::Edit { path, edits: vec![Edit { old: text.clone(), new: text, all: false }], first: false },
            _ => Action::Insert { path, line: 3, text },
        };
        let loaded = loaded(harness);
        let kit = loaded.kit(&model(Class::F));
        if let Some((name, args)) = unbind(kit, &action) {
            let back = match bind(kit, &name, &Value::Object(args).to_string()) {
                Action::Write { path, text, .. } => Action::Write { path, text, mode: WriteMode::Create },
                Action::Shell { command, timeout, background, cwd, about, .. } => {
                    Action::Shell { command, timeout, background, yield_after: None, within: Default::default(), cwd, about }
                }
                other => other,
            };
            proptest::prop_assert_eq!(back, action);
        }
    }
}

#[test]
fn the_native_tools_are_read() {
    let exec = |cmd: &str, wait: u64| Action::Shell {
        command: cmd.to_owned(),
        timeout: None,
        background: false,
        yield_after: Some(wait),
        cwd: None,
        about: None,
        within: Default::default(),
    };
    let job = |input: Option<&str>, wait| Action::Job {
        op: JobOp::Output,
        id: "job3".to_owned(),
        wait: Some(wait),
        input: input.map(str::to_owned),
        close_stdin: false,
    };
    let table = [
        ("exec_command", r#"{"cmd": "ls"}"#, exec("ls", 10_000)),
        (
            "exec_command",
            r#"{"cmd": "ls", "yield_time_ms": 1, "login": true, "shell": "zsh"}"#,
            exec("ls", 250),
        ),
        (
            "exec_command",
            r#"{"cmd": "ls", "yield_time_ms": 99000, "tty": true, "new": 1}"#,
            Action::Shell {
                command: "ls".to_owned(),
                timeout: None,
                background: false,
                yield_after: Some(30_000),
                cwd: None,
                about: None,
                within: Within { tty: true, ..Within::default() },
            },
        ),
        ("functions.exec_command", r#"{"command": "ls"}"#, exec("ls", 10_000)),
        ("write_stdin", r#"{"session_id": 3}"#, job(None, 10_000)),
        (
            "write_stdin",
            r#"{"session_id": "3", "chars": "\u0003", "yield_time_ms": 500}"#,
            job(Some("\u{3}"), 500),
        ),
        ("apply_patch", r#"{"patch": "p"}"#, Action::Patch { text: "p".to_owned(), cwd: None }),
        (
            "exec_command",
            r#"{"cmd": "apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF", "workdir": "/d"}"#,
            Action::Patch { text: "*** Begin Patch\n*** End Patch".to_owned(), cwd: Some("/d".to_owned()) },
        ),
    ];
    let loaded = loaded("native");
    for (name, args, want) in table {
        assert_eq!(bind(loaded.kit(&model(Class::F)), name, args), want, "{name} {args}");
    }
    let told: Vec<String> = [
        ("read_file", r#"{"path": "a"}"#),
        ("exec_command", r#"{"cmd": 'ls'}"#),
        ("exec_command", r#"{"workdir": "/"}"#),
        ("exec_command", r#"{"cmd": ["ls"]}"#),
        ("write_stdin", r#"{"session_id": "main"}"#),
    ]
    .iter()
    .map(|(name, args)| format!("{name} {args}\n  {}", why("native", name, args)))
    .collect();
    insta::assert_snapshot!(told.join("\n"));
}
