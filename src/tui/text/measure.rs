//! How many columns text takes, and text made to take so many. The one place that counts columns.

use std::borrow::Cow;
use std::ops::Range;

use ratatui::buffer::CellWidth;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

/// Columns from one tab stop to the next.
const TAB: usize = 4;

/// What stands for a character that is wider than the room there is.
const TOO_WIDE: &str = "\u{fffd}";

/// Columns that a text takes in ratatui's buffer, which draws grapheme by grapheme and leaves out control
/// characters.
pub fn width(text: &str) -> usize {
    if ascii(text) {
        return text.len();
    }
    text.graphemes(true).map(cells).sum()
}

/// As much of the start of a text as fits into so many columns, in whole graphemes.
pub fn cut(text: &str, width: usize) -> &str {
    if ascii(text) {
        return &text[..text.len().min(width)];
    }
    let mut room = width;
    for (at, grapheme) in text.grapheme_indices(true) {
        let Some(left) = room.checked_sub(cells(grapheme)) else { return &text[..at] };
        room = left;
    }
    text
}

/// The line within so many columns: what is too long ends in `…`.
pub fn fit(line: Line<'_>, width: usize) -> Line<'static> {
    let line = untabbed(line);
    if columns(&line) <= width {
        return line;
    }
    let mut room = width.saturating_sub(1);
    let mut spans = Vec::new();
    for span in line.spans {
        let part = cut(&span.content, room);
        room -= self::width(part);
        let whole = part.len() == span.content.len();
        let style = span.style;
        spans.push(Span::styled(part.to_owned(), style));
        if !whole {
            if width > 0 {
                spans.push(Span::styled("…", style));
            }
            break;
        }
    }
    spans.retain(|span| !span.content.is_empty());
    Line { spans, ..line }
}

/// The line as [`fit`], and blanks behind it up to so many columns.
pub fn pad(line: Line<'_>, width: usize) -> Line<'static> {
    let mut line = fit(line, width);
    let left = width - columns(&line);
    if left > 0 {
        line.spans.push(Span::raw(" ".repeat(left)));
    }
    line
}

/// The line with other styles over parts of its text, which are byte ranges in order.
pub fn restyle(line: Line<'_>, parts: impl IntoIterator<Item = (Range<usize>, Style)>) -> Line<'static> {
    let mut parts = parts.into_iter().peekable();
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut begun = 0;
    for span in line.spans {
        let end = begun + span.content.len();
        let mut at = begun;
        while at < end {
            while parts.next_if(|(part, _)| part.end <= at).is_some() {}
            let (to, style) = match parts.peek() {
                Some((part, style)) if part.start <= at => (part.end.min(end), span.style.patch(*style)),
                Some((part, _)) => (part.start.min(end), span.style),
                None => (end, span.style),
            };
            spans.push(Span::styled(span.content[at - begun..to - begun].to_owned(), style));
            at = to;
        }
        begun = end;
    }
    Line { spans, style: line.style, alignment: line.alignment }
}

/// Columns of a line without tabs.
pub(super) fn columns(line: &Line<'_>) -> usize {
    line.spans.iter().map(|span| width(&span.content)).sum()
}

/// A text with blanks for its tabs, which begins at a column.
pub(super) fn expand(text: &str, from: usize) -> Cow<'_, str> {
    if !text.contains('\t') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut column = from;
    for (i, part) in text.split('\t').enumerate() {
        if i > 0 {
            let blanks = TAB - column % TAB;
            out.extend(std::iter::repeat_n(' ', blanks));
            column += blanks;
        }
        out.push_str(part);
        column += width(part);
    }
    Cow::Owned(out)
}

/// The line, owned and with blanks for its tabs.
pub(super) fn untabbed(line: Line<'_>) -> Line<'static> {
    let mut column = 0;
    let tabs = line.spans.iter().any(|span| span.content.contains('\t'));
    let spans = line.spans.into_iter().map(|span| {
        if !tabs {
            return Span::styled(span.content.into_owned(), span.style);
        }
        let text = expand(&span.content, column).into_owned();
        column += width(&text);
        Span::styled(text, span.style)
    });
    Line { spans: spans.collect(), style: line.style, alignment: line.alignment }
}

/// A grapheme that fits into the room, with its columns: itself, or what stands for it.
pub(super) fn fitting(grapheme: &str, room: usize) -> (&str, usize) {
    match cells(grapheme) {
        cells if cells > room => (TOO_WIDE, 1),
        cells => (grapheme, cells),
    }
}

/// Whether every byte is a column.
pub(super) fn ascii(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b' '..=b'~'))
}

fn cells(grapheme: &str) -> usize {
    match grapheme.contains(char::is_control) {
        true => 0,
        false => usize::from(grapheme.cell_width()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    use super::*;

    #[test]
    fn columns_are_those_of_a_terminal() {
        for (text, columns) in [
            ("", 0),
            ("abc", 3),
            ("日本", 4),
            ("e\u{301}", 1),
            ("👩\u{200d}👩\u{200d}👧", 2),
            ("🇩🇪", 2),
            ("❤\u{fe0f}", 2),
            ("\u{301}", 0),
            ("a\tb\n", 2),
        ] {
            assert_eq!(width(text), columns, "{text:?}");
        }
    }

    #[test]
    fn lines_are_made_to_fit() {
        let line = |parts: &[&'static str]| Line::from_iter(parts.iter().map(|part| Span::raw(*part)));
        for (parts, width, fitted, padded) in [
            (&["abc"][..], 5, "abc", "abc  "),
            (&["abc", "def"], 5, "abcd…", "abcd…"),
            (&["abc", "def"], 4, "abc…", "abc…"),
            (&["日本語"], 4, "日…", "日… "),
            (&["日本語"], 1, "…", "…"),
            (&["abc"], 0, "", ""),
            (&["a\tb"], 6, "a   b", "a   b "),
            (&["a", "\tb"], 9, "a   b", "a   b    "),
        ] {
            assert_eq!(fit(line(parts), width).to_string(), fitted, "{parts:?} in {width}");
            assert_eq!(pad(line(parts), width).to_string(), padded, "{parts:?} in {width}");
        }
    }

    proptest! {
        #[test]
        fn the_buffer_counts_the_same(text in "\\PC{0,12}|[日👩\u{200d}e\u{301}a ]{0,12}") {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 200, 1));
            let (end, _) = buffer.set_stringn(0, 0, &text, 200, Style::new());
            prop_assert_eq!(usize::from(end), width(&text));
        }

        #[test]
        fn a_cut_is_the_longest_that_fits(text in "\\PC{0,12}", room in 0usize..12) {
            let start = cut(&text, room);
            prop_assert!(width(start) <= room);
            let next = text[start.len()..].graphemes(true).next();
            prop_assert!(next.is_none_or(|next| width(start) + width(next) > room));
            prop_assert!(columns(&pad(Line::raw(text), room)) == room);
        }
    }
}
