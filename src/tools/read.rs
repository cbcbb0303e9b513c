//! Reading a file: a window of its lines, or an image. Streams, so that only the window is held.
//!
//! `data`: `path`, `kind` (`text`, `empty`, `image`, `binary`), `bytes`; for text also `from`, `to`,
//! `total` (null when the file is too long to be counted), `before` (lines above `from`), `more`,
//! `next` (the line to go on with), `next_column` (where the last line was cut and the call minds columns:
//! go on in it, after so many characters), `encoding`. Of a folder `kind` is `folder`, with `entries`
//! (`name`, `dir`), `from`, `to`, `total`, `more`, `next`. `text` is the bare window, without numbers or a word on
//! what is left out: manifests put that into words. Where lines are sent only once and these are still
//! before the model, `text` says that instead, and `again` is true.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::change::FILE_MOST;
use super::seen::Extent;
use super::shell::noted;
use super::text::{BOM, Census, Encoding, Text, from_latin1};
use super::walk::{self, Bound};
use super::{ToolCx, Toolbox, failed, given, list, lock, path, rows, words};
use crate::model::{Image, Limits, MOST_BYTES, MOST_LINES, Outcome, Read, State, hash, hex};
use crate::sandbox::Policy;
use crate::sandbox::files::{self, FileError};

/// Servers refuse larger images.
const IMAGE_MOST: u64 = 5 * 1024 * 1024;
/// Bytes of one line that are shown.
const LINE_MOST: usize = 2_000;
/// Enough to tell what a file is.
const SNIFF: usize = 8 * 1024;

#[derive(Clone, Copy)]
struct Window {
    /// The line that was asked for, from 1.
    asked: u64,
    from: u64,
    /// The line was asked for from the end: 1 is the last.
    last: Option<u64>,
    count: Option<u64>,
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
    fn at_end(self, total: u64, last: u64) -> Self {
        let from = (total + 1).saturating_sub(last).max(1);
        Self { asked: from, from, ..self }
    }

    /// The harness's window around the line, where the call asks for no number of lines. Where it goes
    /// on from lines that were shown, it begins with the line.
    fn around(self, most: Option<u64>, known: impl FnOnce(u64) -> bool) -> Self {
        let free = self.count.is_none() && self.last.is_none() && self.column.is_none();
        let Some(most) = most.filter(|_| free) else { return self };
        let goes_on = self.asked > 1 && known(self.asked - 1);
        let above = if goes_on { 0 } else { most / 2 };
        Self { from: self.asked.saturating_sub(above).max(1), count: Some(most), ..self }
    }
}

pub(super) async fn run(toolbox: &Toolbox, cx: &ToolCx<'_>, ask: &Read) -> Outcome {
    let (raw, window) = (ask.path.as_str(), Window::from(ask));
    let target = match path::resolve(cx, raw) {
        Ok(target) => target,
        Err(refusal) => return refusal,
    };
    if let Some(most) = cx.guards.most.filter(|_| window.count.is_none())
        && let Some(refusal) = too_large(cx, raw, (&target, most))
    {
        return refusal;
    }
    let known = |line| {
        let real = files::resolve(cx.policy, &target).ok();
        real.is_some_and(|real| lock(&toolbox.seen).unseen(&real, &[(line, line)]).is_empty())
    };
    let window = window.around(cx.guards.window.map(|most| most.min(cx.limits.lines as u64)), known);
    let (limits, policy, bound) = (cx.limits.clone(), cx.policy.clone(), Bound::new(cx));
    match walk::blocking(cx, move || look(&policy, target, (window, &limits, &bound))).await {
        Ok(Ok(found)) => tell(toolbox, cx, (raw, window.asked), found),
        Ok(Err(error)) if ask.folders && path::is_folder(&error) => list::part(cx, ask),
        Ok(Err(error)) => path::fault(cx, raw, error),
        Err(refusal) => refusal,
    }
}

/// A text that is not shown, as nobody said which part of it is wanted.
fn too_large(cx: &ToolCx<'_>, raw: &str, (target, most): (&Path, u64)) -> Option<Outcome> {
    let mut opened = files::open(cx.policy, target).ok()?;
    let bytes = opened.file.metadata().ok().filter(|is| is.is_file() && is.len() > most)?.len();
    let mut head = Vec::new();
    (&mut opened.file).take(SNIFF as u64).read_to_end(&mut head).ok()?;
    if image_type(&head).is_some() {
        return None;
    }
    let text = format!(
        "{} has {bytes} bytes, more than the {most} that are shown at once; say which lines you want, or search it",
        path::show_str(raw)
    );
    let data = json!({ "error": "too_large", "path": raw, "bytes": bytes, "most": most });
    Some(Outcome { data, ..failed("too_large", text) })
}

