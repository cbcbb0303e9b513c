//! Signs: what went wrong on the way, read from a session's items. Pure.

use std::collections::{BTreeMap, HashSet};

use super::{Sign, Verdict};
use crate::model::{Action, Body, CallId, Item, Mark, NoteKind, Outcome, Part, State, Stop, ToolCall};

/// What `data.error` of an edit says when the place was not found.
const NOT_FOUND: [&str; 2] = ["no_match", "many_matches"];

/// How often each thing went wrong in a run that came to this verdict.
pub fn signs(items: &[Item], verdict: Verdict) -> BTreeMap<Sign, u32> {
    let mut found = Found::default();
    for item in items {
        found.look(item);
    }
    found.sum_up(verdict);
    found.signs
}

#[derive(Default)]
struct Found<'a> {
    signs: BTreeMap<Sign, u32>,
    calls: BTreeMap<&'a CallId, &'a ToolCall>,
    /// Calls and their results since something may have changed.
    known: HashSet<(&'a str, &'a str, &'a str)>,
    read: bool,
    /// Something was done that may have changed files.
    acted: bool,
    /// Calls that were run, other than handing in.
    ran: u32,
    completed: bool,
}

impl<'a> Found<'a> {
    fn add(&mut self, sign: Sign) {
        *self.signs.entry(sign).or_default() += 1;
    }

    fn look(&mut self, item: &'a Item) {
        match &item.body {
            Body::Assistant(reply) => {
                if reply.stop == Stop::Length {
                    self.add(Sign::CutOff);
                }
                for part in &reply.parts {
                    match part {
                        Part::Call(call) => self.call(call),
                        Part::Text { .. } | Part::Thinking { .. } | Part::Image(_) => {}
                    }
                }
            }
            Body::Result(result) => {
                if let Some(call) = self.calls.get(&result.call).copied() {
                    self.result(call, &result.outcome);
                }
            }
            Body::Note(note) if note.kind == NoteKind::Correction => self.add(Sign::Malformed),
            Body::Mark(Mark::Completed { .. }) => self.completed = true,
            Body::User(_) | Body::Note(_) | Body::Scene(_) | Body::Summary(_) | Body::Mark(_) => {}
        }
    }

    fn call(&mut self, call: &'a ToolCall) {
        self.calls.insert(&call.id, call);
        if call.recovered {
            self.add(Sign::CallAsText);
        }
        if matches!(call.action, Action::Unknown { .. }) {
            self.add(Sign::Malformed);
        }
    }

    fn result(&mut self, call: &'a ToolCall, outcome: &'a Outcome) {
        let signature = (call.name.as_str(), call.args.as_str(), outcome.text.as_str());
        if outcome.data["repeat"] == true || self.known.contains(&signature) {
            self.add(Sign::RepeatedCall);
            return;
        }
        let well = outcome.state == State::Ok;
        match &call.action {
            Action::Unknown { .. } => return,
            Action::Submit { .. } | Action::Todo { .. } => {}
            Action::Read { .. } | Action::Glob { .. } | Action::Grep { .. } | Action::List { .. } => {
                self.ran += 1;
                self.read = true;
            }
            Action::Shell { .. } | Action::Job { .. } => {
                self.ran += 1;
                self.acted = true;
                self.known.clear();
            }
            Action::Write { .. }
            | Action::Rewrite { .. }
            | Action::Edit { .. }
            | Action::Insert { .. }
            | Action::Undo { .. }
            | Action::Patch { .. } => {
                self.ran += 1;
                if well {
                    self.acted = true;
                    self.known.clear();
                } else {
                    self.missed(outcome);
                }
            }
        }
        self.known.insert(signature);
    }

    /// An edit that changed nothing. A disk that is full is no sign of anything.
    fn missed(&mut self, outcome: &Outcome) {
        match outcome.data["error"].as_str() {
            Some(error) if NOT_FOUND.contains(&error) => self.add(Sign::EditNotFound),
            Some("io") => {}
            Some(_) => self.add(Sign::EditRefused),
            None if outcome.state == State::Refused => self.add(Sign::EditRefused),
            None => {}
        }
    }

    /// What only the whole shows. A task may be to find something: then nothing is to be changed.
    fn sum_up(&mut self, verdict: Verdict) {
        let unsolved = match verdict {
            Verdict::Failed | Verdict::Limit => true,
            Verdict::Solved | Verdict::Void => false,
        };
        if unsolved && self.read && !self.acted {
            self.add(Sign::ReadWithoutEdit);
        }
        if unsolved && self.completed && self.ran == 0 {
            self.add(Sign::EndedWithoutFinishing);
        } else if unsolved && self.completed {
            self.add(Sign::CheckFailed);
        }
    }
}
