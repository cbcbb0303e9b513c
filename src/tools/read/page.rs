//! The window of a text that is shown: picked out of lines that stream by, so that only it is held.

use std::collections::VecDeque;

use serde_json::Value;

use super::super::seen::Extent;
use super::super::shell::noted;
use super::super::text::{Census, Encoding, from_latin1};
use super::super::{given, rows, words};
use super::with;
use crate::model::{Limits, MOST_BYTES, MOST_LINES, Outcome, Read};

/// Bytes of one line that are shown.
const LINE_MOST: usize = 2_000;

/// The lines that are wanted.
#[derive(Clone, Copy)]
pub(super) struct Window {
    /// The line that was asked for, from 1.
    pub(super) asked: u64,
    from: u64,
    /// The line was asked for from the end: 1 is the last.
    pub(super) last: Option<u64>,
    pub(super) count: Option<u64>,
    /// Characters of the first line that are passed over, and the most bytes of all.
    column: Option<u64>,
    most: Option<u64>,
}

impl From<&Read> for Window {
    /// Line 0 is taken as line 1, and no lines as all that fit.
    fn from(ask: &Read) -> Self {
        let asked = ask.line.unwrap_or(1).max(1);
        let last = given(ask.last).filter(|_| ask.line.is_none());
        let (column, most) = (given(ask.column), given(ask.chars));
        Self { asked, from: asked, last, count: given(ask.count), column, most }
    }
}

impl Window {
    /// The same, counted from the start of a file of so many lines.
    pub(super) fn at_end(self, total: u64, last: u64) -> Self {
        let from = (total + 1).saturating_sub(last).max(1);
        Self { asked: from, from, ..self }
    }

    /// The harness's window around the line, where the call asks for no number of lines. Where it goes
    /// on from lines that were shown, it begins with the line.
    pub(super) fn around(self, most: Option<u64>, known: impl FnOnce(u64) -> bool) -> Self {
        let free = self.count.is_none() && self.last.is_none() && self.column.is_none();
        let Some(most) = most.filter(|_| free) else { return self };
        let goes_on = self.asked > 1 && known(self.asked - 1);
        let above = if goes_on { 0 } else { most / 2 };
        Self { from: self.asked.saturating_sub(above).max(1), count: Some(most), ..self }
    }
}

/// Picks the window out of lines that stream by.
/// The window, and what is known of the text around it.
pub(super) struct Pager {
    from: u64,
    /// The line that was asked for; what comes before it has at most half of the room.
    asked: u64,
    half: usize,
    /// Last line wanted.
    last: u64,
    room: usize,
    /// Bytes of one line that are shown.
    line_most: usize,
    /// Characters of the first line that are still to be passed over; None: it has begun.
    passing: Option<u64>,
    column: u64,
    minds_columns: bool,
    /// The line that is being read, from 1.
    line: u64,
    /// Its first bytes, and how many it has so far.
    row: Vec<u8>,
    row_bytes: u64,
    rows: VecDeque<Row>,
    pub(super) full: bool,
    census: Census,
}

/// A line of the window.
pub(super) struct Row {
    bytes: Vec<u8>,
    /// Bytes of the line that are not shown.
    more: u64,
    ended: bool,
}

/// The window, and what is known of the text around it.
pub(super) struct Page {
    pub(super) from: u64,
    pub(super) rows: VecDeque<Row>,
    pub(super) total: Option<u64>,
    /// None: not read to its end.
    pub(super) hash: Option<String>,
    pub(super) encoding: Encoding,
    /// Where the first line began, in characters; None: nobody minds.
    pub(super) columns: Option<u64>,
}

impl Pager {
    pub(super) fn new(window: Window, limits: &Limits) -> Self {
        let most = limits.lines.clamp(1, MOST_LINES) as u64;
        let count = window.count.unwrap_or(most).clamp(1, most);
        let chars = window.most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let room = limits.bytes.min(MOST_BYTES).min(chars);
        let minds_columns = window.column.is_some() || window.most.is_some();
        Self {
            from: window.from,
            asked: window.asked,
            half: room / 2,
            last: window.from.saturating_add(count - 1),
            room,
            line_most: if minds_columns { room } else { LINE_MOST },
            passing: window.column,
            column: window.column.unwrap_or(0),
            minds_columns,
            line: 1,
            row: Vec::new(),
            row_bytes: 0,
            rows: VecDeque::new(),
            full: false,
            census: Census::default(),
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.census.count(bytes);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (body, ended) = match piece.strip_suffix(b"\n") {
                Some(body) => (body, true),
                None => (piece, false),
            };
            let body = &body[self.pass(body)..];
            if self.wants() {
                let room = (self.line_most + 1).saturating_sub(self.row.len()).min(body.len());
                self.row.extend_from_slice(&body[..room]);
            }
            self.row_bytes += body.len() as u64;
            if ended {
                self.end_line(true);
            }
        }
    }

