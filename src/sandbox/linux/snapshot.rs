//! What no mount protects (in tier B everything, else links) is compared and put back.
//!
//! Small files are remembered whole. git's objects never change once written, so of them only the
//! names are: a lost one is reported, as it cannot be brought back.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::pin::Pin;

const LARGEST: u64 = 1 << 20;
const MOST: u64 = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Dir,
    Link(PathBuf),
    File {
        mode: u32,
        bytes: Vec<u8>,
    },
    /// Too large to keep, or an object: only that it is there, and its size.
    Heavy(u64),
}

/// The protected paths as they were.
#[derive(Debug)]
pub(super) struct Snapshot {
    roots: Vec<PathBuf>,
    entries: BTreeMap<PathBuf, Entry>,
}

impl Snapshot {
    pub(super) fn take(roots: &[PathBuf]) -> Snapshot {
        let mut entries = BTreeMap::new();
        let mut room = MOST;
        for root in roots {
            walk(root, &mut room, &mut entries);
        }
        Snapshot { roots: roots.to_vec(), entries }
    }

    /// Puts back what changed; one sentence for each path, at most ten.
    pub(super) fn restore(self) -> Vec<String> {
        let now = Snapshot::take(&self.roots).entries;
        let mut said = Vec::new();
        // Deepest first, so that a folder is empty when its turn comes.
        for path in now.keys().rev().filter(|p| !self.entries.contains_key(*p) && !is_object(p)) {
            said.push(sentence(path, "appeared and was removed", &clear(path)));
        }
        for (path, entry) in self.entries.iter().filter(|(path, entry)| now.get(*path) != Some(*entry)) {
            said.push(sentence(path, "was changed and put back", &put_back(path, entry)));
        }
        said.truncate(10);
        said
    }
}

fn sentence(path: &Path, done: &str, result: &io::Result<()>) -> String {
    match result {
        Ok(()) => format!("{} is read-only: it {done}", path.display()),
        Err(error) => {
            format!("{} is read-only and was changed; it could not be repaired: {error}", path.display())
        }
    }
}

fn is_object(path: &Path) -> bool {
    path.components().any(|c| c.as_os_str() == "objects")
}

fn walk(path: &Path, room: &mut u64, entries: &mut BTreeMap<PathBuf, Entry>) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    let kind = meta.file_type();
    let entry = if kind.is_dir() {
        for child in fs::read_dir(path).into_iter().flatten().flatten() {
            walk(&child.path(), room, entries);
        }
        Entry::Dir
    } else if kind.is_symlink() {
        Entry::Link(fs::read_link(path).unwrap_or_default())
    } else if kind.is_file() && meta.len() <= LARGEST.min(*room) && !is_object(path) {
        *room -= meta.len();
        let bytes = fs::read(path).unwrap_or_default();
        Entry::File { mode: meta.permissions().mode(), bytes }
    } else {
        Entry::Heavy(meta.len())
    };
    entries.insert(path.to_path_buf(), entry);
}

/// Removes whatever is at `path`, unless a link leads there.
pub(super) fn clear(path: &Path) -> io::Result<()> {
    let pin = Pin::new(path)?;
    match fs::symlink_metadata(pin.path()) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(pin.path()),
        Ok(_) => fs::remove_file(pin.path()),
        Err(_) => Ok(()),
    }
}

/// A new file in place of whatever is at `path`, unless a link leads there.
pub(super) fn rewrite(path: &Path, bytes: &[u8]) -> io::Result<fs::File> {
    clear(path)?;
    // Never through something that appeared in between.
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(Pin::new(path)?.path())?;
    file.write_all(bytes)?;
    Ok(file)
}

fn put_back(path: &Path, entry: &Entry) -> io::Result<()> {
    let pin = Pin::new(path)?;
    match entry {
        Entry::Dir if fs::symlink_metadata(pin.path()).is_ok_and(|m| m.is_dir()) => Ok(()),
        Entry::Dir => clear(path).and_then(|()| fs::create_dir(pin.path())),
        Entry::Link(target) => clear(path).and_then(|()| symlink(target, pin.path())),
        Entry::File { mode, bytes } => {
            rewrite(path, bytes)?.set_permissions(fs::Permissions::from_mode(*mode))
        }
        Entry::Heavy(_) => Err(io::Error::other("no copy was kept of a file this large")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_put_back_and_named() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().join(".git");
        fs::create_dir_all(root.join("hooks")).unwrap();
        fs::create_dir_all(root.join("objects")).unwrap();
        fs::write(root.join("config"), "[core]\n").unwrap();
        fs::write(root.join("objects/aa"), "x").unwrap();
        let snapshot = Snapshot::take(std::slice::from_ref(&root));
        fs::write(root.join("config"), "[core]\nfsmonitor = evil\n").unwrap();
        fs::write(root.join("hooks/pre-commit"), "evil").unwrap();
        fs::write(root.join("objects/bb"), "y").unwrap();
        let said = snapshot.restore();
        assert_eq!(said.len(), 2, "{said:?}");
        assert_eq!(fs::read_to_string(root.join("config")).unwrap(), "[core]\n");
        assert!(!root.join("hooks/pre-commit").exists());
        assert!(root.join("objects/bb").exists(), "new objects do no harm");
    }

    #[test]
    fn a_swapped_folder_comes_back() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().join(".tack");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("config.toml"), "a = 1").unwrap();
        let snapshot = Snapshot::take(std::slice::from_ref(&root));
        fs::rename(&root, tmp.path().join("away")).unwrap();
        symlink("/etc", &root).unwrap();
        assert!(!snapshot.restore().is_empty());
        assert_eq!(fs::read_to_string(root.join("config.toml")).unwrap(), "a = 1");
        assert!(!root.is_symlink());
    }

    #[test]
    fn a_repair_does_not_go_through_a_link() {
        let tmp = tempfile::tempdir().unwrap();
        let top = tmp.path().canonicalize().unwrap();
        for dir in ["proj/nested/.git", "other/.git"] {
            fs::create_dir_all(top.join(dir)).unwrap();
            fs::write(top.join(dir).join("config"), dir).unwrap();
        }
        fs::write(top.join("other/.git/extra"), "kept").unwrap();
        let snapshot = Snapshot::take(&[top.join("proj/nested/.git")]);
        fs::rename(top.join("proj/nested"), top.join("proj/moved")).unwrap();
        symlink(top.join("other"), top.join("proj/nested")).unwrap();
        let said = snapshot.restore();
        assert!(said.iter().any(|line| line.contains("could not be repaired")), "{said:?}");
        assert_eq!(fs::read_to_string(top.join("other/.git/config")).unwrap(), "other/.git");
        assert!(top.join("other/.git/extra").exists());
    }
}
