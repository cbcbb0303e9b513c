//! Replies, streamed or whole, to deltas.
//!
//! Deltas are what a listener hears meanwhile; the answer is told at the end, as a whole. Servers
//! leave out events, numbers and fields, and each text is told up to four times: in deltas, in the
//! event that closes it, in its item and in the response. Any one of them is enough.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::item::{Item, Kind, Sort, Written, args};
use crate::model::{Stop, Usage};
use crate::wire::json::{Raw, count, plain, read, word};
use crate::wire::{AnswerPart, Decoder, Delta, MOST_PARTS, fault, too_many};

#[derive(Default)]
pub(super) struct Reader {
    /// In order of appearance. The place of a call is its slot.
    items: Vec<Item>,
    /// The number of the last event, where events are numbered.
    last: u64,
    /// Reasoning was passed on.
    thought: bool,
    /// The message that text was last passed on of.
    spoke: Option<usize>,
    ended: bool,
    skipped: usize,
}

#[derive(Default, Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    sequence_number: Raw<'a>,
    #[serde(borrow, default)]
    item_id: Raw<'a>,
    #[serde(borrow, default)]
    output_index: Raw<'a>,
    #[serde(borrow, default)]
    content_index: Raw<'a>,
    #[serde(borrow, default)]
    summary_index: Raw<'a>,
    #[serde(borrow, default)]
    delta: Raw<'a>,
    #[serde(borrow, default)]
    text: Raw<'a>,
    #[serde(borrow, default)]
    refusal: Raw<'a>,
    #[serde(borrow, default)]
    arguments: Raw<'a>,
    #[serde(borrow, default)]
    input: Raw<'a>,
    #[serde(borrow, default)]
    item: Raw<'a>,
    #[serde(borrow, default)]
    response: Raw<'a>,
    #[serde(borrow, default)]
    error: Raw<'a>,
    /// `response` where the event is the response itself.
    #[serde(borrow, default)]
    object: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    status: Raw<'a>,
    #[serde(borrow, default)]
    output: Raw<'a>,
    #[serde(borrow, default)]
    usage: Raw<'a>,
    #[serde(borrow, default)]
    error: Raw<'a>,
    #[serde(borrow, default)]
    incomplete_details: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Details<'a> {
    #[serde(borrow, default)]
    reason: Raw<'a>,
}

/// How a response stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Completed,
    Incomplete,
    Failed,
    Cancelled,
}

/// Which item an event is about, as far as it says.
struct At {
    id: Option<String>,
    index: Option<u64>,
}

/// Between what was said in several messages.
const GAP: &str = "\n\n";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// The item begins. What stands in it comes again.
    Added,
    Done,
}

impl Decoder for Reader {
    fn event(&mut self, name: &str, data: &str) -> Vec<Delta> {
        let data = data.trim();
        let mut out = Vec::new();
        if self.ended || data.is_empty() {
            return out;
        }
        if data == "[DONE]" {
            self.done(&mut out);
            return out;
        }
        match serde_json::from_str::<Event>(data) {
            Ok(event) => self.read(name, &event, data, &mut out),
            Err(_) => self.skipped += 1,
        }
        if self.items.len() > MOST_PARTS {
            out.push(too_many());
        }
        out
    }

    fn body(&mut self, body: &Value) -> Vec<Delta> {
        let mut out = Vec::new();
        let said = fault::find(body);
        match (said, to_raw_value(body)) {
            (Some(said), _) => out.push(error(said)),
            (None, Ok(raw)) => self.end(Some(&raw), None, &mut out),
            (None, Err(_)) => self.skipped += 1,
        }
        out
    }

    fn skipped(&self) -> usize {
        self.skipped
    }
}

