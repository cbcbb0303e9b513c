//! Where the viewport went when the terminal changed its size, and which rows above it can be replaced.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use ratatui::layout::Size;
use ratatui::text::Line;
use std::io::Write;

use super::paint::Region;
use super::row::{Row, wrapped};
use super::{Reflow, Replaced, Screen};

/// Texts of rows above the viewport that are kept.
const KEPT: usize = 500;

/// Lines of an old viewport, just above the present one, that the terminal pushed out of reach.
#[derive(Debug, Default)]
pub(super) struct Ghosts {
    /// Character widths of whole lines.
    lines: Vec<Vec<u8>>,
    /// Of the beginning of the line that the viewport's first row ends, for the terminal.
    head: Vec<u8>,
    /// How everything stood when it was last drawn, if the size has changed since.
    stood: Option<Stood>,
}

/// Lines as the terminal knows them, down to the viewport's last.
#[derive(Debug)]
struct Stood {
    lines: Vec<Vec<u8>>,
    /// The line the cursor is in, and the column of it, counted through its rows.
    line: usize,
    column: usize,
    /// Rows that the lines from the cursor's on take below it, more than one for each line.
    extra: usize,
    /// Rows at the top that are out of reach.
    lost: usize,
}

impl Stood {
    /// Rows above the cursor, and those more than one for each line from its line on.
    fn measure(&self, columns: u16, reflow: Reflow) -> (usize, usize) {
        if reflow == Reflow::No {
            return (self.line, 0);
        }
        let rows = |line: &Vec<u8>| wrapped(line, columns);
        let own = rows(&self.lines[self.line]);
        // Where a wide character did not fit, the cursor may be one row lower. Too low leaves a row of
        // an old viewport; too high would take one of the answer.
        let sub = (self.column / usize::from(columns)).min(own - 1);
        let above = self.lines[..self.line].iter().map(rows).sum::<usize>() + sub;
        let below = self.lines[self.line + 1..].iter().map(|line| rows(line) - 1).sum::<usize>();
        (above, below + own - 1 - sub)
    }

    /// What is out of reach: whole lines, and the beginning of one.
    fn behead(mut self, columns: u16, reflow: Reflow) -> (Vec<Vec<u8>>, Vec<u8>) {
        let rows = self.lost;
        let (mut gone, mut line) = (0, 0);
        while line < self.lines.len() {
            let takes = if reflow == Reflow::No { 1 } else { wrapped(&self.lines[line], columns) };
            if gone + takes > rows {
                break;
            }
            gone += takes;
            line += 1;
        }
        let mut head = self.lines.get(line).cloned().unwrap_or_default();
        while !head.is_empty() && (gone == rows || wrapped(&head, columns) > rows - gone) {
            head.pop();
        }
        self.lines.truncate(line);
        (self.lines, head)
    }
}

impl<W: Write> Screen<W> {
    /// Finds the viewport's top after a change of the size, as far as it is still on the screen.
    pub(super) fn move_with(&mut self, before: Size) {
        let first = self.ghosts.stood.is_none();
        let stood = self.ghosts.stood.take().unwrap_or_else(|| self.standing());
        let after = if first { stood.lines.len() - 1 - stood.line } else { 0 };
        let (above, extra) = stood.measure(self.size.width, self.reflow);
        let most = usize::from(self.size.height) - 1;

        // A lower bound of the rows above the cursor on the screen: rows that lines below it take push
        // it up; of a lower screen, terminals cut rows below the cursor before they push out those above.
        let row = (self.depth - 1).saturating_sub(after + extra.saturating_sub(stood.extra)).min(most);
        let exact = self.known && self.size.height <= before.height && self.size.width <= before.width;
        let lost = above.saturating_sub(if exact { row } else { most });
        self.depth = row.max(above.min(most)) + 1;
        self.view = Region::above_cursor(above.min(most));
        self.ghosts.stood = Some(Stood { extra, lost, ..stood });
        self.known = exact;
    }

    /// The viewport and the ghosts above it, in lines.
    fn standing(&mut self) -> Stood {
        let (row, column) = self.view.cursor();
        let (whole, head) = (std::mem::take(&mut self.ghosts.lines), std::mem::take(&mut self.ghosts.head));
        let inset = if row == 0 { head.iter().map(|width| usize::from(*width)).sum() } else { 0 };
        let mut lines = whole;
        let first = lines.len();
        lines.extend(self.view.widths());
        if lines.len() == first {
            lines.push(Vec::new());
        }
        lines[first].splice(0..0, head);
        // Where the cursor was wanted below the last row, it stands in it.
        let line = (first + row).min(lines.len() - 1);
        Stood { lines, line, column: inset + column, extra: 0, lost: 0 }
    }

