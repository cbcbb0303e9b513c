//! Binding: what a model wrote becomes an action, and back.
//!
//! Only here do a tool's surface and its meaning meet. Reading is tolerant where there is one way
//! to understand; everything else is an [`Action::Unknown`] with a text that the model can act on.

mod back;
mod coerce;
pub(crate) mod fields;
mod heredoc;
pub(crate) mod mend;

use serde_json::{Map, Value, json};

use crate::model::Action;

use super::kit::Kit;
use super::load::similarity;
use super::tool::{Ordered, Param, Tool, Type, Unit, Variant};
use mend::Flaw;

pub(super) use back::unbind;

/// What a tool can do, as [`Action::kind`] says it.
pub(super) const KINDS: [&str; 20] = [
    "shell", "job", "keys", "read", "write", "rewrite", "edit", "insert", "undo", "patch", "notebook",
    "glob", "grep", "list", "fetch", "todo", "tasks", "script", "tools", "submit",
];

/// Why a call cannot be understood.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    UnknownTool,
    BadJson(String),
    CutOff,
    Missing(Vec<String>),
    WrongType {
        param: String,
        wanted: String,
        got: Value,
    },
    /// The words after a word command.
    BadWords(String),
}

/// The action of a call with JSON arguments.
pub(super) fn bind(kit: &Kit, name: &str, args: &str) -> Action {
    try_bind(kit, name, args).unwrap_or_else(|fault| unknown(kit, name, args, &fault))
}

pub(super) fn try_bind(kit: &Kit, name: &str, args: &str) -> Result<Action, Fault> {
    let (_, tool) = resolve(kit, name).ok_or(Fault::UnknownTool)?;
    let mut args = mend::object(args).map_err(|flaw| match flaw {
        Flaw::CutOff => Fault::CutOff,
        Flaw::Bad(problem) => Fault::BadJson(problem),
    })?;
    // A wire with free-form calls does not know the parameter's name, and models make one up.
    if let Some(field) = &tool.free
        && args.len() == 1
        && !args.contains_key(field)
    {
        args = args.into_iter().map(|(_, text)| (field.clone(), text)).collect();
    }
    let action = fill(tool, &args)?;
    Ok(match &tool.patch_word {
        Some(word) => heredoc::as_patch(word, action),
        None => action,
    })
}

pub(super) fn unknown(kit: &Kit, name: &str, args: &str, fault: &Fault) -> Action {
    Action::Unknown { name: name.to_owned(), why: explain(kit, name, args, fault) }
}

/// The tool of that name. Case, dashes and the prefixes that some templates add do not matter.
pub(super) fn resolve<'a>(kit: &'a Kit, name: &str) -> Option<(&'a str, &'a Tool)> {
    let plain = |name: &str| name.trim().to_ascii_lowercase().replace('-', "_");
    kit.tool(name).or_else(|| {
        let bare = name.rsplit(['.', ':']).next().unwrap_or(name);
        let mut same = kit.tools.iter().filter(|(known, _)| plain(known) == plain(bare));
        let first = same.next()?;
        same.next().is_none().then_some(first)
    })
}

/// What the model reads about a call that cannot be understood.
pub(super) fn explain(kit: &Kit, name: &str, args: &str, fault: &Fault) -> String {
    let tool = resolve(kit, name);
    let values = kit.bare_values().with("name", name).with("args", args).with("names", names(kit));
    let values = match tool {
        Some((name, tool)) => values.with("example", example(name, tool)).with("usage", &tool.signature),
        None => values,
    };
    match fault {
        Fault::UnknownTool => kit.common("unknown_tool", &values.with("closest", closest(kit, name))),
        Fault::BadJson(problem) => kit.common("bad_json", &values.with("problem", problem)),
        Fault::CutOff => kit.common("cut_off", &values),
        Fault::Missing(missing) => kit.common("missing", &values.with("missing", missing)),
        Fault::WrongType { param, wanted, got } => {
            let values = values.with("param", param).with("wanted", wanted).with("got", short(got));
            kit.common("wrong_type", &values)
        }
        Fault::BadWords(problem) => kit.common("bad_words", &values.with("problem", problem)),
    }
}

fn names(kit: &Kit) -> Vec<&str> {
    kit.tools.iter().filter(|(_, tool)| tool.on_wire()).map(|(name, _)| name).collect()
}

/// The three tools whose names are most alike.
fn closest<'a>(kit: &'a Kit, name: &str) -> Vec<&'a str> {
    let mut names = names(kit);
    names.sort_by(|a, b| similarity(name, b).total_cmp(&similarity(name, a)));
    names.truncate(3);
    names
}

