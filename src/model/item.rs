//! Items: what was said, called, returned and noted. A session is an append-only list of them.
//!
//! Invariants, kept by `agent` and repaired by `store` on load:
//! every [`ToolCall`] has exactly one [`ToolResult`] before the next request is built;
//! item order is the only order; an item is never edited.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Action, BlobId, CallId, ItemId, Outcome, Scene, Trouble, Usage, WireKind};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub id: ItemId,
    /// Which user prompt this belongs to, counted from 1; 0 before the first.
    pub turn: u32,
    /// When it was made.
    pub at: jiff::Timestamp,
    #[serde(flatten)]
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Body {
    /// What the person typed.
    User(Said),
    /// Text that tack adds for the model.
    Note(Note),
    /// One reply of a model.
    Assistant(Reply),
    /// The answer to one call.
    Result(ToolResult),
    /// Frozen facts. One per start, harness switch and compaction.
    Scene(Box<Scene>),
    /// Stands for every item up to `upto` in what is sent from now on.
    Summary(Summary),
    /// For the reader of the log, never for the model.
    Mark(Mark),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Said {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// An image by reference; the bytes are a blob beside the session file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub mime: String,
    pub blob: BlobId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    pub kind: NoteKind,
    /// The text as the model reads it, before the harness wraps it.
    pub text: String,
    /// The harness whose manifest asked for this note; another harness leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    /// Which of that manifest's reminders it is: the file it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// A manifest's reminder fell due.
    Reminder,
    /// The last reply could not be read as an action; says what form is wanted.
    Correction,
    /// The loop guard speaks: repeats, limits coming near.
    Guard,
    /// The project's own check failed after the model said that it was done; shows its output.
    Check,
    /// A background job ended.
    Job,
    /// What the person ran, and what it printed.
    Ran,
    /// Facts about the session that changed, such as the sandbox or the folder.
    Fact,
    /// A file that a prompt names, shown ahead of it.
    Shown,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    pub origin: Origin,
    pub parts: Vec<Part>,
    #[serde(default)]
    pub usage: Usage,
    pub stop: Stop,
    /// Places in the text, in bytes, that are calls written out: the reply was corrected, so they are no
    /// calls any more, and not meant for the person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written_out: Vec<(usize, usize)>,
}

/// Who made a reply. What may be echoed back (thinking, ids) depends on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    pub provider: String,
    pub model: String,
    pub wire: WireKind,
    pub harness: String,
    /// Hash of the tools and the dialect the model saw. Same surface: replay as it was.
    pub surface: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    Text {
        text: String,
    },
    Thinking {
        text: String,
        /// The field it arrived in (`reasoning_content`, `reasoning`), which is where it goes back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<String>,
        /// Signatures or encrypted content, opaque, valid only at its origin.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<Value>,
    },
    Image(Image),
    Call(ToolCall),
}

/// One call, as the model wrote it and as tack understands it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: CallId,
    /// The id the server gave, when it gave one that is unique in the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// The tool's name and arguments exactly as written, so that a replay is byte-identical.
    pub name: String,
    pub args: String,
    /// What it means. Everything but the harness works on this.
    pub action: Action,
    /// Byte range in the reply's text where the call stood, for dialects that write calls as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<(usize, usize)>,
    /// Read out of plain text although the dialect has real calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recovered: bool,
}

impl ToolCall {
    /// A call of tack's own or of the person's, which no model made and no item holds.
    pub fn own(action: Action) -> Self {
        let id = CallId::of(ItemId(0), 0);
        let (name, args) = (String::new(), String::new());
        Self { id, given: None, name, args, action, span: None, recovered: false }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    pub call: CallId,
    pub outcome: Outcome,
    /// Exactly what the model was told; never recomputed.
    pub shown: Vec<Part>,
}

impl Reply {
    pub fn new(origin: Origin, parts: Vec<Part>, usage: Usage, stop: Stop) -> Self {
        Self { origin, parts, usage, stop, written_out: Vec::new() }
    }

