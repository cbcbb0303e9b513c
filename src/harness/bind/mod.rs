//! Binding: what a model wrote becomes an action, and back.
//!
//! Only here do a tool's surface and its meaning meet. Reading is tolerant where there is one way
//! to understand; everything else is an [`Action::Unknown`] with a text that the model can act on.

mod back;
mod coerce;
mod fault;
pub(crate) mod fields;
mod fill;
mod heredoc;
pub(crate) mod mend;
mod search;

use serde_json::{Map, Value, json};

use crate::model::Action;

use super::kit::Kit;
use super::tool::{Extra, Ordered, Param, Tool, Type, Unit, Variant};
use mend::Flaw;

pub(super) use back::unbind;
pub(super) use fault::{Fault, blank_form, example, explain, unknown};
pub(super) use fill::{has_loose_hole, quoted};
pub(super) use search::found;

/// What a tool can do, as [`Action::kind`] says it.
pub(super) const KINDS: [&str; 22] = [
    "shell", "job", "keys", "read", "write", "rewrite", "edit", "insert", "undo", "patch", "diff",
    "notebook", "glob", "grep", "find", "list", "fetch", "todo", "tasks", "script", "tools", "submit",
];

/// The action of a call with JSON arguments.
pub(super) fn bind(kit: &Kit, name: &str, args: &str) -> Action {
    try_bind(kit, name, args).unwrap_or_else(|fault| unknown(kit, name, args, &fault))
}

pub(super) fn try_bind(kit: &Kit, name: &str, args: &str) -> Result<Action, Fault> {
    let Some((name, tool)) = resolve(kit, name) else {
        return Err(absent(kit, name).map_or(Fault::UnknownTool, |known| Fault::Absent(known.to_owned())));
    };
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
    let action = meaning(kit, (name, tool), &args)?;
    Ok(match &tool.patch_word {
        Some(word) => heredoc::as_patch(word, action),
        None => action,
    })
}

/// The tool of that name. Case, dashes and the prefixes that some templates add do not matter.
pub(super) fn resolve<'a>(kit: &'a Kit, name: &str) -> Option<(&'a str, &'a Tool)> {
    kit.tool(name).or_else(|| only(kit.tools.iter(), name))
}

/// The tool of that name that models know and that this harness does not offer.
fn absent<'a>(kit: &'a Kit, name: &str) -> Option<&'a str> {
    only(kit.manifest.absent.iter(), name).map(|(known, _)| known)
}

fn only<'a, T: 'a>(known: impl Iterator<Item = (&'a str, &'a T)>, name: &str) -> Option<(&'a str, &'a T)> {
    let plain = |name: &str| name.trim().to_ascii_lowercase().replace('-', "_");
    let bare = name.rsplit(['.', ':']).next().unwrap_or(name);
    let mut same = known.filter(|(known, _)| plain(known) == plain(bare));
    let first = same.next()?;
    same.next().is_none().then_some(first)
}

