//! Which model a person means by a name, and whether there is one: lists are asked for, not guessed.

use super::super::choice::DEMO;
use super::super::error::CliError;
use super::super::runtime;
use super::super::setup::Base;
use crate::config;
use crate::tui::host::Meant;
use crate::wire::catalog;
use crate::wire::client::HttpClient;
use crate::wire::models::{few, nearest};
use crate::wire::provider::{self, Provider};

/// Most models that are named where the wanted one is not there.
const NAMED: usize = 5;

/// The model of `NAME` or `PROVIDER/NAME`, where the provider in use is `at`.
pub(super) fn find(base: &Base, typed: &str, at: &str) -> Result<Meant, CliError> {
    let known = config::known(&base.config);
    if known.iter().any(|id| id == typed) {
        return Err(CliError::usage(format!("{typed} is a provider; name one of its models: {typed}/MODEL")));
    }
    // Names of models may hold a slash, too.
    let named = typed.split_once('/').filter(|(id, _)| known.iter().any(|one| one == id));
    if named.is_some() && provider::builtin(at).is_some_and(|at| at.makers) {
        let provider = config::resolve(&base.config, at, &base.env, &base.dirs)?;
        if names(provider).is_some_and(|names| has(&names, typed)) {
            return Ok(Meant { provider: at.to_owned(), name: typed.to_owned(), doubt: None });
        }
    }
    let (id, name) = named.unwrap_or((at, typed));
    if id == DEMO {
        return Err(CliError::usage(
            "name the provider too: /model PROVIDER/NAME; /model lists what is here",
        ));
    }
    let mut provider = config::resolve(&base.config, id, &base.env, &base.dirs)?;
    if base.give_key(&mut provider).is_err() {
        return Err(CliError::usage(format!("{id} wants a key first: /login {id}")));
    }
    let (provider_id, name) = (id.to_owned(), name.to_owned());
    let doubt = match names(provider) {
        _ if is_set(base, &provider_id, &name) => None,
        Some(names) if has(&names, &name) => None,
        Some(names) => return Err(lacks((&provider_id, &name), names, &known)),
        None => Some(format!("{provider_id} gives no list of its models: {name} is taken as you wrote it")),
    };
    Ok(Meant { provider: provider_id, name, doubt })
}

/// All that the provider has, by its own list or else by what is known of it beforehand.
fn names(provider: Provider) -> Option<Vec<String>> {
    let id = provider.id.clone();
    let listed = HttpClient::new(provider).ok().and_then(|client| {
        let runtime = runtime().ok()?;
        let listed = runtime.block_on(client.listed());
        // A name that is still being looked up is not waited for.
        runtime.shutdown_background();
        listed
    });
    let known = || catalog::models(&id).map(str::to_owned).collect::<Vec<_>>();
    listed.or_else(|| Some(known()).filter(|names| !names.is_empty()))
}

/// Whether the settings name it: some services have names that they do not list.
fn is_set(base: &Base, id: &str, name: &str) -> bool {
    let own = base.config.models.contains_key(&format!("{id}/{name}"));
    own || (base.config.model_provider.as_deref(), base.config.model.as_deref()) == (Some(id), Some(name))
}

/// Ollama leaves a tag out, and routers take what is to be preferred behind the name.
fn has(names: &[String], name: &str) -> bool {
    let bare = name.rsplit_once(':').map(|(bare, _)| bare);
    names.iter().any(|one| one == name || one.strip_suffix(":latest") == Some(name) || bare == Some(one))
}

fn lacks((id, name): (&str, &str), names: Vec<String>, known: &[String]) -> CliError {
    let near = nearest(name, names);
    let has = if near.is_empty() { "no model at all".to_owned() } else { few(&near, NAMED) };
    let other = known.iter().find(|other| *other != id && catalog::models(other).any(|one| one == name));
    let other = other.map(|other| format!("; {other} has it: /model {other}/{name}")).unwrap_or_default();
    CliError::usage(format!("{id} has no {name}. It has: {has}. /model lists them{other}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_with_and_without_what_servers_leave_out() {
        let names: Vec<String> =
            ["qwen3:latest", "qwen3:30b", "acme/kimi"].iter().map(|name| (*name).to_owned()).collect();
        for (name, known) in [
            ("qwen3", true),
            ("qwen3:30b", true),
            ("qwen3:8b", false),
            ("acme/kimi:free", true),
            ("kim", false),
        ] {
            assert_eq!(has(&names, name), known, "{name}");
        }
    }

    #[test]
    fn what_is_not_there_is_answered_with_what_is() {
        let names = ["llama3", "qwen2.5-coder:7b", "qwen3-coder:30b"];
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let said = |error: CliError| error.into_parts().0;
        assert_eq!(
            said(lacks(("ollama", "qwen3-coder"), names, &[])),
            "ollama has no qwen3-coder. It has: qwen3-coder:30b, qwen2.5-coder:7b, llama3. /model lists them"
        );
        let known = ["openai".to_owned(), "deepseek".to_owned()];
        assert_eq!(
            said(lacks(("openai", "deepseek-v4-pro"), Vec::new(), &known)),
            "openai has no deepseek-v4-pro. It has: no model at all. /model lists them; deepseek has it: /model deepseek/deepseek-v4-pro"
        );
    }
}
