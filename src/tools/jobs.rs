//! Background jobs: commands that outlive the call that started them, but not the session.
//!
//! One task owns each command; what others may know of it is in [`State`]. Output goes whole to a
//! file and, since it was last asked for, into a bounded capture.

mod report;
mod seat;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::output::Capture;
use super::shell::{self, Begun, Over, Until, Writer};
use super::spill::Sink;
use super::{ToolCx, failed, lock, words};
use crate::model::{JobOp, Keep, Limits, Outcome};
use crate::sandbox::Running;
use report::{Facts, Report, State, ended_how};
use seat::{CTRL_C, Seat};

/// Jobs at one time.
const MOST: usize = 16;
/// Bytes of output that a person is shown.
const TAIL: u64 = 8 * 1024;
/// What a job prints this soon is part of the answer that starts it.
const FIRST: Duration = Duration::from_millis(200);

/// What is wanted of a job.
pub(super) struct Ask<'a> {
    pub(super) op: JobOp,
    pub(super) id: &'a str,
    /// Milliseconds.
    pub(super) wait: Option<u64>,
    pub(super) input: Option<&'a str>,
    pub(super) close_stdin: bool,
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

/// A job as the person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub id: String,
    pub command: String,
    pub running: bool,
    /// As in [`Ended`].
    pub exit: Option<i32>,
    pub output_file: Option<String>,
}

#[derive(Default)]
pub(super) struct Jobs {
    all: Mutex<BTreeMap<u32, Seated>>,
}

struct Seated {
    seat: Seat,
    task: JoinHandle<()>,
}

/// A command that was just started, as its caller sees it.
struct Started {
    seat: Seat,
    cwd: PathBuf,
    notes: Vec<String>,
}

impl Started {
    fn facts(&self) -> Facts {
        let Seat { id, pid, .. } = self.seat;
        let mut said = format!("job{id} runs in the background, pid {pid}");
        if let Some(file) = lock(&self.seat.state).file.path() {
            said.push_str(&format!("; its output goes to {file}"));
        }
        let cwd = Some(self.cwd.to_string_lossy().into_owned());
        Facts { id, said, cwd, pid, notes: self.notes.clone() }
    }
}

/// The last lines of a file, at most [`TAIL`] bytes of them.
fn end_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let from = file.metadata()?.len().saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // What begins in the middle of a line is none.
    Ok(if from > 0 { text.split_once('\n').map_or(String::new(), |(_, rest)| rest.to_owned()) } else { text })
}

/// That many milliseconds, but no more than a command may take that is waited for.
fn most(wait: u64, cx: &ToolCx<'_>) -> Duration {
    Duration::from_millis(wait.min(cx.shell_timeout_most))
}

impl Jobs {
    /// Starts a command in the background and answers at once.
    pub(super) async fn start(&self, ask: &shell::Ask<'_>, cx: &ToolCx<'_>) -> Outcome {
        let mut started = match self.launch(ask, cx).await {
            Ok(started) => started,
            Err(refusal) => return refusal,
        };
        started.seat.wait(FIRST, cx).await;
        let report = Report::take(&started.seat.state, &cx.limits);
        report.outcome(started.facts(), ask.command)
    }

    /// Runs a command for `wait` milliseconds; one that is not over by then goes on as a job.
    pub(super) async fn start_or_run(&self, ask: &shell::Ask<'_>, wait: u64, cx: &ToolCx<'_>) -> Outcome {
        let mut started = match self.launch(ask, cx).await {
            Ok(started) => started,
            Err(refusal) => return refusal,
        };
        started.seat.wait(most(wait, cx), cx).await;
        if cx.cancel.is_cancelled() {
            started.seat.end().await;
        }
        let report = Report::take(&started.seat.state, &cx.limits);
        let Some(over) = report.over else {
            return report.outcome(started.facts(), ask.command);
        };
        let Started { seat, cwd, notes } = started;
        // It never was a job for anybody to ask for.
        lock(&self.all).remove(&seat.id);
        let mut captured = report.captured;
        if captured.cut.is_none() {
            // All of it is shown, so nobody needs the file, whole or not.
            lock(&seat.state).file.discard();
            (captured.file, captured.trouble) = (None, None);
        }
        let (pid, survivors) = (seat.pid, report.survivors);
        let ran = shell::Ran { over, survivors, captured, pid, cwd, notes, timeout: None };
        ran.left(ask, cx).outcome(ask, cx)
    }

