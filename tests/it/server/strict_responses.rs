//! The rules of the responses API, as OpenAI enforces them for a client that stores nothing there.

use std::collections::HashMap;

use serde_json::Value;
use tack::model::WireKind;

use super::Seal;
use super::strict::{Verdict, image_url, json_text, list, must, object_schema, tools, word};

/// Top-level fields that the service knows; it refuses all others.
const FIELDS: [&str; 26] = [
    "background",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_p",
    "truncation",
    "user",
];

/// A call without its answer yet.
struct Open<'a> {
    answer: &'static str,
    id: &'a str,
}

pub(super) fn check(body: &Value, seal: &Seal) -> Verdict {
    for field in body.as_object().into_iter().flat_map(|body| body.keys()) {
        must(FIELDS.contains(&field.as_str()), || format!("Unknown parameter: '{field}'"))?;
    }
    let limit = &body["max_output_tokens"];
    must(limit.is_null() || limit.as_u64().is_some_and(|n| n >= 16), || {
        format!("max_output_tokens: {limit} is below the minimum of 16")
    })?;
    let stored = body["store"] != false;
    tools(body, tool)?;
    if let Some(text) = body["input"].as_str() {
        return must(!text.is_empty(), || "input: must not be empty".into());
    }
    let items = list(&body["input"], "input")?;
    let mut open: Vec<Open> = Vec::new();
    let mut ids = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        let place = format!("input[{at}]");
        let kind = item["type"].as_str().unwrap_or("message");
        own_id(item, kind, &place)?;
        match kind {
            "message" => message(item, &place)?,
            "function_call" | "custom_tool_call" => {
                let id = call(item, kind, &place)?;
                must(ids.insert(id, at).is_none(), || format!("{place}: the call_id {id:?} is used twice"))?;
                let answer =
                    if kind == "function_call" { "function_call_output" } else { "custom_tool_call_output" };
                open.push(Open { answer, id });
            }
            "function_call_output" | "custom_tool_call_output" => {
                let id = item["call_id"].as_str().unwrap_or_default();
                let found = open.iter().position(|open| open.id == id && open.answer == kind);
                let found = found.ok_or_else(|| {
                    format!("{place}: No tool call found for function call output with call_id {id}")
                })?;
                open.remove(found);
                output(&item["output"], &place)?;
            }
            "reasoning" => {
                let next = items.get(at + 1).map(|next| (next["type"].as_str().unwrap_or("message"), next));
                let goes_on = next.is_some_and(|(kind, next)| match kind {
                    "message" => next["role"] == "assistant",
                    other => matches!(other, "function_call" | "custom_tool_call" | "reasoning"),
                });
                must(goes_on, || {
                    format!(
                        "{place}: an item of type 'reasoning' was provided without its required following item"
                    )
                })?;
                reasoning(item, stored, seal, &place)?;
            }
            other => return Err(format!("{place}: Invalid value: '{other}'")),
        }
    }
    must(open.is_empty(), || format!("input: No tool output found for function call {}", open[0].id))
}

/// Ids of items have to look as the service made them, and nothing is stored to be named by one.
fn own_id(item: &Value, kind: &str, place: &str) -> Verdict {
    let Some(id) = item.get("id").filter(|id| !id.is_null()) else { return Ok(()) };
    let prefix = match kind {
        "message" => "msg",
        "function_call" => "fc",
        "custom_tool_call" => "ctc",
        "reasoning" => "rs",
        _ => "",
    };
    must(id.as_str().is_some_and(|id| id.starts_with(prefix)), || {
        format!("{place}: Expected an ID that begins with '{prefix}', got {id}")
    })
}

fn message(item: &Value, place: &str) -> Verdict {
    let role = item["role"].as_str().unwrap_or_default();
    let kinds: &[&str] = match role {
        "user" | "system" | "developer" => &["input_text", "input_image"],
        "assistant" => &["output_text", "refusal"],
        other => return Err(format!("{place}: unknown role {other:?}")),
    };
    content(&item["content"], kinds, place)
}

fn content(content: &Value, kinds: &[&str], place: &str) -> Verdict {
    if let Some(text) = content.as_str() {
        return must(!text.is_empty(), || format!("{place}: the content must not be empty"));
    }
    for part in list(content, place)? {
        let kind = part["type"].as_str().unwrap_or_default();
        must(kinds.contains(&kind), || format!("{place}: Invalid value: '{kind}'. Supported are {kinds:?}"))?;
        match kind {
            "input_image" => image_url(&part["image_url"], place)?,
            "refusal" => must(part["refusal"].is_string(), || format!("{place}: a refusal without words"))?,
            _ => must(part["text"].as_str().is_some_and(|text| !text.is_empty()), || {
                format!("{place}: an empty text")
            })?,
        }
    }
    Ok(())
}

fn call<'a>(item: &'a Value, kind: &str, place: &str) -> Result<&'a str, String> {
    let id = item["call_id"].as_str().unwrap_or_default();
    must((1..=64).contains(&id.len()), || {
        format!("{place}: the call_id {id:?} must have 1 to 64 characters")
    })?;
    must(word(&item["name"], 128), || {
        format!("{place}: the name {} does not match the pattern", item["name"])
    })?;
    match kind {
        "function_call" => json_text(&item["arguments"], place)?,
        _ => must(item["input"].is_string(), || format!("{place}: the input must be a text"))?,
    }
    Ok(id)
}

/// An output may be empty: commands often say nothing.
fn output(output: &Value, place: &str) -> Verdict {
    if output.is_string() { Ok(()) } else { content(output, &["input_text", "input_image"], place) }
}

fn reasoning(item: &Value, stored: bool, seal: &Seal, place: &str) -> Verdict {
    must(item["summary"].is_array(), || format!("{place}: summary: field required"))?;
    let Some(sealed) = item["encrypted_content"].as_str() else {
        return must(stored, || {
            format!(
                "{place}: items are not persisted when `store` is false, and this one has no encrypted content"
            )
        });
    };
    must(seal.is_own(WireKind::Responses, sealed), || {
        format!("{place}: The encrypted content could not be verified")
    })
}

fn tool(tool: &Value) -> Verdict {
    let name = &tool["name"];
    must(word(name, 128), || format!("tools: the name {name} does not match the pattern"))?;
    match tool["type"].as_str() {
        Some("function") => {
            object_schema(&tool["parameters"], name)?;
            must(tool["strict"] != true || closed(&tool["parameters"]), || {
                format!("tool {name}: strict wants every property required and no others allowed")
            })
        }
        Some("custom") => {
            let format = &tool["format"];
            let kind = format["type"].as_str();
            must(format.is_null() || matches!(kind, Some("text" | "grammar")), || {
                format!("tool {name}: bad format")
            })
        }
        other => Err(format!("tools: Invalid value: {other:?}")),
    }
}

fn closed(schema: &Value) -> bool {
    let required = schema["required"].as_array().map_or(0, Vec::len);
    schema["additionalProperties"] == false
        && schema["properties"].as_object().map_or(0, |p| p.len()) == required
}
