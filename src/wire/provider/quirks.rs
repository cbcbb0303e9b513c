//! Where services of one wire differ, as data.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::model::Thinking;
use crate::wire::ids::IdForm;

/// Where services of one wire differ, as data.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// `max_tokens` or `max_completion_tokens`; the wire's usual one when None.
    pub max_tokens_field: Option<String>,
    /// Takes no `stream_options`.
    pub no_stream_options: bool,
    /// Has no developer role: it is sent as system.
    pub no_developer_role: bool,
    /// Chat: takes one system message at the beginning, then user and assistant in turns.
    pub strict_roles: bool,
    /// How a model is asked to think, where nothing is known of the model itself.
    pub thinking: Thinking,
    /// Chat: assistant messages with calls must carry reasoning; this stands for what is not there.
    pub reasoning_required: Option<Placeholder>,
    /// Chat: calls must carry the seal they came with, and one that came from elsewhere a word instead
    /// (Google's `thought_signature`).
    pub call_seals: bool,
    /// What ids of calls have to look like.
    pub ids: IdForm,
    /// Refuses `strict` in tools.
    pub no_strict: bool,
    /// Responses: has free-form tools.
    pub custom_tools: bool,
    /// Responses: knows no sealed reasoning, and refuses to be asked for it.
    pub no_sealed_reasoning: bool,
    /// Takes no images in the result of a call: they follow as the user's.
    pub no_result_images: bool,
    /// Holds an answer to a JSON Schema also while tools are offered.
    pub schema: bool,
    /// Takes `prompt_cache_key`.
    pub cache_key: bool,
    /// Takes marks on what to cache. The wire's usual when None: yes for messages, no for the others.
    pub cache_marks: Option<bool>,
    /// The key goes in `x-api-key` and not in `authorization`.
    pub x_api_key: bool,
    /// Fields of the body that are refused, each with the models that refuse it: names, or their
    /// beginnings before a `*`. A harness or a user may set them for all providers alike.
    pub drop: BTreeMap<String, Vec<String>>,
    /// Fields of the body that are sent along, below what harness and user set.
    pub extra: Map<String, Value>,
    /// Chat: reasoning goes back as parts of the content (Mistral).
    pub thinking_parts: bool,
    /// Responses: tells what the model said on the way from what it said at the end.
    pub phases: bool,
}

impl Quirks {
    /// Whether this field of the body is taken for this model.
    pub(in crate::wire) fn takes(&self, field: &str, model: &str) -> bool {
        let is = |pattern: &String| match pattern.strip_suffix('*') {
            Some(beginning) => model.starts_with(beginning),
            None => model == pattern,
        };
        !self.drop.get(field).is_some_and(|models| models.iter().any(is))
    }

    /// Lays `extra` under the body: what is there stays, objects are filled up.
    pub(in crate::wire) fn fill(&self, body: &mut Map<String, Value>) {
        for (field, value) in &self.extra {
            match (body.get_mut(field), value) {
                (Some(Value::Object(known)), Value::Object(more)) => {
                    for (key, value) in more {
                        known.entry(key).or_insert_with(|| value.clone());
                    }
                }
                (Some(_), _) => {}
                (None, value) => drop(body.insert(field.clone(), value.clone())),
            }
        }
    }
}

/// Text for a field that must not be missing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placeholder {
    pub field: String,
    pub text: String,
}
