//! Messages replies, streamed or whole, to deltas.
//!
//! A reply is a list of blocks, each with an index. Texts and reasoning are passed on as they come;
//! with the reason for the end, all blocks are given once more, whole and in order. So nothing
//! depends on the order of events, or on a start or stop that is missing or doubled. As in the chat
//! wire, every field may be missing or of another type.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::model::{Stop, Usage};
use crate::wire::json::{Raw, count, plain, read, word};
use crate::wire::{AnswerPart, Decoder, Delta, MOST_PARTS, fault, too_many};

/// What reasoning is called on this wire; the field it goes back in.
const FIELD: &str = "thinking";

#[derive(Default)]
pub(super) struct Reader {
    blocks: Vec<Block>,
    counts: Counts,
    stopped: bool,
    skipped: usize,
}

/// A block so far.
struct Block {
    index: Option<i64>,
    /// Where it belongs among the others: its index, or that of the one before.
    place: i64,
    kind: Kind,
    closed: bool,
    /// Text, reasoning, arguments or sealed data, by kind.
    text: String,
    signature: Option<String>,
    id: Option<String>,
    name: String,
    /// A call's arguments where they came with its start.
    input: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Redacted,
    Call,
    /// Not for us: the server's own tools, and what nobody knows yet.
    Other,
}

/// The highest count seen of each sort: they are cumulative, and gateways send zeros in between.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    fresh: u64,
    cached: u64,
    written: u64,
    output: u64,
    reasoning: u64,
}

#[derive(Default, Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    index: Raw<'a>,
    #[serde(borrow, default)]
    delta: Raw<'a>,
    #[serde(borrow, default)]
    content_block: Raw<'a>,
    #[serde(borrow, default)]
    message: Raw<'a>,
    #[serde(borrow, default)]
    usage: Raw<'a>,
    #[serde(borrow, default)]
    error: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Piece<'a> {
    #[serde(borrow, default)]
    text: Raw<'a>,
    #[serde(borrow, default)]
    thinking: Raw<'a>,
    #[serde(borrow, default)]
    partial_json: Raw<'a>,
    #[serde(borrow, default)]
    signature: Raw<'a>,
    #[serde(borrow, default)]
    stop_reason: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Start<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    text: Raw<'a>,
    #[serde(borrow, default)]
    thinking: Raw<'a>,
    #[serde(borrow, default)]
    signature: Raw<'a>,
    #[serde(borrow, default)]
    data: Raw<'a>,
    #[serde(borrow, default)]
    id: Raw<'a>,
    #[serde(borrow, default)]
    name: Raw<'a>,
    #[serde(borrow, default)]
    input: Raw<'a>,
}

/// A message: the whole reply, or its empty beginning.
#[derive(Default, Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Raw<'a>,
    #[serde(borrow, default)]
    stop_reason: Raw<'a>,
    #[serde(borrow, default)]
    usage: Raw<'a>,
}

impl Decoder for Reader {
    fn event(&mut self, name: &str, data: &str) -> Vec<Delta> {
        let data = data.trim();
        let mut out = Vec::new();
        if data == "[DONE]" {
            // Not of this wire, yet some gateways end every stream so.
            self.end(&mut out);
        } else if !data.is_empty() {
            match serde_json::from_str::<Event>(data) {
                Ok(event) => self.read(name, data, &event, &mut out),
                Err(_) => self.skipped += 1,
            }
        }
        out
    }

    fn body(&mut self, body: &Value) -> Vec<Delta> {
        let mut out = Vec::new();
        let text = body.to_string();
        let message: Message = serde_json::from_str(&text).unwrap_or_default();
        if message.content.is_none()
            && let Some(said) = fault::find(body)
        {
            return vec![Delta::Error { message: said.message, kind: said.kind }];
        }
        self.message(&message, &mut out);
        if !self.stopped {
            // Nothing is missing but the reason.
            self.whole(&mut out);
        }
        out.push(Delta::End);
        out
    }

    fn skipped(&self) -> usize {
        self.skipped
    }
}

impl Reader {
    fn read(&mut self, name: &str, data: &str, event: &Event, out: &mut Vec<Delta>) {
        // The data's own type decides: gateways leave names out, or put wrong ones.
        let kind = event.kind.map_or(name, plain);
        let index = read(event.index);
        match kind {
            "content_block_delta" => {
                if let Some(piece) = read(event.delta) {
                    self.delta(index, &piece, out);
                }
            }
            "content_block_start" => {
                if let Some(start) = read(event.content_block) {
                    self.start(index, &start, out);
                }
            }
            "content_block_stop" => self.close(index),
            "message_start" => {
                if let Some(message) = read(event.message) {
                    self.message(&message, out);
                }
            }
            "message_delta" => {
                self.usage(event.usage, out);
                let piece: Piece = read(event.delta).unwrap_or_default();
                self.stop(piece.stop_reason, out);
            }
            "message_stop" => self.end(out),
            "ping" => {}
            _ if name == "error" || kind == "error" || event.error.is_some() => {
                let value: Value = serde_json::from_str(data).unwrap_or_default();
                let said = fault::find(&value).unwrap_or_else(|| fault::read(&value));
                out.push(Delta::Error { message: said.message, kind: said.kind });
            }
            "" => self.foreign(data, out),
            _ => {}
        }
        if self.blocks.len() > MOST_PARTS {
            out.push(too_many());
        }
        // What comes after the reason changes the whole once more.
        if self.stopped && kind == "content_block_stop" {
            self.whole(out);
        }
    }

