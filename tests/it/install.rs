//! `install.sh` against a local file server, under several shells, with either fetcher.
//!
//! The archives hold a script named tack that answers `--version`. The script sees only the programs
//! linked into a folder of the test, so what it needs is written here.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use crate::server::{Reply, Server, raw, sse, text_body};

pub const SCRIPT: &str = include_str!("../../install.sh");
const TOOLS: [&str; 21] = [
    "awk",
    "cat",
    "chmod",
    "cp",
    "dirname",
    "grep",
    "gzip",
    "head",
    "mkdir",
    "mktemp",
    "mv",
    "rm",
    "rmdir",
    "sha256sum",
    "sh",
    "sort",
    "tail",
    "tar",
    "timeout",
    "tr",
    "uname",
];
pub const SHELLS: [&[&str]; 3] = [&["dash"], &["bash"], &["busybox", "sh"]];

/// A machine: a home folder, one for temporary files, and the programs there are.
pub struct Machine {
    root: tempfile::TempDir,
    pub shell: &'static [&'static str],
    env: Vec<(&'static str, String)>,
}

pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

fn which(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{name} is not there: run .ci/test"))
}

impl Machine {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["home", "tmp", "bin"] {
            std::fs::create_dir(root.path().join(dir)).unwrap();
        }
        let machine = Self { root, shell: SHELLS[0], env: Vec::new() };
        TOOLS.iter().for_each(|tool| machine.link(tool, tool));
        machine.link("curl", "curl");
        let [home, tmp, bin] = ["home", "tmp", "bin"].map(|dir| machine_dir(&machine, dir));
        machine.env("HOME", home).env("TMPDIR", tmp).env("PATH", bin)
    }

    /// With an address to fetch from.
    pub fn at(server: &Server) -> Self {
        let machine = Self::new();
        machine.env("TACK_RELEASE_URL", server.url().to_owned())
    }

    pub fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.env.retain(|(known, _)| *known != name);
        self.env.push((name, value.into()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.env.retain(|(known, _)| *known != name);
        self
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    pub fn tack(&self) -> PathBuf {
        self.path("home/.local/bin/tack")
    }

    pub fn link(&self, name: &str, program: &str) {
        self.unlink(name);
        symlink(which(program), self.path("bin").join(name)).unwrap();
    }

    pub fn unlink(&self, name: &str) {
        let _ = std::fs::remove_file(self.path("bin").join(name));
    }

    pub fn fetcher(self, fetcher: &str) -> Self {
        self.unlink("curl");
        let program = if fetcher == "busybox wget" { "busybox" } else { fetcher };
        self.link(fetcher.rsplit(' ').next().unwrap(), program);
        self
    }

    pub fn program(&self, below: &str, text: &str) {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(which(self.shell[0]));
        command.args(&self.shell[1..]).args(args).env_clear().current_dir(self.path("tmp"));
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// `curl … | sh -s -- ARGS`.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.pipe(SCRIPT.as_bytes(), &[&["-s", "--"], args].concat())
    }

    pub fn pipe(&self, script: &[u8], args: &[&str]) -> Ran {
        use std::io::Write;
        let mut child = self.command(args).spawn().unwrap();
        // A shell that stopped early reads no further.
        let _ = child.stdin.take().unwrap().write_all(script);
        let out = child.wait_with_output().unwrap();
        Ran {
            code: out.status.code().unwrap_or_else(|| 128 + out.status.signal().unwrap()),
            stdout: String::from_utf8(out.stdout).unwrap(),
            stderr: String::from_utf8(out.stderr).unwrap(),
        }
    }

    /// Every file there is, but the programs, with what is in it.
    pub fn files(&self) -> Vec<String> {
        let mut all = Vec::new();
        for top in ["home", "tmp"] {
            walk(&self.path(top), &mut all);
        }
        all.sort();
        all
    }
}

pub fn machine_dir(machine: &Machine, below: &str) -> String {
    machine.path(below).to_str().unwrap().to_owned()
}

fn walk(dir: &Path, all: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        all.push(format!("{} {}", path.display(), text.unwrap_or_default()));
        if path.is_dir() {
            walk(&path, all);
        }
    }
}

// Archives and lists.

pub fn tack(version: &str) -> String {
    format!("#!/bin/sh\necho tack {version}\n")
}

pub fn name(version: &str) -> String {
    format!("tack-{version}-{}-unknown-linux-musl.tar.gz", std::env::consts::ARCH)
}

/// One member: name, type flag (`0` a file, `2` a symbolic link) and contents or target.
pub type Member<'a> = (&'a str, u8, &'a str);

fn ustar(members: &[Member]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, kind, text) in members {
        let (body, link) = if *kind == b'0' { (*text, "") } else { ("", *text) };
        let mut head = [0u8; 512];
        let mut put = |at: usize, text: &str| head[at..at + text.len()].copy_from_slice(text.as_bytes());
        put(0, name);
        put(100, "0000755\x000000000\x000000000\0");
        put(124, &format!("{:011o}\x0000000000000\0        ", body.len()));
        put(157, link);
        put(257, "ustar\x0000");
        head[156] = *kind;
        let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
        head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend_from_slice(&head);
        tar.extend_from_slice(body.as_bytes());
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("f"), bytes).unwrap();
    Command::new("gzip").args(["-c", "f"]).current_dir(dir.path()).output().unwrap().stdout
}

