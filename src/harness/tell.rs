//! Telling the model what came of a call, and whether the work is handed in.

use serde_json::{Value, json};

use crate::model::{
    Action, Body, Item, Keep, Limits, MOST_BYTES, MOST_LINES, Outcome, Part, Reply, State, ToolCall, asked,
};

use super::bind;
use super::dialect::text_of;
use super::kit::{Kit, result_name, status_name};
use super::manifest::{Early, KeepWord, Output};
use super::template::Values;
use super::tool::{Needs, Tool};
use super::wish::{asks_for_change, only_asks};
use super::{Submitted, View};

/// The tool's word, else the harness's, else the most.
pub(super) fn limits(kit: &Kit, call: &ToolCall) -> Limits {
    let none = Output::default();
    let own = tool_of(kit, call).map_or(&none, |(_, tool)| &tool.output);
    let all = &kit.manifest.output;
    let runs = matches!(call.action, Action::Shell { .. } | Action::Job { .. } | Action::Keys { .. });
    // What a command prints matters at both ends; a file is read from its start.
    let usual = if runs { KeepWord::Both } else { KeepWord::Head };
    let preview = own.preview.or(all.preview.filter(|_| runs)).filter(|bytes| *bytes > 0);
    let keep = match (preview, own.keep.or(if runs { all.keep } else { None }).unwrap_or(usual)) {
        (Some(bytes), _) => Keep::Preview { bytes },
        (None, KeepWord::Head) => Keep::Head,
        (None, KeepWord::Tail) => Keep::Tail,
        (None, KeepWord::Both) => Keep::Both { head_percent: own.head.or(all.head).unwrap_or(50).min(100) },
    };
    Limits {
        bytes: wished(kit, call).or(own.bytes).or(all.bytes).unwrap_or(MOST_BYTES).min(MOST_BYTES),
        lines: own.lines.or(all.lines).unwrap_or(MOST_LINES).min(MOST_LINES),
        keep,
    }
}

/// Bytes of output that the call itself asks for.
fn wished(kit: &Kit, call: &ToolCall) -> Option<usize> {
    let param = tool_of(kit, call)?.1.tokens.as_ref()?;
    let tokens = bind::mend::object(&call.args).ok()?.get(param)?.as_f64()?;
    (tokens >= 1.0).then_some(tokens as usize).map(|tokens| tokens.saturating_mul(4))
}

pub(super) fn needs_read(kit: &Kit, call: &ToolCall) -> bool {
    tool_of(kit, call).is_some_and(|(_, tool)| tool.needs == Some(Needs::Read))
}

/// The tool that was called; where the call came to mean what another tool does, that one.
fn tool_of<'a>(kit: &'a Kit, call: &ToolCall) -> Option<(&'a str, &'a Tool)> {
    let does = |tool: &Tool| tool.kinds().any(|kind| kind == call.action.kind());
    let called = bind::resolve(kit, &call.name);
    let fits = called.filter(|(_, tool)| does(tool));
    fits.or_else(|| kit.tools.iter().find(|(_, tool)| does(tool))).or(called)
}

pub(super) fn tell(kit: &Kit, call: &ToolCall, outcome: &Outcome, view: &View<'_>) -> Vec<Part> {
    let text = match (&call.action, outcome.state) {
        (Action::Unknown { why, .. }, _) => why.clone(),
        (_, State::Refused) if outcome.data["error"] == "blocked" => {
            kit.common("blocked", &values(kit, call, outcome, view))
        }
        (_, State::Refused) => kit.common("refused", &values(kit, call, outcome, view)),
        (_, State::Interrupted) => kit.common("interrupted", &values(kit, call, outcome, view)),
        // Templates speak of what was called for, which this is not.
        (_, State::Ok) if outcome.data["revised"] == true => {
            kit.common("result", &values(kit, call, outcome, view))
        }
        (_, State::Ok | State::Failed | State::TimedOut) => result(kit, call, outcome, view),
    };
    let mut parts: Vec<Part> = status(kit, call, outcome, view).into_iter().collect();
    if parts.is_empty() || !text.trim().is_empty() {
        parts.push(Part::Text { text });
    }
    parts.extend(outcome.images.iter().cloned().map(Part::Image));
    parts
}

