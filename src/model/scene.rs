//! The scene: facts about machine and project, frozen when they were gathered.
//!
//! Templates read only this, never the live machine, so the same items give the same bytes.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scene {
    /// Local time with zone, RFC 9557, such as `2026-03-01T09:30:00+01:00[Europe/Berlin]`.
    pub time: String,
    pub cwd: String,
    /// `linux`, `macos`, `windows`.
    pub os: String,
    /// Kernel or system release, empty when unknown.
    #[serde(default)]
    pub os_version: String,
    pub arch: String,
    /// Name of the shell commands run in, such as `bash`.
    pub shell: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// The folder's entries, breadth first to depth 3, ignored files left out, at most 200.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listing: Vec<Entry>,
    /// AGENTS.md files (CLAUDE.md where there is none), from the repository root down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<Instructions>,
    /// `read-only`, `workspace-write`, `danger-full-access`.
    pub sandbox: String,
    /// Whether commands reach the network.
    #[serde(default)]
    pub network: bool,
    /// Set when the sandbox holds less than usual: one sentence for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduced: Option<String>,
    /// Nobody is there to answer questions.
    #[serde(default)]
    pub unattended: bool,
    /// What the project is made of; None where the harness does not ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Project>,
}

/// A project as its files tell it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// The command that checks it, as set or as guessed from its manifests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Programs that its files suggest and that are there: `python3`, `cargo`, with their versions
    /// where telling costs nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Git {
    pub root: String,
    /// Empty on a detached head.
    pub branch: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Relative to `cwd`, with `/`.
    pub path: String,
    pub dir: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    pub path: String,
    pub text: String,
    /// The file was longer than the cap.
    #[serde(default)]
    pub cut: bool,
}
