//! Where one character as a person sees it ends, how wide it is, and where words begin: within one line
//! of what is typed. Knows nothing of keys or of the screen.
//!
//! A paste or an image stands in the text as a single [atom](is_atom): a boundary lies on both its sides,
//! whatever marks follow it.

use std::borrow::Cow;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use crate::tui::text::{clean, width};

/// The last code points that Unicode leaves to programs; each stands for an atom of this composer.
const FIRST_ATOM: u32 = 0x10_f000;
const LAST_ATOM: u32 = 0x10_fffd;
/// Columns of a tab.
const TAB: usize = 4;

pub(super) fn is_atom(c: char) -> bool {
    (FIRST_ATOM..=LAST_ATOM).contains(&u32::from(c))
}

/// The character of the `index`th atom, as long as there are any left.
pub(super) fn atom(index: usize) -> Option<char> {
    let code = FIRST_ATOM.checked_add(u32::try_from(index).ok()?)?;
    char::from_u32(code).filter(|c| is_atom(*c))
}

/// Which atom `c` is.
pub(super) fn atom_index(c: char) -> Option<usize> {
    is_atom(c).then(|| (u32::from(c) - FIRST_ATOM) as usize)
}

/// End of the character that begins at `at`.
pub(super) fn next(line: &str, at: usize) -> usize {
    let Some(cluster) = line[at..].graphemes(true).next() else { return line.len() };
    let first = cluster.chars().next().map_or(0, char::len_utf8);
    let inside = cluster.char_indices().find(|(_, c)| is_atom(*c));
    at + match inside {
        None => cluster.len(),
        Some((0, _)) => first,
        Some((before, _)) => before,
    }
}

/// Start of the character that ends at `at`.
pub(super) fn prev(line: &str, at: usize) -> usize {
    let Some(cluster) = line[..at].graphemes(true).next_back() else { return 0 };
    let start = at - cluster.len();
    match cluster.char_indices().rev().find(|(_, c)| is_atom(*c)) {
        None => start,
        Some((i, c)) if i + c.len_utf8() < cluster.len() => start + i + c.len_utf8(),
        Some((i, _)) => start + i,
    }
}

/// The first boundary at or after `at`.
pub(super) fn ceil(line: &str, mut at: usize) -> usize {
    while at < line.len() && !is_boundary(line, at) {
        at += 1;
    }
    at.min(line.len())
}

pub(super) fn is_boundary(line: &str, at: usize) -> bool {
    if at == 0 || at == line.len() {
        return true;
    }
    if !line.is_char_boundary(at) {
        return false;
    }
    let beside_atom = line[at..].starts_with(is_atom) || line[..at].ends_with(is_atom);
    beside_atom || GraphemeCursor::new(at, line.len(), true).is_boundary(line, 0).unwrap_or(true)
}

/// End of the word at or after `at`; none if only other things follow.
pub(super) fn word_end(line: &str, at: usize) -> Option<usize> {
    let (start, word) = line[at..].split_word_bound_indices().find(|(_, s)| is_word(s))?;
    Some(ceil(line, at + start + word.len()))
}

/// Start of the word that ends at or before `at`.
pub(super) fn word_start(line: &str, at: usize) -> Option<usize> {
    let (start, _) = line[..at].split_word_bound_indices().rev().find(|(_, s)| is_word(s))?;
    Some(if is_boundary(line, start) { start } else { prev(line, ceil(line, start)) })
}

/// Start of the run without blanks that ends at or before `at`.
pub(super) fn run_start(line: &str, at: usize) -> Option<usize> {
    let end = line[..at].trim_end().len();
    let start = line[..end].rfind(char::is_whitespace).map_or(0, |i| next(line, i));
    (end > 0).then_some(start.min(at))
}

fn is_word(segment: &str) -> bool {
    segment.chars().any(|c| c.is_alphanumeric() || is_atom(c))
}

/// What is drawn for a character that is no atom, and its columns, at least 1. Nothing that is invisible
/// or commands a terminal is drawn as itself.
pub(super) fn shown(cluster: &str) -> (Cow<'_, str>, usize) {
    let mut chars = cluster.chars();
    let shown = match (chars.next(), chars.next()) {
        (Some('\t'), None) => Cow::Owned(" ".repeat(TAB)),
        (Some('\u{7f}'), None) => "␡".into(),
        (Some(c), None) if c < ' ' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(' ').to_string().into(),
        _ => clean(cluster),
    };
    match width(&shown) {
        0 => ("·".into(), 1),
        columns => (shown, columns),
    }
}
