//! Running a task's scripts: the one place where it is judged what came of a task.
//!
//! Scripts run in the sandbox, with a copy of the agent's folder as their working folder and nothing
//! else to write but a `/tmp` of their own. They find there, by name of variable:
//!
//! ```text
//! TACK_ANSWER   a file with the agent's last message
//! TACK_FILES    a folder with the files as the agent found them, to compare with
//! ```

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::Task;
use super::room::{Room, Script};
use crate::sandbox::{Exit, Mode, Scratch};
use crate::tools::Over;

/// The most of the last line that is shown. Characters.
const LINE: usize = 200;
/// The script and what it is told lie in the private `/tmp`, whose place depends on the sandbox. It
/// is copied there once more, as a file that we wrote could be busy: whatever else we start at that
/// moment holds it open. Rights are set anew, since an archive may have lost them.
const START: &str = r#"cp "$TMPDIR/given" "$TMPDIR/script" && chmod 700 "$TMPDIR/script" &&
TACK_ANSWER="$TMPDIR/answer" TACK_FILES="$TMPDIR/files" exec "$TMPDIR/script""#;

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
    let judged = judged(task, script, copy, room).await;
    judged.unwrap_or_else(|error| CheckResult {
        ruling: Ruling::Void,
        why: format!("could not be run: {error:#}"),
        output: String::new(),
        survivors: 0,
        denied: None,
    })
}

async fn judged(task: &Task, script: &Path, copy: &Copy<'_>, room: &Room<'_>) -> anyhow::Result<CheckResult> {
    let scratch = Scratch::make(room.scratch)?;
    task.lay_out(&scratch.path().join("files"))?;
    fs::write(scratch.path().join("answer"), copy.answer)?;
    fs::write(scratch.path().join("given"), fs::read(script)?)?;
    let seconds = task.limits.check_seconds;
    let ran = room
        .run(Script {
            words: vec![START.into()],
            cwd: copy.folder,
            mode: Mode::WorkspaceWrite,
            scratch: &scratch,
            limit: Duration::from_secs(seconds),
        })
        .await?;
    let last = || last_line(&ran.output);
    let (ruling, why) = match ran.over {
        Over::Exited(Exit::Code(0)) => (Ruling::Passed, last()),
        // What a shell says of a program that is not there or is none.
        Over::Exited(Exit::Code(126 | 127)) => (Ruling::Void, format!("could not be run: {}", last())),
        Over::Exited(Exit::Code(_)) => (Ruling::Failed, last()),
        Over::Exited(Exit::Signal(signal)) => (Ruling::Void, format!("was ended by signal {signal}")),
        Over::TimedOut => (Ruling::Void, format!("hung, and was ended after {seconds} s")),
        Over::Cancelled => (Ruling::Void, "was stopped".to_owned()),
    };
    Ok(CheckResult { ruling, why, output: ran.output, survivors: ran.survivors, denied: ran.denied })
}

fn last_line(output: &str) -> String {
    let line = output.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    line.chars().filter(|c| !c.is_control()).take(LINE).collect()
}
