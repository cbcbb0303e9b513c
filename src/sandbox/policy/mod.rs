//! From what was asked for to what is allowed: [`Wish`] to [`Policy`], and what a policy says.
//!
//! Paths are made canonical here, once, before any command exists. Knows no platform.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::{Caps, GitAccess, Mode, Net, Op, Policy, Verdict, git, secrets};

pub use broad::broad;
pub use lift::{By, Lift};

mod broad;
mod lift;

/// Processes one command may have at a time.
const PROCESSES: u64 = 4096;
/// Inside a write root: what makes other programs, editors and agents do things.
const GUARDED: &[&str] = &[".tack", ".agents", ".mcp.json", ".vscode", ".idea", ".envrc"];

/// Commands have these folders of their own. What the machine keeps there (the environment of every
/// process, keyrings, sockets) is not for file tools either.
const OWN: &[&str] = &["/proc", "/run", "/dev"];

/// What flags and configuration ask for. Paths may be relative to the process's folder.
#[derive(Clone, Debug)]
pub struct Wish {
    pub mode: Mode,
    pub cwd: PathBuf,
    /// Further writable folders.
    pub add_dirs: Vec<PathBuf>,
    pub git: GitAccess,
    pub net: Net,
    /// Added to what is hidden, and taken away from it. `~/` is the home folder.
    pub hide: Vec<PathBuf>,
    pub reveal: Vec<PathBuf>,
    pub home: Option<PathBuf>,
    /// tack's own folders: never written by commands, their secrets hidden.
    pub config_dirs: Vec<PathBuf>,
    /// The session's own `/tmp`, see [`super::Scratch`]. Must exist.
    pub tmp: Option<PathBuf>,
    /// The project's private folder for caches of build tools; made when missing.
    pub caches: Option<PathBuf>,
}

/// A policy, and what the user should know about it, one sentence each.
#[derive(Clone, Debug)]
pub struct Settled {
    pub policy: Policy,
    pub notices: Vec<String>,
}

/// Why no policy can be made of a wish.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error("the folder {} cannot be used: {source}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("{} is not a folder", .0.display())]
    NotFolder(PathBuf),
    #[error("{} is below {}, which is hidden from commands; list that path under [sandbox] reveal in the user's config, or work elsewhere", path.display(), hidden.display())]
    Hidden { path: PathBuf, hidden: PathBuf },
    #[error("/ cannot be a writable folder; name a folder below it, or use -s danger-full-access")]
    Root,
}

impl Wish {
    /// A wish with nothing but its mode and folder; the rest is closed.
    pub fn new(mode: Mode, cwd: impl Into<PathBuf>) -> Wish {
        Wish {
            mode,
            cwd: cwd.into(),
            add_dirs: Vec::new(),
            git: GitAccess::Read,
            net: Net::Off,
            hide: Vec::new(),
            reveal: Vec::new(),
            home: None,
            config_dirs: Vec::new(),
            tmp: None,
            caches: None,
        }
    }

    /// Makes the policy. Reads the disk, writes nothing but the missing caches folder.
    pub fn settle(&self) -> Result<Settled, PolicyError> {
        let cwd = folder(&self.cwd)?;
        if self.mode == Mode::DangerFullAccess {
            return Ok(Settled { policy: open(self.mode, cwd), notices: Vec::new() });
        }
        let home = self.home.as_deref().and_then(|h| h.canonicalize().ok()).filter(|h| h != Path::new("/"));
        let mut notices = Vec::new();
        let hide = self.hidden(home.as_deref());
        let mut roots = match self.mode {
            Mode::WorkspaceWrite => self.workspace(&cwd, home.as_deref(), &mut notices)?,
            Mode::ReadOnly | Mode::DangerFullAccess => Vec::new(),
        };
        if let Some(path) = std::iter::once(&cwd).chain(&roots).find(|p| covering(&hide, p).is_some()) {
            let hidden = covering(&hide, path).cloned().unwrap_or_default();
            return Err(PolicyError::Hidden { path: path.clone(), hidden });
        }
        let own: Vec<PathBuf> = tidy(self.config_dirs.iter().map(|d| real(d)).collect());
        let place = Guarded { mode: self.mode, git: self.git, cwd: &cwd };
        let (mut protect, watch) = guarded(&place, &mut roots);
        protect.extend(own.iter().filter(|own| roots.iter().any(|root| own.starts_with(root))).cloned());
        if self.mode == Mode::WorkspaceWrite {
            roots.extend(self.caches.as_deref().map(made).transpose()?);
        }
        let tmp = self.tmp.as_deref().map(folder).transpose()?;
        let policy = Policy {
            mode: self.mode,
            cwd,
            write_roots: tidy(roots),
            protect: tidy(protect),
            hide,
            own,
            watch: tidy(watch),
            opened: Vec::new(),
            net: self.net,
            git: self.git,
            tmp,
            limits: Caps { processes: PROCESSES, address_space: None },
        };
        Ok(Settled { policy, notices })
    }

