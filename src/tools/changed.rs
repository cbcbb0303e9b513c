//! What a call did to files, for the person who looks at it: the lines that went and came.
//!
//! Noted where every change passes, so that no tool has to think of it. Only lines around what changed
//! are kept, and of a long change only its beginning.

use std::path::Path;

use similar::TextDiff;

use super::text::{self, Text};
use super::{ToolCx, Toolbox, lock, path};
use crate::model::{FileChange, FileChangeKind};

/// Larger files are told of without their lines, in bytes.
const COMPARED: usize = 1 << 20;
/// Longest patch that is kept, in bytes.
const KEPT: usize = 32 * 1024;
/// Lines around a change.
const AROUND: usize = 3;

impl Toolbox {
    /// Notes a change that was made. None: there was no file, or there is none any longer.
    pub(super) fn note_change(
        &self,
        cx: &ToolCx<'_>,
        file: &Path,
        (before, after): (Option<&[u8]>, Option<&[u8]>),
    ) {
        if before == after {
            return;
        }
        let change = change_of(path::short(cx.cwd, &cx.policy.seen(file)), (before, after));
        lock(&self.changed).push(change);
    }

    /// What the call that just ended did.
    pub(super) fn take_changes(&self) -> Vec<FileChange> {
        std::mem::take(&mut *lock(&self.changed))
    }
}

/// What became of a file, with the lines around it where it is not too large. `path` as it is to be shown.
pub fn change_of(path: String, (before, after): (Option<&[u8]>, Option<&[u8]>)) -> FileChange {
    let kind = match (before, after) {
        (None, _) => FileChangeKind::Added,
        (Some(_), None) => FileChangeKind::Removed,
        (Some(_), Some(_)) => FileChangeKind::Changed,
    };
    let mut change = FileChange { path, kind, added: 0, removed: 0, patch: String::new(), cut: false };
    let both = before.unwrap_or_default().len().max(after.unwrap_or_default().len());
    if both <= COMPARED {
        compare(&mut change, &read(before), &read(after));
    }
    change
}

fn read(bytes: Option<&[u8]>) -> String {
    let text = bytes.and_then(Text::decode).map(|text| text.bytes).unwrap_or_default();
    text::normal(&String::from_utf8_lossy(&text))
}

fn compare(change: &mut FileChange, before: &str, after: &str) {
    let diff = TextDiff::from_lines(before, after);
    let mut patch = String::new();
    for hunk in diff.unified_diff().context_radius(AROUND).iter_hunks() {
        patch.push_str(&hunk.to_string());
        if !patch.ends_with('\n') {
            patch.push('\n');
        }
    }
    let count = |sign: char| patch.lines().filter(|line| line.starts_with(sign)).count() as u64;
    (change.added, change.removed) = (count('+'), count('-'));
    if patch.len() > KEPT {
        let end = memchr::memrchr(b'\n', &patch.as_bytes()[..KEPT]).map_or(0, |at| at + 1);
        patch.truncate(end);
        change.cut = true;
    }
    change.patch = patch;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: &str, after: &str) -> FileChange {
        let kind = FileChangeKind::Changed;
        let mut change =
            FileChange { path: "a".into(), kind, added: 0, removed: 0, patch: String::new(), cut: false };
        compare(&mut change, before, after);
        change
    }

    #[test]
    fn lines_around_a_change_are_kept_with_their_numbers() {
        let before: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let made = change(&before, &before.replace("line 10\n", "ten\nand a half\n"));
        assert_eq!((made.added, made.removed, made.cut), (2, 1, false));
        let want = "@@ -7,7 +7,8 @@\n line 7\n line 8\n line 9\n-line 10\n+ten\n+and a half\n line 11\n line 12\n line 13\n";
        assert_eq!(made.patch, want);
    }

    #[test]
    fn of_a_long_change_the_beginning_is_kept_and_all_of_it_counted() {
        let after: String = (1..=9000).map(|n| format!("line {n}\n")).collect();
        let made = change("", &after);
        assert_eq!((made.added, made.removed, made.cut), (9000, 0, true));
        assert!(made.patch.len() <= KEPT && made.patch.ends_with('\n'), "{}", made.patch.len());
    }

    #[test]
    fn a_missing_line_end_is_no_line() {
        let made = change("a\nb", "a\nc");
        assert_eq!((made.added, made.removed), (1, 1));
        assert!(made.patch.contains("-b\n") && made.patch.contains("+c\n"), "{}", made.patch);
    }
}
