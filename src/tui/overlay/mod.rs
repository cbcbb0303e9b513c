//! What stands in place of the composer for a while: pickers and boards.

pub mod board;
pub mod coming;
pub mod compare;
pub mod harness;
pub mod key;
pub mod list;
pub mod model;
mod pane;
pub mod sessions;

use ratatui::text::Line;

use super::palette::Palette;

/// The one that is open.
pub enum Overlay {
    Harness(harness::HarnessPicker),
    Model(model::ModelPicker),
    Sessions(sessions::SessionPicker),
    Board(board::Board),
    Key(key::KeyEntry),
    Coming(coming::Coming),
}

impl Overlay {
    /// It wants all of the screen for itself.
    pub fn fills(&self) -> bool {
        match self {
            Self::Harness(picker) => picker.fills(),
            Self::Model(_) | Self::Sessions(_) | Self::Board(_) | Self::Key(_) | Self::Coming(_) => false,
        }
    }

    /// It on at most so many rows.
    pub fn rows(&mut self, width: usize, height: usize, p: &Palette) -> Vec<Line<'static>> {
        match self {
            Self::Harness(picker) => picker.rows(width, height, p),
            Self::Model(picker) => picker.rows(width, height, p),
            Self::Sessions(picker) => picker.rows(width, height, p),
            Self::Board(board) => board.rows(width, height, p),
            Self::Key(entry) => entry.rows(width, p),
            Self::Coming(coming) => coming.rows(width, p),
        }
    }
}

#[cfg(test)]
mod tests;
