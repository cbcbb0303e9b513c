//! The one list of all pickers: type to filter, move, choose. Knows nothing of what it lists.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::text::{Line, Span};

use crate::tui::palette::Palette;
use crate::tui::text;

/// One row: what is shown in columns, and what typing finds.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub columns: Vec<String>,
    /// Not to be chosen, only read: why.
    pub barred: Option<String>,
    /// A heading over those below it; never under the cursor.
    pub heading: bool,
    /// Stands out: the one in use.
    pub current: bool,
    /// Drawn in the colour of a warning.
    pub marked: bool,
    /// Stands back.
    pub faint: bool,
}

/// What became of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Did {
    Nothing,
    Redraw,
    /// The row of this number, counted in the list as it was given.
    Chose(usize),
    Left,
    /// Not the list's business.
    Other(KeyEvent),
}

/// Which row is next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    On,
    Back,
}

pub struct List {
    rows: Vec<Row>,
    filter: String,
    /// Numbers of the rows that fit the filter.
    shown: Vec<usize>,
    /// Where in `shown`.
    at: usize,
    /// First of `shown` in sight.
    top: usize,
    /// Rows in sight when last drawn.
    sight: usize,
}

impl List {
    pub fn new(rows: Vec<Row>) -> Self {
        let mut list = Self { rows, filter: String::new(), shown: Vec::new(), at: 0, top: 0, sight: 1 };
        list.sift();
        if let Some(at) = list.shown.iter().position(|&row| list.rows[row].current) {
            list.at = at;
        }
        list
    }

    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// The number of the row under the cursor.
    pub fn under(&self) -> Option<usize> {
        self.shown.get(self.at).copied()
    }

    /// How many rows can be chosen, of how many.
    pub fn counts(&self) -> (usize, usize) {
        let plain = |row: &&Row| !row.heading;
        let shown = self.shown.iter().filter(|&&row| !self.rows[row].heading).count();
        (shown, self.rows.iter().filter(plain).count())
    }

    /// How many rows there are to be seen, headings too.
    pub fn sight_of_all(&self) -> usize {
        self.shown.len()
    }

    /// To the row after this one, or before it.
    pub fn turn(&mut self, way: Way) -> Did {
        self.step(if way == Way::On { 1 } else { -1 })
    }

    /// Puts other rows in place of these; filter and cursor stay where they can.
    pub fn renew(&mut self, rows: Vec<Row>) {
        let before = self.under().and_then(|row| self.rows[row].columns.first().cloned());
        self.rows = rows;
        self.sift();
        let same = |&row: &usize| self.rows[row].columns.first() == before.as_ref();
        if let Some(at) = self.shown.iter().position(same) {
            self.at = at;
        }
    }

    pub fn key(&mut self, key: KeyEvent) -> Did {
        let plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        match key.code {
            KeyCode::Up => self.step(-1),
            KeyCode::Down => self.step(1),
            KeyCode::Char('p') if key.modifiers == KeyModifiers::CONTROL => self.step(-1),
            KeyCode::Char('n') if key.modifiers == KeyModifiers::CONTROL => self.step(1),
            KeyCode::PageUp => self.step(-(self.sight.max(2) as isize - 1)),
            KeyCode::PageDown => self.step(self.sight.max(2) as isize - 1),
            KeyCode::Home => self.step(isize::MIN / 2),
            KeyCode::End => self.step(isize::MAX / 2),
            KeyCode::Esc if !self.filter.is_empty() => self.typed(String::new()),
            KeyCode::Esc => Did::Left,
            KeyCode::Enter => match self.under() {
                Some(row) if self.rows[row].barred.is_none() => Did::Chose(row),
                Some(_) | None => Did::Nothing,
            },
            KeyCode::Backspace if !self.filter.is_empty() => {
                let mut filter = self.filter.clone();
                filter.pop();
                self.typed(filter)
            }
            KeyCode::Char(digit @ '1'..='9') if plain && self.filter.is_empty() => self.nth(digit),
            KeyCode::Char(c) if plain && !c.is_control() && (c != ' ' || !self.filter.is_empty()) => {
                self.typed(format!("{}{c}", self.filter))
            }
            _ => Did::Other(key),
        }
    }

