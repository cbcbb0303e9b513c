//! `tack providers`, `tack models` and `tack doctor`: what there is, and whether it works.

use serde_json::{Value, json};

use crate::bad::said;
use crate::kit::{Ran, Tack};
use crate::local::{home, llamacpp, ollama, serves};
use crate::server::*;

const KEY: &str = "sk-very-secret-0123456789";

/// What a run printed, without what differs from run to run.
fn shown(tack: &Tack, what: &str, ran: &Ran) -> String {
    assert!(!ran.stderr.contains("panicked"), "{what}: {}", ran.stderr);
    assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{what}: the key was shown");
    let both = Ran { code: ran.code, stdout: String::new(), stderr: format!("{}{}", ran.stdout, ran.stderr) };
    format!("{what} [{}]\n{}\n", ran.code, said(tack, &both))
}

/// A provider of its own at this server, with its key in a variable.
fn acme(server: &Server) -> Tack {
    let tack = Tack::bare().env("ACME_API_KEY", KEY);
    tack.config(&format!(
        "model = \"m1\"\nmodel_provider = \"acme\"\nharness = \"minimal\"\n\
         [model_providers.acme]\nname = \"Acme\"\nbase_url = \"{}?token={KEY}\"\nenv_key = \"ACME_API_KEY\"\n\
         request_max_retries = 0\nstream_max_retries = 0\n[prices.\"acme/m1\"]\ninput = 1.0\noutput = 2.0\n",
        server.url()
    ));
    tack
}

#[test]
fn providers_are_listed_with_where_their_keys_are() {
    let server = Server::start(vec![]);
    let tack = acme(&server).env("OPENROUTER_API_KEY", KEY);
    tack.run_with_stdin(["login", "--file", "groq"], KEY).code(0);
    let ran = tack.run(["providers"]).code(0);
    let mine = |line: &&str| {
        ["acme", "openrouter", "groq", "mistral", "ollama"].iter().any(|id| line.starts_with(id))
    };
    let lines: Vec<&str> = ran.stdout.lines().filter(mine).collect();
    let ran = Ran { stdout: lines.join("\n"), ..ran };
    insta::assert_snapshot!(shown(&tack, "providers", &ran));
    for line in tack.run(["providers", "--json"]).code(0).stdout.lines() {
        let one: Value = serde_json::from_str(line).unwrap();
        assert!(one["id"].is_string() && one["base_url"].is_string() && !line.contains(KEY), "{line}");
    }
    assert_eq!(server.requests().len(), 0, "listing asks nobody");
}

#[test]
fn models_are_listed_as_known_and_as_the_service_lists_them() {
    let many: Vec<Value> =
        (0..10_000).map(|n| json!({"id": format!("m{n:05}"), "object": "model"})).collect();
    let table = [
        (
            "openai's form",
            json_body(
                200,
                &json!({"object": "list", "data": [{"id": "b"}, {"id": "m1", "context_length": 8192}]}),
            ),
        ),
        (
            "anthropic's form",
            json_body(
                200,
                &json!({"data": [{"type": "model", "id": "c-1", "display_name": "C"}], "has_more": false}),
            ),
        ),
        ("empty", json_body(200, &json!({"data": []}))),
        ("a page", text_body(200, "text/html", "<!doctype html><html><body>Welcome</body></html>")),
        ("other JSON", json_body(200, &json!({"hello": "world"}))),
        ("refused", error(401, &format!("Incorrect API key provided: {KEY}"))),
        ("no such path", error(404, "not found")),
        ("gone", hangs_up()),
    ];
    let mut text = String::new();
    for (what, reply) in table {
        let server = Server::with(vec![], move |_| Some(reply.clone()));
        let tack = acme(&server);
        let ran = tack.run(["models", "--provider", "acme"]);
        text += &shown(&tack, what, &ran);
        let request = &server.requests()[0];
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()), "{what}");
    }
    insta::assert_snapshot!(text);

    let all = json!({"data": [{"type": "model", "id": "c-1"}], "has_more": false});
    let server = Server::with(vec![], move |_| Some(json_body(200, &all)));
    let tack = acme(&server);
    tack.run(["-c", "model_providers.acme.wire_api=messages", "models", "--provider", "acme"]).code(0);
    let request = &server.requests()[0];
    assert!(request.path.ends_with("limit=1000"), "{}", request.path);
    assert!(request.header("anthropic-version").is_some());

    let server = Server::with(vec![], move |_| Some(json_body(200, &json!({ "data": many }))));
    let tack = acme(&server);
    let ran = tack.run(["models", "--provider", "acme", "--json"]).code(0);
    assert_eq!(ran.events().len(), 10_000);

    let known = tack.run(["models", "--json"]).code(0).events();
    let deepseek = known.iter().find(|one| one["model"] == "deepseek-v4-pro").unwrap();
    assert!(
        deepseek["window"].is_u64() && deepseek["prices"]["input"].is_f64() && deepseek["as_of"].is_string()
    );
}

