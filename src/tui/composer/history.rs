//! What was sent, by folder: JSON lines in the state folder, only ever added to. Read when it is first
//! asked for. Nothing that was typed but not sent is in it.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::draft::{self, Part};
use super::private;

/// A longer text is kept with placeholders for its pastes, or not at all.
const MOST_ENTRY: usize = 64 * 1024;
/// What is read of a file, and twice that is where it is cut to it.
const MOST_FILE: u64 = 4 << 20;
/// Files read for a search in all folders, newest first.
const MOST_FILES: usize = 64;

/// Whose texts are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Folder,
    All,
}

#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    /// Seconds since 1970.
    at: i64,
    folder: String,
    parts: Vec<Part>,
    /// As it stood on the screen.
    #[serde(skip)]
    shown: String,
}

/// Going back by Up: where, and what was typed before.
struct Recall {
    at: usize,
    draft: Vec<Part>,
}

pub(crate) struct History {
    /// None: nothing is kept.
    dir: Option<PathBuf>,
    file: Option<PathBuf>,
    folder: String,
    /// Oldest first; none before they are read.
    here: Option<Vec<Entry>>,
    all: Vec<Entry>,
    recall: Option<Recall>,
}

impl History {
    pub(super) fn new(state: Option<&Path>, folder: &Path) -> Self {
        let dir = state.map(|state| state.join("history"));
        let file = dir.as_ref().map(|dir| dir.join(format!("{}.jsonl", private::name_of(folder))));
        let folder = folder.to_string_lossy().into_owned();
        Self { dir, file, folder, here: None, all: Vec::new(), recall: None }
    }

    /// Adds a text that was sent. One that cannot be written is kept for this session.
    pub(super) fn push(&mut self, parts: &[Part]) {
        self.recall = None;
        let mut entry = Entry {
            at: Timestamp::now().as_second(),
            folder: self.folder.clone(),
            parts: parts.to_vec(),
            shown: draft::shown(parts),
        };
        let here = self.here();
        if here.last().is_some_and(|last| last.parts == entry.parts) {
            return;
        }
        here.push(entry.clone());
        let Some(file) = &self.file else { return };
        let line = |entry: &Entry| serde_json::to_string(entry).ok().filter(|line| line.len() <= MOST_ENTRY);
        let whole = line(&entry).or_else(|| {
            entry.parts = vec![Part::Text(entry.shown.clone())];
            line(&entry)
        });
        if let Some(line) = whole {
            // A full disk or a read-only home must not stop the message.
            let _ = private::append(file, &line);
        }
    }

    /// The text before the one that is shown; `shown` is kept if it is none of the history.
    pub(super) fn older(&mut self, shown: &[Part]) -> Option<Vec<Part>> {
        let count = self.here().len();
        let recall = self.recall.take();
        let here = self.here();
        let mut recall = recall.unwrap_or_else(|| Recall { at: count, draft: shown.to_vec() });
        if here.get(recall.at).is_some_and(|entry| entry.parts != shown) {
            recall.draft = shown.to_vec();
        }
        let parts = recall.at.checked_sub(1).map(|at| here[at].parts.clone());
        recall.at = recall.at.saturating_sub(1);
        self.recall = (count > 0).then_some(recall);
        parts
    }

    /// The text after the one that is shown; behind the last, what was typed before.
    pub(super) fn newer(&mut self) -> Option<Vec<Part>> {
        let mut recall = self.recall.take()?;
        recall.at += 1;
        let Some(entry) = self.here().get(recall.at) else { return Some(recall.draft) };
        let parts = entry.parts.clone();
        self.recall = Some(recall);
        Some(parts)
    }

    /// Ends going back.
    pub(super) fn leave(&mut self) {
        self.recall = None;
    }

    /// Reads what is needed to search.
    pub(super) fn open(&mut self, scope: Scope) {
        self.here();
        if scope == Scope::Folder {
            return;
        }
        let mut files: Vec<_> = self.dir.iter().flat_map(|dir| private::files(dir)).collect();
        files.retain(|file| {
            Some(file) != self.file.as_ref() && file.extension().is_some_and(|e| e == "jsonl")
        });
        files.sort_by_cached_key(|file| {
            std::cmp::Reverse(file.metadata().and_then(|meta| meta.modified()).ok())
        });
        self.all = files.iter().take(MOST_FILES).flat_map(|file| read(file)).collect();
        let here = self.here().clone();
        self.all.extend(here);
        self.all.sort_by_key(|entry| entry.at);
    }

    /// Places of what holds every word of `query`, newest first, each text once.
    pub(super) fn find(&self, scope: Scope, query: &str, most: usize) -> Vec<usize> {
        let query = query.to_lowercase();
        let words: Vec<&str> = query.split_whitespace().collect();
        let mut seen = std::collections::HashSet::new();
        let entries = self.entries(scope);
        let fits = |at: &usize| {
            let text = entries[*at].shown.to_lowercase();
            words.iter().all(|word| text.contains(word)) && seen.insert(text)
        };
        (0..entries.len()).rev().filter(fits).take(most).collect()
    }

    pub(super) fn parts(&self, scope: Scope, at: usize) -> Option<Vec<Part>> {
        self.entries(scope).get(at).map(|entry| entry.parts.clone())
    }

    /// A text and its folder.
    pub(super) fn shown(&self, scope: Scope, at: usize) -> (&str, &str) {
        self.entries(scope).get(at).map_or(("", ""), |entry| (&entry.shown, &entry.folder))
    }

    fn entries(&self, scope: Scope) -> &[Entry] {
        match scope {
            Scope::Folder => self.here.as_deref().unwrap_or_default(),
            Scope::All => &self.all,
        }
    }

    fn here(&mut self) -> &mut Vec<Entry> {
        let file = &self.file;
        self.here.get_or_insert_with(|| file.as_deref().map(load).unwrap_or_default())
    }
}

/// Reads a file of ours; cuts it if it became too large.
fn load(file: &Path) -> Vec<Entry> {
    if file.metadata().is_ok_and(|meta| meta.len() > 2 * MOST_FILE)
        && let Ok(newest) = private::tail(file, MOST_FILE)
    {
        let _ = private::replace(file, &newest);
    }
    read(file)
}

/// What can be read of a file: a line that was cut off is left out.
fn read(file: &Path) -> Vec<Entry> {
    let text = private::tail(file, MOST_FILE).unwrap_or_default();
    let entries = text.lines().filter_map(|line| serde_json::from_str::<Entry>(line).ok());
    entries.map(|entry| Entry { shown: draft::shown(&entry.parts), ..entry }).collect()
}
