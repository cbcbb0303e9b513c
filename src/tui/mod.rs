//! The interactive session on the terminal's own screen.
//!
//! A frontend: it hears the agent's events, draws them, and sends operations back. It never touches
//! files of the session, wires or the model. From the bottom up:
//!
//! ```text
//! palette              what each kind of text looks like, by theme
//! text       palette   foreign text made safe, measured, wrapped; Markdown, code and diffs as lines
//! term                 the terminal: entered, restored, probed, drawn to, read from
//! composer   text      what the person types: editing, history, paste, popups
//! cell       text      one thing that happened, and how it is drawn
//! trouble    text      what went wrong, in the words of a session
//! transcript cell      which rows of the cells are due above the viewport
//! turn       cell      what of the turn that runs is the same however it is shown
//! live, status         what runs, and what is in force, in a line each
//! overlay, approval    what stands in place of the composer: pickers, dialogs
//! pager      cell      the whole transcript on the full screen
//! host                 what the frontend needs from the command line
//! app        all       the state of it all: keys, events and work come in; rows, frames, operations go out
//! run        app term  the loop that waits
//! board      text      what commands that only tell something answer
//! plain      cell      the same session by lines alone, with nothing drawn
//! ```
//!
//! The currency between them is [`ratatui::text::Line`]: one row of the screen or less, already clean.
//! All text that did not come from tack's own source passes `text::clean` before it becomes a line.

pub mod app;
pub mod approval;
mod board;
pub mod cell;
pub mod composer;
pub mod host;
pub mod live;
pub mod overlay;
pub mod pager;
pub mod palette;
mod plain;
mod run;
pub mod status;
pub mod term;
#[cfg(test)]
mod testing;
pub mod text;
pub mod transcript;
mod trouble;
mod turn;

pub use plain::run as run_plain;
pub use run::{Start, run};
