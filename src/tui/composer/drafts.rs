//! What was typed or queued but not sent, kept for the case of a crash: a file per folder and session in
//! the state folder. A file whose session still runs is locked and left to it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::draft::{Kind, Part};
use super::{Composer, Draft, private};

/// The shortest time between two writes.
const EVERY: Duration = Duration::from_secs(1);

/// A draft older than this is nobody's any more.
const OLD: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Default, PartialEq, Serialize, Deserialize)]
struct Kept {
    text: Vec<Part>,
    stash: Option<Vec<Part>>,
    queue: Vec<Vec<Part>>,
}

pub(super) struct Drafts {
    /// None: nothing is kept.
    dir: Option<PathBuf>,
    /// Begins the names of the files of this folder.
    folder: String,
    session: String,
    /// Held as long as this session runs.
    lock: Option<File>,
    saved: Option<Instant>,
    /// What the text was when it was last looked at.
    revision: u64,
    queue: Vec<String>,
    /// What is in the file; empty if there is none.
    written: String,
}

impl Drafts {
    pub(super) fn new(state: Option<&Path>, folder: &Path, session: &str) -> Self {
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        Self {
            dir: state.map(|state| state.join("drafts")),
            folder: private::name_of(folder),
            session: session.chars().map(safe).collect(),
            lock: None,
            saved: None,
            revision: 0,
            queue: Vec::new(),
            written: String::new(),
        }
    }

    fn file(&self) -> Option<PathBuf> {
        Some(self.dir.as_ref()?.join(format!("{}-{}.json", self.folder, self.session)))
    }

    /// A draft that cannot be written must not stop the typing: what fails is tried at the next change.
    fn write(&mut self, text: String) {
        if text == self.written {
            return;
        }
        if self.lock.is_none() && !text.is_empty() {
            self.hold();
        }
        let Some(file) = self.file() else { return };
        if text.is_empty() {
            let _ = std::fs::remove_file(file);
        } else if private::replace(&file, &text).is_err() {
            return;
        }
        self.written = text;
    }

    /// Locks the file; another one if a running session of the same name has it.
    fn hold(&mut self) {
        self.lock = self.file().and_then(|file| lock(&file));
        let own = format!("-{}", std::process::id());
        if self.lock.is_none() && !self.session.ends_with(&own) {
            self.session += &own;
            self.lock = self.file().and_then(|file| lock(&file));
        }
    }

    /// Takes the newest file of this folder that no running session holds.
    fn orphan(&mut self) -> Option<Kept> {
        let own = self.file()?;
        let prefix = format!("{}-", self.folder);
        let mut files = private::files(self.dir.as_ref()?);
        files.retain(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&prefix) && name.ends_with(".json")
        });
        let age = |file: &PathBuf| file.metadata().ok()?.modified().ok()?.elapsed().ok();
        files.sort_by_cached_key(|file| (*file != own, age(file)));
        for file in files {
            let Some(held) = lock(&file) else { continue };
            let kept = std::fs::read_to_string(&file).ok().and_then(|text| serde_json::from_str(&text).ok());
            let old = file != own && age(&file).is_some_and(|age| age > OLD);
            let _ = std::fs::remove_file(&file);
            if file == own {
                self.lock = Some(held);
            } else {
                let _ = std::fs::remove_file(file.with_extension("lock"));
            }
            if let Some(kept) = kept.filter(|_| !old) {
                return Some(kept);
            }
        }
        None
    }
}

impl Drop for Drafts {
    fn drop(&mut self) {
        if let (Some(_), Some(file)) = (&self.lock, self.file()) {
            let _ = std::fs::remove_file(file.with_extension("lock"));
        }
    }
}

/// The lock of a file of drafts; none while another session has it. The system frees it after a crash.
fn lock(file: &Path) -> Option<File> {
    let lock = private::lock_file(&file.with_extension("lock")).ok()?;
    lock.try_lock().is_ok().then_some(lock)
}

impl Composer {
    /// Writes what is typed, put aside and queued, if that changed and the last write is a second ago.
    /// Call it after each key and each frame: it costs nothing if nothing is due; when leaving, with a time
    /// a second ahead. True while something
    /// still waits to be written: then call again within a second.
    pub fn save_due(&mut self, now: Instant, queue: &[Draft]) -> bool {
        if self.drafts.dir.is_none() {
            return false;
        }
        let changed = self.drafts.revision != self.buffer.revision()
            || !queue.iter().map(|draft| &draft.shown).eq(&self.drafts.queue);
        if !changed {
            return false;
        }
        if self.drafts.saved.is_some_and(|saved| now.saturating_duration_since(saved) < EVERY) {
            return true;
        }
        let queued: Vec<_> = queue.iter().map(|draft| draft.parts.clone()).collect();
        let kept = Kept { text: self.parts(), stash: self.stash.clone(), queue: queued };
        let text = if kept == Kept::default() {
            String::new()
        } else {
            serde_json::to_string(&kept).unwrap_or_default()
        };
        self.drafts.revision = self.buffer.revision();
        self.drafts.queue = queue.iter().map(|draft| draft.shown.clone()).collect();
        self.drafts.saved = Some(now);
        self.drafts.write(text);
        false
    }

    /// What a session of this folder left behind when it ended without a farewell: its text comes back
    /// into the composer, its queue to the caller. The own session first, then the newest.
    pub fn recover(&mut self) -> Vec<Draft> {
        let Some(kept) = self.drafts.orphan() else { return Vec::new() };
        if !kept.text.is_empty() && self.buffer.is_empty() {
            self.set_parts(&kept.text);
        }
        self.stash = self.stash.take().or(kept.stash);
        kept.queue
            .into_iter()
            .map(|parts| {
                let kind = self.kind(&parts).unwrap_or(Kind::Prompt);
                self.draft(kind, parts)
            })
            .collect()
    }
}