    async fn launch(&self, ask: &shell::Ask<'_>, cx: &ToolCx<'_>) -> Result<Started, Outcome> {
        if self.running().len() >= MOST {
            let text = format!("{MOST} background jobs are running; stop one first");
            return Err(failed("too_many_jobs", text));
        }
        let Begun { mut running, cwd, notes } = shell::start(ask, Writer::Job, cx).await?;
        let (pid, input) = (running.pid(), Arc::new(Mutex::new(running.input())));
        let file = Sink::make(cx.spill, "job");
        let fresh = Capture::new(cx.limits.clone(), None);
        let state = Arc::new(Mutex::new(State { fresh, file, over: None, survivors: 0, told: false }));
        let stop = CancellationToken::new();
        let ((done, over), (beat, pulse)) = (watch::channel(false), watch::channel(()));
        let task = tokio::spawn(follow(running, Arc::clone(&state), stop.clone(), (done, beat)));
        let mut all = lock(&self.all);
        let id = all.last_key_value().map_or(1, |(last, _)| last + 1);
        let (command, tty, began) = (ask.command.into(), ask.within.tty, Instant::now());
        let seat = Seat { id, command, pid, began, tty, input, state, stop, over, pulse };
        all.insert(id, Seated { seat: seat.clone(), task });
        Ok(Started { seat, cwd, notes })
    }

    pub(super) async fn act(&self, ask: &Ask<'_>, cx: &ToolCx<'_>) -> Outcome {
        match ask.op {
            JobOp::List => return self.list(),
            JobOp::Wait if ask.id.trim().is_empty() => return self.wait_for_any(ask, cx).await,
            JobOp::Output | JobOp::Stop | JobOp::Wait => {}
        }
        let number = ask.id.trim().trim_start_matches("job").parse::<u32>().ok();
        let Some(mut seat) = number.and_then(|number| Some(lock(&self.all).get(&number)?.seat.clone()))
        else {
            let running = self.running();
            let have = if running.is_empty() {
                "none is running".into()
            } else {
                format!("running: {}", running.join(", "))
            };
            return failed("no_such_job", format!("there is no job `{}`; {have}", ask.id));
        };
        let (typed, was_over) = (ask.input.unwrap_or_default(), *seat.over.borrow());
        let op = match typed.contains(CTRL_C) && !seat.tty {
            true => JobOp::Stop,
            false => ask.op,
        };
        if op == JobOp::Stop {
            seat.end().await;
        } else {
            if let Err(refusal) = seat.type_in(typed, ask.close_stdin).await {
                return refusal;
            }
            let usual = if op == JobOp::Wait { cx.shell_timeout } else { 0 };
            let most = most(ask.wait.unwrap_or(usual), cx);
            match typed.is_empty() {
                true => seat.wait(most, cx).await,
                false => seat.wait_for_answer(most, cx).await,
            }
        }
        seat.report(op, was_over, cx)
    }

    /// A line for each job of the session.
    fn list(&self) -> Outcome {
        let all = lock(&self.all);
        let (mut lines, mut jobs) = (Vec::new(), Vec::new());
        for (id, Seated { seat, .. }) in all.iter() {
            let over = lock(&seat.state).over;
            let exit = over.and_then(|over| shell::verdict(over).1);
            let seconds = seat.began.elapsed().as_secs();
            let how = match over {
                None => format!("still running, {}", words::count(seconds, "second")),
                Some(over) => ended_how(over),
            };
            lines.push(format!("job{id} ({how}): {}", seat.command));
            jobs.push(json!({
                "job": format!("job{id}"),
                "command": seat.command,
                "running": over.is_none(),
                "exit": exit,
                "pid": seat.pid,
                "seconds": seconds,
            }));
        }
        let text = if lines.is_empty() { "there are no jobs".to_owned() } else { lines.join("\n") };
        Outcome { data: json!({ "jobs": jobs }), ..Outcome::ok(text) }
    }

