//! `tack doctor`: is all there that a run needs? Asks no server but the one that is configured.

pub(super) mod call;
mod server;

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use serde_json::json;

use super::args::SessionFlags;
use super::error::CliError;
use super::learn::{Ask, Learnt, is_here};
use super::setup::{self, Base};
use crate::model::Model;
use crate::sandbox::{Mode, Tier};
use crate::wire::provider::Provider;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Also ask the model for a call (a local one twice): costs some tokens
    #[arg(long)]
    call: bool,
    /// As one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    session: SessionFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    /// A run works, and something about it is worth knowing.
    Note,
    Failed,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Check {
    name: &'static str,
    state: State,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// What the program ends with when this failed.
    #[serde(skip)]
    code: i32,
}

impl Check {
    fn ok(name: &'static str, text: impl Into<String>) -> Self {
        Self { name, state: State::Ok, text: text.into(), hint: None, code: 0 }
    }

    fn note(name: &'static str, text: impl Into<String>) -> Self {
        Self { state: State::Note, ..Self::ok(name, text) }
    }

    fn failed(name: &'static str, error: CliError) -> Self {
        let (text, hint, code) = error.into_parts();
        Self { name, state: State::Failed, text, hint, code }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Whether the model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Quiet,
    Call,
}

pub(super) fn run(args: Args, outer: SessionFlags) -> Result<i32, CliError> {
    let flags = outer.merge(args.session);
    let checks = examined(&flags, if args.call { Reach::Call } else { Reach::Quiet });
    let mut out = std::io::stdout().lock();
    if args.json {
        let code = code(&checks);
        let text = serde_json::to_string_pretty(&json!({"ok": code == 0, "checks": checks}));
        writeln!(out, "{}", text.map_err(anyhow::Error::from)?)?;
        return Ok(code);
    }
    write(&checks, &mut out)
}

/// All that was looked at.
pub(super) fn examined(flags: &SessionFlags, reach: Reach) -> Vec<Check> {
    let mut checks = Vec::new();
    match setup::base(flags) {
        Ok(base) => examine(base, flags, reach == Reach::Call, &mut checks),
        Err(error) => checks.push(Check::failed("configuration", error)),
    }
    checks
}

/// Of several failures the one in the settings has to be mended first.
fn code(checks: &[Check]) -> i32 {
    checks.iter().map(|check| check.code).max().unwrap_or(0)
}

/// What came of asking the model for a call: the last thing that is looked at.
pub(super) fn call_line(checks: &[Check]) -> Option<String> {
    let call = checks.iter().find(|check| check.name == "call")?;
    Some(call.text.clone())
}

/// Writes it for a person; gives the exit code.
pub(super) fn write(checks: &[Check], out: &mut dyn Write) -> Result<i32, CliError> {
    for check in checks {
        let mark = match check.state {
            State::Ok => "ok",
            State::Note => "note",
            State::Failed => "FAILED",
        };
        writeln!(out, "{mark:<6}  {:<13}  {}", check.name, check.text)?;
        if let Some(hint) = &check.hint {
            writeln!(out, "{:23}{hint}", "")?;
        }
    }
    Ok(code(checks))
}

fn examine(mut base: Base, flags: &SessionFlags, call: bool, checks: &mut Vec<Check>) {
    checks.push(match base.dirs.config_file() {
        Some(path) if path.exists() => Check::ok("configuration", path.display().to_string()),
        Some(path) => Check::ok("configuration", format!("built in; there is no {}", path.display())),
        None => Check::ok("configuration", "built in"),
    });
    checks.extend(base.warnings.iter().map(|warning| Check::note("configuration", warning)));
    let ask = if call { Ask::Anew } else { Ask::Never };
    let learnt = base.use_local(flags).and_then(|()| base.learn(ask, flags.timeout));
    match learnt.and_then(|learnt| Ok((learnt, base.chosen()?))) {
        Ok((learnt, (model, provider))) => served(&base, (model, provider), (&learnt, call), checks),
        Err(error) => checks.push(Check::failed("model", error)),
    }
    checks.push(sandbox(&base, flags));
    checks.push(sessions(&base));
}

fn served(
    base: &Base,
    (mut model, mut provider): (Model, Option<Provider>),
    (learnt, call): (&Learnt, bool),
    checks: &mut Vec<Check>,
) {
    let clue = provider.as_ref().map(|provider| base.class_of_chosen(provider, &model.name).1);
    let class = clue.map(|clue| format!(", class {} {}", model.class.letter(), clue.words()));
    let class = class.unwrap_or_default();
    checks.push(Check::ok("model", format!("{} at {}{class}", model.name, model.provider)));
    match base.harness(&model) {
        Ok(harness) => {
            // The one that a run would take, with the window that it would go by.
            let mut sized = model.clone();
            base.assume_window(&mut sized);
            let (harness, _) = base.fit_window(&mut sized, harness);
            let over = provider.as_ref().map(|provider| base.over_wire(&*harness, provider, &mut model));
            match over.transpose() {
                Ok(over) => {
                    provider = over;
                    let because = base.because(&sized, harness.id()).words();
                    let text = format!("{}, over the {} wire ({because})", harness.id(), model.wire.name());
                    checks.push(Check::ok("harness", text));
                }
                Err(error) => checks.push(Check::failed("harness", error)),
            }
        }
        Err(error) => checks.push(Check::failed("harness", error)),
    }
    let Some(mut provider) = provider else {
        checks.push(Check::ok("server", "none: the model's words are recorded"));
        return;
    };
    match key(base, &mut provider) {
        Ok(check) => checks.push(check),
        Err(error) => {
            checks.push(Check::failed("key", error));
            return;
        }
    }
    let reached = server::reach(&provider, &mut model, checks);
    let assumed = base.assume_window(&mut model);
    checks.push(match model.window {
        Some(_) if assumed.is_some() => Check::note("window", assumed.unwrap_or_default()),
        Some(window) => Check::ok("window", format!("{window} tokens")),
        None => {
            Check::note("window", "unknown").hint("set model_context_window, so that tack can sum up in time")
        }
    });
    if let Ok(harness) = base.harness(&model)
        && let (_, Some(tight)) = base.fit_window(&mut model, harness)
    {
        checks.push(Check::note("window", tight));
    }
    if is_here(&provider) {
        checks.extend(call::probed(&model, learnt, base.probed.as_ref(), base.found.as_ref()));
    } else if call && reached {
        checks.push(call::try_out(&model, provider));
    }
}

fn key(base: &Base, provider: &mut Provider) -> Result<Check, CliError> {
    let state = base.key_state(provider)?;
    base.give_key(provider)?;
    Ok(Check::ok("key", state.text(provider)))
}

fn sandbox(base: &Base, flags: &SessionFlags) -> Check {
    if flags.mode().or(base.config.sandbox_mode) == Some(Mode::DangerFullAccess) {
        return Check::note("sandbox", "off: commands may do anything you may do");
    }
    let report = match super::sandbox::report() {
        Ok(report) => report,
        Err(error) => return Check::failed("sandbox", error.code(1)),
    };
    let how = "tack sandbox check says more";
    match report.tier {
        Tier::Namespaces => Check::ok("sandbox", "full: namespaces, Landlock and seccomp"),
        Tier::Landlock => Check::note("sandbox", "reduced: Landlock and seccomp only").hint(how),
        Tier::Seatbelt | Tier::WindowsToken => Check::ok("sandbox", "the system's own"),
        Tier::None => Check::failed("sandbox", CliError::failed("none can be set up here").hint(how)),
    }
}

fn sessions(base: &Base) -> Check {
    let Some(dir) = base.dirs.sessions() else {
        return Check::note("sessions", "not kept: there is no folder").hint("set HOME or TACK_HOME");
    };
    match try_to_write(&dir) {
        Ok(()) => Check::ok("sessions", dir.display().to_string()),
        Err(error) => Check::failed(
            "sessions",
            CliError::failed(format!("{} cannot be written: {error}", dir.display()))
                .hint("make room or rights there, or set TACK_HOME to another folder"),
        ),
    }
}

fn try_to_write(dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let path = dir.join(format!(".doctor-{}", std::process::id()));
    std::fs::write(&path, "x")?;
    std::fs::remove_file(&path)
}
