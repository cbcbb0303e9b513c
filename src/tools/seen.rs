//! Which files the model knows, in which state and which of their lines: so that nothing is overwritten
//! unseen, and nothing sent twice.

use std::collections::HashMap;
use std::path::Path;

use super::rows::{self, Hunk, Rows};
use super::text::{self, Text};
use crate::model::{Seen, hash};

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
    /// Lines shown in full in this session, or written by the model itself; sorted and apart.
    shown: Vec<Rows>,
    /// Windows that were sent and are still before the model; sorted and apart.
    sent: Vec<Rows>,
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// Lines shown to their ends.
    pub(super) rows: Vec<Rows>,
    /// Lines of the file.
    pub(super) total: u64,
}

/// Why a file may not be changed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Objection {
    Unread,
    ReadInPart,
    Changed,
}

impl Record {
    /// The model was shown this much of the file.
    pub(super) fn show(&mut self, path: &Path, hash: String, extent: &Extent) -> Seen {
        let key = path.to_string_lossy().into_owned();
        let earlier = self.files.remove(&key).filter(|known| known.hash == hash);
        let mut known = earlier.unwrap_or(Known { hash, whole: false, shown: Vec::new(), sent: Vec::new() });
        extent.rows.iter().for_each(|rows| rows::merge(&mut known.shown, *rows));
        known.whole |= extent.total == 0 || known.shown == [(1, extent.total)];
        self.keep(key, known)
    }

    /// A call of this session wrote the file: `before` became `after`. What was not seen before stays
    /// unseen.
    pub(super) fn wrote(&mut self, path: &Path, change: Wrote<'_>) -> Seen {
        let key = path.to_string_lossy().into_owned();
        let known = self.files.get(&key);
        let whole = change.intent == Intent::Overwrite || known.is_some_and(|known| known.whole);
        let hash = hash(change.after);
        let shown = match whole || !change.carry {
            true => Vec::new(),
            false => {
                let shown = known.map_or(&[][..], |known| &known.shown);
                rows::carried(shown, &change.hunks())
            }
        };
        self.keep(key, Known { hash, whole, shown, sent: Vec::new() })
    }

    /// These lines of the file, which is in this state, go to the model.
    pub(super) fn send(&mut self, path: &Path, hash: &str, window: Rows) {
        if let Some(known) = self.known(path, hash) {
            rows::merge(&mut known.sent, window);
        }
    }

    /// Whether all these lines are still before the model. Asked again it says no: a model that insists
    /// may have lost them in a way that nobody here can see.
    pub(super) fn has_sent(&mut self, path: &Path, hash: &str, window: Rows) -> bool {
        let Some(known) = self.known(path, hash) else { return false };
        let has = rows::missing(window, &known.sent).is_empty();
        if has {
            known.sent.clear();
        }
        has
    }

    /// Nothing of what was sent is before the model any longer.
    pub(super) fn forget_sent(&mut self) {
        self.files.values_mut().for_each(|known| known.sent.clear());
    }

    /// Those of the lines that were never shown in full.
    pub(super) fn unseen(&self, path: &Path, wanted: &[Rows]) -> Vec<Rows> {
        match self.files.get(path.to_string_lossy().as_ref()) {
            Some(known) if known.whole => Vec::new(),
            Some(known) => wanted.iter().flat_map(|rows| rows::missing(*rows, &known.shown)).collect(),
            None => wanted.to_vec(),
        }
    }

    fn known(&mut self, path: &Path, hash: &str) -> Option<&mut Known> {
        self.files.get_mut(path.to_string_lossy().as_ref()).filter(|known| known.hash == hash)
    }

    pub(super) fn forget(&mut self, path: &Path) {
        self.files.remove(path.to_string_lossy().as_ref());
    }

    pub(super) fn restore(&mut self, seen: &Seen) {
        let (hash, whole) = (seen.hash.clone(), seen.whole);
        let known = Known { hash, whole, shown: Vec::new(), sent: Vec::new() };
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

/// A change that was made.
#[derive(Clone, Copy)]
pub(super) struct Wrote<'a> {
    pub(super) before: Option<&'a [u8]>,
    pub(super) after: &'a [u8],
    pub(super) intent: Intent,
    /// Lines that were shown are to be known still. Otherwise only the whole file is.
    pub(super) carry: bool,
}

impl Wrote<'_> {
    fn hunks(&self) -> Vec<Hunk> {
        let text = |raw: &[u8]| Text::decode(raw).map(|text| text.bytes).unwrap_or_default();
        let (before, after) = (self.before.map(text).unwrap_or_default(), text(self.after));
        rows::hunks(&text::lines(&before), &text::lines(&after))
    }
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

    fn extent(from: u64, to: u64, total: u64) -> Extent {
        Extent { rows: vec![(from, to)], total }
    }

    #[test]
    fn windows_that_meet_make_the_whole() {
        let path = Path::new("/f");
        let mut record = Record::default();
        assert!(!record.show(path, "h".into(), &extent(1, 10, 30)).whole);
        assert!(!record.show(path, "h".into(), &extent(21, 30, 30)).whole);
        assert!(record.show(path, "h".into(), &extent(9, 20, 30)).whole);
        assert!(!record.show(path, "other".into(), &extent(1, 10, 30)).whole, "another content starts anew");
    }

    #[test]
    fn who_may_change_what() {
        let path = Path::new("/f");
        let mut record = Record::default();
        let change = (Intent::Change, true);
        let overwrite = (Intent::Overwrite, true);
        assert_eq!(record.object(path, "h", (Intent::Change, false)), None);
        assert_eq!(record.object(path, "h", change), Some(Objection::Unread));
        record.show(path, "h".into(), &extent(1, 2, 3));
        assert_eq!(record.object(path, "h", change), None);
        assert_eq!(record.object(path, "h", overwrite), Some(Objection::ReadInPart));
        assert_eq!(record.object(path, "new", (Intent::Change, false)), Some(Objection::Changed));
        record.wrote(path, Wrote { before: None, after: b"new", intent: Intent::Overwrite, carry: false });
        assert_eq!(record.object(path, &hash(b"new"), overwrite), None);
    }

    #[test]
    fn what_was_shown_is_known_after_an_edit() {
        let path = Path::new("/f");
        let mut record = Record::default();
        let before = b"1\n2\n3\n4\n5\n6\n";
        record.show(path, hash(before), &extent(1, 4, 6));
        let after = b"1\nnew\nnewer\n2\n3\n4\n5\n6\n";
        record.wrote(path, Wrote { before: Some(before), after, intent: Intent::Change, carry: true });
        assert_eq!(record.unseen(path, &[(1, 8)]), [(7, 8)]);
        assert!(record.show(path, hash(after), &extent(7, 8, 8)).whole, "the rest was all it lacked");
    }

    #[test]
    fn what_was_sent_is_known_until_it_is_asked_for_again_or_forgotten() {
        let path = Path::new("/f");
        let mut record = Record::default();
        record.show(path, "h".into(), &extent(1, 9, 30));
        record.send(path, "h", (1, 9));
        assert!(!record.has_sent(path, "h", (5, 10)));
        assert!(!record.has_sent(path, "other", (5, 6)));
        assert!(record.has_sent(path, "h", (5, 9)));
        assert!(!record.has_sent(path, "h", (5, 9)), "a model that insists is shown it again");
        record.send(path, "h", (1, 9));
        record.forget_sent();
        assert!(!record.has_sent(path, "h", (5, 9)));
    }
}
