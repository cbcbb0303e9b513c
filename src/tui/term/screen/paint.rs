//! One frame: from the rows that stand to the rows wanted, in as few bytes as it takes.

use std::io::Write as _;

use ratatui::layout::{Position, Size};

use super::row::{Pen, Row};

/// Begins and ends an update that the terminal shows at once.
const SYNC: [&[u8]; 2] = [b"\x1b[?2026h", b"\x1b[?2026l"];
/// A frame of so few bytes is read in one go anyway, so it is not worth the 16 that [`SYNC`] takes.
const SMALL: usize = 64;

/// The rows that are drawn on, as they stand, and where among them the terminal's cursor is.
#[derive(Debug)]
pub(super) struct Region {
    /// None: nobody knows what stands there.
    rows: Vec<Option<Row>>,
    row: usize,
    column: Option<usize>,
    /// Something of ours may stand below.
    below: bool,
}

impl Region {
    /// The one row the cursor is on.
    pub(super) fn start() -> Self {
        Self { rows: vec![None], row: 0, column: None, below: true }
    }

    /// So many rows, with the cursor at their top.
    pub(super) fn unknown(height: usize) -> Self {
        Self { rows: vec![None; height], row: 0, column: None, below: false }
    }

    /// The rows down to the cursor, of which there are `up` above it.
    pub(super) fn above_cursor(up: usize) -> Self {
        Self { rows: vec![None; up + 1], row: up, column: None, below: true }
    }

    pub(super) fn height(&self) -> usize {
        self.rows.len()
    }

    /// Row and column of the cursor, counted from the region's top.
    pub(super) fn cursor(&self) -> (usize, usize) {
        (self.row, self.column.unwrap_or(0))
    }

    pub(super) fn widths(&self) -> impl Iterator<Item = Vec<u8>> {
        self.rows.iter().map(|row| row.as_ref().map(Row::widths).unwrap_or_default())
    }

    /// Every row is to be written again.
    pub(super) fn forget(&mut self) {
        self.rows.iter_mut().for_each(|row| *row = None);
        self.below = true;
    }

    /// Takes in so many rows above.
    pub(super) fn raise(&mut self, rows: usize) {
        self.rows.splice(0..0, std::iter::repeat_n(None, rows));
        self.row += rows;
    }

    /// What was painted stands; its first `above` rows are no longer of the region.
    pub(super) fn settle(&mut self, rows: Vec<Row>, above: usize) {
        self.rows = rows.into_iter().map(Some).collect();
        self.row = self.row.saturating_sub(above);
        self.below = false;
    }
}

pub(super) struct Paint<'a> {
    region: &'a mut Region,
    size: Size,
    pen: Pen,
    out: Vec<u8>,
}

impl<'a> Paint<'a> {
    /// Goes on after `out`.
    pub(super) fn new(region: &'a mut Region, size: Size, out: Vec<u8>) -> Self {
        Self { region, size, pen: Pen::default(), out }
    }

    /// Makes the region these rows; more than the screen has scroll it.
    pub(super) fn rows(&mut self, rows: &[Row]) {
        self.shift(rows);
        let old = self.region.height();
        for (index, row) in rows.iter().enumerate() {
            let erase_below = self.region.below && rows.len() >= old && index + 1 == rows.len();
            match self.region.rows.get_mut(index).and_then(Option::take) {
                Some(was) if was.begins_turn() => self.amend(index, &was, row),
                Some(was) => {
                    self.begin_turn(index, row);
                    self.amend(index, &was, row);
                    self.answer_turn(index, row);
                }
                None => {
                    self.begin_turn(index, row);
                    self.write(index, row, erase_below);
                    self.answer_turn(index, row);
                }
            }
        }
        if rows.len() < old {
            self.go(rows.len(), 0);
            self.pen.erase(b"\x1b[J", &mut self.out);
        }
    }

    /// Puts the cursor on a place of the region that begins `above` rows down, or hides it.
    pub(super) fn cursor(&mut self, above: usize, at: Option<Position>, shown: &mut bool) {
        if let Some(at) = at {
            let column = at.x.min(self.size.width - 1).into();
            self.go(above + usize::from(at.y.min(self.size.height - 1)), column);
        }
        if *shown != at.is_some() {
            *shown = at.is_some();
            self.out.extend_from_slice(if *shown { b"\x1b[?25h" } else { b"\x1b[?25l" });
        }
    }

