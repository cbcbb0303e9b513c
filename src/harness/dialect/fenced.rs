//! The call is a code block in the text: one block, one command.

use serde_json::{Map, Value, json};

use crate::harness::bind::{self, mend};
use crate::harness::kit::Kit;
use crate::harness::manifest::{Dialect, Which};
use crate::harness::tool::Tool;
use crate::harness::{Verdict, View, render};
use crate::model::{Action, CallId, Part, Reply, ToolCall};

use super::salvage::{self, Salvaged};
use super::{Loose, after_thinking, correction, place, silent, text_of, unfinished, words};

/// A block: its command, and where it stands with its fences.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub text: String,
    pub span: (usize, usize),
}

pub(super) fn interpret(kit: &Kit, reply: &mut Reply, view: &View<'_>) -> anyhow::Result<Verdict> {
    if render::holds(kit, view) {
        read_held(kit, reply, view);
    }
    write_out_calls(kit, reply);
    if let Some(verdict) = unfinished(kit, &reply.stop) {
        return Ok(verdict);
    }
    let text = text_of(reply);
    let dialect = &kit.manifest.dialect;
    let start = after_thinking(&text);
    let mut found = blocks(&text[start..], dialect);
    let count = found.len();
    let too_many = dialect.which == Which::Only && count > 1;
    match found.pop() {
        Some(_) if too_many => Ok(Verdict::Retry(correction(kit, "", count, view)?)),
        Some(block) => {
            let (name, args, action) = command(kit, &block.text);
            let span = (start + block.span.0, start + block.span.1);
            place(reply, view, [Loose { name, args, action, span, recovered: false }]);
            Ok(Verdict::Calls)
        }
        None => silent(kit, &text, 0, view),
    }
}

/// What a command means: a tool that is called with words, else the bare tool.
fn command(kit: &Kit, text: &str) -> (String, String, Action) {
    let first = text.split_whitespace().next().unwrap_or_default();
    let bare = kit.manifest.dialect.bare.as_deref();
    match kit.tool(first).filter(|(name, _)| Some(*name) != bare) {
        Some((name, tool)) => {
            let bound = words::read(tool, text).and_then(|args| {
                let action = bind::meaning(kit, (name, tool), &args)?;
                Ok((Value::Object(args).to_string(), action))
            });
            match bound {
                Ok((args, action)) => (name.to_owned(), args, action),
                Err(fault) => (name.to_owned(), text.to_owned(), bind::unknown(kit, name, text, &fault)),
            }
        }
        None => {
            let name = bare.unwrap_or(first).to_owned();
            let args = json!({ "command": text }).to_string();
            let action = bind::bind(kit, &name, &args);
            (name, args, action)
        }
    }
}

/// A reply that the server held to the schema of the calls is the call that it says.
fn read_held(kit: &Kit, reply: &mut Reply, view: &View<'_>) {
    let Salvaged::Calls(found) = salvage::json(kit, &text_of(reply), view) else { return };
    let [(name, args, _)] = &found[..] else { return };
    let action = Action::Unknown { name: name.clone(), why: String::new() };
    let (id, name, args) = (CallId(String::new()), name.clone(), args.clone());
    reply.parts.retain(|part| !matches!(part, Part::Text { .. }));
    reply.parts.push(Part::Call(ToolCall {
        id,
        given: None,
        name,
        args,
        action,
        span: None,
        recovered: true,
    }));
}

/// A call that came over the wire although none was offered is written out as the text it ought to
/// have been.
fn write_out_calls(kit: &Kit, reply: &mut Reply) {
    for part in &mut reply.parts {
        if let Part::Call(call) = part {
            let said = mend::object(&call.args).ok().and_then(|args| {
                let (name, tool) = bind::resolve(kit, &call.name)?;
                say(kit, name, tool, &args)
            });
            let text = said.unwrap_or_else(|| format!("{} {}", call.name, call.args));
            *part = Part::Text { text: format!("\n\n{text}") };
        }
    }
}

/// A call as a block of this dialect.
pub(crate) fn say(kit: &Kit, name: &str, tool: &Tool, args: &Map<String, Value>) -> Option<String> {
    let dialect = &kit.manifest.dialect;
    let command = if dialect.bare.as_deref() == Some(name) {
        args.get("command")?.as_str()?.to_owned()
    } else {
        words::write(name, tool, args)?
    };
    let longest = command.lines().map(|line| ticks(line.trim_start())).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let label = dialect.labels.first().map_or("", String::as_str);
    Some(format!("{fence}{label}\n{command}\n{fence}"))
}

/// The top-level blocks that are commands, in order. A block inside a block belongs to the outer.
pub(super) fn blocks(text: &str, dialect: &Dialect) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let (mut starts, mut inside, mut wanted) = (0, 0, false);
    let mut outside = String::with_capacity(text.len());
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let here = at;
        at += line.len();
        let bare = line.trim();
        let depth = ticks(bare);
        let label = bare[depth..].trim();
        let is_fence = depth >= 3 && !label.contains('`');
        match open.last() {
            None if is_fence => {
                open.push(depth);
                (starts, inside) = (here, at);
                let word = label.split_whitespace().next().unwrap_or_default();
                wanted =
                    dialect.labels.is_empty() || dialect.labels.iter().any(|l| l.eq_ignore_ascii_case(word));
            }
            Some(outer) if is_fence && label.is_empty() && depth >= *outer => {
                open.pop();
                if open.is_empty() && wanted {
                    found.push(Block { text: text[inside..here].to_owned(), span: (starts, at) });
                }
            }
            Some(_) if is_fence && !label.is_empty() => open.push(depth),
            None => {
                outside.push_str(line);
                continue;
            }
            Some(_) => {}
        }
        // Keeps places the same while hiding what is inside fences from the search for tags.
        outside.extend(std::iter::repeat_n('\n', line.len()));
    }
    for tag in &dialect.tags {
        found.extend(tagged(text, &outside, tag));
    }
    found.sort_by_key(|block| block.span);
    found
        .iter_mut()
        .for_each(|block| block.text = block.text.trim_matches(['\n', '\r']).trim_end().to_owned());
    found.retain(|block| !block.text.trim().is_empty());
    found
}

fn tagged(text: &str, outside: &str, tag: &str) -> Vec<Block> {
    let (opens, closes) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = outside[from..].find(&opens).map(|at| from + at) {
        let inside = start + opens.len();
        let Some(end) = text[inside..].find(&closes).map(|at| inside + at) else { break };
        from = end + closes.len();
        found.push(Block { text: text[inside..end].to_owned(), span: (start, from) });
        if from > outside.len() || !outside.is_char_boundary(from) {
            break;
        }
    }
    found
}

fn ticks(line: &str) -> usize {
    line.bytes().take_while(|b| *b == b'`').count()
}
