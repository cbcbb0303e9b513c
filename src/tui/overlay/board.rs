//! Something to read until a key is pressed: the sheet of keys, what waits.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use super::list::Did;
use crate::tui::palette::Palette;
use crate::tui::text;

pub struct Board {
    title: String,
    /// Pairs of a short left and a right side.
    rows: Vec<(String, String)>,
    top: usize,
    sight: usize,
}

impl Board {
    pub fn new(title: impl Into<String>, rows: Vec<(String, String)>) -> Self {
        Self { title: title.into(), rows, top: 0, sight: 1 }
    }

    pub fn key(&mut self, key: KeyEvent) -> Did {
        let last = self.rows.len().saturating_sub(self.sight);
        match key.code {
            KeyCode::Down | KeyCode::Char('j') => self.top = (self.top + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top = (self.top + self.sight).min(last),
            KeyCode::PageUp => self.top = self.top.saturating_sub(self.sight),
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | '?') => return Did::Left,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Did::Left,
            _ => return Did::Nothing,
        }
        Did::Redraw
    }

    pub fn rows(&mut self, width: usize, height: usize, p: &Palette) -> Vec<Line<'static>> {
        self.sight = height.saturating_sub(2).clamp(1, self.rows.len().max(1));
        self.top = self.top.min(self.rows.len().saturating_sub(self.sight));
        let left = self.rows.iter().map(|(left, _)| text::width(left)).max().unwrap_or(0).min(width / 2);
        let mut out = vec![text::fit(Line::styled(self.title.clone(), p.strong), width)];
        for (key, what) in self.rows.iter().skip(self.top).take(self.sight) {
            let key = text::pad(Line::styled(text::clean_line(key).into_owned(), p.accent), left);
            let mut line = Line::from(vec![Span::raw("  ")]);
            line.spans.extend(key.spans);
            line.spans.push(Span::raw(format!("  {}", text::clean_line(what))));
            out.push(text::fit(line, width));
        }
        let below = self.rows.len() - self.top - self.sight.min(self.rows.len());
        let more = if below > 0 { format!("↓ {below} more · ") } else { String::new() };
        out.push(text::fit(Line::styled(format!("{more}esc back"), p.dim), width));
        out.truncate(height.max(1));
        out
    }
}
