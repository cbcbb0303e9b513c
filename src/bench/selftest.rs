//! Testing the tasks themselves: a check says no of the untouched folder, and yes once the task is done.
//!
//! No model and no agent: `check` and `solve` only, as [`super::run_check`] runs them.

use std::io;

use futures_util::{StreamExt, stream};

use super::check::{CheckResult, Ruling, run_check, run_solve};
use super::room::Room;
use super::task::Task;
use crate::sandbox::Scratch;

/// What is to be said of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tested {
    /// Its check tells done from not done.
    Good,
    /// Its check says no of the untouched folder; whether it ever says yes is not known.
    Unsolved,
    /// One sentence each.
    Bad(Vec<String>),
    /// Why it was not tried.
    Skipped(String),
}

/// Tests all of `tasks`, so many at once; the answers are in their order.
pub async fn selftest_all(tasks: &[Task], room: &Room<'_>, at_once: usize) -> Vec<Tested> {
    stream::iter(tasks).map(|task| selftest(task, room)).buffered(at_once.max(1)).collect().await
}

/// Tests one task, in fresh folders that are gone afterwards.
pub async fn selftest(task: &Task, room: &Room<'_>) -> Tested {
    let path = room.vars.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
    if let Some(program) = task.lacks(&path.unwrap_or_default()) {
        return Tested::Skipped(format!("there is no {program} here"));
    }
    let tested = tried(task, room)
        .await
        .unwrap_or_else(|error| Tested::Bad(vec![format!("its files could not be laid out: {error}")]));
    match room.cancel.is_cancelled() {
        true => Tested::Skipped("stopped".to_owned()),
        false => tested,
    }
}

async fn tried(task: &Task, room: &Room<'_>) -> io::Result<Tested> {
    let untouched = Copy::of(task, room)?;
    let said = run_check(task, &untouched.folder, "", room).await;
    let mut faults = manners("check", &said);
    match said.ruling {
        Ruling::Passed => faults.push("check passes on the untouched folder".to_owned()),
        Ruling::Failed if said.why.is_empty() => {
            faults
                .push("check prints nothing when it says no; let its last line say what is wrong".to_owned());
        }
        Ruling::Failed => {}
        Ruling::Void => faults.push(format!("check {}", said.why)),
    }
    let done = Copy::of(task, room)?;
    // A check that hung once would hang again.
    let solve = match said.ruling {
        Ruling::Void => None,
        Ruling::Passed | Ruling::Failed => run_solve(task, &done.folder, room).await,
    };
    let solved = solve.is_some();
    if let Some(solve) = solve {
        faults.extend(manners("solve", &solve));
        match solve.ruling {
            Ruling::Passed => {
                let said = run_check(task, &done.folder, &solve.output, room).await;
                faults.extend(manners("check", &said));
                if said.ruling != Ruling::Passed {
                    faults.push(format!("check says no after solve: {}", said.why));
                }
            }
            Ruling::Failed | Ruling::Void => faults.push(format!("solve failed: {}", said_or_none(&solve))),
        }
    }
    faults.dedup();
    Ok(match (faults.is_empty(), solved) {
        (true, true) => Tested::Good,
        (true, false) => Tested::Unsolved,
        (false, _) => Tested::Bad(faults),
    })
}

fn said_or_none(said: &CheckResult) -> &str {
    if said.why.is_empty() { "it printed nothing" } else { &said.why }
}

/// What no script of a task may do, whatever it says.
fn manners(script: &str, said: &CheckResult) -> Vec<String> {
    let mut faults = Vec::new();
    if said.survivors > 0 {
        faults.push(format!("{script} leaves processes behind ({})", said.survivors));
    }
    if let Some(denied) = &said.denied {
        let first = denied.lines().next().unwrap_or_default();
        faults.push(format!("{script} tried what the sandbox does not allow: {first}"));
    }
    faults
}

/// A fresh folder of a task, removed when dropped.
struct Copy {
    _scratch: Scratch,
    folder: std::path::PathBuf,
}

impl Copy {
    fn of(task: &Task, room: &Room<'_>) -> io::Result<Self> {
        let scratch = Scratch::make(room.scratch)?;
        let folder = scratch.path().join("work");
        task.lay_out(&folder)?;
        Ok(Self { _scratch: scratch, folder })
    }
}
