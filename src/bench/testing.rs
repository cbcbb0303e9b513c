//! Entries for tests.

use std::collections::BTreeMap;

use super::{Entry, Key, Verdict, Void};
use crate::model::{Class, Usage};

/// A run of a harness on the model `p/m`.
pub(super) fn entry(harness: &str, task: &str, run: u32, verdict: Verdict) -> Entry {
    Entry {
        key: Key {
            model: "p/m".into(),
            class: Class::S,
            harness: harness.into(),
            surface: "s".into(),
            task: task.into(),
            task_hash: "h".into(),
            run,
            seed: 0,
            tack: "0".into(),
        },
        verdict,
        void: (verdict == Verdict::Void).then_some(Void::Server),
        why: String::new(),
        usage: Usage { input: 100, cached: 40, output: 10, ..Usage::default() },
        cost: Some(0.0),
        requests: 2,
        seconds: 1.5,
        signs: BTreeMap::new(),
        session: None,
        served: None,
        at: jiff::Timestamp::UNIX_EPOCH,
    }
}
