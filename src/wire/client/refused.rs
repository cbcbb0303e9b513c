//! Which field of a request a server says it does not take. Pure.
//!
//! What harness and user set in a body is meant for many models, and what each of them refuses is not
//! always known beforehand. A refusal names the field, so the request can do without it.

use serde_json::{Map, Value};

use crate::wire::Failure;
use crate::wire::effort::FIELDS;

/// Words of a refusal: OpenAI and those like it, Google, Mistral, Groq and Cerebras, Moonshot.
const WORDS: &[&str] = &[
    "unsupported",
    "not supported",
    "does not support",
    "unknown name",
    "unknown field",
    "unrecognized",
    "not permitted",
    "is allowed for this model",
];

/// How a refusal of something in the request is told.
const REFUSALS: [&str; 2] = ["status 400: ", "status 422: "];

/// The field of `given` that this failure is about.
pub(super) fn field<'a>(given: &'a Map<String, Value>, failure: &Failure) -> Option<&'a str> {
    let Failure::Failed { message, .. } = failure else { return None };
    let text = message.to_lowercase();
    let refused = REFUSALS.iter().find_map(|status| text.split_once(status));
    let (_, words) = refused.filter(|(_, words)| WORDS.iter().any(|known| words.contains(known)))?;
    given.keys().map(String::as_str).find(|key| names(words, key))
}

/// Whether this failure is about how much is to be thought, by the harness's wish alone.
pub(super) fn is_effort(failure: &Failure) -> bool {
    let (Failure::Failed { message, .. } | Failure::NoThinking(message)) = failure else { return false };
    let text = message.to_lowercase();
    let refused = REFUSALS.iter().find_map(|status| text.split_once(status));
    refused.is_some_and(|(_, words)| FIELDS.iter().any(|field| names(words, field)))
}

/// Whether the key stands in the text as a word.
fn names(text: &str, key: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(key)
        .any(|(at, _)| !text[..at].ends_with(is_word) && !text[at + key.len()..].starts_with(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_is_found_where_it_is_refused() {
        let given = json!({"temperature": 0, "top_p": 1, "store": false, "stop": ["x"], "max_tokens": 9});
        let given = given.as_object().unwrap();
        for (words, expected) in [
            (
                "status 400: Unsupported parameter: 'temperature' is not supported with this model.",
                Some("temperature"),
            ),
            (
                "status 400: Unsupported value: 'temperature' does not support 0 with this model.",
                Some("temperature"),
            ),
            (
                "status 400: Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
                Some("max_tokens"),
            ),
            ("status 400: invalid temperature: only 1 is allowed for this model", Some("temperature")),
            (
                "status 400: Invalid JSON payload received. Unknown name \"store\": Cannot find field.",
                Some("store"),
            ),
            ("status 400: property 'store' is unsupported, did you mean 'stop'?", Some("store")),
            ("status 422: body.store: property 'body.store' is unsupported", Some("store")),
            (
                "status 422: {\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"top_p\"],\"msg\":\"Extra inputs are not permitted\"}]}",
                Some("top_p"),
            ),
            // Of something else, not refused, or not by us.
            ("status 400: property 'restore' is unsupported", None),
            ("status 400: temperature must be between 0 and 1", None),
            ("status 500: 'temperature' is not supported", None),
            ("status 400: 'seed' is not supported", None),
        ] {
            let failure = Failure::failed(format!("acme (model m) answered with {words}"));
            assert_eq!(field(given, &failure), expected, "{words}");
        }
        assert_eq!(field(given, &Failure::NoTools("status 400: 'store' is not supported".into())), None);
    }
}
