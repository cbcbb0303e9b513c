//! What the loop says to a model. The words are in `harnesses/common/`, and a harness may have its
//! own.

use super::dialect::file;
use serde::Serialize;

use super::manifest::Compact;
use super::template::Values;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saying<'a> {
    /// The token limit ended a reply in the middle of a call, or before it said anything.
    CutOff,
    /// Reasoning was cut at its limit; `thought` is the end of it.
    ActNow { thought: &'a str },
    /// A call was stopped in the middle.
    Interrupted,
    /// A call never ran, because the turn ended before.
    NotExecuted,
    /// The same call gave the same result this many times in a row.
    Repeat { times: u32 },
    /// The same call again, and nothing has changed: it was not run. `first` is the first line of
    /// what it gave before, empty where it gave nothing.
    RepeatRefused { first: &'a str },
    /// A file that the prompt names.
    Shown { path: &'a str, text: &'a str },
    /// The turn ends, because the model repeats itself.
    RepeatStop { times: u32 },
    /// So many more requests may be made in this turn.
    StepsLeft { left: u32 },
    /// The system prompt of who sums up and sees the history otherwise than as the next request.
    Summariser,
    /// Asks for a summary of the session so far.
    Compact,
    /// The history in one message, and what is to be done with it.
    Transcript { messages: &'a [Told], prompt: &'a str },
    /// Asks whoever takes over what the summary leaves open.
    Questions { summary: &'a str, request: &'a str },
    /// Asks whoever goes to answer that.
    Answers { summary: &'a str, questions: &'a str },
    /// What is handed over.
    Handoff { summary: &'a str, questions: &'a str, answers: &'a str },
    /// Stands for a summary that was not to be had.
    NoSummary,
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
    /// Enough was read for a request that asks for a change. `files`: what was read, in words.
    ReadsEnough { files: &'a str },
    /// The project's own check failed after the model said that it was done.
    CheckFailed {
        command: &'a str,
        exit: Option<i32>,
        /// The end of what it printed.
        output: &'a str,
        /// It failed before the turn changed anything, too.
        before: bool,
    },
    /// The person ran a command.
    Ran { command: &'a str, exit: Option<i32>, output: &'a str },
    /// The person did not allow a call.
    Declined { reason: Option<&'a str> },
    /// The person changed a command before it ran.
    Edited { command: &'a str },
    /// The person changed what an edit makes of its files; a difference follows.
    Revised,
    /// The sandbox stopped a command, and the person had it run again with what it lacked.
    Again,
    /// The person did not want that.
    NotAgain { reason: Option<&'a str> },
    /// What may be done has changed; `was` is the mode before, empty when nobody knows.
    Stance { mode: &'a str, sandbox: &'a str, was: &'a str },
    /// A background job ended.
    JobEnded {
        id: &'a str,
        /// The id of the call that started it.
        call: &'a str,
        command: &'a str,
        exit: Option<i32>,
        /// The end of what it printed.
        tail: &'a str,
        /// Where all of it is.
        file: Option<&'a str>,
    },
}

/// A message of a history that is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// `user`, `assistant`, `call` or `result`; `system` for a note of tack's that goes as that.
    pub role: &'static str,
    /// What was said; of a call its arguments.
    pub text: String,
    /// The tool's, of a call and its result.
    pub name: String,
}

impl Saying<'_> {
    /// The file in `harnesses/common/`, without its `.md`.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::CutOff => "cut_off",
            Self::ActNow { .. } => "act_now",
            Self::Interrupted => "interrupted",
            Self::NotExecuted => "not_executed",
            Self::Repeat { .. } => "repeat",
            Self::RepeatRefused { .. } => "repeat_refused",
            Self::Shown { .. } => "shown",
            Self::RepeatStop { .. } => "repeat_stop",
            Self::StepsLeft { .. } => "steps_left",
            Self::Summariser => "summariser",
            Self::Compact => "compact",
            Self::Transcript { .. } => "transcript",
            Self::Questions { .. } => "questions",
            Self::Answers { .. } => "answers",
            Self::Handoff { .. } => "handoff",
            Self::NoSummary => "no_summary",
            Self::SummaryBack { .. } => "summary",
            Self::ImageLeftOut => "image",
            Self::Unattended => "unattended",
            Self::Form { .. } => "form",
            Self::Unfit { .. } => "unfit",
            Self::ReadsEnough { .. } => "reads_enough",
            Self::CheckFailed { .. } => "check",
            Self::Ran { .. } => "ran",
            Self::Declined { .. } => "declined",
            Self::Edited { .. } => "edited",
            Self::Revised => "revised",
            Self::Again => "again",
            Self::NotAgain { .. } => "not_again",
            Self::Stance { .. } => "stance",
            Self::JobEnded { .. } => "job_ended",
        }
    }

    /// The harness's own text for it, where it has one.
    pub(super) fn own<'a>(&self, compact: &'a Compact) -> Option<&'a String> {
        match self {
            Self::Summariser => compact.system.as_ref(),
            Self::Compact => compact.prompt.as_ref(),
            Self::Transcript { .. } => compact.transcript.as_ref(),
            Self::Questions { .. } => compact.questions.as_ref(),
            Self::Answers { .. } => compact.answers.as_ref(),
            Self::Handoff { .. } => compact.handoff.as_ref(),
            Self::SummaryBack { .. } => compact.back.as_ref(),
            Self::CutOff
            | Self::ActNow { .. }
            | Self::Interrupted
            | Self::NotExecuted
            | Self::Repeat { .. }
            | Self::RepeatRefused { .. }
            | Self::Shown { .. }
            | Self::ReadsEnough { .. }
            | Self::CheckFailed { .. }
            | Self::RepeatStop { .. }
            | Self::StepsLeft { .. }
            | Self::ImageLeftOut
            | Self::NoSummary
            | Self::Unattended
            | Self::Form { .. }
            | Self::Unfit { .. }
            | Self::Ran { .. }
            | Self::Declined { .. }
            | Self::Edited { .. }
            | Self::Revised
            | Self::Again
            | Self::NotAgain { .. }
            | Self::Stance { .. }
            | Self::JobEnded { .. } => None,
        }
    }

    pub(super) fn values(&self, values: Values) -> Values {
        match self {
            Self::Repeat { times } | Self::RepeatStop { times } => values.with("times", times),
            Self::Shown { path, text } => values.with("text", file::say(path, text)),
            Self::StepsLeft { left } => values.with("left", left),
            Self::Transcript { messages, prompt } => values.with("messages", messages).with("prompt", prompt),
            Self::Answers { summary, questions } => {
                values.with("summary", summary).with("questions", questions)
            }
            Self::Handoff { summary, questions, answers } => {
                values.with("summary", summary).with("questions", questions).with("answers", answers)
            }
            Self::SummaryBack { summary, request } | Self::Questions { summary, request } => {
                values.with("summary", summary).with("request", request)
            }
            Self::JobEnded { id, call, command, exit, tail, file } => {
                let values = values.with("name", id).with("call", call).with("output_file", file);
                values.with("command", command).with("exit", exit).with("tail", tail)
            }
            Self::Ran { command, exit, output } => {
                values.with("command", command).with("exit", exit).with("tail", output)
            }
            Self::Declined { reason } | Self::NotAgain { reason } => values.with("reason", reason),
            Self::Edited { command } => values.with("command", command),
            Self::Stance { mode, sandbox, was } => {
                values.with("mode", mode).with("to", sandbox).with("was", was)
            }
            Self::RepeatRefused { first } => values.with("first", first),
            Self::ReadsEnough { files } => values.with("files", files),
            Self::CheckFailed { command, exit, output, before } => {
                values.with("command", command).with("exit", exit).with("tail", output).with("before", before)
            }
            Self::Form { schema } => values.with("schema", schema),
            Self::Unfit { why, schema } => values.with("why", why).with("schema", schema),
            Self::ActNow { thought } => values.with("text", thought),
            Self::Interrupted => values.with("text", ""),
            Self::CutOff
            | Self::NotExecuted
            | Self::Summariser
            | Self::Compact
            | Self::NoSummary
            | Self::ImageLeftOut
            | Self::Revised
            | Self::Again
            | Self::Unattended => values,
        }
    }
}
