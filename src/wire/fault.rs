//! Error objects, in whatever shape a server gives them. Pure.
//!
//! Seen in use: a string; an object with `message`, `msg` or `detail`; the same nested once more
//! under `error`; a list holding one of them; `{"object": "error", "message": …}` at the top.

use serde_json::Value;

/// What a server said about an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub message: String,
    /// Its `code` or `type`, as text. The code wins when it is a word.
    pub kind: Option<String>,
    /// The context window in tokens, where the object has it as a number of its own (llama.cpp).
    pub window: Option<u64>,
}

/// The error in a whole JSON body or event, None when it holds none.
pub fn find(body: &Value) -> Option<Said> {
    let body = match body {
        Value::Array(list) => list.first()?,
        other => other,
    };
    // ModelScope writes the plural.
    if let Some(error) = ["error", "errors"].iter().find_map(|key| body.get(*key).filter(|e| is_error(e))) {
        return Some(read(error));
    }
    let marked = body.get("object").or(body.get("type")).and_then(Value::as_str) == Some("error");
    let bare = body.get("choices").is_none() && ["message", "detail"].iter().any(|k| body.get(*k).is_some());
    (marked || bare).then(|| read(body))
}

/// Reads the error object itself.
pub fn read(error: &Value) -> Said {
    match error {
        Value::String(text) => Said { message: text.clone(), ..Said::default() },
        Value::Object(_) => read_object(error),
        Value::Array(list) => list.first().map(read).unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            Said { message: error.to_string(), ..Said::default() }
        }
    }
}

/// Servers put `"error": null`, `""` or `false` into good replies.
fn is_error(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::Array(_) => true,
    }
}

fn read_object(error: &Value) -> Said {
    // One level deeper, when that is where the words are.
    if error.get("message").is_none()
        && let Some(inner) = error.get("error").filter(|e| is_error(e))
    {
        return read(inner);
    }
    let text = ["message", "msg", "detail"].iter().find_map(|key| match error.get(*key)? {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    });
    let code = error.get("code").and_then(|code| match code {
        Value::String(word) if !word.is_empty() => Some(word.clone()),
        _ => None,
    });
    let number = error.get("code").filter(|code| code.is_number()).map(Value::to_string);
    let kind = code.or_else(|| error.get("type").and_then(Value::as_str).map(str::to_owned)).or(number);
    let message = text.unwrap_or_else(|| error.to_string());
    // Gateways pass the words of the server behind them in a field of their own.
    let behind = error.pointer("/metadata/raw").and_then(Value::as_str).filter(|raw| !message.contains(raw));
    let message = behind.map_or(message.clone(), |raw| format!("{message}: {raw}"));
    Said { message, kind, window: error.get("n_ctx").and_then(Value::as_u64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn finds_the_words_in_every_shape() {
        let cases = [
            (json!({"error": "boom"}), Some(("boom", None))),
            (json!({"error": {"message": "boom", "type": "t", "code": null}}), Some(("boom", Some("t")))),
            (json!({"error": {"message": "boom", "type": "t", "code": "c"}}), Some(("boom", Some("c")))),
            (json!({"error": {"message": "boom", "code": 503}}), Some(("boom", Some("503")))),
            (json!({"error": {"error": {"message": "boom"}}}), Some(("boom", None))),
            (json!([{"error": {"message": "boom", "status": "X"}}]), Some(("boom", None))),
            (json!({"object": "error", "message": "boom", "code": 400}), Some(("boom", Some("400")))),
            (json!({"detail": [{"msg": "boom"}]}), Some((r#"[{"msg":"boom"}]"#, None))),
            (json!({"error": {"message": "up", "metadata": {"raw": "down"}}}), Some(("up: down", None))),
            (json!({"error": null, "choices": []}), None),
            (json!({"error": "", "choices": []}), None),
            (json!({"choices": [{"message": {}}]}), None),
            (json!({"errors": {"message": "boom"}, "request_id": "r"}), Some(("boom", None))),
            (json!({"code": "c", "error": "boom"}), Some(("boom", None))),
            (json!(null), None),
        ];
        for (body, expected) in cases {
            let said = find(&body);
            let seen = said.as_ref().map(|s| (s.message.as_str(), s.kind.as_deref()));
            assert_eq!(seen, expected, "{body}");
        }
    }
}
