//! What of the turn that runs is the same however it is shown: whether it answers the person, what of the
//! model's replies could not be read, and what its end is. Knows neither screen nor lines.

use crate::agent::Op;
use crate::model::{Action, Body, NoteKind, Part, Reply, TodoItem};

use super::cell::{Called, Cell, Tone, as_written};

#[derive(Default)]
pub(super) struct Turn {
    /// Something that the person said is not answered yet.
    prompted: bool,
    /// The model is asked; else it is a command of the person's.
    asks: bool,
    /// Replies of which nothing could be made.
    unread: u32,
    /// The newest reply, as it came.
    written: String,
}

impl Turn {
    /// After a session whose last message was not answered.
    pub fn unanswered() -> Self {
        Self { prompted: true, ..Self::default() }
    }

    pub fn begin(&mut self, op: &Op) {
        self.asks = matches!(op, Op::Prompt(_) | Op::Again);
    }

    pub fn started(&mut self) {
        self.unread = 0;
    }

    /// Something that the person said is not answered yet.
    pub fn is_unanswered(&self) -> bool {
        self.prompted
    }

    /// Takes note of an item, before it is shown; gives what it tells of how the turn goes.
    pub fn hear(&mut self, body: &Body) -> Option<Cell> {
        match body {
            Body::User(_) => (self.prompted, self.asks) = (true, true),
            Body::Assistant(reply) => self.written = as_written(reply),
            Body::Note(note) if note.kind == NoteKind::Correction => {
                self.unread += 1;
                return Some(Cell::unread(&self.written, &note.text, self.unread));
            }
            Body::Summary(_) => {
                let text = "the conversation so far was summarised for the model".to_owned();
                return Some(Cell::Told { tone: Tone::Dim, text });
            }
            // The others are shown as what they are, or were told of by events.
            Body::Note(_) | Body::Result(_) | Body::Scene(_) | Body::Mark(_) => {}
        }
        None
    }

    /// The end of a turn that went well, where `said` is the newest answer. Work may be handed in by a
    /// call: its words are the answer then.
    pub fn last_words(&mut self, message: Option<&str>, said: Option<&str>) -> Option<Cell> {
        if !std::mem::take(&mut self.asks) {
            return None;
        }
        let prompted = std::mem::take(&mut self.prompted);
        match message {
            Some(message) => (said != Some(message.trim())).then(|| Cell::Reply(message.to_owned())),
            None => prompted.then(|| Cell::Told {
                tone: Tone::Warning,
                text: "the model ended the turn without a word".to_owned(),
            }),
        }
    }
}

/// The thoughts of a reply that came whole, which had none in pieces.
pub(super) fn thoughts(reply: &Reply) -> Option<String> {
    let whole = reply.parts.iter().filter_map(|part| match part {
        Part::Thinking { text, .. } => Some(text.as_str()),
        Part::Text { .. } | Part::Image(_) | Part::Call(_) => None,
    });
    let whole = whole.collect::<Vec<_>>().join("\n");
    (!whole.trim().is_empty()).then_some(whole)
}

/// The model's list of tasks, after a call that was about it.
pub(super) fn tasks(called: &Called) -> Option<Vec<TodoItem>> {
    match &called.action {
        Action::Todo { .. } | Action::Tasks { .. } => {
            serde_json::from_value(called.outcome.data["items"].clone()).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Note, Said};

    #[test]
    fn a_command_of_the_persons_own_is_no_answer() {
        let mut turn = Turn::default();
        turn.hear(&Body::User(Said { text: "go".into(), images: Vec::new() }));
        // It failed, and a summary is asked for.
        turn.begin(&Op::Compact { focus: None });
        assert!(turn.last_words(None, None).is_none() && turn.is_unanswered());
        turn.begin(&Op::Again);
        let silent = turn.last_words(None, None).map(|cell| cell.source());
        assert_eq!(silent.as_deref(), Some("the model ended the turn without a word"));
        assert!(!turn.is_unanswered());
    }

    #[test]
    fn the_harness_is_named_once_a_turn() {
        let mut turn = Turn::default();
        let text = "write a block".to_owned();
        let note = Body::Note(Note { kind: NoteKind::Correction, text, harness: None, file: None });
        let mut hints = || turn.hear(&note).is_some_and(|cell| cell.source().contains("/harness"));
        assert_eq!([hints(), hints()], [true, false]);
        turn.started();
        assert!(turn.hear(&note).is_some_and(|cell| cell.source().contains("/harness")));
    }
}
