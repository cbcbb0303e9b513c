//! Whether every tool can be called: its parameters fill fields that are there, each one once, and what
//! the model has to give is all that the action needs.

use serde_json::{Map, Value, json};

use crate::harness::bind::{self, Fault, fields};
use crate::harness::kit::{Kit, Source};
use crate::harness::layers::{File, near};
use crate::harness::load::LoadError;
use crate::harness::tool::{Param, Tool, Type, Unit, Variant};

/// One thing that a tool can do: all of it, or one value of its `pick`.
#[derive(Clone, Copy)]
pub(super) struct Form<'a> {
    pub does: &'a str,
    variant: Option<(&'a str, &'a Variant)>,
}

pub(super) fn forms(tool: &Tool) -> Vec<Form<'_>> {
    match &tool.pick {
        Some(_) => {
            tool.when.iter().map(|(word, v)| Form { does: &v.does, variant: Some((word, v)) }).collect()
        }
        None => tool.does.iter().map(|does| Form { does, variant: None }).collect(),
    }
}

pub(super) fn check(kit: &Kit, source: &Source<'_>, faults: &mut Vec<LoadError>) {
    for (name, tool) in kit.tools.iter() {
        let before = faults.len();
        let mut fault = |keys: &[&str], what: String| {
            let keys: Vec<&str> = [name].into_iter().chain(keys.iter().copied()).collect();
            faults.push(source.fault(File::Tools, &keys, None, what));
        };
        for form in forms(tool).into_iter().filter(|form| bind::KINDS.contains(&form.does)) {
            named(name, tool, form, &mut fault);
            twice(name, tool, form, &mut fault);
        }
        if faults.len() == before {
            let mut fault = |keys: &[&str], what: String| {
                let keys: Vec<&str> = [name].into_iter().chain(keys.iter().copied()).collect();
                faults.push(source.fault(File::Tools, &keys, None, what));
            };
            for form in forms(tool).into_iter().filter(|form| bind::KINDS.contains(&form.does)) {
                called(kit, (name, tool), form, &mut fault);
            }
            if !tool.example.is_empty()
                && let Err(wrong) = bind::meaning(kit, (name, tool), &tool.example)
            {
                fault(&["example"], format!("the `example` of `{name}` is no call of it: {}", words(&wrong)));
            }
        }
    }
}

type Say<'a> = dyn FnMut(&[&str], String) + 'a;

/// Parameters that have a part in this form, and the field that each fills.
fn bound<'a>(tool: &'a Tool, form: Form<'a>) -> impl Iterator<Item = (&'a str, &'a Param, &'a str)> {
    let variant = form.variant.map(|(_, variant)| variant);
    let plays = tool.params.iter().filter(move |(name, _)| bind::plays(tool, variant, name));
    plays.filter_map(move |(name, param)| Some((name, param, bind::field(variant, name, param)?)))
}

/// Fields that the action does not have.
fn named(name: &str, tool: &Tool, form: Form<'_>, fault: &mut Say<'_>) {
    let missing = |to: &str| {
        let near = near(to, fields::fields(form.does).iter().copied());
        format!("fills `{to}`, which `{}` does not have{near}", form.does)
    };
    for (param, facts, to) in bound(tool, form).filter(|(_, facts, _)| facts.unit != Unit::Range) {
        if !fields::has(form.does, to) {
            let renamed = form.variant.filter(|(_, variant)| variant.rename.contains_key(param));
            let what = format!("`{param}` of `{name}` {}", missing(to));
            match renamed {
                Some((word, _)) => fault(&["when", word, "rename", param], what),
                None => fault(&["params", param, "to"], what),
            }
        }
        if !facts.allows(Type::Array) {
            continue;
        }
        for (inner, element) in facts.each.iter() {
            let whole = format!("{to}.{}", element.to.as_deref().unwrap_or(inner));
            if fields::has(form.does, to) && !fields::has(form.does, &whole) {
                let what = format!("`{inner}` of `{param}` of `{name}` {}", missing(&whole));
                fault(&["params", param, "each", inner], what);
            }
        }
    }
    let filled = tool.fill.names().map(|to| (vec!["fill", to], to));
    let of_form = form
        .variant
        .into_iter()
        .flat_map(|(word, variant)| variant.fill.names().map(move |to| (vec!["when", word, "fill", to], to)));
    for (keys, to) in filled.chain(of_form).filter(|(_, to)| !fields::has(form.does, to)) {
        fault(&keys, format!("`fill` of `{name}` {}", missing(to)));
    }
    let fixed = tool.with.keys().map(|to| (vec!["with", to.as_str()], to));
    let picked = form.variant.into_iter().flat_map(|(word, variant)| {
        variant.with.keys().map(move |to| (vec!["when", word, "with", to.as_str()], to))
    });
    for (keys, to) in fixed.chain(picked).filter(|(_, to)| !fields::has(form.does, to)) {
        fault(&keys, format!("`with` of `{name}` {}", missing(to)));
    }
}

/// Two parameters for one field, of which the model has to give one: the other would win, whatever it meant.
fn twice(name: &str, tool: &Tool, form: Form<'_>, fault: &mut Say<'_>) {
    for (first, param, to) in
        pairs(tool, form).into_iter().filter(|pair| pair.3).map(|(a, b, to, _)| (a, b, to))
    {
        fault(&["params", param], format!("`{first}` and `{param}` of `{name}` both fill `{to}`"));
    }
}

