//! Tasks: folders with a prompt, files to start from, and a check of what came of it.
//!
//! ```text
//! rename-function/
//!   task.toml     prompt, tags, limits
//!   files/        what the agent's folder holds at first; may be missing
//!   check         a script; exit 0 is solved. Runs on a copy of the agent's folder, which never held it
//!   solve         a script that does the task as it should be done; optional
//! ```
//!
//! Reads folders and says what is wrong with them. Runs nothing: that is for `check`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use include_dir::{Dir, DirEntry, include_dir};
use serde::Deserialize;

use super::folder;
use crate::config::near;

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/benches/tasks");

/// Largest `task.toml` or script, in bytes.
const MOST: u64 = 1 << 20;

const TASK: &str = "task.toml";
const FILES: &str = "files";
const CHECK: &str = "check";
const SOLVE: &str = "solve";
const KEYS: [&str; 5] = ["prompt", "tags", "kept", "needs", "limits"];
const LIMITS: [&str; 3] = ["turns", "seconds", "check_seconds"];

/// One task, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The folder's name.
    pub name: String,
    pub dir: PathBuf,
    /// What the person asks for.
    pub prompt: String,
    pub tags: Vec<String>,
    /// Kept from whoever tunes a harness: published figures are of these.
    pub kept: bool,
    /// Programs that the task cannot do without: `python3`.
    pub needs: Vec<String>,
    pub limits: Limits,
    /// Of all that the folder holds, 16 hex digits: with another hash it is another task.
    pub hash: String,
}

/// What one run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Model requests.
    pub turns: u32,
    /// Seconds for the agent.
    pub seconds: u64,
    /// Seconds for the check.
    pub check_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { turns: 16, seconds: 600, check_seconds: 60 }
    }
}

/// Why a folder is no task. Names the file.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {what}")]
pub struct TaskError {
    pub file: String,
    pub what: String,
}

/// `task.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    prompt: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    kept: bool,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    limits: Limits,
}

impl Task {
    /// Reads the task in `dir`. Its name is the folder's.
    pub fn load(dir: &Path) -> Result<Task, TaskError> {
        let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let fault = |file: &str, what: String| TaskError { file: format!("{name}/{file}"), what };
        let text = read(&dir.join(TASK)).map_err(|error| fault(TASK, error.to_string()))?;
        let text = String::from_utf8(text).map_err(|_| fault(TASK, "is not UTF-8".to_owned()))?;
        let Written { prompt, tags, kept, needs, limits } = parse(&text).map_err(|(line, what)| {
            let file = line.map_or_else(|| TASK.to_owned(), |line| format!("{TASK}:{line}"));
            fault(&file, what)
        })?;
        if prompt.trim().is_empty() {
            return Err(fault(TASK, "prompt is empty; say what the person asks for".to_owned()));
        }
        if limits.turns == 0 || limits.seconds == 0 || limits.check_seconds == 0 {
            return Err(fault(TASK, "limits begin at 1".to_owned()));
        }
        is_script(&dir.join(CHECK)).map_err(|what| fault(CHECK, what))?;
        if dir.join(SOLVE).exists() {
            is_script(&dir.join(SOLVE)).map_err(|what| fault(SOLVE, what))?;
        }
        let hash = folder::hash(dir).map_err(|error| fault("", error.to_string()))?;
        let prompt = prompt.trim().to_owned();
        Ok(Task { name, dir: dir.to_owned(), prompt, tags, kept, needs, limits, hash })
    }

