//! Output within limits: the one rule by which all tools cut, and a capture whose memory is bounded
//! however much a command prints.
//!
//! Whole lines are kept where possible; a line longer than the room is cut between characters. A
//! one-line marker stands where something was left out.

use std::collections::VecDeque;

use super::clean::Cleaner;
use super::spill::Spill;
use super::words;
use crate::model::{Cut, Keep, Limits, MOST_BYTES, MOST_LINES};

/// Bytes set aside for the marker, so that the whole stays within the limits.
const MARKER: usize = 240;

/// Cuts `text`; `rest` says where the whole can be read. Nothing is cut, nothing is returned.
pub fn fit(text: &str, limits: &Limits, rest: Option<&str>) -> (String, Option<Cut>) {
    let ends = Ends { first: text, last: "", gone: Size::default() };
    ends.fit(limits, rest)
}

/// How many rows can be listed within the limits, a last line for what is missing included. At least
/// one.
pub(super) fn rows_that_fit(rows: &[String], limits: &Limits) -> usize {
    let most = limits.bytes.min(MOST_BYTES);
    let mut room = most - MARKER.min(most / 2);
    let lines = limits.lines.min(MOST_LINES).saturating_sub(1).max(1);
    let fit = rows.iter().take(lines).take_while(|row| {
        let fits = row.len() < room;
        room = room.saturating_sub(row.len() + 1);
        fits
    });
    fit.count().max(1).min(rows.len())
}

/// A text of which the middle may be gone already.
struct Ends<'a> {
    first: &'a str,
    last: &'a str,
    gone: Size,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    bytes: u64,
    /// Line ends.
    ends: u64,
}

impl Size {
    fn of(text: &str) -> Self {
        Self { bytes: text.len() as u64, ends: memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64 }
    }
}

impl Ends<'_> {
    fn fit(&self, limits: &Limits, rest: Option<&str>) -> (String, Option<Cut>) {
        let most = Room { bytes: limits.bytes.min(MOST_BYTES), lines: limits.lines.min(MOST_LINES) };
        let joined = [self.first, self.last].concat();
        let shown = Size::of(&joined);
        let bytes = shown.bytes + self.gone.bytes;
        let lines = shown.ends + self.gone.ends + u64::from(!joined.is_empty() && !joined.ends_with('\n'));
        if self.gone.bytes == 0 && bytes <= most.bytes as u64 && lines <= most.lines as u64 {
            return (joined, None);
        }
        let most = match limits.keep {
            Keep::Preview { bytes } => Room { bytes: most.bytes.min(bytes + MARKER), ..most },
            Keep::Head | Keep::Tail | Keep::Both { .. } => most,
        };
        let room = most.less(Room { bytes: MARKER.min(most.bytes / 2), lines: 1 });
        let (head_room, tail_room) = room.split(limits.keep);
        let (head, tail) = match self.gone.bytes {
            0 => {
                let head = take_head(&joined, head_room);
                (head, take_tail(&joined[head.len()..], tail_room))
            }
            _ => (take_head(self.first, head_room), take_tail(self.last, tail_room)),
        };
        let kept = Size::of(head).bytes + Size::of(tail).bytes;
        let kept_lines =
            Size::of(head).ends + Size::of(tail).ends + u64::from(!tail.is_empty() && !tail.ends_with('\n'));
        let cut = Cut {
            head: head.to_owned(),
            tail: tail.to_owned(),
            lines,
            bytes,
            left_out_lines: lines.saturating_sub(kept_lines),
            left_out_bytes: bytes - kept,
            spill: rest.map(str::to_owned),
        };
        (join(&cut, &marker(&cut)), Some(cut))
    }
}

fn marker(cut: &Cut) -> String {
    let what = match cut.left_out_lines {
        0 => format!("{} left out", words::count(cut.left_out_bytes, "byte")),
        lines => {
            format!("{}, {} left out", words::count(lines, "line"), words::count(cut.left_out_bytes, "byte"))
        }
    };
    match &cut.spill {
        Some(path) => format!("[{what}; all of it: {path}]"),
        None => format!("[{what}]"),
    }
}

/// Head, marker on a line of its own, tail.
pub(super) fn join(cut: &Cut, marker: &str) -> String {
    let mut text = cut.head.clone();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(marker);
    if !cut.tail.is_empty() {
        text.push('\n');
        text.push_str(&cut.tail);
    }
    text
}

