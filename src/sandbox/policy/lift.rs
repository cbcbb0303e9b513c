//! Lifts: one thing that a policy refuses, allowed after all. From the narrowest up.
//!
//! What makes git run programs is lifted for one file and one call of a file tool, which shows all that is
//! written; never for a command. What steers tack itself is never lifted, and a carve-out only by its own name.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{GUARDED, Guarded, OWN, covering, guarded, open, starts_programs, tidy};
use crate::sandbox::{GitAccess, Mode, Net, Op, Policy, Verdict};

/// The narrowest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lift {
    /// This one file, by which other programs start something outside the sandbox, may be written by a file
    /// tool. Absolute and canonical.
    Steering(PathBuf),
    /// This file or folder may be written; one that is hidden may be read. Absolute and canonical.
    Path(PathBuf),
    /// Git's own files may be written, but not what makes git start programs.
    GitCommit,
    Network,
    NoSandbox,
}

impl std::fmt::Display for Lift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Steering(path) | Self::Path(path) => write!(f, "{}", path.display()),
            Self::GitCommit => f.write_str("git commit"),
            Self::Network => f.write_str("network"),
            Self::NoSandbox => f.write_str("no sandbox"),
        }
    }
}

/// Who is to profit from a lift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A file tool: it can be allowed a file that is not there yet.
    Tool,
    /// A command: what is allowed has to be there when it starts.
    Command,
}

impl Policy {
    /// This policy with that lift; None where it is never given. Reads the disk for git's folders only.
    pub fn lifted(&self, lift: &Lift) -> Option<Policy> {
        if self.mode == Mode::DangerFullAccess {
            return Some(self.clone());
        }
        match lift {
            Lift::Steering(path) => self.with_steering(path),
            Lift::Path(path) => self.with_path(path),
            Lift::GitCommit => self.with_git(),
            Lift::Network => Some(Policy { net: Net::Full, ..self.clone() }),
            Lift::NoSandbox => Some(open(Mode::DangerFullAccess, self.cwd.clone())),
        }
    }

    /// The narrowest lift with which `path` (canonical as far as it exists) may be read or written.
    /// None where it may be already, and where nothing lifts the refusal.
    pub fn lift_for(&self, path: &Path, (op, by): (Op, By)) -> Option<Lift> {
        if self.explain(path, op) == Verdict::Allowed {
            return None;
        }
        let helps = |lift: &Lift| {
            let lifted = self.lifted(lift);
            lifted.is_some_and(|lifted| lifted.explain(path, op) == Verdict::Allowed)
        };
        let steering = Lift::Steering(path.to_path_buf());
        if by == By::Tool && op == Op::Write && helps(&steering) {
            return Some(steering);
        }
        let named = covering(&self.hide, path).or_else(|| covering(&self.protect, path)).cloned();
        let place = named.unwrap_or_else(|| beginning(path, by).to_path_buf());
        [Lift::Path(place), Lift::GitCommit].into_iter().find(helps)
    }

    /// A hook or the configuration of a repository in the workspace, or what steers editors and agents there.
    fn with_steering(&self, path: &Path) -> Option<Policy> {
        let has =
            |names: &[&str]| path.components().any(|part| names.iter().any(|name| part.as_os_str() == *name));
        let hook = has(&[".git"]) && has(&["hooks", "config"]) && starts_programs(path);
        let kept =
            covering(&self.protect, path).is_some_and(|kept| GUARDED.iter().any(|name| kept.ends_with(name)));
        let closed = has(&[".tack", "commondir", "config.worktree"])
            || covering(&self.hide, path).is_some()
            || self.own.iter().any(|own| path.starts_with(own));
        let inside = self.write_roots.iter().any(|root| path.starts_with(root));
        let mut policy = self.clone();
        policy.opened.push(path.to_path_buf());
        ((hook || kept) && inside && !closed && !path.is_dir()).then_some(policy)
    }

    fn with_path(&self, path: &Path) -> Option<Policy> {
        let steers = |name: &str| path.components().any(|part| part.as_os_str() == name);
        let machine = OWN.iter().any(|own| path.starts_with(own));
        let own = machine || self.own.iter().any(|own| path.starts_with(own));
        if own || steers(".git") || steers(".tack") || path.parent().is_none() {
            return None;
        }
        let mut policy = self.clone();
        if let Some(hidden) = covering(&self.hide, path) {
            policy.hide.retain(|hidden| hidden != path);
            return (hidden == path).then_some(policy);
        }
        if let Some(kept) = covering(&self.protect, path).or_else(|| covering(&self.watch, path)) {
            policy.protect.retain(|kept| kept != path);
            return (kept == path && policy.protect.len() < self.protect.len()).then_some(policy);
        }
        // Below it, what steers programs stays as it is.
        policy.mode = Mode::WorkspaceWrite;
        policy.protect.extend(GUARDED.iter().map(|name| path.join(name)));
        policy.protect.extend(self.own.iter().filter(|own| own.starts_with(path)).cloned());
        policy.protect = tidy(policy.protect);
        policy.write_roots.push(path.to_path_buf());
        policy.write_roots = tidy(policy.write_roots);
        Some(policy)
    }

    fn with_git(&self) -> Option<Policy> {
        if self.git == GitAccess::Commit || self.mode == Mode::ReadOnly {
            return None;
        }
        let mut policy = Policy { git: GitAccess::Commit, ..self.clone() };
        let place = |git| Guarded { mode: self.mode, git, cwd: &self.cwd };
        let mut roots = self.write_roots.clone();
        let (before, _) = guarded(&place(GitAccess::Read), &mut roots);
        let (protect, watch) = guarded(&place(GitAccess::Commit), &mut roots);
        let guards = |kept: &PathBuf| GUARDED.iter().any(|name| kept.ends_with(name));
        policy.protect.retain(|kept| guards(kept) || !before.contains(kept));
        // What was opened by its name stays open.
        policy
            .protect
            .extend(protect.into_iter().filter(|kept| !guards(kept) || self.protect.contains(kept)));
        policy.protect = tidy(policy.protect);
        policy.watch = tidy(policy.watch.into_iter().chain(watch).collect());
        policy.write_roots = tidy(roots);
        Some(policy)
    }
}

/// Of a path that is missing, the part that somebody can be allowed.
fn beginning(path: &Path, by: By) -> &Path {
    let mut missing = path;
    for above in path.ancestors() {
        if above.exists() {
            return if by == By::Command || above == path { above } else { missing };
        }
        missing = above;
    }
    path
}

#[cfg(test)]
#[path = "lift_tests.rs"]
mod tests;
