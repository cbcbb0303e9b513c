//! Prompts to Messages request bodies, in time linear in the prompt.
//!
//! The API is strict, so what it wants is made here from whatever history comes: the two sides take
//! turns and the person begins and ends, the results of a turn's calls come first and together, no
//! text is empty, arguments are objects.

use serde_json::{Map, Value, json};

use super::thinking::{self, Echo};
use crate::model::Model;
use crate::wire::effort;
use crate::wire::ids;
use crate::wire::json;
use crate::wire::prompt::{Form, LIMITS, Message, Piece, Prompt, Role, ToolSpec, lay};
use crate::wire::provider::Quirks;
use crate::wire::text::{self, GAP};

/// The limit of an answer where nothing is known of the model, and where only its window is.
const SMALL: u64 = 8192;
const LARGE: u64 = 32_000;
/// An answer's part of the window, and what it gets in any case.
const PART: u64 = 4;
const LEAST: u64 = 1024;
/// The person's side where the history has none and the API wants one.
const GO_ON: &str = "Continue.";

/// All that one side says before the other does.
pub(super) struct Turn {
    role: &'static str,
    blocks: Vec<Value>,
}

impl Turn {
    pub(super) fn is_assistant(&self) -> bool {
        self.role == "assistant"
    }

    pub(super) fn thinks(&self) -> bool {
        self.has("thinking") || self.has("redacted_thinking")
    }

    pub(super) fn has(&self, kind: &str) -> bool {
        self.blocks.iter().any(|block| block["type"] == kind)
    }
}

pub(super) fn body(prompt: &Prompt, model: &Model, quirks: &Quirks) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), model.name.as_str().into());
    body.insert("max_tokens".into(), limit(prompt, model).into());
    body.insert("stream".into(), prompt.stream.into());
    let set = prompt.body.get("reasoning_effort").and_then(Value::as_str);
    if let Some(effort) = set.or_else(|| effort::asked(prompt, model, quirks)) {
        thinking::ask(model.thinking, effort, &mut body);
    }
    if let Some(schema) = &prompt.answer {
        let format = json!({"type": "json_schema", "schema": schema});
        lay(&mut body, "output_config", &json!({"format": format}));
    }
    let taken = prompt.body.iter().filter(|(key, _)| quirks.takes(key, &model.name));
    lay_over(&mut body, taken);
    quirks.fill(&mut body);

    let mut turns = turns(prompt, quirks, Echo::Keep);
    if thinking::settle(&mut body, &turns, model) == Echo::Drop && turns.iter().any(Turn::thinks) {
        turns = self::turns(prompt, quirks, Echo::Drop);
    }
    let limit = body["max_tokens"].as_u64().unwrap_or(SMALL);
    let limit = thinking::fit(&mut body, limit, model.max_output);
    body.insert("max_tokens".into(), limit.into());

    let text = |text: &String| json!({"type": "text", "text": text});
    let mut system: Vec<Value> = prompt.system.iter().filter(|text| !is_blank(text)).map(text).collect();
    let mut tools = tools(prompt, &turns, &mut body);
    if quirks.cache_marks != Some(false) {
        mark(&mut tools, &mut system, &mut turns);
    }
    if !system.is_empty() {
        body.insert("system".into(), system.into());
    }
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    let messages = turns.into_iter().map(|turn| json!({"role": turn.role, "content": turn.blocks}));
    body.insert("messages".into(), messages.collect());
    body.into()
}

/// Most tokens of the answer. This API wants to be told, and refuses more than the model has.
fn limit(prompt: &Prompt, model: &Model) -> u64 {
    let given = LIMITS.iter().find_map(|key| prompt.body.get(*key).and_then(Value::as_u64));
    given.unwrap_or_else(|| {
        let usual = model.max_output.unwrap_or(if model.window.is_some() { LARGE } else { SMALL });
        usual.min(model.window.map_or(u64::MAX, |window| (window / PART).max(LEAST)))
    })
}

/// The manifest's own fields. Those that the chat wire has under another name get this API's.
fn lay_over<'a>(body: &mut Map<String, Value>, given: impl Iterator<Item = (&'a String, &'a Value)>) {
    for (key, value) in given {
        match (key.as_str(), value) {
            ("reasoning_effort", _) => {}
            (key, _) if LIMITS.contains(&key) => {}
            ("stop", Value::String(_)) => drop(body.insert("stop_sequences".into(), json!([value]))),
            ("stop", _) => drop(body.insert("stop_sequences".into(), value.clone())),
            ("tool_choice", _) => lay(body, "tool_choice", &choice(value)),
            ("parallel_tool_calls", Value::Bool(false)) => {
                lay(body, "tool_choice", &json!({"disable_parallel_tool_use": true}));
            }
            ("parallel_tool_calls", _) => {}
            (key, _) => lay(body, key, value),
        }
    }
    // A choice that only forbids several calls at once still has to name itself.
    if let Some(Value::Object(choice)) = body.get_mut("tool_choice") {
        choice.entry("type").or_insert_with(|| "auto".into());
    }
}