pub fn archive(version: &str) -> Vec<u8> {
    packed(&[("LICENSE", b'0', "l"), ("README.md", b'0', "r"), ("tack", b'0', &tack(version))])
}

pub fn packed(members: &[Member]) -> Vec<u8> {
    gzip(&ustar(members))
}

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn line(version: &str, bytes: &[u8]) -> String {
    format!("{}  {}\n", sum(bytes), name(version))
}

pub fn file(bytes: &[u8]) -> Reply {
    sse([raw(bytes)]).header("content-length", &bytes.len().to_string())
}

pub fn serve(files: Vec<(String, Reply)>) -> Server {
    Server::with(vec![], move |request| {
        let found = files.iter().find(|(name, _)| request.path == format!("/v1/{name}"));
        Some(found.map_or_else(|| text_body(404, "text/html", "<h1>no</h1>"), |(_, reply)| reply.clone()))
    })
}

pub fn list(text: &str) -> (String, Reply) {
    ("SHA256SUMS".into(), file(text.as_bytes()))
}

/// A server with one release and its list.
pub fn release(version: &str) -> Server {
    let bytes = archive(version);
    serve(vec![list(&line(version, &bytes)), (name(version), file(&bytes))])
}

// What goes right.

#[test]
fn every_shell_installs_with_every_fetcher() {
    let server = release("1.2.3");
    for shell in SHELLS {
        for fetcher in ["curl", "wget", "busybox wget"] {
            let mut machine = Machine::at(&server).fetcher(fetcher);
            machine.shell = shell;
            let ran = machine.run(&[]);
            let what = format!("{shell:?} {fetcher}: {} {}", ran.stdout, ran.stderr);
            assert_eq!(ran.code, 0, "{what}");
            assert!(
                ran.stdout.contains(&format!("installed {} (tack 1.2.3)", machine.tack().display())),
                "{what}"
            );
            assert!(ran.stdout.contains("export PATH=\""), "{what}");
            assert_eq!(std::fs::read_to_string(machine.tack()).unwrap(), tack("1.2.3"), "{what}");
            assert_eq!(machine.tack().metadata().unwrap().permissions().mode() & 0o777, 0o755, "{what}");
            assert_eq!(machine.files().len(), 3, "{what}: only .local, bin and tack: {:?}", machine.files());
        }
    }
}

#[test]
fn a_system_of_busybox_alone_is_enough() {
    let server = release("1.2.3");
    let mut machine = Machine::at(&server).fetcher("busybox wget");
    machine.shell = SHELLS[2];
    TOOLS.iter().for_each(|tool| machine.link(tool, "busybox"));
    let ran = machine.run(&[]);
    assert_eq!(ran.code, 0, "{} {}", ran.stdout, ran.stderr);
    assert!(machine.tack().is_file());
}

#[test]
fn each_checksum_program_does() {
    let server = release("1.2.3");
    for program in ["shasum", "openssl"] {
        let machine = Machine::at(&server);
        machine.unlink("sha256sum");
        machine.link(program, program);
        let ran = machine.run(&[]);
        assert_eq!(ran.code, 0, "{program}: {}", ran.stderr);
    }
    let machine = Machine::at(&server);
    machine.unlink("sha256sum");
    let ran = machine.run(&[]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("install sha256sum, shasum or openssl"), "{}", ran.stderr);
    assert_eq!(machine.files(), [""; 0]);
}

#[test]
fn the_list_says_which_versions_there_are() {
    let versions = ["0.9.0", "0.10.0", "0.10.0-rc1", "0.2.11"];
    let archives = versions.map(archive);
    let mut text = String::from("\u{1}\u{2}garbage\n\n# a comment\nabc  tack-9.9.9-x.tar.gz\n");
    let mut files = Vec::new();
    for (version, bytes) in versions.iter().zip(&archives) {
        // Binary mark, capital digits and line ends of another system.
        text += &format!("{} *{}\r\n", sum(bytes).to_uppercase(), name(version));
        files.push((name(version), file(bytes)));
    }
    text += &format!("{}  ../../{}\n", sum(b""), name("99.0.0"));
    files.push(list(&text));
    let server = serve(files);
    for (wanted, got) in
        [("", "0.10.0"), ("0.2.11", "0.2.11"), ("v0.9.0", "0.9.0"), ("0.10.0-rc1", "0.10.0-rc1")]
    {
        let machine = Machine::at(&server).env("TACK_VERSION", wanted);
        let ran = machine.run(&[]);
        assert_eq!(ran.code, 0, "{wanted}: {}", ran.stderr);
        assert!(ran.stdout.contains(&format!("(tack {got})")), "{wanted}: {}", ran.stdout);
    }
    for (wanted, why) in [("7.0.0", "lists no archive of tack 7.0.0"), ("../x", "TACK_VERSION is no version")]
    {
        let machine = Machine::at(&server).env("TACK_VERSION", wanted);
        let ran = machine.run(&[]);
        assert_eq!((ran.code, ran.stderr.contains(why)), (1, true), "{wanted}: {}", ran.stderr);
    }
}

