//! Rows of the exec protocol that the official client cannot show: odd input, rare items, numbering.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::kit::{Ran, Tack};
use crate::server::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";

fn shell(id: &str, command: &str) -> Reply {
    calls(id, "bash", &json!({ "command": command }))
}

fn items(ran: &Ran, kind: &str) -> Vec<Value> {
    let items = ran.events().into_iter().filter(|event| event["item"]["type"] == kind);
    items.collect()
}

#[test]
fn a_prompt_on_stdin_is_read_in_the_encodings_there_are_and_in_no_other() {
    let wide = |text: &str, big: bool| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let server = Server::start(vec![]);
    let tack = Tack::new(&server);
    let good = [
        b"gr\xc3\xbcn".to_vec(),
        b"\xef\xbb\xbfgr\xc3\xbcn".to_vec(),
        wide("grün", false),
        wide("grün", true),
    ];
    for (n, bytes) in good.iter().enumerate() {
        tack.run_with_stdin(["exec", "--experimental-json"], bytes).code(0);
        let body = server.requests()[n].body.clone();
        assert_eq!(body["messages"].as_array().unwrap().last().unwrap()["content"], "grün", "{bytes:?}");
    }
    for bytes in [&b"gr\xfcn"[..], b"\xff\xfeg", b"\xff\xfe\0\0g\0\0\0", b"", b" \n", b"\xef\xbb\xbf"] {
        let ran = tack.run_with_stdin(["exec", "--experimental-json"], bytes).code(2);
        assert!(ran.stdout.is_empty() && ran.stderr.contains("standard input"), "{bytes:?}: {}", ran.stderr);
    }
    assert_eq!(server.requests().len(), good.len());
}

#[test]
fn images_go_along_before_and_after_the_id() {
    let server = Server::start(vec![]);
    let tack = Tack::new(&server);
    for name in ["a.png", "b.png", "c.png", "d,e.png"] {
        tack.file(name, PNG);
    }
    tack.run(["exec", "first"]).code(0);
    let id = tack.session_id();
    tack.run([
        "exec",
        "--image",
        "a.png",
        "resume",
        &id,
        "--image",
        "b.png,c.png",
        "-i",
        "d,e.png",
        "second",
    ])
    .code(0);
    let body = server.requests()[1].body.clone();
    let last = body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let images = last.as_array().unwrap().iter().filter(|part| part["type"] == "image_url").count();
    assert_eq!(images, 4, "{last}");
}

#[test]
fn a_session_whose_model_takes_no_images_goes_on_without_and_says_so_once() {
    let server = Server::with(vec![], |request| {
        let blind = request.body["model"] == "blind" && request.has_image();
        blind.then(|| error(400, "unknown variant `image_url`, expected `text`"))
    });
    let tack = Tack::new(&server);
    tack.file("a.png", PNG);
    let warned = |ran: &Ran| items(ran, "error").len();
    let ran = tack.run(["exec", "--json", "-m", "blind", "-i", "a.png", "look"]).code(0);
    assert_eq!(warned(&ran), 1, "{}", ran.stdout);
    let ran = tack.run(["exec", "--json", "-m", "blind", "resume", "--last", "hi"]).code(0);
    assert_eq!(warned(&ran), 0, "{}", ran.stdout);
    assert_eq!(server.requests().len(), 3, "the second turn does not try again");
    tack.run(["exec", "--json", "-m", "seeing", "resume", "--last", "and now?"]).code(0);
    assert!(server.requests()[3].has_image(), "it is there again for a model that sees");
}

