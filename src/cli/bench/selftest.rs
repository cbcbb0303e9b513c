//! `tack harness bench --selftest`: whether the tasks themselves are sound.

use std::io::Write;

use super::flags::Flags;
use super::{runner, tasks};
use crate::agent::Stopper;
use crate::bench::{Tested, selftest_all};
use crate::cli::args::SessionFlags;
use crate::cli::error::CliError;
use crate::cli::exec::signals;
use crate::cli::{runtime, setup};

pub(super) fn run(flags: &Flags, session: &SessionFlags) -> Result<i32, CliError> {
    let base = setup::base(session)?;
    let (tasks, _) = tasks(&base, flags)?;
    let stopper = Stopper::default();
    let runner = runner(&base, flags, &super::results(&base, flags)?, &[], &stopper)?;
    let scratch = runner.place()?;
    let room = runner.room(&runner.wish, scratch.path());
    let at_once = usize::from(flags.parallel);
    let tested = runtime()?.block_on(async {
        tokio::select! {
            tested = selftest_all(&tasks, &room, at_once) => Some(tested),
            () = signals(&stopper) => None,
        }
    });
    let Some(tested) = tested.filter(|_| !stopper.stopped()) else { return Ok(130) };
    let mut out = std::io::stdout().lock();
    let mut bad = 0;
    for (task, tested) in tasks.iter().zip(&tested) {
        let said = match tested {
            Tested::Good => "good".to_owned(),
            Tested::Unsolved => "its check says no of the untouched folder; there is no solve".to_owned(),
            Tested::Skipped(why) => format!("skipped: {why}"),
            Tested::Bad(faults) => {
                bad += 1;
                faults.join("; ")
            }
        };
        writeln!(out, "{}: {said}", task.name)?;
    }
    match bad {
        0 => Ok(0),
        bad => Err(CliError::failed(format!("{bad} of {} tasks are not sound", tasks.len()))),
    }
}
