//! `tack providers`: who can serve models, and whether their keys are there. In a session also: asked what
//! they have, added, taken away.

pub(super) mod add;
pub(super) mod test;

use std::io::Write;

use serde_json::json;

use super::args::SessionFlags;
use super::error::CliError;
use super::local::running;
use super::setup::{self, Base};
use crate::config;
use crate::model::WireKind;
use crate::tui::host::{Origin, ProviderRow};
use crate::wire::local::Kind;
use crate::wire::provider::{builtin, shown};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// As JSON, one object a line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, flags: &SessionFlags) -> Result<i32, CliError> {
    list(&setup::base(flags)?, args.json, &mut std::io::stdout().lock())?;
    Ok(0)
}

/// As a session lists them: those that were looked for on this machine, too.
pub(super) fn rows(base: &Base) -> Vec<ProviderRow> {
    let tried = base.look(&Kind::ALL).unwrap_or_default();
    let here: Vec<&str> = running(&tried).iter().map(|server| server.kind.id()).collect();
    let row = |id: String| {
        let provider = config::resolve(&base.config, &id, &base.env, &base.dirs).ok()?;
        let state = base.key_state(&provider).ok()?;
        let wires: Vec<&str> = provider.wires().into_iter().map(WireKind::name).collect();
        let looked = Kind::of(&id).filter(|_| provider.local);
        Some(ProviderRow {
            name: provider.name.clone(),
            address: provider.url("").map(|url| shown(&url)).unwrap_or_default(),
            wires: wires.join(" "),
            key: state.text(&provider),
            ready: state.is_there(),
            origin: origin(base, &id),
            answers: looked.map(|_| here.contains(&id.as_str())),
            id,
        })
    };
    config::known(&base.config).into_iter().filter_map(row).collect()
}

/// Who made it known. What a variable says of a server is no setting.
fn origin(base: &Base, id: &str) -> Origin {
    match (builtin(id).is_some(), add::is_set(base, id)) {
        (true, true) => Origin::Changed,
        (true, false) => Origin::BuiltIn,
        (false, _) => Origin::Own,
    }
}

fn list(base: &Base, as_json: bool, out: &mut dyn Write) -> Result<(), CliError> {
    for id in config::known(&base.config) {
        let provider = match config::resolve(&base.config, &id, &base.env, &base.dirs) {
            Ok(provider) => provider,
            Err(error) => {
                writeln!(std::io::stderr(), "{error}")?;
                continue;
            }
        };
        let state = base.key_state(&provider)?;
        let wires: Vec<&str> = provider.wires().into_iter().map(WireKind::name).collect();
        let (name, key) = (&provider.name, state.text(&provider));
        let address = provider.url("").map(|url| shown(&url)).unwrap_or_default();
        if as_json {
            let line = json!({
                "id": id, "name": name, "wire": provider.wire.name(), "wires": wires, "base_url": address, "local": provider.local,
                "env_key": provider.env_key, "key": state.word(),
            });
            writeln!(out, "{line}")?;
        } else {
            let wires = wires.join(" ");
            writeln!(out, "{id:<16} {name:<22} {wires:<23}  {key:<28}  {address}")?;
        }
    }
    Ok(())
}
