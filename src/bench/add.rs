//! A task made of a real session: what was asked, on the files as they were before.
//!
//! Takes what is known and says what is not. The files come from git's last commit before the
//! session, corrected by what the session itself read; without git, from the session alone. Files
//! that commands do not see are never taken, nor those whose name says that they hold a secret.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Serialize;

use super::folder;
use super::room::{Room, Script};
use super::story::{Known, Story};
use crate::model::hash;
use crate::sandbox::{Exit, Mode, Op, Policy, Scratch, Verdict, Wish};
use crate::store::Loaded;
use crate::tools::Over;

/// A task's files are small: of a larger project only what the session looked at is taken. Bytes.
const MOST_ALL: u64 = 2 * 1024 * 1024;
const MOST_FILES: usize = 300;
/// A larger file is left out. Bytes.
const MOST_ONE: u64 = 512 * 1024;
/// For git to hand out a commit.
const GIT: Duration = Duration::from_secs(60);
/// Words of the prompt in a name.
const NAME_WORDS: usize = 5;

/// Prints the last commit before `$1` and writes its files below the scratch folder. The index is a
/// copy of its own, so the repository is not touched.
const EXPORT: &str = r#"set -e
commit=$(git rev-list -1 --before="$1" HEAD)
[ -n "$commit" ] || exit 3
GIT_INDEX_FILE="$TMPDIR/index"
export GIT_INDEX_FILE
git read-tree "$commit:$(git rev-parse --show-prefix)"
git checkout-index -a --prefix="$TMPDIR/base/"
echo "$commit""#;

const WRITE_ME: &str = r#"#!/bin/sh
# Judges the folder it runs in: exit 0 is solved. Its last line says what is wrong.
# TACK_ANSWER is a file with the agent's last message, TACK_FILES a folder with the files as they were.
echo "write me: nothing is checked yet"
exit 1
"#;

/// What to make a task of.
pub struct Wanted<'a> {
    pub session: &'a Loaded,
    /// The task's name; None: made of the prompt.
    pub name: Option<&'a str>,
    /// The folder of task folders; made when missing.
    pub dir: &'a Path,
}

/// A task that was made. Sentences for the person.
#[derive(Debug)]
pub struct Added {
    pub dir: PathBuf,
    /// What was taken, and from where.
    pub taken: Vec<String>,
    /// What has to be done by hand.
    pub open: Vec<String>,
}

/// Makes the task's folder. Nothing is left of it when that fails.
pub async fn add(wanted: &Wanted<'_>, room: &Room<'_>) -> anyhow::Result<Added> {
    let story = Story::of(&wanted.session.items);
    let Some(prompt) = story.prompt.clone().filter(|prompt| !prompt.trim().is_empty()) else {
        bail!("the session {} has no prompt to make a task of", wanted.session.header.id);
    };
    let name = wanted.name.map_or_else(|| name_of(&prompt), str::to_owned);
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        bail!("{name:?} cannot be a task's name; give one of letters, digits and dashes with --name");
    }
    let dir = wanted.dir.join(&name);
    if dir.exists() {
        bail!("{} is there already; give another name with --name", dir.display());
    }
    let cwd = PathBuf::from(&wanted.session.header.cwd);
    let mut made = Making { story: &story, cwd, dir: dir.clone(), taken: Vec::new(), open: Vec::new() };
    let done = made.all(wanted.session, &prompt, room).await;
    if let Err(error) = done {
        let _ = folder::remove(&dir);
        return Err(error);
    }
    Ok(Added { dir, taken: made.taken, open: made.open })
}

fn name_of(prompt: &str) -> String {
    let words = prompt.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.take(NAME_WORDS).map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

/// `task.toml` as it is written.
#[derive(Serialize)]
struct Written<'a> {
    prompt: &'a str,
    tags: [&'a str; 1],
    kept: bool,
}

struct Making<'a> {
    story: &'a Story,
    /// The session's folder.
    cwd: PathBuf,
    /// The task's.
    dir: PathBuf,
    taken: Vec<String>,
    open: Vec<String>,
}

/// A commit's files, by path below the session's folder.
struct Base {
    commit: String,
    files: BTreeMap<PathBuf, PathBuf>,
    _scratch: Scratch,
}

