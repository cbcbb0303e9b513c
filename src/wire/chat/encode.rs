//! Prompts to chat request bodies. One pass, in time linear in the prompt.

use serde_json::{Map, Value, json};

use super::effort;
use super::seal;
use crate::model::Model;
use crate::wire::effort::asked;
use crate::wire::ids;
use crate::wire::json;
use crate::wire::prompt::{Empty, Form, LIMITS, Message, Piece, Prompt, Role, Style, ToolSpec, lay};
use crate::wire::provider::Quirks;
use crate::wire::text::{self, GAP, texts};

pub(super) fn body(prompt: &Prompt, model: &Model, quirks: &Quirks) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), model.name.as_str().into());
    body.insert("messages".into(), messages(prompt, model, quirks).into());
    if !prompt.tools.is_empty() {
        let tools: Vec<Value> = prompt.tools.iter().map(|spec| tool(spec, quirks)).collect();
        body.insert("tools".into(), tools.into());
    }
    if let Some(effort) = asked(prompt, model, quirks) {
        effort::write(&mut body, model.thinking, effort);
    }
    if let Some(session) = prompt.session.as_deref().filter(|_| quirks.cache_key) {
        body.insert("prompt_cache_key".into(), session.into());
    }
    if let Some(schema) = &prompt.answer {
        let format = json!({"name": "answer", "strict": true, "schema": schema});
        body.insert("response_format".into(), json!({"type": "json_schema", "json_schema": format}));
    }
    body.insert("stream".into(), prompt.stream.into());
    if prompt.stream && !quirks.no_stream_options {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    // Without tools it is refused.
    let fits = |key: &str| !(prompt.tools.is_empty() && key == "tool_choice");
    for (key, value) in prompt.body.iter().filter(|(key, _)| fits(key) && quirks.takes(key, &model.name)) {
        let key = match &quirks.max_tokens_field {
            Some(field) if LIMITS.contains(&key.as_str()) => field,
            _ => key,
        };
        lay(&mut body, key, value);
    }
    quirks.fill(&mut body);
    if body.get("stream") == Some(&Value::Bool(false)) {
        // Refused without a stream.
        body.shift_remove("stream_options");
    }
    body.into()
}

fn messages(prompt: &Prompt, model: &Model, quirks: &Quirks) -> Vec<Value> {
    let mut out = Vec::with_capacity(prompt.messages.len() + 1);
    if !prompt.system.is_empty() {
        let role = role(prompt.style.system_role, quirks);
        out.push(json!({"role": role, "content": prompt.system.join(GAP)}));
    }
    // Images of tool results, for a user message after the last result of the group.
    let mut images: Vec<Value> = Vec::new();
    for message in &prompt.messages {
        if message.role != Role::Tool {
            flush(&mut images, &mut out);
        }
        match message.role {
            Role::Assistant => out.push(assistant(message, &prompt.style, model, quirks)),
            Role::Tool => {
                let results = message.pieces.iter();
                out.extend(results.filter_map(|p| result(p, &prompt.style, quirks, &mut images)));
            }
            Role::System | Role::Developer | Role::User => {
                let form = if message.role == Role::User { prompt.style.user } else { Form::String };
                let content = content(&message.pieces, form);
                let role = role(message.role, quirks);
                match quirks.strict_roles {
                    true => push_strictly(&mut out, role, content),
                    false => out.push(json!({"role": role, "content": content})),
                }
            }
        }
    }
    flush(&mut images, &mut out);
    // Only what Anthropic makes asks for marks; the others behind a router cache without them.
    if quirks.cache_marks == Some(true) && model.name.contains("claude") {
        mark(&mut out);
    }
    out
}

/// For servers that take one system message at the beginning, then user and assistant in turns: what
/// comes later speaks as the user, and two in a row become one.
fn push_strictly(out: &mut Vec<Value>, role: &str, content: Value) {
    let first = out.len() == 1 && out[0]["role"] == role;
    let role = if out.is_empty() || first { role } else { "user" };
    let Some(last) = out.last_mut().filter(|last| last["role"] == role) else {
        return out.push(json!({"role": role, "content": content}));
    };
    last["content"] = match (last["content"].take(), content) {
        (Value::String(text), Value::String(more)) => format!("{text}{GAP}{more}").into(),
        (before, after) => [before, after].into_iter().flat_map(parts).collect(),
    };
}

fn parts(content: Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts,
        text => vec![json!({"type": "text", "text": text})],
    }
}

/// Marks the ends of what stays the same: the system prompt, and all that was said so far.
fn mark(out: &mut [Value]) {
    let last = out.len().saturating_sub(1);
    let system = out.iter().position(|message| message["role"] == "system");
    for at in system.into_iter().chain((last > 0).then_some(last)) {
        let mut content = parts(out[at]["content"].take());
        match content.iter_mut().rfind(|part| part["text"].as_str().is_some_and(|text| !text.is_empty())) {
            Some(part) => part["cache_control"] = json!({"type": "ephemeral"}),
            None => continue,
        }
        out[at]["content"] = content.into();
    }
}

