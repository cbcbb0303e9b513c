//! Two harnesses on one model: task against task, and whether the difference is one. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Entry, Row, Verdict, table};

/// Fewer tasks than this that one solved and the other did not show nothing: even if all speak for
/// one side, chance alone does that too often.
pub const DECISIVE: u32 = 6;
/// The chance, under no difference, that is still called shown.
const LEVEL: f64 = 0.05;

/// What the tasks say of A against B.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    pub model: String,
    pub a: String,
    pub b: String,
    /// Tasks that both were run on.
    pub tasks: u32,
    /// Most runs of one task that went into it.
    pub runs: u32,
    /// Tasks that A solved and B did not.
    pub wins: u32,
    /// The other way round.
    pub losses: u32,
    /// Exact two-sided sign test.
    pub p: f64,
    pub shown: bool,
    /// New and output tokens by solved run.
    pub tokens: (Option<u64>, Option<u64>),
    /// Runs that say nothing.
    pub void: u32,
    /// Nothing can be said at all, and why.
    pub invalid: Option<String>,
}

/// Compares harnesses `a` and `b` on `model`. Runs are paired by task and number, and those of one
/// task count as one: it is solved if most of its runs are. At temperature 0 they are copies of each
/// other, and never as good as other tasks.
pub fn compare(entries: &[Entry], model: &str, a: &str, b: &str) -> Compared {
    let own = |entry: &&Entry| entry.key.model == model && (entry.key.harness == a || entry.key.harness == b);
    let entries: Vec<Entry> = entries.iter().filter(own).cloned().collect();
    let (of_a, of_b) = (by_run(&entries, a), by_run(&entries, b));
    let mut tasks: BTreeMap<&str, Pairs> = BTreeMap::new();
    for (run, solved_a) in &of_a {
        if let Some(solved_b) = of_b.get(run) {
            let pairs = tasks.entry(run.0).or_default();
            pairs.runs += 1;
            pairs.a += u32::from(*solved_a);
            pairs.b += u32::from(*solved_b);
        }
    }
    let wins = tasks.values().filter(|pairs| pairs.outcome() == (true, false)).count() as u32;
    let losses = tasks.values().filter(|pairs| pairs.outcome() == (false, true)).count() as u32;
    let p = sign_test(wins, losses);
    let invalid = table::changed(&entries);
    let rows = table::rows(&entries);
    let tokens = |harness: &str| rows.iter().find(|row| row.harness == harness)?.per_solved;
    Compared {
        model: model.to_owned(),
        a: a.to_owned(),
        b: b.to_owned(),
        tasks: tasks.len() as u32,
        runs: tasks.values().map(|pairs| pairs.runs).max().unwrap_or(0),
        wins,
        losses,
        p,
        shown: invalid.is_none() && wins + losses >= DECISIVE && p <= LEVEL,
        tokens: (tokens(a), tokens(b)),
        void: rows.iter().map(|row| row.void).sum(),
        invalid,
    }
}

/// Runs of one task that both sides have.
#[derive(Default)]
struct Pairs {
    runs: u32,
    a: u32,
    b: u32,
}

impl Pairs {
    /// Whether each side solved most of them.
    fn outcome(&self) -> (bool, bool) {
        (2 * self.a > self.runs, 2 * self.b > self.runs)
    }
}

/// By task and number of the run: whether it was solved. Without void ones.
fn by_run<'a>(entries: &'a [Entry], harness: &str) -> BTreeMap<(&'a str, u32), bool> {
    let own = entries.iter().filter(|entry| entry.key.harness == harness && entry.verdict != Verdict::Void);
    own.map(|entry| ((entry.key.task.as_str(), entry.key.run), entry.verdict == Verdict::Solved)).collect()
}

/// How likely a split at least as uneven as `wins : losses` is if both sides are equally likely: the
/// exact two-sided binomial test with 1/2.
pub fn sign_test(wins: u32, losses: u32) -> f64 {
    let n = wins + losses;
    // Each term from the one before: C(n, k) / 2^n.
    let mut term = 0.5f64.powi(n.cast_signed());
    let mut tail = 0.0;
    for k in 0..=wins.min(losses) {
        tail += term;
        term *= f64::from(n - k) / f64::from(k + 1);
    }
    (2.0 * tail).min(1.0)
}

/// The harness to use, of several on one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommended {
    pub model: String,
    pub harness: String,
    /// Against the next best.
    pub against: Compared,
}

