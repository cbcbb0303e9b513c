//! Background jobs: commands that outlive the call that started them, but not the session.
//!
//! One task owns each command; what others may know of it is in [`State`]. Output goes whole to a
//! file and, since it was last asked for, into a bounded capture.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::output::Capture;
use super::shell::{self, Ask, Over, Until};
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
    state: Arc<Mutex<State>>,
    stop: CancellationToken,
    over: watch::Receiver<bool>,
    task: JoinHandle<()>,
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
    pub(super) async fn start(&self, ask: &Ask<'_>, cx: &ToolCx<'_>) -> Outcome {
        if self.running().len() >= MOST {
            return failed("too_many_jobs", format!("{MOST} background jobs are running; stop one first"));
        }
        let (running, cwd) = match shell::start(ask, cx).await {
            Ok(started) => started,
            Err(refusal) => return refusal,
        };
        let pid = running.pid();
        let file = Sink::make(cx.spill, "job");
        let output_file = file.path();
        let state = State {
            fresh: Capture::new(cx.limits.clone(), None),
            file,
            over: None,
            survivors: 0,
            told: false,
        };
        let state = Arc::new(Mutex::new(state));
        let stop = CancellationToken::new();
        let (done, mut over) = watch::channel(false);
        let task = tokio::spawn(follow(running, Arc::clone(&state), stop.clone(), done));
        let job =
            Job { command: ask.command.into(), state: Arc::clone(&state), stop, over: over.clone(), task };
        let id = {
            let mut all = lock(&self.all);
            let id = all.last_key_value().map_or(1, |(last, _)| last + 1);
            all.insert(id, job);
            id
        };
        let _ = tokio::time::timeout(FIRST, over.wait_for(|over| *over)).await;
        let report = Report::take(&state, &cx.limits);
        let mut said = format!("job{id} runs in the background, pid {pid}");
        if let Some(file) = &output_file {
            said.push_str(&format!("; its output goes to {file}"));
        }
        report.outcome(
            &Facts { id, said, cwd: Some(cwd.to_string_lossy().into_owned()), pid: Some(pid) },
            ask.command,
        )
    }

    pub(super) async fn act(&self, op: JobOp, id: &str, cx: &ToolCx<'_>) -> Outcome {
        let number = id.trim().trim_start_matches("job").parse::<u32>().ok();
        let found = number.and_then(|number| {
            let all = lock(&self.all);
            let job = all.get(&number)?;
            Some((number, job.command.clone(), Arc::clone(&job.state), job.stop.clone(), job.over.clone()))
        });
        let Some((id, command, state, stop, mut over)) = found else {
            let running = self.running();
            let have = if running.is_empty() {
                "none is running".into()
            } else {
                format!("running: {}", running.join(", "))
            };
            return failed("no_such_job", format!("there is no job `{id}`; {have}"));
        };
        let was_over = *over.borrow();
        match op {
            JobOp::Output => {}
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
        report.outcome(&Facts { id, said, cwd: None, pid: None }, &command)
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
                    tail: report.text,
                    output_file: report.file,
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
    text: String,
    cut: Option<crate::model::Cut>,
    file: Option<String>,
    /// Why the file is not complete.
    trouble: Option<String>,
}

struct Facts {
    id: u32,
    said: String,
    cwd: Option<String>,
    pid: Option<u32>,
}

impl Report {
    fn take(state: &Mutex<State>, limits: &Limits) -> Self {
        let mut state = lock(state);
        let fresh = std::mem::replace(&mut state.fresh, Capture::new(limits.clone(), None));
        let file = state.file.path();
        let captured = fresh.with(limits.clone()).finish(file.as_deref());
        state.told |= state.over.is_some();
        Self {
            over: state.over,
            survivors: state.survivors,
            text: captured.text,
            cut: captured.cut,
            file,
            trouble: state.file.trouble().map(|trouble| format!("[{trouble}]")),
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
        let text = if self.text.is_empty() { first } else { format!("{first}\n{}", self.text) };
        let text = shell::noted(text, self.trouble.as_slice());
        let data = json!({
            "command": command,
            "cwd": facts.cwd,
            "timeout": Value::Null,
            "pid": facts.pid,
            "signal": signal,
            "background": true,
            "job": format!("job{}", facts.id),
            "running": self.over.is_none(),
            "output": self.text,
            "output_file": self.file,
            "survivors": self.survivors,
        });
        Outcome { exit, cut: self.cut, data, ..Outcome::ok(text) }
    }
}
