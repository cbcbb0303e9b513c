//! `tack demo`: a whole task, seen done. The model's words are recorded, all else is real.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::args::{ExecFlags, SessionFlags};
use super::choice::DEMO;
use super::error::CliError;
use super::exec::{Turn, output, run_ready};
use super::setup::{self, Which};
use crate::agent::Stopper;
use crate::model::Said;
use crate::sandbox::{Mode, Tier};

mod words;

pub(super) use words::said;

const PROMPT: &str = "The test in test.sh fails. Find out why and fix it.";
const FILES: [(&str, &str); 2] =
    [("cart.sh", include_str!("demo/cart.sh")), ("test.sh", include_str!("demo/test.sh"))];

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    session: SessionFlags,
    #[command(flatten)]
    exec: ExecFlags,
}

pub(super) fn run(args: Args, outer: SessionFlags, exec: ExecFlags) -> Result<i32, CliError> {
    let flags = outer.merge(args.session);
    let exec = exec.merge(args.exec);
    if flags.model.is_some() || flags.provider.is_some() {
        return Err(CliError::usage("the demo has a model of its own")
            .hint("try yours with: tack -p PROMPT -m MODEL"));
    }
    let harness = flags.harness.clone().unwrap_or_else(|| "minimal".to_owned());
    let flags = SessionFlags {
        provider: Some(DEMO.to_owned()),
        model: Some("recorded".to_owned()),
        harness: Some(harness),
        ..flags
    };
    setup::base(&flags)?.choose()?.recorded()?;
    if flags.mode() != Some(Mode::DangerFullAccess) {
        can_hold()?;
    }
    let folder = project(flags.cd.as_deref().unwrap_or(Path::new(".")))?;
    let mut stderr = std::io::stderr();
    let _ = writeln!(
        stderr,
        "The model's words in this demo are recorded. Everything else is real: the loop, the harness,\n\
         the commands in the sandbox, the change to the file.\n\nproject: {}\nprompt:  {PROMPT}\n",
        folder.display()
    );
    let flags = SessionFlags { cd: Some(folder.clone()), ..flags };
    let ready = setup::base(&flags)?.ready(&flags, &Which::New, Stopper::default())?;
    let said = Said { text: PROMPT.to_owned(), images: Vec::new() };
    let code =
        run_ready(ready, Turn { said, schema: None, timeout: flags.timeout, nobody: None }, &output(&exec))?;
    if code == 0 {
        let _ = writeln!(
            stderr,
            "\nSee for yourself: cd {} && sh test.sh\nWith a model of your own: tack -p \"PROMPT\" -m PROVIDER/MODEL",
            folder.display()
        );
    }
    Ok(code)
}

/// The demo is to show the sandbox, so it does not begin without one.
fn can_hold() -> Result<(), CliError> {
    let report = super::sandbox::report()?;
    match report.tier {
        Tier::None => Err(CliError::failed("no sandbox is possible here; tack sandbox check says why")
            .hint("to see the demo all the same, without a sandbox: tack demo --sandbox danger-full-access")),
        Tier::Namespaces | Tier::Landlock | Tier::Seatbelt | Tier::WindowsToken => Ok(()),
    }
}

/// A fresh folder with a small project whose test fails.
fn project(parent: &Path) -> Result<PathBuf, CliError> {
    let trouble = |path: &Path, error: std::io::Error| {
        CliError::failed(format!("cannot make the demo's project {}: {error}", path.display()))
            .hint("run tack demo in a folder that can be written")
    };
    for n in 1..1000 {
        let folder = parent.join(format!("tack-demo-{n}"));
        match std::fs::create_dir(&folder) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(trouble(&folder, error)),
        }
        for (name, text) in FILES {
            std::fs::write(folder.join(name), text).map_err(|error| trouble(&folder, error))?;
        }
        return folder.canonicalize().map_err(|error| trouble(&folder, error));
    }
    Err(CliError::failed("there are a thousand demo projects here already; remove some"))
}
