//! Entering a key: what is typed is never shown, never kept in the history, and leaves with the dialog.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use crate::tui::palette::Palette;
use crate::tui::text;

/// Longest key that is taken, in characters.
const LONGEST: usize = 16_384;

pub struct KeyEntry {
    provider: String,
    typed: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Did {
    Nothing,
    Redraw,
    Left,
    Entered { provider: String, key: String },
}

impl KeyEntry {
    pub fn new(provider: String) -> Self {
        Self { provider, typed: String::new() }
    }

    pub fn key(&mut self, key: KeyEvent) -> Did {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return Did::Left,
            KeyCode::Char('c' | 'd') if control => return Did::Left,
            KeyCode::Char('u') if control => self.typed.clear(),
            KeyCode::Enter if self.typed.trim().is_empty() => return Did::Nothing,
            KeyCode::Enter => {
                let key = std::mem::take(&mut self.typed).trim().to_owned();
                return Did::Entered { provider: self.provider.clone(), key };
            }
            KeyCode::Backspace => drop(self.typed.pop()),
            KeyCode::Char(c) if !control && self.typed.chars().count() < LONGEST => self.typed.push(c),
            _ => return Did::Nothing,
        }
        Did::Redraw
    }

    pub fn paste(&mut self, pasted: &str) {
        self.typed.extend(pasted.trim().chars().filter(|c| !c.is_control()).take(LONGEST));
    }

    pub fn rows(&self, width: usize, p: &Palette) -> Vec<Line<'static>> {
        let provider = text::clean_line(&self.provider).into_owned();
        let shown = match self.typed.chars().count() {
            0 => "paste or type it; it is not shown".to_owned(),
            count => format!("{} {count} characters", "•".repeat(count.min(24))),
        };
        let lines = [
            Line::from(vec![Span::styled("Key", p.strong), Span::raw(format!(" for {provider}"))]),
            Line::from(vec![Span::styled("› ", p.accent), Span::styled(shown, p.dim)]),
            Line::styled("enter store it in the keychain, or a file only you can read · esc", p.dim),
        ];
        lines.into_iter().map(|line| text::fit(line, width)).collect()
    }
}

impl Drop for KeyEntry {
    fn drop(&mut self) {
        // What was typed is overwritten before its memory is given back.
        let len = self.typed.len();
        self.typed.clear();
        self.typed.extend(std::iter::repeat_n('\0', len));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::palette::Theme;

    #[test]
    fn a_key_is_taken_and_never_shown() {
        let mut entry = KeyEntry::new("moonshot".into());
        let press = |entry: &mut KeyEntry, code| entry.key(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(press(&mut entry, KeyCode::Enter), Did::Nothing);
        entry.paste(" sk-secret\u{1b}\n");
        press(&mut entry, KeyCode::Char('1'));
        let text: String =
            entry.rows(80, &Palette::new(Theme::Plain)).iter().map(ToString::to_string).collect();
        assert!(!text.contains("sk") && text.contains("10 characters"), "{text}");
        let entered = Did::Entered { provider: "moonshot".into(), key: "sk-secret1".into() };
        assert_eq!(press(&mut entry, KeyCode::Enter), entered);
    }
}