impl Reader {
    fn read(&mut self, name: &str, event: &Event, data: &str, out: &mut Vec<Delta>) {
        let number = read::<u64>(event.sequence_number).unwrap_or(0);
        if number > 0 && number == self.last {
            return; // the same again
        }
        self.last = number;
        let kind = event.kind.map_or(name, plain);
        let index = read(event.content_index).unwrap_or(0);
        let summary = read(event.summary_index).unwrap_or(0);
        match kind {
            "response.output_text.delta" => self.more(event, Sort::Text, index, out),
            "response.refusal.delta" => self.more(event, Sort::Refusal, index, out),
            "response.reasoning_summary_text.delta" => self.more(event, Sort::Summary, summary, out),
            "response.reasoning_text.delta" | "response.reasoning.delta" => {
                self.more(event, Sort::Thought, index, out);
            }
            "response.function_call_arguments.delta" => self.more(event, Sort::Args, 0, out),
            "response.custom_tool_call_input.delta" => self.more(event, Sort::Input, 0, out),
            "response.output_text.done" => self.settle(event, (Sort::Text, index, word(event.text)), out),
            "response.refusal.done" => self.settle(event, (Sort::Refusal, index, word(event.refusal)), out),
            "response.reasoning_summary_text.done" => {
                self.settle(event, (Sort::Summary, summary, word(event.text)), out);
            }
            "response.reasoning_text.done" | "response.reasoning.done" => {
                self.settle(event, (Sort::Thought, index, word(event.text)), out);
            }
            "response.function_call_arguments.done" => {
                self.settle(event, (Sort::Args, 0, args(event.arguments)), out);
            }
            "response.custom_tool_call_input.done" => {
                self.settle(event, (Sort::Input, 0, word(event.input)), out);
            }
            "response.output_item.added" => self.item(event, Told::Added, out),
            "response.output_item.done" => self.item(event, Told::Done, out),
            "response.completed" | "response.done" => self.end(event.response, Some(Status::Completed), out),
            "response.incomplete" => self.end(event.response, Some(Status::Incomplete), out),
            "response.failed" => self.end(event.response, Some(Status::Failed), out),
            "response.cancelled" => self.end(event.response, Some(Status::Cancelled), out),
            _ => self.other(name, kind, event, data, out),
        }
    }

    /// Errors in any shape; whole responses without an event around them; the rest is not for us.
    fn other(&mut self, name: &str, kind: &str, event: &Event, data: &str, out: &mut Vec<Delta>) {
        let typed = kind.starts_with("response.");
        if kind == "error" || name == "error" || (event.error.is_some() && !typed) {
            let value: Value = serde_json::from_str(data).unwrap_or_default();
            out.push(error(fault::find(&value).unwrap_or_else(|| fault::read(&value))));
        } else if read::<String>(event.object).as_deref() == Some("response") {
            let raw: Result<&RawValue, _> = serde_json::from_str(data);
            self.end(raw.ok(), None, out);
        } else if kind.is_empty() {
            self.skipped += 1;
        }
    }

    /// More of a text.
    fn more(&mut self, event: &Event, sort: Sort, number: u64, out: &mut Vec<Delta>) {
        let Some(text) = word(event.delta) else { return };
        let slot = self.slot(event, sort);
        let item = &mut self.items[slot];
        if item.done {
            return;
        }
        if let Some(first) = item.add(sort, number, &text) {
            self.say(slot, sort, (text, first), out);
        }
    }

    /// The whole of a text.
    fn settle(&mut self, event: &Event, told: (Sort, u64, Option<String>), out: &mut Vec<Delta>) {
        let (sort, number, Some(text)) = told else { return };
        let slot = self.slot(event, sort);
        if let Some(rest) = self.items[slot].settle(sort, number, text) {
            self.say(slot, sort, rest, out);
        }
    }

    /// Passes a text on: it, and whether it opens its piece.
    fn say(&mut self, slot: usize, sort: Sort, (mut text, first): (String, bool), out: &mut Vec<Delta>) {
        match sort {
            Sort::Text => {
                if self.spoke.replace(slot).is_some_and(|before| before != slot) {
                    text.insert_str(0, GAP);
                }
                out.push(Delta::Text(text));
            }
            Sort::Refusal => out.push(Delta::Refusal(text)),
            Sort::Summary | Sort::Thought => {
                if first && std::mem::replace(&mut self.thought, true) {
                    text.insert(0, '\n');
                }
                let field = if sort == Sort::Summary { "summary" } else { "content" };
                out.push(Delta::Thinking { text, field: Some(field.into()), seal: None });
            }
            Sort::Args => {
                self.open(slot, out);
                out.push(Delta::CallArgs { slot, text });
            }
            // It becomes JSON when it is whole.
            Sort::Input => {}
        }
    }

    fn open(&mut self, slot: usize, out: &mut Vec<Delta>) {
        let item = &mut self.items[slot];
        if !std::mem::replace(&mut item.opened, true) {
            out.push(Delta::CallStart { slot, id: item.call_id.clone(), name: item.name.clone() });
        }
    }

