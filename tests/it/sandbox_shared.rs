//! What a cell shares with the machine or with the user's other folders, and must not change there.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::fs;

use tack::sandbox::{Exit, GitAccess, Tier};

use super::cell::{Cell, git, holds};
use super::sandbox::refused_to_root;

const FULL: Tier = Tier::Namespaces;

#[test]
fn devices_work_but_stay_as_they_are() {
    if !holds(FULL) {
        return;
    }
    let cell = Cell::new(FULL);
    // To the mode they have: where it works nothing changes.
    for script in [
        "chmod 666 /dev/null",
        "chmod 666 /dev/full",
        "touch -r /dev/null /dev/null",
        "python3 -c 'import os; os.fchmod(0, 0o666)'",
    ] {
        refused_to_root(&cell, script);
    }
    if rustix::process::getuid().is_root() {
        assert!(!cell.sh("chmod 666 /etc/shadow || chmod 666 /proc/keys").ok(), "what covers is a device");
    }
    let ran = cell.sh("echo x > /dev/null && cat /dev/null && head -c 2 /dev/zero | wc -c && cat");
    assert_eq!((ran.ok(), ran.text.trim()), (true, "2"));
}

/// What the next git run in a folder would start.
fn monitor(dir: &std::path::Path) -> String {
    let out = std::process::Command::new("git").args(["config", "core.fsmonitor"]).current_dir(dir).output();
    String::from_utf8_lossy(&out.unwrap().stdout).into_owned()
}

#[test]
fn a_linked_worktree_keeps_its_repository() {
    if !holds(FULL) {
        return;
    }
    let cell = Cell::with(FULL, |wish| wish.git = GitAccess::Commit);
    let other = cell.home().join("other");
    git(&cell.proj, &["commit", "-q", "--allow-empty", "-m", "1"]);
    git(&cell.proj, &["worktree", "add", "-q", other.to_str().unwrap()]);
    let plant = "mkdir -p evil && cp -r .git/HEAD .git/objects .git/refs evil/ \
        && printf '[core]\\nrepositoryformatversion = 0\\nfsmonitor = evil\\n' > evil/config \
        && echo \"$PWD/evil\" > .git/worktrees/other/commondir";
    let inside = cell.sh(plant);
    assert_eq!((monitor(&other).as_str(), inside.exit), ("", Exit::Code(125)), "{}", inside.text);
    assert!(inside.text.contains("worktrees/other/commondir led out"), "{}", inside.text);
    git(&other, &["status"]);
    let config = "printf '[core]\\nfsmonitor = evil\\n' > .git/worktrees/other/config.worktree";
    assert_eq!(cell.sh(config).exit, Exit::Code(125));
    assert!(!cell.proj.join(".git/worktrees/other/config.worktree").exists());
    let ran = cell.sh("git worktree add -q new && git -C new status && git worktree remove new");
    assert!(ran.ok(), "{}", ran.text);
    fs::remove_dir_all(cell.proj.join("evil")).unwrap();
    assert!(cell.control(plant).ok());
    assert_eq!(monitor(&other), "evil\n", "control");
}
