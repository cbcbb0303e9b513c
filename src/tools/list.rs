//! Listing one folder: folders first, what the project ignores only counted.
//!
//! `data`: `path` (absolute), `entries` (`name`, `dir`), `ignored` (how many were left
//! out), `total` (how many there are besides).

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;

use ignore::WalkBuilder;
use serde_json::{Value, json};

use super::output::rows_that_fit;
use super::walk::Pattern;
use super::{ToolCx, path};
use crate::model::{Outcome, Read};
use crate::sandbox::files::{self, DirEntry, Kind};

pub(super) fn run(cx: &ToolCx<'_>, raw: &str, ignore: &[String]) -> Outcome {
    list(cx, raw, ignore).unwrap_or_else(|refusal| refusal)
}

fn list(cx: &ToolCx<'_>, raw: &str, ignore: &[String]) -> Result<Outcome, Outcome> {
    let raw = if raw.is_empty() { "." } else { raw };
    let target = path::resolve(cx, raw)?;
    let (real, entries) = files::list(cx.policy, &target).map_err(|error| not_a_folder(cx, raw, error))?;
    let globs =
        ignore.iter().map(|glob| Pattern::new(glob.trim_end_matches('/'))).collect::<Result<Vec<_>, _>>()?;
    let visible = not_ignored(&real);
    let all = entries.len();
    let mut kept: Vec<(bool, String)> = entries
        .into_iter()
        .filter(|entry| visible.contains(&entry.name))
        .filter(|entry| !globs.iter().any(|glob| glob.fits(Path::new(&entry.name))))
        .map(|entry| (is_folder(cx, &real, &entry), path::show(Path::new(&entry.name))))
        .collect();
    kept.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let ignored = all - kept.len();
    let mut rows: Vec<String> =
        kept.iter().map(|(dir, name)| if *dir { format!("{name}/") } else { name.clone() }).collect();
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
        kept[..rows.len()].iter().map(|(dir, name)| json!({ "name": name, "dir": dir })).collect();
    let data =
        json!({ "path": path::show(&real), "entries": entries, "ignored": ignored, "total": kept.len() });
    Ok(Outcome { data, ..Outcome::ok(text) })
}

/// As many of the entries as a read asks for, told as a read is.
pub(super) fn part(cx: &ToolCx<'_>, ask: &Read) -> Outcome {
    let mut outcome = run(cx, &ask.path, &[]);
    let Some(Value::Array(entries)) = outcome.data.get("entries").cloned() else { return outcome };
    let total = outcome.data["total"].as_u64().unwrap_or_default();
    let last = ask.last.map(|last| (total + 1).saturating_sub(last));
    let from = ask.line.or(last).unwrap_or(1).max(1);
    let place = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let count = ask.count.filter(|count| *count > 0).map_or(usize::MAX, place);
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