    /// The first that ends, or has ended and was not told of.
    async fn wait_for_any(&self, ask: &Ask<'_>, cx: &ToolCx<'_>) -> Outcome {
        let seats: Vec<Seat> = {
            let all = lock(&self.all);
            let untold = |job: &&Seated| !lock(&job.seat.state).told;
            all.values().filter(untold).map(|job| job.seat.clone()).collect()
        };
        if seats.is_empty() {
            let data = json!({ "jobs": [], "running": false });
            return Outcome { data, ..Outcome::ok("no job is running") };
        }
        let ids: Vec<String> = seats.iter().map(|seat| format!("job{}", seat.id)).collect();
        let mut overs: Vec<_> = seats.iter().map(|seat| seat.over.clone()).collect();
        let first = futures_util::future::select_all(overs.iter_mut().map(|over| {
            Box::pin(async {
                // An error is an end too.
                let _ = over.wait_for(|over| *over).await;
            })
        }));
        let found = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => None,
            ended = tokio::time::timeout(most(ask.wait.unwrap_or(cx.shell_timeout), cx), first) => ended.ok(),
        };
        match found {
            Some(((), at, _)) => seats[at].report(JobOp::Wait, false, cx),
            None => {
                let data = json!({ "jobs": ids, "running": true });
                Outcome { data, ..Outcome::ok(format!("still running: {}", ids.join(", "))) }
            }
        }
    }

    pub(super) fn ended(&self) -> Vec<Ended> {
        let limits = Limits { bytes: 2_000, lines: 20, keep: Keep::Tail };
        let all = lock(&self.all);
        let mut ended = Vec::new();
        for (id, job) in all.iter() {
            let seat = &job.seat;
            let untold = {
                let state = lock(&seat.state);
                state.over.is_some() && !state.told
            };
            if untold {
                let report = Report::take(&seat.state, &limits);
                ended.push(Ended {
                    id: format!("job{id}"),
                    command: seat.command.clone(),
                    exit: report.over.and_then(|over| shell::verdict(over).1),
                    tail: report.captured.text,
                    output_file: report.captured.file,
                });
            }
        }
        ended
    }

    pub(super) fn all(&self) -> Vec<Job> {
        let all = lock(&self.all);
        let job = |(id, job): (&u32, &Seated)| {
            let state = lock(&job.seat.state);
            Job {
                id: format!("job{id}"),
                command: job.seat.command.clone(),
                running: state.over.is_none(),
                exit: state.over.and_then(|over| shell::verdict(over).1),
                output_file: state.file.path().map(|path| path.to_string()),
            }
        };
        all.iter().map(job).collect()
    }

    /// See [`super::Toolbox::tail_job`]. What has no file any more printed nothing.
    pub(super) fn tail(&self, id: &str) -> Option<String> {
        let found = self.all().into_iter().find(|job| job.id == id)?;
        let end = found.output_file.and_then(|file| end_of(file.as_ref()).ok());
        Some(end.unwrap_or_default())
    }

    /// Ends one; false when there is none of that id.
    pub(super) async fn stop(&self, id: &str) -> bool {
        let found = lock(&self.all)
            .iter()
            .find(|(nth, _)| format!("job{nth}") == id)
            .map(|(_, job)| job.seat.clone());
        match found {
            Some(mut seat) => {
                seat.end().await;
                true
            }
            None => false,
        }
    }

    pub(super) fn running(&self) -> Vec<String> {
        let all = lock(&self.all);
        all.iter().filter(|(_, job)| !*job.seat.over.borrow()).map(|(id, _)| format!("job{id}")).collect()
    }

    pub(super) async fn stop_all(&self) {
        let seats: Vec<Seat> = lock(&self.all).values().map(|job| job.seat.clone()).collect();
        for seat in &seats {
            seat.stop.cancel();
        }
        for mut seat in seats {
            seat.end().await;
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
    (done, beat): (watch::Sender<bool>, watch::Sender<()>),
) {
    let mut take = |bytes: &[u8]| {
        {
            let mut state = lock(&state);
            state.file.push(bytes);
            state.fresh.push(bytes);
        }
        let _ = beat.send(());
    };
    let until = Until { deadline: None, cancel: &stop };
    let over = shell::drive(running.as_mut(), until, &mut take).await.unwrap_or(Over::Cancelled);
    let survivors = shell::end(running.as_mut(), over, &mut take).await;
    drop(running);
    {
        let mut state = lock(&state);
        state.file.close();
        state.over = Some(over);
        state.survivors = survivors;
    }
    // Nobody listens any more when the session is gone.
    let _ = done.send(true);
}
