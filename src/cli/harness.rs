//! `tack harness list | show`, and `bench`.

use std::io::Write;

use clap::Subcommand;
use serde_json::json;

use super::args::SessionFlags;
use super::bench;
use super::error::CliError;
use super::setup;
use crate::harness::{self, Library, Listing};
use crate::model::{Model, WireKind};
use crate::wire;
use crate::wire::provider::Quirks;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<HarnessCommand>,
}

#[derive(Subcommand, Debug)]
enum HarnessCommand {
    /// All harnesses, the user's own among them
    List {
        /// As JSON, one object a line
        #[arg(long)]
        json: bool,
    },
    /// The exact request a harness makes of a sample session
    Show {
        #[arg(value_name = "ID")]
        id: String,
        /// Only the request's body, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Measure which harness suits a model, on tasks
    Bench(Box<bench::Args>),
}

pub(super) fn run(args: &Args, flags: &SessionFlags) -> Result<i32, CliError> {
    if let Some(HarnessCommand::Bench(args)) = &args.command {
        return bench::run(args, flags);
    }
    let base = setup::base(flags)?;
    match &args.command {
        None | Some(HarnessCommand::Bench(_)) => list(&base.library, false),
        Some(HarnessCommand::List { json }) => list(&base.library, *json),
        Some(HarnessCommand::Show { id, json }) => show(&base.library, id, *json),
    }
}

fn list(library: &Library, as_json: bool) -> Result<i32, CliError> {
    let mut out = std::io::stdout().lock();
    for (id, listing) in library.list() {
        match listing {
            Ok(one) if as_json => {
                let line = json!({
                    "id": one.id, "name": one.name, "summary": one.summary, "mirrors": one.mirrors,
                    "extends": one.extends, "folder": one.from, "tokens": one.tokens,
                });
                writeln!(out, "{line}")?;
            }
            Ok(one) => {
                writeln!(out, "{:<16} {:>6} tokens  {}{}", one.id, one.tokens, one.summary, origin(&one))?;
            }
            Err(error) => writeln!(std::io::stderr(), "{id}: {error}")?,
        }
    }
    Ok(0)
}

fn origin(one: &Listing) -> String {
    let mut facts = Vec::new();
    facts.extend(one.mirrors.as_ref().map(|mirrors| format!("mirrors {mirrors}")));
    facts.extend(one.extends.as_ref().map(|base| format!("extends {base}")));
    facts.extend(one.from.as_ref().map(|folder| folder.display().to_string()));
    if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) }
}

fn show(library: &Library, id: &str, as_json: bool) -> Result<i32, CliError> {
    let broken = |error: harness::LoadError| CliError::usage(error.to_string());
    let first = library.get(id).map_err(broken)?.wires().first().copied();
    let wire = wire::of(first.unwrap_or(WireKind::Chat));
    let model = Model { wire: wire.kind(), ..harness::sample_model() };
    let sample = library.sample(id, &model).map_err(broken)?;
    let body = wire.encode(&sample.prompt, &model, &Quirks::default());
    let text = serde_json::to_string_pretty(&body).map_err(anyhow::Error::from)?;
    let mut out = std::io::stdout().lock();
    if !as_json {
        let one = &sample.listing;
        writeln!(out, "{}: {}{}", one.name, one.summary, origin(one))?;
        writeln!(
            out,
            "about {} tokens before the user's words; the first request of a sample session:\n",
            one.tokens
        )?;
    }
    writeln!(out, "{text}")?;
    Ok(0)
}
