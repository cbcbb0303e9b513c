//! The sections that say what is sent: wires, body fields, prompts, messages, reasoning.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::harness::claim::matches_any;
use crate::model::{Model, WireKind};
use crate::wire::prompt::{self, Form, Role};

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

/// `[request]`: body fields; those of a wire's own table are laid over the common ones, and all of them over
/// what the wire writes: objects key by key.
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
    /// Globs of the providers; empty: every provider.
    #[serde(default)]
    pub providers: Vec<String>,
    /// None: on every wire.
    #[serde(default)]
    pub wire: Option<WireKind>,
    pub body: Map<String, Value>,
}

impl Only {
    pub fn is_for(&self, model: &Model, wire: WireKind) -> bool {
        self.wire.is_none_or(|own| own == wire)
            && matches_any(&self.models, &model.name)
            && (self.providers.is_empty() || matches_any(&self.providers, &model.provider))
    }
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
    /// Texts that stand beside it, in this order.
    pub more: Vec<More>,
}

/// `[[user.more]]`: a text of its own beside what the person typed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct More {
    /// Template file.
    pub file: String,
    #[serde(default)]
    pub place: Beside,
    #[serde(default)]
    pub when: Often,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Beside {
    #[default]
    Before,
    After,
}

/// With which prompts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Often {
    /// The first, also after a summary.
    #[default]
    First,
    Each,
    /// The first, and each for which the text is another than it was.
    Changed,
    /// Only the latter.
    Later,
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
    /// Only corrections, the loop guard, failed checks and files that a prompt names are heard, as the user.
    None,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reminder {
    pub when: When,
    /// Template file.
    pub file: String,
    #[serde(default)]
    pub place: Spot,
    /// As `[notes]` says when absent.
    #[serde(default)]
    pub role: Option<NoteRole>,
    /// The same.
    #[serde(default)]
    pub wrap: Option<String>,
}

/// Where a reminder stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spot {
    /// In a message of its own.
    #[default]
    Message,
    /// At the end of the last result, behind a blank line.
    Result,
}

/// When a reminder is due.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// Names of tools: due when none of them has been called for `count` results.
    #[serde(deserialize_with = "one_or_more")]
    pub results_since: Vec<String>,
    pub count: u32,
    /// Results after which it is due once more. None: `count`.
    pub again: Option<u32>,
    /// Prompts count as results do.
    pub prompts: bool,
    /// Due with every n-th prompt.
    pub every_user: Option<u32>,
}

fn one_or_more<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a tool's name or a list of them")]
    enum Names {
        One(String),
        More(Vec<String>),
    }
    Ok(match Names::deserialize(from)? {
        Names::One(name) => vec![name],
        Names::More(names) => names,
    })
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Messages {
    pub user: Form,
    pub result: Form,
    /// Content of an assistant message with calls but no text.
    pub empty: prompt::Empty,
    pub empty_with_thinking: prompt::Empty,
    /// How a call whose arguments are no JSON stands in the history. None: mended, or with none.
    pub bad_args: Option<BadCall>,
    /// The same for a call of a tool that there is not. None: as it was made.
    pub unknown_tool: Option<BadCall>,
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
            bad_args: None,
            unknown_tool: None,
            merge: true,
        }
    }
}

impl Messages {
    /// By their keys.
    pub fn bad_calls(&self) -> impl Iterator<Item = (&'static str, &BadCall)> {
        let all = [("bad_args", &self.bad_args), ("unknown_tool", &self.unknown_tool)];
        all.into_iter().filter_map(|(key, bad)| Some((key, bad.as_ref()?)))
    }
}

/// What the history says in place of a call that could not be understood.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BadCall {
    /// The name; the call's own when absent.
    #[serde(default)]
    pub name: Option<String>,
    /// Template of the arguments, a JSON object. What is none is sent as the call's own.
    pub args: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Thinking {
    /// `arrived`: in the field it came in. `none`: never. Anything else: the field's name.
    pub echo: String,
    pub trim: Trim,
    pub absent: Absent,
    /// How hard to think where the user did not say: `off`, `low`, …; empty: as the server does.
    #[serde(deserialize_with = "super::turn::named")]
    pub effort: Option<String>,
    /// The same for the first request of a turn and after a check that failed.
    #[serde(deserialize_with = "super::turn::named")]
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

/// What stands for the reasoning of a reply that had none.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Absent {
    Omit,
    /// The field with an empty text, once any reply of the session had reasoning.
    Empty,
    /// The same also for a reply that had no calls.
    Every,
    /// The field with this text, for a reply with calls.
    Text(String),
}

impl Absent {
    /// What fills the field of a reply with so many calls, if anything does.
    pub fn text(&self, calls: usize) -> Option<&str> {
        match self {
            Self::Omit => None,
            Self::Every => Some(""),
            Self::Empty => Some("").filter(|_| calls > 0),
            Self::Text(text) => Some(text.as_str()).filter(|_| calls > 0),
        }
    }
}

impl From<String> for Absent {
    fn from(word: String) -> Self {
        match word.as_str() {
            "omit" => Self::Omit,
            "empty" => Self::Empty,
            "every" => Self::Every,
            _ => Self::Text(word),
        }
    }
}
