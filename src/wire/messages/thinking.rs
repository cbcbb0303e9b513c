//! How much a model is asked to think, and what of that the history allows. Pure.
//!
//! The rules are the API's: with a budget, the turn that calls are being answered in has to begin
//! with reasoning; without thinking, no reasoning may be sent for it at all. So it is all or none.

use serde_json::{Map, Value, json};

use super::encode::Turn;
use crate::model::{Model, Thinking};
use crate::wire::effort::{self, LEAST};

/// Whether the history's reasoning goes out with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Echo {
    Keep,
    Drop,
}

/// Lower values of `top_p` are refused beside thinking.
const TOP_P: f64 = 0.95;

/// Says in the body how much to think, where an effort is set.
pub(super) fn ask(mode: Thinking, effort: &str, body: &mut Map<String, Value>) {
    let on = effort::is_on(effort);
    match mode {
        Thinking::None => {}
        Thinking::Effort | Thinking::Object => word(effort, body),
        Thinking::Toggle | Thinking::Switch if !on => disable(body),
        Thinking::Budget | Thinking::Adaptive if effort::is_none(effort) => disable(body),
        // The budget is not optional in this API, and does no harm where only the switch counts.
        Thinking::Budget | Thinking::Toggle => {
            let budget = effort::budget(effort);
            body.insert("thinking".into(), json!({"type": "enabled", "budget_tokens": budget}));
        }
        Thinking::Switch => {
            let budget = effort::budget(effort);
            body.insert("thinking".into(), json!({"type": "enabled", "budget_tokens": budget}));
            word(effort, body);
        }
        Thinking::Adaptive => {
            // Without it, newer models keep their reasoning to themselves.
            body.insert("thinking".into(), json!({"type": "adaptive", "display": "summarized"}));
            word(effort, body);
        }
        Thinking::Flag => {
            body.insert("enable_thinking".into(), on.into());
        }
        Thinking::Template => {
            body.insert("chat_template_kwargs".into(), json!({"enable_thinking": on}));
        }
    }
}

/// Makes the request one that the API takes: thinking only where the history allows it, and beside
/// it nothing that it excludes.
pub(super) fn settle(body: &mut Map<String, Value>, turns: &[Turn], model: &Model) -> Echo {
    let kind = |body: &Map<String, Value>| {
        let kind = body.get("thinking").and_then(|thinking| thinking["type"].as_str());
        kind.map(str::to_owned)
    };
    if kind(body).as_deref() == Some("enabled") && began_without(turns) {
        disable(body);
    }
    let kind = kind(body);
    match kind.as_deref() {
        // What a field that was laid over it left there would be refused.
        Some("disabled") => disable(body),
        Some("adaptive") => drop(body["thinking"].as_object_mut().map(|it| it.shift_remove("budget_tokens"))),
        Some(_) | None => {}
    }
    let on = matches!(kind.as_deref(), Some("enabled" | "adaptive"));
    sampling(body, model.thinking, on);
    if on {
        let forced = |choice: &Value| matches!(choice["type"].as_str(), Some("any" | "tool"));
        if body.get("tool_choice").is_some_and(forced) {
            body.shift_remove("tool_choice");
        }
    }
    match kind.as_deref() {
        Some("disabled") => Echo::Drop,
        // Models with a budget do not think unasked.
        None if model.thinking == Thinking::Budget => Echo::Drop,
        // Others may: what they thought goes back as it came.
        Some(_) | None => Echo::Keep,
    }
}

/// Room for the answer beside the budget. The limit that the model has wins over both.
pub(super) fn fit(body: &mut Map<String, Value>, limit: u64, most: Option<u64>) -> u64 {
    let Some(budget) = body.get_mut("thinking").and_then(|thinking| thinking.get_mut("budget_tokens")) else {
        return limit;
    };
    let wanted = budget.as_u64().unwrap_or(LEAST);
    if wanted < limit {
        return limit;
    }
    let whole = limit.saturating_add(wanted).min(most.unwrap_or(u64::MAX)).max(LEAST + 1);
    *budget = wanted.min(whole - limit.min(whole / 4)).max(LEAST).into();
    whole
}

/// The calls that are being answered come from a turn without any reasoning: another model made it,
/// or its reasoning was left out. Not every reply of a turn has some, so one is enough.
fn began_without(turns: &[Turn]) -> bool {
    let is_ongoing = |turn: &&Turn| turn.is_assistant() || turn.has("tool_result");
    let turn: Vec<&Turn> =
        turns.iter().rev().take_while(is_ongoing).filter(|turn| turn.is_assistant()).collect();
    turn.iter().any(|turn| turn.has("tool_use")) && !turn.iter().any(|turn| turn.thinks())
}

fn sampling(body: &mut Map<String, Value>, mode: Thinking, on: bool) {
    // The newest models refuse all three; those before them refuse two at once.
    if on || mode == Thinking::Adaptive {
        body.shift_remove("temperature");
        body.shift_remove("top_k");
    }
    let low = on && body.get("top_p").and_then(Value::as_f64).is_some_and(|top_p| top_p < TOP_P);
    let double = mode == Thinking::Budget && body.contains_key("temperature");
    if low || double || mode == Thinking::Adaptive {
        body.shift_remove("top_p");
    }
}

fn disable(body: &mut Map<String, Value>) {
    body.insert("thinking".into(), json!({"type": "disabled"}));
}

fn word(effort: &str, body: &mut Map<String, Value>) {
    match effort {
        // Not among this API's words.
        effort if effort::is_none(effort) => {}
        "minimal" => word("low", body),
        effort => {
            body.insert("output_config".into(), json!({"effort": effort}));
        }
    }
}
