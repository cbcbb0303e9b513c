//! The picker of earlier sessions: what was asked first, and on demand the end of what was said.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use super::list::{self, List, Row};
use super::pane::{self, End, Parts};
use crate::tui::cell::{Cell, Fold, View};
use crate::tui::host::{Reach, SessionRow};
use crate::tui::palette::Palette;
use crate::tui::text;

pub struct SessionPicker {
    reach: Reach,
    rows: Vec<SessionRow>,
    list: List,
    /// The end of one, shown beside the list; follows the cursor.
    preview: Option<Preview>,
    /// The one that is about to be deleted, if the person says so.
    asked: Option<usize>,
}

struct Preview {
    id: String,
    /// None: it is being read.
    cells: Option<Result<Vec<Cell>, String>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Did {
    Nothing,
    Redraw,
    Left,
    /// Go on with it.
    Open(String),
    /// Sessions of all folders, or of this one again.
    Widen,
    /// Show the end of it; [`SessionPicker::previewed`] brings it.
    Preview(String),
    /// The person said yes.
    Delete(String),
}

impl SessionPicker {
    pub fn new(reach: Reach, rows: Vec<SessionRow>) -> Self {
        let listed = rows.iter().map(|row| listed(row, reach)).collect();
        Self { reach, rows, list: List::new(listed), preview: None, asked: None }
    }

    pub fn reach(&self) -> Reach {
        self.reach
    }

    pub fn key(&mut self, key: KeyEvent) -> Did {
        if let Some(row) = self.asked {
            return self.answer(row, key);
        }
        let control = |c: char| key.code == KeyCode::Char(c) && key.modifiers == KeyModifiers::CONTROL;
        match self.list.key(key) {
            list::Did::Chose(row) => Did::Open(self.id(row)),
            list::Did::Left => Did::Left,
            list::Did::Redraw => self.follow(),
            list::Did::Nothing => Did::Nothing,
            list::Did::Other(_) if key.code == KeyCode::Tab => Did::Widen,
            list::Did::Other(_) if key.code == KeyCode::Char(' ') => match self.preview.take() {
                Some(_) => Did::Redraw,
                None => self.look(),
            },
            list::Did::Other(_) if key.code == KeyCode::Delete || control('d') => {
                self.asked = self.list.under();
                Did::Redraw
            }
            list::Did::Other(_) => Did::Nothing,
        }
    }

    /// Only a `y` deletes, and only what nobody means goes on asking.
    fn answer(&mut self, row: usize, key: KeyEvent) -> Did {
        match key.code {
            KeyCode::Char('y') if key.modifiers.is_empty() => {
                self.asked = None;
                Did::Delete(self.id(row))
            }
            KeyCode::Char('n') | KeyCode::Esc => {
                self.asked = None;
                Did::Redraw
            }
            _ => Did::Nothing,
        }
    }

    fn follow(&mut self) -> Did {
        if self.preview.is_some() { self.look() } else { Did::Redraw }
    }

    fn look(&mut self) -> Did {
        let Some(row) = self.list.under() else { return Did::Redraw };
        let id = self.id(row);
        if self.preview.as_ref().is_some_and(|preview| preview.id == id) {
            return Did::Redraw;
        }
        self.preview = Some(Preview { id: id.clone(), cells: None });
        Did::Preview(id)
    }

    /// The end of a session came; it may be too late for it.
    pub fn previewed(&mut self, id: &str, cells: Result<Vec<Cell>, String>) {
        if let Some(preview) = self.preview.as_mut().filter(|preview| preview.id == id) {
            preview.cells = Some(cells);
        }
    }

    /// It is deleted.
    pub fn gone(&mut self, id: &str) {
        self.rows.retain(|row| row.id != id);
        self.preview = None;
        self.list.renew(self.rows.iter().map(|row| listed(row, self.reach)).collect());
    }

    fn id(&self, row: usize) -> String {
        self.rows.get(row).map(|row| row.id.clone()).unwrap_or_default()
    }

    pub fn rows(&mut self, width: usize, height: usize, p: &Palette) -> Vec<Line<'static>> {
        let (whose, other) = match self.reach {
            Reach::Folder => ("of this folder", "tab all folders"),
            Reach::All => ("of all folders", "tab this folder"),
        };
        let filter = text::clean_line(self.list.filter()).into_owned();
        let mut head = vec![Span::styled("Sessions", p.strong), Span::styled(format!(" {whose}"), p.dim)];
        if !filter.is_empty() {
            head.push(Span::styled(format!("   filter: {filter}"), p.accent));
        }
        let (said, keys) = match self.asked.and_then(|row| self.rows.get(row)) {
            Some(row) => {
                let title = text::clean_line(&row.title).into_owned();
                let asked = format!("Delete “{title}” ({}) and all that belongs to it?", turns(row.turns));
                (vec![Line::styled(asked, p.warn)], "y delete it for good · n keep it".to_owned())
            }
            None => {
                let keys = format!("enter go on with it · space preview · ctrl+d delete · {other} · esc");
                (Vec::new(), keys)
            }
        };
        let detail = self.preview.as_ref().map(|preview| preview.lines(width, p)).unwrap_or_default();
        let none = if filter.is_empty() { "there is none yet" } else { "none fits what you typed" };
        let head = Line::from(head);
        Parts { head, list: &mut self.list, none, detail, end: End::Tail, said, keys }.rows(width, height, p)
    }
}

impl Preview {
    /// Not wider than a detail is.
    fn lines(&self, width: usize, p: &Palette) -> Vec<Line<'static>> {
        let columns = u16::try_from(pane::columns(width)).unwrap_or(u16::MAX);
        match &self.cells {
            None => vec![Line::styled("reading it …", p.dim)],
            Some(Err(why)) => vec![Line::styled(text::clean_line(why).into_owned(), p.bad)],
            Some(Ok(cells)) => {
                let view = View { width: columns, fold: Fold::Folded, palette: p };
                let rows = |cell: &Cell| {
                    let mut rows = vec![Line::default()];
                    rows.extend(cell.rows(view));
                    rows
                };
                cells.iter().flat_map(rows).skip(1).collect()
            }
        }
    }
}

fn turns(count: usize) -> String {
    if count == 1 { "1 turn".to_owned() } else { format!("{count} turns") }
}

fn listed(row: &SessionRow, reach: Reach) -> Row {
    let known = |text: &str| if text.is_empty() { "–".to_owned() } else { text.to_owned() };
    let mut columns =
        vec![row.title.clone(), age(row.age), turns(row.turns), known(&row.branch), known(&row.speaks)];
    if reach == Reach::All {
        columns.push(row.folder.clone());
    }
    Row { columns, ..Row::default() }
}

/// Seconds as `3 m`, `2 h`, `5 d`.
pub fn age(seconds: u64) -> String {
    match seconds {
        0..60 => "now".to_owned(),
        60..3_600 => format!("{} m", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}