#[derive(Clone, Copy)]
struct Room {
    bytes: usize,
    lines: usize,
}

impl Room {
    fn less(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            lines: self.lines.saturating_sub(other.lines).max(1),
        }
    }

    fn split(self, keep: Keep) -> (Self, Self) {
        let none = Self { bytes: 0, lines: 0 };
        match keep {
            Keep::Head | Keep::Preview { .. } => (self, none),
            Keep::Tail => (none, self),
            Keep::Both { head_percent } => {
                let part = |whole: usize| whole * usize::from(head_percent.min(100)) / 100;
                let head = Self { bytes: part(self.bytes), lines: part(self.lines) };
                (head, Self { bytes: self.bytes - head.bytes, lines: self.lines - head.lines })
            }
        }
    }
}

fn take_head(text: &str, room: Room) -> &str {
    let mut end = 0;
    for line in text.split_inclusive('\n').take(room.lines) {
        if end + line.len() > room.bytes {
            // A part of a line only where whole lines would leave most of the room empty.
            if end < room.bytes / 2 {
                end = floor(text, room.bytes);
            }
            break;
        }
        end += line.len();
    }
    &text[..end]
}

fn take_tail(text: &str, room: Room) -> &str {
    let mut start = text.len();
    for line in text.split_inclusive('\n').rev().take(room.lines) {
        let used = text.len() - start;
        if used + line.len() > room.bytes {
            if used < room.bytes / 2 {
                start = ceil(text, text.len() - room.bytes);
            }
            break;
        }
        start -= line.len();
    }
    &text[start..]
}

/// The last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The first character boundary at or after `at`.
fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Takes a stream of any length: its beginning and its end for the model, all of it to a file
/// once it is longer than the limits.
pub(super) struct Capture {
    limits: Limits,
    cleaner: Cleaner,
    ends: Rolling,
    spill: Option<Spill>,
    total: Size,
}

impl Capture {
    /// Without a spill the caller keeps the raw output elsewhere.
    pub(super) fn new(limits: Limits, spill: Option<Spill>) -> Self {
        Self { limits, cleaner: Cleaner::default(), ends: Rolling::default(), spill, total: Size::default() }
    }

    /// The same, shown within other limits.
    pub(super) fn with(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    pub(super) fn push(&mut self, raw: &[u8]) {
        self.total.bytes += raw.len() as u64;
        self.total.ends += memchr::memchr_iter(b'\n', raw).count() as u64;
        let long = self.total.bytes > self.limits.bytes as u64 || self.total.ends > self.limits.lines as u64;
        if let Some(spill) = &mut self.spill {
            spill.push(raw);
            if long {
                spill.open();
            }
        }
        let ends = &mut self.ends;
        self.cleaner.push(raw, &mut |text| ends.push(text));
    }

    /// What to show, what was cut, and where the whole is. `elsewhere` names the caller's own file.
    pub(super) fn finish(mut self, elsewhere: Option<&str>) -> Captured {
        let ends = &mut self.ends;
        self.cleaner.finish(&mut |text| ends.push(text));
        let spilled = self.spill.and_then(Spill::finish);
        let file = spilled.as_ref().and_then(|spilled| spilled.path.as_deref()).or(elsewhere);
        let (first, last) = self.ends.parts();
        let whole = Ends { first: &first, last: &last, gone: self.ends.gone };
        let (text, cut) = whole.fit(&self.limits, file);
        let file = file.map(str::to_owned);
        Captured { text, cut, file, trouble: spilled.and_then(|spilled| spilled.trouble) }
    }
}

pub(super) struct Captured {
    pub(super) text: String,
    pub(super) cut: Option<Cut>,
    /// Where the raw output is.
    pub(super) file: Option<String>,
    /// Why that file is not complete.
    pub(super) trouble: Option<String>,
}

/// The first and the last [`MOST_BYTES`] of a text.
#[derive(Default)]
struct Rolling {
    head: String,
    tail: VecDeque<String>,
    tail_bytes: usize,
    gone: Size,
}

impl Rolling {
    fn push(&mut self, text: &str) {
        let mut text = text;
        if self.tail.is_empty() && self.head.len() < MOST_BYTES {
            let end = floor(text, MOST_BYTES - self.head.len());
            self.head.push_str(&text[..end]);
            text = &text[end..];
        }
        if text.is_empty() {
            return;
        }
        self.tail_bytes += text.len();
        // Small pieces are gathered, so that a ring of one-byte pieces does not cost ten times its text.
        match self.tail.back_mut() {
            Some(back) if back.len() + text.len() <= 4096 => back.push_str(text),
            Some(_) | None => self.tail.push_back(text.to_owned()),
        }
        while let Some(front) = self.tail.front()
            && self.tail_bytes - front.len() >= MOST_BYTES
        {
            let size = Size::of(front);
            self.gone.bytes += size.bytes;
            self.gone.ends += size.ends;
            self.tail_bytes -= front.len();
            self.tail.pop_front();
        }
    }

