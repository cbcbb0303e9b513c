//! What actions come to, for trying out result templates: good, bad, cut, and at the edges.
//!
//! Kept by hand: a key that a tool adds to `data` has to be added here, or a template that asks for it is refused.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::model::{Action, Cut, Outcome, State, TaskOp};

const SAMPLES: &str = include_str!("outcomes.json");

#[derive(Deserialize)]
struct Samples {
    /// Of actions of every kind.
    any: Vec<Outcome>,
    #[serde(flatten)]
    of: BTreeMap<String, Vec<Outcome>>,
}

static PARSED: LazyLock<Samples> =
    LazyLock::new(|| serde_json::from_str(SAMPLES).expect("the samples are fixed, and a test reads them"));

/// What this action may come to. The first good one is there whole and cut.
pub(super) fn outcomes(action: &Action) -> Vec<Outcome> {
    let own = match action {
        Action::Tasks { op: TaskOp::List, .. } => PARSED.of.get("tasks.list"),
        other => PARSED.of.get(other.kind()),
    };
    with_common(own.cloned().unwrap_or_default())
}

fn with_common(own: Vec<Outcome>) -> Vec<Outcome> {
    let first = own.iter().find(|outcome| outcome.state == State::Ok).cloned();
    let cut =
        first.map(|outcome| Outcome { cut: Some(cut()), text: "head\n…\ntail".to_owned(), ..outcome });
    own.into_iter().chain(cut).chain(PARSED.any.iter().cloned()).collect()
}

fn cut() -> Cut {
    Cut {
        head: "head".to_owned(),
        tail: "tail".to_owned(),
        lines: 900,
        bytes: 60_000,
        left_out_lines: 800,
        left_out_bytes: 50_000,
        spill: Some("/tmp/output.txt".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_good_and_a_bad_one() {
        for kind in crate::harness::bind::KINDS {
            let own = PARSED.of.get(kind).unwrap_or_else(|| panic!("no samples of {kind}"));
            let states: Vec<State> =
                with_common(own.clone()).into_iter().map(|outcome| outcome.state).collect();
            assert!(states.contains(&State::Ok), "{kind}");
            assert!(states.contains(&State::Failed), "{kind}");
        }
    }
}
