//! Where a provider's key comes from: a variable before a stored one.

use super::error::CliError;
use super::setup::Base;
use crate::login::{self, Keys, Place};
use crate::wire::catalog;
use crate::wire::provider::{self, Provider};

/// Whether a provider's key is there, and where. Never the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyState {
    /// In this variable.
    Variable(String),
    Stored(Place),
    /// A command of the configuration gives it.
    Command,
    /// Wanted and not there.
    Missing,
    NotNeeded,
}

impl KeyState {
    /// A request can be made with it.
    pub(super) fn is_there(&self) -> bool {
        *self != Self::Missing
    }

    /// For scripts.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Variable(_) => "variable",
            Self::Stored(Place::Keychain) => "keychain",
            Self::Stored(Place::File) => "file",
            Self::Command => "command",
            Self::Missing => "missing",
            Self::NotNeeded => "none needed",
        }
    }

    /// For people.
    pub(super) fn text(&self, provider: &Provider) -> String {
        match self {
            Self::Variable(name) => format!("{name} is set"),
            Self::Stored(Place::Keychain) => "stored in the keychain".to_owned(),
            Self::Stored(Place::File) => "stored in a file".to_owned(),
            Self::Command => "given by a command".to_owned(),
            Self::Missing => match &provider.env_key {
                Some(name) => format!("missing: {name}"),
                None => "missing".to_owned(),
            },
            Self::NotNeeded => "none needed".to_owned(),
        }
    }
}

impl Base {
    /// The stored keys; None without a folder for them.
    pub(super) fn keys(&self) -> Option<Keys> {
        self.dirs.data.as_ref().map(|data| Keys::new(data, login::system()))
    }

    /// Gives the provider its stored key when no variable has one. An error when a key is wanted and
    /// there is none.
    pub(super) fn give_key(&self, provider: &mut Provider) -> Result<(), CliError> {
        if provider.usable_key().is_some() || provider.auth.is_some() {
            return Ok(());
        }
        if let Some(keys) = self.keys()
            && let Some(key) = keys.load(&provider.id)?
        {
            provider.key = Some(key);
            provider.key_from = Some(format!("the stored key of {}", provider.id));
        }
        if provider.needs_key && provider.usable_key().is_none() {
            return Err(self.key_missing(provider));
        }
        Ok(())
    }

    fn key_missing(&self, provider: &Provider) -> CliError {
        let (name, id) = (&provider.name, &provider.id);
        let Some(variable) = &provider.env_key else {
            return CliError::usage(format!("{name} wants a key, and none is configured"))
                .hint(format!("store one: tack login {id}; or set env_key in [model_providers.{id}]"));
        };
        let state = match (self.env.get(variable), self.env.text(variable)) {
            (None, _) => "not set",
            (Some(_), None) => "not UTF-8",
            (Some(_), Some(_)) => "blank",
        };
        let other = self.other_provider(id).unwrap_or_default();
        CliError::usage(format!("{name} wants a key, and {variable} is {state}"))
            .hint(format!("export {variable}=… or store one: tack login {id}{other}"))
    }

    /// A hint for a bare name that may have been meant for somebody else than the usual provider.
    fn other_provider(&self, usual: &str) -> Option<String> {
        let model = self.config.model.as_deref().filter(|model| !model.contains('/'))?;
        let has = |id: &str| catalog::models(id).any(|known| known == model);
        if self.config.model_provider.is_some() || has(usual) {
            return None;
        }
        let meant = provider::ids().into_iter().find(|id| has(id)).unwrap_or("ollama");
        Some(format!("; or name another provider: -m PROVIDER/MODEL, such as -m {meant}/{model}"))
    }

    /// Looks at variables and the list of stored keys; asks no keychain.
    pub(super) fn key_state(&self, provider: &Provider) -> Result<KeyState, CliError> {
        if provider.usable_key().is_some() {
            return Ok(KeyState::Variable(provider.key_from.clone().unwrap_or_default()));
        }
        if provider.auth.is_some() {
            return Ok(KeyState::Command);
        }
        let stored = match self.keys() {
            Some(keys) => keys.place(&provider.id)?,
            None => None,
        };
        Ok(match stored {
            Some(place) => KeyState::Stored(place),
            None if provider.needs_key => KeyState::Missing,
            None => KeyState::NotNeeded,
        })
    }
}
