//! Running a task's scripts: the one place where it is judged what came of a task.
//!
//! Scripts run in the sandbox, with a copy of the agent's folder as their working folder and nothing
//! else to write but a `/tmp` of their own. They find there, by name of variable:
//!
//! ```text
//! TACK_ANSWER   a file with the agent's last message
//! TACK_FILES    a folder with the files as the agent found them, to compare with
//! ```

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Task;
use crate::sandbox::{Cmd, EnvWish, Exit, Io, Sandbox, Scratch, Wish, denial_hint};
use crate::tools::{Over, Until, drive, end};

/// How much of a script's output is kept, from its end. Bytes.
const TAIL: usize = 16 * 1024;
/// The most of the last line that is shown. Characters.
const LINE: usize = 200;
/// The script and what it is told lie in the private `/tmp`, whose place depends on the sandbox.
const START: &str = r#"TACK_ANSWER="$TMPDIR/answer" TACK_FILES="$TMPDIR/files" exec "$TMPDIR/script""#;

/// Where scripts run.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    pub sandbox: &'a dyn Sandbox,
    /// What each script's policy is made of; `cwd` and `tmp` are filled in.
    pub wish: &'a Wish,
    /// tack's own environment; filtered as for any command.
    pub vars: &'a [(OsString, OsString)],
    /// A folder to make scratch folders in; made when missing.
    pub scratch: &'a Path,
    pub cancel: &'a CancellationToken,
}

/// What a script said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    pub ruling: Ruling,
    /// The last line it printed; for [`Ruling::Void`], why there is no judgement.
    pub why: String,
    /// The end of what it printed.
    pub output: String,
    /// Processes that it left behind. They were ended.
    pub survivors: usize,
    /// What it tried and the sandbox did not let it do.
    pub denied: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Exit 0.
    Passed,
    /// Any other exit.
    Failed,
    /// It judged nothing: it hung, was killed, could not be started, or the bench was stopped.
    Void,
}

impl CheckResult {
    fn void(why: String) -> Self {
        Self { ruling: Ruling::Void, why, output: String::new(), survivors: 0, denied: None }
    }
}

/// Runs the task's check in `folder`, a copy of the agent's folder that nobody else uses: the check
/// may write there. `answer` is the agent's last message. Takes no longer than the task's limit and
/// a few seconds, and nothing that it started is left.
pub async fn run_check(task: &Task, folder: &Path, answer: &str, room: &Room<'_>) -> CheckResult {
    run(task, &task.check(), &Copy { folder, answer }, room).await
}

/// Has the task done in `folder` by its own script; None when it has none. What that prints is the
/// answer that goes to [`run_check`].
pub async fn run_solve(task: &Task, folder: &Path, room: &Room<'_>) -> Option<CheckResult> {
    Some(run(task, &task.solve()?, &Copy { folder, answer: "" }, room).await)
}

/// What a script looks at.
struct Copy<'a> {
    folder: &'a Path,
    answer: &'a str,
}

async fn run(task: &Task, script: &Path, copy: &Copy<'_>, room: &Room<'_>) -> CheckResult {
    tried(task, script, copy, room).await.unwrap_or_else(|error| CheckResult::void(format!("{error:#}")))
}

async fn tried(task: &Task, script: &Path, copy: &Copy<'_>, room: &Room<'_>) -> anyhow::Result<CheckResult> {
    let scratch = Scratch::make(room.scratch)?;
    task.lay_out(&scratch.path().join("files"))?;
    fs::write(scratch.path().join("answer"), copy.answer)?;
    place(script, &scratch.path().join("script"))?;
    let wish =
        Wish { cwd: copy.folder.to_owned(), tmp: Some(scratch.path().to_owned()), ..room.wish.clone() };
    let policy = wish.settle()?.policy;
    let mut env = EnvWish { vars: room.vars.to_vec(), ..EnvWish::default() }.build(&policy);
    if policy.tmp.is_none() {
        env.retain(|(name, _)| name != "TMPDIR");
        env.push(("TMPDIR".into(), scratch.path().into()));
    }
    let args = vec!["-c".into(), START.into()];
    let cmd = Cmd { program: "/bin/sh".into(), args, cwd: policy.cwd.clone(), env, io: Io::Captured };
    let seconds = task.limits.check_seconds;
    let until = Until { deadline: Some(Instant::now() + Duration::from_secs(seconds)), cancel: room.cancel };

    let mut running = room.sandbox.spawn(&policy, &cmd).await?;
    let mut output = Tail::default();
    let over = drive(running.as_mut(), until, &mut |bytes| output.push(bytes)).await;
    let over = over.unwrap_or(Over::Cancelled);
    let survivors = end(running.as_mut(), over, &mut |bytes| output.push(bytes)).await;
    let output = output.text();
    let last = || last_line(&output);
    let (ruling, why) = match over {
        Over::Exited(Exit::Code(0)) => (Ruling::Passed, last()),
        // What a shell says of a program that is not there or is none.
        Over::Exited(Exit::Code(126 | 127)) => (Ruling::Void, format!("could not be run: {}", last())),
        Over::Exited(Exit::Code(_)) => (Ruling::Failed, last()),
        Over::Exited(Exit::Signal(signal)) => (Ruling::Void, format!("was ended by signal {signal}")),
        Over::TimedOut => (Ruling::Void, format!("hung, and was ended after {seconds} s")),
        Over::Cancelled => (Ruling::Void, "was stopped".to_owned()),
    };
    let denied = denial_hint(&policy, &output);
    Ok(CheckResult { ruling, why, output, survivors, denied })
}

/// Copies a script to where commands see it. Rights are ours to set: an archive may have lost them.
fn place(script: &Path, to: &Path) -> std::io::Result<()> {
    fs::write(to, fs::read(script)?)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(to, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// The end of a stream of bytes.
#[derive(Default)]
struct Tail(Vec<u8>);

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        // Not at every push, or a long stream would be moved again and again.
        if self.0.len() > 2 * TAIL {
            self.0.drain(..self.0.len() - TAIL);
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0[self.0.len().saturating_sub(TAIL)..]).into_owned()
    }
}

fn last_line(output: &str) -> String {
    let line = output.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    line.chars().filter(|c| !c.is_control()).take(LINE).collect()
}
