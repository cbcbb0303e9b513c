//! Calls that only read: counts those in a row, and says when it is time to act.

use std::path::Path;

use super::harmless::harmless;
use crate::model::{Action, Outcome, State};

/// Most names that the model is reminded of.
const NAMES: usize = 5;

/// The row of the turn at hand.
#[derive(Default)]
pub(super) struct Reads {
    row: u32,
    /// Files that were looked at in it, as the model named them, in order.
    files: Vec<String>,
    /// The model was told in this row.
    told: bool,
    /// The turn changed something, so nobody needs to be urged on.
    acted: bool,
}

impl Reads {
    /// Counts a call that ended.
    pub(super) fn note(&mut self, action: &Action, outcome: &Outcome, cwd: &Path) {
        match action {
            Action::Unknown { .. } => {}
            Action::Read(read) => self.read([read.path.clone()]),
            Action::Glob(_)
            | Action::Grep(_)
            | Action::Find { .. }
            | Action::List { .. }
            | Action::Fetch { .. } => {
                self.read([]);
            }
            // Neither reading nor acting.
            Action::Tasks { .. } | Action::Tools { .. } => {}
            Action::Shell { command, .. } if harmless(command) => {
                let words = shlex::split(command).unwrap_or_default();
                self.read(words.into_iter().filter(|word| cwd.join(word).is_file()));
            }
            Action::Shell { .. }
            | Action::Job { .. }
            | Action::Write { .. }
            | Action::Rewrite { .. }
            | Action::Edit { .. }
            | Action::Insert { .. }
            | Action::Undo { .. }
            | Action::Patch { .. }
            | Action::Diff { .. }
            | Action::Notebook { .. }
            | Action::Keys { .. }
            | Action::Script { .. }
            | Action::Todo { .. }
            | Action::Submit { .. } => {
                let acted = self.acted || action.changes_files() && outcome.state == State::Ok;
                *self = Self { acted, ..Self::default() };
            }
        }
    }

    fn read(&mut self, files: impl IntoIterator<Item = String>) {
        self.row += 1;
        for file in files {
            if !self.files.contains(&file) {
                self.files.push(file);
            }
        }
    }

    /// What was read, once the row has `most` calls: given once in a row.
    pub(super) fn due(&mut self, most: Option<u32>) -> Option<String> {
        let due = most.is_some_and(|most| self.row >= most) && !self.told && !self.acted;
        due.then(|| {
            self.told = true;
            let first = self.files.len().saturating_sub(NAMES);
            self.files[first..].join(", ")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Read, WriteMode};

    fn read(path: &str) -> Action {
        Action::Read(Read { path: path.into(), ..Read::default() })
    }

    fn shell(command: &str) -> Action {
        Action::Shell {
            command: command.into(),
            timeout: None,
            background: false,
            yield_after: None,
            within: Default::default(),
            cwd: None,
            about: None,
        }
    }

    fn write() -> Action {
        Action::Write { path: "a".into(), text: String::new(), mode: WriteMode::Replace }
    }

    /// When the note is due, with a limit of three.
    fn due(actions: &[Action], outcome: &Outcome) -> Vec<Option<String>> {
        let mut reads = Reads::default();
        let cwd = Path::new(env!("CARGO_MANIFEST_DIR"));
        let step = |action| {
            reads.note(action, outcome, cwd);
            reads.due(Some(3))
        };
        actions.iter().map(step).collect()
    }

    #[test]
    fn the_third_read_in_a_row_is_told_and_names_what_was_seen() {
        let row = [read("a.py"), shell("cat Cargo.toml | head"), read("a.py"), read("b.py")];
        assert_eq!(due(&row, &Outcome::ok("")), [None, None, Some("a.py, Cargo.toml".to_owned()), None]);
    }

    #[test]
    fn another_kind_of_call_begins_a_new_row_and_a_change_ends_the_count() {
        let ok = Outcome::ok("");
        let row = [read("a"), read("b"), shell("make test"), read("c"), read("d"), read("e")];
        assert_eq!(due(&row, &ok), [None, None, None, None, None, Some("c, d, e".to_owned())]);
        let row = [write(), read("a"), read("b"), read("c"), read("d")];
        assert_eq!(due(&row, &ok), [None, None, None, None, None]);
        let row = [write(), read("a"), read("b"), read("c")];
        let failed = due(&row, &Outcome::failed(""));
        assert_eq!(failed.last(), Some(&Some("a, b, c".to_owned())), "a write that failed changed nothing");
    }

    #[test]
    fn without_a_limit_nothing_is_told() {
        let mut reads = Reads::default();
        for _ in 0..50 {
            reads.note(&read("a"), &Outcome::ok(""), Path::new("/"));
            assert_eq!(reads.due(None), None);
        }
    }
}
