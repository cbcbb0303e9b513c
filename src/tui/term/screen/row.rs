//! One row of cells: made from a line or from a buffer, measured, and written as bytes.
//!
//! Knows nothing of where on the screen a row stands.

use std::io::Write as _;
use std::ops::Range;

use ratatui::buffer::{Buffer, Cell, CellWidth};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use unicode_segmentation::UnicodeSegmentation;

use crate::tui::text::link;

/// What one row shows. Blank cells at its end are left out; the cell behind a wide character is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row(Vec<Cell>);

/// The cell that a wide character covers besides its own.
const COVERED: &str = "";

impl Row {
    /// The rows a line takes. A character is never cut; one that is wider than the screen becomes `?`.
    pub(super) fn of_line(line: &Line<'_>, width: u16) -> Vec<Self> {
        let mut rows = vec![Self::default()];
        for grapheme in line.spans.iter().flat_map(|span| {
            let style = line.style.patch(span.style);
            UnicodeSegmentation::graphemes(span.content.as_ref(), true).map(move |text| (text, style))
        }) {
            let (text, style) = grapheme;
            if text.contains(char::is_control) {
                continue;
            }
            let glyph = match text.cell_width() {
                0 => continue,
                wide if wide > width => ("?", 1),
                wide => (text, wide),
            };
            if rows.last().is_some_and(|row| row.0.len() + usize::from(glyph.1) > usize::from(width)) {
                rows.push(Self::default());
            }
            if let Some(row) = rows.last_mut() {
                put(&mut row.0, glyph, style);
            }
        }
        rows.iter_mut().for_each(Self::trim);
        rows
    }

    /// Row `y` of a buffer.
    pub(super) fn of_buffer(buffer: &Buffer, y: u16) -> Self {
        let width = buffer.area.width;
        let mut cells = Vec::with_capacity(width.into());
        let mut x = 0;
        while x < width {
            let cell = &buffer[(buffer.area.x + x, buffer.area.y + y)];
            let wide = cell.symbol().cell_width().max(1);
            // What does not fit, or cannot be shown, is a blank.
            let fits = x + wide <= width && !cell.symbol().contains(char::is_control);
            let symbol = if fits && !cell.symbol().is_empty() { cell.symbol() } else { " " };
            let wide = if fits { wide } else { 1 };
            put(&mut cells, (symbol, wide), cell.style());
            x += wide;
        }
        let mut row = Self(cells);
        row.trim();
        row
    }

    fn trim(&mut self) {
        let blank = Cell::new(" ");
        let kept = self.0.iter().rposition(|cell| *cell != blank).map_or(0, |last| last + 1);
        self.0.truncate(kept);
    }

    /// Drops every colour.
    pub(super) fn bleach(&mut self) {
        for cell in &mut self.0 {
            (cell.fg, cell.bg, cell.underline_color) = (Color::Reset, Color::Reset, Color::Reset);
        }
        self.trim();
    }

    /// Whether a turn begins here; a terminal that is told so can jump from one to the next.
    pub(super) fn begins_turn(&self) -> bool {
        self.0.first().is_some_and(|cell| link::begins_turn(cell.underline_color))
    }

    /// In columns.
    pub(super) fn width(&self) -> usize {
        self.0.len()
    }

    /// The width of each character.
    pub(super) fn widths(&self) -> Vec<u8> {
        let mut widths: Vec<u8> = Vec::new();
        for cell in &self.0 {
            match widths.last_mut() {
                Some(last) if cell.symbol() == COVERED => *last += 1,
                _ => widths.push(1),
            }
        }
        widths
    }

    pub(super) fn text(&self) -> String {
        self.0.iter().map(Cell::symbol).collect()
    }

    /// Cut into rows that fit.
    pub(super) fn split(mut self, width: u16) -> Vec<Self> {
        let mut rows = Vec::new();
        while self.0.len() > width.into() {
            let mut cut = usize::from(width);
            while cut > 1 && self.0[cut].symbol() == COVERED {
                cut -= 1;
            }
            let rest = self.0.split_off(cut);
            rows.push(std::mem::replace(&mut self, Self(rest)));
        }
        rows.push(self);
        rows.iter_mut().for_each(Self::trim);
        rows
    }

    /// Writes a stretch of its columns. Returns where the cursor is then, if that is certain: terminals
    /// do not agree on the width of what consists of several characters, so it is set again behind it.
    pub(super) fn write(&self, columns: Range<usize>, pen: &mut Pen, out: &mut Vec<u8>) -> Option<usize> {
        let (mut certain, end) = (true, columns.end);
        for column in columns {
            let cell = &self.0[column];
            if cell.symbol() == COVERED {
                continue;
            }
            if !certain {
                let _ = write!(out, "\x1b[{}G", column + 1);
            }
            pen.take(cell, out);
            out.extend_from_slice(cell.symbol().as_bytes());
            certain = cell.symbol().chars().nth(1).is_none();
        }
        // Whatever comes next, also from others, is not of the link.
        pen.unlink(out);
        certain.then_some(end)
    }

    /// The stretches of columns in which `self` has to be written over `old`, with whether the rest of
    /// the row behind the last of them has to be erased.
    pub(super) fn changes(&self, old: &Self) -> (Vec<Range<usize>>, bool) {
        /// Columns that are cheaper written again than jumped over.
        const GAP: usize = 5;
        let mut found: Vec<Range<usize>> = Vec::new();
        let blank = Cell::new(" ");
        let mut column = 0;
        while column < self.0.len() {
            if self.0[column] == *old.0.get(column).unwrap_or(&blank) {
                column += 1;
                continue;
            }
            let mut start = column;
            while start > 0 && self.0[start].symbol() == COVERED {
                start -= 1;
            }
            let mut end = column + 1;
            while end < self.0.len() && self.0[end].symbol() == COVERED {
                end += 1;
            }
            match found.last_mut() {
                Some(last) if start <= last.end + GAP => last.end = end,
                _ => found.push(start..end),
            }
            column = end;
        }
        (found, old.0.len() > self.0.len())
    }
}

