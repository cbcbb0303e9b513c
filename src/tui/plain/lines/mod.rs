//! What is typed, by lines. Lines that come at once were pasted: they are one message.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::time::Duration;

#[cfg(unix)]
pub(super) use unix::Lines;
#[cfg(windows)]
pub(super) use windows::Lines;

/// Messages that may wait for the loop; the terminal keeps the rest.
const ROOM: usize = 64;
/// A line that comes so soon after another one was not typed.
const BURST: Duration = Duration::from_millis(20);
/// Bytes of one message, at most: what comes then is another one.
const MOST: usize = 1 << 20;
