//! Applying a unified diff, and whole texts for files beside it: all of it is checked before any file is
//! changed, and a hunk goes where its lines are or nowhere.
//!
//! `data` as of a patch.

use super::patch_text::Section;
use super::unified::{self, FileDiff};
use super::{ToolCx, Toolbox, change, failed, hunk, patch, path};
use crate::model::{NewText, Outcome};

/// Most lines at either end of a hunk that may differ: more context than this is seldom given.
const FUZZ_MOST: u64 = 2;

pub(super) struct Ask<'a> {
    pub(super) text: &'a str,
    pub(super) files: &'a [NewText],
    pub(super) path: Option<&'a str>,
    pub(super) fuzz: Option<u64>,
    pub(super) create: bool,
}

pub(super) fn run(toolbox: &Toolbox, cx: &ToolCx<'_>, ask: &Ask<'_>) -> Outcome {
    let sections = ask.sections(cx);
    sections.and_then(|sections| patch::make(toolbox, cx, &sections)).unwrap_or_else(|refusal| refusal)
}

/// The files that a diff and whole texts name, each with `add`, `delete` or `update`.
pub fn files(text: &str, files: &[NewText], path: Option<&str>) -> Vec<(String, &'static str)> {
    let diffs = unified::parse(text, path, 0).unwrap_or_default();
    let kind = |diff: &FileDiff| match (&diff.section, diff.is_new) {
        (Section::Delete { .. }, _) => "delete",
        (Section::Add { .. }, _) | (Section::Update { .. }, true) => "add",
        (Section::Update { .. }, false) => "update",
    };
    let diffs = diffs.iter().map(|diff| (diff.section.path().to_owned(), kind(diff)));
    diffs.chain(files.iter().map(|file| (file.path.clone(), "update"))).collect()
}

impl Ask<'_> {
    pub(super) fn sections(&self, cx: &ToolCx<'_>) -> Result<Vec<Section>, Outcome> {
        let mut sections = Vec::new();
        if !self.text.trim().is_empty() {
            let fuzz = usize::try_from(self.fuzz.unwrap_or(0).min(FUZZ_MOST)).unwrap_or(0);
            for diff in unified::parse(self.text, self.path, fuzz).map_err(|why| patch::bad(&why))? {
                sections.push(self.section(cx, diff)?);
            }
        }
        let whole = |file: &NewText| Section::Add { path: file.path.clone(), text: file.text.clone() };
        sections.extend(self.files.iter().map(whole));
        match sections.is_empty() {
            true => Err(patch::bad("the call holds neither a diff nor files")),
            false => Ok(sections),
        }
    }

    /// What the diff means for the file as it is now.
    fn section(&self, cx: &ToolCx<'_>, diff: FileDiff) -> Result<Section, Outcome> {
        let raw = diff.section.path().to_owned();
        let old = change::load(cx, &raw).map_err(patch::nothing)?;
        let shown = path::show_str(&raw);
        match (diff.section, old) {
            (Section::Update { .. }, Some(old)) if diff.is_new && !old.raw.is_empty() => {
                let text =
                    format!("nothing was changed: {shown} exists already, and the diff is of a new file");
                Err(failed("exists", text))
            }
            (Section::Update { path, to: None, hunks }, None) if diff.is_new || self.create => {
                let made = hunk::apply(b"", &hunks).map_err(|misfit| patch::misplaced(&raw, b"", &misfit))?;
                Ok(Section::Add { path, text: String::from_utf8_lossy(&made).into_owned() })
            }
            (section @ Section::Delete { .. }, Some(old)) if !diff.gone.is_empty() => {
                let form = change::decode(&raw, &old).map_err(patch::nothing)?;
                let left = hunk::apply(&form.bytes, &diff.gone)
                    .map_err(|misfit| patch::misplaced(&raw, &form.bytes, &misfit))?;
                match left.is_empty() {
                    true => Ok(section),
                    false => {
                        let text = format!(
                            "nothing was changed: {shown} holds more than the diff takes away, so it is not deleted"
                        );
                        Err(failed("no_match", text))
                    }
                }
            }
            (section, _) => Ok(section),
        }
    }
}
