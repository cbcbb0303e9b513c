//! Applying a patch: all files are checked before any is changed.
//!
//! `data`: `files` (`path`, `kind` of `add`, `update`, `delete`, `move`, and `to`), `added` and
//! `removed` lines.

use serde_json::{Value, json};

use super::change::{self, Change, Loaded};
use super::guard::{Basis, Parsed, Plan};
use super::hunk::{self, Hunk, Misfit};
use super::patch_text::{self, Section};
use super::seen::Intent;
use super::{ToolCx, Toolbox, failed, nearest, path, text, words, write};
use crate::model::{Outcome, Seen};
use crate::sandbox::files::FileError;

/// A patch, and the folder that its relative paths start from when that is not the working folder.
pub(super) fn run(toolbox: &Toolbox, cx: &ToolCx<'_>, patch: (&str, Option<&str>)) -> Outcome {
    try_run(toolbox, cx, patch).unwrap_or_else(|refusal| refusal)
}

/// The files that a patch names, each with `add`, `delete` or `update`; none when it is no patch.
pub fn files(patch: &str) -> Vec<(String, &'static str)> {
    let sections = patch_text::parse(patch).unwrap_or_default();
    let kind = |section: &Section| match section {
        Section::Add { .. } => "add",
        Section::Delete { .. } => "delete",
        Section::Update { .. } => "update",
    };
    sections.iter().map(|section| (section.path().to_owned(), kind(section))).collect()
}

/// One file's change, ready to be made.
struct Step<'a> {
    section: &'a Section,
    old: Option<Loaded>,
    /// The new bytes; None: the file goes.
    after: Option<Vec<u8>>,
    /// What is now at the place a file moves to.
    at_target: Option<Loaded>,
    parsed: Parsed,
}

fn try_run(
    toolbox: &Toolbox,
    cx: &ToolCx<'_>,
    (patch, folder): (&str, Option<&str>),
) -> Result<Outcome, Outcome> {
    let mut sections = patch_text::parse(patch).map_err(|why| bad(&why))?;
    if let Some(folder) = folder.filter(|folder| cx.cwd != cx.cwd.join(folder)) {
        sections.iter_mut().for_each(|section| section.start_from(folder));
    }
    make(toolbox, cx, &sections)
}

/// What is wrong with a patch's text.
pub(super) fn bad(why: &str) -> Outcome {
    failed("bad_patch", format!("nothing was changed: {why}"))
}

/// Makes all of these changes, or none.
pub(super) fn make(toolbox: &Toolbox, cx: &ToolCx<'_>, sections: &[Section]) -> Result<Outcome, Outcome> {
    for (nth, section) in sections.iter().enumerate() {
        if sections[..nth].iter().any(|earlier| earlier.path() == section.path()) {
            let text = format!(
                "nothing was changed: {} comes twice; put its hunks under one header",
                section.path()
            );
            return Err(failed("bad_patch", text));
        }
    }
    let mut steps =
        sections.iter().map(|section| check(toolbox, cx, section)).collect::<Result<Vec<_>, _>>()?;
    for step in &mut steps {
        step.clear(toolbox, cx).map_err(nothing)?;
    }
    let mut seen = Vec::new();
    let mut done: Vec<String> = Vec::new();
    for step in &steps {
        match step.apply(toolbox, cx) {
            Ok(file) => {
                seen.extend(file);
                done.push(step.said());
            }
            Err((error, half)) => {
                done.extend(half);
                return Err(stopped(cx, step, (error, &done, &steps), seen));
            }
        }
    }
    let (mut added, mut removed) = (0, 0);
    for step in &steps {
        let (plus, minus) = step.size();
        added += plus;
        removed += minus;
    }
    let files: Vec<Value> = steps.iter().map(Step::fact).collect();
    let outcome = Outcome {
        seen,
        data: json!({ "files": files, "added": added, "removed": removed }),
        ..Outcome::ok(done.join("\n"))
    };
    Ok(steps.iter().fold(outcome, |outcome, step| step.parsed.tell(step.target(), outcome)))
}