fn choice(value: &Value) -> Value {
    match value.as_str() {
        Some("required") => json!({"type": "any"}),
        Some(word) => json!({"type": word}),
        None => match value.pointer("/function/name") {
            Some(name) => json!({"type": "tool", "name": name}),
            None => value.clone(),
        },
    }
}

fn turns(prompt: &Prompt, quirks: &Quirks, echo: Echo) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    // Images of results that cannot hold them.
    let mut images: Vec<Value> = Vec::new();
    for message in &prompt.messages {
        let (role, blocks) = match message.role {
            Role::Assistant => ("assistant", assistant(message, quirks, echo)),
            // There are no other roles in this API.
            Role::System | Role::Developer | Role::User | Role::Tool => {
                ("user", message.pieces.iter().filter_map(|p| said(p, prompt, quirks, &mut images)).collect())
            }
        };
        add(&mut turns, role, blocks);
        if message.role != Role::Assistant {
            add(&mut turns, "user", std::mem::take(&mut images));
        }
    }
    if turns.first().is_none_or(Turn::is_assistant) {
        turns.insert(0, Turn { role: "user", blocks: vec![go_on()] });
    }
    // An answer that is to be gone on with word by word is never meant, and newer models refuse it.
    if turns.last().is_some_and(Turn::is_assistant) {
        add(&mut turns, "user", vec![go_on()]);
    }
    for turn in &mut turns {
        arrange(turn);
    }
    turns
}

fn go_on() -> Value {
    json!({"type": "text", "text": GO_ON})
}

fn add(turns: &mut Vec<Turn>, role: &'static str, blocks: Vec<Value>) {
    match turns.last_mut() {
        _ if blocks.is_empty() => {}
        Some(turn) if turn.role == role => turn.blocks.extend(blocks),
        _ => turns.push(Turn { role, blocks }),
    }
}

/// Results come before all else, reasoning first and calls last. Reasoning between texts stays where
/// it is: its signature may cover its place.
fn arrange(turn: &mut Turn) {
    let rank = |block: &Value| match block["type"].as_str() {
        Some("tool_result" | "thinking" | "redacted_thinking") => 0,
        Some("tool_use") => 2,
        _ => 1,
    };
    let ranks: Vec<u8> = turn.blocks.iter().map(rank).collect();
    let calls = ranks.iter().position(|rank| *rank == 2).unwrap_or(ranks.len());
    let begins = ranks.first() == Some(&0) || !ranks.contains(&0);
    let ends = ranks.last() != Some(&0) && ranks[calls..].iter().all(|rank| *rank != 1);
    if !turn.is_assistant() || !begins || !ends {
        turn.blocks.sort_by_key(rank);
    }
}

/// A reply's blocks; none where it has nothing but reasoning, which cannot stand alone.
fn assistant(message: &Message, quirks: &Quirks, echo: Echo) -> Vec<Value> {
    let block = |piece: &Piece| match piece {
        Piece::Text(text) => (!is_blank(text)).then(|| json!({"type": "text", "text": text})),
        Piece::Thinking { text, seal, .. } if echo == Echo::Keep => thought(text, seal.as_ref()),
        Piece::Call { id, name, args } => Some(json!({
            "type": "tool_use",
            "id": ids::fit(id, quirks.ids),
            "name": ids::fit_name(name),
            "input": json::object(args),
        })),
        Piece::Thinking { .. } | Piece::Image { .. } | Piece::Result { .. } => None,
    };
    let speaks = |piece: &Piece| match piece {
        Piece::Text(text) => !is_blank(text),
        Piece::Call { .. } => true,
        Piece::Thinking { .. } | Piece::Image { .. } | Piece::Result { .. } => false,
    };
    match message.pieces.iter().any(speaks) {
        true => message.pieces.iter().filter_map(block).collect(),
        false => Vec::new(),
    }
}

/// Reasoning as it came: signed, sealed altogether, or (at other services) neither.
fn thought(text: &str, seal: Option<&Value>) -> Option<Value> {
    let part = |key: &str| seal.and_then(|seal| seal.get(key)).filter(|value| value.is_string());
    match (part("redacted"), part("signature")) {
        (Some(data), _) => Some(json!({"type": "redacted_thinking", "data": data})),
        (None, Some(signature)) => {
            Some(json!({"type": "thinking", "thinking": text, "signature": signature}))
        }
        // A seal that is none of these was not made by this API.
        (None, None) => {
            (seal.is_none() && !text.is_empty()).then(|| json!({"type": "thinking", "thinking": text}))
        }
    }
}

