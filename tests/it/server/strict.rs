//! Whether a real service would take a request: the rules that OpenAI, Anthropic and the stricter of
//! the compatible servers are known to enforce with a 400. Whoever breaks one has made a mistake of
//! ours, whatever the test was about, so the scripted server asks here about every request.

use std::collections::HashSet;

use serde_json::Value;
use tack::model::WireKind;

use super::Seal;
use super::strict_messages;
use super::strict_responses;

pub(super) type Verdict = Result<(), String>;

/// The rule that this body breaks. `seal` tells which sealed reasoning is the server's own.
pub fn check(wire: WireKind, body: &Value, seal: &Seal) -> Verdict {
    must(body["model"].as_str().is_some_and(|model| !model.is_empty()), || "model: field required".into())?;
    match wire {
        WireKind::Chat => chat(body),
        WireKind::Responses => strict_responses::check(body, seal),
        WireKind::Messages => strict_messages::check(body, seal),
    }
}

pub(super) fn must(holds: bool, rule: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(rule()) }
}

/// Letters, digits, `_` and `-`: names of tools on all wires, ids on some.
pub(super) fn word(value: &Value, longest: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    value.as_str().is_some_and(|text| (1..=longest).contains(&text.len()) && text.bytes().all(plain))
}

pub(super) fn list<'a>(value: &'a Value, place: &str) -> Result<&'a [Value], String> {
    match value.as_array() {
        Some(list) if !list.is_empty() => Ok(list),
        Some(_) | None => Err(format!("{place}: expected a list that is not empty")),
    }
}

pub(super) fn tools(body: &Value, check: impl Fn(&Value) -> Verdict) -> Verdict {
    if body["tools"].is_null() {
        return Ok(());
    }
    list(&body["tools"], "tools")?.iter().try_for_each(check)
}

pub(super) fn object_schema(schema: &Value, name: &Value) -> Verdict {
    must(schema["type"] == "object", || format!("tool {name}: its schema must be of type object"))
}

/// OpenAI's longest id of a call on this wire; on the others it is longer.
const LONGEST_ID: usize = 40;

/// The chat API: OpenAI's rules, and those of templates and servers that are stricter.
fn chat(body: &Value) -> Verdict {
    tools(body, |tool| {
        let function = &tool["function"];
        must(tool["type"] == "function" && word(&function["name"], 64), || {
            format!("tools: bad tool {tool}")
        })?;
        object_schema(&function["parameters"], &function["name"])
    })?;
    let streams = body["stream"] == true;
    must(streams || body["stream_options"].is_null(), || "stream_options without stream".into())?;
    let mut seen = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in list(&body["messages"], "messages")?.iter().enumerate() {
        let place = format!("messages[{at}]");
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let found = open.iter().position(|open| *open == id).ok_or_else(|| {
                format!("{place}: role 'tool' must be a response to a preceding message with 'tool_calls' ({id:?})")
            })?;
            open.remove(found);
            chat_content(&message["content"], &["text"], &place)?;
            continue;
        }
        must(open.is_empty(), || {
            format!("{place}: 'tool_calls' must be followed by tool messages, {open:?} have none")
        })?;
        match role {
            "user" => filled(&message["content"], &place)
                .and_then(|()| chat_content(&message["content"], &["text", "image_url"], &place))?,
            "system" | "developer" => {
                must(at == 0, || format!("{place}: the system message must be at the beginning"))?;
                filled(&message["content"], &place)?;
                chat_content(&message["content"], &["text"], &place)?;
            }
            "assistant" => {
                open = chat_calls(message, &place)?;
                for id in &open {
                    must(seen.insert(*id), || format!("{place}: the id {id:?} is used twice"))?;
                }
                if open.is_empty() {
                    filled(&message["content"], &place)?;
                }
                chat_content(&message["content"], &["text"], &place)?;
            }
            other => return Err(format!("{place}: unknown role {other:?}")),
        }
    }
    must(open.is_empty(), || format!("messages: the calls {open:?} have no answer at the end"))
}

fn chat_calls<'a>(message: &'a Value, place: &str) -> Result<Vec<&'a str>, String> {
    if message["tool_calls"].is_null() {
        return Ok(Vec::new());
    }
    let mut ids = Vec::new();
    for call in list(&message["tool_calls"], &format!("{place}.tool_calls"))? {
        let (id, function) = (call["id"].as_str().unwrap_or_default(), &call["function"]);
        must((1..=LONGEST_ID).contains(&id.len()), || {
            format!("{place}.tool_calls: the id {id:?} must have 1 to {LONGEST_ID} characters")
        })?;
        must(call["type"] == "function", || format!("{place}.tool_calls: bad type {}", call["type"]))?;
        must(word(&function["name"], 64), || {
            format!("{place}.tool_calls: the name {} does not match the pattern", function["name"])
        })?;
        json_text(&function["arguments"], place)?;
        ids.push(id);
    }
    Ok(ids)
}

/// Some servers read the arguments in the history, and fail the request when they cannot.
pub(super) fn json_text(args: &Value, place: &str) -> Verdict {
    let read = args.as_str().map(serde_json::from_str::<serde::de::IgnoredAny>);
    must(matches!(read, Some(Ok(_))), || format!("{place}: the arguments are no JSON"))
}

/// Text that is not empty, or parts.
fn filled(content: &Value, place: &str) -> Verdict {
    let filled =
        content.as_str().map_or_else(|| content.as_array().is_some_and(|c| !c.is_empty()), |t| !t.is_empty());
    must(filled, || format!("{place}: the content must not be empty"))
}

fn chat_content(content: &Value, kinds: &[&str], place: &str) -> Verdict {
    for part in content.as_array().into_iter().flatten() {
        let kind = part["type"].as_str().unwrap_or_default();
        must(kinds.contains(&kind), || format!("{place}: a part of type {kind:?} is not allowed here"))?;
        match kind {
            "text" => must(part["text"].is_string(), || format!("{place}: a text without text"))?,
            _ => image_url(&part["image_url"]["url"], place)?,
        }
    }
    must(content.is_null() || content.is_string() || content.is_array(), || format!("{place}: bad content"))
}

/// Images are sent in the request.
pub(super) fn image_url(url: &Value, place: &str) -> Verdict {
    let parts = url.as_str().and_then(|url| url.strip_prefix("data:")?.split_once(";base64,"));
    let fits = parts.is_some_and(|(mime, data)| IMAGES.contains(&mime) && !data.is_empty());
    must(fits, || format!("{place}: bad image"))
}

/// What every service shows to its models.
pub(super) const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
