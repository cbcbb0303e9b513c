//! What changes in a request when the replies before it could not be used.
//!
//! A small model repeats a malformed reply word for word, whatever it is told of it: other
//! conditions help where other words do not. Once a reply can be used, all is as before.

use serde_json::{Map, Value, json};

use crate::harness::View;
use crate::harness::kit::{Kit, bare_schema};
use crate::harness::manifest::{Again, DialectKind};
use crate::harness::tell::is_vain;
use crate::model::{Action, Body, Item, NoteKind, Part, REPEAT, Reply, ToolCall};

/// Most characters of a text in a call that a server holds to a schema. llama.cpp unrolls such a
/// bound into its grammar and refuses 2000 of them (`MAX_REPETITION_THRESHOLD`).
const LONGEST: u64 = 1_500;

/// The entry for the next request. What asks for a schema is passed over where it is not known that
/// the server holds a reply to one.
pub(in crate::harness) fn entry<'k>(kit: &'k Kit, view: &View<'_>) -> Option<&'k Again> {
    if kit.manifest.again.is_empty() {
        return None;
    }
    let times = unusable(view.items);
    let holds = view.model.probed.as_ref().is_some_and(|probed| probed.schema) && !kit.tools.is_empty();
    let mut usable = kit.manifest.again.iter().filter(|entry| holds || !entry.schema);
    let nth = usable.clone().nth(times.checked_sub(1)?);
    nth.or_else(|| usable.next_back())
}

/// Whether the next reply is held to a schema of the calls.
pub(in crate::harness) fn holds(kit: &Kit, view: &View<'_>) -> bool {
    entry(kit, view).is_some_and(|entry| entry.schema)
}

/// How many replies at the end of this turn, in a row, came to nothing: they were corrected, none of
/// their calls could be understood, all they did was a change of files that was not made, or they made
/// the calls of the reply before and got the same.
fn unusable(items: &[Item]) -> usize {
    let mut count = 0;
    let mut corrected = false;
    for (at, item) in items.iter().enumerate().rev() {
        match &item.body {
            Body::User(_) => break,
            Body::Note(note) => corrected |= note.kind == NoteKind::Correction,
            Body::Assistant(reply)
                if std::mem::take(&mut corrected)
                    || calls_nothing(items, reply)
                    || is_repetition(&items[..at], (reply, &items[at..])) =>
            {
                count += 1;
            }
            // It was cut while it thought, and asked for again.
            Body::Assistant(reply) if reply.parts.iter().all(is_thinking) => {}
            Body::Assistant(_) => break,
            Body::Result(_) | Body::Scene(_) | Body::Summary(_) | Body::Mark(_) => {}
        }
    }
    count
}

fn is_thinking(part: &Part) -> bool {
    matches!(part, Part::Thinking { .. })
}

fn calls_nothing(items: &[Item], reply: &Reply) -> bool {
    let mut calls = reply.calls().peekable();
    let nothing = |call: &ToolCall| matches!(call.action, Action::Unknown { .. }) || is_vain(items, call);
    calls.peek().is_some() && calls.all(nothing)
}

/// Whether the reply makes the calls of the one before it in the turn, and what came of them is the same.
fn is_repetition(before: &[Item], (reply, after): (&Reply, &[Item])) -> bool {
    let turn = before.iter().rev().take_while(|item| !matches!(item.body, Body::User(_)));
    let earlier = turn.filter_map(|item| match &item.body {
        Body::Assistant(reply) => Some(reply),
        _ => None,
    });
    let Some(earlier) = earlier.into_iter().next() else { return false };
    let said = |reply: &Reply, items| -> Vec<_> {
        reply.calls().map(|call| (call.name.clone(), call.args.clone(), outcome(items, call))).collect()
    };
    let now = said(reply, after);
    let refused = |(.., outcome): &(String, String, Option<(String, bool)>)| {
        outcome.as_ref().is_some_and(|(_, repeat)| *repeat)
    };
    !now.is_empty() && (now.iter().all(refused) || now == said(earlier, before))
}

/// What came of a call: its text, and whether it was not run because it repeats one.
fn outcome(items: &[Item], call: &ToolCall) -> Option<(String, bool)> {
    items.iter().find_map(|item| match &item.body {
        Body::Result(result) if result.call == call.id => {
            Some((result.outcome.text.clone(), result.outcome.data[REPEAT] == true))
        }
        _ => None,
    })
}

/// The calls of all tools as one schema: what tells them apart comes first, nothing may be added, and
/// no text runs on for ever.
pub(super) fn schema(kit: &Kit) -> Value {
    if kit.manifest.dialect.kind == DialectKind::Json {
        return closed(object_schema(kit));
    }
    json!({ "oneOf": branches(kit) })
}

/// The one object that a reply of the JSON dialect is.
fn object_schema(kit: &Kit) -> Value {
    let dialect = &kit.manifest.dialect;
    let bare = dialect.bare.as_deref().and_then(|name| kit.tool(name));
    let element = match bare {
        Some((_, tool)) => bare_schema(tool.schema()),
        None => json!({ "oneOf": branches(kit) }),
    };
    let says = dialect.says.iter().map(|key| (key.clone(), json!({ "type": "string" })));
    let calls = dialect.calls.iter().map(|key| (key.clone(), json!({ "type": "array", "items": element })));
    let done = dialect.done.iter().map(|key| (key.clone(), json!({ "type": "boolean" })));
    let fields: Map<String, Value> = says.chain(calls).chain(done).collect();
    let required: Vec<&String> = fields.keys().collect();
    json!({ "type": "object", "properties": fields, "required": required })
}

fn branches(kit: &Kit) -> Vec<Value> {
    let branch = |(name, tool): (&str, &crate::harness::tool::Tool)| {
        let arguments = closed(bare_schema(tool.schema()));
        json!({
            "type": "object",
            "properties": { "name": { "const": name }, "arguments": arguments },
            "required": ["name", "arguments"],
            "additionalProperties": false,
        })
    };
    kit.tools.iter().map(branch).collect()
}

fn closed(mut schema: Value) -> Value {
    let Some(fields) = schema.as_object_mut() else { return schema };
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if kind == "object" {
        fields.insert("additionalProperties".to_owned(), json!(false));
    }
    if kind == "string" && !fields.contains_key("enum") {
        fields.insert("maxLength".to_owned(), json!(LONGEST));
    }
    for value in fields.values_mut() {
        *value = closed(value.take());
    }
    schema
}