    /// Every folder in `dir` as a task, by name. A folder without a single one is an error too.
    pub fn all(dir: &Path) -> Vec<Result<Task, TaskError>> {
        let fault = |what: String| vec![Err(TaskError { file: dir.display().to_string(), what })];
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) => return fault(format!("cannot be read: {error}")),
        };
        let visible = |path: &Path| path.file_name().is_some_and(|n| !n.to_string_lossy().starts_with('.'));
        let mut dirs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        dirs.retain(|path| path.is_dir() && visible(path));
        dirs.sort();
        if dirs.is_empty() {
            return fault("holds no task folders".to_owned());
        }
        dirs.iter().map(|dir| Task::load(dir)).collect()
    }

    /// The tasks that come with tack, written out below `cache` unless they are there: the folder to
    /// give to [`Task::all`].
    pub fn embedded(cache: &Path) -> io::Result<PathBuf> {
        let mut files = Vec::new();
        gather(&EMBEDDED, &mut files);
        let hash = folder::digest(files.iter().map(|(path, bytes)| (path.clone(), *bytes)));
        let place = cache.join(format!("tasks-{hash}"));
        // Somebody may have changed or removed a file there.
        if folder::hash(&place).is_ok_and(|found| found == hash) {
            return Ok(place);
        }
        let fresh = cache.join(format!("tasks-{}", uuid::Uuid::now_v7()));
        for (path, bytes) in files {
            let path = fresh.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&fresh))?;
            fs::write(path, bytes)?;
        }
        folder::remove(&place)?;
        match fs::rename(&fresh, &place) {
            Ok(()) => Ok(place),
            // Another process was faster.
            Err(_) if place.is_dir() => folder::remove(&fresh).map(|()| place),
            Err(error) => Err(error),
        }
    }

    /// Makes `to`, a folder that is not there yet, with what the agent finds in it.
    pub fn lay_out(&self, to: &Path) -> io::Result<()> {
        let files = self.dir.join(FILES);
        match files.is_dir() {
            true => folder::copy(&files, to),
            false => fs::create_dir_all(to),
        }
    }

    /// The script that judges.
    pub fn check(&self) -> PathBuf {
        self.dir.join(CHECK)
    }

    /// The script that does the task, if somebody wrote one.
    pub fn solve(&self) -> Option<PathBuf> {
        Some(self.dir.join(SOLVE)).filter(|path| path.is_file())
    }

    /// The first program it needs that `path`, a value of `PATH`, does not lead to.
    pub fn lacks(&self, path: &std::ffi::OsStr) -> Option<&str> {
        let there = |program: &str| std::env::split_paths(path).any(|dir| dir.join(program).is_file());
        self.needs.iter().map(String::as_str).find(|program| !there(program))
    }
}

fn gather(dir: &'static Dir<'static>, files: &mut Vec<(PathBuf, &'static [u8])>) {
    for entry in dir.entries() {
        match entry {
            DirEntry::Dir(dir) => gather(dir, files),
            DirEntry::File(file) => files.push((file.path().to_owned(), file.contents())),
        }
    }
}

/// The line is where it is known.
fn parse(text: &str) -> Result<Written, (Option<usize>, String)> {
    let table: toml::Table = text.parse().map_err(|error| told(text, &error))?;
    let unknown = |found: &toml::Table, known: &[&str], before: &str| {
        let wrong = found.keys().find(|key| !known.contains(&key.as_str()))?;
        let meant = near(wrong, known.iter().copied());
        let meant = meant.first().map(|known| format!("; did you mean `{known}`?")).unwrap_or_default();
        Some(format!("there is no key `{before}{wrong}`{meant}"))
    };
    let limits = table.get("limits").and_then(toml::Value::as_table);
    let wrong =
        unknown(&table, &KEYS, "").or_else(|| limits.and_then(|limits| unknown(limits, &LIMITS, "limits.")));
    match wrong {
        Some(wrong) => Err((None, wrong)),
        None => toml::from_str(text).map_err(|error| told(text, &error)),
    }
}

fn told(text: &str, error: &toml::de::Error) -> (Option<usize>, String) {
    let line = error.span().and_then(|span| Some(text.get(..span.start)?.matches('\n').count() + 1));
    (line, error.message().replace('\n', "; "))
}

/// A pipe would be waited for, and some devices never end.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let about = fs::metadata(path)?;
    if !about.is_file() || about.len() > MOST {
        return Err(io::Error::other("is no file, or too large for one that says what to do"));
    }
    fs::read(path)
}

fn is_script(path: &Path) -> Result<(), String> {
    match read(path) {
        Ok(bytes) if bytes.starts_with(b"#!") => Ok(()),
        Ok(_) => Err("is no script: begin it with #!/bin/sh".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err("is missing; a task without it has no result".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}
