//! The native harness in one run of the real binary: commands that go on, patches, an image.

use serde_json::json;

use crate::kit::{Tack, alive};
use crate::server::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR not really";

/// What the model was told last.
fn told(request: &Request) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].as_str().unwrap_or_default().to_owned()
}

fn exec(id: &str, cmd: &str) -> Reply {
    calls(id, "exec_command", &json!({"cmd": cmd, "yield_time_ms": 250}))
}

#[test]
fn a_gpt_model_works_with_commands_that_go_on_and_with_patches() {
    let patch =
        "*** Begin Patch\n*** Update File: sum.sh\n@@\n-echo $((1 - 1))\n+echo $((1 + 1))\n*** End Patch";
    let server = Server::start(vec![
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
    ]);
    let tack = Tack::new(&server);
    tack.file("sum.sh", "echo $((1 - 1))\n");
    tack.file("shot.png", PNG);
    tack.file("sub/old", "");
    let ran =
        tack.run(["exec", "--json", "--yolo", "--harness", "auto", "-m", "gpt-5.5", "fix the sum"]).code(0);

    let requests = server.requests();
    for request in &requests {
        valid_history(&request.body).unwrap();
    }
    assert_eq!(requests[0].body["tools"][3]["function"]["parameters"]["required"], json!(["input"]));
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
