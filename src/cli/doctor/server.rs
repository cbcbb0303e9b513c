//! Whether the provider's server answers, and what it says of the model.

use super::super::models::LIMITS;
use super::super::runtime;
use super::{Check, CliError};
use crate::model::Model;
use crate::wire::Failure;
use crate::wire::client::HttpClient;
use crate::wire::client::error::{Place, from_status};
use crate::wire::local::{self, Kind, Saw, Server, State};
use crate::wire::models;
use crate::wire::provider::Provider;

/// Pushes what was seen; whether a call is worth a try.
pub(super) fn reach(provider: &Provider, model: &mut Model, checks: &mut Vec<Check>) -> bool {
    let looked = match Kind::of(&provider.id).filter(|_| provider.local) {
        Some(kind) => of_kind(kind, provider, model),
        None => list(provider, model),
    };
    match looked {
        Ok(check) => {
            checks.push(check);
            true
        }
        Err(error) => {
            checks.push(Check::failed("server", error));
            false
        }
    }
}

/// A local server of a known kind tells its window too.
fn of_kind(kind: Kind, provider: &Provider, model: &mut Model) -> Result<Check, CliError> {
    let tried = runtime()?
        .block_on(local::find(vec![(kind, provider.clone())]))
        .map_err(|failure| failed(&failure))?;
    match tried.into_iter().next().map(|one| one.saw) {
        Some(Saw::Server(server)) if server.kind == kind => Ok(told(&server, provider, model)),
        // What it is not known for may be in front of it: its list says whether it serves.
        Some(Saw::Server(_) | Saw::Other | Saw::Nothing) | None => list(provider, model),
    }
}

fn told(server: &Server, provider: &Provider, model: &mut Model) -> Check {
    let name = &provider.name;
    if server.state == State::Loading {
        return Check::note("server", format!("{name} answers and still loads its model"));
    }
    let same = |name: &str| name == model.name || name == format!("{}:latest", model.name);
    let Some(found) = server.models.iter().find(|found| same(&found.name)) else {
        let names: Vec<&str> = server.models.iter().map(|found| found.name.as_str()).take(8).collect();
        return Check::note("server", format!("{name} answers, and does not list {}", model.name))
            .hint(format!("it lists: {}", names.join(", ")));
    };
    model.window = model.window.or(found.window);
    if !found.loaded {
        return Check::ok("server", format!("{name} answers; {} is not loaded yet", found.name));
    }
    match found.tools {
        Some(false) => {
            Check::note("server", format!("{name} answers; its template has no calls for {}", found.name))
                .hint("start it with a template that has (llama.cpp: --jinja --chat-template-file FILE)")
        }
        Some(true) | None => Check::ok("server", format!("{name} answers; {} is loaded", found.name)),
    }
}

/// Any other server, by its list of models. Some have none, and serve all the same.
fn list(provider: &Provider, model: &mut Model) -> Result<Check, CliError> {
    let url = models::url(provider).map_err(|failure| failed(&failure))?;
    let client = HttpClient::new(provider.clone()).map_err(|failure| failed(&failure))?;
    let page = runtime()?.block_on(client.get(&url, LIMITS)).map_err(|failure| failed(&failure))?;
    let name = &provider.name;
    if matches!(page.status, 404 | 405) {
        return Ok(Check::ok("server", format!("{name} answers; it has no list of models")));
    }
    if !(200..300).contains(&page.status) {
        let at = Place { provider, model: "", url: &url };
        return Err(failed(&from_status(&at, page.status, &String::from_utf8_lossy(&page.body)).failure));
    }
    let Some(models) = page.json().as_ref().and_then(models::list) else {
        return Err(CliError::failed(format!("{name} answered with something that is no list of models"))
            .hint(format!(
                "check the base_url of provider {}, which for most servers ends with /v1",
                provider.id
            )));
    };
    let Some(found) = models.iter().find(|one| one.name == model.name) else {
        return Ok(Check::note(
            "server",
            format!("{name} answers, and {} is not among its {} models", model.name, models.len()),
        )
        .hint(format!("tack models --provider {} lists them", provider.id)));
    };
    model.window = model.window.or(found.window);
    Ok(Check::ok("server", format!("{name} answers, and has {} among {} models", model.name, models.len())))
}

fn failed(failure: &Failure) -> CliError {
    CliError::failed(failure.to_string())
}
