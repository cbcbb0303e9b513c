//! Salvage: a reply that is a call, written as text because the model or the server does not speak
//! the wire's calls.
//!
//! Only a reply that is nothing but the call, give or take a sentence, counts: JSON in a longer
//! text is something the model talks about, save for small models, which talk around their calls
//! and make up what comes of them. A call that is not offered or not valid is never run.

use serde_json::{Map, Value, json};

use crate::harness::View;
use crate::harness::bind::{self, Fault, mend};
use crate::harness::kit::Kit;
use crate::harness::manifest::{Dialect, Salvage};
use crate::model::{Action, Body, Part, asked};

use super::fenced::{self, Block};
use super::{file, pythonic};

pub(super) enum Salvaged {
    /// Name, arguments as JSON text, place in the text.
    Calls(Vec<(String, String, (usize, usize))>),
    /// A call, but not one that can be run; says why.
    Wrong(String),
    /// A call that stops in the middle.
    CutOff,
    Nothing,
}

/// Prose that may stand before and after a call, in characters.
const BEFORE: usize = 200;
const AFTER: usize = 120;

/// Braces at which a call within a text is looked for.
pub(super) const PLACES: usize = 40;

/// What a form finds: raw calls and their place, that it was cut off, or that it cannot be read.
pub(super) enum Raw {
    Calls(Vec<(String, Value)>, (usize, usize)),
    CutOff,
    Unreadable,
}

pub(super) fn find(kit: &Kit, text: &str, view: &View<'_>) -> Salvaged {
    find_in(kit, text, (&kit.manifest.dialect.salvage, view))
}

/// A reply that is a call in JSON, whether or not the dialect reads those.
pub(super) fn json(kit: &Kit, text: &str, view: &View<'_>) -> Salvaged {
    find_in(kit, text, (&[Salvage::Json], view))
}

