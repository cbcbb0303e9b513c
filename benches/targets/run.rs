//! Runs a program once and says what it cost, as the kernel counts it.
#![allow(unsafe_code)]

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::server::{Script, Seen, Server};

/// What one run took.
#[derive(Clone, Debug)]
pub struct Ran {
    pub started: Instant,
    /// User and system time of the whole process tree.
    pub cpu: Duration,
    /// Peak resident memory of the largest process, in bytes. What this process itself had when it
    /// started the other is its least.
    pub peak: u64,
    /// Bytes on standard output.
    pub written: usize,
    pub seen: Vec<Seen>,
}

/// Runs it to its end against this script.
pub fn run(mut command: Command, server: &Server, script: Script) -> Result<Ran> {
    server.play(script);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().with_context(|| format!("starting {command:?}"))?;
    server.watch(child.id());
    let mut out = child.stdout.take().context("its standard output was piped")?;
    let mut written = 0;
    let mut buffer = [0; 16 << 10];
    loop {
        match out.read(&mut buffer)? {
            0 => break,
            count => written += count,
        }
    }
    let (status, usage) = wait(child.id())?;
    ensure!(status == 0, "{command:?} ended with wait status {status}");
    let time = |t: libc::timeval| {
        Duration::new(u64::try_from(t.tv_sec).unwrap_or(0), u32::try_from(t.tv_usec).unwrap_or(0) * 1000)
    };
    let peak = u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024;
    let cpu = time(usage.ru_utime) + time(usage.ru_stime);
    Ok(Ran { started, cpu, peak, written, seen: server.take() })
}

/// Reaps the child: its status, and what it and those it waited for have used.
fn wait(pid: u32) -> Result<(i32, libc::rusage)> {
    let mut status = 0;
    // SAFETY: all zeroes is a valid rusage; both places outlive the call, and the child is ours and
    // has not been waited for.
    let (found, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(pid.cast_signed(), &raw mut status, 0, &raw mut usage), usage)
    };
    ensure!(found == pid.cast_signed(), "waiting for {pid}: {}", std::io::Error::last_os_error());
    Ok((status, usage))
}

/// User and system time that a process used so far, ended threads included.
pub fn clock(pid: u32) -> Option<Duration> {
    let mut id = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both places outlive the calls; a process that is gone makes an error.
    let failed = unsafe {
        libc::clock_getcpuclockid(pid.cast_signed(), &raw mut id) != 0
            || libc::clock_gettime(id, &raw mut time) != 0
    };
    (!failed).then(|| {
        Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
    })
}
