//! Consoles, by what crossterm makes of them. Type-checked only.

use std::io::{self, Write as _};

use crossterm::{ansi_support, terminal};
use ratatui::layout::Size;

use super::{Suspended, Unread};

/// How the console takes keys; crossterm keeps what it was.
#[derive(Debug)]
pub(in super::super) struct Settings;

impl Settings {
    /// # Errors
    /// If the console understands no escape sequences: before Windows 10.
    pub(in super::super) fn read() -> io::Result<Self> {
        match ansi_support::supports_ansi() {
            true => Ok(Self),
            false => {
                let what = "this console understands no escape sequences: start tack with --plain";
                Err(io::Error::new(io::ErrorKind::Unsupported, what))
            }
        }
    }

    /// # Errors
    /// If stdin is no console.
    pub(in super::super) fn set_raw(&self) -> io::Result<()> {
        terminal::enable_raw_mode()
    }

    /// A console is asked nothing whose answer could be left over.
    pub(in super::super) fn restore(&self, _: Unread) {
        let _ = terminal::disable_raw_mode();
    }
}

pub(in super::super) fn size() -> Option<Size> {
    let (columns, rows) = terminal::size().ok()?;
    (columns > 0 && rows > 0).then_some(Size::new(columns, rows))
}

/// # Errors
/// If the console is gone.
pub(in super::super) fn write(bytes: &[u8]) -> io::Result<usize> {
    let mut out = io::stdout().lock();
    let count = out.write(bytes)?;
    // The standard library keeps what stands behind the last line break.
    out.flush()?;
    Ok(count)
}

/// There is nothing here that a shell could continue.
///
/// # Errors
/// None.
pub(in super::super) fn stop(_: impl FnOnce()) -> io::Result<Suspended> {
    Ok(Suspended::Not)
}
