//! The picker of harnesses: fit, tools, tokens a turn, and what a switch does to this session.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use super::list::{self, List, Row};
use crate::model::Model;
use crate::tui::host::{Fit, HarnessRow, Speaks};
use crate::tui::palette::Palette;
use crate::tui::text;

/// What the picker is about.
pub struct HarnessPicker {
    model: Model,
    now: String,
    /// What is in this session that a switch has to carry over.
    history: History,
    rows: Vec<HarnessRow>,
    list: List,
    /// Two are held side by side: this one and the one under the cursor.
    compared: bool,
}

/// What a session holds, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    pub messages: usize,
    pub calls: usize,
    /// Tokens of the prompt that the server has in its cache, as it counted last.
    pub cached: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Did {
    Nothing,
    Redraw,
    Left,
    /// Go on with this one in this session.
    Switch(String),
    /// The same, and from now on whenever this model is used.
    Usual(String),
}

impl HarnessPicker {
    pub fn new(speaks: &Speaks, history: History, mut rows: Vec<HarnessRow>) -> Self {
        // What suits comes first; among equals the smaller.
        rows.sort_by_key(|row| (!row.auto, rank(&row.fit), row.tokens));
        let window = speaks.model.window;
        let list = List::new(rows.iter().map(|row| listed(row, window, row.id == speaks.harness)).collect());
        Self {
            model: speaks.model.clone(),
            now: speaks.harness.clone(),
            history,
            rows,
            list,
            compared: false,
        }
    }

    pub fn key(&mut self, key: KeyEvent) -> Did {
        if key.code == KeyCode::Char('p') && key.modifiers == KeyModifiers::CONTROL {
            self.compared = !self.compared;
            return Did::Redraw;
        }
        match self.list.key(key) {
            list::Did::Chose(row) => Did::Switch(self.rows[row].id.clone()),
            list::Did::Left => Did::Left,
            list::Did::Redraw => Did::Redraw,
            list::Did::Other(KeyEvent {
                code: KeyCode::Char('d'), modifiers: KeyModifiers::CONTROL, ..
            }) => match self.under().filter(|row| !matches!(row.fit, Fit::Cannot(_))) {
                Some(row) => Did::Usual(row.id.clone()),
                None => Did::Nothing,
            },
            list::Did::Nothing | list::Did::Other(_) => Did::Nothing,
        }
    }

    /// The picker on at most `height` rows.
    pub fn rows(&mut self, width: usize, height: usize, p: &Palette) -> Vec<Line<'static>> {
        let mut out = vec![self.head(width, p)];
        let foot = self.foot(width, height, p);
        let room = height.saturating_sub(out.len() + foot.len()).max(1);
        out.extend(self.list.rows(width, room.min(self.rows.len().max(1)), p));
        if self.list.counts().0 == 0 {
            out.push(text::fit(Line::styled("  no harness fits what you typed", p.dim), width));
        }
        out.extend(foot);
        out.truncate(height.max(1));
        out
    }

    fn under(&self) -> Option<&HarnessRow> {
        self.list.under().map(|row| &self.rows[row])
    }

    fn head(&self, width: usize, p: &Palette) -> Line<'static> {
        let (name, wire) = (text::clean_line(&self.model.name), self.model.wire.name());
        let provider = text::clean_line(&self.model.provider);
        let mut spans = vec![
            Span::styled("Harness", p.strong),
            Span::raw(format!(" for {name} @ {provider} ")),
            Span::styled(format!("({wire} wire)"), p.dim),
        ];
        if !self.list.filter().is_empty() {
            spans
                .push(Span::styled(format!("   filter: {}", text::clean_line(self.list.filter())), p.accent));
        }
        text::fit(Line::from(spans), width)
    }

    fn foot(&self, width: usize, height: usize, p: &Palette) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if let Some(row) = self.under() {
            let said = match &row.fit {
                Fit::Cannot(why) => why.clone(),
                Fit::Fits | Fit::Works | Fit::Weak => self.effect(row),
            };
            lines.push(Line::styled(said, p.text));
            if height >= 14 {
                let more = if self.compared { self.comparison(row) } else { row.about.clone() };
                lines.extend(more.into_iter().map(|line| Line::styled(line, p.dim)));
            }
        }
        let mut rows: Vec<Line<'static>> = lines
            .iter()
            .flat_map(|line| {
                let clean = Line::styled(text::clean_line(&line.to_string()).into_owned(), line.style);
                text::wrap(&clean, width, text::Hang::none())
            })
            .take(height.saturating_sub(4) / 2)
            .collect();
        let keys = "enter switch · ctrl+d always for this model · ctrl+p compare · esc";
        rows.push(text::fit(Line::styled(keys, p.dim), width));
        rows
    }

    /// What switching does to this session.
    fn effect(&self, row: &HarnessRow) -> String {
        if row.id == self.now {
            return format!("{} is in use", row.id);
        }
        let History { messages, calls, cached } = self.history;
        if messages == 0 {
            return format!("Now {} → {}: nothing was said yet", self.now, row.id);
        }
        let cache = match cached {
            0 => String::new(),
            cached => format!("; the cache is lost once, about {} tokens", tokens(cached)),
        };
        format!(
            "Now {} → {}: {messages} messages are told in its form, {calls} calls in the names of its tools or, where it has none for them, in words{cache}",
            self.now, row.id
        )
    }

    fn comparison(&self, row: &HarnessRow) -> Vec<String> {
        let Some(now) = self.rows.iter().find(|one| one.id == self.now) else { return Vec::new() };
        let mut lines = vec![format!(
            "{} {} tools, {} tokens a turn · {} {} tools, {} tokens",
            now.id,
            now.tools,
            tokens(now.tokens as u64),
            row.id,
            row.tools,
            tokens(row.tokens as u64)
        )];
        for one in [now, row] {
            lines.extend(one.about.first().map(|about| format!("{}: {about}", one.id)));
        }
        lines
    }
}

fn rank(fit: &Fit) -> u8 {
    match fit {
        Fit::Fits => 0,
        Fit::Works => 1,
        Fit::Weak => 2,
        Fit::Cannot(_) => 3,
    }
}

fn listed(row: &HarnessRow, window: Option<u64>, current: bool) -> Row {
    let (fit, barred) = match &row.fit {
        Fit::Fits => ("fits", None),
        Fit::Works => ("works", None),
        Fit::Weak => ("weak", None),
        Fit::Cannot(why) => ("–", Some(why.clone())),
    };
    let count = if row.tools == 1 { "1 tool".to_owned() } else { format!("{} tools", row.tools) };
    let mut remark = Vec::new();
    if current {
        remark.push("in use".to_owned());
    }
    if row.auto {
        remark.push("auto choice".to_owned());
    }
    if let (Fit::Weak, Some(window)) = (&row.fit, window) {
        let share = 100 * row.tokens as u64 / window.max(1);
        remark.push(format!("{share}% of a {} window", tokens(window)));
    }
    match &row.fit {
        Fit::Cannot(why) => remark = vec![why.clone()],
        Fit::Fits | Fit::Works | Fit::Weak if remark.is_empty() => remark.push(row.summary.clone()),
        Fit::Fits | Fit::Works | Fit::Weak => {}
    }
    let columns = vec![
        row.id.clone(),
        fit.into(),
        count,
        format!("{} tok", tokens(row.tokens as u64)),
        remark.join(" · "),
    ];
    Row { columns, barred, current, marked: row.fit == Fit::Weak, heading: false }
}

/// `940`, `9.1k`, `128k`.
pub fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..100_000 => format!("{:.1}k", count as f64 / 1e3),
        100_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}
