//! Local servers are found by what they answer, and what they have loaded is used.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::bad::row;
use crate::kit::Tack;
use crate::server::*;

/// Where nobody listens.
const NOBODY: &str = "http://127.0.0.1:1";

/// A server that answers these GETs, and POSTs with its script.
pub fn serves(script: Vec<Reply>, pages: &[(&str, Value)]) -> Server {
    let pages: Vec<(String, Reply)> =
        pages.iter().map(|(path, body)| ((*path).to_owned(), json_body(200, body))).collect();
    Server::with(script, move |request| {
        let page = pages.iter().find(|(path, _)| request.method == "GET" && *path == request.path);
        page.map(|(_, reply)| reply.clone())
    })
}

/// A home where each kind of server stands at the address given, or nowhere.
pub fn home(places: &[(&str, &str)]) -> Tack {
    let tack = Tack::bare();
    let mut config = "harness = \"minimal\"\n".to_owned();
    for id in ["ollama", "lmstudio", "llamacpp", "vllm"] {
        let at = places.iter().find(|(of, _)| *of == id).map_or(NOBODY, |(_, at)| at);
        writeln!(
            config,
            "[model_providers.{id}]\nbase_url = \"{at}\"\nrequest_max_retries = 0\nstream_max_retries = 0"
        )
        .unwrap();
    }
    tack.config(&config);
    tack
}

pub fn llamacpp(script: Vec<Reply>, window: u64) -> Server {
    let models = json!({"data": [{"id": "qwen2.5-coder-1.5b", "owned_by": "llamacpp"}]});
    let props = json!({"default_generation_settings": {"n_ctx": window}, "modalities": {"vision": false},
        "chat_template_caps": {"supports_tool_calls": true}});
    serves(script, &[("/v1/models", models), ("/props", props)])
}

pub fn ollama(script: Vec<Reply>, loaded: &[&str], there: &[&str]) -> Server {
    let list = |names: &[&str]| -> Value {
        json!({"models": names.iter().map(|n| json!({"name": n, "context_length": 8192})).collect::<Vec<_>>()})
    };
    let version = json!({"version": "0.13.3"});
    serves(script, &[("/api/version", version), ("/api/ps", list(loaded)), ("/api/tags", list(there))])
}

fn asked(server: &Server) -> Vec<String> {
    let posts = server.requests().into_iter().filter(|request| request.method == "POST");
    posts.map(|request| request.body["model"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn what_a_local_server_has_loaded_is_used_with_its_window() {
    let server = llamacpp(vec![says("hello")], 700);
    // Behind another one's address, and past a proxy that is not there.
    let tack = home(&[("vllm", server.url())]).env("http_proxy", NOBODY).env("ALL_PROXY", NOBODY);
    let ran = tack.run(["-p", "hi", "--oss"]).code(0);
    assert_eq!(ran.stdout, "hello\n");
    assert_eq!(asked(&server), ["qwen2.5-coder-1.5b"]);
    assert!(ran.stderr.contains("the window of qwen2.5-coder-1.5b has 700 tokens"), "{}", ran.stderr);
}

#[test]
fn names_and_kinds_narrow_it_down() {
    let server = ollama(vec![], &["qwen3:8b"], &["qwen3:8b", "gemma3:latest"]);
    let llama = llamacpp(vec![], 32768);
    let tack = home(&[("ollama", server.url()), ("llamacpp", llama.url())]);
    for args in [
        &["--local-provider", "ollama"][..],
        &["--oss", "-m", "qwen3:8b"],
        &["--oss", "-m", "gemma3"],
        &["--oss", "-m", "ollama/gemma3:latest"],
        &["--local-provider", "ollama", "-m", "openai/new"],
        &["--oss", "-m", "qwen2.5-coder-1.5b"],
    ] {
        tack.run([&["-p", "hi"], args].concat()).code(0);
    }
    assert_eq!(asked(&server), ["qwen3:8b", "qwen3:8b", "gemma3:latest", "gemma3:latest", "openai/new"]);
    assert_eq!(asked(&llama), ["qwen2.5-coder-1.5b"]);

    // Elsewhere by Ollama's own variable.
    let address = server.url().trim_start_matches("http://").trim_end_matches("/v1");
    let tack = Tack::bare().env("OLLAMA_HOST", address);
    let tack = tack.env("TACK_HARNESS", "minimal");
    tack.run(["-p", "hi", "--local-provider", "ollama"]).code(0);
    tack.run(["-p", "hi", "-m", "ollama/other"]).code(0);
    assert_eq!(asked(&server)[5..], ["qwen3:8b", "other"]);
}

#[test]
fn without_one_model_that_is_meant_it_is_said_what_there_is() {
    let loading =
        json_body(503, &json!({"error": {"message": "Loading model", "type": "unavailable_error"}}));
    let loading = Server::with(vec![], move |_| Some(loading.clone()));
    let page = Server::with(vec![], |_| Some(text_body(200, "text/html", "<html>a router's page</html>")));
    let two = ollama(vec![], &["a:1b", "b:1b"], &["a:1b", "b:1b"]);
    let idle = ollama(vec![], &[], &["a:1b", "b:1b"]);
    let empty = ollama(vec![], &[], &[]);
    let many: Vec<String> = (0..10_000).map(|n| format!("m{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let many = ollama(vec![], &[], &many);
    let llama = llamacpp(vec![], 4096);
    type Row<'a> = (&'a str, Vec<(&'a str, &'a str)>, &'a [&'a str]);
    let table: Vec<Row> = vec![
        ("none runs", vec![], &["--oss"]),
        ("the one asked for does not run", vec![("ollama", two.url())], &["--local-provider", "lmstudio"]),
        ("something else is there", vec![("vllm", page.url())], &["--local-provider", "vllm"]),
        ("another one is there", vec![("vllm", llama.url())], &["--local-provider", "vllm"]),
        ("several are loaded", vec![("ollama", two.url())], &["--oss"]),
        ("one each", vec![("ollama", two.url()), ("llamacpp", llama.url())], &["--oss"]),
        ("none is loaded", vec![("ollama", idle.url())], &["--oss"]),
        ("ten thousand", vec![("ollama", many.url())], &["--oss"]),
        ("no model", vec![("ollama", empty.url())], &["--oss"]),
        ("still loading", vec![("llamacpp", loading.url())], &["--oss"]),
        ("not there", vec![("ollama", two.url()), ("llamacpp", llama.url())], &["--oss", "-m", "c"]),
        ("unknown kind", vec![], &["--local-provider", "mlx"]),
    ];
    let mut text = String::new();
    for (what, places, args) in table {
        let tack = home(&places);
        let ran = tack.run([&["-p", "hi"], args].concat());
        assert!(matches!(ran.code, 1 | 2), "{what}: {}", ran.stderr);
        text += &row(what, &tack, &ran);
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_server_that_says_nothing_holds_nobody_up() {
    let mute = Server::with(vec![], |_| Some(silent()));
    let flood = Server::with(vec![], |request| {
        (request.method == "GET").then(|| text_body(200, "application/json", &"[".repeat(9 << 20)))
    });
    let llama = llamacpp(vec![says("hello")], 32768);
    let tack = home(&[("ollama", mute.url()), ("vllm", flood.url()), ("llamacpp", llama.url())]);
    let ran = tack.run(["-p", "hi", "--oss"]).code(0);
    assert_eq!(ran.stdout, "hello\n");
}
