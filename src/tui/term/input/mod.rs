//! What comes from the terminal: a thread that reads it, and the loop's end of a bounded channel.
//!
//! Bytes become keys in `parse` and `keys`, unmarked pastes in `burst`. The thread ends when the
//! terminal does, and with the [`Reader`].

mod burst;
mod keys;
mod parse;
#[cfg(test)]
mod tests;

use std::io::{self, Read as _};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossterm::event::KeyEvent;
use ratatui::layout::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::tcgetwinsize;
use signal_hook::consts::signal::SIGWINCH;
use tokio::sync::mpsc;

use super::{Reflow, guard};
use crate::tui::palette::Theme;
use burst::Burst;
use parse::{Parser, Token};

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
    /// Closing it ends the thread; a byte makes it look at `paused`.
    wake: UnixStream,
    paused: Arc<Mutex<bool>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Reads the terminal that stdin is.
    ///
    /// # Errors
    /// If the system has no more threads or descriptors.
    pub fn start() -> io::Result<Self> {
        Self::read(rustix::stdio::stdin())
    }

    fn read(terminal: impl AsFd + Send + 'static) -> io::Result<Self> {
        let (tell, events) = mpsc::channel(ROOM);
        let (wake, woken) = UnixStream::pair()?;
        let (resized, signal) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        resized.set_nonblocking(true)?;
        let paused = Arc::new(Mutex::new(false));
        let registered = signal_hook::low_level::pipe::register(SIGWINCH, signal)?;
        let source = Source { terminal, woken, resized, paused: paused.clone() };
        let body = move || {
            source.run(&tell);
            signal_hook::low_level::unregister(registered);
        };
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
        // Held by the thread while it reads, so that it reads nothing after this.
        *self.paused.lock().unwrap_or_else(PoisonError::into_inner) = paused;
        let _ = io::Write::write(&mut &self.wake, b"p");
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.events.close();
        let _ = self.wake.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The size of the terminal that stdout is, 80 by 24 if it does not know.
pub fn size() -> Size {
    size_of(rustix::stdio::stdout()).unwrap_or(Size::new(80, 24))
}

fn size_of(terminal: impl AsFd) -> Option<Size> {
    let size = tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some(Size::new(size.ws_col, size.ws_row))
}

/// What the thread waits for.
struct Source<T> {
    terminal: T,
    woken: UnixStream,
    resized: UnixStream,
    paused: Arc<Mutex<bool>>,
}

/// What happened.
enum Event {
    Bytes(usize),
    Resized,
    Nothing,
    /// The loop went away.
    Left,
    /// The terminal did.
    Gone,
}

impl<T: AsFd> Source<T> {
    fn run(&self, tell: &mpsc::Sender<Input>) {
        let (mut parser, mut burst) = (Parser::default(), Burst::default());
        let mut buffer = vec![0; 64 << 10];
        let mut last = Instant::now();
        loop {
            let due = [parser.patience().map(|patience| last + patience), burst.due()];
            let event = self.wait(due.into_iter().flatten().min(), &mut buffer);
            let (mut tokens, mut out) = (Vec::new(), Vec::new());
            let now = Instant::now();
            match event {
                Event::Bytes(count) => {
                    last = now;
                    parser.feed(&buffer[..count], &mut tokens);
                }
                Event::Resized => {
                    if let Some(size) = size_of(&self.terminal)
                        && tell.blocking_send(Input::Resize(size.width, size.height)).is_err()
                    {
                        return;
                    }
                }
                Event::Nothing => {}
                Event::Gone => parser.give_up(&mut tokens),
                Event::Left => return,
            }
            if parser.patience().is_some_and(|patience| now >= last + patience) {
                parser.give_up(&mut tokens);
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

    fn wait(&self, until: Option<Instant>, buffer: &mut [u8]) -> Event {
        let paused = *self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        // Rounded up, or it would wake too early and spin.
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.map(|left| left + Duration::from_micros(200));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut fds = vec![
            PollFd::new(&self.woken, PollFlags::IN),
            PollFd::new(&self.resized, PollFlags::IN),
            PollFd::new(&self.terminal, PollFlags::IN),
        ];
        fds.truncate(if paused { 2 } else { 3 });
        match poll(&mut fds, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Event::Gone,
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        if ready[0] {
            return if matches!((&self.woken).read(&mut [0; 16]), Ok(0)) {
                Event::Left
            } else {
                Event::Nothing
            };
        }
        if ready[1] {
            let _ = (&self.resized).read(&mut [0; 256]);
            return Event::Resized;
        }
        if !ready.get(2).is_some_and(|ready| *ready) {
            return Event::Nothing;
        }
        let paused = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        if *paused {
            return Event::Nothing;
        }
        match rustix::io::read(&self.terminal, buffer) {
            Ok(0) => Event::Gone,
            Ok(count) => Event::Bytes(count),
            Err(Errno::INTR | Errno::AGAIN) => Event::Nothing,
            Err(_) => Event::Gone,
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
