//! The picker of models: those of this machine's servers and of the providers that have a key.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use super::harness::tokens;
use super::list::{self, List, Row, Way};
use super::pane::{End, Parts, fact};
use crate::model::Prices;
use crate::tui::host::{Because, Lasts, ModelRow, Speaks};
use crate::tui::palette::Palette;
use crate::tui::text;

/// What the picker is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Another model, from now on.
    Switch,
    /// Another model for this session, as the one in use cannot be had now.
    Meanwhile,
    /// The first start: nobody chose one yet.
    First,
}

/// How hard a model can be asked to think, the least first.
const EFFORTS: [&str; 4] = ["none", "low", "medium", "high"];

pub struct ModelPicker {
    purpose: Purpose,
    /// The models, and None for each heading between them.
    rows: Vec<Option<ModelRow>>,
    list: List,
    now: (String, String),
    /// The harness that stays whatever model is chosen; None: the one that suits it.
    stays: Option<String>,
    /// None: as the model does by itself.
    effort: Option<String>,
    /// The effort of the session, which is left as it is unless another is chosen.
    given: Option<String>,
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
        effort: Option<String>,
        lasts: Lasts,
    },
    /// Choose the harness that is to speak for this one.
    Harness {
        provider: String,
        name: String,
        effort: Option<String>,
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
        // At the first start a row of its own leads to providers without a key.
        let listable = |model: &ModelRow| purpose != Purpose::First || is_model(model);
        for mut model in models.into_iter().filter(listable) {
            let current = (&model.provider, &model.name) == (&now.0, &now.1);
            if current {
                // What was learnt of it since.
                model.window = speaks.model.window.or(model.window);
            }
            // A provider without a key has one row, which stands back.
            let title = match model.name.is_empty() {
                true => String::new(),
                false => format!("{} · {}", model.provider, model.key),
            };
            if title != group && !title.is_empty() {
                listed.push(Row { columns: vec![title.clone()], heading: true, ..Row::default() });
                rows.push(None);
            }
            group = title;
            listed.push(row(&model, current));
            rows.push(Some(model));
        }
        if purpose == Purpose::First {
            listed.extend(WAYS.map(|(name, _)| Row { columns: vec![name.to_owned()], ..Row::default() }));
        }
        let stays = (speaks.because == Because::Named).then(|| speaks.harness.clone());
        let effort = speaks.model.effort.clone();
        let list = List::new(listed);
        Self { purpose, rows, list, now, stays, given: effort.clone(), effort, tried: None, cached }
    }

    pub fn key(&mut self, key: KeyEvent) -> Did {
        let other = match self.list.key(key) {
            list::Did::Chose(row) if self.purpose == Purpose::Meanwhile => {
                return self.chosen(row, Lasts::Session);
            }
            list::Did::Chose(row) => return self.chosen(row, Lasts::Run),
            list::Did::Left => return Did::Left,
            list::Did::Redraw => return Did::Redraw,
            list::Did::Nothing => return Did::Nothing,
            list::Did::Other(key) => key,
        };
        let Some(row) = self.list.under() else { return Did::Nothing };
        let Some(Some(model)) = self.rows.get(row).filter(|row| row.as_ref().is_some_and(is_model)) else {
            return Did::Nothing;
        };
        let (provider, name) = (model.provider.clone(), model.name.clone());
        match (other.code, other.modifiers) {
            (KeyCode::Char('s'), KeyModifiers::CONTROL) if self.purpose == Purpose::Switch => {
                self.chosen(row, Lasts::Session)
            }
            (KeyCode::Char('h'), KeyModifiers::ALT) => {
                Did::Harness { provider, name, effort: self.effort.clone() }
            }
            (KeyCode::Char('t'), KeyModifiers::CONTROL) => {
                self.tried = Some((row, Tried::Running));
                Did::Try { row, provider, name }
            }
            (KeyCode::Left, _) => self.think(Way::Back),
            (KeyCode::Right, _) => self.think(Way::On),
            _ => Did::Nothing,
        }
    }

    fn chosen(&self, row: usize, lasts: Lasts) -> Did {
        match self.rows.get(row) {
            Some(Some(model)) if !is_model(model) => Did::Key(model.provider.clone()),
            Some(Some(model)) => Did::Switch {
                provider: model.provider.clone(),
                name: model.name.clone(),
                effort: self.effort.clone(),
                lasts,
            },
            Some(None) => Did::Nothing,
            None => WAYS.get(row - self.rows.len()).map_or(Did::Nothing, |(_, did)| did.clone()),
        }
    }

    /// More or less effort. What was set can be changed and not unset: the settings would set it again.
    fn think(&mut self, way: Way) -> Did {
        let at = self.effort.as_ref().and_then(|now| EFFORTS.iter().position(|one| one == now));
        let next = match (at, way) {
            (None, Way::Back) => None,
            (None, Way::On) => Some(0),
            (Some(0), Way::Back) if self.given.is_none() => None,
            (Some(at), Way::Back) => Some(at.saturating_sub(1)),
            (Some(at), Way::On) => Some((at + 1).min(EFFORTS.len() - 1)),
        };
        // A word that is none of these stays until it is left for one of them.
        if at.is_none() && self.effort.is_some() && way == Way::Back {
            self.effort = Some(EFFORTS[EFFORTS.len() - 1].to_owned());
            return Did::Redraw;
        }
        let next = next.map(|at| EFFORTS[at].to_owned());
        if next == self.effort {
            return Did::Nothing;
        }
        self.effort = next;
        Did::Redraw
    }

    /// A test call came to its end.
    pub fn tried(&mut self, row: usize, outcome: Result<String, String>) {
        self.tried = Some((row, Tried::Over(outcome)));
    }

    pub fn rows(&mut self, width: usize, height: usize, p: &Palette) -> Vec<Line<'static>> {
        let (shown, all) = self.list.counts();
        let filter = text::clean_line(self.list.filter()).into_owned();
        let models = self.rows.iter().flatten().filter(|row| is_model(row)).count();
        let right = match (filter.is_empty(), models) {
            (true, 0) if self.purpose == Purpose::First => String::new(),
            (true, 0) => format!("{all} providers"),
            (true, 1) => "1 model".to_owned(),
            (true, _) => format!("{models} models"),
            (false, _) => format!("filter: {filter}   {shown} of {all}"),
        };
        let title = match (self.purpose, models) {
            (Purpose::Switch | Purpose::Meanwhile, _) => "Model",
            (Purpose::First, 0) => "No model is set up yet: no server answers here, no key is set",
            (Purpose::First, _) => "No model is set up yet. Found on this machine:",
        };
        let head =
            Line::from(vec![Span::styled(title, p.strong), Span::styled(format!("   {right}"), p.dim)]);
        let under = self.list.under().and_then(|row| self.rows.get(row)?.as_ref());
        // At the first start there is more to choose than to read.
        let asked = under.filter(|_| self.purpose != Purpose::First);
        let detail = asked.map(|model| details(model, p)).unwrap_or_default();
        let (said, keys) = (self.said(p), self.keys());
        let none = match all {
            0 => "no model is set up: /provider says how",
            _ => "no model fits what you typed",
        };
        Parts { head, list: &mut self.list, none, detail, end: End::Head, said, keys }.rows(width, height, p)
    }

    /// What a choice comes to.
    fn said(&self, p: &Palette) -> Vec<Line<'static>> {
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
        let model = under.and_then(|row| self.rows.get(row)?.as_ref()).filter(|model| is_model(model));
        if let (Some(model), Purpose::Switch | Purpose::Meanwhile) = (model, self.purpose) {
            let harness = match (&self.stays, &model.harness) {
                (Some(id), _) => id.clone(),
                (None, Some((id, because))) => format!("{id}{}", because.mark()),
                (None, None) => "?".to_owned(),
            };
            let effort = self.effort.as_deref().unwrap_or("–");
            let mut said = format!("harness: {harness}   effort: {effort}");
            if (&model.provider, &model.name) != (&self.now.0, &self.now.1) && self.cached > 0 {
                said.push_str(&format!("   switching drops the cache ({} tok)", tokens(self.cached)));
            }
            lines.push(Line::styled(text::clean_line(&said).into_owned(), p.dim));
            if let Some(window) = model.window.filter(|window| *window < self.cached) {
                let (used, window) = (tokens(self.cached), tokens(window));
                let said = format!("this session has {used} tokens, the window {window}: /compact first");
                lines.push(Line::styled(said, p.warn));
            }
        }
        lines
    }

    fn keys(&self) -> String {
        let under = self.list.under().and_then(|row| self.rows.get(row)?.as_ref());
        let esc = match self.purpose {
            Purpose::Switch | Purpose::Meanwhile => "esc",
            Purpose::First => "esc look around without a model",
        };
        let keys = match (under, self.purpose) {
            (Some(model), _) if !is_model(model) => "enter add its key",
            (None, Purpose::First) => "enter choose",
            (Some(_), Purpose::First) => "enter use · ctrl+t test call",
            (_, Purpose::Meanwhile) => {
                "enter use in this session · ←→ effort · alt+h harness · ctrl+t test call"
            }
            (_, Purpose::Switch) => {
                "enter use, also next time · ctrl+s this session only · ←→ effort · alt+h harness · ctrl+t test call"
            }
        };
        format!("{keys} · {esc}")
    }
}

