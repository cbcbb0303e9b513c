//! Adding a server of one's own: its address, what it is to be called, its wire, its key. The key is never
//! shown, and leaves with the form.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use crate::model::WireKind;
use crate::tui::host::{Hidden, NewProvider};
use crate::tui::palette::Palette;
use crate::tui::text;

/// Longest entry, in characters.
const LONGEST: usize = 16_384;

const WIRES: [Option<WireKind>; 4] =
    [None, Some(WireKind::Chat), Some(WireKind::Responses), Some(WireKind::Messages)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Address,
    Id,
    Wire,
    Key,
}

const FIELDS: [Field; 4] = [Field::Address, Field::Id, Field::Wire, Field::Key];

pub struct ServerForm {
    at: Field,
    address: String,
    id: String,
    /// The id was typed, not guessed from the address.
    named: bool,
    wire: Option<WireKind>,
    key: String,
    state: State,
}

enum State {
    Open,
    Asking,
    /// Why it was not added.
    Failed(String),
}

#[derive(Debug)]
pub enum Did {
    Nothing,
    Redraw,
    Left,
    Entered(NewProvider),
}

impl Default for ServerForm {
    fn default() -> Self {
        Self {
            at: Field::Address,
            address: String::new(),
            id: String::new(),
            named: false,
            wire: None,
            key: String::new(),
            state: State::Open,
        }
    }
}

impl ServerForm {
    pub fn key(&mut self, key: KeyEvent) -> Did {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return Did::Left,
            KeyCode::Char('c' | 'd') if control => return Did::Left,
            _ if matches!(self.state, State::Asking) => return Did::Nothing,
            KeyCode::Enter if self.at == Field::Key => return self.enter(),
            KeyCode::Enter | KeyCode::Tab | KeyCode::Down => self.step(1),
            KeyCode::BackTab | KeyCode::Up => self.step(FIELDS.len() - 1),
            KeyCode::Left if self.at == Field::Wire => self.turn(WIRES.len() - 1),
            KeyCode::Right | KeyCode::Char(' ') if self.at == Field::Wire => self.turn(1),
            KeyCode::Char('u') if control => self.change(String::clear),
            KeyCode::Backspace => self.change(|text| {
                text.pop();
            }),
            KeyCode::Char(c) if !control => self.change(|text| text.push(c)),
            _ => return Did::Nothing,
        }
        Did::Redraw
    }

    pub fn paste(&mut self, pasted: &str) {
        if !matches!(self.state, State::Asking) {
            self.change(|text| text.extend(pasted.trim().chars().filter(|c| !c.is_control())));
        }
    }

    /// It could not be added: why. The form stands as it was.
    pub fn failed(&mut self, why: String) {
        self.state = State::Failed(why);
    }

    fn enter(&mut self) -> Did {
        for (field, empty) in
            [(Field::Address, self.address.trim().is_empty()), (Field::Id, self.id.is_empty())]
        {
            if empty {
                self.at = field;
                return Did::Redraw;
            }
        }
        self.state = State::Asking;
        let key = Some(self.key.trim().to_owned()).filter(|key| !key.is_empty()).map(Hidden);
        Did::Entered(NewProvider {
            id: self.id.clone(),
            url: self.address.trim().to_owned(),
            wire: self.wire,
            key,
        })
    }

    fn step(&mut self, by: usize) {
        let at = FIELDS.iter().position(|field| *field == self.at).unwrap_or(0);
        self.at = FIELDS[(at + by) % FIELDS.len()];
    }

    fn turn(&mut self, by: usize) {
        let at = WIRES.iter().position(|wire| *wire == self.wire).unwrap_or(0);
        self.wire = WIRES[(at + by) % WIRES.len()];
    }

    fn change(&mut self, change: impl FnOnce(&mut String)) {
        self.state = State::Open;
        let text = match self.at {
            Field::Address => &mut self.address,
            Field::Id => {
                self.named = true;
                &mut self.id
            }
            Field::Key => &mut self.key,
            Field::Wire => return,
        };
        change(text);
        if let Some((end, _)) = text.char_indices().nth(LONGEST) {
            text.truncate(end);
        }
        if !self.named {
            self.id = guess(&self.address);
        }
    }

    pub fn rows(&self, width: usize, height: usize, p: &Palette) -> Vec<Line<'static>> {
        let wire = self.wire.map_or("found by asking", WireKind::name);
        let secret = match self.key.chars().count() {
            0 => String::new(),
            count => format!("{} {count} characters", "•".repeat(count.min(24))),
        };
        let rows = [
            (Field::Address, "address", self.address.as_str(), "such as https://api.acme.example/v1"),
            (Field::Id, "id", self.id.as_str(), "a short word of your own, such as acme"),
            (Field::Wire, "wire", wire, ""),
            (Field::Key, "key", secret.as_str(), "paste or type it; it is not shown; empty: none"),
        ];
        let mut out = vec![Line::styled("Add a provider or local server", p.strong)];
        out.extend(rows.map(|(field, name, value, hint)| self.row((field, name), (value, hint), p)));
        match &self.state {
            State::Open => {}
            State::Asking => out.push(Line::styled("asking what is there …", p.dim)),
            State::Failed(why) => {
                let why = Line::styled(format!("✗ {}", text::clean_line(why)), p.bad);
                out.extend(text::wrap(&why, width, text::Hang::none()));
            }
        }
        let keys = match self.at {
            Field::Wire => "←→ change · enter next · ↑↓ · esc",
            Field::Key => "enter add · ↑↓ · esc",
            Field::Address | Field::Id => "enter next · ↑↓ · esc",
        };
        out.truncate(height.saturating_sub(1).max(1));
        if height > 1 {
            out.push(Line::styled(keys, p.dim));
        }
        out.into_iter().map(|line| text::fit(line, width)).collect()
    }

    fn row(&self, (field, name): (Field, &str), (value, hint): (&str, &str), p: &Palette) -> Line<'static> {
        let at = field == self.at;
        let shown = match value.is_empty() {
            true => Span::styled(hint.to_owned(), p.dim),
            false => Span::styled(text::clean_line(value).into_owned(), if at { p.accent } else { p.text }),
        };
        let mark = Span::styled(if at { "› " } else { "  " }, p.accent);
        let cursor = if at && field != Field::Wire { "▏" } else { "" };
        let (before, behind) = if value.is_empty() { (cursor, "") } else { ("", cursor) };
        let bar = |text: &'static str| Span::styled(text, p.accent);
        Line::from(vec![mark, Span::styled(format!("{name:<8} "), p.dim), bar(before), shown, bar(behind)])
    }
}

/// What to call a server at this address: the last name of its host before the domain.
fn guess(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', ':', '?']).next().unwrap_or_default().trim().to_lowercase();
    let labels: Vec<&str> = host.split('.').filter(|label| !label.is_empty()).collect();
    let name = match labels.as_slice() {
        [] => return String::new(),
        all if all.iter().all(|label| label.chars().all(|c| c.is_ascii_digit())) => "own",
        ["localhost"] => "own",
        [one] => one,
        [.., name, _] => name,
    };
    name.chars().filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_')).collect()
}

impl Drop for ServerForm {
    fn drop(&mut self) {
        // What was typed is overwritten before its memory is given back.
        let len = self.key.len();
        self.key.clear();
        self.key.extend(std::iter::repeat_n('\0', len));
    }
}