    fn message(&mut self, message: &Message, out: &mut Vec<Delta>) {
        let blocks: Vec<Raw> = read(message.content).unwrap_or_default();
        if blocks.len() > MOST_PARTS {
            return out.push(too_many());
        }
        for (index, block) in (0..).zip(blocks) {
            if let Some(start) = read(block) {
                self.start(Some(index), &start, out);
                self.close(Some(index));
            }
        }
        self.usage(message.usage, out);
        self.stop(message.stop_reason, out);
    }

    fn start(&mut self, index: Option<i64>, start: &Start, out: &mut Vec<Delta>) {
        let kind = match start.kind.map_or("", plain) {
            "text" => Kind::Text,
            "thinking" => Kind::Thinking,
            "redacted_thinking" => Kind::Redacted,
            "tool_use" => Kind::Call,
            _ => Kind::Other,
        };
        let id = word(start.id);
        let known =
            self.find(index).filter(|slot| index.is_some() && self.blocks[*slot].is(kind, id.as_ref()));
        let slot = known.unwrap_or_else(|| self.open(index, kind));
        let block = &mut self.blocks[slot];
        block.id = block.id.take().or(id);
        let is_new = block.text.is_empty();
        match kind {
            Kind::Text if is_new => self.add(slot, start.text, out),
            Kind::Thinking if is_new => {
                self.sign(slot, start.signature);
                self.add(slot, start.thinking, out);
            }
            // A start that comes twice does not say its text twice.
            Kind::Text | Kind::Thinking | Kind::Other => {}
            Kind::Redacted => block.text = read(start.data).unwrap_or_default(),
            Kind::Call => {
                block.input = start.input.map(arguments).unwrap_or_default();
                if let Some(name) = read::<String>(start.name).filter(|_| block.name.is_empty()) {
                    block.name.clone_from(&name);
                    let id = block.id.clone();
                    out.push(Delta::CallStart { slot: self.calls_before(slot), id, name });
                }
            }
        }
    }

    fn delta(&mut self, index: Option<i64>, piece: &Piece, out: &mut Vec<Delta>) {
        let texts =
            [(Kind::Text, piece.text), (Kind::Thinking, piece.thinking), (Kind::Call, piece.partial_json)];
        for (kind, text) in texts.into_iter().filter(|(_, text)| text.is_some()) {
            if let Some(slot) = self.slot(index, kind) {
                self.add(slot, text, out);
            }
        }
        if piece.signature.is_some()
            && let Some(slot) = self.slot(index, Kind::Thinking)
        {
            self.sign(slot, piece.signature);
        }
    }

    /// The block that a piece of this kind belongs to; one whose start did not come is opened. None
    /// when it is not for us.
    fn slot(&mut self, index: Option<i64>, kind: Kind) -> Option<usize> {
        match self.find(index) {
            Some(slot) if self.blocks[slot].kind == kind => Some(slot),
            Some(slot) if self.blocks[slot].kind == Kind::Other => None,
            _ => Some(self.open(index, kind)),
        }
    }

    /// The last block of that index; without one, the last of all.
    fn find(&self, index: Option<i64>) -> Option<usize> {
        let is_it = |block: &Block| index.is_none() || block.index == index;
        self.blocks.iter().rposition(is_it)
    }

    fn open(&mut self, index: Option<i64>, kind: Kind) -> usize {
        let before = self.blocks.last().map_or(0, |block| block.place);
        self.blocks.push(Block {
            index,
            place: index.unwrap_or(before),
            kind,
            closed: false,
            text: String::new(),
            signature: None,
            id: None,
            name: String::new(),
            input: String::new(),
        });
        self.blocks.len() - 1
    }

    fn close(&mut self, index: Option<i64>) {
        if let Some(slot) = self.find(index) {
            self.blocks[slot].closed = true;
        }
    }

    fn add(&mut self, slot: usize, text: Raw, out: &mut Vec<Delta>) {
        let Some(text) = word(text) else { return };
        let block = &mut self.blocks[slot];
        block.text.push_str(&text);
        match block.kind {
            Kind::Text => out.push(Delta::Text(text)),
            Kind::Thinking => out.push(Delta::Thinking { text, field: Some(FIELD.to_owned()), seal: None }),
            // The whole has them too: these are for whoever watches for a reply that runs on.
            Kind::Call => out.push(Delta::CallArgs { slot: self.calls_before(slot), text }),
            Kind::Redacted | Kind::Other => {}
        }
    }

    /// The number of the call in this block, as a listener counts them.
    fn calls_before(&self, slot: usize) -> usize {
        self.blocks[..slot].iter().filter(|block| block.kind == Kind::Call).count()
    }