#[test]
fn settings_of_other_programs_and_values_that_are_no_toml_do_not_stop_a_run() {
    let server = Server::start(vec![]);
    let tack = Tack::new(&server);
    let table = [
        ("nobody_knows.this=1", true),
        ("model_reasoning_effort=high", false),
        ("web_search=live", false),
        ("features={}", false),
        ("model_providers.mock.http_headers={\"x-a\" = \"1\"}", false),
        ("projects./some/folder.trust_level=\"trusted\"", false),
        ("prices.mock/mock={input = 1, output = 2}", false),
    ];
    for (setting, warns) in table {
        let ran = tack.run(["exec", "--json", "--config", setting, "x"]).code(0);
        assert_eq!(!items(&ran, "error").is_empty(), warns, "{setting}: {}", ran.stdout);
    }
    assert_eq!(server.requests()[1].body["reasoning_effort"], "high");
    assert_eq!(server.requests()[4].header("x-a"), Some("1"));
    tack.run(["exec", "--strict-config", "-c", "nobody_knows.this=1", "x"]).code(2);
}

#[test]
fn items_are_numbered_from_the_start_in_each_process_and_usage_is_the_threads() {
    let counted = |text: &str| sse([txt(text), end("stop"), usage(100, 10), done()]);
    let server = Server::start(vec![
        sse([call(0, "a", "bash", "{\"command\":\"true\"}"), end("tool_calls"), usage(100, 10), done()]),
        counted("one"),
        counted("two"),
    ]);
    let tack = Tack::new(&server);
    tack.run(["exec", "first"]).code(0);
    let id = tack.session_id();
    std::fs::create_dir(tack.work().join("elsewhere")).unwrap();
    let ran = tack.run(["exec", "--json", "-C", "elsewhere", "-m", "other", "resume", &id, "second"]).code(0);
    let events = ran.events();
    assert_eq!(events[0], json!({"type": "thread.started", "thread_id": id}));
    assert_eq!(items(&ran, "agent_message")[0]["item"]["id"], "item_0");
    let total = &events.last().unwrap()["usage"];
    assert_eq!((&total["input_tokens"], &total["output_tokens"]), (&json!(300), &json!(30)));
    assert_eq!(server.requests()[2].body["model"], "other");
}

#[test]
fn a_change_is_named_when_it_begins_and_also_when_it_fails() {
    let server = Server::start(vec![
        calls("a", "write", &json!({"path": "new.txt", "content": "x\n"})),
        calls("b", "write", &json!({"path": "new.txt", "content": "y\n"})),
        calls("c", "edit", &json!({"path": "new.txt", "oldText": "nowhere", "newText": "z"})),
        calls("d", "write", &json!({"path": "/etc/tack-test", "content": "x"})),
    ]);
    let tack = Tack::new(&server);
    let ran = tack.run(["exec", "--json", "x"]).code(0);
    let work = tack.work().canonicalize().unwrap();
    let new = work.join("new.txt").display().to_string();
    let want = [
        (new.as_str(), "add", "completed"),
        (&new, "update", "completed"),
        (&new, "update", "failed"),
        ("/etc/tack-test", "add", "failed"),
    ];
    let changes = items(&ran, "file_change");
    assert_eq!(changes.len(), 2 * want.len());
    for (pair, (path, kind, status)) in changes.chunks(2).zip(want) {
        let change = json!([{ "path": path, "kind": kind }]);
        assert_eq!((&pair[0]["type"], &pair[1]["type"]), (&json!("item.started"), &json!("item.completed")));
        for (event, status) in [(&pair[0], "in_progress"), (&pair[1], status)] {
            assert_eq!((&event["item"]["changes"], &event["item"]["status"]), (&change, &json!(status)));
        }
    }
}

#[test]
fn a_command_that_was_refused_is_declined() {
    let server = Server::start(vec![shell("a", "touch x"), shell("b", "touch x")]);
    let tack = Tack::new(&server);
    tack.harness("strict", "[loop]\nrepeats = \"refused\"\n");
    let ran = tack.run(["exec", "--json", "--harness", "strict", "x"]).code(0);
    let ends: Vec<_> = items(&ran, "command_execution").into_iter().skip(1).step_by(2).collect();
    assert_eq!(
        (&ends[0]["item"]["status"], &ends[1]["item"]["status"]),
        (&json!("completed"), &json!("declined"))
    );
}

