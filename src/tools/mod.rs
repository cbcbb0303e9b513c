//! Tools: running an [`Action`] under a policy and saying what came of it.
//!
//! One file per noun. Tools never see a surface name and never fail: what goes wrong is an
//! [`Outcome`]. Paths are resolved in `path` against the working folder, then opened through
//! [`crate::sandbox::files`], so that file tools obey the same policy as commands. Every failure
//! carries `data.error`, one word a result template can branch on.
// A refusal is an outcome like any other and rare; a box around it would only be noise.
#![allow(clippy::result_large_err)]

mod change;
mod changed;
mod clean;
mod diff;
mod edit;
mod fetch;
mod find;
mod grep;
mod guard;
mod hunk;
mod insert;
mod jobs;
mod keys;
mod lasting;
mod list;
mod nearest;
mod notebook;
mod output;
mod patch;
mod patch_text;
mod path;
mod preview;
mod printed;
mod read;
mod redirect;
mod revised;
mod rewrite;
mod rows;
mod screen;
mod script;
mod seen;
mod shell;
mod spill;
mod splice;
mod submit;
mod terminal;
mod text;
mod todo;
mod undo;
mod unified;
mod walk;
mod words;
mod write;

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use crate::model::{
    Action, BlobId, FileChange, Guards, Limits, Outcome, Seen, ShellRules, TodoItem, WriteMode,
};
use crate::sandbox::{Policy, Sandbox};

pub use changed::change_of;
pub use diff::files as diff_files;
pub use fetch::host as web_host;
pub use jobs::{Ended, Job};
pub use output::fit;
pub use patch::files as patch_files;
pub use path::short as shown_path;
pub use preview::{Preview, Touch, preview, touches};
pub use read::image_type;
pub use shell::shell_name;
pub(crate) use shell::{Over, Until, drive, end};

/// Marks, in the data of a refusal, that the same call may be made again and can then do more. Bounded
/// by whoever sets it.
pub const RETRY: &str = "retry";

/// What a tool may use. Borrowed for one call.
pub struct ToolCx<'a> {
    pub cwd: &'a Path,
    pub policy: &'a Policy,
    pub sandbox: &'a dyn Sandbox,
    /// The environment for commands, already cleaned.
    pub env: &'a [(std::ffi::OsString, std::ffi::OsString)],
    pub limits: Limits,
    /// Default time limit of a command and the most a call may ask for, in milliseconds.
    pub shell_timeout: u64,
    pub shell_timeout_most: u64,
    /// The file must have been read before this call may change it.
    pub needs_read: bool,
    pub guards: Guards,
    pub shell: &'a ShellRules,
    /// What becomes of a page that leads to another host.
    pub elsewhere: Elsewhere,
    /// What the person asked for last, in their words: what it names may go from a file.
    pub asked: &'a str,
    /// Where long output is kept whole. Made when first needed.
    pub spill: &'a Path,
    pub blobs: &'a dyn KeepBlob,
    pub cancel: CancellationToken,
}

/// A page that leads to another host than the one that was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elsewhere {
    /// The network is on for all: it is got from there.
    #[default]
    Followed,
    /// Only this host was allowed: the model is told where it leads.
    Told,
}

/// Keeps bytes beside the session.
pub trait KeepBlob: Send + Sync {
    fn keep(&self, bytes: &[u8]) -> std::io::Result<BlobId>;
}

/// What tools remember between calls of one session: which files the model has seen, what commands
/// printed, what was changed or refused, jobs that run, the terminal, where lasting shells stand, the task
/// list. Dropping it kills the jobs.
#[derive(Default)]
pub struct Toolbox {
    seen: Mutex<seen::Record>,
    printed: Mutex<printed::Printed>,
    refusals: Mutex<guard::Refusals>,
    undo: Mutex<undo::History>,
    /// By the call that runs.
    changed: Mutex<Vec<FileChange>>,
    tasks: Mutex<todo::Tasks>,
    jobs: jobs::Jobs,
    terminal: terminal::Terminal,
    sessions: lasting::Sessions,
}

