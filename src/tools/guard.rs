//! What a change is held to before it is made, as far as a harness asks for it: lines that were never
//! shown stay as they are, and a file that parses goes on to parse.
//!
//! A call that quotes what it replaces knows it, so only what goes by line numbers, by count or by
//! nothing at all needs lines that were shown. A new file, or one that was broken already, is written
//! and told of: refusing would save nothing.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::change::Loaded;
use super::rows::{self, Hunk, Rows};
use super::seen::Extent;
use super::text::{self, Text};
use super::{RETRY, ToolCx, Toolbox, failed, lock, path, shell, words};
use crate::code::{self, Finding};
use crate::model::{Broken, Outcome, hash};

/// Findings that are told.
const TOLD: usize = 5;
/// After so many refusals in a row of one file, a change that breaks it is made.
const PATIENCE: u32 = 2;
/// Lines shown of each side where a change is refused because of them.
const SIDE: usize = 4;
/// Unseen lines shown at once, and bytes of one.
const UNSEEN: usize = 40;
const UNSEEN_BYTES: usize = 2_000;

/// What a change goes by.
pub(super) enum Basis {
    /// The text that it replaces, word for word.
    Quote,
    /// These lines.
    Lines(Vec<Rows>),
    /// Nothing: it touches whatever is different.
    Difference,
    /// The person's own word: they saw all of it.
    Person,
}

/// A change that is to be made.
pub(super) struct Plan<'a> {
    /// The path as it was written.
    pub(super) raw: &'a str,
    /// What the new text came of.
    pub(super) old: Option<&'a Loaded>,
    pub(super) after: &'a [u8],
    pub(super) basis: Basis,
}

/// Names of devices, whatever ending stands behind them (Microsoft's "Naming Files, Paths, and
/// Namespaces").
fn is_device(raw: &str) -> bool {
    let name = raw.rsplit(['/', '\\']).next().unwrap_or(raw);
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_ascii_lowercase();
    let numbered =
        |kind: &str| stem.strip_prefix(kind).is_some_and(|nth| matches!(nth.as_bytes(), [b'1'..=b'9']));
    ["con", "prn", "aux", "nul"].contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

/// Whether a file still parses after a change that may be made.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// None: nobody asked, or no parser reads the file.
    parses: Option<bool>,
    /// Errors that were not there before.
    findings: Vec<Finding>,
}

/// How often in a row a change of each file was refused.
#[derive(Default)]
pub(super) struct Refusals(HashMap<PathBuf, u32>);

impl Refusals {
    pub(super) fn made(&mut self, real: &std::path::Path) {
        self.0.remove(real);
    }
}

impl Toolbox {
    /// Whether the change may be made.
    pub(super) fn clear(&self, cx: &ToolCx<'_>, plan: &Plan<'_>) -> Result<Parsed, Outcome> {
        if cx.guards.safe_names && plan.old.is_none() && is_device(plan.raw) {
            let text = format!(
                "{} was not made: Windows keeps that name for a device, so no one could check the project out there; choose another",
                path::show_str(plan.raw)
            );
            return Err(failed("reserved_name", text));
        }
        if let Some(old) = plan.old.filter(|_| cx.guards.seen) {
            self.only_seen(cx, plan, old)?;
        }
        match cx.guards.parse {
            Broken::Allowed => Ok(Parsed::default()),
            Broken::Told => Ok(Parsed::of(plan).0),
            Broken::Refused => {
                let (parsed, breaks) = Parsed::of(plan);
                let holds = breaks && !matches!(plan.basis, Basis::Person);
                match plan.old.filter(|_| holds) {
                    Some(old) if self.is_patient(old) => Err(parsed.refusal(plan, old)),
                    Some(_) | None => Ok(parsed),
                }
            }
        }
    }

    fn is_patient(&self, old: &Loaded) -> bool {
        let mut refusals = lock(&self.refusals);
        let times = refusals.0.entry(old.real.clone()).or_default();
        *times += 1;
        *times <= PATIENCE
    }

    fn only_seen(&self, cx: &ToolCx<'_>, plan: &Plan<'_>, old: &Loaded) -> Result<(), Outcome> {
        let before = read(&old.raw);
        let before: Vec<&str> = before.split_inclusive('\n').collect();
        let wanted = match &plan.basis {
            Basis::Quote | Basis::Person => return Ok(()),
            Basis::Lines(lines) => lines.clone(),
            Basis::Difference => {
                let after = read(plan.after);
                rows::touched(&rows::hunks(&before, &after.split_inclusive('\n').collect::<Vec<_>>()))
            }
        };
        let unseen = lock(&self.seen).unseen(&old.real, &wanted);
        let mut printed = lock(&self.printed);
        printed.note(cx.asked);
        let unseen: Vec<u64> = unseen
            .into_iter()
            .flat_map(|(from, to)| from..=to.min(before.len() as u64))
            .filter(|line| !printed.has(at(&before, *line)))
            .collect();
        drop(printed);
        match unseen.is_empty() {
            true => Ok(()),
            false => Err(self.show_unseen(cx, (plan, old), (&before, &unseen))),
        }
    }

