//! A job as whoever deals with it sees it: waiting for it, typing into it, ending it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::{ToolCx, failed, lock};
use super::report::{Facts, Report, State};
use crate::model::{JobOp, Outcome};
use crate::sandbox::Input;

/// Longest wait for a job that was told to stop; its tree is killed well before.
const STOP: Duration = Duration::from_secs(10);
/// How long a job that was typed into has to be silent before it is thought to wait for more.
const QUIET: Duration = Duration::from_secs(1);
/// Longest time to type: a job that reads nothing takes no more at some point.
const TYPING: Duration = Duration::from_secs(5);

/// The key that ends a command in a terminal.
pub(super) const CTRL_C: char = '\u{3}';
/// The key that ends the input of a command in a terminal.
const CTRL_D: &[u8] = b"\x04";
const NO_STDIN: &str = "nothing was typed: the command has no terminal and its stdin is empty. Ctrl-C ends it; what it is to read has to be in its command line, through a pipe or a here-document";

/// What one needs to deal with a job.
#[derive(Clone)]
pub(super) struct Seat {
    pub(super) id: u32,
    pub(super) command: String,
    pub(super) pid: u32,
    pub(super) began: Instant,
    pub(super) tty: bool,
    /// None once it is closed, or where there never was anything to write to.
    pub(super) input: Arc<Mutex<Option<Arc<dyn Input>>>>,
    pub(super) state: Arc<Mutex<State>>,
    pub(super) stop: CancellationToken,
    pub(super) over: watch::Receiver<bool>,
    /// Changes with every piece of output.
    pub(super) pulse: watch::Receiver<()>,
}

impl Seat {
    pub(super) async fn wait(&mut self, most: Duration, cx: &ToolCx<'_>) {
        wait_for(&mut self.over, most, cx).await;
    }

    /// The same, but not longer than until what was typed has been answered, as far as silence tells.
    pub(super) async fn wait_for_answer(&mut self, most: Duration, cx: &ToolCx<'_>) {
        let Self { over, pulse, .. } = self;
        let answered = async {
            if pulse.changed().await.is_err() {
                // It is over, which is waited for beside this.
                std::future::pending::<()>().await;
            }
            while let Ok(Ok(())) = tokio::time::timeout(QUIET, pulse.changed()).await {}
        };
        tokio::select! {
            () = wait_for(over, most, cx) => {}
            () = answered => {}
        }
    }

    pub(super) async fn end(&mut self) {
        self.stop.cancel();
        let _ = tokio::time::timeout(STOP, self.over.wait_for(|over| *over)).await;
    }

    /// Types, and closes the input where that is asked for. Err: nothing can be typed.
    pub(super) async fn type_in(&mut self, text: &str, close_stdin: bool) -> Result<(), Outcome> {
        let Some(input) = lock(&self.input).clone() else {
            return if text.is_empty() { Ok(()) } else { Err(failed("no_stdin", NO_STDIN)) };
        };
        self.pulse.mark_unchanged();
        let end = if close_stdin && self.tty { CTRL_D } else { &[] };
        let bytes = [text.as_bytes(), end].concat();
        let mut rest = &bytes[..];
        let until = Instant::now() + TYPING;
        while !rest.is_empty() {
            match tokio::time::timeout_at(until, input.write(rest)).await {
                Ok(Ok(count)) => rest = &rest[count..],
                // It reads no more, for good.
                Ok(Err(_)) => break,
                Err(_) => {
                    let typed = bytes.len() - rest.len();
                    let text = format!(
                        "only {typed} of {} bytes were typed: the command reads nothing",
                        bytes.len()
                    );
                    return Err(failed("not_read", text));
                }
            }
        }
        if close_stdin {
            lock(&self.input).take();
        }
        Ok(())
    }

    pub(super) fn report(&self, op: JobOp, was_over: bool, cx: &ToolCx<'_>) -> Outcome {
        let (id, pid) = (self.id, self.pid);
        let report = Report::take(&self.state, &cx.limits);
        let said = match (op, was_over) {
            (JobOp::Output | JobOp::Wait | JobOp::List, _) => format!("job{id}"),
            (JobOp::Stop, true) => format!("job{id} had ended already"),
            (JobOp::Stop, false) if report.over.is_some() => format!("job{id} was stopped"),
            (JobOp::Stop, false) => format!("job{id} was told to stop and has not ended yet"),
        };
        report.outcome(Facts { id, said, cwd: None, pid, notes: Vec::new() }, &self.command)
    }
}

/// Until the command is over, the time has passed, or the call is cancelled.
async fn wait_for(over: &mut watch::Receiver<bool>, most: Duration, cx: &ToolCx<'_>) {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => {}
        _ = tokio::time::timeout(most, over.wait_for(|over| *over)) => {}
    }
}
