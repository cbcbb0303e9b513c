//! What the parent does around a command: placeholders before, checks and repairs after.
//!
//! Placeholders are empty folders for names that must not be made by a command (`.tack`, `hooks`):
//! something has to be there to mount on. The checks come when the tree is dead and before anyone
//! else runs git.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use super::pin::Pin;
use super::snapshot::{self, Snapshot};
use crate::sandbox::{GitAccess, Mode, Policy, Tier, git};

const HELD_OPEN: &[&str] = &[".tack", ".agents", "hooks"];

/// Placeholders in use, by all commands of this process.
static PLACES: LazyLock<Mutex<HashMap<PathBuf, usize>>> = LazyLock::new(Mutex::default);

/// Lives as long as its command.
pub(super) struct Guard {
    places: Vec<PathBuf>,
    watch: Vec<PathBuf>,
    /// Git's folders that the command may write.
    repositories: Vec<PathBuf>,
    snapshot: Option<Snapshot>,
}

/// A policy with what was found on the disk now: repositories that lie below the roots.
pub(super) fn with_nested(policy: &Policy, nested: &mut git::Nested) -> Policy {
    let mut policy = policy.clone();
    if policy.mode != Mode::WorkspaceWrite {
        return policy;
    }
    let known =
        |policy: &Policy, path: &PathBuf| policy.protect.contains(path) || policy.write_roots.contains(path);
    for root in policy.write_roots.clone().iter().filter(|r| !r.ends_with(".git")) {
        for entry in nested.find(root) {
            if known(&policy, &entry) {
                continue;
            }
            if policy.git == GitAccess::Commit && fs::symlink_metadata(&entry).is_ok_and(|m| m.is_dir()) {
                policy.protect.extend(git::kept(&entry));
                policy.watch.extend(git::must_not_appear(&entry));
                policy.write_roots.push(entry);
            } else {
                policy.protect.push(entry);
            }
        }
    }
    policy
}

impl Guard {
    /// Makes what the mounts of `policy` need, and remembers what they cannot protect: links, and in
    /// tier B everything.
    pub(super) fn raise(policy: &Policy, tier: Tier) -> Guard {
        let watch = policy.watch.clone();
        let mut guard = Guard { places: Vec::new(), watch, repositories: Vec::new(), snapshot: None };
        if policy.mode != Mode::WorkspaceWrite {
            return guard;
        }
        if policy.git == GitAccess::Commit {
            let repositories = policy.write_roots.iter().filter(|r| r.join("HEAD").is_file());
            guard.repositories = repositories.cloned().collect();
            // Once more: worktrees and submodules may have come since the policy was made.
            guard.watch.extend(guard.repositories.iter().flat_map(|r| git::must_not_appear(r)));
        }
        match tier {
            Tier::Namespaces => {
                let wanted = |p: &&PathBuf| HELD_OPEN.iter().any(|name| p.ends_with(name));
                guard.places = policy.protect.iter().filter(wanted).filter(|p| hold(p)).cloned().collect();
                let links: Vec<PathBuf> = policy.protect.iter().filter(|p| p.is_symlink()).cloned().collect();
                guard.snapshot = (!links.is_empty()).then(|| Snapshot::take(&links));
            }
            Tier::Landlock => guard.snapshot = Some(Snapshot::take(&policy.protect)),
            Tier::Seatbelt | Tier::WindowsToken | Tier::None => {}
        }
        guard
    }

    /// Undoes what must not have happened; one sentence for each.
    pub(super) fn check(&mut self) -> Vec<String> {
        let mut undone = Vec::new();
        for path in std::mem::take(&mut self.watch) {
            if fs::symlink_metadata(&path).is_ok() {
                let gone = snapshot::clear(&path);
                let how = if gone.is_ok() { "was removed" } else { "could not be removed" };
                undone.push(format!(
                    "{} appeared and {how}: it would make git run other programs",
                    path.display()
                ));
            }
        }
        for path in std::mem::take(&mut self.repositories).iter().flat_map(|r| git::misled(r)) {
            let mended = snapshot::rewrite(&path, b"../..\n").is_ok();
            let how = if mended { "was put right" } else { "could not be put right" };
            undone.push(format!(
                "{} led out of its repository and {how}: it would make git run other programs",
                path.display()
            ));
        }
        undone.extend(self.snapshot.take().into_iter().flat_map(|s| s.restore()));
        undone
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Nobody waited for the command: it was cancelled, and undoing is due all the same.
        for undone in self.check() {
            tracing::warn!("sandbox: {undone}");
        }
        let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        for path in &self.places {
            let count = places.get_mut(path).map(|n| {
                *n -= 1;
                *n
            });
            if count == Some(0) {
                places.remove(path);
                // Not empty: it is somebody's now.
                let _ = Pin::new(path).and_then(|pin| fs::remove_dir(pin.path()));
            }
        }
    }
}

/// Whether a placeholder is held at `path` from here on.
fn hold(path: &Path) -> bool {
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(count) = places.get_mut(path) {
        *count += 1;
        return true;
    }
    let made = Pin::new(path).and_then(|pin| fs::create_dir(pin.path())).is_ok();
    if made {
        places.insert(path.to_path_buf(), 1);
    }
    made
}
