//! The reply is one JSON object in the text: prose, the list of all its calls, whether the work is done.
//!
//! The first object that has one of the fields counts. What else is in the text is passed over: models
//! put fences around JSON, and talk about it.

use serde_json::{Map, Value, json};

use crate::harness::bind::{self, mend};
use crate::harness::kit::Kit;
use crate::harness::manifest::{BadCalls, Dialect};
use crate::harness::tool::Tool;
use crate::harness::{Verdict, View};
use crate::model::{Action, Part, Reply};

use super::salvage::{PLACES, as_call};
use super::{Loose, after_thinking, correction_of, needs_call, place, silent, text_of, unfinished};

/// The object, and where in the text it stands.
struct Found {
    fields: Map<String, Value>,
    span: (usize, usize),
}

/// Why there is none that can be used.
enum Wrong {
    None,
    Bad(String),
    CutOff,
    Missing(Vec<String>),
    /// The calls are no list.
    NoList,
    /// It asks for nothing.
    Empty,
}

/// What an object asks for.
struct Asked {
    calls: Vec<Value>,
    done: bool,
}

pub(super) fn interpret(kit: &Kit, reply: &mut Reply, view: &View<'_>) -> anyhow::Result<Verdict> {
    write_out_calls(kit, reply);
    if let Some(verdict) = unfinished(kit, &reply.stop) {
        return Ok(verdict);
    }
    let text = text_of(reply);
    let dialect = &kit.manifest.dialect;
    let found = find(&text, dialect);
    let span = found.as_ref().ok().map(|found| found.span);
    let read = found.and_then(|found| {
        let asked = asked(&found.fields, dialect)?;
        let empty = asked.calls.is_empty() && !asked.done;
        if empty && needs_call(kit) { Err(Wrong::Empty) } else { Ok((found, asked)) }
    });
    match read {
        Ok((_, asked)) if asked.calls.is_empty() && !asked.done => silent(kit, &text, 0, view),
        Ok((found, asked)) => {
            let calls = calls(kit, &found, asked);
            let bad = calls.iter().find_map(|call| match &call.action {
                Action::Unknown { why, .. } => Some(why.clone()),
                _ => None,
            });
            match bad {
                Some(why) if kit.manifest.turn.bad_calls == BadCalls::Retry => {
                    Ok(Verdict::Retry(corrected(kit, view, (&why, around(&text, span)))?))
                }
                Some(_) | None => {
                    place(reply, view, calls);
                    Ok(Verdict::Calls)
                }
            }
        }
        Err(Wrong::None) if !needs_call(kit) => silent(kit, &text, 0, view),
        Err(wrong) => {
            let why = explain(kit, &wrong);
            Ok(Verdict::Retry(corrected(kit, view, (&why, around(&text, span)))?))
        }
    }
}

fn corrected(kit: &Kit, view: &View<'_>, (why, around): (&str, Vec<&str>)) -> anyhow::Result<String> {
    correction_of(kit, kit.values(view).with("why", why).with("found", 0).with("around", around))
}

fn explain(kit: &Kit, wrong: &Wrong) -> String {
    let values = kit.bare_values().with("param", &kit.manifest.dialect.calls);
    let (fault, values) = match wrong {
        Wrong::None => ("none", values),
        Wrong::Bad(problem) => ("bad", values.with("problem", problem)),
        Wrong::CutOff => ("cut", values),
        Wrong::Missing(fields) => ("missing", values.with("missing", fields)),
        Wrong::NoList => ("list", values),
        Wrong::Empty => ("empty", values),
    };
    kit.common("bad_reply", &values.with("fault", fault))
}

/// The first object in the text that has one of the dialect's fields, which are some of those.
fn find(text: &str, dialect: &Dialect) -> Result<Found, Wrong> {
    let known: Vec<&String> = dialect.says.iter().chain(&dialect.calls).chain(&dialect.done).collect();
    let mut at = after_thinking(text);
    let mut wrong = Wrong::None;
    for _ in 0..PLACES {
        let Some(open) = text[at..].find('{').map(|open| at + open) else { break };
        let end = balanced(&text[open..]).map(|len| open + len);
        let piece = &text[open..end.unwrap_or(text.len())];
        let value = if end.is_some() { mend::value(piece) } else { Err(mend::Flaw::CutOff) };
        at = open + 1;
        match value {
            Ok(Value::Object(fields)) if known.iter().any(|key| fields.contains_key(*key)) => {
                return Ok(Found { fields, span: (open, open + piece.len()) });
            }
            Ok(_) => at = open + piece.len(),
            // Braces in prose are no reply.
            Err(_) if !known.iter().any(|key| piece.contains(&format!("\"{key}\""))) => {}
            Err(flaw) if matches!(wrong, Wrong::None) => {
                wrong = match flaw {
                    mend::Flaw::CutOff => Wrong::CutOff,
                    mend::Flaw::Bad(problem) => Wrong::Bad(problem),
                };
            }
            Err(_) => {}
        }
    }
    Err(wrong)
}

