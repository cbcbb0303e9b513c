//! The few words that wires write themselves, where an API leaves a place that must be filled. Pure.

use super::prompt::Piece;

/// Between blocks and pieces that a wire cannot keep apart.
pub(super) const GAP: &str = "\n\n";

/// The result of a call whose images follow apart from it.
pub(super) const FOLLOWS: &str = "the image follows";

/// Stands before those images.
pub(super) fn image_of(tool: &str) -> String {
    format!("image from {tool}:")
}

/// The texts among these pieces, as one.
pub(super) fn texts(pieces: &[Piece]) -> String {
    let texts: Vec<&str> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Image { .. } | Piece::Thinking { .. } | Piece::Call { .. } | Piece::Result { .. } => None,
        })
        .collect();
    texts.join(GAP)
}
