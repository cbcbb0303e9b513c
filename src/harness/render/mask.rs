//! Masking: of old results a line each stays, so that what is before the model is short.
//!
//! Which ones is a function of the items alone, and it changes only when another block of them is
//! old: until then an item added at the end adds to the end of the prompt, and the server's prompt
//! cache holds. Calls and the model's own words always stay.

use std::collections::HashMap;

use crate::harness::Masked;
use crate::harness::kit::Kit;
use crate::harness::template::Values;
use crate::model::{Action, Body, Glob, Grep, Item, Outcome, Part, Read, State, Stop, ToolCall, ToolResult};

/// Names of the template's own.
pub(in crate::harness) const NAMES: [&str; 6] = ["name", "target", "lines", "bytes", "exit", "failed"];

/// Most characters of what a call was about.
const TARGET: usize = 60;

/// What stands for the results that are masked, by the place of their reply among the items and of
/// their call in it.
#[derive(Default)]
pub(super) struct Masks {
    lines: HashMap<(usize, usize), ToolResult>,
    /// Bytes that the lines save.
    saved: u64,
}

/// A result with its call, and where they are.
struct Answered<'a> {
    at: usize,
    nth: usize,
    call: &'a ToolCall,
    result: &'a ToolResult,
}

impl Masks {
    pub fn new(kit: &Kit, items: &[Item]) -> Self {
        if kit.manifest.context.results == 0 {
            return Self::default();
        }
        let all = answered(items);
        let values = kit.bare_values();
        let mut masks = Self::default();
        for old in masked(kit, &all) {
            let whole = said(&old.result.shown);
            let line = kit.common("masked", &line_values(values.clone(), old, &whole));
            let images = old.result.shown.iter().any(|part| matches!(part, Part::Image(_)));
            if line.len() >= whole.len() && !images {
                continue;
            }
            masks.saved += whole.len().saturating_sub(line.len()) as u64;
            let outcome = Outcome { state: old.result.outcome.state, ..Outcome::default() };
            let (call, shown) = (old.result.call.clone(), vec![Part::Text { text: line }]);
            masks.lines.insert((old.at, old.nth), ToolResult { call, outcome, shown });
        }
        masks
    }

    /// The results of the reply at `at`, lines in place of those that are masked.
    pub fn over<'a>(
        &'a self,
        at: usize,
        results: Vec<Option<&'a ToolResult>>,
    ) -> Vec<Option<&'a ToolResult>> {
        let one = |(nth, result): (usize, Option<&'a ToolResult>)| self.lines.get(&(at, nth)).or(result);
        results.into_iter().enumerate().map(one).collect()
    }

    pub fn count(&self) -> Masked {
        Masked { results: self.lines.len(), bytes: self.saved }
    }
}

/// Those that are old by whole blocks, but for what still matters: the results of the newest reply,
/// and the last command that failed. Which that is, is decided at the block's border, so that a
/// later failure does not change what was sent.
fn masked<'a, 'b>(kit: &Kit, all: &'b [Answered<'a>]) -> impl Iterator<Item = &'b Answered<'a>> {
    let context = &kit.manifest.context;
    let (keep, block) = (context.results as usize, (context.block as usize).max(1));
    let newest = all.last().map(|last| last.at);
    let before = all.iter().filter(|one| Some(one.at) != newest).count();
    let upto = all.len().saturating_sub(keep).min(before) / block * block;
    let known = if upto == 0 { 0 } else { upto + keep };
    let pinned = all[..known].iter().rposition(failed_with_words);
    all[..upto].iter().enumerate().filter(move |(at, _)| Some(*at) != pinned).map(|(_, one)| one)
}

/// The results that are sent, in the order of their calls.
fn answered(items: &[Item]) -> Vec<Answered<'_>> {
    let mut all = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let Body::Assistant(reply) = &item.body else { continue };
        if reply.stop == Stop::Broken {
            continue;
        }
        for (nth, (call, result)) in reply.calls().zip(super::results(items, at)).enumerate() {
            all.extend(result.map(|result| Answered { at, nth, call, result }));
        }
    }
    all
}

/// A command that failed and said why: a check, as far as anybody can tell.
fn failed_with_words(one: &Answered<'_>) -> bool {
    let outcome = &one.result.outcome;
    let ran = matches!(one.call.action, Action::Shell { .. } | Action::Job { .. });
    let failed = outcome.state == State::TimedOut || outcome.exit.is_some_and(|exit| exit != 0);
    ran && failed && !outcome.text.trim().is_empty()
}

fn line_values(values: Values, old: &Answered<'_>, whole: &str) -> Values {
    let outcome = &old.result.outcome;
    values
        .with("name", &old.call.name)
        .with("target", target(&old.call.action))
        .with("lines", whole.lines().count())
        .with("bytes", whole.len())
        .with("exit", outcome.exit)
        .with("failed", outcome.state != State::Ok)
}

/// What a call was about, in a few words.
fn target(action: &Action) -> String {
    let text = match action {
        Action::Shell { command, .. } => command,
        Action::Job { id, .. } => id,
        Action::Read(Read { path, .. })
        | Action::Write { path, .. }
        | Action::Rewrite { path, .. }
        | Action::Edit { path, .. }
        | Action::Insert { path, .. }
        | Action::Undo { path }
        | Action::List { path, .. } => path,
        Action::Glob(Glob { pattern, .. }) | Action::Grep(Grep { pattern, .. }) => pattern,
        Action::Notebook { path, .. } => path,
        Action::Keys { text, .. } => text,
        Action::Fetch { url, .. } => url,
        Action::Find { query, .. } => query,
        Action::Script { tool, .. } => tool,
        Action::Tools { query, .. } => query,
        Action::Patch { .. }
        | Action::Diff { .. }
        | Action::Todo { .. }
        | Action::Tasks { .. }
        | Action::Submit { .. }
        | Action::Unknown { .. } => "",
    };
    let line = text.trim().lines().next().unwrap_or_default();
    if line.chars().count() <= TARGET && line.len() == text.trim().len() {
        return line.to_owned();
    }
    line.chars().take(TARGET).chain(['…']).collect()
}

fn said(shown: &[Part]) -> String {
    let texts = shown.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::Image(_) | Part::Thinking { .. } | Part::Call(_) => None,
    });
    texts.collect()
}
