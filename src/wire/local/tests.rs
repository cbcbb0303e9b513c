//! Answers of local servers, as documented or seen, and what is read from them.

use serde_json::json;

use super::*;

/// A llama.cpp of October 2026, shortened to what counts.
const LLAMACPP_PROPS: &str = r#"{"default_generation_settings":{"params":{"seed":4294967295},"n_ctx":16384},
    "total_slots":1,"model_alias":"qwen2.5-coder-1.5b-instruct","modalities":{"vision":false,"video":false,"audio":false},
    "chat_template_caps":{"supports_tools":true,"supports_tool_calls":true},"is_sleeping":false}"#;
const LLAMACPP_MODELS: &str = r#"{"models":[{"name":"qwen2.5-coder-1.5b-instruct","capabilities":["completion"]}],
    "object":"list","data":[{"id":"qwen2.5-coder-1.5b-instruct","object":"model","owned_by":"llamacpp",
    "meta":{"n_vocab":151936,"n_ctx":16384,"n_ctx_train":32768,"n_params":1777088000}}]}"#;

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_server_is_told_by_what_it_answers() {
    let table = [
        ("/api/version", 200, json!({"version": "0.13.3"}), Some(Kind::Ollama)),
        ("/api/version", 200, json!({"error": "nothing here"}), None),
        ("/api/v1/models", 200, json!({"models": [{"type": "llm", "key": "a"}]}), Some(Kind::LmStudio)),
        ("/api/v1/models", 200, json!({"models": []}), Some(Kind::LmStudio)),
        (
            "/api/v1/models",
            200,
            json!({"error": "Unexpected endpoint or method. (GET /api/v1/models)"}),
            None,
        ),
        ("/api/v1/models", 200, json!({"models": [{"name": "not of this form"}]}), None),
        ("/api/v0/models", 200, json!({"data": [{"id": "a", "state": "not-loaded"}]}), Some(Kind::LmStudio)),
        ("/props", 200, value(LLAMACPP_PROPS), Some(Kind::LlamaCpp)),
        ("/props", 404, json!({"error": {"code": 404, "type": "not_found_error"}}), None),
        ("/v1/models", 200, value(LLAMACPP_MODELS), Some(Kind::LlamaCpp)),
        ("/v1/models", 200, json!({"data": [{"id": "m", "owned_by": "vllm"}]}), Some(Kind::Vllm)),
        ("/v1/models", 200, json!({"data": [{"id": "mlx-community/x", "object": "model"}]}), None),
        ("/v1/models", 200, json!({"data": []}), None),
        ("/v1/models", 200, json!("text"), None),
        (
            "/v1/models",
            503,
            json!({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}),
            Some(Kind::LlamaCpp),
        ),
        ("/v1/models", 503, json!({"error": {"message": "busy"}}), None),
    ];
    for (path, status, body, want) in table {
        assert_eq!(read::kind(path, status, &body), want, "{path} {status} {body}");
    }
}

