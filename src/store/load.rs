//! Reading a log: what is whole is taken, what is damaged is skipped and said.

use std::collections::HashSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::{Body, CallId, Item, ItemId, Part, SessionId, ToolCall};

/// The format's version. A line of a later one is left alone.
pub(super) const VERSION: u32 = 1;

/// The first line of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub id: SessionId,
    /// The folder it was started in; empty when the line was lost.
    #[serde(default)]
    pub cwd: String,
    pub created: Timestamp,
    /// The version that made it.
    #[serde(default)]
    pub tack: String,
}

/// A session as it was found.
///
/// Ids rise, but may have gaps where lines were lost. A line that repeats an earlier item is left
/// out; a different item under a used id gets the next free one, in memory only, because the file
/// is never rewritten. A result that answers no call, or one that is answered already, is left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub header: Header,
    pub items: Vec<Item>,
    /// One sentence each, for the person.
    pub warnings: Vec<String>,
    /// Bytes up to the end of the last line that is worth keeping.
    pub(super) good: u64,
    /// That line still wants its newline.
    pub(super) unsealed: bool,
    pub(super) has_header: bool,
}

impl Header {
    /// What can still be said when the line is damaged: an id holds the time it was made.
    pub(super) fn lost(id: &SessionId) -> Self {
        let unix = uuid::Uuid::parse_str(&id.0).ok().and_then(|uuid| uuid.get_timestamp());
        let second = unix.and_then(|stamp| i64::try_from(stamp.to_unix().0).ok()).unwrap_or(0);
        let created = Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH);
        Self { id: id.clone(), cwd: String::new(), created, tack: String::new() }
    }
}

impl Loaded {
    /// The id of the next item.
    pub fn next(&self) -> ItemId {
        ItemId(self.items.last().map_or(0, |item| item.id.0) + 1)
    }

    /// The number of prompts so far.
    pub fn turns(&self) -> u32 {
        self.items.last().map_or(0, |item| item.turn)
    }
}

/// Calls without a result, in order. `agent` answers them before the next request.
pub fn unanswered(items: &[Item]) -> Vec<&ToolCall> {
    let answered: HashSet<&CallId> = items
        .iter()
        .filter_map(|item| match &item.body {
            Body::Result(result) => Some(&result.call),
            Body::User(_)
            | Body::Note(_)
            | Body::Assistant(_)
            | Body::Scene(_)
            | Body::Summary(_)
            | Body::Mark(_) => None,
        })
        .collect();
    items.iter().flat_map(calls).filter(|call| !answered.contains(&call.id)).collect()
}

fn calls(item: &Item) -> impl Iterator<Item = &ToolCall> {
    let parts: &[Part] = match &item.body {
        Body::Assistant(reply) => &reply.parts,
        Body::User(_)
        | Body::Note(_)
        | Body::Result(_)
        | Body::Scene(_)
        | Body::Summary(_)
        | Body::Mark(_) => &[],
    };
    parts.iter().filter_map(|part| match part {
        Part::Call(call) => Some(call),
        Part::Text { .. } | Part::Thinking { .. } | Part::Image(_) => None,
    })
}

/// What one line is.
pub(super) enum Line {
    Header(Header),
    Item(Box<Item>),
    /// Whole, but of a kind this version does not know.
    Unknown,
    Damaged,
    Empty,
}

/// Reads a log. Never fails: the worst is a session without items.
pub(super) fn load(id: &SessionId, bytes: &[u8]) -> Loaded {
    let mut header = None;
    let mut items = Vec::new();
    let (mut damaged, mut unknown) = (Vec::new(), 0);
    let (mut good, mut unsealed) = (0, false);
    let mut end = 0;
    for (number, raw) in (1..).zip(bytes.split_inclusive(|&b| b == b'\n')) {
        end += raw.len();
        let sealed = raw.ends_with(b"\n");
        match parse(raw) {
            Line::Header(found) => header = header.or(Some(found)),
            Line::Item(item) => items.push(*item),
            Line::Unknown => unknown += 1,
            Line::Empty if sealed => {}
            Line::Damaged if sealed => damaged.push(number),
            // The write that a crash or a full disk cut off.
            Line::Damaged => {
                damaged.push(number);
                continue;
            }
            Line::Empty => continue,
        }
        good = end as u64;
        unsealed = !sealed;
    }
    let mut warnings = complaints(&damaged, unknown);
    let items = tidy(items, &mut warnings);
    let has_header = header.is_some();
    let header = header.unwrap_or_else(|| Header::lost(id));
    Loaded { header, items, warnings, good, unsealed, has_header }
}

pub(super) fn parse(raw: &[u8]) -> Line {
    #[derive(Deserialize)]
    struct Tag {
        #[serde(default)]
        v: u32,
        is: String,
    }

    // A crash can leave a run of NULs where the file had grown but its bytes had not arrived.
    let text = raw.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(raw);
    let start = text.iter().position(|b| !matches!(b, 0 | b' ' | b'\t' | b'\r' | b'\n'));
    let Some(start) = start else {
        return if text.contains(&0) { Line::Damaged } else { Line::Empty };
    };
    let text = &text[start..];
    let Ok(tag) = serde_json::from_slice::<Tag>(text) else { return Line::Damaged };
    if tag.v > VERSION {
        return Line::Unknown;
    }
    if tag.is == "header" {
        return serde_json::from_slice(text).map_or(Line::Damaged, Line::Header);
    }
    match serde_json::from_slice(text) {
        Ok(item) => Line::Item(Box::new(item)),
        Err(_) if KINDS.contains(&tag.is.as_str()) => Line::Damaged,
        Err(_) => Line::Unknown,
    }
}

/// The values of `is` that [`Body`] has.
const KINDS: [&str; 7] = ["user", "note", "assistant", "result", "scene", "summary", "mark"];

fn complaints(damaged: &[usize], unknown: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    match damaged {
        [] => {}
        [line] => warnings.push(format!("line {line} of the session is damaged and was left out")),
        [first, ..] => warnings.push(format!(
            "{} lines of the session are damaged and were left out, the first is line {first}",
            damaged.len()
        )),
    }
    if unknown > 0 {
        warnings.push(format!("a newer tack wrote lines of this session that this one does not know ({unknown}); they were left out"));
    }
    warnings
}

/// Restores what the rest of tack relies on; see [`Loaded`].
fn tidy(found: Vec<Item>, warnings: &mut Vec<String>) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::with_capacity(found.len());
    let mut open: HashSet<CallId> = HashSet::new();
    let (mut repeated, mut stray) = (0, 0);
    for mut item in found {
        let last = items.last().map_or(0, |item| item.id.0);
        if item.id.0 <= last {
            if items.contains(&item) {
                repeated += 1;
                continue;
            }
            item.id = ItemId(last + 1);
        }
        if let Body::Result(result) = &item.body
            && !open.remove(&result.call)
        {
            stray += 1;
            continue;
        }
        open.extend(calls(&item).map(|call| call.id.clone()));
        items.push(item);
    }
    if repeated > 0 {
        warnings.push(format!("lines that stand in the session twice were read once ({repeated})"));
    }
    if stray > 0 {
        warnings.push(format!("results that answer no call in the session were left out ({stray})"));
    }
    items
}
