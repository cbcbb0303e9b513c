//! Lines that commands and searches printed: a model that saw a file with `cat` has seen it.
//!
//! Only fingerprints are kept. Which file a line came from is not known, so a line counts as seen
//! wherever it stands; blank lines always do.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// Lines remembered; beyond it all are forgotten, and a file has to be shown again.
const MOST: usize = 50_000;

#[derive(Default)]
pub(super) struct Printed {
    lines: HashSet<u64>,
    keys: RandomState,
}

impl Printed {
    /// What a result showed.
    pub(super) fn note(&mut self, text: &str) {
        for line in text.lines() {
            if self.lines.len() >= MOST {
                self.lines.clear();
            }
            let forms =
                [Some(line), unnumbered(line), line.split_once(':').and_then(|(_, rest)| unnumbered(rest))];
            self.lines.extend(forms.into_iter().flatten().map(|form| self.keys.hash_one(form.trim())));
        }
    }

    pub(super) fn has(&self, line: &str) -> bool {
        let line = line.trim();
        line.is_empty() || self.lines.contains(&self.keys.hash_one(line))
    }
}

/// A line without the number that `cat -n` or `grep -n` puts before it.
fn unnumbered(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let marked = rest.len() < line.len();
    rest.strip_prefix([':', '\t', '-', '|', ' ']).filter(|_| marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_known_however_they_were_printed() {
        let mut printed = Printed::default();
        printed.note("    a = 1\n     2\tb = 2\n3:  c = 3\nsrc/x.py:4:d = 4\n17 e = 5");
        for (line, seen) in [
            ("a = 1", true),
            ("b = 2", true),
            ("c = 3", true),
            ("    d = 4", true),
            ("e = 5", true),
            ("", true),
            ("f = 6", false),
            ("= 1", false),
        ] {
            assert_eq!(printed.has(line), seen, "{line:?}");
        }
    }
}