/// One for each model that was run under two harnesses at least: that which solved most, and of
/// those the one that took the fewest tokens for it. None where nothing was solved.
pub fn recommend(entries: &[Entry]) -> Vec<Recommended> {
    let rows = table::rows(entries);
    let models: BTreeSet<&str> = rows.iter().map(|row| row.model.as_str()).collect();
    let mut all = Vec::new();
    for model in models {
        let mut own: Vec<&Row> = rows.iter().filter(|row| row.model == model && row.runs > 0).collect();
        // Shares, as a run of one may have been void.
        let share = |row: &Row| f64::from(row.solved) / f64::from(row.runs);
        let tokens = |row: &Row| row.per_solved.unwrap_or(u64::MAX);
        own.sort_by(|x, y| share(y).total_cmp(&share(x)).then(tokens(x).cmp(&tokens(y))));
        if let [best, next, ..] = own.as_slice()
            && best.solved > 0
        {
            all.push(Recommended {
                model: model.to_owned(),
                harness: best.harness.clone(),
                against: compare(entries, model, &best.harness, &next.harness),
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::testing::entry;

    #[test]
    fn the_sign_test_is_exact() {
        let table = [
            (0, 0, 1.0),
            (1, 0, 1.0),
            (5, 0, 0.0625),
            (6, 0, 0.03125),
            (7, 1, 0.0703125),
            (8, 1, 0.0390625),
            (9, 2, 0.0654296875),
            (10, 2, 0.03857421875),
            (3, 3, 1.0),
            (20, 5, 0.004077315330505371),
        ];
        for (wins, losses, p) in table {
            for found in [sign_test(wins, losses), sign_test(losses, wins)] {
                assert!((found - p).abs() < 1e-12, "{wins} : {losses} gave {found}, not {p}");
            }
        }
    }

    #[test]
    fn runs_of_one_task_count_as_one_and_need_a_partner() {
        let mut entries = Vec::new();
        for run in 0..3 {
            entries.push(entry("a", "often", run, if run == 0 { Verdict::Failed } else { Verdict::Solved }));
            entries.push(entry("b", "often", run, if run == 0 { Verdict::Solved } else { Verdict::Limit }));
            // Only one of two is the half, and no more.
            entries.push(entry("a", "half", run, if run == 1 { Verdict::Solved } else { Verdict::Failed }));
            entries.push(entry("b", "half", run, if run == 2 { Verdict::Void } else { Verdict::Failed }));
        }
        entries.push(entry("a", "alone", 0, Verdict::Solved));
        let found = compare(&entries, "p/m", "a", "b");
        assert_eq!((found.tasks, found.wins, found.losses), (2, 1, 0));
        assert_eq!((found.runs, found.void, found.shown), (3, 1, false));
    }

    #[test]
    fn six_of_six_are_shown_and_five_of_five_are_not() {
        for (n, shown) in [(5, false), (6, true)] {
            let tasks: Vec<String> = (0..n).map(|n| format!("t{n}")).collect();
            let both =
                |task: &String| [entry("a", task, 0, Verdict::Failed), entry("b", task, 0, Verdict::Solved)];
            let entries: Vec<Entry> = tasks.iter().flat_map(both).collect();
            assert_eq!(compare(&entries, "p/m", "a", "b").shown, shown, "{n}");
        }
    }

    #[test]
    fn another_model_at_the_server_makes_it_void() {
        let mut entries: Vec<Entry> = (0..8)
            .flat_map(|n| {
                let task = format!("t{n}");
                [entry("a", &task, 0, Verdict::Solved), entry("b", &task, 0, Verdict::Failed)]
            })
            .collect();
        assert!(compare(&entries, "p/m", "a", "b").shown);
        entries.iter_mut().for_each(|entry| entry.served = Some("one".into()));
        assert!(compare(&entries, "p/m", "a", "b").shown);
        entries[5].served = Some("two".into());
        let found = compare(&entries, "p/m", "a", "b");
        assert!(found.invalid.is_some() && !found.shown);
    }

    #[test]
    fn the_best_is_who_solves_most_then_who_takes_fewest_tokens() {
        let with = |mut entry: Entry, output: u64| {
            entry.usage.output = output;
            entry
        };
        let entries = [
            with(entry("dear", "t", 0, Verdict::Solved), 900),
            with(entry("cheap", "t", 0, Verdict::Solved), 300),
            with(entry("useless", "t", 0, Verdict::Failed), 1),
        ];
        let best = recommend(&entries);
        assert_eq!((best[0].harness.as_str(), best[0].against.b.as_str()), ("cheap", "dear"));
        assert_eq!(recommend(&entries[2..]), []);
        assert_eq!(
            recommend(&[entry("a", "t", 0, Verdict::Failed), entry("b", "t", 0, Verdict::Failed)]),
            []
        );
    }
}
