//! The rules of the messages API, as Anthropic enforces them.

use std::collections::HashSet;

use serde_json::Value;
use tack::model::WireKind;

use super::Seal;
use super::strict::{IMAGES, Verdict, list, must, object_schema, tools, word};

/// Top-level fields that the service knows; it refuses all others.
const FIELDS: [&str; 20] = [
    "cache_control",
    "container",
    "context_management",
    "inference_geo",
    "max_tokens",
    "mcp_servers",
    "messages",
    "metadata",
    "model",
    "output_config",
    "output_format",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
];
const MARKS: usize = 4;

pub(super) fn check(body: &Value, seal: &Seal) -> Verdict {
    for field in body.as_object().into_iter().flat_map(|body| body.keys()) {
        must(FIELDS.contains(&field.as_str()) || field == "top_p", || {
            format!("{field}: Extra inputs are not permitted")
        })?;
    }
    must(body["max_tokens"].as_u64().is_some_and(|n| n > 0), || "max_tokens: Field required".into())?;
    thinking(body)?;
    must(marks(body) <= MARKS, || format!("a maximum of {MARKS} blocks with cache_control may be provided"))?;
    system(&body["system"])?;
    tools(body, |tool| {
        must(matches!(tool["type"].as_str(), None | Some("custom")) && word(&tool["name"], 128), || {
            format!("tools: bad tool {tool}")
        })?;
        object_schema(&tool["input_schema"], &tool["name"])
    })?;
    turns(body, seal)
}

fn thinking(body: &Value) -> Verdict {
    if body["thinking"]["type"] != "enabled" {
        return Ok(());
    }
    let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
    must(budget >= 1024, || "thinking.budget_tokens: should be greater than or equal to 1024".into())?;
    must(body["max_tokens"].as_u64().is_some_and(|max| budget < max), || {
        "`max_tokens` must be greater than `thinking.budget_tokens`".into()
    })?;
    let temperature = &body["temperature"];
    must(temperature.is_null() || *temperature == 1 || *temperature == 1.0, || {
        "`temperature` may only be set to 1 when thinking is enabled".into()
    })
}

/// How often something is marked for the cache, anywhere.
fn marks(value: &Value) -> usize {
    match value {
        Value::Object(map) => {
            usize::from(map.get("cache_control").is_some_and(|mark| !mark.is_null()))
                + map
                    .iter()
                    .filter(|(key, _)| *key != "input" && *key != "input_schema")
                    .map(|(_, v)| marks(v))
                    .sum::<usize>()
        }
        Value::Array(list) => list.iter().map(marks).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn system(system: &Value) -> Verdict {
    if system.is_null() || system.is_string() {
        return Ok(());
    }
    list(system, "system")?.iter().try_for_each(|block| {
        must(block["type"] == "text", || "system: only texts are allowed".into())?;
        text(block, "system")
    })
}

fn turns(body: &Value, seal: &Seal) -> Verdict {
    let messages = list(&body["messages"], "messages")?;
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let place = format!("messages.{at}");
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        must(message["role"] == role, || {
            format!("{place}: roles must alternate between user and assistant, beginning with user")
        })?;
        let blocks = blocks(message, &place)?;
        if role == "user" {
            answers(blocks, &mut open, &place)?;
            continue;
        }
        for block in blocks {
            said(block, seal, &place)?;
            if let Some(id) = block["id"].as_str() {
                must(ids.insert(id), || format!("{place}: `tool_use` ids must be unique"))?;
                open.push(id);
            }
        }
    }
    must(open.is_empty(), || {
        format!("`tool_use` ids were found without `tool_result` blocks at the end: {open:?}")
    })?;
    must(ids.is_empty() || !body["tools"].is_null(), || {
        "Requests which have `tool_use` or `tool_result` blocks in the messages must define tools".into()
    })?;
    last(body, messages)
}

/// The content as blocks: none where it is a string, which must say something.
fn blocks<'a>(message: &'a Value, place: &str) -> Result<&'a [Value], String> {
    match message["content"].as_str() {
        Some(said) => must(!said.trim().is_empty(), || {
            format!("{place}: text content blocks must contain non-whitespace text")
        })
        .map(|()| &[][..]),
        None => list(&message["content"], place),
    }
}

