//! Running one command line: bounded in time and memory, over when the command is, not when its
//! output pipe closes.
//!
//! `data`: `command`, `cwd` (of a lasting shell: where it stands now), `session`, `timeout`
//! (milliseconds), `pid`, `signal`, `background`, `job`, `output_file`, `survivors`, `notes`. `text` is what it printed and nothing else, so empty when it
//! printed nothing; then the notes, about survivors, a full disk or what the sandbox denied.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::output::{Capture, Captured};
use super::spill::Spill;
use super::{ToolCx, failed, given, lasting, path, redirect, terminal, words};
use crate::model::{Keep, Limits, Outcome, State, Stdin, Within};
use crate::sandbox::{self, Cmd, Exit, Happened, Io, Running, SandboxError, files};

/// How long a survivor may hold the pipe open once the command itself has exited.
const DRAIN: Duration = Duration::from_millis(300);
/// Longest a shell may take to parse a command.
const PARSE: Duration = Duration::from_secs(10);
/// Between the polite and the final signal.
const GRACE: Duration = Duration::from_secs(2);

pub(super) struct Ask<'a> {
    pub(super) command: &'a str,
    /// Milliseconds.
    pub(super) timeout: Option<u64>,
    pub(super) cwd: Option<&'a str>,
    pub(super) within: &'a Within,
    pub(super) sessions: &'a lasting::Sessions,
}

impl<'a> Ask<'a> {
    pub(super) fn session(&self, cx: &ToolCx<'_>) -> Option<&'a str> {
        let main = cx.shell.lasting.then_some(lasting::MAIN);
        self.within.session.as_deref().or(main)
    }
}

/// Whether anybody can write to a command while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    Nobody,
    Job,
}

/// A command that was started.
pub(super) struct Begun {
    pub(super) running: Box<dyn Running>,
    pub(super) cwd: PathBuf,
    pub(super) notes: Vec<String>,
}

/// Why the wait for a command is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Exited(Exit),
    TimedOut,
    Cancelled,
}

/// When to stop waiting.
#[derive(Clone, Copy)]
pub(crate) struct Until<'a> {
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: &'a CancellationToken,
}

pub(super) async fn run(ask: &Ask<'_>, cx: &ToolCx<'_>) -> Outcome {
    let timeout = given(ask.timeout).unwrap_or(cx.shell_timeout).clamp(1, cx.shell_timeout_most.max(1));
    let Begun { running, cwd, notes } = match start(ask, Writer::Nobody, cx).await {
        Ok(started) => started,
        Err(refusal) => return refusal,
    };
    let pid = running.pid();
    let mut capture = Capture::new(cx.limits.clone(), Some(Spill::new(cx.spill)));
    let until = Until { deadline: Some(Instant::now() + Duration::from_millis(timeout)), cancel: &cx.cancel };
    let (over, survivors) = match follow(running, until, &mut capture).await {
        Ok(ended) => ended,
        Err(refusal) => return refusal,
    };
    let captured = capture.finish(None);
    let ran = Ran { over, survivors, captured, pid, cwd, notes, timeout: Some(timeout) }.left(ask, cx);
    ran.outcome(ask, cx)
}

/// A command that is over.
pub(super) struct Ran {
    pub(super) over: Over,
    pub(super) survivors: usize,
    pub(super) captured: Captured,
    pub(super) pid: u32,
    pub(super) cwd: PathBuf,
    /// What there is to say besides what it printed.
    pub(super) notes: Vec<String>,
    /// Milliseconds it was allowed to take.
    pub(super) timeout: Option<u64>,
}

impl Ran {
    /// Notes where a lasting shell stands now.
    pub(super) fn left(mut self, ask: &Ask<'_>, cx: &ToolCx<'_>) -> Self {
        if let Some(name) = ask.session(cx) {
            self.notes.extend(ask.sessions.did_not_run(name, cx).map(str::to_owned));
            self.cwd = ask.sessions.leave(name, cx).unwrap_or(self.cwd);
        }
        self
    }

    pub(super) fn outcome(self, ask: &Ask<'_>, cx: &ToolCx<'_>) -> Outcome {
        let captured = self.captured;
        let mut notes = self.notes;
        if self.survivors > 0 {
            notes.push(left_behind(self.survivors));
        }
        notes.extend(captured.trouble.map(|trouble| format!("[{trouble}]")));
        let (state, exit, signal) = verdict(self.over);
        if state == State::Failed {
            notes.extend(sandbox::denial_hint(cx.policy, &captured.text));
        }
        let data = json!({
            "command": ask.command,
            "cwd": self.cwd.to_string_lossy(),
            "session": ask.session(cx),
            "timeout": self.timeout,
            "pid": self.pid,
            "signal": signal,
            "background": false,
            "job": Value::Null,
            "output_file": captured.file,
            "survivors": self.survivors,
            "notes": notes,
        });
        let text = noted(captured.text, &notes);
        Outcome { state, text, exit, cut: captured.cut, data, ..Outcome::default() }
    }
}

