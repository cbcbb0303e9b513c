//! What may run without asking, and what a person is asked.
//!
//! A call is looked at before it runs: what the mode demands or the policy would refuse is asked for, all calls
//! of a reply at once. What is asked and answered here are facts; how they look is the frontend's business.
//! Knows nothing of how the answer comes about, and never waits without hearing the stopper.

mod ask;
mod grants;
mod judge;
mod line;
mod needs;
mod risk;
mod rules;

use std::ffi::OsString;
use std::path::PathBuf;

use crate::model::CallId;
use crate::sandbox::{Lift, Policy};
use crate::tools::Preview;

pub use risk::Risk;
pub use rules::{Rule, RuleBook};

pub(super) use ask::{Leave, Under};
pub(super) use grants::Grants;

/// When a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Before every edit, and every command not known to be harmless.
    Untrusted,
    /// Before what the sandbox would refuse, and after it refused something.
    OnRequest,
    /// The sandbox alone decides.
    Never,
}

/// Approvals and sandbox in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionMode {
    Ask,
    Edits,
    /// Nothing is written until the plan is accepted.
    Plan,
    Full,
}

impl SessionMode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Edits => "edits",
            Self::Plan => "plan",
            Self::Full => "full",
        }
    }
}

/// What may run without asking, as a session begins. The default asks nobody and knows no rules.
#[derive(Clone)]
pub struct Permit {
    pub approval: Approval,
    pub mode: SessionMode,
    pub book: RuleBook,
}

impl Default for Permit {
    fn default() -> Self {
        Self { approval: Approval::Never, mode: SessionMode::Edits, book: RuleBook::default() }
    }
}

/// What is allowed from now on.
#[derive(Clone, Debug)]
pub struct Stance {
    pub approval: Approval,
    pub mode: SessionMode,
    pub policy: Policy,
    /// The environment of commands under that policy.
    pub env: Vec<(OsString, OsString)>,
    /// The same where the network is lifted.
    pub online: Vec<(OsString, OsString)>,
}

/// One call that a person is to decide about.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub call: CallId,
    pub what: What,
    pub asker: Asker,
    /// In the asker's own words.
    pub why: String,
    pub risks: Vec<Risk>,
    /// The narrowest first; never empty.
    pub offers: Vec<Offer>,
    /// It ran, and the sandbox stopped it: what it did until then may be done twice.
    pub again: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Command {
        line: String,
        cwd: PathBuf,
    },
    /// Goes to a program that runs.
    Typed {
        text: String,
    },
    /// A program that came with the harness.
    Script {
        tool: String,
        /// JSON.
        input: String,
    },
    Edit {
        files: Vec<Preview>,
    },
    /// A change that cannot be shown as one before it is made: the text that the call holds.
    Write {
        path: String,
        text: String,
    },
    Read {
        path: String,
    },
    Fetch {
        url: String,
    },
}

impl What {
    /// In a line, as what is to be done; a command word for word.
    pub fn brief(&self) -> String {
        match self {
            Self::Command { line, .. } => line.clone(),
            Self::Typed { text } => format!("type {text}"),
            Self::Script { tool, .. } => tool.clone(),
            Self::Edit { files } => {
                let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
                format!("edit {}", names.join(", "))
            }
            Self::Write { path, .. } => format!("write {path}"),
            Self::Read { path } => format!("read {path}"),
            Self::Fetch { url } => format!("get {url}"),
        }
    }
}

/// Who wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    Mode,
    Sandbox,
}

impl Asker {
    pub fn name(self) -> &'static str {
        match self {
            Self::Mode => "mode",
            Self::Sandbox => "sandbox",
        }
    }
}

/// One way to allow it.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// What of the sandbox is lifted for it.
    pub lifts: Vec<Lift>,
    /// What else runs without asking in this session then; Err: why that is not offered.
    pub session: Result<String, String>,
    /// The rule that would be stored; Err: why none is offered.
    pub always: Result<Rule, String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Allow {
        /// Which of the request's offers.
        offer: usize,
        scope: Scope,
    },
    /// This runs in place of the command, with what the first offer lifts.
    Edited { command: String },
    /// The edit is made with these texts in place of the model's, one for each file that is shown; None for
    /// one that goes.
    Revised { texts: Vec<Option<String>> },
    /// `reason` is for the model.
    Refuse { reason: Option<String> },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Scope {
    Once,
    Session,
    /// From now on; what the offer lifts goes with the rule.
    Always(Rule),
}
