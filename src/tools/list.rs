//! Listing a folder, or some levels of it: folders first, what the project ignores only counted.
//!
//! `data`: `path` (absolute), `entries` (`name` below it, `dir`), `ignored` (how many were left
//! out), `total` (how many there are besides).

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;

use ignore::WalkBuilder;
use serde_json::{Value, json};

use super::output::rows_that_fit;
use super::walk::Pattern;
use super::{ToolCx, given, path};
use crate::model::{Outcome, Read};
use crate::sandbox::files::{self, DirEntry, Kind};

/// Folders that are opened at most.
const FOLDERS: usize = 500;
/// Deepest level that is looked at.
const DEEPEST: u64 = 20;

/// One folder, or several levels of them.
pub(super) fn run(cx: &ToolCx<'_>, raw: &str, (ignore, depth): (&[String], u64)) -> Outcome {
    list(cx, raw, (ignore, depth.clamp(1, DEEPEST))).unwrap_or_else(|refusal| refusal)
}

/// What was found so far.
struct Found {
    globs: Vec<Pattern>,
    /// Name below the first folder, with its level from 0.
    rows: Vec<Row>,
    ignored: usize,
    folders: usize,
}

struct Row {
    inside: String,
    dir: bool,
    level: u64,
}

impl Found {
    /// Puts in what a folder holds, and what its folders hold down to `depth` levels.
    fn folder(&mut self, cx: &ToolCx<'_>, at: (&Path, &str, u64), depth: u64, entries: Vec<DirEntry>) {
        let (real, above, level) = at;
        let visible = not_ignored(real);
        let all = entries.len();
        let mut kept: Vec<(bool, DirEntry)> = entries
            .into_iter()
            .filter(|entry| visible.contains(&entry.name))
            .filter(|entry| !self.globs.iter().any(|glob| glob.fits(Path::new(&entry.name))))
            .map(|entry| (is_folder(cx, real, &entry), entry))
            .collect();
        kept.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
        self.ignored += all - kept.len();
        for (dir, entry) in kept {
            let inside = format!("{above}{}", path::show(Path::new(&entry.name)));
            let below = format!("{inside}/");
            self.rows.push(Row { inside, dir, level });
            // A link may lead back up, and git's own folder is nobody's project.
            let enter = entry.kind == Kind::Dir && entry.name != ".git" && level + 1 < depth;
            if enter && self.folders < FOLDERS {
                self.folders += 1;
                let folder = real.join(&entry.name);
                if let Ok((real, entries)) = files::list(cx.policy, &folder) {
                    self.folder(cx, (&real, &below, level + 1), depth, entries);
                }
            }
        }
    }
}

fn list(cx: &ToolCx<'_>, raw: &str, (ignore, depth): (&[String], u64)) -> Result<Outcome, Outcome> {
    let raw = if raw.is_empty() { "." } else { raw };
    let target = path::resolve(cx, raw)?;
    let (real, entries) = files::list(cx.policy, &target).map_err(|error| not_a_folder(cx, raw, error))?;
    let globs =
        ignore.iter().map(|glob| Pattern::new(glob.trim_end_matches('/'))).collect::<Result<Vec<_>, _>>()?;
    let mut found = Found { globs, rows: Vec::new(), ignored: 0, folders: 0 };
    found.folder(cx, (&real, "", 0), depth, entries);
    let (kept, ignored) = (found.rows, found.ignored);
    let line = |row: &Row| {
        let name = row.inside.rsplit('/').next().unwrap_or_default();
        let indent = "  ".repeat(usize::try_from(row.level).unwrap_or_default());
        format!("{indent}{name}{}", if row.dir { "/" } else { "" })
    };
    let mut rows: Vec<String> = kept.iter().map(line).collect();
    rows.truncate(rows_that_fit(&rows, &cx.limits));
    let mut text = rows.join("\n");
    if rows.is_empty() {
        text = format!("{} is empty", path::show_str(raw));
    }
    if rows.len() < kept.len() {
        text.push_str(&format!("\n[the first {} of {} entries]", rows.len(), kept.len()));
    }
    if ignored > 0 {
        text.push_str(&format!("\n[{ignored} ignored]"));
    }
    let entries: Vec<_> =
        kept[..rows.len()].iter().map(|row| json!({ "name": row.inside, "dir": row.dir })).collect();
    let data =
        json!({ "path": path::show(&real), "entries": entries, "ignored": ignored, "total": kept.len() });
    Ok(Outcome { data, ..Outcome::ok(text) })
}

/// As many of the entries as a read asks for, told as a read is.
pub(super) fn part(cx: &ToolCx<'_>, ask: &Read) -> Outcome {
    let mut outcome = run(cx, &ask.path, (&[], 1));
    let Some(Value::Array(entries)) = outcome.data.get("entries").cloned() else { return outcome };
    let total = outcome.data["total"].as_u64().unwrap_or_default();
    let last = given(ask.last).map(|last| (total + 1).saturating_sub(last));
    let from = ask.line.or(last).unwrap_or(1).max(1);
    let place = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let count = given(ask.count).map_or(usize::MAX, place);
    let shown: Vec<Value> = entries.into_iter().skip(place(from - 1)).take(count).collect();
    let to = (from - 1).saturating_add(shown.len() as u64);
    let more = to < total;
    if from > 1 || more {
        let slash = |entry: &Value| if entry["dir"] == true { "/" } else { "" };
        let name = |entry: &Value| format!("{}{}", entry["name"].as_str().unwrap_or_default(), slash(entry));
        outcome.text = shown.iter().map(name).collect::<Vec<_>>().join("\n");
    }
    let next = more.then_some(to + 1);
    let facts =
        json!({ "kind": "folder", "entries": shown, "from": from, "to": to, "more": more, "next": next });
    if let (Value::Object(data), Value::Object(facts)) = (&mut outcome.data, facts) {
        data.extend(facts);
    }
    outcome
}

fn not_a_folder(cx: &ToolCx<'_>, raw: &str, error: files::FileError) -> Outcome {
    let is_file = match &error {
        files::FileError::Denied { .. } | files::FileError::NotFound(_) => false,
        files::FileError::WrongKind { .. } => true,
        files::FileError::Io { source, .. } => source.kind() == std::io::ErrorKind::NotADirectory,
    };
    match is_file {
        true => super::failed(
            "not_a_folder",
            format!("{} is a file; read it, or list its folder", path::show_str(raw)),
        ),
        false => path::fault(cx, raw, error),
    }
}

/// Names in the folder that no ignore file leaves out. Dot files count as visible here.
fn not_ignored(folder: &Path) -> HashSet<OsString> {
    WalkBuilder::new(folder)
        .max_depth(Some(1))
        .hidden(false)
        .require_git(false)
        .build()
        .filter_map(Result::ok)
        .filter(|entry| entry.depth() == 1)
        .map(|entry| entry.file_name().to_owned())
        .collect()
}

fn is_folder(cx: &ToolCx<'_>, folder: &Path, entry: &DirEntry) -> bool {
    match entry.kind {
        Kind::Dir => true,
        Kind::File | Kind::Other => false,
        Kind::Link => files::resolve(cx.policy, &folder.join(&entry.name)).is_ok_and(|real| real.is_dir()),
    }
}
