//! Lines broken into rows of so many columns.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::measure::{ascii, columns, cut, fitting, untabbed, width};

/// What stands before the rows of a wrapped line. Where there is little room it is cut to half the columns.
#[derive(Clone, Debug, Default)]
pub struct Hang {
    /// Before the first row.
    pub first: Line<'static>,
    /// Before the others.
    pub rest: Line<'static>,
}

impl Hang {
    /// Nothing before any row.
    pub fn none() -> Self {
        Self::default()
    }

    pub fn new(first: impl Into<Line<'static>>, rest: impl Into<Line<'static>>) -> Self {
        Self { first: first.into(), rest: rest.into() }
    }

    /// The first rows begin with this, the others with as many blanks.
    pub fn under(first: impl Into<Line<'static>>) -> Self {
        let first = first.into();
        let rest = Line::raw(" ".repeat(columns(&first)));
        Self { first, rest }
    }
}

/// The rows of a line: broken between words and between wide characters, within a word only where it is longer
/// than a row. No row is wider than `width` (at least 1), and only a line of nothing but blanks has an empty
/// row. Rows have the style of the line.
pub fn wrap(line: &Line<'_>, width: usize, hang: Hang) -> Vec<Line<'static>> {
    let Hang { first, rest } = hang;
    let most = width.max(1);
    let (first, rest) = (shortened(first, most / 2), shortened(rest, most / 2));
    let line = untabbed(line.clone());
    if columns(&first) + columns(&line) <= most {
        return vec![row(first, line.spans, line.style)];
    }
    let pieces = pieces(&line, most - columns(&first).max(columns(&rest)));
    let room = (most - columns(&first), most - columns(&rest));
    let mut rows = Rows { done: Vec::new(), style: line.style, first: Some(first), rest, room };
    rows.fill(&pieces);
    rows.done
}

/// A grapheme and what it looks like.
struct Piece<'a> {
    text: &'a str,
    columns: usize,
    style: Style,
}

fn pieces<'a>(line: &'a Line<'_>, room: usize) -> Vec<Piece<'a>> {
    let mut all = Vec::with_capacity(line.spans.iter().map(|span| span.content.len()).sum());
    for span in &line.spans {
        let (text, style) = (&*span.content, span.style);
        if ascii(text) {
            all.extend((0..text.len()).map(|at| Piece { text: &text[at..=at], columns: 1, style }));
            continue;
        }
        all.extend(text.graphemes(true).filter_map(|grapheme| {
            let (text, columns) = fitting(grapheme, room);
            // The buffer leaves out what has no columns.
            (columns > 0).then_some(Piece { text, columns, style })
        }));
    }
    all
}

struct Rows {
    done: Vec<Line<'static>>,
    style: Style,
    first: Option<Line<'static>>,
    rest: Line<'static>,
    /// Columns for the text of the first row, and of the others.
    room: (usize, usize),
}

