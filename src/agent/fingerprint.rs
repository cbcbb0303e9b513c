//! A fingerprint of the workspace: cheap to take, and another one once a file was changed.
//!
//! It is of names, sizes and times, not of contents. Files that git ignores and folders that tools
//! keep for themselves do not count. Bounded: of a workspace that is too large, or a disk that is too
//! slow, nothing is known.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ignore::WalkBuilder;
use tokio_util::sync::CancellationToken;

/// Most files and folders that are looked at.
const MOST: usize = 8_000;
const TIME: Duration = Duration::from_secs(2);
/// What a walk may take longer than that, for one file that is slow.
const LATE: Duration = Duration::from_secs(1);

/// Caches that fill up when a program is merely run, ignored by git or not.
const CACHES: &[&str] =
    &[".git", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv", "__pycache__", "node_modules"];

/// None: nothing is known, so it is like no other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fingerprint(Option<u64>);

impl Fingerprint {
    /// Whether the workspace is certainly as it was.
    pub(super) fn same(self, other: Self) -> bool {
        self.0.is_some() && self.0 == other.0
    }
}

/// Takes it, on a thread of its own that is not waited for without end.
pub(super) async fn take(root: PathBuf, cancel: CancellationToken) -> Fingerprint {
    let stop = cancel.clone();
    let walk = tokio::task::spawn_blocking(move || walk(&root, &stop));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Fingerprint(None),
        found = walk => found.unwrap_or(Fingerprint(None)),
        () = tokio::time::sleep(TIME + LATE) => Fingerprint(None),
    }
}

fn walk(root: &Path, cancel: &CancellationToken) -> Fingerprint {
    let until = Instant::now() + TIME;
    let walker = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(|entry| entry.depth() == 0 || !CACHES.iter().any(|cache| entry.file_name() == *cache))
        .build();
    let mut hasher = DefaultHasher::new();
    for (count, entry) in walker.enumerate() {
        if count >= MOST || cancel.is_cancelled() || Instant::now() > until {
            return Fingerprint(None);
        }
        let Ok(entry) = entry else { continue };
        let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        // A folder's times change with the caches in it.
        if folder {
            continue;
        }
        entry.path().hash(&mut hasher);
        if let Ok(about) = entry.metadata() {
            hash(&about, &mut hasher);
        }
    }
    Fingerprint(Some(hasher.finish()))
}

#[cfg(unix)]
fn hash(about: &std::fs::Metadata, hasher: &mut DefaultHasher) {
    use std::os::unix::fs::MetadataExt;
    // The time of change tells of an edit that put the time of writing back, and of a new mode.
    (about.len(), about.mode(), about.ino()).hash(hasher);
    (about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()).hash(hasher);
}

#[cfg(not(unix))]
fn hash(about: &std::fs::Metadata, hasher: &mut DefaultHasher) {
    (about.len(), about.modified().ok()).hash(hasher);
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn print(root: &Path) -> Fingerprint {
        take(root.to_owned(), CancellationToken::new()).await
    }

    #[tokio::test]
    async fn it_changes_with_files_and_not_with_caches() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("src/a.py", "a = 1\n");
        write(".gitignore", "*.log\n");
        let first = print(root).await;
        assert!(first.same(print(root).await));
        write("__pycache__/a.pyc", "x");
        write("src/__pycache__/a.pyc", "x");
        write("run.log", "x");
        write(".git/index", "x");
        assert!(first.same(print(root).await), "caches and ignored files do not count");

        let changes: [&dyn Fn(); 4] = [
            &|| write("src/a.py", "a = 12\n"),
            &|| write(".hidden", ""),
            &|| std::fs::rename(root.join("src/a.py"), root.join("src/b.py")).unwrap(),
            &|| std::fs::remove_file(root.join(".hidden")).unwrap(),
        ];
        let mut last = first;
        for (at, change) in changes.iter().enumerate() {
            change();
            let now = print(root).await;
            assert!(!last.same(now), "change {at}");
            last = now;
        }
    }

    #[tokio::test]
    async fn of_a_workspace_that_is_too_large_nothing_is_known() {
        let home = tempfile::tempdir().unwrap();
        for n in 0..=MOST {
            std::fs::write(home.path().join(n.to_string()), "").unwrap();
        }
        let first = print(home.path()).await;
        assert!(!first.same(first));
    }
}
