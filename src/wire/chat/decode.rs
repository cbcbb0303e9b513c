//! Chat replies, streamed or whole, to deltas.
//!
//! Every field may be missing, null or of another type than documented; what cannot be understood
//! is left out, and an event that is no JSON is counted.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::seal::Gathered;
use super::think::Think;
use crate::model::{Stop, Usage};
use crate::wire::json::{Raw, count, is_whole, read, word};
use crate::wire::{Decoder, Delta, MOST_PARTS, fault, too_many};

#[derive(Default)]
pub(super) struct Reader {
    think: Think,
    seals: Gathered,
    calls: Vec<Call>,
    /// The slot that a delta without id and index belongs to.
    current: Option<usize>,
    stopped: bool,
    skipped: usize,
}

/// A call so far. Its place in the list is its slot.
struct Call {
    index: Option<i64>,
    id: Option<String>,
    name: String,
    args: String,
}

#[derive(Default, Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Raw<'a>,
    #[serde(borrow, default)]
    usage: Raw<'a>,
    #[serde(borrow, default)]
    error: Raw<'a>,
    /// Groq puts the usage of a stream in here.
    #[serde(borrow, default)]
    x_groq: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Raw<'a>,
    /// In place of the delta when the reply is whole.
    #[serde(borrow, default)]
    message: Raw<'a>,
    #[serde(borrow, default)]
    finish_reason: Raw<'a>,
    /// Moonshot puts the usage of a stream in here.
    #[serde(borrow, default)]
    usage: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    content: Raw<'a>,
    #[serde(borrow, default)]
    reasoning_content: Raw<'a>,
    #[serde(borrow, default)]
    reasoning: Raw<'a>,
    /// OpenRouter's.
    #[serde(borrow, default)]
    reasoning_details: Raw<'a>,
    #[serde(borrow, default)]
    refusal: Raw<'a>,
    #[serde(borrow, default)]
    tool_calls: Raw<'a>,
    #[serde(borrow, default)]
    function_call: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct CallPiece<'a> {
    #[serde(borrow, default)]
    index: Raw<'a>,
    #[serde(borrow, default)]
    id: Raw<'a>,
    #[serde(borrow, default)]
    function: Raw<'a>,
    /// Google's; it may come after the call, alone.
    #[serde(borrow, default)]
    extra_content: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Raw<'a>,
    #[serde(borrow, default)]
    arguments: Raw<'a>,
}

/// One entry of `tool_calls`, read.
struct Piece {
    index: Option<i64>,
    id: Option<String>,
    name: String,
    args: String,
    /// Not the first of its event: without an index, a name then opens a call.
    later: bool,
}

/// The index that stands for the older `function_call`, which has none.
const LEGACY: i64 = -1;

impl Decoder for Reader {
    fn event(&mut self, name: &str, data: &str) -> Vec<Delta> {
        let data = data.trim();
        let mut out = Vec::new();
        if data == "[DONE]" {
            self.think.finish(&mut out);
            self.seal(&mut out);
            out.push(Delta::End);
        } else if !data.is_empty() {
            self.chunk(name, data, &mut out);
        }
        if self.calls.len() > MOST_PARTS {
            out.push(too_many());
        }
        out
    }

    fn body(&mut self, body: &Value) -> Vec<Delta> {
        let mut out = Vec::new();
        self.chunk("", &body.to_string(), &mut out);
        if !self.stopped {
            // The whole body is here, so nothing is missing but the reason.
            self.think.finish(&mut out);
            self.seal(&mut out);
        }
        out.push(Delta::End);
        out
    }

    fn skipped(&self) -> usize {
        self.skipped
    }
}