/// The same where nothing but an image is wanted.
pub(super) async fn image(toolbox: &Toolbox, cx: &ToolCx<'_>, raw: &str) -> Outcome {
    let one = Read { path: raw.to_owned(), count: Some(1), ..Read::default() };
    let outcome = run(toolbox, cx, &one).await;
    if outcome.state != State::Ok || outcome.data["kind"] == "image" {
        return outcome;
    }
    let text =
        format!("{} is no PNG, JPEG, GIF or WebP image, so there is nothing to look at", path::show_str(raw));
    failed("no_image", text)
}

struct Found {
    real: PathBuf,
    bytes: u64,
    what: What,
}

enum What {
    Image { mime: &'static str, content: Vec<u8> },
    HugeImage { mime: &'static str },
    Binary,
    Text(Page),
}

fn look(
    policy: &Policy,
    target: PathBuf,
    (window, limits, bound): (Window, &Limits, &Bound),
) -> Result<Found, FileError> {
    let mut opened = files::open(policy, &target)?;
    let file = &mut opened.file;
    let io = |source| FileError::Io { path: target.clone(), source };
    let size = file.metadata().map_err(io)?;
    if size.is_dir() {
        return Err(FileError::WrongKind { path: target, what: "a folder" });
    }
    let size = size.len();
    let window = match window.last {
        Some(last) => window.at_end(count_lines(file, bound).map_err(io)?, last),
        None => window,
    };
    let mut pager = Pager::new(window, limits);
    let mut head = Vec::new();
    file.take(SNIFF as u64).read_to_end(&mut head).map_err(io)?;
    let what = if let Some(mime) = image_type(&head) {
        if size > IMAGE_MOST {
            What::HugeImage { mime }
        } else {
            file.take(IMAGE_MOST).read_to_end(&mut head).map_err(io)?;
            What::Image { mime, content: head }
        }
    } else if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
        file.take(FILE_MOST).read_to_end(&mut head).map_err(io)?;
        match Text::decode(&head) {
            Some(text) => {
                pager.feed(&text.bytes);
                let page = pager.finish();
                What::Text(Page { hash: Some(hash(&head)), encoding: text.encoding, ..page })
            }
            None => What::Binary,
        }
    } else if head.contains(&0) {
        What::Binary
    } else {
        match stream(file, &head, (size, pager, bound)).map_err(io)? {
            Some(page) => What::Text(page),
            None => What::Binary,
        }
    };
    Ok(Found { real: opened.real, bytes: size, what })
}

/// How many lines the file has; it is at its start again after that.
fn count_lines(file: &mut File, bound: &Bound) -> io::Result<u64> {
    let (mut chunk, mut lines, mut open) = (vec![0; 64 * 1024], 0, false);
    loop {
        if bound.over() {
            return Err(too_slow());
        }
        match file.read(&mut chunk)? {
            0 => break,
            count => {
                lines += memchr::memchr_iter(b'\n', &chunk[..count]).count() as u64;
                open = chunk[count - 1] != b'\n';
            }
        }
    }
    file.rewind()?;
    Ok(lines + u64::from(open))
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "reading took too long; cut the part out with a command")
}

/// Reads on after `head`. None: a NUL byte turned up.
fn stream(
    file: &mut File,
    head: &[u8],
    (size, mut pager, bound): (u64, Pager, &Bound),
) -> io::Result<Option<Page>> {
    let mut hasher = Sha256::new_with_prefix(head);
    pager.feed(head.strip_prefix(BOM).unwrap_or(head));
    let mut chunk = vec![0; 64 * 1024];
    loop {
        if size > FILE_MOST && pager.full {
            return Ok(Some(Page { total: None, hash: None, ..pager.finish() }));
        }
        if bound.over() {
            return Err(too_slow());
        }
        match file.read(&mut chunk)? {
            0 => break,
            count => {
                if chunk[..count].contains(&0) {
                    return Ok(None);
                }
                hasher.update(&chunk[..count]);
                pager.feed(&chunk[..count]);
            }
        }
    }
    Ok(Some(Page { hash: Some(hex(&hasher.finalize())), ..pager.finish() }))
}

