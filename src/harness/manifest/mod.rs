//! What `harness.toml` may say: one type per section, every key optional.
//!
//! Knows nothing of files or merging: [`super::layers`] merges tables and reads the result as this.

mod care;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use care::{Again, Check, Context, Edit, Read, Stream};

use crate::model::WireKind;
use crate::wire::prompt::{self, Form, Role};

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
    pub submit: Submit,
    pub output: Output,
    pub tools: Choice,
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
            submit: Submit::default(),
            output: Output::default(),
            tools: Choice::default(),
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

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wire {
    /// In order of preference.
    pub allow: Vec<WireKind>,
    pub stream: bool,
}

impl Default for Wire {
    fn default() -> Self {
        Self { allow: vec![WireKind::Chat, WireKind::Responses, WireKind::Messages], stream: true }
    }
}

/// `[request]`: body fields; those of a wire's own table are laid over the common ones.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Request {
    pub chat: Map<String, Value>,
    pub responses: Map<String, Value>,
    pub messages: Map<String, Value>,
    /// Fields that only some models take, laid over all others in this order.
    pub only: Vec<Only>,
    #[serde(flatten)]
    pub all: Map<String, Value>,
}

/// `[[request.only]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Only {
    /// Globs of the models' names.
    pub models: Vec<String>,
    /// None: on every wire.
    #[serde(default)]
    pub wire: Option<WireKind>,
    pub body: Map<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct System {
    /// Template files, one block each.
    pub blocks: Vec<String>,
    /// More of them, for forks.
    pub append: Vec<String>,
    /// `developer` where the models want it.
    pub role: Option<Role>,
}

/// `[[opening]]`: a fixed message ahead of the history, written here or in a template file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    pub role: Role,
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub file: Option<String>,
}

/// `[user]`: template files around what the person typed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct User {
    pub first: Option<String>,
    pub each: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Notes {
    pub role: NoteRole,
    /// A template with `text` in it.
    pub wrap: Option<String>,
}

