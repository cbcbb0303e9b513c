//! Making a server known, and taking it away again: an edit of the person's own file that leaves the rest of
//! it as it is. The key goes where keys are kept, never into that file.

use super::super::args::SessionFlags;
use super::super::error::CliError;
use super::super::setup::{self, Base};
use super::super::{login, runtime};
use super::test::{self, LIMITS, failed, page, patient};
use crate::config::{self, Change};
use crate::model::WireKind;
use crate::tui::host::NewProvider;
use crate::wire::client::HttpClient;
use crate::wire::models;
use crate::wire::provider::{Provider, Secret, builtin, shown};

const TABLE: &str = "model_providers";

/// What of an address is to be kept.
struct Found {
    base_url: String,
    wire: WireKind,
    by: By,
}

/// How the wire is known.
#[derive(Clone, Copy)]
enum By {
    Word,
    Asking,
    /// Everything there wants a key first.
    Guess,
}

/// Adds it; what came of it, a sentence each. Nothing is kept when nothing was found at the address, unless
/// the wire was named: then it is the person's word.
pub(in crate::cli) fn add(flags: &SessionFlags, new: &NewProvider) -> Result<Vec<String>, CliError> {
    let base = setup::base(flags)?;
    let id = fitting(&base, new.id.trim())?;
    let file = own_file(&base)?;
    let base_url = address(id, &new.url)?;
    let key = new.key.as_ref().map(|key| key.0.trim()).filter(|key| !key.is_empty());
    let found = match new.wire {
        Some(wire) => Found { base_url, wire, by: By::Word },
        None => runtime()?.block_on(find(id, &base_url, key))?,
    };
    let set = |name: &str, value: &str| Change::Set(key_of(id, &[name]), value.into());
    config::apply(&file, &[set("base_url", &found.base_url), set("wire_api", found.wire.name())])?;
    let Found { base_url, wire, by } = &found;
    let how = match by {
        By::Word => "",
        By::Asking => ", as asking it showed",
        By::Guess => ", which is a guess, as it tells nothing without a key",
    };
    let mut said = vec![format!(
        "{id} is added: {base_url} over the {} wire{how}; set in {}",
        wire.name(),
        file.display()
    )];
    let base = setup::base(flags)?;
    if let Some(key) = key {
        said.push(login::store(&base, id, key)?);
    }
    said.push(match test::test(&base, id) {
        Ok(line) => format!("{line}; /model chooses one"),
        Err(error) => error.into_parts().0,
    });
    Ok(said)
}

/// Takes the person's own settings of it away, and its key.
pub(in crate::cli) fn remove(base: &Base, id: &str) -> Result<String, CliError> {
    if !is_set(base, id) {
        return Err(match (builtin(id).is_some(), base.config.model_providers.contains_key(id)) {
            (true, _) => CliError::usage(format!("{id} is built in and stays; /logout {id} removes its key")),
            (false, true) => CliError::usage(format!("{id} is not set in your own file; /config says where")),
            (false, false) => CliError::usage(format!("there is no provider {id}; /provider lists them")),
        });
    }
    let file = own_file(base)?;
    let mut changes = vec![Change::Remove(key_of(id, &[]))];
    let first = base.config.model_provider.as_deref() == Some(id) && builtin(id).is_none();
    if first {
        changes.extend(["model", "model_provider"].map(|key| Change::Remove(vec![key.to_owned()])));
    }
    config::apply(&file, &changes)?;
    let mut said = format!("{id} is gone from {}", file.display());
    match builtin(id) {
        Some(_) => said.push_str(": what is built in of it holds again"),
        None => {
            if base.keys().is_some_and(|keys| keys.place(id).is_ok_and(|place| place.is_some())) {
                let gone = login::forget(base, Some(id))?;
                said.push_str(&format!("; {}", gone.trim_end_matches('.')));
            }
        }
    }
    if first {
        said.push_str("; it was what tack starts with: /model chooses another one");
    }
    Ok(said)
}

