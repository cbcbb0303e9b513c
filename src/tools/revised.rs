//! A change as the person revised it before it was made: their text is written in place of the model's.
//!
//! It passes what every change passes: links, the policy, files that changed meanwhile, what can be undone.
//! What only holds a model back, such as a file that would not parse, holds nobody who sees what they write.
//!
//! `data`: `revised`, `files` (their paths).

use std::time::Instant;

use serde_json::json;

use super::change::{self, Change, Loaded};
use super::guard::{Basis, Parsed, Plan};
use super::seen::Intent;
use super::{Preview, ToolCx, Toolbox, failed, lock, patch, path, spill, words, write};
use crate::model::{Outcome, Seen};
use crate::sandbox::files::FileError;

/// One file's change, ready to be made.
struct Step<'a> {
    raw: &'a str,
    old: Option<Loaded>,
    /// None: the file goes.
    after: Option<Vec<u8>>,
    parsed: Parsed,
}

impl Toolbox {
    /// Makes of each file what stands in `after`, or of none. `before` is what the person saw of it: where
    /// that is no longer so, nothing is done.
    pub fn revise(&self, cx: &ToolCx<'_>, files: &[Preview]) -> Outcome {
        let start = Instant::now();
        let mut outcome = self.try_revise(cx, files).unwrap_or_else(|refusal| refusal);
        outcome.changes = self.take_changes();
        outcome.took = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        outcome
    }

    fn try_revise(&self, cx: &ToolCx<'_>, files: &[Preview]) -> Result<Outcome, Outcome> {
        let steps: Result<Vec<Step<'_>>, Outcome> = files.iter().map(|file| self.check(cx, file)).collect();
        let mut steps = steps.map_err(patch::nothing)?;
        // What moves is there before it goes from where it was.
        steps.sort_by_key(|step| step.after.is_none());
        let (mut seen, mut told) = (Vec::new(), Vec::new());
        for step in &steps {
            match self.take_step(cx, step) {
                Ok((said, knows)) => {
                    told.push(said);
                    seen.extend(knows);
                }
                Err(error) => {
                    let fault = path::fault(cx, step.raw, error);
                    told.push(format!("{}; what comes after it was not written either", fault.text));
                    return Err(Outcome { text: told.join("\n"), seen, ..fault });
                }
            }
        }
        let (text, cut) = spill::fit(cx, &told.join("\n"));
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let data = json!({ "revised": true, "files": paths });
        let outcome = Outcome { data, cut, seen, ..Outcome::ok(text) };
        Ok(steps.iter().fold(outcome, |outcome, step| step.parsed.tell(step.raw, outcome)))
    }

    fn check<'a>(&self, cx: &ToolCx<'_>, file: &'a Preview) -> Result<Step<'a>, Outcome> {
        let raw = file.path.as_str();
        change::writable(cx, raw)?;
        let old = change::load(cx, raw)?;
        let now = old.as_ref().map(|old| old.raw.as_slice());
        if now != file.before.as_deref().map(str::as_bytes) {
            let shown = path::show_str(raw);
            return Err(failed(
                "changed",
                format!("{shown} has changed since the user was asked; read it again"),
            ));
        }
        if let Some(old) = &old {
            self.allow(cx, old, Intent::Change)?;
        }
        let after = file.after.as_ref().map(|text| write::in_form(now, text).0);
        let parsed = match &after {
            Some(after) => self.clear(cx, &Plan { raw, old: old.as_ref(), after, basis: Basis::Person })?,
            None => Parsed::default(),
        };
        Ok(Step { raw, old, after, parsed })
    }

    /// What to say of it, and what the model knows of the file then.
    fn take_step(&self, cx: &ToolCx<'_>, step: &Step<'_>) -> Result<(String, Option<Seen>), FileError> {
        let shown = path::show_str(step.raw);
        let before = step.old.as_ref().map(|old| old.raw.as_slice());
        let Some(after) = step.after.as_deref() else {
            step.old.as_ref().map(|old| self.delete(cx, old)).transpose()?;
            return Ok((format!("{shown} was removed"), None));
        };
        if before == Some(after) {
            return Ok((format!("{shown} was left as it is"), None));
        }
        let target = path::resolve(cx, step.raw).map_err(|refusal| FileError::Io {
            path: step.raw.into(),
            source: std::io::Error::other(refusal.text),
        })?;
        let intent = if before.is_some() { Intent::Change } else { Intent::Overwrite };
        let stored = self.store(cx, &target, (&Change { before, after, intent }, &step.parsed))?;
        match change::unified(step.raw, before.unwrap_or_default(), after) {
            Some(diff) => Ok((diff, Some(stored.seen))),
            None => {
                // What was not shown is not known.
                lock(&self.seen).forget(&stored.real);
                let size = words::count(after.len(), "byte");
                Ok((format!("{shown} was written, {size}; read it before you change it again"), None))
            }
        }
    }
}
