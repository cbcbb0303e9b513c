//! Finding a text in a file and replacing it, byte by byte outside the lines that really change.
//!
//! Line ends are matched as one, and what is written back has the file's own. A second try forgives
//! trailing blanks and typographic quotes, and only where that leaves exactly one place: anything
//! looser would change the wrong place without a word.

use memchr::memmem;
use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::text;
use crate::model::Edit;

/// Places named when there are too many.
const SHOWN: usize = 8;

/// Bytes `from..to` of the text become `with`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) with: Vec<u8>,
}

/// Why an edit cannot be done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Miss {
    EmptyOld,
    Same,
    Absent,
    /// How often it occurs, and the first lines (from 1) on which it does.
    Ambiguous {
        count: usize,
        lines: Vec<usize>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    Exact,
    /// Trailing blanks and typographic quotes forgiven.
    Loose,
}

/// A text with line ends as LF (and more, when loose) that knows where its bytes come from.
struct View {
    bytes: Vec<u8>,
    /// At this place, so many bytes of the original in all have been passed over.
    skips: Vec<(usize, usize)>,
}

impl View {
    fn of(bytes: &[u8], how: Match) -> Self {
        let mut view = Self { bytes: Vec::with_capacity(bytes.len()), skips: Vec::new() };
        for line in text::lines(bytes) {
            let end = text::end_of(line);
            let body = &line[..line.len() - end.len()];
            let kept = match how {
                Match::Exact => body,
                Match::Loose => trim_blanks(body),
            };
            view.body(kept, how);
            let normal_end = &end[end.len().saturating_sub(1)..];
            view.skip(body.len() - kept.len() + end.len() - normal_end.len());
            view.bytes.extend_from_slice(normal_end.as_bytes());
        }
        view
    }

    fn body(&mut self, body: &[u8], how: Match) {
        if how == Match::Exact || !body.contains(&0xE2) {
            return self.bytes.extend_from_slice(body);
        }
        let mut rest = body;
        while let [first, after @ ..] = rest {
            let plain = match rest {
                [0xE2, 0x80, 0x98..=0x9B, ..] => Some(b'\''),
                [0xE2, 0x80, 0x9C..=0x9F, ..] => Some(b'"'),
                _ => None,
            };
            match plain {
                Some(quote) => {
                    self.skip(2);
                    self.bytes.push(quote);
                    rest = &rest[3..];
                }
                None => {
                    self.bytes.push(*first);
                    rest = after;
                }
            }
        }
    }

    /// What is skipped belongs to the byte that comes next.
    fn skip(&mut self, count: usize) {
        if count > 0 {
            let before = self.skips.last().map_or(0, |skip| skip.1);
            self.skips.push((self.bytes.len(), before + count));
        }
    }

    /// Where in the original the byte at `at` begins.
    fn origin(&self, at: usize) -> usize {
        let passed = self.skips.partition_point(|skip| skip.0 < at);
        at + passed.checked_sub(1).map_or(0, |last| self.skips[last].1)
    }

    fn find(&self, wanted: &[u8]) -> Vec<(usize, usize)> {
        memmem::find_iter(&self.bytes, wanted)
            .map(|at| (self.origin(at), self.origin(at + wanted.len())))
            .collect()
    }
}

/// One line without its end, in the form that is compared.
pub(super) fn form(line: &[u8], how: Match) -> Vec<u8> {
    View::of(line, how).bytes
}

fn trim_blanks(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).map_or(0, |at| at + 1);
    &line[..end]
}

