//! Foreign text made safe, measured and wrapped; Markdown, code and diffs as lines. Pure: text in, lines out.
//!
//! Everything that a model, a tool, a file or a server said passes [`clean()`] before it becomes a line, and every
//! column is counted by [`width`], which agrees with what ratatui's buffer does.

mod clean;
mod code;
pub mod diff;
mod markdown;
mod measure;
mod wrap;

pub use clean::{clean, clean_line, first_line, printed, reveal, reveal_line};
pub use code::Code;
pub use markdown::{Markdown, render};
pub use measure::{cut, fit, pad, width};
pub use wrap::{Hang, wrap};

#[cfg(test)]
pub mod shot;
