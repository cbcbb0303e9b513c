//! The wire: a prompt becomes JSON, a stream of server events becomes deltas.
//!
//! Owns HTTP, streaming, retries, providers. Knows nothing of harnesses, tools or sessions: what
//! it takes is a [`prompt::Prompt`], what it gives is an [`Answer`]. Encoding and decoding are pure
//! and tested from recorded streams; only [`client`] does input and output.

pub mod catalog;
pub mod chat;
pub mod client;
mod effort;
pub mod fault;
pub mod fold;
pub mod ids;
mod json;
pub mod local;
pub mod messages;
pub mod models;
pub mod prompt;
pub mod provider;
pub mod recorded;
pub mod responses;
pub mod sse;
mod text;
mod watch;

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::model::{Model, Stop, Trouble, TroubleKind, Usage, WireKind};
use prompt::Prompt;
use provider::Quirks;
pub use watch::RunOn;

/// One wire API, as pure code.
pub trait Wire: Send + Sync {
    fn kind(&self) -> WireKind;
    /// Appended to the provider's base URL: `/chat/completions`.
    fn path(&self) -> &'static str;
    /// Headers that this API wants on every request, besides the provider's own.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// The request body.
    fn encode(&self, prompt: &Prompt, model: &Model, quirks: &Quirks) -> Value;
    fn decoder(&self) -> Box<dyn Decoder>;
}

/// The code of one wire.
pub fn of(kind: WireKind) -> &'static dyn Wire {
    match kind {
        WireKind::Chat => &chat::Chat,
        WireKind::Responses => &responses::Responses,
        WireKind::Messages => &messages::Messages,
    }
}

/// Turns one reply's events into deltas. Fed whole events, in order.
pub trait Decoder: Send {
    /// One server-sent event: its name (empty when unnamed) and its data.
    fn event(&mut self, name: &str, data: &str) -> Vec<Delta>;
    /// A whole reply that came as one JSON body although a stream was asked for, or was not.
    fn body(&mut self, body: &Value) -> Vec<Delta>;
    /// How many events so far were not in this wire's form.
    fn skipped(&self) -> usize;
}

/// Most parts of a reply. Each new one is looked for among all others, and no model makes so many.
pub const MOST_PARTS: usize = 4096;

/// Ends a reply that has more.
fn too_many() -> Delta {
    Delta::Error { message: format!("the reply has more than {MOST_PARTS} parts"), kind: None }
}

/// A piece of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    Text(String),
    Thinking {
        text: String,
        field: Option<String>,
        seal: Option<Value>,
    },
    /// A call opens. `slot` is the decoder's own number for it, from 0 in order of appearance. A
    /// slot that is open already goes on: `name` is added to its name, an id replaces its id.
    CallStart {
        slot: usize,
        id: Option<String>,
        name: String,
    },
    /// More of the call's arguments.
    CallArgs {
        slot: usize,
        text: String,
    },
    /// The model's refusal, in its words.
    Refusal(String),
    Usage(Usage),
    Stop(Stop),
    /// All parts of the reply, in their order. Takes the place of what was pieced together, for wires
    /// whose events may come in any order and whose last word is the whole.
    Whole(Vec<AnswerPart>),
    /// The server reported an error inside the stream.
    Error {
        message: String,
        kind: Option<String>,
    },
    /// The stream's own end mark.
    End,
}

/// A whole reply, put together.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub parts: Vec<AnswerPart>,
    pub usage: Usage,
    pub stop: Stop,
    /// Requests it took, retries included.
    pub requests: u32,
    /// It was cut because it ran on, see [`Prompt::watch`].
    pub run_on: Option<RunOn>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AnswerPart {
    Text(String),
    Thinking {
        text: String,
        field: Option<String>,
        seal: Option<Value>,
    },
    /// `args` as written: it may be cut off or not be JSON at all.
    Call {
        id: Option<String>,
        name: String,
        args: String,
    },
}

/// What a caller hears while a reply is on its way.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    Text(String),
    Thinking(String),
    /// A call opened; the name may still be incomplete for some servers.
    Call(String),
    /// Everything heard of this reply so far is void: the request is sent again.
    Again {
        attempt: u32,
        of: u32,
        wait_ms: u64,
        why: String,
        trouble: TroubleKind,
    },
    /// The server is loading the model, or a long wait goes on. For a status line.
    Waiting(String),
    /// Something is wrong with what the server did, and the reply stands all the same.
    Warning(String),
}

/// Asks a model. One real client, one that plays a recording, one for tests.
#[async_trait]
pub trait Client: Send + Sync {
    /// Sends `prompt` and gathers the reply. Retries inside; each retry is announced to `hear`.
    /// Cancelling drops the connection at once and gives [`Failure::Cancelled`].
    async fn ask(
        &self,
        model: &Model,
        prompt: &Prompt,
        hear: &mut (dyn FnMut(Progress) + Send),
        cancel: &CancellationToken,
    ) -> Result<Answer, Failure>;
}

/// Why there is no answer. Every message names provider and model, and the server's own words
/// where it had any; none holds a key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Failure {
    #[error("cancelled")]
    Cancelled,
    /// The key is missing or was refused, or a setting is wrong: nothing to retry, the user acts.
    #[error("{message}")]
    Setup { message: String, trouble: Box<Trouble> },
    /// The prompt does not fit. `window` is the server's limit in tokens when it said so.
    #[error("{message}")]
    TooLong { message: String, window: Option<u64>, trouble: Box<Trouble> },
    /// The model or server takes no images.
    #[error("{0}")]
    NoImages(String),
    /// The model or server takes no tools.
    #[error("{0}")]
    NoTools(String),
    /// The server wants no reasoning sent back to it.
    #[error("{0}")]
    NoThinking(String),
    /// The server does not hold an answer to a JSON Schema, or not to this one.
    #[error("{0}")]
    NoSchema(String),
    /// A limit of the service; `retry_at` is when it says to come back.
    #[error("{message}")]
    Limited { message: String, retry_at: Option<jiff::Timestamp>, trouble: Box<Trouble> },
    /// Everything else: connection, server errors, a stream that broke more often than allowed.
    /// `partial` is the text that had arrived, for the person to read.
    #[error("{message}")]
    Failed { message: String, partial: String, trouble: Box<Trouble> },
}

impl Failure {
    /// Something that the user has set wrong.
    pub fn setup(message: impl Into<String>) -> Self {
        Self::Setup { message: message.into(), trouble: Box::default() }
    }

    /// Something else of which no more is known.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), partial: String::new(), trouble: Box::default() }
    }

    /// What is known of it besides the sentence.
    pub fn trouble(&self) -> Option<&Trouble> {
        if let Self::Setup { trouble, .. }
        | Self::TooLong { trouble, .. }
        | Self::Limited { trouble, .. }
        | Self::Failed { trouble, .. } = self
        {
            return Some(trouble);
        }
        None
    }

    fn trouble_mut(&mut self) -> Option<&mut Trouble> {
        if let Self::Setup { trouble, .. }
        | Self::TooLong { trouble, .. }
        | Self::Limited { trouble, .. }
        | Self::Failed { trouble, .. } = self
        {
            return Some(trouble);
        }
        None
    }
}
