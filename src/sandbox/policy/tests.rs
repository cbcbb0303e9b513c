//! Tests of policies: what is allowed, in tables.

use std::fs;
use std::path::{Path, PathBuf};

use super::{PolicyError, Wish};
use crate::sandbox::{GitAccess, Mode, Op, Policy, Verdict};

struct Home {
    _top: tempfile::TempDir,
    home: PathBuf,
}

impl Home {
    fn new() -> Home {
        let top = tempfile::tempdir_in("/var/tmp").unwrap();
        let home = top.path().canonicalize().unwrap().join("home");
        for dir in
            ["proj/.git/hooks", "proj/.git/objects", "proj/sub/.git", "other", ".ssh", "tmp", ".config/tack"]
        {
            fs::create_dir_all(home.join(dir)).unwrap();
        }
        fs::write(home.join("proj/.git/HEAD"), "ref: refs/heads/main").unwrap();
        Home { _top: top, home }
    }

    fn wish(&self, mode: Mode) -> Wish {
        Wish {
            home: Some(self.home.clone()),
            tmp: Some(self.home.join("tmp")),
            config_dirs: vec![self.home.join(".config/tack")],
            ..Wish::new(mode, self.home.join("proj"))
        }
    }

    fn says(&self, policy: &Policy, path: &str, op: Op) -> String {
        match policy.explain(&self.home.join(path), op) {
            Verdict::Allowed => "allowed".into(),
            Verdict::Denied(rule) => rule,
        }
    }
}

#[test]
fn hide_beats_protect_beats_write_beats_read() {
    let h = Home::new();
    let policy = h.wish(Mode::WorkspaceWrite).settle().unwrap().policy;
    for (path, op, expected) in [
        ("proj/a", Op::Write, "allowed"),
        ("proj/.gitignore", Op::Write, "allowed"),
        ("proj/.git/x", Op::Write, "--git commit"),
        ("proj/sub/.git/config", Op::Write, "only the user"),
        ("proj/new/.git/hooks/x", Op::Write, "only the user"),
        ("proj/.git/x", Op::Read, "allowed"),
        ("proj/.tack/config.toml", Op::Write, "steers other programs"),
        ("proj/.envrc", Op::Write, "read-only"),
        ("other/a", Op::Write, "outside the writable folders"),
        ("other/a", Op::Read, "allowed"),
        (".ssh/id", Op::Read, "hidden"),
        (".ssh/id", Op::Write, "hidden"),
        (".aws/credentials", Op::Read, "hidden"),
        (".config/tack/auth/keys.json", Op::Read, "hidden"),
        (".config/tack/config.toml", Op::Read, "hidden"),
        (".config/tack/harnesses/own/run.py", Op::Read, "allowed"),
        ("tmp/a", Op::Write, "allowed"),
        ("/tmp/a", Op::Write, "allowed"),
        ("/etc/passwd", Op::Write, "--add-dir DIR"),
        ("/etc/shadow", Op::Read, "hidden"),
    ] {
        let said = h.says(&policy, path, op);
        assert!(said.contains(expected), "{path} {op:?}: {said}");
    }
    let policy = h.wish(Mode::ReadOnly).settle().unwrap().policy;
    assert!(h.says(&policy, "proj/a", Op::Write).contains("-s workspace-write"));
    assert_eq!(h.says(&policy, "/tmp/a", Op::Write), "allowed");
    let policy = h.wish(Mode::DangerFullAccess).settle().unwrap().policy;
    assert_eq!(h.says(&policy, ".ssh/id", Op::Write), "allowed");
}

#[test]
fn commit_opens_the_repository_but_not_what_starts_programs() {
    let h = Home::new();
    let wish = Wish { git: GitAccess::Commit, ..h.wish(Mode::WorkspaceWrite) };
    let policy = wish.settle().unwrap().policy;
    for (path, allowed) in [
        ("proj/.git/index.lock", true),
        ("proj/.git/refs/heads/x", true),
        ("proj/.git/config", false),
        ("proj/.git/hooks/pre-commit", false),
        ("proj/.git/commondir", false),
        ("proj/.git/config.worktree", false),
        ("proj/sub/.git/index", true),
        ("proj/sub/.git/hooks/x", false),
    ] {
        assert_eq!(h.says(&policy, path, Op::Write) == "allowed", allowed, "{path}");
    }
    assert!(policy.write_roots.contains(&h.home.join("proj/.git")), "a mount point cannot be swapped");
}

#[test]
fn a_folder_inside_a_repository_reaches_it_only_for_commits() {
    let h = Home::new();
    fs::create_dir(h.home.join("proj/in")).unwrap();
    let wish = |git| Wish { git, cwd: h.home.join("proj/in"), ..h.wish(Mode::WorkspaceWrite) };
    let closed = wish(GitAccess::Read).settle().unwrap().policy;
    assert!(h.says(&closed, "proj/.git/index.lock", Op::Write).contains("--git commit"));
    let open = wish(GitAccess::Commit).settle().unwrap().policy;
    assert_eq!(h.says(&open, "proj/.git/index.lock", Op::Write), "allowed");
    assert!(h.says(&open, "proj/a", Op::Write).contains("outside"));
}

#[test]
fn the_home_folder_and_the_root_are_not_handed_out() {
    let h = Home::new();
    for cwd in [Path::new("/"), h.home.as_path(), h.home.parent().unwrap()] {
        let wish = Wish { cwd: cwd.into(), ..h.wish(Mode::WorkspaceWrite) };
        let settled = wish.settle().unwrap();
        assert_eq!(settled.policy.write_roots, Vec::<PathBuf>::new(), "{}", cwd.display());
        assert!(settled.notices[0].contains("--add-dir"), "{:?}", settled.notices);
    }
    let asked = Wish { add_dirs: vec!["/".into()], ..h.wish(Mode::WorkspaceWrite) };
    assert!(matches!(asked.settle(), Err(PolicyError::Root)));
}

#[test]
fn folders_that_cannot_be_used_are_said_so() {
    let h = Home::new();
    let at = |cwd: PathBuf| Wish { cwd, ..h.wish(Mode::WorkspaceWrite) }.settle();
    assert!(matches!(at(h.home.join("none")), Err(PolicyError::Folder { .. })));
    assert!(matches!(at(h.home.join("proj/.git/HEAD")), Err(PolicyError::NotFolder(_))));
    let hidden = at(h.home.join(".ssh")).unwrap_err().to_string();
    assert!(hidden.contains("hidden from commands") && hidden.contains("reveal"), "{hidden}");
    let homeless = Wish { home: Some("/nonexistent".into()), ..h.wish(Mode::WorkspaceWrite) };
    assert!(homeless.settle().is_ok());
}

#[test]
fn hide_adds_and_reveal_takes_away() {
    let h = Home::new();
    let wish =
        Wish { hide: vec!["~/other".into()], reveal: vec!["~/.ssh".into()], ..h.wish(Mode::WorkspaceWrite) };
    let policy = wish.settle().unwrap().policy;
    assert!(h.says(&policy, "other/a", Op::Read).contains("hidden"));
    assert_eq!(h.says(&policy, ".ssh/id", Op::Read), "allowed");
}

#[cfg(unix)]
#[test]
fn a_link_is_taken_for_what_it_leads_to() {
    let h = Home::new();
    fs::create_dir(h.home.join("vault")).unwrap();
    std::os::unix::fs::symlink("vault", h.home.join(".aws")).unwrap();
    let policy = h.wish(Mode::WorkspaceWrite).settle().unwrap().policy;
    assert!(h.says(&policy, "vault/x", Op::Read).contains("hidden"));
}
