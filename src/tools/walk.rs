//! Walking a folder as a project is meant to be seen: ignored files left out, hidden ones unless asked
//! for, links not followed, nothing the policy hides. And `glob`, which is little more than a walk.
//!
//! `data` of a glob: `pattern`, `path`, `count` (found), `offset`, `paths` (absolute, newest first; a
//! folder ends in `/`), `more`.

use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::output::rows_that_fit;
use super::{ToolCx, failed, given, path, words};
use crate::model::{Glob, Outcome, State};
use crate::sandbox::files;
use crate::sandbox::{Op, Policy, Verdict};

/// Longest walk.
const TIME: Duration = Duration::from_secs(20);
/// What a walk may take longer than that, for one file that is slow.
const LATE: Duration = Duration::from_secs(10);
/// Files a glob remembers, to find the newest among them.
const MOST_FOUND: usize = 100_000;
const DEFAULT_LIMIT: u64 = 200;

/// What a walk needs to know; owned, since it runs on a thread of its own.
pub(super) struct Walk {
    /// Resolved; a folder, or a single file.
    pub(super) root: PathBuf,
    pub(super) hidden: Hidden,
    pub(super) kinds: Kinds,
    pub(super) policy: Policy,
    pub(super) bound: Bound,
}

/// When blocking work has to stop by itself: nobody can stop its thread.
pub(super) struct Bound {
    cancel: CancellationToken,
    until: Instant,
}

impl Bound {
    pub(super) fn new(cx: &ToolCx<'_>) -> Self {
        Self { cancel: cx.cancel.clone(), until: Instant::now() + TIME }
    }