/// Adds a character and what it covers. Without a list of its own: this is done for each cell of each frame.
fn put(cells: &mut Vec<Cell>, (symbol, width): (&str, u16), style: Style) {
    for symbol in std::iter::once(symbol).chain((1..width).map(|_| COVERED)) {
        let mut cell = Cell::default();
        cell.set_symbol(symbol).set_style(style);
        cells.push(cell);
    }
}

/// How many rows characters of these widths take.
pub(super) fn wrapped(widths: &[u8], columns: u16) -> usize {
    let (mut rows, mut column) = (1, 0);
    for width in widths.iter().map(|width| u16::from(*width)) {
        if column + width > columns && column > 0 {
            rows += 1;
            column = 0;
        }
        column += width;
    }
    rows
}

/// The style the terminal writes in at the moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pen {
    fg: Color,
    bg: Color,
    modifier: Modifier,
    /// What carries the link that is open.
    link: Color,
}

impl Default for Pen {
    fn default() -> Self {
        Self { fg: Color::Reset, bg: Color::Reset, modifier: Modifier::empty(), link: Color::Reset }
    }
}

/// Modifiers with the code that sets each and the one that ends it.
const MODIFIERS: [(Modifier, u8, u8); 9] = [
    (Modifier::BOLD, 1, 22),
    (Modifier::DIM, 2, 22),
    (Modifier::ITALIC, 3, 23),
    (Modifier::UNDERLINED, 4, 24),
    (Modifier::SLOW_BLINK, 5, 25),
    (Modifier::RAPID_BLINK, 6, 25),
    (Modifier::REVERSED, 7, 27),
    (Modifier::HIDDEN, 8, 28),
    (Modifier::CROSSED_OUT, 9, 29),
];

impl Pen {
    fn take(&mut self, cell: &Cell, out: &mut Vec<u8>) {
        if cell.underline_color != self.link {
            self.unlink(out);
            if let Some((number, address)) = link::target(cell.underline_color) {
                // The number tells a terminal which rows are of one link.
                let _ = write!(out, "\x1b]8;id={number};{address}\x1b\\");
                self.link = cell.underline_color;
            }
        }
        self.become_style(Self { fg: cell.fg, bg: cell.bg, modifier: cell.modifier, ..*self }, out);
    }

    fn unlink(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.link, Color::Reset) != Color::Reset {
            out.extend_from_slice(b"\x1b]8;;\x1b\\");
        }
    }

    /// Back to the terminal's own colours.
    pub(super) fn lift(&mut self, out: &mut Vec<u8>) {
        self.become_style(Self { link: self.link, ..Self::default() }, out);
    }

    /// Erasing fills with the pen's background on some terminals, so there must be none.
    pub(super) fn erase(&mut self, sequence: &[u8], out: &mut Vec<u8>) {
        self.lift(out);
        out.extend_from_slice(sequence);
    }

    fn become_style(&mut self, want: Self, out: &mut Vec<u8>) {
        if *self == want {
            return;
        }
        let (step, anew) = (self.step(want), Self::default().step(want));
        // An empty sequence resets; what follows a reset needs a `;`.
        if anew.is_empty() {
            out.extend_from_slice(b"\x1b[m");
        } else if step.len() <= anew.len() + 1 {
            let _ = write!(out, "\x1b[{step}m");
        } else {
            let _ = write!(out, "\x1b[;{anew}m");
        }
        *self = want;
    }

    /// The codes that lead from this pen to another.
    fn step(self, want: Self) -> String {
        let mut codes: Vec<String> = Vec::new();
        let mut kept = self.modifier;
        for (modifier, _, end) in MODIFIERS {
            if kept.contains(modifier) && !want.modifier.contains(modifier) {
                codes.push(end.to_string());
                MODIFIERS.iter().filter(|one| one.2 == end).for_each(|one| kept.remove(one.0));
            }
        }
        for (modifier, set, _) in MODIFIERS {
            if want.modifier.contains(modifier) && !kept.contains(modifier) {
                codes.push(set.to_string());
            }
        }
        if self.fg != want.fg {
            codes.push(colour(want.fg, 30));
        }
        if self.bg != want.bg {
            codes.push(colour(want.bg, 40));
        }
        codes.join(";")
    }
}

/// The code of a colour; `base` is 30 for text, 40 for what is behind it.
fn colour(colour: Color, base: u8) -> String {
    let plain = |code: u8| (base + code).to_string();
    match colour {
        Color::Reset => plain(9),
        Color::Black => plain(0),
        Color::Red => plain(1),
        Color::Green => plain(2),
        Color::Yellow => plain(3),
        Color::Blue => plain(4),
        Color::Magenta => plain(5),
        Color::Cyan => plain(6),
        Color::Gray => plain(7),
        Color::DarkGray => plain(60),
        Color::LightRed => plain(61),
        Color::LightGreen => plain(62),
        Color::LightYellow => plain(63),
        Color::LightBlue => plain(64),
        Color::LightMagenta => plain(65),
        Color::LightCyan => plain(66),
        Color::White => plain(67),
        Color::Indexed(index) => format!("{};5;{index}", base + 8),
        Color::Rgb(r, g, b) => format!("{};2;{r};{g};{b}", base + 8),
    }
}
