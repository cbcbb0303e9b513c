//! A started command as its parent sees it: starting, output, exit, and the end of the whole tree.
//!
//! Shared by every tier. It must not know the policy. Commands get a session of their own, an empty
//! stdin or a pipe, and one pipe for both outputs, or a terminal for all three; the wait is for the exit and never for the pipe, which a
//! survivor may hold open. tack is a subreaper, so orphans come to us and can be found and reaped.
#![allow(unsafe_code)]

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot};

use super::{Cmd, Ended, Exit, Happened, Input, Io, Pipes, Running, Size, census, terminal};

/// How long to go on killing what keeps forking before the tree is given up.
const KILL_LIMIT: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(10);
/// The environment variable that marks every process of a tree.
const TAG: &str = "TACK_TREE";

/// Pids we started ourselves. Their status belongs to the runtime and is never reaped here.
static STARTED: LazyLock<Mutex<HashSet<i32>>> = LazyLock::new(Mutex::default);

/// What the child does between fork and exec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Session {
    /// setsid here, for commands that run as they are.
    New,
    /// The helper makes its own.
    Kept,
}

/// A process tree we started.
pub(super) struct Tree {
    child: Child,
    pid: i32,
    tag: Vec<u8>,
    output: Option<pipe::Receiver>,
    input: Option<pipe::Sender>,
    /// Where the helper hands over the terminal that it makes.
    handover: Option<OwnedFd>,
    /// Interactive shells ignore SIGTERM, but not that their terminal is gone.
    on_terminal: bool,
    exit: Option<Exit>,
    /// Processes of the tree that are not survivors: the command and the helpers around it.
    own: usize,
    over: bool,
}

/// What to start; `keep` are descriptors the child inherits beside 0, 1 and 2.
pub(super) struct Start<'a> {
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) cwd: &'a Path,
    pub(super) cmd: &'a Cmd,
    pub(super) keep: Vec<RawFd>,
    pub(super) session: Session,
    pub(super) own: usize,
}

impl Tree {
    pub(super) async fn start(start: Start<'_>) -> io::Result<Tree> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        become_subreaper();
        let value = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut command = Command::new(&start.program);
        command.args(&start.args).current_dir(start.cwd).env_clear();
        command.envs(start.cmd.env.iter().map(|(k, v)| (k, v))).env(TAG, &value);
        let ours = connect(&mut command, start.cmd.io, start.session)?;
        let on_terminal = matches!(start.cmd.io, Io::Terminal(_));
        if start.session == Session::Kept {
            command.arg0("tack");
        }
        let controls = on_terminal && start.session == Session::New;
        prepare(&mut command, start.keep, (start.session, controls));
        let child = launch(command).await?;
        let pid = child.id().map_or(0, u32::cast_signed);
        let tag = format!("{TAG}={value}").into_bytes();
        let Ours { output, input, handover } = ours;
        let (exit, own, over) = (None, start.own, false);
        Ok(Tree { child, pid, tag, output, input, handover, on_terminal, exit, own, over })
    }

    /// Takes up the terminal that the helper made; to be called once the command runs.
    #[cfg(target_os = "linux")]
    pub(super) fn take_over(&mut self) -> io::Result<()> {
        if let Some(socket) = self.handover.take() {
            let (output, input) = terminal::halves(terminal::receive(socket)?)?;
            (self.output, self.input) = (Some(output), Some(input));
        }
        Ok(())
    }

    /// The tree is known to be gone: nothing is looked for any more.
    pub(super) fn is_over(&mut self) {
        self.over = true;
    }

    fn scent(&self) -> Scent {
        let root = self.exit.is_none().then_some(self.pid);
        Scent { root, session: self.pid, tag: self.tag.clone() }
    }
}

/// What a tree is found by.
struct Scent {
    root: Option<i32>,
    session: i32,
    tag: Vec<u8>,
}

impl Scent {
    fn signal(&self, all: &[census::Process], signal: Signal) -> usize {
        let found = census::members(all, self.root, self.session, &self.tag);
        for p in &found {
            send(p.pid, signal);
        }
        if cfg!(not(target_os = "linux")) {
            // No census there: the process group has to do.
            let _ = Pid::from_raw(self.session).map(|pid| rustix::process::kill_process_group(pid, signal));
        }
        found.len()
    }

