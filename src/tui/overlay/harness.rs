//! The picker of harnesses: fit, tools, tokens a turn, and what a switch does to this session.

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use super::compare::{self, Compare};
use super::list::{self, List, Row, Way};
use super::pane::{End, Parts, fact};
use crate::harness::{Carried, family};
use crate::model::Model;
use crate::tui::host::{Because, Fit, HarnessRow, Lasts, Sheet, Speaks};
use crate::tui::palette::Palette;
use crate::tui::text;

/// What the picker is about.
pub struct HarnessPicker {
    model: Model,
    /// Another model than the one that is spoken to now.
    moves: bool,
    now: String,
    /// What is in this session that a switch has to carry over.
    history: History,
    /// What becomes of it under each; None: that is being counted.
    carried: Option<BTreeMap<String, Carried>>,
    rows: Vec<HarnessRow>,
    list: List,
    /// Two are held side by side: this one and the one under the cursor.
    compared: Option<Compare>,
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
    /// Go on with this one.
    Switch(String, Lasts),
    /// The same, and from now on whenever a model of this family is used.
    Usual(String),
}

impl HarnessPicker {
    /// For `model`, which may be another than the one that is spoken to.
    pub fn new(speaks: &Speaks, model: Model, history: History, mut rows: Vec<HarnessRow>) -> Self {
        // What suits comes first; among equals the smaller.
        rows.sort_by_key(|row| (row.auto.is_none(), rank(&row.fit), row.tokens));
        let now = speaks.harness.clone();
        // What the figure counts is said once.
        let unit = |at: usize| if at == 0 { " tok/turn" } else { "" };
        let line = |(at, row): (usize, &HarnessRow)| listed(row, (model.window, unit(at)), row.id == now);
        let list = List::new(rows.iter().enumerate().map(line).collect());
        let moves = (&model.provider, &model.name) != (&speaks.model.provider, &speaks.model.name);
        // A session in which nothing was said needs no counting.
        let carried = (history.messages == 0).then(BTreeMap::new);
        Self { model, moves, now, history, carried, rows, list, compared: None }
    }

    /// Whom it is about.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What becomes of the history is known.
    pub fn carried(&mut self, carried: Vec<(String, Carried)>) {
        self.carried = Some(carried.into_iter().collect());
    }

    /// It wants all of the screen.
    pub fn fills(&self) -> bool {
        self.compared.is_some()
    }

    pub fn key(&mut self, key: KeyEvent) -> Did {
        if self.compared.is_some() && key.code != KeyCode::Enter {
            return self.compare_key(key);
        }
        let control = |c: char| key.code == KeyCode::Char(c) && key.modifiers == KeyModifiers::CONTROL;
        if control('p') {
            self.compared = Some(Compare::default());
            if self.under().is_some_and(|row| row.id == self.now) {
                self.list.turn(Way::On);
            }
            return Did::Redraw;
        }
        let usable = self.under().filter(|row| !matches!(row.fit, Fit::Cannot(_))).map(|row| row.id.clone());
        match (usable, self.list.key(key)) {
            (_, list::Did::Chose(row)) => Did::Switch(self.rows[row].id.clone(), Lasts::Run),
            (_, list::Did::Left) => Did::Left,
            (_, list::Did::Redraw) => Did::Redraw,
            (Some(id), list::Did::Other(_)) if control('s') => Did::Switch(id, Lasts::Session),
            (Some(id), list::Did::Other(_)) if control('d') => Did::Usual(id),
            (_, list::Did::Nothing | list::Did::Other(_)) => Did::Nothing,
        }
    }

    fn compare_key(&mut self, key: KeyEvent) -> Did {
        let Some(compare) = &mut self.compared else { return Did::Nothing };
        match compare.key(key) {
            compare::Did::Nothing => return Did::Nothing,
            compare::Did::Redraw => {}
            compare::Did::Back => self.compared = None,
            compare::Did::Next => drop(self.list.turn(Way::On)),
            compare::Did::Previous => drop(self.list.turn(Way::Back)),
        }
        Did::Redraw
    }

    /// The picker on at most `height` rows.
    pub fn rows(&mut self, width: usize, height: usize, p: &Palette) -> Vec<Line<'static>> {
        let under = self.list.under();
        if let Some(compare) = &mut self.compared
            && let Some(other) = under.map(|row| &self.rows[row])
            && let Some(now) = self.rows.iter().find(|row| row.id == self.now)
        {
            let enter = if matches!(other.fit, Fit::Cannot(_)) { "" } else { "enter switch now · " };
            let keys = format!("{enter}←→ another · ↑↓ scroll · esc back");
            return compare.rows((now, other), &keys, (width, height), p);
        }
        let mut said = Vec::new();
        let mut detail = Vec::new();
        if let Some(row) = self.under() {
            said.push(Line::styled(text::clean_line(&self.effect(row)).into_owned(), p.text));
            detail = details(row, p);
        }
        let family = family(&self.model.name);
        let choose = match self.under() {
            Some(HarnessRow { fit: Fit::Cannot(_), .. }) | None => String::new(),
            Some(_) => {
                format!("enter switch now · ctrl+s this session only · ctrl+d default for {family} · ")
            }
        };
        let keys = format!("{}ctrl+p compare · esc", text::clean_line(&choose));
        let parts = Parts {
            head: self.head(p),
            list: &mut self.list,
            none: "no harness fits what you typed",
            detail,
            end: End::Head,
            said,
            keys,
        };
        parts.rows(width, height, p)
    }

    fn under(&self) -> Option<&HarnessRow> {
        self.list.under().map(|row| &self.rows[row])
    }

    fn head(&self, p: &Palette) -> Line<'static> {
        let (name, wire) = (text::clean_line(&self.model.name), self.model.wire.name());
        let provider = text::clean_line(&self.model.provider);
        let mut spans = vec![
            Span::styled("Harness", p.strong),
            Span::raw(format!(" for {name} @ {provider} ")),
            Span::styled(format!("({wire} wire)"), p.dim),
        ];
        if !self.list.filter().is_empty() {
            let filter = text::clean_line(self.list.filter()).into_owned();
            spans.push(Span::styled(format!("   filter: {filter}"), p.accent));
        }
        Line::from(spans)
    }

    /// What switching does to this session.
    fn effect(&self, row: &HarnessRow) -> String {
        match &row.fit {
            Fit::Cannot(why) => return why.clone(),
            Fit::Fits | Fit::Works | Fit::Weak => {}
        }
        if row.id == self.now && !self.moves {
            return format!("{} is in use", row.id);
        }
        let carried = self.carried.as_ref().map(|all| all.get(&row.id));
        effect((&self.now, &row.id), &self.history, carried)
    }
}