/// Bytes from a brace to the one that closes it, with no heed to those in strings.
fn balanced(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, c) in text.bytes().enumerate() {
        match c {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn asked(fields: &Map<String, Value>, dialect: &Dialect) -> Result<Asked, Wrong> {
    let done = dialect.done.as_ref().and_then(|key| fields.get(key)).is_some_and(is_true);
    let key = dialect.calls.as_deref().unwrap_or_default();
    let list = fields.get(key).filter(|list| !list.is_null());
    let no_list = list.is_none() && !done;
    let missing = dialect.says.iter().filter(|key| !fields.contains_key(*key)).cloned();
    let missing: Vec<String> = missing.chain(no_list.then(|| key.to_owned())).collect();
    if !missing.is_empty() {
        return Err(Wrong::Missing(missing));
    }
    match list {
        None => Ok(Asked { calls: Vec::new(), done }),
        Some(Value::Array(calls)) => Ok(Asked { calls: calls.clone(), done }),
        // The list as JSON in a string.
        Some(Value::String(text)) => match mend::value(text) {
            Ok(Value::Array(calls)) => Ok(Asked { calls, done }),
            Ok(_) | Err(_) => Err(Wrong::NoList),
        },
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => Err(Wrong::NoList),
    }
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(yes) => *yes,
        Value::String(word) => ["true", "1", "yes"].iter().any(|yes| yes.eq_ignore_ascii_case(word.trim())),
        Value::Number(number) => number.as_u64() == Some(1),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn calls(kit: &Kit, found: &Found, asked: Asked) -> Vec<Loose> {
    let span = found.span;
    let bare = kit.manifest.dialect.bare.as_ref();
    let mut calls: Vec<Loose> = Vec::new();
    for element in asked.calls {
        let (name, args) = match (bare, as_call(&element)) {
            (Some(bare), _) => (bare.clone(), element.to_string()),
            (None, Some((name, Value::String(args)))) => (name, args),
            (None, Some((name, args))) => (name, args.to_string()),
            (None, None) => (String::new(), element.to_string()),
        };
        let action = bind::bind(kit, &name, &args);
        calls.push(Loose { name, args, action, span, recovered: false });
    }
    if let Some((name, _)) = submits(kit).filter(|_| asked.done) {
        let (name, args) = (name.to_owned(), "{}".to_owned());
        let action = match bind::bind(kit, &name, &args) {
            Action::Submit { text } if text.is_empty() => {
                Action::Submit { text: prose(&found.fields, &kit.manifest.dialect) }
            }
            other => other,
        };
        calls.push(Loose { name, args, action, span, recovered: false });
    }
    calls
}

fn submits(kit: &Kit) -> Option<(&str, &Tool)> {
    kit.tools.iter().find(|(_, tool)| tool.does.as_deref() == Some("submit"))
}

fn prose(fields: &Map<String, Value>, dialect: &Dialect) -> String {
    let said = dialect.says.iter().filter_map(|key| fields.get(key)?.as_str()).map(str::trim);
    said.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The words in the text of an object that this dialect, with whatever fields, made calls of.
pub(crate) fn words(object: &str) -> Option<String> {
    crate::model::words(&mend::value(object).ok()?.to_string())
}

/// On which sides of the object there is other text: `before`, `after`.
pub(crate) fn beside(kit: &Kit, text: &str) -> Vec<&'static str> {
    around(text, find(text, &kit.manifest.dialect).ok().map(|found| found.span))
}

fn around(text: &str, span: Option<(usize, usize)>) -> Vec<&'static str> {
    let Some((from, to)) = span else { return Vec::new() };
    let before = text[after_thinking(text)..from].trim();
    let before = before.strip_suffix("```json").or_else(|| before.strip_suffix("```")).unwrap_or(before);
    let after = text[to..].trim();
    let after = after.strip_prefix("```").unwrap_or(after);
    let sides = [("before", before), ("after", after)];
    sides.into_iter().filter(|(_, text)| !text.trim().is_empty()).map(|(side, _)| side).collect()
}

/// The object that says these words and calls. None if one of the calls has no form here.
pub(crate) fn say(kit: &Kit, words: &str, calls: &[(String, Map<String, Value>)]) -> Option<String> {
    let dialect = &kit.manifest.dialect;
    let mut done = calls.is_empty();
    let mut list = Vec::new();
    for (name, args) in calls {
        match &dialect.bare {
            _ if dialect.done.is_some() && submits(kit).is_some_and(|(submit, _)| submit == name) => {
                done = true;
            }
            Some(bare) if bare == name => list.push(json!(args)),
            Some(_) => return None,
            None => list.push(json!({ "name": name, "arguments": args })),
        }
    }
    let mut fields = Map::new();
    for (nth, key) in dialect.says.iter().enumerate() {
        fields.insert(key.clone(), json!(if nth == 0 { words.trim() } else { "" }));
    }
    fields.insert(dialect.calls.clone()?, json!(list));
    if let Some(key) = dialect.done.as_ref().filter(|_| done) {
        fields.insert(key.clone(), json!(true));
    }
    Some(Value::Object(fields).to_string())
}

/// Calls that came over the wire although none was offered are written out as the object that they
/// ought to have been.
fn write_out_calls(kit: &Kit, reply: &mut Reply) {
    let called = |call: &crate::model::ToolCall| {
        let (name, _) = bind::resolve(kit, &call.name)?;
        Some((name.to_owned(), mend::object(&call.args).ok()?))
    };
    if reply.calls().next().is_none() {
        return;
    }
    let text = text_of(reply);
    let calls: Option<Vec<_>> = reply.calls().map(called).collect();
    let plain = || {
        let lines = reply.calls().map(|call| format!("\n\n{} {}", call.name, call.args));
        text.clone() + &lines.collect::<String>()
    };
    let whole = match find(&text, &kit.manifest.dialect) {
        Ok(_) => text.clone(),
        Err(_) => calls.and_then(|calls| say(kit, &text, &calls)).unwrap_or_else(plain),
    };
    reply.parts.retain(|part| !matches!(part, Part::Text { .. } | Part::Call(_)));
    reply.parts.push(Part::Text { text: whole });
}

#[cfg(test)]
mod tests;
