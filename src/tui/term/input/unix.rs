//! Bytes of a terminal, its changes of size, and the loop's wish to be heard, waited for together.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::SigId;
use signal_hook::consts::signal::SIGWINCH;

use super::parse::{Parser, Token};
use super::{Event, Paused, Source, held, os};

/// Closing it ends the thread; a byte makes it look at `paused`.
#[derive(Debug)]
pub(super) struct Wake(UnixStream);

impl Wake {
    pub(super) fn look(&self) {
        let _ = (&self.0).write(b"p");
    }

    pub(super) fn end(&self) {
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

/// What the thread waits for.
struct Terminal<T> {
    terminal: T,
    woken: UnixStream,
    resized: UnixStream,
    registered: SigId,
    paused: Paused,
    parser: Parser,
    /// When the last bytes came.
    last: Instant,
    buffer: Vec<u8>,
}

/// The terminal that stdin is.
///
/// # Errors
/// If the system has no more descriptors.
pub(super) fn open(paused: Paused) -> io::Result<(impl Source, Wake)> {
    of(rustix::stdio::stdin(), paused)
}

pub(super) fn of(terminal: impl AsFd + Send + 'static, paused: Paused) -> io::Result<(impl Source, Wake)> {
    let (wake, woken) = UnixStream::pair()?;
    let (resized, signal) = UnixStream::pair()?;
    woken.set_nonblocking(true)?;
    resized.set_nonblocking(true)?;
    let registered = signal_hook::low_level::pipe::register(SIGWINCH, signal)?;
    let (parser, last, buffer) = (Parser::default(), Instant::now(), vec![0; 64 << 10]);
    let source = Terminal { terminal, woken, resized, registered, paused, parser, last, buffer };
    Ok((source, Wake(wake)))
}

impl<T> Drop for Terminal<T> {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.registered);
    }
}

impl<T: AsFd + Send + 'static> Source for Terminal<T> {
    fn next(&mut self, until: Option<Instant>, tokens: &mut Vec<Token>) -> Event {
        let event = self.wait([self.patience(), until].into_iter().flatten().min(), tokens);
        if matches!(event, Event::Gone) || self.patience().is_some_and(|over| Instant::now() >= over) {
            self.parser.give_up(tokens);
        }
        event
    }
}

impl<T: AsFd> Terminal<T> {
    /// Until when the rest of a sequence may come.
    fn patience(&self) -> Option<Instant> {
        self.parser.patience().map(|patience| self.last + patience)
    }

    fn wait(&mut self, until: Option<Instant>, tokens: &mut Vec<Token>) -> Event {
        let paused = *held(&self.paused);
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
            let over = matches!((&self.woken).read(&mut [0; 16]), Ok(0));
            return if over { Event::Left } else { Event::Nothing };
        }
        if ready[1] {
            let _ = (&self.resized).read(&mut [0; 256]);
            return Event::Resized(os::size_of(&self.terminal));
        }
        if !ready.get(2).is_some_and(|ready| *ready) {
            return Event::Nothing;
        }
        self.take(tokens)
    }

    /// Reads what is there.
    fn take(&mut self, tokens: &mut Vec<Token>) -> Event {
        let paused = held(&self.paused);
        if *paused {
            return Event::Nothing;
        }
        match rustix::io::read(&self.terminal, &mut self.buffer) {
            Ok(count @ 1..) => {
                self.last = Instant::now();
                self.parser.feed(&self.buffer[..count], tokens);
                Event::Tokens
            }
            Err(Errno::INTR | Errno::AGAIN) => Event::Nothing,
            Ok(0) | Err(_) => Event::Gone,
        }
    }
}
