//! Background jobs: commands that outlive the call that started them, but not the session.
//!
//! One task owns each command; what others may know of it is in [`State`]. Output goes whole to a
//! file and, since it was last asked for, into a bounded capture.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::output::{Capture, Captured};
use super::shell::{self, Over, Until};
use super::spill::Sink;
use super::{ToolCx, failed, lock};
use crate::model::{JobOp, Keep, Limits, Outcome};
use crate::sandbox::Running;

/// Jobs at one time.
const MOST: usize = 16;
/// What a job prints this soon is part of the answer that starts it.
const FIRST: Duration = Duration::from_millis(200);
/// Longest wait for a job that was told to stop; its tree is killed well before.
const STOP: Duration = Duration::from_secs(10);

/// The key that ends a command in a terminal.
const CTRL_C: char = '\u{3}';
const NO_STDIN: &str = "nothing was typed: the command has no terminal and its stdin is empty. Ctrl-C ends it; what it is to read has to be in its command line, through a pipe or a here-document";

/// What is wanted of a job.
pub(super) struct Ask<'a> {
    pub(super) op: JobOp,
    pub(super) id: &'a str,
    /// Milliseconds.
    pub(super) wait: Option<u64>,
    pub(super) input: Option<&'a str>,
}

/// A job that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub id: String,
    pub command: String,
    /// 128 + n when signal n ended it; None when it could not be known.
    pub exit: Option<i32>,
    /// The end of what it printed and nobody asked for yet.
    pub tail: String,
    /// Where all of its output is.
    pub output_file: Option<String>,
}

#[derive(Default)]
pub(super) struct Jobs {
    all: Mutex<BTreeMap<u32, Job>>,
}

struct Job {
    command: String,
    pid: u32,
    state: Arc<Mutex<State>>,
    stop: CancellationToken,
    over: watch::Receiver<bool>,
    task: JoinHandle<()>,
}

/// A command that was just started, as its caller sees it.
struct Started {
    id: u32,
    pid: u32,
    cwd: PathBuf,
    state: Arc<Mutex<State>>,
    stop: CancellationToken,
    over: watch::Receiver<bool>,
}

impl Started {
    async fn wait(&mut self, most: Duration, cx: &ToolCx<'_>) {
        wait_for(&mut self.over, most, cx).await;
    }

    fn facts(&self) -> Facts {
        let mut said = format!("job{} runs in the background, pid {}", self.id, self.pid);
        if let Some(file) = lock(&self.state).file.path() {
            said.push_str(&format!("; its output goes to {file}"));
        }
        let cwd = Some(self.cwd.to_string_lossy().into_owned());
        Facts { id: self.id, said, cwd, pid: self.pid }
    }
}

/// That many milliseconds, but no more than a command may take that is waited for.
fn most(wait: u64, cx: &ToolCx<'_>) -> Duration {
    Duration::from_millis(wait.min(cx.shell_timeout_most))
}

/// Until the command is over, the time has passed, or the call is cancelled.
async fn wait_for(over: &mut watch::Receiver<bool>, most: Duration, cx: &ToolCx<'_>) {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => {}
        _ = tokio::time::timeout(most, over.wait_for(|over| *over)) => {}
    }
}

struct State {
    /// Output since it was last asked for.
    fresh: Capture,
    file: Sink,
    over: Option<Over>,
    survivors: usize,
    /// Its end was told, by whatever way.
    told: bool,
}

impl Jobs {
    /// Starts a command in the background and answers at once.
    pub(super) async fn start(&self, ask: &shell::Ask<'_>, cx: &ToolCx<'_>) -> Outcome {
        let mut started = match self.launch(ask, cx).await {
            Ok(started) => started,
            Err(refusal) => return refusal,
        };
        started.wait(FIRST, cx).await;
        let report = Report::take(&started.state, &cx.limits);
        report.outcome(&started.facts(), ask.command)
    }