/// The action that these arguments mean.
pub(super) fn meaning(
    kit: &Kit,
    (name, tool): (&str, &Tool),
    given: &Map<String, Value>,
) -> Result<Action, Fault> {
    let args = &lifted(tool, given);
    let (does, variant) = choice(tool, args)?;
    let mut action = json!({ "do": does });
    let fixed = tool.with.iter().chain(variant.iter().flat_map(|v| v.with.iter()));
    for (path, value) in fixed {
        put(&mut action, path, value.clone());
    }
    // What has no field of its own matters where a template or a program reads it.
    let filled = tool.filled(variant) || does == "script";
    let mut input = Map::new();
    let (mut missing, mut wrong) = (Vec::new(), Vec::new());
    for (name, param) in tool.params.iter().filter(|(name, _)| plays(tool, variant, name)) {
        let needed = param.required || variant.is_some_and(|v| v.needs.iter().any(|n| n == name));
        let to = field(variant, name, param);
        if to.is_none() && !filled {
            continue;
        }
        match coerce::given(args, name, taken(&tool.params, name)) {
            Some(value) if !needed && to.is_some_and(|to| is_blank(value, to)) => {}
            Some(value) => match read(name, param, value) {
                Ok(value) => {
                    if let Some(to) = to {
                        wrong.extend(set(&mut action, (name, to), &value, param).err());
                    }
                    input.insert(name.to_owned(), value);
                }
                Err(fault) => wrong.push(fault),
            },
            None if needed => missing.push(name.to_owned()),
            None => {
                if let Some(value) = param.default.as_ref().or(param.shown.as_ref()) {
                    input.insert(name.to_owned(), value.clone());
                }
                match (to, &param.default, &param.shown) {
                    (Some(to), Some(value), _) => put(&mut action, to, value.clone()),
                    (Some(to), None, Some(shown)) => set(&mut action, (name, to), shown, param)?,
                    (Some(_), None, None) | (None, ..) => {}
                }
            }
        }
    }
    let extra = if args == given { extra(kit, tool, given) } else { Vec::new() };
    let listed = [(missing, Fault::Missing as fn(Vec<String>) -> Fault), (extra, Fault::Extra)];
    let listed = listed.into_iter().filter(|(names, _)| !names.is_empty()).map(|(names, fault)| fault(names));
    let mut faults: Vec<Fault> = listed.chain(wrong).collect();
    match faults.len() {
        0 => {}
        1 => return Err(faults.remove(0)),
        _ => return Err(Fault::Several(faults)),
    }
    fill::fill(kit, (name, tool), variant, &input, &mut action)?;
    if does == "script" {
        action["tool"] = json!(name);
        action["run"] = json!(tool.run);
        action["dir"] = json!(kit.programs.get(name));
        action["only_reads"] = json!(tool.reads);
        action["input"] = Value::Object(input);
    }
    if action["line"] == 0 && does == "read" {
        action["line"] = json!(1);
    }
    let mut action = serde_json::from_value(action).map_err(|e| Fault::BadJson(e.to_string()))?;
    if let Action::Tools { query, limit, regex, found } = &mut action {
        *found = search::search(kit, query, *regex, *limit);
    }
    Ok(action)
}

/// Given parameters that the tool does not have, where the harness and the tool refuse such.
fn extra(kit: &Kit, tool: &Tool, args: &Map<String, Value>) -> Vec<String> {
    if kit.manifest.errors.extra.is_none() || tool.extra != Some(Extra::Allowed(false)) {
        return Vec::new();
    }
    let read = |name: &str| coerce::key(args, name, taken(&tool.params, name));
    let known: Vec<&str> = tool.params.names().chain(tool.params.names().filter_map(read)).collect();
    args.keys().filter(|name| !known.contains(&name.as_str())).cloned().collect()
}

/// Names that stand for another parameter than `name`.
fn taken<'a>(params: &'a Ordered<Param>, name: &'a str) -> impl Fn(&str) -> bool + 'a {
    move |key| key != name && params.find(key).is_some()
}

/// Arguments of a nested element that stand at the top, where the tool has one list of elements.
fn lifted(tool: &Tool, args: &Map<String, Value>) -> Map<String, Value> {
    let mut args = args.clone();
    if let Some((list, param)) = tool.params.iter().find(|(_, p)| p.allows(Type::Array) && !p.each.is_empty())
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
    let read = coerce::coerce(value, param).ok_or_else(|| wrong(name, param.types_said(), value))?;
    let words = param.words();
    if !words.is_empty() && !words.iter().any(|word| read == **word) {
        return Err(wrong(name, format!("one of {}", words.join(", ")), value));
    }
    let read = param.meant(read);
    if !param.allows(Type::Array) || param.each.is_empty() {
        return Ok(read);
    }
    let elements = match &read {
        Value::Array(list) => &list[..],
        one => std::slice::from_ref(one),
    };
    let elements = elements.iter().enumerate();
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
        match coerce::given(given, name, taken(params, name)) {
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
        Unit::Text => json!(whole(1.0, 0.0)?.to_string()),
        Unit::Plain if value.is_number() => whole(1.0, 0.0)?,
        Unit::Plain => value.clone(),
        Unit::Seconds => whole(1000.0, 0.0)?,
        Unit::Millis => whole(1.0, 0.0)?,
        Unit::FromZero => whole(1.0, 1.0)?,
        Unit::Range => return range(action, name, value),
        Unit::Line => match as_i64(value) {
            Some(line) if line < 0 => {
                put(action, "last", json!(line.unsigned_abs()));
                return Ok(());
            }
            Some(_) | None => whole(1.0, 0.0)?,
        },
        Unit::Around => {
            let lines = whole(1.0, 0.0)?;
            for side in
                ["before", "after"].into_iter().filter(|side| action[side].is_null()).collect::<Vec<_>>()
            {
                put(action, side, lines.clone());
            }
            return Ok(());
        }
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
