//! Dialects: where in a reply the calls are.
//!
//! `calls` has them from the wire, `fenced` reads one code block, `json` one object; `salvage` reads calls that were
//! meant for the wire but arrived as text. What a call means is for [`super::bind`].

mod calls;
pub(crate) mod fenced;
pub(crate) mod file;
pub(crate) mod json;
mod loose;
mod pythonic;
mod salvage;
pub(crate) mod words;

use crate::model::{Action, Body, CallId, ItemId, NoteKind, Part, Reply, Stop, ToolCall};

pub(super) use calls::{heed_company, tell_as_text};
pub use loose::form;

use super::bind;
use super::kit::Kit;
use super::manifest::{DialectKind, Empty, Ends, Need, Offer, Salvage};
use super::tell::is_early;
use super::template::Values;
use super::{Verdict, View};

/// Fills in the actions of a reply's calls, or finds the calls.
pub(super) fn interpret(kit: &Kit, reply: &mut Reply, view: &View<'_>) -> anyhow::Result<Verdict> {
    match kit.manifest.dialect.kind {
        DialectKind::Calls | DialectKind::External => calls::interpret(kit, reply, view),
        DialectKind::Fenced => fenced::interpret(kit, reply, view),
        DialectKind::Json => json::interpret(kit, reply, view),
    }
}

/// What to do with a reply that has no call.
fn silent(kit: &Kit, text: &str, found: usize, view: &View<'_>) -> anyhow::Result<Verdict> {
    if needs_call(kit) {
        return Ok(Verdict::Retry(correction(kit, "", found, view)?));
    }
    if text.trim().is_empty() && kit.manifest.turn.empty == Empty::Retry {
        return Ok(Verdict::Retry(kit.common("empty", &kit.bare_values())));
    }
    if is_early(kit, view, None) && !was_corrected(view) {
        let why = kit.common("early", &kit.values(view));
        return Ok(Verdict::Retry(correction(kit, &why, found, view)?));
    }
    Ok(Verdict::Done)
}

/// The model was asked in this turn to say its last words in another form: that they come again is an
/// answer.
fn was_corrected(view: &View<'_>) -> bool {
    let turn = view.items.last().map(|item| item.turn);
    let told = |body: &Body| matches!(body, Body::Note(note) if note.kind == NoteKind::Correction);
    view.items.iter().any(|item| Some(item.turn) == turn && told(&item.body))
}

fn needs_call(kit: &Kit) -> bool {
    let turn = &kit.manifest.turn;
    turn.calls == Need::Required || turn.ends == Ends::Submit
}

/// The format correction: the harness's own, else the common one.
fn correction(kit: &Kit, why: &str, found: usize, view: &View<'_>) -> anyhow::Result<String> {
    let values = kit.values(view).with("why", why).with("found", found);
    correction_of(kit, values)
}

fn correction_of(kit: &Kit, values: Values) -> anyhow::Result<String> {
    let values = match kit.tools.iter().next().filter(|_| shows_form(kit)) {
        Some((name, tool)) => values.with("example", bind::example(name, tool)),
        None => values,
    };
    match &kit.manifest.turn.retry {
        Some(file) => kit.render(file, &values),
        None => Ok(kit.common("correction", &values)),
    }
}

/// What a reply that did not come to its end is, where the calls are in its text.
fn unfinished(kit: &Kit, stop: &Stop) -> Option<Verdict> {
    match stop {
        Stop::Broken | Stop::Interrupted | Stop::Refused => Some(Verdict::Done),
        Stop::Length | Stop::RunOn => Some(Verdict::Retry(cut_off(kit, stop))),
        Stop::Done | Stop::Calls | Stop::Other(_) => None,
    }
}

/// Who writes calls as text is shown the text.
pub(super) fn shows_form(kit: &Kit) -> bool {
    let dialect = &kit.manifest.dialect;
    dialect.salvage.contains(&Salvage::Within) || dialect.offer == Offer::Prompt
}

fn cut_off(kit: &Kit, stop: &Stop) -> String {
    kit.common(if *stop == Stop::RunOn { "run_on" } else { "cut_off" }, &kit.bare_values())
}

/// All text of a reply; spans count in this.
pub(super) fn text_of(reply: &Reply) -> String {
    let texts = reply.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::Thinking { .. } | Part::Image(_) | Part::Call(_) => None,
    });
    texts.collect()
}

/// Reasoning that the server left in the text is not looked at.
pub(crate) fn after_thinking(text: &str) -> usize {
    let lead = text.len() - text.trim_start().len();
    let closes = "</think>";
    match text[lead..].starts_with("<think>").then(|| text.find(closes)).flatten() {
        Some(at) => at + closes.len(),
        None => lead,
    }
}

/// A call that was found in the text.
struct Loose {
    name: String,
    args: String,
    action: Action,
    span: (usize, usize),
    recovered: bool,
}

/// Adds the calls to the reply, which will be the session's next item.
fn place(reply: &mut Reply, view: &View<'_>, found: impl IntoIterator<Item = Loose>) {
    let item = ItemId(view.items.last().map_or(0, |item| item.id.0) + 1);
    for (nth, Loose { name, args, action, span, recovered }) in found.into_iter().enumerate() {
        let (id, span) = (CallId::of(item, nth), Some(span));
        reply.parts.push(Part::Call(ToolCall { id, given: None, name, args, action, span, recovered }));
    }
}

#[cfg(test)]
mod tests;
