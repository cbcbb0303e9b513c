//! The bench: which harness suits a model, measured on tasks.
//!
//! A [`Task`] is a folder; an [`Entry`] is what came of one run of it, one JSON line in the results
//! file, so that a bench which was stopped goes on where it was. A [`Series`] of runs is made by a
//! [`Runner`]: an [`crate::agent::Agent`], or an agent that is not ours, in a fresh folder under the
//! sandbox. What the entries show is worked out by pure functions over them: [`rows`], [`compare()`],
//! [`recommend`]. How it is told to a person is for `cli`.

mod add;
mod check;
mod compare;
mod entry;
mod external;
mod folder;
mod left;
mod results;
mod room;
mod run;
mod selftest;
mod series;
mod served;
mod signs;
mod story;
mod subject;
mod table;
mod task;
#[cfg(test)]
mod testing;
mod watch;

pub use add::{Added, Wanted, add};
pub use check::{CheckResult, Ruling, run_check, run_solve};
pub use compare::{Compared, DECISIVE, Recommended, compare, recommend, sign_test};
pub use entry::{Entry, Key, Sign, Verdict, Void};
pub use folder::copy;
pub use left::Left;
pub use results::Results;
pub use room::Room;
pub use run::{Job, Ran, Runner};
pub use selftest::{Tested, selftest, selftest_all};
pub use series::{Finished, Progress, Series};
pub use signs::signs;
pub use subject::{External, Own, Player, Subject};
pub use table::{Row, changed, rows};
pub use task::{Limits, Task, TaskError};