    /// The rows in sight, at most `most`, each at most `width` wide.
    pub fn rows(&mut self, width: usize, most: usize, p: &Palette) -> Vec<Line<'static>> {
        self.sight = most.max(1);
        self.top = self.top.min(self.at).max((self.at + 1).saturating_sub(self.sight));
        let widths = self.widths(width.saturating_sub(2));
        let sight = self.shown.iter().enumerate().skip(self.top).take(self.sight);
        sight.map(|(nth, &row)| self.row(nth, &self.rows[row], (&widths, width), p)).collect()
    }

    fn row(&self, nth: usize, row: &Row, (widths, width): (&[usize], usize), p: &Palette) -> Line<'static> {
        if row.heading {
            let name = row.columns.join("  ");
            return text::fit(Line::styled(format!("  {}", text::clean_line(&name)), p.dim), width);
        }
        let under = nth == self.at;
        let style = match () {
            () if under => p.accent,
            () if row.barred.is_some() || row.faint => p.dim,
            () if row.marked => p.warn,
            () => p.text,
        };
        let mut spans = vec![Span::styled(if under { "› " } else { "  " }, p.accent)];
        for (at, column) in row.columns.iter().enumerate() {
            let clean = text::clean_line(column).into_owned();
            let last = at + 1 == row.columns.len();
            let room = widths.get(at).copied().unwrap_or_default();
            let line = Line::styled(clean, if at == 0 { style } else { dimmed(style, under, p) });
            let line = if last { line } else { text::pad(line, room) };
            spans.extend(line.spans);
            if !last {
                spans.push(Span::raw("  "));
            }
        }
        text::fit(Line::from(spans), width)
    }

    /// How wide each column is: as wide as what it holds, the first no wider than half.
    fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = Vec::new();
        for &row in &self.shown {
            let row = &self.rows[row];
            if row.heading {
                continue;
            }
            // The last one of a row ends where it ends.
            let padded = row.columns.len().saturating_sub(1);
            for (at, column) in row.columns.iter().take(padded).enumerate() {
                let most = if at == 0 { (width / 2).max(8) } else { width };
                let wide = text::width(&text::clean_line(column)).min(most);
                match widths.get_mut(at) {
                    Some(have) => *have = (*have).max(wide),
                    None => widths.push(wide),
                }
            }
        }
        widths
    }

    fn step(&mut self, by: isize) -> Did {
        if self.shown.is_empty() {
            return Did::Nothing;
        }
        let before = self.at;
        let last = self.shown.len() as isize - 1;
        let to = (self.at as isize).saturating_add(by).clamp(0, last.max(0));
        self.at = to as usize;
        // Past headings, in the direction of the step; back when nothing is there.
        let way: isize = if by < 0 { -1 } else { 1 };
        for way in [way, -way] {
            let mut at = self.at as isize;
            while (0..=last).contains(&at) && self.rows[self.shown[at as usize]].heading {
                at += way;
            }
            if (0..=last).contains(&at) {
                self.at = at as usize;
                break;
            }
        }
        if self.at == before { Did::Nothing } else { Did::Redraw }
    }

    fn nth(&mut self, digit: char) -> Did {
        let nth = digit.to_digit(10).unwrap_or(1) as usize - 1;
        let plain = self.shown.iter().enumerate().filter(|(_, row)| !self.rows[**row].heading);
        match plain.map(|(at, _)| at).nth(nth) {
            Some(at) => {
                self.at = at;
                Did::Redraw
            }
            None => Did::Nothing,
        }
    }

    fn typed(&mut self, filter: String) -> Did {
        self.filter = filter;
        self.sift();
        Did::Redraw
    }

    /// Which rows fit the filter, the best first; in their own order without one.
    fn sift(&mut self) {
        (self.at, self.top) = (0, 0);
        if self.filter.is_empty() {
            self.shown = (0..self.rows.len()).collect();
            self.step(0);
            return;
        }
        let mut matcher = Matcher::new(Config::DEFAULT);
        let pattern = Pattern::parse(&self.filter, CaseMatching::Smart, Normalization::Smart);
        let mut buffer = Vec::new();
        let mut found: Vec<(u32, usize)> = Vec::new();
        for (at, row) in self.rows.iter().enumerate().filter(|(_, row)| !row.heading) {
            let words = row.columns.join(" ");
            if let Some(score) = pattern.score(Utf32Str::new(&words, &mut buffer), &mut matcher) {
                found.push((score, at));
            }
        }
        found.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
        self.shown = found.into_iter().map(|(_, at)| at).collect();
    }
}

