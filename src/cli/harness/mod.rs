//! `tack harness …`: one file per command.

mod check;
mod diff;
mod list;
mod new;
mod show;

use std::io::Write;
use std::path::PathBuf;

use clap::Subcommand;

use super::args::SessionFlags;
use super::bench;
use super::error::CliError;
use super::setup;
use crate::harness::LoadError;

/// The reference, for whoever has the program and no checkout.
const KEYS: &str = include_str!("../../../harnesses/README.md");

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
    Show(show::Args),
    /// Make a harness of your own that starts from another one
    New(new::Args),
    /// Say what is wrong with a harness, with file and line
    Check {
        /// Harness, or its folder; without one, all
        #[arg(value_name = "ID|DIR")]
        what: Option<PathBuf>,
        /// As JSON, one object a line
        #[arg(long)]
        json: bool,
    },
    /// Every key that a harness can have, and what it says
    Keys,
    /// What differs between two harnesses, for the model and in how they work
    Diff {
        /// Harness
        #[arg(value_name = "A")]
        before: String,
        /// The other one
        #[arg(value_name = "B")]
        after: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Measure which harness suits a model, on tasks
    Bench(Box<bench::Args>),
}

pub(super) fn run(args: &Args, flags: &SessionFlags) -> Result<i32, CliError> {
    match &args.command {
        Some(HarnessCommand::Bench(args)) => bench::run(args, flags),
        None => list::run(&setup::base(flags)?.library, false),
        Some(HarnessCommand::List { json }) => list::run(&setup::base(flags)?.library, *json),
        Some(HarnessCommand::Show(args)) => show::run(args, flags),
        Some(HarnessCommand::Keys) => {
            std::io::stdout().lock().write_all(KEYS.as_bytes())?;
            Ok(0)
        }
        Some(HarnessCommand::New(args)) => new::run(args, &setup::base(flags)?),
        Some(HarnessCommand::Check { what, json }) => {
            check::run(&setup::base(flags)?, what.as_deref(), *json)
        }
        Some(HarnessCommand::Diff { before, after, json }) => {
            diff::run(&setup::base(flags)?.library, (before, after), *json)
        }
    }
}

/// A harness that cannot be had.
#[allow(clippy::needless_pass_by_value)] // as `map_err` hands it over
fn broken(error: LoadError) -> CliError {
    CliError::usage(error.to_string())
}
