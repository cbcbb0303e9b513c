//! What becomes of a history under a harness: a count of what rendering it really does, for a person who is
//! about to change it.

use std::collections::BTreeMap;

use crate::harness::Carried;

/// What became of a reply, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// It goes back word for word.
    Kept,
    /// Its calls are said in other names.
    Respoken,
    /// What it did is told to the model.
    Told,
}

/// Counts while a history is rendered.
#[derive(Default)]
pub(super) struct Tally {
    /// The furthest that any reply of a turn went.
    turns: BTreeMap<u32, Fate>,
    messages: usize,
    calls: usize,
    open: usize,
}

impl Tally {
    /// A message of this turn goes along.
    pub fn message(&mut self, turn: u32, fate: Fate) {
        self.messages += 1;
        let furthest = self.turns.entry(turn).or_insert(fate);
        *furthest = fate.max(*furthest);
    }

    /// Calls of a reply, and how many of them have no answer.
    pub fn calls(&mut self, all: usize, open: usize) {
        (self.calls, self.open) = (self.calls + all, self.open + open);
    }

    pub fn sum(&self) -> Carried {
        let turns = |wanted| self.turns.values().filter(|fate| **fate == wanted).count();
        Carried {
            kept: turns(Fate::Kept),
            respoken: turns(Fate::Respoken),
            told: turns(Fate::Told),
            messages: self.messages,
            calls: self.calls,
            open: self.open,
        }
    }
}
