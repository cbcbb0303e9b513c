//! The loop guard: sees a model going in circles.
//!
//! The same call with the same result three times gets a note, five times ends the turn. A call
//! counts as repeated only while nothing can have changed between: a file change, or a command that
//! was not run before, starts the count afresh. So running the tests again after each edit is fine
//! however often they fail alike, and `a b a b a b` is caught as surely as `a a a`.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::model::{Action, Outcome, REPEAT, State, ToolCall};
use crate::tools::RETRY;

/// Identical calls before the model is told.
pub const TELL_AT: u32 = 3;
/// Identical calls before the turn is ended.
pub const STOP_AT: u32 = 5;

/// Most characters of an earlier result's first line that are kept.
const LINE: usize = 160;

#[derive(Default)]
pub struct Guard {
    seen: HashMap<u64, Seen>,
    /// Commands in a row that ran into their time limit.
    timeouts: u32,
}

struct Seen {
    result: u64,
    /// The first line of it with text.
    first: String,
    times: u32,
    /// It came to something.
    made: bool,
}

/// What to do about the call that just ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    GoOn,
    /// This many times now.
    Tell(u32),
    Stop(u32),
}

impl Guard {
    /// The first line of what this very call gave before, if nothing changed since.
    ///
    /// A change that was not made may be tried again: it is answered by what is wrong with it.
    pub fn knows(&self, call: &ToolCall) -> Option<&str> {
        let made = |seen: &&Seen| seen.made || !call.action.changes_files();
        let seen = self.seen.get(&signature(call)).filter(|seen| seen.times > 0).filter(made)?;
        Some(&seen.first)
    }

    /// How many commands in a row, this one the last, ran into their time limit.
    pub fn timeouts(&mut self, call: &ToolCall, outcome: &Outcome) -> u32 {
        if matches!(call.action, Action::Shell { .. }) {
            self.timeouts = if outcome.state == State::TimedOut { self.timeouts + 1 } else { 0 };
        }
        self.timeouts
    }

    /// Counts a call that ended.
    pub fn note(&mut self, call: &ToolCall, outcome: &Outcome) -> Advice {
        if waits(&call.action, outcome) || outcome.data[RETRY] == true {
            return Advice::GoOn;
        }
        let signature = signature(call);
        if may_have_changed(&call.action, outcome, self.seen.contains_key(&signature)) {
            self.seen.values_mut().for_each(|seen| seen.times = 0);
        }
        let result = hash(&(outcome.state as u8, &outcome.text, outcome.exit));
        let made = outcome.state == State::Ok;
        let fresh = || Seen { result, first: first_line(&outcome.text), times: 0, made };
        let seen = self.seen.entry(signature).or_insert_with(fresh);
        if seen.result != result && outcome.data[REPEAT] != true {
            *seen = fresh();
        }
        seen.times += 1;
        match seen.times {
            times if times >= STOP_AT => Advice::Stop(times),
            times if times >= TELL_AT => Advice::Tell(times),
            _ => Advice::GoOn,
        }
    }
}

/// A wait for what still runs is no repeat: time passes between, and each may bring something new.
fn waits(action: &Action, outcome: &Outcome) -> bool {
    let for_job = matches!(action, Action::Job { wait: Some(_), .. });
    let at_terminal = matches!(action, Action::Keys { text, wait: Some(_) } if text.is_empty());
    for_job && outcome.data["running"] == true || at_terminal && outcome.data["exited"] == false
}

fn may_have_changed(action: &Action, outcome: &Outcome, known: bool) -> bool {
    let acts = matches!(action, Action::Shell { .. }) || action.changes_files() && outcome.state == State::Ok;
    acts && !known
}

fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(LINE).collect()
}

