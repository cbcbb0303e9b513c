//! The list of providers: the person's own, those of this machine, those with a key and those without one.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use super::list::{self, List, Row};
use crate::tui::host::{Origin, ProviderRow};
use crate::tui::palette::Palette;
use crate::tui::text;

pub struct ProviderPicker {
    entries: Vec<Entry>,
    list: List,
    /// What asking a server showed, and which.
    tried: Option<(String, Option<Result<String, String>>)>,
    /// What is to be taken away once it was said yes to.
    question: Option<Question>,
}

enum Entry {
    Heading,
    One(ProviderRow),
    Add,
}

/// What is asked before it is done.
enum Question {
    Remove(String),
    Forget(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Did {
    Nothing,
    Redraw,
    Left,
    /// Ask its server; [`ProviderPicker::tried`] tells what came of it.
    Test(String),
    Add,
    /// Ask for its key.
    Key(String),
    /// Take the person's settings of it away.
    Remove(String),
    /// Take its stored key away.
    Forget(String),
}

impl ProviderPicker {
    pub fn new(mut rows: Vec<ProviderRow>) -> Self {
        rows.sort_by_key(group);
        let (mut entries, mut listed, mut last) = (Vec::new(), Vec::new(), "");
        for row in rows {
            let (_, title) = group(&row);
            if title != last {
                listed.push(Row { columns: vec![title.to_owned()], heading: true, ..Row::default() });
                entries.push(Entry::Heading);
                last = title;
            }
            listed.push(shown(&row));
            entries.push(Entry::One(row));
        }
        listed.push(Row { columns: vec!["Add another address …".to_owned()], ..Row::default() });
        entries.push(Entry::Add);
        Self { entries, list: List::new(listed), tried: None, question: None }
    }

    pub fn key(&mut self, key: KeyEvent) -> Did {
        if let Some(question) = self.question.take() {
            return match (key.code, question) {
                (KeyCode::Char('y'), Question::Remove(id)) => Did::Remove(id),
                (KeyCode::Char('y'), Question::Forget(id)) => Did::Forget(id),
                _ => Did::Redraw,
            };
        }
        match self.list.key(key) {
            list::Did::Chose(row) => match self.entries.get(row) {
                // Without a key there is not much to ask for.
                Some(Entry::One(row)) if !row.ready => Did::Key(row.id.clone()),
                Some(Entry::One(row)) => {
                    let id = row.id.clone();
                    self.test(id)
                }
                Some(Entry::Add) => Did::Add,
                Some(Entry::Heading) | None => Did::Nothing,
            },
            list::Did::Left => Did::Left,
            list::Did::Redraw => Did::Redraw,
            list::Did::Other(KeyEvent {
                code: KeyCode::Char(c), modifiers: KeyModifiers::CONTROL, ..
            }) => self.control(c),
            list::Did::Nothing | list::Did::Other(_) => Did::Nothing,
        }
    }

    fn control(&mut self, c: char) -> Did {
        let under = self.under().map(|row| (row.id.clone(), row.origin, row.key.starts_with("stored")));
        match (c, under) {
            ('a', _) => Did::Add,
            ('t', Some((id, ..))) => self.test(id),
            ('k', Some((id, ..))) => Did::Key(id),
            ('d', Some((id, Origin::Own | Origin::Changed, _))) => {
                self.question = Some(Question::Remove(id));
                Did::Redraw
            }
            ('d', Some((id, Origin::BuiltIn, true))) => {
                self.question = Some(Question::Forget(id));
                Did::Redraw
            }
            _ => Did::Nothing,
        }
    }

    fn test(&mut self, id: String) -> Did {
        self.tried = Some((id.clone(), None));
        Did::Test(id)
    }

    /// What asking the server of this one showed.
    pub fn tried(&mut self, id: &str, came: Result<String, String>) {
        self.tried = Some((id.to_owned(), Some(came)));
    }

    fn under(&self) -> Option<&ProviderRow> {
        match self.entries.get(self.list.under()?)? {
            Entry::One(row) => Some(row),
            Entry::Heading | Entry::Add => None,
        }
    }

    pub fn rows(&mut self, width: usize, height: usize, p: &Palette) -> Vec<Line<'static>> {
        let (found, all) = self.list.counts();
        let filter = text::clean_line(self.list.filter()).into_owned();
        let right = match filter.is_empty() {
            true => format!("{} known", all.saturating_sub(1)),
            false => format!("filter: {filter}   {found} of {all}"),
        };
        let head = vec![Span::styled("Providers", p.strong), Span::styled(format!("   {right}"), p.dim)];
        let mut out = vec![text::fit(Line::from(head), width)];
        let foot = self.foot(width, height, p);
        out.extend(self.list.rows(width, height.saturating_sub(1 + foot.len()).max(1), p));
        if found == 0 {
            out.push(text::fit(
                Line::styled("  no provider fits what you typed; esc clears it", p.dim),
                width,
            ));
        }
        out.extend(foot);
        out.truncate(height.max(1));
        out
    }

    fn foot(&self, width: usize, height: usize, p: &Palette) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        let under = self.under();
        if let Some(row) = under {
            lines.push(Line::styled(
                format!("{} · {} · {}", row.name, row.address, row.origin.words()),
                p.dim,
            ));
        }
        match (&self.tried, under) {
            (Some((id, came)), Some(row)) if *id == row.id => lines.push(match came {
                None => Line::styled("asking it what it has …", p.dim),
                Some(Ok(said)) => Line::styled(format!("✓ {said}"), p.good),
                Some(Err(said)) => Line::styled(format!("✗ {said}"), p.bad),
            }),
            _ => {}
        }
        let clean =
            |line: &Line<'_>| Line::styled(text::clean_line(&line.to_string()).into_owned(), line.style);
        let mut rows: Vec<Line<'static>> = lines
            .iter()
            .flat_map(|line| text::wrap(&clean(line), width, text::Hang::none()))
            .take(height.saturating_sub(4) / 2)
            .collect();
        rows.push(text::fit(Line::styled(self.keys(), p.dim), width));
        rows
    }

    fn keys(&self) -> String {
        match &self.question {
            Some(Question::Remove(id)) => {
                return format!("y takes {id} and its key away · any other key no");
            }
            Some(Question::Forget(id)) => {
                return format!("y takes the stored key of {id} away · any other key no");
            }
            None => {}
        }
        let rest = "ctrl+a add · esc";
        match self.under() {
            Some(row) if !row.ready => format!("enter its key · ctrl+t test · {rest}"),
            Some(row) if row.origin == Origin::BuiltIn && !row.key.starts_with("stored") => {
                format!("enter test · ctrl+k key · {rest}")
            }
            Some(_) => format!("enter test · ctrl+k key · ctrl+d remove · {rest}"),
            None => format!("enter add · {rest}"),
        }
    }
}

/// Where a provider stands, and under what heading.
fn group(row: &ProviderRow) -> (u8, &'static str) {
    match (row.origin, row.answers, row.ready) {
        (Origin::Own | Origin::Changed, ..) => (0, "yours"),
        (Origin::BuiltIn, Some(_), _) => (1, "on this machine"),
        (Origin::BuiltIn, None, true) => (2, "with a key"),
        (Origin::BuiltIn, None, false) => (3, "without a key"),
    }
}

fn shown(row: &ProviderRow) -> Row {
    let state = match row.answers {
        Some(true) => "answers".to_owned(),
        Some(false) => "does not answer".to_owned(),
        None => row.key.clone(),
    };
    Row { columns: vec![row.id.clone(), row.wires.clone(), state], ..Row::default() }
}
