//! Cells of an earlier session, from its items.

use std::collections::HashMap;

use crate::model::{
    Body, CallId, Decision, Item, Mark, NoteKind, Part, Reply, ToolCall, Trouble, TroubleKind,
};

use super::{Called, Cell, Tone, is_look};
use crate::tui::text;

/// Characters of what was decided about, in its line.
const DECIDED: usize = 100;

/// What a person sees of these items, oldest first. Takes them apart: there may be ten thousand.
pub fn of_items(items: Vec<Item>) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut open: HashMap<CallId, ToolCall> = HashMap::new();
    let (mut unread, mut written) = (0, String::new());
    for item in items {
        match item.body {
            Body::User(said) => {
                unread = 0;
                cells.push(Cell::Said { images: said.images.len(), text: said.text });
            }
            Body::Assistant(reply) => {
                let said = reply.said();
                written = as_written(&reply);
                for part in reply.parts {
                    match part {
                        Part::Thinking { text, .. } if !text.trim().is_empty() => {
                            cells.push(Cell::Thought(text));
                        }
                        Part::Call(call) => drop(open.insert(call.id.clone(), call)),
                        Part::Text { .. } | Part::Thinking { .. } | Part::Image(_) => {}
                    }
                }
                if !said.is_empty() {
                    cells.push(Cell::Reply(said));
                }
            }
            Body::Result(result) => {
                if let Some(call) = open.remove(&result.call) {
                    push(&mut cells, Called::new(call.action, result.outcome));
                }
            }
            Body::Note(note) if note.kind == NoteKind::Ran => {
                cells.push(Cell::Told { tone: Tone::Dim, text: note.text });
            }
            Body::Note(note) if note.kind == NoteKind::Correction => {
                unread += 1;
                cells.push(Cell::unread(&written, &note.text, unread));
            }
            Body::Summary(_) => {
                let text = "the conversation so far was summarised for the model".to_owned();
                cells.push(Cell::Told { tone: Tone::Dim, text });
            }
            Body::Mark(mark) => cells.extend(marked(&mark)),
            Body::Note(_) | Body::Scene(_) => {}
        }
    }
    cells
}

/// What went wrong at the end of it: then what was said last is still to be answered.
pub fn failed_last(items: &[Item]) -> Option<&Trouble> {
    const UNKNOWN: &Trouble = &Trouble {
        kind: TroubleKind::Other,
        provider: String::new(),
        model: String::new(),
        said: String::new(),
        body: String::new(),
    };
    let ended = items.iter().rev().find_map(|item| match &item.body {
        Body::Scene(_) | Body::Mark(Mark::Switched { .. } | Mark::Stance { .. }) => None,
        body => Some(body),
    });
    match ended? {
        Body::Mark(Mark::Failed { trouble, .. }) => Some(trouble.as_deref().unwrap_or(UNKNOWN)),
        _ => None,
    }
}

/// A reply as the model wrote it, its calls too.
pub fn as_written(reply: &Reply) -> String {
    let part = |part: &Part| match part {
        Part::Text { text } => Some(text.clone()),
        Part::Call(call) => Some(format!("{} {}", call.name, call.args)),
        Part::Thinking { .. } | Part::Image(_) => None,
    };
    reply.parts.iter().filter_map(part).collect::<Vec<_>>().join("\n")
}

/// Adds a call; one that only looked joins those before it.
pub fn push(cells: &mut Vec<Cell>, called: Called) {
    if !is_look(&called) {
        return cells.push(Cell::Call(Box::new(called)));
    }
    match cells.last_mut() {
        Some(Cell::Looks(all)) => all.push(called),
        _ => cells.push(Cell::Looks(vec![called])),
    }
}

/// What a person decided, in a line.
pub fn decided(what: &str, decision: &Decision) -> (Tone, String) {
    let words = decision.words();
    let (tone, words) = match words.strip_prefix('⊘') {
        Some(rest) => (Tone::Refused, rest),
        None => (Tone::Allowed, words.trim_start_matches('✓')),
    };
    let what = text::first_line(decision.about(what));
    // All of it stands in the cell of the call.
    let cut = what.char_indices().nth(DECIDED).map(|(at, _)| format!("{} …", &what[..at]));
    (tone, format!("{} · {}", words.trim(), cut.unwrap_or(what)))
}

fn marked(mark: &Mark) -> Option<Cell> {
    let (tone, text) = match mark {
        Mark::Switched { harness, provider, model } => {
            (Tone::Dim, format!("from here on {model} @ {provider} · harness {harness}"))
        }
        Mark::Interrupted => (Tone::Dim, "stopped".to_owned()),
        Mark::Failed { message, trouble } => {
            return Some(Cell::failed(message, trouble.as_deref().unwrap_or(&Trouble::default())));
        }
        Mark::Limit { message } => (Tone::Warning, format!("stopped: {message}")),
        Mark::Decided { what, decision, .. } => decided(what, decision),
        Mark::Stance { mode, sandbox } => (Tone::Dim, format!("mode {mode} · {sandbox} sandbox")),
        Mark::Checked { .. } | Mark::Blind { .. } | Mark::Completed { .. } => return None,
    };
    Some(Cell::Told { tone, text })
}