impl Reader {
    fn chunk(&mut self, event: &str, data: &str, out: &mut Vec<Delta>) {
        let Ok(chunk) = serde_json::from_str::<Chunk>(data) else {
            self.skipped += 1;
            return;
        };
        if event == "error" || chunk.error.is_some() || chunk.choices.is_none() {
            let value: Value = serde_json::from_str(data).unwrap_or_default();
            let said = fault::find(&value).or_else(|| (event == "error").then(|| fault::read(&value)));
            if let Some(said) = said {
                out.push(Delta::Error { message: said.message, kind: said.kind });
            }
        }
        // More than one choice is never asked for.
        let choices: Vec<Choice> = read(chunk.choices).unwrap_or_default();
        let choice = choices.into_iter().next().unwrap_or_default();
        if let Some(said) = read::<Said>(choice.delta).or_else(|| read(choice.message)) {
            self.said(&said, out);
        }
        if let Some(reason) = word(choice.finish_reason) {
            self.think.finish(out);
            self.seal(out);
            self.stopped = true;
            out.push(stop(reason));
        }
        let groq = || read::<Chunk>(chunk.x_groq).and_then(|inner| usage(inner.usage));
        if let Some(usage) = usage(chunk.usage).or_else(|| usage(choice.usage)).or_else(groq) {
            out.push(Delta::Usage(usage));
        }
    }

    fn seal(&mut self, out: &mut Vec<Delta>) {
        if let Some(seal) = self.seals.take() {
            out.push(Delta::Thinking { text: String::new(), field: None, seal: Some(seal) });
        }
    }

    fn said(&mut self, said: &Said, out: &mut Vec<Delta>) {
        for (field, value) in [("reasoning_content", said.reasoning_content), ("reasoning", said.reasoning)] {
            let Some(text) = word(value) else { continue };
            self.think.give_up(out);
            out.push(Delta::Thinking { text, field: Some(field.to_owned()), seal: None });
            break; // both names carry the same text where a server sends both
        }
        self.seals.details(read(said.reasoning_details).unwrap_or_default());
        self.content(said.content, out);
        if let Some(text) = word(said.refusal) {
            self.think.give_up(out);
            out.push(Delta::Refusal(text));
        }
        let pieces: Vec<Raw> = read(said.tool_calls).unwrap_or_default();
        for (place, raw) in pieces.into_iter().enumerate() {
            let Some(piece) = read::<CallPiece>(raw) else { continue };
            let function = read::<Function>(piece.function).unwrap_or_default();
            let id = word(piece.id);
            let (name, args) = function.parts();
            let extra = read::<Value>(piece.extra_content);
            let alone = extra.is_some() && name.is_empty() && args.is_empty();
            let piece = Piece { index: read(piece.index), id, name, args, later: place > 0 };
            let slot = match alone {
                true => self.find(&piece).or(self.current),
                false => Some(self.call(piece, out)),
            };
            if let (Some(slot), Some(extra)) = (slot, extra) {
                self.seals.extra(slot, extra);
            }
        }
        if let Some(function) = read::<Function>(said.function_call) {
            let (name, args) = function.parts();
            self.call(Piece { index: Some(LEGACY), id: None, name, args, later: false }, out);
        }
    }

