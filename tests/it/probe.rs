//! What is learnt of a local model before it works: the probe and its memory, windows, classes.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::bad::said;
use crate::kit::{Ran, Tack};
use crate::local::{home, ollama, serves};
use crate::server::*;

const MODEL: &str = "llamacpp/coder-8b";

/// What a llama.cpp tells of one model, with this chat template.
fn props(template: &str, window: u64) -> Value {
    json!({"default_generation_settings": {"n_ctx": window}, "build_info": "b9000", "chat_template": template,
        "chat_template_caps": {"supports_tool_calls": true}, "modalities": {"vision": false}})
}

fn models(name: &str, parameters: u64) -> Value {
    json!({"data": [{"id": name, "owned_by": "llamacpp", "meta": {"n_params": parameters}}]})
}

fn llama(script: Vec<Reply>) -> Server {
    let models = models("coder-8b", 8_030_261_248);
    serves(script, &[("/v1/models", models), ("/props", props("stock", 16384))])
}

fn in_json() -> Reply {
    let call = json!({"name": "bash", "arguments": {"command": "ls"}});
    sse([txt(&format!("```json\n{call}\n```")), end("stop"), usage(150, 25), done()])
}

fn held() -> Reply {
    sse([txt("{\"ok\":true}"), end("stop"), usage(30, 5), done()])
}

fn auto(server: &Server) -> Tack {
    home(&[("llamacpp", server.url())]).env("TACK_HARNESS", "auto")
}

fn posts(server: &Server) -> Vec<Request> {
    server.requests().into_iter().filter(|request| request.method == "POST").collect()
}

const ASKING: &str = "asking coder-8b twice how it calls tools (once for this server)\n";

#[test]
fn a_model_is_asked_once_and_told_of() {
    let server = llama(vec![in_json(), held(), says("one"), says("two")]);
    let tack = auto(&server);
    let ran = tack.run(["-p", "hi", "-m", MODEL]).code(0);
    assert_eq!(ran.stdout, "one\n");
    assert!(ran.stderr.starts_with(ASKING), "{}", ran.stderr);
    assert!(ran.stderr.contains("its calls come back as text that tack reads (json)"), "{}", ran.stderr);
    let asked = posts(&server);
    assert_eq!(
        (asked.len(), &asked[0].body["max_tokens"], &asked[1].body["max_tokens"]),
        (3, &json!(64), &json!(16))
    );
    assert!(asked[0].body["tools"].is_array() && asked[1].body["response_format"].is_object());
    let small: usize = asked[..2].iter().map(|request| request.body.to_string().len()).sum();
    assert!(small / 4 < 250, "{small} bytes, all of JSON with them");

    let ran = tack.run(["-p", "hi", "-m", MODEL]).code(0);
    assert_eq!((ran.stdout.as_str(), posts(&server).len()), ("two\n", 4));
    assert!(!ran.stderr.contains("asking"), "{}", ran.stderr);
    let (_, gets): (Vec<_>, Vec<_>) =
        server.requests().into_iter().partition(|request| request.method == "POST");
    assert_eq!(gets.len(), 4, "two small pages a run");
    let harness =
        |log: &std::path::PathBuf| std::fs::read_to_string(log).unwrap().contains("\"harness\":\"local\"");
    assert!(tack.logs().iter().all(harness), "nobody claims it");
}

#[test]
fn another_template_or_a_broken_memory_asks_anew() {
    let template = Arc::new(Mutex::new("stock"));
    let now = template.clone();
    let server = Server::with(vec![], move |request| match request.path.as_str() {
        "/props" => Some(json_body(200, &props(*now.lock().unwrap(), 16384))),
        "/v1/models" => Some(json_body(200, &models("coder-8b", 8_030_261_248))),
        _ => None,
    });
    let tack = auto(&server);
    let asks = || tack.run(["-p", "hi", "-m", MODEL]).code(0).stderr.contains(ASKING);
    let memory = || std::fs::read_dir(tack.home().join("models")).unwrap().next().unwrap().unwrap().path();
    assert_eq!((asks(), asks()), (true, false));
    *template.lock().unwrap() = "own";
    assert_eq!((asks(), asks()), (true, false), "another template");
    for broken in ["", "{\"version\":1", "\u{0}"] {
        std::fs::write(memory(), broken).unwrap();
        assert_eq!((asks(), asks()), (true, false), "{broken:?}");
    }
    std::fs::remove_file(memory()).unwrap();
    assert!(asks(), "none");
}