/// What the tool's answer begins with, as a text of its own.
fn status(kit: &Kit, call: &ToolCall, outcome: &Outcome, view: &View<'_>) -> Option<Part> {
    let ran = matches!(outcome.state, State::Ok | State::Failed | State::TimedOut);
    let unknown = matches!(call.action, Action::Unknown { .. });
    let (name, _) = tool_of(kit, call).filter(|(_, tool)| tool.status.is_some() && ran && !unknown)?;
    match kit.render(&status_name(name), &values(kit, call, outcome, view)) {
        Ok(text) => Some(Part::Text { text }),
        Err(e) => {
            tracing::warn!("{}: {e:#}", kit.id);
            None
        }
    }
}

/// The tool's template; when it has none or the template fails on this result, the common one.
fn result(kit: &Kit, call: &ToolCall, outcome: &Outcome, view: &View<'_>) -> String {
    let values = values(kit, call, outcome, view);
    let own = tool_of(kit, call).filter(|(_, tool)| tool.result.is_some()).map(|(name, _)| result_name(name));
    let text = match own.map(|name| kit.render(&name, &values)) {
        Some(Ok(text)) => text,
        Some(Err(e)) => {
            tracing::warn!("{}: {e:#}", kit.id);
            kit.common("result", &values)
        }
        None if matches!(call.action, Action::Tools { .. }) => kit.common("found", &values),
        None => kit.common("result", &values),
    };
    with_findings(text, outcome)
}

/// What a change that was made broke is told, whether the template has words for it or not.
fn with_findings(text: String, outcome: &Outcome) -> String {
    let breaks = outcome.data["findings"].as_array().is_some_and(|found| !found.is_empty());
    match outcome.text.lines().last().filter(|_| breaks && outcome.state == State::Ok) {
        Some(told) if !text.contains(told) => format!("{}\n\n{told}", text.trim_end()),
        Some(_) | None => text,
    }
}

/// The tools that a search found, as a request would say them.
fn found(kit: &Kit, action: &Action) -> Option<Value> {
    let Action::Tools { found, .. } = action else { return None };
    let row =
        |(name, tool): (&str, &Tool)| json!({ "name": name, "about": tool.about, "schema": tool.schema() });
    Some(found.iter().filter_map(|name| kit.tool(name)).map(row).collect())
}

pub(super) fn values(kit: &Kit, call: &ToolCall, outcome: &Outcome, view: &View<'_>) -> Values {
    let mut out = serde_json::to_value(outcome).unwrap_or_default();
    if let Value::Object(out) = &mut out {
        for key in ["exit", "cut", "data"] {
            out.entry(key).or_insert(Value::Null);
        }
        if out["data"].is_null() {
            out.insert("data".to_owned(), json!({}));
        }
        // So that a template may ask which error it is of what is none.
        if let Some(Value::Object(data)) = out.get_mut("data") {
            data.entry("error").or_insert(Value::Null);
        }
        out.insert("timed_out".to_owned(), json!(outcome.state == State::TimedOut));
        out.insert("failed".to_owned(), json!(outcome.state != State::Ok));
    }
    let args = bind::mend::object(&call.args).unwrap_or_default();
    let values = kit.values(view).with("out", out).with("action", &call.action).with("args", args);
    let values = values.with("name", &call.name).with("text", &outcome.text);
    match found(kit, &call.action) {
        Some(found) => values.with("found", found),
        None => values,
    }
}

