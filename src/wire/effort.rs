//! How hard to think: the words that users set, and what they are in tokens or as a switch. Pure.

use super::prompt::Prompt;
use super::provider::Quirks;
use crate::model::Model;

/// Fields in which some API is told how much to think.
pub(super) const FIELDS: [&str; 6] =
    ["reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs", "output_config"];

/// The word for this request: the user's, else the harness's where the model may be told.
pub(super) fn asked<'a>(prompt: &'a Prompt, model: &'a Model, quirks: &Quirks) -> Option<&'a str> {
    model.effort.as_deref().or_else(|| wanted(prompt, model, quirks))
}

/// The harness's word. A model at a local server is told only where it was seen to think: many do
/// not, and some servers refuse to hear of it. Elsewhere a refusal is learnt from.
pub(super) fn wanted<'a>(prompt: &'a Prompt, model: &Model, quirks: &Quirks) -> Option<&'a str> {
    let seen = model.probed.as_ref().is_some_and(|probed| probed.thinking.is_some());
    let may = (seen || !model.local) && FIELDS.iter().all(|field| quirks.takes(field, &model.name));
    prompt.effort.as_deref().filter(|_| may && model.effort.is_none())
}

/// Nothing is to be thought. Not among every API's words.
pub(super) fn is_none(effort: &str) -> bool {
    matches!(effort, "none" | "off")
}

/// The word where an API has one for nothing.
pub(super) fn word(effort: &str) -> &str {
    if is_none(effort) { "none" } else { effort }
}

/// How a model stands that can only think or not.
pub(super) fn is_on(effort: &str) -> bool {
    !is_none(effort) && effort != "minimal"
}

/// Tokens for a word; the least is the least that Anthropic's API takes. The steps are ours.
pub(super) fn budget(effort: &str) -> u64 {
    match effort {
        "minimal" => LEAST,
        "low" => 2048,
        "medium" => 8192,
        "high" => 16_384,
        _ => 31_999,
    }
}

pub(super) const LEAST: u64 = 1024;
