//! Keys stay where they are, and command lines of programs that embed Codex are understood.

use serde_json::json;

use crate::kit::{Tack, on_every_wire, wire};
use crate::server::*;

on_every_wire! {
    a_key_is_sent_to_its_server_and_shows_up_nowhere_else,
}

const KEY: &str = "sk-very-secret-0123456789";

fn shell(id: &str, command: &str) -> Reply {
    calls(id, "bash", &json!({ "command": command }))
}

fn a_key_is_sent_to_its_server_and_shows_up_nowhere_else() {
    let look = "env; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/*/cmdline | tr '\\0' '\\n'; true";
    for name in ["ACME_API_KEY", "CODEX_API_KEY"] {
        let server =
            Server::start(vec![shell("a", look), error(401, &format!("Incorrect API key provided: {KEY}"))]);
        let tack = Tack::bare().env(name, KEY).env("OPENAI_API_KEY", KEY).env("HEADER_SECRET", KEY);
        tack.config(&format!(
            "model = \"m\"\nmodel_provider = \"acme\"\nharness = \"minimal\"\n\
             [model_providers.acme]\nbase_url = \"{}\"\nenv_key = \"ACME_API_KEY\"\n\
             wire_api = \"{}\"\nenv_http_headers = {{ x-own = \"HEADER_SECRET\" }}\n",
            server.url(),
            wire().name(),
        ));
        let ran = tack.run(["exec", "--json=full", "x"]).code(1);
        let request = &server.requests()[0];
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()), "{name}");
        assert_eq!(request.header("x-own"), Some(KEY));
        assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{}\n{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("PATH="), "the command looked");
        for request in server.requests() {
            assert!(!request.body.to_string().contains(KEY));
        }
        for file in files(&tack.home()) {
            let bytes = std::fs::read(&file).unwrap_or_default();
            assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()), "{}", file.display());
        }
    }
}

/// Every file below a folder.
fn files(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&path)),
            Ok(kind) if kind.is_file() => found.push(path),
            Ok(_) | Err(_) => {}
        }
    }
    assert!(!found.is_empty() || !dir.ends_with("home"));
    found
}

#[test]
fn the_command_lines_of_the_codex_sdk_are_understood() {
    let server = Server::start(vec![says("one"), says("two")]);
    let tack =
        Tack::bare().env("CODEX_API_KEY", KEY).env("CODEX_INTERNAL_ORIGINATOR_OVERRIDE", "codex_sdk_ts");
    tack.file("dot.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89");
    let more = tack.dir.path().join("more");
    std::fs::create_dir(&more).unwrap();
    let base = format!("openai_base_url=\"{}\"", server.url());
    let (work, more) = (tack.work(), more.to_str().unwrap().to_owned());
    let work = work.to_str().unwrap();
    let flags: Vec<&str> = vec![
        "exec",
        "--experimental-json",
        "--config",
        "a.b={}",
        "--config",
        "list=[1, {x = \"y\"}]",
        "--config",
        &base,
        "--config",
        "model_providers.openai.wire_api=\"chat\"",
        "--model",
        "gpt-mock",
        "--thread-source",
        "user",
        "--sandbox",
        "workspace-write",
        "--cd",
        work,
        "--add-dir",
        &more,
        "--add-dir",
        &more,
        "--skip-git-repo-check",
        "--cyber-access-program",
        "v",
        "--config",
        "model_reasoning_effort=\"high\"",
        "--config",
        "sandbox_workspace_write.network_access=false",
        "--config",
        "web_search=\"disabled\"",
        "--config",
        "approval_policy=\"on-failure\"",
    ];
    let first = tack
        .run_with_stdin(flags.iter().chain(&["--image", "dot.png", "--image", "dot.png"]), "the prompt")
        .code(0);
    let id = first.events()[0]["thread_id"].as_str().unwrap().to_owned();
    assert_eq!(server.requests()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let resumed = tack
        .run_with_stdin(flags.iter().chain(&["resume", &id, "--image", "dot.png,dot.png"]), "\u{feff}more")
        .code(0);
    assert_eq!(resumed.events()[0]["thread_id"], id.as_str());
    let said = server.requests()[1].said();
    assert!(said.contains("the prompt") && said.contains("more") && !said.contains('\u{feff}'));
    assert_eq!(said.matches("data:image/png").count(), 4);
    // Warnings come as items, after the first line and before the turn.
    let types: Vec<String> =
        first.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(types[0], "thread.started");
    let turn = types.iter().position(|kind| kind == "turn.started").unwrap();
    assert!(types[1..turn].iter().all(|kind| kind == "item.completed") && turn > 1, "{types:?}");
    assert_eq!(types.last().unwrap(), "turn.completed");
    let warning = &first.events()[1]["item"];
    assert_eq!(warning["type"], "error", "{warning}");
}