    fn parts(&self) -> (String, String) {
        (self.head.clone(), self.tail.iter().map(String::as_str).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limits(bytes: usize, lines: usize, keep: Keep) -> Limits {
        Limits { bytes, lines, keep }
    }

    #[test]
    fn whole_lines_stay_and_the_marker_says_what_is_gone() {
        let text: String = (1..=9).map(|n| format!("line {n}\n")).collect();
        let (shown, cut) = fit(&text, &limits(1000, 5, Keep::Both { head_percent: 50 }), Some("/s/out"));
        insta::assert_snapshot!(shown, @r"
        line 1
        line 2
        [5 lines, 35 bytes left out; all of it: /s/out]
        line 8
        line 9
        ");
        let cut = cut.expect("cut");
        assert_eq!((cut.lines, cut.bytes, cut.left_out_lines), (9, 63, 5));
    }

    #[test]
    fn one_end_only() {
        let text = "a\nb\nc\nd\n";
        let (head, _) = fit(text, &limits(1000, 3, Keep::Head), None);
        assert_eq!(head, "a\nb\n[2 lines, 4 bytes left out]");
        let (tail, _) = fit(text, &limits(1000, 3, Keep::Tail), None);
        assert_eq!(tail, "[2 lines, 4 bytes left out]\nc\nd\n");
    }

    #[test]
    fn a_stream_keeps_both_ends_in_bounded_memory() {
        let mut capture = Capture::new(limits(400, 100, Keep::Both { head_percent: 50 }), None);
        for n in 0..200_000 {
            capture.push(format!("row {n} ü\n").as_bytes());
        }
        assert!(capture.ends.tail_bytes < 2 * MOST_BYTES);
        let captured = capture.finish(None);
        assert!(captured.text.starts_with("row 0 ü\nrow 1 ü\n"));
        assert!(captured.text.ends_with("row 199999 ü\n"));
        assert_eq!(captured.cut.map(|cut| cut.lines), Some(200_000));
    }

    proptest! {
        #[test]
        fn no_cut_passes_the_limits(
            text in "[a-zü€👩\n]{0,400}",
            bytes in 0_usize..300,
            lines in 1_usize..20,
            percent in 0_u8..=100,
            which in 0_usize..3,
        ) {
            let keep = [Keep::Head, Keep::Tail, Keep::Both { head_percent: percent }][which];
            let (shown, cut) = fit(&text, &limits(bytes, lines, keep), None);
            match cut {
                None => prop_assert_eq!(&shown, &text),
                Some(cut) => {
                    prop_assert!(cut.head.len() + cut.tail.len() <= bytes);
                    prop_assert!(text.starts_with(&cut.head));
                    prop_assert!(text.ends_with(&cut.tail));
                    prop_assert_eq!(cut.left_out_bytes as usize + cut.head.len() + cut.tail.len(), text.len());
                    prop_assert!(cut.head.lines().count() + cut.tail.lines().count() <= lines.max(2));
                }
            }
        }

        #[test]
        fn a_stream_in_any_pieces_shows_what_the_whole_shows(
            text in "[a-zü€\n]{0,300}",
            cuts in proptest::collection::vec(0_usize..900, 0..6),
        ) {
            let limits = limits(100, 10, Keep::Both { head_percent: 30 });
            let mut at: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let mut capture = Capture::new(limits.clone(), None);
            for pair in at.windows(2) {
                capture.push(&text.as_bytes()[pair[0]..pair[1]]);
            }
            prop_assert_eq!(capture.finish(None).text, fit(&text, &limits, None).0);
        }
    }
}
