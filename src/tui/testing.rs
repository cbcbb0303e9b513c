//! What tests of several parts draw: somebody who speaks.

use super::host::{Because, Speaks};
use super::transcript::Speech;
use crate::model::{Class, Model, Thinking, WireKind};

/// A hosted model with a window of 32k, under `qwen-code`.
pub fn speaks() -> Speaks {
    let model = Model {
        provider: "moonshot".into(),
        name: "kimi-k3".into(),
        wire: WireKind::Chat,
        class: Class::F,
        window: Some(32_768),
        max_output: None,
        vision: None,
        effort: None,
        thinking: Thinking::default(),
        local: false,
        prices: None,
        probed: None,
    };
    Speaks { model, harness: "qwen-code".into(), because: Because::Named, speech: Speech::Prose }
}