impl Toolbox {
    /// Runs one action. `took` of the outcome is set for every kind.
    pub async fn run(&self, action: &Action, cx: &ToolCx<'_>) -> Outcome {
        if cx.cancel.is_cancelled() {
            return Outcome::interrupted("stopped before it began; nothing was done");
        }
        let start = Instant::now();
        let mut outcome = match action {
            Action::Shell { command, timeout, background, yield_after, cwd, about: _, within } => {
                let (timeout, cwd, sessions) = (*timeout, cwd.as_deref(), &self.sessions);
                let ask = shell::Ask { command, timeout, cwd, within, sessions };
                match (background, yield_after) {
                    (true, _) => self.jobs.start(&ask, cx).await,
                    (false, Some(wait)) => self.jobs.start_or_run(&ask, *wait, cx).await,
                    (false, None) => shell::run(&ask, cx).await,
                }
            }
            Action::Job { op, id, wait, input, close_stdin } => {
                let (wait, input, close_stdin) = (*wait, input.as_deref(), *close_stdin);
                let ask = jobs::Ask { op: *op, id, wait, input, close_stdin };
                self.jobs.act(&ask, cx).await
            }
            Action::Read(ask) if ask.image => read::image(self, cx, &ask.path).await,
            Action::Read(ask) => read::run(self, cx, ask).await,
            Action::Write { path, text, mode: mode @ (WriteMode::Create | WriteMode::Append) } => {
                write::run(self, cx, path, (text, *mode))
            }
            Action::Rewrite { path, text } | Action::Write { path, text, mode: WriteMode::Replace } => {
                rewrite::run(self, cx, path, text)
            }
            Action::Edit { path, edits, first } => {
                let among = if *first { edit::Among::First } else { edit::Among::One };
                edit::run(self, cx, path, (edits, among))
            }
            Action::Insert { path, line, text } => insert::run(self, cx, path, (*line, text)),
            Action::Undo { path } => undo::run(self, cx, path),
            Action::Patch { text, cwd } => patch::run(self, cx, (text, cwd.as_deref())),
            Action::Diff { text, files, path, fuzz, create } => {
                let ask = diff::Ask { text, files, path: path.as_deref(), fuzz: *fuzz, create: *create };
                diff::run(self, cx, &ask)
            }
            Action::Glob(ask) => walk::glob(cx, ask).await,
            Action::Grep(ask) => grep::run(cx, ask).await,
            Action::Find { query, path, limit, endings, ignore } => {
                let ask = find::Ask { query, path: path.as_deref(), limit: *limit, endings, ignore };
                find::run(cx, ask).await
            }
            Action::List { path, ignore, depth } => list::run(cx, path, (ignore, depth.unwrap_or(1))),
            Action::Todo { items } => todo::run(self, items.as_deref()),
            Action::Fetch { url, form, limit, timeout } => {
                let ask = fetch::Ask { url, form: *form, limit: *limit, timeout: *timeout };
                fetch::run(cx, ask).await
            }
            Action::Keys { text, wait } => self.terminal.act(text, *wait, cx).await,
            Action::Tasks { op, id, text, status, more } => {
                let given = todo::Given { text: text.as_deref(), status: *status, more };
                todo::act(self, *op, id.as_deref(), given)
            }
            Action::Notebook { path, op, cell, kind, text } => {
                let ask = notebook::Ask { op: *op, cell: cell.as_deref(), kind: *kind, text };
                notebook::run(self, cx, path, &ask)
            }
            Action::Tools { found, .. } => searched(found),
            Action::Script { tool, run, dir, input, timeout, only_reads: _ } => {
                script::run(script::Ask { tool, run, dir, input, timeout: *timeout }, cx).await
            }
            Action::Submit { text: _ } => submit::run(cx).await,
            Action::Unknown { name: _, why } => failed("unknown", why.clone()),
        };
        if cx.guards.seen && matches!(action, Action::Shell { .. } | Action::Job { .. } | Action::Grep(_)) {
            lock(&self.printed).note(&outcome.text);
        }
        outcome.changes = self.take_changes();
        outcome.took = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        outcome
    }

    /// Takes up what earlier outcomes of a resumed session said the model had seen, oldest first.
    pub fn restore<'a>(&self, seen: impl IntoIterator<Item = &'a Seen>) {
        let mut record = lock(&self.seen);
        for file in seen {
            record.restore(file);
        }
    }

    /// Takes up the task list as a resumed session's last call left it.
    pub fn restore_tasks<'a>(&self, outcomes: impl DoubleEndedIterator<Item = &'a Outcome>) {
        if let Some(tasks) = outcomes.rev().find_map(todo::Tasks::of) {
            *lock(&self.tasks) = tasks;
        }
    }

    /// What was read is no longer before the model: from now on it is sent again when asked for.
    pub fn forget_shown(&self) {
        lock(&self.seen).forget_sent();
    }

    /// The task list as it was last set.
    pub fn todos(&self) -> Vec<TodoItem> {
        lock(&self.tasks).items.clone()
    }

    /// Jobs that ended by themselves and were not told of yet; each is given once.
    pub fn ended(&self) -> Vec<Ended> {
        self.jobs.ended()
    }

    /// Where a lasting shell was left in an earlier run of the session; the last word counts.
    pub fn restore_shell(&self, session: &str, cwd: &Path) {
        self.sessions.restore(session, cwd);
    }

    /// Ids of the jobs that still run.
    pub fn running(&self) -> Vec<String> {
        self.jobs.running()
    }

    /// The jobs of this session, ended ones that were not asked for among them.
    pub fn jobs(&self) -> Vec<Job> {
        self.jobs.all()
    }

    /// The end of what a job printed; None when there is none of that id.
    pub fn tail_job(&self, id: &str) -> Option<String> {
        self.jobs.tail(id)
    }

    /// Ends one job; false when there is none of that id.
    pub async fn stop_job(&self, id: &str) -> bool {
        self.jobs.stop(id).await
    }

    /// Ends every job and the terminal, and waits until their processes are gone.
    pub async fn stop_all(&self) {
        tokio::join!(self.jobs.stop_all(), self.terminal.stop());
    }
}

/// What a search for tools found; the harness did the searching, as only it knows them.
fn searched(found: &[String]) -> Outcome {
    let text =
        if found.is_empty() { "no tool fits".to_owned() } else { format!("found: {}", found.join(", ")) };
    Outcome { data: serde_json::json!({ "found": found }), ..Outcome::ok(text) }
}

/// A failure with the word templates branch on.
fn failed(error: &str, text: impl Into<String>) -> Outcome {
    Outcome { data: serde_json::json!({ "error": error }), ..Outcome::failed(text) }
}

/// A limit that was really given: models that fill in every parameter write 0 for none.
fn given(limit: Option<u64>) -> Option<u64> {
    limit.filter(|limit| *limit > 0)
}

/// A poisoned lock only means that another call panicked; what it guards is still whole.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
