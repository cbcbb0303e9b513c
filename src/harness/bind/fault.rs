//! Calls that cannot be understood, and what the model reads about them.

use serde_json::{Map, Value, json};

use crate::harness::kit::Kit;
use crate::harness::load::similarity;
use crate::harness::template::Values;
use crate::harness::tool::{Param, Tool, Type};
use crate::model::Action;

use super::resolve;

/// Why a call cannot be understood.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::harness) enum Fault {
    UnknownTool,
    BadJson(String),
    CutOff,
    Missing(Vec<String>),
    WrongType {
        param: String,
        wanted: String,
        got: Value,
    },
    /// Parameters that the tool does not have, where the harness refuses them.
    Extra(Vec<String>),
    /// More than one of the three above.
    Several(Vec<Fault>),
    /// A tool that models know and that is not offered: its name among those.
    Absent(String),
    /// The words after a word command.
    BadWords(String),
}

pub(in crate::harness) fn unknown(kit: &Kit, name: &str, args: &str, fault: &Fault) -> Action {
    Action::Unknown { name: name.to_owned(), why: explain(kit, name, args, fault) }
}

/// What the model reads about a call that cannot be understood.
pub(in crate::harness) fn explain(kit: &Kit, name: &str, args: &str, fault: &Fault) -> String {
    let tool = resolve(kit, name);
    let values = kit.bare_values().with("name", name).with("args", args).with("names", names(kit));
    let values = match tool {
        Some((name, tool)) => values.with("example", example(name, tool)).with("usage", &tool.signature),
        None => values,
    };
    let one = |fault: &Fault| say(kit, name, fault, &values);
    match fault {
        Fault::Missing(_) | Fault::WrongType { .. } | Fault::Extra(_) | Fault::Several(_) => {
            let problems: Vec<String> = match fault {
                Fault::Several(faults) => faults.iter().map(one).collect(),
                single => vec![one(single)],
            };
            if kit.manifest.errors.problems.is_some() {
                kit.common("problems", &values.clone().with("problems", problems))
            } else {
                problems.join("\n")
            }
        }
        Fault::UnknownTool | Fault::BadJson(_) | Fault::CutOff | Fault::Absent(_) | Fault::BadWords(_) => {
            one(fault)
        }
    }
}

fn say(kit: &Kit, name: &str, fault: &Fault, values: &Values) -> String {
    let values = values.clone();
    match fault {
        Fault::UnknownTool => kit.common("unknown_tool", &values.with("closest", closest(kit, name))),
        Fault::BadJson(problem) => kit.common("bad_json", &values.with("problem", problem)),
        Fault::CutOff => kit.common("cut_off", &values),
        Fault::Missing(missing) => kit.common("missing", &values.with("missing", missing)),
        Fault::WrongType { param, wanted, got } => {
            let values = values.with("param", param).with("wanted", wanted);
            kit.common("wrong_type", &values.with("got", short(got)).with("got_type", type_name(got)))
        }
        Fault::Extra(extra) => kit.common("extra", &values.with("extra", extra)),
        Fault::Several(faults) => {
            faults.iter().map(|fault| say(kit, name, fault, &values)).collect::<Vec<_>>().join("\n")
        }
        Fault::Absent(known) => {
            let hint = kit.absent_hint(known);
            kit.common("absent", &values.with("name", known).with("hint", hint))
        }
        Fault::BadWords(problem) => kit.common("bad_words", &values.with("problem", problem)),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Boolean,
        Value::Number(_) => Type::Number,
        Value::String(_) => Type::String,
        Value::Array(_) => Type::Array,
        Value::Object(_) => Type::Object,
    }
    .name()
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
pub(in crate::harness) fn example(name: &str, tool: &Tool) -> String {
    if !tool.example.is_empty() {
        return json!({ "name": name, "arguments": tool.example }).to_string();
    }
    blank_form(name, tool)
}

/// The form, with nothing filled in.
pub(in crate::harness) fn blank_form(name: &str, tool: &Tool) -> String {
    let blanks = tool.params.iter().filter(|(_, p)| p.required);
    let blanks: Map<String, Value> = blanks.map(|(name, p)| (name.to_owned(), blank(p))).collect();
    json!({ "name": name, "arguments": blanks }).to_string()
}

fn blank(param: &Param) -> Value {
    match param.main() {
        Type::String | Type::Any => json!("..."),
        Type::Integer | Type::Number => json!(1),
        Type::Boolean => json!(true),
        Type::Array if param.each.is_empty() => json!(["..."]),
        Type::Array => {
            let one: Map<String, Value> = param.each.iter().map(|(n, p)| (n.to_owned(), blank(p))).collect();
            json!([one])
        }
        Type::Object => json!({}),
        Type::Null => Value::Null,
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
