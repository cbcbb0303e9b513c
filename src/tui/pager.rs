//! The pager: the whole transcript with nothing folded, on the full screen. Scroll, search, copy a block,
//! see its source.
//!
//! Rows are made when they come into sight, from the end upwards: opening costs a screen, not a session.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use super::cell::{Cell, Fold, View};
use super::palette::Palette;
use super::text;

/// What the pager shows and where in it one is.
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
    search: Option<Search>,
    /// Cells that the person folded.
    folded: Vec<usize>,
    /// The cell at the top of the sight, for copying and folding.
    at: usize,
    note: Option<String>,
}

#[derive(Default)]
struct Search {
    text: String,
    typing: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Did {
    Nothing,
    Redraw,
    Copy(String),
    Left,
}

impl Default for Pager {
    fn default() -> Self {
        Self::new()
    }
}

impl Pager {
    /// At the end of the transcript.
    pub fn new() -> Self {
        Self {
            rows: Vec::new(),
            from: None,
            laid: (0, 0),
            up: 0,
            sight: 1,
            raw: false,
            search: None,
            folded: Vec::new(),
            at: 0,
            note: None,
        }
    }

    pub fn key(&mut self, key: KeyEvent, cells: &[Cell]) -> Did {
        self.note = None;
        if let Some(search) = self.search.as_mut().filter(|search| search.typing) {
            match key.code {
                KeyCode::Esc => self.search = None,
                KeyCode::Enter => {
                    search.typing = false;
                    return self.find(cells, Way::Up);
                }
                KeyCode::Backspace => drop(search.text.pop()),
                KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => search.text.push(c),
                _ => return Did::Nothing,
            }
            return Did::Redraw;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let page = self.sight.saturating_sub(2).max(1);
        match key.code {
            KeyCode::Char('t' | 'c') if control => return Did::Left,
            KeyCode::Char('q') | KeyCode::Esc => return Did::Left,
            KeyCode::Up | KeyCode::Char('k') => self.up += 1,
            KeyCode::Down | KeyCode::Char('j') => self.up = self.up.saturating_sub(1),
            KeyCode::PageUp | KeyCode::Char('b') => self.up += page,
            KeyCode::PageDown | KeyCode::Char('f') => self.up = self.up.saturating_sub(page),
            KeyCode::Char('u') => self.up += page / 2,
            KeyCode::Char('d') => self.up = self.up.saturating_sub(page / 2),
            KeyCode::Home | KeyCode::Char('g') => self.up = usize::MAX / 2,
            KeyCode::End | KeyCode::Char('G') => self.up = 0,
            KeyCode::Char('/') => self.search = Some(Search { typing: true, ..Search::default() }),
            KeyCode::Char('n') => return self.find(cells, Way::Up),
            KeyCode::Char('N') => return self.find(cells, Way::Down),
            KeyCode::Char('r') => {
                self.raw = !self.raw;
                self.from = None;
            }
            KeyCode::Char(' ') => {
                match self.folded.iter().position(|cell| *cell == self.at) {
                    Some(at) => drop(self.folded.remove(at)),
                    None => self.folded.push(self.at),
                }
                self.from = None;
            }
            KeyCode::Char('y') => {
                if let Some(cell) = cells.get(self.at) {
                    self.note = Some("copied".to_owned());
                    return Did::Copy(cell.source());
                }
            }
            _ => return Did::Nothing,
        }
        Did::Redraw
    }

    /// The screen: rows, and one line that says where one is and which keys there are.
    pub fn screen(&mut self, cells: &[Cell], (width, height): (u16, u16), p: &Palette) -> Vec<Line<'static>> {
        self.sight = usize::from(height).saturating_sub(1).max(1);
        if self.laid != (width, cells.len()) {
            (self.laid, self.from) = ((width, cells.len()), None);
        }
        let from = self.from.get_or_insert_with(|| {
            self.rows.clear();
            cells.len()
        });
        let mut from = *from;
        while from > 0 && self.rows.len() < self.up.saturating_add(self.sight) {
            from -= 1;
            let rows = self.lay(from, &cells[from], width, p);
            self.rows.splice(0..0, rows);
        }
        self.from = Some(from);
        self.up = self.up.min(self.rows.len().saturating_sub(self.sight));
        let end = self.rows.len() - self.up;
        let start = end.saturating_sub(self.sight);
        self.at = self.rows[start..end].first().map_or(0, |(cell, _)| *cell);
        let wanted = self.search.as_ref().map(|search| search.text.clone()).filter(|text| !text.is_empty());
        let mut screen: Vec<Line<'static>> =
            self.rows[start..end].iter().map(|(_, row)| marked(row, wanted.as_deref(), p)).collect();
        screen.resize(self.sight, Line::default());
        screen.push(text::fit(self.foot(cells.len(), p), usize::from(width)));
        screen
    }

    fn lay(&self, at: usize, cell: &Cell, width: u16, p: &Palette) -> Vec<(usize, Line<'static>)> {
        let fold = if self.folded.contains(&at) { Fold::Folded } else { Fold::Open };
        let mut rows = match self.raw {
            true => {
                let source = cell.source();
                let clean = text::clean(&source).into_owned();
                let wrapped = |line: &str| {
                    text::wrap(&Line::raw(line.to_owned()), usize::from(width), text::Hang::none())
                };
                clean.lines().flat_map(wrapped).collect()
            }
            false => cell.rows(View { width, fold, palette: p }),
        };
        rows.push(Line::default());
        rows.into_iter().map(|row| (at, row)).collect()
    }