    /// The bytes to send.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.pen.lift(&mut self.out);
        if self.out.len() <= SMALL {
            return self.out;
        }
        [SYNC[0], &self.out, SYNC[1]].concat()
    }

    /// Moves the rows at the end that stay the same down or up as a whole.
    fn shift(&mut self, rows: &[Row]) {
        let (old, new) = (self.region.height(), rows.len());
        let pairs = self.region.rows.iter().rev().zip(rows.iter().rev());
        let same = pairs.take_while(|(was, row)| was.as_ref() == Some(*row)).count();
        if same == 0 || old == new || new > usize::from(self.size.height) {
            return;
        }
        if old < new {
            // Rows are made below, by scrolling if there are none; then they change places.
            self.go(old - 1, self.region.cursor().1);
            self.out.extend(std::iter::repeat_n(b'\n', new - old));
            self.region.row += new - old;
            self.region.rows.splice(old - same..old - same, vec![Some(Row::default()); new - old]);
            self.go_down_or_up(old - same);
            let _ = write!(self.out, "\x1b[{}L", new - old);
        } else {
            self.go_down_or_up(new - same);
            let _ = write!(self.out, "\x1b[{}M", old - new);
            self.region.rows.drain(new - same..old - same);
        }
        // Some terminals go to the row's start with it.
        self.region.column = None;
    }

    /// Tells the terminal that a turn begins with this row (OSC 133), and that nobody draws it anew for another
    /// size.
    fn begin_turn(&mut self, index: usize, row: &Row) {
        if row.begins_turn() {
            self.go(index, 0);
            self.out.extend_from_slice(b"\x1b]133;A;redraw=0\x1b\\");
        }
    }

    /// Tells it that the answer begins with the next one. At once, as a terminal that thinks that a prompt is being
    /// typed may move the cursor itself; not on the same row, as some keep one mark of a row.
    fn answer_turn(&mut self, index: usize, row: &Row) {
        if row.begins_turn() {
            self.go(index + 1, 0);
            self.out.extend_from_slice(b"\x1b]133;C\x1b\\");
        }
    }

    fn amend(&mut self, index: usize, was: &Row, row: &Row) {
        let (changes, erase) = row.changes(was);
        for columns in changes {
            self.go(index, columns.start);
            self.region.column = row.write(columns, &mut self.pen, &mut self.out);
        }
        if erase {
            self.go(index, row.width());
            self.pen.erase(b"\x1b[K", &mut self.out);
        }
    }

    fn write(&mut self, index: usize, row: &Row, erase_below: bool) {
        self.go(index, 0);
        let full = row.width() >= self.size.width.into();
        // Erasing after a full row would take its last character. Without it, a terminal may think
        // that this row goes on in the next, as one did that stood here.
        if erase_below {
            self.pen.erase(b"\x1b[J", &mut self.out);
        } else if full {
            self.pen.erase(b"\x1b[K", &mut self.out);
        }
        self.region.column = row.write(0..row.width(), &mut self.pen, &mut self.out);
        if !full && !erase_below {
            self.pen.erase(b"\x1b[K", &mut self.out);
        }
    }

    /// Moves the cursor; a row below the last one is made.
    fn go(&mut self, row: usize, column: usize) {
        if row >= self.region.height() {
            self.go_down_or_up(self.region.height() - 1);
            while row >= self.region.height() {
                self.pen.lift(&mut self.out);
                self.out.extend_from_slice(b"\r\n");
                self.region.rows.push(None);
                self.region.row += 1;
                self.region.column = Some(0);
            }
        }
        self.go_down_or_up(row);
        // Behind a full row the cursor waits at the last column, not where its number says.
        let known = self.region.column.filter(|known| *known < self.size.width.into());
        match known {
            Some(known) if known == column => return,
            _ if column == 0 => self.out.push(b'\r'),
            Some(known) if known < column && column - known == 1 => self.out.extend_from_slice(b"\x1b[C"),
            Some(known) if known < column => {
                let _ = write!(self.out, "\x1b[{}C", column - known);
            }
            Some(known) if known - column <= 3 => self.out.extend(std::iter::repeat_n(8, known - column)),
            _ => {
                let _ = write!(self.out, "\x1b[{}G", column + 1);
            }
        }
        self.region.column = Some(column);
    }

    fn go_down_or_up(&mut self, row: usize) {
        let now = std::mem::replace(&mut self.region.row, row);
        match (row.abs_diff(now), row > now) {
            (0, _) => {}
            (down @ 1..=3, true) => self.out.extend(std::iter::repeat_n(b'\n', down)),
            (down, true) => {
                let _ = write!(self.out, "\x1b[{down}B");
            }
            (1, false) => self.out.extend_from_slice(b"\x1b[A"),
            (up, false) => {
                let _ = write!(self.out, "\x1b[{up}A");
            }
        }
    }
}