/// Not a provider whose key is missing.
fn is_model(row: &ModelRow) -> bool {
    !row.name.is_empty()
}

/// The facts; what is not known is `?`.
fn details(model: &ModelRow, p: &Palette) -> Vec<Line<'static>> {
    let known = |what: Option<String>| what.unwrap_or_else(|| "?".to_owned());
    let yes = |fact: Option<bool>| match fact {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => "?".to_owned(),
    };
    let key = if model.key_from.is_empty() { &model.key } else { &model.key_from };
    if !is_model(model) {
        return vec![fact("key", key, p)];
    }
    let mut facts = vec![
        ("model", format!("{}/{}", model.provider, model.name)),
        ("window", known(model.window.map(|window| format!("{} tokens", tokens(window))))),
        ("answers", known(model.max_output.map(|most| format!("up to {} tokens", tokens(most))))),
        ("tools", if model.tools.is_none() { "? ctrl+t asks it".to_owned() } else { yes(model.tools) }),
        ("images", yes(model.vision)),
    ];
    facts.extend(match &model.prices {
        _ if is_free(model) => vec![("price", "free".to_owned())],
        Some(prices) => vec![
            ("price", format!("${:.2} in, ${:.2} out per million tokens", prices.input, prices.output)),
            ("cached", known(prices.cached_input.map(|price| format!("${price:.2} in")))),
            ("as of", model.priced.clone()),
        ],
        None => vec![("price", "?".to_owned())],
    });
    facts.push(("key", key.clone()));
    if let Some((id, because)) = &model.harness {
        facts.push(("harness", format!("{id} · {}", because.words())));
    }
    facts.iter().map(|(label, what)| fact(label, what, p)).collect()
}