fn find_in(kit: &Kit, text: &str, (forms, view): (&[Salvage], &View<'_>)) -> Salvaged {
    let start = super::after_thinking(text);
    let body = &text[start..];
    let listed = |path: &str| view.scene.listing.iter().any(|entry| !entry.dir && entry.path == path);
    let said = |path: &str| spoken_of(view, path);
    for form in forms {
        let raw = match form {
            Salvage::Json => json_form(body),
            Salvage::Hermes => hermes(body),
            Salvage::Xml => xml(body),
            Salvage::Markers => markers(body),
            Salvage::Pythonic => pythonic::find(kit, body),
            Salvage::Shell if kit.manifest.dialect.bare.is_some() => first_shell(kit, body),
            Salvage::Shell => shell(kit, body),
            Salvage::Within => within(kit, body),
            Salvage::File => match file::files(body, &known(kit, view, [&listed, &said])) {
                file::Found::Files(files) => match written(kit, files, start) {
                    Some(found) => return found,
                    None => None,
                },
                file::Found::CutOff => Some(Raw::CutOff),
                file::Found::Nothing => None,
            },
        };
        match raw {
            Some(Raw::Calls(calls, (from, to))) => return valid(kit, &calls, (start + from, start + to)),
            Some(Raw::CutOff) => return Salvaged::CutOff,
            Some(Raw::Unreadable) => return Salvaged::Wrong(String::new()),
            None => {}
        }
    }
    Salvaged::Nothing
}

fn known<'a>(kit: &Kit, view: &View<'_>, [listed, said]: [&'a dyn Fn(&str) -> bool; 2]) -> file::Known<'a> {
    let dialect = &kit.manifest.dialect;
    let commands = dialect.bare.is_some() && dialect.salvage.contains(&Salvage::Shell);
    file::Known { listed, said, asked: file::paths(asked(view.items)), commands }
}

/// Whether the talk of this session has this path.
fn spoken_of(view: &View<'_>, path: &str) -> bool {
    let shows = |part: &Part| matches!(part, Part::Text { text } if text.contains(path));
    path.contains('.')
        && view.items.iter().any(|item| match &item.body {
            Body::User(said) => said.text.contains(path),
            Body::Result(result) => result.shown.iter().any(shows),
            Body::Assistant(_) | Body::Note(_) | Body::Scene(_) | Body::Summary(_) | Body::Mark(_) => false,
        })
}

/// Files as calls of the tool that rewrites; `start` is where the text that they were found in begins.
fn written(kit: &Kit, files: Vec<file::File>, start: usize) -> Option<Salvaged> {
    let call = |file: file::File| {
        let (name, args) = bind::unbind(kit, &Action::Rewrite { path: file.path, text: file.text })?;
        let span = (start + file.span.0, start + file.span.1);
        Some((name, Value::Object(args).to_string(), span))
    };
    Some(Salvaged::Calls(files.into_iter().map(call).collect::<Option<_>>()?))
}

/// All of the calls, or the reason why the first bad one is bad.
fn valid(kit: &Kit, calls: &[(String, Value)], span: (usize, usize)) -> Salvaged {
    let mut good = Vec::new();
    for (name, args) in calls {
        let args = match args {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let known = bind::resolve(kit, name).map_or(name.as_str(), |(known, _)| known);
        match bind::try_bind(kit, known, &args) {
            // The form to fill in, as a correction shows it, said back.
            Ok(_) if is_blank(kit, known, &args) => return Salvaged::Wrong(String::new()),
            // As the wire would have brought it, so that it goes back as a call.
            Ok(_) => {
                let args =
                    mend::object(&args).map(|fields| Value::Object(fields).to_string()).unwrap_or(args);
                good.push((known.to_owned(), args, span));
            }
            Err(Fault::CutOff) => return Salvaged::CutOff,
            Err(fault) => return Salvaged::Wrong(bind::explain(kit, name, &args, &fault)),
        }
    }
    Salvaged::Calls(good)
}

fn is_blank(kit: &Kit, name: &str, args: &str) -> bool {
    let form = bind::resolve(kit, name).map(|(name, tool)| bind::blank_form(name, tool));
    let form = form.and_then(|form| serde_json::from_str::<Value>(&form).ok());
    let args = mend::object(args).unwrap_or_default();
    !args.is_empty() && form.is_some_and(|form| form["arguments"] == Value::Object(args))
}

/// Whether so little surrounds the place that the reply is the call.
pub(super) fn stands_alone(body: &str, span: (usize, usize)) -> bool {
    stands_alone_but(body, span, AFTER)
}

fn stands_alone_but(body: &str, (from, to): (usize, usize), after: usize) -> bool {
    let (before, behind) = (body[..from].trim(), body[to..].trim());
    before.chars().count() <= BEFORE && behind.chars().count() <= after && !only_shows(before)
}

/// Whether what stands before a call says that it is not meant to be run.
pub(super) fn only_shows(before: &str) -> bool {
    let talk = before.to_ascii_lowercase();
    ["example", "for instance", "would look", "e.g."].iter().any(|word| talk.contains(word))
}

/// The value as a call: a name, and arguments under one of the names in use.
pub(super) fn as_call(value: &Value) -> Option<(String, Value)> {
    let fields = value.as_object()?;
    if let Some(inner) = fields.get("function").filter(|inner| inner.is_object()) {
        return as_call(inner);
    }
    let name = ["name", "tool", "tool_name", "function", "type"]
        .iter()
        .find_map(|key| fields.get(*key)?.as_str())?;
    let args =
        ["arguments", "parameters", "args", "input", "tool_input"].iter().find_map(|key| fields.get(*key))?;
    // A tool's definition looks much like a call of it.
    let is_schema = args.get("type").is_some() && args.get("properties").is_some();
    (!is_schema && (args.is_object() || args.is_string())).then(|| (name.to_owned(), args.clone()))
}

fn as_calls(value: &Value) -> Option<Vec<(String, Value)>> {
    let list = value.as_array().or_else(|| value.get("tool_calls")?.as_array());
    match list {
        Some(list) if !list.is_empty() => list.iter().map(as_call).collect(),
        Some(_) => None,
        None => as_call(value).map(|call| vec![call]),
    }
}

/// Whether a text that is no whole JSON begins like a call.
pub(super) fn begins_like_a_call(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).take(24).collect();
    let plain = plain.strip_prefix('{').filter(|rest| rest.starts_with('{')).unwrap_or(&plain);
    ["{\"name\":", "[{\"name\":", "{\"function\":", "{\"tool", "{\"arguments\":"]
        .iter()
        .any(|s| plain.starts_with(s))
}

/// One or several JSON values that are calls, each a value of its own.
fn json_calls(text: &str) -> Option<Result<Vec<(String, Value)>, ()>> {
    match mend::value(text) {
        Ok(value) => as_calls(&value).map(Ok),
        Err(mend::Flaw::CutOff) => begins_like_a_call(text).then_some(Err(())),
        Err(mend::Flaw::Bad(_)) => {
            let text = mend::mended(text);
            let values: Result<Vec<Value>, _> =
                serde_json::Deserializer::from_str(&text).into_iter().collect();
            match values {
                Ok(values) => values.iter().map(as_call).collect::<Option<Vec<_>>>().map(Ok),
                Err(e) => (e.is_eof() && begins_like_a_call(&text)).then_some(Err(())),
            }
        }
    }
}

pub(super) fn json_form(body: &str) -> Option<Raw> {
    let all = Dialect::default();
    let blocks = fenced::blocks(body, &all);
    let (text, span, after) = match &blocks[..] {
        [Block { text, span }] => (text.as_str(), *span, AFTER),
        [] => {
            let from = match body.find("```") {
                // A fence that never closes: what is in it was cut off, or the model forgot to.
                Some(fence) => fence + body[fence..].find(['{', '['])?,
                None => line_start_of_json(body)?,
            };
            (&body[from..], (from, body.len()), 0)
        }
        [_, _, ..] => return None,
    };
    let calls = json_calls(text)?;
    if !stands_alone_but(body, span, after) {
        return None;
    }
    Some(calls.map_or(Raw::CutOff, |calls| Raw::Calls(calls, span)))
}

fn line_start_of_json(body: &str) -> Option<usize> {
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        if line.trim_start().starts_with(['{', '[']) {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// Everything between the first opening tag and the last closing one.
pub(super) fn between<'a>(
    body: &'a str,
    opens: &str,
    closes: &str,
) -> Option<(Vec<&'a str>, (usize, usize), bool)> {
    let from = body.find(opens)?;
    let (mut inside, mut at, mut closed) = (Vec::new(), from, true);
    while let Some(start) = body[at..].find(opens).map(|start| at + start + opens.len()) {
        let end = body[start..].find(closes).map(|end| start + end);
        inside.push(&body[start..end.unwrap_or(body.len())]);
        at = end.map_or(body.len(), |end| end + closes.len());
        closed = end.is_some();
    }
    Some((inside, (from, at), closed))
}

pub(super) fn hermes(body: &str) -> Option<Raw> {
    let (inside, span, closed) = between(body, "<tool_call>", "</tool_call>")?;
    if !stands_alone(body, span) {
        return None;
    }
    let mut calls = Vec::new();
    for text in inside {
        if let Some(found) = functions(text) {
            match found {
                Raw::Calls(found, _) => calls.extend(found),
                other @ (Raw::CutOff | Raw::Unreadable) => return Some(other),
            }
            continue;
        }
        match json_calls(text) {
            Some(Ok(found)) => calls.extend(found),
            Some(Err(())) => return Some(Raw::CutOff),
            None if !closed => return Some(Raw::CutOff),
            None => return None,
        }
    }
    Some(Raw::Calls(calls, span))
}

pub(super) fn xml(body: &str) -> Option<Raw> {
    let raw = functions(body)?;
    match &raw {
        Raw::Calls(_, span) if !stands_alone(body, *span) => None,
        Raw::Calls(..) | Raw::CutOff | Raw::Unreadable => Some(raw),
    }
}

/// `<function=name>` with parameters as tags, or with JSON inside.
fn functions(body: &str) -> Option<Raw> {
    let opens = "<function=";
    let (inside, span, closed) = between(body, opens, "</function>")?;
    let before = body[..span.0].chars().count();
    if !closed {
        return (before <= BEFORE).then_some(Raw::CutOff);
    }
    let mut calls = Vec::new();
    for text in inside {
        let (name, rest) = text.split_once('>')?;
        let args = match mend::object(rest) {
            Ok(fields) if !fields.is_empty() => fields,
            _ => parameters(rest),
        };
        calls.push((name.trim().trim_matches('"').to_owned(), Value::Object(args)));
    }
    Some(Raw::Calls(calls, span))
}

fn parameters(text: &str) -> Map<String, Value> {
    let Some((inside, ..)) = between(text, "<parameter=", "</parameter>") else { return Map::new() };
    let one = |text: &&str| {
        let (name, value) = text.split_once('>')?;
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        Some((name.trim().trim_matches('"').to_owned(), json!(value)))
    };
    inside.iter().filter_map(one).collect()
}

/// Special tokens: Mistral's, Llama's, DeepSeek's.
pub(super) fn markers(body: &str) -> Option<Raw> {
    let simple = ["[TOOL_CALLS]", "<|python_tag|>"].iter().find_map(|mark| Some((*mark, body.find(mark)?)));
    if let Some((mark, from)) = simple {
        let text = body[from + mark.len()..].trim().trim_end_matches("<|eom_id|>").trim_end_matches("</s>");
        let span = (from, body.len());
        if !stands_alone_but(body, span, 0) {
            return None;
        }
        if let Some(calls) = json_calls(text) {
            return Some(calls.map_or(Raw::CutOff, |calls| Raw::Calls(calls, span)));
        }
        let (name, args) = text.split_at(text.find('{')?);
        let name = name.trim().trim_end_matches("[ARGS]").trim();
        return Some(Raw::Calls(vec![(name.to_owned(), json!(args))], span));
    }
    let (inside, span, closed) = between(body, "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>")?;
    let whole = (body.find("<｜tool▁calls▁begin｜>").unwrap_or(span.0), body.len());
    if !stands_alone_but(body, whole, 0) {
        return None;
    }
    if !closed {
        return Some(Raw::CutOff);
    }
    let calls = inside.iter().map(|text| {
        let (first, rest) = text.split_once("<｜tool▁sep｜>")?;
        // The older form says `function` first and fences the arguments.
        let (name, args) = match first.trim() {
            "function" => rest.split_once('\n')?,
            name => (name, rest),
        };
        Some((name.trim().to_owned(), json!(args.trim())))
    });
    Some(Raw::Calls(calls.collect::<Option<_>>()?, whole))
}

/// One shell block and not a word around it.
fn shell(kit: &Kit, body: &str) -> Option<Raw> {
    let blocks = shell_blocks(body);
    let [Block { text, span }] = &blocks[..] else { return None };
    let call = command(kit, text)?;
    (body.trim() == body[span.0..span.1].trim()).then_some(Raw::Calls(vec![call], *span))
}

/// Where a shell block is how commands are written, the first one counts, unless a call stands before
/// it. What follows was made up.
fn first_shell(kit: &Kit, body: &str) -> Option<Raw> {
    let blocks = shell_blocks(body);
    let Block { text, span } = blocks.first()?;
    let before = &body[..span.0];
    if is_json_call(text) || only_shows(before) || before.lines().any(file::is_call) {
        return None;
    }
    Some(Raw::Calls(vec![command(kit, text)?], (span.0, body.len())))
}

pub(super) fn shell_blocks(body: &str) -> Vec<Block> {
    let labels = ["bash", "sh", "shell"].map(str::to_owned).to_vec();
    fenced::blocks(body, &Dialect { labels, ..Dialect::default() })
}

fn command(kit: &Kit, text: &str) -> Option<(String, Value)> {
    let action = Action::Shell {
        command: text.to_owned(),
        timeout: None,
        background: false,
        yield_after: None,
        within: Default::default(),
        cwd: None,
        about: None,
    };
    let (name, args) = bind::unbind(kit, &action)?;
    Some((name, Value::Object(args)))
}

/// A block that is labelled as a command and holds a call in JSON.
pub(super) fn is_json_call(text: &str) -> bool {
    matches!(json_calls(text), Some(Ok(_)))
}

/// The first call of an offered tool in the text. What begins like one and is none, or the tags of
/// a call alone, cannot be read.
fn within(kit: &Kit, body: &str) -> Option<Raw> {
    let mut broken =
        ["<tools>", "<tool_call", "<function", "<tool>"].iter().any(|tag| body.trim_start().starts_with(tag));
    for (at, _) in body.match_indices('{').take(PLACES) {
        let text = mend::mended(&body[at..]);
        let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                let offered = |(name, _): &(String, Value)| bind::resolve(kit, name).is_some();
                if let Some(call) = as_call(&value).filter(offered) {
                    let from = opening(&body[..at]);
                    return (!only_shows(&body[..from])).then(|| Raw::Calls(vec![call], (from, body.len())));
                }
            }
            Some(Err(e)) if e.is_eof() && begins_like_a_call(&text) => return Some(Raw::CutOff),
            Some(Err(_)) => broken |= kit.tools.names().any(|name| begins_with_name(&text, name)),
            None => {}
        }
    }
    broken.then_some(Raw::Unreadable)
}

fn begins_with_name(text: &str, name: &str) -> bool {
    let rest = text.trim_start_matches(['{', ' ', '\n', '\t']).strip_prefix("\"name\":");
    rest.is_some_and(|rest| rest.trim_start().trim_start_matches('"').starts_with(name))
}

/// Where the fence, tag or bracket that leads to the end of this text begins.
fn opening(before: &str) -> usize {
    let mut rest = before.trim_end();
    while let Some(shorter) =
        ["```json", "```", "<tools>", "<tool_call>", "{", "["].iter().find_map(|mark| rest.strip_suffix(mark))
    {
        rest = shorter.trim_end();
    }
    rest.len()
}
