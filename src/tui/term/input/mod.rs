//! What comes from the terminal: a thread that reads it, and the loop's end of a bounded channel.
//!
//! Bytes become keys in `parse` and `keys`, unmarked pastes in `burst`. The thread ends when the
//! terminal does, and with the [`Reader`].

mod burst;
#[cfg_attr(windows, allow(dead_code, reason = "a console's keys come as keys"))]
mod keys;
#[cfg_attr(windows, allow(dead_code, reason = "a console's keys come as keys"))]
mod parse;
#[cfg(test)]
mod tests;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crossterm::event::KeyEvent;
use ratatui::layout::Size;
use tokio::sync::mpsc;

use super::{Reflow, guard, os};
use crate::tui::palette::Theme;
use burst::Burst;
use parse::Token;
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// Events that may wait for the loop; the terminal keeps the rest.
const ROOM: usize = 256;

/// One thing that came from the terminal.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    Key(KeyEvent),
    /// Text that was pasted, as the terminal says or as its speed tells; line breaks are `\n`. It is
    /// foreign text: not clean yet.
    Paste(String),
    /// Columns and rows. Several changes in a row may come as one.
    Resize(u16, u16),
    /// Whether tack's window has the focus.
    Focus(bool),
    /// Of what the terminal says its background is; Dark or Light.
    Background(Theme),
    /// What the terminal does with its lines, by what it says it is: call [`super::Screen::set_reflow`].
    Reflow(Reflow),
    /// The terminal can tell keys apart: call [`guard::Guard::push_keys`].
    Kitty,
    /// The terminal is gone; nothing follows.
    Closed,
}

/// The loop's end.
#[derive(Debug)]
pub struct Reader {
    events: mpsc::Receiver<Input>,
    wake: system::Wake,
    paused: Paused,
    thread: Option<JoinHandle<()>>,
}

/// Whether the terminal is left to another program. The thread holds it while it reads, so that it reads
/// nothing once it is set.
type Paused = Arc<Mutex<bool>>;

/// A terminal that is read.
trait Source: Send + 'static {
    /// Waits until then at most, and adds what came.
    fn next(&mut self, until: Option<Instant>, tokens: &mut Vec<Token>) -> Event;
}

/// What came when the thread looked.
enum Event {
    Tokens,
    Resized(Option<Size>),
    Nothing,
    /// The loop went away.
    Left,
    /// The terminal did.
    Gone,
}

impl Reader {
    /// Reads the terminal that stdin is.
    ///
    /// # Errors
    /// If the system has no more threads or descriptors.
    pub fn start() -> io::Result<Self> {
        let paused = Paused::default();
        let (source, wake) = system::open(paused.clone())?;
        Self::read(source, wake, paused)
    }

    fn read(source: impl Source, wake: system::Wake, paused: Paused) -> io::Result<Self> {
        let (tell, events) = mpsc::channel(ROOM);
        let body = move || hear(source, &tell);
        let thread = thread::Builder::new().name("input".into()).spawn(body)?;
        Ok(Self { events, wake, paused, thread: Some(thread) })
    }

    /// What comes next. Cancel-safe.
    pub async fn next(&mut self) -> Input {
        self.events.recv().await.unwrap_or(Input::Closed)
    }

    /// Leaves the terminal to another program, until [`Reader::resume`].
    pub fn pause(&self) {
        self.set_paused(true);
    }

    pub fn resume(&self) {
        self.set_paused(false);
    }

    fn set_paused(&self, paused: bool) {
        *held(&self.paused) = paused;
        self.wake.look();
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.events.close();
        self.wake.end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The size of the terminal that stdout is, 80 by 24 if it does not know.
pub fn size() -> Size {
    os::size().unwrap_or(Size::new(80, 24))
}

fn held(paused: &Paused) -> MutexGuard<'_, bool> {
    paused.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hear(mut source: impl Source, tell: &mpsc::Sender<Input>) {
    let mut burst = Burst::default();
    loop {
        let (mut tokens, mut out) = (Vec::new(), Vec::new());
        let event = source.next(burst.due(), &mut tokens);
        let now = Instant::now();
        match event {
            Event::Left => return,
            Event::Resized(Some(size)) => {
                if tell.blocking_send(Input::Resize(size.width, size.height)).is_err() {
                    return;
                }
            }
            Event::Tokens | Event::Resized(None) | Event::Nothing | Event::Gone => {}
        }
        if !tokens.is_empty() {
            burst.read(tokens, now, &mut out);
        }
        if matches!(event, Event::Gone) || burst.due().is_some_and(|due| now >= due) {
            burst.settle(&mut out);
        }
        for token in out {
            if input(token).is_some_and(|input| tell.blocking_send(input).is_err()) {
                return;
            }
        }
        if matches!(event, Event::Gone) {
            let _ = tell.blocking_send(Input::Closed);
            return;
        }
    }
}

fn input(token: Token) -> Option<Input> {
    Some(match token {
        Token::Key(key) => Input::Key(key),
        Token::Paste(text) => Input::Paste(text),
        Token::Focus(gained) => Input::Focus(gained),
        Token::Background(theme) => Input::Background(theme),
        Token::Reflow(reflow) => Input::Reflow(reflow),
        Token::Kitty => Input::Kitty,
        Token::Answered => {
            guard::note_asked(false);
            return None;
        }
    })
}