    fn workspace(
        &self,
        cwd: &Path,
        home: Option<&Path>,
        notices: &mut Vec<String>,
    ) -> Result<Vec<PathBuf>, PolicyError> {
        let mut roots = Vec::new();
        // Too much to hand out by accident: the start-up files of every program lie there.
        if cwd == Path::new("/") || home.is_some_and(|home| home.starts_with(cwd)) {
            notices.push(format!(
                "{} is not made writable as a whole; start in a project folder, or name one with --add-dir",
                cwd.display()
            ));
        } else {
            roots.push(cwd.to_path_buf());
        }
        for dir in &self.add_dirs {
            let dir = folder(dir)?;
            if dir == Path::new("/") {
                return Err(PolicyError::Root);
            }
            roots.push(dir);
        }
        Ok(roots)
    }

    fn hidden(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let place = |path: &PathBuf| match (path.strip_prefix("~"), home) {
            (Ok(rest), Some(home)) => real(&home.join(rest)),
            (Ok(_), None) | (Err(_), _) => real(path),
        };
        let revealed: Vec<PathBuf> = self.reveal.iter().map(place).collect();
        let mut hide: Vec<PathBuf> =
            secrets::defaults(home, &self.config_dirs).iter().map(|p| real(p)).collect();
        hide.retain(|p| !revealed.iter().any(|r| p.starts_with(r)));
        hide.extend(self.hide.iter().map(place).filter(|p| !revealed.contains(p)));
        // A link to `/` or to the home folder would hide everything.
        hide.retain(|p| p.parent().is_some() && !home.is_some_and(|home| home.starts_with(p)));
        tidy(hide)
    }
}

/// The policy that refuses nothing.
fn open(mode: Mode, cwd: PathBuf) -> Policy {
    Policy {
        mode,
        cwd,
        write_roots: Vec::new(),
        protect: Vec::new(),
        hide: Vec::new(),
        own: Vec::new(),
        watch: Vec::new(),
        opened: Vec::new(),
        net: Net::Full,
        git: GitAccess::Commit,
        tmp: None,
        limits: Caps { processes: PROCESSES, address_space: None },
    }
}

/// Where [`guarded`] looks, and for what.
struct Guarded<'a> {
    mode: Mode,
    git: GitAccess,
    cwd: &'a Path,
}

/// What stays read-only inside `roots`, and what must not appear. With `git = commit` the
/// repository's folders become roots of their own: a mount point cannot be swapped.
fn guarded(place: &Guarded<'_>, roots: &mut Vec<PathBuf>) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let mut protect: Vec<PathBuf> = roots.iter().flat_map(|r| GUARDED.iter().map(|n| r.join(n))).collect();
    let mut repos: Vec<git::Repo> = roots.iter().filter_map(|root| git::at(root)).collect();
    let mut watch = Vec::new();
    match place.git {
        GitAccess::Commit if place.mode == Mode::WorkspaceWrite => {
            repos.extend(git::around(place.cwd));
            for repo in &repos {
                if !repo.dirs.contains(&repo.entry) {
                    protect.push(repo.entry.clone());
                }
                for dir in &repo.dirs {
                    roots.push(dir.clone());
                    protect.extend(git::kept(dir));
                    watch.extend(git::must_not_appear(dir));
                }
            }
        }
        GitAccess::Commit | GitAccess::Read => {
            protect.extend(repos.into_iter().flat_map(|r| r.dirs.into_iter().chain([r.entry])));
        }
    }
    // A link is protected, and what it leads to.
    let targets: Vec<PathBuf> = protect.iter().map(|p| real(p)).collect();
    protect.extend(targets);
    protect.retain(|p| roots.iter().any(|root| p.starts_with(root)));
    (protect, watch)
}

impl Policy {
    /// What this policy says of `path` (absolute, canonical as far as it exists).
    pub fn explain(&self, path: &Path, op: Op) -> Verdict {
        if self.mode == Mode::DangerFullAccess {
            return Verdict::Allowed;
        }
        let path = &self.host(path);
        if let Some(hidden) = covering(&self.hide, path) {
            return Verdict::Denied(format!(
                "{} is hidden from commands; the user lifts it with [sandbox] reveal",
                hidden.display()
            ));
        }
        match op {
            Op::Read => self.explain_read(path),
            Op::Write => self.explain_write(path),
        }
    }

    fn explain_read(&self, path: &Path) -> Verdict {
        let granted = || self.write_roots.iter().chain([&self.cwd]).any(|p| path.starts_with(p));
        match OWN.iter().find(|own| path.starts_with(own)) {
            Some(own) if !granted() => Verdict::Denied(format!(
                "commands have a {own} of their own, and the machine's is not shown; look with a command"
            )),
            Some(_) | None => Verdict::Allowed,
        }
    }

