//! A hosted service's own list of models, `GET /models`. Pure.

use serde_json::Value;

use super::Failure;
use super::provider::Provider;
use crate::model::{WireKind, steers};

/// Longest name that is taken, in bytes. Longer ones are no names.
const LONGEST: usize = 300;

/// Where a provider lists its models. Anthropic's API gives twenty unless asked for more.
pub fn url(provider: &Provider) -> Result<reqwest::Url, Failure> {
    let mut url = provider.url("/models")?;
    match provider.wire {
        WireKind::Messages => {
            url.query_pairs_mut().append_pair("limit", "1000");
        }
        WireKind::Chat | WireKind::Responses => {}
    }
    Ok(url)
}

/// The names, those first that are most like the wanted one.
pub fn nearest(wanted: &str, mut names: Vec<String>) -> Vec<String> {
    let bare = |name: &str| name.rsplit('/').next().unwrap_or_default().to_lowercase();
    let wanted = bare(wanted);
    names.sort_by_cached_key(|name| {
        // Sorted without a fraction, and the likest first.
        (strsim::jaro_winkler(&bare(name), &wanted) * -1e6) as i64
    });
    names
}

/// The first `most` of some names, and how many there are besides.
pub fn few(names: &[String], most: usize) -> String {
    let shown = names.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// One model of a service's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    /// Tokens, where the list says it.
    pub window: Option<u64>,
}

/// The models of a list, sorted, each once; None when the body is no such list.
///
/// OpenAI's and Anthropic's form is `{"data": [{"id"}]}`; some services leave the object out.
pub fn list(body: &Value) -> Option<Vec<Listed>> {
    let entries = body.get("data").unwrap_or(body).as_array()?;
    let mut all: Vec<Listed> = entries
        .iter()
        .filter_map(|entry| Some(Listed { name: name(entry.get("id")?)?, window: window(entry) }))
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all.dedup_by(|a, b| a.name == b.name);
    Some(all)
}

/// A name that can be shown and sent.
pub(super) fn name(value: &Value) -> Option<String> {
    let name = value.as_str()?.trim();
    let fits = !name.is_empty() && name.len() <= LONGEST && !name.chars().any(steers);
    fits.then(|| name.to_owned())
}

/// OpenRouter, Groq, vLLM, Mistral and Anthropic, in this order, each call it otherwise.
fn window(entry: &Value) -> Option<u64> {
    ["context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens"]
        .iter()
        .find_map(|field| entry.get(*field)?.as_u64().filter(|window| *window > 0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_likest_names_come_first_and_the_rest_is_counted() {
        let names = ["gpt-5.4", "acme/qwen3-coder:30b", "qwen2.5-coder:7b", "llama3"];
        let near = nearest("qwen3-coder", names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(few(&near, 2), "acme/qwen3-coder:30b, qwen2.5-coder:7b and 2 more");
        assert_eq!((few(&near[..1], 2).as_str(), few(&[], 2).as_str()), ("acme/qwen3-coder:30b", ""));
    }

    #[test]
    fn lists_are_read_whatever_their_dialect() {
        let table = [
            (
                json!({"object": "list", "data": [{"id": "b", "owned_by": "x"}, {"id": "a"}, {"id": "b"}]}),
                "a b",
            ),
            (json!({"data": [{"type": "model", "id": "c", "display_name": "C"}], "has_more": false}), "c"),
            (json!([{"id": "t", "type": "chat", "context_length": 32768}]), "t=32768"),
            (
                json!({"data": [{"id": "g", "context_window": 8192}, {"id": "v", "max_model_len": 0}]}),
                "g=8192 v",
            ),
            (json!({"data": []}), ""),
            (
                json!({"data": [{"id": 7}, {"id": " "}, {"id": "a\u{1b}[31m"}, {"id": "a\u{202e}b"}, "x", null, {"id": "ok"}]}),
                "ok",
            ),
        ];
        for (body, want) in table {
            let text = |one: &Listed| match one.window {
                Some(window) => format!("{}={window}", one.name),
                None => one.name.clone(),
            };
            let found: Vec<String> = list(&body).unwrap().iter().map(text).collect();
            assert_eq!(found.join(" "), want, "{body}");
        }
        for body in [json!({"error": "no"}), json!("text"), json!(null), json!({"data": {"id": "a"}})] {
            assert_eq!(list(&body), None, "{body}");
        }
        let many = json!({"data": (0..10_000).map(|n| json!({"id": format!("m{n}")})).collect::<Vec<_>>()});
        assert_eq!(list(&many).unwrap().len(), 10_000);
    }
}
