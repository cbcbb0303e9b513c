//! Hunks of a patch or a unified diff: where in a file they go, and what they make of its lines.
//!
//! Context is matched exactly, then with trailing blanks and typographic quotes forgiven, each hunk after
//! the one before it. Knows no format that hunks are written in.

use std::ops::Range;

use super::splice::{self, Match};
use super::text;

/// Lines that change together, with some that stay around them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// Lines that come somewhere before the hunk, in this order (`@@ class A`).
    pub(super) headers: Vec<String>,
    pub(super) rows: Vec<Row>,
    /// The hunk is at the end of the file.
    pub(super) at_end: bool,
    /// Of a unified diff: where it says to be.
    stated: Option<Stated>,
}

/// What hides behind `@@ -3,4 +3,5 @@`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stated {
    /// Lines before the hunk, in the old file. None: the header has no numbers.
    pub(super) before: Option<usize>,
    /// Lines of context at either end that may differ.
    pub(super) fuzz: usize,
    /// Whether the new file's last line is without an end, where the hunk says so.
    pub(super) open: Option<bool>,
}

/// Why a hunk cannot be applied.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Misfit<'a> {
    Nowhere(&'a Hunk),
    /// At more than one place, none of which is where it says to be; lines from 1.
    Several(&'a Hunk, Vec<usize>),
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Row {
    Keep(String),
    Old(String),
    New(String),
}

impl Row {
    /// The line of the old file.
    fn old(&self) -> Option<&str> {
        match self {
            Self::Keep(line) | Self::Old(line) => Some(line),
            Self::New(_) => None,
        }
    }
}

impl Hunk {
    /// A hunk of a unified diff.
    pub(super) fn unified(rows: Vec<Row>, stated: Stated) -> Self {
        Self { rows, stated: Some(stated), ..Self::default() }
    }

    /// The lines that have to be there.
    fn old(&self) -> Vec<&str> {
        self.rows.iter().filter_map(Row::old).collect()
    }

    /// Lines added and removed.
    pub(super) fn size(&self) -> (usize, usize) {
        let count = |wanted: fn(&Row) -> bool| self.rows.iter().filter(|row| wanted(row)).count();
        (count(|row| matches!(row, Row::New(_))), count(|row| matches!(row, Row::Old(_))))
    }

    /// The hunk's old lines, for an error text.
    pub(super) fn wanted(&self) -> String {
        match self.old().is_empty() {
            true => self.headers.join("\n"),
            false => self.old().join("\n"),
        }
    }
}

/// A file's bytes after the hunks; the hunk that has no place is the error.
pub(super) fn apply<'a>(bytes: &[u8], hunks: &'a [Hunk]) -> Result<Vec<u8>, Misfit<'a>> {
    let lines = text::lines(bytes);
    let bodies: Vec<&[u8]> =
        lines.iter().map(|line| &line[..line.len() - text::end_of(line).len()]).collect();
    let known = Lines::new(&bodies);
    let mut edited = Edited { lines: &lines, out: Vec::new(), next: 0, open: None };
    let mut drift = 0;
    for hunk in hunks {
        if let Some(stated) = hunk.stated {
            let (at, rows) = known.place(hunk, (stated, edited.next, drift))?;
            // Where the last one was found tells where the next one is.
            drift = at.cast_signed() - rows.start.cast_signed() - stated.before.unwrap_or(at).cast_signed();
            edited.keep_until(at);
            edited.run(&hunk.rows[rows]);
            if edited.next >= lines.len() {
                edited.open = stated.open;
            }
            continue;
        }
        let nowhere = || Misfit::Nowhere(hunk);
        let mut from = edited.next;
        for header in &hunk.headers {
            // A header names its line without regard to how far that is indented.
            let named = |body: &[u8]| body.trim_ascii() == header.as_bytes();
            from += bodies[from..].iter().position(|body| named(body)).ok_or_else(nowhere)? + 1;
        }
        let old = hunk.old();
        let at = match (old.is_empty(), hunk.headers.is_empty()) {
            // Only additions: after the header, or at the end of the file.
            (true, false) if !hunk.at_end => from,
            (true, _) => lines.len(),
            (false, _) => {
                let tail = bodies.len().checked_sub(old.len()).filter(|tail| hunk.at_end && *tail >= from);
                tail.and_then(|tail| known.seek(&old, tail))
                    .or_else(|| known.seek(&old, from))
                    .ok_or_else(nowhere)?
            }
        };
        edited.keep_until(at);
        edited.run(&hunk.rows);
    }
    edited.keep_until(lines.len());
    Ok(edited.finish())
}

/// A file's lines without their ends, in the forms they are compared in.
struct Lines {
    exact: Vec<Vec<u8>>,
    loose: Vec<Vec<u8>>,
}

impl Lines {
    fn new(bodies: &[&[u8]]) -> Self {
        let in_form = |how| bodies.iter().map(|body| splice::form(body, how)).collect();
        Self { exact: in_form(Match::Exact), loose: in_form(Match::Loose) }
    }