    /// Runs a command for `wait` milliseconds; one that is not over by then goes on as a job.
    pub(super) async fn start_or_run(&self, ask: &shell::Ask<'_>, wait: u64, cx: &ToolCx<'_>) -> Outcome {
        let mut started = match self.launch(ask, cx).await {
            Ok(started) => started,
            Err(refusal) => return refusal,
        };
        started.wait(most(wait, cx), cx).await;
        if cx.cancel.is_cancelled() {
            started.stop.cancel();
            let _ = tokio::time::timeout(STOP, started.over.wait_for(|over| *over)).await;
        }
        let report = Report::take(&started.state, &cx.limits);
        let Some(over) = report.over else {
            return report.outcome(&started.facts(), ask.command);
        };
        // It never was a job for anybody to ask for.
        lock(&self.all).remove(&started.id);
        let mut captured = report.captured;
        if captured.cut.is_none() {
            // All of it is shown, so nobody needs the file, whole or not.
            lock(&started.state).file.discard();
            (captured.file, captured.trouble) = (None, None);
        }
        let (pid, cwd, survivors) = (started.pid, started.cwd, report.survivors);
        shell::Ran { over, survivors, captured, pid, cwd, timeout: None }.outcome(ask.command, cx)
    }

    async fn launch(&self, ask: &shell::Ask<'_>, cx: &ToolCx<'_>) -> Result<Started, Outcome> {
        if self.running().len() >= MOST {
            let text = format!("{MOST} background jobs are running; stop one first");
            return Err(failed("too_many_jobs", text));
        }
        let (running, cwd) = shell::start(ask, cx).await?;
        let pid = running.pid();
        let file = Sink::make(cx.spill, "job");
        let fresh = Capture::new(cx.limits.clone(), None);
        let state = Arc::new(Mutex::new(State { fresh, file, over: None, survivors: 0, told: false }));
        let stop = CancellationToken::new();
        let (done, over) = watch::channel(false);
        let task = tokio::spawn(follow(running, Arc::clone(&state), stop.clone(), done));
        let mut all = lock(&self.all);
        let id = all.last_key_value().map_or(1, |(last, _)| last + 1);
        let command = ask.command.into();
        let job =
            Job { command, pid, state: Arc::clone(&state), stop: stop.clone(), over: over.clone(), task };
        all.insert(id, job);
        Ok(Started { id, pid, cwd, state, stop, over })
    }

    pub(super) async fn act(&self, ask: &Ask<'_>, cx: &ToolCx<'_>) -> Outcome {
        let number = ask.id.trim().trim_start_matches("job").parse::<u32>().ok();
        let found = number.and_then(|number| {
            let all = lock(&self.all);
            let job = all.get(&number)?;
            let (state, stop, over) = (Arc::clone(&job.state), job.stop.clone(), job.over.clone());
            Some((number, job.pid, job.command.clone(), state, stop, over))
        });
        let Some((id, pid, command, state, stop, mut over)) = found else {
            let running = self.running();
            let have = if running.is_empty() {
                "none is running".into()
            } else {
                format!("running: {}", running.join(", "))
            };
            return failed("no_such_job", format!("there is no job `{}`; {have}", ask.id));
        };
        let op = match ask.input.unwrap_or_default() {
            "" => ask.op,
            keys if keys.contains(CTRL_C) => JobOp::Stop,
            _ => return failed("no_stdin", NO_STDIN),
        };
        let was_over = *over.borrow();
        match op {
            JobOp::Output => {
                wait_for(&mut over, most(ask.wait.unwrap_or(0), cx), cx).await;
            }
            JobOp::Stop => {
                stop.cancel();
                let _ = tokio::time::timeout(STOP, over.wait_for(|over| *over)).await;
            }
        }
        let report = Report::take(&state, &cx.limits);
        let said = match (op, was_over) {
            (JobOp::Output, _) => format!("job{id}"),
            (JobOp::Stop, true) => format!("job{id} had ended already"),
            (JobOp::Stop, false) if report.over.is_some() => format!("job{id} was stopped"),
            (JobOp::Stop, false) => format!("job{id} was told to stop and has not ended yet"),
        };
        report.outcome(&Facts { id, said, cwd: None, pid }, &command)
    }

