//! Replacing text in a file: several edits in one call, all checked against the file as it is before
//! any is made.

use serde_json::{Value, json};

use super::change::{self, Change, Loaded};
use super::guard::{Basis, Plan};
use super::rows::{self, Rows};
use super::seen::{Extent, Intent};
use super::splice::{self, Miss, Splice};
use super::text::{self, Text};
use super::{ToolCx, Toolbox, failed, nearest, path, words};
use crate::model::{Edit, Outcome};
use crate::sandbox::files::FileError;

/// The edits, and which of several places an old text means.
pub(super) type Ask<'a> = (&'a [Edit], Among);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    /// None: it has to fit one place only.
    One,
    First,
}

pub(super) fn run(toolbox: &Toolbox, cx: &ToolCx<'_>, raw: &str, ask: Ask<'_>) -> Outcome {
    match try_run(toolbox, cx, raw, ask) {
        Ok(outcome) => outcome,
        Err(mut refusal) => {
            if let Value::Object(data) = &mut refusal.data {
                data.insert("path".into(), raw.into());
            }
            refusal
        }
    }
}

fn try_run(toolbox: &Toolbox, cx: &ToolCx<'_>, raw: &str, ask: Ask<'_>) -> Result<Outcome, Outcome> {
    let edits = ask.0;
    let shown = path::show_str(raw);
    if edits.is_empty() {
        return Err(failed("no_edits", format!("{shown} was left as it is: no edit was given")));
    }
    let loaded = change::load(cx, raw)?;
    if let [Edit { old, new, .. }] = edits
        && old.is_empty()
        && loaded.as_ref().is_none_or(|loaded| loaded.raw.is_empty())
    {
        return fill(toolbox, cx, raw, (loaded, new));
    }
    let Some(loaded) = loaded else {
        let target = path::resolve(cx, raw)?;
        return Err(path::fault(cx, raw, FileError::NotFound(target)));
    };
    toolbox.allow(cx, &loaded, Intent::Change)?;
    let form = change::decode(raw, &loaded)?;
    let (splices, basis) = plan(&shown, &form.bytes, ask)?;
    let (after, span) = splice::apply(&form.bytes, &splices);
    let raw_after = change::encode(raw, &form, &after)?;
    let parsed = toolbox.clear(cx, &Plan { raw, old: Some(&loaded), after: &raw_after, basis })?;
    let (before, intent) = (Some(loaded.raw.as_slice()), Intent::Change);
    let change = Change { before, after: &raw_after, intent };
    let stored =
        toolbox.store(cx, &loaded.path, (&change, &parsed)).map_err(|error| path::fault(cx, raw, error))?;
    let from = text::count_lines(&after[..span.0]) + u64::from(span.0 == 0 || after[span.0 - 1] == b'\n');
    let snippet = snippet(&after, from, text::count_lines(&after[span.0..span.1]).max(1));
    let count = splices.len();
    let said = format!("changed {} in {shown}; {}", words::count(count, "place"), snippet.said());
    let outcome = Outcome {
        seen: vec![toolbox.shows(cx, stored, &snippet.extent)],
        data: json!({
            "path": raw, "count": count, "from": snippet.from, "snippet": snippet.text, "created": false,
            "diff": change::unified(raw, &form.bytes, &after),
        }),
        ..Outcome::ok(said)
    };
    Ok(parsed.tell(raw, outcome))
}

/// An empty old text makes a file, or fills an empty one.
fn fill(
    toolbox: &Toolbox,
    cx: &ToolCx<'_>,
    raw: &str,
    (loaded, new): (Option<Loaded>, &str),
) -> Result<Outcome, Outcome> {
    if let Some(loaded) = &loaded {
        toolbox.allow(cx, loaded, Intent::Change)?;
    }
    let after = change::encode(raw, &Text::empty(), new.as_bytes())?;
    let plan = Plan { raw, old: loaded.as_ref(), after: &after, basis: Basis::Difference };
    let parsed = toolbox.clear(cx, &plan)?;
    let change = Change {
        before: loaded.as_ref().map(|loaded| loaded.raw.as_slice()),
        after: &after,
        intent: Intent::Overwrite,
    };
    let target = path::resolve(cx, raw)?;
    let stored =
        toolbox.store(cx, &target, (&change, &parsed)).map_err(|error| path::fault(cx, raw, error))?;
    let snippet = snippet(&after, 1, 1);
    let verb = if stored.created { "created" } else { "filled" };
    let lines = text::count_lines(new.as_bytes());
    let outcome = Outcome {
        seen: vec![stored.seen],
        data: json!({ "path": raw, "count": 1, "from": 1, "snippet": snippet.text, "created": stored.created }),
        ..Outcome::ok(format!("{verb} {}: {}", path::show_str(raw), words::count(lines, "line")))
    };
    Ok(parsed.tell(raw, outcome))
}

