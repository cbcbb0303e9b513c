//! What is known beforehand of common models. Pure data; whatever is not here is unknown, not zero.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::model::{Class, Prices, Thinking};

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
    /// Where its name does not tell, or tells wrongly.
    pub class: Option<Class>,
}

const TABLE: &str = include_str!("catalog.toml");

/// What is known of this model there; nothing is guessed from the name.
pub fn facts(provider: &str, model: &str) -> Facts {
    let Some((_, facts)) = lines(provider).find(|(name, _)| *name == model) else {
        return Facts::default();
    };
    let mut one: BTreeMap<String, Facts> =
        toml::from_str(&format!("it = {facts}")).expect("the embedded model table is tested to parse");
    one.remove("it").unwrap_or_default()
}

/// The month whose prices these are.
pub fn as_of() -> &'static str {
    let line = TABLE.lines().find_map(|line| line.strip_prefix("as_of = "));
    line.unwrap_or_default().trim_matches('"')
}

/// The models known at this provider, in the order of the table.
pub fn models(provider: &str) -> impl Iterator<Item = &'static str> {
    lines(provider).map(|(name, _)| name)
}

/// Names and facts of a provider's models. Parsing them all takes longer than the rest of the start,
/// and one is all that a run asks for.
fn lines(provider: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let header = format!("[{provider}]");
    let below = TABLE.lines().skip_while(move |line| *line != header).skip(1);
    below
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.strip_prefix('"')?.split_once("\" = "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::provider;

    #[derive(Deserialize)]
    struct Catalog {
        as_of: String,
        #[serde(flatten)]
        providers: BTreeMap<String, BTreeMap<String, Facts>>,
    }

    #[test]
    fn every_entry_is_plausible_and_its_provider_known() {
        let all: Catalog = toml::from_str(TABLE).unwrap();
        assert_eq!(all.as_of, as_of());
        assert!(as_of().starts_with("20"));
        for (id, models) in &all.providers {
            assert!(provider::builtin(id).is_some(), "{id}");
            assert_eq!(models.keys().collect::<Vec<_>>().len(), super::models(id).count(), "{id}");
            for (name, known) in models {
                assert_eq!(facts(id, name), *known, "{id} {name}: what a line says is what the table says");
                assert!(known.window.is_none_or(|window| known.max_output <= Some(window)), "{name}");
                let prices = known.prices.unwrap_or_default();
                assert!(prices.cached_input.is_none_or(|cached| cached <= prices.input), "{name}");
                assert!(prices.cache_write.is_none_or(|write| write >= prices.input), "{name}");
            }
        }
    }

    #[test]
    fn the_model_that_is_used_where_none_is_named_is_known() {
        for id in provider::ids() {
            if let Some(name) = provider::builtin(id).unwrap().default_model {
                assert!(models(id).any(|model| model == name), "{id} {name}");
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
