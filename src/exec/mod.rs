//! One-shot mode: one prompt, no screen.
//!
//! A frontend: it hears [`Event`]s and writes lines. The last message (or, with `--json`, one JSON
//! object a line) goes to stdout, everything else to stderr. It runs on a thread of its own, so
//! that a slow reader of stdout holds up neither signals nor the model's stream.

mod item;
mod json;
pub mod stdin;
mod text;

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use tokio::sync::mpsc::Receiver;

use crate::agent::{End, Event, Stopper, Why};
use json::Json;
use text::Text;

/// How the run is shown.
#[derive(Clone, Debug)]
pub struct Output {
    pub format: Format,
    /// Also write the last message here.
    pub last_message: Option<PathBuf>,
    pub color: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    /// The Codex exec protocol.
    Json,
    /// The same with tack's own events among them.
    JsonFull,
}

/// A frontend's view of one event. An error is about its output and ends the run.
trait Frontend {
    fn hear(&mut self, event: &Event) -> std::io::Result<()>;
    /// Nothing more waits to be heard: what was written is to be seen.
    fn flush(&mut self) -> std::io::Result<()>;
    /// The run is over without a turn's end having been heard.
    fn close(&mut self) -> std::io::Result<()>;
}

/// Writes events until they end. Run on its own thread; gives how the turn ended, if it did and all
/// of it could be written.
pub fn show(mut from: Receiver<Event>, output: &Output, stopper: &Stopper) -> Option<End> {
    let mut frontend: Box<dyn Frontend> = match output.format {
        Format::Text => Box::new(Text::new(output.color)),
        Format::Json => Box::new(Json::new(BufWriter::new(std::io::stdout()), json::Detail::Codex)),
        Format::JsonFull => Box::new(Json::new(BufWriter::new(std::io::stdout()), json::Detail::Full)),
    };
    let mut broken = false;
    let mut ended = None;
    while let Some(event) = from.blocking_recv() {
        if let Event::TurnEnded { end, .. } = &event {
            ended = Some(end.clone());
            if let Err(error) = keep_last_message(end, output) {
                let _ = writeln!(std::io::stderr(), "warning: {error:#}");
            }
        }
        if broken {
            continue;
        }
        let heard = frontend.hear(&event);
        // What waits already goes out with it.
        let heard = if from.is_empty() { heard.and_then(|()| frontend.flush()) } else { heard };
        if let Err(error) = heard {
            broken = true;
            stopper.stop(output_trouble(&error));
        }
    }
    if !broken && let Err(error) = frontend.close().and_then(|()| frontend.flush()) {
        broken = true;
        stopper.stop(output_trouble(&error));
    }
    ended.filter(|_| !broken)
}

/// Waits until nobody can read standard output any more, and pulls the stopper: a run that has
/// nothing to write for a while would not notice otherwise. Run on a thread nobody waits for.
#[cfg(unix)]
pub fn watch_reader(stopper: &Stopper) {
    use rustix::event::{PollFd, PollFlags, poll};
    let stdout = std::io::stdout();
    loop {
        let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
        match poll(&mut fds, None) {
            Ok(_) if fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) => {
                return stopper.stop(Why::OutputClosed);
            }
            Err(rustix::io::Errno::INTR) => {}
            // Something that cannot be watched, such as a plain file on some systems.
            Ok(_) | Err(_) => return,
        }
    }
}

#[cfg(not(unix))]
pub fn watch_reader(_stopper: &Stopper) {}

fn output_trouble(error: &std::io::Error) -> Why {
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => Why::OutputClosed,
        _ => Why::OutputFailed(error.to_string()),
    }
}

fn keep_last_message(end: &End, output: &Output) -> anyhow::Result<()> {
    use anyhow::Context;
    let Some(path) = &output.last_message else { return Ok(()) };
    let message = match end {
        End::Completed { message } => message.as_deref().unwrap_or_default(),
        End::Failed { .. } | End::Limit { .. } | End::Interrupted => return Ok(()),
    };
    std::fs::write(path, message)
        .with_context(|| format!("the last message could not be written to {}", path.display()))
}

/// The exit code that says how the run ended; see the table in the README.
pub fn exit_code(end: Option<&End>, why: Option<&Why>) -> i32 {
    match (why, end) {
        (Some(Why::OutputFailed(_)), _) => 1,
        (_, Some(End::Completed { .. })) => 0,
        (Some(Why::OutputClosed), _) => 141,
        (Some(Why::Person), _) => 130,
        (Some(Why::Signal(number)), _) => 128 + number,
        (Some(Why::Time(_)), _) | (None, Some(End::Limit { .. })) => 3,
        (None, Some(End::Failed { .. } | End::Interrupted) | None) => 1,
    }
}