/// Two optional parameters for one field, which may be meant: another name for the same.
pub(super) fn aliases(kit: &Kit, source: &Source<'_>) -> Vec<LoadError> {
    let mut notes = Vec::new();
    for (name, tool) in kit.tools.iter() {
        for (first, param, to, _) in forms(tool).into_iter().flat_map(|form| pairs(tool, form)) {
            let what =
                format!("`{first}` and `{param}` of `{name}` both fill `{to}`: the last one given holds");
            notes.push(source.fault(File::Tools, &[name, "params", param], None, what));
        }
    }
    notes
}

/// Pairs of parameters with the field that both fill, and whether one of them is required.
fn pairs<'a>(tool: &'a Tool, form: Form<'a>) -> Vec<(&'a str, &'a str, &'a str, bool)> {
    let needed = |name: &str, param: &Param| {
        param.required || form.variant.is_some_and(|(_, v)| v.needs.iter().any(|need| need == name))
    };
    let mut filled: Vec<(&str, bool, &str)> = Vec::new();
    let mut pairs = Vec::new();
    for (param, facts, to) in bound(tool, form) {
        let places = match facts.unit {
            Unit::Range => vec!["line", "count"],
            // It only stands in for what is not given itself.
            Unit::Around => Vec::new(),
            Unit::Plain
            | Unit::Seconds
            | Unit::Millis
            | Unit::FromZero
            | Unit::Line
            | Unit::Text
            | Unit::Job => vec![to],
        };
        let is_needed = needed(param, facts);
        for place in places {
            if let Some((first, other, _)) = filled.iter().find(|(_, _, other)| *other == place) {
                pairs.push((*first, param, place, is_needed || *other));
            }
            filled.push((param, is_needed, place));
        }
    }
    pairs
}

/// Calls with the least and with all there is.
fn called(kit: &Kit, (name, tool): (&str, &Tool), form: Form<'_>, fault: &mut Say<'_>) {
    let keys: Vec<&str> = form.variant.map(|(word, _)| vec!["when", word]).unwrap_or_default();
    // That its script is not there is told already.
    if form.does == "script" && !kit.programs.contains_key(name) {
        return;
    }
    for most in [false, true] {
        let Err(wrong) = bind::meaning(kit, (name, tool), &arguments(tool, form, most)) else { continue };
        let given = if most { "all its parameters" } else { "the parameters it requires" };
        let of = form.variant.map(|(word, _)| format!(" as `{word}`")).unwrap_or_default();
        let what = match &wrong {
            Fault::BadJson(problem) if problem.starts_with("missing field") => {
                let field = problem.split('`').nth(1).unwrap_or_default();
                // Any of several names will do.
                if bound(tool, form).filter(|(_, _, to)| *to == field).count() > 1 {
                    continue;
                }
                format!(
                    "`{name}`{of} with {given} leaves `{field}` of `{}` open: have a `required` parameter, a \
                     `default` or `with` fill it",
                    form.does
                )
            }
            wrong => format!("`{name}`{of} with {given} is no `{}`: {}", form.does, words(wrong)),
        };
        fault(&keys, what);
        return;
    }
}

fn words(fault: &Fault) -> String {
    match fault {
        Fault::UnknownTool => "there is no such tool".to_owned(),
        Fault::BadJson(problem) | Fault::BadWords(problem) => problem.clone(),
        Fault::CutOff => "it is cut off".to_owned(),
        Fault::Missing(missing) => format!("`{}` is missing", missing.join("`, `")),
        Fault::Extra(extra) => format!("`{}` is no parameter of it", extra.join("`, `")),
        Fault::Several(faults) => faults.iter().map(words).collect::<Vec<_>>().join("; "),
        Fault::Absent(name) => format!("`{name}` is absent"),
        Fault::WrongType { param, wanted, got } => format!("`{param}` has to be {wanted}, not {got}"),
    }
}

/// Arguments of a call as a model might make it: `most` with every parameter, else with those it has to give.
pub(super) fn arguments(tool: &Tool, form: Form<'_>, most: bool) -> Map<String, Value> {
    let variant = form.variant.map(|(_, variant)| variant);
    let mut args = Map::new();
    for (name, param) in tool.params.iter().filter(|(name, _)| bind::plays(tool, variant, name)) {
        let needed = param.required || variant.is_some_and(|v| v.needs.iter().any(|need| need == name));
        if most || needed {
            args.insert(name.to_owned(), value(param));
        }
    }
    if let (Some(pick), Some((word, _))) = (&tool.pick, form.variant) {
        args.insert(pick.clone(), json!(word));
    }
    args
}

fn value(param: &Param) -> Value {
    let within = |params: &crate::harness::tool::Ordered<Param>| -> Map<String, Value> {
        params.iter().map(|(name, param)| (name.to_owned(), value(param))).collect()
    };
    match param.main() {
        Type::String => param.words().first().map_or_else(|| json!("1"), |first| json!(first)),
        Type::Integer | Type::Number => {
            json!(param.min.unwrap_or(1).max(1).min(param.max.unwrap_or(i64::MAX)))
        }
        Type::Boolean => json!(true),
        Type::Array if param.unit == Unit::Range => json!([1, 2]),
        Type::Array if !param.each.is_empty() => json!([within(&param.each)]),
        Type::Array => json!([param.element().map_or_else(|| json!("1"), value)]),
        Type::Object => Value::Object(within(&param.each)),
        Type::Null | Type::Any => json!("1"),
    }
}
