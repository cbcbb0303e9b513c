//! Where git keeps things, so that a repository can be protected or opened for commits.
//!
//! Reads the files itself and never runs git: a repository may be hostile. A gitfile is content of
//! the project and can name any folder, so what it names is only granted when that folder points
//! back (a linked worktree) or is the `modules` folder of a repository around us (a submodule).

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files of git that are small by nature; more than this is nonsense.
const SMALL: u64 = 4096;
const DEPTH: usize = 5;
const MOST_HITS: usize = 512;
const MOST_DIRS: usize = 8192;
const SKIPPED: &[&str] = &["node_modules", "target", ".venv", ".git"];

/// One repository as seen from a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Repo {
    /// `.git` as it lies there: a folder or a gitfile.
    pub(super) entry: PathBuf,
    /// The folders git works in: the gitdir, and the common one for a linked worktree. Empty for a
    /// gitfile that names nothing usable.
    pub(super) dirs: Vec<PathBuf>,
}

/// The repository that `dir` belongs to: the nearest `.git` at or above it.
pub(super) fn around(dir: &Path) -> Option<Repo> {
    dir.ancestors().find_map(at)
}

/// The repository whose `.git` lies in `dir` itself.
pub(super) fn at(dir: &Path) -> Option<Repo> {
    let entry = dir.join(".git");
    let meta = fs::symlink_metadata(&entry).ok()?;
    if meta.is_dir() {
        let dirs = vec![entry.clone()];
        return Some(Repo { entry, dirs });
    }
    let dirs = target(&entry, dir).map(|gitdir| with_common(&gitdir)).unwrap_or_default();
    Some(Repo { entry, dirs })
}

/// What a gitfile (or a link in its place) names, if it may be believed.
fn target(entry: &Path, dir: &Path) -> Option<PathBuf> {
    let named = if entry.is_dir() {
        entry.canonicalize().ok()?
    } else {
        let text = small(entry)?;
        let path = text.strip_prefix("gitdir:")?.trim();
        dir.join(path).canonicalize().ok()?
    };
    let real_git = named.join("HEAD").is_file();
    (real_git && believable(&named, entry, dir)).then_some(named)
}

fn believable(named: &Path, entry: &Path, dir: &Path) -> bool {
    let inside = named.starts_with(dir) && named != dir;
    let points_back = small(&named.join("gitdir"))
        .and_then(|text| named.join(text.trim()).canonicalize().ok())
        .is_some_and(|back| entry.canonicalize().is_ok_and(|entry| entry == back));
    let module = dir.ancestors().skip(1).any(|above| named.starts_with(above.join(".git/modules")));
    inside || points_back || module
}

/// A linked worktree's gitdir is `common/worktrees/NAME`; nothing else is taken for its common dir.
fn with_common(gitdir: &Path) -> Vec<PathBuf> {
    let mut dirs = vec![gitdir.to_path_buf()];
    let common =
        small(&gitdir.join("commondir")).and_then(|text| gitdir.join(text.trim()).canonicalize().ok());
    let expected = gitdir.parent().filter(|p| p.ends_with("worktrees")).and_then(Path::parent);
    if let Some(common) = common.filter(|common| Some(common.as_path()) == expected) {
        dirs.push(common);
    }
    dirs
}

/// The `.git` folder a path lies in, for messages; the path itself if it lies in none.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.ancestors().find(|p| p.ends_with(".git")).unwrap_or(path)
}

fn small(path: &Path) -> Option<String> {
    // A FIFO in its place would block the open.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    fs::File::open(path).ok()?.take(SMALL).read_to_string(&mut text).ok()?;
    Some(text)
}

/// What stays read-only inside a git folder that commands may write: what makes git start programs.
pub(super) fn kept(gitdir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = ["hooks", "config"].iter().map(|n| gitdir.join(n)).collect();
    // Those two must not appear, see `must_not_appear`; where they exist they are git's own.
    all.extend(appearing(gitdir).into_iter().filter(|p| fs::symlink_metadata(p).is_ok()));
    if let Ok(link) = gitdir.join("gitdir").canonicalize() {
        all.push(link);
    }
    all.extend(worktree_configs(gitdir).filter(|p| fs::symlink_metadata(p).is_ok()));
    all.extend(modules(&gitdir.join("modules"), 3).iter().flat_map(|m| kept(m)));
    all
}

/// Files that turn the next git run anywhere into a run of what a command chose.
pub(super) fn must_not_appear(gitdir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        appearing(gitdir).into_iter().filter(|p| fs::symlink_metadata(p).is_err()).collect();
    all.extend(worktree_configs(gitdir).filter(|p| fs::symlink_metadata(p).is_err()));
    all.extend(modules(&gitdir.join("modules"), 3).iter().flat_map(|m| must_not_appear(m)));
    all
}

fn appearing(gitdir: &Path) -> Vec<PathBuf> {
    ["commondir", "config.worktree"].iter().map(|n| gitdir.join(n)).collect()
}

fn worktrees(gitdir: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(gitdir.join("worktrees")).into_iter().flatten().flatten().map(|e| e.path())
}

fn worktree_configs(gitdir: &Path) -> impl Iterator<Item = PathBuf> {
    worktrees(gitdir).map(|w| w.join("config.worktree"))
}

/// The `commondir` files of linked worktrees that lead to another place than `gitdir`, whose
/// configuration git would then believe. New ones are written by git itself, so they may appear.
pub(super) fn misled(gitdir: &Path) -> Vec<PathBuf> {
    let leads_back = |w: &Path, file: &Path| {
        let named = small(file).and_then(|text| w.join(text.trim()).canonicalize().ok());
        named.is_some_and(|named| gitdir.canonicalize().is_ok_and(|gitdir| gitdir == named))
    };
    let files = worktrees(gitdir).map(|w| (w.join("commondir"), w));
    files.filter(|(f, w)| fs::symlink_metadata(f).is_ok() && !leads_back(w, f)).map(|(f, _)| f).collect()
}

