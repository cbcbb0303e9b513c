//! One call: its title with the mark of how it ended, and what hangs under it.

use ratatui::text::{Line, Span};

use crate::model::{Action, Outcome, Read, State, TodoItem, TodoStatus};

use super::{Called, Fold, View, change};
use crate::tui::palette::{Extras, Palette};
use crate::tui::text::{self, Hang};

/// Lines of output that stay when it is folded: the first, which often say what is done, and the last, which
/// say how it went.
const FIRST: usize = 2;
const LAST: usize = 8;
/// Longest output that is drawn at all, in lines: the rest is in the file that the call names.
const MOST: usize = 2_000;

pub(super) fn rows(called: &Called, view: View<'_>) -> Vec<Line<'static>> {
    let Called { action, outcome } = called;
    if called.declined() && view.fold == Fold::Folded {
        return Vec::new();
    }
    let mut rows = vec![title(called, view)];
    if !outcome.changes.is_empty() && outcome.state == State::Ok {
        rows.extend(change::rows(&outcome.changes, view));
        return rows;
    }
    match action {
        Action::Shell { command, .. } => {
            rows.extend(more_of_command(command, view));
            rows.extend(hanging(called, view));
        }
        Action::Todo { .. } | Action::Tasks { .. }
            if outcome.state == State::Ok && view.fold == Fold::Open =>
        {
            rows.extend(tasks(outcome, view));
        }
        // The line over the composer says where they are.
        Action::Todo { .. } | Action::Tasks { .. } if outcome.state == State::Ok => {}
        _ if called.failed() || prints(action) || view.fold == Fold::Open => {
            rows.extend(hanging(called, view));
        }
        _ => {}
    }
    rows
}

/// A command of the person's own.
pub(super) fn own_rows(called: &Called, view: View<'_>) -> Vec<Line<'static>> {
    let p = view.palette;
    let Action::Shell { command, .. } = &called.action else { return rows(called, view) };
    let mut line = vec![Span::styled("! ", p.accent), Span::raw(text::first_line(command))];
    line.extend(mark(&called.outcome, p));
    let mut rows = vec![text::fit(Line::from(line), view.columns())];
    rows.extend(more_of_command(command, view));
    rows.extend(hanging(called, view));
    rows
}

/// Whether what it gives is worth a look although nothing went wrong.
fn prints(action: &Action) -> bool {
    matches!(action, Action::Script { .. } | Action::Job { .. } | Action::Keys { .. })
}

fn title(called: &Called, view: View<'_>) -> Line<'static> {
    let action = &called.action;
    let p = view.palette;
    let tail = tail(called, p);
    let room = view.columns().saturating_sub(tail.iter().map(|span| text::width(&span.content)).sum());
    let bullet = if called.failed() { p.bad } else { p.dim };
    let (verb, rest) = words(called);
    let blank = if rest.is_empty() { "" } else { " " };
    let mut head = vec![Span::styled("• ", bullet), Span::styled(verb, p.strong)];
    match (action, &p.extras) {
        (
            Action::Read(Read { path, .. })
            | Action::Write { path, .. }
            | Action::Rewrite { path, .. }
            | Action::Edit { path, .. }
            | Action::Insert { path, .. }
            | Action::List { path, .. }
            | Action::Notebook { path, .. },
            Extras::Sent { folder: Some(folder) },
        ) => head.extend([Span::raw(blank), text::link::path(rest, path, folder)]),
        _ => head.push(Span::raw(format!("{blank}{rest}"))),
    }
    let head = Line::from(head);
    let mut line = text::fit(head, room.max(12));
    line.spans.extend(tail);
    text::fit(line, view.columns())
}

/// `Ran` and `cargo test`.
fn words(called: &Called) -> (String, String) {
    if let Action::Unknown { name, .. } = &called.action {
        return ("Could not run".to_owned(), text::clean_line(name).into_owned());
    }
    let title = text::reveal_line(&called.action.title_with(&called.outcome));
    let (verb, rest) = title.split_once(' ').unwrap_or((&title, ""));
    match &called.action {
        // All of its first line: a title is shortened.
        Action::Shell { command, .. } => (verb.to_owned(), text::first_line(command)),
        _ => (verb.to_owned(), rest.to_owned()),
    }
}

/// What stands behind the title: lines changed, how it ended, how long it took.
fn tail(called: &Called, p: &Palette) -> Vec<Span<'static>> {
    let outcome = &called.outcome;
    let mut spans = Vec::new();
    if outcome.state == State::Ok && !outcome.changes.is_empty() {
        let sum =
            |count: fn(&crate::model::FileChange) -> u64| outcome.changes.iter().map(count).sum::<u64>();
        let (added, removed) = (sum(|change| change.added), sum(|change| change.removed));
        spans.push(Span::styled(format!("  +{added}"), p.good));
        spans.push(Span::styled(format!(" -{removed}"), p.bad));
    }
    if let Action::Read(_) = called.action
        && outcome.state == State::Ok
        && let (Some(from), Some(to), Some(total)) =
            (outcome.data["from"].as_u64(), outcome.data["to"].as_u64(), outcome.data["total"].as_u64())
    {
        let what =
            if from <= 1 && to >= total { plural(total, "line") } else { format!("{from}-{to} of {total}") };
        spans.push(Span::styled(format!(" · {what}"), p.dim));
    }
    if called.failed() || matches!(called.action, Action::Shell { background: false, .. }) {
        spans.extend(mark(outcome, p));
    }
    spans
}

pub(super) fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// `✓ 4.2s`, `✗ exit 101 · 4.2s`, `⊘ refused`.
fn mark(outcome: &Outcome, p: &Palette) -> Vec<Span<'static>> {
    let (word, style) = match (outcome.state, outcome.exit) {
        (State::Ok, None | Some(0)) => ("✓".to_owned(), p.good),
        (State::Ok | State::Failed, Some(code)) if code != 0 => (format!("✗ exit {code}"), p.bad),
        (State::Failed, _) => ("✗ failed".to_owned(), p.bad),
        (State::Ok, Some(_)) => ("✗".to_owned(), p.bad),
        (State::Refused, _) => ("⊘ refused".to_owned(), p.bad),
        (State::TimedOut, _) => ("✗ time limit".to_owned(), p.bad),
        (State::Interrupted, _) => ("✗ stopped".to_owned(), p.bad),
    };
    let mut spans = vec![Span::styled(format!("  {word}"), style)];
    if outcome.took >= 1_000 {
        let joint = if word == "✓" { " " } else { " · " };
        spans.push(Span::styled(format!("{joint}{}", seconds(outcome.took)), p.dim));
    }
    spans
}

/// Milliseconds as a person says them.
pub fn seconds(took: u64) -> String {
    match took {
        0..10_000 => format!("{:.1}s", took as f64 / 1e3),
        10_000..60_000 => format!("{}s", took / 1_000),
        60_000..3_600_000 => format!("{}m {:02}s", took / 60_000, took / 1_000 % 60),
        _ => format!("{}h {:02}m", took / 3_600_000, took / 60_000 % 60),
    }
}

/// The lines of a command after its first: all of them, as nothing that ran may be hidden.
fn more_of_command(command: &str, view: View<'_>) -> Vec<Line<'static>> {
    let p = view.palette;
    let drawn = text::reveal(command.trim());
    let lines: Vec<&str> = drawn.lines().skip(1).collect();
    let shown = if view.fold == Fold::Open { lines.len() } else { lines.len().min(FIRST + LAST) };
    let mut rows: Vec<Line<'static>> = lines[..shown]
        .iter()
        .flat_map(|line| {
            text::wrap(
                &Line::raw((*line).to_owned()),
                view.columns(),
                Hang::under(Span::styled("    ", p.dim)),
            )
        })
        .collect();
    if shown < lines.len() {
        let left = plural((lines.len() - shown) as u64, "line");
        rows.push(text::fit(Line::styled(format!("    … +{left}{}", text::UNFOLDS), p.dim), view.columns()));
    }
    rows
}

/// Output under a bar, folded in the middle.
fn hanging(called: &Called, view: View<'_>) -> Vec<Line<'static>> {
    let p = view.palette;
    let outcome = &called.outcome;
    let clean = text::printed(called.printed().trim_end());
    let lines: Vec<&str> = clean.lines().collect();
    let lines = match lines.iter().position(|line| !line.trim().is_empty()) {
        Some(first) => &lines[first..],
        None => return Vec::new(),
    };
    let bar = |mark: &'static str| Hang::new(Span::styled(mark, p.dim), Span::styled("  │ ", p.dim));
    // Why nothing came of it, and what the sandbox blocked.
    let reason = if matches!(called.action, Action::Shell { .. }) { None } else { lines.first().copied() };
    let whole = |line: &str| line.starts_with("[sandbox] ") || called.failed() && reason == Some(line);
    let row = |line: &str| match view.fold {
        // One row each: a long line is all there in the pager.
        Fold::Folded if !whole(line) => {
            let line = Line::from(vec![Span::styled("  │ ", p.dim), Span::styled(line.to_owned(), p.dim)]);
            vec![text::fit(line, view.columns())]
        }
        Fold::Folded | Fold::Open => {
            text::wrap(&Line::styled(line.to_owned(), p.dim), view.columns(), bar("  │ "))
        }
    };
    let (head, tail) = match view.fold {
        Fold::Folded if lines.len() > FIRST + LAST + 2 => (FIRST, LAST),
        Fold::Folded => (lines.len(), 0),
        Fold::Open if lines.len() > MOST => (MOST / 2, MOST / 2),
        Fold::Open => (lines.len(), 0),
    };
    let mut rows: Vec<Line<'static>> = lines[..head].iter().flat_map(|line| row(line)).collect();
    let left_out = lines.len() - head - tail;
    if left_out > 0 {
        rows.push(text::fit(Line::styled("  │ ⋯", p.dim), view.columns()));
    }
    rows.extend(lines[lines.len() - tail..].iter().flat_map(|line| row(line)));
    if left_out > 0 {
        // What did not even get here counts too.
        let lost = outcome.cut.as_ref().map_or(0, |cut| cut.left_out_lines);
        let left = plural(left_out as u64 + lost, "line");
        let key = if view.fold == Fold::Folded { text::UNFOLDS } else { "" };
        rows.push(text::fit(Line::styled(format!("  └ +{left}{key}"), p.dim), view.columns()));
    } else if let Some(last) = rows.last_mut()
        && let Some(bar) = last.spans.first_mut()
        && bar.content == "  │ "
    {
        bar.content = "  └ ".into();
    }
    rows
}

/// The list of tasks as a call left it.
fn tasks(outcome: &Outcome, view: View<'_>) -> Vec<Line<'static>> {
    let items: Vec<TodoItem> = serde_json::from_value(outcome.data["items"].clone()).unwrap_or_default();
    task_rows(&items, view)
}

/// One row or more for each task, in the model's order.
pub fn task_rows(items: &[TodoItem], view: View<'_>) -> Vec<Line<'static>> {
    let p = view.palette;
    let row = |item: &TodoItem| {
        let (mark, style) = match item.status {
            TodoStatus::Completed => ("☑ ", p.dim),
            TodoStatus::InProgress => ("▸ ", p.strong),
            TodoStatus::Pending => ("☐ ", p.text),
        };
        let words = Line::styled(text::clean_line(&item.text).into_owned(), style);
        text::wrap(&words, view.columns(), Hang::under(Span::styled(format!("  {mark}"), p.dim)))
    };
    items.iter().flat_map(row).collect()
}
