//! What the server says, in the events of the responses API: named, numbered, each item opened,
//! filled, closed, and all of them once more at the end.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tack::model::WireKind;

use super::Seal;
use super::frame::{Say, Tongue};

pub(super) struct Responses {
    response: String,
    counted: Option<(u64, u64)>,
    seal: Seal,
    /// Sealed reasoning was asked for.
    sealed: bool,
    /// Tools that take one text.
    free: Vec<String>,
    number: usize,
    open: Option<Item>,
    output: Vec<Value>,
    began: bool,
}

/// The item that is being filled.
struct Item {
    id: String,
    kind: Kind,
    text: String,
}

enum Kind {
    Reasoning,
    Message,
    Refusal,
    Call {
        index: Value,
        call_id: String,
        name: String,
    },
    /// A call of a tool that takes one text.
    Free {
        index: Value,
        call_id: String,
        name: String,
    },
}

/// No two things that this process says have the same id.
pub(super) fn fresh(prefix: &str) -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    format!("{prefix}_{:08}", NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Responses {
    pub(super) fn new(request: &Value, counted: Option<(u64, u64)>, seal: &Seal) -> Self {
        let named = |tool: &Value| {
            (tool["type"] == "custom").then(|| tool["name"].as_str().unwrap_or_default().to_owned())
        };
        let list = |field: &str| request[field].as_array().cloned().unwrap_or_default();
        Self {
            response: fresh("resp"),
            counted,
            seal: seal.clone(),
            sealed: list("include").contains(&json!("reasoning.encrypted_content")),
            free: list("tools").iter().filter_map(named).collect(),
            number: 0,
            open: None,
            output: Vec::new(),
            began: false,
        }
    }

    fn event(&mut self, name: &str, mut data: Value) -> String {
        data["type"] = name.into();
        data["sequence_number"] = self.number.into();
        self.number += 1;
        format!("event: {name}\ndata: {data}\n\n")
    }

    /// An event about the open item.
    fn of_item(&mut self, name: &str, mut data: Value) -> String {
        if let Some(item) = &self.open {
            data["item_id"] = item.id.as_str().into();
        }
        data["output_index"] = self.output.len().into();
        self.event(name, data)
    }

    fn response(&self, status: &str) -> Value {
        json!({"id": self.response, "object": "response", "created_at": 1, "status": status, "model": "m",
            "error": null, "incomplete_details": null, "output": self.output})
    }

    fn begin(&mut self) -> String {
        if std::mem::replace(&mut self.began, true) {
            return String::new();
        }
        let response = self.response("in_progress");
        self.event("response.created", json!({"response": response}))
            + &self.event("response.in_progress", json!({"response": response}))
    }

    fn add(&mut self, kind: Kind) -> String {
        let id = match &kind {
            Kind::Reasoning => fresh("rs"),
            Kind::Message | Kind::Refusal => fresh("msg"),
            Kind::Call { .. } => fresh("fc"),
            Kind::Free { .. } => fresh("ctc"),
        };
        let part = match &kind {
            Kind::Reasoning => Some((
                "response.reasoning_summary_part.added",
                json!({"summary_index": 0, "part": {"type": "summary_text", "text": ""}}),
            )),
            Kind::Message => {
                Some(("response.content_part.added", json!({"content_index": 0, "part": text_part("")})))
            }
            Kind::Refusal => Some((
                "response.content_part.added",
                json!({"content_index": 0, "part": {"type": "refusal", "refusal": ""}}),
            )),
            Kind::Call { .. } | Kind::Free { .. } => None,
        };
        let item = Item { id, kind, text: String::new() };
        let shown = self.shown(&item, "in_progress");
        self.open = Some(item);
        let output_index = self.output.len();
        let mut said =
            self.event("response.output_item.added", json!({"output_index": output_index, "item": shown}));
        if let Some((name, data)) = part {
            said += &self.of_item(name, data);
        }
        said
    }

    /// The item as it stands in the output.
    fn shown(&self, item: &Item, status: &str) -> Value {
        let Item { id, kind, text } = item;
        let filled = !text.is_empty() || status != "in_progress";
        match kind {
            Kind::Reasoning => {
                let summary =
                    if filled { json!([{"type": "summary_text", "text": text}]) } else { json!([]) };
                let mut shown = json!({"id": id, "type": "reasoning", "summary": summary});
                if self.sealed && filled {
                    shown["encrypted_content"] = self.seal.make(WireKind::Responses, text).into();
                }
                shown
            }
            Kind::Message | Kind::Refusal => {
                let part = match kind {
                    Kind::Refusal => json!({"type": "refusal", "refusal": text}),
                    Kind::Message | Kind::Reasoning | Kind::Call { .. } | Kind::Free { .. } => {
                        text_part(text)
                    }
                };
                let content = if filled { json!([part]) } else { json!([]) };
                json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content})
            }
            Kind::Call { call_id, name, .. } => json!({"id": id, "type": "function_call", "status": status,
                "call_id": call_id, "name": name, "arguments": text}),
            Kind::Free { call_id, name, .. } => {
                json!({"id": id, "type": "custom_tool_call", "status": status,
                "call_id": call_id, "name": name, "input": if filled { input(text) } else { String::new() }})
            }
        }
    }

    fn more(&mut self, text: &str) -> String {
        let item = self.open.as_mut().expect("an item is open");
        item.text.push_str(text);
        let (name, field) = match item.kind {
            Kind::Reasoning => ("response.reasoning_summary_text.delta", "summary_index"),
            Kind::Message => ("response.output_text.delta", "content_index"),
            Kind::Refusal => ("response.refusal.delta", "content_index"),
            Kind::Call { .. } => {
                return self.of_item("response.function_call_arguments.delta", json!({"delta": text}));
            }
            // The script has it as JSON: it is said when it is whole.
            Kind::Free { .. } => return String::new(),
        };
        let mut data = json!({"delta": text});
        data[field] = 0.into();
        self.of_item(name, data)
    }

    fn close(&mut self, status: &str) -> String {
        let Some(item) = &self.open else { return String::new() };
        let text = item.text.clone();
        let ends = match &item.kind {
            Kind::Reasoning => vec![
                ("response.reasoning_summary_text.done", json!({"summary_index": 0, "text": text})),
                (
                    "response.reasoning_summary_part.done",
                    json!({"summary_index": 0, "part": {"type": "summary_text", "text": text}}),
                ),
            ],
            Kind::Message => vec![
                ("response.output_text.done", json!({"content_index": 0, "text": text})),
                ("response.content_part.done", json!({"content_index": 0, "part": text_part(&text)})),
            ],
            Kind::Refusal => vec![
                ("response.refusal.done", json!({"content_index": 0, "refusal": text})),
                (
                    "response.content_part.done",
                    json!({"content_index": 0, "part": {"type": "refusal", "refusal": text}}),
                ),
            ],
            Kind::Call { .. } => {
                vec![("response.function_call_arguments.done", json!({"arguments": text}))]
            }
            Kind::Free { .. } => vec![
                ("response.custom_tool_call_input.delta", json!({"delta": input(&text)})),
                ("response.custom_tool_call_input.done", json!({"input": input(&text)})),
            ],
        };
        let mut said: String = ends.into_iter().map(|(name, data)| self.of_item(name, data)).collect();
        let item = self.open.take().expect("the item was open");
        let shown = self.shown(&item, status);
        let output_index = self.output.len();
        self.output.push(shown.clone());
        said +=
            &self.event("response.output_item.done", json!({"output_index": output_index, "item": shown}));
        said
    }

    fn fill(&mut self, fits: fn(&Kind) -> bool, kind: Kind, text: &str) -> String {
        let mut said = String::new();
        if !self.open.as_ref().is_some_and(|item| fits(&item.kind)) {
            said += &self.close("completed");
            said += &self.add(kind);
        }
        said + &self.more(text)
    }

    fn called(&mut self, part: &Value) -> String {
        let function = &part["function"];
        let (id, index) = (part["id"].as_str(), &part["index"]);
        let goes_on = self.open.as_ref().is_some_and(|item| match &item.kind {
            Kind::Call { index: open, call_id, .. } | Kind::Free { index: open, call_id, .. } => {
                id.is_none_or(|id| id == call_id) && (index.is_null() || index == open)
            }
            Kind::Reasoning | Kind::Message | Kind::Refusal => false,
        });
        let mut said = String::new();
        if !goes_on {
            said += &self.close("completed");
            // The service gives every call an id.
            let call_id = id.filter(|id| !id.is_empty()).map_or_else(|| fresh("call"), str::to_owned);
            let name = function["name"].as_str().unwrap_or_default().to_owned();
            let index = index.clone();
            said += &self.add(match self.free.contains(&name) {
                true => Kind::Free { index, call_id, name },
                false => Kind::Call { index, call_id, name },
            });
        }
        said + &self.more(function["arguments"].as_str().unwrap_or_default())
    }

    fn finish(&mut self, reason: &str) -> String {
        let cut = match reason {
            "length" => Some("max_output_tokens"),
            "content_filter" => Some("content_filter"),
            _ => None,
        };
        let status = if cut.is_some() { "incomplete" } else { "completed" };
        let mut said = self.close(status);
        let mut response = self.response(status);
        if let Some(cut) = cut {
            response["incomplete_details"] = json!({ "reason": cut });
        }
        if let Some((input, output)) = self.counted {
            response["usage"] = json!({"input_tokens": input, "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": input + output});
        }
        said += &self.event(&format!("response.{status}"), json!({"response": response}));
        said
    }
}

