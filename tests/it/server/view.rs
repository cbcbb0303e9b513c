//! Requests of every wire, seen as chat bodies, so that one assertion serves all three.

use serde_json::{Map, Value, json};
use tack::model::WireKind;

/// `messages` and `tools` as the chat API has them.
pub fn chat(wire: WireKind, body: &Value) -> Value {
    match wire {
        WireKind::Chat => body.clone(),
        WireKind::Responses => responses(body),
        WireKind::Messages => messages(body),
    }
}

fn view(messages: Vec<Value>, tools: Vec<Value>) -> Value {
    let mut view = Map::new();
    view.insert("messages".into(), messages.into());
    if !tools.is_empty() {
        view.insert("tools".into(), tools.into());
    }
    view.into()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Texts as one string, or parts where there is an image.
fn content(value: &Value, gap: &str) -> Value {
    if !value.is_array() {
        return value.clone();
    }
    let parts: Vec<Value> = list(value).filter_map(part).collect();
    if parts.iter().any(|part| part["type"] == "image_url") {
        return parts.into();
    }
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    texts.join(gap).into()
}

fn part(part: &Value) -> Option<Value> {
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    match part["type"].as_str()? {
        "text" | "input_text" | "output_text" => Some(json!({"type": "text", "text": part["text"]})),
        "refusal" => Some(json!({"type": "text", "text": part["refusal"]})),
        "input_image" => Some(image(part["image_url"].as_str().unwrap_or_default())),
        "image" => {
            let field = |name: &str| part["source"][name].as_str().unwrap_or_default();
            Some(image(&format!("data:{};base64,{}", field("media_type"), field("data"))))
        }
        _ => None,
    }
}

fn called(id: &Value, name: &Value, args: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": args}})
}

/// The assistant's message that is being gathered.
#[derive(Default)]
struct Turn {
    thinking: String,
    text: String,
    calls: Vec<Value>,
}

impl Turn {
    fn flush(&mut self, out: &mut Vec<Value>) {
        let Turn { thinking, text, calls } = std::mem::take(self);
        if thinking.is_empty() && text.is_empty() && calls.is_empty() {
            return;
        }
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        message.insert("content".into(), text.into());
        if !thinking.is_empty() {
            message.insert("reasoning_content".into(), thinking.into());
        }
        if !calls.is_empty() {
            message.insert("tool_calls".into(), calls.into());
        }
        out.push(message.into());
    }
}

fn responses(body: &Value) -> Value {
    let mut out = Vec::new();
    if let Some(system) = body["instructions"].as_str() {
        out.push(json!({"role": "system", "content": system}));
    }
    if let Some(text) = body["input"].as_str() {
        out.push(json!({"role": "user", "content": text}));
    }
    let mut turn = Turn::default();
    for item in list(&body["input"]) {
        match item["type"].as_str().unwrap_or("message") {
            "reasoning" => {
                let texts: Vec<&str> =
                    list(&item["summary"]).filter_map(|part| part["text"].as_str()).collect();
                turn.thinking += &texts.join("\n\n");
            }
            "message" if item["role"] == "assistant" => {
                turn.text += content(&item["content"], "").as_str().unwrap_or_default();
            }
            "message" => {
                turn.flush(&mut out);
                let role = if item["role"] == "user" { "user" } else { "system" };
                out.push(json!({"role": role, "content": content(&item["content"], "\n\n")}));
            }
            "function_call" => turn.calls.push(called(&item["call_id"], &item["name"], &item["arguments"])),
            "custom_tool_call" => turn.calls.push(called(&item["call_id"], &item["name"], &item["input"])),
            "function_call_output" | "custom_tool_call_output" => {
                turn.flush(&mut out);
                let content = content(&item["output"], "\n\n");
                out.push(json!({"role": "tool", "tool_call_id": item["call_id"], "content": content}));
            }
            other => panic!("the test's view knows no item of type {other}"),
        }
    }
    turn.flush(&mut out);
    let tool = |tool: &Value| {
        let mut function = Map::new();
        function.insert("name".into(), tool["name"].clone());
        function.insert("description".into(), tool["description"].clone());
        function.insert("parameters".into(), tool["parameters"].clone());
        json!({"type": "function", "function": function})
    };
    view(out, list(&body["tools"]).map(tool).collect())
}

fn messages(body: &Value) -> Value {
    let mut out = Vec::new();
    if !body["system"].is_null() {
        out.push(json!({"role": "system", "content": content(&body["system"], "\n\n")}));
    }
    for message in list(&body["messages"]) {
        if message["role"] != "assistant" {
            user(message, &mut out);
            continue;
        }
        let mut turn = Turn::default();
        turn.text += content(&message["content"], "").as_str().unwrap_or_default();
        for block in list(&message["content"]) {
            match block["type"].as_str() {
                Some("thinking") => turn.thinking += block["thinking"].as_str().unwrap_or_default(),
                Some("tool_use") => {
                    turn.calls.push(called(&block["id"], &block["name"], &block["input"].to_string().into()));
                }
                _ => {}
            }
        }
        turn.flush(&mut out);
    }
    let tool = |tool: &Value| {
        json!({"type": "function", "function": {
            "name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"]}})
    };
    view(out, list(&body["tools"]).map(tool).collect())
}

fn user(message: &Value, out: &mut Vec<Value>) {
    if !message["content"].is_array() {
        out.push(json!({"role": "user", "content": message["content"]}));
        return;
    }
    let (results, rest): (Vec<&Value>, Vec<&Value>) =
        list(&message["content"]).partition(|block| block["type"] == "tool_result");
    for block in results {
        let content = content(&block["content"], "\n\n");
        out.push(json!({"role": "tool", "tool_call_id": block["tool_use_id"], "content": content}));
    }
    if !rest.is_empty() {
        let rest: Value = rest.into_iter().cloned().collect();
        out.push(json!({"role": "user", "content": content(&rest, "\n\n")}));
    }
}