pub(super) fn nothing(refusal: Outcome) -> Outcome {
    Outcome { text: format!("nothing was changed: {}", refusal.text), ..refusal }
}

/// What was applied before the disk said no, and what was not.
fn stopped(
    cx: &ToolCx<'_>,
    at: &Step<'_>,
    (error, done, steps): (FileError, &[String], &[Step<'_>]),
    seen: Vec<Seen>,
) -> Outcome {
    let cause = path::fault(cx, at.section.path(), error);
    let left = steps
        .iter()
        .skip_while(|step| !std::ptr::eq(*step, at))
        .map(|step| path::show_str(step.section.path()));
    let left = left.collect::<Vec<_>>().join(", ");
    let applied = if done.is_empty() { "nothing".to_owned() } else { done.join(", ") };
    Outcome {
        seen,
        text: format!("the patch stopped half way: {}. Applied: {applied}. Not applied: {left}", cause.text),
        data: json!({ "error": "half_applied", "applied": done }),
        ..cause
    }
}

fn check<'a>(toolbox: &Toolbox, cx: &ToolCx<'_>, section: &'a Section) -> Result<Step<'a>, Outcome> {
    let raw = section.path();
    let parsed = Parsed::default();
    change::writable(cx, raw).map_err(nothing)?;
    match section {
        Section::Add { text, .. } => {
            let old = change::load(cx, raw).map_err(nothing)?;
            if let Some(old) = &old {
                toolbox.allow(cx, old, Intent::Overwrite).map_err(nothing)?;
                write::short_enough(cx, raw, old).map_err(nothing)?;
            }
            Ok(Step { section, old, after: Some(text.clone().into_bytes()), at_target: None, parsed })
        }
        Section::Delete { .. } => {
            let old = change::load_existing(cx, raw).map_err(nothing)?;
            toolbox.allow(cx, &old, Intent::Change).map_err(nothing)?;
            Ok(Step { section, old: Some(old), after: None, at_target: None, parsed })
        }
        Section::Update { to, hunks, .. } => {
            let old = change::load_existing(cx, raw).map_err(nothing)?;
            toolbox.allow(cx, &old, Intent::Change).map_err(nothing)?;
            let form = change::decode(raw, &old).map_err(nothing)?;
            let after =
                hunk::apply(&form.bytes, hunks).map_err(|misfit| misplaced(raw, &form.bytes, &misfit))?;
            let after = change::encode(raw, &form, &after).map_err(nothing)?;
            let at_target = match to {
                Some(to) => {
                    change::writable(cx, to).map_err(nothing)?;
                    change::load(cx, to).map_err(nothing)?
                }
                None => None,
            };
            if let Some(target) = &at_target {
                toolbox.allow(cx, target, Intent::Overwrite).map_err(nothing)?;
            }
            Ok(Step { section, old: Some(old), after: Some(after), at_target, parsed })
        }
    }
}

pub(super) fn misplaced(raw: &str, bytes: &[u8], misfit: &Misfit<'_>) -> Outcome {
    let shown = path::show_str(raw);
    let (hunk, places) = match misfit {
        Misfit::Nowhere(hunk) => (hunk, &[][..]),
        Misfit::Several(hunk, places) => (hunk, &places[..]),
    };
    let all = String::from_utf8_lossy(bytes);
    let wanted = hunk.wanted();
    let first = wanted.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if !places.is_empty() {
        let most: Vec<String> = places.iter().take(5).map(usize::to_string).collect();
        let text = format!(
            "nothing was changed: the hunk of {shown} that begins with `{first}` fits at lines {}; give more lines around it, or the number of its first line",
            most.join(", ")
        );
        return Outcome { data: json!({ "error": "ambiguous", "path": raw }), ..failed("ambiguous", text) };
    }
    let text = match nearest::find(&all, &wanted) {
        Some(place) => format!(
            "nothing was changed: {shown} has no such lines as the hunk that begins with `{first}`. Nearest, {}:\n{}\nSend the patch again with the lines as they stand there, without the numbers",
            words::span(place.from, place.to),
            place.rows
        ),
        None => format!(
            "nothing was changed: {shown} has no such lines as the hunk that begins with `{first}`, nor any like them among its {}; read it again",
            words::count(text::count_lines(bytes), "line")
        ),
    };
    Outcome { data: json!({ "error": "no_match", "path": raw }), ..failed("no_match", text) }
}

impl Step<'_> {
    /// Holds the step to what the harness asks for. Hunks quote what they replace.
    fn clear(&mut self, toolbox: &Toolbox, cx: &ToolCx<'_>) -> Result<(), Outcome> {
        let Some(after) = &self.after else { return Ok(()) };
        let basis = match self.section {
            Section::Add { .. } => Basis::Difference,
            Section::Update { .. } | Section::Delete { .. } => Basis::Quote,
        };
        self.parsed =
            toolbox.clear(cx, &Plan { raw: self.target(), old: self.old.as_ref(), after, basis })?;
        Ok(())
    }

    /// On failure also what was done of this step alone.
    fn apply(&self, toolbox: &Toolbox, cx: &ToolCx<'_>) -> Result<Option<Seen>, (FileError, Option<String>)> {
        let before = self.old.as_ref().map(|old| old.raw.as_slice());
        let (Some(after), target) = (&self.after, self.target()) else {
            return match &self.old {
                Some(old) => toolbox.delete(cx, old).map(|()| None).map_err(|error| (error, None)),
                None => Ok(None),
            };
        };
        let place = path::resolve(cx, target)
            .map_err(|refusal| FileError::Io {
                path: target.into(),
                source: std::io::Error::other(refusal.text),
            })
            .map_err(|error| (error, None))?;
        let moved = target != self.section.path();
        let before = if moved { self.at_target.as_ref().map(|there| there.raw.as_slice()) } else { before };
        let intent = match self.section {
            Section::Add { .. } => Intent::Overwrite,
            Section::Update { .. } | Section::Delete { .. } => Intent::Change,
        };
        let change = Change { before, after, intent };
        let stored = toolbox.store(cx, &place, (&change, &self.parsed)).map_err(|error| (error, None))?;
        if let (true, Some(old)) = (moved, &self.old) {
            toolbox
                .delete(cx, old)
                .map_err(|error| (error, Some(format!("wrote {}", path::show_str(target)))))?;
        }
        Ok(Some(stored.seen))
    }

    fn target(&self) -> &str {
        match self.section {
            Section::Update { to: Some(to), .. } => to,
            Section::Add { path, .. } | Section::Delete { path } | Section::Update { path, .. } => path,
        }
    }

    fn kind(&self) -> &'static str {
        match self.section {
            Section::Add { .. } => "add",
            Section::Delete { .. } => "delete",
            Section::Update { to: Some(_), .. } => "move",
            Section::Update { to: None, .. } => "update",
        }
    }

    fn said(&self) -> String {
        let name = path::show_str(self.section.path());
        match self.section {
            Section::Add { .. } if self.old.is_some() => format!("overwrote {name}"),
            Section::Add { .. } => format!("added {name}"),
            Section::Delete { .. } => format!("deleted {name}"),
            Section::Update { to: Some(to), .. } => format!("moved {name} to {}", path::show_str(to)),
            Section::Update { to: None, .. } => format!("updated {name}"),
        }
    }

    fn fact(&self) -> Value {
        match self.section {
            Section::Update { path, to: Some(to), .. } => json!({ "path": path, "kind": "move", "to": to }),
            section => json!({ "path": section.path(), "kind": self.kind() }),
        }
    }

    /// Lines added and removed.
    fn size(&self) -> (usize, usize) {
        let old = || self.old.as_ref().map_or(0, |old| text::count_lines(&old.raw));
        let lines = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        match self.section {
            Section::Add { text, .. } => (lines(text::count_lines(text.as_bytes())), lines(old())),
            Section::Delete { .. } => (0, lines(old())),
            Section::Update { hunks, .. } => {
                hunks.iter().map(Hunk::size).fold((0, 0), |sum, hunk| (sum.0 + hunk.0, sum.1 + hunk.1))
            }
        }
    }
}