/// One word a fact, as a list of models shows it.
fn shown(models: &[Found]) -> String {
    let flag = |name: &str, value: Option<bool>| match value {
        Some(true) => format!(" {name}"),
        Some(false) => format!(" no-{name}"),
        None => String::new(),
    };
    let count = |value: Option<u64>| value.map_or("?".to_owned(), |n| n.to_string());
    let one = |m: &Found| {
        let state = if m.loaded { "loaded" } else { "idle" };
        let (window, trained) = (count(m.window), count(m.trained));
        format!("{} {state} {window}/{trained}{}{}", m.name, flag("vision", m.vision), flag("tools", m.tools))
    };
    models.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[test]
fn models_and_windows_are_read() {
    let tags = json!({"models": [
        {"name": "gemma3:latest", "model": "gemma3:latest", "size": 3338801804u64, "details": {"family": "gemma"}},
        {"name": "qwen3:8b", "model": "qwen3:8b"}]});
    let ps = json!({"models": [{"name": "qwen3:8b", "model": "qwen3:8b", "size_vram": 1, "context_length": 4096}]});
    assert_eq!(shown(&read::ollama(&tags, &ps)), "qwen3:8b loaded 4096/?; gemma3:latest idle ?/?");
    let old = json!({"models": [{"name": "qwen3:8b"}]});
    assert_eq!(shown(&read::ollama(&Value::Null, &old)), "qwen3:8b loaded ?/?");

    let lmstudio = json!({"models": [
        {"type": "llm", "key": "openai/gpt-oss-20b", "max_context_length": 131072,
         "loaded_instances": [{"id": "openai/gpt-oss-20b", "config": {"context_length": 8192}}],
         "capabilities": {"vision": false, "trained_for_tool_use": true}},
        {"type": "embedding", "key": "nomic", "loaded_instances": [{"id": "nomic"}]},
        {"type": "llm", "key": "qwen2-vl", "loaded_instances": [], "max_context_length": 32768,
         "capabilities": {"vision": true, "trained_for_tool_use": false}}]});
    assert_eq!(
        shown(&read::lmstudio(&lmstudio)),
        "openai/gpt-oss-20b loaded 8192/131072 no-vision tools; qwen2-vl idle ?/32768 vision no-tools"
    );
    let old = json!({"data": [
        {"id": "qwen2-vl-7b", "type": "vlm", "state": "not-loaded", "max_context_length": 32768},
        {"id": "llama-3.1-8b", "type": "llm", "state": "loaded", "max_context_length": 131072,
         "loaded_context_length": 4096, "capabilities": ["tool_use"]},
        {"id": "nomic", "type": "embeddings", "state": "loaded"}]});
    assert_eq!(
        shown(&read::lmstudio_old(&old)),
        "qwen2-vl-7b idle ?/32768 vision; llama-3.1-8b loaded 4096/131072 no-vision tools"
    );

    let (models, props) = (value(LLAMACPP_MODELS), value(LLAMACPP_PROPS));
    let all = "qwen2.5-coder-1.5b-instruct loaded 16384/32768 no-vision tools";
    assert_eq!(shown(&read::llamacpp(&models, &props)), all);
    // Properties may be closed to others; the list says the window too.
    assert_eq!(
        shown(&read::llamacpp(&models, &Value::Null)),
        "qwen2.5-coder-1.5b-instruct loaded 16384/32768"
    );
    let router = json!({"data": [
        {"id": "a", "owned_by": "llamacpp", "status": {"value": "loaded"}},
        {"id": "b", "owned_by": "llamacpp", "status": {"value": "unloaded"}}]});
    assert_eq!(shown(&read::llamacpp(&router, &props)), "a loaded ?/?; b idle ?/?");

    let vllm = json!({"data": [{"id": "Qwen/Qwen3-8B", "owned_by": "vllm", "max_model_len": 40960}]});
    assert_eq!(shown(&read::vllm(&vllm)), "Qwen/Qwen3-8B loaded 40960/40960");
}

#[test]
fn answers_of_any_form_are_survived() {
    let odd = [
        json!(null),
        json!([]),
        json!({"models": {}, "data": "x"}),
        json!({"models": [null, 1, {}, {"name": 3}], "data": [[], {"id": "\u{1b}[2J"}, {"id": ""}]}),
    ];
    for body in &odd {
        for models in [
            read::ollama(body, body),
            read::lmstudio(body),
            read::lmstudio_old(body),
            read::llamacpp(body, body),
            read::vllm(body),
        ] {
            assert_eq!(shown(&models), "", "{body}");
        }
        for path in ["/api/version", "/api/v1/models", "/api/v0/models", "/props", "/v1/models", "/else"] {
            assert_eq!(read::kind(path, 500, body), None);
        }
    }
    let many: Vec<Value> = (0..10_000).map(|n| json!({"id": format!("m{n}")})).collect();
    assert_eq!(read::vllm(&json!({ "data": many })).len(), 10_000);
}

#[test]
fn ollamas_own_variable_is_read_as_it_reads_it() {
    let table = [
        ("127.0.0.1:11500", Some("http://127.0.0.1:11500/v1")),
        ("0.0.0.0", Some("http://127.0.0.1:11434/v1")),
        ("0.0.0.0:80", Some("http://127.0.0.1/v1")),
        (":5000", Some("http://127.0.0.1:5000/v1")),
        ("http://0.0.0.0:11500/", Some("http://127.0.0.1:11500/v1")),
        ("https://ollama.example", Some("https://ollama.example/v1")),
        ("http://ollama.example", Some("http://ollama.example/v1")),
        ("box.lan", Some("http://box.lan:11434/v1")),
        ("localhost", Some("http://localhost:11434/v1")),
        ("[::1]:1234", Some("http://[::1]:1234/v1")),
        ("[::]", Some("http://[::1]:11434/v1")),
        ("::1", Some("http://[::1]:11434/v1")),
        ("http://h.example/ollama/", Some("http://h.example/ollama/v1")),
        ("\"127.0.0.1\"", Some("http://127.0.0.1:11434/v1")),
        ("", None),
        ("ftp://h.example", None),
        ("a b", None),
    ];
    for (given, want) in table {
        assert_eq!(ollama_host(given).as_deref(), want, "{given:?}");
    }
}
