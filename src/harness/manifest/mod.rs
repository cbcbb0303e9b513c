//! What `harness.toml` may say: one type per section, every key optional.
//!
//! Knows nothing of files or merging: [`super::layers`] merges tables and reads the result as this.

mod answer;
mod care;
mod dialect;
mod request;
mod shell;
mod turn;

use serde::Deserialize;

pub use answer::{Compact, Errors, KeepWord, Kept, Output, Show, Strategy};
pub use care::{Again, Check, Context, Edit, Read, Stream};
pub use dialect::{Dialect, DialectKind, Offer, Salvage, Which};
pub use request::{
    BadCall, Beside, Messages, More, NoteRole, Notes, Often, Opening, Reminder, Request, Spot, System,
    Thinking, Trim, User, When, Wire,
};
pub use shell::Shell;
pub use turn::{BadCalls, Early, Empty, Ends, Forget, Need, Repeats, Submit, Timeouts, Turn, Vain, named};

use super::tool::Ordered;

/// The one version of the format.
pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Manifest {
    pub schema: u32,
    pub id: String,
    pub name: String,
    pub summary: String,
    /// The harness this one starts from.
    pub extends: Option<String>,
    /// The client and version it follows, for people.
    pub mirrors: Option<String>,
    /// The day on which that client was looked at, for people.
    pub mirrored: Option<String>,
    #[serde(rename = "match")]
    pub claims: Claims,
    pub wire: Wire,
    pub request: Request,
    pub system: System,
    pub opening: Vec<Opening>,
    pub user: User,
    pub notes: Notes,
    pub reminder: Vec<Reminder>,
    pub messages: Messages,
    pub thinking: Thinking,
    pub dialect: Dialect,
    #[serde(rename = "loop")]
    pub turn: Turn,
    pub timeouts: Timeouts,
    pub shell: Shell,
    pub submit: Submit,
    pub output: Output,
    pub tools: Choice,
    /// Tools that models know and that are not offered, each with what to use instead: a template.
    pub absent: Ordered<String>,
    pub errors: Errors,
    pub compact: Compact,
    pub edit: Edit,
    pub read: Read,
    pub stream: Stream,
    pub again: Vec<Again>,
    pub check: Check,
    pub context: Context,
    /// Laid over the rest, and over the table of the class, by what trying the model out showed.
    pub probed: Tried,
    /// Laid over the rest for models of one class. Merged before this type is read for use; typed
    /// here so that a wrong key in it is found.
    pub class: Classes,
}

impl Default for Manifest {
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            id: String::new(),
            name: String::new(),
            summary: String::new(),
            extends: None,
            mirrors: None,
            mirrored: None,
            claims: Claims::default(),
            wire: Wire::default(),
            request: Request::default(),
            system: System::default(),
            opening: Vec::new(),
            user: User::default(),
            notes: Notes::default(),
            reminder: Vec::new(),
            messages: Messages::default(),
            thinking: Thinking::default(),
            dialect: Dialect::default(),
            turn: Turn::default(),
            timeouts: Timeouts::default(),
            shell: Shell::default(),
            submit: Submit::default(),
            output: Output::default(),
            tools: Choice::default(),
            absent: Ordered::default(),
            errors: Errors::default(),
            compact: Compact::default(),
            edit: Edit::default(),
            read: Read::default(),
            stream: Stream::default(),
            again: Vec::new(),
            check: Check::default(),
            context: Context::default(),
            probed: Tried::default(),
            class: Classes::default(),
        }
    }
}

/// `[match]`: globs of what gets this harness under `auto`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Claims {
    pub models: Vec<String>,
    pub providers: Vec<String>,
}

/// `[tools]`: which of `tools.toml` are offered. `keep` is in order; an empty one keeps all as they are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Choice {
    pub keep: Vec<String>,
    pub drop: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Classes {
    #[serde(rename = "S")]
    pub s: Option<Box<Manifest>>,
    #[serde(rename = "M")]
    pub m: Option<Box<Manifest>>,
    #[serde(rename = "L")]
    pub l: Option<Box<Manifest>>,
    #[serde(rename = "F")]
    pub f: Option<Box<Manifest>>,
}

/// `[probed.wire]`, `[probed.text]`, `[probed.none]`: see [`crate::model::Calls`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tried {
    pub wire: Option<Box<Manifest>>,
    pub text: Option<Box<Manifest>>,
    pub none: Option<Box<Manifest>>,
}