    /// Where a path as commands see it lies on the host: `/tmp` is the session's own folder,
    /// except for what was put back into it.
    pub fn host(&self, path: &Path) -> PathBuf {
        let Some(tmp) = &self.tmp else { return path.to_path_buf() };
        let put_back = || std::iter::once(&self.cwd).chain(&self.write_roots).chain([tmp]);
        match path.strip_prefix("/tmp") {
            Ok(rest) if !put_back().any(|p| path.starts_with(p)) => tmp.join(rest),
            Ok(_) | Err(_) => path.to_path_buf(),
        }
    }

    /// The other way round: how commands and the model know a path on the host.
    pub fn seen(&self, host: &Path) -> PathBuf {
        let inside = self.tmp.as_ref().and_then(|tmp| host.strip_prefix(tmp).ok());
        inside.map_or_else(|| host.to_path_buf(), |rest| Path::new("/tmp").join(rest))
    }

    fn explain_write(&self, path: &Path) -> Verdict {
        if self.opened.iter().any(|opened| opened == path) {
            return Verdict::Allowed;
        }
        if starts_programs(path) && self.write_roots.iter().any(|root| path.starts_with(root)) {
            return Verdict::Denied(format!(
                "{} is read-only, as git starts programs by it; only the user can change it",
                path.display()
            ));
        }
        if let Some(guarded) = covering(&self.protect, path).or_else(|| covering(&self.watch, path)) {
            return Verdict::Denied(format!("{} is read-only{}", guarded.display(), self.lift(guarded)));
        }
        let root = self.write_roots.iter().chain(&self.tmp).filter(|r| path.starts_with(r));
        let Some(root) = root.max_by_key(|r| r.as_os_str().len()) else {
            return Verdict::Denied(self.outside(path));
        };
        let inner = path.strip_prefix(root).unwrap_or(path);
        if Some(root) != self.tmp.as_ref() && self.steers_git(inner) {
            return Verdict::Denied(format!("{} is read-only{}", path.display(), self.lift(path)));
        }
        Verdict::Allowed
    }

    /// Nested repositories are found when a command starts; by name they are known at once.
    fn steers_git(&self, inner: &Path) -> bool {
        match self.git {
            GitAccess::Read => inner.components().any(|c| c.as_os_str() == ".git"),
            GitAccess::Commit => starts_programs(inner),
        }
    }

    fn lift(&self, path: &Path) -> &'static str {
        let repository = path.components().any(|c| c.as_os_str() == ".git");
        match (repository, self.git) {
            (true, GitAccess::Read) => "; git's own files can be written with --git commit",
            (true, GitAccess::Commit) => ", as it could make git start programs",
            (false, _) => ", as it steers other programs",
        }
    }

    fn outside(&self, path: &Path) -> String {
        let repository = path.components().any(|c| c.as_os_str() == ".git");
        match self.mode {
            // A linked worktree's repository lies elsewhere.
            Mode::WorkspaceWrite if repository && self.git == GitAccess::Read => {
                format!("{} is read-only{}", git::folder_of(path).display(), self.lift(path))
            }
            Mode::ReadOnly => {
                "nothing but /tmp can be written in read-only mode; -s workspace-write lifts it".into()
            }
            Mode::WorkspaceWrite | Mode::DangerFullAccess => {
                let roots: Vec<String> = self.write_roots.iter().map(|r| r.display().to_string()).collect();
                let roots = if roots.is_empty() { "/tmp".into() } else { roots.join(", ") };
                format!("outside the writable folders ({roots}); --add-dir DIR adds one")
            }
        }
    }
}

/// Whether it is one of the files in a repository by which git starts programs.
pub(super) fn starts_programs(path: &Path) -> bool {
    let mut below = path.components().skip_while(|c| c.as_os_str() != ".git").skip(1);
    let steering = |c: Component<'_>| {
        ["hooks", "config", "commondir", "config.worktree"].iter().any(|name| c.as_os_str() == *name)
    };
    below.any(steering)
}

/// The longest of `rules` at or above `path`.
fn covering<'a>(rules: &'a [PathBuf], path: &Path) -> Option<&'a PathBuf> {
    rules.iter().filter(|rule| path.starts_with(rule)).max_by_key(|rule| rule.as_os_str().len())
}

fn tidy(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    paths.dedup();
    paths
}

fn folder(path: &Path) -> Result<PathBuf, PolicyError> {
    let fault = |source| PolicyError::Folder { path: path.to_path_buf(), source };
    let real = path.canonicalize().map_err(fault)?;
    if real.is_dir() { Ok(real) } else { Err(PolicyError::NotFolder(real)) }
}

fn made(path: &Path) -> Result<PathBuf, PolicyError> {
    fs::create_dir_all(path).map_err(|source| PolicyError::Folder { path: path.to_path_buf(), source })?;
    folder(path)
}

/// Canonical as far as it exists; the missing rest is taken as it is written.
pub fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(found) = above.canonicalize() {
            return match path.strip_prefix(above) {
                Ok(rest) if !rest.as_os_str().is_empty() => found.join(rest),
                Ok(_) | Err(_) => found,
            };
        }
    }
    path.to_path_buf()
}

#[cfg(test)]
mod tests;
