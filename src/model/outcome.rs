//! Outcomes: what came of an action, before a harness puts it into words.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Image;

/// A failure is an outcome, never an error: the model has to hear of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub state: State,
    /// The result in plain words or raw text, already within the limits that were asked for.
    pub text: String,
    /// A process's exit status; 128 + n when signal n ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Milliseconds from start to result.
    #[serde(default)]
    pub took: u64,
    /// What was left out of `text`, when something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// Images the action produced, as when an image file was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Files whose content the model now knows, so that a later edit can tell whether they changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Seen>,
    /// What was done to files, for the person; no model is shown it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// Facts for result templates; each tool documents its own keys.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    #[default]
    Ok,
    Failed,
    TimedOut,
    /// The policy said no. Nothing ran.
    Refused,
    /// Stopped in the middle; effects unknown.
    Interrupted,
}

/// What a call did to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// From the working folder where it lies below that.
    pub path: String,
    pub kind: FileChangeKind,
    /// Lines that came and went.
    pub added: u64,
    pub removed: u64,
    /// Hunks of a unified diff, without the names of the files; empty where they would be too large.
    pub patch: String,
    /// There is more than `patch` holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    Added,
    Changed,
    Removed,
}

/// How a long text was cut. `head + tail` is what is left; `text` of the outcome is the two joined
/// by a one-line marker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    pub head: String,
    pub tail: String,
    /// Lines and bytes of the whole.
    pub lines: u64,
    pub bytes: u64,
    /// Lines and bytes not shown.
    pub left_out_lines: u64,
    pub left_out_bytes: u64,
    /// Where the whole text can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill: Option<String>,
}

/// How much of a result is shown, and which end of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    pub bytes: usize,
    pub lines: usize,
    pub keep: Keep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    Head,
    Tail,
    /// Both ends, the head having this many percent of the room.
    Both {
        head_percent: u8,
    },
    /// All of what fits; of what does not, no more than this many bytes of the head.
    Preview {
        bytes: usize,
    },
}

/// Marks, in an outcome's data, a call that was not run because it repeats one: its result would
/// have been the same.
pub const REPEAT: &str = "repeat";

/// The most any model is shown of one result, whatever a manifest says.
pub const MOST_BYTES: usize = 50 * 1024;
pub const MOST_LINES: usize = 2_000;

/// What a tool knows of a file's content at the end of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Absolute and resolved.
    pub path: String,
    /// SHA-256 of the bytes, hex.
    pub hash: String,
    /// The model saw all of it, not a window.
    pub whole: bool,
}

impl Outcome {
    pub fn ok(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn failed(text: impl Into<String>) -> Self {
        Self { state: State::Failed, text: text.into(), ..Self::default() }
    }

    pub fn refused(text: impl Into<String>) -> Self {
        Self { state: State::Refused, text: text.into(), ..Self::default() }
    }

    pub fn interrupted(text: impl Into<String>) -> Self {
        Self { state: State::Interrupted, text: text.into(), ..Self::default() }
    }
}
