//! Terminals by termios(3).

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ratatui::layout::Size;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Signal, getpgrp, getsid, kill_current_process_group};
use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::signal::SIGCONT;

use super::{Suspended, Unread};

/// How the terminal that stdin is takes and shows keys.
#[derive(Debug)]
pub(in super::super) struct Settings(Termios);

impl Settings {
    /// As they are now.
    ///
    /// # Errors
    /// If stdin is no terminal.
    pub(in super::super) fn read() -> io::Result<Self> {
        Ok(Self(tcgetattr(stdin())?))
    }

    /// Keys one by one, without echo.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub(in super::super) fn set_raw(&self) -> io::Result<()> {
        let mut raw = self.0.clone();
        raw.make_raw();
        Ok(tcsetattr(stdin(), OptionalActions::Now, &raw)?)
    }

    /// Puts them back. What was typed and not read is dropped if `unread` says so.
    pub(in super::super) fn restore(&self, unread: Unread) {
        if unread == Unread::Dropped {
            let _ = tcflush(stdin(), QueueSelector::IFlush);
        }
        // Not after output is through: that may never be.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }
}

/// Columns and rows of the terminal that stdout is, where it knows them.
pub(in super::super) fn size() -> Option<Size> {
    size_of(stdout())
}

pub(in super::super) fn size_of(terminal: impl AsFd) -> Option<Size> {
    let size = tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some(Size::new(size.ws_col, size.ws_row))
}

/// Straight to the terminal that stdout is, so that one write stays one.
///
/// # Errors
/// If it is gone.
pub(in super::super) fn write(bytes: &[u8]) -> io::Result<usize> {
    let stdout = stdout();
    loop {
        match rustix::io::write(stdout, bytes) {
            Err(rustix::io::Errno::INTR) => {}
            // Another program on this terminal may have made it so.
            Err(rustix::io::Errno::AGAIN) => {
                let mut room = [PollFd::new(&stdout, PollFlags::OUT)];
                rustix::event::poll(&mut room, None)?;
            }
            written => return Ok(written?),
        }
    }
}

/// Stops this program, and what runs it, until the shell continues them. `before` is done when it is sure
/// that there is such a shell.
///
/// # Errors
/// If the system refuses.
pub(in super::super) fn stop(before: impl FnOnce()) -> io::Result<Suspended> {
    // The leader of a session has no shell above that would continue it.
    if getsid(None).is_ok_and(|session| session == getpgrp()) {
        return Ok(Suspended::Not);
    }
    let continued = Arc::new(AtomicBool::new(false));
    let registered = signal_hook::flag::register(SIGCONT, continued.clone())?;
    before();
    kill_current_process_group(Signal::STOP)?;
    // This thread may run on for a moment, until the others have stopped.
    for _ in 0..200 {
        if continued.load(Ordering::SeqCst) {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    signal_hook::low_level::unregister(registered);
    Ok(Suspended::Yes)
}