impl Making<'_> {
    async fn all(&mut self, session: &Loaded, prompt: &str, room: &Room<'_>) -> anyhow::Result<()> {
        fs::create_dir_all(&self.dir).with_context(|| format!("making {}", self.dir.display()))?;
        self.prompt(prompt)?;
        if self.cwd.is_dir() {
            let wish = Wish { cwd: self.cwd.clone(), tmp: None, ..room.wish.clone() };
            let policy = wish.settle().context("working out which files are hidden")?.policy;
            let base = self.base(session, room).await?;
            self.files(&base, &policy)?;
            self.solve(&policy)?;
        } else {
            let cwd = self.cwd.display();
            self.open.push(format!("files/: the session's folder {cwd} is gone; put the files there"));
        }
        self.check()
    }

    fn prompt(&mut self, prompt: &str) -> anyhow::Result<()> {
        let written = Written { prompt, tags: ["session"], kept: false };
        fs::write(self.dir.join("task.toml"), toml::to_string(&written)?)?;
        self.taken.push(match self.story.prompts {
            1 => "task.toml: the session's prompt".to_owned(),
            more => format!("task.toml: the first of the session's {more} prompts"),
        });
        if self.story.prompts > 1 {
            self.open.push("task.toml: let the prompt say what the later ones added".to_owned());
        }
        if self.story.images {
            self.open.push("task.toml: the prompt came with images, which a task cannot have".to_owned());
        }
        Ok(())
    }

    /// None where there is no repository or no commit that is old enough.
    async fn base(&mut self, session: &Loaded, room: &Room<'_>) -> anyhow::Result<Option<Base>> {
        if !self.cwd.ancestors().any(|dir| dir.join(".git").exists()) {
            return Ok(None);
        }
        let scratch = Scratch::make(room.scratch)?;
        fs::create_dir(scratch.path().join("base"))?;
        let created = session.header.created.to_string();
        let script = Script {
            words: vec![EXPORT.into(), "sh".into(), created.into()],
            cwd: &self.cwd,
            mode: Mode::ReadOnly,
            scratch: &scratch,
            limit: GIT,
        };
        let ran = room.run(script).await.context("asking git for the files")?;
        if ran.over != Over::Exited(Exit::Code(0)) {
            self.taken.push("git has no commit of this folder from before the session".to_owned());
            return Ok(None);
        }
        let commit = ran.output.trim().lines().last().unwrap_or_default().chars().take(12).collect();
        let top = scratch.path().join("base");
        let mut files = BTreeMap::new();
        folder::walk(&top, &mut |path, kind| {
            if kind.is_file() {
                files.insert(path.strip_prefix(&top).unwrap_or(path).to_owned(), path.to_owned());
            }
            Ok(())
        })?;
        Ok(Some(Base { commit, files, _scratch: scratch }))
    }

    fn files(&mut self, base: &Option<Base>, policy: &Policy) -> anyhow::Result<()> {
        let mut files: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
        if let Some(base) = base {
            self.take_base(base, policy, &mut files)?;
        }
        for known in &self.story.files {
            let Some(below) = self.below(&known.path) else {
                self.open.push(format!("{} lies outside of the session's folder", known.path.display()));
                continue;
            };
            if secret(&below, &self.cwd, policy) {
                self.open.push(format!("files/{}: left out, as it may hold a secret", below.display()));
            } else {
                self.as_before(known, below, &mut files);
            }
        }
        for (below, bytes) in &files {
            let to = self.dir.join("files").join(below);
            fs::create_dir_all(to.parent().unwrap_or(&self.dir))?;
            fs::write(&to, bytes).with_context(|| format!("writing {}", to.display()))?;
            let from = base.as_ref().and_then(|base| base.files.get(below).cloned());
            if is_executable(&from.unwrap_or_else(|| self.cwd.join(below))) {
                executable(&to)?;
            }
        }
        let count = files.len();
        self.taken.push(match base {
            Some(base) => format!("files/: {count}, as of commit {}", base.commit),
            None => format!("files/: {count}, of those that the session looked at"),
        });
        match base {
            Some(_) if self.story.commands == 0 => {}
            Some(_) | None => self.open.push(
                "files/: see that they are what the agent has to find; the session does not tell of all"
                    .to_owned(),
            ),
        }
        Ok(())
    }

    fn take_base(
        &mut self,
        base: &Base,
        policy: &Policy,
        files: &mut BTreeMap<PathBuf, Vec<u8>>,
    ) -> anyhow::Result<()> {
        let size = |path: &Path| path.metadata().map(|meta| meta.len()).unwrap_or(u64::MAX);
        let small = |path: &Path| size(path) <= MOST_ONE;
        let all: u64 = base.files.values().map(|path| size(path)).filter(|size| *size <= MOST_ONE).sum();
        let fits = all <= MOST_ALL && base.files.len() <= MOST_FILES;
        let known: Vec<PathBuf> =
            self.story.files.iter().filter_map(|known| self.below(&known.path)).collect();
        if !fits {
            self.open.push(format!(
                "files/: the project is large ({} files), so only what the session looked at was taken; add what the task needs",
                base.files.len()
            ));
        }
        for (below, path) in &base.files {
            if !fits && !known.contains(below) {
                continue;
            }
            if secret(below, &self.cwd, policy) {
                self.open.push(format!("files/{}: left out, as it may hold a secret", below.display()));
            } else if small(path) {
                files.insert(below.clone(), fs::read(path)?);
            } else {
                self.open.push(format!("files/{}: left out, it is large", below.display()));
            }
        }
        Ok(())
    }

    /// Puts the file in as it was before the session changed it, if that is known.
    fn as_before(&mut self, known: &Known, below: PathBuf, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
        let shown = below.display().to_string();
        let Some(before) = &known.before else {
            if !known.created && !files.contains_key(&below) {
                self.open.push(format!("files/{shown}: what it held before the session is not known"));
            }
            return;
        };
        if files.get(&below).is_some_and(|bytes| hash(bytes) == *before) {
            return;
        }
        let now = || fs::read(self.cwd.join(&below)).ok().filter(|bytes| hash(bytes) == *before);
        match known.text.clone().or_else(now).filter(|bytes| bytes.len() as u64 <= MOST_ONE) {
            Some(bytes) => {
                if files.insert(below, bytes).is_some() {
                    self.taken.push(format!("files/{shown}: as the session read it, not as committed"));
                }
            }
            None => self.open.push(format!(
                "files/{shown}: the session read it in another state, which is not known in full"
            )),
        }
    }

    /// Writes down what the session made of the files, where that is still there to be read.
    fn solve(&mut self, policy: &Policy) -> anyhow::Result<()> {
        let changed: Vec<&Known> = self.story.files.iter().filter(|known| known.changed).collect();
        let mut script = "#!/bin/sh\nset -e\n".to_owned();
        if changed.is_empty() {
            let Some(answer) = &self.story.answer else { return Ok(()) };
            script.push_str(&printed(answer));
            self.taken.push("solve: says what the session said last".to_owned());
        } else {
            let unknown = "solve: none, as it is not known what the session made of ";
            if self.story.removed {
                self.open.push(format!("{unknown}files that it removed or moved; write one"));
                return Ok(());
            }
            for known in changed {
                let Some(lines) = self.outcome(known, policy) else {
                    self.open.push(format!("{unknown}{}; write one", known.path.display()));
                    return Ok(());
                };
                script.push_str(&lines);
            }
            self.taken.push("solve: writes the files as the session left them".to_owned());
        }
        if self.story.commands > 0 {
            self.open.push("solve: what commands of the session changed is not in it; add that".to_owned());
        }
        fs::write(self.dir.join("solve"), script)?;
        executable(&self.dir.join("solve"))
    }

    /// Shell lines that write the file as the session left it, if it is still so.
    fn outcome(&self, known: &Known, policy: &Policy) -> Option<String> {
        let below = self.below(&known.path)?;
        if secret(&below, &self.cwd, policy) {
            return None;
        }
        let bytes = fs::read(self.cwd.join(&below)).ok().filter(|bytes| hash(bytes) == known.last)?;
        let text = String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= MOST_ONE)?;
        if !text.is_empty() && !text.ends_with('\n') || text.contains('\0') {
            return None;
        }
        let path = shlex::try_quote(below.to_str()?).ok()?.into_owned();
        let parent = below.parent().and_then(Path::to_str).filter(|parent| !parent.is_empty());
        let folder = match parent {
            Some(parent) => format!("mkdir -p {}\n", shlex::try_quote(parent).ok()?),
            None => String::new(),
        };
        Some(format!("{folder}> {path} {}", printed(&text)))
    }

    fn check(&mut self) -> anyhow::Result<()> {
        let path = self.dir.join("check");
        match &self.story.check {
            Some(command) => {
                let script = format!(
                    "#!/bin/sh\n# Passed at the end of the session.\n(\n{command}\n) || {{ echo \"its own check fails\"; exit 1; }}\n"
                );
                fs::write(&path, script)?;
                self.taken.push(format!("check: {command}, which passed at the session's end"));
                self.open.push(
                    "check: see that it asks for what the prompt asks for, and that other files are left alone"
                        .to_owned(),
                );
            }
            None => {
                fs::write(&path, WRITE_ME)?;
                self.open.push("check: says no until you write it".to_owned());
            }
        }
        executable(&path)
    }

    /// The path below the session's folder; None when it is not there.
    fn below(&self, path: &Path) -> Option<PathBuf> {
        let real = self.cwd.canonicalize().unwrap_or_else(|_| self.cwd.clone());
        let below = path.strip_prefix(&real).or_else(|_| path.strip_prefix(&self.cwd)).ok()?;
        let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        (plain && below.file_name().is_some()).then(|| below.to_owned())
    }
}

/// Whether the sandbox hides it, or its name says that it is nobody else's business.
fn secret(below: &Path, cwd: &Path, policy: &Policy) -> bool {
    let hidden = matches!(policy.explain(&cwd.join(below), Op::Read), Verdict::Denied(_));
    let name = below.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let named = name == ".env"
        || name.starts_with(".env.")
        || [".pem", ".key", ".p12", ".pfx"].iter().any(|end| name.ends_with(end))
        || ["id_rsa", "id_ed25519", ".netrc", ".npmrc", ".pypirc", ".git-credentials"]
            .contains(&name.as_str());
    hidden || named
}

/// A shell command that prints `text`, with a newline at its end.
fn printed(text: &str) -> String {
    let mut end = "END".to_owned();
    while text.lines().any(|line| line == end) {
        end.push('_');
    }
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("cat <<'{end}'\n{text}{newline}{end}\n")
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    false
}

fn executable(path: &Path) -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
