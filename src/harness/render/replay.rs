//! Replaying a reply and its results under the present harness, whoever made it.
//!
//! On the same surface it goes back as it was. On another, its calls are said in this surface's
//! words, if all of them can be; otherwise they leave the assistant's mouth and the person tells
//! what was done. Told in the assistant's own voice they would teach it to write calls as text, and
//! some of each within one reply would break the pairing of calls and answers.
//!
//! Where this surface's own calls are text, they go back as text in one form, in their old place. Where
//! they are one JSON object, their answers are one message.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::harness::bind::{self, mend};
use crate::harness::dialect::{fenced, file, json as object, text_of};
use crate::harness::kit::{Kit, bad_call_name};
use crate::harness::manifest::{BadCall, DialectKind, Offer, Trim};
use crate::harness::{Saying, View};
use crate::model::{Action, CallId, Part, Reply, State, Stop, ToolCall, ToolResult, WireKind, WriteMode};
use crate::wire::prompt::{Piece, Role};

use super::carry::Fate;
use super::thread::Thread;
use super::{is_own, pieces_of_parts};

pub(super) struct Replay<'a> {
    kit: &'a Kit,
    view: &'a View<'a>,
    /// Call ids that are taken.
    ids: HashSet<String>,
    seen_thinking: bool,
}

/// A call that is to be sent, in this surface's words.
struct Said<'a> {
    call: &'a ToolCall,
    name: String,
    args: String,
    /// The call as text; None where it goes as a call of the wire.
    text: Option<String>,
    result: Option<&'a ToolResult>,
}

/// Whether a reply's calls are sent as the model wrote them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    AsWritten,
    Other,
}

/// A call with its result.
type Pair<'a> = (&'a ToolCall, Option<&'a ToolResult>);

impl<'a> Replay<'a> {
    pub fn new(kit: &'a Kit, view: &'a View<'a>) -> Self {
        Self { kit, view, ids: HashSet::new(), seen_thinking: false }
    }

    /// Adds the reply and the answers to its calls, and says what became of it; None: it is left out.
    /// `results` are in the order of the calls.
    pub fn reply(
        &mut self,
        thread: &mut Thread,
        reply: &Reply,
        results: &[Option<&ToolResult>],
    ) -> Option<Fate> {
        if reply.stop == Stop::Broken {
            return None;
        }
        let pairs: Vec<Pair<'_>> = reply
            .calls()
            .zip(results.iter().copied())
            .filter(|(_, result)| result.is_some() || reply.stop != Stop::Interrupted)
            .collect();
        let kind = self.kit.manifest.dialect.kind;
        let same = reply.origin.surface == self.kit.surface;
        if same && kind != DialectKind::Calls {
            self.text_as_it_was(thread, reply, &pairs);
            return Some(Fate::Kept);
        }
        let words = if same || pairs.is_empty() { Words::AsWritten } else { Words::Other };
        let spoken = if words == Words::AsWritten { Fate::Kept } else { Fate::Respoken };
        Some(match (self.said(same, &pairs), kind) {
            (Some(said), DialectKind::Calls | DialectKind::External) => {
                self.as_calls(thread, reply, (words, said));
                spoken
            }
            (Some(said), DialectKind::Fenced) => {
                self.as_blocks(thread, reply, &said);
                spoken
            }
            (Some(said), DialectKind::Json) => match self.as_object(thread, reply, (&said, &pairs)) {
                Some(()) => Fate::Respoken,
                None => self.told(thread, reply, &pairs),
            },
            (None, _) => self.told(thread, reply, &pairs),
        })
    }

