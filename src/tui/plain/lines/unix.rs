//! A thread that reads the terminal until the loop goes away, and the loop's end of a bounded channel.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc;

use super::{BURST, MOST, ROOM};

pub(in super::super) struct Lines {
    lines: mpsc::Receiver<String>,
    /// Closing it ends the thread.
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl Lines {
    /// Reads the terminal that stdin is.
    ///
    /// # Errors
    /// If the system has no more threads or descriptors.
    pub(in super::super) fn start() -> io::Result<Self> {
        Self::read(rustix::stdio::stdin())
    }

    pub(in super::super) fn read(terminal: impl AsFd + Send + 'static) -> io::Result<Self> {
        let (tell, lines) = mpsc::channel(ROOM);
        let (wake, woken) = UnixStream::pair()?;
        let body = move || hear(&terminal, &woken, &tell);
        let thread = thread::Builder::new().name("input".into()).spawn(body)?;
        Ok(Self { lines, wake, thread: Some(thread) })
    }

    /// What comes next, without its last line break; None at the end of the input. Cancel-safe.
    pub(in super::super) async fn next(&mut self) -> Option<String> {
        self.lines.recv().await
    }

    /// Throws away what was typed and not read yet, a line that is half typed too.
    pub(in super::super) fn drain(&self) {
        let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.lines.close();
        let _ = self.wake.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn hear(terminal: &impl AsFd, woken: &UnixStream, tell: &mpsc::Sender<String>) {
    let (mut message, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let whole = message.ends_with(b"\n");
        let came = match ready(terminal, woken, whole.then_some(BURST)) {
            Ready::Bytes => rustix::io::read(terminal, &mut buffer),
            Ready::Nothing => Err(Errno::AGAIN),
            Ready::Left => return,
        };
        let over = match came {
            Ok(0) => true,
            Ok(count) => {
                message.extend_from_slice(&buffer[..count]);
                if message.len() < MOST {
                    continue;
                }
                false
            }
            Err(Errno::INTR | Errno::AGAIN) => false,
            Err(_) => true,
        };
        if whole || message.len() >= MOST || over && !message.is_empty() {
            let bytes = message.strip_suffix(b"\n").unwrap_or(&message);
            let said = String::from_utf8_lossy(bytes).into_owned();
            message.clear();
            if tell.blocking_send(said).is_err() {
                return;
            }
        }
        if over {
            return;
        }
    }
}

enum Ready {
    Bytes,
    Nothing,
    /// The loop went away.
    Left,
}

fn ready(terminal: &impl AsFd, woken: &UnixStream, patience: Option<Duration>) -> Ready {
    let mut fds = [PollFd::new(woken, PollFlags::IN), PollFd::new(terminal, PollFlags::IN)];
    let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
    // What is wrong with the terminal, reading it tells.
    match poll(&mut fds, patience.as_ref()) {
        Ok(0) | Err(Errno::INTR) => Ready::Nothing,
        Ok(_) if !fds[0].revents().is_empty() => Ready::Left,
        Ok(_) | Err(_) => Ready::Bytes,
    }
}
