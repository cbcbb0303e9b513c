//! Programs of external harnesses, started in the sandbox.
//!
//! A program reads what the session's commands may read, in its harness's folder, and writes one
//! folder of its own. It has no network unless its manifest asks for one, a `/tmp` that nobody shares,
//! and the environment of commands, which holds no secrets. Under full access it runs as commands do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;

use super::Stopper;
use crate::harness::{Program, Programs, Started, Tree};
use crate::model::short_hash;
use crate::sandbox::{Cmd, Exit, GitAccess, Io, Mode, Net, Policy, Running, Sandbox};

/// How long what is left of a program may take to end once it is told to.
const GRACE: Duration = Duration::from_millis(200);

/// Starts programs as this session may.
pub struct Launcher {
    pub sandbox: Arc<dyn Sandbox>,
    /// The session's.
    pub policy: Policy,
    /// The environment of commands, already cleaned.
    pub env: Vec<(OsString, OsString)>,
    pub session: String,
    /// Where each harness gets a folder that its program may write; None: nowhere.
    pub data: Option<PathBuf>,
    /// The user's own harnesses, whose folders are called by their bare ids.
    pub own: Option<PathBuf>,
    pub stopper: Stopper,
}

impl Launcher {
    /// The folder that the program may write, made when it is missing.
    fn data(&self, program: &Program) -> anyhow::Result<Option<PathBuf>> {
        let Some(data) = &self.data else { return Ok(None) };
        let own = self.own.as_ref().is_some_and(|own| program.dir.starts_with(own));
        // What one project's program keeps is nothing to another's of the same name.
        let name = if own {
            program.harness.clone()
        } else {
            format!("{}-{}", program.harness, short_hash(program.dir.as_os_str().as_encoded_bytes()))
        };
        let folder = data.join(name);
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(Some(folder.canonicalize()?))
    }

    fn policy(&self, program: &Program, dir: &Path, data: Option<&PathBuf>) -> Policy {
        if self.policy.mode == Mode::DangerFullAccess {
            return Policy { cwd: dir.to_path_buf(), ..self.policy.clone() };
        }
        Policy {
            mode: if data.is_some() { Mode::WorkspaceWrite } else { Mode::ReadOnly },
            cwd: dir.to_path_buf(),
            write_roots: data.into_iter().cloned().collect(),
            protect: Vec::new(),
            hide: self.policy.hide.clone(),
            own: Vec::new(),
            watch: Vec::new(),
            opened: Vec::new(),
            net: if program.network { Net::Full } else { Net::Off },
            git: GitAccess::Read,
            tmp: None,
            limits: self.policy.limits,
        }
    }

    fn env(&self, dir: &Path, data: Option<&PathBuf>) -> Vec<(OsString, OsString)> {
        let mut env = self.env.clone();
        let mut set = |name: &str, value: OsString| {
            env.retain(|(known, _)| known != name);
            env.push((name.into(), value));
        };
        set("PWD", dir.as_os_str().to_owned());
        // An answer that waits in a buffer is none.
        set("PYTHONUNBUFFERED", "1".into());
        set("PYTHONDONTWRITEBYTECODE", "1".into());
        if let Some(data) = data {
            set("TACK_DATA", data.as_os_str().to_owned());
        }
        env
    }
}

#[async_trait]
impl Programs for Launcher {
    async fn start(&self, program: &Program) -> anyhow::Result<Started> {
        let dir = program.dir.canonicalize().with_context(|| program.dir.display().to_string())?;
        let data = self.data(program)?;
        let mut words = program.command.iter().map(OsString::from);
        let cmd = Cmd {
            program: words.next().context("the command is empty")?,
            args: words.collect(),
            cwd: dir.clone(),
            env: self.env(&dir, data.as_ref()),
            io: Io::Piped,
        };
        let mut running = self.sandbox.spawn(&self.policy(program, &dir, data.as_ref()), &cmd).await?;
        let pipes = running.pipes().context("it has no pipes")?;
        Ok(Started {
            stdin: Box::new(pipes.stdin),
            stdout: Box::new(pipes.stdout),
            stderr: Box::new(pipes.stderr),
            tree: Box::new(Held(running)),
            data,
        })
    }

    fn session(&self) -> String {
        self.session.clone()
    }

    async fn stopped(&self) {
        self.stopper.token().cancelled().await;
    }
}

/// A program's processes, which end when this is dropped.
struct Held(Box<dyn Running>);

#[async_trait]
impl Tree for Held {
    async fn end(&mut self, patience: Duration) -> Option<String> {
        let exit = tokio::time::timeout(patience, self.0.wait()).await;
        self.0.end(GRACE).await;
        match exit {
            Ok(Ok(Exit::Code(code))) => Some(format!("exit code {code}")),
            Ok(Ok(Exit::Signal(signal))) => Some(format!("signal {signal}")),
            Ok(Err(_)) | Err(_) => None,
        }
    }
}
