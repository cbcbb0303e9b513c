//! The session's one terminal: a shell that keys are typed into and whose screen is shown.
//!
//! It starts with the first keys and ends with the session. One task owns the shell; the screen is
//! shared with it. `data`: `new` (the text is what is new, else the screen), `screen`, `rows`, `columns`,
//! `exited`, `notes`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::screen::Screen;
use super::shell::{self, Over, Until};
use super::{ToolCx, keys, lock};
use crate::model::{Outcome, State};
use crate::sandbox::{Input, Io, Running, Size};

/// Of every terminal that a command gets.
pub(super) const SIZE: Size = Size { rows: 40, columns: 160 };
/// What the terminal understands.
pub(super) const TERM: &str = "xterm-256color";
/// Milliseconds between keys and look.
const WAIT: u64 = 1_000;
const WAIT_MOST: u64 = 60_000;
/// Bytes that the screen takes at once.
const PIECE: usize = 4 * 1024;
/// Longest wait for a shell that was told to end.
const STOP: Duration = Duration::from_secs(10);

const ENDED: &str = "[the shell has ended; the next keys start a new one]";

/// None until the first keys.
#[derive(Default)]
pub(super) struct Terminal {
    desk: Mutex<Option<Desk>>,
}

#[derive(Clone)]
struct Desk {
    screen: Arc<Mutex<Screen>>,
    input: Option<Arc<dyn Input>>,
    stop: CancellationToken,
    over: watch::Receiver<bool>,
    task: Arc<JoinHandle<()>>,
}

impl Terminal {
    /// Types, waits, looks.
    pub(super) async fn act(&self, text: &str, wait: Option<u64>, cx: &ToolCx<'_>) -> Outcome {
        let mut desk = match self.desk(cx).await {
            Ok(desk) => desk,
            Err(refusal) => return refusal,
        };
        let until = Instant::now() + Duration::from_millis(wait.unwrap_or(WAIT).min(WAIT_MOST));
        let application = lock(&desk.screen).wants_application_keys();
        let mut notes: Vec<String> =
            desk.type_in(&keys::bytes(text, application), until).await.into_iter().collect();
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {}
            _ = desk.over.wait_for(|over| *over) => {}
            () = tokio::time::sleep_until(until) => {}
        }
        let look = lock(&desk.screen).look(&cx.limits);
        let exited = *desk.over.borrow() || desk.over.has_changed().is_err();
        if exited {
            lock(&self.desk).take();
            notes.push(ENDED.to_owned());
        }
        notes.extend(look.captured.trouble.map(|trouble| format!("[{trouble}]")));
        let data = json!({
            "new": look.new,
            "screen": look.screen,
            "rows": SIZE.rows,
            "columns": SIZE.columns,
            "exited": exited,
            "notes": notes,
        });
        let state = if cx.cancel.is_cancelled() { State::Interrupted } else { State::Ok };
        let text = shell::noted(look.captured.text, &notes);
        Outcome { state, cut: look.captured.cut, data, ..Outcome::ok(text) }
    }

    async fn desk(&self, cx: &ToolCx<'_>) -> Result<Desk, Outcome> {
        let there = lock(&self.desk).clone().filter(|desk| !*desk.over.borrow());
        if let Some(desk) = there {
            return Ok(desk);
        }
        let desk = Desk::start(cx).await?;
        *lock(&self.desk) = Some(desk.clone());
        Ok(desk)
    }

    pub(super) async fn stop(&self) {
        let desk = lock(&self.desk).take();
        if let Some(mut desk) = desk {
            desk.stop.cancel();
            let _ = tokio::time::timeout(STOP, desk.over.wait_for(|over| *over)).await;
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(desk) = lock(&self.desk).take() {
            // The shell goes with its task, and its tree with the shell.
            desk.task.abort();
        }
    }
}

impl Desk {
    async fn start(cx: &ToolCx<'_>) -> Result<Self, Outcome> {
        let program = shell::shell(cx.env);
        let plain: &[&str] =
            if program.to_string_lossy().ends_with("bash") { &["--norc", "--noprofile"] } else { &[] };
        let args = plain.iter().chain(&["-i"]).map(Into::into).collect();
        let set = [("PS1", r"\u@\h:\w\$ "), ("HISTFILE", ""), ("INPUTRC", "/dev/null")];
        let mut env = shell::environment(cx, Io::Terminal(SIZE));
        env.retain(|(name, _)| !set.iter().any(|(own, _)| name == own));
        env.extend(set.map(|(name, value)| (name.into(), value.into())));
        let cwd = shell::folder(None, cx)?;
        let cmd = crate::sandbox::Cmd { program, args, cwd, env, io: Io::Terminal(SIZE) };
        let mut running = shell::spawn(cx, &cmd).await?;
        let input = running.input();
        let screen = Arc::new(Mutex::new(Screen::new(SIZE, &cx.limits, Some(cx.spill.to_owned()))));
        let stop = CancellationToken::new();
        let (done, over) = watch::channel(false);
        let task = tokio::spawn(follow(running, Arc::clone(&screen), stop.clone(), done));
        Ok(Self { screen, input, stop, over, task: Arc::new(task) })
    }

    /// Some: what could not be typed, because nothing reads it.
    async fn type_in(&self, bytes: &[u8], until: Instant) -> Option<String> {
        let mut rest = bytes;
        while let (false, Some(input)) = (rest.is_empty(), &self.input) {
            // A shell that has ended takes nothing; that it has is seen by the look.
            let Ok(Ok(count)) = tokio::time::timeout_at(until, input.write(rest)).await else { break };
            rest = &rest[count..];
        }
        (!rest.is_empty()).then(|| {
            format!(
                "[only {} of {} bytes were typed: nothing reads them]",
                bytes.len() - rest.len(),
                bytes.len()
            )
        })
    }
}

/// Owns the shell until it is over.
async fn follow(
    mut running: Box<dyn Running>,
    screen: Arc<Mutex<Screen>>,
    stop: CancellationToken,
    done: watch::Sender<bool>,
) {
    // Piece by piece, so that whoever wants to look does not wait for all of a flood.
    let mut show = |bytes: &[u8]| bytes.chunks(PIECE).for_each(|piece| lock(&screen).feed(piece));
    let until = Until { deadline: None, cancel: &stop };
    let over = shell::drive(running.as_mut(), until, &mut show).await.unwrap_or(Over::Cancelled);
    shell::end(running.as_mut(), over, &mut show).await;
    drop(running);
    // Nobody listens any more when the session is gone.
    let _ = done.send(true);
}