fn dimmed(style: ratatui::style::Style, under: bool, p: &Palette) -> ratatui::style::Style {
    if under || style == p.warn { style } else { p.dim }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::palette::Theme;

    fn list() -> List {
        let row = |name: &str, heading: bool| Row {
            columns: vec![name.to_owned(), "x".into()],
            heading,
            ..Row::default()
        };
        List::new(vec![
            row("local", true),
            row("qwen-code", false),
            row("kimi-code", false),
            row("hosted", true),
            row("pi", false),
        ])
    }

    fn press(list: &mut List, code: KeyCode) -> Did {
        list.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn the_cursor_is_never_on_a_heading() {
        let mut list = list();
        assert_eq!(list.under(), Some(1));
        assert_eq!(press(&mut list, KeyCode::Up), Did::Nothing);
        assert_eq!(list.under(), Some(1));
        press(&mut list, KeyCode::Down);
        press(&mut list, KeyCode::Down);
        assert_eq!(list.under(), Some(4));
        press(&mut list, KeyCode::Up);
        assert_eq!(list.under(), Some(2));
        press(&mut list, KeyCode::End);
        assert_eq!(list.under(), Some(4));
        press(&mut list, KeyCode::Char('2'));
        assert_eq!(list.under(), Some(2));
    }

    #[test]
    fn typing_filters_and_esc_takes_back_first_the_filter() {
        let mut list = list();
        for c in "code".chars() {
            press(&mut list, KeyCode::Char(c));
        }
        assert_eq!(list.counts(), (2, 3));
        press(&mut list, KeyCode::Char('q'));
        assert_eq!(list.counts().0, 0);
        assert_eq!(press(&mut list, KeyCode::Enter), Did::Nothing);
        press(&mut list, KeyCode::Backspace);
        assert_eq!(press(&mut list, KeyCode::Enter), Did::Chose(list.under().unwrap()));
        assert_eq!(press(&mut list, KeyCode::Esc), Did::Redraw);
        assert_eq!(press(&mut list, KeyCode::Esc), Did::Left);
    }

    #[test]
    fn what_is_barred_is_read_and_not_chosen() {
        let barred =
            Row { columns: vec!["zcode".into()], barred: Some("needs messages".into()), ..Row::default() };
        let mut list = List::new(vec![barred]);
        assert_eq!(list.under(), Some(0));
        assert_eq!(press(&mut list, KeyCode::Enter), Did::Nothing);
    }

    #[test]
    fn the_cursor_stays_in_sight() {
        let rows = (0..50).map(|n| Row { columns: vec![format!("row {n}")], ..Row::default() }).collect();
        let mut list = List::new(rows);
        let p = Palette::new(Theme::Plain);
        for _ in 0..30 {
            press(&mut list, KeyCode::Down);
            let text: Vec<String> = list.rows(20, 5, &p).iter().map(ToString::to_string).collect();
            assert_eq!(text.len(), 5);
            assert_eq!(text.iter().filter(|row| row.starts_with('›')).count(), 1, "{text:?}");
        }
    }
}