/// Whether the person's own file has something of it.
pub(super) fn is_set(base: &Base, id: &str) -> bool {
    let Some(file) = base.dirs.config_file() else { return false };
    let (file, own) = (file.display().to_string(), format!("{TABLE}.{id}."));
    base.settings
        .iter()
        .any(|set| set.key.starts_with(&own) && set.from.iter().any(|place| place.source == file))
}

fn own_file(base: &Base) -> Result<std::path::PathBuf, CliError> {
    let none = || CliError::usage("there is no folder of settings").hint("set HOME or TACK_HOME");
    base.dirs.config_file().ok_or_else(none)
}

fn key_of(id: &str, below: &[&str]) -> Vec<String> {
    [TABLE, id].iter().chain(below).map(|key| (*key).to_owned()).collect()
}

/// A name that can be written as `id/model`.
fn fitting<'a>(base: &Base, id: &'a str) -> Result<&'a str, CliError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if id.is_empty() || id.len() > 40 || !id.chars().all(plain) {
        return Err(CliError::usage("an id is a short word of a-z, 0-9, - and _, such as acme"));
    }
    if builtin(id).is_some() || id == super::super::choice::DEMO {
        return Err(CliError::usage(format!(
            "{id} is built in: /login {id} stores its key; another server wants another id"
        )));
    }
    if base.config.model_providers.contains_key(id) {
        return Err(CliError::usage(format!(
            "there is a provider {id} already; /provider rm {id} removes it"
        )));
    }
    Ok(id)
}

/// The address as it is kept: with a scheme, without what the wires append.
fn address(id: &str, written: &str) -> Result<String, CliError> {
    let wrong = || {
        CliError::usage(format!(
            "{} is no web address: it looks like https://api.acme.example/v1",
            written.trim()
        ))
    };
    let url = Provider::new(id, written.trim()).url("").map_err(|_| wrong())?;
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(CliError::usage(
            "the address holds a password or a parameter: leave it out, and enter the key as a key",
        ));
    }
    Ok(shown(&url).trim_end_matches('/').to_owned())
}

/// Where a list of models is, and which wire is spoken there.
async fn find(id: &str, base_url: &str, key: Option<&str>) -> Result<Found, CliError> {
    let at = |base_url: &str| {
        let key = key.map(Secret::new);
        patient(Provider {
            key,
            key_from: Some("what you entered".to_owned()),
            ..Provider::new(id, base_url)
        })
    };
    let mut places = vec![base_url.to_owned()];
    if !base_url
        .split('/')
        .any(|part| part.starts_with('v') && part[1..].starts_with(|c: char| c.is_ascii_digit()))
    {
        places.push(format!("{base_url}/v1"));
    }
    for place in places {
        let provider = at(&place);
        let asked = page(&provider, LIMITS).await.map_err(failed)?;
        let locked = matches!(asked.status, 401 | 403);
        if locked && key.is_some() {
            return Err(CliError::failed(format!(
                "{place} refuses the key that you entered ({})",
                asked.status
            )));
        }
        let list = asked.json();
        let listed = asked.status == 200 && list.as_ref().and_then(models::list).is_some();
        let theirs = list.is_some_and(|list| list["has_more"].is_boolean());
        let order = match listed && theirs {
            true => [WireKind::Messages, WireKind::Chat, WireKind::Responses],
            false => [WireKind::Chat, WireKind::Responses, WireKind::Messages],
        };
        for wire in order {
            if speaks(&Provider { wire, ..provider.clone() }).await? {
                return Ok(Found { base_url: place, wire, by: if locked { By::Guess } else { By::Asking } });
            }
        }
    }
    Err(CliError::failed(format!(
        "what answers at {base_url} speaks none of chat, responses, messages: look at the address, or name its \
         wire: /provider add {id} {base_url} chat"
    )))
}

/// Whether there is something that reads requests of this wire.
async fn speaks(provider: &Provider) -> Result<bool, CliError> {
    let url = provider.url(crate::wire::of(provider.wire).path()).map_err(failed)?;
    let client = HttpClient::new(provider.clone()).map_err(failed)?;
    let status = client.knock(&url, LIMITS).await.map_err(failed)?;
    Ok(matches!(status, 400..=403 | 409 | 415 | 422 | 429 | 500))
}
