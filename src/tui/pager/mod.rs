//! The pager: the whole transcript with nothing folded, on the full screen. Scroll, search, and go from block
//! to block to copy one, fold it or see all that is known of it.
//!
//! Rows are made when they come into sight, from the end upwards: opening costs a screen, not a session.

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use super::cell::{Cell, Fold, View};
use super::palette::Palette;
use super::text;

#[cfg(test)]
mod tests;

/// What stands left of the block that keys are for, and of the others.
const CHOSEN: &str = "▌ ";
const OTHER: &str = "  ";

/// What the pager shows and where in it one is.
#[derive(Default)]
pub struct Pager {
    /// Rows from the cell `from` on, each with the number of its cell.
    rows: Vec<(usize, Line<'static>)>,
    /// The first cell that has rows here; None: nothing was laid out yet.
    from: Option<usize>,
    /// Laid out for this width and this many cells.
    laid: (u16, usize),
    /// Rows below the last one in sight.
    up: usize,
    /// Rows in sight when last drawn.
    sight: usize,
    raw: bool,
    /// How cells are shown that are not shown as all are.
    shapes: BTreeMap<usize, Shape>,
    /// The block that is copied and folded; None: the last one.
    at: Option<usize>,
    /// Its first row is to be in sight.
    goal: bool,
    search: Search,
    note: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Folded,
    /// All that is known.
    Detail,
}

#[derive(Default)]
struct Search {
    text: String,
    typing: bool,
    /// To be found with the next frame.
    wanted: Option<Way>,
    /// The row that was found, counted from the end.
    hit: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Did {
    Nothing,
    Redraw,
    Copy(String),
    Left,
}

impl Pager {
    /// At the end of the transcript.
    pub fn new() -> Self {
        Self::default()
    }

    /// At a cell of it.
    pub fn at(cell: usize) -> Self {
        Self { at: Some(cell), goal: true, ..Self::default() }
    }

