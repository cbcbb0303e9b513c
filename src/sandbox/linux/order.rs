//! What passes between tack and its helper: an [`Order`] in, one [`Word`] a line back.
//!
//! Shared by both sides. Paths travel as `OsString`, which JSON carries byte for byte.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::sandbox::{Caps, Exit, Net, Policy, Size, Tier};

/// The first argument of a helper.
pub(crate) const VERB: &str = "__sandbox";
/// The helper keeps the status pipe here.
pub(super) const STATUS_FD: i32 = 3;
/// And here the user and the network namespace it is to enter, when it is not to make its own.
pub(super) const USER_FD: i32 = 4;
pub(super) const NET_FD: i32 = 5;

/// Everything the helper must know; the environment and the command line are its own.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) tier: Tier,
    cwd: OsString,
    folder: OsString,
    write: Vec<OsString>,
    protect: Vec<OsString>,
    hide: Vec<OsString>,
    tmp: Option<OsString>,
    pub(super) net: Net,
    /// Whether there is a network of earlier commands to enter.
    pub(super) join: bool,
    pub(super) limits: Caps,
    /// The command is to have a terminal; stdin is the socket on which our end of it is passed back.
    pub(super) terminal: Option<Size>,
}

impl Order {
    pub(super) fn new(tier: Tier, policy: &Policy, cwd: &Path) -> Order {
        let raw = |paths: &[PathBuf]| paths.iter().map(|p| p.clone().into_os_string()).collect();
        Order {
            tier,
            cwd: cwd.as_os_str().to_owned(),
            folder: policy.cwd.clone().into_os_string(),
            write: raw(&policy.write_roots),
            protect: raw(&policy.protect),
            hide: raw(&policy.hide),
            tmp: policy.tmp.clone().map(PathBuf::into_os_string),
            net: policy.net,
            join: false,
            limits: policy.limits,
            terminal: None,
        }
    }

    pub(super) fn cwd(&self) -> &Path {
        Path::new(&self.cwd)
    }

    /// The folder the policy was made for.
    pub(super) fn folder(&self) -> &Path {
        Path::new(&self.folder)
    }

    pub(super) fn tmp(&self) -> Option<&Path> {
        self.tmp.as_deref().map(Path::new)
    }

    pub(super) fn write(&self) -> impl Iterator<Item = &Path> {
        self.write.iter().map(Path::new)
    }

    pub(super) fn protect(&self) -> impl Iterator<Item = &Path> {
        self.protect.iter().map(Path::new)
    }

    pub(super) fn hide(&self) -> impl Iterator<Item = &Path> {
        self.hide.iter().map(Path::new)
    }
}

/// What a helper says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// A step of the setup failed, with its error number; nothing of the command ran.
    Step(String, i32),
    /// The program could not be executed.
    Exec(i32),
    /// The program runs.
    Running,
    /// The command itself ended, and so many processes of its tree had to be ended with it.
    Exit(Exit, usize),
}

impl Word {
    pub(super) fn line(&self) -> String {
        match self {
            Word::Step(name, errno) => format!("step {name} {errno}\n"),
            Word::Exec(errno) => format!("exec {errno}\n"),
            Word::Running => "running\n".into(),
            Word::Exit(Exit::Code(code), left) => format!("code {code} {left}\n"),
            Word::Exit(Exit::Signal(signal), left) => format!("signal {signal} {left}\n"),
        }
    }

    pub(super) fn parse(line: &str) -> Option<Word> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        Some(match words[..] {
            ["step", name, errno] => Word::Step(name.into(), errno.parse().ok()?),
            ["exec", errno] => Word::Exec(errno.parse().ok()?),
            ["running"] => Word::Running,
            ["code", code, left] => Word::Exit(Exit::Code(code.parse().ok()?), left.parse().ok()?),
            ["signal", signal, left] => Word::Exit(Exit::Signal(signal.parse().ok()?), left.parse().ok()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_survives_its_line() {
        let words = [
            Word::Step("mount-proc".into(), 1),
            Word::Exec(2),
            Word::Running,
            Word::Exit(Exit::Code(7), 3),
            Word::Exit(Exit::Signal(9), 0),
        ];
        for word in words {
            assert_eq!(Word::parse(&word.line()), Some(word));
        }
        assert_eq!(Word::parse("code x 1"), None);
    }
}
