//! What lifts open, and what none opens.

use std::fs;
use std::path::PathBuf;

use crate::sandbox::{By, GitAccess, Lift, Mode, Net, Op, Policy, Verdict, Wish};

struct Home {
    _top: tempfile::TempDir,
    home: PathBuf,
}

impl Home {
    fn new() -> Home {
        let top = tempfile::tempdir_in("/var/tmp").unwrap();
        let home = top.path().canonicalize().unwrap().join("home");
        for dir in [
            "proj/.git/hooks",
            "proj/.git/objects",
            "proj/.vscode",
            "other/.git",
            ".ssh",
            "tmp",
            ".config/tack",
        ] {
            fs::create_dir_all(home.join(dir)).unwrap();
        }
        fs::write(home.join("proj/.git/HEAD"), "ref: refs/heads/main").unwrap();
        Home { _top: top, home }
    }

    fn policy(&self, mode: Mode) -> Policy {
        let wish = Wish {
            home: Some(self.home.clone()),
            tmp: Some(self.home.join("tmp")),
            config_dirs: vec![self.home.join(".config/tack")],
            ..Wish::new(mode, self.home.join("proj"))
        };
        wish.settle().unwrap().policy
    }

    fn allows(&self, policy: &Policy, op: Op, path: &str) -> bool {
        policy.explain(&self.home.join(path), op) == Verdict::Allowed
    }
}

#[test]
fn a_path_opens_itself_and_nothing_that_steers_programs() {
    let h = Home::new();
    let policy = h.policy(Mode::WorkspaceWrite);
    let lift = |path: &str| policy.lifted(&Lift::Path(h.home.join(path)));
    let writes = |policy: &Policy, path: &str| h.allows(policy, Op::Write, path);
    let other = lift("other").unwrap();
    assert!(writes(&other, "other/a") && writes(&other, "proj/a"));
    for path in ["a", "other/.git/x", "other/.vscode/x", "other/.tack/x", "proj/.git/x", ".config/tack/x"] {
        assert!(!writes(&other, path), "{path}");
    }
    // All of the home folder leaves what is hidden hidden, and tack's own folders alone.
    let all = h.policy(Mode::WorkspaceWrite).lifted(&Lift::Path(h.home.clone())).unwrap();
    assert!(writes(&all, ".bashrc"));
    assert!(!writes(&all, ".config/tack/config.toml") && !h.allows(&all, Op::Read, ".ssh/id"));

    let code = lift("proj/.vscode").unwrap();
    assert!(writes(&code, "proj/.vscode/tasks.json") && !writes(&code, "proj/.envrc"));
    let ssh = lift(".ssh").unwrap();
    assert!(h.allows(&ssh, Op::Read, ".ssh/id") && !writes(&ssh, ".ssh/id"));
    for path in [
        "proj/.vscode/tasks.json",
        ".ssh/id",
        "proj/.git",
        "proj/.git/hooks",
        "proj/.git/hooks/pre-commit",
        "proj/.tack",
        "proj/.tack/config.toml",
        ".config/tack",
        ".config/tack/auth.json",
        "other/.git",
        "/",
    ] {
        assert!(lift(path).is_none(), "{path}");
    }
}

#[test]
fn git_opens_its_folder_but_not_what_starts_programs() {
    let h = Home::new();
    let policy = h.policy(Mode::WorkspaceWrite);
    let lifted = policy.lifted(&Lift::GitCommit).unwrap();
    assert!(h.allows(&lifted, Op::Write, "proj/.git/index"));
    for path in ["proj/.git/hooks/x", "proj/.git/config", "proj/.git/commondir", "proj/.vscode/x", "other/a"]
    {
        assert!(!h.allows(&lifted, Op::Write, path), "{path}");
    }
    let wish = Wish {
        home: Some(h.home.clone()),
        tmp: Some(h.home.join("tmp")),
        config_dirs: vec![h.home.join(".config/tack")],
        git: GitAccess::Commit,
        ..Wish::new(Mode::WorkspaceWrite, h.home.join("proj"))
    };
    assert_eq!(lifted, wish.settle().unwrap().policy, "as if it had been asked for at the start");
    let code = policy.lifted(&Lift::Path(h.home.join("proj/.vscode"))).unwrap();
    let both = code.lifted(&Lift::GitCommit).unwrap();
    assert!(h.allows(&both, Op::Write, "proj/.vscode/x") && h.allows(&both, Op::Write, "proj/.git/index"));
    assert_eq!(lifted.lifted(&Lift::GitCommit), None);
    assert_eq!(h.policy(Mode::ReadOnly).lifted(&Lift::GitCommit), None);
}

