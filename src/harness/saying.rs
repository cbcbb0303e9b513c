//! What the loop says to a model. The words are in `harnesses/common/`, and a harness may have its
//! own.

use super::dialect::file;
use super::template::Values;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saying<'a> {
    /// The token limit ended a reply in the middle of a call, or before it said anything.
    CutOff,
    /// A call was stopped in the middle.
    Interrupted,
    /// A call never ran, because the turn ended before.
    NotExecuted,
    /// The same call gave the same result this many times in a row.
    Repeat { times: u32 },
    /// The same call again, and nothing has changed: it was not run. `first` is the first line of what it
    /// came to.
    RepeatRefused { first: &'a str },
    /// A file that the prompt names.
    Shown { path: &'a str, text: &'a str },
    /// The turn ends, because the model repeats itself.
    RepeatStop { times: u32 },
    /// So many more requests may be made in this turn.
    StepsLeft { left: u32 },
    /// Asks for a summary of the session so far.
    Compact,
    /// How the summary is put back.
    SummaryBack { summary: &'a str, request: &'a str },
    /// Stands where an image was.
    ImageLeftOut,
    /// Nobody is there to answer a question.
    Unattended,
    /// The turn's last message has to be JSON of this schema.
    Form { schema: &'a str },
    /// It was not: `why`, in the validator's words.
    Unfit { why: &'a str, schema: &'a str },
    /// A background job ended.
    JobEnded {
        id: &'a str,
        command: &'a str,
        exit: Option<i32>,
        /// The end of what it printed.
        tail: &'a str,
    },
}

impl Saying<'_> {
    /// The file in `harnesses/common/`, without its `.md`.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::CutOff => "cut_off",
            Self::Interrupted => "interrupted",
            Self::NotExecuted => "not_executed",
            Self::Repeat { .. } => "repeat",
            Self::RepeatRefused { .. } => "repeat_refused",
            Self::Shown { .. } => "shown",
            Self::RepeatStop { .. } => "repeat_stop",
            Self::StepsLeft { .. } => "steps_left",
            Self::Compact => "compact",
            Self::SummaryBack { .. } => "summary",
            Self::ImageLeftOut => "image",
            Self::Unattended => "unattended",
            Self::Form { .. } => "form",
            Self::Unfit { .. } => "unfit",
            Self::JobEnded { .. } => "job_ended",
        }
    }

    pub(super) fn values(&self, values: Values) -> Values {
        match self {
            Self::Repeat { times } | Self::RepeatStop { times } => values.with("times", times),
            Self::RepeatRefused { first } => values.with("text", first),
            Self::Shown { path, text } => values.with("text", file::say(path, text)),
            Self::StepsLeft { left } => values.with("left", left),
            Self::SummaryBack { summary, request } => {
                values.with("summary", summary).with("request", request)
            }
            Self::JobEnded { id, command, exit, tail } => {
                values.with("name", id).with("command", command).with("exit", exit).with("tail", tail)
            }
            Self::Form { schema } => values.with("schema", schema),
            Self::Unfit { why, schema } => values.with("why", why).with("schema", schema),
            Self::Interrupted => values.with("text", ""),
            Self::CutOff | Self::NotExecuted | Self::Compact | Self::ImageLeftOut | Self::Unattended => {
                values
            }
        }
    }
}
