//! What a model says or a tool prints, however odd, is passed on, cut or refused, and breaks
//! nothing; and files of any name are found, read and changed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::kit::{Ran, Tack, on_every_wire};
use crate::server::*;

on_every_wire! {
    whatever_a_command_prints_is_passed_on_harmlessly,
    whatever_a_model_says_is_shown_harmlessly,
    whatever_a_model_calls_is_answered,
    files_of_any_name_are_listed_read_and_changed,
    listings_and_searches_name_odd_files_and_stay_lines,
    notes_of_a_project_may_hold_anything,
}

fn shell(id: &str, command: &str) -> Reply {
    calls(id, "bash", &json!({ "command": command }))
}

/// No byte that could steer a terminal.
fn plain(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control())
}

/// The results in the last request, in order.
fn results(server: &Server) -> Vec<String> {
    let last = server.requests().pop().unwrap();
    valid_history(&last.chat()).unwrap();
    let messages = last.chat()["messages"].as_array().unwrap().clone();
    let tools = messages.iter().filter(|message| message["role"] == "tool");
    tools.map(|message| text_of(&message["content"])).collect()
}

/// The text of a content, which some harnesses send in parts.
fn text_of(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    content.as_str().map_or_else(|| parts.collect(), str::to_owned)
}

fn both(script: impl Fn() -> Vec<Reply>) -> (Server, Tack, Ran) {
    let server = Server::start(script());
    let tack = Tack::new(&server);
    let ran = tack.run(["exec", "--json", "x"]).code(0);
    ran.events();
    let server = Server::start(script());
    let tack = Tack::new(&server);
    let ran = tack.run(["-p", "x"]).code(0);
    assert!(plain(&ran.stderr), "{:?}", ran.stderr);
    (server, tack, ran)
}

fn whatever_a_command_prints_is_passed_on_harmlessly() {
    let table = [
        ("binary", "head -c 300000 /dev/urandom"),
        ("escapes", "printf '\\033[2J\\033]0;title\\007\\033[31mred\\033[0m\\n'"),
        ("a long line", "head -c 1000000 /dev/zero | tr '\\0' x"),
        ("NULs", "head -c 5000 /dev/zero; printf 'after'"),
        ("carriage returns", "for i in 1 2 3 4 5; do printf \"\\r%s%%\" $i; done"),
        ("half a character", "printf 'a\\303'"),
        ("nothing at all", "exit 0"),
        ("a signal", "kill -SEGV $$"),
    ];
    for (what, command) in table {
        let (server, _tack, _) = both(|| vec![shell("a", command), says("ok")]);
        let result = results(&server).remove(0);
        assert!(result.len() < 60_000, "{what}: {} bytes", result.len());
        assert!(!result.contains('\u{1b}') || what == "binary", "{what}: {result:?}");
    }
}

fn whatever_a_model_says_is_shown_harmlessly() {
    let table = [
        ("escapes", "\u{1b}[2Jhello\u{1b}]0;title\u{7}".to_owned()),
        ("a long line", "x".repeat(1 << 20)),
        ("NUL", "a\0b".to_owned()),
        ("right to left", "\u{202e}olleh".to_owned()),
        ("not a character", "\u{ffff}\u{fdd0}".to_owned()),
    ];
    for (what, text) in table {
        // Said before a call it goes to stderr, said last to stdout.
        let (_, tack, ran) = both(|| {
            let both =
                sse([txt(&text), call(0, "a", "bash", "{\"command\":\"true\"}"), end("tool_calls"), done()]);
            vec![both, says(&text)]
        });
        // stdout is a pipe here and gets the words as they are.
        assert_eq!(ran.stdout, format!("{}\n", text.trim()), "{what}");
        let id = tack.session_id();
        assert!(plain(&tack.run(["sessions", "show", &id]).code(0).stdout), "{what}");
        assert!(plain(&tack.run(["sessions", "list"]).code(0).stdout), "{what}");
    }
}

