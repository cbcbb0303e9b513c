//! The command line: what can be called and with which flags. One file per subcommand.
//!
//! Everything here ends in an exit code; `error` is the one place where an error becomes words.

mod args;
mod bench;
mod choice;
mod demo;
mod doctor;
mod error;
mod exec;
mod harness;
mod keys;
mod learn;
mod local;
mod login;
mod models;
mod providers;
mod repl;
mod sandbox;
mod sessions;
mod setup;
mod stance;
#[cfg(test)]
mod tests;
mod typed;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};

use crate::tui::host::Reach;
use args::{ExecFlags, SessionFlags};
use error::CliError;

/// A terminal coding agent whose harness is a folder of readable files.
#[derive(Parser, Debug)]
#[command(name = "tack", version, disable_help_subcommand = true, args_conflicts_with_subcommands = false)]
#[command(override_usage = "tack [PROMPT] [OPTIONS]\n       tack [OPTIONS] COMMAND")]
struct Cli {
    /// Run this one prompt without a screen; the same as `tack exec PROMPT`
    #[arg(short = 'p', long = "print", value_name = "PROMPT", num_args = 0..=1, default_missing_value = "-")]
    print: Option<String>,

    // In the usage already.
    #[arg(value_name = "PROMPT", hide = true)]
    prompt: Option<String>,

    /// Lines of text alone, nothing drawn: for screen readers and simple terminals
    #[arg(long)]
    plain: bool,

    #[command(flatten)]
    session: SessionFlags,

    #[command(flatten)]
    exec: ExecFlags,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run one prompt: the last message on stdout, everything else on stderr
    Exec(Box<exec::Args>),
    /// List, show, export or remove earlier sessions
    Sessions(sessions::Args),
    /// Harnesses: list, show, make, check, compare and measure them
    Harness(harness::Args),
    /// Run one command in the sandbox, or see what the sandbox can hold here
    Sandbox(sandbox::Args),
    /// See a whole task done, by a recorded model in the real sandbox; needs no key
    Demo(Box<demo::Args>),
    /// Store a key: in the system's keychain, or in a file where there is none
    Login(login::Args),
    /// Remove a stored key
    Logout(login::OutArgs),
    /// List providers and whether their keys are there
    Providers(providers::Args),
    /// List models: those tack knows, a service's own, or those of local servers
    Models(models::Args),
    /// See whether all is set up: key, server, window, sandbox
    Doctor(Box<doctor::Args>),
    /// Go on with an earlier session
    Resume(ResumeArgs),
    // Named in the contract and not built yet: not in the help, one sentence when called.
    #[command(hide = true)]
    Fork(Later),
    #[command(hide = true)]
    Acp(Later),
    #[command(hide = true)]
    Mcp(Later),
    #[command(hide = true)]
    McpServer(Later),
    #[command(hide = true)]
    Completions(Later),
    #[command(hide = true)]
    Update(Later),
}

#[derive(clap::Args, Debug)]
struct ResumeArgs {
    /// Id of the session, or the beginning of it; without one, choose from a list
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The latest session, of this folder before all others
    #[arg(long)]
    last: bool,
    /// List those of all folders
    #[arg(long)]
    all: bool,
    /// Lines of text alone, nothing drawn: for screen readers and simple terminals
    #[arg(long)]
    plain: bool,
    #[command(flatten)]
    session: SessionFlags,
}

/// Takes whatever follows, to say the same of it.
#[derive(clap::Args, Debug)]
struct Later {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    rest: Vec<OsString>,
}

/// Parses the arguments, runs the command and gives the process's exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> i32 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return error::usage(&error, &Cli::command()),
    };
    match dispatch(cli) {
        Ok(code) => code,
        Err(error) => error::report(&error),
    }
}

fn dispatch(cli: Cli) -> Result<i32, CliError> {
    let Cli { print, prompt, plain, session, exec, command } = cli;
    match command {
        None => match (print, prompt) {
            (Some(dash), Some(prompt)) if dash == "-" => exec::run_prompt(Some(&prompt), &session, &exec),
            (Some(_), Some(_)) => Err(CliError::usage("two prompts: give one")),
            (Some(print), None) => exec::run_prompt(Some(&print), &session, &exec),
            (None, prompt) => repl::run(prompt, &repl::First::New, (&session, repl::Face::of(plain))),
        },
        Some(_) if print.is_some() => Err(CliError::usage("-p goes without a subcommand")),
        Some(Command::Exec(args)) => exec::run(*args, session, exec),
        Some(Command::Sessions(args)) => sessions::run(&args),
        Some(Command::Harness(args)) => harness::run(&args, &session),
        Some(Command::Sandbox(args)) => sandbox::run(args),
        Some(Command::Demo(args)) => demo::run(*args, session, exec),
        Some(Command::Resume(args)) => {
            let first = match (args.id, args.last, args.all) {
                (Some(_), true, _) => return Err(CliError::usage("give an id or --last, not both")),
                (Some(id), false, _) => repl::First::Id(id),
                (None, true, _) => repl::First::Last,
                (None, false, true) => repl::First::Choose(Reach::All),
                (None, false, false) => repl::First::Choose(Reach::Folder),
            };
            let face = repl::Face::of(plain || args.plain);
            repl::run(None, &first, (&session.merge(args.session), face))
        }
        Some(Command::Fork(_)) => Err(later("fork")),
        Some(Command::Models(args)) => models::run(&args, &session),
        Some(Command::Providers(args)) => providers::run(&args, &session),
        Some(Command::Login(args)) => login::run(&args, &session),
        Some(Command::Logout(args)) => login::run_out(&args, &session),
        Some(Command::Acp(_)) => Err(later("acp")),
        Some(Command::Mcp(_)) => Err(later("mcp")),
        Some(Command::McpServer(_)) => Err(later("mcp-server")),
        Some(Command::Doctor(args)) => doctor::run(*args, session),
        Some(Command::Completions(_)) => Err(later("completions")),
        Some(Command::Update(_)) => Err(later("update")),
    }
}

fn later(command: &str) -> CliError {
    CliError::usage(format!("`tack {command}` is not built yet"))
}

/// One thread: to wake another one for each piece of a reply costs more than to read it.
fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(format!("cannot start: {error}")))
}
