//! Tasks of the bench: those that ship are sound, and those that are not are told so.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tack::bench::{Room, Task, Tested, selftest_all};
use tack::sandbox::{Linux, Mode, Tier, Wish};
use tokio_util::sync::CancellationToken;

use super::cell::{TACK, block_on, holds};

/// A place for tasks and their scratch folders, not below /tmp, which commands do not see.
pub(crate) struct Place {
    pub(crate) top: tempfile::TempDir,
    sandbox: Linux,
    wish: Wish,
    vars: Vec<(OsString, OsString)>,
    scratch: PathBuf,
    cancel: CancellationToken,
}

impl Place {
    pub(crate) fn new() -> Place {
        let base = Path::new(TACK).parent().unwrap().join("cells");
        std::fs::create_dir_all(&base).unwrap();
        let top = tempfile::tempdir_in(base).unwrap();
        Place {
            sandbox: Linux::with_tier(TACK, Tier::Namespaces),
            wish: Wish::new(Mode::WorkspaceWrite, top.path()),
            vars: std::env::vars_os().collect(),
            scratch: top.path().join("scratch"),
            cancel: CancellationToken::new(),
            top,
        }
    }

    pub(crate) fn room(&self) -> Room<'_> {
        Room {
            sandbox: &self.sandbox,
            wish: &self.wish,
            vars: &self.vars,
            scratch: &self.scratch,
            cancel: &self.cancel,
        }
    }

    /// A task folder of these files, which need not be a good one.
    fn task(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let dir = self.top.path().join("tasks").join(name);
        for (path, text) in files {
            let path = dir.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        dir
    }

    pub(crate) fn test(&self, tasks: &[Task]) -> Vec<Tested> {
        block_on(selftest_all(tasks, &self.room(), 4))
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

const ASK: &str = "prompt = \"make x.txt\"\nlimits.check_seconds = 1\n";

#[test]
fn what_is_no_task_is_told_where_and_why() {
    let check = ("check", "#!/bin/sh\nexit 1\n");
    for (files, told) in [
        (&[("task.toml", ASK)][..], "t/check: is missing; a task without it has no result"),
        (&[check], "t/task.toml: No such file or directory (os error 2)"),
        (
            &[("task.toml", ASK), ("check", "test -f x.txt\n")],
            "t/check: is no script: begin it with #!/bin/sh",
        ),
        (
            &[("task.toml", ASK), check, ("solve", "touch x.txt\n")],
            "t/solve: is no script: begin it with #!/bin/sh",
        ),
        (
            &[("task.toml", "prompt = \" \"\n"), check],
            "t/task.toml: prompt is empty; say what the person asks for",
        ),
        (&[("task.toml", "tags = []\n"), check], "t/task.toml:1: missing field `prompt`"),
        (
            &[("task.toml", "prompt = \"a\"\ntag = [\"x\"]\n"), check],
            "t/task.toml: there is no key `tag`; did you mean `tags`?",
        ),
        (
            &[("task.toml", "prompt = \"a\"\n[limits]\nturn = 2\n"), check],
            "t/task.toml: there is no key `limits.turn`; did you mean `turns`?",
        ),
        (&[("task.toml", "prompt = \"a\"\n[limits]\nturns = 0\n"), check], "t/task.toml: limits begin at 1"),
        (
            &[("task.toml", "prompt = \"a\"\nkept = \"yes\"\n"), check],
            "t/task.toml:2: invalid type: string \"yes\", expected a boolean",
        ),
        (&[("task.toml", "prompt = \"a\n"), check], "t/task.toml:1: invalid basic string, expected `\"`"),
    ] {
        let place = Place::new();
        let error = Task::load(&place.task("t", files)).unwrap_err();
        assert_eq!(error.to_string(), told);
    }
}

#[test]
fn a_folder_of_tasks_gives_them_by_name_and_the_bad_ones_as_errors() {
    let place = Place::new();
    let good = [("task.toml", ASK), ("check", "#!/bin/sh\nexit 1\n")];
    place.task("b", &good);
    place.task("c", &good[..1]);
    place.task(".hidden", &[]);
    let dir = place.task("a", &good).parent().unwrap().to_owned();
    std::fs::write(dir.join("README.md"), "about tasks\n").unwrap();
    let told: Vec<String> = Task::all(&dir)
        .into_iter()
        .map(|task| task.map_or_else(|error| error.to_string(), |task| task.name))
        .collect();
    assert_eq!(told, ["a", "b", "c/check: is missing; a task without it has no result"]);
    let none = Task::all(&dir.join("a"));
    assert!(none[0].as_ref().unwrap_err().to_string().ends_with("a: holds no task folders"), "{none:?}");
}

#[test]
fn a_task_that_changed_is_another_task() {
    let place = Place::new();
    let check = ("check", "#!/bin/sh\nexit 1\n");
    let hash = |name: &str, files: &[(&str, &str)]| Task::load(&place.task(name, files)).unwrap().hash;
    let first = hash("a", &[("task.toml", ASK), check, ("files/x", "1"), ("files/y", "")]);
    assert_eq!(first, hash("same", &[("task.toml", ASK), check, ("files/x", "1"), ("files/y", "")]));
    assert_ne!(first, hash("moved", &[("task.toml", ASK), check, ("files/x", ""), ("files/y", "1")]));
    assert_ne!(first, hash("fewer", &[("task.toml", ASK), check, ("files/x", "1")]));
}

/// What the selftest says of a task with these scripts.
fn said(check: &str, solve: &str) -> String {
    let place = Place::new();
    let scripts = [("check", format!("#!/bin/sh\n{check}\n")), ("solve", format!("#!/bin/sh\n{solve}\n"))];
    let mut files = vec![("task.toml", ASK), ("files/given.txt", "given\n")];
    files.extend(scripts.iter().map(|(name, text)| (*name, text.as_str())));
    let task = Task::load(&place.task("t", &files)).unwrap();
    match place.test(&[task]).remove(0) {
        Tested::Good => "good".to_owned(),
        Tested::Unsolved => "unsolved".to_owned(),
        Tested::Bad(faults) => faults.join("\n"),
        Tested::Skipped(why) => format!("skipped: {why}"),
    }
}

#[test]
fn a_check_that_cannot_tell_is_found_out() {
    if !holds(Tier::Namespaces) {
        return;
    }
    let test = "[ -f x.txt ] || { echo no x.txt; exit 1; }";
    for (check, solve, told) in [
        (test, "touch x.txt", "good"),
        ("grep -qw 42 \"$TACK_ANSWER\" || { echo no 42; exit 1; }", "echo it is 42", "good"),
        (
            "cmp -s given.txt \"$TACK_FILES/given.txt\" && { echo the same; exit 1; }; true",
            "echo x > given.txt",
            "good",
        ),
        ("exit 0", "touch x.txt", "check passes on the untouched folder"),
        (
            "[ -f x.txt ]",
            "touch x.txt",
            "check prints nothing when it says no; let its last line say what is wrong",
        ),
        (test, "touch y.txt", "check says no after solve: no x.txt"),
        (test, "echo cannot >&2; exit 3", "solve failed: cannot"),
        ("sleep 60", "touch x.txt", "check hung, and was ended after 1 s"),
        ("while :; do echo busy; done", "touch x.txt", "check hung, and was ended after 1 s"),
        (test, "touch x.txt; sleep 60", "solve failed: hung, and was ended after 1 s"),
        (test, "sleep 60 & touch x.txt", "solve leaves processes behind (1)"),
        (
            "no-such-program",
            "touch x.txt",
            "check could not be run: /tmp/script: 2: no-such-program: not found",
        ),
        ("kill -9 $$", "touch x.txt", "check was ended by signal 9"),
    ] {
        assert_eq!(said(check, solve), told, "check: {check}; solve: {solve}");
    }
}

#[test]
fn a_check_that_writes_outside_is_refused_and_told() {
    if !holds(Tier::Namespaces) {
        return;
    }
    let told = said("echo x > ../outside; [ -f x.txt ] || { echo no x.txt; exit 1; }", "touch x.txt");
    assert!(
        told.starts_with("check tried what the sandbox does not allow: [sandbox] blocked: write "),
        "{told}"
    );
    assert!(told.contains("/outside"), "{told}");
}

#[test]
fn a_task_whose_program_is_missing_is_left_out() {
    let place = Place::new();
    let toml = "prompt = \"a\"\nneeds = [\"sh\", \"no-such-program\"]\n";
    let dir = place.task("t", &[("task.toml", toml), ("check", "#!/bin/sh\nexit 1\n")]);
    let tested = place.test(&[Task::load(&dir).unwrap()]);
    assert_eq!(tested, [Tested::Skipped("there is no no-such-program here".to_owned())]);
}

#[test]
fn enough_tasks_ship_and_half_of_each_kind_are_kept() {
    let tasks = tasks();
    let count = |tags: &[&str], kept: &[bool]| {
        let fits = |task: &&Task| tags.iter().all(|tag| task.tags.iter().any(|t| t == tag));
        tasks.iter().filter(fits).filter(|task| kept.contains(&task.kept)).count()
    };
    let both = &[true, false];
    assert_eq!(count(&["micro"], both) + count(&["edit"], both), tasks.len());
    assert_eq!(count(&["micro", "edit"], both), 0);
    for (tag, least) in [("micro", 24), ("edit", 16)] {
        let (all, kept) = (count(&[tag], both), count(&[tag], &[true]));
        assert!(all >= least, "{all} tasks of kind {tag}");
        assert!(kept.abs_diff(all - kept) <= 1, "{kept} of {all} {tag} tasks are kept");
    }
    assert_eq!((count(&["micro", "simple"], both), count(&["micro", "simple"], &[true])), (12, 6));
    assert_eq!((count(&["edit", "simple-edit"], both), count(&["edit", "simple-edit"], &[true])), (8, 4));
}

#[test]
fn the_tasks_in_the_binary_are_those_that_ship_and_are_mended_when_somebody_changes_them() {
    let place = Place::new();
    let cache = place.top.path().join("cache");
    let dir = Task::embedded(&cache).unwrap();
    let hashes = |dir: &Path| -> Vec<(String, String)> {
        Task::all(dir).into_iter().map(|task| task.unwrap()).map(|task| (task.name, task.hash)).collect()
    };
    assert_eq!(hashes(&dir), hashes(&shipped()));
    std::fs::write(dir.join("create-file/check"), "#!/bin/sh\n").unwrap();
    std::fs::remove_dir_all(dir.join("which-port")).unwrap();
    assert_eq!(Task::embedded(&cache).unwrap(), dir);
    assert_eq!(hashes(&dir), hashes(&shipped()));
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 1);
}