    pub fn key(&mut self, key: KeyEvent, cells: &[Cell]) -> Did {
        self.note = None;
        if self.search.typing {
            return self.type_search(key);
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let page = self.sight.saturating_sub(2).max(1);
        match key.code {
            KeyCode::Char('t' | 'c' | 'o') if control => return Did::Left,
            KeyCode::Char('q') | KeyCode::Esc => return Did::Left,
            KeyCode::Up | KeyCode::Char('k') => self.up += 1,
            KeyCode::Down | KeyCode::Char('j') => self.up = self.up.saturating_sub(1),
            KeyCode::PageUp | KeyCode::Char('b') => self.up += page,
            KeyCode::PageDown | KeyCode::Char('f') => self.up = self.up.saturating_sub(page),
            KeyCode::Char('u') => self.up += page / 2,
            KeyCode::Char('d') => self.up = self.up.saturating_sub(page / 2),
            KeyCode::Home | KeyCode::Char('g') => self.go_to(0),
            KeyCode::End | KeyCode::Char('G') => (self.up, self.at) = (0, None),
            KeyCode::Tab => self.go_to(self.chosen(cells).saturating_add(1)),
            KeyCode::BackTab => self.go_to(self.chosen(cells).saturating_sub(1)),
            KeyCode::Char('/') => self.search = Search { typing: true, ..Search::default() },
            KeyCode::Char('n') => self.search.wanted = Some(Way::Up),
            KeyCode::Char('N') => self.search.wanted = Some(Way::Down),
            KeyCode::Char('r') => {
                self.raw = !self.raw;
                self.lay_anew(cells);
            }
            KeyCode::Char(' ') => self.turn(Shape::Folded, cells),
            KeyCode::Enter => self.turn(Shape::Detail, cells),
            KeyCode::Char('y') => {
                if let Some(cell) = cells.get(self.chosen(cells)) {
                    self.note = Some("copied");
                    return Did::Copy(cell.source());
                }
            }
            _ => return Did::Nothing,
        }
        Did::Redraw
    }

    fn type_search(&mut self, key: KeyEvent) -> Did {
        let search = &mut self.search;
        match key.code {
            KeyCode::Esc => *search = Search::default(),
            KeyCode::Enter => (search.typing, search.wanted) = (false, Some(Way::Up)),
            KeyCode::Backspace => drop(search.text.pop()),
            KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => search.text.push(c),
            _ => return Did::Nothing,
        }
        Did::Redraw
    }

    /// The block that keys are for.
    fn chosen(&self, cells: &[Cell]) -> usize {
        self.at.unwrap_or(usize::MAX).min(cells.len().saturating_sub(1))
    }

    fn go_to(&mut self, cell: usize) {
        (self.at, self.goal) = (Some(cell), true);
    }

    /// Shows the block in another shape, or as all are.
    fn turn(&mut self, shape: Shape, cells: &[Cell]) {
        let cell = self.chosen(cells);
        if self.shapes.insert(cell, shape) == Some(shape) {
            self.shapes.remove(&cell);
        }
        self.lay_anew(cells);
    }

    fn lay_anew(&mut self, cells: &[Cell]) {
        (self.from, self.search.hit) = (None, None);
        self.go_to(self.chosen(cells));
    }

    /// The screen: rows, and one line that says where one is and which keys there are.
    pub fn screen(&mut self, cells: &[Cell], (width, height): (u16, u16), p: &Palette) -> Vec<Line<'static>> {
        self.sight = usize::from(height).saturating_sub(1).max(1);
        if self.laid != (width, cells.len()) {
            // The same place, of other rows.
            (self.goal, self.laid) =
                (self.goal || self.from.is_some() && self.at.is_some(), (width, cells.len()));
            (self.from, self.search.hit) = (None, None);
        }
        if self.from.is_none() {
            self.rows.clear();
            self.from = Some(cells.len());
        }
        if std::mem::take(&mut self.goal) {
            let cell = self.chosen(cells);
            self.lay_while(cells, p, |pager| pager.from > Some(cell));
            if let Some(row) = self.rows.iter().position(|(at, _)| *at == cell) {
                self.show(row);
            }
        }
        if let Some(way) = self.search.wanted.take() {
            self.find(way, cells, p);
        }
        self.lay_while(cells, p, |pager| pager.rows.len() < pager.up.saturating_add(pager.sight));
        self.up = self.up.min(self.rows.len().saturating_sub(self.sight));
        let (start, end) = self.in_sight();
        let first = self.rows[start..end].first().map_or(0, |(cell, _)| *cell);
        let last = self.rows[start..end].last().map_or(0, |(cell, _)| *cell);
        let chosen = self.chosen(cells).clamp(first, last);
        self.at = (self.up > 0 || chosen < last).then_some(chosen);
        let mut screen: Vec<Line<'static>> = (start..end).map(|row| self.drawn(row, chosen, p)).collect();
        screen.resize(self.sight, Line::default());
        screen.push(text::fit(self.foot(chosen, cells.len(), p), usize::from(width)));
        screen
    }

    fn in_sight(&self) -> (usize, usize) {
        let end = self.rows.len() - self.up.min(self.rows.len());
        (end.saturating_sub(self.sight), end)
    }

    /// Scrolls so that a row is in sight: at the top, if it was not.
    fn show(&mut self, row: usize) {
        let (start, end) = self.in_sight();
        if !(start..end).contains(&row) {
            self.up = (self.rows.len() - row).saturating_sub(self.sight);
        }
    }

    /// Lays out more cells above, one by one.
    fn lay_while(&mut self, cells: &[Cell], p: &Palette, more: impl Fn(&Self) -> bool) {
        while let Some(from @ 1..) = self.from
            && more(self)
        {
            let rows = self.lay(from - 1, &cells[from - 1], p);
            self.rows.splice(0..0, rows);
            self.from = Some(from - 1);
        }
    }

    fn lay(&self, at: usize, cell: &Cell, p: &Palette) -> Vec<(usize, Line<'static>)> {
        let width = self.laid.0.saturating_sub(OTHER.len() as u16).max(1);
        let view = |fold| View { width, fold, palette: p };
        let mut rows = match (self.shapes.get(&at), self.raw) {
            (Some(Shape::Folded), _) => cell.rows(view(Fold::Folded)),
            (Some(Shape::Detail), _) => plain(&cell.detail(), width),
            (None, true) => plain(&cell.source(), width),
            (None, false) => cell.rows(view(Fold::Open)),
        };
        rows.push(Line::default());
        rows.into_iter().map(|row| (at, row)).collect()
    }