/// Submodules' git folders. Their names may hold slashes, so folders without a HEAD are entered.
fn modules(dir: &Path, depth: usize) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let dirs = entries.flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path());
    dirs.flat_map(|d| match (d.join("HEAD").is_file(), depth) {
        (true, _) => vec![d],
        (false, 0) => Vec::new(),
        (false, _) => modules(&d, depth - 1),
    })
    .take(MOST_HITS)
    .collect()
}

/// The nested `.git` entries below some folders. Looked for once; later only folders whose
/// modification time changed are read again.
#[derive(Debug, Default)]
pub(super) struct Nested {
    seen: HashMap<PathBuf, Folder>,
}

#[derive(Debug, Clone)]
struct Folder {
    changed: Option<SystemTime>,
    git: bool,
    dirs: Vec<PathBuf>,
}

impl Nested {
    /// Every `.git` in and below `root`, to a depth of five folders.
    pub(super) fn find(&mut self, root: &Path) -> Vec<PathBuf> {
        let mut hits = Vec::new();
        let mut budget = MOST_DIRS;
        let mut level = vec![root.to_path_buf()];
        for _ in 0..=DEPTH {
            let mut next = Vec::new();
            for dir in level {
                if budget == 0 || hits.len() >= MOST_HITS {
                    tracing::warn!(root = %root.display(), "too many folders: not every nested repository is protected");
                    return hits;
                }
                budget -= 1;
                let folder = self.look(&dir);
                if folder.git {
                    hits.push(dir.join(".git"));
                }
                next.extend(folder.dirs.iter().cloned());
            }
            level = next;
        }
        hits
    }

    fn look(&mut self, dir: &Path) -> &Folder {
        let changed = fs::symlink_metadata(dir).and_then(|m| m.modified()).ok();
        let entry = self.seen.entry(dir.to_path_buf());
        let folder = entry.or_insert_with(|| Folder { changed: None, git: false, dirs: Vec::new() });
        // A change within the clock's tick after our look would go unseen; so a fresh one is not kept.
        let settled = |t: SystemTime| t.elapsed().is_ok_and(|age| age.as_millis() > 20);
        if changed.is_none() || folder.changed != changed {
            *folder = read(dir);
            folder.changed = changed.filter(|t| settled(*t));
        }
        folder
    }
}

fn read(dir: &Path) -> Folder {
    let mut folder = Folder { changed: None, git: false, dirs: Vec::new() };
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        folder.git |= name == ".git";
        let skipped = SKIPPED.iter().any(|s| name == *s);
        if !skipped && entry.file_type().is_ok_and(|t| t.is_dir()) {
            folder.dirs.push(entry.path());
        }
    }
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo(dir: &Path) {
        fs::create_dir_all(dir.join("objects")).unwrap();
        fs::write(dir.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn a_linked_worktree_leads_to_its_gitdir_and_the_common_one() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap();
        let gitdir = root.join("main/.git/worktrees/wt");
        repo(&root.join("main/.git"));
        repo(&gitdir);
        fs::create_dir(root.join("wt")).unwrap();
        fs::write(root.join("wt/.git"), format!("gitdir: {}\n", gitdir.display())).unwrap();
        fs::write(gitdir.join("commondir"), "../..\n").unwrap();
        fs::write(gitdir.join("gitdir"), format!("{}\n", root.join("wt/.git").display())).unwrap();
        let found = at(&root.join("wt")).unwrap();
        assert_eq!(found.dirs, [gitdir, root.join("main/.git")]);
    }

    #[test]
    fn a_gitfile_that_nothing_points_back_to_grants_nothing() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap();
        repo(&root.join("elsewhere"));
        fs::create_dir(root.join("p")).unwrap();
        for text in ["gitdir: /", "gitdir: ../elsewhere", "gitdir: /nowhere", "nonsense", "", "gitdir:"] {
            fs::write(root.join("p/.git"), text).unwrap();
            let found = at(&root.join("p")).unwrap();
            assert_eq!((found.entry, found.dirs), (root.join("p/.git"), vec![]), "{text}");
        }
    }

    #[test]
    fn a_submodule_is_believed_below_the_modules_of_a_repository_around_it() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap();
        repo(&root.join(".git"));
        repo(&root.join(".git/modules/libs/sub"));
        fs::create_dir_all(root.join("libs/sub")).unwrap();
        fs::write(root.join("libs/sub/.git"), "gitdir: ../../.git/modules/libs/sub").unwrap();
        assert_eq!(at(&root.join("libs/sub")).unwrap().dirs, [root.join(".git/modules/libs/sub")]);
        let kept = kept(&root.join(".git"));
        assert!(kept.contains(&root.join(".git/modules/libs/sub/config")));
    }

    #[test]
    fn nested_repositories_are_found_and_new_ones_too() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path();
        for dir in ["a/b/.git", "node_modules/x/.git", ".git", "a/b/c/d/e/f/.git", "a/c"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        let mut nested = Nested::default();
        assert_eq!(nested.find(root), [root.join(".git"), root.join("a/b/.git")]);
        fs::write(root.join("a/c/.git"), "gitdir: x").unwrap();
        let mut found = nested.find(root);
        found.sort();
        assert_eq!(found, [root.join(".git"), root.join("a/b/.git"), root.join("a/c/.git")]);
    }
}
