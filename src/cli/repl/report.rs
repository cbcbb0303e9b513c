//! Reports that are shown in the session as the commands of the same name print them.

use super::super::args::SessionFlags;
use super::super::error::CliError;
use super::super::learn::{Ask, is_here};
use super::super::{doctor, providers, sandbox, setup};
use super::Wish;
use crate::model::Calls;
use crate::tui::host::Report;

pub(super) fn of(flags: &SessionFlags, what: Report) -> Result<String, CliError> {
    let mut out = Vec::new();
    match what {
        Report::Doctor => drop(doctor::write(&doctor::examined(flags, doctor::Reach::Quiet), &mut out)?),
        Report::Providers => providers::write(&setup::base(flags)?, &mut out)?,
        Report::Sandbox => {
            let base = setup::base(flags)?;
            let (policy, notices, _scratch) = base.policy(flags)?;
            let mut text = format!("mode {}\n", mode(policy.mode));
            for root in &policy.write_roots {
                text.push_str(&format!("may write  {}\n", root.display()));
            }
            for path in &policy.protect {
                text.push_str(&format!("read-only  {}\n", path.display()));
            }
            for path in policy.hide.iter().filter(|path| path.exists()) {
                text.push_str(&format!("hidden     {}\n", path.display()));
            }
            for notice in notices {
                text.push_str(&format!("{notice}\n"));
            }
            out.extend(text.into_bytes());
            out.extend(sandbox::report()?.to_string().into_bytes());
        }
        Report::Config => out.extend(config(flags)?.into_bytes()),
    }
    Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
}

fn mode(mode: crate::sandbox::Mode) -> &'static str {
    match mode {
        crate::sandbox::Mode::ReadOnly => "read-only",
        crate::sandbox::Mode::WorkspaceWrite => "workspace-write",
        crate::sandbox::Mode::DangerFullAccess => "danger-full-access",
    }
}

/// The settings that are in force, by where each comes from.
fn config(flags: &SessionFlags) -> Result<String, CliError> {
    let base = setup::base(flags)?;
    let mut text = String::new();
    let mut line = |key: &str, value: Option<String>| {
        text.push_str(&format!("{key:<28} {}\n", value.unwrap_or_else(|| "(not set)".to_owned())));
    };
    let config = &base.config;
    line("model", config.model.clone());
    line("model_provider", config.model_provider.clone());
    line("harness", config.harness.clone().or_else(|| Some("auto".to_owned())));
    line("model_reasoning_effort", config.model_reasoning_effort.clone());
    line("model_context_window", config.model_context_window.map(|tokens| tokens.to_string()));
    line("sandbox_mode", config.sandbox_mode.map(|set| mode(set).to_owned()));
    if let Some(file) = base.dirs.config_file() {
        let there = if file.exists() { "" } else { " (there is none yet)" };
        text.push_str(&format!("\nfrom {}{there}, the project's .tack/config.toml, flags\n", file.display()));
    }
    Ok(text)
}

/// Has a model make one call.
pub(super) fn try_model(flags: &SessionFlags, provider: &str, name: &str) -> Result<String, CliError> {
    let wish = Wish { model: Some((provider.to_owned(), name.to_owned())), ..Wish::default() };
    let flags = super::Repl::new(flags.clone()).with(&wish);
    let mut base = setup::base(&flags)?;
    base.say = std::sync::Arc::new(|_| {});
    base.use_local(&flags)?;
    let (model, served) = base.chosen()?;
    if !served.as_ref().is_some_and(is_here) {
        let checks = doctor::examined(&flags, doctor::Reach::Call);
        return doctor::call_line(&checks)
            .ok_or_else(|| CliError::failed(format!("{} could not be asked", model.name)));
    }
    let before = std::time::Instant::now();
    let learnt = base.learn(Ask::Anew, flags.timeout)?;
    if let Some(why) = learnt.failed {
        return Err(CliError::failed(why));
    }
    let took = before.elapsed().as_millis();
    let calls = base.probed.as_ref().map_or(Calls::None, |probed| probed.calls);
    Ok(match calls {
        Calls::Wire => format!("tool calls work · {took} ms"),
        Calls::Text => format!("its calls come as text, which tack reads · {took} ms"),
        Calls::None => format!("it made no call: a harness whose calls are text suits it · {took} ms"),
    })
}
