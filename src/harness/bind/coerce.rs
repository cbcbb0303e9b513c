//! Values as models write them, brought to the type the tool declares where there is only one way
//! to read them; and parameter names that mean the same.

use serde_json::{Map, Number, Value};

use crate::harness::tool::{Param, Type};

/// Names that families of models use for the same thing. Only names that cannot be mistaken.
const SAME: [&[&str]; 11] = [
    &["path", "file_path", "filepath", "filename", "file_name", "file", "absolute_path", "target_file"],
    &["command", "cmd", "shell_command"],
    &["old_string", "oldText", "old_str", "old_text", "oldString", "old", "search"],
    &["new_string", "newText", "new_str", "new_text", "newString", "new", "replace"],
    &["content", "contents", "text", "file_text", "file_content", "new_content"],
    &["pattern", "query", "regex", "regexp"],
    &["limit", "max_results", "head_limit", "num_lines"],
    &["offset", "start_line", "line"],
    &["replace_all", "replaceAll", "all"],
    &["todos", "items", "tasks"],
    &["id", "task_id", "job_id", "shell_id"],
];

/// The value given for a parameter, under its own name or another that means the same and that the
/// tool does not use for something else.
pub(super) fn given<'a>(
    args: &'a Map<String, Value>,
    name: &str,
    taken: impl Fn(&str) -> bool,
) -> Option<&'a Value> {
    args.get(key(args, name, taken)?)
}

/// The name under which it was given.
pub(super) fn key<'a>(
    args: &'a Map<String, Value>,
    name: &str,
    taken: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let present =
        |key: &str| args.get_key_value(key).filter(|(_, v)| !v.is_null()).map(|(key, _)| key.as_str());
    present(name).or_else(|| {
        let same = SAME.iter().find(|group| group.contains(&name))?;
        same.iter().filter(|key| !taken(key)).find_map(|key| present(key))
    })
}

/// None: it cannot be read as any of the parameter's types. One that it has already wins.
pub(super) fn coerce(value: &Value, param: &Param) -> Option<Value> {
    let types = param.types();
    if types.len() > 1 && types.iter().any(|kind| is(value, *kind)) {
        return Some(value.clone());
    }
    types.into_iter().find_map(|kind| coerce_to(kind, value, param))
}

fn is(value: &Value, kind: Type) -> bool {
    match kind {
        Type::String => value.is_string(),
        Type::Integer => value.is_i64() || value.is_u64(),
        Type::Number => value.is_number(),
        Type::Boolean => value.is_boolean(),
        Type::Array => value.is_array(),
        Type::Object => value.is_object(),
        Type::Null => value.is_null(),
        Type::Any => true,
    }
}

fn coerce_to(kind: Type, value: &Value, param: &Param) -> Option<Value> {
    match kind {
        Type::String => string(value).map(Value::String),
        Type::Integer => integer(value).map(Value::Number),
        Type::Number => integer(value).or_else(|| number(value)).map(Value::Number),
        Type::Boolean => boolean(value).map(Value::Bool),
        Type::Array => array(value, param),
        Type::Object => parsed(value).filter(Value::is_object),
        Type::Null => value.is_null().then(|| Value::Null),
        Type::Any => Some(value.clone()),
    }
}

fn string(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn integer(value: &Value) -> Option<Number> {
    match value {
        Value::Number(n) if n.is_i64() || n.is_u64() => Some(n.clone()),
        Value::Number(n) => {
            n.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < 9e15).map(|f| (f as i64).into())
        }
        Value::String(text) => {
            let text = text.trim();
            text.parse::<i64>()
                .ok()
                .map(Number::from)
                .or_else(|| integer(&Value::Number(Number::from_f64(text.parse().ok()?)?)))
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(n) => Some(n.clone()),
        Value::String(text) => Number::from_f64(text.trim().parse().ok()?),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => text.trim().to_ascii_lowercase().parse().ok(),
        Value::Number(n) if n.as_u64() == Some(0) => Some(false),
        Value::Number(n) if n.as_u64() == Some(1) => Some(true),
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn array(value: &Value, param: &Param) -> Option<Value> {
    if let Some(list) = parsed(value).filter(Value::is_array) {
        return Some(list);
    }
    // One element where a list of them is wanted.
    let one = match param.element() {
        Some(element) => coerce(value, element),
        None => coerce_to(Type::Object, value, param),
    };
    one.map(|one| Value::Array(vec![one]))
}

/// The value itself, or what a string of JSON says.
fn parsed(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => super::mend::value(text).ok(),
        other => Some(other.clone()),
    }
}
