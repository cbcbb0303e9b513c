//! The bench: which harness suits a model, measured on tasks.
//!
//! A [`Task`] is a folder; an [`Entry`] is what came of one run of it, one JSON line in the results
//! file, so that a bench which was stopped goes on where it was. Runs an [`crate::agent::Agent`] in a
//! fresh folder under the sandbox; how it is told to a person is for `cli`.

mod add;
mod check;
mod entry;
mod folder;
mod room;
mod selftest;
mod story;
mod task;

pub use add::{Added, Wanted, add};
pub use check::{CheckResult, Ruling, run_check, run_solve};
pub use entry::{Entry, Sign, Verdict};
pub use folder::copy;
pub use room::Room;
pub use selftest::{Tested, selftest, selftest_all};
pub use task::{Limits, Task, TaskError};
