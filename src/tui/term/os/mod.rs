//! The terminal as the system has it: its settings, its size, what is written to it, and how a program on
//! it stops for the shell. One file for each family of systems, with the same names in each.
//!
//! Knows nothing of sequences, and of no state of tack's.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{Settings, size, size_of, stop, write};
#[cfg(windows)]
pub(super) use windows::{Settings, size, stop, write};

/// What becomes of keys that were pressed and not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    Kept,
    Dropped,
}

/// Whether tack stopped for the shell above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspended {
    Yes,
    /// No shell could continue it.
    Not,
}
