//! Rows: the entries of one subject, summed up. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Entry, Sign, Verdict, Void};
use crate::model::{Class, Usage};

/// A model under a harness. Void runs are counted and nothing else.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub model: String,
    pub class: Class,
    pub harness: String,
    /// Runs that were solved.
    pub solved: u32,
    /// Runs that count.
    pub runs: u32,
    pub void: u32,
    /// None: nobody counted.
    pub usage: Option<Usage>,
    /// Prompt tokens that came from no cache.
    pub new: Option<u64>,
    /// New and output tokens of all runs by runs that were solved.
    pub per_solved: Option<u64>,
    /// US dollars; None when the price of a run is not known.
    pub cost: Option<f64>,
    /// Mean time of a run.
    pub seconds: f64,
    pub requests: u32,
    pub signs: BTreeMap<Sign, u32>,
    /// By task: runs solved, and runs that count.
    pub tasks: BTreeMap<String, (u32, u32)>,
}

/// One row for each subject, in the order in which they first appear.
pub fn rows(entries: &[Entry]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for entry in entries {
        let same = |row: &Row| row.model == entry.key.model && row.harness == entry.key.harness;
        if !rows.iter().any(same) {
            rows.push(Row::new(entry));
        }
        if let Some(row) = rows.iter_mut().find(|row| same(row)) {
            row.add(entry);
        }
    }
    for row in &mut rows {
        row.finish();
    }
    rows
}

impl Row {
    fn new(entry: &Entry) -> Self {
        Self {
            model: entry.key.model.clone(),
            class: entry.key.class,
            harness: entry.key.harness.clone(),
            solved: 0,
            runs: 0,
            void: 0,
            usage: None,
            new: None,
            per_solved: None,
            cost: Some(0.0),
            seconds: 0.0,
            requests: 0,
            signs: BTreeMap::new(),
            tasks: BTreeMap::new(),
        }
    }

    fn add(&mut self, entry: &Entry) {
        let task = self.tasks.entry(entry.key.task.clone()).or_default();
        if entry.verdict == Verdict::Void {
            self.void += 1;
            return;
        }
        let solved = u32::from(entry.verdict == Verdict::Solved);
        *task = (task.0 + solved, task.1 + 1);
        self.solved += solved;
        self.runs += 1;
        if entry.usage != Usage::default() {
            *self.usage.get_or_insert_default() += entry.usage;
        }
        self.cost = self.cost.zip(entry.cost).map(|(sum, cost)| sum + cost);
        // The sum, until it is finished.
        self.seconds += entry.seconds;
        self.requests += entry.requests;
        for (sign, times) in &entry.signs {
            *self.signs.entry(*sign).or_default() += times;
        }
    }

    fn finish(&mut self) {
        self.new = self.usage.map(|usage| usage.input.saturating_sub(usage.cached));
        let spent = self.usage.zip(self.new).map(|(usage, new)| new + usage.output);
        self.per_solved =
            spent.filter(|_| self.solved > 0).map(|spent| spent.div_ceil(u64::from(self.solved)));
        self.cost = self.cost.filter(|_| self.runs > 0);
        if self.runs > 0 {
            self.seconds /= f64::from(self.runs);
        }
    }

    /// The signs, the most frequent first.
    pub fn frequent(&self) -> Vec<(Sign, u32)> {
        let mut signs: Vec<(Sign, u32)> = self.signs.iter().map(|(sign, times)| (*sign, *times)).collect();
        signs.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        signs
    }
}

/// Why nothing can be said of these runs side by side: the server's model changed, in a run or from
/// one run to the next.
pub fn changed(entries: &[Entry]) -> Option<String> {
    if let Some(entry) = entries.iter().find(|entry| entry.void == Some(Void::Model)) {
        return Some(format!("the server changed its model while {} ran", entry.key.task));
    }
    let mut served: BTreeMap<&str, &str> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.verdict != Verdict::Void) {
        let Some(now) = entry.served.as_deref() else { continue };
        if *served.entry(&entry.key.model).or_insert(now) != now {
            return Some(format!(
                "the server had another model as {}, or another template, in some of the runs",
                entry.key.model
            ));
        }
    }
    None
}
