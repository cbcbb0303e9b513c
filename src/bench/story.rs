//! What a session tells of itself: what was asked, which files it knew and changed, how it ended.
//!
//! Reads items only. Nothing here looks at a disk.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::model::{Action, Body, CallId, Item, Mark, Outcome, Seen, State, hash};

/// A session as far as a task can be made of it.
#[derive(Default)]
pub(super) struct Story {
    /// The first prompt.
    pub(super) prompt: Option<String>,
    pub(super) prompts: usize,
    /// The prompt came with images, which a task cannot have.
    pub(super) images: bool,
    /// In the order they were first met.
    pub(super) files: Vec<Known>,
    /// A patch removed or moved files.
    pub(super) removed: bool,
    /// Command lines that ran. What they changed is not known.
    pub(super) commands: usize,
    /// The last thing the model said.
    pub(super) answer: Option<String>,
    /// A check of the project that passed after the last change and, as far as is known, not before.
    pub(super) check: Option<String>,
    /// Such a check passed, but also before anything was changed: it tells nothing.
    pub(super) passed_before: Vec<String>,
}

/// A file that the session looked at or changed. Hashes are SHA-256, hex.
pub(super) struct Known {
    pub(super) path: PathBuf,
    /// Of what it held before the session changed it; None: nobody looked.
    pub(super) before: Option<String>,
    /// What it held then, when it was read as a whole. Has that hash.
    pub(super) text: Option<Vec<u8>>,
    pub(super) changed: bool,
    /// The session made it.
    pub(super) created: bool,
    /// Of what it held when the session last knew.
    pub(super) last: String,
}

impl Story {
    pub(super) fn of(items: &[Item]) -> Story {
        let mut story = Story::default();
        let mut calls: HashMap<&CallId, &Action> = HashMap::new();
        for item in items {
            match &item.body {
                Body::User(said) => {
                    story.prompts += 1;
                    if story.prompt.is_none() {
                        story.prompt = Some(said.text.clone());
                        story.images = !said.images.is_empty();
                    }
                }
                Body::Assistant(reply) => {
                    story.answer = Some(reply.said()).filter(|said| !said.is_empty()).or(story.answer);
                    calls.extend(reply.calls().map(|call| (&call.id, &call.action)));
                }
                Body::Result(result) => {
                    if let Some(action) = calls.get(&result.call) {
                        story.happened(action, &result.outcome);
                    }
                }
                Body::Mark(Mark::Checked { command, exit: Some(0), before, .. }) => {
                    story.passed(command, *before);
                }
                Body::Note(_) | Body::Scene(_) | Body::Summary(_) | Body::Mark(_) => {}
            }
        }
        story
    }

    fn happened(&mut self, action: &Action, outcome: &Outcome) {
        match action {
            Action::Shell { command, .. } => {
                self.commands += 1;
                if outcome.state == State::Ok && tests(command) {
                    let before = self.files.iter().all(|file| !file.changed);
                    self.passed(command, before);
                }
            }
            Action::Submit { text } if !text.trim().is_empty() => self.answer = Some(text.trim().to_owned()),
            Action::Patch { .. } | Action::Diff { .. } => self.removed |= removes(&outcome.data),
            Action::Undo { .. } => self.removed |= outcome.data["removed"] == true,
            Action::Submit { .. }
            | Action::Job { .. }
            | Action::Read(_)
            | Action::Write { .. }
            | Action::Rewrite { .. }
            | Action::Edit { .. }
            | Action::Insert { .. }
            | Action::Glob(_)
            | Action::Grep(_)
            | Action::Find { .. }
            | Action::List { .. }
            | Action::Notebook { .. }
            | Action::Keys { .. }
            | Action::Fetch { .. }
            | Action::Script { .. }
            | Action::Tools { .. }
            | Action::Todo { .. }
            | Action::Tasks { .. }
            | Action::Unknown { .. } => {}
        }
        for seen in &outcome.seen {
            match action.only_reads() {
                true => self.read(seen, &outcome.text),
                false => self.changed(seen, &outcome.data),
            }
        }
    }

    fn read(&mut self, seen: &Seen, shown: &str) {
        let content = || {
            let shown = shown.as_bytes();
            let forms = [shown.to_vec(), [shown, b"\n"].concat(), Vec::new()];
            forms.into_iter().find(|bytes| hash(bytes) == seen.hash)
        };
        match self.file(seen) {
            Some(file) => {
                file.last.clone_from(&seen.hash);
                if !file.changed && file.text.is_none() && file.before.as_ref() == Some(&seen.hash) {
                    file.text = content();
                }
            }
            None => self.files.push(Known {
                path: PathBuf::from(&seen.path),
                before: Some(seen.hash.clone()),
                text: content(),
                changed: false,
                created: false,
                last: seen.hash.clone(),
            }),
        }
    }

    fn changed(&mut self, seen: &Seen, data: &Value) {
        // What passed before this change tells nothing of what is there now.
        self.check = None;
        match self.file(seen) {
            Some(file) => {
                file.changed = true;
                file.last.clone_from(&seen.hash);
            }
            None => self.files.push(Known {
                path: PathBuf::from(&seen.path),
                before: None,
                text: None,
                changed: true,
                created: data["created"] == true || adds(data, &seen.path),
                last: seen.hash.clone(),
            }),
        }
    }

    fn file(&mut self, seen: &Seen) -> Option<&mut Known> {
        self.files.iter_mut().find(|file| file.path.as_os_str() == seen.path.as_str())
    }

    fn passed(&mut self, command: &str, before: bool) {
        if before {
            self.passed_before.push(command.to_owned());
        } else if !self.passed_before.iter().any(|passed| passed == command) {
            self.check = Some(command.to_owned());
        }
    }
}

/// Whether a command line looks as if it tested something: it names a test or a check.
fn tests(command: &str) -> bool {
    let words = command.split(|c: char| !c.is_alphanumeric());
    let mut words = words.map(str::to_ascii_lowercase);
    words.any(|word| {
        ["test", "tests", "check", "unittest", "pytest", "tox", "ctest", "vitest", "jest"]
            .contains(&word.as_str())
    })
}

fn removes(data: &Value) -> bool {
    let mut files = data["files"].as_array().into_iter().flatten();
    files.any(|file| file["kind"] == "delete" || file["kind"] == "move")
}

/// Whether a patch made this file.
fn adds(data: &Value, path: &str) -> bool {
    let mut files = data["files"].as_array().into_iter().flatten();
    files.any(|file| file["kind"] == "add" && file["path"].as_str().is_some_and(|p| path.ends_with(p)))
}
