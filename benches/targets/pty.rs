//! A program on a terminal: what it wrote and when, what its processes cost, as the kernel counts it.
//!
//! It answers what a terminal is asked and shows nothing. It must not know which program it runs.

use std::io::{Read, Write};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::run::clock;

const COLUMNS: u16 = 100;
const ROWS: u16 = 30;
/// Longest that something is waited for.
const LIMIT: Duration = Duration::from_secs(90);
/// Questions that programs put to a terminal, and what one answers: where the cursor is, what the
/// background is, what kind of terminal it is.
const ANSWERS: [(&[u8], &[u8]); 3] = [
    (b"\x1b[6n", b"\x1b[1;1R"),
    (b"\x1b]11;?", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
    (b"\x1b[c", b"\x1b[?62;22c"),
];

type Writer = Arc<Mutex<Box<dyn Write + Send>>>;

pub struct Pty {
    pub started: Instant,
    child: Box<dyn Child + Send + Sync>,
    pid: u32,
    writer: Writer,
    heard: Arc<(Mutex<Heard>, Condvar)>,
    drain: Option<JoinHandle<()>>,
    master: Option<Box<dyn MasterPty + Send>>,
}

/// Everything that was written.
#[derive(Default)]
struct Heard {
    bytes: Vec<u8>,
    /// When what ends at this byte had come.
    when: Vec<(usize, Instant)>,
}

/// What a program's processes used up to a moment.
#[derive(Clone, Copy)]
pub struct Cost {
    pub cpu: Duration,
    /// Resident memory of all of them together, in bytes.
    pub memory: u64,
    pub processes: usize,
}

impl Pty {
    pub fn start(command: &Command) -> Result<Self> {
        let size = PtySize { rows: ROWS, cols: COLUMNS, ..PtySize::default() };
        let pty = native_pty_system().openpty(size)?;
        let mut builder = CommandBuilder::new(command.get_program());
        builder.args(command.get_args());
        builder.env_clear();
        builder.env("TERM", "xterm-256color");
        for (name, value) in command.get_envs() {
            builder.env(name, value.unwrap_or_default());
        }
        if let Some(dir) = command.get_current_dir() {
            builder.cwd(dir);
        }
        let heard = Arc::new((Mutex::new(Heard::default()), Condvar::new()));
        let writer: Writer = Arc::new(Mutex::new(pty.master.take_writer()?));
        let (reader, to, answer) = (pty.master.try_clone_reader()?, heard.clone(), writer.clone());
        let drain = std::thread::spawn(move || drain(reader, &to, &answer));
        let started = Instant::now();
        let child = pty.slave.spawn_command(builder).with_context(|| format!("starting {command:?}"))?;
        let pid = child.process_id().context("a program that runs has a process id")?;
        Ok(Self { started, child, pid, writer, heard, drain: Some(drain), master: Some(pty.master) })
    }

    pub fn keys(&self, keys: &str) -> Result<()> {
        let mut writer = self.writer.lock().expect("no writer panics");
        writer.write_all(keys.as_bytes())?;
        Ok(writer.flush()?)
    }

    /// Bytes so far.
    pub fn written(&self) -> usize {
        self.heard().bytes.len()
    }

    /// When one of these texts had come, looked for from a byte on.
    pub fn wait(&self, wanted: &[&str], from: usize) -> Result<Instant> {
        let end = Instant::now() + LIMIT;
        let (mut at, longest) = (from, wanted.iter().map(|text| text.len()).max().unwrap_or(0));
        let mut heard = self.heard();
        loop {
            let found = wanted.iter().filter_map(|text| {
                let here = memchr::memmem::find(&heard.bytes[at..], text.as_bytes())?;
                Some(at + here + text.len())
            });
            if let Some(ends) = found.min() {
                let place = heard.when.partition_point(|(upto, _)| *upto < ends);
                return Ok(heard.when[place].1);
            }
            at = heard.bytes.len().saturating_sub(longest).max(from);
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let last = heard.bytes.len().saturating_sub(2000);
                bail!("waited in vain for {wanted:?}: {:?}", String::from_utf8_lossy(&heard.bytes[last..]));
            }
            heard = self.heard.1.wait_timeout(heard, left).expect("no holder panics").0;
        }
    }

    /// Waits until nothing was written for so long.
    pub fn still(&self, quiet: Duration) {
        loop {
            let last = self.heard().when.last().map_or(self.started, |(_, at)| *at);
            match quiet.checked_sub(last.elapsed()) {
                Some(left) if !left.is_zero() => std::thread::sleep(left),
                Some(_) | None => return,
            }
        }
    }

    /// What the program and those it started have used so far.
    pub fn cost(&self) -> Cost {
        let mut cost = Cost { cpu: Duration::ZERO, memory: 0, processes: 0 };
        for process in tree(self.pid) {
            cost.cpu += clock(process.pid).unwrap_or_default() + process.waited_for;
            cost.memory += crate::server::resident(process.pid);
            cost.processes += 1;
        }
        cost
    }

    /// Presses keys and waits for the program's end; the processes of its tree that are left then.
    pub fn end(mut self, keys: &str) -> Result<usize> {
        let before: Vec<u32> = tree(self.pid).iter().map(|process| process.pid).collect();
        self.keys(keys)?;
        let end = Instant::now() + LIMIT;
        while self.child.try_wait()?.is_none() {
            anyhow::ensure!(Instant::now() < end, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        // Those whose parent is gone are found by the session, the others among those there were.
        let left = processes().into_iter();
        Ok(left.filter(|one| one.session == self.pid || before.contains(&one.pid)).count())
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.0.lock().expect("no holder panics")
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.master = None;
        if let Some(drain) = self.drain.take() {
            let _ = drain.join();
        }
    }
}

fn drain(mut reader: Box<dyn Read + Send>, heard: &(Mutex<Heard>, Condvar), writer: &Writer) {
    let mut buffer = [0; 64 << 10];
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        let now = Instant::now();
        let bytes = &buffer[..count];
        let mut here = heard.0.lock().expect("no holder panics");
        here.bytes.extend_from_slice(bytes);
        let upto = here.bytes.len();
        here.when.push((upto, now));
        drop(here);
        heard.1.notify_all();
        for (question, answer) in ANSWERS {
            if memchr::memmem::find(bytes, question).is_some() {
                let _ = writer.lock().expect("no writer panics").write_all(answer);
            }
        }
    }
}

struct Process {
    pid: u32,
    parent: u32,
    session: u32,
    /// What its children used that it waited for.
    waited_for: Duration,
}

/// A process and all below it.
fn tree(root: u32) -> Vec<Process> {
    let (mut found, mut rest): (Vec<Process>, Vec<Process>) =
        processes().into_iter().partition(|one| one.pid == root || one.session == root);
    loop {
        let (more, others): (Vec<Process>, Vec<Process>) =
            rest.into_iter().partition(|one| found.iter().any(|parent| parent.pid == one.parent));
        if more.is_empty() {
            return found;
        }
        found.extend(more);
        rest = others;
    }
}

/// All there are, see proc_pid_stat(5).
fn processes() -> Vec<Process> {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let read = |folder: std::fs::DirEntry| {
        let pid = folder.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(folder.path().join("stat")).ok()?;
        // The name before may hold anything.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let ticks = number(13)? + number(14)?;
        Some(Process {
            pid,
            parent: u32::try_from(number(1)?).ok()?,
            session: u32::try_from(number(3)?).ok()?,
            waited_for: Duration::from_millis(ticks * 10),
        })
    };
    folders.filter_map(read).collect()
}
