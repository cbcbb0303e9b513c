//! Files opened under the policy: the only way file tools reach the disk.
//!
//! The target is resolved when it is opened, not before, and what is checked is what was opened: a
//! link that leads out of a write root never widens a grant.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::Policy;

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
    let _ = policy;
    let file = File::open(path).map_err(|e| fault(path, e))?;
    Ok(Opened { file, real: path.canonicalize().map_err(|e| fault(path, e))? })
}

/// Puts `bytes` in place of the file as a whole, or makes it and its missing folders. Atomic: a
/// reader sees the old or the new content. Keeps the mode; follows a link to the file it names.
pub fn replace(policy: &Policy, path: &Path, bytes: &[u8]) -> Result<Written, FileError> {
    let _ = policy;
    let created = !path.exists();
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|e| fault(parent, e))?;
    }
    std::fs::write(path, bytes).map_err(|e| fault(path, e))?;
    Ok(Written { real: path.canonicalize().map_err(|e| fault(path, e))?, created })
}

/// Removes a file (not a folder). Returns where it really was.
pub fn remove(policy: &Policy, path: &Path) -> Result<PathBuf, FileError> {
    let _ = policy;
    std::fs::remove_file(path).map_err(|e| fault(path, e))?;
    Ok(path.to_path_buf())
}

/// One folder's entries, hidden ones left out, sorted by name.
pub fn list(policy: &Policy, path: &Path) -> Result<(PathBuf, Vec<DirEntry>), FileError> {
    let _ = policy;
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|e| fault(path, e))? {
        let entry = entry.map_err(|e| fault(path, e))?;
        let kind = match entry.file_type() {
            Ok(t) if t.is_dir() => Kind::Dir,
            Ok(t) if t.is_file() => Kind::File,
            Ok(t) if t.is_symlink() => Kind::Link,
            Ok(_) | Err(_) => Kind::Other,
        };
        entries.push(DirEntry { name: entry.file_name(), kind });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((path.to_path_buf(), entries))
}

/// Where an existing path really leads, if the policy lets it be read. For walks.
pub fn resolve(policy: &Policy, path: &Path) -> Result<PathBuf, FileError> {
    let _ = policy;
    path.canonicalize().map_err(|e| fault(path, e))
}

fn fault(path: &Path, source: std::io::Error) -> FileError {
    if source.kind() == std::io::ErrorKind::NotFound {
        return FileError::NotFound(path.to_path_buf());
    }
    FileError::Io { path: path.to_path_buf(), source }
}
