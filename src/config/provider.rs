//! A provider as configured: the built-in table, the user's tables and the environment in one.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Config, ConfigError, Dirs, Env, ProviderKeys, keys};
use crate::wire::provider::{self, Provider, Secret};

/// The ids of all providers, the user's own among them, sorted.
pub fn known(config: &Config) -> Vec<String> {
    let mut ids: Vec<String> = provider::ids().into_iter().map(str::to_owned).collect();
    ids.extend(config.model_providers.keys().cloned());
    ids.sort();
    ids.dedup();
    ids
}

/// The provider `id` with all that was set for it. A missing key is no error here: the client says
/// it when a request needs one.
pub fn resolve(config: &Config, id: &str, env: &Env, dirs: &Dirs) -> Result<Provider, ConfigError> {
    let own = config.model_providers.get(id);
    let mut provider = match (provider::builtin(id), own) {
        (Some(provider), _) => provider,
        (None, Some(_)) => Provider::new(id, ""),
        (None, None) => return Err(unknown(id, &known(config))),
    };
    if let Some(url) = config.openai_base_url.as_ref().filter(|_| id == "openai") {
        move_to(&mut provider, url, "openai_base_url")?;
    }
    if let Some(own) = own {
        overlay(&mut provider, own, env)?;
        provider.ca_file = own.ca_certificate.as_ref().map(|path| dirs.expand(path));
    }
    if provider.base_url.is_empty() {
        return Err(ConfigError::new(format!("provider `{id}` has no address"))
            .hint(format!("set base_url in [model_providers.{id}]")));
    }
    provider.key = key(&provider, env);
    Ok(provider)
}

fn overlay(provider: &mut Provider, own: &ProviderKeys, env: &Env) -> Result<(), ConfigError> {
    if let Some(url) = &own.base_url {
        move_to(provider, url, &format!("model_providers.{}.base_url", provider.id))?;
    }
    if let Some(name) = &own.name {
        provider.name.clone_from(name);
    }
    if let Some(variable) = &own.env_key {
        provider.env_key = Some(variable.clone());
        provider.needs_key = true;
    }
    provider.wire = own.wire_api.unwrap_or(provider.wire);
    let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    provider.request_retries = own.request_max_retries.map_or(provider.request_retries, count);
    provider.stream_retries = own.stream_max_retries.map_or(provider.stream_retries, count);
    if let Some(ms) = own.stream_idle_timeout_ms {
        provider.idle_timeout = Duration::from_millis(ms);
        // Who waits long in the middle of a reply waits as long for its beginning.
        provider.first_byte_timeout = provider.first_byte_timeout.max(provider.idle_timeout);
    }
    provider.headers.extend(own.http_headers.iter().map(|(name, text)| (name.clone(), Secret::new(text))));
    provider.headers.extend(from_env(&own.env_http_headers, env));
    provider.query.extend(own.query_params.clone());
    Ok(())
}

/// Headers whose value is in a variable; one that is unset is left out.
fn from_env(headers: &BTreeMap<String, String>, env: &Env) -> impl Iterator<Item = (String, Secret)> {
    headers
        .iter()
        .filter_map(|(name, variable)| Some((name.clone(), Secret::new(env.text(variable)?.trim()))))
}

/// Gives the provider another address. On this machine nobody asks for a key.
fn move_to(provider: &mut Provider, url: &str, key: &str) -> Result<(), ConfigError> {
    let there = Provider::new(&provider.id, url.trim());
    if there.url("").is_err() {
        return Err(ConfigError::new(format!("`{key}` is no web address"))
            .hint("it looks like https://api.acme.example/v1"));
    }
    provider.needs_key &= !there.local;
    provider.local = there.local;
    provider.first_byte_timeout = there.first_byte_timeout;
    provider.base_url = there.base_url;
    Ok(())
}

/// The key of its own variable, or what a program made for Codex passed along. At OpenAI the
/// latter wins, as there it was set for this very run.
fn key(provider: &Provider, env: &Env) -> Option<Secret> {
    let text = |name: &str| env.text(name).map(str::trim).filter(|text| !text.is_empty());
    let own = provider.env_key.as_deref().and_then(text);
    let passed = text("CODEX_API_KEY").filter(|_| provider.env_key.is_some() || !provider.local);
    let found = if provider.id == "openai" { passed.or(own) } else { own.or(passed) };
    found.map(Secret::new)
}

pub(super) fn unknown(id: &str, known: &[String]) -> ConfigError {
    let meant = keys::meant(id, known.iter().map(String::as_str));
    ConfigError::new(format!("there is no provider `{id}`{meant}"))
        .hint(format!("there are: {}; add your own as [model_providers.{id}]", known.join(", ")))
}