    pub(super) fn ended(&self) -> Vec<Ended> {
        let limits = Limits { bytes: 2_000, lines: 20, keep: Keep::Tail };
        let all = lock(&self.all);
        let mut ended = Vec::new();
        for (id, job) in all.iter() {
            let untold = {
                let state = lock(&job.state);
                state.over.is_some() && !state.told
            };
            if untold {
                let report = Report::take(&job.state, &limits);
                ended.push(Ended {
                    id: format!("job{id}"),
                    command: job.command.clone(),
                    exit: report.over.and_then(|over| shell::verdict(over).1),
                    tail: report.captured.text,
                    output_file: report.captured.file,
                });
            }
        }
        ended
    }

    pub(super) fn running(&self) -> Vec<String> {
        let all = lock(&self.all);
        all.iter().filter(|(_, job)| !*job.over.borrow()).map(|(id, _)| format!("job{id}")).collect()
    }

    pub(super) async fn stop_all(&self) {
        let jobs: Vec<_> = {
            let all = lock(&self.all);
            all.values().map(|job| (job.stop.clone(), job.over.clone())).collect()
        };
        for (stop, _) in &jobs {
            stop.cancel();
        }
        for (_, mut over) in jobs {
            let _ = tokio::time::timeout(STOP, over.wait_for(|over| *over)).await;
        }
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        // The command goes with its task, and its tree with the command.
        for job in lock(&self.all).values() {
            job.task.abort();
        }
    }
}

/// Owns the command until it is over.
async fn follow(
    mut running: Box<dyn Running>,
    state: Arc<Mutex<State>>,
    stop: CancellationToken,
    done: watch::Sender<bool>,
) {
    let mut take = |bytes: &[u8]| {
        let mut state = lock(&state);
        state.file.push(bytes);
        state.fresh.push(bytes);
    };
    let until = Until { deadline: None, cancel: &stop };
    let over = shell::drive(running.as_mut(), until, &mut take).await.unwrap_or(Over::Cancelled);
    let survivors = shell::end(running.as_mut(), over, &mut take).await;
    drop(running);
    {
        let mut state = lock(&state);
        state.over = Some(over);
        state.survivors = survivors;
    }
    // Nobody listens any more when the session is gone.
    let _ = done.send(true);
}

/// What a job printed since it was last asked, and how it stands.
struct Report {
    over: Option<Over>,
    survivors: usize,
    captured: Captured,
}

struct Facts {
    id: u32,
    said: String,
    cwd: Option<String>,
    pid: u32,
}

impl Report {
    fn take(state: &Mutex<State>, limits: &Limits) -> Self {
        let mut state = lock(state);
        let fresh = std::mem::replace(&mut state.fresh, Capture::new(limits.clone(), None));
        let file = state.file.path();
        let captured = fresh.with(limits.clone()).finish(file.as_deref());
        let trouble = state.file.trouble().map(str::to_owned);
        state.told |= state.over.is_some();
        Self {
            over: state.over,
            survivors: state.survivors,
            captured: Captured { file, trouble, ..captured },
        }
    }

    fn outcome(self, facts: &Facts, command: &str) -> Outcome {
        let (exit, signal) = match self.over.map(shell::verdict) {
            Some((_, exit, signal)) => (exit, signal),
            None => (None, None),
        };
        let how = match (self.over, exit) {
            (None, _) => "still running".to_owned(),
            (Some(_), Some(code)) => format!("ended with exit code {code}"),
            (Some(_), None) => "ended by a stop".to_owned(),
        };
        let first = format!("{} ({how})", facts.said);
        let shown = self.captured.text;
        let text = if shown.is_empty() { first } else { format!("{first}\n{shown}") };
        let notes: Vec<String> =
            self.captured.trouble.map(|trouble| format!("[{trouble}]")).into_iter().collect();
        let text = shell::noted(text, &notes);
        let data = json!({
            "command": command,
            "cwd": facts.cwd,
            "timeout": Value::Null,
            "pid": facts.pid,
            "signal": signal,
            "background": true,
            "job": format!("job{}", facts.id),
            "running": self.over.is_none(),
            "output": shown,
            "output_file": self.captured.file,
            "survivors": self.survivors,
            "notes": notes,
        });
        Outcome { exit, cut: self.captured.cut, data, ..Outcome::ok(text) }
    }
}