    /// The refusal shows the lines, so that the same call can be made again. They come last: what stands
    /// below them is taken for more of the file.
    fn show_unseen(
        &self,
        cx: &ToolCx<'_>,
        (plan, old): (&Plan<'_>, &Loaded),
        (before, unseen): (&[&str], &[u64]),
    ) -> Outcome {
        let mut room = cx.limits.bytes / 2;
        let mut extent = Extent { rows: Vec::new(), total: before.len() as u64 };
        let mut shown = Vec::new();
        for line in unseen.iter().copied().take(UNSEEN) {
            let row = format!("{line}: {}", clip(at(before, line), UNSEEN_BYTES));
            if row.len() > room && !shown.is_empty() {
                break;
            }
            room = room.saturating_sub(row.len());
            shown.push(row);
            rows::merge(&mut extent.rows, (line, line));
        }
        let left = unseen.len() - shown.len();
        let name = path::show_str(plan.raw);
        let next = match left {
            0 => "Look at what stands there, and send the same again if it still fits".to_owned(),
            _ => format!("Read the file first: {} more are unseen", words::count(left, "line")),
        };
        let (first, last) = (unseen[0], unseen[unseen.len() - 1]);
        let have = if unseen.len() == 1 { "has" } else { "have" };
        let text = format!(
            "{name} was left as it is: {} of it, which this would change, {have} not been shown yet. {next}.\n=== {name} as it is ===\n{}",
            words::span(first, last),
            shown.join("\n"),
        );
        let data = json!({
            "error": "unseen", "path": plan.raw, "from": first, "to": last,
            "rows": shown.join("\n"), "left": left, RETRY: true,
        });
        let seen = lock(&self.seen).show(&old.real, hash(&old.raw), &extent);
        Outcome { data, seen: vec![seen], ..failed("unseen", text) }
    }
}

impl Parsed {
    /// Also whether it did before, and does not any longer.
    fn of(plan: &Plan<'_>) -> (Self, bool) {
        if code::language(plan.raw).is_none() {
            return (Self::default(), false);
        }
        let after = read(plan.after);
        let Some(before) = plan.old.map(|old| read(&old.raw)).filter(|before| !before.is_empty()) else {
            let findings = code::findings(plan.raw, &after);
            return (Self { parses: Some(findings.is_empty()), findings }, false);
        };
        let made = code::change(plan.raw, &before, &after).unwrap_or_default();
        (Self { parses: Some(made.parses), findings: made.new }, made.breaks)
    }

    /// What was refused, the fact behind it, the next call, what stands there and what would.
    fn refusal(&self, plan: &Plan<'_>, old: &Loaded) -> Outcome {
        let (before, after) = (read(&old.raw), read(plan.after));
        let (before, after): (Vec<&str>, Vec<&str>) =
            (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
        let wrong = self.findings.first().map_or(1, |finding| finding.line);
        let hunks = rows::hunks(&before, &after);
        let place = hunks.iter().rfind(|hunk| hunk.new.start < wrong).or(hunks.first()).cloned();
        let place = place.unwrap_or(Hunk { old: 0..0, new: 0..0 });
        let there = window(&before, place.old.start.saturating_sub(1));
        // The error may be told far from its cause, as of a bracket that is never closed.
        let near = place.new.contains(&wrong.saturating_sub(1)) || place.new.end.abs_diff(wrong) <= SIDE;
        let first = if near { wrong.saturating_sub(3) } else { place.new.start.saturating_sub(1) };
        let made = window(&after, first.max(place.new.start.saturating_sub(1)));
        let text = format!(
            "{} was left as it is, because it would not parse: {}. Send the change again with that put right.\n=== there now ===\n{there}\n=== with the change ===\n{made}",
            path::show_str(plan.raw),
            self.list("; "),
        );
        let data = json!({
            "error": "breaks", "path": plan.raw, "findings": self.facts(), "before": there, "after": made,
            RETRY: true,
        });
        Outcome { data, ..failed("breaks", text) }
    }

    /// The outcome of the change, with what it did to the file's syntax.
    pub(super) fn tell(&self, raw: &str, mut outcome: Outcome) -> Outcome {
        let Some(parses) = self.parses else { return outcome };
        let name = path::show_str(raw);
        // What was wrong before may be the parser's fault, so nothing is said of it.
        let note = match (parses, self.findings.is_empty()) {
            (true, _) => Some(format!("[{name} parses]")),
            (false, true) => None,
            (false, false) => Some(format!("[{name} does not parse now: {}]", self.list("; "))),
        };
        outcome.text = shell::noted(outcome.text, note.as_slice());
        if let Value::Object(data) = &mut outcome.data {
            data.insert("parses".into(), parses.into());
            data.insert("findings".into(), self.facts());
        }
        outcome
    }

    fn list(&self, between: &str) -> String {
        let told = self.findings.iter().take(TOLD);
        told.map(|finding| format!("line {}: {}", finding.line, finding.what))
            .collect::<Vec<_>>()
            .join(between)
    }

    fn facts(&self) -> Value {
        let told = self.findings.iter().take(TOLD);
        told.map(|finding| json!({ "line": finding.line, "what": finding.what })).collect()
    }
}

/// A file as its language sees it; empty where it is no text.
fn read(raw: &[u8]) -> String {
    let text = Text::decode(raw).map(|text| text.bytes).unwrap_or_default();
    text::normal(&String::from_utf8_lossy(&text))
}

fn at<'a>(lines: &[&'a str], line: u64) -> &'a str {
    let nth = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
    nth.and_then(|nth| lines.get(nth)).map_or("", |line| line.trim_end_matches('\n'))
}

/// A few numbered lines, the first of them counted from 0.
fn window(lines: &[&str], first: usize) -> String {
    let rows = lines.iter().enumerate().skip(first).take(SIDE);
    let rows = rows.map(|(nth, line)| format!("{}: {}", nth + 1, clip(line.trim_end_matches('\n'), 160)));
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() { "(nothing)".to_owned() } else { rows.join("\n") }
}

fn clip(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
