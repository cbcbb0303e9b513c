//! A prompt: one model request, still free of any wire's JSON.
//!
//! Harnesses make it, wires encode it. Message order, roles and texts are final; how a role or an
//! empty text is spelt is for the wire, as far as [`Style`] leaves it open.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::Watch;

/// Names that the APIs have for the most tokens of an answer, for use in [`Prompt::body`].
pub const LIMITS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    /// The system prompt in blocks; wires that cannot keep them apart join them by a blank line.
    pub system: Vec<String>,
    pub messages: Vec<Message>,
    pub tools: Vec<ToolSpec>,
    /// Extra body fields (`temperature`, `max_tokens`, …): [`lay`] puts them over what the wire writes.
    pub body: Map<String, Value>,
    pub stream: bool,
    pub style: Style,
    /// JSON Schema that the last answer has to fit. Set only for servers that hold an answer to one
    /// while tools are offered.
    pub answer: Option<Value>,
    /// The session's id, by which some servers find their prompt cache.
    pub session: Option<String>,
    /// How hard to think, where the harness has a word in it; used where the user set none.
    pub effort: Option<String>,
    /// When a reply that runs on is cut.
    pub watch: Watch,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub role: Role,
    pub pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    Developer,
    User,
    Assistant,
    /// The message's pieces are one [`Piece::Result`].
    Tool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Text(String),
    Image {
        mime: String,
        base64: Arc<str>,
    },
    /// Reasoning to echo. Present only where the harness decided that it may be sent.
    Thinking {
        text: String,
        field: Option<String>,
        seal: Option<Value>,
    },
    Call {
        id: String,
        name: String,
        args: String,
    },
    /// Answers the call of that id. `pieces` are texts and images.
    Result {
        id: String,
        name: String,
        pieces: Vec<Piece>,
        failed: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub about: String,
    /// JSON Schema of the arguments, parameter order as in the manifest.
    pub schema: Value,
    pub strict: Option<bool>,
    /// The tool takes one text. Wires with free-form tools offer it as such; everywhere else, and in
    /// `args` always, the text is the one string of `schema`.
    pub free: Option<Free>,
}

/// A tool whose input is plain text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Free {
    /// The name of the one parameter that holds the text in `schema` and in a call's `args`.
    pub field: String,
    /// What the text has to look like, where a server can hold the sampler to it.
    pub grammar: Option<Grammar>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grammar {
    /// `lark` or `regex`.
    pub syntax: String,
    pub definition: String,
}

/// The freedom that one wire's message format leaves, decided by the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Role of the system prompt: `system` or `developer`.
    pub system_role: Role,
    /// User content as one string or as a list of typed parts.
    pub user: Form,
    /// Tool result content.
    pub result: Form,
    /// Content of an assistant message that has calls but no text.
    pub empty: Empty,
    /// The same when the message also carries reasoning.
    pub empty_with_thinking: Empty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// One string; parts only when there is an image.
    String,
    Parts,
    /// Parts where there are several texts, else one string.
    Several,
}

impl Form {
    /// What it comes to for these pieces: never [`Form::Several`].
    pub fn of(self, pieces: &[Piece]) -> Self {
        let texts = pieces.iter().filter(|piece| matches!(piece, Piece::Text(_))).count();
        match self {
            Self::Several if texts > 1 => Self::Parts,
            Self::Several => Self::String,
            Self::String | Self::Parts => self,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Empty {
    /// `""`
    String,
    /// `null`
    Null,
    /// The field is left out.
    Absent,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            system_role: Role::System,
            user: Form::String,
            result: Form::String,
            empty: Empty::String,
            empty_with_thinking: Empty::String,
        }
    }
}

/// Lays a field over a body: an object key by key, anything else as a whole.
pub fn lay(body: &mut Map<String, Value>, key: &str, value: &Value) {
    match (body.get_mut(key), value) {
        (Some(Value::Object(under)), Value::Object(over)) => {
            over.iter().for_each(|(key, value)| lay(under, key, value));
        }
        _ => drop(body.insert(key.to_owned(), value.clone())),
    }
}

impl Piece {
    pub fn is_image(&self) -> bool {
        matches!(self, Self::Image { .. })
    }
}

impl Message {
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, pieces: vec![Piece::Text(text.into())] }
    }
}
