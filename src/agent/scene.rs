//! Gathers the scene: what is true of machine, folder and project when a turn begins.
//!
//! Bounded in time and size, since it runs before the first request: it reads one file for the git
//! branch (and where a harness asks for facts, a few manifests), starts no program, and looks at no
//! more than a few dozen folders.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::instructions;
use super::project::Look;
use crate::config::CheckKeys;
use crate::model::{Entry, Git, Scene};
use crate::sandbox::{Mode, Net, Op, Policy, Verdict};
use crate::tools;

/// Most entries of the listing.
const ENTRIES: usize = 200;
/// Deepest level of the listing, from 1.
const DEPTH: usize = 3;
/// Most folders that are opened for it.
const FOLDERS: usize = 60;

/// What the scene cannot find out by itself.
pub struct Given<'a> {
    pub policy: &'a Policy,
    /// The user's own AGENTS.md folder.
    pub config_dir: Option<&'a Path>,
    pub unattended: bool,
    /// The environment of commands.
    pub env: &'a [(OsString, OsString)],
    /// What the user set about the project's check; None where nothing of the project is asked for.
    pub project: Option<&'a CheckKeys>,
}

/// Gathers it now. The warnings are for the person.
pub fn gather(given: &Given<'_>) -> (Scene, Vec<String>) {
    let git = git(given.policy.cwd.as_path());
    let root = git.as_ref().map(|git| PathBuf::from(&git.root));
    let (instructions, warnings) =
        instructions::read(given.policy, given.policy.cwd.as_path(), root.as_deref(), given.config_dir);
    let listing = listing(given.policy.cwd.as_path(), given.policy);
    let look = Look { policy: given.policy, env: given.env, listing: &listing };
    let project = given.project.map(|keys| look.project(keys));
    let scene = Scene {
        time: jiff::ZonedDateTime::now().strftime("%Y-%m-%dT%H:%M:%S%:z[%Q]").to_string(),
        cwd: given.policy.cwd.display().to_string(),
        os: std::env::consts::OS.to_owned(),
        os_version: os_version(),
        arch: std::env::consts::ARCH.to_owned(),
        shell: tools::shell_name(given.env).to_owned(),
        git,
        listing,
        instructions,
        sandbox: given.policy.mode.name().to_owned(),
        network: given.policy.net == Net::Full || given.policy.mode == Mode::DangerFullAccess,
        reduced: None,
        unattended: given.unattended,
        project,
    };
    (scene, warnings)
}

/// Whether two scenes say the same, but for the minute and the listing: what a session does itself
/// must not cost it the server's prompt cache.
pub fn same(a: &Scene, b: &Scene) -> bool {
    let day = |scene: &Scene| scene.time.get(..10).map(str::to_owned);
    let plain = |scene: &Scene| Scene { time: String::new(), listing: Vec::new(), ..scene.clone() };
    day(a) == day(b) && plain(a) == plain(b)
}

#[cfg(unix)]
fn os_version() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn os_version() -> String {
    String::new()
}

/// The repository around `cwd`, by its files: running git would cost more than the whole start.
pub fn git(cwd: &Path) -> Option<Git> {
    let root = cwd.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok())?;
    let dot = root.join(".git");
    let dir = if dot.is_dir() { dot } else { linked(root, &dot)? };
    let head = read_small(&dir.join("HEAD"))?;
    let branch = head.trim().strip_prefix("ref: refs/heads/").unwrap_or_default().to_owned();
    Some(Git { root: root.display().to_string(), branch })
}

/// Where a worktree's or submodule's `.git` file points.
fn linked(root: &Path, file: &Path) -> Option<PathBuf> {
    let text = read_small(file)?;
    Some(root.join(text.trim().strip_prefix("gitdir:")?.trim()))
}

/// A small regular file as text; None for anything else, a FIFO above all.
fn read_small(path: &Path) -> Option<String> {
    let about = path.metadata().ok()?;
    (about.is_file() && about.len() <= 4096).then(|| std::fs::read_to_string(path).ok())?
}

/// Breadth first, so that a deep first folder does not use up the room.
fn listing(cwd: &Path, policy: &Policy) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut folders = VecDeque::from([(cwd.to_path_buf(), 1)]);
    let mut opened = 0;
    while let Some((folder, depth)) = folders.pop_front() {
        if opened == FOLDERS {
            break;
        }
        opened += 1;
        for (path, dir) in children(&folder) {
            if entries.len() == ENTRIES {
                return entries;
            }
            if policy.explain(&path, Op::Read) != Verdict::Allowed {
                continue;
            }
            let Ok(relative) = path.strip_prefix(cwd) else { continue };
            entries.push(Entry { path: relative.to_string_lossy().replace('\\', "/"), dir });
            if dir && depth < DEPTH {
                folders.push_back((path, depth + 1));
            }
        }
    }
    entries
}

/// One folder's entries that git would not ignore, sorted by name. Links are not followed.
fn children(folder: &Path) -> Vec<(PathBuf, bool)> {
    WalkBuilder::new(folder)
        .max_depth(Some(1))
        .hidden(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .build()
        .filter_map(Result::ok)
        .filter(|entry| entry.depth() == 1)
        .take(ENTRIES)
        .map(|entry| (entry.path().to_path_buf(), entry.file_type().is_some_and(|kind| kind.is_dir())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_read_from_a_repository_and_from_a_worktree() {
        let home = tempfile::tempdir().unwrap();
        let main = home.path().join("main");
        let tree = home.path().join("tree");
        std::fs::create_dir_all(main.join(".git/worktrees/tree")).unwrap();
        std::fs::create_dir_all(tree.join("src")).unwrap();
        std::fs::write(main.join(".git/HEAD"), "ref: refs/heads/feature/x\n").unwrap();
        std::fs::write(main.join(".git/worktrees/tree/HEAD"), "0123abcd\n").unwrap();
        std::fs::write(tree.join(".git"), "gitdir: ../main/.git/worktrees/tree\n").unwrap();

        assert_eq!(git(&main).unwrap().branch, "feature/x");
        let linked = git(&tree.join("src")).unwrap();
        assert_eq!((linked.root.as_str(), linked.branch.as_str()), (tree.to_str().unwrap(), ""));
        assert_eq!(git(home.path()), None);
    }
}