    /// Bytes of the first line that are passed over.
    fn pass(&mut self, body: &[u8]) -> usize {
        let Some(left) = self.passing.filter(|_| self.line == self.from) else { return 0 };
        let starts = body.iter().enumerate().filter(|(_, byte)| **byte & 0xC0 != 0x80);
        let mut starts = starts.skip(usize::try_from(left).unwrap_or(usize::MAX));
        match starts.next() {
            Some((at, _)) => {
                self.passing = None;
                at
            }
            None => {
                let passed = body.iter().filter(|byte| **byte & 0xC0 != 0x80).count() as u64;
                self.passing = Some(left - passed);
                body.len()
            }
        }
    }

    fn wants(&self) -> bool {
        !self.full && self.line >= self.from && self.line <= self.last
    }

    fn end_line(&mut self, ended: bool) {
        if self.wants() {
            let mut bytes = std::mem::take(&mut self.row);
            if ended && self.row_bytes == bytes.len() as u64 && bytes.last() == Some(&b'\r') {
                bytes.pop();
                self.row_bytes -= 1;
            }
            // At least one line is shown, however long.
            let room = if self.rows.is_empty() { self.room.min(self.line_most) } else { self.line_most };
            if bytes.len() > room {
                bytes.truncate(whole_chars(&bytes, room));
            }
            if bytes.len() < self.room || self.rows.is_empty() {
                self.room = self.room.saturating_sub(bytes.len() + 1);
                self.rows.push_back(Row { more: self.row_bytes - bytes.len() as u64, bytes, ended });
            } else {
                self.full = true;
            }
        }
        while self.line < self.asked
            && self.room < self.half
            && let Some(row) = self.rows.pop_front()
        {
            self.room += row.bytes.len() + 1;
            self.from += 1;
        }
        self.full |= self.line >= self.last;
        self.line += 1;
        self.row.clear();
        self.row_bytes = 0;
    }

    pub(super) fn finish(mut self) -> Page {
        if self.row_bytes > 0 {
            self.end_line(false);
        }
        let encoding = self.census.end();
        let columns = self.minds_columns.then_some(self.column);
        Page { from: self.from, rows: self.rows, total: Some(self.line - 1), hash: None, encoding, columns }
    }
}

/// A length near `most` that cuts no UTF-8 sequence.
fn whole_chars(bytes: &[u8], most: usize) -> usize {
    (most.saturating_sub(3)..=most)
        .rev()
        .find(|at| bytes.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80))
        .unwrap_or(most)
}

impl Page {
    pub(super) fn to(&self) -> u64 {
        self.from + (self.rows.len() as u64).saturating_sub(1)
    }

    /// A line that was cut was not shown.
    pub(super) fn extent(&self) -> Extent {
        let mut extent = Extent { rows: Vec::new(), total: self.total.unwrap_or(u64::MAX) };
        for (row, line) in self.rows.iter().zip(self.from..) {
            let whole = row.more == 0 && (line > self.from || self.columns.unwrap_or(0) == 0);
            if whole {
                rows::merge(&mut extent.rows, (line, line));
            }
        }
        extent
    }

    /// One line in place of what the model has already.
    pub(super) fn again(&self, shown: &str) -> String {
        let of = self.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let rows = words::span(self.from, self.to());
        format!("{shown}, {rows}{of}: unchanged since you were shown it; it is not sent again")
    }

    pub(super) fn tell(&self, data: Value) -> Outcome {
        let (from, to) = (self.from, self.to());
        let next_column = self.next_column();
        let more = self.total.is_none_or(|total| to < total) || next_column.is_some();
        let mut text = self.window();
        if more && text.ends_with('\n') {
            text.pop();
        }
        if self.encoding == Encoding::Latin1 {
            text = noted(text, &["[not UTF-8; read as Latin-1]".into()]);
        }
        let data = with(
            data,
            [
                ("from", from.into()),
                ("to", to.into()),
                ("total", self.total.into()),
                ("before", (from - 1).into()),
                ("more", more.into()),
                ("next", more.then_some(if next_column.is_some() { to } else { to + 1 }).into()),
                ("next_column", next_column.into()),
                ("encoding", self.encoding.name().into()),
            ],
        );
        Outcome { data, ..Outcome::ok(text) }
    }

    /// The column at which the last line goes on.
    fn next_column(&self) -> Option<u64> {
        let row = self.rows.back().filter(|row| row.more > 0)?;
        let began = if self.rows.len() == 1 { self.columns? } else { self.columns.map(|_| 0)? };
        let shown = row.bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count() as u64;
        Some(began + shown)
    }

    fn window(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            match self.encoding {
                Encoding::Latin1 => text.push_str(&from_latin1(&row.bytes)),
                Encoding::Utf8 | Encoding::Utf16Le | Encoding::Utf16Be => {
                    text.push_str(&String::from_utf8_lossy(&row.bytes));
                }
            }
            if row.more > 0 && self.columns.is_none() {
                text.push_str(&format!("… [{} more bytes in this line]", row.more));
            }
            if row.ended {
                text.push('\n');
            }
        }
        text
    }
}
