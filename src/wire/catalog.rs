//! What is known beforehand of common models. Pure data; whatever is not here is unknown, not zero.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::model::{Prices, Thinking};

/// Facts of one model at one provider. None: unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Facts {
    /// Tokens of prompt and answer together.
    pub window: Option<u64>,
    /// Most tokens of one answer.
    pub max_output: Option<u64>,
    pub vision: Option<bool>,
    pub prices: Option<Prices>,
    /// How it is asked to think, where that differs from its provider's other models.
    pub thinking: Option<Thinking>,
}

#[derive(Deserialize)]
struct Catalog {
    as_of: String,
    #[serde(flatten)]
    providers: BTreeMap<String, BTreeMap<String, Facts>>,
}

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    toml::from_str(include_str!("catalog.toml")).expect("the embedded model table is tested to parse")
});

/// What is known of this model there; nothing is guessed from the name.
pub fn facts(provider: &str, model: &str) -> Facts {
    CATALOG.providers.get(provider).and_then(|models| models.get(model)).copied().unwrap_or_default()
}

/// The month whose prices these are.
pub fn as_of() -> &'static str {
    &CATALOG.as_of
}

/// The models known at this provider, sorted.
pub fn models(provider: &str) -> impl Iterator<Item = &'static str> {
    CATALOG.providers.get(provider).into_iter().flat_map(|models| models.keys().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::provider;

    #[test]
    fn every_entry_is_plausible_and_its_provider_known() {
        assert!(as_of().starts_with("20"));
        for (id, models) in &CATALOG.providers {
            assert!(provider::builtin(id).is_some(), "{id}");
            for (name, facts) in models {
                assert!(facts.window >= facts.max_output, "{name}");
                let cheaper = facts.prices.is_none_or(|p| p.cached_input.is_none_or(|c| c <= p.input));
                assert!(cheaper, "{name}");
            }
        }
    }

    #[test]
    fn an_unknown_model_has_no_facts() {
        assert_eq!(facts("openai", "gpt-2"), Facts::default());
        assert_eq!(facts("nobody", "gpt-5.4"), Facts::default());
        assert_eq!(facts("openai", "gpt-5.4").vision, Some(true));
        assert!(models("deepseek").any(|m| m == "deepseek-v4-pro"));
    }
}
