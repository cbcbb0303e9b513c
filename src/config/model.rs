//! Which model at which provider a name means.

use super::{Config, ConfigError, provider};
use crate::wire::provider::builtin;

/// A provider's id and the model's name there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub provider: String,
    pub model: String,
}

/// Who serves a model when nothing says so.
const USUAL: &str = "openai";

/// Reads `model` and `model_provider`. `known` holds the ids of all providers; `serves` says
/// whether a provider has a model of that name, None when that is not known.
///
/// A name with a slash is taken whole where a provider is set that has it; otherwise the part
/// before the first slash is the provider, if there is one of that id. Where it is not known what
/// the provider has, the later word counts: `-m ollama/NAME` means Ollama, whatever a file says.
pub fn choose(
    config: &Config,
    known: &[String],
    serves: impl Fn(&str, &str) -> Option<bool>,
) -> Result<Choice, ConfigError> {
    let set = config.model_provider.as_deref();
    let Some(name) = config.model.as_deref().map(str::trim).filter(|name| !name.is_empty()) else {
        return Err(no_model(set));
    };
    let prefixed =
        name.split_once('/').filter(|(id, rest)| !rest.is_empty() && known.iter().any(|k| k == id));
    let (provider, model) = match (set, prefixed) {
        (None, Some(both)) => both,
        (None, None) => {
            // OpenAI's own names have no slash; what serves them at another address may have some.
            let moved = config.openai_base_url.is_some() || config.model_providers.contains_key(USUAL);
            match name.split_once('/') {
                Some((id, "")) if known.iter().any(|k| k == id) => return Err(no_model(Some(id))),
                Some((id, _)) if !moved => return Err(provider::unknown(id, known)),
                Some(_) | None => (USUAL, name),
            }
        }
        (Some(provider), None) => (provider, name),
        (Some(provider), Some((id, rest))) => match serves(provider, name) {
            Some(true) => (provider, name),
            Some(false) => (id, rest),
            None if id == provider => (id, rest),
            None if config.model_is_later && !is_maker(id, provider) => (id, rest),
            None => (provider, name),
        },
    };
    Ok(Choice { provider: provider.to_owned(), model: model.to_owned() })
}

/// Whether `id` is who made the model, in a name of the form that this provider's models have, rather
/// than who is to serve it. Nobody's models are called after a local server or a provider of one's own.
fn is_maker(id: &str, provider: &str) -> bool {
    builtin(provider).is_some_and(|provider| provider.makers) && builtin(id).is_some_and(|id| !id.local)
}

fn no_model(provider: Option<&str>) -> ConfigError {
    match provider {
        Some(provider) => ConfigError::new(format!("no model is set for provider `{provider}`"))
            .hint(format!("name one with -m NAME or `model` in the configuration file; tack models --provider {provider} lists some")),
        None => ConfigError::new("no model is set up").hint(
            "name one: -m openai/MODEL with a key in OPENAI_API_KEY (other providers likewise), --oss or \
             -m ollama/MODEL with a local server, /model in a session; tack demo needs none",
        ),
    }
}
