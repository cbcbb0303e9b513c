//! How hard to think: the words that users set, and what they are in tokens or as a switch. Pure.

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
