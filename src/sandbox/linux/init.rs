//! The processes around the command: the outer half, pid 1 of its namespace, or tier B's nurse.
//!
//! They ignore what is meant for the command, reap, and report how it ended. When they leave,
//! nothing of the tree is left. Know nothing of what the command may do.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::helper::{Fault, Program, Step, confine_reduced, say};
use super::order::{Order, Word};
use crate::sandbox::{Exit, Size, Tier, census, terminal};

/// How long tier B goes on killing what keeps forking.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// Some(child) in the parent, None in the child.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the helper has one thread, so the child is as whole as the parent.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Ends this process at once, without running anything of the parent's.
pub(super) fn leave(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// Waits for pid 1 of the namespace. `life` closes with us, whatever ends us.
pub(super) fn outer(inner: Pid, life: OwnedFd) -> ExitCode {
    ignore_signals();
    let status = wait_for(inner);
    drop(life);
    match status.map(exit_of) {
        Some(Exit::Code(code)) => ExitCode::from(u8::try_from(code & 0xff).unwrap_or(u8::MAX)),
        Some(Exit::Signal(_)) | None => ExitCode::from(125),
    }
}

/// pid 1: starts the command, reaps, and says how it ended.
pub(super) fn first(program: &Program, order: &Order) -> Result<i32, Fault> {
    let command = start(program, order)?;
    let exit = reap_until(command);
    let left = census::everyone().iter().filter(|p| p.pid != 1 && !p.zombie).count();
    say(&Word::Exit(exit, left));
    Ok(0)
}

/// Tier B: the same outside a namespace, so survivors have to be found and killed one by one.
pub(super) fn nurse(program: &Program, order: &Order) -> Result<ExitCode, Fault> {
    let command = start(program, order)?;
    let exit = reap_until(command);
    let left = kill_descendants();
    say(&Word::Exit(exit, left));
    Ok(ExitCode::SUCCESS)
}

/// Forks the command and waits until it is executed, or says why it was not.
fn start(program: &Program, order: &Order) -> Result<Pid, Fault> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).step("fork")?;
    let terminal = order.terminal.map(hand_over).transpose().step("terminal")?;
    let Some(command) = fork().step("fork")? else {
        drop(read);
        if let Some(terminal) = terminal {
            sit_at(&terminal);
        }
        leave(command(program, order, write));
    };
    drop((write, terminal));
    ignore_signals();
    let mut report = String::new();
    // Closed without a word by a successful exec.
    File::from(read).read_to_string(&mut report).step("exec")?;
    match Word::parse(&report) {
        None => say(&Word::Running),
        Some(word) => {
            say(&word);
            leave(125);
        }
    }
    Ok(command)
}

/// Makes a terminal in the cell and passes tack its end. The other end is the command's.
fn hand_over(size: Size) -> io::Result<OwnedFd> {
    let (ours, theirs) = terminal::open(size)?;
    terminal::send(rustix::stdio::stdin(), ours.as_fd())?;
    Ok(theirs)
}

/// In the command's process: a session of its own on this terminal. What fails shows in the command.
fn sit_at(terminal: &OwnedFd) {
    let _ = rustix::process::setsid();
    let _ = terminal::control(terminal);
    let _ = rustix::stdio::dup2_stdin(terminal);
    let _ = rustix::stdio::dup2_stdout(terminal);
    let _ = rustix::stdio::dup2_stderr(terminal);
}

fn command(program: &Program, order: &Order, report: OwnedFd) -> i32 {
    let _ = rustix::process::setsid();
    let confined = match order.tier {
        Tier::Landlock => confine_reduced(order),
        Tier::Namespaces | Tier::Seatbelt | Tier::WindowsToken | Tier::None => Ok(()),
    };
    let word = match confined {
        Ok(()) => Word::Exec(program.execute(order)),
        Err(fault) => Word::Step(fault.step.into(), fault.errno),
    };
    let _ = File::from(report).write_all(word.line().as_bytes());
    125
}

fn reap_until(command: Pid) -> Exit {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => return exit_of(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // Nobody left to wait for although the command was not seen: cannot happen.
            Err(_) => return Exit::Code(125),
        }
    }
}

fn wait_for(pid: Pid) -> Option<WaitStatus> {
    loop {
        match rustix::process::waitpid(Some(pid), WaitOptions::empty()) {
            Ok(found) => return found.map(|(_, status)| status),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

fn exit_of(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(125),
    }
}

/// All orphans come to the nurse, so whoever descends from it belongs to the command.
fn kill_descendants() -> usize {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let until = Instant::now() + KILL_LIMIT;
    let mut first = None;
    loop {
        let all = census::everyone();
        let found = census::below(&all, me);
        for p in &found {
            if let Some(pid) = Pid::from_raw(p.pid) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
        while matches!(rustix::process::wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        let left = *first.get_or_insert(found.len());
        if found.is_empty() || Instant::now() > until {
            return left;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What a terminal or `end` sends to the tree is for the command.
fn ignore_signals() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGTSTP, libc::SIGPIPE] {
        // SAFETY: SIG_IGN is no handler that could run.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// The command starts with the signals a shell would give it.
pub(super) fn default_signals() {
    // Not through libc, which keeps two signals to itself: what the parent ignored of them stays so.
    const DEFAULT: [u64; 4] = [0; 4];
    for signal in 1..=64 {
        // SAFETY: all zeroes is the kernel's structure for SIG_DFL, at least as long as it is; eight
        // bytes of mask. What cannot be set (SIGKILL) is refused.
        unsafe {
            libc::syscall(libc::SYS_rt_sigaction, signal, DEFAULT.as_ptr(), std::ptr::null::<u8>(), 8usize)
        };
    }
    // SAFETY: the set is initialised by sigemptyset before it is read.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}
