//! Calls that the wire delivers as calls.

use crate::harness::bind::{self, Fault};
use crate::harness::kit::Kit;
use crate::harness::manifest::{BadCalls, Repeats, Salvage};
use crate::harness::{Verdict, View, render};
use crate::model::{Action, Body, Part, Reply, Stop, ToolCall};

use super::salvage::{self, Salvaged};
use super::{Loose, correction, cut_off, needs_call, place, silent, text_of};

pub(super) fn interpret(kit: &Kit, reply: &mut Reply, view: &View<'_>) -> anyhow::Result<Verdict> {
    let stop = reply.stop.clone();
    let seen = has_seen(kit, reply, view);
    if !seen && !stop.is_cut() {
        cut_what_is_made_up(kit, reply);
    }
    let mut calls: Vec<_> = reply
        .parts
        .iter_mut()
        .filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text { .. } | Part::Thinking { .. } | Part::Image(_) => None,
        })
        .collect();
    let count = calls.len();
    for (at, call) in calls.iter_mut().enumerate() {
        call.action = match stop {
            Stop::Broken | Stop::Interrupted => not_executed(kit, &call.name),
            Stop::Length | Stop::RunOn if at + 1 == count => {
                bind::unknown(kit, &call.name, &call.args, &Fault::CutOff)
            }
            Stop::Length | Stop::RunOn | Stop::Done | Stop::Calls | Stop::Refused | Stop::Other(_) => {
                bind::bind(kit, &call.name, &call.args)
            }
        };
        heed_company(kit, &call.name, &mut call.action, seen || count == 1);
    }
    let bad = calls.iter().find_map(|call| match &call.action {
        Action::Unknown { why, .. } => Some(why.clone()),
        _ => None,
    });
    if matches!(stop, Stop::Broken | Stop::Interrupted) {
        return Ok(Verdict::Done);
    }
    if count == 0 {
        return loose(kit, reply, view);
    }
    match bad {
        Some(why) if kit.manifest.turn.bad_calls == BadCalls::Retry => {
            tell_as_text(reply);
            Ok(Verdict::Retry(correction(kit, &why, 0, view)?))
        }
        _ => Ok(Verdict::Calls),
    }
}

/// Work is not handed in by a reply that has yet to see what its other calls come to.
pub(in crate::harness) fn heed_company(kit: &Kit, name: &str, action: &mut Action, seen: bool) {
    if !seen && matches!(action, Action::Submit { .. }) {
        let why = kit.common("not_alone", &kit.bare_values().with("name", name));
        *action = Action::Unknown { name: name.to_owned(), why };
    }
}

/// Whether the reply before this one made the same calls, so that their results are known and they
/// will not run again. Complaining anew would only make the model say it all once more.
fn has_seen(kit: &Kit, reply: &Reply, view: &View<'_>) -> bool {
    let said = view.items.iter().rev().take_while(|item| !matches!(item.body, Body::User(_)));
    let last = said.into_iter().find_map(|item| match &item.body {
        Body::Assistant(last) => Some(last),
        _ => None,
    });
    kit.manifest.turn.repeats == Repeats::Refused
        && last.is_some_and(|last| work(kit, last).eq(work(kit, reply)))
}

/// Name and arguments of the calls that do not hand in.
fn work<'a>(kit: &'a Kit, reply: &'a Reply) -> impl Iterator<Item = (&'a str, &'a str)> {
    reply.parts.iter().filter_map(|part| match part {
        Part::Call(call) if !hands_in(kit, call) => Some((call.name.as_str(), call.args.as_str())),
        Part::Call(_) | Part::Text { .. } | Part::Thinking { .. } | Part::Image(_) => None,
    })
}

fn hands_in(kit: &Kit, call: &ToolCall) -> bool {
    kit.tool(&call.name).is_some_and(|(_, tool)| tool.does.as_deref() == Some("submit"))
}

/// A small model that hands in beside other calls has made up what they come to. Told so, it says
/// the same again; without its guess it goes on from the real results, as where its calls are text.
fn cut_what_is_made_up(kit: &Kit, reply: &mut Reply) {
    if kit.manifest.dialect.salvage.contains(&Salvage::Within) && work(kit, reply).next().is_some() {
        reply.parts.retain(|part| !matches!(part, Part::Call(call) if hands_in(kit, call)));
    }
}

fn not_executed(kit: &Kit, name: &str) -> Action {
    Action::Unknown { name: name.to_owned(), why: kit.common("not_executed", &kit.bare_values()) }
}

/// A reply that is to be corrected has no calls: every call needs an answer, and none will run.
pub(in crate::harness) fn tell_as_text(reply: &mut Reply) {
    let mut at = 0;
    for part in &mut reply.parts {
        match part {
            // One that was found in the text stands there already.
            Part::Call(ToolCall { span: Some(span), .. }) => reply.written_out.push(*span),
            Part::Call(call) => {
                let text = format!("\n{} {}", call.name, call.args);
                reply.written_out.push((at, at + text.len()));
                at += text.len();
                *part = Part::Text { text };
            }
            Part::Text { text } => at += text.len(),
            Part::Thinking { .. } | Part::Image(_) => {}
        }
    }
    reply.parts.retain(|part| !matches!(part, Part::Call(_)));
}

/// A reply without calls on the wire.
fn loose(kit: &Kit, reply: &mut Reply, view: &View<'_>) -> anyhow::Result<Verdict> {
    let text = text_of(reply);
    if reply.stop == Stop::Refused {
        return Ok(Verdict::Done);
    }
    // What the server held to the schema of the calls is JSON, whatever else may be read here.
    let held = render::holds(kit, view).then(|| salvage::json(kit, &text, view));
    let found = held.filter(|found| !matches!(found, Salvaged::Nothing));
    match found.unwrap_or_else(|| salvage::find(kit, &text, view)) {
        _ if reply.stop == Stop::RunOn => Ok(Verdict::Retry(cut_off(kit, &reply.stop))),
        Salvaged::Calls(found) if reply.stop != Stop::Length => {
            let count = found.len();
            let calls = found.into_iter().map(|(name, args, span)| {
                let mut action = bind::bind(kit, &name, &args);
                heed_company(kit, &name, &mut action, count == 1);
                Loose { name, args, action, span, recovered: true }
            });
            place(reply, view, calls);
            reply.stop = Stop::Calls;
            Ok(Verdict::Calls)
        }
        Salvaged::Calls(_) | Salvaged::CutOff => Ok(Verdict::Retry(cut_off(kit, &reply.stop))),
        Salvaged::Wrong(why) => Ok(Verdict::Retry(correction(kit, &why, 0, view)?)),
        Salvaged::Nothing if reply.stop == Stop::Length && (text.trim().is_empty() || needs_call(kit)) => {
            Ok(Verdict::Retry(cut_off(kit, &reply.stop)))
        }
        Salvaged::Nothing => silent(kit, &text, 0, view),
    }
}