    /// Kills until nobody is left, and reaps the orphans that came to us. Blocks, shortly.
    fn kill_all(&self) {
        let until = Instant::now() + KILL_LIMIT;
        loop {
            let all = census::everyone();
            let found = self.signal(&all, Signal::KILL);
            reap_orphans(&all);
            if found == 0 && !census::still_falling(&all) || Instant::now() > until {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[async_trait]
impl Running for Tree {
    fn pid(&self) -> u32 {
        self.pid.cast_unsigned()
    }

    fn input(&mut self) -> Option<Arc<dyn Input>> {
        Some(Arc::new(self.input.take()?))
    }

    fn pipes(&mut self) -> Option<Pipes> {
        let child = &mut self.child;
        Some(Pipes { stdin: child.stdin.take()?, stdout: child.stdout.take()?, stderr: child.stderr.take()? })
    }

    async fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match &mut self.output {
            Some(output) => read_from(output, buf).await,
            None => Ok(0),
        }
    }

    async fn next(&mut self, buf: &mut [u8]) -> io::Result<Happened> {
        let Tree { output, child, exit, .. } = self;
        if let (Some(open), None) = (output.as_mut(), *exit) {
            tokio::select! {
                got = read_from(open, buf) => match got? {
                    0 => *output = None,
                    got => return Ok(Happened::Output(got)),
                },
                status = child.wait() => *exit = Some(exit_of(status?)),
            }
        }
        Ok(Happened::Exited(self.wait().await?))
    }

    async fn wait(&mut self) -> io::Result<Exit> {
        if let Some(exit) = self.exit {
            return Ok(exit);
        }
        let exit = exit_of(self.child.wait().await?);
        self.exit = Some(exit);
        Ok(exit)
    }

    fn signal(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            self.scent().signal(&census::everyone(), signal);
        }
    }

    async fn end(&mut self, grace: Duration) -> Ended {
        // The usual end, found by one call instead of a look at every process.
        self.over |= self.exit.is_some() && childless();
        if self.over {
            return Ended::default();
        }
        let (scent, on_terminal) = (self.scent(), self.on_terminal);
        let ask = move || {
            let all = census::everyone();
            reap_orphans(&all);
            if on_terminal {
                scent.signal(&all, Signal::HUP);
            }
            scent.signal(&all, Signal::TERM)
        };
        let found = tokio::task::spawn_blocking(ask).await.unwrap_or(1);
        if found == 0 && self.exit.is_some() {
            self.over = true;
            return Ended::default();
        }
        let own = if self.exit.is_some() { 0 } else { self.own };
        let until = Instant::now() + grace;
        while found > 0 && Instant::now() < until {
            let exited = matches!(tokio::time::timeout(TICK, self.wait()).await, Ok(Ok(_)));
            if !exited {
                continue;
            }
            let scent = self.scent();
            if census::members(&census::everyone(), None, scent.session, &scent.tag).is_empty() {
                break;
            }
            tokio::time::sleep(TICK).await;
        }
        let scent = self.scent();
        let killed = tokio::task::spawn_blocking(move || scent.kill_all()).await;
        // Only a process that even SIGKILL cannot reach (stuck in the kernel) is not waited for.
        let gone = tokio::time::timeout(KILL_LIMIT, self.wait()).await;
        self.over = killed.is_ok() && gone.is_ok();
        Ended { survivors: found.saturating_sub(own) }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.over {
            self.scent().kill_all();
        }
        started().remove(&self.pid);
    }
}

fn started() -> std::sync::MutexGuard<'static, HashSet<i32>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It may have ended by itself since the census.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Orphans of any tree live in another session than ours; what we started is the runtime's to reap.
fn reap_orphans(all: &[census::Process]) {
    let me = std::process::id().cast_signed();
    let Some(mine) = all.iter().find(|p| p.pid == me).map(|p| p.session) else { return };
    let started = started();
    for p in all.iter().filter(|p| p.parent == me && p.session != mine && !started.contains(&p.pid)) {
        let _ = rustix::process::waitpid(Pid::from_raw(p.pid), rustix::process::WaitOptions::NOHANG);
    }
}

/// Whether no process at all is below us: whatever a command leaves behind comes to us, a subreaper.
fn childless() -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    cfg!(target_os = "linux") && waitid(WaitId::All, look).is_err_and(|e| e == rustix::io::Errno::CHILD)
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(-1),
    }
}

/// A terminal whose other side is closed tells of an error where a pipe tells of its end.
async fn read_from(output: &mut pipe::Receiver, buf: &mut [u8]) -> io::Result<usize> {
    output.read(buf).await.or_else(|error| match error.raw_os_error() {
        Some(libc::EIO) => Ok(0),
        _ => Err(error),
    })
}

#[async_trait]
impl Input for pipe::Sender {
    async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            self.writable().await?;
            match self.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }
}

/// Our side of what a command reads and writes.
#[derive(Default)]
struct Ours {
    output: Option<pipe::Receiver>,
    input: Option<pipe::Sender>,
    handover: Option<OwnedFd>,
}