/// What the edit does to the text, in order of place.
pub(super) fn plan(bytes: &[u8], edit: &Edit) -> Result<Vec<Splice>, Miss> {
    let (mut old, mut new) = (text::normal(&edit.old), text::normal(&edit.new));
    if old.is_empty() {
        return Err(Miss::EmptyOld);
    }
    if old == new {
        return Err(Miss::Same);
    }
    let mut places = View::of(bytes, Match::Exact).find(old.as_bytes());
    if places.is_empty()
        && let Some(place) = at_open_end(bytes, &old)
    {
        places.push(place);
        old.pop();
        new.truncate(new.strip_suffix('\n').map_or(new.len(), str::len));
    }
    if places.is_empty() {
        places = loosely(bytes, &old);
    }
    match places.len() {
        0 => Err(Miss::Absent),
        count if count > 1 && !edit.all => {
            let lines = places.iter().take(SHOWN).map(|place| line_of(bytes, place.0)).collect();
            Err(Miss::Ambiguous { count, lines })
        }
        _ => Ok(places
            .into_iter()
            .map(|(from, to)| {
                let with = replacement(&bytes[from..to], (&old, &new), end_near(bytes, from, to));
                Splice { from, to, with }
            })
            .collect()),
    }
}

/// The last line of a file that ends without a line end, asked for with one.
fn at_open_end(bytes: &[u8], old: &str) -> Option<(usize, usize)> {
    let view = View::of(bytes, Match::Exact);
    let body = old.strip_suffix('\n').filter(|body| !body.is_empty())?;
    let fits = view.bytes.ends_with(body.as_bytes());
    fits.then(|| (view.origin(view.bytes.len() - body.len()), bytes.len()))
}

fn loosely(bytes: &[u8], old: &str) -> Vec<(usize, usize)> {
    let wanted = View::of(old.as_bytes(), Match::Loose).bytes;
    if wanted.iter().all(u8::is_ascii_whitespace) {
        return Vec::new();
    }
    let mut places = View::of(bytes, Match::Loose).find(&wanted);
    // Blanks at the very end were asked for: then the line has to end there.
    if old.ends_with([' ', '\t']) {
        places.retain(|place| {
            let rest = bytes[place.1..].split(|byte| *byte == b'\n').next().unwrap_or_default();
            rest.iter().all(u8::is_ascii_whitespace)
        });
    }
    match places.len() {
        1 => places,
        _ => Vec::new(),
    }
}

/// The new text for one place. Lines that do not change keep the file's own bytes, ends included.
fn replacement(file: &[u8], (old, new): (&str, &str), near: &str) -> Vec<u8> {
    let file = text::lines(file);
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let own_end = |tag, at: usize| {
        // A line put in between goes with the line before it.
        let at = if tag == DiffTag::Insert { at.checked_sub(1) } else { Some(at) };
        let end = at.and_then(|at| file.get(at)).map_or("", |line| text::end_of(line));
        if end.is_empty() { near } else { end }
    };
    let mut out = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
        let (tag, was, now) = op.as_tag_tuple();
        for (k, line) in new[now].iter().enumerate() {
            let at = was.start + k.min(was.len().saturating_sub(1));
            match (tag, file.get(at), line.strip_suffix('\n')) {
                (DiffTag::Equal, Some(kept), _) => out.extend_from_slice(kept),
                (_, _, Some(body)) => out.extend([body, own_end(tag, at)].concat().bytes()),
                (_, _, None) => out.extend(line.bytes()),
            }
        }
    }
    out
}