impl Rows {
    fn fill(&mut self, pieces: &[Piece<'_>]) {
        // The row begins at `start`; `used` columns up to `at`; the last place where it may end, and where the
        // next one begins then.
        let (mut start, mut used, mut at) = (0, 0, 0);
        let mut gap: Option<(usize, usize)> = None;
        while at < pieces.len() {
            let piece = &pieces[at];
            if at > start && breaks(pieces, at) {
                gap = Some((at, at));
            }
            let blank = piece.text == " ";
            if used + piece.columns <= if self.done.is_empty() { self.room.0 } else { self.room.1 } {
                used += piece.columns;
                at += 1;
                if blank && at < pieces.len() && pieces[at].text != " " {
                    gap = Some((trimmed(pieces, start, at), at));
                }
                continue;
            }
            // Blanks that do not fit go.
            let (end, next) = match (blank, gap) {
                (true, _) => {
                    let next = at + pieces[at..].iter().take_while(|piece| piece.text == " ").count();
                    (trimmed(pieces, start, at), next)
                }
                (false, Some(gap)) => gap,
                (false, None) => (at, at),
            };
            if end > start {
                self.push(&pieces[start..end]);
            }
            (start, at, used, gap) = (next, next, 0, None);
        }
        let end = if self.done.is_empty() { at } else { trimmed(pieces, start, at) };
        if end > start || self.done.is_empty() {
            self.push(&pieces[start..end]);
        }
    }

    fn push(&mut self, pieces: &[Piece<'_>]) {
        let mut spans: Vec<Span<'static>> = Vec::new();
        for piece in pieces {
            match spans.last_mut() {
                Some(span) if span.style == piece.style => span.content.to_mut().push_str(piece.text),
                _ => spans.push(Span::styled(piece.text.to_owned(), piece.style)),
            }
        }
        let hang = self.first.take().unwrap_or_else(|| self.rest.clone());
        self.done.push(row(hang, spans, self.style));
    }
}

/// Where a row that begins at `start` ends if nothing but blanks follows up to `end`.
fn trimmed(pieces: &[Piece<'_>], start: usize, end: usize) -> usize {
    end - pieces[start..end].iter().rev().take_while(|piece| piece.text == " ").count()
}

/// Whether a row may end before this piece though no blank is there: at wide characters, unless one of them
/// belongs to its neighbour.
fn breaks(pieces: &[Piece<'_>], at: usize) -> bool {
    let (before, piece) = (&pieces[at - 1], &pieces[at]);
    (before.columns > 1 || piece.columns > 1)
        && before.text != " "
        && !"、。，．：；！？）」』】〉》〕］｝…,.:;!?)]}\"'%ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ"
            .contains(piece.text)
        && !"（「『【〈《〔［｛([{\"'#$".contains(before.text)
}

/// What stands before a row, within so many columns.
fn shortened(prefix: Line<'static>, most: usize) -> Line<'static> {
    if columns(&prefix) <= most {
        return prefix;
    }
    let mut room = most;
    let spans = prefix.spans.into_iter().map(|span| {
        let part = cut(&span.content, room).to_owned();
        room -= width(&part);
        Span::styled(part, span.style)
    });
    Line::from_iter(spans)
}

fn row(hang: Line<'static>, spans: Vec<Span<'static>>, style: Style) -> Line<'static> {
    let mut all: Vec<Span<'static>> = hang.spans;
    all.extend(spans);
    all.retain(|span| !span.content.is_empty());
    Line { spans: all, style, alignment: None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::style::Stylize;

    use super::*;

    fn texts(rows: &[Line<'_>]) -> Vec<String> {
        rows.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_break_where_a_reader_expects_it() {
        for (text, width, rows) in [
            ("", 5, &[""][..]),
            ("one two three", 20, &["one two three"]),
            ("one two three", 7, &["one two", "three"]),
            ("one two three", 8, &["one two", "three"]),
            ("one  two", 4, &["one", "two"]),
            ("  indented text", 10, &["  indented", "text"]),
            ("abcdefgh ij", 3, &["abc", "def", "gh", "ij"]),
            ("a abcdefgh", 4, &["a", "abcd", "efgh"]),
            ("trailing   ", 8, &["trailing"]),
            ("       ", 3, &[""]),
            ("日本語の文章", 6, &["日本語", "の文章"]),
            ("日本語。文", 6, &["日本", "語。文"]),
            ("見る「本」", 6, &["見る", "「本」"]),
            ("日本語", 1, &["\u{fffd}", "\u{fffd}", "\u{fffd}"]),
            ("use 日本語 now", 7, &["use 日", "本語", "now"]),
            ("a\tb c", 5, &["a   b", "c"]),
            ("abc", 0, &["a", "b", "c"]),
        ] {
            assert_eq!(texts(&wrap(&Line::raw(text), width, Hang::none())), rows, "{text:?} in {width}");
        }
    }

    #[test]
    fn prefixes_hang() {
        let line = Line::raw("one two three four");
        for (width, rows) in [
            (40, &["- one two three four"][..]),
            (10, &["- one two", "  three", "  four"]),
            (3, &["-on", " e", " tw", " o", " th", " re", " e", " fo", " ur"]),
            (1, &["o", "n", "e", "t", "w", "o", "t", "h", "r", "e", "e", "f", "o", "u", "r"]),
        ] {
            assert_eq!(texts(&wrap(&line, width, Hang::under("- "))), rows, "{width}");
        }
    }

    #[test]
    fn styles_stay_with_their_text() {
        let line = Line::from_iter(["plain ".into(), "bold words".bold(), " end".into()]).on_blue();
        insta::assert_snapshot!(super::super::shot::shot(&wrap(&line, 8, Hang::none())), @r"
        │plain
         aaaaa
        │bold
         bbbb
        │words
         bbbbb
        │end
         aaa
        a on blue · b on blue bold
        ");
    }

    proptest! {
        #[test]
        fn rows_are_neither_wide_nor_empty_nor_lost(
            text in "[a-c 日👩\u{200d}\u{301}\t,。]{0,40}|\\PC{0,30}",
            room in 0usize..12,
            prefix in "[- 日]{0,5}",
        ) {
            let rows = wrap(&Line::raw(&*text), room, Hang::under(prefix.clone()));
            for row in &rows {
                prop_assert!(columns(row) <= room.max(1), "{row:?}");
            }
            let bare = wrap(&Line::raw(&*text), room, Hang::none());
            prop_assert!(bare.len() == 1 || bare.iter().all(|row| columns(row) > 0), "{bare:?}");
            if room > 1 {
                let shown = |g: &str| if width(g) > room { "\u{fffd}".to_owned() } else { g.to_owned() };
                let seen = |text: &str| -> String {
                    text.graphemes(true).filter(|g| width(g) > 0 && *g != " ").map(shown).collect()
                };
                prop_assert_eq!(seen(&texts(&bare).concat()), seen(&text.replace('\t', " ")));
            }
        }
    }
}
