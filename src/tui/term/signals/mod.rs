//! What the system says: to end, to stop, to go on. The loop is to save and to leave.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::Signals;
#[cfg(windows)]
pub use windows::Signals;

/// What was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// SIGTERM, SIGHUP or SIGINT by its number: save and leave with [`Said::code`].
    End(i32),
    /// SIGTSTP from elsewhere, as Ctrl+Z is a key: call [`super::Guard::suspend`].
    Stop,
    /// SIGCONT: tack runs again. Call [`super::Guard::resume`] and draw everything.
    Continue,
}

impl Said {
    /// The exit code of a program that a signal ended.
    pub fn code(signal: i32) -> u8 {
        u8::try_from(128 + signal).unwrap_or(u8::MAX)
    }
}