    /// The item that a text belongs to; a new one where it was not announced.
    fn slot(&mut self, event: &Event, sort: Sort) -> usize {
        let at = At { id: word(event.item_id), index: read(event.output_index) };
        let same = |item: &Item| item.kind == sort.kind();
        let last =
            |fits: &dyn Fn(&Item) -> bool| self.items.iter().rposition(|item| same(item) && fits(item));
        let by_id = at.id.as_ref().and_then(|id| last(&|item| item.id.as_ref() == Some(id)));
        // Some gateways write a new id into each event and keep only the number.
        let by_index = || at.index.and_then(|index| last(&|item| !item.done && item.index == Some(index)));
        let by_order = || {
            let silent = at.id.is_none() && at.index.is_none();
            silent.then(|| last(&|item| !item.done)).flatten()
        };
        by_id.or_else(by_index).or_else(by_order).unwrap_or_else(|| {
            self.items.push(Item::new(sort.kind(), at.id, at.index));
            self.items.len() - 1
        })
    }

    fn item(&mut self, event: &Event, told: Told, out: &mut Vec<Delta>) {
        let Some(written) = read::<Written>(event.item) else { return };
        self.written(&written, read(event.output_index), told, out);
    }

    fn written(&mut self, written: &Written, index: Option<u64>, told: Told, out: &mut Vec<Delta>) {
        let at = At { id: written.id(), index };
        let slot = self.find(written, &at, told).unwrap_or_else(|| {
            self.items.push(Item::new(written.kind(), at.id, at.index));
            self.items.len() - 1
        });
        let item = &mut self.items[slot];
        if item.done && told == Told::Added {
            return;
        }
        item.name(written);
        item.index = item.index.or(at.index);
        if item.is_call() {
            self.open(slot, out);
        }
        if told == Told::Done {
            for (sort, number, text) in written.texts() {
                if let Some(rest) = self.items[slot].settle(sort, number, text) {
                    self.say(slot, sort, rest, out);
                }
            }
            let item = &mut self.items[slot];
            if !std::mem::replace(&mut item.done, true) && item.kind == Kind::Free {
                out.push(Delta::CallArgs { slot, text: item.args() });
            }
        }
    }

    /// The item that is written here, if it is known.
    fn find(&self, written: &Written, at: &At, told: Told) -> Option<usize> {
        let last = |fits: &dyn Fn(&Item) -> bool| self.items.iter().rposition(fits);
        let call_id = written.call_id();
        let by_id = at.id.as_ref().and_then(|id| last(&|item| item.id.as_ref() == Some(id)));
        let by_call = || call_id.as_ref().and_then(|id| last(&|item| item.call_id.as_ref() == Some(id)));
        // What opens under a new id is a new item even if the number was used before.
        let open = |item: &Item| {
            let kind = written.kind();
            let named = item.id.is_some() && at.id.is_some() && told == Told::Added;
            let other = item.call_id.is_some() && call_id.is_some();
            item.kind == kind && !item.done && !named && !other
        };
        let by_index = || at.index.and_then(|index| last(&|item| item.index == Some(index) && open(item)));
        let by_order = || {
            let silent = at.id.is_none() && at.index.is_none() && told == Told::Done;
            silent.then(|| last(&open)).flatten()
        };
        by_id.or_else(by_call).or_else(by_index).or_else(by_order)
    }

    /// The stream's end mark where no event said how the response stands.
    fn done(&mut self, out: &mut Vec<Delta>) {
        if self.items.iter().any(|item| item.is_call() && !item.done) {
            let message = "the stream ended in the middle of a call".to_owned();
            out.push(Delta::Error { message, kind: None });
        } else {
            out.push(Delta::Whole(parts(&self.known())));
            out.push(Delta::End);
        }
        self.ended = true;
    }

