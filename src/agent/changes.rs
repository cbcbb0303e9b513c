//! What changed in the project since the session began, whoever changed it: for a person who wants to see it.
//!
//! git tells it, run in the sandbox with nothing to write. What to compare with is noted at the first call
//! that may change something, not at the start: what was changed before is kept, a few files of it, so that
//! it can be told apart. Bounded in time and size; what is left out is said. Outside of git only edits are
//! known.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::Agent;
use super::check::Reach;
use super::scene;
use crate::model::{FileChange, ToolCall};
use crate::sandbox::{Cmd, Exit, Io, Mode, Net, Op, Policy, Verdict};
use crate::tools::{change_of, shown_path};

/// How long git may take for one answer, and how much it may say.
const TIME: Duration = Duration::from_secs(3);
const SAID: u64 = 16 << 20;
/// What is left of git's processes ends in this time.
const GRACE: Duration = Duration::from_millis(100);
/// Files that are shown.
const FILES: usize = 100;
/// Largest file that is compared, and what is kept of those that were changed before.
const LARGE: u64 = 1 << 20;
const KEPT: usize = 8 << 20;
/// The tree without a file: before a repository's first commit.
const EMPTY: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// What changed.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub files: Vec<FileChange>,
    /// How many more there are.
    pub left_out: usize,
    /// Why it may not be all.
    pub note: Option<String>,
}

/// What is compared with.
#[derive(Default)]
pub(super) struct Since {
    /// Items that were there when the session was opened.
    opened: usize,
    base: Base,
}

impl Since {
    pub(super) fn new(opened: usize) -> Self {
        Self { opened, base: Base::Open }
    }
}

#[derive(Default)]
enum Base {
    /// Nothing could change anything yet.
    #[default]
    Open,
    /// git does not tell: why.
    Edits(&'static str),
    Git {
        root: PathBuf,
        head: String,
        /// What was not as in `head` already, from the root.
        before: BTreeMap<String, Held>,
    },
}

/// A file as it was.
#[derive(PartialEq)]
enum Held {
    Text(Option<Vec<u8>>),
    /// Too large to keep: its length and time tell whether it changed.
    Stamp(Option<(u64, SystemTime)>),
}

impl Agent {
    /// To be called before these calls run.
    pub(super) async fn note_base(&mut self, calls: &[ToolCall]) {
        let acts = calls.iter().any(|call| Reach::of(&call.action) != Reach::Nothing);
        if acts && !self.unattended && matches!(self.since.base, Base::Open) {
            self.since.base = self.base().await;
        }
    }

    async fn base(&self) -> Base {
        let Some(found) = scene::git(&self.policy.cwd) else {
            return Base::Edits(
                "this is no git repository, so only edits are known, not what commands changed",
            );
        };
        let root = PathBuf::from(found.root);
        let unknown =
            Base::Edits("git did not answer in time, so only edits are known, not what commands changed");
        let status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"];
        let Some(said) = self.git(&root, &status, "").await else { return unknown };
        let head = self.git(&root, &["rev-parse", "--verify", "-q", "HEAD"], "").await;
        let head = head.map_or_else(|| EMPTY.to_owned(), |head| head.trim().to_owned());
        let (mut before, mut room) = (BTreeMap::new(), KEPT);
        for name in said.split('\0').filter_map(|entry| entry.get(3..)) {
            let path = root.join(name);
            let held = match now(&path) {
                Held::Text(Some(bytes)) if bytes.len() > room => Held::Stamp(stamp(&path)),
                held => held,
            };
            if let Held::Text(Some(bytes)) = &held {
                room -= bytes.len();
            }
            before.insert(name.to_owned(), held);
        }
        Base::Git { root, head, before }
    }

    /// What changed since the session began.
    pub(super) async fn changes(&self) -> Changes {
        let edits = |from: &[crate::model::Item]| -> Vec<FileChange> {
            from.iter().filter_map(super::outcome).flat_map(|outcome| outcome.changes.clone()).collect()
        };
        let earlier = edits(&self.items[..self.since.opened.min(self.items.len())]);
        match &self.since.base {
            Base::Open => Changes { files: earlier, ..Changes::default() },
            Base::Edits(why) => {
                Changes { files: edits(&self.items), note: Some((*why).to_owned()), ..Changes::default() }
            }
            Base::Git { root, head, before } => match self.compared(root, head, before).await {
                Some(mut found) => {
                    if !earlier.is_empty() {
                        found.note =
                            Some("of the time before it was opened again, only edits are known".to_owned());
                        found.files.splice(0..0, earlier);
                    }
                    found
                }
                None => Changes {
                    files: edits(&self.items),
                    note: Some("git did not answer in time: these are the edits alone".to_owned()),
                    ..Changes::default()
                },
            },
        }
    }

