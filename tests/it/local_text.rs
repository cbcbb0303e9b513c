//! Models whose calls are text, over the wire: a server that takes no tools, and a small model that
//! writes files as blocks.

use serde_json::json;

use crate::kit::{Tack, on_every_wire};
use crate::server::*;

on_every_wire! {
    a_server_without_tools_is_asked_again_in_words,
    a_server_that_goes_on_refusing_ends_the_turn,
    a_small_model_sees_the_file_and_writes_it_back,
    a_file_written_back_as_it_was_is_left_out_and_tried_under_other_conditions,
}

/// The texts of a request's messages.
fn texts(request: &Request) -> String {
    let messages = request.chat()["messages"].as_array().unwrap().clone();
    messages
        .iter()
        .filter_map(|message| message["content"].as_str().map(|text| format!("{text}\n")))
        .collect()
}

fn a_server_without_tools_is_asked_again_in_words() {
    let call = json!({"name": "bash", "arguments": {"command": "echo hi > made.txt"}}).to_string();
    let server = Server::start(vec![
        error(400, "registry.ollama.ai/library/mock does not support tools"),
        says(&call),
        says("Made."),
    ]);
    let tack = Tack::new(&server);
    let ran = tack.run(["--harness", "local", "-p", "make it"]).code(0);
    assert_eq!(tack.read("made.txt"), "hi\n");
    assert_eq!(ran.stderr.matches("are text from now on").count(), 1, "{}", ran.stderr);
    let requests = server.requests();
    assert!(requests[0].chat()["tools"].is_array());
    for request in &requests[1..] {
        assert!(request.chat().get("tools").is_none_or(|tools| tools.as_array().is_none_or(Vec::is_empty)));
        assert!(texts(request).contains(r#"{"name":"bash","arguments":{"command":"ls"}}"#));
    }
    assert!(texts(&requests[2]).contains(r#"{"name":"bash","arguments":{"command":"echo hi > made.txt"}}"#));
}

fn a_server_that_goes_on_refusing_ends_the_turn() {
    let refusal = || error(400, "registry.ollama.ai/library/mock does not support tools");
    let server = Server::start(vec![refusal(), refusal(), refusal()]);
    let tack = Tack::new(&server);
    tack.run(["--harness", "local", "-p", "make it"]).code(1);
    assert_eq!(server.requests().len(), 2);
}

fn a_small_model_sees_the_file_and_writes_it_back() {
    let server = Server::start(vec![
        says("sum.py\n```python\ndef add(a, b):\n    return a + b\n```\nIt adds now."),
        says("add in sum.py adds now."),
    ]);
    let tack = Tack::new(&server);
    let config = std::fs::read_to_string(tack.home().join("config.toml")).unwrap();
    tack.config(&config.replace("model = \"mock\"", "model = \"mock-1.5b\""));
    tack.file("sum.py", "def add(a, b):\n    return a - b\n");
    let ran = tack.run(["--harness", "local", "-p", "Fix add in sum.py."]).code(0);
    assert_eq!(tack.read("sum.py"), "def add(a, b):\n    return a + b\n");
    assert_eq!(ran.stdout, "add in sum.py adds now.\n");
    let first = texts(&server.requests()[0]);
    assert!(first.contains("sum.py\n```python\ndef add(a, b):\n    return a - b\n```"), "{first}");
}

fn a_file_written_back_as_it_was_is_left_out_and_tried_under_other_conditions() {
    let old = "sum.py\n```python\ndef add(a, b):\n    return a - b  # old\n```";
    let new = "sum.py\n```python\ndef add(a, b):\n    return a + b\n```";
    let server = Server::start(vec![says(old), says(old), says(new), says("add adds now.")]);
    let tack = Tack::new(&server);
    let config = std::fs::read_to_string(tack.home().join("config.toml")).unwrap();
    tack.config(&config.replace("model = \"mock\"", "model = \"mock-1.5b\""));
    tack.file("sum.py", "def add(a, b):\n    return a - b  # old\n");
    tack.run(["--harness", "local", "-p", "fix add in sum.py"]).code(0);
    assert_eq!(tack.read("sum.py"), "def add(a, b):\n    return a + b\n");
    let requests = server.requests();
    let hint = "is the old one";
    for (request, temperature) in requests.iter().zip([0.0, 0.4, 0.7, 0.0]) {
        assert_eq!(request.body["temperature"], temperature);
    }
    // The copy is nowhere but in the prompt, and what came of it only while it is the last that happened.
    let count = |n: usize, what: &str| texts(&requests[n]).matches(what).count();
    assert_eq!([0, 1, 2, 3].map(|n| count(n, "# old")), [1, 1, 1, 1]);
    assert_eq!([0, 1, 2, 3].map(|n| count(n, hint)), [0, 1, 1, 0]);
}
