//! Which files the model knows, and in which state: so that nothing is overwritten unseen.

use std::collections::HashMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::model::Seen;

/// Files a session remembers; the one looked up least recently is not tracked, so the cap is
/// simply a bound on memory.
const MOST_FILES: usize = 10_000;

#[derive(Default)]
pub(super) struct Record {
    files: HashMap<String, Known>,
}

struct Known {
    hash: String,
    whole: bool,
    /// Lines shown, from 1, both ends included, sorted and apart.
    shown: Vec<(u64, u64)>,
}

/// What a call wants to do to a file that exists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    /// Change a part: having seen a part is enough.
    Change,
    /// Replace or remove all of it.
    Overwrite,
}

/// How much of the file a call showed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// From this line to that one, of so many.
    Lines(u64, u64, u64),
}

/// Why a file may not be changed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Objection {
    Unread,
    ReadInPart,
    Changed,
}

pub(super) fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(super) fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        use std::fmt::Write;
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Record {
    /// The model was shown this much of the file.
    pub(super) fn show(&mut self, path: &Path, hash: String, extent: Extent) -> Seen {
        let key = path.to_string_lossy().into_owned();
        let earlier = self.files.remove(&key).filter(|known| known.hash == hash);
        let mut known = earlier.unwrap_or(Known { hash, whole: false, shown: Vec::new() });
        match extent {
            Extent::Whole => known.whole = true,
            Extent::Lines(from, to, total) => {
                known.shown = merge(std::mem::take(&mut known.shown), (from, to));
                known.whole |= known.shown == [(1, total)];
            }
        }
        self.keep(key, known)
    }

    /// A call of this session wrote the file. What was not seen before stays unseen.
    pub(super) fn wrote(&mut self, path: &Path, hash: String, intent: Intent) -> Seen {
        let key = path.to_string_lossy().into_owned();
        let whole = intent == Intent::Overwrite || self.files.get(&key).is_some_and(|known| known.whole);
        self.keep(key, Known { hash, whole, shown: Vec::new() })
    }

    pub(super) fn forget(&mut self, path: &Path) {
        self.files.remove(path.to_string_lossy().as_ref());
    }

    pub(super) fn restore(&mut self, seen: &Seen) {
        let known = Known { hash: seen.hash.clone(), whole: seen.whole, shown: Vec::new() };
        self.keep(seen.path.clone(), known);
    }

    /// Whether the file, which now has this hash, may be changed.
    pub(super) fn object(
        &self,
        path: &Path,
        hash: &str,
        (intent, needs_read): (Intent, bool),
    ) -> Option<Objection> {
        match self.files.get(path.to_string_lossy().as_ref()) {
            Some(known) if known.hash != hash => Some(Objection::Changed),
            Some(known) if needs_read && intent == Intent::Overwrite && !known.whole => {
                Some(Objection::ReadInPart)
            }
            None if needs_read => Some(Objection::Unread),
            Some(_) | None => None,
        }
    }

    fn keep(&mut self, path: String, known: Known) -> Seen {
        if self.files.len() >= MOST_FILES
            && let Some(any) = self.files.keys().next().cloned()
        {
            self.files.remove(&any);
        }
        let seen = Seen { path: path.clone(), hash: known.hash.clone(), whole: known.whole };
        self.files.insert(path, known);
        seen
    }
}

fn merge(mut ranges: Vec<(u64, u64)>, new: (u64, u64)) -> Vec<(u64, u64)> {
    ranges.push(new);
    ranges.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
    for (from, to) in ranges {
        match merged.last_mut() {
            Some(last) if from <= last.1.saturating_add(1) => last.1 = last.1.max(to),
            Some(_) | None => merged.push((from, to)),
        }
    }
    merged
}

impl Objection {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Unread => "unread",
            Self::ReadInPart => "read_in_part",
            Self::Changed => "changed",
        }
    }

    pub(super) fn say(self, path: &str) -> String {
        match self {
            Self::Unread => {
                format!("{path} was left as it is: it has not been read in this session; read it first")
            }
            Self::ReadInPart => {
                format!("{path} was left as it is: only a part of it has been read; read the rest first")
            }
            Self::Changed => {
                format!("{path} was left as it is: it has changed since it was read; read it again")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_meet_make_the_whole() {
        let path = Path::new("/f");
        let mut record = Record::default();
        assert!(!record.show(path, "h".into(), Extent::Lines(1, 10, 30)).whole);
        assert!(!record.show(path, "h".into(), Extent::Lines(21, 30, 30)).whole);
        assert!(record.show(path, "h".into(), Extent::Lines(9, 20, 30)).whole);
        assert!(
            !record.show(path, "other".into(), Extent::Lines(1, 10, 30)).whole,
            "another content starts anew"
        );
    }

    #[test]
    fn who_may_change_what() {
        let path = Path::new("/f");
        let mut record = Record::default();
        let change = (Intent::Change, true);
        let overwrite = (Intent::Overwrite, true);
        assert_eq!(record.object(path, "h", (Intent::Change, false)), None);
        assert_eq!(record.object(path, "h", change), Some(Objection::Unread));
        record.show(path, "h".into(), Extent::Lines(1, 2, 3));
        assert_eq!(record.object(path, "h", change), None);
        assert_eq!(record.object(path, "h", overwrite), Some(Objection::ReadInPart));
        assert_eq!(record.object(path, "new", (Intent::Change, false)), Some(Objection::Changed));
        record.wrote(path, "new".into(), Intent::Overwrite);
        assert_eq!(record.object(path, "new", overwrite), None);
    }
}
