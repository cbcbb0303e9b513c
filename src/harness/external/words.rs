//! A prompt as JSON for a program, and what the program makes of it as a prompt again.
//!
//! Images and reasoning go as numbers: a program may leave them out or move them, not make them. Every
//! error is the end of a sentence that tells the programmer what to change.

use serde_json::{Map, Value, json};

use crate::wire::prompt::{Message, Piece, Prompt, Role, ToolSpec};

/// Body fields that say what a request is about, and so are no matter of `body`.
const OWN_FIELDS: [&str; 9] = [
    "model",
    "messages",
    "input",
    "system",
    "instructions",
    "tools",
    "stream",
    "stream_options",
    "previous_response_id",
];

/// What a program may change of a prompt.
pub(super) fn draft(prompt: &Prompt) -> Value {
    let mut kept = 0;
    let messages: Vec<Value> = prompt.messages.iter().map(|message| said(message, &mut kept)).collect();
    let tool = |tool: &ToolSpec| json!({"name": tool.name, "about": tool.about, "schema": tool.schema});
    let tools: Vec<Value> = prompt.tools.iter().map(tool).collect();
    json!({"system": prompt.system, "messages": messages, "tools": tools, "body": prompt.body})
}

fn said(message: &Message, kept: &mut usize) -> Value {
    let pieces: Vec<Value> = message.pieces.iter().map(|piece| piece_said(piece, kept)).collect();
    json!({"role": message.role, "content": pieces})
}

fn piece_said(piece: &Piece, kept: &mut usize) -> Value {
    let mut number = || {
        *kept += 1;
        *kept - 1
    };
    match piece {
        Piece::Text(text) => json!({"text": text}),
        Piece::Image { mime, .. } => json!({"image": number(), "mime": mime}),
        Piece::Thinking { text, .. } => json!({"thinking": number(), "text": text}),
        Piece::Call { id, name, args } => json!({"call": id, "name": name, "args": args_said(args)}),
        Piece::Result { id, name, pieces, failed } => {
            let content: Vec<Value> = pieces.iter().map(|piece| piece_said(piece, kept)).collect();
            json!({"result": id, "name": name, "failed": failed, "content": content})
        }
    }
}

/// Arguments as an object; as the text they are where they are none.
pub(super) fn args_said(args: &str) -> Value {
    let object = serde_json::from_str::<Map<String, Value>>(args).map(Value::Object);
    object.unwrap_or_else(|_| json!(args))
}

/// What a program can refer to.
struct Before<'a> {
    /// What was numbered, in the order of the numbers.
    kept: Vec<&'a Piece>,
    /// Ids and arguments of the calls.
    calls: Vec<(&'a str, &'a str)>,
}

impl<'a> Before<'a> {
    fn of(prompt: &'a Prompt) -> Self {
        let mut before = Self { kept: Vec::new(), calls: Vec::new() };
        for piece in prompt.messages.iter().flat_map(|message| &message.pieces) {
            match piece {
                Piece::Image { .. } | Piece::Thinking { .. } => before.kept.push(piece),
                Piece::Result { pieces, .. } => {
                    before.kept.extend(pieces.iter().filter(|piece| piece.is_image()));
                }
                Piece::Call { id, args, .. } => before.calls.push((id, args)),
                Piece::Text(_) => {}
            }
        }
        before
    }

    /// Arguments that mean what they meant go back as they were, to the byte.
    fn as_written(&self, id: &str, args: &str) -> String {
        let same = |(_, before): &&(&str, &str)| args_said(before) == args_said(args);
        let before = self.calls.iter().filter(|(known, _)| *known == id).find(same);
        before.map_or(args, |(_, before)| before).to_owned()
    }
}

/// The draft with what the program gave in place of its own. Gives whether the messages are the
/// program's.
pub(super) fn laid_over(mut draft: Prompt, given: &Map<String, Value>) -> Result<(Prompt, bool), String> {
    let mut messages = None;
    for (key, value) in given {
        match key.as_str() {
            "system" => draft.system = texts(value, "system")?,
            "messages" => messages = Some(read_messages(&draft, value)?),
            "tools" => draft.tools = read_tools(&draft.tools, value)?,
            "body" => draft.body = read_body(value)?,
            other => {
                return Err(format!("`prompt` has `{other}`; it may hold system, messages, tools and body"));
            }
        }
    }
    let own = messages.is_some();
    if let Some(messages) = messages {
        draft.messages = messages;
    }
    Ok((draft, own))
}

