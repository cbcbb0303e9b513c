//! `--oss` and `--local-provider`: a server that runs on this machine, and the model it has loaded.

use super::args::SessionFlags;
use super::error::CliError;
use super::runtime;
use super::setup::Base;
use crate::config;
use crate::wire::local::{self, Found, Kind, Saw, Server, State, Tried};

/// Most models that an error lists.
const LISTED: usize = 8;

impl Base {
    /// The provider `ollama` is where `OLLAMA_HOST` says, unless the configuration moved it.
    pub(super) fn heed_ollama_host(&mut self) {
        let Some(host) = self.env.text("OLLAMA_HOST") else { return };
        let own = self.config.model_providers.entry("ollama".to_owned()).or_default();
        if own.base_url.is_none() {
            match local::ollama_host(host) {
                Some(url) => own.base_url = Some(url),
                None => self.warnings.push("OLLAMA_HOST is no address and is ignored".to_owned()),
            }
        }
    }

    /// Where the flags ask for it, makes a running local server the provider and what it has loaded
    /// the model.
    pub(super) fn use_local(&mut self, flags: &SessionFlags) -> Result<(), CliError> {
        let asked: Option<Kind> = flags.local_provider.map(Into::into);
        if !flags.oss && asked.is_none() {
            return Ok(());
        }
        let (kind, name) = named(asked, flags.model.as_deref());
        let tried = match kind {
            Some(kind) => self.look(&[kind])?,
            None => self.look(&Kind::ALL)?,
        };
        let servers: Vec<Server> = running(&tried)
            .into_iter()
            .filter(|server| kind.is_none_or(|kind| kind == server.kind))
            .collect();
        if servers.is_empty() {
            return Err(self.none(&tried));
        }
        let (server, found) = choose(&servers, name)?;
        let own = self.config.model_providers.entry(server.kind.id().to_owned()).or_default();
        own.base_url = Some(server.base_url.clone());
        self.config.model_provider = Some(server.kind.id().to_owned());
        self.config.model = Some(found.name.clone());
        self.found = Some(found);
        Ok(())
    }

    /// Asks at the addresses of these kinds of servers, all at once. Of several, only those on this
    /// machine: elsewhere nobody asked to knock.
    pub(super) fn look(&self, kinds: &[Kind]) -> Result<Vec<Tried>, CliError> {
        let mut places = Vec::new();
        for kind in kinds {
            let mut provider = config::resolve(&self.config, kind.id(), &self.env, &self.dirs)?;
            if provider.local || kinds.len() == 1 {
                // One of several that lacks its key can still be told by its answers.
                match self.give_key(&mut provider) {
                    Err(error) if kinds.len() == 1 => return Err(error),
                    Ok(()) | Err(_) => {}
                }
                places.push((*kind, provider));
            }
        }
        let runtime = runtime()?;
        runtime.block_on(local::find(places)).map_err(|failure| CliError::usage(failure.to_string()))
    }

    /// The error that no server was found: what was tried, and how to start one.
    pub(super) fn none(&self, tried: &[Tried]) -> CliError {
        let of = |kind: Kind| config::resolve(&self.config, kind.id(), &self.env, &self.dirs).ok();
        let name = |kind: Kind| of(kind).map_or_else(|| kind.id().to_owned(), |provider| provider.name);
        let place = |one: &Tried| {
            let address = one.base_url.trim_end_matches("/v1");
            let other = match &one.saw {
                Saw::Nothing => String::new(),
                Saw::Other => " (something else answers there)".to_owned(),
                Saw::Server(server) => format!(" ({} answers there)", name(server.kind)),
            };
            format!("{} at {address}{other}", name(one.kind))
        };
        let places: Vec<String> = tried.iter().map(place).collect();
        let starts: Vec<String> =
            tried.iter().filter_map(|one| of(one.kind)?.start).map(|start| format!("`{start}`")).collect();
        let ids: Vec<&str> = tried.iter().map(|one| one.kind.id()).collect();
        let id = if let [id] = ids.as_slice() { id } else { "ID" };
        CliError::usage(format!("no local server answers: tried {}", places.join(", "))).hint(format!(
            "start it: {}; another address is base_url in [model_providers.{id}]",
            starts.join(" or ")
        ))
    }
}

/// What runs, each server once.
pub(super) fn running(tried: &[Tried]) -> Vec<Server> {
    let mut servers: Vec<Server> = Vec::new();
    for one in tried {
        match &one.saw {
            Saw::Server(server) => {
                if servers.iter().all(|known| known.base_url != server.base_url) {
                    servers.push(server.clone());
                }
            }
            Saw::Nothing | Saw::Other => {}
        }
    }
    servers
}

/// The kind and the model that are meant: `ollama/qwen3` names both, unless the kind is set.
fn named(asked: Option<Kind>, model: Option<&str>) -> (Option<Kind>, Option<&str>) {
    let both = model.and_then(|name| name.split_once('/')).and_then(|(id, rest)| Some((Kind::of(id)?, rest)));
    match (asked, both) {
        (None, Some((kind, rest))) => (Some(kind), Some(rest)),
        (Some(kind), Some((of, rest))) if kind == of => (asked, Some(rest)),
        (asked, _) => (asked, model),
    }
}

fn choose<'a>(servers: &'a [Server], name: Option<&str>) -> Result<(&'a Server, Found), CliError> {
    let all = || servers.iter().flat_map(|server| server.models.iter().map(move |found| (server, found)));
    if let Some(name) = name {
        let same = |found: &Found| found.name == name || found.name == format!("{name}:latest");
        if let Some((server, found)) = all().find(|(_, found)| same(found)) {
            return Ok((server, found.clone()));
        }
        // A single server may know names that it does not list.
        if let [server] = servers {
            return Ok((server, Found { name: name.to_owned(), ..Found::default() }));
        }
        return Err(CliError::usage(format!("no local server has the model {name}"))
            .hint(format!("there are: {}", list(all()))));
    }
    let loaded: Vec<_> = all().filter(|(_, found)| found.loaded).collect();
    match loaded.as_slice() {
        [(server, found)] => return Ok((server, (*found).clone())),
        [] => {}
        several => {
            return Err(CliError::usage("several models are loaded")
                .hint(format!("name one with -m: {}", list(several.iter().copied()))));
        }
    }
    if let Some(server) = servers.iter().find(|server| server.state == State::Loading) {
        return Err(CliError::failed(format!("the server at {} still loads its model", server.base_url))
            .hint("run this again in a moment"));
    }
    let there: Vec<_> = all().collect();
    match there.as_slice() {
        // It is loaded with the first request.
        [(server, found)] => Ok((server, (*found).clone())),
        [] => Err(CliError::usage("a local server runs, and it has no model")
            .hint("load one there, such as: ollama pull MODEL")),
        several => Err(CliError::usage("a local server runs, and no model is loaded")
            .hint(format!("name one with -m: {}", list(several.iter().copied())))),
    }
}

fn list<'a>(models: impl Iterator<Item = (&'a Server, &'a Found)>) -> String {
    let names: Vec<String> =
        models.map(|(server, found)| format!("{}/{}", server.kind.id(), found.name)).collect();
    let shown = names.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more (tack models --local)"),
    }
}