    fn seek(&self, wanted: &[&str], from: usize) -> Option<usize> {
        let find = |lines: &[Vec<u8>], how| {
            let wanted: Vec<Vec<u8>> = wanted.iter().map(|line| splice::form(line.as_bytes(), how)).collect();
            let last = lines.len().checked_sub(wanted.len())?;
            (from..=last).find(|at| lines[*at..].starts_with(&wanted))
        };
        find(&self.exact, Match::Exact).or_else(|| find(&self.loose, Match::Loose))
    }
}

impl Lines {
    /// Where a hunk of a unified diff goes, and which of its rows: with fuzz not those at its ends.
    fn place<'a>(
        &self,
        hunk: &'a Hunk,
        (stated, from, drift): (Stated, usize, isize),
    ) -> Result<(usize, Range<usize>), Misfit<'a>> {
        let rows = &hunk.rows;
        let said = stated.before.and_then(|before| before.checked_add_signed(drift));
        let kept = |row: &&Row| matches!(row, Row::Keep(_));
        let (lead, tail) = (rows.iter().take_while(kept).count(), rows.iter().rev().take_while(kept).count());
        if hunk.old().is_empty() {
            // Only additions, and no context: the number is all there is to go by.
            let at = said.or((self.exact.is_empty()).then_some(0));
            let at = at.filter(|at| (from..=self.exact.len()).contains(at)).ok_or(Misfit::Nowhere(hunk))?;
            return Ok((at, 0..rows.len()));
        }
        for fuzz in 0..=stated.fuzz.min(lead.max(tail)) {
            let part = fuzz.min(lead)..rows.len() - fuzz.min(tail);
            let old: Vec<&str> =
                rows.get(part.clone()).unwrap_or_default().iter().filter_map(Row::old).collect();
            // What is left has to say where it is.
            if fuzz > 0 && old.iter().all(|line| line.trim().is_empty()) {
                break;
            }
            for how in [Match::Exact, Match::Loose] {
                let places = self.places(&old, (how, from));
                let here = said.map(|said| said + part.start).filter(|said| places.contains(said));
                match (here, &places[..]) {
                    (Some(at), _) => return Ok((at, part)),
                    (None, [at]) => return Ok((*at, part)),
                    (None, []) => {}
                    (None, several) => {
                        let lines = several.iter().map(|at| at + 1).collect();
                        return Err(Misfit::Several(hunk, lines));
                    }
                }
            }
        }
        Err(Misfit::Nowhere(hunk))
    }

    fn places(&self, wanted: &[&str], (how, from): (Match, usize)) -> Vec<usize> {
        let lines = match how {
            Match::Exact => &self.exact,
            Match::Loose => &self.loose,
        };
        let wanted: Vec<Vec<u8>> = wanted.iter().map(|line| splice::form(line.as_bytes(), how)).collect();
        let Some(last) = lines.len().checked_sub(wanted.len()) else { return Vec::new() };
        (from..=last).filter(|at| lines[*at..].starts_with(&wanted)).collect()
    }
}

/// A file under change, line by line. A line that is kept keeps its bytes.
struct Edited<'a> {
    lines: &'a [&'a [u8]],
    /// Lines of the new file, each with its end.
    out: Vec<(Vec<u8>, &'static str)>,
    next: usize,
    /// Whether the new file is without a last line end. None: as the old one.
    open: Option<bool>,
}

impl Edited<'_> {
    fn keep_until(&mut self, at: usize) {
        while self.next < at {
            self.keep();
        }
    }

    fn keep(&mut self) {
        if let Some(line) = self.lines.get(self.next) {
            let end = text::end_of(line);
            self.out.push((line[..line.len() - end.len()].to_vec(), end));
        }
        self.next += 1;
    }

    fn run(&mut self, rows: &[Row]) {
        for row in rows {
            match row {
                Row::Keep(_) => self.keep(),
                Row::Old(_) => self.next += 1,
                Row::New(line) => self.out.push((line.as_bytes().to_vec(), self.near_end())),
            }
        }
    }

    /// The line end of the line that was just passed, or of the one to come.
    fn near_end(&self) -> &'static str {
        let before = self.next.checked_sub(1).and_then(|at| self.lines.get(at));
        [before, self.lines.get(self.next), self.lines.first()]
            .into_iter()
            .flatten()
            .map(|line| text::end_of(line))
            .find(|end| !end.is_empty())
            .unwrap_or("\n")
    }

    /// The new file ends as the old one did: with or without a line end.
    fn finish(mut self) -> Vec<u8> {
        let near = self.near_end();
        let open = self.open.unwrap_or(self.lines.last().is_some_and(|line| text::end_of(line).is_empty()));
        let count = self.out.len();
        for (nth, (_, end)) in self.out.iter_mut().enumerate() {
            if nth + 1 == count && open {
                *end = "";
            } else if end.is_empty() {
                *end = near;
            }
        }
        self.out.into_iter().flat_map(|(body, end)| [body, end.as_bytes().to_vec()].concat()).collect()
    }
}
