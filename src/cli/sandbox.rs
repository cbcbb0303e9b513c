//! `tack sandbox run | check`.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::Subcommand;

use super::args::{Git, SandboxMode, SessionFlags};
use super::error::CliError;
use super::setup;
use crate::sandbox::{Cmd, Io, probe};

/// The sandbox itself could not be set up.
const NO_SANDBOX: i32 = probe::SETUP_FAILED as i32;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(subcommand)]
    command: SandboxCommand,
}

#[derive(Subcommand, Debug)]
enum SandboxCommand {
    /// Run one command as the model's commands are run, and pass its status on
    Run(RunArgs),
    /// What the sandbox can hold on this machine, found by trying
    Check {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args, Debug)]
struct RunArgs {
    /// What the command may do
    #[arg(long, value_enum, value_name = "MODE", default_value = "workspace-write")]
    mode: SandboxMode,
    /// Folder to run it in
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    cd: Option<PathBuf>,
    /// Further folder that may be written (repeatable)
    #[arg(long, value_name = "DIR")]
    add_dir: Vec<PathBuf>,
    /// Let it reach the network
    #[arg(long)]
    network: bool,
    /// Whether it may write the repository's .git
    #[arg(long, value_enum, value_name = "ACCESS")]
    git: Option<Git>,
    /// The command and its arguments, after --
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(super) fn run(args: Args) -> Result<i32, CliError> {
    match args.command {
        SandboxCommand::Run(args) => run_command(args),
        SandboxCommand::Check { json } => check(json),
    }
}

fn run_command(args: RunArgs) -> Result<i32, CliError> {
    let mut flags = SessionFlags {
        cd: args.cd,
        add_dir: args.add_dir,
        sandbox: Some(args.mode),
        git: args.git,
        ..SessionFlags::default()
    };
    if args.network {
        flags.config.push("sandbox_workspace_write.network_access=true".to_owned());
    }
    let base = setup::base(&flags).map_err(|error| error.code(NO_SANDBOX))?;
    let (policy, notices, _scratch) = base.policy(&flags).map_err(|error| error.code(NO_SANDBOX))?;
    for notice in notices {
        let _ = writeln!(std::io::stderr(), "note: {notice}");
    }
    let mut words = args.command.into_iter();
    let Some(program) = words.next() else { return Err(CliError::usage("no command")) };
    let cmd = Cmd {
        program,
        args: words.collect(),
        cwd: policy.cwd.clone(),
        env: base.command_env(&policy),
        io: Io::Inherited,
    };
    let sandbox = crate::sandbox::system();
    let status = runtime()?
        .block_on(probe::run(&*sandbox, &policy, &cmd))
        .map_err(|error| CliError::failed(error.to_string()).code(NO_SANDBOX))?;
    Ok(i32::from(status))
}

/// What the sandbox can hold here.
pub(super) fn report() -> Result<probe::Report, CliError> {
    Ok(runtime()?.block_on(probe::check()))
}

fn check(json: bool) -> Result<i32, CliError> {
    let report = report()?;
    let mut out = std::io::stdout();
    if json {
        let text = serde_json::to_string_pretty(&report).map_err(anyhow::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        writeln!(out, "{report}")?;
    }
    Ok(0)
}

fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(format!("cannot start: {error}")).code(NO_SANDBOX))
}
