//! The harness: how one family of models sees tack.
//!
//! A harness turns items into a [`Prompt`], the model's words back into [`Action`](crate::model::Action)s, and
//! outcomes into what the model reads. It is pure: everything it may look at is in the [`View`]. Only here
//! are a tool's surface name and parameters known.

mod bind;
mod check;
mod claim;
mod dialect;
mod external;
mod facts;
mod files;
mod kit;
mod layers;
mod live;
mod load;
mod manifest;
mod names;
mod param;
mod place;
mod programs;
mod remind;
mod render;
mod sample;
mod saying;
mod spell;
mod tell;
mod template;
mod tool;
mod wish;

#[cfg(test)]
mod testing;

pub use check::Report;
pub use claim::{Claimants, Pick, family, in_family, wrong_pattern};
pub(crate) use dialect::after_thinking as past_thinking;
pub(crate) use dialect::file::paths as named;
pub use dialect::form as read_loose;
pub use external::{NoPrograms, Program, Programs, Started, Tree};
pub use live::{Live, Look};
pub use load::{LOCAL, Library, Listing, LoadError};
pub use manifest::{Kept, Show, Strategy};
pub use sample::{
    Sample, Traits, carried, model as sample_model, prompt as sample_prompt, scene as sample_scene, tokens,
};
pub use saying::{Saying, Told};
pub use spell::Spelled;
pub use wish::{asks_for_change, asks_for_repair, only_asks};

use std::sync::Arc;

use async_trait::async_trait;

use crate::model::{
    BlobId, Guards, Item, Limits, Model, Note, Outcome, Part, Reply, Scene, ShellRules, ToolCall, WireKind,
};
use crate::wire::prompt::Prompt;

/// Implemented by manifests (a [`Library`] loads them) and by outside programs.
///
/// The loop calls, in this order: [`notes`](Harness::notes) and [`prompt`](Harness::prompt) before
/// a request, [`interpret`](Harness::interpret) after it, then for each call
/// [`tell`](Harness::tell) and [`submitted`](Harness::submitted) with what came of it.
#[async_trait]
pub trait Harness: Send + Sync {
    fn id(&self) -> &str;

    /// In order of preference; never empty.
    fn wires(&self) -> &[WireKind];

    /// Hash of what decides whether an earlier reply can be replayed as it was: the tools' names
    /// and parameters and the dialect, not the texts. A class of models may see fewer tools.
    fn surface(&self, model: &Model) -> u64;

    /// How the loop is to behave for a model of this class.
    fn rules(&self, model: &Model) -> Rules;

