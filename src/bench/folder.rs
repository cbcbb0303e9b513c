//! Folders as a whole: copied, hashed, removed. Never follows a link, and takes no more than it should.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::model::hex;

/// An agent that went wild must not fill the disk twice.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
const MOST_FILES: usize = 20_000;

/// Copies the folder `from` to `to`, which is made. Links are copied as links, rights are kept,
/// sockets and the like are left out. An error when it is too large.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let (mut bytes, mut count) = (0, 0);
    fs::create_dir_all(to)?;
    walk(from, &mut |path, kind| {
        let target = to.join(path.strip_prefix(from).unwrap_or(path));
        count += 1;
        if kind.is_dir() {
            fs::create_dir_all(&target)?;
        } else if kind.is_symlink() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(path)?, &target)?;
        } else if kind.is_file() {
            bytes += path.symlink_metadata()?.len();
            if bytes <= MOST_BYTES {
                fs::copy(path, &target)?;
            }
        }
        within(from, bytes, count)
    })
}

fn within(dir: &Path, bytes: u64, count: usize) -> io::Result<()> {
    match bytes > MOST_BYTES || count > MOST_FILES {
        true => Err(io::Error::other(format!("{} holds too much to be copied", dir.display()))),
        false => Ok(()),
    }
}

/// [`digest`] of all files in `dir`. An error when it is too large to be copied.
pub(super) fn hash(dir: &Path) -> io::Result<String> {
    let (mut bytes, mut count) = (0, 0);
    let mut files = Vec::new();
    walk(dir, &mut |path, kind| {
        count += 1;
        if kind.is_file() {
            bytes += path.symlink_metadata()?.len();
        }
        within(dir, bytes, count)?;
        if kind.is_file() {
            files.push((path.strip_prefix(dir).unwrap_or(path).to_owned(), fs::read(path)?));
        }
        Ok(())
    })?;
    Ok(digest(files.iter().map(|(path, bytes)| (path.clone(), bytes.as_slice()))))
}

/// Of names and contents, 16 hex digits; the order does not matter.
pub(super) fn digest<'a>(files: impl Iterator<Item = (PathBuf, &'a [u8])>) -> String {
    let mut files: Vec<(PathBuf, &[u8])> = files.collect();
    files.sort();
    let mut hasher = Sha256::new();
    for (path, bytes) in files {
        // Lengths, so that no file can pass for two.
        let path = path.to_string_lossy().into_owned();
        hasher.update(format!("{} {} {path}", path.len(), bytes.len()));
        hasher.update(bytes);
    }
    hex(&hasher.finalize()[..8])
}

/// Removes `dir` if it is there.
pub(super) fn remove(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Everything below `dir`, folders before what is in them, by name.
pub(super) fn walk(
    dir: &Path,
    each: &mut dyn FnMut(&Path, fs::FileType) -> io::Result<()>,
) -> io::Result<()> {
    let mut entries = fs::read_dir(dir)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        each(&path, kind)?;
        if kind.is_dir() {
            walk(&path, each)?;
        }
    }
    Ok(())
}