    /// The calls in this surface's words. None when one of them has none.
    fn said<'p>(&self, same: bool, pairs: &[Pair<'p>]) -> Option<Vec<Said<'p>>> {
        let one = |&(call, result): &Pair<'p>| {
            let (name, args) = if same {
                self.as_made(call)
            } else {
                let same = bind::unbind(self.kit, &call.action);
                let (name, args) = same.or_else(|| bind::unbind(self.kit, &whole(&call.action, result)?))?;
                (name, Value::Object(args).to_string())
            };
            let text = self.as_text(call, &name, &args);
            Some(Said { call, name, args, text, result })
        };
        pairs.iter().map(one).collect()
    }

    /// Name and arguments of a call of this surface, also one that could not be understood.
    fn as_made(&self, call: &ToolCall) -> (String, String) {
        let own = || (call.name.clone(), sendable(&call.args));
        let Action::Unknown { why, .. } = &call.action else { return own() };
        let messages = &self.kit.manifest.messages;
        let (key, bad) = if bind::resolve(self.kit, &call.name).is_none() {
            ("unknown_tool", &messages.unknown_tool)
        } else if mend::object(&call.args).is_err() {
            ("bad_args", &messages.bad_args)
        } else {
            return own();
        };
        let Some(BadCall { name, .. }) = bad else { return own() };
        let values =
            self.kit.bare_values().with("name", &call.name).with("args", &call.args).with("why", why);
        let args = self.kit.render(&bad_call_name(key), &values).unwrap_or_default();
        match serde_json::from_str::<Map<String, Value>>(&args) {
            Ok(args) => (name.clone().unwrap_or_else(|| call.name.clone()), Value::Object(args).to_string()),
            Err(_) => own(),
        }
    }

    /// The call as this surface writes it in a text, where it does.
    fn as_text(&self, call: &ToolCall, name: &str, args: &str) -> Option<String> {
        let off_wire = bind::resolve(self.kit, name).is_some_and(|(_, tool)| !tool.on_wire());
        match &call.action {
            Action::Rewrite { path, text } | Action::Write { path, text, .. } if off_wire => {
                Some(file::say(path, text))
            }
            _ if off_wire || self.kit.manifest.dialect.offer == Offer::Prompt => {
                let args: Map<String, Value> = serde_json::from_str(args).unwrap_or_default();
                let block = || self.block(name, &args).filter(|_| self.is_bare(name));
                Some(block().unwrap_or_else(|| json!({ "name": name, "arguments": args }).to_string()))
            }
            _ => None,
        }
    }

    fn is_bare(&self, name: &str) -> bool {
        self.kit.manifest.dialect.bare.as_deref() == Some(name)
    }

    fn block(&self, name: &str, args: &Map<String, Value>) -> Option<String> {
        let (name, tool) = self.kit.tool(name)?;
        fenced::say(self.kit, name, tool, args)
    }

    fn text_as_it_was(&mut self, thread: &mut Thread, reply: &Reply, pairs: &[Pair<'_>]) {
        let mut pieces = self.thinking(reply, pairs.len(), Words::AsWritten);
        let text = text_of(reply);
        let framed = self.kit.manifest.dialect.kind == DialectKind::Json && !pairs.is_empty();
        let answers = framed.then(|| self.framed(pairs, &object::beside(self.kit, &text)));
        pieces.extend(text_piece(text));
        push_reply(thread, pieces);
        match answers {
            Some(answers) => thread.push(Role::User, answers),
            None => pairs.iter().for_each(|(_, result)| thread.push(Role::User, self.answer(*result))),
        }
    }

    /// All calls of the reply in the object that says them. None: no object does.
    fn as_object(
        &mut self,
        thread: &mut Thread,
        reply: &Reply,
        (said, pairs): (&[Said<'_>], &[Pair<'_>]),
    ) -> Option<()> {
        let text = text_with(reply, &[]);
        let args = |args: &str| serde_json::from_str(args).unwrap_or_default();
        let calls: Vec<_> = said.iter().map(|said| (said.name.clone(), args(&said.args))).collect();
        let whole = if calls.is_empty() && text.trim().is_empty() {
            Some(String::new())
        } else {
            object::say(self.kit, &text, &calls)
        };
        let whole = whole?;
        let mut pieces = self.thinking(reply, said.len(), Words::Other);
        pieces.extend(text_piece(whole));
        push_reply(thread, pieces);
        if !pairs.is_empty() {
            thread.push(Role::User, self.framed(pairs, &[]));
        }
        Some(())
    }

    /// All answers in one message; `around`: where the reply had other text than the object.
    fn framed(&self, pairs: &[Pair<'_>], around: &[&str]) -> Vec<Piece> {
        let (mut texts, mut others) = (Vec::new(), Vec::new());
        for piece in pairs.iter().flat_map(|(_, result)| self.answer(*result)) {
            match piece {
                Piece::Text(text) => texts.push(text),
                other => others.push(other),
            }
        }
        let values = self.kit.bare_values().with("text", texts.join("\n\n")).with("around", around);
        let own = self.kit.manifest.dialect.frame.as_ref();
        let text = own.and_then(|file| self.kit.render(file, &values).ok());
        let text = text.unwrap_or_else(|| self.kit.common("observation", &values));
        [Piece::Text(text)].into_iter().chain(others).collect()
    }

    fn as_calls(&mut self, thread: &mut Thread, reply: &Reply, (words, said): (Words, Vec<Said<'_>>)) {
        let thinking = self.thinking(reply, said.len(), words);
        let spanned = said.iter().any(|said| said.call.span.is_some() || said.text.is_some());
        let text = text_piece(text_with(reply, &said));
        let (mut calls, mut answers, mut told) = (Vec::new(), Vec::new(), Vec::new());
        for Said { call, name, args, text, result } in said {
            if text.is_some() {
                told.push(self.answer(result));
                continue;
            }
            let id = self.id(reply, call);
            calls.push((&call.id, Piece::Call { id: id.clone(), name: name.clone(), args }));
            let failed = result.is_none_or(|result| result.outcome.state != State::Ok);
            answers.push(Piece::Result { id, name, pieces: self.answer(result), failed });
        }
        if words == Words::AsWritten && is_own(self.view, reply) && !spanned {
            push_reply(thread, in_order(reply, thinking, calls));
        } else {
            let calls = calls.into_iter().map(|(_, call)| call);
            push_reply(thread, thinking.into_iter().chain(text).chain(calls).collect());
        }
        for answer in answers {
            thread.push(Role::Tool, vec![answer]);
        }
        for answer in told {
            thread.push(Role::User, answer);
        }
    }

    /// One command to a reply: several calls become several replies.
    fn as_blocks(&mut self, thread: &mut Thread, reply: &Reply, said: &[Said<'_>]) {
        let mut pieces = self.thinking(reply, said.len(), Words::Other);
        let mut text = text_with(reply, &[]);
        for Said { name, args, result, .. } in said {
            let block = serde_json::from_str(args).ok().and_then(|args| self.block(name, &args));
            text = [text.trim_end(), block.as_deref().unwrap_or_default()].join("\n\n").trim().to_owned();
            pieces.extend(text_piece(std::mem::take(&mut text)));
            push_reply(thread, std::mem::take(&mut pieces));
            thread.push(Role::User, self.answer(*result));
        }
        pieces.extend(text_piece(text));
        push_reply(thread, pieces);
    }

    fn told(&mut self, thread: &mut Thread, reply: &Reply, pairs: &[Pair<'_>]) -> Fate {
        push_reply(thread, text_piece(text_with(reply, &[])).into_iter().collect());
        for (call, result) in pairs {
            let mut pieces = self.answer(*result);
            let shown = match pieces.first_mut() {
                Some(Piece::Text(text)) => std::mem::take(text),
                _ => String::new(),
            };
            let values = self.kit.bare_values();
            let values = values.with("name", &call.name).with("args", &call.args).with("shown", shown);
            let text = Piece::Text(self.kit.common("told", &values));
            if matches!(pieces.first(), Some(Piece::Text(_))) {
                pieces[0] = text;
            } else {
                pieces.insert(0, text);
            }
            thread.push(Role::User, pieces);
        }
        Fate::Told
    }

    /// What the model was told. A call that nobody answered was not run.
    fn answer(&self, result: Option<&ToolResult>) -> Vec<Piece> {
        match result {
            Some(result) => pieces_of_parts(self.kit, self.view, &result.shown),
            None => vec![Piece::Text(self.kit.say(&Saying::NotExecuted))],
        }
    }

    /// The server's own id where it goes back to that server, else ours.
    fn id(&mut self, reply: &Reply, call: &ToolCall) -> String {
        let home = reply.origin.provider == self.view.model.provider;
        let given =
            call.given.as_ref().filter(|id| home && !id.is_empty() && !self.ids.contains(*id)).cloned();
        let mut id = given.unwrap_or_else(|| call.id.0.clone());
        while !self.ids.insert(id.clone()) {
            id.push('x');
        }
        id
    }

    /// The reply's reasoning, where it may be sent: to the model, provider and wire that it came from.
    ///
    /// A signature of the messages API covers the reasoning's text alone, so it holds beside calls in
    /// other words; and while calls wait for their answers, that API wants it there. A sealed item of
    /// the responses API belongs to the item that it was followed by (without that, or with another,
    /// the server refuses the request), so it goes only where its calls are sent as they were written.
    fn thinking(&mut self, reply: &Reply, calls: usize, words: Words) -> Vec<Piece> {
        let thinking = &self.kit.manifest.thinking;
        if thinking.echo == "none" || !is_own(self.view, reply) {
            return Vec::new();
        }
        let named = (thinking.echo != "arrived").then(|| thinking.echo.clone());
        let trimmed = |text: &str| match thinking.trim {
            Trim::None => text.to_owned(),
            Trim::End => text.trim_end().to_owned(),
            Trim::Both => text.trim().to_owned(),
        };
        let mut pieces: Vec<Piece> = Vec::new();
        for part in &reply.parts {
            if let Part::Thinking { text, field, seal } = part {
                if seal.is_some() && words == Words::Other && self.view.wire == WireKind::Responses {
                    continue;
                }
                let field = named.clone().or_else(|| field.clone());
                // A signature covers the text as it is.
                let text = if seal.is_some() { text.clone() } else { trimmed(text) };
                pieces.push(Piece::Thinking { text, field, seal: seal.clone() });
            }
        }
        // Where reasoning is sealed, nothing may be made up in its place.
        let fits = |text: &&str| text.is_empty() || self.view.wire == WireKind::Chat;
        let stands_for_none = thinking.absent.text(calls).filter(|_| pieces.is_empty() && self.seen_thinking);
        if let Some(text) = stands_for_none.filter(fits) {
            pieces.push(Piece::Thinking { text: text.to_owned(), field: named, seal: None });
        }
        self.seen_thinking |= !pieces.is_empty();
        pieces
    }
}

/// The pieces in the order in which the model made them: reasoning stands before what it led to.
/// Reasoning at the end led to nothing, and servers refuse it there.
fn in_order(reply: &Reply, thinking: Vec<Piece>, calls: Vec<(&CallId, Piece)>) -> Vec<Piece> {
    let is_thinking = |part: &Part| matches!(part, Part::Thinking { .. });
    let (mut thinking, mut calls) = (thinking.into_iter(), calls.into_iter().peekable());
    // Only a placeholder can stand for reasoning that is not there.
    let absent = !reply.parts.iter().any(is_thinking);
    let mut pieces: Vec<Piece> = if absent { thinking.by_ref().collect() } else { Vec::new() };
    for part in &reply.parts {
        match part {
            Part::Thinking { .. } => pieces.extend(thinking.next()),
            Part::Text { text } => pieces.extend(text_piece(text.clone())),
            Part::Call(call) => pieces.extend(calls.next_if(|(id, _)| **id == call.id).map(|(_, call)| call)),
            Part::Image(_) => {}
        }
    }
    while matches!(pieces.last(), Some(Piece::Thinking { .. })) {
        pieces.pop();
    }
    pieces
}

/// A reply that says nothing is left out: servers refuse it.
fn push_reply(thread: &mut Thread, pieces: Vec<Piece>) {
    if pieces.iter().any(|piece| !matches!(piece, Piece::Thinking { .. })) {
        thread.push(Role::Assistant, pieces);
    }
}

fn text_piece(text: String) -> Option<Piece> {
    (!text.trim().is_empty()).then_some(Piece::Text(text))
}

/// The reply's text with each of its calls as the text that is said of it, if any, in its old place.
/// Calls that had no place there follow at the end.
fn text_with(reply: &Reply, said: &[Said<'_>]) -> String {
    let text = text_of(reply);
    let form = |call: &ToolCall| said.iter().find(|said| said.call.id == call.id)?.text.as_deref();
    let mut places: Vec<((usize, usize), &str)> =
        reply.calls().filter_map(|call| Some((call.span?, form(call).unwrap_or_default()))).collect();
    let others = reply.calls().filter(|call| call.span.is_none()).filter_map(form);
    if places.is_empty() && said.iter().all(|said| said.text.is_none()) {
        return text;
    }
    places.sort_unstable();
    let (mut out, mut at) = (String::new(), 0);
    for ((from, to), form) in places {
        let between = text.get(at..from).unwrap_or_default();
        out.push_str(between);
        if at < to
            && let Some(words) = text.get(from..to).and_then(object::words)
        {
            out.push_str(&words);
        }
        // Several calls may have one place in common.
        if between.is_empty() && !form.is_empty() && !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(form);
        if !form.is_empty() && text.get(from..to).is_some_and(|old| old.ends_with('\n')) {
            out.push('\n');
        }
        at = at.max(to);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    for form in others {
        out = [out.trim_end(), form].join("\n\n").trim().to_owned();
    }
    out.trim().to_owned()
}

/// A new text for a whole file is what other surfaces call writing it. None for one that was put into
/// the file only in parts: no other call says that.
fn whole(action: &Action, result: Option<&ToolResult>) -> Option<Action> {
    let Action::Rewrite { path, text } = action else { return None };
    let outcome = &result?.outcome;
    let parts = outcome.data["names"].as_array().is_some_and(|names| !names.is_empty());
    let (path, text, mode) = (path.clone(), text.clone(), WriteMode::Replace);
    (outcome.state == State::Ok && !parts).then_some(Action::Write { path, text, mode })
}

/// Arguments as they were, unless a server would choke on them.
fn sendable(args: &str) -> String {
    if serde_json::from_str::<Map<String, Value>>(args).is_ok() {
        return args.to_owned();
    }
    Value::Object(mend::object(args).unwrap_or_default()).to_string()
}
