//! Tasks: folders with a prompt, files to start from, and a check of what came of it.
//!
//! ```text
//! rename-function/
//!   task.toml     prompt, tags, limits
//!   files/        what the agent's folder holds at first; may be missing
//!   check         a script; exit 0 is solved. Runs on a copy of the agent's folder, which never held it
//!   solve         a script that does the task as it should be done; optional
//! ```

use std::path::PathBuf;

use serde::Deserialize;

/// One task, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The folder's name.
    pub name: String,
    pub dir: PathBuf,
    /// What the person asks for.
    pub prompt: String,
    pub tags: Vec<String>,
    /// Kept from whoever tunes a harness: published figures are of these.
    pub kept: bool,
    /// Programs that the task cannot do without: `python3`.
    pub needs: Vec<String>,
    pub limits: Limits,
}

/// What one run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Model requests.
    pub turns: u32,
    /// Seconds for the agent.
    pub seconds: u64,
    /// Seconds for the check.
    pub check_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { turns: 16, seconds: 600, check_seconds: 60 }
    }
}

/// Why a folder is no task. Names the file.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {what}")]
pub struct TaskError {
    pub file: String,
    pub what: String,
}
