//! A reply as JSON for a program, and what the program makes of it.
//!
//! A draft says what the manifest makes of the reply; the program's answer has the same form. Calls
//! that came over the wire keep their words and get an answer whatever the program says. Every error
//! is the end of a sentence.

use serde_json::{Map, Value, json};

use crate::harness::bind;
use crate::harness::dialect::{self, text_of};
use crate::harness::kit::Kit;
use crate::harness::manifest::DialectKind;
use crate::harness::{Verdict, View};
use crate::model::{Action, CallId, ItemId, Part, Reply, Stop, ToolCall};

use super::words::args_said;

/// Calls that one reply may come to.
const MOST_CALLS: usize = 100;

/// Whether a program may say what a reply means. One that was cut is never acted on.
pub(super) fn is_whole(reply: &Reply) -> bool {
    match reply.stop {
        Stop::Done | Stop::Calls | Stop::Refused | Stop::Other(_) => true,
        Stop::Length | Stop::RunOn | Stop::Broken | Stop::Interrupted => false,
    }
}

/// The reply that a program's answer is laid over: the manifest's reading where that found calls, else
/// the reply as it came with the calls of the wire bound.
pub(super) fn base(kit: &Kit, raw: &Reply, read: &Reply, verdict: &Verdict) -> Reply {
    if *verdict == Verdict::Calls {
        return read.clone();
    }
    let mut base = raw.clone();
    for part in &mut base.parts {
        if let Part::Call(call) = part {
            call.action = bind::bind(kit, &call.name, &call.args);
        }
    }
    base
}

/// The reply for the program.
pub(super) fn said(base: &Reply) -> Value {
    let thinking = base.parts.iter().filter_map(|part| match part {
        Part::Thinking { text, .. } => Some(text.as_str()),
        Part::Text { .. } | Part::Image(_) | Part::Call(_) => None,
    });
    let thinking: String = thinking.collect();
    let calls: Vec<Value> = base.calls().filter(|call| call.span.is_none()).map(call_said).collect();
    json!({"text": text_of(base), "thinking": thinking, "calls": calls, "stop": base.stop})
}

pub(super) fn call_said(call: &ToolCall) -> Value {
    json!({"id": call.id, "name": call.name, "args": args_said(&call.args), "action": call.action})
}

/// What the manifest makes of it.
pub(super) fn draft(read: &Reply, verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Calls => json!({"calls": read.calls().map(call_said).collect::<Vec<_>>()}),
        Verdict::Retry(text) => json!({"retry": text}),
        Verdict::Done => json!({"done": true}),
    }
}

/// Makes of the base what the program says.
pub(super) fn apply(
    kit: &Kit,
    mut base: Reply,
    answer: &Map<String, Value>,
    view: &View<'_>,
) -> Result<(Reply, Verdict), String> {
    let verdict = if let Some(text) = answer.get("retry") {
        let text = text.as_str().map(str::trim).filter(|text| !text.is_empty());
        Verdict::Retry(text.ok_or("`retry` has to be the text that the model is told")?.to_owned())
    } else if answer.get("done") == Some(&json!(true)) {
        Verdict::Done
    } else {
        let calls = answer.get("calls").and_then(Value::as_array);
        let calls = calls.ok_or("it has none of `calls`, `retry`, `done` and `default`")?;
        return with_calls(kit, base, calls, view).map(|reply| (reply, Verdict::Calls));
    };
    dialect::tell_as_text(&mut base);
    Ok((base, verdict))
}

