//! Where scripts of the bench run: in the sandbox, bounded in time, with nothing left afterwards.
//!
//! Knows no tasks. What a script says is for whoever had it run.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::sandbox::{Cmd, EnvWish, Io, Mode, Sandbox, Scratch, Wish, denial_hint};
use crate::tools::{Over, Until, drive, end};

/// How much of a script's output is kept, from its end. Bytes.
const TAIL: usize = 16 * 1024;

/// Where scripts run.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    pub sandbox: &'a dyn Sandbox,
    /// What each script's policy is made of; `cwd`, `tmp` and, unless it is full access, `mode` are
    /// filled in.
    pub wish: &'a Wish,
    /// tack's own environment; filtered as for any command.
    pub vars: &'a [(OsString, OsString)],
    /// A folder to make scratch folders in; made when missing.
    pub scratch: &'a Path,
    pub cancel: &'a CancellationToken,
}

/// What to run.
pub(super) struct Script<'a> {
    /// For `sh -c`, with its `$0` and arguments behind it.
    pub(super) words: Vec<OsString>,
    pub(super) cwd: &'a Path,
    /// Whether it may write there.
    pub(super) mode: Mode,
    /// Its private `/tmp`, which it finds as `$TMPDIR`.
    pub(super) scratch: &'a Scratch,
    pub(super) limit: Duration,
}

pub(super) struct Ran {
    pub(super) over: Over,
    /// The end of what it printed.
    pub(super) output: String,
    pub(super) survivors: usize,
    /// What the sandbox did not let it do, as far as its output tells.
    pub(super) denied: Option<String>,
}

impl Room<'_> {
    pub(super) async fn run(&self, script: Script<'_>) -> anyhow::Result<Ran> {
        let mode = match self.wish.mode {
            Mode::DangerFullAccess => Mode::DangerFullAccess,
            Mode::ReadOnly | Mode::WorkspaceWrite => script.mode,
        };
        let (cwd, tmp) = (script.cwd.to_owned(), script.scratch.path());
        let policy = Wish { mode, cwd, tmp: Some(tmp.to_owned()), ..self.wish.clone() }.settle()?.policy;
        let mut env = EnvWish { vars: self.vars.to_vec(), ..EnvWish::default() }.build(&policy);
        if policy.tmp.is_none() {
            env.retain(|(name, _)| name != "TMPDIR");
            env.push(("TMPDIR".into(), tmp.into()));
        }
        let args = std::iter::once("-c".into()).chain(script.words).collect();
        let cmd = Cmd { program: "/bin/sh".into(), args, cwd: policy.cwd.clone(), env, io: Io::Captured };
        let mut running = self.sandbox.spawn(&policy, &cmd).await?;
        let mut output = Tail::default();
        let until = Until { deadline: Some(Instant::now() + script.limit), cancel: self.cancel };
        let over = drive(running.as_mut(), until, &mut |bytes| output.push(bytes)).await;
        let ended = *over.as_ref().unwrap_or(&Over::Cancelled);
        let survivors = end(running.as_mut(), ended, &mut |bytes| output.push(bytes)).await;
        let output = output.text();
        Ok(Ran { over: over?, denied: denial_hint(&policy, &output), output, survivors })
    }
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
