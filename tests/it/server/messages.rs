//! What the server says, in the events of the messages API: blocks opened, filled and stopped.

use serde_json::{Value, json};
use tack::model::WireKind;

use super::Seal;
use super::frame::{Say, Tongue};
use super::responses::fresh;

pub(super) struct Messages {
    counted: (u64, u64),
    seal: Seal,
    open: Option<Block>,
    /// Blocks begun so far.
    blocks: usize,
    began: bool,
}

enum Block {
    Thinking(String),
    Text,
    Call { index: Value, id: String },
}

impl Messages {
    pub(super) fn new(counted: Option<(u64, u64)>, seal: &Seal) -> Self {
        Self { counted: counted.unwrap_or_default(), seal: seal.clone(), open: None, blocks: 0, began: false }
    }

    fn begin(&mut self) -> String {
        if std::mem::replace(&mut self.began, true) {
            return String::new();
        }
        let message = json!({"id": fresh("msg"), "type": "message", "role": "assistant", "content": [], "model": "m",
            "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": self.counted.0,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": self.counted.1.min(1)}});
        event("message_start", json!({ "message": message })) + &event("ping", json!({}))
    }

    fn start(&mut self, block: Block, shown: &Value) -> String {
        let stopped = self.stop();
        self.open = Some(block);
        self.blocks += 1;
        stopped + &event("content_block_start", json!({"index": self.blocks - 1, "content_block": shown}))
    }

    fn delta(&self, delta: &Value) -> String {
        event("content_block_delta", json!({"index": self.blocks - 1, "delta": delta}))
    }

    fn stop(&mut self) -> String {
        let Some(open) = self.open.take() else { return String::new() };
        let signed = match open {
            Block::Thinking(text) => {
                let signature = self.seal.make(WireKind::Messages, &text);
                self.delta(&json!({"type": "signature_delta", "signature": signature}))
            }
            Block::Text | Block::Call { .. } => String::new(),
        };
        signed + &event("content_block_stop", json!({"index": self.blocks - 1}))
    }

    fn thinks(&mut self, text: &str) -> String {
        let mut said = String::new();
        if !matches!(self.open, Some(Block::Thinking(_))) {
            let shown = json!({"type": "thinking", "thinking": "", "signature": ""});
            said += &self.start(Block::Thinking(String::new()), &shown);
        }
        if let Some(Block::Thinking(so_far)) = &mut self.open {
            so_far.push_str(text);
        }
        said + &self.delta(&json!({"type": "thinking_delta", "thinking": text}))
    }

    fn speaks(&mut self, text: &str) -> String {
        let mut said = String::new();
        if !matches!(self.open, Some(Block::Text)) {
            said += &self.start(Block::Text, &json!({"type": "text", "text": ""}));
        }
        said + &self.delta(&json!({"type": "text_delta", "text": text}))
    }

    fn called(&mut self, part: &Value) -> String {
        let function = &part["function"];
        let (id, index) = (part["id"].as_str(), &part["index"]);
        let goes_on = matches!(&self.open, Some(Block::Call { index: open, id: known })
            if id.is_none_or(|id| id == known) && (index.is_null() || index == open));
        let mut said = String::new();
        if !goes_on {
            // The service gives every call an id.
            let id = id.filter(|id| !id.is_empty()).map_or_else(|| fresh("toolu"), str::to_owned);
            let name = function["name"].as_str().unwrap_or_default();
            let shown = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
            said += &self.start(Block::Call { index: index.clone(), id }, &shown);
        }
        let args = function["arguments"].as_str().unwrap_or_default();
        said + &self.delta(&json!({"type": "input_json_delta", "partial_json": args}))
    }
}

impl Tongue for Messages {
    fn say(&mut self, say: &Say) -> String {
        let mut said = self.begin();
        match say {
            Say::Delta(delta) => {
                let text = |field: &str| delta[field].as_str().filter(|text| !text.is_empty());
                if let Some(text) = text("reasoning_content") {
                    said += &self.thinks(text);
                }
                if let Some(text) = text("content").or(text("refusal")) {
                    said += &self.speaks(text);
                }
                for part in delta["tool_calls"].as_array().into_iter().flatten() {
                    said += &self.called(part);
                }
            }
            Say::End(reason) => {
                let reason = match reason.as_str() {
                    "stop" => "end_turn",
                    "tool_calls" => "tool_use",
                    "length" => "max_tokens",
                    "content_filter" => "refusal",
                    other => other,
                };
                said += &self.stop();
                said += &event(
                    "message_delta",
                    json!({"delta": {"stop_reason": reason, "stop_sequence": null},
                        "usage": {"output_tokens": self.counted.1}}),
                );
            }
            // It is in the first and the last event.
            Say::Usage { .. } => {}
            Say::Done => said += &event("message_stop", json!({})),
            Say::Fails(message) => {
                said += &event("error", json!({"error": {"type": "api_error", "message": message}}));
            }
        }
        said
    }
}

fn event(name: &str, mut data: Value) -> String {
    data["type"] = name.into();
    format!("event: {name}\ndata: {data}\n\n")
}