fn role(role: Role, quirks: &Quirks) -> &'static str {
    match role {
        Role::Developer if !quirks.no_developer_role => "developer",
        Role::System | Role::Developer => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

/// Texts and images; anything else has no place in these messages.
fn content(pieces: &[Piece], form: Form) -> Value {
    let has_image = pieces.iter().any(Piece::is_image);
    match form.of(pieces) {
        Form::String if !has_image => texts(pieces).into(),
        Form::String | Form::Parts | Form::Several => pieces.iter().filter_map(part).collect(),
    }
}

fn part(piece: &Piece) -> Option<Value> {
    match piece {
        Piece::Text(text) => Some(json!({"type": "text", "text": text})),
        Piece::Image { mime, base64 } => {
            Some(json!({"type": "image_url", "image_url": {"url": format!("data:{mime};base64,{base64}")}}))
        }
        Piece::Thinking { .. } | Piece::Call { .. } | Piece::Result { .. } => None,
    }
}

fn assistant(message: &Message, style: &Style, model: &Model, quirks: &Quirks) -> Value {
    let mut text = String::new();
    let mut thinking: Vec<(&str, String)> = Vec::new();
    // Reasoning that goes back inside the content.
    let mut thoughts = String::new();
    let mut calls: Vec<Value> = Vec::new();
    let mut seals = seal::Seals::default();
    for piece in &message.pieces {
        match piece {
            // The text arrived in one piece and was only parted by calls.
            Piece::Text(more) => text.push_str(more),
            Piece::Thinking { text: thought, field, seal } => {
                if let Some(seal) = seal {
                    seals.add(seal);
                }
                match field {
                    _ if quirks.thinking_parts => thoughts.push_str(thought),
                    None if thought.is_empty() => {}
                    Some(_) if thought.is_empty() && seal.is_some() => {}
                    // It came inside the text, so that is where it goes back.
                    None => text.push_str(&format!("<think>{thought}</think>{GAP}")),
                    Some(field) => match thinking.iter_mut().find(|(known, _)| known == field) {
                        Some((_, so_far)) => so_far.push_str(thought),
                        None => thinking.push((field, thought.clone())),
                    },
                }
            }
            Piece::Call { id, name, args } => {
                let function = json!({"name": ids::fit_name(name), "arguments": json::arguments(args)});
                let id = ids::fit(id, quirks.ids);
                calls.push(json!({"id": id, "type": "function", "function": function}));
            }
            Piece::Image { .. } | Piece::Result { .. } => {}
        }
    }
    let empty = if thinking.is_empty() { style.empty } else { style.empty_with_thinking };
    let mut out = Map::new();
    out.insert("role".into(), "assistant".into());
    match empty {
        _ if !thoughts.is_empty() => {
            let thought = json!({"type": "thinking", "thinking": [{"type": "text", "text": thoughts}]});
            let said = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
            out.insert("content".into(), std::iter::once(thought).chain(said).collect())
        }
        // Null and absent are allowed only beside calls.
        Empty::Null if text.is_empty() && !calls.is_empty() => out.insert("content".into(), Value::Null),
        Empty::Absent if text.is_empty() && !calls.is_empty() => None,
        Empty::String | Empty::Null | Empty::Absent => out.insert("content".into(), text.into()),
    };
    if let Some(needed) = quirks.reasoning_required.as_ref().filter(|_| !calls.is_empty()) {
        match thinking.iter_mut().find(|(field, _)| *field == needed.field) {
            Some((_, thought)) if thought.is_empty() => thought.clone_from(&needed.text),
            Some(_) => {}
            None => thinking.push((&needed.field, needed.text.clone())),
        }
    }
    match seals.details {
        // The whole of it; the plain text says the same once more.
        Some(details) => drop(out.insert("reasoning_details".into(), details)),
        None => out.extend(thinking.into_iter().map(|(field, thought)| (field.to_owned(), thought.into()))),
    }
    if !calls.is_empty() {
        seal::put(&mut calls, &seals.extras, model, quirks);
        out.insert("tool_calls".into(), calls.into());
    }
    out.into()
}

fn result(piece: &Piece, style: &Style, quirks: &Quirks, images: &mut Vec<Value>) -> Option<Value> {
    let Piece::Result { id, name, pieces, .. } = piece else { return None };
    let mut said = texts(pieces);
    let shown: Vec<Value> = pieces.iter().filter(|piece| piece.is_image()).filter_map(part).collect();
    if !shown.is_empty() {
        images.push(json!({"type": "text", "text": text::image_of(name)}));
        images.extend(shown);
        if said.is_empty() {
            said.push_str(text::FOLLOWS);
        }
    }
    let content = match style.result.of(pieces) {
        Form::String | Form::Several => said.into(),
        Form::Parts => {
            let texts: Vec<Value> =
                pieces.iter().filter(|piece| !piece.is_image()).filter_map(part).collect();
            if texts.len() > 1 { texts.into() } else { json!([{"type": "text", "text": said}]) }
        }
    };
    Some(json!({"role": "tool", "tool_call_id": ids::fit(id, quirks.ids), "content": content}))
}

/// This wire has no images in tool messages: they follow as the user's.
fn flush(images: &mut Vec<Value>, out: &mut Vec<Value>) {
    if !images.is_empty() {
        out.push(json!({"role": "user", "content": std::mem::take(images)}));
    }
}

/// Also of a tool that takes plain text: this wire gives it the one string of its schema.
fn tool(tool: &ToolSpec, quirks: &Quirks) -> Value {
    let mut function = Map::new();
    function.insert("name".into(), tool.name.as_str().into());
    function.insert("description".into(), tool.about.as_str().into());
    function.insert("parameters".into(), tool.schema.clone());
    if let Some(strict) = tool.strict.filter(|_| !quirks.no_strict) {
        function.insert("strict".into(), strict.into());
    }
    json!({"type": "function", "function": function})
}
