//! What is told of a job: how it stands, and what it printed since it was last asked.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::super::lock;
use super::super::output::{Capture, Captured};
use super::super::shell::{self, Over};
use super::super::spill::Sink;
use crate::model::{Limits, Outcome};

/// What is known of a job, shared with the task that owns it.
pub(super) struct State {
    /// Output since it was last asked for.
    pub(super) fresh: Capture,
    pub(super) file: Sink,
    pub(super) over: Option<Over>,
    pub(super) survivors: usize,
    /// Its end was told, by whatever way.
    pub(super) told: bool,
}

/// What a job printed since it was last asked, and how it stands.
pub(super) struct Report {
    pub(super) over: Option<Over>,
    pub(super) survivors: usize,
    pub(super) captured: Captured,
}

/// What is told of a job besides its output.
pub(super) struct Facts {
    pub(super) id: u32,
    pub(super) said: String,
    pub(super) cwd: Option<String>,
    pub(super) pid: u32,
    pub(super) notes: Vec<String>,
}

/// How it ended, in words.
pub(super) fn ended_how(over: Over) -> String {
    match shell::verdict(over).1 {
        Some(code) => format!("ended with exit code {code}"),
        None => "ended by a stop".to_owned(),
    }
}

impl Report {
    pub(super) fn take(state: &Mutex<State>, limits: &Limits) -> Self {
        let mut state = lock(state);
        let fresh = std::mem::replace(&mut state.fresh, Capture::new(limits.clone(), None));
        let file = state.file.path();
        let captured = fresh.with(limits.clone()).finish(file.as_deref());
        let trouble = state.file.trouble().map(str::to_owned);
        state.told |= state.over.is_some();
        Self {
            over: state.over,
            survivors: state.survivors,
            captured: Captured { file, trouble, ..captured },
        }
    }

    pub(super) fn outcome(self, facts: Facts, command: &str) -> Outcome {
        let (exit, signal) = match self.over.map(shell::verdict) {
            Some((_, exit, signal)) => (exit, signal),
            None => (None, None),
        };
        let how = self.over.map_or_else(|| "still running".to_owned(), ended_how);
        let first = format!("{} ({how})", facts.said);
        let shown = self.captured.text;
        let text = if shown.is_empty() { first } else { format!("{first}\n{shown}") };
        let mut notes = facts.notes;
        notes.extend(self.captured.trouble.map(|trouble| format!("[{trouble}]")));
        let text = shell::noted(text, &notes);
        let data = json!({
            "command": command,
            "cwd": facts.cwd,
            "timeout": Value::Null,
            "pid": facts.pid,
            "signal": signal,
            "background": true,
            "job": format!("job{}", facts.id),
            "running": self.over.is_none(),
            "output": shown,
            "output_file": self.captured.file,
            "survivors": self.survivors,
            "notes": notes,
        });
        Outcome { exit, cut: self.captured.cut, data, ..Outcome::ok(text) }
    }
}
