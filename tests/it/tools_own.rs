//! Tools that a harness of the user's brings: programs in its folder, and tools that are only named until
//! they are asked for.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Map, Value, json};
use tack::model::{Action, State};

use crate::kit::{Ran, Tack, on_every_wire};
use crate::server::*;
use crate::tools_kit::{Bench, eventually};

/// A harness `own` with these tools on top of those of `minimal`, and files.
fn own(tack: &Tack, tools: &str, files: &[(&str, &str)]) {
    tack.harness("own", "");
    let folder = tack.home().join("harnesses/own");
    std::fs::write(folder.join("tools.toml"), tools).unwrap();
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

fn go(tack: &Tack, args: &[&str]) -> Ran {
    tack.run(["exec"].iter().chain(args).chain(&["--harness", "own"]))
}

/// What the model reads of a call of `count`, run in the sandbox.
fn answer(script: &str, more: &str) -> String {
    let server = Server::start(vec![calls("a", "count", &json!({"n": "2", "why": "x"})), says("done")]);
    let tack = Tack::new(&server);
    let tools = format!(
        "[count]\ndoes = \"script\"\nrun = [\"sh\", \"count.sh\"]\n{more}\n[count.params]\nn = {{ type = \"integer\" }}\nm = {{ type = \"integer\", default = 7 }}\n"
    );
    own(&tack, &tools, &[("count.sh", script), ("data.txt", "beside\n")]);
    assert_eq!(go(&tack, &["x"]).code(0).stdout, "done\n");
    assert!(!tack.home().join("harnesses/own/new").exists());
    let said = server.requests()[1].said();
    said.replace(&*tack.work().to_string_lossy(), "<work>").replace(&*tack.home().to_string_lossy(), "<home>")
}

#[test]
fn a_program_gets_its_arguments_and_its_output_is_the_result() {
    let said = answer("cat; echo; pwd; cat \"$(dirname \"$0\")/data.txt\"", "");
    assert!(
        said.contains(r#"{\"n\":2,\"m\":7}"#) && said.contains("<work>") && said.contains("beside"),
        "{said}"
    );
}

#[test]
fn a_program_that_fails_says_why() {
    let said = answer("echo found nothing >&2; exit 3", "");
    assert!(said.contains("found nothing") && said.contains("exit code 3"), "{said}");
}

#[test]
fn a_program_that_hangs_is_ended() {
    let said = answer("echo begun; sleep 300 & sleep 300", "with = { timeout = 400 }");
    assert!(said.contains("begun") && said.contains("time limit"), "{said}");
}

#[test]
fn a_program_that_floods_is_cut() {
    let said = answer("head -c 3000000 /dev/zero | tr '\\0' x", "output = { bytes = 2000 }");
    assert!(said.contains("left out") && said.len() < 40_000, "{}", said.len());
}

#[test]
fn a_program_writes_where_commands_may() {
    let said = answer("echo x > \"$(dirname \"$0\")/new\" || echo kept out; echo y > here && echo fine", "");
    assert!(said.contains("kept out") && said.contains("fine"), "{said}");
}

#[test]
fn a_harness_without_its_program_is_not_begun_with() {
    let server = Server::start(vec![]);
    let tack = Tack::new(&server);
    own(&tack, "[count]\ndoes = \"script\"\nrun = [\"sh\", \"../count.sh\"]\n", &[]);
    let ran = go(&tack, &["x"]);
    assert!(
        ran.code != 0 && ran.stderr.contains("tools.toml") && ran.stderr.contains("`count` runs"),
        "{}",
        ran.stderr
    );
    own(&tack, "[count]\ndoes = \"script\"\n", &[]);
    assert!(go(&tack, &["x"]).stderr.contains("needs `run`"));
    own(&tack, "[count]\ndoes = \"shell\"\nrun = [\"sh\"]\n", &[]);
    assert!(go(&tack, &["x"]).stderr.contains("only a tool that does `script`"));
}

#[allow(clippy::needless_pass_by_value)] // so that a test can write json! where it calls
fn script(bench: &Bench, run: &[&str], input: Value) -> Action {
    Action::Script {
        tool: "count".into(),
        run: run.iter().map(|&word| word.to_owned()).collect(),
        dir: bench.cwd.display().to_string(),
        input: Box::new(input.as_object().cloned().unwrap_or_else(Map::new)),
        timeout: None,
        only_reads: false,
    }
}

#[tokio::test]
async fn what_keeps_a_program_from_running_is_said() {
    let bench = Bench::new().file("count.sh", "#!/bin/sh\ncat\n");
    let gone = bench.run(&script(&bench, &["sh", "gone.sh"], json!({}))).await;
    assert!(gone.state == State::Failed && gone.text.contains("no longer in"), "{}", gone.text);
    let stiff = bench.run(&script(&bench, &["./count.sh"], json!({}))).await;
    assert!(stiff.state == State::Failed && stiff.text.contains("chmod +x"), "{}", stiff.text);
    let path = bench.cwd.join("count.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let large = "x".repeat(10_000);
    let ran = bench.run(&script(&bench, &["./count.sh"], json!({ "a": large }))).await;
    assert!(ran.state == State::Ok && ran.text.contains("xxx"), "{}", ran.text);
    let absent = bench.run(&script(&bench, &["no-such-program", "count.sh"], json!({}))).await;
    assert!(absent.state == State::Failed && absent.text.contains("not found"), "{}", absent.text);
    assert_eq!(
        std::fs::read_dir(&bench.spill)
            .unwrap()
            .flatten()
            .filter(|e| e.file_name().to_string_lossy().starts_with("call"))
            .count(),
        0
    );
}

#[tokio::test]
async fn a_stopped_program_is_gone_with_its_children() {
    let bench = Bench::new().file("count.sh", "sleep 300 & echo $! > pid; wait\n");
    let action = script(&bench, &["sh", "count.sh"], json!({}));
    let stop = async {
        eventually(async || bench.exists("pid") && !bench.bytes("pid").is_empty()).await;
        bench.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(bench.run(&action), stop);
    assert_eq!(outcome.state, State::Interrupted);
    let pid: u32 = String::from_utf8(bench.bytes("pid")).unwrap().trim().parse().unwrap();
    eventually(async || !crate::kit::alive(pid)).await;
}

#[tokio::test]
async fn a_program_without_end_manners_or_measure_is_borne() {
    let bench = Bench::new()
        .file("mute.sh", "exec >&- 2>&-; sleep 300\n")
        .file("daemon.sh", "setsid sleep 300 > out 2>&1 & echo $! > pid; echo begun\n")
        .file("much.sh", "head -c 30000000 /dev/zero | tr '\\0' x\n");
    let Action::Script { tool, run, dir, input, only_reads, .. } =
        script(&bench, &["sh", "mute.sh"], json!({}))
    else {
        unreachable!("it is a script")
    };
    let mute = Action::Script { tool, run, dir, input, timeout: Some(300), only_reads };
    assert_eq!(bench.run(&mute).await.state, State::TimedOut);
    let begun = bench.run(&script(&bench, &["sh", "daemon.sh"], json!({}))).await;
    assert!(begun.state == State::Ok && begun.text.contains("left running"), "{}", begun.text);
    let pid: u32 = String::from_utf8(bench.bytes("pid")).unwrap().trim().parse().unwrap();
    eventually(async || !crate::kit::alive(pid)).await;
    let much = bench.run(&script(&bench, &["sh", "much.sh"], json!({}))).await;
    let kept = much.data["output_file"].as_str().expect("a file");
    assert!(much.text.len() < 17_000, "{}", much.text.len());
    assert_eq!(std::fs::metadata(kept).unwrap().len(), 30_000_000);
}

const NAMED: &str = r#"
[look_for]
does = "tools"
[look_for.params]
query = { type = "string", required = true, to = "query" }
max = { type = "integer", to = "limit" }

[notes]
does = "shell"
defer = true
about = "Show the notes\nof the project."
with = { command = "echo out-of-notes" }
[notes.params]
loud = { type = "boolean" }

[lint]
does = "shell"
defer = true
about = "Check the style."
with = { command = "echo out-of-lint" }
"#;

on_every_wire! {
    a_named_tool_is_offered_once_it_was_asked_for,
    a_named_tool_is_understood_unasked,
}

fn names(request: &Request) -> Vec<String> {
    let tools = request.chat()["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

fn a_named_tool_is_offered_once_it_was_asked_for() {
    let server = Server::start(vec![
        calls("a", "look_for", &json!({"query": "style"})),
        calls("b", "look_for", &json!({"query": "select:notes,lint"})),
        calls("c", "notes", &json!({"loud": true})),
        calls("d", "look_for", &json!({"query": "weather"})),
        says("one"),
        says("two"),
        says("three"),
    ]);
    let tack = Tack::new(&server);
    own(&tack, NAMED, &[("deferred.md", "{% for t in deferred %}{{ t.name }}: {{ t.about }}\n{% endfor %}")]);
    std::fs::write(
        tack.home().join("harnesses/own/harness.toml"),
        "schema = 1\nid = \"own\"\nextends = \"minimal\"\n[system]\nappend = [\"deferred.md\"]\n",
    )
    .unwrap();
    assert_eq!(go(&tack, &["x"]).code(0).stdout, "one\n");
    assert_eq!(tack.run(["exec", "resume", "--last", "--harness", "minimal", "y"]).code(0).stdout, "two\n");
    assert_eq!(go(&tack, &["resume", "--last", "z"]).code(0).stdout, "three\n");
    let requests = server.requests();
    let before = names(&requests[0]);
    assert!(before.contains(&"look_for".to_owned()) && !before.contains(&"notes".to_owned()), "{before:?}");
    assert!(
        requests[0].said().contains("notes: Show the notes\\nlint: Check the style."),
        "{}",
        requests[0].said()
    );
    let with =
        |more: &[&str]| [&before[..], &more.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()].concat();
    assert_eq!(names(&requests[1]), with(&["lint"]));
    for request in [&requests[2], &requests[3], &requests[4], &requests[6]] {
        assert_eq!(names(request), with(&["lint", "notes"]));
    }
    assert_eq!(
        names(&requests[5]),
        before.iter().filter(|name| *name != "look_for").cloned().collect::<Vec<_>>()
    );
    let said = requests[4].said();
    for word in ["loud", "out-of-notes", "No tool fits"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    valid_history(&requests[6].chat()).unwrap();
}

fn a_named_tool_is_understood_unasked() {
    let server = Server::start(vec![calls("a", "lint", &json!({})), says("done")]);
    let tack = Tack::new(&server);
    own(&tack, NAMED, &[]);
    go(&tack, &["x"]).code(0);
    assert!(server.requests()[1].said().contains("out-of-lint"));
}