fn signature(call: &ToolCall) -> u64 {
    hash(&(&call.name, &call.args))
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CallId, ItemId, JobOp};

    fn call(action: Action) -> ToolCall {
        ToolCall {
            id: CallId::of(ItemId(1), 0),
            given: None,
            name: action.kind().into(),
            args: serde_json::to_string(&action).unwrap(),
            action,
            span: None,
            recovered: false,
        }
    }

    fn shell(command: &str) -> ToolCall {
        call(Action::Shell {
            command: command.into(),
            timeout: None,
            background: false,
            yield_after: None,
            within: Default::default(),
            cwd: None,
            about: None,
        })
    }

    fn write(text: &str) -> ToolCall {
        call(Action::Write { path: "a".into(), text: text.into(), mode: Default::default() })
    }

    fn run(guard: &mut Guard, calls: &[ToolCall]) -> Vec<Advice> {
        calls.iter().map(|call| guard.note(call, &Outcome::ok("same"))).collect()
    }

    #[test]
    fn the_third_repeat_is_told_and_the_fifth_stops() {
        let same: Vec<_> = (0..5).map(|_| shell("ls")).collect();
        let advice = run(&mut Guard::default(), &same);
        assert_eq!(advice, [Advice::GoOn, Advice::GoOn, Advice::Tell(3), Advice::Tell(4), Advice::Stop(5)]);
    }

    #[test]
    fn a_refusal_that_opens_the_way_is_no_repeat() {
        let mut guard = Guard::default();
        let shown = Outcome { data: serde_json::json!({ RETRY: true }), ..Outcome::failed("look first") };
        for _ in 0..6 {
            assert_eq!(guard.note(&write("x"), &shown), Advice::GoOn);
            assert!(guard.knows(&write("x")).is_none());
        }
        guard.note(&write("x"), &Outcome::ok("made"));
        assert!(guard.knows(&write("x")).is_some());
    }

    #[test]
    fn two_calls_in_turns_are_a_circle_too() {
        let circle: Vec<_> = (0..10).map(|n| shell(["ls", "pwd"][n % 2])).collect();
        let advice = run(&mut Guard::default(), &circle);
        assert!(advice.contains(&Advice::Stop(5)), "{advice:?}");
    }

    #[test]
    fn the_same_write_again_and_again_is_a_circle() {
        let advice = run(&mut Guard::default(), &vec![write("x"); 5]);
        assert_eq!(advice.last(), Some(&Advice::Stop(5)));
    }

    #[test]
    fn a_check_between_different_edits_is_not_a_circle() {
        let mut guard = Guard::default();
        for n in 0..10 {
            let advice = run(&mut guard, &[write(&n.to_string()), shell("make test")]);
            assert_eq!(advice, [Advice::GoOn, Advice::GoOn]);
        }
    }

    #[test]
    fn calls_that_were_refused_for_repeating_count_too() {
        let mut guard = Guard::default();
        guard.note(&shell("ls"), &Outcome::ok("same"));
        let refused = Outcome { data: serde_json::json!({ REPEAT: true }), ..Outcome::refused("again") };
        let advice: Vec<_> = (0..4).map(|_| guard.note(&shell("ls"), &refused)).collect();
        assert_eq!(advice, [Advice::GoOn, Advice::Tell(3), Advice::Tell(4), Advice::Stop(5)]);
    }

    #[test]
    fn another_result_starts_the_count_again() {
        let mut guard = Guard::default();
        for n in 0..20 {
            assert_eq!(guard.note(&shell("date"), &Outcome::ok(n.to_string())), Advice::GoOn);
        }
    }

    #[test]
    fn waiting_for_what_still_runs_is_no_repeat() {
        let wait = |wait| {
            call(Action::Job { op: JobOp::Output, id: "job1".into(), wait, input: None, close_stdin: false })
        };
        let quiet = |running| Outcome {
            data: serde_json::json!({ "running": running }),
            ..Outcome::ok("job1 (still running)")
        };
        let mut guard = Guard::default();
        for _ in 0..20 {
            assert_eq!(guard.note(&wait(Some(1000)), &quiet(true)), Advice::GoOn);
        }
        let asked: Vec<Advice> = (0..5).map(|_| guard.note(&wait(None), &quiet(true))).collect();
        assert_eq!(asked.last(), Some(&Advice::Stop(5)), "a look that waits for nothing goes in circles");
        let over: Vec<Advice> = (0..5).map(|_| guard.note(&wait(Some(1000)), &quiet(false))).collect();
        assert_eq!(over.last(), Some(&Advice::Stop(5)));
        let screen = Outcome { data: serde_json::json!({ "exited": false }), ..Outcome::ok("$ make") };
        let keys = |text: &str| call(Action::Keys { text: text.into(), wait: Some(1000) });
        for _ in 0..20 {
            assert_eq!(guard.note(&keys(""), &screen), Advice::GoOn);
        }
        let typed: Vec<Advice> = (0..5).map(|_| guard.note(&keys("ls\n"), &screen)).collect();
        assert_eq!(typed.last(), Some(&Advice::Stop(5)));
    }
}
