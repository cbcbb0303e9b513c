//! `tack sessions`: list, show, export, remove.

use std::io::Write;
use std::path::Path;

use clap::Subcommand;
use serde_json::json;

use super::args::SessionFlags;
use super::error::CliError;
use super::setup;
use crate::model::{Body, Item, Mark, Part, steers};
use crate::store::{Loaded, Sessions};

/// How many sessions `list` shows unless asked for more.
const LISTED: usize = 20;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<SessionsCommand>,
}

#[derive(Subcommand, Debug)]
enum SessionsCommand {
    /// The latest sessions, newest first
    List {
        /// All of them
        #[arg(long)]
        all: bool,
        /// As JSON, one object a line
        #[arg(long)]
        json: bool,
    },
    /// One session as a person would read it
    Show {
        /// Its id, or the beginning of it; or a session file, such as a bench keeps
        #[arg(value_name = "ID")]
        id: String,
    },
    /// One session's items as JSON, one a line
    Export {
        /// As for show
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Remove sessions and everything that belongs to them
    Rm {
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
}

pub(super) fn run(args: &Args) -> Result<i32, CliError> {
    let base = setup::base(&SessionFlags::default())?;
    let Some(sessions) = base.sessions() else {
        return Err(CliError::usage("there is no folder of sessions: set HOME or TACK_HOME"));
    };
    match &args.command {
        None => list(&sessions, false, false)?,
        Some(SessionsCommand::List { all, json }) => list(&sessions, *all, *json)?,
        Some(SessionsCommand::Show { id }) => show(&read(&sessions, id)?)?,
        Some(SessionsCommand::Export { id }) => export(&read(&sessions, id)?)?,
        Some(SessionsCommand::Rm { ids }) => {
            for id in ids {
                let id = sessions.find(id)?;
                sessions.remove(&id)?;
                writeln!(std::io::stderr(), "removed {id}")?;
            }
        }
    }
    Ok(0)
}

fn read(sessions: &Sessions, id: &str) -> Result<Loaded, CliError> {
    let file = Path::new(id);
    let loaded = match file.extension() {
        Some(_) if file.is_file() => Sessions::read_file(file)?,
        Some(_) | None => sessions.read(&sessions.find(id)?)?,
    };
    for warning in &loaded.warnings {
        let _ = writeln!(std::io::stderr(), "warning: {warning}");
    }
    Ok(loaded)
}

fn list(sessions: &Sessions, all: bool, as_json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let listed = sessions.list();
    let most = if all { listed.len() } else { LISTED };
    for one in listed.iter().take(most) {
        if as_json {
            let line = json!({
                "id": one.id, "cwd": one.cwd, "created": one.created, "updated": one.updated,
                "title": one.title, "turns": one.turns,
            });
            writeln!(out, "{line}")?;
            continue;
        }
        let zone = jiff::tz::TimeZone::system();
        let when = one.updated.to_zoned_datetime(zone).strftime("%Y-%m-%d %H:%M").to_string();
        let turns = if one.turns == 1 { "turn " } else { "turns" };
        writeln!(out, "{}  {when}  {:>3} {turns}  {}", one.id, one.turns, title(&one.title))?;
    }
    if listed.is_empty() && !as_json {
        writeln!(std::io::stderr(), "no sessions yet")?;
    } else if listed.len() > most {
        writeln!(std::io::stderr(), "{} more: --all", listed.len() - most)?;
    }
    Ok(())
}

/// One line of at most 60 characters.
fn title(text: &str) -> String {
    let line: String = text.chars().map(|c| if steers(c) { ' ' } else { c }).collect();
    let mut short: String = line.trim().chars().take(60).collect();
    if line.trim().chars().nth(60).is_some() {
        short.push('…');
    }
    short
}

fn export(loaded: &Loaded) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for item in &loaded.items {
        serde_json::to_writer(&mut out, item)?;
        writeln!(out)?;
    }
    Ok(())
}

fn show(loaded: &Loaded) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "session {} in {}", loaded.header.id, loaded.header.cwd)?;
    for item in &loaded.items {
        show_item(&mut out, item)?;
    }
    Ok(())
}

fn show_item(out: &mut impl Write, item: &Item) -> std::io::Result<()> {
    match &item.body {
        Body::User(said) => {
            writeln!(out, "\n› {}", harmless(&said.text))?;
            if !said.images.is_empty() {
                writeln!(out, "  ({} images)", said.images.len())?;
            }
            Ok(())
        }
        Body::Assistant(reply) => {
            let said = reply.said();
            if !said.is_empty() {
                writeln!(out, "\n{}", harmless(&said))?;
            }
            for part in &reply.parts {
                if let Part::Call(call) = part {
                    writeln!(out, "• {}", call.action.title())?;
                }
            }
            Ok(())
        }
        Body::Result(result) => {
            for line in harmless(&result.outcome.text).lines().take(20) {
                writeln!(out, "  │ {line}")?;
            }
            Ok(())
        }
        Body::Note(note) => writeln!(out, "  (note: {})", title(&note.text)),
        Body::Summary(summary) => writeln!(out, "\n(summary of all before)\n{}", harmless(&summary.text)),
        Body::Mark(Mark::Switched { harness, model, .. }) => {
            writeln!(out, "\n(from here: {model}, harness {harness})")
        }
        Body::Mark(Mark::Interrupted) => writeln!(out, "\n(interrupted)"),
        Body::Mark(Mark::Failed { message, .. }) => writeln!(out, "\n(failed: {})", harmless(message)),
        Body::Mark(Mark::Limit { message }) => writeln!(out, "\n(stopped: {})", harmless(message)),
        Body::Mark(Mark::Checked { command, exit, .. }) => match exit {
            Some(0) => writeln!(out, "\n(checked: {} passed)", title(command)),
            Some(code) => writeln!(out, "\n(checked: {} ended with {code})", title(command)),
            None => writeln!(out, "\n(checked: {} took too long)", title(command)),
        },
        Body::Mark(Mark::Decided { what, decision, .. }) => {
            writeln!(out, "  {} · {}", harmless(&decision.words()), title(what))
        }
        Body::Mark(Mark::Stance { mode, sandbox }) => writeln!(out, "\n(from here: mode {mode}, {sandbox})"),
        Body::Mark(Mark::Completed { .. } | Mark::Blind { .. }) | Body::Scene(_) => Ok(()),
    }
}

/// Without characters that could steer the terminal.
fn harmless(text: &str) -> String {
    text.chars().filter(|&c| c == '\n' || c == '\t' || !steers(c)).collect()
}
