//! The native harness in one run of the real binary: commands that go on, patches, an image.

use serde_json::json;

use tack::model::WireKind;

use crate::kit::{Tack, alive, on, on_every_wire};
use crate::server::*;

on_every_wire! {
    a_gpt_model_works_with_commands_that_go_on_and_with_patches,
    what_still_runs_at_the_end_is_ended,
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR not really";

/// What the model was told last.
fn told(request: &Request) -> String {
    let chat = request.chat();
    let results = chat["messages"].as_array().unwrap().iter().rfind(|message| message["role"] == "tool");
    results.unwrap()["content"].as_str().unwrap_or_default().to_owned()
}

fn exec(id: &str, cmd: &str) -> Reply {
    calls(id, "exec_command", &json!({"cmd": cmd, "yield_time_ms": 250}))
}

fn a_gpt_model_works_with_commands_that_go_on_and_with_patches() {
    let server = Server::start(script());
    let tack = Tack::new(&server);
    works(&server, &tack);
    // As a function where the service has no free-form tools.
    let tools = &server.requests()[0].chat()["tools"];
    assert_eq!(tools[3]["function"]["parameters"]["required"], json!(["input"]));
}

#[test]
fn the_patch_is_free_text_where_the_service_has_such_tools() {
    on(WireKind::Responses, || {
        let server = Server::start(script());
        let tack = Tack::bare().env("OPENAI_API_KEY", "sk-test");
        tack.config(&format!("model_provider = \"openai\"\nopenai_base_url = \"{}\"\n", server.url()));
        works(&server, &tack);
        let requests = server.requests();
        let patch = &requests[0].body["tools"][3];
        assert_eq!((&patch["type"], &patch["format"]["syntax"]), (&json!("custom"), &json!("lark")));
        let sent = requests.last().unwrap().body["input"].as_array().unwrap().clone();
        let patches: Vec<_> = sent.iter().filter(|item| item["type"] == "custom_tool_call").collect();
        assert_eq!(patches.len(), 2);
        assert!(patches[0]["input"].as_str().unwrap().starts_with("*** Begin Patch\n"));
    });
}

fn script() -> Vec<Reply> {
    let patch =
        "*** Begin Patch\n*** Update File: sum.sh\n@@\n-echo $((1 - 1))\n+echo $((1 + 1))\n*** End Patch";
    vec![
        exec("a", "echo $$ > pid; echo serving; exec sleep 1000"),
        calls("b", "write_stdin", &json!({"session_id": 1, "chars": "q\n"})),
        calls("c", "write_stdin", &json!({"session_id": 1, "chars": "\u{3}"})),
        calls("d", "apply_patch", &json!({"input": patch})),
        calls("e", "apply_patch", &json!({"input": patch})),
        calls(
            "f",
            "exec_command",
            &json!({"cmd": format!("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new\n+x\n*** End Patch\nEOF"), "workdir": "sub"}),
        ),
        calls("g", "view_image", &json!({"path": "shot.png"})),
        exec("h", "sh sum.sh; exec sleep 1000"),
        says("Fixed."),
    ]
}

fn works(server: &Server, tack: &Tack) {
    tack.file("sum.sh", "echo $((1 - 1))\n");
    tack.file("shot.png", PNG);
    tack.file("sub/old", "");
    let ran =
        tack.run(["exec", "--json", "--yolo", "--harness", "native", "-m", "gpt-5.5", "fix the sum"]).code(0);

    let requests = server.requests();
    for request in &requests {
        valid_history(&request.chat()).unwrap();
    }
    let told: Vec<String> = requests[1..].iter().map(told).collect();
    assert!(
        told[0].contains("\nProcess running with session ID 1\n") && told[0].ends_with("Output:\nserving\n")
    );
    assert!(told[1].starts_with("nothing was typed"), "{}", told[1]);
    assert!(told[2].contains("\nProcess "), "{}", told[2]);
    assert!(told[3].ends_with("Output:\nSuccess: these files were changed.\nM sum.sh"), "{}", told[3]);
    assert!(told[4].starts_with("apply_patch verification failed: "), "{}", told[4]);
    assert!(told[5].ends_with("\nA sub/new"), "{}", told[5]);
    assert!(requests[7].has_image());
    assert!(told[7].contains("session ID 2\n") && told[7].ends_with("Output:\n2\n"), "{}", told[7]);
    assert_eq!(tack.read("sub/new"), "x\n");
    let pid = tack.read("pid").trim().parse().unwrap();
    assert!(!alive(pid), "Ctrl-C ended it");
    let files: Vec<_> = ran
        .events()
        .iter()
        .filter(|e| e["item"]["type"] == "file_change" && e["type"] == "item.completed")
        .map(|e| e["item"]["status"].clone())
        .collect();
    assert_eq!(files, ["completed", "failed", "completed"]);
}

#[test]
fn a_command_on_a_terminal_is_typed_into() {
    let server = Server::start(vec![
        calls(
            "a",
            "exec_command",
            &json!({"cmd": "test -t 0; read x; echo $?:$x", "tty": true, "yield_time_ms": 250}),
        ),
        calls("b", "write_stdin", &json!({"session_id": 1, "chars": "hi\n", "yield_time_ms": 30000})),
        says("It says hi."),
    ]);
    let tack = Tack::new(&server);
    tack.run(["exec", "--json", "--yolo", "--harness", "native", "-m", "gpt-5.5", "type"]).code(0);
    let told: Vec<String> = server.requests()[1..].iter().map(told).collect();
    assert!(told[0].contains("\nProcess running with session ID 1\n"), "{}", told[0]);
    assert!(told[1].contains("\nProcess exited with code 0\n"), "{}", told[1]);
    assert!(told[1].ends_with("Output:\nhi\n0:hi\n"), "{}", told[1]);
}

fn what_still_runs_at_the_end_is_ended() {
    let server = Server::start(vec![exec("a", "echo $$ > pid; exec sleep 1000"), says("It serves.")]);
    let tack = Tack::new(&server);
    tack.run(["exec", "--harness", "native", "-s", "danger-full-access", "serve"]).code(0);
    assert!(!alive(tack.read("pid").trim().parse().unwrap()));
}

#[test]
fn the_request_that_is_shown_is_of_one_wire() {
    let ran = Tack::bare().run(["harness", "show", "native", "--json"]).code(0);
    let body: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(body["tools"].to_string().contains("apply_patch"));
    let responses = body.get("input").is_some();
    assert_eq!(body.get("parallel_tool_calls").is_some(), responses);
    assert_eq!(body.get("messages").is_none(), responses);
}
