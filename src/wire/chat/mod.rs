//! Chat Completions: the wire that nearly every server speaks, each with an accent.
//!
//! `encode` writes requests, `decode` reads replies; both are pure. What differs between
//! servers in a known way is data ([`Quirks`]), not code.

mod decode;
mod effort;
mod encode;
mod seal;
mod think;

use serde_json::Value;

use super::prompt::Prompt;
use super::provider::Quirks;
use super::{Decoder, Wire};
use crate::model::{Model, WireKind};

pub struct Chat;

impl Wire for Chat {
    fn kind(&self) -> WireKind {
        WireKind::Chat
    }

    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn encode(&self, prompt: &Prompt, model: &Model, quirks: &Quirks) -> Value {
        encode::body(prompt, model, quirks)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(decode::Reader::default())
    }
}