pub(super) fn left_behind(survivors: usize) -> String {
    let were = if survivors == 1 { "was" } else { "were" };
    let processes = words::count(survivors, "process");
    format!("[{processes} left running {were} ended with the command; only a background job may go on]")
}

pub(super) fn noted(mut text: String, notes: &[String]) -> String {
    for note in notes {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(note);
    }
    text
}

pub(super) fn verdict(over: Over) -> (State, Option<i32>, Option<i32>) {
    match over {
        Over::Exited(Exit::Code(0)) => (State::Ok, Some(0), None),
        Over::Exited(Exit::Code(code)) => (State::Failed, Some(code), None),
        Over::Exited(Exit::Signal(signal)) => (State::Failed, Some(128 + signal), Some(signal)),
        Over::TimedOut => (State::TimedOut, None, None),
        Over::Cancelled => (State::Interrupted, None, None),
    }
}

/// Starts the command line in a shell.
pub(super) async fn start(ask: &Ask<'_>, writer: Writer, cx: &ToolCx<'_>) -> Result<Begun, Outcome> {
    if ask.command.trim().is_empty() {
        return Err(failed("empty_command", "the command is empty"));
    }
    if ask.command.contains('\0') {
        return Err(failed("bad_command", "the command holds a NUL byte, which no command line can"));
    }
    blocked(ask.command, cx)?;
    let io = match (ask.within.tty, ask.within.stdin, writer) {
        (true, _, _) => Io::Terminal(terminal::SIZE),
        (false, Stdin::Pipe, Writer::Job) => Io::Fed,
        (false, Stdin::Empty, _) | (false, Stdin::Pipe, Writer::Nobody) => Io::Captured,
    };
    if cx.shell.syntax {
        parse(ask.command, cx).await?;
    }
    let (mut args, mut notes) = (vec!["-c".into(), ask.command.into()], Vec::new());
    let mut cwd = None;
    if let Some(name) = ask.session(cx) {
        if ask.within.fresh {
            ask.sessions.forget(name, cx);
        }
        let entered = ask.sessions.enter(name, ask.command, cx);
        (args, notes) = (entered.args, entered.notes);
        cwd = entered.cwd.filter(|_| ask.cwd.is_none());
    }
    let cwd = match cwd {
        Some(cwd) => cwd,
        None => folder(ask.cwd, cx)?,
    };
    if cx.guards.keep_from_shell
        && let Some(file) = redirect::overwritten(ask.command, &cwd, cx.cwd)
    {
        let text = format!(
            "the command was not run: its `>` would replace {}, which exists. Change that file with an edit, or let the command write to a new name",
            path::short(cx.cwd, &file)
        );
        return Err(failed("overwrites", text));
    }
    let cmd = Cmd { program: shell(cx.env), args, cwd, env: environment(cx, io), io };
    let running = spawn(cx, &cmd).await?;
    Ok(Begun { running, cwd: cmd.cwd, notes })
}

/// The environment of a command, with what the harness lays over it.
pub(super) fn environment(cx: &ToolCx<'_>, io: Io) -> Vec<(OsString, OsString)> {
    let mut env = cx.env.to_vec();
    let mut set = |name: &str, value: &str| {
        env.retain(|(known, _)| known != name);
        env.push((name.into(), value.into()));
    };
    for (name, value) in cx.shell.env.iter().filter(|(name, _)| sandbox::env::may_be_set(name)) {
        set(name, value);
    }
    if let Io::Terminal(_) = io {
        set("TERM", terminal::TERM);
    }
    env
}

/// Commands that the harness does not have run: they would wait for somebody to type.
fn blocked(command: &str, cx: &ToolCx<'_>) -> Result<(), Outcome> {
    let given: Vec<&str> = command.split_whitespace().collect();
    let begins = |listed: &&String| {
        let words: Vec<&str> = listed.split_whitespace().collect();
        !words.is_empty() && given.starts_with(&words)
    };
    let is = |listed: &&String| listed.split_whitespace().eq(given.iter().copied());
    let rules = cx.shell;
    let word = rules.refuse.iter().find(begins).or_else(|| rules.refuse_alone.iter().find(is));
    let Some(word) = word else { return Ok(()) };
    let data = json!({ "error": "blocked", "command": command, "word": word });
    Err(Outcome { data, ..Outcome::refused(format!("`{word}` is not run here; nothing was done")) })
}

