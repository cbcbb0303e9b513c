//! Binding backwards: the call that says an action on this surface, if there is one.
//!
//! What only steers how an action runs (a time limit, a limit of lines) may be lost on the way;
//! what decides its effect may not.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::harness::kit::Kit;
use crate::harness::tool::{Param, Tool, Type, Unit, Variant};
use crate::model::Action;

use super::{field, meaning, plays};

/// Fields whose loss leaves the meaning as it is.
/// `first` and `folders` are about failures that did not come.
const SOFT: [&str; 20] = [
    "timeout",
    "yield_after",
    "wait",
    "about",
    "limit",
    "chars",
    "mode",
    "image",
    "id",
    "ignore",
    "first",
    "folders",
    "dirs",
    "depth",
    "fuzz",
    "tty",
    "stdin",
    "session",
    "fresh",
    "close_stdin",
];

/// Fields that a tool may fix although the action says nothing of them.
const SLACK: [&str; 3] = ["first", "folders", "limit"];

/// Name and arguments, or None when this surface cannot say it. Where no tool writes a file, one that
/// takes a file's new text does; where none runs a command, a terminal into which it is typed.
pub(crate) fn unbind(kit: &Kit, action: &Action) -> Option<(String, Map<String, Value>)> {
    let like = match action {
        Action::Write { path, text, .. } => Action::Rewrite { path: path.clone(), text: text.clone() },
        Action::Shell { command, background: false, cwd: None, .. } => {
            Action::Keys { text: format!("{command}\n"), wait: None }
        }
        _ => return exactly(kit, action),
    };
    exactly(kit, action).or_else(|| exactly(kit, &like))
}

fn exactly(kit: &Kit, action: &Action) -> Option<(String, Map<String, Value>)> {
    let fields = serde_json::to_value(action).ok()?;
    let kind = action.kind();
    // Only the harness that it came with has the program.
    if kind == "script" {
        return None;
    }
    kit.tools.iter().find_map(|(name, tool)| {
        let plain = (tool.does.as_deref() == Some(kind)).then(|| say(tool, None, &fields)).flatten();
        let picked = || {
            tool.when
                .iter()
                .filter(|(_, v)| v.does == kind)
                .find_map(|(word, v)| say(tool, Some((word, v)), &fields))
        };
        let args = plain.or_else(picked)?;
        keeps(kit, (name, tool), (&args, &fields)).then(|| (name.to_owned(), args))
    })
}

/// Whether the call means the same again: nothing that counts is lost, and what a default or a fixed field
/// adds does not change it.
fn keeps(kit: &Kit, tool: (&str, &Tool), (args, fields): (&Map<String, Value>, &Value)) -> bool {
    let hard = |fields: &Value| {
        let mut all = BTreeMap::new();
        leaves(fields, String::new(), &mut all);
        all.retain(|path, value| !is_soft(path, value) && !is_neutral(value));
        all
    };
    let again = meaning(kit, tool, args).ok().and_then(|action| serde_json::to_value(action).ok());
    again.is_some_and(|again| hard(&again) == hard(fields))
}

fn say(tool: &Tool, variant: Option<(&str, &Variant)>, fields: &Value) -> Option<Map<String, Value>> {
    if tool.filled(variant.map(|(_, v)| v)) {
        return None;
    }
    let mut left = BTreeMap::new();
    leaves(fields, String::new(), &mut left);
    left.remove("do");
    let mut args = Map::new();
    let picked = variant.map(|(_, v)| v);
    for (path, fixed) in tool.with.iter().chain(picked.iter().flat_map(|v| v.with.iter())) {
        match left.get(path) {
            Some(said) if said == fixed => {
                left.remove(path);
            }
            Some(_) => {}
            // The tool would say more than the action does.
            None if is_neutral(fixed) || SLACK.contains(&path.as_str()) => {}
            None => return None,
        }
    }
    for (name, param) in tool.params.iter().filter(|(name, _)| plays(tool, picked, name)) {
        if tool.pick.as_deref() == Some(name) {
            args.insert(name.to_owned(), json!(variant?.0));
            continue;
        }
        let needed = param.required || picked.is_some_and(|v| v.needs.iter().any(|n| n == name));
        let Some(to) = field(picked, name, param) else { continue };
        match take(&mut left, fields, to, param) {
            Some(value)
                if !needed && is_neutral(&value) && param.default.is_none() && param.shown.is_none() => {}
            Some(value) if says(param, &value) => {
                args.insert(name.to_owned(), value);
            }
            Some(_) => return None,
            None if needed => return None,
            None => {}
        }
    }
    Some(args)
}

