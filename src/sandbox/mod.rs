//! The sandbox: what one command, and everything it starts, may do.
//!
//! One [`Policy`] for every platform, one trait, one file per platform behind it. Fails closed:
//! what cannot be enforced is refused with a sentence that says what is missing. File tools go
//! through the same policy by way of [`files`].

#[cfg(unix)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod census;
mod denial;
pub mod env;
pub mod files;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod git;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(unix)]
mod none;
mod own;
mod policy;
pub mod probe;
#[cfg(unix)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod process;
mod scratch;
mod secrets;
#[cfg(unix)]
mod terminal;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use denial::{denial_hint, denied, offline};
pub use env::EnvWish;
#[cfg(target_os = "linux")]
pub use linux::{Linux, intercept};
#[cfg(unix)]
pub use none::Plain;
pub use own::run_with_terminal;
pub use policy::{By, Lift, PolicyError, Settled, Wish, broad, real};
pub use probe::system;
pub use scratch::Scratch;

/// What is allowed. All paths are absolute and canonical; made once, before any command exists.
/// Of two rules hide beats protect beats write beats read; of two of one kind the longer path wins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub mode: Mode,
    pub cwd: PathBuf,
    /// Workspace, further folders.
    pub write_roots: Vec<PathBuf>,
    /// Read-only although inside a write root.
    pub protect: Vec<PathBuf>,
    /// Neither readable nor listable.
    pub hide: Vec<PathBuf>,
    /// tack's own folders: no lift makes them writable.
    #[serde(default)]
    pub own: Vec<PathBuf>,
    /// Files of git that must not appear: removed after each command, and the command fails.
    #[serde(default)]
    pub watch: Vec<PathBuf>,
    /// Single files that steer programs and that a person let a file tool write after all. Commands never do.
    #[serde(default)]
    pub opened: Vec<PathBuf>,
    pub net: Net,
    pub git: GitAccess,
    /// The host folder that commands see as `/tmp`; one per session, removed at its end. File
    /// tools map `/tmp` to it as well. None under full access.
    pub tmp: Option<PathBuf>,
    pub limits: Caps,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

impl Mode {
    /// The word of the flag.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }
}

/// The allowlist proxy comes with a later issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Net {
    Off,
    Full,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GitAccess {
    #[default]
    Read,
    Commit,
}

/// Resource limits of one command's process tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    pub processes: u64,
    /// Bytes; None: no limit.
    pub address_space: Option<u64>,
}

/// A command to run. The environment is complete: nothing is inherited.
#[derive(Clone, Debug)]
pub struct Cmd {
    pub program: OsString,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    pub env: Vec<(OsString, OsString)>,
    pub io: Io,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// stdin empty; stdout and stderr merged into one pipe, in the order they were written.
    Captured,
    /// The same, but stdin is a pipe, see [`Running::input`].
    Fed,
    /// All three are a terminal of the command's own. Output is what a terminal gets, escape
    /// sequences and all.
    Terminal(Size),
    /// The caller's own descriptors, for `tack sandbox run`.
    Inherited,
    /// Three pipes, which [`Running::pipes`] hands out: for a program that is talked to.
    Piped,
}

/// The ends of a program's pipes that are ours. Closing `stdin` is the program's end of input.
pub struct Pipes {
    pub stdin: tokio::process::ChildStdin,
    pub stdout: tokio::process::ChildStdout,
    pub stderr: tokio::process::ChildStderr,
}

/// Of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub rows: u16,
    pub columns: u16,
}

/// What goes to a command's stdin. Dropping it is the end of a pipe, but not of a terminal.
#[async_trait]
pub trait Input: Send + Sync {
    /// Writes some of it, once the other side has room. Cancel-safe.
    async fn write(&self, bytes: &[u8]) -> std::io::Result<usize>;
}

/// A started command. Dropping it kills the whole process tree.
#[async_trait]
pub trait Running: Send {
    /// Process id of the outermost process on this side.
    fn pid(&self) -> u32;
    /// What the command reads, once; None where there is nothing to write to.
    fn input(&mut self) -> Option<Arc<dyn Input>>;
    /// The pipes of a command started with [`Io::Piped`]; None at the second call, and otherwise.
    fn pipes(&mut self) -> Option<Pipes>;
    /// Reads more of the captured output; 0 at its end. Cancel-safe.
    async fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize>;
    /// More output, or the exit of the command itself, whichever comes first. Once it has exited: its
    /// exit, at once; what is left of the output is then for `read`, with a limit on the wait, as a
    /// survivor may keep the pipe open. Cancel-safe.
    async fn next(&mut self, buf: &mut [u8]) -> std::io::Result<Happened>;
    /// Waits for the command itself to exit, not for its output to end. Cancel-safe, and gives the
    /// same answer when called again.
    async fn wait(&mut self) -> std::io::Result<Exit>;
    /// Sends a signal (a number of the platform's) to the command and what it started.
    fn signal(&self, signal: i32);
    /// Ends the whole tree, survivors with it: SIGTERM, then SIGKILL after `grace`. Returns how many
    /// processes other than the command were still there, when that can be known.
    async fn end(&mut self, grace: std::time::Duration) -> Ended;
}

/// See [`Running::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// So many bytes were read.
    Output(usize),
    Exited(Exit),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Processes that outlived the command and were ended.
    pub survivors: usize,
}

/// What a platform can really enforce, found by a trial and not by guessing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Linux namespaces, Landlock and seccomp.
    Namespaces,
    /// Landlock and seccomp only: reduced.
    Landlock,
    Seatbelt,
    WindowsToken,
    /// No sandbox; only under full access.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Read,
    Write,
}

/// What the policy says of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    /// With the rule that says so, in words a model can act on.
    Denied(String),
}

/// Why a command could not be started under the policy.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The machine cannot hold this policy. The sentence names the way out.
    #[error("{0}")]
    Unavailable(String),
    #[error("cannot run {program}: {source}")]
    Spawn { program: String, source: std::io::Error },
    #[error("sandbox setup failed at {step}: {source}")]
    Setup { step: String, source: std::io::Error },
}

/// One platform's sandbox.
#[async_trait]
pub trait Sandbox: Send + Sync {
    fn tier(&self) -> Tier;
    async fn spawn(&self, policy: &Policy, cmd: &Cmd) -> Result<Box<dyn Running>, SandboxError>;
}