    async fn compared(&self, root: &Path, head: &str, before: &BTreeMap<String, Held>) -> Option<Changes> {
        let differ = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", head];
        let tracked = self.git(root, &differ, "").await?;
        let others = self.git(root, &["ls-files", "--others", "--exclude-standard", "-z"], "").await?;
        let names = tracked.split('\0').chain(others.split('\0')).filter(|name| !name.is_empty());
        let names: BTreeSet<&str> = names.chain(before.keys().map(String::as_str)).collect();
        let changed: Vec<&str> = names
            .into_iter()
            .filter(|name| before.get(*name).is_none_or(|held| *held != as_before(held, &root.join(name))))
            .filter(|name| self.policy.explain(&root.join(name), Op::Read) == Verdict::Allowed)
            .collect();
        let shown = &changed[..changed.len().min(FILES)];
        let wanted: Vec<&str> = shown
            .iter()
            .filter(|name| !before.contains_key(**name) && !name.contains('\n'))
            .copied()
            .collect();
        let old = self.committed(root, head, &wanted).await?;
        let file = |name: &&str| {
            let path = root.join(name);
            let was = match before.get(*name) {
                Some(Held::Text(text)) => text.as_deref(),
                Some(Held::Stamp(_)) => None,
                None => old.get(*name).map(Vec::as_slice),
            };
            let is = match now(&path) {
                Held::Text(text) => text,
                Held::Stamp(_) => None,
            };
            (was != is.as_deref())
                .then(|| change_of(shown_path(&self.policy.cwd, &path), (was, is.as_deref())))
        };
        let files: Vec<FileChange> = shown.iter().filter_map(file).collect();
        Some(Changes { files, left_out: changed.len() - shown.len(), note: None })
    }

    /// These files as they are in a commit; those that are not in it are missing.
    async fn committed(&self, root: &Path, head: &str, names: &[&str]) -> Option<BTreeMap<String, Vec<u8>>> {
        if names.is_empty() {
            return Some(BTreeMap::new());
        }
        let asked: String = names.iter().map(|name| format!("{head}:{name}\n")).collect();
        let said = self.run_git(root, &["cat-file", "--batch"], &asked).await?;
        Some(objects(&said, names))
    }

    async fn git(&self, root: &Path, args: &[&str], input: &str) -> Option<String> {
        // Names that are no UTF-8 are shown as well as it goes.
        Some(String::from_utf8_lossy(&self.run_git(root, args, input).await?).into_owned())
    }

    /// What git says; None where it fails, or takes too long. It may write nothing and start nothing.
    async fn run_git(&self, root: &Path, args: &[&str], input: &str) -> Option<Vec<u8>> {
        let policy = match self.policy.mode {
            Mode::DangerFullAccess => self.policy.clone(),
            Mode::ReadOnly | Mode::WorkspaceWrite => {
                Policy { mode: Mode::ReadOnly, write_roots: Vec::new(), net: Net::Off, ..self.policy.clone() }
            }
        };
        let quiet = ["--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.quotepath=false"];
        let cmd = Cmd {
            program: "git".into(),
            args: quiet.iter().chain(args).map(Into::into).collect(),
            cwd: root.to_path_buf(),
            env: self.env.clone(),
            io: Io::Piped,
        };
        let mut running = self.sandbox.spawn(&policy, &cmd).await.ok()?;
        let mut pipes = running.pipes()?;
        let talk = async {
            pipes.stdin.write_all(input.as_bytes()).await.ok()?;
            drop(pipes.stdin);
            let mut said = Vec::new();
            pipes.stdout.take(SAID).read_to_end(&mut said).await.ok()?;
            (running.wait().await.ok()? == Exit::Code(0)).then_some(said)
        };
        let said = tokio::time::timeout(TIME, talk).await.ok().flatten();
        running.end(GRACE).await;
        said.filter(|said| (said.len() as u64) < SAID)
    }
}

/// A file as it is: a link is where it leads to, not what is there.
fn now(path: &Path) -> Held {
    let Ok(about) = path.symlink_metadata() else { return Held::Text(None) };
    if about.is_symlink() {
        let target = std::fs::read_link(path).ok();
        return Held::Text(target.map(|target| target.into_os_string().into_encoded_bytes()));
    }
    if !about.is_file() || about.len() > LARGE {
        return Held::Stamp(stamp(path));
    }
    Held::Text(std::fs::read(path).ok())
}

fn stamp(path: &Path) -> Option<(u64, SystemTime)> {
    let about = path.symlink_metadata().ok()?;
    Some((about.len(), about.modified().ok()?))
}

/// The file as it is now, held in the same way.
fn as_before(held: &Held, path: &Path) -> Held {
    match held {
        Held::Text(_) => now(path),
        Held::Stamp(_) => Held::Stamp(stamp(path)),
    }
}

/// Reads what `git cat-file --batch` says of these names, in their order.
fn objects(mut said: &[u8], names: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for name in names {
        let Some(end) = said.iter().position(|byte| *byte == b'\n') else { break };
        let head = String::from_utf8_lossy(&said[..end]).into_owned();
        said = &said[end + 1..];
        let Some(size) = head.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok()) else {
            continue;
        };
        if !head.contains(" blob ") || said.len() < size {
            break;
        }
        found.insert((*name).to_owned(), said[..size].to_vec());
        said = &said[(size + 1).min(said.len())..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_of_objects_is_read_in_the_order_of_their_names() {
        let said = b"aa blob 4\na\nb\n\nHEAD:gone missing\nbb blob 0\n\ncc blob 3\nx\ny\n";
        let found = objects(said, &["one", "gone", "empty", "three"]);
        let texts: Vec<(&str, &[u8])> =
            found.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
        assert_eq!(texts, [("empty", &b""[..]), ("one", b"a\nb\n"), ("three", b"x\ny")]);
        assert_eq!(objects(b"aa blob 400\nshort", &["cut"]).len(), 0);
    }
}
