//! The program of an external harness, and what starts it.
//!
//! Owns what is to be started and the ends that tack talks to. How a process is made, and what holds
//! it, is known above this layer only.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::harness::manifest::Dialect;

/// Seconds that a program has for one message.
const LIMIT: u64 = 10;

/// A program as a manifest names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The harness that names it; a fork of that one runs it too.
    pub harness: String,
    /// Program and arguments; never empty.
    pub command: Vec<String>,
    /// The harness's folder, in which it runs.
    pub dir: PathBuf,
    pub network: bool,
    /// For each message.
    pub limit: Duration,
}

impl Program {
    pub(in crate::harness) fn new(harness: &str, dialect: &Dialect, dir: &Path) -> Self {
        let seconds = if dialect.limit == 0 { LIMIT } else { dialect.limit.min(LIMIT) };
        Self {
            harness: harness.to_owned(),
            command: dialect.command.clone(),
            dir: dir.to_path_buf(),
            network: dialect.network,
            limit: Duration::from_secs(seconds),
        }
    }
}

/// Starts the programs of harnesses, and knows the session they are for.
#[async_trait]
pub trait Programs: Send + Sync {
    /// Starts it, held by a sandbox. The error says in words why it does not run.
    async fn start(&self, program: &Program) -> anyhow::Result<Started>;

    /// The session's id; empty where there is none.
    fn session(&self) -> String;

    /// Returns once the session is to stop, so that nobody waits for a program then.
    async fn stopped(&self);
}

/// A program that runs. Dropping it ends its whole tree.
pub struct Started {
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    pub tree: Box<dyn Tree>,
    /// The folder that it may write.
    pub data: Option<PathBuf>,
}

/// The processes of a program.
#[async_trait]
pub trait Tree: Send {
    /// Waits for so long for its exit, then ends what is left. How it ended by itself, in words such as
    /// `exit code 1`; None where it had to be ended.
    async fn end(&mut self, patience: Duration) -> Option<String>;
}

/// Starts nothing: for a harness that is only looked at.
pub struct NoPrograms;

#[async_trait]
impl Programs for NoPrograms {
    async fn start(&self, _: &Program) -> anyhow::Result<Started> {
        anyhow::bail!("no program is started here")
    }

    fn session(&self) -> String {
        String::new()
    }

    async fn stopped(&self) {
        std::future::pending::<()>().await;
    }
}