    /// A string, or (Mistral) a list of parts that are text or reasoning.
    fn content(&mut self, content: Raw, out: &mut Vec<Delta>) {
        let Some(raw) = content else { return };
        if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
            return self.think.text(text, out);
        }
        for part in read::<Vec<Value>>(content).unwrap_or_default() {
            if let Some(text) = part["text"].as_str() {
                self.think.text(text.to_owned(), out);
            }
            let thoughts = part["thinking"].as_array().cloned().unwrap_or_default();
            let text: String = thoughts.iter().filter_map(|t| t["text"].as_str()).collect();
            if !text.is_empty() {
                self.think.give_up(out);
                out.push(Delta::Thinking { text, field: None, seal: None });
            }
        }
    }

    /// Takes a piece and says which slot it belongs to.
    fn call(&mut self, piece: Piece, out: &mut Vec<Delta>) -> usize {
        self.think.give_up(out);
        let slot = self.find(&piece).unwrap_or_else(|| {
            let call = Call { index: piece.index, id: None, name: String::new(), args: String::new() };
            self.calls.push(call);
            self.calls.len() - 1
        });
        self.current = Some(slot);
        let call = &mut self.calls[slot];
        let opens = call.id.is_none() && call.name.is_empty() && call.args.is_empty();
        // A name that is the same again is repeated, not continued.
        let name = if piece.name == call.name { String::new() } else { piece.name };
        let id = piece.id.filter(|id| call.id.as_ref() != Some(id));
        if opens || !name.is_empty() || id.is_some() {
            call.name.push_str(&name);
            call.id = id.clone().or(call.id.take());
            out.push(Delta::CallStart { slot, id, name });
        }
        if !piece.args.is_empty() {
            call.args.push_str(&piece.args);
            out.push(Delta::CallArgs { slot, text: piece.args });
        }
        slot
    }

    /// The slot that a piece goes on with; None when it opens a call.
    fn find(&self, piece: &Piece) -> Option<usize> {
        let last = |fits: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(fits);
        let slot = match (&piece.id, piece.index) {
            (Some(id), Some(index)) => {
                // A new id under a used index is a new call; an id may also come late.
                let same = |c: &Call| c.index == Some(index) && c.id.as_ref().is_none_or(|known| known == id);
                last(&same).or_else(|| {
                    let moved = |c: &Call| c.id.as_ref() == Some(id) && piece.name.is_empty();
                    last(&moved)
                })
            }
            (Some(id), None) => last(&|c| c.id.as_ref() == Some(id)),
            // Some number only what comes after the opening (Moonshot): by the order of the calls.
            (None, Some(index)) => last(&|c| c.index == Some(index)).or_else(|| {
                let slot = usize::try_from(index).ok()?;
                self.calls.get(slot).filter(|call| call.index.is_none()).map(|_| slot)
            }),
            (None, None) if piece.later && !piece.name.is_empty() => None,
            (None, None) => self.current,
        }?;
        // Servers that number every call 0, or none, open the next one by a name after whole arguments.
        let certain = piece.id.is_some() && piece.index.is_some();
        let named = !piece.name.is_empty() && !piece.args.is_empty();
        let next = !certain && named && is_whole(&self.calls[slot].args);
        (!next).then_some(slot)
    }
}

impl Function<'_> {
    /// Name and arguments; arguments that are an object instead of a string count as its text.
    fn parts(&self) -> (String, String) {
        let args = match self.arguments.map(RawValue::get) {
            Some(text) if text.starts_with('"') => serde_json::from_str(text).unwrap_or_default(),
            Some(text) => text.to_owned(),
            None => String::new(),
        };
        (read(self.name).unwrap_or_default(), args)
    }
}

fn stop(reason: String) -> Delta {
    Delta::Stop(match reason.as_str() {
        "stop" | "eos" | "end_turn" | "end" => Stop::Done,
        "tool_calls" | "function_call" => Stop::Calls,
        "length" | "max_tokens" | "model_length" | "model_context_window_exceeded" => Stop::Length,
        "content_filter" | "sensitive" => Stop::Refused,
        // The server failed in the middle of the reply: OpenRouter and Mistral, Z.AI, DeepSeek.
        "error" | "network_error" | "insufficient_system_resource" => {
            let message = "the server ended the reply with an error".to_owned();
            return Delta::Error { message, kind: Some("server_error".into()) };
        }
        _ => Stop::Other(reason),
    })
}

fn usage(raw: Raw) -> Option<Usage> {
    let value: Value = read(raw)?;
    let count = |path: &str| value.pointer(path).and_then(count);
    let first = |paths: &[&str]| paths.iter().find_map(|path| count(path)).unwrap_or(0);
    let (input, output) = (first(&["/prompt_tokens"]), first(&["/completion_tokens"]));
    if input == 0 && output == 0 {
        // Sent along before anything was counted.
        return None;
    }
    let reasoning = first(&["/completion_tokens_details/reasoning_tokens", "/reasoning_tokens"]);
    // xAI counts reasoning beside the output; the total tells.
    let both = input.saturating_add(output);
    let apart = reasoning > 0 && count("/total_tokens") == Some(both.saturating_add(reasoning));
    let cached =
        first(&["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens", "/cached_tokens"]);
    // Google tells of it in the total alone.
    let untold = count("/total_tokens").unwrap_or(0).saturating_sub(both);
    let untold = if reasoning == 0 && untold != cached { untold } else { 0 };
    Some(Usage {
        input,
        cached,
        cache_write: first(&["/prompt_tokens_details/cache_write_tokens"]),
        output: output.saturating_add(if apart { reasoning } else { untold }),
        reasoning: reasoning.saturating_add(untold),
    })
}
