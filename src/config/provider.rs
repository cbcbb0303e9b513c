//! A provider as configured: the built-in table, the user's tables and the environment in one.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{AuthKeys, Config, ConfigError, Dirs, Env, ProviderKeys, keys};
use crate::wire::provider::{self, Auth, Provider, Secret};

/// Codex's defaults for a key command.
const AUTH_REFRESH_MS: u64 = 300_000;
const AUTH_TIMEOUT_MS: u64 = 5_000;

/// The ids of all providers, the user's own among them, sorted.
pub fn known(config: &Config) -> Vec<String> {
    let mut ids: Vec<String> = provider::ids().into_iter().map(str::to_owned).collect();
    ids.extend(config.model_providers.keys().cloned());
    ids.sort();
    ids.dedup();
    ids
}

/// The provider `id` with all that was set for it, over its usual wire unless one was set. A missing
/// key is no error here: the client says it when a request needs one.
pub fn resolve(config: &Config, id: &str, env: &Env, dirs: &Dirs) -> Result<Provider, ConfigError> {
    let own = config.model_providers.get(id);
    let mut provider = match (provider::builtin(id), own) {
        (Some(provider), _) => provider,
        (None, Some(_)) => Provider::new(id, ""),
        (None, None) => return Err(unknown(id, &known(config))),
    };
    // First, for each wire has an address and quirks of its own.
    if let Some(wire) = own.and_then(|own| own.wire_api) {
        provider = provider.over(wire).unwrap_or(Provider { wire, ..provider });
        provider.others.clear();
    }
    if let Some(url) = config.openai_base_url.as_ref().filter(|_| id == "openai") {
        move_to(&mut provider, url, "openai_base_url")?;
    }
    if let Some(own) = own {
        overlay(&mut provider, own, env)?;
        provider.ca_file = own.ca_certificate.as_ref().map(|path| dirs.expand(path));
        provider.auth = own.auth.as_ref().map(|keys| auth(id, keys, own, dirs)).transpose()?;
        provider.needs_key |= provider.auth.is_some();
    }
    if provider.base_url.is_empty() {
        return Err(ConfigError::new(format!("provider `{id}` has no address"))
            .hint(format!("set base_url in [model_providers.{id}]")));
    }
    set_key(&mut provider, env);
    Ok(provider)
}

fn auth(id: &str, keys: &AuthKeys, own: &ProviderKeys, dirs: &Dirs) -> Result<Auth, ConfigError> {
    if keys.command.trim().is_empty() {
        return Err(ConfigError::new(format!("`model_providers.{id}.auth` names no command"))
            .hint("write auth = { command = \"…\", args = [\"…\"] }"));
    }
    if own.env_key.is_some() {
        return Err(ConfigError::new(format!("provider `{id}` has both env_key and auth"))
            .hint("keep the one that its key comes from"));
    }
    let refresh = keys.refresh_interval_ms.unwrap_or(AUTH_REFRESH_MS);
    Ok(Auth {
        command: keys.command.clone(),
        args: keys.args.clone(),
        refresh: (refresh > 0).then(|| Duration::from_millis(refresh)),
        timeout: Duration::from_millis(keys.timeout_ms.unwrap_or(AUTH_TIMEOUT_MS).max(1)),
        cwd: keys.cwd.as_ref().map(|path| dirs.expand(path)),
    })
}

fn overlay(provider: &mut Provider, own: &ProviderKeys, env: &Env) -> Result<(), ConfigError> {
    if let Some(url) = &own.base_url {
        move_to(provider, url, &format!("model_providers.{}.base_url", provider.id))?;
    }
    if let Some(name) = &own.name {
        provider.name.clone_from(name);
    }
    if let Some(variable) = &own.env_key {
        provider.env_keys = vec![variable.clone()];
        provider.env_key = Some(variable.clone());
        provider.needs_key = true;
    }
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
    provider.query.extend(own.query_params.iter().map(|(name, text)| (name.clone(), Secret::new(text))));
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
    // What is served at an address of its own stays behind.
    let before = std::mem::take(&mut provider.base_url);
    provider.others.retain(|way| way.base_url == before);
    for way in &mut provider.others {
        way.base_url.clone_from(&there.base_url);
    }
    provider.needs_key &= !there.local;
    provider.local = there.local;
    provider.first_byte_timeout = there.first_byte_timeout;
    provider.base_url = there.base_url;
    Ok(())
}

/// The key of one of its own variables, or what a program made for Codex passed along. At OpenAI the
/// latter wins, as there it was set for this very run.
fn set_key(provider: &mut Provider, env: &Env) {
    let text = |name: &str| env.text(name).map(str::trim).filter(|text| !text.is_empty());
    let own = provider.env_keys.iter().find_map(|name| Some((name.clone(), text(name)?)));
    let passed = text(CODEX_KEY).filter(|_| provider.env_key.is_some() || !provider.local);
    let passed = passed.map(|key| (CODEX_KEY.to_owned(), key));
    let found = if provider.id == "openai" { passed.or(own) } else { own.or(passed) };
    if let Some((name, key)) = found {
        provider.key = Some(Secret::new(key));
        provider.key_from = Some(name);
    }
    let set = provider.key_from.as_ref().filter(|name| provider.env_keys.contains(name));
    provider.env_key = set.or(provider.env_key.as_ref()).cloned();
}

/// Set by programs that embed Codex.
const CODEX_KEY: &str = "CODEX_API_KEY";

/// The configuration of a program made for Codex that passes a key and names no model: OpenAI's usual one.
pub fn usual_model(config: &Config, env: &Env) -> Option<(String, String)> {
    let id = config.model_provider.as_deref().unwrap_or("openai");
    let asked = config.model.is_none() && env.text(CODEX_KEY).is_some_and(|key| !key.trim().is_empty());
    let model = provider::builtin(id).filter(|_| asked)?.default_model?;
    Some((id.to_owned(), model))
}

pub(super) fn unknown(id: &str, known: &[String]) -> ConfigError {
    let meant = keys::meant(id, known.iter().map(String::as_str));
    ConfigError::new(format!("there is no provider `{id}`{meant}"))
        .hint(format!("there are: {}; add your own as [model_providers.{id}]", known.join(", ")))
}