pub(super) fn submitted(
    kit: &Kit,
    call: &ToolCall,
    outcome: &Outcome,
    view: &View<'_>,
) -> anyhow::Result<Submitted> {
    let submit = &kit.manifest.submit;
    match &call.action {
        Action::Shell { .. } => {
            let worked = outcome.state == State::Ok && outcome.exit == Some(0);
            let line = submit.first_line.as_deref().filter(|_| worked);
            let said = line.and_then(|line| after_line(&outcome.text, line));
            if said.is_some() && is_early(kit, view, Some(call)) {
                let text = kit.common("early", &values(kit, call, outcome, view));
                return Ok(Submitted::Review(vec![Part::Text { text }]));
            }
            let said = said.map(|said| if said.is_empty() { words_of(call, view) } else { said });
            Ok(said.map_or(Submitted::No, Submitted::Yes))
        }
        Action::Submit { text } if outcome.state == State::Ok => {
            if is_early(kit, view, Some(call)) && !was_reviewed(call, view) {
                let text = kit.common("early", &values(kit, call, outcome, view));
                return Ok(Submitted::Review(vec![Part::Text { text }]));
            }
            if let Some(file) = &submit.confirm
                && !was_reviewed(call, view)
            {
                // The diff is the text too, but that is cut to what a model may be shown.
                let whole = outcome.data.get("diff").and_then(Value::as_str);
                let diff = whole.filter(|_| outcome.cut.is_none()).unwrap_or(&outcome.text);
                let text = kit.render(file, &values(kit, call, outcome, view).with("diff", diff))?;
                return Ok(Submitted::Review(vec![Part::Text { text }]));
            }
            let said = if text.trim().is_empty() { words_of(call, view) } else { text.clone() };
            Ok(Submitted::Yes(said))
        }
        _ => Ok(Submitted::No),
    }
}

/// What follows the sentinel, when that is the first line with text.
fn after_line(text: &str, line: &str) -> Option<String> {
    let (first, rest) = text.trim_start().split_once('\n').unwrap_or((text.trim(), ""));
    (first.trim() == line).then(|| rest.trim().to_owned())
}

/// The model has called nothing in this turn that could be run, or only changes that came to nothing,
/// so its work is not to be taken yet. A question may be answered from what was said or shown before.
/// `handing` is the call that hands in.
pub(super) fn is_early(kit: &Kit, view: &View<'_>, handing: Option<&ToolCall>) -> bool {
    let said = asked(view.items).trim_end();
    let acts = |call: &ToolCall| {
        !matches!(call.action, Action::Submit { .. } | Action::Unknown { .. })
            && !is_vain(view.items, call)
            && handing.is_none_or(|handing| handing.id != call.id)
    };
    kit.manifest.submit.early == Early::Refused
        && !said.is_empty()
        && !only_asks(said)
        && (asks_for_change(said) || !said.contains(['?', '？']))
        && !calls_of_turn(view).any(acts)
}

/// The call was to change files, and did not.
pub(super) fn is_vain(items: &[Item], call: &ToolCall) -> bool {
    call.action.changes_files() && !worked(items, call)
}

/// Whether the call's result is in, and good.
fn worked(items: &[Item], call: &ToolCall) -> bool {
    let good = |item: &Item| match &item.body {
        Body::Result(result) => result.call == call.id && result.outcome.state == State::Ok,
        _ => false,
    };
    items.iter().rev().any(good)
}

fn calls_of_turn<'a>(view: &View<'a>) -> impl Iterator<Item = &'a ToolCall> {
    let turn = view.items.last().map(|item| item.turn);
    let replies = view.items.iter().filter(move |item| Some(item.turn) == turn);
    let replies = replies.filter_map(|item| match &item.body {
        Body::Assistant(reply) => Some(reply),
        _ => None,
    });
    replies.flat_map(Reply::calls)
}

/// An earlier call of this turn was answered with the review.
fn was_reviewed(call: &ToolCall, view: &View<'_>) -> bool {
    let submits = calls_of_turn(view).filter(|earlier| matches!(earlier.action, Action::Submit { .. }));
    let mut earlier = submits.filter(|earlier| earlier.id != call.id);
    earlier.any(|earlier| worked(view.items, earlier))
}

/// What the reply with this call says besides it.
fn words_of(call: &ToolCall, view: &View<'_>) -> String {
    let has = |reply: &Reply| reply.parts.iter().any(|p| matches!(p, Part::Call(c) if c.id == call.id));
    let reply = view.items.iter().rev().find_map(|item| match &item.body {
        Body::Assistant(reply) if has(reply) => Some(reply),
        _ => None,
    });
    let text = reply.map(text_of).unwrap_or_default();
    match call.span {
        Some((from, to)) if text.is_char_boundary(from) && to <= text.len() && text.is_char_boundary(to) => {
            format!("{}{}", &text[..from], &text[to..]).trim().to_owned()
        }
        _ => text.trim().to_owned(),
    }
}
