//! One reply, said as each of the three APIs streams it.
//!
//! It knows the shape of events and no more: what is said comes from the script.

use serde_json::{Value, json};

/// What a reply holds.
pub enum Said {
    /// So many pieces of text.
    Words(usize),
    Word(&'static str),
    Pieces(Vec<String>),
    /// The n-th shell command, as a call of this tool.
    Call(usize, String),
}

/// The API that a request's path belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Chat,
    Responses,
    Messages,
}

impl Wire {
    pub const ALL: [Self; 3] = [Self::Chat, Self::Responses, Self::Messages];

    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
        }
    }

    pub fn of(path: &str) -> Self {
        match path {
            path if path.ends_with("/responses") => Self::Responses,
            path if path.ends_with("/messages") => Self::Messages,
            _ => Self::Chat,
        }
    }

    /// How many results of calls a request holds.
    pub fn results(self, request: &Value) -> usize {
        let list = |key: &str| request[key].as_array().cloned().unwrap_or_default();
        let is = |value: &Value, key: &str, word: &str| value[key] == word;
        match self {
            Self::Chat => list("messages").iter().filter(|m| is(m, "role", "tool")).count(),
            Self::Responses => list("input").iter().filter(|i| is(i, "type", "function_call_output")).count(),
            Self::Messages => {
                let blocks = list("messages").into_iter().flat_map(|m| m["content"].as_array().cloned());
                blocks.flatten().filter(|block| is(block, "type", "tool_result")).count()
            }
        }
    }

    /// The first tool on offer that takes a command.
    pub fn shell(self, request: &Value) -> String {
        let (at, name) = match self {
            Self::Chat => ("/function/parameters/properties/command", "/function/name"),
            Self::Responses => ("/parameters/properties/command", "/name"),
            Self::Messages => ("/input_schema/properties/command", "/name"),
        };
        let tools = request["tools"].as_array().into_iter().flatten();
        let found = tools.filter(|tool| tool.pointer(at).is_some()).find_map(|tool| tool.pointer(name));
        found.and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    pub fn events(self, said: &Said) -> Vec<String> {
        match self {
            Self::Chat => chat(said),
            Self::Responses => responses(said),
            Self::Messages => messages(said),
        }
    }
}

/// Words of a line's length, then a line break: as prose comes.
fn word(n: usize) -> &'static str {
    if n % 12 == 11 { "end.\n" } else { ["some ", "words ", "of ", "prose "][n % 4] }
}

fn words(said: &Said) -> Vec<&str> {
    match said {
        Said::Words(count) => (0..*count).map(word).collect(),
        Said::Word(word) => vec![word],
        Said::Pieces(pieces) => pieces.iter().map(String::as_str).collect(),
        Said::Call(..) => Vec::new(),
    }
}

fn arguments(n: usize) -> String {
    json!({ "command": format!("echo step {n}") }).to_string()
}

fn chat(said: &Said) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        let data = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choice });
        format!("data: {data}\n\n")
    };
    let mut events: Vec<String> =
        words(said).into_iter().map(|word| chunk(json!({ "content": word }), Value::Null)).collect();
    let mut finish = "stop";
    if let Said::Call(n, name) = said {
        finish = "tool_calls";
        let function = json!({ "name": name, "arguments": arguments(*n) });
        let call = json!({ "index": 0, "id": format!("call_{n}"), "type": "function", "function": function });
        events.push(chunk(json!({ "tool_calls": [call] }), Value::Null));
    }
    events.push(chunk(json!({}), json!(finish)));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn named(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

fn responses(said: &Said) -> Vec<String> {
    let mut number = 0;
    let mut event = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(number);
        number += 1;
        named(&data)
    };
    let response = |status: &str, output: &Value| json!({ "response": { "id": "r", "object": "response", "status": status, "output": output } });
    let mut events = vec![event("response.created", response("in_progress", &json!([])))];
    let output = match said {
        Said::Call(n, name) => {
            let item = |args: &str| json!({ "type": "function_call", "id": "i", "call_id": format!("call_{n}"), "name": name, "arguments": args });
            let args = arguments(*n);
            events.push(event("response.output_item.added", json!({ "output_index": 0, "item": item("") })));
            events.push(event(
                "response.function_call_arguments.delta",
                json!({ "item_id": "i", "output_index": 0, "delta": args }),
            ));
            events
                .push(event("response.output_item.done", json!({ "output_index": 0, "item": item(&args) })));
            item(&args)
        }
        Said::Words(_) | Said::Word(_) | Said::Pieces(_) => {
            let item = |text: &str| json!({ "type": "message", "id": "i", "role": "assistant", "content": [{ "type": "output_text", "text": text, "annotations": [] }] });
            events.push(event("response.output_item.added", json!({ "output_index": 0, "item": { "type": "message", "id": "i", "role": "assistant", "content": [] } })));
            for word in words(said) {
                events.push(event(
                    "response.output_text.delta",
                    json!({ "item_id": "i", "output_index": 0, "content_index": 0, "delta": word }),
                ));
            }
            let whole = item(&words(said).concat());
            events.push(event("response.output_item.done", json!({ "output_index": 0, "item": whole })));
            whole
        }
    };
    events.push(event("response.completed", response("completed", &json!([output]))));
    events
}

fn messages(said: &Said) -> Vec<String> {
    let start = json!({ "id": "m", "type": "message", "role": "assistant", "content": [], "usage": { "input_tokens": 1, "output_tokens": 1 } });
    let mut events = vec![named(&json!({ "type": "message_start", "message": start }))];
    let (block, deltas, stop) = match said {
        Said::Call(n, name) => {
            let delta = json!({ "type": "input_json_delta", "partial_json": arguments(*n) });
            let block = json!({ "type": "tool_use", "id": format!("call_{n}"), "name": name, "input": {} });
            (block, vec![delta], "tool_use")
        }
        Said::Words(_) | Said::Word(_) | Said::Pieces(_) => {
            let delta = |word| json!({ "type": "text_delta", "text": word });
            let deltas = words(said).into_iter().map(delta).collect();
            (json!({ "type": "text", "text": "" }), deltas, "end_turn")
        }
    };
    events.push(named(&json!({ "type": "content_block_start", "index": 0, "content_block": block })));
    for delta in deltas {
        events.push(named(&json!({ "type": "content_block_delta", "index": 0, "delta": delta })));
    }
    events.push(named(&json!({ "type": "content_block_stop", "index": 0 })));
    let usage = json!({ "output_tokens": 2 });
    events.push(named(&json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": usage })));
    events.push(named(&json!({ "type": "message_stop" })));
    events
}
