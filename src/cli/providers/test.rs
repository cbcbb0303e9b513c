//! Asking a provider's server: whether it answers and how fast, how many models it lists, and whether it takes
//! the key. Every outcome is one sentence.

use std::time::{Duration, Instant};

use super::super::error::CliError;
use super::super::keys::KeyState;

use super::super::runtime;
use super::super::setup::Base;
use crate::config;
use crate::wire::Failure;
use crate::wire::client::HttpClient;
use crate::wire::client::error::{Place, from_status};
use crate::wire::client::get::{Limits, Page};
use crate::wire::models;
use crate::wire::provider::{Provider, shown};

/// A person waits for it.
pub(super) const LIMITS: Limits = Limits { time: Duration::from_secs(6), bytes: 32 << 20 };
const CONNECT: Duration = Duration::from_secs(3);

/// What came of asking the provider of this id.
pub(in crate::cli) fn test(base: &Base, id: &str) -> Result<String, CliError> {
    let mut provider = config::resolve(&base.config, id, &base.env, &base.dirs)?;
    let missing = base.key_state(&provider)? == KeyState::Missing;
    if !missing {
        base.give_key(&mut provider)?;
    }
    runtime()?.block_on(looked(&patient(provider), missing))
}

/// The provider with limits for somebody who waits; asked without a key too.
pub(super) fn patient(provider: Provider) -> Provider {
    Provider { needs_key: false, connect_timeout: CONNECT, ..provider }
}

/// The models that a server lists, by name, for a list that a person looks at.
pub(in crate::cli) fn names(base: &Base, id: &str) -> Vec<String> {
    let Ok(mut provider) = config::resolve(&base.config, id, &base.env, &base.dirs) else {
        return Vec::new();
    };
    if base.give_key(&mut provider).is_err() {
        return Vec::new();
    }
    let limits = Limits { time: Duration::from_millis(1500), ..LIMITS };
    let asked = runtime().ok().and_then(|runtime| runtime.block_on(page(&patient(provider), limits)).ok());
    let listed = asked.and_then(|page| models::list(&page.json()?)).unwrap_or_default();
    listed.into_iter().map(|one| one.name).collect()
}

pub(super) async fn page(provider: &Provider, limits: Limits) -> Result<Page, Failure> {
    HttpClient::new(provider.clone())?.get(&models::url(provider)?, limits).await
}

async fn looked(provider: &Provider, missing: bool) -> Result<String, CliError> {
    let (name, id) = (&provider.name, &provider.id);
    let began = Instant::now();
    let page = page(provider, LIMITS).await.map_err(failed)?;
    let took = match began.elapsed().as_millis() {
        0 => "under 1 ms".to_owned(),
        took => format!("{took} ms"),
    };
    let keyed = provider.usable_key().is_some() || provider.auth.is_some();
    match page.status {
        401 | 403 if !keyed => Err(CliError::failed(format!("{name} answers and wants a key: /login {id}"))),
        404 | 405 => Ok(format!("{name} answers in {took}; it has no list of models")),
        200..300 => {
            let Some(models) = page.json().as_ref().and_then(models::list) else {
                let at = provider.url("").map(|url| shown(&url)).unwrap_or_default();
                return Err(CliError::failed(format!(
                    "what answers at {at} is no model server: look at the address, which mostly ends with /v1"
                )));
            };
            let key = match (keyed, missing) {
                (true, _) => key(provider).await,
                (false, true) => ", without a key, which its models want",
                (false, false) => "",
            };
            let count = match models.len() {
                1 => "1 model".to_owned(),
                count => format!("{count} models"),
            };
            Ok(format!("{name} answers in {took} and lists {count}{key}"))
        }
        status => Err(refused(provider, status, &page)),
    }
}

/// Whether the list tells anything of the key: some are open to everybody.
async fn key(provider: &Provider) -> &'static str {
    let bare = Provider { key: None, auth: None, headers: Vec::new(), query: Vec::new(), ..provider.clone() };
    match page(&bare, LIMITS).await {
        Ok(page) if matches!(page.status, 401 | 403) => "; it takes the key",
        Ok(_) | Err(_) => {
            "; its list needs no key, so only a call shows whether it takes yours: /model, ctrl+t"
        }
    }
}

fn refused(provider: &Provider, status: u16, page: &Page) -> CliError {
    match models::url(provider) {
        Ok(url) => {
            let at = Place { provider, model: "", url: &url };
            failed(from_status(&at, status, &String::from_utf8_lossy(&page.body)).failure)
        }
        Err(failure) => failed(failure),
    }
}

#[allow(clippy::needless_pass_by_value)] // for map_err
pub(super) fn failed(failure: Failure) -> CliError {
    CliError::failed(failure.to_string())
}
