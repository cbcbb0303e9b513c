//! Runs of agents that are not ours: a command in the task's folder, in the sandbox.
//!
//! The network is on, as the agent has to reach the model server, and its home folder is a fresh one,
//! so that settings and sessions of the machine's owner are neither used nor touched.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{External, Task};
use crate::model::Model;
use crate::sandbox::{Cmd, EnvWish, Exit, Io, Net, Sandbox, Wish};
use crate::tools::{Over, Until, drive, end};

/// Most of the output that is kept, from its end. Bytes.
const KEPT: usize = 64 * 1024;
/// What would lead an agent to another home.
const ELSEWHERE: [&str; 4] = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"];

/// Where and with what it runs.
pub(super) struct Given<'a> {
    pub sandbox: &'a dyn Sandbox,
    pub wish: &'a Wish,
    pub vars: &'a [(OsString, OsString)],
    /// The task's folder.
    pub dir: &'a Path,
    /// An empty folder.
    pub home: &'a Path,
    pub model: &'a Model,
    pub base_url: &'a str,
    pub cancel: &'a CancellationToken,
}

/// What came of it.
pub(super) struct Played {
    pub(super) over: Over,
    /// The end of what it printed: whatever its last words are, they are in there.
    pub output: String,
}

impl External {
    pub(super) async fn play(&self, task: &Task, given: &Given<'_>) -> anyhow::Result<Played> {
        let wish = Wish {
            cwd: given.dir.to_owned(),
            add_dirs: vec![given.home.to_owned()],
            net: Net::Full,
            ..given.wish.clone()
        };
        let policy = wish.settle()?.policy;
        let dir = given.dir.to_string_lossy();
        let values = [
            ("prompt", task.prompt.as_str()),
            ("dir", &dir),
            ("model", &given.model.name),
            ("base_url", given.base_url),
        ];
        let mut env = EnvWish { vars: given.vars.to_vec(), ..EnvWish::default() }.build(&policy);
        env.retain(|(name, _)| name != "HOME" && !ELSEWHERE.iter().any(|other| name == other));
        env.push(("HOME".into(), given.home.into()));
        env.extend(values.map(|(name, value)| {
            (format!("TACK_{}", name.to_ascii_uppercase()).into(), OsString::from(value))
        }));
        let args = vec!["-c".into(), self.command(&values).into()];
        let cmd = Cmd { program: "/bin/sh".into(), args, cwd: policy.cwd.clone(), env, io: Io::Captured };
        let deadline = Instant::now() + Duration::from_secs(task.limits.seconds);
        let until = Until { deadline: Some(deadline), cancel: given.cancel };

        let mut running = given.sandbox.spawn(&policy, &cmd).await?;
        let mut kept = Vec::new();
        let mut keep = |bytes: &[u8]| {
            kept.extend_from_slice(bytes);
            if kept.len() > 2 * KEPT {
                kept.drain(..kept.len() - KEPT);
            }
        };
        let over = drive(running.as_mut(), until, &mut keep).await?;
        end(running.as_mut(), over, &mut keep).await;
        Ok(Played { over, output: String::from_utf8_lossy(&kept).into_owned() })
    }
}

impl Played {
    /// The shell's word for a program that is not there or is none.
    pub fn never_ran(&self) -> bool {
        match self.over {
            Over::Exited(Exit::Code(code)) => code == 126 || code == 127,
            Over::Exited(Exit::Signal(_)) | Over::TimedOut | Over::Cancelled => false,
        }
    }
}