/// A user's message: all open calls are answered first.
fn answers(blocks: &[Value], open: &mut Vec<&str>, place: &str) -> Verdict {
    let results = blocks.iter().take_while(|block| block["type"] == "tool_result").count();
    for (at, block) in blocks.iter().enumerate() {
        match block["type"].as_str() {
            Some("tool_result") => {
                must(at < results, || format!("{place}: `tool_result` blocks must come first"))?;
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                let found = open.iter().position(|open| *open == id).ok_or_else(|| {
                    format!("{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}")
                })?;
                open.remove(found);
                result(&block["content"], place)?;
            }
            Some("text") => text(block, place)?,
            Some("image") => image(block, place)?,
            other => return Err(format!("{place}: a block of type {other:?} is not the user's")),
        }
    }
    must(open.is_empty(), || {
        format!("{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {open:?}")
    })
}

fn result(content: &Value, place: &str) -> Verdict {
    if content.is_null() || content.is_string() {
        return Ok(());
    }
    list(content, place)?.iter().try_for_each(|block| match block["type"].as_str() {
        Some("text") => text(block, place),
        Some("image") => image(block, place),
        other => Err(format!("{place}: a block of type {other:?} is no result")),
    })
}

fn text(block: &Value, place: &str) -> Verdict {
    must(block["text"].as_str().is_some_and(|text| !text.trim().is_empty()), || {
        format!("{place}: text content blocks must contain non-whitespace text")
    })
}

fn image(block: &Value, place: &str) -> Verdict {
    let source = &block["source"];
    let known = source["media_type"].as_str().is_some_and(|mime| IMAGES.contains(&mime));
    let filled = source["data"].as_str().is_some_and(|data| !data.is_empty());
    must(source["type"] == "base64" && known && filled, || format!("{place}: bad image"))
}

/// A block of the assistant.
fn said(block: &Value, seal: &Seal, place: &str) -> Verdict {
    let unmarked = || {
        must(block["cache_control"].is_null(), || format!("{place}: thinking blocks take no cache_control"))
    };
    match block["type"].as_str() {
        Some("text") => text(block, place),
        Some("tool_use") => {
            must(word(&block["id"], 256), || format!("{place}: tool_use.id {} does not match", block["id"]))?;
            must(word(&block["name"], 200), || {
                format!("{place}: tool_use.name {} does not match the pattern", block["name"])
            })?;
            must(block["input"].is_object(), || {
                format!("{place}: tool_use.input: should be a valid dictionary")
            })
        }
        Some("thinking") => {
            unmarked()?;
            let (text, sealed) =
                (block["thinking"].as_str(), block["signature"].as_str().unwrap_or_default());
            let text = text.ok_or_else(|| format!("{place}: thinking: Field required"))?;
            must(seal.make(WireKind::Messages, text) == sealed, || {
                format!("{place}: Invalid `signature` in `thinking` block")
            })
        }
        Some("redacted_thinking") => {
            unmarked()?;
            must(block["data"].as_str().is_some_and(|data| seal.is_own(WireKind::Messages, data)), || {
                format!("{place}: Invalid `data` in `redacted_thinking` block")
            })
        }
        other => Err(format!("{place}: a block of type {other:?} is not the assistant's")),
    }
}

/// What only the end of a conversation has to fulfil.
fn last(body: &Value, messages: &[Value]) -> Verdict {
    let assistant = messages.iter().rposition(|message| message["role"] == "assistant");
    let Some(at) = assistant else { return Ok(()) };
    let blocks = messages[at]["content"].as_array().map_or(&[][..], Vec::as_slice);
    if at + 1 == messages.len() {
        let end = blocks.last().map_or(&messages[at]["content"], |block| &block["text"]);
        let trailing = end.as_str().is_some_and(|text| text.ends_with(char::is_whitespace));
        must(!trailing, || "messages: final assistant content cannot end with trailing whitespace".into())?;
    }
    // All since the person's last words is one turn.
    let has = |message: &Value, kind: &str| {
        message["content"].as_array().into_iter().flatten().any(|b| b["type"] == kind)
    };
    let ongoing = |message: &&Value| message["role"] == "assistant" || has(message, "tool_result");
    let turn: Vec<&Value> =
        messages.iter().rev().take_while(ongoing).filter(|m| m["role"] == "assistant").collect();
    let thought = turn.iter().any(|message| has(message, "thinking") || has(message, "redacted_thinking"));
    must(body["thinking"]["type"] != "enabled" || turn.is_empty() || thought, || {
        format!(
            "messages.{at}: When thinking is enabled, a final assistant turn must start with a thinking block"
        )
    })
}