fn is_free(model: &ModelRow) -> bool {
    match &model.prices {
        Some(Prices { input, output, .. }) => *input == 0.0 && *output == 0.0,
        None => model.local,
    }
}

fn row(model: &ModelRow, current: bool) -> Row {
    if !is_model(model) {
        let name = format!("{} · no key (enter to add)", model.provider);
        return Row { columns: vec![name], faint: true, ..Row::default() };
    }
    let window = model.window.map_or_else(|| "? ctx".to_owned(), |window| format!("{} ctx", tokens(window)));
    let tools = match model.tools {
        Some(true) => "tools ✓",
        Some(false) => "tools ✗",
        None => "tools ?",
    };
    let image = if model.vision == Some(true) { " img" } else { "" };
    let price = match &model.prices {
        _ if is_free(model) => "free".to_owned(),
        Some(prices) => format!("${:.2} / ${:.2}", prices.input, prices.output),
        None => "$ ?".to_owned(),
    };
    let cached = model.prices.as_ref().and_then(|prices| prices.cached_input).filter(|_| !is_free(model));
    let mut remarks = Vec::new();
    remarks.extend(current.then(|| "in use".to_owned()));
    remarks.extend(Some(model.remark.clone()).filter(|remark| !remark.is_empty()));
    remarks.extend(cached.map(|price| format!("cache ${price:.2}")));
    let columns = vec![model.name.clone(), window, format!("{tools}{image}"), price, remarks.join(" · ")];
    Row { columns, current, ..Row::default() }
}