impl Tongue for Responses {
    fn say(&mut self, say: &Say) -> String {
        let mut said = self.begin();
        match say {
            Say::Delta(delta) => {
                let text = |field: &str| delta[field].as_str().filter(|text| !text.is_empty());
                if let Some(text) = text("reasoning_content") {
                    said += &self.fill(|kind| matches!(kind, Kind::Reasoning), Kind::Reasoning, text);
                }
                if let Some(text) = text("content") {
                    said += &self.fill(|kind| matches!(kind, Kind::Message), Kind::Message, text);
                }
                if let Some(text) = text("refusal") {
                    said += &self.fill(|kind| matches!(kind, Kind::Refusal), Kind::Refusal, text);
                }
                for part in delta["tool_calls"].as_array().into_iter().flatten() {
                    said += &self.called(part);
                }
            }
            Say::End(reason) => said += &self.finish(reason),
            // Both are in the last event.
            Say::Usage { .. } | Say::Done => {}
            Say::Fails(message) => {
                let mut response = self.response("failed");
                response["error"] = json!({"code": "server_error", "message": message});
                said += &self.event("response.failed", json!({"response": response}));
            }
        }
        said
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

/// The one text of a call that the script has as JSON.
fn input(args: &str) -> String {
    let args: Value = serde_json::from_str(args).unwrap_or_default();
    let text = args.as_object().and_then(|args| args.values().next()).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}