/// The line end used nearest to a place: of its own line, else of the line before.
fn end_near(bytes: &[u8], from: usize, to: usize) -> &'static str {
    let after = bytes[to..].iter().position(|byte| *byte == b'\n').map(|at| to + at);
    let at = after.or_else(|| bytes[..from].iter().rposition(|byte| *byte == b'\n'));
    at.map_or("\n", |at| text::end_of(&bytes[..=at]))
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Puts the splices (sorted, apart from each other) into the text. Also returns where the first
/// change begins and the last one ends in the new text.
pub(super) fn apply(bytes: &[u8], splices: &[Splice]) -> (Vec<u8>, (usize, usize)) {
    let mut out = Vec::with_capacity(bytes.len());
    let mut done = 0;
    let mut span = (usize::MAX, 0);
    for splice in splices {
        out.extend_from_slice(&bytes[done..splice.from]);
        span.0 = span.0.min(out.len());
        out.extend_from_slice(&splice.with);
        span.1 = out.len();
        done = splice.to;
    }
    out.extend_from_slice(&bytes[done..]);
    (out, span)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edit(old: &str, new: &str, all: bool) -> Edit {
        Edit { old: old.into(), new: new.into(), all }
    }

    fn run(file: &str, edit: &Edit) -> Result<String, Miss> {
        let (out, _) = apply(file.as_bytes(), &plan(file.as_bytes(), edit)?);
        Ok(String::from_utf8(out).expect("still UTF-8"))
    }

    #[test]
    fn a_loose_match_keeps_lines_that_do_not_change() {
        let file = "say(\u{201c}hi\u{201d})  \r\nx = 1\t\r\ny = 2\r\n";
        let got = run(file, &edit("say(\"hi\")\nx = 1\ny", "say(\"hi\")\nx = 9\ny", false));
        assert_eq!(got.as_deref(), Ok("say(\u{201c}hi\u{201d})  \r\nx = 9\r\ny = 2\r\n"));
    }

    #[test]
    fn a_loose_match_has_to_be_the_only_one() {
        let file = "a  \nb\na \nb\n";
        assert_eq!(run(file, &edit("a\nb", "c", false)), Err(Miss::Absent));
        assert_eq!(run("a  \nb\n", &edit("a\nb", "c", false)).as_deref(), Ok("c\n"));
        assert_eq!(run("xa = 1\n", &edit("a  ", "b", false)), Err(Miss::Absent), "the line goes on");
    }

    #[test]
    fn misses_are_told_apart() {
        assert_eq!(run("a\n", &edit("", "x", false)), Err(Miss::EmptyOld));
        assert_eq!(run("a\n", &edit("a\r\n", "a\n", false)), Err(Miss::Same));
        assert_eq!(
            run("x\na\ny\na\n", &edit("a", "b", false)),
            Err(Miss::Ambiguous { count: 2, lines: vec![2, 4] })
        );
        assert_eq!(run("x\n", &edit("a", "b", true)), Err(Miss::Absent));
    }

    proptest! {
        #[test]
        fn an_edit_never_touches_bytes_outside_its_match(
            before in proptest::collection::vec(any::<u8>(), 0..60),
            after in proptest::collection::vec(any::<u8>(), 0..60),
            old in "[a-c]{3,5}(\n[a-c]{1,3}){0,2}",
            new in "[x-z\n]{0,9}",
            crlf in any::<bool>(),
        ) {
            let middle = if crlf { old.replace('\n', "\r\n") } else { old.clone() };
            let file = [before.as_slice(), b"|", middle.as_bytes(), b"|", &after].concat();
            let Ok(splices) = plan(&file, &edit(&old, &new, false)) else { return Ok(()) };
            let (out, _) = apply(&file, &splices);
            let (from, to) = (splices[0].from, splices[0].to);
            prop_assert_eq!(&file[from..to], middle.as_bytes());
            prop_assert_eq!(&out[..from], &file[..from]);
            prop_assert_eq!(&out[out.len() - (file.len() - to)..], &file[to..]);
            if !crlf && !file.contains(&b'\r') {
                prop_assert_eq!(&out[from..out.len() - (file.len() - to)], new.as_bytes());
            }
        }

        #[test]
        fn edit_and_its_reverse_give_the_file_back(
            lines in proptest::collection::vec(("[a-z ]{0,6}", any::<bool>()), 1..12),
            which in any::<prop::sample::Index>(),
        ) {
            let file: String = lines.iter().map(|(line, crlf)| format!("{line}{}", if *crlf { "\r\n" } else { "\n" })).collect();
            let at = which.index(lines.len());
            let start: String = file.split_inclusive('\n').take(at).collect();
            let end = text::end_of(file.split_inclusive('\n').nth(at).unwrap_or_default().as_bytes());
            let rest: String = file.split_inclusive('\n').skip(at + 1).collect();
            let file = [&start, "@@", end, &rest].concat();
            let there = run(&file, &edit("@@\n", "##\n++\n", false)).expect("one match");
            prop_assert_eq!(run(&there, &edit("##\n++\n", "@@\n", false)).expect("one match"), file);
        }
    }
}
