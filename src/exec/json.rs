//! Events as JSON lines: the exec protocol that programs which embed Codex expect.
//!
//! Names, fields and order are that protocol's. tack adds fields, and with [`Detail::Full`] events
//! of its own whose types begin with `tack.`.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Frontend, item};
use crate::agent::{End, Event};
use crate::model::{
    Action, Body, CallId, Item, Part, Reply, TodoItem, TodoStatus, ToolCall, ToolResult, Usage,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    Codex,
    Full,
}

pub(super) struct Json<W> {
    out: W,
    detail: Detail,
    /// Number of the next item.
    next: usize,
    /// Calls that began: their item's number and content, and what they do.
    open: HashMap<CallId, (Option<(usize, Value)>, ToolCall)>,
    /// The last message that was written.
    said: Option<String>,
    /// The task list's item number and last state.
    todo: Option<(usize, Value)>,
    /// A closing event was written.
    closed: bool,
    /// What relative paths of changes are relative to.
    cwd: PathBuf,
}

impl<W: Write> Json<W> {
    pub(super) fn new(out: W, detail: Detail) -> Self {
        Self {
            out,
            detail,
            next: 0,
            open: HashMap::new(),
            said: None,
            todo: None,
            closed: false,
            cwd: PathBuf::new(),
        }
    }

    fn line(&mut self, value: &Value) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.out.write_all(&line)
    }

    fn full(&mut self, value: &Value) -> std::io::Result<()> {
        match self.detail {
            Detail::Full => self.line(value),
            Detail::Codex => Ok(()),
        }
    }

    fn number(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn item(&mut self, stage: &str, number: usize, mut item: Value) -> std::io::Result<()> {
        let mut whole = json!({ "id": format!("item_{number}") });
        if let (Some(whole), Some(item)) = (whole.as_object_mut(), item.as_object_mut()) {
            whole.append(item);
        }
        self.line(&json!({ "type": format!("item.{stage}"), "item": whole }))
    }

    fn single(&mut self, item: Value) -> std::io::Result<()> {
        let number = self.number();
        self.item("completed", number, item)
    }

    fn reply(&mut self, reply: &Reply) -> std::io::Result<()> {
        let mut thoughts = Vec::new();
        for part in &reply.parts {
            if let Part::Thinking { text, .. } = part
                && !text.trim().is_empty()
            {
                thoughts.push(text.trim());
            }
        }
        if !thoughts.is_empty() {
            self.single(json!({ "type": "reasoning", "text": thoughts.join("\n") }))?;
        }
        let said = reply.said();
        match said.is_empty() {
            true => Ok(()),
            false => self.message(said),
        }
    }

    fn message(&mut self, text: String) -> std::io::Result<()> {
        self.single(json!({ "type": "agent_message", "text": text }))?;
        self.said = Some(text);
        Ok(())
    }

    fn call_started(&mut self, call: &ToolCall, makes_file: bool) -> std::io::Result<()> {
        let begun = match item::started(call, makes_file, &self.cwd) {
            Some(item) => {
                let number = self.number();
                self.item("started", number, item.clone())?;
                Some((number, item))
            }
            None => None,
        };
        self.open.insert(call.id.clone(), (begun, call.clone()));
        self.full(&json!({
            "type": "tack.call", "call": call.id, "tool": call.name, "title": call.action.title(),
        }))
    }

    fn result(&mut self, result: &ToolResult) -> std::io::Result<()> {
        // A call that was answered without being run has no item: it never began.
        let Some((begun, call)) = self.open.remove(&result.call) else { return Ok(()) };
        if let Some((number, begun)) = begun {
            self.item("completed", number, item::ended(&call, &begun, &result.outcome, &self.cwd))?;
        }
        if let Action::Todo { .. } | Action::Tasks { .. } = &call.action
            && let Ok(items) = Vec::<TodoItem>::deserialize(&result.outcome.data["items"])
        {
            self.todo(&items)?;
        }
        self.full(&json!({
            "type": "tack.result", "call": result.call, "state": result.outcome.state,
            "took_ms": result.outcome.took,
        }))
    }

    fn todo(&mut self, items: &[TodoItem]) -> std::io::Result<()> {
        let items: Vec<_> = items
            .iter()
            .map(|item| json!({ "text": item.text, "completed": item.status == TodoStatus::Completed }))
            .collect();
        let state = json!({ "type": "todo_list", "items": items });
        match self.todo.take() {
            Some((number, _)) => {
                self.todo = Some((number, state.clone()));
                self.item("updated", number, state)
            }
            None => {
                let number = self.number();
                self.todo = Some((number, state.clone()));
                self.item("started", number, state)
            }
        }
    }

    fn stored(&mut self, item: &Item) -> std::io::Result<()> {
        match &item.body {
            Body::Assistant(reply) => self.reply(reply),
            Body::Result(result) => self.result(result),
            Body::User(_) | Body::Note(_) | Body::Scene(_) | Body::Summary(_) | Body::Mark(_) => Ok(()),
        }
    }

    fn turn_ended(&mut self, end: &End, usage: &Usage, cost: Option<f64>) -> std::io::Result<()> {
        self.closed = true;
        // Work may be handed in by a call; whoever listens takes the last message for the answer.
        if let End::Completed { message: Some(message) } = end
            && self.said.as_ref() != Some(message)
        {
            self.message(message.clone())?;
        }
        if let Some((number, state)) = self.todo.take() {
            self.item("completed", number, state)?;
        }
        match end {
            End::Completed { message } => {
                let mut line = json!({ "type": "turn.completed", "usage": usage_fields(usage) });
                if let Some(cost) = cost {
                    line["cost_usd"] = json!(cost);
                }
                if self.detail == Detail::Full {
                    line["tack_message"] = json!(message);
                }
                self.line(&line)
            }
            End::Failed { message, .. } | End::Limit { message } => {
                self.line(&json!({ "type": "error", "message": message }))?;
                self.failed(message)
            }
            End::Interrupted => self.failed("interrupted"),
        }
    }

    fn failed(&mut self, message: &str) -> std::io::Result<()> {
        self.line(&json!({ "type": "turn.failed", "error": { "message": message } }))
    }
}