fn whatever_a_model_calls_is_answered() {
    let deep = format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000));
    let deep_list = format!("{{\"command\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    let huge = json!({"command": "true # ".to_owned() + &"y".repeat(3 << 20)}).to_string();
    let endless = json!({"path": "d/".repeat(5_000)}).to_string();
    let table: Vec<(&str, &str, &str, &str)> = vec![
        ("lone surrogate", "a", "bash", r#"{"command":"echo \ud800 x"}"#),
        ("escaped pair", "a", "bash", r#"{"command":"echo \ud83d\ude00"}"#),
        ("deep object", "a", "bash", &deep),
        ("deep list", "a", "bash", &deep_list),
        ("no JSON", "a", "bash", "\u{1b}[2J{"),
        ("a list", "a", "bash", "[1,2]"),
        ("a number", "a", "bash", "7"),
        ("null", "a", "bash", "null"),
        ("no arguments", "a", "bash", ""),
        ("wrong types", "a", "bash", r#"{"command":{"a":1}}"#),
        ("a NUL in the command", "a", "bash", r#"{"command":"echo a\u0000b"}"#),
        ("a NUL in the path", "a", "read", r#"{"path":"a\u0000b"}"#),
        ("a path too long", "a", "read", &endless),
        ("huge arguments", "a", "bash", &huge),
        ("huge numbers", "a", "bash", r#"{"command":"true","timeout":1e400}"#),
        ("negative numbers", "a", "read", r#"{"path":"x","offset":-9223372036854775808,"limit":-1}"#),
        ("control characters in the name", "a", "ba\u{1b}[2Jsh\n", "{}"),
        ("no name", "a", "", "{}"),
        ("an odd id", "call \u{1b}[2J\n\"é", "bash", r#"{"command":"true"}"#),
    ];
    for (what, id, name, args) in table {
        let (server, _, _) = both(|| {
            vec![
                sse([call(0, id, name, args), end("tool_calls"), done()]),
                says("ok"),
                says("ok"),
                says("ok"),
            ]
        });
        assert!(!results(&server).is_empty() || name.is_empty(), "{what}");
    }
    let long = "i".repeat(100_000);
    let (server, _, _) = both(|| vec![calls(&long, "bash", &json!({"command": "true"})), says("ok")]);
    assert_eq!(results(&server).len(), 1);
}

fn files_of_any_name_are_listed_read_and_changed() {
    let names = [
        "src/[id]/(auth)/a b.ts",
        "it's \"q\".md",
        "-rf",
        "näme",
        "new\nline",
        "esc\u{1b}[31mape",
        "*",
        "{a,b}",
        "$HOME",
        "~",
        " ",
        "a\\b",
        "#x",
        "!x",
    ];
    for (harness, read, path, edit, old, new) in [
        ("minimal", "read", "path", "edit", "oldText", "newText"),
        ("qwen-code", "read_file", "file_path", "edit", "old_string", "new_string"),
    ] {
        let server = Server::with(vec![], move |request| {
            // Two calls for each file, one after the other.
            let messages = request.chat()["messages"].as_array()?.clone();
            let made = messages.iter().filter(|message| message["role"] == "tool").count();
            let name = names.get(made / 2)?;
            let id = format!("c{made}");
            Some(match made % 2 {
                0 => calls(&id, read, &json!({ path: name })),
                _ => calls(&id, edit, &json!({ path: name, old: "before", new: "after" })),
            })
        });
        let tack = Tack::new(&server);
        for name in names {
            tack.file(name, format!("before {name}\n"));
        }
        // One that no JSON can name.
        std::fs::write(tack.work().join(OsStr::from_bytes(b"b\xffd")), "before\n").unwrap();
        let ran = tack.run(["exec", "--json", "x", "--harness", harness]).code(0);
        assert!(!ran.stdout.contains('\u{1b}'));
        for name in names {
            assert_eq!(tack.read(name), format!("after {name}\n"), "{harness} {name:?}");
        }
        let results = results(&server);
        for (name, pair) in names.iter().zip(results.chunks(2)) {
            assert!(pair[0].contains("before"), "{harness} {name:?}: {}", pair[0]);
        }
    }
}

fn listings_and_searches_name_odd_files_and_stay_lines() {
    let server = Server::start(vec![
        calls("a", "list_directory", &json!({"path": "."})),
        calls("b", "glob", &json!({"pattern": "**/*"})),
        calls("c", "glob", &json!({"pattern": "src/[id]/(auth)/*.ts"})),
        calls("d", "grep_search", &json!({"pattern": "needle"})),
        shell_named("e", "ls -- *"),
        says("ok"),
    ]);
    let tack = Tack::new(&server);
    for name in ["src/[id]/(auth)/a b.ts", "it's \"q\".md", "-rf", "näme", "new\nline", "esc\u{1b}[31mape"] {
        tack.file(name, "needle\n");
    }
    std::fs::write(tack.work().join(OsStr::from_bytes(b"b\xffd")), "needle\n").unwrap();
    tack.run(["-p", "x", "--harness", "qwen-code"]).code(0);
    let results = results(&server);
    for (result, wanted) in results.iter().zip([
        &["[id]", "it's \"q\".md", "-rf", "näme"][..],
        &["a b.ts", "it's \"q\".md", "-rf", "näme"],
        &["a b.ts"],
        &["a b.ts", "it's \"q\".md", "-rf", "näme"],
    ]) {
        // src is a folder in the first one.
        for name in wanted.iter().filter(|name| **name != "[id]") {
            assert!(result.contains(name), "{name} is not in {result}");
        }
        assert!(!result.contains('\u{1b}'), "{result:?}");
    }
}

fn shell_named(id: &str, command: &str) -> Reply {
    calls(id, "run_shell_command", &json!({"command": command, "is_background": false}))
}

fn notes_of_a_project_may_hold_anything() {
    let server = Server::start(vec![says("ok")]);
    let tack = Tack::new(&server);
    let mut bytes = b"\xef\xbb\xbfrule one\r\n\x1b[2J\0\xff".to_vec();
    bytes.extend(vec![b'x'; 200_000]);
    tack.file("AGENTS.md", bytes);
    tack.run(["-p", "x"]).code(0);
    let body: Value = server.requests()[0].body.clone();
    assert!(body.to_string().contains("rule one"));
    assert!(body.to_string().len() < 100_000);
}