#[test]
fn redirects_are_followed() {
    let to = release("1.2.3");
    let base = to.url().to_owned();
    let from = Server::with(vec![], move |request| {
        let there = format!("{base}{}", request.path.strip_prefix("/v1").unwrap());
        Some(text_body(302, "text/plain", "").header("location", &there))
    });
    for fetcher in ["curl", "wget", "busybox wget"] {
        let ran = Machine::at(&from).fetcher(fetcher).run(&[]);
        assert_eq!(ran.code, 0, "{fetcher}: {}", ran.stderr);
    }
}

#[test]
fn a_running_tack_keeps_its_file_and_the_path_is_looked_at() {
    let server = release("1.2.3");
    let machine = Machine::at(&server);
    machine.program("home/.local/bin/tack", &tack("1.0.0"));
    let running = std::fs::File::open(machine.tack()).unwrap();
    let path = format!("{}:{}", machine_dir(&machine, "home/.local/bin"), machine_dir(&machine, "bin"));
    let machine = machine.env("PATH", path);
    let ran = machine.run(&[]);
    assert!(
        ran.stdout.contains(&format!("replaced {} (tack 1.2.3)", machine.tack().display())),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("PATH"), "{}", ran.stdout);
    assert_eq!(std::io::read_to_string(running).unwrap(), tack("1.0.0"));
    machine.program("bin/tack", &tack("0.0.1"));
    let path = format!("{}:{}", machine_dir(&machine, "bin"), machine_dir(&machine, "home/.local/bin"));
    let ran = machine.env("PATH", path).run(&[]);
    assert!(ran.stdout.contains("another tack comes first on your PATH: "), "{}", ran.stdout);
}

#[test]
fn the_folder_may_have_blanks_and_no_home_is_needed_then() {
    let server = release("1.2.3");
    let machine = Machine::at(&server).without("HOME");
    let ran = machine.run(&[]);
    assert_eq!((ran.code, ran.stderr.contains("set TACK_INSTALL_DIR")), (1, true), "{}", ran.stderr);
    let dir = machine_dir(&machine, "home/a b/'c\" $d");
    let machine = machine.env("TACK_INSTALL_DIR", dir.clone());
    let ran = machine.run(&[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(Path::new(&dir).join("tack").is_file());
    assert_eq!(machine.run(&["--uninstall"]).code, 0);
    assert!(!Path::new(&dir).join("tack").exists());
}

#[test]
fn uninstalling_says_what_stays() {
    let machine = Machine::new();
    machine.program("home/.local/bin/tack", &tack("1.0.0"));
    machine.program("home/.config/tack/config.toml", "");
    let ran = machine.run(&["--uninstall"]);
    let config = machine_dir(&machine, "home/.config/tack");
    let expected =
        format!("removed {}\nsettings, sessions or caches stay in {config}\n", machine.tack().display());
    assert_eq!((ran.code, ran.stdout, ran.stderr), (0, expected, String::new()));
    assert!(machine.path("home/.config/tack/config.toml").exists() && !machine.tack().exists());
    let ran = machine.run(&["--uninstall"]);
    assert!(ran.code == 0 && ran.stdout.starts_with("nothing to remove: "), "{}", ran.stdout);
}

#[test]
fn in_a_checkout_it_builds() {
    let machine = Machine::new();
    machine.program("tmp/src/install.sh", SCRIPT);
    machine.program("tmp/src/Cargo.toml", "[package]\nname = \"tack-agent\"\n");
    let built = "mkdir -p src/target/release; cp src/built src/target/release/tack; echo \"$@\" >args";
    machine.program("tmp/src/built", &tack("5.0.0"));
    machine.program("bin/cargo", &format!("#!/bin/sh\n{built}\n"));
    let ran = machine.pipe(b"", &["src/install.sh"]);
    assert_eq!(ran.code, 0, "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("(tack 5.0.0)"), "{}", ran.stdout);
    let args = std::fs::read_to_string(machine.path("tmp/args")).unwrap();
    assert!(args.starts_with("build --release --locked --bin tack "), "{args}");

    machine.unlink("cargo");
    let ran = machine.pipe(b"", &["src/install.sh"]);
    assert!(ran.stderr.contains("install Rust"), "{}", ran.stderr);
    machine.program("tmp/src/Cargo.toml", "[package]\nname = \"other\"\n");
    let ran = machine.pipe(b"", &["src/install.sh"]);
    assert!(ran.stderr.contains("set TACK_RELEASE_URL"), "{}", ran.stderr);
}
