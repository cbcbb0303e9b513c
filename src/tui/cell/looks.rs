//! Calls that only looked: in a row they are one dim line.

use std::collections::HashSet;

use ratatui::text::{Line, Span};

use crate::model::{Action, State};

use super::call::plural;
use super::{Called, Fold, View};
use crate::tui::text;

/// Whether a call only looked and found: what failed stands alone.
pub fn is_look(called: &Called) -> bool {
    let looks = match &called.action {
        Action::Read(_)
        | Action::Glob(_)
        | Action::Grep(_)
        | Action::Find { .. }
        | Action::List { .. }
        | Action::Tools { .. } => true,
        Action::Shell { .. }
        | Action::Job { .. }
        | Action::Write { .. }
        | Action::Rewrite { .. }
        | Action::Edit { .. }
        | Action::Insert { .. }
        | Action::Undo { .. }
        | Action::Patch { .. }
        | Action::Diff { .. }
        | Action::Todo { .. }
        | Action::Tasks { .. }
        | Action::Notebook { .. }
        | Action::Keys { .. }
        | Action::Fetch { .. }
        | Action::Script { .. }
        | Action::Submit { .. }
        | Action::Unknown { .. } => false,
    };
    looks && called.outcome.state == State::Ok
}

pub(super) fn rows(all: &[Called], view: View<'_>) -> Vec<Line<'static>> {
    match (all, view.fold) {
        ([], _) => Vec::new(),
        ([one], _) => super::call::rows(one, view),
        (all, Fold::Open) => all.iter().flat_map(|one| super::call::rows(one, view)).collect(),
        (all, Fold::Folded) => {
            let p = view.palette;
            let line = Line::from(vec![Span::styled("• ", p.dim), Span::styled(joined(all), p.dim)]);
            vec![text::fit(line, view.columns())]
        }
    }
}

/// `Read 4 files, searched 2 patterns`.
fn joined(all: &[Called]) -> String {
    // A file that is read in parts is one file.
    let mut files = HashSet::new();
    let (mut patterns, mut names, mut folders, mut tools) = (0, 0, 0, 0);
    for called in all {
        match &called.action {
            Action::Read(read) => {
                files.insert(read.path.as_str());
            }
            Action::Grep(_) => patterns += 1,
            Action::Glob(_) | Action::Find { .. } => names += 1,
            Action::List { .. } => folders += 1,
            _ => tools += 1,
        }
    }
    let files = files.len() as u64;
    let parts = [
        (files, "read", "file"),
        (patterns, "searched", "pattern"),
        (names, "looked for", "name"),
        (folders, "listed", "folder"),
        (tools, "looked for", "tool"),
    ];
    let said = parts.iter().filter(|(count, ..)| *count > 0);
    let mut words: String = said
        .map(|(count, verb, noun)| format!("{verb} {}", plural(*count, noun)))
        .collect::<Vec<_>>()
        .join(", ");
    if let Some(first) = words.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    words
}
