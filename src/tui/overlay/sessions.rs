//! The picker of earlier sessions.

use crossterm::event::KeyEvent;
use ratatui::text::{Line, Span};

use super::list::{Did, List, Row};
use crate::tui::host::{Reach, SessionRow};
use crate::tui::palette::Palette;
use crate::tui::text;

pub struct SessionPicker {
    reach: Reach,
    rows: Vec<SessionRow>,
    list: List,
}

impl SessionPicker {
    pub fn new(reach: Reach, rows: Vec<SessionRow>) -> Self {
        let listed = rows.iter().map(|row| listed(row, reach)).collect();
        Self { reach, rows, list: List::new(listed) }
    }

    pub fn reach(&self) -> Reach {
        self.reach
    }

    pub fn key(&mut self, key: KeyEvent) -> Did {
        self.list.key(key)
    }

    pub fn id(&self, row: usize) -> String {
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
        let mut out = vec![text::fit(Line::from(head), width)];
        let room = height.saturating_sub(2).max(1);
        out.extend(self.list.rows(width, room, p));
        if self.list.counts().0 == 0 {
            let none = if filter.is_empty() { "  there is none yet" } else { "  none fits what you typed" };
            out.push(Line::styled(none, p.dim));
        }
        let keys = format!("enter go on with it · {other} · esc");
        out.push(text::fit(Line::styled(keys, p.dim), width));
        out.truncate(height.max(1));
        out
    }
}

fn listed(row: &SessionRow, reach: Reach) -> Row {
    let turns = if row.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", row.turns) };
    let mut columns = vec![row.title.clone(), age(row.age), turns, row.speaks.clone()];
    if reach == Reach::All {
        columns.push(row.folder.clone());
    }
    Row { columns, ..Row::default() }
}

/// Seconds as `3 m`, `2 h`, `5 d`.
fn age(seconds: u64) -> String {
    match seconds {
        0..60 => "now".to_owned(),
        60..3_600 => format!("{} m", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}