/// A call as it might be made, else one with its required parameters as a form to fill in.
pub(super) fn example(name: &str, tool: &Tool) -> String {
    if !tool.example.is_empty() {
        return json!({ "name": name, "arguments": tool.example }).to_string();
    }
    blank_form(name, tool)
}

/// The form, with nothing filled in.
pub(super) fn blank_form(name: &str, tool: &Tool) -> String {
    let blanks = tool.params.iter().filter(|(_, p)| p.required);
    let blanks: Map<String, Value> = blanks.map(|(name, p)| (name.to_owned(), blank(p))).collect();
    json!({ "name": name, "arguments": blanks }).to_string()
}

fn blank(param: &Param) -> Value {
    match param.kind {
        Type::String => json!("..."),
        Type::Integer | Type::Number => json!(1),
        Type::Boolean => json!(true),
        Type::Array if param.each.is_empty() => json!(["..."]),
        Type::Array => {
            let one: Map<String, Value> = param.each.iter().map(|(n, p)| (n.to_owned(), blank(p))).collect();
            json!([one])
        }
        Type::Object => json!({}),
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// The action that these arguments mean.
pub(super) fn fill(tool: &Tool, args: &Map<String, Value>) -> Result<Action, Fault> {
    let args = &lifted(tool, args);
    let (does, variant) = choice(tool, args)?;
    let mut action = json!({ "do": does });
    let fixed = tool.with.iter().chain(variant.iter().flat_map(|v| v.with.iter()));
    for (path, value) in fixed {
        put(&mut action, path, value.clone());
    }
    let mut missing = Vec::new();
    for (name, param) in tool.params.iter().filter(|(name, _)| plays(tool, variant, name)) {
        let needed = param.required || variant.is_some_and(|v| v.needs.iter().any(|n| n == name));
        let Some(to) = field(variant, name, param) else { continue };
        let taken = |key: &str| key != name && tool.params.find(key).is_some();
        match coerce::given(args, name, taken) {
            Some(value) if !needed && is_blank(value, to) => {}
            Some(value) => set(&mut action, (name, to), &read(name, param, value)?, param)?,
            None => match &param.default {
                Some(value) if !needed => put(&mut action, to, value.clone()),
                Some(_) | None if needed => missing.push(name.to_owned()),
                Some(_) | None => {}
            },
        }
    }
    if !missing.is_empty() {
        return Err(Fault::Missing(missing));
    }
    if action["line"] == 0 && does == "read" {
        action["line"] = json!(1);
    }
    serde_json::from_value(action).map_err(|e| Fault::BadJson(e.to_string()))
}

/// Arguments of a nested element that stand at the top, where the tool has one list of elements.
fn lifted(tool: &Tool, args: &Map<String, Value>) -> Map<String, Value> {
    let mut args = args.clone();
    if let Some((list, param)) = tool.params.iter().find(|(_, p)| p.kind == Type::Array && !p.each.is_empty())
        && !args.contains_key(list)
        && param
            .each
            .iter()
            .filter(|(_, p)| p.required)
            .all(|(name, _)| coerce::given(&args, name, |_| false).is_some())
    {
        let element = Value::Object(args.clone());
        args.insert(list.to_owned(), json!([element]));
    }
    args
}

fn choice<'a>(tool: &'a Tool, args: &Map<String, Value>) -> Result<(&'a str, Option<&'a Variant>), Fault> {
    let Some(pick) = &tool.pick else {
        return Ok((tool.does.as_deref().unwrap_or_default(), None));
    };
    let Some(value) = args.get(pick) else {
        return Err(Fault::Missing(vec![pick.clone()]));
    };
    match value.as_str().and_then(|word| tool.when.find(word)) {
        Some(variant) => Ok((&variant.does, Some(variant))),
        None => Err(Fault::WrongType {
            param: pick.clone(),
            wanted: format!("one of {}", tool.when.names().collect::<Vec<_>>().join(", ")),
            got: value.clone(),
        }),
    }
}

/// Whether the parameter has a part in this variant. One that no variant lists is in all.
pub(super) fn plays(tool: &Tool, variant: Option<&Variant>, name: &str) -> bool {
    let lists = |v: &Variant| v.needs.iter().chain(&v.uses).any(|n| n == name);
    variant.is_none_or(|v| lists(v) || !tool.when.iter().any(|(_, other)| lists(other)))
}

/// The field of the action that a parameter fills.
pub(super) fn field<'a>(variant: Option<&'a Variant>, name: &str, param: &'a Param) -> Option<&'a str> {
    let renamed = variant.and_then(|v| v.rename.get(name)).and_then(Value::as_str);
    renamed.or(param.to.as_deref())
}

/// An optional place that is empty is a place not given.
fn is_blank(value: &Value, to: &str) -> bool {
    value == "" && ["path", "glob", "cwd", "about"].contains(&to)
}

/// The value in the parameter's type and within its choices.
fn read(name: &str, param: &Param, value: &Value) -> Result<Value, Fault> {
    let wrong = |param: &str, wanted: String, got: &Value| Fault::WrongType {
        param: param.to_owned(),
        wanted,
        got: got.clone(),
    };
    let read =
        coerce::coerce(value, param).ok_or_else(|| wrong(name, param.kind.name().to_owned(), value))?;
    if !param.choices.is_empty() && !param.choices.iter().any(|c| read == **c) {
        return Err(wrong(name, format!("one of {}", param.choices.join(", ")), value));
    }
    if param.kind != Type::Array || param.each.is_empty() {
        return Ok(read);
    }
    let elements = read.as_array().into_iter().flatten().enumerate();
    elements.map(|(at, element)| each(&format!("{name}[{at}]"), &param.each, element)).collect()
}

/// One element of a list, under the action's names.
fn each(place: &str, params: &Ordered<Param>, element: &Value) -> Result<Value, Fault> {
    let Some(given) = element.as_object() else {
        return Err(Fault::WrongType {
            param: place.to_owned(),
            wanted: "object".to_owned(),
            got: element.clone(),
        });
    };
    let mut out = json!({});
    for (name, param) in params.iter() {
        let place = format!("{place}.{name}");
        let to = param.to.as_deref().unwrap_or(name);
        let taken = |key: &str| key != name && params.find(key).is_some();
        match coerce::given(given, name, taken) {
            Some(value) => put(&mut out, to, read(&place, param, value)?),
            None => match &param.default {
                Some(value) => put(&mut out, to, value.clone()),
                // tack numbers what has no id.
                None if param.required && to != "id" => return Err(Fault::Missing(vec![place])),
                None => {}
            },
        }
    }
    Ok(out)
}

/// Sets a field from a value in the surface's unit.
fn set(action: &mut Value, (name, to): (&str, &str), value: &Value, param: &Param) -> Result<(), Fault> {
    let negative = || Fault::WrongType {
        param: name.to_owned(),
        wanted: "a number from 0 up".to_owned(),
        got: value.clone(),
    };
    let whole = |factor: f64, plus: f64| {
        let number = value.as_f64().filter(|n| *n >= 0.0 && *n < 1e12).ok_or_else(negative)?;
        let number = param.clamp.map_or(number, |clamp| clamp.of(number));
        Ok(json!((number * factor + plus).round() as u64))
    };
    let value = match param.unit {
        Unit::Job => json!(format!("job{}", whole(1.0, 0.0)?)),
        Unit::Plain if value.is_number() => whole(1.0, 0.0)?,
        Unit::Plain => value.clone(),
        Unit::Seconds => whole(1000.0, 0.0)?,
        Unit::Millis => whole(1.0, 0.0)?,
        Unit::FromZero => whole(1.0, 1.0)?,
        Unit::Range => return range(action, name, value),
    };
    put(action, to, value);
    Ok(())
}

fn range(action: &mut Value, name: &str, value: &Value) -> Result<(), Fault> {
    let ends: Vec<i64> = value.as_array().into_iter().flatten().filter_map(as_i64).collect();
    let (first, last) = match ends[..] {
        [first] => (first, -1),
        [first, last] if last == -1 || last >= first => (first, last),
        _ => {
            return Err(Fault::WrongType {
                param: name.to_owned(),
                wanted: "[first line, last line], -1 for the end".to_owned(),
                got: value.clone(),
            });
        }
    };
    let first = first.max(1);
    put(action, "line", json!(first));
    if last >= first {
        put(action, "count", json!(last - first + 1));
    }
    Ok(())
}

fn as_i64(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Sets a dotted path; a number is a place in a list.
fn put(root: &mut Value, path: &str, value: Value) {
    let mut at = root;
    for key in path.split('.') {
        at = match key.parse::<usize>() {
            Ok(index) => {
                if !at.is_array() {
                    *at = json!([]);
                }
                let list = at.as_array_mut().expect("just made a list");
                while list.len() <= index {
                    list.push(json!({}));
                }
                &mut list[index]
            }
            Err(_) => {
                if !at.is_object() {
                    *at = json!({});
                }
                &mut at[key]
            }
        };
    }
    *at = value;
}

#[cfg(test)]
mod tests;
