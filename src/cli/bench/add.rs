//! `tack harness bench add --from SESSION`: a task made of what once was asked.

use std::io::Write;
use std::path::PathBuf;

use super::flags::Flags;
use super::{note, results, runner};
use crate::agent::Stopper;
use crate::bench::{Wanted, add};
use crate::cli::args::SessionFlags;
use crate::cli::error::CliError;
use crate::cli::exec::signals;
use crate::cli::{runtime, setup};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Id of the session, or the beginning of it
    #[arg(long, value_name = "SESSION")]
    from: String,
    /// Name of the task; made of the prompt when left out
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Folder of task folders to add it to; one in tack's data folder when left out
    #[arg(long, value_name = "DIR")]
    tasks: Option<PathBuf>,
}

pub(super) fn run(args: &Args, session: &SessionFlags) -> Result<i32, CliError> {
    let base = setup::base(session)?;
    let nowhere = || CliError::usage("there is no folder of sessions: set HOME or TACK_HOME");
    let sessions = base.sessions().ok_or_else(nowhere)?;
    let loaded = sessions.read(&sessions.find(&args.from)?)?;
    let dir = match &args.tasks {
        Some(dir) => std::path::absolute(dir)?,
        None => base.dirs.data.as_ref().ok_or_else(nowhere)?.join("bench/tasks"),
    };
    let stopper = Stopper::default();
    let runner = runner(&base, &Flags::default(), &results(&base, &Flags::default())?, &[], &stopper)?;
    let scratch = runner.place()?;
    let room = runner.room(&runner.wish, scratch.path());
    let wanted = Wanted { session: &loaded, name: args.name.as_deref(), dir: &dir };
    let added = runtime()?.block_on(async {
        tokio::select! {
            added = add(&wanted, &room) => Some(added),
            () = signals(&stopper) => None,
        }
    });
    let Some(added) = added else { return Ok(130) };
    let added = added?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", added.dir.display())?;
    for taken in &added.taken {
        note(taken);
    }
    for open in &added.open {
        note(&format!("to do: {open}"));
    }
    note(&format!("then test it: tack harness bench --selftest --tasks {}", dir.display()));
    Ok(0)
}
