//! The parent's side of a helper: start it with an order, hear what it says, and pass on how the
//! command ended.
#![allow(unsafe_code)]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rustix::fs::{MemfdFlags, SealFlags};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

use super::guard::Guard;
use super::order::{Order, VERB, Word};
use crate::sandbox::process::{Session, Start, Tree, pipe_pair};
use crate::sandbox::{Cmd, Ended, Exit, Happened, Input, Io, Pipes, Running, SandboxError};

/// Setup takes milliseconds; a machine that needs longer than this is stuck.
const SETUP_LIMIT: Duration = Duration::from_secs(20);
/// What a command that did what must not happen ends with, whatever it said itself.
const TAMPERED: i32 = 125;

/// A command inside its helper.
pub(super) struct Held {
    tree: Tree,
    status: BufReader<pipe::Receiver>,
    guard: Option<Guard>,
    /// The check after the end; it goes on when nobody waits any more.
    checking: Option<JoinHandle<Vec<String>>>,
    heard: Vec<u8>,
    exit: Option<Exit>,
    left: usize,
    /// What the guard had to undo, still to be read after the output.
    notice: Vec<u8>,
}

/// The namespaces that the commands of a session share: a loopback of their own, and the user
/// namespace it belongs to. Open descriptors keep them alive between commands.
#[derive(Debug)]
pub(super) struct Network {
    user: OwnedFd,
    net: OwnedFd,
}

impl Network {
    /// Those of a helper that has told that its command runs.
    pub(super) fn of(held: &Held) -> io::Result<Network> {
        let open = |kind| File::open(format!("/proc/{}/ns/{kind}", held.tree.pid())).map(OwnedFd::from);
        Ok(Network { user: open("user")?, net: open("net")? })
    }
}

/// Starts `cmd` under `order`, in `network` if there is one already, and waits until it runs.
pub(super) async fn start(
    image: &Path,
    mut order: Order,
    cmd: &Cmd,
    (guard, network): (Guard, Option<Arc<Network>>),
) -> Result<Held, SandboxError> {
    order.join = network.is_some();
    order.terminal = match cmd.io {
        Io::Terminal(size) => Some(size),
        Io::Captured | Io::Fed | Io::Piped | Io::Inherited => None,
    };
    let setup = |step: &str, source| SandboxError::Setup { step: step.into(), source };
    let order = sealed(&order).map_err(|e| setup("order", e))?;
    let (read, write) = pipe_pair().map_err(|e| setup("status", e))?;
    let status = pipe::Receiver::from_owned_fd(read).map_err(|e| setup("status", e))?;
    let status_fd = write.as_raw_fd();
    let [user, net] =
        network.as_ref().map_or([status_fd; 2], |shared| [shared.user.as_raw_fd(), shared.net.as_raw_fd()]);
    let numbers = [order.as_raw_fd(), status_fd, user, net];
    let mut args: Vec<OsString> = vec![VERB.into()];
    args.extend(numbers.iter().map(|n| OsString::from(n.to_string())));
    args.push(cmd.program.clone());
    args.extend(cmd.args.iter().cloned());
    let program = image.as_os_str().to_owned();
    let start = Start {
        program,
        args,
        cwd: Path::new("/"),
        cmd,
        keep: numbers.to_vec(),
        session: Session::Kept,
        own: 3,
    };
    let tree = Tree::start(start).await.map_err(|e| setup("helper", e))?;
    drop((order, write, network));
    let mut held = Held {
        tree,
        status: BufReader::new(status),
        guard: Some(guard),
        checking: None,
        heard: Vec::new(),
        exit: None,
        left: 0,
        notice: Vec::new(),
    };
    match tokio::time::timeout(SETUP_LIMIT, held.word()).await {
        Ok(Some(Word::Running)) => {
            held.tree.take_over().map_err(|e| setup("terminal", e))?;
            Ok(held)
        }
        Ok(Some(Word::Exec(errno))) => Err(SandboxError::Spawn {
            program: cmd.program.to_string_lossy().into_owned(),
            source: io::Error::from_raw_os_error(errno),
        }),
        Ok(Some(Word::Step(step, errno))) => Err(setup(&step, io::Error::from_raw_os_error(errno))),
        Ok(Some(Word::Exit(..)) | None) => Err(setup("helper", io::Error::other("it ended without a word"))),
        Err(_) => Err(setup("helper", io::ErrorKind::TimedOut.into())),
    }
}

impl Held {
    async fn word(&mut self) -> Option<Word> {
        let mut line = String::new();
        self.status.read_line(&mut line).await.ok()?;
        Word::parse(&line)
    }

    async fn check(&mut self) -> Vec<String> {
        if let Some(mut guard) = self.guard.take() {
            self.checking = Some(tokio::task::spawn_blocking(move || guard.check()));
        }
        match &mut self.checking {
            Some(check) => check.await.unwrap_or_default(),
            None => Vec::new(),
        }
    }

    /// What the helper said last. The writers are gone, so this does not wait.
    async fn last_word(&mut self) -> Option<Word> {
        while self.status.read_buf(&mut self.heard).await.ok()? > 0 {}
        String::from_utf8_lossy(&self.heard).lines().filter_map(Word::parse).next_back()
    }
}

#[async_trait]
impl Running for Held {
    fn pid(&self) -> u32 {
        self.tree.pid()
    }

    fn input(&mut self) -> Option<Arc<dyn Input>> {
        self.tree.input()
    }

    fn pipes(&mut self) -> Option<Pipes> {
        self.tree.pipes()
    }

    async fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let got = self.tree.read(buf).await?;
        if got > 0 || self.notice.is_empty() || buf.is_empty() {
            return Ok(got);
        }
        let some = self.notice.len().min(buf.len());
        buf[..some].copy_from_slice(&self.notice[..some]);
        self.notice.drain(..some);
        Ok(some)
    }

    async fn next(&mut self, buf: &mut [u8]) -> io::Result<Happened> {
        match self.tree.next(buf).await? {
            Happened::Output(got) => Ok(Happened::Output(got)),
            Happened::Exited(_) => Ok(Happened::Exited(self.wait().await?)),
        }
    }

    async fn wait(&mut self) -> io::Result<Exit> {
        if let Some(exit) = self.exit {
            return Ok(exit);
        }
        let outer = self.tree.wait().await?;
        let (exit, left) = match self.last_word().await {
            Some(Word::Exit(exit, left)) => {
                self.tree.is_over();
                (exit, left)
            }
            Some(_) | None => (outer, 0),
        };
        self.left = left;
        let undone = self.check().await;
        self.notice = undone.iter().flat_map(|line| format!("[sandbox] {line}\n").into_bytes()).collect();
        let exit = if undone.is_empty() { exit } else { Exit::Code(TAMPERED) };
        self.exit = Some(exit);
        Ok(exit)
    }

    fn signal(&self, signal: i32) {
        Running::signal(&self.tree, signal);
    }

    async fn end(&mut self, grace: Duration) -> Ended {
        let ended = self.tree.end(grace).await;
        let _ = self.wait().await;
        Ended { survivors: ended.survivors.max(self.left) }
    }
}

/// The order on memory that nobody can change after us.
fn sealed(order: &Order) -> io::Result<OwnedFd> {
    let json = serde_json::to_vec(order).map_err(io::Error::other)?;
    let memory = rustix::fs::memfd_create("order", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(memory);
    file.write_all(&json)?;
    rustix::fs::fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    // The child shares our offset.
    rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0))?;
    Ok(file.into())
}
