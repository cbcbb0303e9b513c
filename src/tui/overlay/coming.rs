//! A list whose rows are still being put together.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use super::list::Did;
use crate::tui::palette::Palette;
use crate::tui::text;

/// Most keys that are kept for it.
const MOST: usize = 256;

pub struct Coming {
    what: &'static str,
    typed: Vec<KeyEvent>,
}

impl Coming {
    /// `what`: of what it will be a list, as `models`.
    pub fn new(what: &'static str) -> Self {
        Self { what, typed: Vec::new() }
    }

    pub fn what(&self) -> &'static str {
        self.what
    }

    /// The keys of a filter. No other is kept: nobody chooses from what is not to be seen.
    pub fn typed(&mut self) -> Vec<KeyEvent> {
        std::mem::take(&mut self.typed)
    }

    pub fn key(&mut self, key: KeyEvent) -> Did {
        let held = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SUPER;
        match key.code {
            KeyCode::Esc => return Did::Left,
            KeyCode::Char('c' | 'd') if key.modifiers == KeyModifiers::CONTROL => return Did::Left,
            // A digit would choose a row.
            KeyCode::Char(c) if !key.modifiers.intersects(held) && !c.is_ascii_digit() => {
                if self.typed.len() < MOST {
                    self.typed.push(key);
                }
            }
            KeyCode::Backspace => drop(self.typed.pop()),
            _ => return Did::Nothing,
        }
        Did::Redraw
    }

    pub fn rows(&self, width: usize, p: &Palette) -> Vec<Line<'static>> {
        let typed: String = self.typed.iter().filter_map(|key| key.code.as_char()).collect();
        let mut head = vec![Span::raw(format!("Looking for {} …", self.what))];
        if !typed.is_empty() {
            head.push(Span::styled(format!("   filter: {}", text::clean_line(&typed)), p.accent));
        }
        [Line::from(head), Line::styled("esc", p.dim)].map(|line| text::fit(line, width)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_filter_is_kept_for_the_list() {
        let mut coming = Coming::new("models");
        let press = |coming: &mut Coming, code| coming.key(KeyEvent::new(code, KeyModifiers::NONE));
        for c in "qx3 w".chars() {
            press(&mut coming, KeyCode::Char(c));
        }
        assert_eq!(press(&mut coming, KeyCode::Enter), Did::Nothing);
        press(&mut coming, KeyCode::Backspace);
        let typed: String = coming.typed().iter().filter_map(|key| key.code.as_char()).collect();
        assert_eq!(typed, "qx ");
        assert_eq!(press(&mut coming, KeyCode::Esc), Did::Left);
    }
}