    fn drawn(&self, row: usize, chosen: usize, p: &Palette) -> Line<'static> {
        let (cell, line) = &self.rows[row];
        let hit = self.search.hit == Some(self.rows.len() - row);
        let mut line = marked(line, &self.search.text, if hit { p.found_now } else { p.found });
        let text = !line.spans.is_empty();
        let before = if *cell == chosen && text { Span::styled(CHOSEN, p.accent) } else { Span::raw(OTHER) };
        // The row's own style is that of its text only.
        for span in &mut line.spans {
            span.style = line.style.patch(span.style);
        }
        line.style = ratatui::style::Style::new();
        line.spans.insert(0, before);
        line
    }

    fn foot(&self, chosen: usize, cells: usize, p: &Palette) -> Line<'static> {
        if self.search.typing {
            return Line::from(vec![Span::styled("/", p.accent), Span::raw(self.search.text.clone())]);
        }
        let place = format!("{} of {cells}", (chosen + 1).min(cells));
        let note = self.note.map(|note| format!(" · {note}")).unwrap_or_default();
        // In the order in which they may be cut.
        let keys = "q back · / search, n N · tab block · y copy · space fold · enter all · r raw";
        Line::styled(format!("{place}{note} · {keys}"), p.dim)
    }

    /// Goes to the next row that has the text, from the one found before or else from the last in sight. What
    /// is not laid out yet is looked at by its source, so that nothing is laid out in vain.
    fn find(&mut self, way: Way, cells: &[Cell], p: &Palette) {
        let wanted = folded(&self.search.text);
        if wanted.is_empty() {
            return;
        }
        let has = |(_, row): &(usize, Line<'_>)| folded(&row.to_string()).contains(&wanted);
        let now = self.search.hit.map(|hit| self.rows.len() - hit);
        let mut found = match way {
            Way::Up => self.rows[..now.unwrap_or(self.in_sight().1)].iter().rposition(has),
            Way::Down => {
                let from = now.map_or(self.in_sight().0, |now| now + 1);
                self.rows[from..].iter().position(has).map(|at| at + from)
            }
        };
        while let (None, Way::Up, Some(from)) = (found, way, self.from)
            && let Some(cell) =
                cells[..from].iter().rposition(|cell| folded(&cell.source()).contains(&wanted))
        {
            self.lay_while(cells, p, |pager| pager.from > Some(cell));
            found = self
                .rows
                .iter()
                .take_while(|(at, _)| *at == cell)
                .collect::<Vec<_>>()
                .into_iter()
                .rposition(has);
        }
        match found {
            Some(row) => {
                self.search.hit = Some(self.rows.len() - row);
                self.at = Some(self.rows[row].0);
                self.show(row);
            }
            None => self.note = Some("no more"),
        }
    }
}

/// A text as it is, wrapped.
fn plain(source: &str, width: u16) -> Vec<Line<'static>> {
    let clean = text::clean(source);
    let wrapped = |line: &str| text::wrap(&Line::raw(line.to_owned()), width.into(), text::Hang::none());
    clean.lines().flat_map(wrapped).collect()
}

/// In small letters, as far as that moves nothing.
fn folded(text: &str) -> String {
    let small = |c: char| {
        let mut small = c.to_lowercase();
        match (small.next(), small.next()) {
            (Some(one), None) if one.len_utf8() == c.len_utf8() => one,
            _ => c,
        }
    };
    text.chars().map(small).collect()
}

/// A row in which what was searched for stands out.
fn marked(row: &Line<'static>, wanted: &str, style: ratatui::style::Style) -> Line<'static> {
    let (text, wanted) = (folded(&row.to_string()), folded(wanted));
    if wanted.is_empty() {
        return row.clone();
    }
    let places = text.match_indices(&wanted).map(|(at, _)| (at..at + wanted.len(), style));
    text::restyle(row.clone(), places)
}