    fn foot(&self, cells: usize, p: &Palette) -> Line<'static> {
        if let Some(search) = self.search.as_ref().filter(|search| search.typing) {
            return Line::from(vec![Span::styled("/", p.accent), Span::raw(search.text.clone())]);
        }
        let place = format!("{} of {cells}", (self.at + 1).min(cells));
        let note = self.note.as_ref().map(|note| format!(" · {note}")).unwrap_or_default();
        let keys = "↑↓ pgup pgdn · / search n N · y copy · space fold · r raw · q back";
        Line::styled(format!("{place}{note} · {keys}"), p.dim)
    }

    /// Goes to the next row that has the text: through the cells' sources first, so that nothing is laid
    /// out in vain.
    fn find(&mut self, cells: &[Cell], way: Way) -> Did {
        let Some(search) = &self.search else { return Did::Nothing };
        let wanted = search.text.to_lowercase();
        if wanted.is_empty() {
            return Did::Nothing;
        }
        let has = |row: &Line<'_>| row.to_string().to_lowercase().contains(&wanted);
        let end = self.rows.len() - self.up.min(self.rows.len());
        let start = end.saturating_sub(self.sight);
        let found = match way {
            Way::Up => self.rows[..start].iter().rposition(|(_, row)| has(row)),
            Way::Down => {
                let after = (start + 1).min(self.rows.len());
                self.rows[after..].iter().position(|(_, row)| has(row)).map(|at| at + after)
            }
        };
        if let Some(row) = found {
            // So that it is the first in sight.
            self.up = (self.rows.len() - row).saturating_sub(self.sight);
            return Did::Redraw;
        }
        let from = self.from.unwrap_or(cells.len());
        let above = match way {
            Way::Up => cells[..from].iter().rposition(|cell| cell.source().to_lowercase().contains(&wanted)),
            Way::Down => None,
        };
        match above {
            Some(cell) => {
                // Laid out down to there with the next frame; asked again then.
                let p = Palette::new(super::palette::Theme::Plain);
                let mut at = from;
                while at > cell {
                    at -= 1;
                    let rows = self.lay(at, &cells[at], self.laid.0, &p);
                    self.rows.splice(0..0, rows);
                }
                let row = self.rows.iter().position(|(_, row)| has(row)).unwrap_or(0);
                self.up = (self.rows.len() - row).saturating_sub(self.sight);
                self.from = None;
                self.up = self.up.max(1);
                Did::Redraw
            }
            None => {
                self.note = Some("no more".to_owned());
                Did::Redraw
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Way {
    Up,
    Down,
}

/// A row in which what was searched for stands out.
fn marked(row: &Line<'static>, wanted: Option<&str>, p: &Palette) -> Line<'static> {
    let Some(wanted) = wanted else { return row.clone() };
    if !row.to_string().to_lowercase().contains(&wanted.to_lowercase()) {
        return row.clone();
    }
    let mut row = row.clone();
    row.style = row.style.patch(p.strong);
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::palette::Theme;

    fn cells(count: usize) -> Vec<Cell> {
        (0..count).map(|n| Cell::Said { text: format!("message {n}"), images: 0 }).collect()
    }

    fn text(pager: &mut Pager, cells: &[Cell]) -> Vec<String> {
        let p = Palette::new(Theme::Plain);
        pager.screen(cells, (40, 7), &p).iter().map(|row| row.to_string().trim_end().to_owned()).collect()
    }

    fn press(pager: &mut Pager, cells: &[Cell], keys: &str) -> Did {
        let mut did = Did::Nothing;
        for c in keys.chars() {
            let code = if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
            did = pager.key(KeyEvent::new(code, KeyModifiers::NONE), cells);
            text(pager, cells);
        }
        did
    }

    #[test]
    fn it_opens_at_the_end_and_goes_to_both_ends() {
        let cells = cells(100);
        let mut pager = Pager::new();
        assert!(text(&mut pager, &cells).contains(&"› message 99".to_owned()));
        assert!(pager.rows.len() < 10, "only what is in sight is laid out: {}", pager.rows.len());
        press(&mut pager, &cells, "g");
        assert_eq!(text(&mut pager, &cells)[0], "› message 0");
        press(&mut pager, &cells, "G");
        assert!(text(&mut pager, &cells).contains(&"› message 99".to_owned()));
    }

    #[test]
    fn a_search_goes_up_to_what_was_not_laid_out() {
        let cells = cells(100);
        let mut pager = Pager::new();
        text(&mut pager, &cells);
        press(&mut pager, &cells, "/message 42\n");
        assert_eq!(text(&mut pager, &cells)[0], "› message 42");
        press(&mut pager, &cells, "n");
        assert!(text(&mut pager, &cells).last().unwrap().contains("no more"));
    }

    #[test]
    fn the_block_at_the_top_is_copied() {
        let cells = cells(100);
        let mut pager = Pager::new();
        text(&mut pager, &cells);
        press(&mut pager, &cells, "g");
        assert_eq!(press(&mut pager, &cells, "y"), Did::Copy("message 0".into()));
    }

    #[test]
    fn an_empty_transcript_has_a_pager_too() {
        let mut pager = Pager::new();
        assert_eq!(text(&mut pager, &[]).len(), 7);
        press(&mut pager, &[], "gG/x\nny r");
    }
}