/// What going on from one harness to another does to a session. `carried`: what becomes of its history; None
/// while that is being counted, Some(None) where nobody can tell.
pub fn effect((now, next): (&str, &str), history: &History, carried: Option<Option<&Carried>>) -> String {
    let way = if now == next { format!("{now} stays") } else { format!("Now {now} → {next}") };
    if history.messages == 0 {
        return format!("{way}: nothing was said yet");
    }
    let count = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let all = |messages, calls| format!("({}, {})", count(messages, "message"), count(calls, "tool call"));
    let cache = match history.cached {
        0 => String::new(),
        cached => format!("; cache is lost once, about {} tokens", tokens(cached)),
    };
    match carried {
        None => format!("{way}: counting what becomes of {} …", all(history.messages, history.calls)),
        Some(None) => {
            format!("{way}: history is converted {}{cache}", all(history.messages, history.calls))
        }
        Some(Some(carried)) => {
            let changed = carried.respoken + carried.told > 0;
            let open = if carried.open == 0 { "none".to_owned() } else { carried.open.to_string() };
            format!(
                "{way}: history is {} {}: {} word for word, {} re-spoken, {} told{cache}; open tool calls: {open}",
                if changed { "converted" } else { "kept" },
                all(carried.messages, carried.calls),
                count(carried.kept, "turn"),
                carried.respoken,
                carried.told,
            )
        }
    }
}

fn details(row: &HarnessRow, p: &Palette) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if !row.summary.is_empty() {
        lines.push(Line::styled(text::clean_line(&row.summary).into_owned(), p.dim));
    }
    let Sheet { prompt, tools, edits, parallel, thinking, wires, output, source, files } = &row.sheet;
    // One that cannot be read has nothing to tell.
    if source.is_empty() {
        return lines;
    }
    let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(" ") };
    let facts = [
        ("prompt", format!("{} tokens without tools", tokens(*prompt as u64))),
        ("tools", tools),
        ("edits", edits.clone()),
        ("parallel", if *parallel { "yes" } else { "no" }.to_owned()),
        ("thinking", thinking.clone()),
        ("shape of", source.clone()),
        ("wires", wires.clone()),
        ("output", output.clone()),
        ("files", files.clone().unwrap_or_default()),
    ];
    lines.extend(facts.iter().filter(|(_, what)| !what.is_empty()).map(|(label, what)| fact(label, what, p)));
    lines
}

fn rank(fit: &Fit) -> u8 {
    match fit {
        Fit::Fits => 0,
        Fit::Works => 1,
        Fit::Weak => 2,
        Fit::Cannot(_) => 3,
    }
}

pub(super) fn fit_word(fit: &Fit) -> &'static str {
    match fit {
        Fit::Fits => "fits",
        Fit::Works => "works",
        Fit::Weak => "weak",
        Fit::Cannot(_) => "–",
    }
}

/// What is to be said of a row beside its figures.
fn remarks(row: &HarnessRow, window: Option<u64>, current: bool) -> Vec<String> {
    let mut remarks = Vec::new();
    if current {
        remarks.push("in use".to_owned());
    }
    remarks.extend(row.auto.as_ref().map(|because| match because {
        Because::Claims(_) | Because::Unclaimed | Because::Window | Because::Named => {
            "auto choice".to_owned()
        }
        Because::Model | Because::Family(_) | Because::All => because.words(),
    }));
    if let (Fit::Weak, Some(window)) = (&row.fit, window) {
        let share = 100 * row.tokens as u64 / window.max(1);
        remarks.push(format!("{share}% of a {} window", tokens(window)));
    }
    if remarks.is_empty() { vec![row.summary.clone()] } else { remarks }
}

fn listed(row: &HarnessRow, (window, unit): (Option<u64>, &str), current: bool) -> Row {
    if let Fit::Cannot(why) = &row.fit {
        let columns = vec![row.id.clone(), fit_word(&row.fit).to_owned(), why.clone()];
        return Row { columns, barred: Some(why.clone()), current, ..Row::default() };
    }
    let count = if row.tools == 1 { "1 tool".to_owned() } else { format!("{} tools", row.tools) };
    let columns = vec![
        row.id.clone(),
        fit_word(&row.fit).to_owned(),
        count,
        format!("{}{unit}", tokens(row.tokens as u64)),
        remarks(row, window, current).join(" · "),
    ];
    Row { columns, current, marked: row.fit == Fit::Weak, ..Row::default() }
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