impl<W: Write> Frontend for Json<W> {
    fn hear(&mut self, event: &Event) -> std::io::Result<()> {
        match event {
            Event::Session { id, resumed, cwd } => {
                self.cwd.clone_from(cwd);
                let mut line = json!({ "type": "thread.started", "thread_id": id });
                if self.detail == Detail::Full {
                    line["tack_resumed"] = json!(resumed);
                }
                self.line(&line)
            }
            Event::Warning(message) => self.single(json!({ "type": "error", "message": message })),
            Event::NotRecorded => Ok(()),
            Event::TurnStarted => self.line(&json!({ "type": "turn.started" })),
            Event::Text(text) => self.full(&json!({ "type": "tack.text", "text": text })),
            Event::Thinking(text) => self.full(&json!({ "type": "tack.thinking", "text": text })),
            Event::Again { attempt, of, wait_ms, why, .. } => {
                let message =
                    format!("{why}; trying again in {:.1} s ({attempt}/{of})", *wait_ms as f64 / 1e3);
                self.line(&json!({ "type": "error", "message": message }))
            }
            Event::Waiting(what) => self.full(&json!({ "type": "tack.waiting", "message": what })),
            // Only a person at a session causes them.
            Event::Speaks { .. } | Event::Ran { .. } | Event::Ask { .. } | Event::AskVoid(_) => Ok(()),
            Event::CallStarted { call, makes_file } => self.call_started(call, *makes_file),
            Event::Item(item) => self.stored(item),
            Event::TurnEnded { end, usage, cost } => self.turn_ended(end, usage, *cost),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }

    fn close(&mut self) -> std::io::Result<()> {
        if self.closed {
            return Ok(());
        }
        self.failed("interrupted")
    }
}

fn usage_fields(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cached_input_tokens": usage.cached,
        "cache_write_input_tokens": usage.cache_write,
        "output_tokens": usage.output,
        "reasoning_output_tokens": usage.reasoning,
    })
}
