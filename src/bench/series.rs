//! A series: all runs of a bench in an order that is fair, and when to stop.

use std::collections::VecDeque;

use anyhow::Context;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::run::{Job, Ran, Runner};
use super::{Entry, Key, Results, Subject, Task, Verdict, Void};
use crate::model::hash;

/// Void runs in a row after which it makes no sense to go on.
const VOID: usize = 3;

/// What is to be run.
pub struct Series {
    pub subjects: Vec<Subject>,
    pub tasks: Vec<Task>,
    /// Of each task.
    pub runs: u32,
    /// Shuffles the tasks, and goes to servers that take one.
    pub seed: Option<u64>,
    /// Runs at a time.
    pub parallel: usize,
    /// US dollars for all that is run now.
    pub max_cost: Option<f64>,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Finished {
    All,
    /// Somebody stopped it.
    Stopped,
    /// This much was spent.
    Spent(f64),
    /// Several runs in a row said nothing; why the last one did.
    Void(String),
}

/// A run that is over.
pub struct Progress<'a> {
    /// Counted with those that were there already.
    pub done: usize,
    pub of: usize,
    pub entry: &'a Entry,
}

impl Series {
    /// Every run that makes up the bench. Model by model, as local servers load one at a time; then
    /// task by task and run by run all harnesses in turn, so that none has the machine's good hours.
    pub fn jobs(&self) -> Vec<Job<'_>> {
        let mut models: Vec<String> = Vec::new();
        for subject in &self.subjects {
            if !models.contains(&subject.model_id()) {
                models.push(subject.model_id());
            }
        }
        let tasks = self.order();
        let mut jobs = Vec::new();
        for model in &models {
            for task in &tasks {
                for run in 0..self.runs {
                    let subjects = self.subjects.iter().filter(|subject| subject.model_id() == *model);
                    jobs.extend(subjects.map(|subject| self.job(subject, task, run)));
                }
            }
        }
        jobs
    }

    fn job<'a>(&'a self, subject: &'a Subject, task: &'a Task, run: u32) -> Job<'a> {
        let key = Key {
            model: subject.model_id(),
            class: subject.class(),
            harness: subject.name.clone(),
            surface: subject.surface.clone(),
            task: task.name.clone(),
            task_hash: task.hash.clone(),
            run,
            seed: self.seed.unwrap_or(0),
            tack: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let seed = self.seed.map(|seed| seed.wrapping_add(u64::from(run)));
        Job { subject, task, key, seed, cost: None }
    }

    fn order(&self) -> Vec<&Task> {
        let mut tasks: Vec<&Task> = self.tasks.iter().collect();
        if let Some(seed) = self.seed {
            // The same on every machine: by a hash, and no generator's state.
            tasks.sort_by_cached_key(|task| hash(format!("{seed} {}", task.name)));
        }
        tasks
    }

    /// Runs what `results` does not have yet, and adds it there.
    pub async fn run(
        &self,
        runner: &Runner,
        results: &mut Results,
        hear: &mut dyn FnMut(&Progress<'_>),
    ) -> anyhow::Result<Finished> {
        let all = self.jobs();
        let of = all.len();
        let mut waiting: VecDeque<Job> = all.into_iter().filter(|job| !results.has(&job.key)).collect();
        let mut done = of - waiting.len();
        let (mut spent, mut void) = (0.0, 0);
        let mut running = FuturesUnordered::new();
        loop {
            let left = self.max_cost.map(|most| most - spent);
            if let Some(left) = left
                && left <= 0.0
                && !waiting.is_empty()
            {
                return Ok(Finished::Spent(spent));
            }
            while running.len() < self.parallel.max(1)
                && let Some(job) = waiting.pop_front()
            {
                let share = left.map(|left| left / self.parallel.max(1) as f64);
                running.push(async move { runner.run(&Job { cost: share, ..job }).await });
            }
            let Some(ended) = running.next().await else { return Ok(Finished::All) };
            let entry = match ended? {
                Ran::Done(entry) => *entry,
                Ran::Stopped => return Ok(Finished::Stopped),
                Ran::Broke(cost) => return Ok(Finished::Spent(spent + cost)),
            };
            done += 1;
            spent += entry.cost.unwrap_or(0.0);
            void = if is_outage(&entry) { void + 1 } else { 0 };
            hear(&Progress { done, of, entry: &entry });
            let why = entry.why.clone();
            results.add(entry).with_context(|| format!("writing {}", results.path().display()))?;
            if void == VOID {
                return Ok(Finished::Void(why));
            }
        }
    }

    /// What is known of all runs of this bench, in order.
    pub fn entries(&self, results: &Results) -> Vec<Entry> {
        self.jobs().iter().filter_map(|job| results.find(&job.key).cloned()).collect()
    }
}

/// A check that hangs is one task's trouble; a server that is gone is everybody's.
fn is_outage(entry: &Entry) -> bool {
    match (entry.verdict, entry.void) {
        (Verdict::Void, Some(Void::Server | Void::Model | Void::Agent)) => true,
        (Verdict::Void, Some(Void::Check) | None)
        | (Verdict::Solved | Verdict::Failed | Verdict::Limit, _) => false,
    }
}