fn with_calls(kit: &Kit, mut base: Reply, given: &[Value], view: &View<'_>) -> Result<Reply, String> {
    match given.len() {
        0 => return Err("`calls` is empty; say `\"done\": true` or `retry` instead".to_owned()),
        MOST_CALLS.. => return Err(format!("it has {} calls; {MOST_CALLS} are too many", given.len())),
        _ => {}
    }
    let mut named: Vec<&str> = Vec::new();
    let mut new = Vec::new();
    let text = text_of(&base);
    for one in given {
        let Some(id) = one.get("id").filter(|id| !id.is_null()) else {
            new.push(made(kit, one, &text, &new)?);
            continue;
        };
        let unknown = || format!("the reply has no call `{}`; leave `id` out for one of your own", plain(id));
        let id = id.as_str().ok_or_else(unknown)?;
        let call = base.parts.iter_mut().find_map(|part| match part {
            Part::Call(call) if call.id.0 == id => Some(call),
            Part::Call(_) | Part::Text { .. } | Part::Thinking { .. } | Part::Image(_) => None,
        });
        let call = call.ok_or_else(unknown)?;
        if named.contains(&id) {
            return Err(format!("it names the call `{id}` twice"));
        }
        named.push(id);
        if let Some(action) = meant(kit, one)? {
            call.action = action;
        }
    }
    base.parts.retain_mut(|part| match part {
        Part::Call(call) if !named.contains(&call.id.0.as_str()) => leave(kit, call),
        Part::Call(_) | Part::Text { .. } | Part::Thinking { .. } | Part::Image(_) => true,
    });
    place(&mut base, view, new);
    let alone = base.calls().count() == 1;
    for part in &mut base.parts {
        if let Part::Call(call) = part {
            dialect::heed_company(kit, &call.name, &mut call.action, alone);
        }
    }
    base.stop = Stop::Calls;
    Ok(base)
}

/// A call that the program passed over: one in the text is gone, one of the wire is not run.
fn leave(kit: &Kit, call: &mut ToolCall) -> bool {
    let why = kit.common("not_executed", &kit.bare_values());
    call.action = Action::Unknown { name: call.name.clone(), why };
    call.span.is_none() && !call.recovered
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The action that is given as one, or by a tool's name and arguments. None where neither is.
fn meant(kit: &Kit, one: &Value) -> Result<Option<Action>, String> {
    if let Some(action) = one.get("action").filter(|action| !action.is_null()) {
        let read = serde_json::from_value(action.clone());
        return read.map(Some).map_err(|why| format!("an `action` cannot be read: {why}"));
    }
    let (Some(name), Some(args)) = (one["name"].as_str(), one.get("args")) else { return Ok(None) };
    if bind::resolve(kit, name).is_none() {
        let names: Vec<&str> = kit.tools.iter().map(|(name, _)| name).collect();
        return Err(format!("it calls `{name}`; the tools are {}", names.join(", ")));
    }
    Ok(Some(bind::bind(kit, name, &plain(args))))
}

/// A call of the program's own.
fn made(kit: &Kit, one: &Value, text: &str, before: &[ToolCall]) -> Result<ToolCall, String> {
    let action = meant(kit, one)?.ok_or("a call needs `name` and `args`, or an `action`")?;
    let (name, args) = match (one["name"].as_str(), one.get("args")) {
        (Some(name), Some(args)) => (name.to_owned(), plain(args)),
        _ => match bind::unbind(kit, &action) {
            Some((name, args)) => (name, Value::Object(args).to_string()),
            None => (action.kind().to_owned(), json!(action).to_string()),
        },
    };
    let span = match one["quote"].as_str() {
        None | Some("") => None,
        Some(quote) => {
            let from = before.iter().filter_map(|call| call.span).map(|(_, to)| to).max().unwrap_or(0);
            let at = text[from..].find(quote).map(|at| from + at);
            let at =
                at.ok_or_else(|| format!("a `quote` is not in the reply: {}", super::line::shown(quote)))?;
            Some((at, at + quote.len()))
        }
    };
    // Calls over the wire were possible, and this was none.
    let recovered = kit.manifest.dialect.kind != DialectKind::Fenced;
    Ok(ToolCall { id: CallId(String::new()), given: None, name, args, action, span, recovered })
}

/// Adds the program's calls, under ids of the session's next item.
fn place(reply: &mut Reply, view: &View<'_>, new: Vec<ToolCall>) {
    let item = ItemId(view.items.last().map_or(0, |item| item.id.0) + 1);
    let mut nth = 0;
    for mut call in new {
        while reply.calls().any(|known| known.id == CallId::of(item, nth)) {
            nth += 1;
        }
        call.id = CallId::of(item, nth);
        reply.parts.push(Part::Call(call));
    }
}