/// A list of texts, or one.
pub(super) fn texts(value: &Value, name: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{name}` has to be a list of texts");
    match value {
        Value::String(text) => Ok(vec![text.clone()]),
        Value::Array(all) => {
            all.iter().map(|one| one.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        _ => Err(wrong()),
    }
}

fn read_body(value: &Value) -> Result<Map<String, Value>, String> {
    let Value::Object(body) = value else { return Err("`body` has to be an object".to_owned()) };
    match body.keys().find(|key| OWN_FIELDS.contains(&key.as_str())) {
        Some(key) => Err(format!("`body` has `{key}`, which tack writes itself; leave it out")),
        None => Ok(body.clone()),
    }
}

fn read_tools(known: &[ToolSpec], value: &Value) -> Result<Vec<ToolSpec>, String> {
    let Value::Array(all) = value else { return Err("`tools` has to be a list".to_owned()) };
    let mut tools: Vec<ToolSpec> = Vec::new();
    for one in all {
        let name = one["name"].as_str().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
            return Err(format!(
                "a tool's `name` is {}; it takes 1 to 64 letters, digits, _ and -",
                super::line::shown(&one["name"].to_string())
            ));
        }
        if tools.iter().any(|tool| tool.name == name) {
            return Err(format!("two tools are called `{name}`"));
        }
        let before = known.iter().find(|tool| tool.name == name);
        let schema = match (&one["schema"], before) {
            (Value::Null, Some(tool)) => tool.schema.clone(),
            (schema, _) if schema["type"] == "object" => schema.clone(),
            _ => return Err(format!("the `schema` of tool `{name}` needs `\"type\": \"object\"`")),
        };
        let about = one["about"].as_str().or(before.map(|tool| tool.about.as_str())).unwrap_or_default();
        // What holds only for the schema it was made for is lost with that.
        let same = before.filter(|tool| tool.schema == schema);
        let (strict, free) = (same.and_then(|tool| tool.strict), same.and_then(|tool| tool.free.clone()));
        tools.push(ToolSpec { name: name.to_owned(), about: about.to_owned(), schema, strict, free });
    }
    Ok(tools)
}

fn read_messages(draft: &Prompt, value: &Value) -> Result<Vec<Message>, String> {
    let Value::Array(all) = value else { return Err("`messages` has to be a list".to_owned()) };
    let before = Before::of(draft);
    let read = |(at, message): (usize, &Value)| {
        read_message(message, &before).map_err(|why| format!("message {at} {why}"))
    };
    all.iter().enumerate().map(read).collect()
}

fn read_message(message: &Value, before: &Before<'_>) -> Result<Message, String> {
    let role = serde_json::from_value::<Role>(message["role"].clone()).map_err(|_| {
        format!(
            "has role {}; there are user, assistant, tool, system and developer",
            super::line::shown(&message["role"].to_string())
        )
    })?;
    let pieces = read_pieces(&message["content"], before)?;
    let wrong = pieces.iter().find(|piece| match piece {
        Piece::Text(_) => role == Role::Tool,
        Piece::Image { .. } => !matches!(role, Role::User),
        Piece::Thinking { .. } | Piece::Call { .. } => role != Role::Assistant,
        Piece::Result { .. } => role != Role::Tool,
    });
    match wrong {
        Some(piece) => Err(format!("holds a {}, which has no place in its role", kind(piece))),
        None => Ok(Message { role, pieces }),
    }
}

fn kind(piece: &Piece) -> &'static str {
    match piece {
        Piece::Text(_) => "text",
        Piece::Image { .. } => "image",
        Piece::Thinking { .. } => "thinking",
        Piece::Call { .. } => "call",
        Piece::Result { .. } => "result",
    }
}

fn read_pieces(content: &Value, before: &Before<'_>) -> Result<Vec<Piece>, String> {
    match content {
        Value::String(text) => Ok(vec![Piece::Text(text.clone())]),
        Value::Array(all) => all.iter().map(|piece| read_piece(piece, before)).collect(),
        _ => Err("has no `content`; it is a text or a list of pieces".to_owned()),
    }
}

fn read_piece(piece: &Value, before: &Before<'_>) -> Result<Piece, String> {
    let word = |key: &str| piece[key].as_str().map(str::to_owned);
    let number = |key: &str| {
        let at = piece[key].as_u64().and_then(|at| usize::try_from(at).ok());
        let found = at.and_then(|at| before.kept.get(at).copied()).filter(|found| kind(found) == key);
        let made = || format!("names the {key} {}, which the draft does not have", piece[key]);
        found.cloned().ok_or_else(made)
    };
    if let Value::String(text) = piece {
        return Ok(Piece::Text(text.clone()));
    }
    if !piece["image"].is_null() {
        return number("image");
    }
    if !piece["thinking"].is_null() {
        return number("thinking");
    }
    if let Some(id) = word("call") {
        let name = word("name").filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| format!("has the call `{id}` without a `name`"))?;
        let args = match &piece["args"] {
            Value::Object(args) => Value::Object(args.clone()).to_string(),
            Value::String(args) if serde_json::from_str::<Map<String, Value>>(args).is_ok() => args.clone(),
            _ => return Err(format!("has the call `{id}`, whose `args` are no object")),
        };
        let args = before.as_written(&id, &args);
        return Ok(Piece::Call { id, name, args });
    }
    if let Some(id) = word("result") {
        let pieces = read_pieces(&piece["content"], before)?;
        let plain = |piece: &Piece| matches!(piece, Piece::Text(_) | Piece::Image { .. });
        if !pieces.iter().all(plain) {
            return Err(format!("has the result `{id}`, which may hold texts and images only"));
        }
        let failed = piece["failed"].as_bool().unwrap_or_default();
        return Ok(Piece::Result { id, name: word("name").unwrap_or_default(), pieces, failed });
    }
    match word("text") {
        Some(text) => Ok(Piece::Text(text)),
        None => Err(format!(
            "holds the piece {}; a piece has text, image, thinking, call or result",
            super::line::shown(&piece.to_string())
        )),
    }
}
