//! Signs: what went wrong on the way, read from a session's items. Pure.

use std::collections::{BTreeMap, HashSet};

use super::{Left, Sign, Verdict};
use crate::model::{Action, Body, CallId, Item, Mark, NoteKind, Outcome, REPEAT, State, ToolCall};

/// What `data.error` of an edit says when the place was not found.
const NOT_FOUND: [&str; 3] = ["no_match", "many_matches", "no_such_line"];

/// How often each thing went wrong in a run that came to this verdict and left the folder so.
pub fn signs(items: &[Item], verdict: Verdict, left: Left) -> BTreeMap<Sign, u32> {
    let mut found = Found::default();
    for item in items {
        found.look(item);
    }
    found.sum_up(verdict, left);
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
                if reply.stop.is_cut() {
                    self.add(Sign::CutOff);
                }
                reply.calls().for_each(|call| self.call(call));
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
        if outcome.data[REPEAT] == true || self.known.contains(&signature) {
            self.add(Sign::RepeatedCall);
            return;
        }
        let well = outcome.state == State::Ok;
        match &call.action {
            Action::Unknown { .. } => return,
            Action::Submit { .. } | Action::Todo { .. } | Action::Tasks { .. } | Action::Tools { .. } => {}
            Action::Read(_)
            | Action::Glob(_)
            | Action::Grep(_)
            | Action::Find { .. }
            | Action::List { .. }
            | Action::Fetch { .. } => {
                self.ran += 1;
                self.read = true;
            }
            Action::Shell { .. } | Action::Job { .. } | Action::Keys { .. } | Action::Script { .. } => {
                self.ran += 1;
                self.acted = true;
                self.known.clear();
            }
            Action::Write { .. }
            | Action::Rewrite { .. }
            | Action::Edit { .. }
            | Action::Insert { .. }
            | Action::Undo { .. }
            | Action::Notebook { .. }
            | Action::Diff { .. }
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
    fn sum_up(&mut self, verdict: Verdict, left: Left) {
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
            self.add(match left {
                Left::Untouched => Sign::CheckFailedUntouched,
                Left::Broken => Sign::CheckFailedBroken,
                Left::Changed => Sign::CheckFailed,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::{ItemId, Note, Origin, Part, Reply, Stop, ToolResult, Usage, WireKind};

    fn origin() -> Origin {
        let text = |text: &str| text.to_owned();
        Origin { provider: text("p"), model: text("m"), wire: WireKind::Chat, harness: text("h"), surface: 1 }
    }

    /// A reply with one call, and what came of it.
    fn did(n: u64, action: Action, outcome: Outcome) -> [Body; 2] {
        let id = CallId::of(ItemId(n), 0);
        let call = ToolCall {
            id: id.clone(),
            given: None,
            name: action.kind().to_owned(),
            args: serde_json::to_string(&action).unwrap(),
            recovered: false,
            span: None,
            action,
        };
        let parts = vec![Part::Call(call)];
        let reply = Reply::new(origin(), parts, Usage::default(), Stop::Calls);
        [Body::Assistant(reply), Body::Result(ToolResult { call: id, outcome, shown: Vec::new() })]
    }

    fn said(stop: Stop) -> Body {
        Body::Assistant(Reply::new(origin(), Vec::new(), Usage::default(), stop))
    }

    fn edit() -> Action {
        Action::Edit { path: "a".into(), edits: Vec::new(), first: false }
    }

    fn read() -> Action {
        Action::Read(crate::model::Read::default())
    }

    fn failed(data: Value) -> Outcome {
        Outcome { data, ..Outcome::failed("no") }
    }

    fn completed() -> Body {
        Body::Mark(Mark::Completed { usage: Usage::default() })
    }

    fn found(bodies: Vec<Body>, verdict: Verdict) -> Vec<(Sign, u32)> {
        let at = jiff::Timestamp::UNIX_EPOCH;
        let items: Vec<Item> = bodies
            .into_iter()
            .enumerate()
            .map(|(n, body)| Item { id: ItemId(n as u64 + 1), turn: 1, at, body })
            .collect();
        signs(&items, verdict, Left::Changed).into_iter().collect()
    }

    #[test]
    fn each_sign_is_read_from_what_happened() {
        let ok = || Outcome::ok("ok");
        let note = Note { kind: NoteKind::Correction, text: "no".into(), harness: None, file: None };
        let unknown = Action::Unknown { name: "x".into(), why: "none".into() };
        let mut as_text = did(1, edit(), ok());
        if let Body::Assistant(Reply { parts, .. }) = &mut as_text[0]
            && let Part::Call(call) = &mut parts[0]
        {
            call.recovered = true;
        }
        let finish = Action::Submit { text: String::new() };
        let twice = [did(1, read(), ok()), did(2, read(), ok())].concat();
        let between = [did(1, read(), ok()), did(2, edit(), ok()), did(3, read(), ok())].concat();
        type Case = (&'static str, Vec<Body>, Verdict, Vec<(Sign, u32)>);
        let table: [Case; 15] = [
            ("nothing", did(1, edit(), ok()).to_vec(), Verdict::Solved, vec![]),
            ("as text", as_text.to_vec(), Verdict::Solved, vec![(Sign::CallAsText, 1)]),
            ("corrected", vec![Body::Note(note)], Verdict::Solved, vec![(Sign::Malformed, 1)]),
            ("no tool", did(1, unknown, ok()).to_vec(), Verdict::Solved, vec![(Sign::Malformed, 1)]),
            ("length", vec![said(Stop::Length)], Verdict::Solved, vec![(Sign::CutOff, 1)]),
            ("ran on", vec![said(Stop::RunOn)], Verdict::Solved, vec![(Sign::CutOff, 1)]),
            (
                "not there",
                did(1, edit(), failed(json!({"error": "no_match"}))).to_vec(),
                Verdict::Solved,
                vec![(Sign::EditNotFound, 1)],
            ),
            (
                "guarded",
                did(1, edit(), failed(json!({"error": "breaks"}))).to_vec(),
                Verdict::Solved,
                vec![(Sign::EditRefused, 1)],
            ),
            ("full disk", did(1, edit(), failed(json!({"error": "io"}))).to_vec(), Verdict::Solved, vec![]),
            ("again", twice.clone(), Verdict::Solved, vec![(Sign::RepeatedCall, 1)]),
            ("again, after a change", between, Verdict::Solved, vec![]),
            (
                "only read",
                [twice, vec![completed()]].concat(),
                Verdict::Failed,
                vec![(Sign::RepeatedCall, 1), (Sign::ReadWithoutEdit, 1), (Sign::CheckFailed, 1)],
            ),
            (
                "handed in at once",
                [did(1, finish, ok()).to_vec(), vec![completed()]].concat(),
                Verdict::Failed,
                vec![(Sign::EndedWithoutFinishing, 1)],
            ),
            (
                "wrong",
                [did(1, edit(), ok()).to_vec(), vec![completed()]].concat(),
                Verdict::Failed,
                vec![(Sign::CheckFailed, 1)],
            ),
            ("never ended", did(1, edit(), ok()).to_vec(), Verdict::Limit, vec![]),
        ];
        for (what, bodies, verdict, want) in table {
            assert_eq!(found(bodies, verdict), want, "{what}");
        }
    }

    #[test]
    fn a_check_that_failed_says_with_what() {
        let table = [
            (Left::Untouched, Sign::CheckFailedUntouched),
            (Left::Broken, Sign::CheckFailedBroken),
            (Left::Changed, Sign::CheckFailed),
        ];
        for (left, want) in table {
            let mut found = Found { ran: 1, completed: true, ..Found::default() };
            found.sum_up(Verdict::Failed, left);
            assert_eq!(found.signs.into_iter().collect::<Vec<_>>(), [(want, 1)]);
        }
    }
}