    fn sign(&mut self, slot: usize, signature: Raw) {
        if let Some(more) = read::<String>(signature) {
            self.blocks[slot].signature.get_or_insert_default().push_str(&more);
        }
    }

    fn usage(&mut self, raw: Raw, out: &mut Vec<Delta>) {
        let Some(value) = read::<Value>(raw) else { return };
        let before = self.counts;
        let take = |most: &mut u64, path: &str| {
            *most = (*most).max(value.pointer(path).and_then(count).unwrap_or(0));
        };
        take(&mut self.counts.fresh, "/input_tokens");
        take(&mut self.counts.cached, "/cache_read_input_tokens");
        take(&mut self.counts.written, "/cache_creation_input_tokens");
        take(&mut self.counts.output, "/output_tokens");
        take(&mut self.counts.reasoning, "/output_tokens_details/thinking_tokens");
        if self.counts != before {
            out.push(Delta::Usage(self.counts.sum()));
        }
    }

    fn stop(&mut self, reason: Raw, out: &mut Vec<Delta>) {
        let Some(reason) = word(reason) else { return };
        self.stopped = true;
        self.whole(out);
        out.push(Delta::Stop(match reason.as_str() {
            "end_turn" | "stop_sequence" | "stop" => Stop::Done,
            "tool_use" | "tool_calls" => Stop::Calls,
            "max_tokens" | "model_context_window_exceeded" | "length" => Stop::Length,
            "refusal" | "content_filter" | "sensitive" => Stop::Refused,
            _ => Stop::Other(reason),
        }));
    }

    fn end(&self, out: &mut Vec<Delta>) {
        if self.stopped {
            self.whole(out);
        }
        out.push(if self.stopped {
            Delta::End
        } else {
            let message = "the reply ended without a reason for its end".to_owned();
            Delta::Error { message, kind: Some("api_error".to_owned()) }
        });
    }

    /// An error in another API's shape, or an event that is of no API.
    fn foreign(&mut self, data: &str, out: &mut Vec<Delta>) {
        let value: Value = serde_json::from_str(data).unwrap_or_default();
        match fault::find(&value) {
            Some(said) => out.push(Delta::Error { message: said.message, kind: said.kind }),
            None => self.skipped += 1,
        }
    }

    fn whole(&self, out: &mut Vec<Delta>) {
        let mut blocks: Vec<&Block> = self.blocks.iter().collect();
        blocks.sort_by_key(|block| block.place);
        let mut parts: Vec<AnswerPart> = Vec::new();
        for part in blocks.into_iter().filter_map(Block::part) {
            match (parts.last_mut(), part) {
                // Cited words are blocks of their own, in the middle of a sentence.
                (Some(AnswerPart::Text(text)), AnswerPart::Text(more)) => text.push_str(&more),
                (_, part) => parts.push(part),
            }
        }
        out.push(Delta::Whole(parts));
    }
}

impl Block {
    /// A start with this kind and id is this block's own, come late or twice.
    fn is(&self, kind: Kind, id: Option<&String>) -> bool {
        let same = match (&self.id, id) {
            (Some(known), Some(id)) => known == id,
            _ => !self.closed,
        };
        self.kind == kind && same
    }

    fn part(&self) -> Option<AnswerPart> {
        let field = Some(FIELD.to_owned());
        let seal = self.signature.as_ref().map(|signature| json!({"signature": signature}));
        let text = self.text.clone();
        let signed = self.signature.as_ref().is_some_and(|signature| !signature.is_empty());
        match self.kind {
            Kind::Text => (!text.is_empty()).then_some(AnswerPart::Text(text)),
            // Newer models keep their reasoning to themselves and give only the signature.
            Kind::Thinking => {
                (!text.is_empty() || signed).then_some(AnswerPart::Thinking { text, field, seal })
            }
            Kind::Redacted => {
                let seal = Some(json!({"redacted": text}));
                Some(AnswerPart::Thinking { text: String::new(), field, seal })
            }
            Kind::Call => {
                let written = [&self.text, &self.input].into_iter().find(|args| !args.trim().is_empty());
                let args = written.map_or("{}", String::as_str).to_owned();
                Some(AnswerPart::Call { id: self.id.clone(), name: self.name.clone(), args })
            }
            Kind::Other => None,
        }
    }
}

impl Counts {
    /// This API counts what was read from and written to a cache beside the other input.
    fn sum(self) -> Usage {
        Usage {
            input: self.fresh.saturating_add(self.cached).saturating_add(self.written),
            cached: self.cached,
            cache_write: self.written,
            output: self.output,
            reasoning: self.reasoning,
        }
    }
}

/// Arguments that came with the start: an object, or the text of one. A stream begins with an empty one.
fn arguments(raw: &RawValue) -> String {
    match raw.get() {
        text if text.starts_with('"') => serde_json::from_str(text).unwrap_or_default(),
        text if text.split_whitespace().collect::<String>() == "{}" || text == "null" => String::new(),
        text => text.to_owned(),
    }
}
