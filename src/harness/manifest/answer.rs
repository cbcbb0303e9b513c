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
    /// Bytes of the head that are shown of output that is too long; the whole is in a file. 0: as
    /// `keep` says.
    pub preview: Option<usize>,
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
    /// When set, parameters that a tool with `extra = false` does not have are refused.
    pub extra: Option<String>,
    /// All that is wrong with a call's arguments: `problems`, each in the words of its own template.
    pub problems: Option<String>,
    pub absent: Option<String>,
    pub bad_words: Option<String>,
    /// A reply in the dialect of JSON that is not in its form.
    pub bad_reply: Option<String>,
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
            ("extra", &self.extra),
            ("problems", &self.problems),
            ("absent", &self.absent),
            ("bad_words", &self.bad_words),
            ("bad_reply", &self.bad_reply),
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

/// `[compact]`: when a history that grew too long is replaced, by what, and what of it stays.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Compact {
    pub strategy: Strategy,
    pub show: Show,
    /// Percent of the window at which it is done. None: 80, or only as `reserve` says.
    pub at: Option<u8>,
    /// Tokens of the window that have to be free. Passed over where the window has not twice as many.
    pub reserve: u64,
    /// Most tokens of a summary. 0: as of any reply.
    pub most: u64,
    pub keep: Kept,
    /// The summariser's system prompt, where it has one of its own.
    pub system: Option<String>,
    /// Asks for the summary.
    pub prompt: Option<String>,
    /// Lays out `messages` and the `prompt` under `show = "transcript"`.
    pub transcript: Option<String>,
    /// Asks whoever takes over for questions about `summary`.
    pub questions: Option<String>,
    /// Asks whoever goes for answers to `questions`.
    pub answers: Option<String>,
    /// Joins `summary`, `questions` and `answers` into what is handed over.
    pub handoff: Option<String>,
    /// Puts `summary` back, as the user.
    pub back: Option<String>,
    /// What the model says to that; none: nothing.
    pub reply: Option<String>,
    /// The user's word that the work goes on, where it was interrupted; none: nothing.
    pub go_on: Option<String>,
}

impl Compact {
    /// The template files that it names, with the keys that do.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let named = [
            ("system", &self.system),
            ("prompt", &self.prompt),
            ("transcript", &self.transcript),
            ("questions", &self.questions),
            ("answers", &self.answers),
            ("handoff", &self.handoff),
            ("back", &self.back),
            ("reply", &self.reply),
            ("go_on", &self.go_on),
        ];
        named.into_iter().filter_map(|(key, file)| Some((key, file.as_ref()?)))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// One summary.
    #[default]
    Summary,
    /// A summary, then questions by who knows no more than that, then answers by who knows all.
    Handoff,
}

/// How the summariser sees the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Show {
    /// As the next request would have it, tools and all, so that the server's prompt cache holds.
    #[default]
    Session,
    /// The same without tools.
    Words,
    /// Told in one message.
    Transcript,
}

/// `[compact.keep]`: what stays word for word. The newest messages stay as far as any of the three
/// limits reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Kept {
    /// All that the person said.
    pub user: bool,
    /// The newest messages: so many,
    pub messages: u32,
    /// of so many tokens together,
    pub tokens: u64,
    /// of so many percent of the history.
    pub percent: u8,
}