/// The places, and what the edits go by: one that means every place goes by lines it does not name.
fn plan(shown: &str, bytes: &[u8], (edits, among): Ask<'_>) -> Result<(Vec<Splice>, Basis), Outcome> {
    let mut all: Vec<Splice> = Vec::new();
    let mut lines = Vec::new();
    for (nth, edit) in edits.iter().enumerate() {
        let which = match edits.len() {
            1 => String::new(),
            of => format!("edit {} of {of}: ", nth + 1),
        };
        let splices =
            places(bytes, edit, among).map_err(|miss| explain(shown, &which, miss, (bytes, edit)))?;
        if splices.len() > 1 {
            lines.extend(lines_of(bytes, &splices));
        }
        all.extend(splices);
    }
    all.sort_by_key(|splice| splice.from);
    if all.windows(2).any(|pair| pair[0].to > pair[1].from) {
        let text =
            format!("{shown} was left as it is: two of the edits touch the same text; make them one edit");
        return Err(failed("overlap", text));
    }
    let basis = if lines.is_empty() { Basis::Quote } else { Basis::Lines(lines) };
    Ok((all, basis))
}

fn places(bytes: &[u8], edit: &Edit, among: Among) -> Result<Vec<Splice>, Miss> {
    match (splice::plan(bytes, edit), among) {
        (Err(Miss::Ambiguous { .. }), Among::First) => {
            let mut all = splice::plan(bytes, &Edit { all: true, ..edit.clone() })?;
            all.truncate(1);
            Ok(all)
        }
        (planned, Among::One | Among::First) => planned,
    }
}

/// The lines of each place; places are in order, and not empty.
fn lines_of(bytes: &[u8], splices: &[Splice]) -> Vec<Rows> {
    let (mut at, mut line) = (0, 1);
    let mut line_at = |place: usize| {
        line += bytes[at..place].iter().filter(|byte| **byte == b'\n').count() as u64;
        at = place;
        line
    };
    splices.iter().map(|splice| (line_at(splice.from), line_at(splice.to - 1))).collect()
}

/// What was refused, the fact behind it, the place as it is, the next call.
fn explain(shown: &str, which: &str, miss: Miss, (bytes, edit): (&[u8], &Edit)) -> Outcome {
    let kept = format!("{shown} was left as it is: {which}");
    match miss {
        Miss::EmptyOld => failed(
            "empty_old",
            format!(
                "{kept}the old text is empty, which only a new or empty file allows; give the text to replace"
            ),
        ),
        Miss::Same => failed("same", format!("{kept}old and new text are the same; nothing would change")),
        Miss::Ambiguous { count, lines } => {
            let mut at: Vec<String> = lines.iter().map(ToString::to_string).collect();
            if count > at.len() {
                at.push("…".into());
            }
            let text = format!(
                "{kept}the old text occurs {count} times, at lines {}; add lines around it until it fits one place, or replace all",
                at.join(", ")
            );
            let data = json!({ "error": "many_matches", "count": count, "lines": lines });
            Outcome { data, ..failed("many_matches", text) }
        }
        Miss::Absent => {
            let all = String::from_utf8_lossy(bytes);
            if let Some(line) = stands(&all, &edit.new) {
                let text = format!(
                    "{kept}the old text is not in it, but the new text is there already, at line {line}; nothing is left to do for this edit"
                );
                let data = json!({ "error": "no_match", "count": 0, "already": line });
                return Outcome { data, ..failed("no_match", text) };
            }
            match nearest::find(&all, &edit.old) {
                Some(place) => {
                    let text = format!(
                        "{kept}the old text is not in it. Nearest, {}:\n{}\nRepeat the edit with the text as it stands there, without the numbers",
                        words::span(place.from, place.to),
                        place.rows
                    );
                    let data = json!({ "error": "no_match", "count": 0, "from": place.from, "to": place.to, "nearest": place.rows });
                    Outcome { data, ..failed("no_match", text) }
                }
                None => {
                    let lines = text::count_lines(bytes);
                    failed(
                        "no_match",
                        format!(
                            "{kept}the old text, or any line like it, is not among its {}; read it again",
                            words::count(lines, "line")
                        ),
                    )
                }
            }
        }
    }
}

/// The line where an edit's new text stands: as a repeated edit finds it. Few characters say nothing.
fn stands(all: &str, new: &str) -> Option<usize> {
    let all = text::normal(all);
    let new = text::normal(new);
    let at = all.find(new.as_str()).filter(|_| new.trim().len() >= 8)?;
    Some(all[..at].matches('\n').count() + 1)
}

/// A changed file's lines around the change.
pub(super) struct Snippet {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) text: String,
    /// Of those lines, the ones that are shown to their ends.
    pub(super) extent: Extent,
}

impl Snippet {
    pub(super) fn said(&self) -> String {
        let be = if self.from >= self.to { "is" } else { "are" };
        format!("{} {be} now:\n{}", words::span(self.from, self.to), self.text)
    }
}

/// `count` lines from line `from` on, with three around, at most 24 lines of 200 characters.
pub(super) fn snippet(after: &[u8], from: u64, count: u64) -> Snippet {
    let total = text::count_lines(after);
    let first = from.saturating_sub(3).max(1);
    let last = from.saturating_add(count).saturating_add(2).min(total).min(first + 23);
    let wanted = usize::try_from(last.saturating_sub(first) + 1).unwrap_or(0);
    let skip = usize::try_from(first - 1).unwrap_or(usize::MAX);
    let mut extent = Extent { rows: Vec::new(), total };
    let mut rows: Vec<String> = Vec::new();
    for (line, number) in text::lines(after).into_iter().skip(skip).take(wanted).zip(first..) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\r', '\n']);
        let row: String = line.chars().take(200).collect();
        if row.len() == line.len() {
            rows::merge(&mut extent.rows, (number, number));
        }
        rows.push(row);
    }
    Snippet { from: first, to: last, text: rows.join("\n"), extent }
}