    /// The rows of a frame are drawn: `committed` stand above the viewport now.
    pub(super) fn record(&mut self, committed: &[Row]) {
        if let Some(stood) = self.ghosts.stood.take() {
            (self.ghosts.lines, self.ghosts.head) = stood.behead(self.size.width, self.reflow);
        }
        if !committed.is_empty() {
            // What is above a line that stays will not be reached again.
            (self.ghosts.lines, self.ghosts.head) = (Vec::new(), Vec::new());
        }
        self.recent.extend(committed.iter().map(Row::text));
        self.recent.drain(..self.recent.len().saturating_sub(KEPT));
    }

    /// The rows that are certainly visible above the viewport.
    fn visible(&self) -> Cuts {
        let visible = self.depth - self.view.height();
        let mut old = Cuts::default();
        for text in self.recent.iter().rev() {
            let widths = Row::of_line(&Line::raw(text), u16::MAX).first().map(Row::widths);
            let takes = match self.reflow {
                Reflow::Yes => wrapped(&widths.unwrap_or_default(), self.size.width),
                Reflow::No => 1,
            };
            if old.height + takes > visible {
                break;
            }
            old.add(text, takes);
        }
        old
    }

    /// Has the rows that are certainly visible above the viewport replaced by the same text in `rows`.
    pub(super) fn replace_visible(&mut self, mut rows: Vec<Row>) {
        let new = Cuts::of(&rows);
        let Some((from, to)) = self.visible().deepest_common(&new) else { return };
        self.put_in_place(from, rows.drain(rows.len() - to.rows..));
    }

    /// Has the newest rows, which are `old`, replaced by `new`; see [`Screen::replace`].
    pub(super) fn replace_rows(&mut self, old: &[Row], new: Vec<Row>) -> Replaced {
        let old = Cuts::of(old);
        let fits = new.len() + self.view.height() <= usize::from(self.size.height);
        let cut = self.visible().cuts.into_iter().find(|cut| cut.text == old.text);
        match cut.filter(|_| fits && old.text != 0 && self.pending.is_empty()) {
            Some(cut) => {
                self.put_in_place(cut, new);
                Replaced::Yes
            }
            None => Replaced::Not,
        }
    }

    fn put_in_place(&mut self, of: Cut, rows: impl IntoIterator<Item = Row>) {
        self.recent.truncate(self.recent.len() - of.rows);
        self.view.raise(of.height);
        self.pending.splice(0..0, rows);
    }
}

/// The beginnings of rows, from the last upwards, each with a sign of all the text from there on.
#[derive(Default)]
struct Cuts {
    cuts: Vec<Cut>,
    rows: usize,
    height: usize,
    text: u64,
}

#[derive(Clone, Copy)]
struct Cut {
    /// Rows from here on, as they were drawn, and as the screen has them.
    rows: usize,
    height: usize,
    text: u64,
}

impl Cuts {
    fn of(rows: &[Row]) -> Self {
        let mut cuts = Self::default();
        rows.iter().rev().for_each(|row| cuts.add(&row.text(), 1));
        cuts
    }

    fn add(&mut self, text: &str, height: usize) {
        (self.rows, self.height) = (self.rows + 1, self.height + height);
        // Lines of boxes and rules are as long as the screen is wide.
        let ink = |c: &char| !c.is_whitespace() && !('\u{2500}'..='\u{257f}').contains(c);
        for c in text.chars().rev().filter(ink) {
            let mut hasher = DefaultHasher::new();
            (self.text, c).hash(&mut hasher);
            self.text = hasher.finish();
        }
        self.cuts.push(Cut { rows: self.rows, height: self.height, text: self.text });
    }

    /// The highest beginning that is in both. Of rows without text between two others none is taken.
    fn deepest_common(&self, other: &Self) -> Option<(Cut, Cut)> {
        let first = |cuts: &Self, text: u64| cuts.cuts.iter().find(|cut| cut.text == text).copied();
        self.cuts.iter().rev().find_map(|cut| Some((first(self, cut.text)?, first(other, cut.text)?)))
    }
}
