//! The composer on the screen: the text behind its prompt mark, a note, a list. Draws only the rows that
//! are seen, whatever the length of the text.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use ratatui::buffer::Buffer as Screen;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::buffer::Pos;
use super::mention::{self, There};
use super::{Composer, act, glyph, rows};
use crate::tui::palette::Palette;
use crate::tui::text::{clean_line, fit, width};

/// Columns of the prompt mark; a screen narrower than [`MARK_FROM`] has none.
const MARK: u16 = 2;
const MARK_FROM: u16 = 8;
/// Longer lines are not searched for file names while drawing.
const MOST_SEARCHED: usize = 10_000;
/// Characters of a text that is shown on one row.
const MOST_SHOWN: usize = 1_000;
/// Names remembered as there or missing.
const MOST_LOOKED: usize = 256;

/// What drawing remembers.
#[derive(Default)]
pub(super) struct View {
    /// Columns of the whole, as it was last drawn.
    width: Cell<u16>,
    /// The row on top: a line, and a row in it.
    top: Cell<(usize, usize)>,
    /// Whether what stands behind an `@` is there.
    looked: RefCell<HashMap<String, There>>,
}

impl View {
    /// Columns of the text; 80 before it is first drawn.
    pub(super) fn text_width(&self) -> u16 {
        match self.width.get() {
            0 => 80,
            width => (width - mark(width)).max(1),
        }
    }

    /// Forgets what belongs to a text that is gone.
    pub(super) fn forget(&self) {
        self.top.set((0, 0));
        self.looked.borrow_mut().clear();
    }
}

fn mark(width: u16) -> u16 {
    if width < MARK_FROM { 0 } else { MARK }
}

impl Composer {
    /// Rows it wants at `width` columns, from 1 to `most`.
    pub fn height(&self, width: u16, most: u16) -> u16 {
        self.view.width.set(width);
        let most = usize::from(most.max(1));
        let mut rows = self.extra();
        for line in 0..self.buffer.count() {
            rows += self.rows(line).len();
            if rows >= most {
                break;
            }
        }
        u16::try_from(rows.min(most)).unwrap_or(u16::MAX)
    }

    /// Draws it into `area`; where the cursor belongs.
    pub fn render(&self, area: Rect, screen: &mut Screen, palette: &Palette) -> Position {
        let area = area.intersection(screen.area);
        if area.is_empty() {
            return area.as_position();
        }
        self.view.width.set(area.width);
        // The text keeps a row whatever is below.
        let below = self.extra().min(usize::from(area.height) - 1);
        let text = usize::from(area.height) - below;
        let mut cursor = self.draw_text(Rect { height: low(text), ..area }, screen, palette);
        let mut y = area.y + low(text);
        let mut left = below;
        if let Some(note) = self.note.as_ref().filter(|_| left > 0) {
            let line = Line::styled(on_one_row(note), palette.bad);
            put(screen, (area.x, y), &fit(line, usize::from(area.width)), area.width);
            (y, left) = (y + 1, left - 1);
        }
        if let Some(popup) = &self.popup {
            let (lines, asks) = popup.lines(self, (usize::from(area.width), left), palette);
            for (row, line) in lines.iter().take(left).enumerate() {
                put(screen, (area.x, y + low(row)), line, area.width);
            }
            if let Some(column) = asks.filter(|_| left > 0) {
                cursor = Position { x: area.x + low(column).min(area.width - 1), y };
            }
        }
        cursor
    }

    /// Rows below the text.
    fn extra(&self) -> usize {
        usize::from(self.note.is_some()) + self.popup.as_ref().map_or(0, super::Popup::height)
    }

    fn rows(&self, line: usize) -> Rc<[usize]> {
        self.buffer.rows(line, self.view.text_width(), &|c| self.atoms.columns(c))
    }

    fn draw_text(&self, area: Rect, screen: &mut Screen, palette: &Palette) -> Position {
        let width = self.view.text_width();
        let text = Rect { x: area.x + area.width - width, width, ..area };
        if text.x > area.x {
            let sign = if self.buffer.line(0).starts_with('!') { "!" } else { "›" };
            screen.set_stringn(area.x, area.y, sign, 1, palette.accent);
        }
        if self.buffer.is_empty() {
            let line = Line::styled(on_one_row(&self.placeholder), palette.dim);
            put(screen, (text.x, text.y), &fit(line, usize::from(width)), width);
            return text.as_position();
        }
        let here = self.buffer.cursor();
        let starts = self.rows(here.line);
        let row = rows::row_of(&starts, here.byte);
        let top = self.top((here.line, row), usize::from(text.height));
        self.view.top.set(top);
        let mut cursor = text.as_position();
        let (mut at, mut y) = (top, text.y);
        while y < text.bottom() && at.0 < self.buffer.count() {
            let starts = self.rows(at.0);
            let looks = self.looks(at.0, palette);
            for (row, start) in starts.iter().enumerate().skip(at.1) {
                if y == text.bottom() {
                    break;
                }
                let end = starts.get(row + 1).copied().unwrap_or(self.buffer.line(at.0).len());
                self.draw_row((at.0, *start, end), Rect { y, height: 1, ..text }, (screen, &looks), palette);
                if at.0 == here.line && rows::row_of(&starts, here.byte) == row {
                    let label = |c| self.atoms.columns(c);
                    let column = rows::column_of(self.buffer.line(at.0), *start, here.byte, &label);
                    cursor = Position { x: text.x + low(column).min(width - 1), y };
                }
                y += 1;
            }
            at = (at.0 + 1, 0);
        }
        self.draw_args(cursor, text, screen, palette);
        cursor
    }