#[test]
fn whom_nobody_asks_is_not_asked_and_what_is_known_counts_all_the_same() {
    let server = llama(vec![says("one"), in_json(), held(), says("two"), says("three")]);
    let tack = home(&[("llamacpp", server.url())]);
    let folder = tack.home().join("harnesses/mine");
    std::fs::create_dir_all(&folder).unwrap();
    let manifest = "extends = \"minimal\"\n[probed.text.request]\ntop_k = 7\n";
    std::fs::write(folder.join("harness.toml"), manifest).unwrap();
    for harness in ["mine", "auto", "mine"] {
        tack.run(["-p", "hi", "-m", MODEL, "--harness", harness]).code(0);
    }
    let asked = posts(&server);
    assert_eq!(asked.len(), 5);
    assert_eq!((&asked[0].body["top_k"], &asked[4].body["top_k"]), (&Value::Null, &json!(7)));

    // A harness set for the model is as good as one for the run.
    let set = Server::start(vec![]);
    let tack = auto(&set);
    let path = tack.home().join("config.toml");
    tack::config::keep_harness(&path, MODEL, "pi").unwrap();
    tack.run(["-p", "hi", "-m", MODEL]).code(0);
    assert_eq!(posts(&set).len(), 1);
    assert!(std::fs::read_to_string(&tack.logs()[0]).unwrap().contains("\"harness\":\"pi\""));

    // Somebody else's models, behind a proxy on this machine or not.
    let proxy = Server::start(vec![]);
    let tack = Tack::bare().env("ACME_KEY", "k");
    tack.config(&format!("[model_providers.acme]\nbase_url = \"{}\"\nenv_key = \"ACME_KEY\"\n", proxy.url()));
    let ran = tack.run(["-p", "hi", "-m", "acme/m"]).code(0);
    assert!(!ran.stderr.contains("asking"), "{}", ran.stderr);
    assert_eq!(proxy.requests().len(), 1);
}

#[test]
fn a_probe_that_goes_wrong_ends_no_run() {
    let endless = || sse((0..20_000).map(|_| txt("la ")).chain([end("stop"), done()]));
    let table: Vec<(&str, Vec<Reply>, &str)> = vec![
        ("refused", vec![error(400, "no such field: tools")], "how its calls come back is not known"),
        ("fails", vec![error(500, "out of order")], "how its calls come back is not known"),
        ("dies", vec![hangs_up()], "how its calls come back is not known"),
        (
            "no tools",
            vec![error(400, "m does not support tools"), held()],
            "no call came back that tack can read",
        ),
        ("empty", vec![sse([end("stop"), done()]), sse([end("stop"), done()])], "no call came back"),
        ("nonsense", vec![says("\u{fffd}}{[<tool"), says("}{")], "no call came back"),
        ("without an end", vec![endless(), endless()], "no call came back"),
    ];
    for (what, mut script, want) in table {
        script.push(says("done"));
        let server = llama(script);
        let ran = auto(&server).run(["-p", "hi", "-m", MODEL]).code(0);
        assert_eq!(ran.stdout, "done\n", "{what}");
        assert!(ran.stderr.contains(want), "{what}: {}", ran.stderr);
    }
    let server = Server::with(vec![], |request| {
        let page = |body: &Value| Some(json_body(200, body));
        match request.path.as_str() {
            "/props" => page(&props("stock", 16384)),
            "/v1/models" => page(&models("coder-8b", 8_030_261_248)),
            _ => Some(silent()),
        }
    });
    let ran = auto(&server).run(["-p", "hi", "-m", MODEL, "--timeout", "1"]).code(3);
    assert!(ran.stderr.contains("was not ready within the time limit"), "{}", ran.stderr);
}

#[test]
fn a_server_that_loads_its_model_is_waited_for() {
    let seen = Mutex::new(0);
    let loading = json!({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}});
    let server = Server::with(vec![in_json(), held(), says("done")], move |request| {
        let mut seen = seen.lock().unwrap();
        *seen += 1;
        match request.path.as_str() {
            _ if *seen <= 2 => Some(json_body(503, &loading)),
            "/props" => Some(json_body(200, &props("stock", 16384))),
            "/v1/models" => Some(json_body(200, &models("coder-8b", 8_030_261_248))),
            _ => None,
        }
    });
    let ran = auto(&server).run(["-p", "hi", "-m", MODEL]).code(0);
    assert!(ran.stderr.starts_with(&format!("llama.cpp is loading the model\n{ASKING}")), "{}", ran.stderr);
    assert_eq!((ran.stdout.as_str(), posts(&server).len()), ("done\n", 3));
}

