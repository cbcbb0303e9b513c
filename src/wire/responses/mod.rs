//! Responses: items in, items out, and the reply's last event holds the whole of it.
//!
//! `encode` writes requests, `decode` reads replies, `item` is one item of a reply while it grows;
//! all are pure. Nothing is kept at the server: every request carries the whole session, and what
//! the model thought goes back sealed. Knows nothing of what tools do.
//!
//! Shapes of events and items: <https://platform.openai.com/docs/api-reference/responses-streaming>.

mod decode;
mod encode;
mod item;

use serde_json::Value;

use super::prompt::Prompt;
use super::provider::Quirks;
use super::{Decoder, Wire};
use crate::model::{Model, WireKind};

/// In the arguments of a call to a free-form tool, the field that a decoder puts the text into: a
/// reply does not say what the tool's own name for it is.
pub const FREE_FIELD: &str = "input";

pub struct Responses;

impl Wire for Responses {
    fn kind(&self) -> WireKind {
        WireKind::Responses
    }

    fn path(&self) -> &'static str {
        "/responses"
    }

    fn encode(&self, prompt: &Prompt, model: &Model, quirks: &Quirks) -> Value {
        encode::body(prompt, model, quirks)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(decode::Reader::default())
    }
}
