//! Files opened under the policy: the only way file tools reach the disk.
//!
//! The target is resolved when it is opened, not before, and what is checked is what was opened: a
//! link that leads out of a write root never widens a grant.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::{Op, Policy, Verdict};

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "portable.rs"]
mod platform;

#[derive(Debug)]
pub struct Opened {
    pub file: File,
    /// Where the path really leads.
    pub real: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub real: PathBuf,
    pub created: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    pub name: OsString,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Dir,
    Link,
    /// FIFO, socket, device.
    Other,
}

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{} is not allowed: {rule}", path.display())]
    Denied { path: PathBuf, rule: String },
    #[error("{} does not exist", .0.display())]
    NotFound(PathBuf),
    /// A folder where a file was wanted, a FIFO, a device.
    #[error("{} is {what}", path.display())]
    WrongKind { path: PathBuf, what: &'static str },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
}

/// Opens a regular file for reading. Never blocks on a FIFO.
pub fn open(policy: &Policy, path: &Path) -> Result<Opened, FileError> {
    platform::open(policy, path)
}

/// Puts `bytes` in place of the file as a whole, or makes it and its missing folders. Atomic: a
/// reader sees the old or the new content. Keeps the mode; follows a link to the file it names.
pub fn replace(policy: &Policy, path: &Path, bytes: &[u8]) -> Result<Written, FileError> {
    platform::replace(policy, path, bytes)
}

/// Removes a file or a link (not a folder). Returns where it really was.
pub fn remove(policy: &Policy, path: &Path) -> Result<PathBuf, FileError> {
    platform::remove(policy, path)
}

/// One folder's entries, those hidden by the policy left out, sorted by name.
pub fn list(policy: &Policy, path: &Path) -> Result<(PathBuf, Vec<DirEntry>), FileError> {
    let (real, mut entries) = platform::list(policy, path)?;
    entries.retain(|entry| policy.explain(&real.join(&entry.name), Op::Read) == Verdict::Allowed);
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((real, entries))
}

/// Where an existing path really leads, if the policy lets it be read. For walks.
pub fn resolve(policy: &Policy, path: &Path) -> Result<PathBuf, FileError> {
    let mut place = policy.host(path);
    for _ in 0..MOST_TURNS {
        let real = place.canonicalize().map_err(|e| fault(path, e))?;
        let seen = policy.host(&real);
        if seen == real {
            return check(policy, &real, Op::Read).map(|()| real);
        }
        place = seen;
    }
    Err(looping(path))
}

/// Links followed by hand, and turns between `/tmp` and the folder behind it.
const MOST_TURNS: usize = 40;

fn check(policy: &Policy, real: &Path, op: Op) -> Result<(), FileError> {
    match policy.explain(real, op) {
        Verdict::Allowed => Ok(()),
        Verdict::Denied(rule) => Err(FileError::Denied { path: real.to_path_buf(), rule }),
    }
}

fn fault(path: &Path, source: impl Into<std::io::Error>) -> FileError {
    let source = source.into();
    if source.kind() == std::io::ErrorKind::NotFound {
        return FileError::NotFound(path.to_path_buf());
    }
    FileError::Io { path: path.to_path_buf(), source }
}

fn wrong(path: &Path, what: &'static str) -> FileError {
    FileError::WrongKind { path: path.to_path_buf(), what }
}

fn looping(path: &Path) -> FileError {
    fault(path, std::io::Error::other("too many links"))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