    /// Its calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text { .. } | Part::Thinking { .. } | Part::Image(_) => None,
        })
    }
}

impl Stop {
    /// The reply stops in the middle.
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::Length | Self::RunOn)
    }
}

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model had nothing more to say.
    Done,
    /// It wants its calls run.
    Calls,
    /// The token limit cut it off. Its last call is never run.
    Length,
    /// It ran on without getting anywhere, and was cut. Its last call is never run.
    RunOn,
    /// The model or a filter refused.
    Refused,
    /// The stream broke and retries did not help. Kept for the person, never sent again.
    Broken,
    /// The person or a signal stopped it.
    Interrupted,
    /// A reason tack does not know, in the server's word.
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub text: String,
    /// What the person asked for last, word for word: a summary must not be all that is left of it.
    /// Empty where it stays a message.
    #[serde(default)]
    pub request: String,
    pub upto: ItemId,
    /// What the person said until then that stays as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<ItemId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mark", rename_all = "snake_case")]
pub enum Mark {
    /// From here on, this harness and model.
    Switched {
        harness: String,
        provider: String,
        model: String,
    },
    /// The project's own check was run. None: it was stopped at its time limit.
    Checked {
        command: String,
        exit: Option<i32>,
        /// Milliseconds.
        took: u64,
        /// Before the turn changed anything.
        before: bool,
    },
    /// This model was found to take no images.
    Blind {
        provider: String,
        model: String,
    },
    /// The person decided about a call.
    Decided {
        call: CallId,
        /// The call in a line.
        what: String,
        decision: Decision,
    },
    /// From here on this is allowed.
    Stance {
        /// `ask`, `edits`, `plan` or `full`.
        mode: String,
        /// Of the sandbox, in the words of its flag.
        sandbox: String,
    },
    Interrupted,
    Failed {
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trouble: Option<Box<Trouble>>,
    },
    /// A limit ended the turn.
    Limit {
        message: String,
    },
    /// The turn completed.
    Completed {
        usage: Usage,
    },
}

/// What a person said when asked about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub enum Decision {
    Once {
        /// What of the sandbox was lifted for it, in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lifts: Vec<String>,
    },
    Session {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lifts: Vec<String>,
    },
    Always {
        rule: String,
    },
    /// This ran in its place.
    Edited {
        command: String,
    },
    /// An edit was made, of these files, with the person's text in place of the model's.
    Revised {
        files: Vec<String>,
    },
    Refused {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl Decision {
    /// What came of being asked for `what`: a changed command ran in its place.
    pub fn about<'a>(&'a self, what: &'a str) -> &'a str {
        match self {
            Self::Edited { command } => command,
            Self::Once { .. }
            | Self::Session { .. }
            | Self::Always { .. }
            | Self::Revised { .. }
            | Self::Refused { .. } => what,
        }
    }

    /// In a word or two, and by a mark.
    pub fn words(&self) -> String {
        let with = |lifts: &[String]| match lifts {
            [] => String::new(),
            lifts => format!(", with {}", lifts.join(", ")),
        };
        match self {
            Self::Once { lifts } => format!("✓ allowed once{}", with(lifts)),
            Self::Session { lifts } => format!("✓ allowed for this session{}", with(lifts)),
            Self::Always { rule } => format!("✓ allowed by a new rule `{rule}`"),
            Self::Edited { .. } | Self::Revised { .. } => "✓ allowed as edited".to_owned(),
            Self::Refused { reason: None } => "⊘ refused".to_owned(),
            Self::Refused { reason: Some(reason) } => format!("⊘ refused, \"{reason}\""),
        }
    }
}

/// What the person asked for last, word for word; empty before there is anything.
pub fn asked(items: &[Item]) -> &str {
    let said = items.iter().rev().find_map(|item| match &item.body {
        Body::User(said) => Some(said.text.as_str()),
        _ => None,
    });
    said.unwrap_or_default()
}
