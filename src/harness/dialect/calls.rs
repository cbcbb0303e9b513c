//! Calls that the wire delivers as calls.

use crate::harness::bind::{self, Fault};
use crate::harness::kit::Kit;
use crate::harness::manifest::BadCalls;
use crate::harness::{Verdict, View};
use crate::model::{Action, Part, Reply, Stop};

use super::salvage::{self, Salvaged};
use super::{Loose, correction, cut_off, needs_call, place, silent, text_of};

pub(super) fn interpret(kit: &Kit, reply: &mut Reply, view: &View<'_>) -> anyhow::Result<Verdict> {
    let stop = reply.stop.clone();
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
            Stop::Length if at + 1 == count => bind::unknown(kit, &call.name, &call.args, &Fault::CutOff),
            Stop::Length | Stop::Done | Stop::Calls | Stop::Refused | Stop::Other(_) => {
                bind::bind(kit, &call.name, &call.args)
            }
        };
        heed_company(kit, call.name.as_str(), &mut call.action, count);
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
fn heed_company(kit: &Kit, name: &str, action: &mut Action, calls: usize) {
    if calls > 1 && matches!(action, Action::Submit { .. }) {
        let why = kit.common("not_alone", &kit.bare_values().with("name", name));
        *action = Action::Unknown { name: name.to_owned(), why };
    }
}

fn not_executed(kit: &Kit, name: &str) -> Action {
    Action::Unknown { name: name.to_owned(), why: kit.common("not_executed", &kit.bare_values()) }
}

/// A reply that is to be corrected has no calls: every call needs an answer, and none will run.
fn tell_as_text(reply: &mut Reply) {
    for part in &mut reply.parts {
        if let Part::Call(call) = part {
            *part = Part::Text { text: format!("\n{} {}", call.name, call.args) };
        }
    }
}

/// A reply without calls on the wire.
fn loose(kit: &Kit, reply: &mut Reply, view: &View<'_>) -> anyhow::Result<Verdict> {
    let text = text_of(reply);
    if reply.stop == Stop::Refused {
        return Ok(Verdict::Done);
    }
    match salvage::find(kit, &text) {
        Salvaged::Calls(found) if reply.stop != Stop::Length => {
            let count = found.len();
            let calls = found.into_iter().map(|(name, args, span)| {
                let mut action = bind::bind(kit, &name, &args);
                heed_company(kit, &name, &mut action, count);
                Loose { name, args, action, span, recovered: true }
            });
            place(reply, view, calls);
            reply.stop = Stop::Calls;
            Ok(Verdict::Calls)
        }
        Salvaged::Calls(_) | Salvaged::CutOff => Ok(Verdict::Retry(cut_off(kit))),
        Salvaged::Wrong(why) => Ok(Verdict::Retry(correction(kit, &why, 0, view)?)),
        Salvaged::Nothing if reply.stop == Stop::Length && (text.trim().is_empty() || needs_call(kit)) => {
            Ok(Verdict::Retry(cut_off(kit)))
        }
        Salvaged::Nothing => silent(kit, &text, 0, view),
    }
}
