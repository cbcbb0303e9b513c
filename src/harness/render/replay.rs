//! Replaying a reply and its results under the present harness, whoever made it.
//!
//! On the same surface it goes back as it was. On another, its calls are said in this surface's
//! words, if all of them can be; otherwise they leave the assistant's mouth and the person tells
//! what was done. Told in the assistant's own voice they would teach it to write calls as text, and
//! some of each within one reply would break the pairing of calls and answers.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::harness::bind::{self, mend};
use crate::harness::dialect::{fenced, text_of};
use crate::harness::kit::Kit;
use crate::harness::manifest::{Absent, DialectKind, Trim};
use crate::harness::{Saying, View};
use crate::model::{Part, Reply, State, Stop, ToolCall, ToolResult};
use crate::wire::prompt::{Piece, Role};

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
    result: Option<&'a ToolResult>,
}

/// A call with its result.
type Pair<'a> = (&'a ToolCall, Option<&'a ToolResult>);

impl<'a> Replay<'a> {
    pub fn new(kit: &'a Kit, view: &'a View<'a>) -> Self {
        Self { kit, view, ids: HashSet::new(), seen_thinking: false }
    }

    /// Adds the reply and the answers to its calls. `results` are in the order of the calls.
    pub fn reply(&mut self, thread: &mut Thread, reply: &Reply, results: &[Option<&ToolResult>]) {
        if reply.stop == Stop::Broken {
            return;
        }
        let calls = reply.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text { .. } | Part::Thinking { .. } | Part::Image(_) => None,
        });
        let pairs: Vec<Pair<'_>> = calls
            .zip(results.iter().copied())
            .filter(|(_, result)| result.is_some() || reply.stop != Stop::Interrupted)
            .collect();
        let fenced = self.kit.manifest.dialect.kind == DialectKind::Fenced;
        let same = reply.origin.surface == self.kit.surface;
        if fenced && same {
            return self.text_as_it_was(thread, reply, &pairs);
        }
        match self.said(same, &pairs) {
            Some(said) if fenced => self.as_blocks(thread, reply, &said),
            Some(said) => self.as_calls(thread, reply, said),
            None => self.told(thread, reply, &pairs),
        }
    }

    /// The calls in this surface's words. None when one of them has none.
    fn said<'p>(&self, same: bool, pairs: &[Pair<'p>]) -> Option<Vec<Said<'p>>> {
        let one = |&(call, result): &Pair<'p>| {
            let (name, args) = if same {
                (call.name.clone(), sendable(&call.args))
            } else {
                let (name, args) = bind::unbind(self.kit, &call.action)?;
                (name, Value::Object(args).to_string())
            };
            Some(Said { call, name, args, result })
        };
        pairs.iter().map(one).collect()
    }

    fn text_as_it_was(&mut self, thread: &mut Thread, reply: &Reply, pairs: &[Pair<'_>]) {
        let mut pieces = self.thinking(reply, pairs.len());
        pieces.extend(text_piece(text_of(reply)));
        push_reply(thread, pieces);
        for (_, result) in pairs {
            thread.push(Role::User, self.answer(*result));
        }
    }

    fn as_calls(&mut self, thread: &mut Thread, reply: &Reply, said: Vec<Said<'_>>) {
        let mut pieces = self.thinking(reply, said.len());
        pieces.extend(text_piece(text_without_calls(reply)));
        let mut answers = Vec::new();
        for Said { call, name, args, result } in said {
            let id = self.id(reply, call);
            pieces.push(Piece::Call { id: id.clone(), name: name.clone(), args });
            let failed = result.is_none_or(|result| result.outcome.state != State::Ok);
            answers.push(Piece::Result { id, name, pieces: self.answer(result), failed });
        }
        push_reply(thread, pieces);
        for answer in answers {
            thread.push(Role::Tool, vec![answer]);
        }
    }

    /// One command to a reply: several calls become several replies.
    fn as_blocks(&mut self, thread: &mut Thread, reply: &Reply, said: &[Said<'_>]) {
        let mut pieces = self.thinking(reply, said.len());
        let mut text = text_without_calls(reply);
        for Said { name, args, result, .. } in said {
            let block = self.kit.tool(name).and_then(|(name, tool)| {
                let args: Map<String, Value> = serde_json::from_str(args).ok()?;
                fenced::say(self.kit, name, tool, &args)
            });
            text = [text.trim_end(), block.as_deref().unwrap_or_default()].join("\n\n").trim().to_owned();
            pieces.extend(text_piece(std::mem::take(&mut text)));
            push_reply(thread, std::mem::take(&mut pieces));
            thread.push(Role::User, self.answer(*result));
        }
        pieces.extend(text_piece(text));
        push_reply(thread, pieces);
    }

    fn told(&mut self, thread: &mut Thread, reply: &Reply, pairs: &[Pair<'_>]) {
        push_reply(thread, text_piece(text_without_calls(reply)).into_iter().collect());
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

    fn thinking(&mut self, reply: &Reply, calls: usize) -> Vec<Piece> {
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
                let field = named.clone().or_else(|| field.clone());
                // A signature covers the text as it is.
                let text = if seal.is_some() { text.clone() } else { trimmed(text) };
                pieces.push(Piece::Thinking { text, field, seal: seal.clone() });
            }
        }
        if pieces.is_empty() && calls > 0 && self.seen_thinking && thinking.absent == Absent::Empty {
            pieces.push(Piece::Thinking { text: String::new(), field: named, seal: None });
        }
        self.seen_thinking |= !pieces.is_empty();
        pieces
    }
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

/// The reply's text with the places of its calls cut out.
fn text_without_calls(reply: &Reply) -> String {
    let text = text_of(reply);
    let mut spans: Vec<(usize, usize)> = reply
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Call(call) => call.span,
            Part::Text { .. } | Part::Thinking { .. } | Part::Image(_) => None,
        })
        .collect();
    if spans.is_empty() {
        return text;
    }
    spans.sort_unstable();
    let (mut left, mut at) = (String::new(), 0);
    for (from, to) in spans {
        left.push_str(text.get(at..from).unwrap_or_default());
        at = at.max(to);
    }
    left.push_str(text.get(at..).unwrap_or_default());
    left.trim().to_owned()
}

/// Arguments as they were, unless a server would choke on them.
fn sendable(args: &str) -> String {
    if serde_json::from_str::<Map<String, Value>>(args).is_ok() {
        return args.to_owned();
    }
    Value::Object(mend::object(args).unwrap_or_default()).to_string()
}
