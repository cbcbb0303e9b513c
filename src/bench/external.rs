//! Runs of agents that are not ours: a command in the task's folder, in the sandbox.
//!
//! The network is on, as the agent has to reach the model server, and its home folder is a fresh one,
//! so that settings and sessions of the machine's owner are neither used nor touched.

use std::path::Path;
use std::time::Duration;

use super::room::{Room, Script};
use super::{External, Subject, Task};
use crate::sandbox::{Exit, Mode, Net, Scratch, Wish};
use crate::tools::Over;

/// Sets what the agent finds, then becomes its command.
const START: &str = r#"export HOME="$TMPDIR/home" TACK_PROMPT="$1" TACK_DIR="$2" TACK_MODEL="$3" TACK_BASE_URL="$4"
unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME
mkdir "$HOME" && exec /bin/sh -c "$5""#;

/// What came of it.
pub(super) struct Played {
    over: Over,
    /// The end of what it printed: whatever its last words are, they are in there.
    pub(super) output: String,
}

impl External {
    /// Works on the task in `dir`.
    pub(super) async fn play(
        &self,
        (subject, task): (&Subject, &Task),
        dir: &Path,
        room: &Room<'_>,
    ) -> anyhow::Result<Played> {
        let base_url = subject.provider.as_ref().map_or("", |provider| &provider.base_url);
        let place = dir.to_string_lossy();
        let values = [
            ("prompt", task.prompt.as_str()),
            ("dir", &place),
            ("model", &subject.model.name),
            ("base_url", base_url),
        ];
        let mut words = vec![START.into(), "agent".into()];
        words.extend(values.map(|(_, value)| value.into()));
        words.push(self.command(&values).into());
        let wish = Wish { net: Net::Full, ..room.wish.clone() };
        let scratch = Scratch::make(room.scratch)?;
        let limit = Duration::from_secs(task.limits.seconds);
        let script = Script { words, cwd: dir, mode: Mode::WorkspaceWrite, scratch: &scratch, limit };
        let ran = Room { wish: &wish, ..*room }.run(script).await?;
        Ok(Played { over: ran.over, output: ran.output })
    }
}

impl Played {
    pub(super) fn timed_out(&self) -> bool {
        self.over == Over::TimedOut
    }

    /// The shell's word for a program that is not there or is none.
    pub(super) fn never_ran(&self) -> bool {
        match self.over {
            Over::Exited(Exit::Code(code)) => code == 126 || code == 127,
            Over::Exited(Exit::Signal(_)) | Over::TimedOut | Over::Cancelled => false,
        }
    }
}
