//! Mending JSON that a model wrote, as far as the mending cannot change what it means: fences
//! around it, control characters in strings, trailing commas, doubled braces, a backslash that was
//! meant for a shell or a regular expression. What was cut off stays cut off.

use std::borrow::Cow;

use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Flaw {
    /// It ends in the middle.
    CutOff,
    /// Says what is wrong and where.
    Bad(String),
}

/// The arguments of a call: an object, also one inside a string; nothing at all is an empty one.
pub(crate) fn object(text: &str) -> Result<Map<String, Value>, Flaw> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    let inner = match value(text)? {
        Value::String(inner) => value(&inner)?,
        other => other,
    };
    match inner {
        Value::Object(fields) => Ok(fields),
        Value::Null => Ok(Map::new()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Flaw::Bad("the arguments are no JSON object".to_owned()))
        }
    }
}

/// One JSON value.
pub(crate) fn value(text: &str) -> Result<Value, Flaw> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let text = without_fence(text);
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    serde_json::from_str(&mended(text))
        .map_err(|e| if e.is_eof() { Flaw::CutOff } else { Flaw::Bad(e.to_string()) })
}

/// Strips a code fence that stands around the whole text.
fn without_fence(text: &str) -> &str {
    let Some(inside) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else {
        return text;
    };
    let label_ends = inside.find(['\n', '{', '[']).unwrap_or(0);
    inside[label_ends..].trim()
}

/// Escapes raw control characters and stray backslashes inside strings and drops commas before a
/// closing bracket. `\'` and `\x` stay an error: in other languages they mean something else.
/// `{{` is one brace: the chat template inside Qwen2.5's model files shows the form of a call so.
pub(crate) fn mended(text: &str) -> Cow<'_, str> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut in_string = false;
    let (mut depth, mut doubled) = (0_usize, 0_usize);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => in_string = !in_string,
            '\\' if in_string => {
                out.push(c);
                if let Some((_, escaped)) = chars.next() {
                    if !"\"\\/bfnrtu'x".contains(escaped) {
                        out.push('\\');
                    }
                    push(&mut out, escaped);
                }
                continue;
            }
            ',' if !in_string && text[at + 1..].trim_start().starts_with(['}', ']']) => continue,
            '{' if !in_string && text[at + 1..].starts_with('{') => {
                doubled += 1;
                continue;
            }
            '{' if !in_string => depth += 1,
            '}' if !in_string && depth == 0 && doubled > 0 => {
                doubled -= 1;
                continue;
            }
            '}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if in_string { push(&mut out, c) } else { out.push(c) }
    }
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

fn push(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
        c => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn harmless_damage_is_mended() {
        let table = [
            ("", json!({})),
            ("{\"a\": 1}", json!({"a": 1})),
            ("\"{\\\"a\\\": 1}\"", json!({"a": 1})),
            ("{\"a\": \"x\ny\tz\"}", json!({"a": "x\ny\tz"})),
            ("{\"a\": [1, 2,], }", json!({"a": [1, 2]})),
            ("```json\n{\"a\": 1}\n```", json!({"a": 1})),
            ("{\"a\": \",}\"}", json!({"a": ",}"})),
            ("{\"a\": \"q\\\"\n\"}", json!({"a": "q\"\n"})),
            (r#"{{"a": {"b": "{{x}}"}}}"#, json!({"a": {"b": "{{x}}"}})),
            (r#"{{"a": {"b": 1}}"#, json!({"a": {"b": 1}})),
            (r#"{"a": "find . -exec rm {} \;"}"#, json!({"a": r"find . -exec rm {} \;"})),
            (r#"{"a": "grep '\.py\|\d' \n"}"#, json!({"a": "grep '\\.py\\|\\d' \n"})),
        ];
        for (text, want) in table {
            assert_eq!(object(text).map(Value::Object), Ok(want), "{text}");
        }
    }

    #[test]
    fn a_cut_is_never_mended() {
        for text in [
            "{\"command\": \"rm -rf /tmp/x",
            "{\"command\": \"rm\"",
            "{\"a\": 1, ",
            "{\"a\"",
            "{\"a\": \"x\ny",
            "{{\"a\": 1",
        ] {
            assert_eq!(object(text), Err(Flaw::CutOff), "{text}");
        }
        for text in [r#"{"a": "it\'s"}"#, r#"{"a": "\x41"}"#, "[1]", "{\"a\" 1}", "ls", "{\"a\":1}{\"a\":2}"]
        {
            assert!(matches!(object(text), Err(Flaw::Bad(_))), "{text}");
        }
    }
}
