//! Runs the real binary in a home and a working folder of its own.
//!
//! ```ignore
//! let tack = Tack::new(&server);
//! let ran = tack.run(["-p", "say hello"]);
//! assert_eq!((ran.code, ran.stdout.as_str()), (0, "hello\n"));
//! ```
#![allow(dead_code)] // each test module uses another part

use std::cell::Cell;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tack::model::WireKind;

use crate::server::Server;

thread_local! {
    static WIRE: Cell<WireKind> = const { Cell::new(WireKind::Chat) };
}

/// The wire that this test runs on.
pub fn wire() -> WireKind {
    WIRE.get()
}

/// Runs `test` on this wire.
pub fn on(wire: WireKind, test: fn()) {
    WIRE.set(wire);
    test();
}

/// Makes three tests of each of these functions, one for each wire. Whatever [`Tack::new`] sets up in
/// it speaks that wire.
macro_rules! on_every_wire {
    (@ $name:ident $test:path) => {
        mod $name {
            use tack::model::WireKind;

            use crate::kit::on;

            #[test]
            fn chat() {
                on(WireKind::Chat, $test);
            }

            #[test]
            fn responses() {
                on(WireKind::Responses, $test);
            }

            #[test]
            fn messages() {
                on(WireKind::Messages, $test);
            }
        }
    };
    (async: $($name:ident),+ $(,)?) => {
        mod blocking {
            $(pub fn $name() {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(super::$name());
            })+
        }
        $($crate::kit::on_every_wire! { @ $name super::blocking::$name })+
    };
    ($($name:ident),+ $(,)?) => {
        $($crate::kit::on_every_wire! { @ $name super::$name })+
    };
}
pub(crate) use on_every_wire;

/// Longest a run may take before the test fails.
const LIMIT: Duration = Duration::from_secs(60);

/// A home folder with a configuration, and a working folder.
pub struct Tack {
    pub dir: tempfile::TempDir,
    env: Vec<(String, String)>,
}

/// What a run left behind.
pub struct Ran {
    /// The exit code; 128 + n when signal n ended the process.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Tack {
    /// Set up for this server, with harness `minimal` and the wire of the test.
    pub fn new(server: &Server) -> Self {
        let tack = Self::bare();
        tack.config(&Self::config_for(server));
        tack
    }

    /// The configuration for this server.
    pub fn config_for(server: &Server) -> String {
        format!(
            "model = \"mock\"\nmodel_provider = \"mock\"\nharness = \"minimal\"\n\
             [model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\nwire_api = \"{}\"\n\
             request_max_retries = 1\nstream_max_retries = 1\n",
            server.url(),
            wire().name(),
        )
    }

    /// Without any configuration.
    pub fn bare() -> Self {
        // Not below /tmp, of which commands see one of their own.
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        std::fs::create_dir(dir.path().join("home")).unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        Self { dir, env: Vec::new() }
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Replaces the configuration file.
    pub fn config(&self, text: &str) {
        std::fs::write(self.home().join("config.toml"), text).unwrap();
    }

    /// Adds to the configuration file.
    pub fn configure(&self, more: &str) {
        let path = self.home().join("config.toml");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        // Top-level keys have to stand before the first table.
        std::fs::write(&path, format!("{more}\n{text}")).unwrap();
    }

    /// Makes a harness of the user's own, which is as `minimal` but for what `more` says.
    pub fn harness(&self, id: &str, more: &str) {
        let folder = self.home().join("harnesses").join(id);
        std::fs::create_dir_all(&folder).unwrap();
        let manifest = format!("schema = 1\nid = \"{id}\"\nextends = \"minimal\"\n{more}");
        std::fs::write(folder.join("harness.toml"), manifest).unwrap();
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The command, ready to be started: a clean environment, standard input empty.
    pub fn command<I, S>(&self, args: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tack"));
        command
            .args(args)
            .current_dir(self.work())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("TACK_HOME", self.home())
            .env("LANG", "C.UTF-8")
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run<I, S>(&self, args: I) -> Ran
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        finish(self.command(args).spawn().unwrap(), None)
    }

    /// With these bytes on standard input, which is closed after them.
    pub fn run_with_stdin<I, S>(&self, args: I, stdin: impl AsRef<[u8]>) -> Ran
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        finish(child, Some(stdin.as_ref().to_vec()))
    }

    /// The session files, oldest first.
    pub fn logs(&self) -> Vec<PathBuf> {
        let mut logs = Vec::new();
        find(&self.home().join("sessions"), "jsonl", &mut logs);
        logs.sort();
        logs
    }

    /// The one session's lines.
    pub fn log(&self) -> Vec<Value> {
        let logs = self.logs();
        assert_eq!(logs.len(), 1, "one session: {logs:?}");
        let text = std::fs::read_to_string(&logs[0]).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn session_id(&self) -> String {
        self.logs()[0].file_stem().unwrap().to_string_lossy().into_owned()
    }
}

/// Waits for the end of a run, at most [`LIMIT`].
pub fn finish(mut child: Child, stdin: Option<Vec<u8>>) -> Ran {
    let feed = child.stdin.take().map(|mut pipe| {
        std::thread::spawn(move || {
            let _ = pipe.write_all(&stdin.unwrap_or_default());
        })
    });
    let drain = |pipe: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                let _ = pipe.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = drain(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let stderr = drain(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > LIMIT {
            let _ = child.kill();
            panic!("tack ran longer than {LIMIT:?}: {}", stderr.join().unwrap());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    if let Some(feed) = feed {
        feed.join().unwrap();
    }
    Ran {
        code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
    }
}

impl Ran {
    /// Fails with everything the run said unless it ended with this code.
    #[track_caller]
    pub fn code(self, want: i32) -> Self {
        assert_eq!(self.code, want, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// The events of `--json`.
    pub fn events(&self) -> Vec<Value> {
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in stdout line {line:?}"))
        };
        self.stdout.lines().map(parse).collect()
    }
}

/// Waits until `ready`, at most 20 s.
pub fn wait_for(what: &str, ready: impl Fn() -> bool) {
    let started = Instant::now();
    while !ready() {
        assert!(started.elapsed() < Duration::from_secs(20), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process of this id is there and not a zombie.
pub fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next());
    matches!(state, Some(state) if state != 'Z')
}

fn find(dir: &Path, ext: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, ext, found);
        } else if path.extension().is_some_and(|e| e == ext) {
            found.push(path);
        }
    }
}
