//! What calls are thought to need, in tables.

use std::fs;
use std::path::PathBuf;

use super::{needs, wants_network};
use crate::agent::permit::line::Line;
use crate::model::{Action, BlobId, Guards, Keep, Limits, Read, ShellRules};
use crate::sandbox::{GitAccess, Mode, Plain, Policy, Wish};
use crate::tools::{KeepBlob, ToolCx};

struct NoBlobs;

impl KeepBlob for NoBlobs {
    fn keep(&self, _: &[u8]) -> std::io::Result<BlobId> {
        Err(std::io::Error::other("none is kept"))
    }
}

pub(crate) struct Home {
    _top: tempfile::TempDir,
    pub(crate) home: PathBuf,
    env: Vec<(std::ffi::OsString, std::ffi::OsString)>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let top = tempfile::tempdir_in("/var/tmp").unwrap();
        let home = top.path().canonicalize().unwrap();
        for dir in ["proj/.git/hooks", "proj/src", "other", ".ssh", ".config/tack", "tmp"] {
            fs::create_dir_all(home.join(dir)).unwrap();
        }
        fs::write(home.join(".ssh/id"), "").unwrap();
        fs::write(home.join("other/file"), "").unwrap();
        let env = vec![("HOME".into(), home.clone().into())];
        Self { _top: top, home, env }
    }

    pub(crate) fn policy(&self, mode: Mode, git: GitAccess) -> Policy {
        let wish = Wish {
            home: Some(self.home.clone()),
            tmp: Some(self.home.join("tmp")),
            config_dirs: vec![self.home.join(".config/tack")],
            git,
            ..Wish::new(mode, self.home.join("proj"))
        };
        wish.settle().unwrap().policy
    }

    pub(crate) fn with<T>(&self, policy: &Policy, f: impl FnOnce(&ToolCx<'_>) -> T) -> T {
        let shell = ShellRules::default();
        f(&ToolCx {
            cwd: &policy.cwd,
            policy,
            sandbox: &Plain,
            env: &self.env,
            limits: Limits { bytes: 1000, lines: 100, keep: Keep::Head },
            shell_timeout: 1000,
            shell_timeout_most: 1000,
            needs_read: false,
            guards: Guards::default(),
            shell: &shell,
            elsewhere: Default::default(),
            asked: "",
            spill: &policy.cwd,
            blobs: &NoBlobs,
            cancel: Default::default(),
        })
    }

    /// The lifts in words, with the home folder as `~`.
    fn lifts(&self, policy: &Policy, action: &Action) -> String {
        let found = self.with(policy, |cx| needs(action, cx));
        let words: Vec<String> = found.iter().map(|need| need.lift.to_string()).collect();
        words.join(", ").replace(self.home.to_str().unwrap(), "~")
    }
}

#[test]
fn commands_need_what_they_name() {
    let home = Home::new();
    let policy = home.policy(Mode::WorkspaceWrite, GitAccess::Read);
    for (line, want) in [
        ("ls -la /usr", ""),
        ("cargo build", ""),
        ("echo x > a; touch src/b && mkdir -p c/d", ""),
        ("echo x > /tmp/a 2>/dev/null", ""),
        ("echo x > ../other/new", "~/other"),
        ("echo x >> ~/other/file", "~/other/file"),
        ("cp src/a ../other/", "~/other"),
        ("cp ../other/file src", ""),
        ("sed -i s/a/b/ ../other/file", "~/other/file"),
        ("cd ../other && touch x", "~/other"),
        ("cat ~/.ssh/id", "~/.ssh"),
        ("rm -rf /", ""),
        ("echo x > .git/hooks/pre-commit", ""),
        ("echo x > ~/.config/tack/config.toml", ""),
        ("echo x > .vscode/tasks.json", "~/proj/.vscode"),
        ("git status", ""),
        ("git commit -m x", "git commit"),
        ("git -C . add -A && git commit -m 'x y'", "git commit"),
        ("git branch", ""),
        ("git branch new", "git commit"),
        ("git tag -l", ""),
        ("git stash", "git commit"),
        ("cd /usr && git commit -m x", ""),
        ("git push origin main", "network, git commit"),
        ("curl https://example.org", "network"),
        ("npm run test", ""),
        ("npm ci", "network"),
        ("python3 -m pip install x", "network"),
        ("pip3 install -r a.txt", "network"),
        ("bash -c 'curl x > ../other/f'", "network, ~/other"),
        ("curl http://localhost:3000", ""),
        ("cargo fetch --help", ""),
    ] {
        assert_eq!(home.lifts(&policy, &Action::shell(line, None)), want, "{line}");
    }
}

#[test]
fn tools_need_what_they_touch() {
    let home = Home::new();
    let policy = home.policy(Mode::WorkspaceWrite, GitAccess::Read);
    let write = |path: &str| Action::Write { path: path.into(), text: "x".into(), mode: Default::default() };
    let read = |path: &str| Action::Read(Read { path: path.into(), ..Read::default() });
    let fetch = Action::Fetch {
        url: "https://x.example".into(),
        form: Default::default(),
        limit: None,
        timeout: None,
    };
    let patch = |path: &str| Action::Patch {
        text: format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"),
        cwd: None,
    };
    for (action, want) in [
        (write("a"), ""),
        (write("../other/new"), "~/other/new"),
        (write("../other/deep/new"), "~/other/deep"),
        (write(".git/config"), "~/proj/.git/config"),
        (write(".git/hooks/pre-commit"), "~/proj/.git/hooks/pre-commit"),
        (write(".git/commondir"), ""),
        (write(".vscode/tasks.json"), "~/proj/.vscode/tasks.json"),
        (write(".tack/config.toml"), ""),
        (write("~/.config/tack/config.toml"), ""),
        (write("~/.ssh/new"), ""),
        (patch("b"), ""),
        (patch("../other/b"), "~/other/b"),
        (read("/etc/passwd"), ""),
        (read("~/.ssh/id"), "~/.ssh"),
        (read("/proc/1/environ"), ""),
        (fetch, "network"),
    ] {
        assert_eq!(home.lifts(&policy, &action), want, "{action:?}");
    }
}

#[test]
fn nothing_is_needed_that_is_allowed() {
    let home = Home::new();
    let full = home.policy(Mode::DangerFullAccess, GitAccess::Read);
    let commit = home.policy(Mode::WorkspaceWrite, GitAccess::Commit);
    for line in ["git commit -m x", "git add a"] {
        assert_eq!(home.lifts(&full, &Action::shell(line, None)), "", "{line}");
        assert_eq!(home.lifts(&commit, &Action::shell(line, None)), "", "{line}");
    }
    assert_eq!(home.lifts(&full, &Action::shell("curl x > ~/a; cat ~/.ssh/id", None)), "");
}

#[test]
fn programs_are_known_to_want_the_network_by_their_first_words() {
    for (line, want) in [
        ("yarn", true),
        ("yarn test", false),
        ("uv run x", false),
        ("go build ./...", false),
        ("go get x", true),
        ("rsync -a a b", false),
        ("rsync -a a host:b", true),
        ("git log", false),
    ] {
        let read = Line::read(line);
        let (program, args) = read.commands[0].program();
        assert_eq!(wants_network(program, args), want, "{line}");
    }
}