    /// The row on top, so that the cursor's row is among `height` rows and none stays empty below the text.
    fn top(&self, cursor: (usize, usize), height: usize) -> (usize, usize) {
        let last = self.buffer.count() - 1;
        let end = (last, self.rows(last).len() - 1);
        let lowest = self.rows_before(end, height - 1).min(cursor);
        let highest = self.rows_before(cursor, height - 1);
        self.view.top.get().min(lowest).max(highest)
    }

    /// The place `count` rows above `at`, or the first.
    fn rows_before(&self, (mut line, mut row): (usize, usize), mut count: usize) -> (usize, usize) {
        while count > row {
            if line == 0 {
                return (0, 0);
            }
            count -= row + 1;
            line -= 1;
            row = self.rows(line).len() - 1;
        }
        (line, row - count)
    }

    fn draw_row(
        &self,
        (line, start, end): (usize, usize, usize),
        area: Rect,
        (screen, looks): (&mut Screen, &[(std::ops::Range<usize>, Style)]),
        palette: &Palette,
    ) {
        let text = self.buffer.line(line);
        let (mut at, mut x) = (start, area.x);
        while at < end && x < area.right() {
            let next = glyph::next(text, at);
            let cluster = &text[at..next];
            let left = usize::from(area.right() - x);
            let atom = cluster.chars().next().filter(|c| glyph::is_atom(*c));
            let (drawn, style) = match atom {
                Some(c) => (self.atoms.label(c).into(), palette.accent),
                None => {
                    let look = looks.iter().find(|(span, _)| span.contains(&at));
                    (glyph::shown(cluster).0, look.map_or(palette.text, |(_, style)| *style))
                }
            };
            if width(&drawn) > left {
                put(screen, (x, area.y), &fit(Line::styled(drawn.into_owned(), style), left), low(left));
                return;
            }
            (x, _) = screen.set_stringn(x, area.y, &drawn, left, style);
            at = next;
        }
    }

    /// What of a line is drawn in a style of its own: a command, a file that is not there.
    fn looks(&self, line: usize, palette: &Palette) -> Vec<(std::ops::Range<usize>, Style)> {
        let text = self.buffer.line(line);
        let mut looks = Vec::new();
        if line == 0
            && let Some(word) = act::command_word(text)
        {
            let known = self.command(word).is_some();
            looks.extend(known.then_some((0..word.len() + 1, palette.accent)));
        }
        if text.len() > MOST_SEARCHED || text.starts_with('!') {
            return looks;
        }
        let here = self.buffer.cursor();
        for token in mention::tokens(text) {
            let typing = here.line == line && token.span.contains(&here.byte.saturating_sub(1));
            if typing {
                continue;
            }
            let key = text[token.span.clone()].to_owned();
            let mut looked = self.view.looked.borrow_mut();
            if looked.len() >= MOST_LOOKED {
                looked.clear();
            }
            let there = *looked.entry(key).or_insert_with(|| token.find(&self.folder).there);
            looks.extend((there == There::Missing).then_some((token.span, palette.bad)));
        }
        looks
    }

    /// What a command takes, behind it while nothing else is.
    fn draw_args(&self, cursor: Position, text: Rect, screen: &mut Screen, palette: &Palette) {
        let line = self.buffer.line(0);
        let name = line.strip_suffix(' ').and_then(act::command_word);
        let whole = self.buffer.count() == 1 && self.buffer.cursor() == (Pos { line: 0, byte: line.len() });
        let command = name.filter(|name| whole && line.len() == name.len() + 2).and_then(|n| self.command(n));
        let left = text.right().saturating_sub(cursor.x);
        if let Some(command) = command {
            let args = Line::styled(on_one_row(&command.args), palette.dim);
            put(screen, (cursor.x, cursor.y), &fit(args, usize::from(left)), left);
        }
    }
}

fn put(screen: &mut Screen, (x, y): (u16, u16), line: &Line<'_>, width: u16) {
    screen.set_line(x, y, line, width);
}

fn low(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

/// Foreign text as one row, as much of it as a screen could show.
pub(super) fn on_one_row(text: &str) -> String {
    let end = text.char_indices().nth(MOST_SHOWN).map_or(text.len(), |(at, _)| at);
    clean_line(&text[..end]).into_owned()
}

/// `text` with the characters at `fits` in bold.
pub(super) fn marked(text: &str, fits: &[u32], style: Style) -> Vec<Span<'static>> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for (at, cluster) in text.graphemes(true).enumerate() {
        let hit = u32::try_from(at).is_ok_and(|at| fits.binary_search(&at).is_ok());
        let style = if hit { style.add_modifier(Modifier::BOLD) } else { style };
        let shown = glyph::shown(cluster).0;
        match spans.last_mut().filter(|span| span.style == style) {
            Some(span) => span.content.to_mut().push_str(&shown),
            None => spans.push(Span::styled(shown.into_owned(), style)),
        }
    }
    spans
}
