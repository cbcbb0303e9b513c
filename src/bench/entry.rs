//! What came of one run, as it stands in the results file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{Class, Usage};

/// One run of one task. Fields may be added, with a default; none changes its meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    #[serde(flatten)]
    pub key: Key,
    pub verdict: Verdict,
    /// Why the run says nothing; only where the verdict is [`Verdict::Void`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<Void>,
    /// The last line that the check printed, or why the run is void.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// All zero when nobody counted, as with an external agent.
    pub usage: Usage,
    /// US dollars; None when no price is known.
    pub cost: Option<f64>,
    /// Model requests.
    pub requests: u32,
    /// Of the agent, without the check.
    pub seconds: f64,
    /// How often each went wrong.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub signs: BTreeMap<Sign, u32>,
    /// Session file, below the results folder; None for an external agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Hash of what a local server said of its model; None where it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<String>,
    /// When it ended.
    pub at: jiff::Timestamp,
}

/// What was run: an entry of the same key need not be made again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Key {
    /// `provider/name`.
    pub model: String,
    pub class: Class,
    /// A harness's id, or the name of an external agent.
    pub harness: String,
    /// Hash of the harness's files, or of the external command: another one is another subject.
    pub surface: String,
    /// Name of the task's folder.
    pub task: String,
    /// Hash of the task's folder.
    pub task_hash: String,
    /// Which run of this task, from 0.
    pub run: u32,
    pub seed: u64,
    /// Version of tack.
    pub tack: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Solved,
    /// The check said no.
    Failed,
    /// A limit of the task ended the run, and the check said no.
    Limit,
    /// Says nothing of model or harness: the server died, or changed its model; the check hung.
    Void,
}

/// Why a run says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Void {
    /// The server died, refused or fell silent.
    Server,
    /// The server had another model at the end than at the start.
    Model,
    /// The check hung, or could not be run.
    Check,
    /// The external agent could not be started.
    Agent,
}

/// What went wrong on the way, as far as the session shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// A call came as text, and was understood.
    CallAsText,
    /// A reply could not be read as a call, or a call's arguments not as what they have to be.
    Malformed,
    /// A reply was cut off at a limit, or because it ran on.
    CutOff,
    /// The text to replace is not in the file.
    EditNotFound,
    /// A guard refused an edit.
    EditRefused,
    /// The same call again with nothing changed.
    RepeatedCall,
    /// It read, and changed nothing.
    ReadWithoutEdit,
    /// It stopped before it was done: no call at all, or handed in before any.
    EndedWithoutFinishing,
    /// The check said no although the model said it was done: it had changed nothing.
    CheckFailedUntouched,
    /// The same: what it changed does not parse.
    CheckFailedBroken,
    /// The same: what it changed is wrong.
    CheckFailed,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::Failed => "failed",
            Self::Limit => "limit",
            Self::Void => "void",
        }
    }
}

impl Sign {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::CallAsText => "call as text",
            Self::Malformed => "malformed",
            Self::CutOff => "cut off",
            Self::EditNotFound => "edit not found",
            Self::EditRefused => "edit refused",
            Self::RepeatedCall => "repeated call",
            Self::ReadWithoutEdit => "read without edit",
            Self::EndedWithoutFinishing => "ended without finishing",
            Self::CheckFailedUntouched => "check failed (nothing changed)",
            Self::CheckFailedBroken => "check failed (does not parse)",
            Self::CheckFailed => "check failed (wrong)",
        }
    }
}
