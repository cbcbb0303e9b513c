//! `tack login`, `tack logout`: a provider's key, stored and removed.

use std::io::{IsTerminal, Read, Write};

use super::args::SessionFlags;
use super::error::CliError;
use super::setup::{self, Base};
use super::typed::{self, Typed};
use crate::config;
use crate::login::{self, Keys, LONGEST, Place, Wish};
use crate::wire::provider::Provider;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Whose key it is; the provider in use when left out. The key comes from stdin, or is asked for
    #[arg(value_name = "PROVIDER")]
    id: Option<String>,
    /// Keep it in a file that only you can read, not in the keychain
    #[arg(long)]
    file: bool,
}

#[derive(clap::Args, Debug)]
pub(super) struct OutArgs {
    /// Whose key to remove; the provider in use when left out
    #[arg(value_name = "PROVIDER")]
    id: Option<String>,
}

pub(super) fn run(args: &Args, flags: &SessionFlags) -> Result<i32, CliError> {
    let base = setup::base(flags)?;
    let provider = whose(&base, "login", args.id.as_deref())?;
    let keys = keys(&base)?;
    let text = if std::io::stdin().is_terminal() {
        match typed::ask(&format!("Key for {} (not shown): ", provider.name))? {
            Typed::Line(text) => text,
            Typed::Stopped(code) => return Ok(code),
        }
    } else {
        piped()?
    };
    let wish = if args.file { Wish::File } else { Wish::Keychain };
    writeln!(std::io::stdout(), "{}", save(&provider, &keys, (&text, wish))?)?;
    Ok(0)
}

/// Stores a key that was typed in a session; says where it is.
pub(super) fn store(base: &Base, id: &str, key: &str) -> Result<String, CliError> {
    let provider = config::resolve(&base.config, id, &base.env, &base.dirs)?;
    save(&provider, &keys(base)?, (key, Wish::Keychain))
}

fn save(provider: &Provider, keys: &Keys, (text, wish): (&str, Wish)) -> Result<String, CliError> {
    let key = login::parse(text)?;
    let stored = keys.save(&provider.id, &key, wish)?;
    let (name, file) = (&provider.name, keys.file());
    let mut said = match (stored.place, stored.why) {
        (Place::Keychain, _) => format!("The key for {name} is in {}.", keys.keychain()),
        (Place::File, None) => {
            format!("The key for {name} is in {}, which only you can read.", file.display())
        }
        (Place::File, Some(why)) => format!(
            "There is no keychain here: {why}.\nThe key for {name} is in {}, which only you can read.",
            file.display()
        ),
    };
    if provider.usable_key().is_some() {
        let variable = provider.env_key.as_deref().unwrap_or("CODEX_API_KEY");
        said.push_str(&format!("\n{variable} is set as well, and wins while it is."));
    }
    Ok(said)
}

pub(super) fn run_out(args: &OutArgs, flags: &SessionFlags) -> Result<i32, CliError> {
    let said = forget(&setup::base(flags)?, args.id.as_deref())?;
    writeln!(std::io::stdout(), "{said}")?;
    Ok(0)
}

/// Removes a stored key; says from where it is gone.
pub(super) fn forget(base: &Base, id: Option<&str>) -> Result<String, CliError> {
    let keys = keys(base)?;
    // Also of a provider that is no longer configured.
    let (id, name) = match id {
        Some(id) if keys.place(id)?.is_some() => (id.to_owned(), id.to_owned()),
        id => {
            let provider = whose(base, "logout", id)?;
            (provider.id, provider.name)
        }
    };
    Ok(match keys.remove(&id)? {
        Some(Place::Keychain) => format!("The key for {name} is gone from {}.", keys.keychain()),
        Some(Place::File) => format!("The key for {name} is gone from {}.", keys.file().display()),
        None => format!("There is no stored key for {name}."),
    })
}

fn keys(base: &Base) -> Result<Keys, CliError> {
    base.keys()
        .ok_or_else(|| CliError::usage("there is no folder to store a key in").hint("set HOME or TACK_HOME"))
}

/// The provider that the command was given, or the one that the configuration uses.
fn whose(base: &Base, command: &str, id: Option<&str>) -> Result<Provider, CliError> {
    if let Some(id) = id.or(base.config.model_provider.as_deref()) {
        return Ok(config::resolve(&base.config, id, &base.env, &base.dirs)?);
    }
    match base.chosen() {
        Ok((_, Some(provider))) => Ok(provider),
        Ok((_, None)) | Err(_) => Err(CliError::usage("which provider? none is in use")
            .hint(format!("name one, such as: tack {command} openrouter; tack providers lists them"))),
    }
}

/// What is piped in, to its end.
fn piped() -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().take(2 * LONGEST as u64).read_to_end(&mut bytes);
    read.map_err(|error| CliError::usage(format!("standard input cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|_| {
        CliError::usage("that is no key: it is not UTF-8").hint("give the key alone, in one line")
    })
}