#[test]
fn a_window_too_small_for_the_family_gets_the_local_harness() {
    let pages = [("/v1/models", models("qwen3-8b", 8_190_735_360)), ("/props", props("stock", 4096))];
    let server = serves(vec![in_json(), held(), says("ok"), says("ok")], &pages);
    let tack = auto(&server);
    let ran = tack.run(["-p", "hi", "-m", "llamacpp/qwen3-8b"]).code(0);
    assert!(
        ran.stderr.contains("the window of qwen3-8b has 4096 tokens, and harness qwen-code"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("harness local is used; start the server with a larger one"),
        "{}",
        ran.stderr
    );
    assert!(std::fs::read_to_string(&tack.logs()[0]).unwrap().contains("\"harness\":\"local\""));
    let ran = tack.run(["-p", "hi", "-m", "llamacpp/qwen3-8b", "--harness", "qwen-code"]).code(0);
    assert!(ran.stderr.contains("or take a smaller harness: --harness local"), "{}", ran.stderr);
    // The doctor names the one that is used, also where the window is only assumed.
    let idle = ollama_with(0, vec![]);
    let here = tack.run(["doctor", "-m", "llamacpp/qwen3-8b"]);
    let tack = home(&[("ollama", idle.url())]);
    let assumed = tack.run(["doctor", "-m", "ollama/qwen3:8b", "-c", "harness=\"auto\""]);
    for ran in [here, assumed] {
        assert!(ran.stdout.contains("harness        local, over the chat wire"), "{}", ran.stdout);
    }
}

fn ollama_with(window: u64, script: Vec<Reply>) -> Server {
    let entry = json!({"name": "qwen3:8b", "digest": "d", "details": {"parameter_size": "8.2B"}});
    let mut running = entry.clone();
    running["context_length"] = json!(window);
    let running = if window == 0 { vec![] } else { vec![running] };
    let pages = [
        ("/api/version", json!({"version": "0.13.3"})),
        ("/api/ps", json!({ "models": running })),
        ("/api/tags", json!({"models": [entry]})),
    ];
    serves(script, &pages)
}

#[test]
fn ollama_is_not_sent_what_it_would_cut() {
    let remedy = "OLLAMA_CONTEXT_LENGTH=32768 ollama serve";
    let run = |server: &Server, prompt: &str| {
        home(&[("ollama", server.url())]).run(["-p", prompt, "-m", "ollama/qwen3:8b"])
    };
    let long = "many words of it ".repeat(1_000);
    let small = ollama_with(4096, vec![]);
    let ran = run(&small, &long).code(1);
    assert!(ran.stderr.contains("has room for 4096") && ran.stderr.contains(remedy), "{}", ran.stderr);
    assert_eq!(posts(&small).len(), 0);

    let large = ollama_with(32768, vec![says("ok")]);
    let ran = run(&large, &long).code(0);
    assert!(!ran.stderr.contains(remedy), "{}", ran.stderr);

    // It says that it has read less than there was.
    let call = || call(0, "", "bash", "{\"command\":\"echo\"}");
    let cut = ollama_with(
        32768,
        vec![
            sse([call(), end("tool_calls"), usage(2048, 5), done()]),
            sse([txt("ok"), end("stop"), usage(2048, 5), done()]),
        ],
    );
    let ran = run(&cut, &"many words of it ".repeat(2_000)).code(0);
    assert_eq!(ran.stderr.matches(remedy).count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("the server read 2048 of about 9"), "{}", ran.stderr);

    // Nor by a word that promises more than is loaded.
    let set = home(&[("ollama", small.url())]);
    let ran = set.run(["-p", &long, "-m", "ollama/qwen3:8b", "-c", "model_context_window=99999"]).code(1);
    assert!(ran.stderr.contains("has room for 4096"), "{}", ran.stderr);

    let idle = ollama_with(0, vec![says("ok")]);
    let ran = run(&idle, "hi").code(0);
    assert!(ran.stderr.contains("4096 tokens are assumed") && ran.stderr.contains(remedy), "{}", ran.stderr);
    let unlike = home(&[("llamacpp", idle.url())]).run(["-p", &long, "-m", "llamacpp/m"]).code(0);
    assert!(!unlike.stderr.contains("assumed"), "{}", unlike.stderr);
}

#[test]
fn what_ollama_had_loaded_is_what_it_will_load() {
    let loaded = Arc::new(Mutex::new(true));
    let now = loaded.clone();
    let one = |name: &str| json!({"models": [{"name": name, "context_length": 32768}]});
    let server = Server::with(vec![], move |request| match request.path.as_str() {
        "/api/version" => Some(json_body(200, &json!({"version": "0.13.3"}))),
        "/api/ps" if *now.lock().unwrap() => Some(json_body(200, &one("qwen3:8b"))),
        "/api/ps" => Some(json_body(200, &json!({"models": []}))),
        "/api/tags" => Some(json_body(200, &one("qwen3:8b"))),
        _ => None,
    });
    let tack = home(&[("ollama", server.url())]);
    tack.run(["-p", "hi", "-m", "ollama/qwen3:8b"]).code(0);
    *loaded.lock().unwrap() = false;
    let ran = tack.run(["-p", "hi", "-m", "ollama/qwen3:8b"]).code(0);
    assert!(!ran.stderr.contains("assumed"), "{}", ran.stderr);
}

#[test]
fn the_probe_and_the_class_are_shown() {
    let shown = |tack: &Tack, what: &str, args: &[&str], code: i32| {
        let ran = tack.run(args).code(code);
        let both = Ran { code, stdout: String::new(), stderr: format!("{}{}", ran.stdout, ran.stderr) };
        format!("$ {what} [{code}]\n{}\n", said(tack, &both))
    };
    let server = llama(vec![in_json(), held(), in_json(), held(), error(500, "out of order")]);
    let tack = auto(&server);
    let doctor = ["doctor", "-s", "danger-full-access", "-m", MODEL];
    let mut text = shown(&tack, "doctor, nobody has asked", &doctor, 0);
    text += &shown(&tack, "models --test", &["models", "--test", "-m", MODEL], 0);
    text += &shown(&tack, "doctor", &doctor, 0);
    text += &shown(&tack, "doctor --call", &[&doctor[..], &["--call"]].concat(), 0);
    text += &shown(&tack, "models --test, failing", &["models", "--test", "-m", MODEL], 1);
    text += &shown(&tack, "models --test, hosted", &["models", "--test", "-m", "openai/gpt-5.5"], 2);
    text += &shown(&home(&[]), "models --test, not there", &["models", "--test", "-m", MODEL], 1);
    let call = sse([thought("hm"), call(0, "", "bash", "{\"command\":\"ls\"}"), end("tool_calls"), done()]);
    let other = ollama(vec![call, says("Once upon a time")], &["qwen3:8b"], &["qwen3:8b"]);
    let tack = home(&[("ollama", other.url())]);
    text += &shown(&tack, "models --test, real calls", &["models", "--test", "-m", "ollama/qwen3:8b"], 0);
    text += &shown(&tack, "models --local", &["models", "--local"], 0);
    insta::assert_snapshot!(text);

    let pages = [("/v1/models", models("qwen-coder", 1_777_088_000)), ("/props", props("stock", 16384))];
    let server = serves(vec![in_json(), held()], &pages);
    // Nobody named one: it is the one that is loaded.
    let tested = auto(&server).run(["models", "--test", "--json"]).code(0);
    let tested: Value = serde_json::from_str(&tested.stdout).unwrap();
    let probed = json!({"calls": "text", "form": "json", "schema": true});
    assert_eq!(
        (&tested["probed"], &tested["class"], &tested["class_by"]),
        (&probed, &json!("S"), &json!("server"))
    );
    assert_eq!((&tested["harness"], &tested["input_tokens"]), (&json!("local"), &json!(180)));
}

#[test]
fn a_harness_is_shown_as_a_class_sees_it() {
    let tack = Tack::bare();
    let head = |args: &[&str]| {
        let ran = tack.run([&["harness", "show", "minimal"], args].concat()).code(0);
        let (class, tables) = ran.stdout.lines().nth(1).unwrap().split_once("; ").unwrap();
        assert!(tables.starts_with("it has tables for S"), "{tables}");
        class.to_owned()
    };
    assert_eq!(head(&[]), "class F, as hosted models are");
    assert_eq!(head(&["--class", "s"]), "class S, as asked for");
    let by_name = "class S, as qwen2.5-coder:1.5b is by the size in its name";
    assert_eq!(head(&["--model", "ollama/qwen2.5-coder:1.5b"]), by_name);
    tack.config("model = \"ollama/x\"\nmodel_class = \"L\"\n[models.\"ollama/y\"]\nclass = \"S\"\n");
    assert_eq!(head(&[]), "class L, as x is by the configuration");
    assert_eq!(head(&["-m", "ollama/y"]), "class S, as y is by the configuration");
    let body =
        |class: &str| tack.run(["harness", "show", "minimal", "--json", "--class", class]).code(0).stdout;
    assert_ne!(body("S"), body("M"));
    assert_eq!(tack.run(["harness", "show", "minimal", "--class", "X"]).code, 2);
}
