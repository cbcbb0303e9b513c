//! The terminal: entered and restored, probed, read from, drawn to. Knows nothing of sessions.
//!
//! ```text
//! guard      modes of the terminal, and the way back from them, whatever happens
//! screen     what is drawn
//! input      what is typed, pasted and answered, by a thread that reads the terminal
//! signals    what the system says
//! probe      what can be asked of a terminal, and what its answers mean
//! escape     titles, notifications, marks, the clipboard's sequence
//! clipboard  reading the clipboard by a desktop's programs
//! ```

pub mod screen;
pub mod guard {
    pub fn note_alternate(_: super::screen::Alternate) {}
}

pub use screen::{Alternate, Reflow, Screen};
