//! Tasks of the bench: those that ship are sound, and those that are not are told so.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tack::bench::{Room, Task, Tested, selftest_all};
use tack::sandbox::{Linux, Mode, Tier, Wish};
use tokio_util::sync::CancellationToken;

use super::cell::{TACK, block_on, holds};

/// A place for tasks and their scratch folders, not below /tmp, which commands do not see.
struct Place {
    top: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let base = Path::new(TACK).parent().unwrap().join("cells");
        std::fs::create_dir_all(&base).unwrap();
        Place { top: tempfile::tempdir_in(base).unwrap() }
    }

    fn test(&self, tasks: &[Task]) -> Vec<Tested> {
        let sandbox = Linux::with_tier(TACK, Tier::Namespaces);
        let vars: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let wish = Wish::new(Mode::WorkspaceWrite, self.top.path());
        let (scratch, cancel) = (self.top.path().join("scratch"), CancellationToken::new());
        let room = Room { sandbox: &sandbox, wish: &wish, vars: &vars, scratch: &scratch, cancel: &cancel };
        block_on(selftest_all(tasks, &room, 4))
    }
}

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/tasks")
}

fn tasks() -> Vec<Task> {
    Task::all(&shipped()).into_iter().map(|task| task.unwrap()).collect()
}

#[test]
fn every_task_that_ships_tells_done_from_not_done() {
    if !holds(Tier::Namespaces) {
        return;
    }
    let tasks = tasks();
    let tested = Place::new().test(&tasks);
    let wrong: Vec<String> = tasks
        .iter()
        .zip(&tested)
        .filter_map(|(task, tested)| match tested {
            Tested::Good => None,
            Tested::Skipped(why) => {
                eprintln!("SKIPPED {}: {why}", task.name);
                None
            }
            Tested::Unsolved => Some(format!("{}: no solve", task.name)),
            Tested::Bad(faults) => Some(format!("{}: {}", task.name, faults.join("; "))),
        })
        .collect();
    assert_eq!(wrong, [""; 0]);
}