    /// One request from the items. The same view gives the same bytes, and an item added at the
    /// end only adds to the end, so that the server's prompt cache holds; save where old results are
    /// masked, which is done in blocks.
    async fn prompt(&self, view: &View<'_>) -> anyhow::Result<Prompt>;

    /// What [`prompt`](Harness::prompt) leaves out of old results for this view.
    fn masked(&self, _view: &View<'_>) -> Masked {
        Masked::default()
    }

    /// What becomes of the history in this view. None: only a program that is asked knows.
    fn carried(&self, _view: &View<'_>) -> Option<Carried> {
        None
    }

    /// Fills in `action` of each call, or finds the calls in the text. Never fails on what a model
    /// wrote: that is a [`Verdict::Retry`] or an `Action::Unknown`.
    async fn interpret(&self, reply: &mut Reply, view: &View<'_>) -> anyhow::Result<Verdict>;

    /// How much of a result this call's answer may hold. Asked before the action runs.
    fn limits(&self, call: &ToolCall, model: &Model) -> Limits;

    /// The file must have been read in this session before this call may change it.
    fn needs_read(&self, call: &ToolCall) -> bool;

    /// What the model reads as the answer to `call`.
    async fn tell(&self, call: &ToolCall, outcome: &Outcome, view: &View<'_>) -> anyhow::Result<Vec<Part>>;

    /// Whether this result hands in the work.
    async fn submitted(
        &self,
        call: &ToolCall,
        outcome: &Outcome,
        view: &View<'_>,
    ) -> anyhow::Result<Submitted>;

    /// Reminders that are due now. They are stored, so each is decided once.
    async fn notes(&self, view: &View<'_>) -> anyhow::Result<Vec<Note>>;

    /// The words for what the loop has to tell the model.
    fn say(&self, saying: &Saying<'_>) -> String;

    /// One for a session of its own. None: this one keeps nothing of a session and serves all.
    fn fresh(&self) -> Option<Arc<dyn Harness>> {
        None
    }

    /// An item was added to the session. For who keeps a record of his own.
    async fn heard(&self, _view: &View<'_>) {}

    /// What went wrong since this was last asked and has not been an error of another method. Asked at
    /// the end of a turn.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// The session is over.
    async fn close(&self) {}
}

/// All that a harness may look at.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The whole session so far. A summary stands for what is before it.
    pub items: &'a [Item],
    /// The scene in force.
    pub scene: &'a Scene,
    pub model: &'a Model,
    pub wire: WireKind,
    pub blobs: &'a dyn Blobs,
    /// Leave images out: the model was found to take none.
    pub drop_images: bool,
    /// Starts what an external harness runs.
    pub programs: &'a dyn Programs,
}

/// Reads what images refer to.
pub trait Blobs: Send + Sync {
    /// The bytes in base64, or None when the blob is gone.
    fn base64(&self, id: &BlobId) -> Option<Arc<str>>;
}

/// Results that a prompt holds a line of, in place of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Masked {
    pub results: usize,
    /// Bytes that this saves.
    pub bytes: u64,
}

/// What becomes of a history under a harness, by turns: each counts by the reply in it that changes most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Turns that are sent word for word.
    pub kept: usize,
    /// Turns whose calls are said in the names of this harness's tools.
    pub respoken: usize,
    /// Turns of which the model is told what was done.
    pub told: usize,
    /// What the person and the model said.
    pub messages: usize,
    pub calls: usize,
    /// Calls without an answer.
    pub open: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Run the reply's calls.
    Calls,
    /// The reply is no valid action. Say this and ask again, `Rules::retries` times at most in a row.
    Retry(String),
    /// Nothing to run: the turn is over.
    Done,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Submitted {
    No,
    /// Not yet: the model is shown this instead of the result, and has to submit once more.
    Review(Vec<Part>),
    /// The work is handed in; the text is the final message.
    Yes(String),
}

/// What the loop does for this harness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Format corrections in a row before the turn fails.
    pub retries: u32,
    /// Run calls that only read side by side.
    pub parallel: bool,
    /// Refuse to run a call that is the same as the one before with nothing changed between.
    pub refuse_repeats: bool,
    /// Model requests in one turn; None: no limit of the harness's own.
    pub steps: Option<u32>,
    /// Default time limit of a command, and the most a call may ask for, in milliseconds.
    pub shell_timeout: u64,
    pub shell_timeout_most: u64,
    /// What file tools hold a call to.
    pub guards: Guards,
    /// How commands are run.
    pub shell: ShellRules,
    /// Calls that only read, in a row, before the model is told to act.
    pub reads: Option<u32>,
    /// Commands in a row that ran into their time limit before the turn is ended.
    pub timeouts: Option<u32>,
    /// How often the output of the project's own check goes back to the model; 0: it is not run.
    pub check_rounds: u32,
    /// Time limit of the check, in milliseconds.
    pub check_limit: u64,
    /// Tokens at which the session is summed up, also where the window is larger.
    pub compact_at: Option<u64>,
    pub compaction: Compaction,
    /// Most lines of a file that is shown ahead of a prompt that names it.
    pub named: Option<u64>,
    /// The scene has to hold facts about the project.
    pub facts: bool,
}

/// How a history that grew too long is made short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    pub strategy: Strategy,
    pub show: Show,
    /// Percent of the window at which it is done; None where only `reserve` tells.
    pub at: Option<u8>,
    /// Tokens of the window that have to be free, where it has twice as many.
    pub reserve: Option<u64>,
    /// Most tokens of a summary.
    pub most: Option<u64>,
    pub keep: Kept,
}
