//! Tests of the dialects and of salvage, by tables.

use serde_json::{Value, json};

use super::*;
use crate::harness::manifest::Dialect;
use crate::harness::testing::{Bench, call, calls, item, loaded, model, reply, result, text, user};
use crate::model::{Body, Class, Stop};

struct Read {
    verdict: Verdict,
    reply: Reply,
}

fn read_as(harness: &str, class: Class, parts: Vec<Part>, stop: Stop) -> Read {
    let loaded = loaded(harness);
    let kit = loaded.kit(&model(class));
    let mut reply = reply(kit, parts, stop);
    let verdict = interpret(kit, &mut reply, &Bench::new().view(&[])).unwrap();
    Read { verdict, reply }
}

fn read(harness: &str, said: &str) -> Read {
    read_as(harness, Class::F, vec![text(said)], Stop::Done)
}

fn actions(read: &Read) -> Value {
    calls(&read.reply).iter().map(|call| serde_json::to_value(&call.action).unwrap()).collect()
}

fn retried(read: &Read) -> String {
    assert!(calls(&read.reply).is_empty());
    match &read.verdict {
        Verdict::Retry(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_reply_that_is_a_call_is_run_as_one() {
    let write = json!([{"do": "write", "path": "t.sh", "text": "ls -lah\n", "mode": "replace"}]);
    let shell = json!([{"do": "shell", "command": "ls", "background": false}]);
    let two = json!([{"do": "shell", "command": "ls", "background": false}, {"do": "read", "path": "a"}]);
    let args = r#"{"path": "t.sh", "content": "ls -lah\n"}"#;
    let table = [
        (format!("```json\n{{\"name\": \"write\", \"arguments\": {args}}}\n```"), &write),
        (format!("```\n{{\"name\": \"write\", \"arguments\": {args}}}\n```\n"), &write),
        (format!("I will write the file.\n\n```json\n{{\"name\": \"write\", \"arguments\": {args}}}\n```"), &write),
        (format!("```json\n{{\"name\": \"write\", \"arguments\": {args}}}\n```\nThis makes the file."), &write),
        (format!("{{\"name\": \"write\", \"parameters\": {args}}}"), &write),
        ("{\"name\": \"write\", \"arguments\": \"{\\\"path\\\": \\\"t.sh\\\", \\\"content\\\": \\\"ls -lah\\\\n\\\"}\"}".to_owned(), &write),
        ("{\"name\": \"write\", \"arguments\": {\"path\": \"t.sh\", \"content\": \"ls -lah\n\",}}".to_owned(), &write),
        // As the template inside Qwen2.5's model files shows it.
        ("{{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}}".to_owned(), &shell),
        ("```json\n{{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}}\n```".to_owned(), &shell),
        ("<tool_call>\n{{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>".to_owned(), &shell),
        (format!("{{\"type\": \"function\", \"function\": {{\"name\": \"write\", \"arguments\": {args}}}}}"), &write),
        (format!("<tool_call>\n{{\"name\": \"write\", \"arguments\": {args}}}\n</tool_call>"), &write),
        (format!("<think>a plan</think>\nNow.\n<tool_call>{{\"name\": \"write\", \"arguments\": {args}}}</tool_call>"), &write),
        (format!("<tool_call>{{\"name\": \"write\", \"arguments\": {args}}}"), &write),
        ("<function=write>\n<parameter=path>\nt.sh\n</parameter>\n<parameter=content>\nls -lah\n\n</parameter>\n</function>".to_owned(), &write),
        ("<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>".to_owned(), &shell),
        ("<function=bash>{\"command\": \"ls\"}</function>".to_owned(), &shell),
        ("[TOOL_CALLS][{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}]".to_owned(), &shell),
        ("[TOOL_CALLS]bash[ARGS]{\"command\": \"ls\"}".to_owned(), &shell),
        ("<|python_tag|>{\"name\": \"bash\", \"parameters\": {\"command\": \"ls\"}}".to_owned(), &shell),
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n```json\n{\"command\": \"ls\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>".to_owned(), &shell),
        ("<｜tool▁call▁begin｜>bash<｜tool▁sep｜>{\"command\": \"ls\"}<｜tool▁call▁end｜>".to_owned(), &shell),
        ("<tool_call>{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}</tool_call>\n<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</tool_call>".to_owned(), &two),
        ("{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}".to_owned(), &two),
    ];
    for (said, want) in table {
        let read = read("minimal", &said);
        assert_eq!(actions(&read), *want, "{said}");
        assert_eq!(read.verdict, Verdict::Calls, "{said}");
        assert!(calls(&read.reply).iter().all(|call| call.recovered && call.span.is_some()), "{said}");
    }
}

#[test]
fn text_that_only_holds_json_is_text() {
    let long = "Some words on what was done here. ".repeat(12);
    let table = [
        "Done: the file is written.".to_owned(),
        "```json\n{\"name\": \"my-package\", \"version\": \"1.0.0\"}\n```".to_owned(),
        "{\"name\": \"my-package\", \"version\": \"1.0.0\"}".to_owned(),
        format!("{long}\n```json\n{{\"name\": \"bash\", \"arguments\": {{\"command\": \"ls\"}}}}\n```"),
        format!("```json\n{{\"name\": \"bash\", \"arguments\": {{\"command\": \"ls\"}}}}\n```\n{long}"),
        "For example:\n```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n```".to_owned(),
        "The call was {\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}} in the log.".to_owned(),
        "```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"a\"}}\n```\nor\n```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"b\"}}\n```".to_owned(),
        "```bash\ncargo run\n```".to_owned(),
        "```json\n[1, 2]\n```".to_owned(),
        "{\"name\": \"bash\", \"parameters\": {\"type\": \"object\", \"properties\": {}}}".to_owned(),
        "{".to_owned(),
    ];
    for said in table {
        let read = read("minimal", &said);
        assert_eq!(read.verdict, Verdict::Done, "{said}");
        assert!(calls(&read.reply).is_empty(), "{said}");
    }
}

#[test]
fn a_call_in_text_that_cannot_be_run_is_corrected() {
    let table = [
        ("{\"name\": \"create_file\", \"arguments\": {\"path\": \"a\"}}", "create_file"),
        ("```json\n{\"name\": \"write\", \"arguments\": {\"path\": \"a\"}}\n```", "content"),
        ("<tool_call>{\"name\": \"write\", \"arguments\": {\"content\": \"a\"}}</tool_call>", "path"),
        ("<function=nope>\n<parameter=a>\nb\n</parameter>\n</function>", "nope"),
        ("{\"name\": \"bash\", \"arguments\": {\"command\": \"rm -rf x", "cut off"),
        ("```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"rm", "cut off"),
        ("<tool_call>{\"name\": \"bash\", \"arg", "cut off"),
        ("<function=bash>\n<parameter=command>\nrm -rf", "cut off"),
    ];
    for (said, word) in table {
        let told = retried(&read("minimal", said));
        assert!(told.contains(word), "{said}\n{told}");
    }
}

#[test]
fn a_lone_shell_block_counts_for_small_models_only() {
    let said = || vec![text("```bash\nls\n```")];
    let small = read_as("minimal", Class::S, said(), Stop::Done);
    assert_eq!(actions(&small), json!([{"do": "shell", "command": "ls", "background": false}]));
    assert_eq!(read_as("minimal", Class::M, said(), Stop::Done).verdict, Verdict::Done);
    let talk = vec![text("Run this:\n```bash\nls\n```")];
    assert_eq!(read_as("minimal", Class::S, talk, Stop::Done).verdict, Verdict::Done);
}

#[test]
fn a_small_model_talks_around_its_call() {
    let call = r#"{"name": "bash", "arguments": {"command": "ls"}}"#;
    let long = "Some words on what will be done here. ".repeat(12);
    let table = [
        (format!("{long}\n```json\n{call}\n```\nIt prints:\n```\na.txt\n```"), long.trim().to_owned()),
        (format!("<tools>\n    {call}\n</tools>"), String::new()),
        (format!("Now.\n```json\n{{{call}}}\n```"), "Now.".to_owned()),
        (
            format!(
                "{call}\nResult: a.txt\nYou: {{\"name\": \"finish\", \"arguments\": {{\"answer\": \"a\"}}}}"
            ),
            String::new(),
        ),
        (call.replace("name", "type"), String::new()),
    ];
    for (said, before) in table {
        let read = read_as("minimal", Class::S, vec![text(&said)], Stop::Done);
        assert_eq!(actions(&read), json!([{"do": "shell", "command": "ls", "background": false}]), "{said}");
        let (from, _) = calls(&read.reply)[0].span.unwrap();
        assert_eq!(said[..from].trim(), before, "what was made up after the call is cut away");
    }
    let shown = format!("{long} For example: {call}");
    assert_eq!(read_as("minimal", Class::S, vec![text(&shown)], Stop::Done).verdict, Verdict::Done);
}

#[test]
fn a_small_model_is_shown_the_form_of_a_call() {
    for said in [
        "<tools>\n<function name=\"bash\" parameters=\"ls\"></function>\n</tools>",
        "<tools><function><name>bash</name></function></tools>",
        "{\"name\": \"bash\", \"arguments\": {\"command\": \"...\"}}",
        "```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"echo 'it\\'s'\"}}\n```",
    ] {
        let told = retried(&read_as("minimal", Class::S, vec![text(said)], Stop::Done));
        assert!(told.contains(r#"{"name":"bash","arguments":{"command":"..."}}"#), "{said}\n{told}");
    }
    let other = "{\"name\": \"my-package\", \"version\": \"1.0.0\"}";
    assert_eq!(read_as("minimal", Class::S, vec![text(other)], Stop::Done).verdict, Verdict::Done);
}

#[test]
fn work_is_not_handed_in_before_its_results_were_seen() {
    let finish = || call("b", "finish", r#"{"answer": "done"}"#);
    let shell = |command: &str| call("a", "bash", &json!({ "command": command }).to_string());
    let kinds = |reply: &Reply| -> Vec<String> {
        calls(reply).iter().map(|call| call.action.kind().to_owned()).collect()
    };
    let read = read_as("minimal", Class::S, vec![shell("ls"), finish()], Stop::Calls);
    assert_eq!(kinds(&read.reply), ["shell"], "a small model's guess at the end is cut away");
    let read = read_as("minimal", Class::S, vec![finish()], Stop::Calls);
    assert_eq!(actions(&read), json!([{"do": "submit", "text": "done"}]));

    // The same again, once the result is there: nothing is left to be seen.
    let loaded = loaded("minimal");
    let kit = loaded.kit(&model(Class::S));
    let bench = Bench::new();
    let items = [
        user(1, "count"),
        item(2, Body::Assistant(reply(kit, vec![shell("ls")], Stop::Calls))),
        result(3, "a", "x"),
    ];
    for (command, want) in [("ls", vec!["shell", "submit"]), ("pwd", vec!["shell"])] {
        let mut reply = reply(kit, vec![shell(command), finish()], Stop::Calls);
        interpret(kit, &mut reply, &bench.view(&items)).unwrap();
        assert_eq!(kinds(&reply), want, "{command}");
    }
}

#[test]
fn a_reply_that_was_cut_off_never_runs_its_last_call() {
    let two = || vec![call("a", "bash", r#"{"command": "ls"}"#), call("b", "bash", r#"{"command": "rm x"}"#)];
    let read = read_as("minimal", Class::F, two(), Stop::Length);
    assert_eq!(read.verdict, Verdict::Calls);
    let kinds: Vec<&str> = calls(&read.reply).iter().map(|call| call.action.kind()).collect();
    assert_eq!(kinds, ["shell", "unknown"]);
    for stop in [Stop::Broken, Stop::Interrupted] {
        let read = read_as("minimal", Class::F, two(), stop);
        assert!(calls(&read.reply).iter().all(|call| call.action.kind() == "unknown"));
        assert_eq!(read.verdict, Verdict::Done);
    }
    let whole = "{\"name\": \"bash\", \"arguments\": {\"command\": \"rm x\"}}";
    retried(&read_as("minimal", Class::F, vec![text(whole)], Stop::Length));
    retried(&read_as("swe-agent", Class::F, vec![text("```\nrm x\n```\nand th")], Stop::Length));
}

#[test]
fn mini_swe_agent_wants_a_call_in_every_reply() {
    assert!(retried(&read("mini-swe-agent", "All done.")).contains("<error>"));
    let long = read_as("mini-swe-agent", Class::F, vec![text("Let me think at length")], Stop::Length);
    assert!(retried(&long).contains("Be shorter"));
    let parts = vec![call("a", "python", "{}"), call("b", "bash", r#"{"command": "ls"}"#)];
    let read = read_as("mini-swe-agent", Class::F, parts, Stop::Calls);
    assert!(retried(&read).contains("python"));
}

#[test]
fn the_last_top_level_block_is_the_command() {
    let dialect = loaded("swe-agent").kit(&model(Class::F)).manifest.dialect.clone();
    let table: [(&str, &[&str]); 12] = [
        ("DISCUSSION\nLook.\n\n```\nls -la\n```", &["ls -la"]),
        ("```bash\na\n```\nthen\n```\nb\n```\n", &["a", "b"]),
        (
            "```sh\ncat > a.md <<'EOF'\n```python\nx = 1\n```\nEOF\n```",
            &["cat > a.md <<'EOF'\n```python\nx = 1\n```\nEOF"],
        ),
        ("````\necho '```'\n```\n````", &["echo '```'\n```"]),
        ("```python\nprint(1)\n```", &[]),
        ("```\nls", &[]),
        ("inline ```ls``` only", &[]),
        ("<execute_bash>\nls\n</execute_bash>", &["ls"]),
        ("```\n<execute_bash>ls</execute_bash>\n```", &["<execute_bash>ls</execute_bash>"]),
        ("<command>pwd</command>", &["pwd"]),
        ("```\n\n```", &[]),
        ("äöü\n```\n\n  indented\n```", &["  indented"]),
    ];
    for (said, want) in table {
        let found = fenced::blocks(said, &dialect);
        let texts: Vec<&str> = found.iter().map(|block| block.text.as_str()).collect();
        assert_eq!(texts, want, "{said}");
        assert!(found.iter().all(|block| said.get(block.span.0..block.span.1).is_some()));
    }
    let any = fenced::blocks("```python\nprint(1)\n```", &Dialect::default());
    assert_eq!(any.len(), 1);
}

#[test]
fn commands_made_of_words_are_read() {
    let edit = |old: &str, new: &str| json!([{"do": "edit", "path": "/p/a.py", "edits": [{"old": old, "new": new, "all": false}]}]);
    let table = [
        ("ls | head", json!([{"do": "shell", "command": "ls | head", "background": false}])),
        (
            "str_replace_editor view /p --view_range 1 5",
            json!([{"do": "read", "path": "/p", "line": 1, "count": 5}]),
        ),
        (
            "str_replace_editor view /p --view_range [1, 5]",
            json!([{"do": "read", "path": "/p", "line": 1, "count": 5}]),
        ),
        ("str_replace_editor view '/p/a b.py'", json!([{"do": "read", "path": "/p/a b.py"}])),
        (
            "str_replace_editor str_replace /p/a.py --old_str 'if x:\n    y' --new_str \"if \\\"z\\\":\n    y\"",
            edit("if x:\n    y", "if \"z\":\n    y"),
        ),
        (
            "str_replace_editor create /p/n.py --file_text '# a\nprint(1)\n'",
            json!([{"do": "write", "path": "/p/n.py", "text": "# a\nprint(1)\n", "mode": "create"}]),
        ),
        ("submit", json!([{"do": "submit", "text": ""}])),
    ];
    for (command, want) in table {
        assert_eq!(
            actions(&read("swe-agent", &format!("DISCUSSION\nx\n\n```\n{command}\n```"))),
            want,
            "{command}"
        );
    }
    let table = [
        ("str_replace_editor view /p 5", "`5` is one word too many"),
        ("str_replace_editor view /p --lines 5", "no `--lines`"),
        ("str_replace_editor create /p --file_text 'open", "a quote is not closed"),
        ("str_replace_editor create /p --file_text", "has no value"),
        ("str_replace_editor", "command"),
    ];
    for (command, word) in table {
        let read = read("swe-agent", &format!("```\n{command}\n```"));
        let [call] = calls(&read.reply)[..] else { panic!("{command}") };
        assert!(
            matches!(&call.action, Action::Unknown { why, .. } if why.contains(word)),
            "{command}: {:?}",
            call.action
        );
    }
}

#[test]
fn a_fenced_harness_corrects_a_reply_without_a_command() {
    retried(&read("swe-agent", "<think>\n```\nrm x\n```\n</think>\nDone."));
    let told = retried(&read("swe-agent", "I think it is done."));
    assert!(told.contains("no command"), "{told}");
    let parts = vec![text("Look.\n"), call("a", "bash", r#"{"command": "ls"}"#)];
    let read = read_as("swe-agent", Class::F, parts, Stop::Calls);
    assert_eq!(actions(&read), json!([{"do": "shell", "command": "ls", "background": false}]));
}

proptest::proptest! {
    #[test]
    fn any_text_can_be_read(said in "([`\n<>{}\"a-z=\\[\\]]|```|<tool_call>|\\{\"name\": |<function=|\\PC){0,60}") {
        for harness in ["minimal", "swe-agent"] {
            let read = read(harness, &said);
            let all = text_of(&read.reply);
            for call in calls(&read.reply) {
                let (from, to) = call.span.unwrap();
                proptest::prop_assert!(all.get(from..to).is_some());
            }
        }
    }

    #[test]
    fn words_are_read_as_they_were_written(path in "[a-z /'\"$]{1,12}", text in "[a-z\n'\"`$# -]{0,40}") {
        let loaded = loaded("swe-agent");
        let (name, tool) = loaded.kit(&model(Class::F)).tool("str_replace_editor").unwrap();
        let args = json!({"command": "create", "path": path, "file_text": text});
        let args = args.as_object().unwrap();
        let command = words::write(name, tool, args).unwrap();
        proptest::prop_assert_eq!(&words::read(tool, &command).unwrap(), args);
    }
}
