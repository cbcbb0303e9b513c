//! The sections by which a harness takes care of a model that slips: what an edit may not break, how
//! much is read at once, when a reply is cut, what is checked before work counts as done.
//!
//! Each is off unless a manifest turns it on, mostly in a table for a class. Texts are not here: what
//! the model is told of a refusal is in `harnesses/common/`.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::model::Broken;

/// `[edit]`: what a change of a file has to keep.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Edit {
    /// What becomes of an edit after which a file that parsed does not.
    pub parse: Broken,
    /// A text that is to replace a whole file has to define all that the file defined.
    pub keep_names: bool,
    /// Only lines that were shown in this session may be changed.
    pub seen: bool,
    /// A file of more lines than this is not overwritten, only edited. 0: no limit.
    pub whole: u64,
    /// A command that would overwrite a file of the project by `>` is refused.
    pub keep_from_shell: bool,
    /// `/name`, where there is no such thing at the root, is taken for `name` in the working folder.
    pub root_is_here: bool,
    /// New files do not get a name of a Windows device.
    pub safe_names: bool,
}

/// `[read]`: how files are shown.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Read {
    /// Lines shown where the call asks for no number of them; around the line it asks for. 0: all.
    pub window: u64,
    /// Lines that the model still has before it, unchanged, are not sent again.
    pub once: bool,
    /// Bytes of a file at which a call that asks for no number of lines is refused. 0: no limit.
    pub most: u64,
}

/// `[stream]`: when a reply that runs on is cut. 0: never.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stream {
    /// Line breaks in a row with nothing else between.
    pub blank_lines: u32,
    /// The same line in a row.
    pub same_lines: u32,
}

/// `[[again]]`: what changes when a reply could not be used, for the first, the second, … in a row;
/// the last entry stands for all that follow.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Again {
    /// Body fields, laid over all others.
    pub body: Map<String, Value>,
    /// The server holds the reply to a JSON Schema of the tools' calls, where it can. No tools are
    /// sent along then: few servers take both.
    pub schema: bool,
}

/// `[check]`: the project's own check when the model says that it is done.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Check {
    /// How often its output goes back to the model; 0: it is not run.
    pub rounds: u32,
    /// Seconds it may take. One that takes longer is not a check.
    pub limit: u64,
}

impl Default for Check {
    fn default() -> Self {
        Self { rounds: 0, limit: 60 }
    }
}

/// `[context]`: what stays before the model. 0: all of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Context {
    /// Tokens at which the session is summed up, also where the window is larger.
    pub tokens: u64,
    /// Results that are sent whole; older ones become a line each.
    pub results: u32,
    /// Results become lines so many at a time, so that the server's prompt cache seldom breaks.
    pub block: u32,
    /// Tokens of facts about the project ahead of the first prompt, in the template's `facts`.
    pub facts: u32,
    /// Tokens of AGENTS.md that templates see. None: all of it.
    pub instructions: Option<u32>,
    /// Files of at most so many lines that a prompt names are shown ahead of it.
    pub named: u64,
}

impl Default for Context {
    fn default() -> Self {
        Self { tokens: 0, results: 0, block: 10, facts: 0, instructions: None, named: 0 }
    }
}