#[test]
fn local_models_are_listed_with_what_is_loaded() {
    let llama = llamacpp(vec![], 16384);
    let other = ollama(vec![], &["qwen3:8b"], &["qwen3:8b", "gemma3:latest"]);
    let tack = home(&[("llamacpp", llama.url()), ("ollama", other.url())]);
    let mut text = shown(&tack, "local", &tack.run(["models", "--local"]));
    let none = home(&[]);
    text += &shown(&none, "none", &none.run(["models", "--local"]));
    insta::assert_snapshot!(text);
    assert_eq!(tack.run(["models", "--local", "--json"]).code(0).events().len(), 3);
}

#[test]
fn doctor_says_what_works_and_what_does_not() {
    let args = json!({"command": "ls"});
    let list = || json!({"data": [{"id": "m1", "context_length": 8192}]});
    let counted = |reply: Vec<Frame>| sse(reply.into_iter().chain([usage(100, 20), done()]));
    let call_back = counted(vec![call(0, "a", "bash", &args.to_string()), end("tool_calls")]);
    let in_text = counted(vec![
        txt(&format!("```json\n{{\"name\": \"bash\", \"arguments\": {args}}}\n```")),
        end("stop"),
    ]);
    let in_words = counted(vec![txt("It is warm."), end("stop")]);
    let mut text = String::new();
    for (what, script, want) in [
        ("a call comes back", vec![call_back], 0),
        ("it comes back as text", vec![in_text], 0),
        ("none comes back", vec![in_words], 0),
        ("the server fails", vec![error(500, "out of order")], 1),
    ] {
        let server = serves(script, &[(&format!("/v1/models?token={KEY}"), list())]);
        let tack = acme(&server);
        let ran = tack.run(["doctor", "--call", "-s", "danger-full-access"]).code(want);
        text += &shown(&tack, what, &ran);
        assert_eq!(server.requests().len(), 2, "{what}: a list and a call");
    }
    let without = ["doctor", "-s", "danger-full-access"];
    let none = Server::start(vec![]);
    let llama = llamacpp(vec![], 700);
    let page = Server::with(vec![], |_| Some(text_body(200, "text/html", "<html></html>")));
    let refused = Server::with(vec![], |_| Some(error(401, &format!("no such key: {KEY}"))));
    type Make<'a> = Box<dyn Fn() -> Tack + 'a>;
    let table: Vec<(&str, Make, Vec<&str>, i32)> = vec![
        ("no list", Box::new(|| acme(&none)), vec![], 0),
        ("a page", Box::new(|| acme(&page)), vec![], 1),
        ("the key is refused", Box::new(|| acme(&refused)), vec![], 1),
        ("the key is missing", Box::new(|| acme(&none).env("ACME_API_KEY", " ")), vec![], 2),
        ("no model", Box::new(Tack::bare), vec![], 2),
        ("a harness that is not there", Box::new(|| acme(&none)), vec!["--harness", "nope"], 2),
        ("nobody listens", Box::new(|| home(&[])), vec!["-m", "llamacpp/m"], 1),
        (
            "a local server with little room",
            Box::new(|| home(&[("llamacpp", llama.url())])),
            vec!["--oss"],
            0,
        ),
        (
            "another model is loaded",
            Box::new(|| home(&[("llamacpp", llama.url())])),
            vec!["-m", "llamacpp/x"],
            0,
        ),
        (
            "a broken configuration",
            Box::new(|| {
                let tack = Tack::bare();
                tack.config("model = \n");
                tack
            }),
            vec![],
            2,
        ),
    ];
    for (what, make, args, want) in table {
        let tack = make();
        let ran = tack.run(without.iter().chain(&args)).code(want);
        text += &shown(&tack, what, &ran);
    }
    insta::assert_snapshot!(text);

    let tack = acme(&none);
    let report: Value = serde_json::from_str(&tack.run(["doctor", "--json"]).stdout).unwrap();
    let names: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["configuration", "model", "harness", "key", "server", "window", "sandbox", "sessions"]
    );
}