#[test]
fn a_run_that_cannot_begin_reads_the_prompt_all_the_same() {
    let server = Server::start(vec![]);
    let tack = Tack::new(&server);
    let prompt = vec![b'x'; 1 << 20];
    for args in
        [&["exec", "--cd", "/nowhere"][..], &["exec", "--output-schema", "nowhere"], &["exec", "resume", "0"]]
    {
        let mut child = tack.command(args).stdin(std::process::Stdio::piped()).spawn().unwrap();
        let wrote = std::io::Write::write_all(&mut child.stdin.take().unwrap(), &prompt);
        assert!(wrote.is_ok(), "{args:?}: {wrote:?}");
        assert_eq!(child.wait().unwrap().code(), Some(2));
    }
}

#[test]
fn a_limit_is_an_error_before_it_fails_the_turn() {
    let server = Server::start((0..9).map(|n| shell(&format!("c{n}"), "echo same")).collect());
    let ran = Tack::new(&server).run(["exec", "--json", "--max-turns", "2", "x"]).code(3);
    let kinds: Vec<_> = ran.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds[kinds.len() - 2..], ["error", "turn.failed"]);
}

#[test]
fn a_retry_is_announced_as_an_error_event_and_the_turn_completes() {
    let server = Server::start(vec![error(500, "out of luck"), says("ok")]);
    let ran = Tack::new(&server).run(["exec", "--json", "x"]).code(0);
    let notices: Vec<_> = ran.events().into_iter().filter(|event| event["type"] == "error").collect();
    assert_eq!(notices.len(), 1);
    assert!(notices[0]["message"].as_str().unwrap().contains("out of luck"), "{}", notices[0]);
    assert_eq!(ran.events().pop().unwrap()["type"], "turn.completed");
}

#[test]
fn what_a_run_cost_is_in_the_events_and_in_the_summary() {
    let counted = || sse([txt("ok"), end("stop"), usage(1_000_000, 100_000), done()]);
    let server = Server::start(vec![counted(), counted()]);
    let tack = Tack::new(&server);
    let price = ["-c", "prices.\"mock/mock\"={input=1.5, output=10.0}"];
    let ran = tack.run([&["exec", "--json", "x"], &price[..]].concat()).code(0);
    assert_eq!(ran.events().pop().unwrap()["cost_usd"], 2.5);
    let ran = tack.run([&["exec", "x"], &price[..]].concat()).code(0);
    assert!(ran.stderr.contains("$2.5000"), "{}", ran.stderr);
}

#[test]
fn nothing_that_a_command_prints_reaches_stdout_but_inside_an_item() {
    let server =
        Server::start(vec![shell("a", "echo '{\"type\":\"turn.failed\"}'; echo loud >&2"), says("ok")]);
    let ran = Tack::new(&server).run(["exec", "--json", "x"]).code(0);
    let kinds: Vec<_> = ran.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert!(!kinds.iter().any(|kind| kind == "turn.failed"), "{kinds:?}");
    assert!(
        items(&ran, "command_execution")[1]["item"]["aggregated_output"].as_str().unwrap().contains("loud")
    );
}

/// JSON has no word for such a path; a run must not end over it.
#[test]
fn a_file_is_written_in_a_folder_whose_name_is_no_utf_8() {
    let write = calls("a", "write", &json!({"path": "new", "content": "x\n"}));
    let server = Server::start(vec![write, says("ok")]);
    let tack = Tack::new(&server);
    let folder = tack.work().join(OsStr::from_bytes(b"d\xffr"));
    std::fs::create_dir(&folder).unwrap();
    let child = tack.command(["exec", "--json", "go"]).current_dir(&folder).spawn().unwrap();
    let ran = crate::kit::finish(child, None).code(0);
    assert_eq!(std::fs::read_to_string(folder.join("new")).unwrap(), "x\n");
    for item in items(&ran, "file_change") {
        let path = item["item"]["changes"][0]["path"].as_str().unwrap();
        assert!(path.ends_with("d\u{fffd}r/new"), "{path}");
    }
    assert_eq!(items(&ran, "file_change").len(), 2, "{}", ran.stdout);
}
