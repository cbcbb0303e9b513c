//! A project in a home folder of its own, and commands run in it under a policy.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tack::sandbox::{
    Cmd, EnvWish, Exit, Io, Linux, Mode, Policy, Running, Sandbox, Scratch, Tier, Wish, denial_hint,
};

pub(crate) const TACK: &str = env!("CARGO_BIN_EXE_tack");

pub(crate) struct Cell {
    /// Holds `home` and everything else of the test; not below /tmp, which is private to commands.
    pub(crate) top: tempfile::TempDir,
    pub(crate) proj: PathBuf,
    pub(crate) policy: Policy,
    linux: Linux,
    scratch: Scratch,
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: Exit,
    pub(crate) text: String,
    pub(crate) hint: Option<String>,
    pub(crate) survivors: usize,
}

impl Ran {
    pub(crate) fn ok(&self) -> bool {
        self.exit == Exit::Code(0)
    }
}

impl Cell {
    pub(crate) fn new(tier: Tier) -> Cell {
        Cell::with(tier, |_| {})
    }

    pub(crate) fn with(tier: Tier, change: impl FnOnce(&mut Wish)) -> Cell {
        let base = Path::new(TACK).parent().unwrap().join("cells");
        std::fs::create_dir_all(&base).unwrap();
        let top = tempfile::tempdir_in(base).unwrap();
        let home = top.path().join("home");
        let proj = home.join("proj");
        std::fs::create_dir_all(&proj).unwrap();
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::write(home.join(".ssh/id"), "private\n").unwrap();
        std::fs::write(home.join(".netrc"), "password\n").unwrap();
        git(&proj, &["init", "-q", "-b", "main"]);
        git(&proj, &["config", "user.email", "a@example.org"]);
        git(&proj, &["config", "user.name", "a"]);
        let scratch = Scratch::make(&top.path().join("cache")).unwrap();
        let mut wish = Wish {
            home: Some(home),
            tmp: Some(scratch.path().into()),
            ..Wish::new(Mode::WorkspaceWrite, &proj)
        };
        change(&mut wish);
        let policy = wish.settle().unwrap().policy;
        Cell { top, proj, policy, linux: Linux::with_tier(TACK, tier), scratch }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.top.path().join("home")
    }

    pub(crate) fn tmp(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) fn cmd(&self, script: &str) -> Cmd {
        let vars: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let mut env = EnvWish { vars, ..EnvWish::default() }.build(&self.policy);
        env.retain(|(name, _)| name != "HOME");
        env.push(("HOME".into(), self.home().into()));
        Cmd {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            cwd: self.policy.cwd.clone(),
            env,
            io: Io::Captured,
        }
    }

    pub(crate) fn sh(&self, script: &str) -> Ran {
        block_on(async {
            finish(self.linux.spawn(&self.policy, &self.cmd(script)).await.unwrap(), self).await
        })
    }

    /// The same command with nothing around it: what it attempts must be possible.
    pub(crate) fn control(&self, script: &str) -> Ran {
        let open = Policy { mode: Mode::DangerFullAccess, ..self.policy.clone() };
        block_on(async { finish(self.linux.spawn(&open, &self.cmd(script)).await.unwrap(), self).await })
    }

    pub(crate) fn python(&self, code: &str) -> Ran {
        self.sh(&python(code))
    }
}

pub(crate) fn python(code: &str) -> String {
    format!("exec python3 -c {}", shlex::try_quote(code).unwrap())
}

async fn finish(mut running: Box<dyn Running>, cell: &Cell) -> Ran {
    let limit = Duration::from_secs(60);
    let mut text = Vec::new();
    let exit = tokio::time::timeout(limit, collect(running.as_mut(), &mut text)).await.expect("ends in time");
    let ended = running.end(Duration::from_millis(100)).await;
    let text = String::from_utf8_lossy(&text).into_owned();
    let hint = denial_hint(&cell.policy, &text);
    Ran { exit, text, hint, survivors: ended.survivors }
}

async fn collect(running: &mut dyn Running, text: &mut Vec<u8>) -> Exit {
    use tack::sandbox::Happened;
    let mut buf = vec![0; 65536];
    let exit = loop {
        match running.next(&mut buf).await.unwrap() {
            Happened::Output(got) => text.extend_from_slice(&buf[..got]),
            Happened::Exited(exit) => break exit,
        }
    };
    let rest = Duration::from_millis(200);
    while let Ok(Ok(got)) = tokio::time::timeout(rest, running.read(&mut buf)).await {
        if got == 0 {
            break;
        }
        text.extend_from_slice(&buf[..got]);
    }
    exit
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap().block_on(work)
}

pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let out = std::process::Command::new("git")
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Whether this machine holds a tier; says so aloud when a test is skipped for it.
pub(crate) fn holds(tier: Tier) -> bool {
    let report = block_on(tack::sandbox::probe::examine(TACK.into()));
    let index = usize::from(tier == Tier::Landlock);
    let holds = report.layers[index].holds;
    if !holds {
        eprintln!("SKIPPED: this machine does not hold {tier:?}: {:?}", report.layers[index].fault);
    }
    holds
}
