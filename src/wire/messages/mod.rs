//! Messages: Anthropic's wire, which several other services and local servers speak too.
//!
//! `encode` writes requests, `thinking` decides what of them concerns reasoning, `decode` reads
//! replies; all are pure. Shapes and rules are those of the public API reference and of the types
//! in the service's own SDK, read in November 2026.

mod decode;
mod encode;
mod thinking;

use serde_json::Value;

use super::prompt::Prompt;
use super::provider::Quirks;
use super::{Decoder, Wire};
use crate::model::{Model, WireKind};

pub struct Messages;

impl Wire for Messages {
    fn kind(&self) -> WireKind {
        WireKind::Messages
    }

    fn path(&self) -> &'static str {
        "/messages"
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn encode(&self, prompt: &Prompt, model: &Model, quirks: &Quirks) -> Value {
        encode::body(prompt, model, quirks)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(decode::Reader::default())
    }
}
