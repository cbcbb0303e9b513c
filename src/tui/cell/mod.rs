//! Cells: what happened in a session, one after the other, and how each of them is drawn.
//!
//! A cell holds source, not rows: the same cell is drawn again for another width and in the pager. How a
//! call looks depends on what it does, never on the name that a harness gives its tool.

mod call;
mod change;
mod history;
mod looks;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::{Value, json};

use crate::model::{Action, Outcome, State, Trouble};

use super::palette::{Extras, Palette};
use super::text::{self, Hang};
use super::trouble;

pub use call::{seconds, task_rows};
pub use change::files as changes;
pub use history::{as_written, decided, failed_last, of_items, push};
pub use looks::is_look;

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Cell {
    /// What the person said, with so many images.
    Said {
        text: String,
        images: usize,
    },
    /// What the model said.
    Reply(String),
    /// What the model thought.
    Thought(String),
    Call(Box<Called>),
    /// Calls in a row that only looked and found.
    Looks(Vec<Called>),
    /// A command of the person's own.
    Ran(Box<Called>),
    Told {
        tone: Tone,
        text: String,
    },
    /// Something that went wrong.
    Failed {
        text: String,
        /// What there is to know of it, as it came.
        detail: String,
    },
    /// What a command of tack's answers.
    Board(Vec<Line<'static>>),
}

/// A call and what came of it.
#[derive(Clone, Debug)]
pub struct Called {
    pub action: Action,
    pub outcome: Outcome,
}

/// How something is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// In passing.
    Dim,
    Warning,
    Error,
    /// A decision of the person's: allowed, refused.
    Allowed,
    Refused,
}

/// Lines of what the person said that stay when it is folded.
const SAID: usize = 20;

/// Of a reply that holds no call that could be read.
const NOT_PARSED: &str = "the model's call did not parse";
/// Of a reply that holds none.
const NO_CALL: &str = "the model called nothing, where something was to be done; it was asked again";
/// Marks of a call that is written in a reply.
const WRITTEN: &[&str] = &["```", "~~~", "{", "<"];

/// Columns in which nothing that is said of a fold is cut.
const WIDE: u16 = 200;

/// How much of a cell is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    Folded,
    /// All of it, as in the pager.
    Open,
}

/// What drawing depends on.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Columns.
    pub width: u16,
    pub fold: Fold,
    pub palette: &'a Palette,
}

impl View<'_> {
    pub fn columns(&self) -> usize {
        usize::from(self.width.max(1))
    }
}

impl Cell {
    /// A turn that failed.
    pub fn failed(message: &str, about: &Trouble) -> Self {
        Self::Failed { text: trouble::sentence(message, about), detail: trouble::detail(message, about) }
    }

    /// A reply of which nothing could be made, the `nth` of its turn: what it was, and what the model is
    /// told.
    pub fn unread(reply: &str, correction: &str, nth: u32) -> Self {
        let tried = WRITTEN.iter().any(|mark| reply.contains(mark));
        let what = match (reply.trim(), tried) {
            ("", _) => "the model's reply was empty",
            (_, true) => NOT_PARSED,
            (_, false) => NO_CALL,
        };
        // Another harness helps where what was written was not understood.
        let hint = if nth == 1 && what != NO_CALL { ". If it repeats: /harness" } else { "" };
        let text = format!("{what}{}{hint}", trouble::DETAILS);
        let parts = [("the model wrote", reply.trim()), ("it was told", correction.trim())];
        let parts = parts.iter().filter(|(_, text)| !text.is_empty());
        let detail = parts.map(|(who, text)| format!("{who}:\n{text}")).collect::<Vec<_>>().join("\n\n");
        Self::Failed { text, detail }
    }

    /// The rows of the cell, without an empty one before or after them.
    pub fn rows(&self, view: View<'_>) -> Vec<Line<'static>> {
        let p = view.palette;
        match self {
            Self::Said { text, images } => said(text, *images, view),
            Self::Reply(source) => text::render(source, view.columns(), p),
            Self::Thought(source) => thought(source, view),
            Self::Call(called) => call::rows(called, view),
            Self::Ran(called) => call::own_rows(called, view),
            Self::Looks(all) => looks::rows(all, view),
            Self::Told { tone, text } => told(*tone, text, view),
            Self::Failed { text, detail } => failed(text, detail, view),
            Self::Board(lines) => lines.iter().flat_map(|line| board(line, view)).collect(),
        }
    }

    /// It is told of by another cell.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Call(called) if called.declined())
    }

