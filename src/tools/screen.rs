//! What is on a terminal, and what of it is new since it was last looked at.
//!
//! Lines that scroll out are kept, within bounds, until the next look. Full-screen programs have a
//! screen of their own, which has no history: it is shown as it is.

use std::collections::VecDeque;
use std::path::PathBuf;

use avt::observer::{Observation, Observer};
use avt::parser::Function;
use avt::{Line, Parser, ScreenKind, Terminal};

use super::clean::Decoder;
use super::output::{Capture, Captured};
use super::spill::Spill;
use crate::model::Limits;
use crate::sandbox::Size;

pub(super) struct Screen {
    terminal: Terminal,
    columns: u16,
    parser: Parser,
    decoder: Decoder,
    /// What was on the screen at the last look, as far as it has not scrolled out since.
    shown: VecDeque<Row>,
    looked: bool,
    /// What scrolled out since the last look and was not shown then.
    fresh: Capture,
    /// None: what is cut is gone.
    spill: Option<PathBuf>,
    scrolled: bool,
}

/// One look.
pub(super) struct Look {
    /// What is new, else the screen.
    pub(super) captured: Captured,
    /// It could be told what is new.
    pub(super) new: bool,
    pub(super) screen: String,
}

#[derive(Clone, Debug)]
struct Row {
    text: String,
    /// The next row is the same line of text.
    goes_on: bool,
}

impl Row {
    fn of(line: &Line) -> Self {
        let goes_on = line.is_wrapped();
        let text = line.text();
        let text = if goes_on { text } else { text.trim_end().to_owned() };
        Self { text, goes_on }
    }

    fn same(&self, other: &Self) -> bool {
        self.text.trim_end() == other.text.trim_end()
    }

    fn line(&self) -> String {
        if self.goes_on { self.text.clone() } else { format!("{}\n", self.text) }
    }
}

/// Hears of lines that scroll out.
struct Scrolled<'a> {
    shown: &'a mut VecDeque<Row>,
    fresh: &'a mut Capture,
    scrolled: &'a mut bool,
}

impl Observer for Scrolled<'_> {
    type Output = ();

    fn evicted(&mut self, _: &mut Observation<'_>, line: &Line) {
        let row = Row::of(line);
        let known = self.shown.front().is_some_and(|first| first.same(&row));
        // The last row that was shown is that of a prompt, to which what was typed came.
        if known && self.shown.len() > 1 {
            self.shown.pop_front();
            return;
        }
        self.shown.clear();
        self.fresh.push(row.line().as_bytes());
        *self.scrolled = true;
    }

    fn end(&mut self, _: &mut Observation<'_>) {}
}

impl Screen {
    /// `limits` bound what the next look shows; more of it goes to a file in `spill`.
    pub(super) fn new(size: Size, limits: &Limits, spill: Option<PathBuf>) -> Self {
        let (columns, rows) = (usize::from(size.columns.max(1)), usize::from(size.rows.max(1)));
        Self {
            terminal: Terminal::new(columns, rows).expect("neither is zero"),
            columns: size.columns.max(1),
            parser: Parser::new(),
            decoder: Decoder::default(),
            shown: VecDeque::new(),
            looked: false,
            fresh: Capture::new(limits.clone(), spill.as_deref().map(Spill::new)),
            spill,
            scrolled: false,
        }
    }

    pub(super) fn feed(&mut self, raw: &[u8]) {
        let Self { terminal, columns, parser, decoder, shown, fresh, scrolled, .. } = self;
        decoder.push(raw, &mut |text| {
            let functions = text.chars().filter_map(|c| parser.feed(c)).map(|function| match function {
                // A few bytes would else print for as long as a thousand times as many.
                Function::Rep(times) => Function::Rep(times.min(*columns)),
                other => other,
            });
            terminal.execute_with(functions, Scrolled { shown, fresh, scrolled });
        });
    }

    /// Whether the arrow keys are to send their other codes.
    pub(super) fn wants_application_keys(&self) -> bool {
        self.terminal.cursor_key_app_mode()
    }

    pub(super) fn look(&mut self, limits: &Limits) -> Look {
        let rows = self.rows();
        let screen: String = rows.iter().map(Row::line).collect();
        let from = match self.terminal.active_screen_kind() {
            // What the shell behind it has printed is for a later look.
            ScreenKind::Alternate => return Look { captured: shown(&screen, limits), new: false, screen },
            ScreenKind::Primary => self.new_from(&rows),
        };
        let next = Capture::new(limits.clone(), self.spill.as_deref().map(Spill::new));
        let mut fresh = std::mem::replace(&mut self.fresh, next).with(limits.clone());
        let captured = match from {
            Some(from) => {
                rows[from..].iter().for_each(|row| fresh.push(row.line().as_bytes()));
                fresh.finish(None)
            }
            None => shown(&screen, limits),
        };
        (self.shown, self.looked, self.scrolled) = (rows.into(), true, false);
        Look { captured, new: from.is_some(), screen }
    }

