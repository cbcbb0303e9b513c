//! Data files, read by the parsers that tack has for its own.

use super::findings::Finding;
use super::language::Language;

/// The first error, where the parser stops.
pub(super) fn findings(language: Language, text: &str) -> Option<Finding> {
    if text.len() > super::parse::LARGEST || text.trim().is_empty() {
        return None;
    }
    if language == Language::Json { json(text.trim_start_matches('\u{feff}')) } else { toml(text) }
}

fn json(text: &str) -> Option<Finding> {
    let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err()?;
    let what = error.to_string();
    // Depth is a limit of this parser and no fault of the text.
    (!what.starts_with("recursion limit")).then(|| Finding {
        line: error.line().max(1),
        what: what.split(" at line ").next().unwrap_or_default().to_owned(),
    })
}

fn toml(text: &str) -> Option<Finding> {
    let error = text.parse::<toml_edit::DocumentMut>().err()?;
    let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    Some(Finding { line, what: error.message().trim().replace('\n', ", ") })
}

/// Keys at the top of a data file, in order; empty where it does not parse or is too large.
pub(super) fn keys(language: Language, text: &str) -> Vec<String> {
    if text.len() > super::parse::LARGEST {
        return Vec::new();
    }
    if language == Language::Json {
        let map = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text);
        map.map_or_else(|_| Vec::new(), |map| map.into_iter().map(|(key, _)| key).collect())
    } else {
        let map = text.parse::<toml_edit::DocumentMut>();
        map.map_or_else(|_| Vec::new(), |map| map.iter().map(|(key, _)| key.to_owned()).collect())
    }
}

/// Bytes of all paths of a file. One long key above many is in the path of each.
const PATHS: usize = 16 * 1024 * 1024;

/// Every key of a data file, at any depth, as a path; the places of a list count as keys. Empty where it does
/// not parse or has too much to be told.
pub(super) fn paths(language: Language, text: &str) -> Vec<String> {
    if text.len() > super::parse::LARGEST {
        return Vec::new();
    }
    let value = match language {
        Language::Json => serde_json::from_str(text.trim_start_matches('\u{feff}')).ok(),
        _ => toml::from_str(text).ok(),
    };
    let (mut found, mut bytes) = (Vec::new(), 0);
    let mut left: Vec<(String, serde_json::Value)> =
        value.map(|value| (String::new(), value)).into_iter().collect();
    while let Some((path, value)) = left.pop() {
        let inner: Vec<(String, serde_json::Value)> = match value {
            serde_json::Value::Object(fields) => fields.into_iter().collect(),
            serde_json::Value::Array(items) => {
                items.into_iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect()
            }
            _ => continue,
        };
        for (key, value) in inner {
            let path = if path.is_empty() { key } else { format!("{path}.{key}") };
            bytes += path.len();
            if bytes > PATHS {
                return Vec::new();
            }
            found.push(path.clone());
            left.push((path, value));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_key_above_many_is_not_told_of_each() {
        let file =
            |key: usize, count: usize| format!("{{\"{}\": [{}0]}}", "k".repeat(key), "0, ".repeat(count));
        assert_eq!(paths(Language::Json, &file(3, 1)), ["kkk", "kkk.0", "kkk.1"]);
        assert_eq!(paths(Language::Json, &file(1_000, 100_000)), [""; 0]);
    }
}
