//! The picker of models: those of this machine's servers and of the providers that have a key.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use super::harness::tokens;
use super::list::{self, List, Row};
use crate::tui::host::{ModelRow, Speaks};
use crate::tui::palette::Palette;
use crate::tui::text;

/// What the picker is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Another model for this session.
    Switch,
    /// The first start: nobody chose one yet.
    First,
}

pub struct ModelPicker {
    purpose: Purpose,
    /// The models, and None for each heading between them.
    rows: Vec<Option<ModelRow>>,
    list: List,
    now: (String, String),
    /// What a test call showed, and of which row.
    tried: Option<(usize, Tried)>,
    /// Tokens that the server has in its cache for this session.
    cached: u64,
}

enum Tried {
    Running,
    Over(Result<String, String>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Did {
    Nothing,
    Redraw,
    Left,
    Switch {
        provider: String,
        name: String,
    },
    /// Ask for the key of this provider.
    Key(String),
    /// List the providers.
    Providers,
    /// Ask for another address.
    Address,
    /// Make a test call with the row of this number; [`ModelPicker::tried`] tells its end.
    Try {
        row: usize,
        provider: String,
        name: String,
    },
}

/// What there is besides models at the first start, below them.
const WAYS: [(&str, Did); 3] = [
    ("Add a provider and key", Did::Providers),
    ("Other OpenAI- or Anthropic-compatible address", Did::Address),
    ("Look around without a model", Did::Left),
];

impl ModelPicker {
    pub fn new(purpose: Purpose, speaks: &Speaks, cached: u64, models: Vec<ModelRow>) -> Self {
        let now = (speaks.model.provider.clone(), speaks.model.name.clone());
        let mut rows: Vec<Option<ModelRow>> = Vec::new();
        let mut listed = Vec::new();
        let mut group = String::new();
        // At the first start a row of its own leads to those.
        let listable = |model: &ModelRow| purpose == Purpose::Switch || !model.name.is_empty();
        for model in models.into_iter().filter(listable) {
            // Providers without a key stand in one group, each a row of its own.
            let title = match (model.name.is_empty(), model.local) {
                (true, _) => "without a key".to_owned(),
                (false, true) => format!("{} · on this machine", model.provider),
                (false, false) => model.provider.clone(),
            };
            if title != group {
                listed.push(Row { columns: vec![title.clone()], heading: true, ..Row::default() });
                rows.push(None);
                group = title;
            }
            let current = (&model.provider, &model.name) == (&now.0, &now.1);
            listed.push(row(&model, current));
            rows.push(Some(model));
        }
        if purpose == Purpose::First {
            listed.extend(WAYS.map(|(name, _)| Row { columns: vec![name.to_owned()], ..Row::default() }));
        }
        Self { purpose, rows, list: List::new(listed), now, tried: None, cached }
    }

    pub fn key(&mut self, key: KeyEvent) -> Did {
        match self.list.key(key) {
            list::Did::Chose(row) => match self.rows.get(row) {
                Some(Some(model)) if model.name.is_empty() => Did::Key(model.provider.clone()),
                Some(Some(model)) => {
                    Did::Switch { provider: model.provider.clone(), name: model.name.clone() }
                }
                Some(None) => Did::Nothing,
                None => WAYS.get(row - self.rows.len()).map_or(Did::Nothing, |(_, did)| did.clone()),
            },
            list::Did::Left => Did::Left,
            list::Did::Redraw => Did::Redraw,
            list::Did::Other(KeyEvent {
                code: KeyCode::Char('t'), modifiers: KeyModifiers::CONTROL, ..
            }) => {
                let Some(row) = self.list.under() else { return Did::Nothing };
                let Some(Some(model)) = self.rows.get(row) else { return Did::Nothing };
                if model.name.is_empty() {
                    return Did::Nothing;
                }
                self.tried = Some((row, Tried::Running));
                Did::Try { row, provider: model.provider.clone(), name: model.name.clone() }
            }
            list::Did::Nothing | list::Did::Other(_) => Did::Nothing,
        }
    }

    /// A test call came to its end.
    pub fn tried(&mut self, row: usize, outcome: Result<String, String>) {
        self.tried = Some((row, Tried::Over(outcome)));
    }

    pub fn rows(&mut self, width: usize, height: usize, p: &Palette) -> Vec<Line<'static>> {
        let (shown, all) = self.list.counts();
        let filter = text::clean_line(self.list.filter()).into_owned();
        let models = self.rows.iter().flatten().filter(|row| !row.name.is_empty()).count();
        let right = match (filter.is_empty(), models) {
            (true, 0) if self.purpose == Purpose::First => String::new(),
            (true, 0) => format!("{all} providers"),
            (true, 1) => "1 model".to_owned(),
            (true, _) => format!("{models} models"),
            (false, _) => format!("filter: {filter}   {shown} of {all}"),
        };
        let title = match (self.purpose, models) {
            (Purpose::Switch, _) => "Model",
            (Purpose::First, 0) => "No model is set up yet: no server answers here, no key is set",
            (Purpose::First, _) => "No model is set up yet. Found on this machine:",
        };
        let head =
            Line::from(vec![Span::styled(title, p.strong), Span::styled(format!("   {right}"), p.dim)]);
        let mut out = vec![text::fit(head, width)];
        let foot = self.foot(width, p);
        let room = height.saturating_sub(out.len() + foot.len()).max(1);
        out.extend(self.list.rows(width, room, p));
        if shown == 0 {
            let none = match all {
                0 => "  no model is set up: /provider says how",
                _ => "  no model fits what you typed",
            };
            out.push(text::fit(Line::styled(none, p.dim), width));
        }
        out.extend(foot);
        out.truncate(height.max(1));
        out
    }

    fn foot(&self, width: usize, p: &Palette) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        let under = self.list.under();
        match &self.tried {
            Some((row, tried)) if Some(*row) == under => lines.push(match tried {
                Tried::Running => Line::styled("asking it to make one call …", p.dim),
                Tried::Over(Ok(said)) => Line::styled(format!("✓ {}", text::clean_line(said)), p.good),
                Tried::Over(Err(said)) => Line::styled(format!("✗ {}", text::clean_line(said)), p.bad),
            }),
            _ => {}
        }
        if let Some(Some(model)) = under.and_then(|row| self.rows.get(row))
            && (model.provider != self.now.0 || model.name != self.now.1)
            && self.cached > 0
        {
            let lost = format!("a switch loses the cache once, about {} tokens", tokens(self.cached));
            lines.push(Line::styled(lost, p.dim));
        }
        let esc = match self.purpose {
            Purpose::Switch => "esc",
            Purpose::First => "esc look around without a model",
        };
        let keys = match under.map_or(Some(&None), |row| self.rows.get(row)) {
            Some(Some(model)) if model.name.is_empty() => "enter add its key",
            None => "enter choose",
            _ => "enter use · ctrl+t test call",
        };
        lines.push(Line::styled(format!("{keys} · {esc}"), p.dim));
        lines.into_iter().map(|line| text::fit(line, width)).collect()
    }
}

fn row(model: &ModelRow, current: bool) -> Row {
    if model.name.is_empty() {
        return Row {
            columns: vec![model.provider.clone(), "enter to add its key".to_owned()],
            ..Row::default()
        };
    }
    let window = model.window.map_or_else(|| "? ctx".to_owned(), |window| format!("{} ctx", tokens(window)));
    let tools = match model.tools {
        Some(true) => "tools ✓",
        Some(false) => "tools ✗",
        None => "tools ?",
    };
    let image = if model.vision == Some(true) { " img" } else { "" };
    let price = match &model.prices {
        Some(prices) if prices.input > 0.0 || prices.output > 0.0 => {
            format!("${:.2} / ${:.2}", prices.input, prices.output)
        }
        Some(_) => "free".to_owned(),
        None if model.local => "free".to_owned(),
        None => "$ ?".to_owned(),
    };
    let remark = if current { format!("in use {}", model.remark) } else { model.remark.clone() };
    let columns =
        vec![model.name.clone(), window, format!("{tools}{image}"), price, remark.trim().to_owned()];
    Row { columns, current, ..Row::default() }
}
