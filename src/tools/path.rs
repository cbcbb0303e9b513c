//! Paths as a model writes them: resolved against the working folder, shown without surprises.
//!
//! A path is a name and nothing else: brackets, spaces, a leading dash never mean a pattern here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{ToolCx, failed};
use crate::model::Outcome;
use crate::sandbox::files::{self, FileError};

/// The absolute path that `raw` names; links are not followed yet.
pub(super) fn resolve(cx: &ToolCx<'_>, raw: &str) -> Result<PathBuf, Outcome> {
    if raw.is_empty() {
        return Err(failed("empty_path", "the path is empty; name a file or folder"));
    }
    if raw.contains('\0') {
        return Err(failed("bad_path", "the path holds a NUL byte, which no file name can"));
    }
    // A file that is really called `~` wins over the home folder.
    let literal = cx.cwd.join(raw);
    if cx.guards.root_is_here
        && literal.parent() == Some(Path::new("/"))
        && let Some(name) = literal.file_name()
        && !literal.exists()
    {
        return Ok(cx.cwd.join(name));
    }
    if (raw == "~" || raw.starts_with("~/"))
        && !literal.exists()
        && let Some(home) = home(cx.env)
    {
        return Ok(home.join(raw[1..].trim_start_matches('/')));
    }
    Ok(literal)
}

fn home(env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let (_, home) = env.iter().find(|(name, _)| name == "HOME")?;
    (!home.is_empty()).then(|| PathBuf::from(home))
}

/// For people and models: control characters escaped, so that a name is always one line.
pub(super) fn show(path: &Path) -> String {
    show_str(&path.to_string_lossy())
}

pub(super) fn show_str(name: &str) -> String {
    if !name.contains(char::is_control) {
        return name.to_owned();
    }
    name.chars()
        .flat_map(|c| match c.is_control() {
            true => c.escape_default().collect::<Vec<_>>(),
            false => vec![c],
        })
        .collect()
}

/// Relative to the working folder when it lies inside, otherwise absolute.
pub fn short(cwd: &Path, path: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(inside) if !inside.as_os_str().is_empty() => show(inside),
        Ok(_) | Err(_) => show(path),
    }
}

/// The path names a folder where a file is wanted.
pub(super) fn is_folder(error: &FileError) -> bool {
    match error {
        FileError::WrongKind { what, .. } => what.contains("folder") || what.contains("directory"),
        FileError::Io { source, .. } => source.kind() == std::io::ErrorKind::IsADirectory,
        FileError::Denied { .. } | FileError::NotFound(_) => false,
    }
}

/// What a file error means to the model; `raw` is the path as it wrote it.
pub(super) fn fault(cx: &ToolCx<'_>, raw: &str, error: FileError) -> Outcome {
    let raw = show_str(raw);
    match error {
        FileError::Denied { rule, .. } => Outcome {
            data: serde_json::json!({ "error": "denied", "rule": rule }),
            ..Outcome::refused(format!("{raw} is not allowed: {rule}"))
        },
        FileError::NotFound(path) => failed("not_found", missing(cx, &raw, &path)),
        FileError::WrongKind { what, .. } if what.contains("folder") || what.contains("directory") => {
            failed("is_folder", format!("{raw} is a folder; list it, or name a file in it"))
        }
        FileError::WrongKind { what, .. } => {
            failed("wrong_kind", format!("{raw} is {what}, not a plain file"))
        }
        FileError::Io { source, .. } if source.kind() == std::io::ErrorKind::IsADirectory => {
            failed("is_folder", format!("{raw} is a folder; list it, or name a file in it"))
        }
        FileError::Io { source, .. } => failed("io", format!("{raw}: {source}")),
    }
}

fn missing(cx: &ToolCx<'_>, raw: &str, path: &Path) -> String {
    let wanted = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let Some(folder) = path.parent() else { return format!("{raw} does not exist") };
    let Ok((_, entries)) = files::list(cx.policy, folder) else {
        return format!("{raw} does not exist, nor does its folder {}", short(cx.cwd, folder));
    };
    let mut close: Vec<(f64, String)> = entries
        .iter()
        .map(|entry| {
            let name = entry.name.to_string_lossy();
            (strsim::jaro_winkler(&wanted.to_lowercase(), &name.to_lowercase()), show_str(&name))
        })
        .filter(|(likeness, _)| *likeness > 0.75)
        .collect();
    close.sort_by(|a, b| b.0.total_cmp(&a.0));
    close.truncate(3);
    let names: Vec<_> = close.into_iter().map(|(_, name)| name).collect();
    match names.is_empty() {
        true => format!("{raw} does not exist"),
        false => format!("{raw} does not exist; near it: {}", names.join(", ")),
    }
}