    /// The first of these rows that is new. None: nothing is, or it cannot be told.
    fn new_from(&self, rows: &[Row]) -> Option<usize> {
        if self.scrolled {
            return Some(0);
        }
        if !self.looked {
            return None;
        }
        let Some(last) = self.shown.len().checked_sub(1) else {
            return (!rows.is_empty()).then_some(0);
        };
        let all = self.shown.len() == rows.len() && self.shown.iter().zip(rows).all(|(a, b)| a.same(b));
        let grown = rows.len() > last
            && self.shown.iter().zip(&rows[..last]).all(|(a, b)| a.same(b))
            && rows[last].text.starts_with(self.shown[last].text.trim_end());
        (grown && !all).then_some(last)
    }

    /// Without the empty rows at the end.
    fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.terminal.screen().visible_lines().map(Row::of).collect();
        let used = rows.iter().rposition(|row| !row.text.trim_end().is_empty()).map_or(0, |last| last + 1);
        rows.truncate(used);
        rows
    }
}

fn shown(screen: &str, limits: &Limits) -> Captured {
    let mut capture = Capture::new(limits.clone(), None);
    capture.push(screen.as_bytes());
    capture.finish(None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Keep;

    const SIZE: Size = Size { rows: 4, columns: 10 };

    fn limits(bytes: usize) -> Limits {
        Limits { bytes, lines: 2_000, keep: Keep::Both { head_percent: 50 } }
    }

    fn screen(bytes: usize) -> Screen {
        Screen::new(SIZE, &limits(bytes), None)
    }

    #[test]
    fn what_is_new_is_told_and_else_the_screen() {
        // what comes, whether it is new, what is told
        let table: [(&str, bool, &str); 12] = [
            ("$ ", false, "$\n"),
            ("", false, "$\n"),
            ("ls\r\na\r\nb\r\n$ ", true, "$ ls\na\nb\n$\n"),
            ("", false, "$ ls\na\nb\n$\n"),
            ("x\r\n1\r\n2\r\n3\r\n4\r\n5\r\n$ ", true, "$ x\n1\n2\n3\n4\n5\n$\n"),
            ("\x1b[?1049h\x1b[2J\x1b[2;3Hfull", false, "\n  full\n"),
            ("\x1b[?1049l", false, "3\n4\n5\n$\n"),
            ("y\r\nwide enough to wrap\r\n$ ", true, "$ y\nwide enough to wrap\n$\n"),
            ("clear\r\n\x1b[H\x1b[2J$ ", true, "$ clear\n$\n"),
            ("\x1b[H\x1b[Kother", false, "other\n"),
            ("\r\n\u{e4}\u{4e2d}\r\n", true, "other\n\u{e4}\u{4e2d}\n"),
            ("\x1b[31mred\x1b[0m", true, "\u{e4}\u{4e2d}\nred\n"),
        ];
        let mut screen = screen(10_000);
        for (comes, new, told) in table {
            screen.feed(comes.as_bytes());
            let look = screen.look(&limits(10_000));
            assert_eq!((look.new, look.captured.text.as_str()), (new, told), "{comes:?}");
        }
    }

    #[test]
    fn a_character_is_repeated_for_a_row_at_most() {
        let mut screen = screen(10_000);
        screen.feed(b"x\x1b[65535b");
        assert_eq!(screen.look(&limits(10_000)).captured.text, "xxxxxxxxxx\nx\n".replacen('\n', "", 1));
    }

    proptest! {
        #[test]
        fn any_output_in_any_pieces_is_bounded_text(
            raw in prop::collection::vec(prop_oneof![
                any::<u8>(), Just(b'\n'), Just(b'\x1b'), Just(b'['), Just(b'H'), Just(0xC3), Just(0xA9),
            ], 0..3_000),
            step in 1..50usize,
        ) {
            let (mut whole, mut pieces) = (screen(200), screen(200));
            whole.feed(&raw);
            raw.chunks(step).for_each(|piece| pieces.feed(piece));
            let (whole, pieces) = (whole.look(&limits(200)), pieces.look(&limits(200)));
            prop_assert!(whole.captured.text.len() <= 200);
            prop_assert!(!whole.captured.text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
            prop_assert_eq!(whole.screen, pieces.screen);
            prop_assert_eq!((whole.new, whole.captured.text), (pieces.new, pieces.captured.text));
        }
    }
}