    /// `by` is what the event says of the response; the response itself knows better.
    fn end(&mut self, raw: Raw, by: Option<Status>, out: &mut Vec<Delta>) {
        let response: Response = read(raw).unwrap_or_default();
        let written: Vec<Raw> = read(response.output).unwrap_or_default();
        let said = read::<String>(response.status);
        let status = said.as_deref().and_then(status).or(by);
        // One that names no state has ended if it says anything.
        let status = status.or_else(|| (said.is_none() && !written.is_empty()).then_some(Status::Completed));
        let Some(status) = status else { return };
        self.ended = true;
        if matches!(status, Status::Failed | Status::Cancelled) {
            return out.push(failed(&response, status));
        }
        if written.len() > MOST_PARTS {
            return out.push(too_many());
        }
        let written: Vec<Written> = written.into_iter().filter_map(read).collect();
        if self.items.iter().all(Item::is_bare) {
            for item in &written {
                self.written(item, None, Told::Done, out);
            }
        }
        let told: Vec<Item> = written.iter().map(Item::whole).collect();
        let told: Vec<&Item> = told.iter().collect();
        let known = self.known();
        let seen = known.iter().filter(|item| item.done).filter_map(|item| item.part()).count();
        let whole = if told.is_empty() || parts(&told).len() < seen { known } else { told };
        let stop = stop(&whole, status, &response);
        out.push(Delta::Whole(parts(&whole)));
        out.push(Delta::Stop(stop));
        out.extend(usage(response.usage).map(Delta::Usage));
        out.push(Delta::End);
    }

    /// The items that events told of, in their order. Where items of a kind are told as a whole,
    /// texts of that kind that found no item are not one.
    fn known(&self) -> Vec<&Item> {
        let told = |kind: Kind| self.items.iter().any(|item| item.done && item.kind == kind);
        let mut items: Vec<&Item> = self.items.iter().filter(|item| item.done || !told(item.kind)).collect();
        if items.iter().all(|item| item.index.is_some()) {
            items.sort_by_key(|item| item.index);
        }
        items
    }
}

/// What was said in several messages stays apart when it is read as one text.
fn parts(items: &[&Item]) -> Vec<AnswerPart> {
    let mut parts: Vec<AnswerPart> = items.iter().filter_map(|item| item.part()).collect();
    let texts = parts.iter_mut().filter_map(|part| match part {
        AnswerPart::Text(text) => Some(text),
        AnswerPart::Thinking { .. } | AnswerPart::Call { .. } => None,
    });
    texts.skip(1).for_each(|text| text.insert_str(0, GAP));
    parts
}

fn status(word: &str) -> Option<Status> {
    match word {
        "completed" => Some(Status::Completed),
        "incomplete" => Some(Status::Incomplete),
        "failed" => Some(Status::Failed),
        "cancelled" => Some(Status::Cancelled),
        _ => None,
    }
}

fn stop(items: &[&Item], status: Status, response: &Response) -> Stop {
    if status == Status::Incomplete {
        let details: Details = read(response.incomplete_details).unwrap_or_default();
        return match word(details.reason).as_deref() {
            Some("max_output_tokens" | "max_tokens" | "length") => Stop::Length,
            Some("content_filter") => Stop::Refused,
            reason => Stop::Other(reason.unwrap_or("incomplete").to_owned()),
        };
    }
    // llama.cpp calls a response complete that met the limit in the middle of a call.
    let half = |args: &str| serde_json::from_str::<IgnoredAny>(args).is_err_and(|error| error.is_eof());
    let cut =
        |item: &&Item| item.cut || Some(item.args()).is_some_and(|args| !args.is_empty() && half(&args));
    if items.iter().filter(|item| item.is_call()).any(cut) {
        Stop::Length
    } else if items.iter().any(|item| item.refused()) {
        Stop::Refused
    } else if items.iter().any(|item| item.is_call()) {
        Stop::Calls
    } else {
        Stop::Done
    }
}

fn failed(response: &Response, status: Status) -> Delta {
    let said = read::<Value>(response.error).map(|value| fault::read(&value)).unwrap_or_default();
    let message = match (said.message.is_empty(), status) {
        (false, _) => said.message,
        (true, Status::Cancelled) => "the server cancelled the response".to_owned(),
        (true, Status::Failed | Status::Completed | Status::Incomplete) => {
            "the server failed in the middle of the response".to_owned()
        }
    };
    Delta::Error { message, kind: said.kind }
}

fn error(said: fault::Said) -> Delta {
    // The type of the event itself is not the kind of the error.
    let kind = said.kind.filter(|kind| kind != "error");
    Delta::Error { message: said.message, kind }
}

fn usage(raw: Raw) -> Option<Usage> {
    let value: Value = read(raw)?;
    let count = |path: &str| value.pointer(path).and_then(count).unwrap_or(0);
    Some(Usage {
        input: count("/input_tokens"),
        cached: count("/input_tokens_details/cached_tokens"),
        cache_write: count("/input_tokens_details/cache_write_tokens"),
        output: count("/output_tokens"),
        reasoning: count("/output_tokens_details/reasoning_tokens"),
    })
}
