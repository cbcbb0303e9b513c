//! A toolbox in a fresh folder with full access, so that a test is: files, action, outcome.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tack::model::{Action, BlobId, Edit, Keep, Limits, Outcome, Read};
use tack::sandbox::{Caps, GitAccess, Mode, Net, Plain, Policy, Sandbox};
use tack::tools::{Elsewhere, KeepBlob, ToolCx, Toolbox};
use tokio_util::sync::CancellationToken;

pub struct Bench {
    /// Removed at the end.
    _dir: tempfile::TempDir,
    pub cwd: PathBuf,
    pub spill: PathBuf,
    pub toolbox: Toolbox,
    pub policy: Policy,
    pub env: Vec<(OsString, OsString)>,
    pub limits: Limits,
    pub needs_read: bool,
    pub guards: tack::model::Guards,
    pub shell: tack::model::ShellRules,
    pub elsewhere: Elsewhere,
    pub asked: String,
    pub shell_timeout: u64,
    pub shell_timeout_most: u64,
    pub cancel: CancellationToken,
    pub blobs: Blobs,
    pub sandbox: Box<dyn Sandbox>,
}

#[derive(Default)]
pub struct Blobs(pub Mutex<Vec<Vec<u8>>>);

impl KeepBlob for Blobs {
    fn keep(&self, bytes: &[u8]) -> std::io::Result<BlobId> {
        let mut kept = self.0.lock().unwrap();
        kept.push(bytes.to_vec());
        Ok(BlobId(format!("blob{}", kept.len())))
    }
}

impl Bench {
    pub fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    pub fn within(folder: &Path) -> Self {
        let dir = tempfile::tempdir_in(folder).unwrap();
        let base = dir.path().canonicalize().unwrap();
        let cwd = base.join("work");
        std::fs::create_dir(&cwd).unwrap();
        let policy = Policy {
            mode: Mode::DangerFullAccess,
            cwd: cwd.clone(),
            write_roots: vec![cwd.clone()],
            protect: vec![],
            hide: vec![],
            own: vec![],
            watch: vec![],
            opened: vec![],
            net: Net::Full,
            git: GitAccess::Commit,
            tmp: None,
            limits: Caps { processes: 1000, address_space: None },
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let env = vec![("PATH".into(), path), ("HOME".into(), base.clone().into_os_string())];
        Self {
            _dir: dir,
            spill: base.join("spill"),
            cwd,
            toolbox: Toolbox::default(),
            policy,
            env,
            limits: Limits { bytes: 16 * 1024, lines: 400, keep: Keep::Both { head_percent: 50 } },
            needs_read: false,
            guards: tack::model::Guards::default(),
            shell: tack::model::ShellRules::default(),
            elsewhere: Elsewhere::default(),
            asked: String::new(),
            shell_timeout: 60_000,
            shell_timeout_most: 600_000,
            cancel: CancellationToken::new(),
            blobs: Blobs::default(),
            sandbox: Box::new(Plain),
        }
    }

    pub fn file(self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.put(name, bytes);
        self
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.cwd.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.cwd.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn exists(&self, name: &str) -> bool {
        self.cwd.join(name).exists()
    }

    pub fn cx(&self) -> ToolCx<'_> {
        ToolCx {
            guards: self.guards,
            shell: &self.shell,
            elsewhere: self.elsewhere,
            asked: &self.asked,
            cwd: &self.cwd,
            policy: &self.policy,
            sandbox: self.sandbox.as_ref(),
            env: &self.env,
            limits: self.limits.clone(),
            shell_timeout: self.shell_timeout,
            shell_timeout_most: self.shell_timeout_most,
            needs_read: self.needs_read,
            spill: &self.spill,
            blobs: &self.blobs,
            cancel: self.cancel.clone(),
        }
    }

    pub async fn run(&self, action: &Action) -> Outcome {
        self.toolbox.run(action, &self.cx()).await
    }

    pub async fn shell(&self, command: &str) -> Outcome {
        self.run(&shell(command)).await
    }

    /// Asks a job for its output until it has printed this.
    pub async fn job_says(&self, id: &str, wanted: &str) -> String {
        let mut all = String::new();
        let ask = Action::Job {
            op: tack::model::JobOp::Output,
            id: id.into(),
            wait: None,
            input: None,
            close_stdin: false,
        };
        eventually(async || {
            all.push_str(self.run(&ask).await.data["output"].as_str().unwrap());
            all.contains(wanted)
        })
        .await;
        all
    }

    /// A text with this run's folders replaced, for snapshots.
    pub fn plain(&self, text: &str) -> String {
        let base = self.cwd.parent().unwrap();
        text.replace(&*self.cwd.to_string_lossy(), "<cwd>").replace(&*base.to_string_lossy(), "<base>")
    }
}

/// Waits for something outside this process; a bound for what never comes.
pub async fn eventually(mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..4000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("it never came true");
}

pub fn shell(command: &str) -> Action {
    Action::Shell {
        command: command.into(),
        timeout: None,
        background: false,
        yield_after: None,
        within: Default::default(),
        cwd: None,
        about: None,
    }
}

pub fn read(path: &str) -> Action {
    Action::Read(Read { path: path.into(), ..Read::default() })
}

pub fn edit(path: &str, old: &str, new: &str) -> Action {
    Action::Edit {
        path: path.into(),
        edits: vec![Edit { old: old.into(), new: new.into(), all: false }],
        first: false,
    }
}

pub fn write(path: &str, text: &str) -> Action {
    Action::Write { path: path.into(), text: text.into(), mode: tack::model::WriteMode::Replace }
}

/// The cases of a fixture folder, in order.
pub fn cases(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(kind);
    let mut cases: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    cases.sort();
    assert!(cases.len() > 5, "fixtures of {kind} are gone");
    cases
}

/// Compares with a text fixture, or writes it when `TACK_BLESS` is set.
pub fn expect_text(path: &Path, got: &str) {
    if std::env::var_os("TACK_BLESS").is_some() {
        std::fs::write(path, format!("{got}\n")).unwrap();
    }
    let want = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(got, want.strip_suffix('\n').unwrap_or(&want), "{}", path.display());
}

/// A folder with 64 KiB of room.
#[cfg(target_os = "linux")]
pub struct SmallDisk(PathBuf);

#[cfg(target_os = "linux")]
impl SmallDisk {
    /// None, aloud, where none can be mounted.
    pub fn mount(folder: &Path) -> Option<Self> {
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(folder)
            .output();
        if mount.is_ok_and(|done| done.status.success()) {
            return Some(Self(folder.to_owned()));
        }
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: no small disk can be mounted here");
        None
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).output();
    }
}