/// Takes the value of a parameter out of what is left to say.
fn take(left: &mut BTreeMap<String, Value>, fields: &Value, to: &str, param: &Param) -> Option<Value> {
    let value = to.split('.').try_fold(fields, |at, key| match key.parse::<usize>() {
        Ok(index) => at.get(index),
        Err(_) => at.get(key),
    });
    let number = || value.and_then(Value::as_u64);
    if param.unit == Unit::Range {
        let first = number()?;
        let last = fields.get("count").and_then(Value::as_u64).map(|count| first + count.max(1) - 1);
        left.remove("line");
        left.remove("count");
        return Some(json!([first, last.map_or(-1, |last| last as i64)]));
    }
    let value = match param.unit {
        Unit::Around => {
            let side = |side: &str| left.get(side).and_then(Value::as_u64);
            let lines = side("before").filter(|before| side("after") == Some(*before))?;
            left.remove("before");
            left.remove("after");
            return Some(json!(lines));
        }
        Unit::Line => match (number(), fields.get("last").and_then(Value::as_i64)) {
            (Some(line), _) => json!(line),
            (None, last) => {
                left.remove("last");
                json!(-last?)
            }
        },
        Unit::Plain if param.each.is_empty() => param.said(value?.clone()),
        Unit::Plain => elements(value?, param)?,
        Unit::Seconds => match number()? {
            ms if ms % 1000 == 0 || !param.allows(Type::Number) => json!(ms.div_ceil(1000)),
            ms => json!(ms as f64 / 1000.0),
        },
        Unit::Millis => json!(number()?),
        Unit::FromZero => json!(number()?.saturating_sub(1)),
        Unit::Text => json!(value?.as_str()?.parse::<u64>().ok()?),
        Unit::Job => json!(value?.as_str()?.trim_start_matches("job").parse::<u64>().ok()?),
        Unit::Range => return None,
    };
    let below = format!("{to}.");
    left.retain(|path, _| path != to && !path.starts_with(&below));
    Some(value)
}

/// A list under the surface's names. None when an element has something to say that has no name.
fn elements(list: &Value, param: &Param) -> Option<Value> {
    let one = |(at, element): (usize, &Value)| {
        let mut left = element.as_object()?.clone();
        let mut out = Map::new();
        for (name, inner) in param.each.iter() {
            let to = inner.to.as_deref().unwrap_or(name);
            match left.shift_remove(to) {
                Some(value) => {
                    let value = inner.said(value);
                    if !says(inner, &value) {
                        return None;
                    }
                    out.insert(name.to_owned(), value);
                }
                None if inner.required && to == "id" => {
                    out.insert(name.to_owned(), json!((at + 1).to_string()));
                }
                None if inner.required => {
                    out.insert(name.to_owned(), inner.said(inner.default.clone()?));
                }
                None => {}
            }
        }
        let lost = left.iter().any(|(key, value)| !is_soft(key, value) && !is_neutral(value));
        (!lost).then_some(Value::Object(out))
    };
    list.as_array()?.iter().enumerate().map(one).collect()
}

/// The parameter has that word.
fn says(param: &Param, value: &Value) -> bool {
    param.choices.is_empty() || param.choices.iter().any(|word| *value == **word)
}

fn is_soft(path: &str, value: &Value) -> bool {
    path.split('.').any(|key| SOFT.contains(&key)) && value != "append"
}

/// A value that says nothing: what the field is when it is left out.
fn is_neutral(value: &Value) -> bool {
    value.is_null() || *value == false || value == &json!([]) || value == &json!({})
}

fn leaves(value: &Value, path: String, out: &mut BTreeMap<String, Value>) {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| leaves(value, join(key), out)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| leaves(value, join(&at.to_string()), out));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.insert(path, value.clone());
        }
    }
}