/// What is not the model's: text, images, and the results of calls.
fn said(piece: &Piece, prompt: &Prompt, quirks: &Quirks, images: &mut Vec<Value>) -> Option<Value> {
    match piece {
        Piece::Text(text) => (!is_blank(text)).then(|| json!({"type": "text", "text": text})),
        Piece::Image { mime, base64 } => {
            let source = json!({"type": "base64", "media_type": mime, "data": &**base64});
            Some(json!({"type": "image", "source": source}))
        }
        Piece::Result { id, name, pieces, failed } => {
            let blocks = pieces.iter().filter_map(|p| said(p, prompt, quirks, images)).collect();
            let mut result = Map::new();
            result.insert("type".into(), "tool_result".into());
            result.insert("tool_use_id".into(), ids::fit(id, quirks.ids).into());
            // A result that says it failed may hold texts only.
            let apart = (quirks.no_result_images || *failed).then_some((name.as_str(), images));
            if let Some(content) = content(blocks, prompt.style.result, apart) {
                result.insert("content".into(), content);
            } else if *failed {
                result.insert("content".into(), "failed".into());
            }
            if *failed {
                result.insert("is_error".into(), true.into());
            }
            Some(result.into())
        }
        Piece::Thinking { .. } | Piece::Call { .. } => None,
    }
}

/// A result's content, None where it has none. Images go apart, with the tool's name, where they cannot
/// stay.
fn content(blocks: Vec<Value>, form: Form, apart: Option<(&str, &mut Vec<Value>)>) -> Option<Value> {
    let is_image = |block: &Value| block["type"] == "image";
    if apart.is_none() && blocks.iter().any(is_image) {
        return Some(blocks.into());
    }
    let (shown, mut texts): (Vec<Value>, Vec<Value>) = blocks.into_iter().partition(is_image);
    if let Some((name, images)) = apart.filter(|_| !shown.is_empty()) {
        images.push(json!({"type": "text", "text": text::image_of(name)}));
        images.extend(shown);
        if texts.is_empty() {
            texts.push(json!({"type": "text", "text": text::FOLLOWS}));
        }
    }
    match form {
        _ if texts.is_empty() => None,
        Form::Several if texts.len() > 1 => Some(texts.into()),
        Form::Parts => Some(texts.into()),
        Form::String | Form::Several => {
            let texts: Vec<&str> = texts.iter().filter_map(|block| block["text"].as_str()).collect();
            Some(texts.join(GAP).into())
        }
    }
}

fn tools(prompt: &Prompt, turns: &[Turn], body: &mut Map<String, Value>) -> Vec<Value> {
    if !prompt.tools.is_empty() {
        return prompt.tools.iter().map(tool).collect();
    }
    body.shift_remove("tool_choice");
    // Calls in the history have to be of tools that are declared, also when none is offered.
    let calls = turns.iter().flat_map(|turn| &turn.blocks).filter(|block| block["type"] == "tool_use");
    let mut names: Vec<&Value> = Vec::new();
    for call in calls {
        if !names.contains(&&call["name"]) {
            names.push(&call["name"]);
        }
    }
    if !names.is_empty() {
        body.insert("tool_choice".into(), json!({"type": "none"}));
    }
    names.into_iter().map(|name| json!({"name": name, "input_schema": {"type": "object"}})).collect()
}

fn tool(tool: &ToolSpec) -> Value {
    let mut schema = tool.schema.clone();
    if let Value::Object(fields) = &mut schema {
        fields.entry("type").or_insert_with(|| "object".into());
    }
    json!({"name": ids::fit_name(&tool.name), "description": tool.about, "input_schema": schema})
}

/// Marks up to where the prompt is to be cached: four places at most. The one before the last is
/// where the request before this one had its last, from which the cache grows.
fn mark(tools: &mut [Value], system: &mut [Value], turns: &mut [Turn]) {
    let mut places: Vec<&mut Value> = Vec::with_capacity(4);
    places.extend(tools.last_mut());
    let (last, others) = system.split_last_mut().unzip();
    if places.is_empty() {
        places.extend(others.and_then(|others| others.first_mut()));
    }
    places.extend(last);
    let users = turns.iter_mut().rev().filter(|turn| !turn.is_assistant()).take(2);
    places.extend(users.filter_map(|turn| turn.blocks.last_mut()));
    for place in places {
        place["cache_control"] = json!({"type": "ephemeral"});
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