#[test]
fn each_lift_opens_one_thing() {
    let h = Home::new();
    let policy = h.policy(Mode::WorkspaceWrite);
    let net = policy.lifted(&Lift::Network).unwrap();
    assert_eq!(Policy { net: Net::Off, ..net }, policy);
    let none = policy.lifted(&Lift::NoSandbox).unwrap();
    assert_eq!((none.mode, none.tmp.as_ref()), (Mode::DangerFullAccess, None));
    let read_only = h.policy(Mode::ReadOnly).lifted(&Lift::Path(h.home.join("other"))).unwrap();
    assert!(h.allows(&read_only, Op::Write, "other/a") && !h.allows(&read_only, Op::Write, "proj/a"));
    let mut order = [Lift::NoSandbox, Lift::Network, Lift::GitCommit, Lift::Path("/a".into())];
    order.sort();
    assert_eq!(order, [Lift::Path("/a".into()), Lift::GitCommit, Lift::Network, Lift::NoSandbox]);
}

#[test]
fn a_file_that_steers_is_opened_alone() {
    let h = Home::new();
    let policy = h.policy(Mode::WorkspaceWrite);
    let hook = h.home.join("proj/.git/hooks/pre-commit");
    let lifted = policy.lifted(&Lift::Steering(hook)).unwrap();
    assert!(h.allows(&lifted, Op::Write, "proj/.git/hooks/pre-commit"));
    for path in ["proj/.git/hooks/other", "proj/.git/hooks", "proj/.git/config", "proj/.git/index"] {
        assert!(!h.allows(&lifted, Op::Write, path), "{path}");
    }
    // Mounts and Landlock know nothing of it: a command gets what it had.
    assert_eq!(Policy { opened: Vec::new(), ..lifted }, policy);
}

#[test]
fn the_narrowest_lift_is_found() {
    let h = Home::new();
    let policy = h.policy(Mode::WorkspaceWrite);
    let at = |path: &str| Some(Lift::Path(h.home.join(path)));
    let steering = |path: &str| Some(Lift::Steering(h.home.join(path)));
    for (path, op, by, want) in [
        ("proj/a", Op::Write, By::Tool, None),
        ("other/new", Op::Write, By::Tool, at("other/new")),
        ("other/new", Op::Write, By::Command, at("other")),
        ("other/a/b/c", Op::Write, By::Tool, at("other/a")),
        ("other", Op::Write, By::Command, at("other")),
        ("proj/.vscode/x", Op::Write, By::Command, at("proj/.vscode")),
        ("proj/.git/index", Op::Write, By::Command, Some(Lift::GitCommit)),
        ("proj/.git/hooks/x", Op::Write, By::Command, None),
        ("proj/.git/config", Op::Write, By::Command, None),
        ("proj/.git/hooks/x", Op::Write, By::Tool, steering("proj/.git/hooks/x")),
        ("proj/.git/config", Op::Write, By::Tool, steering("proj/.git/config")),
        ("proj/sub/.git/hooks/x", Op::Write, By::Tool, steering("proj/sub/.git/hooks/x")),
        ("proj/.vscode/x", Op::Write, By::Tool, steering("proj/.vscode/x")),
        ("proj/.envrc", Op::Write, By::Tool, steering("proj/.envrc")),
        ("proj/.git/hooks", Op::Write, By::Tool, None),
        ("proj/.git/commondir", Op::Write, By::Tool, None),
        ("proj/.git/config.worktree", Op::Write, By::Tool, None),
        ("other/.git/config", Op::Write, By::Tool, None),
        ("proj/.tack/x", Op::Write, By::Tool, None),
        ("proj/.tack/hooks/.git/config", Op::Write, By::Tool, None),
        (".ssh/id", Op::Read, By::Command, at(".ssh")),
        (".ssh/id", Op::Write, By::Command, None),
        (".config/tack/config.toml", Op::Write, By::Tool, None),
        ("/proc/1/environ", Op::Read, By::Tool, None),
    ] {
        assert_eq!(policy.lift_for(&h.home.join(path), (op, by)), want, "{path} {by:?}");
    }
}
