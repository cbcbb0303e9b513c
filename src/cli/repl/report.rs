//! Reports that are shown in the session as the commands of the same name print them.

use super::super::args::SessionFlags;
use super::super::error::CliError;
use super::super::learn::{Ask, is_here};
use super::super::{doctor, sandbox, setup};
use super::Wish;
use super::settings::{self, Since};
use crate::model::Calls;
use crate::tui::host::Report;

pub(super) fn of(flags: &SessionFlags, what: Report, since: &Since<'_>) -> Result<String, CliError> {
    let mut out = Vec::new();
    match what {
        Report::Doctor => drop(doctor::write(&doctor::examined(flags, doctor::Reach::Quiet), &mut out)?),
        Report::Sandbox => out.extend(sandbox::report()?.to_string().into_bytes()),
        Report::Config => out.extend(settings::text(flags, since)?.into_bytes()),
    }
    Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
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