/// The type of an image by its first bytes; None for what is none or is not sent to models.
pub fn image_type(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Picks the window out of lines that stream by.
struct Pager {
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
    full: bool,
    census: Census,
}

struct Row {
    bytes: Vec<u8>,
    /// Bytes of the line that are not shown.
    more: u64,
    ended: bool,
}

struct Page {
    from: u64,
    rows: VecDeque<Row>,
    total: Option<u64>,
    /// None: not read to its end.
    hash: Option<String>,
    encoding: Encoding,
    /// Where the first line began, in characters; None: nobody minds.
    columns: Option<u64>,
}

impl Pager {
    fn new(window: Window, limits: &Limits) -> Self {
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

    fn feed(&mut self, bytes: &[u8]) {
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

    fn finish(mut self) -> Page {
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

fn tell(toolbox: &Toolbox, cx: &ToolCx<'_>, (raw, asked): (&str, u64), found: Found) -> Outcome {
    let shown = path::show_str(raw);
    let bytes = found.bytes;
    let data = |kind: &str| json!({ "path": raw, "kind": kind, "bytes": bytes });
    match found.what {
        What::Binary => {
            let text = format!("{shown} is a binary file of {bytes} bytes; it is not shown");
            Outcome { data: with(data("binary"), [("error", "binary".into())]), ..failed("binary", text) }
        }
        What::HugeImage { mime } => {
            let text = format!(
                "{shown} is {mime} of {bytes} bytes; images up to {} MiB can be shown",
                IMAGE_MOST >> 20
            );
            Outcome {
                data: with(data("image"), [("error", "too_large".into())]),
                ..failed("too_large", text)
            }
        }
        What::Image { mime, content } => match cx.blobs.keep(&content) {
            Ok(blob) => Outcome {
                images: vec![Image { mime: mime.into(), blob }],
                data: with(data("image"), [("mime", mime.into())]),
                ..Outcome::ok(format!("{shown}: {mime}, {bytes} bytes"))
            },
            Err(error) => {
                failed("io", format!("{shown}: the image could not be kept beside the session: {error}"))
            }
        },
        What::Text(page) => {
            let data = data("text");
            tell_page(toolbox, cx, (&shown, asked), (page, &found.real, data))
        }
    }
}

fn tell_page(
    toolbox: &Toolbox,
    cx: &ToolCx<'_>,
    (shown, asked): (&str, u64),
    (page, real, data): (Page, &Path, Value),
) -> Outcome {
    let extent = page.extent();
    let mut outcome = match page.total {
        Some(0) => {
            let data = with(data, [("kind", "empty".into())]);
            Outcome { data, ..Outcome::ok(format!("{shown} is empty")) }
        }
        Some(total) if asked > total => {
            let data = with(data, [("error", "past_end".into()), ("total", total.into())]);
            let lines = words::count(total, "line");
            let text = format!("{shown} has {lines}; line {asked} is past its end");
            return Outcome { data, ..failed("past_end", text) };
        }
        Some(_) | None => page.tell(data),
    };
    let Some(hash) = &page.hash else { return outcome };
    let mut record = lock(&toolbox.seen);
    let rows = (page.from, page.to());
    let once = cx.guards.once && page.total != Some(0);
    let again = once && record.has_sent(real, hash, rows);
    outcome.seen = vec![record.show(real, hash.clone(), &extent)];
    if again {
        outcome.text = page.again(shown);
        outcome.data["again"] = true.into();
    } else if once {
        record.send(real, hash, rows);
    }
    outcome
}

fn with<const N: usize>(mut data: Value, more: [(&str, Value); N]) -> Value {
    for (key, value) in more {
        data[key] = value;
    }
    data
}

impl Page {
    fn to(&self) -> u64 {
        self.from + (self.rows.len() as u64).saturating_sub(1)
    }

    /// A line that was cut was not shown.
    fn extent(&self) -> Extent {
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
    fn again(&self, shown: &str) -> String {
        let of = self.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let rows = words::span(self.from, self.to());
        format!("{shown}, {rows}{of}: unchanged since you were shown it; it is not sent again")
    }

    fn tell(&self, data: Value) -> Outcome {
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
