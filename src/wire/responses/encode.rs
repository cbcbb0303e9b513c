//! Prompts to requests. One pass, in time linear in the prompt.
//!
//! Items go without ids: with `store` off the server keeps none, and looks up each that it is given.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::FREE_FIELD;
use crate::model::{Model, Thinking};
use crate::wire::effort;
use crate::wire::ids;
use crate::wire::json;
use crate::wire::prompt::{Form, Free, LIMITS, Message, Piece, Prompt, Role, ToolSpec, lay};
use crate::wire::provider::Quirks;
use crate::wire::text::{self, GAP, texts};

pub(super) fn body(prompt: &Prompt, model: &Model, quirks: &Quirks) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), model.name.as_str().into());
    let mut input = Input { prompt, quirks, items: Vec::new(), free: HashSet::new(), images: Vec::new() };
    if !prompt.system.is_empty() {
        match prompt.style.system_role {
            Role::Developer => {
                let blocks: Vec<Piece> = prompt.system.iter().cloned().map(Piece::Text).collect();
                input.said(Role::Developer, &blocks);
            }
            Role::System | Role::User | Role::Assistant | Role::Tool => {
                body.insert("instructions".into(), prompt.system.join(GAP).into());
            }
        }
    }
    body.insert("input".into(), input.items().into());
    if !prompt.tools.is_empty() {
        let tools: Vec<Value> = prompt.tools.iter().map(|spec| tool(spec, quirks)).collect();
        body.insert("tools".into(), tools.into());
    }
    if let Some(effort) = effort::asked(prompt, model, quirks) {
        think(model.thinking, effort, &mut body);
    }
    if let Some(schema) = &prompt.answer {
        let format = json!({"type": "json_schema", "name": "answer", "strict": true, "schema": schema});
        body.insert("text".into(), json!({ "format": format }));
    }
    body.insert("store".into(), false.into());
    if !quirks.no_sealed_reasoning {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    if let Some(session) = prompt.session.as_ref().filter(|_| quirks.cache_key) {
        body.insert("prompt_cache_key".into(), session.as_str().into());
    }
    body.insert("stream".into(), prompt.stream.into());
    for (key, value) in prompt.body.iter().filter(|(key, _)| quirks.takes(key, &model.name)) {
        let key = if LIMITS.contains(&key.as_str()) { "max_output_tokens" } else { key };
        lay(&mut body, key, value);
    }
    quirks.fill(&mut body);
    body.into()
}

/// Asks for so much thinking. This API has one way to say it, a word; servers that
/// only switch it on or off have their own field here too.
fn think(mode: Thinking, effort: &str, body: &mut Map<String, Value>) {
    let on = effort::is_on(effort);
    match mode {
        Thinking::None => {}
        Thinking::Effort | Thinking::Adaptive | Thinking::Object | Thinking::Budget | Thinking::Switch => {
            let mut reasoning = json!({"effort": effort::word(effort)});
            if !effort::is_none(effort) {
                reasoning["summary"] = "auto".into();
            }
            body.insert("reasoning".into(), reasoning);
        }
        Thinking::Toggle => {
            let kind = if on { "enabled" } else { "disabled" };
            body.insert("thinking".into(), json!({ "type": kind }));
        }
        Thinking::Flag => {
            body.insert("enable_thinking".into(), on.into());
        }
        Thinking::Template => {
            body.insert("chat_template_kwargs".into(), json!({"enable_thinking": on}));
        }
    }
}

/// A tool. Left out, `strict` would be true here, and every parameter required:
/// <https://platform.openai.com/docs/guides/function-calling#strict-mode>.
fn tool(spec: &ToolSpec, quirks: &Quirks) -> Value {
    if let Some(free) = free(spec, quirks) {
        let format = match &free.grammar {
            Some(grammar) => {
                json!({"type": "grammar", "syntax": grammar.syntax, "definition": grammar.definition})
            }
            None => json!({"type": "text"}),
        };
        return json!({"type": "custom", "name": spec.name, "description": spec.about, "format": format});
    }
    let mut tool = json!({
        "type": "function",
        "name": spec.name,
        "description": spec.about,
        "parameters": spec.schema,
    });
    if !quirks.no_strict {
        tool["strict"] = spec.strict.unwrap_or(false).into();
    }
    tool
}

