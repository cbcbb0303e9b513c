//! Lines by number: ranges of them, which ones a change touches, where the others are after it.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// Lines from 1, both ends included.
pub(super) type Rows = (u64, u64);

/// Lines that are compared one by one; a change across more of them counts as one piece.
const COMPARED: usize = 4_000;

/// The old lines that new ones take the place of, counted from 0; one of the two may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// How `new` came of `old`, in order of place.
pub(super) fn hunks<T: AsRef<[u8]> + Ord + std::hash::Hash>(old: &[T], new: &[T]) -> Vec<Hunk> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let (was, now) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    if was.len() + now.len() > COMPARED || was.is_empty() || now.is_empty() {
        let one = Hunk { old: head..head + was.len(), new: head..head + now.len() };
        return if was.is_empty() && now.is_empty() { Vec::new() } else { vec![one] };
    }
    let moved = |range: Range<usize>| range.start + head..range.end + head;
    capture_diff_slices(Algorithm::Myers, was, now)
        .iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .map(|op| Hunk { old: moved(op.old_range()), new: moved(op.new_range()) })
        .collect()
}

/// The old lines that are changed or gone.
pub(super) fn touched(hunks: &[Hunk]) -> Vec<Rows> {
    hunks.iter().filter_map(|hunk| rows(&hunk.old)).collect()
}

/// Where lines are after a change; those that the change brought are among them.
pub(super) fn carried(known: &[Rows], hunks: &[Hunk]) -> Vec<Rows> {
    let mut after = Vec::new();
    let (mut old, mut new) = (0, 0);
    let end = Hunk { old: usize::MAX..usize::MAX, new: 0..0 };
    for hunk in hunks.iter().chain([&end]) {
        let shift = |line: u64| line - old as u64 + new as u64;
        let same = (old as u64 + 1, hunk.old.start as u64);
        for (from, to) in known.iter().map(|rows| (rows.0.max(same.0), rows.1.min(same.1))) {
            if from <= to {
                merge(&mut after, (shift(from), shift(to)));
            }
        }
        if let Some(brought) = rows(&hunk.new) {
            merge(&mut after, brought);
        }
        (old, new) = (hunk.old.end, hunk.new.end);
    }
    after
}

/// What of `wanted` is not in `known`, which is sorted and apart.
pub(super) fn missing(wanted: Rows, known: &[Rows]) -> Vec<Rows> {
    let mut gaps = Vec::new();
    let mut from = wanted.0;
    for rows in known.iter().filter(|rows| rows.1 >= wanted.0 && rows.0 <= wanted.1) {
        if rows.0 > from {
            gaps.push((from, rows.0 - 1));
        }
        from = from.max(rows.1.saturating_add(1));
    }
    if from <= wanted.1 {
        gaps.push((from, wanted.1));
    }
    gaps
}

/// Adds lines to a list that stays sorted and apart.
pub(super) fn merge(list: &mut Vec<Rows>, new: Rows) {
    list.push(new);
    list.sort_unstable();
    list.dedup_by(|next, last| {
        let meets = next.0 <= last.1.saturating_add(1);
        if meets {
            last.1 = last.1.max(next.1);
        }
        meets
    });
}

fn rows(range: &Range<usize>) -> Option<Rows> {
    (!range.is_empty()).then_some((range.start as u64 + 1, range.end as u64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.chars().map(String::from).collect()
    }

    #[test]
    fn shown_lines_are_found_again_after_a_change() {
        let table: [(&str, &str, &[Rows], &[Rows]); 6] = [
            ("abcdef", "abXdef", &[(1, 6)], &[(1, 6)]),
            ("abcdef", "abXYdef", &[(4, 5)], &[(3, 6)]),
            ("abcdef", "abef", &[(2, 3), (6, 6)], &[(2, 2), (4, 4)]),
            ("abcdef", "aXbcdeYf", &[(3, 4)], &[(2, 2), (4, 5), (7, 7)]),
            ("", "ab", &[], &[(1, 2)]),
            ("ab", "ab", &[(2, 2)], &[(2, 2)]),
        ];
        for (old, new, known, want) in table {
            assert_eq!(carried(known, &hunks(&lines(old), &lines(new))), want, "{old} {new}");
        }
    }

    #[test]
    fn what_is_missing_lies_between() {
        let known = [(3, 4), (8, 9)];
        assert_eq!(missing((1, 10), &known), [(1, 2), (5, 7), (10, 10)]);
        assert_eq!(missing((3, 4), &known), []);
        assert_eq!(missing((4, 8), &known), [(5, 7)]);
        assert_eq!(missing((5, 6), &[]), [(5, 6)]);
    }

    proptest! {
        #[test]
        fn hunks_lead_from_the_old_to_the_new(old in "[abc]{0,12}", new in "[abc]{0,12}") {
            let (old, new) = (lines(&old), lines(&new));
            let mut built: Vec<String> = Vec::new();
            let mut at = 0;
            let hunks = hunks(&old, &new);
            for hunk in &hunks {
                built.extend_from_slice(&old[at..hunk.old.start]);
                built.extend_from_slice(&new[hunk.new.clone()]);
                at = hunk.old.end;
            }
            built.extend_from_slice(&old[at..]);
            prop_assert_eq!(built, new.clone());
            // A line that was shown is shown still, where it is now.
            for shown in 1..=old.len() {
                let kept = carried(&[(shown as u64, shown as u64)], &hunks);
                for (from, to) in kept {
                    for line in from..=to {
                        let text = &new[line as usize - 1];
                        let brought = hunks.iter().any(|hunk| hunk.new.contains(&(line as usize - 1)));
                        prop_assert!(brought || text == &old[shown - 1]);
                    }
                }
            }
        }
    }
}
