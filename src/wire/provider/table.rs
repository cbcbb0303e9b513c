//! The providers that tack knows, from `providers.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Provider, Quirks, Way};
use crate::model::WireKind;

/// One table of `providers.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    base_url: String,
    #[serde(default)]
    env_key: Variables,
    wire: Option<WireKind>,
    default_model: Option<String>,
    #[serde(default)]
    makers: bool,
    #[serde(default)]
    local: bool,
    start: Option<String>,
    #[serde(default)]
    quirks: Quirks,
    #[serde(default)]
    over: BTreeMap<WireKind, Other>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Variables {
    One(String),
    Several(Vec<String>),
}

/// A table `[ID.over.WIRE]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Other {
    /// The provider's own when None.
    base_url: Option<String>,
    #[serde(default)]
    quirks: Quirks,
}

impl Default for Variables {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

const TABLE: &str = include_str!("../providers.toml");

/// A provider that tack knows, without key and settings.
pub fn builtin(id: &str) -> Option<Provider> {
    // Parsing them all takes longer than the rest of the start, and only one is ever used.
    let mut tables: BTreeMap<String, Entry> =
        toml::from_str(text_of(id)?).expect("the embedded provider table is tested to parse");
    let entry = tables.remove(id)?;
    let plain = Provider::new(id, entry.base_url.as_str());
    let env_keys = match entry.env_key {
        Variables::One(name) => vec![name],
        Variables::Several(names) => names,
    };
    let way = |(wire, other): (WireKind, Other)| Way {
        wire,
        base_url: other.base_url.unwrap_or_else(|| entry.base_url.clone()),
        quirks: other.quirks,
    };
    Some(Provider {
        name: entry.name,
        wire: entry.wire.unwrap_or(plain.wire),
        others: entry.over.into_iter().map(way).collect(),
        default_model: entry.default_model,
        makers: entry.makers,
        env_key: env_keys.first().cloned(),
        needs_key: !env_keys.is_empty(),
        env_keys,
        local: entry.local,
        start: entry.start,
        quirks: entry.quirks,
        ..plain
    })
}

/// All that [`builtin`] knows, sorted.
pub fn ids() -> Vec<&'static str> {
    let mut ids: Vec<&str> = TABLE.lines().filter_map(header).filter(|name| !name.contains('.')).collect();
    ids.sort_unstable();
    ids
}

/// The lines of one provider's tables.
fn text_of(id: &str) -> Option<&'static str> {
    let mut at = 0;
    let mut from = None;
    for line in TABLE.split_inclusive('\n') {
        let owner = header(line.trim_end()).map(|name| name.split('.').next().unwrap_or(name));
        match (owner, from) {
            (Some(owner), None) if owner == id => from = Some(at),
            (Some(owner), Some(from)) if owner != id => return Some(&TABLE[from..at]),
            _ => {}
        }
        at += line.len();
    }
    from.map(|from| &TABLE[from..])
}

fn header(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

#[cfg(test)]
mod tests {
    use super::super::is_loopback;
    use super::*;

    #[test]
    fn every_builtin_has_an_address_and_a_name_on_each_of_its_wires() {
        let all: BTreeMap<String, Entry> = toml::from_str(TABLE).unwrap();
        assert_eq!(all.keys().map(String::as_str).collect::<Vec<_>>(), ids());
        assert!(ids().len() >= 26);
        for id in ids() {
            let usual = builtin(id).unwrap();
            for wire in usual.wires() {
                let provider = usual.over(wire).unwrap();
                assert_eq!(provider.wire, wire);
                let url = provider.url(path(wire)).unwrap();
                assert!(url.path().ends_with(path(wire)), "{url}");
                assert_eq!(provider.local, is_loopback(&url), "{id}");
                assert_eq!(provider.local, !provider.needs_key, "{id}");
                assert_eq!(provider.local, provider.start.is_some(), "{id}");
                assert_eq!(
                    url.scheme() == "http",
                    provider.local,
                    "{id}: a key must not travel in the clear"
                );
            }
        }
        assert!(builtin("nobody").is_none() && builtin("openai.over.chat").is_none());
    }

    fn path(wire: WireKind) -> &'static str {
        match wire {
            WireKind::Chat => "/chat/completions",
            WireKind::Responses => "/responses",
            WireKind::Messages => "/messages",
        }
    }

    #[test]
    fn a_provider_goes_over_to_another_wire_and_back() {
        let usual = builtin("deepseek").unwrap();
        assert_eq!(usual.wires(), [WireKind::Chat, WireKind::Responses, WireKind::Messages]);
        let other = usual.over(WireKind::Messages).unwrap();
        assert_eq!(
            other.url("/messages").unwrap().as_str(),
            "https://api.deepseek.com/anthropic/v1/messages"
        );
        assert!(other.quirks.x_api_key && !usual.quirks.x_api_key);
        let back = other.over(WireKind::Chat).unwrap();
        assert_eq!(
            (back.base_url, back.quirks, back.wire),
            (usual.base_url.clone(), usual.quirks.clone(), usual.wire)
        );
        assert!(builtin("mistral").unwrap().over(WireKind::Responses).is_none());
        assert_eq!(builtin("openai").unwrap().wires(), [WireKind::Responses, WireKind::Chat]);
    }
}
