//! The sections that say what the model reads of what came of a call, and of a history that grew too long.

use serde::Deserialize;

/// `[output]`, also per tool: how much of a result the model sees.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    pub bytes: Option<usize>,
    pub lines: Option<usize>,
    pub keep: Option<KeepWord>,
    /// Percent of the room that the head gets under `keep = "both"`.
    pub head: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeepWord {
    Head,
    Tail,
    Both,
}

/// `[errors]`: templates for what the model reads when a call comes to nothing. None: the text
/// in `harnesses/common/`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Errors {
    pub unknown_tool: Option<String>,
    pub bad_json: Option<String>,
    pub missing: Option<String>,
    pub wrong_type: Option<String>,
    pub bad_words: Option<String>,
    pub cut_off: Option<String>,
    pub refused: Option<String>,
    /// Of `[shell] refuse` and `refuse_alone`.
    pub blocked: Option<String>,
    pub interrupted: Option<String>,
    pub not_executed: Option<String>,
    /// What a tool without a template of its own answers.
    pub result: Option<String>,
    pub job_ended: Option<String>,
}

impl Errors {
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        [
            ("unknown_tool", &self.unknown_tool),
            ("bad_json", &self.bad_json),
            ("missing", &self.missing),
            ("wrong_type", &self.wrong_type),
            ("bad_words", &self.bad_words),
            ("cut_off", &self.cut_off),
            ("refused", &self.refused),
            ("blocked", &self.blocked),
            ("interrupted", &self.interrupted),
            ("not_executed", &self.not_executed),
            ("result", &self.result),
            ("job_ended", &self.job_ended),
        ]
        .into_iter()
        .map(|(name, text)| (name, text.as_deref()))
    }
}

/// `[compact]`: template files. None: those of `harnesses/common/`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Compact {
    /// Asks for the summary.
    pub prompt: Option<String>,
    /// Puts `summary` back.
    pub back: Option<String>,
}