    /// Whether it leaves something out, and says so, when it is folded.
    pub fn folds(&self, palette: &Palette) -> bool {
        let rows = self.rows(View { width: WIDE, fold: Fold::Folded, palette });
        rows.iter().any(|row| row.spans.last().is_some_and(|span| span.content.ends_with(text::UNFOLDS)))
    }

    /// All that is known of it, as text: what a call was given and what came of it, as the session has it.
    pub fn detail(&self) -> String {
        match self {
            Self::Call(called) | Self::Ran(called) => called.detail(),
            Self::Looks(all) => all.iter().map(Called::detail).collect::<Vec<_>>().join("\n\n"),
            Self::Said { .. }
            | Self::Reply(_)
            | Self::Thought(_)
            | Self::Told { .. }
            | Self::Failed { .. }
            | Self::Board(_) => self.source(),
        }
    }

    /// Its words alone, for copying.
    pub fn source(&self) -> String {
        match self {
            Self::Said { text, .. } | Self::Reply(text) | Self::Thought(text) | Self::Told { text, .. } => {
                text.clone()
            }
            Self::Call(called) | Self::Ran(called) => called.source(),
            Self::Looks(all) => all.iter().map(Called::source).collect::<Vec<_>>().join("\n"),
            Self::Failed { text, detail } => format!("{text}\n{detail}"),
            Self::Board(lines) => lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        }
    }
}

impl Called {
    /// What ended; where the person had a command changed, the one that ran.
    pub fn new(mut action: Action, outcome: Outcome) -> Self {
        if let (Action::Shell { command, .. }, Some(ran)) = (&mut action, outcome.data["edited"].as_str()) {
            ran.clone_into(command);
        }
        Self { action, outcome }
    }

    /// The person said no, which their decision tells.
    fn declined(&self) -> bool {
        self.outcome.state == State::Refused && self.outcome.data["error"] == "declined"
    }

    /// What came of it, without what only the model is to be told.
    fn printed(&self) -> &str {
        let Outcome { text, data, .. } = &self.outcome;
        let told = data["told"].as_str().unwrap_or_default().trim_end();
        text.strip_prefix(told).map_or(text, |rest| rest.trim_start_matches('\n'))
    }

    fn source(&self) -> String {
        let head = match &self.action {
            Action::Shell { command, .. } => format!("$ {}", text::reveal(command)),
            other => other.title_with(&self.outcome),
        };
        format!("{head}\n{}", self.printed().trim_end())
    }

    fn detail(&self) -> String {
        let Outcome { state, text, exit, took, cut, images, changes, data, seen: _ } = &self.outcome;
        let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
        let mut facts = json!({ "state": state, "took_ms": took });
        let more = [
            ("exit", json!(exit)),
            ("left_out", json!(cut)),
            ("images", json!(images.len())),
            ("data", data.clone()),
        ];
        for (name, value) in more {
            if !matches!(&value, Value::Null) && value != json!(0) {
                facts[name] = value;
            }
        }
        let mut all = format!("call {}\n\nresult {}", pretty(&json!(self.action)), pretty(&facts));
        for part in std::iter::once(text).chain(changes.iter().map(|change| &change.patch)) {
            all.push_str(&format!("\n\n{}", part.trim_end()));
        }
        all
    }

    fn failed(&self) -> bool {
        self.outcome.state != State::Ok || self.outcome.exit.is_some_and(|code| code != 0)
    }
}