    pub(super) fn over(&self) -> bool {
        self.cancel.is_cancelled() || Instant::now() > self.until
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hidden {
    Skip,
    Show,
    /// What ignore files name is shown too; only `.git` is not.
    ShowIgnored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kinds {
    Files,
    FilesAndFolders,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Everything was visited.
    Through,
    TimeUp,
    /// The visitor had enough.
    Full,
}

impl Walk {
    /// Under the folder (or file) `raw`, the working folder when absent.
    pub(super) fn new(cx: &ToolCx<'_>, raw: Option<&str>, hidden: Hidden) -> Result<Self, Outcome> {
        let raw = raw.filter(|raw| !raw.is_empty()).unwrap_or(".");
        let target = path::resolve(cx, raw)?;
        let root = files::resolve(cx.policy, &target).map_err(|error| path::fault(cx, raw, error))?;
        Ok(Self { root, hidden, kinds: Kinds::Files, policy: cx.policy.clone(), bound: Bound::new(cx) })
    }

    /// Visits what is below the root in the order of names.
    pub(super) fn run(&self, visit: &mut dyn FnMut(&DirEntry) -> ControlFlow<()>) -> Stop {
        let policy = self.policy.clone();
        let walker = WalkBuilder::new(&self.root)
            .standard_filters(self.hidden != Hidden::ShowIgnored)
            .hidden(self.hidden == Hidden::Skip)
            .require_git(false)
            .follow_links(false)
            .sort_by_file_name(Ord::cmp)
            .filter_entry(move |entry| {
                entry.depth() == 0 || (entry.file_name() != ".git" && readable(&policy, entry.path()))
            })
            .build();
        for entry in walker {
            if self.bound.over() {
                return Stop::TimeUp;
            }
            // A folder that cannot be read is passed over, as is what vanished meanwhile.
            let Ok(entry) = entry else { continue };
            let folder = entry.file_type().is_none_or(|kind| kind.is_dir());
            let wanted = !folder || (entry.depth() > 0 && self.kinds == Kinds::FilesAndFolders);
            if wanted && visit(&entry).is_break() {
                return Stop::Full;
            }
        }
        Stop::Through
    }
}

fn readable(policy: &Policy, path: &Path) -> bool {
    match policy.explain(path, Op::Read) {
        Verdict::Allowed => true,
        Verdict::Denied(_) => false,
    }
}

/// Runs blocking work on a thread of its own. A file system that does not answer is not waited for.
pub(super) async fn blocking<T: Send + 'static>(
    cx: &ToolCx<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Outcome> {
    let work = tokio::task::spawn_blocking(work);
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(Outcome::interrupted("stopped before it was through")),
        done = work => done.map_err(|panic| failed("io", format!("it could not be done: {panic}"))),
        () = tokio::time::sleep(TIME + LATE) => {
            Err(Outcome { state: State::TimedOut, ..failed("timeout", "the file system did not answer in time") })
        }
    }
}

/// A pattern without a slash is about the name, wherever the file is.
pub(super) struct Pattern {
    glob: GlobMatcher,
    name_only: bool,
}

impl Pattern {
    pub(super) fn new(pattern: &str) -> Result<Self, Outcome> {
        let glob =
            GlobBuilder::new(pattern.trim_start_matches("./")).literal_separator(true).build().map_err(
                |error| failed("bad_pattern", format!("`{pattern}` is no valid glob: {}", error.kind())),
            )?;
        Ok(Self { glob: glob.compile_matcher(), name_only: !pattern.contains('/') })
    }

    /// `inside` is the path below the root.
    pub(super) fn fits(&self, inside: &Path) -> bool {
        match (self.name_only, inside.file_name()) {
            (true, Some(name)) => self.glob.is_match(name),
            (true, None) | (false, _) => self.glob.is_match(inside),
        }
    }
}

/// Whether a pattern asks for hidden files by naming one.
pub(super) fn wants_hidden(pattern: &str) -> Hidden {
    let hidden = pattern.split('/').any(|part| part.starts_with('.') && part != "." && part != "..");
    if hidden { Hidden::Show } else { Hidden::Skip }
}

pub(super) async fn glob(cx: &ToolCx<'_>, ask: &Glob) -> Outcome {
    let search = match prepare(cx, ask) {
        Ok(search) => search,
        Err(refusal) => return refusal,
    };
    match blocking(cx, move || search.run()).await {
        Ok(found) => tell(cx, ask, &found),
        Err(refusal) => refusal,
    }
}

struct Search {
    walk: Walk,
    pattern: Pattern,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
}

impl Kind {
    /// What stands after its name.
    fn mark(self) -> &'static str {
        match self {
            Self::File => "",
            Self::Folder => "/",
        }
    }
}

struct Found {
    files: Vec<(SystemTime, PathBuf, Kind)>,
    stop: Stop,
}

fn prepare(cx: &ToolCx<'_>, ask: &Glob) -> Result<Search, Outcome> {
    if ask.pattern.is_empty() {
        return Err(failed("bad_pattern", "the pattern is empty; give one such as **/*.rs"));
    }
    let (base, rest) = split(ask);
    let hidden = if ask.ignored { Hidden::ShowIgnored } else { wants_hidden(&ask.pattern) };
    let kinds = if ask.dirs { Kinds::FilesAndFolders } else { Kinds::Files };
    // A name that exists is meant as a name, whatever brackets it holds.
    let literal = base.join(&rest).to_string_lossy().into_owned();
    let target = path::resolve(cx, &literal)?;
    if files::resolve(cx.policy, &target).is_ok_and(|real| real.is_file()) {
        let walk = Walk::new(cx, Some(&literal), hidden)?;
        return Ok(Search { walk, pattern: Pattern::new("*")? });
    }
    let pattern = literal_folders(cx, &base, &rest)?;
    let base = base.to_string_lossy();
    let walk = Walk { kinds, ..Walk::new(cx, Some(base.as_ref()), hidden)? };
    Ok(Search { walk, pattern: Pattern::new(&pattern)? })
}

/// The pattern with its leading folders taken by name where they exist so: `[id]` is a folder of
/// many a web project.
fn literal_folders(cx: &ToolCx<'_>, base: &Path, pattern: &str) -> Result<String, Outcome> {
    let mut folder = path::resolve(cx, &base.to_string_lossy())?;
    let mut parts: Vec<String> = pattern.split('/').map(str::to_owned).collect();
    let folders = parts.len() - 1;
    for part in &mut parts[..folders] {
        folder.push(&*part);
        // Nobody names a folder with a star.
        if part.contains('*') || !files::resolve(cx.policy, &folder).is_ok_and(|real| real.is_dir()) {
            break;
        }
        *part = globset::escape(part);
    }
    Ok(parts.join("/"))
}

/// The folder to search and the pattern below it: leading parts that are plain names and lead
/// elsewhere (`/abs`, `..`, `~`) belong to the folder.
fn split(ask: &Glob) -> (PathBuf, String) {
    let base = PathBuf::from(ask.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("."));
    let leads_away = ask.pattern.starts_with(['/', '~']) || ask.pattern.starts_with("..");
    if !leads_away {
        return (base, ask.pattern.to_owned());
    }
    let parts: Vec<Component<'_>> = Path::new(&ask.pattern).components().collect();
    let plain = parts
        .iter()
        .take_while(|part| !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']))
        .count();
    let plain = plain.min(parts.len() - 1);
    let folder: PathBuf = parts[..plain].iter().collect();
    let rest: PathBuf = parts[plain..].iter().collect();
    let home = ask.pattern.starts_with('~');
    let folder = if home { folder } else { base.join(folder) };
    // With a slash it stays a pattern for paths, not for names at any depth.
    (folder, format!("./{}", rest.to_string_lossy()))
}

impl Search {
    fn run(&self) -> Found {
        let mut files = Vec::new();
        let stop = self.walk.run(&mut |entry| {
            let inside = entry.path().strip_prefix(&self.walk.root).unwrap_or(entry.path());
            if entry.depth() == 0 || self.pattern.fits(inside) {
                let changed = entry.metadata().ok().and_then(|meta| meta.modified().ok());
                let kind = match entry.file_type().is_some_and(|kind| kind.is_dir()) {
                    true => Kind::Folder,
                    false => Kind::File,
                };
                files.push((changed.unwrap_or(SystemTime::UNIX_EPOCH), entry.path().to_owned(), kind));
            }
            if files.len() >= MOST_FOUND { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        Found { files, stop }
    }
}

fn tell(cx: &ToolCx<'_>, ask: &Glob, found: &Found) -> Outcome {
    let count = found.files.len();
    let offset = usize::try_from(ask.offset.unwrap_or(0)).unwrap_or(usize::MAX).min(count);
    let files = &found.files[offset..];
    let limit = usize::try_from(given(ask.limit).unwrap_or(DEFAULT_LIMIT)).unwrap_or(usize::MAX);
    let row = |path: &Path, kind: Kind| format!("{}{}", path::short(cx.cwd, path), kind.mark());
    let mut rows: Vec<String> = files.iter().take(limit).map(|(_, path, kind)| row(path, *kind)).collect();
    rows.truncate(rows_that_fit(&rows, &cx.limits));
    let shown = &files[..rows.len()];
    let what = if ask.dirs { "path" } else { "file" };
    let left = (rows.len() < files.len()).then(|| match offset {
        0 => format!("the newest {} of {}", rows.len(), words::count(count, what)),
        _ => format!("{} to {} of {}", offset + 1, offset + rows.len(), words::count(count, what)),
    });
    let more = left.is_some() || found.stop != Stop::Through;
    let mut text = rows.join("\n");
    if rows.is_empty() {
        text = format!(
            "no {what} {}matches {}",
            if count > 0 { "after those " } else { "" },
            path::show_str(&ask.pattern)
        );
    }
    text.push_str(&rest_note(found.stop, left));
    let full = |path: &Path, kind: Kind| format!("{}{}", path::show(path), kind.mark());
    let paths: Vec<String> = shown.iter().map(|(_, path, kind)| full(path, *kind)).collect();
    let data = json!({
        "pattern": ask.pattern, "path": ask.path, "count": count, "offset": offset, "paths": paths, "more": more,
    });
    Outcome { data, ..Outcome::ok(text) }
}

/// One bracketed line on what is missing from a listing, empty when nothing is.
pub(super) fn rest_note(stop: Stop, left: Option<String>) -> String {
    let early = match stop {
        Stop::Through => None,
        Stop::TimeUp => Some("the search stopped at its time limit".to_owned()),
        Stop::Full => Some("the search stopped at its size limit".to_owned()),
    };
    let notes: Vec<String> = left.into_iter().chain(early).collect();
    if notes.is_empty() {
        String::new()
    } else {
        format!("\n[{}; narrow the pattern or the path]", notes.join("; "))
    }
}
