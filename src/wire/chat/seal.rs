//! What servers seal reasoning with on this wire, gathered from a reply and put back into a message.
//!
//! OpenRouter sends `reasoning_details` beside the plain text, in pieces; without them the models
//! behind it lose their reasoning, and some refuse the request. Google puts a `thought_signature` into
//! the `extra_content` of calls and refuses a call without it. Both are kept as one seal, an object with
//! the field's name: `{"reasoning_details": […]}`, `{"extra_content": {"0": {…}}}` by the number of the call.

use serde_json::{Map, Value, json};

use crate::model::Model;
use crate::wire::provider::Quirks;

const DETAILS: &str = "reasoning_details";
const EXTRA: &str = "extra_content";

/// What Google takes in place of the signature of a call that another model made; one is enough for
/// the calls of a message. See ai.google.dev/gemini-api/docs/thought-signatures.
const FOREIGN: &str = "skip_thought_signature_validator";

/// A seal that nests deeper is none, and would make the session's log unreadable.
const DEEPEST: usize = 32;

/// The seals of one message.
#[derive(Default)]
pub(super) struct Seals {
    pub(super) details: Option<Value>,
    /// By the number of the call.
    pub(super) extras: Map<String, Value>,
}

impl Seals {
    pub(super) fn add(&mut self, seal: &Value) {
        // A session's log can be edited, and one wrong field has the whole request refused.
        let entries = seal.get(DETAILS).and_then(Value::as_array);
        if let Some(entries) = entries.filter(|list| !list.is_empty() && list.iter().all(Value::is_object)) {
            self.details = Some(entries.clone().into());
        }
        let extras = seal.get(EXTRA).and_then(Value::as_object).into_iter().flatten();
        let whole = extras.filter(|(_, extra)| extra.is_object());
        self.extras.extend(whole.map(|(number, extra)| (number.clone(), extra.clone())));
    }
}

/// Puts seals back on the calls they came with.
pub(super) fn put(calls: &mut [Value], extras: &Map<String, Value>, model: &Model, quirks: &Quirks) {
    for (number, call) in calls.iter_mut().enumerate() {
        if let Some(extra) = extras.get(&number.to_string()) {
            call[EXTRA] = extra.clone();
        }
    }
    // The second generation gives no signatures and wants none.
    let wanted = quirks.call_seals && !model.name.contains("gemini-2");
    if wanted
        && extras.is_empty()
        && let Some(first) = calls.first_mut()
    {
        first[EXTRA] = json!({"google": {"thought_signature": FOREIGN}});
    }
}

/// The seals of a reply that is still coming in.
#[derive(Default)]
pub(super) struct Gathered {
    details: Vec<Value>,
    extras: Map<String, Value>,
}

impl Gathered {
    /// Text and summaries come in pieces of one entry; what is encrypted comes whole.
    pub(super) fn details(&mut self, pieces: Vec<Value>) {
        for piece in pieces {
            if !is_shallow(&piece, DEEPEST) {
                continue;
            }
            let Value::Object(piece) = piece else { continue };
            let same = self.details.last_mut().and_then(Value::as_object_mut).filter(|last| {
                let grows = matches!(
                    piece.get("type").and_then(Value::as_str),
                    Some("reasoning.text" | "reasoning.summary")
                );
                grows && last.get("type") == piece.get("type") && last.get("index") == piece.get("index")
            });
            match same {
                Some(last) => grow(last, piece),
                None => self.details.push(piece.into()),
            }
        }
    }

    /// The first one of a call counts: a later piece of the same call may be without or repeat it.
    pub(super) fn extra(&mut self, slot: usize, extra: Value) {
        if extra.as_object().is_some_and(|fields| !fields.is_empty()) && is_shallow(&extra, DEEPEST) {
            self.extras.entry(slot.to_string()).or_insert(extra);
        }
    }

    /// What came since the last time.
    pub(super) fn take(&mut self) -> Option<Value> {
        let mut seal = Map::new();
        if !self.details.is_empty() {
            seal.insert(DETAILS.into(), std::mem::take(&mut self.details).into());
        }
        if !self.extras.is_empty() {
            seal.insert(EXTRA.into(), std::mem::take(&mut self.extras).into());
        }
        (!seal.is_empty()).then(|| seal.into())
    }
}

/// Whether nothing in it lies deeper than this.
fn is_shallow(value: &Value, depth: usize) -> bool {
    let inner = |value: &Value| depth > 0 && is_shallow(value, depth - 1);
    match value {
        Value::Array(list) => list.iter().all(inner),
        Value::Object(fields) => fields.values().all(inner),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn grow(entry: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (field, value) in piece {
        match (entry.get_mut(&field), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more))
                if matches!(field.as_str(), "text" | "summary") =>
            {
                text.push_str(&more);
            }
            (_, value) => drop(entry.insert(field, value)),
        }
    }
}