/// Tinted behind the text only, under the prompt's mark.
fn said(source: &str, images: usize, view: View<'_>) -> Vec<Line<'static>> {
    let p = view.palette;
    let clean = text::clean(source);
    let mut rows = Vec::new();
    let count = clean.lines().count();
    let shown = if view.fold == Fold::Folded && count > SAID + 1 { SAID } else { count };
    for line in clean.lines().take(shown) {
        let first = if rows.is_empty() { prompt(p) } else { Span::raw("  ") };
        let line = Line::from(Span::styled(line.to_owned(), p.user));
        rows.extend(text::wrap(&line, view.columns(), Hang::under(first)));
    }
    if shown < count {
        let more = Line::styled(format!("  … +{} lines{}", count - shown, text::UNFOLDS), p.dim);
        rows.push(text::fit(more, view.columns()));
    }
    if images > 0 {
        let mark = if rows.is_empty() { prompt(p) } else { Span::raw("  ") };
        let what = if images == 1 { "[1 image]".to_owned() } else { format!("[{images} images]") };
        rows.push(text::fit(Line::from(vec![mark, Span::styled(what, p.dim)]), view.columns()));
    }
    rows
}

/// The mark of what the person said, where a turn begins.
fn prompt(p: &Palette) -> Span<'static> {
    let begins = match p.extras {
        Extras::None => Style::new(),
        Extras::Sent { .. } => text::link::turn(),
    };
    Span::styled("› ", p.accent.patch(begins))
}

fn thought(source: &str, view: View<'_>) -> Vec<Line<'static>> {
    let p = view.palette;
    let clean = text::clean(source.trim());
    match view.fold {
        Fold::Folded => {
            let lines = clean.lines().count();
            let first = clean.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
            let more = if lines > 1 { format!(" · {lines} lines{}", text::UNFOLDS) } else { String::new() };
            let room = view.columns().saturating_sub(text::width(&more)).max(10);
            let first = text::fit(Line::raw(format!("∴ {first}")), room).to_string();
            vec![text::fit(Line::styled(format!("{first}{more}"), p.dim), view.columns())]
        }
        Fold::Open => clean
            .lines()
            .enumerate()
            .flat_map(|(at, line)| {
                let mark = Span::styled(if at == 0 { "∴ " } else { "  " }, p.dim);
                text::wrap(&Line::styled(line.to_owned(), p.dim), view.columns(), Hang::under(mark))
            })
            .collect(),
    }
}

fn told(tone: Tone, source: &str, view: View<'_>) -> Vec<Line<'static>> {
    let p = view.palette;
    let (mark, style, body) = match tone {
        Tone::Dim => ("· ", p.dim, p.dim),
        Tone::Warning => ("! ", p.warn, p.text),
        Tone::Error => ("✗ ", p.bad, p.text),
        Tone::Allowed => ("✓ ", p.good, p.dim),
        Tone::Refused => ("⊘ ", p.bad, p.dim),
    };
    let clean = text::clean(source.trim());
    let mut rows = Vec::new();
    for line in clean.lines() {
        let mark = if rows.is_empty() { Span::styled(mark, style) } else { Span::raw("  ") };
        let line = text::linked(Line::styled(line.to_owned(), body), p);
        rows.extend(text::wrap(&line, view.columns(), Hang::under(mark)));
    }
    rows
}

/// What is said of a name goes on below what is said, not below the name.
fn board(line: &Line<'static>, view: View<'_>) -> Vec<Line<'static>> {
    match line.spans.split_first() {
        Some((name, rest))
            if line.width() > view.columns()
                && !rest.is_empty()
                && name.content.ends_with(' ')
                && text::width(&name.content) * 2 <= view.columns() =>
        {
            text::wrap(
                &Line::from(rest.to_vec()).style(line.style),
                view.columns(),
                Hang::under(name.clone()),
            )
        }
        _ => text::wrap(line, view.columns(), Hang::none()),
    }
}

/// The sentence, and where all of it is to be seen what is behind it.
fn failed(sentence: &str, detail: &str, view: View<'_>) -> Vec<Line<'static>> {
    let p = view.palette;
    let mut rows = told(Tone::Error, sentence, view);
    if view.fold == Fold::Open && detail != sentence {
        for line in text::clean(detail).lines() {
            let line = Line::styled(line.to_owned(), p.dim);
            rows.extend(text::wrap(&line, view.columns(), Hang::under(Span::styled("  │ ", p.dim))));
        }
    }
    rows
}

#[cfg(test)]
pub(super) mod tests;
