//! External harnesses, as they are shipped and as a user bends them: real programs, real sandbox,
//! scripted model.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::kit::{Tack, on_every_wire};
use crate::server::*;

on_every_wire! {
    the_example_prompts_parses_and_records,
    the_example_bent_from_the_tutorial_asks_for_a_plan_first,
    a_program_may_write_the_whole_request_itself,
    results_and_reminders_are_the_programs_where_it_wants_them,
    the_manifest_does_what_the_program_leaves_to_it,
}

/// The example, copied as its manifest says, under this id.
fn example(tack: &Tack, id: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/my-python");
    let folder = tack.home().join("harnesses").join(id);
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["harness.toml", "harness.py"] {
        let text =
            std::fs::read_to_string(from.join(name)).unwrap().replace("\"my-python\"", &format!("{id:?}"));
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder
}

/// A harness whose program answers each of these with a Python expression over `m`, the message.
fn program(tack: &Tack, answers: &[(&str, &str)]) {
    tack.harness("mine", "[dialect]\nkind = \"external\"\ncommand = [\"python3\", \"-u\", \"mine.py\"]\n");
    let cases: String =
        answers.iter().map(|(verb, answer)| format!("    {verb:?}: lambda m: {answer},\n")).collect();
    let text = format!(
        "import json, sys\nANSWERS = {{\n{cases}}}\nfor line in sys.stdin:\n    m = json.loads(line)\n    \
         if m['do'] == 'hello':\n        said = {{'protocol': 1, 'wants': list(ANSWERS)}}\n    \
         else:\n        said = ANSWERS[m['do']](m)\n    if 'id' in m:\n        print(json.dumps({{'id': m['id'], **said}}))\n"
    );
    std::fs::write(tack.home().join("harnesses/mine/mine.py"), text).unwrap();
}

/// What the example's event hook wrote: kinds of items, in order.
fn recorded(tack: &Tack, id: &str) -> Vec<String> {
    let path = tack.home().join("harness").join(id).join("events.db");
    let query = "import sqlite3, sys\nfor row in sqlite3.connect(sys.argv[1]).execute('select kind from items order by id'): print(row[0])";
    let ran = std::process::Command::new("python3").args(["-c", query]).arg(&path).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn the_example_prompts_parses_and_records() {
    let server = Server::start(vec![
        says("I run the test.\nRUN: echo out-of-the-text > made.txt; cat made.txt"),
        calls("c", "bash", &json!({"command": "cat made.txt"})),
        says("It is made."),
    ]);
    let tack = Tack::new(&server);
    example(&tack, "my-python");
    let ran = tack.run(["-p", "make it", "--harness", "my-python"]).code(0);
    assert_eq!(ran.stdout, "It is made.\n");
    assert_eq!(tack.read("made.txt"), "out-of-the-text\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests {
        valid_history(&request.chat()).unwrap();
        assert!(request.said().contains("one short paragraph"), "{}", request.said());
    }
    assert!(requests[1].said().contains("out-of-the-text"), "{}", requests[1].said());
    let want = ["scene", "user", "assistant", "result", "assistant", "result", "assistant", "mark"];
    assert_eq!(recorded(&tack, "my-python"), want);
}

/// The tutorial of `docs/external-harness.md`, done as it says.
fn the_example_bent_from_the_tutorial_asks_for_a_plan_first() {
    let tutorial = include_str!("../../docs/external-harness.md");
    let mut blocks = tutorial.split("```python\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let (prompt, interpret) = (blocks.next().unwrap(), blocks.next().unwrap());
    let script = || {
        vec![
            calls("a", "bash", &json!({"command": "echo 1 > too-early.txt"})),
            says("PLAN:\n1. write the file\n2. say so"),
            calls("b", "bash", &json!({"command": "echo 1 > planned.txt"})),
            says("Done."),
        ]
    };
    let server = Server::start(script());
    let tack = Tack::new(&server);
    let folder = example(&tack, "planner");
    let path = folder.join("harness.py");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, replaced(&replaced(&text, "prompt", prompt), "interpret", interpret)).unwrap();

    let ran = tack.run(["-p", "write it", "--harness", "planner"]).code(0);
    assert_eq!(ran.stdout, "Done.\n");
    assert!(!tack.work().join("too-early.txt").exists() && tack.work().join("planned.txt").exists());
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    for request in &requests {
        valid_history(&request.chat()).unwrap();
    }
    assert!(requests[0].said().contains("PLAN:"), "the prompt asks for it: {}", requests[0].said());
    assert!(requests[1].said().contains("plan first"), "{}", requests[1].said());
}

/// The program with another text for one of its functions.
fn replaced(program: &str, function: &str, with: &str) -> String {
    let from = program.find(&format!("def {function}(")).unwrap();
    let len = program[from..].find("\n\n").unwrap();
    format!("{}{}{}", &program[..from], with.trim_end(), &program[from + len..])
}

fn a_program_may_write_the_whole_request_itself() {
    let server = Server::start(vec![calls("c", "look", &json!({"at": "a.txt"})), says("seen")]);
    let tack = Tack::new(&server);
    tack.file("a.txt", "what is in it\n");
    let own = "{'prompt': {'system': 'MINE', 'body': {'temperature': 0.5}, \
               'tools': [{'name': 'look', 'about': 'Looks.', 'schema': {'type': 'object', 'properties': {'at': {'type': 'string'}}}}], \
               'messages': [{'role': 'user', 'content': 'MY WORDS'}] + m['draft']['messages'][1:]}}";
    let means = "{'calls': [{'id': c['id'], 'action': {'do': 'read', 'path': c['args']['at']}} for c in m['reply']['calls']]} \
                 if m['reply']['calls'] else {'default': True}";
    program(&tack, &[("prompt", own), ("interpret", means)]);
    let ran = tack.run(["-p", "look", "--harness", "mine"]).code(0);
    assert_eq!(ran.stdout, "seen\n");
    let requests = server.requests();
    let first = requests[0].chat();
    assert_eq!(requests[0].body["temperature"], 0.5);
    assert_eq!(first["tools"][0]["function"]["name"], "look");
    assert!(requests[0].said().contains("MINE") && requests[0].said().contains("MY WORDS"));
    assert!(requests[1].said().contains("what is in it"), "{}", requests[1].said());
    valid_history(&requests[1].chat()).unwrap();
}

fn results_and_reminders_are_the_programs_where_it_wants_them() {
    let server = Server::start(vec![calls("c", "bash", &json!({"command": "echo hi; exit 3"})), says("ok")]);
    let tack = Tack::new(&server);
    let tell = "{'tell': 'exit was %d after %s' % (m['outcome']['exit'], m['call']['args']['command'])}";
    let notes = "{'notes': ['REMEMBER'] if len(m['view']['items']) == 2 else []}";
    program(&tack, &[("tell", tell), ("notes", notes)]);
    tack.run(["-p", "go", "--harness", "mine"]).code(0);
    let said = server.requests()[1].said();
    assert!(said.contains("exit was 3 after echo hi; exit 3"), "{said}");
    assert_eq!(said.matches("REMEMBER").count(), 1, "{said}");
}

/// Parsing of one's own over a harness whose calls are text; limits and submitting are the manifest's.
fn the_manifest_does_what_the_program_leaves_to_it() {
    let server = Server::start(vec![
        says("$ echo one && echo two"),
        says("```\nsubmit\n```"),
        says("Handed in.\n```\nsubmit\n```"),
    ]);
    let tack = Tack::new(&server);
    let read = "{'calls': [{'action': {'do': 'shell', 'command': m['reply']['text'][2:]}, 'quote': m['reply']['text']}]} \
                if m['reply']['text'].startswith('$ ') else {'default': True}";
    program(&tack, &[("interpret", read)]);
    let path = tack.home().join("harnesses/mine/harness.toml");
    let text = std::fs::read_to_string(&path).unwrap().replace("\"minimal\"", "\"swe-agent\"");
    std::fs::write(&path, text).unwrap();
    let ran = tack.run(["-p", "go", "--harness", "mine"]).code(0);
    let requests = server.requests();
    let second = requests[1].chat();
    assert!(requests[1].said().contains("one\\ntwo"), "{}", requests[1].said());
    assert!(!requests[1].said().contains("tool_calls"), "its calls are text: {second}");
    assert_eq!((requests.len(), ran.stdout.as_str()), (3, "Handed in.\n"), "the manifest reviews once");
}

#[test]
fn the_example_is_shown_and_plays_the_demo() {
    let tack = Tack::bare();
    example(&tack, "my-python");
    let shown = tack.run(["harness", "show", "my-python"]).code(0);
    assert!(shown.stdout.contains("one short paragraph"), "{}", shown.stdout);
    let ran = tack.run(["demo", "--harness", "my-python"]).code(0);
    assert!(ran.stdout.contains("The test passes."), "{} {}", ran.stdout, ran.stderr);
    assert!(recorded(&tack, "my-python").len() > 10);
}

#[test]
fn a_program_gets_each_item_once_and_all_of_them_when_it_starts_anew() {
    let server =
        Server::start(vec![calls("c", "bash", &json!({"command": "true"})), says("one"), says("two")]);
    let tack = Tack::new(&server);
    let log = "[open(__import__('os').environ['TACK_DATA'] + '/log', 'a').write(json.dumps([m['do'], m['view']['from'], len(m['view']['items'])]) + '\\n')] \
               and {'default': True}";
    program(&tack, &[("prompt", log), ("tell", log), ("event", log)]);
    tack.run(["-p", "go", "--harness", "mine"]).code(0);
    let read = || {
        let text = std::fs::read_to_string(tack.home().join("harness/mine/log")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let mut next = 0;
    for line in read() {
        assert_eq!(line[1], next, "{:?}", read());
        next += line[2].as_u64().unwrap();
    }
    let before = read().len();
    tack.run(["exec", "resume", "--last", "more"]).code(0);
    let after = read();
    assert_eq!(after[before][1], 0, "a new process gets all: {after:?}");
    assert!(after[before][2].as_u64().unwrap() > next, "{after:?}");
}

#[test]
fn a_summary_is_asked_for_by_the_manifest_alone() {
    let server = Server::with(
        vec![calls("c", "bash", &json!({"command": "seq 2000"})), says("THE SUMMARY"), says("end")],
        |_| None,
    );
    let tack = Tack::new(&server);
    tack.configure("model_auto_compact_token_limit = 1300");
    program(&tack, &[("prompt", "{'prompt': {'messages': [{'role': 'user', 'content': 'ONLY THIS'}]}}")]);
    tack.run(["-p", "go", "--harness", "mine"]).code(0);
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests[0].said().contains("ONLY THIS") && requests[2].said().contains("ONLY THIS"));
    assert!(!requests[1].said().contains("ONLY THIS"), "{}", requests[1].said());
}