/// Has the shell read the command without running any of it.
async fn parse(command: &str, cx: &ToolCx<'_>) -> Result<(), Outcome> {
    let args = vec!["-n".into(), "-c".into(), command.into()];
    let (env, io) = (cx.env.to_vec(), Io::Captured);
    let cmd = Cmd { program: shell(cx.env), args, cwd: folder(None, cx)?, env, io };
    let running = spawn(cx, &cmd).await?;
    let limits = Limits { bytes: 4_000, lines: 20, keep: Keep::Head };
    let mut capture = Capture::new(limits, None);
    let until = Until { deadline: Some(Instant::now() + PARSE), cancel: &cx.cancel };
    let (over, _) = follow(running, until, &mut capture).await?;
    match over {
        Over::Exited(Exit::Code(0)) => Ok(()),
        Over::Cancelled => Err(Outcome::interrupted("stopped before it began; nothing was done")),
        Over::Exited(_) | Over::TimedOut => Err(failed("syntax", capture.finish(None).text)),
    }
}

pub(super) async fn spawn(cx: &ToolCx<'_>, cmd: &Cmd) -> Result<Box<dyn Running>, Outcome> {
    cx.sandbox.spawn(cx.policy, cmd).await.map_err(|error| match error {
        SandboxError::Unavailable(why) => {
            Outcome { data: json!({ "error": "no_sandbox" }), ..Outcome::refused(why) }
        }
        SandboxError::Spawn { .. } | SandboxError::Setup { .. } => failed("spawn", error.to_string()),
    })
}

pub(super) fn folder(asked: Option<&str>, cx: &ToolCx<'_>) -> Result<PathBuf, Outcome> {
    let Some(raw) = asked else {
        return match cx.cwd.is_dir() {
            true => Ok(cx.cwd.to_owned()),
            false => {
                let text = format!(
                    "the working folder {} is gone; nothing can run until it is there again",
                    path::show(cx.cwd)
                );
                Err(failed("no_folder", text))
            }
        };
    };
    let target = path::resolve(cx, raw)?;
    let real = files::resolve(cx.policy, &target).map_err(|error| path::fault(cx, raw, error))?;
    match real.is_dir() {
        true => Ok(cx.policy.seen(&real)),
        false => Err(failed(
            "no_folder",
            format!("{} is not a folder, so no command can run in it", path::show_str(raw)),
        )),
    }
}

/// The name of the shell that commands run in.
pub fn shell_name(env: &[(OsString, OsString)]) -> &'static str {
    if shell(env).to_string_lossy().ends_with("bash") { "bash" } else { "sh" }
}

/// bash where there is one, since that is what models write.
pub(super) fn shell(env: &[(OsString, OsString)]) -> OsString {
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone()).unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("bash"))
        .find(|bash| bash.is_file())
        .map_or_else(|| "/bin/sh".into(), PathBuf::into_os_string)
}

/// Takes the output of a command until it and all that it started are over. Also gives how many processes
/// had outlived it. Err: its output could not be read.
pub(super) async fn follow(
    mut running: Box<dyn Running>,
    until: Until<'_>,
    capture: &mut Capture,
) -> Result<(Over, usize), Outcome> {
    let mut take = |bytes: &[u8]| capture.push(bytes);
    match drive(running.as_mut(), until, &mut take).await {
        Ok(over) => Ok((over, end(running.as_mut(), over, &mut take).await)),
        Err(error) => {
            running.end(GRACE).await;
            Err(failed("io", format!("it was ended because its output could not be read: {error}")))
        }
    }
}

/// Hands on the output until the command has exited, the deadline passed, or somebody cancelled.
pub(crate) async fn drive(
    running: &mut dyn Running,
    until: Until<'_>,
    sink: &mut (dyn FnMut(&[u8]) + Send),
) -> std::io::Result<Over> {
    let mut buf = vec![0; 64 * 1024];
    loop {
        tokio::select! {
            biased;
            () = until.cancel.cancelled() => return Ok(Over::Cancelled),
            () = passed(until.deadline) => return Ok(Over::TimedOut),
            happened = running.next(&mut buf) => match happened? {
                Happened::Output(count) => sink(&buf[..count]),
                Happened::Exited(exit) => return Ok(Over::Exited(exit)),
            },
        }
    }
}

async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Takes what is still in the pipe, ends the tree, takes its last words. Returns how many processes
/// had outlived the command.
pub(crate) async fn end(
    running: &mut dyn Running,
    over: Over,
    sink: &mut (dyn FnMut(&[u8]) + Send),
) -> usize {
    let survivors = match over {
        Over::Exited(_) => {
            drain(running, DRAIN, sink).await;
            running.end(GRACE).await.survivors
        }
        // Here the command itself is ended too, and that is said already.
        Over::TimedOut | Over::Cancelled => {
            running.end(GRACE).await;
            0
        }
    };
    drain(running, DRAIN, sink).await;
    survivors
}

/// At most this long, and a fixed amount: a survivor may print for ever.
async fn drain(running: &mut dyn Running, most: Duration, sink: &mut (dyn FnMut(&[u8]) + Send)) {
    let until = Instant::now() + most;
    let mut buf = vec![0; 64 * 1024];
    while let Ok(Ok(count)) = tokio::time::timeout_at(until, running.read(&mut buf)).await {
        if count == 0 || Instant::now() > until {
            return;
        }
        sink(&buf[..count]);
    }
}