fn connect(command: &mut Command, io: Io, session: Session) -> io::Result<Ours> {
    match (io, session) {
        (Io::Inherited, _) => {
            command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
            Ok(Ours::default())
        }
        (Io::Captured, _) => {
            command.stdin(Stdio::null());
            Ok(Ours { output: Some(capture(command)?), ..Ours::default() })
        }
        (Io::Piped, _) => {
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            Ok(Ours::default())
        }
        (Io::Fed, _) => {
            let (read, write) = rustix::pipe::pipe()?;
            for end in [&read, &write] {
                rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
            }
            rustix::io::ioctl_fionbio(&write, true)?;
            command.stdin(Stdio::from(read));
            let input = Some(pipe::Sender::from_owned_fd(write)?);
            Ok(Ours { output: Some(capture(command)?), input, ..Ours::default() })
        }
        (Io::Terminal(size), Session::New) => on_terminal(command, size),
        #[cfg(target_os = "linux")]
        (Io::Terminal(_), Session::Kept) => {
            let (ours, theirs) = terminal::socket()?;
            command.stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
            Ok(Ours { handover: Some(ours), ..Ours::default() })
        }
        #[cfg(not(target_os = "linux"))]
        (Io::Terminal(_), Session::Kept) => Err(io::ErrorKind::Unsupported.into()),
    }
}

fn on_terminal(command: &mut Command, size: Size) -> io::Result<Ours> {
    let (ours, theirs) = terminal::open(size)?;
    let [second, third] = [theirs.try_clone()?, theirs.try_clone()?];
    command.stdin(Stdio::from(theirs)).stdout(Stdio::from(second)).stderr(Stdio::from(third));
    let (output, input) = terminal::halves(ours)?;
    Ok(Ours { output: Some(output), input: Some(input), handover: None })
}

/// stdout and stderr in one pipe, so that their order is kept.
fn capture(command: &mut Command) -> io::Result<pipe::Receiver> {
    let (read, write) = pipe_pair()?;
    let second = write.try_clone()?;
    command.stdout(Stdio::from(write)).stderr(Stdio::from(second));
    pipe::Receiver::from_owned_fd(read)
}

/// A pipe whose reading end the runtime can wait for; neither end is inherited by accident.
pub(super) fn pipe_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(target_os = "linux")]
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    #[cfg(not(target_os = "linux"))]
    let (read, write) = {
        let (read, write) = rustix::pipe::pipe()?;
        for end in [&read, &write] {
            rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
        }
        (read, write)
    };
    rustix::io::ioctl_fionbio(&read, true)?;
    Ok((read, write))
}

/// Between fork and exec: own session, no survival beyond us, the kept descriptors handed on.
/// `controls`: stdin is the terminal of that session.
fn prepare(command: &mut Command, keep: Vec<RawFd>, (session, controls): (Session, bool)) {
    let parent = std::process::id();
    let setup = move || {
        if session == Session::New {
            rustix::process::setsid()?;
        }
        if controls {
            terminal::control(rustix::stdio::stdin())?;
        }
        die_with(parent)?;
        for fd in &keep {
            // SAFETY: fcntl on a number only changes a flag; the owner keeps it open until exec.
            if unsafe { libc::fcntl(*fd, libc::F_SETFD, 0) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls only; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(setup) };
}

#[cfg(target_os = "linux")]
fn die_with(parent: u32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have gone before the line above took effect.
    if std::os::unix::process::parent_id() != parent {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn die_with(_parent: u32) -> io::Result<()> {
    Ok(())
}

fn become_subreaper() {
    #[cfg(target_os = "linux")]
    {
        // Fails only on kernels too old to know it; orphans then go to init, unseen.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

type Job = (Command, tokio::runtime::Handle, oneshot::Sender<io::Result<Child>>);

/// Starts the child from one thread that lives as long as tack does. PR_SET_PDEATHSIG is tied to
/// the thread that forked, and threads of the runtime come and go; also, fork and the wait for
/// exec block.
async fn launch(command: Command) -> io::Result<Child> {
    static LAUNCHER: LazyLock<mpsc::Sender<Job>> = LazyLock::new(|| {
        let (send, mut jobs) = mpsc::channel::<Job>(16);
        let work = move || {
            while let Some((mut command, handle, answer)) = jobs.blocking_recv() {
                let _runtime = handle.enter();
                let child = {
                    let mut started = started();
                    command.spawn().inspect(|child| {
                        started.extend(child.id().map(u32::cast_signed));
                    })
                };
                // Nobody waits any more: the child is dropped, and PDEATHSIG would come too late.
                if let Err(Ok(mut child)) = answer.send(child) {
                    let _ = child.start_kill();
                }
            }
        };
        // Without the thread every send fails, and so does the command.
        let _ = std::thread::Builder::new().name("launcher".into()).spawn(work);
        send
    });
    let gone = || io::Error::other("the thread that starts commands is gone");
    let (answer, result) = oneshot::channel();
    let job = (command, tokio::runtime::Handle::current(), answer);
    LAUNCHER.send(job).await.map_err(|_| gone())?;
    result.await.map_err(|_| gone())?
}
