//! Foreign text made safe, measured and wrapped; Markdown, code and diffs as lines. Pure: text in, lines out.
//!
//! Everything that a model, a tool, a file or a server said passes [`clean()`] before it becomes a line, and every
//! column is counted by [`width`], which agrees with what ratatui's buffer does.

use ratatui::text::Line;

use super::palette::{Extras, Palette};

mod clean;
mod code;
pub mod diff;
pub mod link;
mod markdown;
mod measure;
mod wrap;

pub use clean::{clean, clean_line, first_line, printed, reveal, reveal_line};
pub use code::Code;
pub use markdown::{Markdown, render};
pub use measure::{cut, fit, pad, restyle, width};
pub use wrap::{Hang, wrap};

/// What stands behind a line that leaves something out, and how it is seen.
pub const UNFOLDS: &str = " · ctrl+o";

/// The line in which addresses are links, where links are sent at all.
pub fn linked(line: Line<'static>, palette: &Palette) -> Line<'static> {
    match palette.extras {
        Extras::None => line,
        Extras::Sent { .. } => link::urls(line),
    }
}

#[cfg(test)]
pub mod shot;
