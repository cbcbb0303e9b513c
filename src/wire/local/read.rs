//! What local servers answer, read. Forms as in their own documentation; llama.cpp's were seen.

use serde_json::{Value, json};

use super::{Found, Kind};
use crate::model::billions;
use crate::wire::models::name;

/// Which server gives this answer to a GET of this path.
pub fn kind(path: &str, status: u16, body: &Value) -> Option<Kind> {
    if is_loading(status, body) {
        return Some(Kind::LlamaCpp);
    }
    if status != 200 {
        return None;
    }
    let all = |list: &str, fits: &dyn Fn(&Value) -> bool| {
        body.get(list).and_then(Value::as_array).is_some_and(|entries| entries.iter().all(fits))
    };
    match path {
        "/api/version" => body.get("version")?.as_str().map(|_| Kind::Ollama),
        "/api/v1/models" => all("models", &|one| one["key"].is_string()).then_some(Kind::LmStudio),
        "/api/v0/models" => all("data", &|one| one["state"].is_string()).then_some(Kind::LmStudio),
        "/props" => body.get("default_generation_settings")?.is_object().then_some(Kind::LlamaCpp),
        "/v1/models" => match body["data"].get(0)?["owned_by"].as_str()? {
            "llamacpp" => Some(Kind::LlamaCpp),
            "vllm" => Some(Kind::Vllm),
            _ => None,
        },
        _ => None,
    }
}

/// llama.cpp says this on every path while it reads its model.
pub fn is_loading(status: u16, body: &Value) -> bool {
    let error = &body["error"];
    status == 503 && error["type"] == "unavailable_error" && error["message"].is_string()
}

/// `/api/tags` has all models, `/api/ps` those in memory.
pub fn ollama(tags: &Value, running: &Value) -> Vec<Found> {
    let named = |entry: &Value| name(entry.get("name").or_else(|| entry.get("model"))?);
    let loaded: Vec<Found> = entries(running, "models")
        .filter_map(|one| {
            Some(Found {
                name: named(one)?,
                loaded: true,
                window: count(&one["context_length"]),
                ..of_ollama(one)
            })
        })
        .collect();
    let others = entries(tags, "models")
        .filter_map(|one| Some(Found { name: named(one)?, ..of_ollama(one) }))
        .filter(|found| loaded.iter().all(|one| one.name != found.name));
    let others: Vec<Found> = others.collect();
    loaded.into_iter().chain(others).collect()
}

/// What both of its lists tell alike. The digest is that of all layers, the template among them.
fn of_ollama(one: &Value) -> Found {
    let parameters = size(&one["details"]["parameter_size"]);
    Found { parameters, mark: one["digest"].to_string(), ..Found::default() }
}

/// LM Studio from 0.4 on, `/api/v1/models`.
pub fn lmstudio(models: &Value) -> Vec<Found> {
    let chat = entries(models, "models").filter(|one| one["type"] != "embedding");
    chat.filter_map(|one| {
        let instance = one["loaded_instances"].get(0);
        Some(Found {
            name: name(&one["key"])?,
            loaded: instance.is_some(),
            window: instance.and_then(|instance| count(&instance["config"]["context_length"])),
            trained: count(&one["max_context_length"]),
            vision: one["capabilities"]["vision"].as_bool(),
            tools: one["capabilities"]["trained_for_tool_use"].as_bool(),
            parameters: size(&one["params_string"]),
            mark: json!([one["size_bytes"], one["quantization"], one["format"]]).to_string(),
            kind: None,
        })
    })
    .collect()
}

/// LM Studio from 0.3.6 on, `/api/v0/models`.
pub fn lmstudio_old(models: &Value) -> Vec<Found> {
    let chat = entries(models, "data").filter(|one| one["type"] != "embeddings");
    chat.filter_map(|one| {
        let abilities = one["capabilities"].as_array();
        Some(Found {
            name: name(&one["id"])?,
            loaded: one["state"] == "loaded",
            window: count(&one["loaded_context_length"]),
            trained: count(&one["max_context_length"]),
            vision: one["type"].as_str().map(|sort| sort == "vlm"),
            tools: abilities.map(|list| list.iter().any(|one| one == "tool_use")),
            mark: json!([one["quantization"], one["compatibility_type"]]).to_string(),
            ..Found::default()
        })
    })
    .collect()
}

/// llama.cpp: `/v1/models`, and `/props`, which is of the one model that is loaded.
pub fn llamacpp(models: &Value, props: &Value) -> Vec<Found> {
    let all: Vec<&Value> = entries(models, "data").collect();
    // A router lists what it could load; of which one the properties are is not said then.
    let props = if all.len() > 1 { &Value::Null } else { props };
    all.into_iter()
        .filter_map(|one| {
            let state = one["status"]["value"].as_str();
            Some(Found {
                name: name(&one["id"])?,
                loaded: state.is_none_or(|state| state == "loaded"),
                window: count(&props["default_generation_settings"]["n_ctx"])
                    .or_else(|| count(&one["meta"]["n_ctx"])),
                trained: count(&one["meta"]["n_ctx_train"]),
                vision: props["modalities"]["vision"].as_bool(),
                tools: props["chat_template_caps"]["supports_tool_calls"].as_bool(),
                parameters: count(&one["meta"]["n_params"]),
                mark: json!([
                    props["chat_template"],
                    props["model_path"],
                    props["model_ftype"],
                    one["meta"]["size"]
                ])
                .to_string(),
                kind: None,
            })
        })
        .collect()
}

/// vLLM has loaded what it lists.
pub fn vllm(models: &Value) -> Vec<Found> {
    let found = |one: &Value| {
        let window = count(&one["max_model_len"]);
        Some(Found {
            name: name(&one["id"])?,
            loaded: true,
            window,
            trained: window,
            mark: one["root"].to_string(),
            ..Found::default()
        })
    };
    entries(models, "data").filter_map(found).collect()
}

fn entries<'a>(body: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    body.get(list).and_then(Value::as_array).into_iter().flatten()
}

/// Tokens; zero is what servers write for unknown.
fn count(value: &Value) -> Option<u64> {
    value.as_u64().filter(|count| *count > 0)
}

/// Parameters, from a size in words: `7.6B`, `494.03M`.
fn size(value: &Value) -> Option<u64> {
    value.as_str().and_then(billions).map(|size| (size * 1e9) as u64)
}