/// How the tool is offered as a free-form one, if it is.
fn free<'a>(spec: &'a ToolSpec, quirks: &Quirks) -> Option<&'a Free> {
    spec.free.as_ref().filter(|_| quirks.custom_tools)
}

/// The items of a request while they are written.
struct Input<'a> {
    prompt: &'a Prompt,
    quirks: &'a Quirks,
    items: Vec<Value>,
    /// Ids of calls to free-form tools: their results are items of another type too.
    free: HashSet<&'a str>,
    /// Images of results, for a message after the last result of the group.
    images: Vec<Value>,
}

impl<'a> Input<'a> {
    fn items(mut self) -> Vec<Value> {
        for message in &self.prompt.messages {
            if message.role != Role::Tool {
                self.flush();
            }
            match message.role {
                Role::Assistant => self.assistant(message),
                Role::Tool => message.pieces.iter().for_each(|piece| self.result(piece)),
                Role::System | Role::Developer | Role::User => self.said(message.role, &message.pieces),
            }
        }
        self.flush();
        self.items
    }

    /// A message that is not the model's.
    fn said(&mut self, role: Role, pieces: &[Piece]) {
        let role = match role {
            Role::Developer if !self.quirks.no_developer_role => "developer",
            Role::System | Role::Developer => "system",
            Role::User | Role::Assistant | Role::Tool => "user",
        };
        let content = content(pieces, self.prompt.style.user);
        self.items.push(json!({"type": "message", "role": role, "content": content}));
    }

    fn assistant(&mut self, message: &'a Message) {
        let mut text = String::new();
        // Reasoning is only taken together with what it led to.
        let mut thoughts: Vec<Value> = Vec::new();
        // What is said beside calls is said on the way. Left out, the service may take it for the end:
        // <https://platform.openai.com/docs/guides/reasoning>.
        let calls = message.pieces.iter().any(|piece| matches!(piece, Piece::Call { .. }));
        let phase = self.quirks.phases.then_some(if calls { "commentary" } else { "final_answer" });
        for piece in &message.pieces {
            match piece {
                Piece::Text(more) => text.push_str(more),
                Piece::Thinking { seal, .. } => {
                    self.text(&mut text, &mut thoughts, phase);
                    thoughts.extend(seal.as_ref().and_then(|seal| reasoning(seal, self.quirks)));
                }
                Piece::Call { id, name, args } => {
                    self.text(&mut text, &mut thoughts, phase);
                    self.items.append(&mut thoughts);
                    self.call(id, name, args);
                }
                Piece::Image { .. } | Piece::Result { .. } => {}
            }
        }
        self.text(&mut text, &mut thoughts, phase);
    }

    /// Closes the text so far, with the reasoning before it. Empty ones are refused.
    fn text(&mut self, text: &mut String, thoughts: &mut Vec<Value>, phase: Option<&str>) {
        let text = std::mem::take(text);
        if !text.trim().is_empty() {
            self.items.append(thoughts);
            let content = json!([{"type": "output_text", "text": text}]);
            let mut item = json!({"type": "message", "role": "assistant", "content": content});
            if let Some(phase) = phase {
                item["phase"] = phase.into();
            }
            self.items.push(item);
        }
    }