impl Default for Notes {
    fn default() -> Self {
        Self { role: NoteRole::User, wrap: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoteRole {
    System,
    Developer,
    User,
    /// Only corrections, the loop guard and failed checks are heard, as the user.
    None,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reminder {
    pub when: When,
    /// Template file.
    pub file: String,
}

/// When a reminder is due.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// A tool's name: due when it has not been called for `count` results.
    pub results_since: Option<String>,
    pub count: u32,
    /// Due with every n-th prompt.
    pub every_user: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Messages {
    pub user: Form,
    pub result: Form,
    /// Content of an assistant message with calls but no text.
    pub empty: prompt::Empty,
    pub empty_with_thinking: prompt::Empty,
    /// Join neighbours of the same role: many chat templates want users and assistants to alternate.
    pub merge: bool,
}

impl Default for Messages {
    fn default() -> Self {
        Self {
            user: Form::String,
            result: Form::String,
            empty: prompt::Empty::String,
            empty_with_thinking: prompt::Empty::String,
            merge: true,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Thinking {
    /// `arrived`: in the field it came in. `none`: never. Anything else: the field's name.
    pub echo: String,
    pub trim: Trim,
    pub absent: Absent,
    /// How hard to think where the user did not say: `off`, `low`, …; none: as the server does.
    pub effort: Option<String>,
    /// The same for the first request of a turn and after a check that failed.
    pub effort_first: Option<String>,
    /// Tokens of reasoning in one reply at which it is cut and asked for again without. 0: no limit.
    pub most: u32,
}

impl Default for Thinking {
    fn default() -> Self {
        Self {
            echo: "arrived".to_owned(),
            trim: Trim::None,
            absent: Absent::Omit,
            effort: None,
            effort_first: None,
            most: 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trim {
    None,
    End,
    Both,
}

/// What stands for the reasoning of a reply that had calls but no reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Absent {
    Omit,
    /// The field with an empty text, once any reply of the session had reasoning.
    Empty,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dialect {
    pub kind: DialectKind,
    /// Calls: how the model learns of the tools.
    pub offer: Offer,
    /// Fenced: the language words whose blocks are commands.
    pub labels: Vec<String>,
    /// Fenced: XML tags that stand for a block.
    pub tags: Vec<String>,
    pub which: Which,
    /// Fenced: the tool of a block that names no other.
    pub bare: Option<String>,
    /// Calls: forms of a call written as text that are understood all the same.
    pub salvage: Vec<Salvage>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DialectKind {
    /// The wire's own tool calls.
    #[default]
    Calls,
    /// One code block in the text.
    Fenced,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offer {
    /// In the request, as tools.
    #[default]
    Wire,
    /// In the system prompt, by its template: calls and answers are texts of the conversation.
    Prompt,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    #[default]
    Last,
    /// A second block is an error.
    Only,
}

/// Forms of a call in plain text, by who writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Salvage {
    /// `{"name": …, "arguments": …}`, bare or as the only code block.
    Json,
    /// `<tool_call>{…}</tool_call>`
    Hermes,
    /// `<function=name><parameter=key>value</parameter></function>`
    Xml,
    /// Special tokens that a server failed to read: Mistral, Llama, DeepSeek.
    Markers,
    /// A reply that is one shell block and nothing else.
    Shell,
    /// The first JSON call within a longer text; what follows it was made up and is cut away.
    Within,
    /// A code block under a line that is a path: a call of the tool that does `rewrite`.
    File,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Turn {
    pub ends: Ends,
    pub calls: Need,
    /// What a call that cannot be understood becomes.
    pub bad_calls: BadCalls,
    /// What follows a reply with neither text nor calls.
    pub empty: Empty,
    /// Template file of the format correction.
    pub retry: Option<String>,
    pub retries: u32,
    pub forget: Forget,
    /// What stays in the context of a reply whose calls were all changes of files that were not made.
    pub vain: Vain,
    pub parallel: bool,
    /// Model requests in one turn.
    pub steps: Option<u32>,
    pub repeats: Repeats,
    /// Calls that only read, in a row, before the model is told to act. None: no limit.
    pub reads: Option<u32>,
}

impl Default for Turn {
    fn default() -> Self {
        Self {
            ends: Ends::Silence,
            calls: Need::Optional,
            bad_calls: BadCalls::Answer,
            empty: Empty::Ends,
            retry: None,
            retries: 2,
            forget: Forget::Nothing,
            vain: Vain::Kept,
            parallel: true,
            steps: None,
            repeats: Repeats::Run,
            reads: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// A reply without calls ends the turn.
    Silence,
    /// Handing in ends it; a reply without calls is corrected.
    Submit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Empty {
    /// The turn is over.
    Ends,
    /// The model is asked again.
    Retry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    Optional,
    Required,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BadCalls {
    /// An answer to the call.
    Answer,
    /// A format correction; the reply's calls are not run.
    Retry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Forget {
    Nothing,
    /// The failed reply is never sent back; the correction stays.
    Reply,
    /// Once the model has corrected itself, the failed reply and the correction leave the context.
    Corrected,
}

/// A small model that sees its failed text writes it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vain {
    Kept,
    /// The reply is left out, and what came of the last one is told as the user; both are left out
    /// once another reply followed.
    Told,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Repeats {
    Run,
    Refused,
}

/// `[timeouts]`, in seconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    pub shell: u64,
    pub shell_most: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { shell: 120, shell_most: 600 }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Submit {
    /// The first line with text that a successful command prints to hand in.
    pub first_line: Option<String>,
    /// Template file shown at the first `submit`; the second one counts. Empty: none, whatever a base
    /// manifest says.
    #[serde(deserialize_with = "named")]
    pub confirm: Option<String>,
    /// Handing in before any other call of the turn is refused, once.
    pub early: Early,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Early {
    #[default]
    Taken,
    Refused,
}

/// A file's name; TOML has no null, so an empty one takes back what was named before.
pub(super) fn named<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.filter(|name| !name.is_empty()))
}

/// `[output]`, also per tool: how much of a result the model sees.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    pub bytes: Option<usize>,
    pub lines: Option<usize>,
    pub keep: Option<KeepWord>,
    /// Percent of the room that the head gets under `keep = "both"`.
    pub head: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeepWord {
    Head,
    Tail,
    Both,
}

/// `[tools]`: which of `tools.toml` are offered. An empty `keep` keeps all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Choice {
    pub keep: Vec<String>,
    pub drop: Vec<String>,
}

/// `[errors]`: templates for what the model reads when a call comes to nothing. None: the text
/// in `harnesses/common/`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Errors {
    pub unknown_tool: Option<String>,
    pub bad_json: Option<String>,
    pub missing: Option<String>,
    pub wrong_type: Option<String>,
    pub bad_words: Option<String>,
    pub cut_off: Option<String>,
    pub refused: Option<String>,
    pub interrupted: Option<String>,
    pub not_executed: Option<String>,
    /// What a tool without a template of its own answers.
    pub result: Option<String>,
    pub job_ended: Option<String>,
}

impl Errors {
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        [
            ("unknown_tool", &self.unknown_tool),
            ("bad_json", &self.bad_json),
            ("missing", &self.missing),
            ("wrong_type", &self.wrong_type),
            ("bad_words", &self.bad_words),
            ("cut_off", &self.cut_off),
            ("refused", &self.refused),
            ("interrupted", &self.interrupted),
            ("not_executed", &self.not_executed),
            ("result", &self.result),
            ("job_ended", &self.job_ended),
        ]
        .into_iter()
        .map(|(name, text)| (name, text.as_deref()))
    }
}

/// `[compact]`: template files. None: those of `harnesses/common/`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Compact {
    /// Asks for the summary.
    pub prompt: Option<String>,
    /// Puts `summary` back.
    pub back: Option<String>,
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
