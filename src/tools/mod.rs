//! Tools: running an [`Action`] under a policy and saying what came of it.
//!
//! One file per noun. Tools never see a surface name and never fail: what goes wrong is an
//! [`Outcome`]. Paths are resolved here against the working folder, then opened through
//! [`crate::sandbox::files`], so that file tools obey the same policy as commands.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::model::{BlobId, Limits, Outcome};
use crate::sandbox::{Policy, Sandbox};

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
    /// Where long output is kept whole. Made when first needed.
    pub spill: &'a Path,
    pub blobs: &'a dyn KeepBlob,
    pub cancel: &'a CancellationToken,
}

/// Keeps bytes beside the session.
pub trait KeepBlob: Send + Sync {
    fn keep(&self, bytes: &[u8]) -> std::io::Result<BlobId>;
}

/// What tools remember between calls of one session: which files the model has seen, what was
/// changed, jobs that run, the task list.
#[derive(Default)]
pub struct Toolbox {}

impl Toolbox {
    pub async fn run(&self, action: &crate::model::Action, cx: &ToolCx<'_>) -> Outcome {
        let _ = cx;
        Outcome::failed(format!("{} is not built", action.kind()))
    }
}