    fn call(&mut self, id: &'a str, name: &str, args: &str) {
        let spec = self.prompt.tools.iter().find(|spec| spec.name == name);
        let call_id = ids::fit(id, self.quirks.ids);
        let name = ids::fit_name(name);
        let item = match spec.and_then(|spec| free(spec, self.quirks)) {
            Some(free) => {
                self.free.insert(id);
                let input = input(args, free);
                json!({"type": "custom_tool_call", "call_id": call_id, "name": name, "input": input})
            }
            None => {
                let arguments = json::arguments(args);
                json!({"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments})
            }
        };
        self.items.push(item);
    }

    fn result(&mut self, piece: &Piece) {
        let Piece::Result { id, name, pieces, .. } = piece else { return };
        let has_image = pieces.iter().any(Piece::is_image);
        let output = if has_image && self.quirks.no_result_images {
            let images = pieces.iter().filter(|piece| piece.is_image()).filter_map(part);
            self.images.push(json!({"type": "input_text", "text": text::image_of(name)}));
            self.images.extend(images);
            match texts(pieces) {
                empty if empty.is_empty() => text::FOLLOWS.into(),
                text => text.into(),
            }
        } else {
            content(pieces, self.prompt.style.result)
        };
        let free = self.free.contains(id.as_str());
        let kind = if free { "custom_tool_call_output" } else { "function_call_output" };
        let call_id = ids::fit(id, self.quirks.ids);
        self.items.push(json!({"type": kind, "call_id": call_id, "output": output}));
    }

    /// For servers that take no images in a result: they follow as the user's.
    fn flush(&mut self) {
        if !self.images.is_empty() {
            let content = std::mem::take(&mut self.images);
            self.items.push(json!({"type": "message", "role": "user", "content": content}));
        }
    }
}

/// A reasoning item again, as far as the server can use it: sealed, or in plain text where it was
/// shown. A summary alone is only for people.
fn reasoning(seal: &Value, quirks: &Quirks) -> Option<Value> {
    let is_sealed = |sealed: &&Value| sealed.as_str().is_some_and(|sealed| !sealed.is_empty());
    let sealed = seal.get("encrypted_content").filter(is_sealed).filter(|_| !quirks.no_sealed_reasoning);
    let content = seal.get("content").filter(|content| are_texts(content) && **content != json!([]));
    if sealed.is_none() && content.is_none() {
        return None;
    }
    let mut item = Map::new();
    item.insert("type".into(), "reasoning".into());
    // Must not be missing, empty or not.
    item.insert(
        "summary".into(),
        seal.get("summary").filter(|summary| are_texts(summary)).cloned().unwrap_or_else(|| json!([])),
    );
    for (key, value) in [("content", content), ("encrypted_content", sealed)] {
        item.extend(value.map(|value| (key.to_owned(), value.clone())));
    }
    Some(item.into())
}

/// A list of texts. A session's log can be edited, and one wrong item has the whole request refused.
fn are_texts(value: &Value) -> bool {
    let is_text = |part: &Value| part["type"].is_string() && part["text"].is_string();
    value.as_array().is_some_and(|parts| parts.iter().all(is_text))
}

/// Texts and images; anything else has no place in these messages.
fn content(pieces: &[Piece], form: Form) -> Value {
    let has_image = pieces.iter().any(Piece::is_image);
    match form.of(pieces) {
        Form::String if !has_image => texts(pieces).into(),
        // A list must not be empty.
        Form::Parts if pieces.is_empty() => "".into(),
        Form::String | Form::Parts | Form::Several => pieces.iter().filter_map(part).collect(),
    }
}

fn part(piece: &Piece) -> Option<Value> {
    match piece {
        Piece::Text(text) => Some(json!({"type": "input_text", "text": text})),
        Piece::Image { mime, base64 } => {
            let url = format!("data:{mime};base64,{base64}");
            Some(json!({"type": "input_image", "image_url": url, "detail": "auto"}))
        }
        Piece::Thinking { .. } | Piece::Call { .. } | Piece::Result { .. } => None,
    }
}

/// The text of a call to a free-form tool, out of its arguments.
fn input(args: &str, free: &Free) -> String {
    let fields: Map<String, Value> = serde_json::from_str(args).unwrap_or_default();
    let text = fields.get(&free.field).or_else(|| fields.get(FREE_FIELD)).and_then(Value::as_str);
    text.unwrap_or(args).to_owned()
}
