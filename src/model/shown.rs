//! Characters that steer what shows them instead of being shown.

/// Control characters, and those that turn the direction of text: a name with one of them reads as
/// another one. Marks that only belong to one letter or word (U+200E, U+200F) are not meant.
pub fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}
