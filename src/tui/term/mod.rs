//! The terminal: entered and restored, probed, read from, drawn to. Knows nothing of sessions.
//!
//! ```text
//! os         its settings, size and bytes, by the system at hand
//! guard      modes of the terminal, and the way back from them, whatever happens
//! screen     what is drawn
//! input      what is typed, pasted and answered, by a thread that reads the terminal
//! signals    what the system says
//! probe      what can be asked of a terminal, and what its answers mean
//! escape     titles, notifications, the clipboard's sequence
//! clipboard  reading the clipboard by a desktop's programs
//! ```

pub mod clipboard;
pub mod escape;
pub mod guard;
pub mod input;
mod os;
pub mod probe;
pub mod screen;
pub mod signals;

pub use guard::{Guard, Output, Wishes};
pub use input::{Input, Reader};
pub use os::Suspended;
pub use screen::{Alternate, Reflow, Replaced, Screen};
pub use signals::{Said, Signals};
