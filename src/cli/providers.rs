//! `tack providers`: who can serve models, and whether their keys are there.

use std::io::Write;

use serde_json::json;

use super::args::SessionFlags;
use super::error::CliError;
use super::setup::{self, Base};
use crate::config;
use crate::model::WireKind;
use crate::wire::provider::shown;

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

/// The list for a person.
pub(super) fn write(base: &Base, out: &mut dyn Write) -> Result<(), CliError> {
    list(base, false, out)
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
