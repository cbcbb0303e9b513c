//! What the interactive session needs from above: who can be spoken to, and as what. The command line
//! implements it; the frontend calls it on a thread of its own, as it may read files and ask servers.

use std::path::PathBuf;

use tokio::sync::mpsc::{Receiver, Sender};

use crate::agent::{Desk, Event, Op, Rule, SessionMode, Speaker, Stance, Stopper};
use crate::harness::Carried;
use crate::model::{BlobId, Item, Model, Prices, WireKind};

use super::transcript::Speech;

/// A running session's ends.
pub struct Link {
    pub ops: Sender<Op>,
    pub desk: Desk,
    pub stopper: Stopper,
    /// Keeps an image beside the session.
    pub keep: Keep,
}

pub type Keep = Box<dyn Fn(&[u8]) -> BlobId + Send>;

/// A session that was opened.
pub struct Opened {
    pub link: Link,
    pub events: Receiver<Event>,
    pub facts: Facts,
    /// What it held before.
    pub items: Vec<Item>,
    /// What the person should know at its start, one sentence each.
    pub warnings: Vec<String>,
}

/// Who speaks, where, and how freely.
#[derive(Clone, Debug)]
pub struct Facts {
    pub speaks: Speaks,
    /// Its id.
    pub session: String,
    pub cwd: PathBuf,
    /// The working folder as a person writes it.
    pub folder: String,
    /// `git main`, where it is a repository.
    pub branch: Option<String>,
    pub mode: SessionMode,
    /// `workspace-write sandbox`.
    pub sandbox: String,
    /// Names of the instruction files in force.
    pub instructions: Vec<String>,
    /// The session's file, where it is recorded.
    pub log: Option<PathBuf>,
    /// Nobody chose a model yet: none can be asked.
    pub mute: bool,
    /// What the model's server tells of it, and how the model calls, is still to be learnt.
    pub learns: bool,
}

/// The model and the harness that a session goes on with.
#[derive(Clone, Debug)]
pub struct Speaks {
    pub model: Model,
    pub harness: String,
    pub because: Because,
    pub speech: Speech,
}

/// Why this harness speaks for the model, the strongest word first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    /// Named for this run or this session.
    Named,
    /// The person's usual one for this model.
    Model,
    /// The person's usual one for models of this pattern.
    Family(String),
    /// The person's usual one for all models.
    All,
    /// By its manifest it is for models, or a provider, of this pattern.
    Claims(String),
    /// None is made for this model.
    Unclaimed,
    /// Another one would take too much of the window.
    Window,
}

impl Because {
    /// Beside its name, where it was not named: blank in front, or nothing.
    pub fn mark(&self) -> String {
        match self {
            Self::Named | Self::All => String::new(),
            Self::Model => " (default for this model)".to_owned(),
            Self::Family(pattern) => format!(" (default for {pattern})"),
            Self::Claims(_) | Self::Unclaimed | Self::Window => " (auto)".to_owned(),
        }
    }

    /// In a few words.
    pub fn words(&self) -> String {
        match self {
            Self::Named => "named for this session".to_owned(),
            Self::Model => "your default for this model".to_owned(),
            Self::Family(pattern) => format!("your default for {pattern}"),
            Self::All => "your default for all models".to_owned(),
            Self::Claims(pattern) => format!("auto: made for {pattern}"),
            Self::Unclaimed => "auto: it suits any model".to_owned(),
            Self::Window => "auto: the window is small".to_owned(),
        }
    }
}

/// The next mode in the cycle, in which `Full` is not.
pub fn next(mode: SessionMode) -> SessionMode {
    match mode {
        SessionMode::Ask => SessionMode::Edits,
        SessionMode::Edits => SessionMode::Plan,
        SessionMode::Plan | SessionMode::Full => SessionMode::Ask,
    }
}

/// Which session to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    New,
    Id(String),
    /// The latest, of this folder before all others.
    Last,
}

/// Whom to speak to from now on. What is None stays as it is, or is chosen for what is new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Provider and name.
    pub model: Option<(String, String)>,
    /// An id, or `auto`.
    pub harness: Option<String>,
    pub effort: Option<String>,
    pub lasts: Lasts,
}

/// How long a choice holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lasts {
    /// In this session, and those that are begun after it.
    #[default]
    Run,
    Session,
}

/// Levels of effort that models know by name.
const EFFORTS: [&str; 8] = ["none", "off", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Why there is no such level of effort.
///
/// # Errors
/// If no model knows the word.
pub fn effort(word: &str) -> Result<(), String> {
    match EFFORTS.contains(&word) {
        true => Ok(()),
        false => Err(format!("there is no effort {word}; there are {}", EFFORTS.join(", "))),
    }
}

/// A model that the person named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meant {
    pub provider: String,
    pub name: String,
    /// Nobody here can tell whether it is there.
    pub doubt: Option<String>,
}

/// Who speaks from now on.
pub struct Spoken {
    pub speaker: Box<Speaker>,
    pub speaks: Speaks,
    pub warnings: Vec<String>,
    /// What was learnt of the model on the way.
    pub notes: Vec<String>,
}

/// How well a harness suits a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It was made for this family, or shown to suit it.
    Fits,
    /// Wire and form of calls are there.
    Works,
    /// It takes more than a quarter of the window.
    Weak,
    /// It cannot be used: why.
    Cannot(String),
}

/// A row of the picker of harnesses.
#[derive(Clone, Debug)]
pub struct HarnessRow {
    pub id: String,
    pub fit: Fit,
    pub tools: usize,
    /// About so many tokens a turn.
    pub tokens: usize,
    pub summary: String,
    /// Why it would be chosen if nobody named one; None: another would.
    pub auto: Option<Because>,
    pub sheet: Sheet,
}

/// What sets a harness apart, in words for a person.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    /// Tokens of its prompt without the tools.
    pub prompt: usize,
    pub tools: Vec<String>,
    /// How files are changed.
    pub edits: String,
    /// Calls that only read run side by side.
    pub parallel: bool,
    /// What goes back of earlier thinking.
    pub thinking: String,
    pub wires: String,
    /// Most of a result that is shown.
    pub output: String,
    /// Whose shape it is, and as of when.
    pub source: String,
    /// Its folder, where it is not built in.
    pub files: Option<String>,
}

/// A row of the picker of models.
#[derive(Clone, Debug)]
pub struct ModelRow {
    pub provider: String,
    /// Empty: the provider's key is missing.
    pub name: String,
    pub window: Option<u64>,
    pub vision: Option<bool>,
    pub tools: Option<bool>,
    /// Most tokens of an answer.
    pub max_output: Option<u64>,
    pub prices: Option<Prices>,
    /// Where the prices are from.
    pub priced: String,
    pub local: bool,
    pub remark: String,
    /// The key of its provider, as a heading says it: `key OK`.
    pub key: String,
    /// Where that key is.
    pub key_from: String,
    /// Who would speak for it if nobody named a harness, and why.
    pub harness: Option<(String, Because)>,
}

/// A row of the picker of sessions.
#[derive(Clone, Debug)]
pub struct SessionRow {
    pub id: String,
    pub folder: String,
    pub title: String,
    /// Since its last item, in seconds.
    pub age: u64,
    pub turns: usize,
    /// Empty where it is not known.
    pub branch: String,
    /// Model and harness of its last answer; empty where there is none.
    pub speaks: String,
}

/// Whose sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Folder,
    All,
}

/// A provider, as it stands with the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderRow {
    pub id: String,
    pub name: String,
    /// Without what may be a secret.
    pub address: String,
    /// `chat responses`.
    pub wires: String,
    /// Whether its key is there, in words.
    pub key: String,
    /// A request can be made.
    pub ready: bool,
    pub origin: Origin,
    /// Served on this machine: whether a server of its kind answers. None: nobody looked.
    pub answers: Option<bool>,
}

/// Who made a provider known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    BuiltIn,
    /// Built in, with settings of the person's own file.
    Changed,
    /// The person's own file alone.
    Own,
}

impl Origin {
    pub fn words(self) -> &'static str {
        match self {
            Self::BuiltIn => "built in",
            Self::Changed => "built in, with settings of yours",
            Self::Own => "yours",
        }
    }
}

/// A provider to be added, as it was typed.
pub struct NewProvider {
    pub id: String,
    pub url: String,
    /// None: found by asking.
    pub wire: Option<WireKind>,
    pub key: Option<Hidden>,
}

/// A key on its way to where it is stored.
pub struct Hidden(pub String);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

impl std::fmt::Debug for NewProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {:?}", self.id, self.url, self.wire)
    }
}

/// A change of what may be written, as the person wrote the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Folder {
    Add(String),
    Remove(String),
}

/// A report that is shown as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    Doctor,
    /// What this machine can hold.
    Sandbox,
    Config,
}

/// All of it may take its time; errors are one sentence for the person.
pub trait Host: Send + Sync {
    fn open(&self, which: &Which) -> Result<Opened, String>;
    /// Who would speak.
    fn speaker(&self, wish: &Wish) -> Result<Spoken, String>;
    /// The model that is meant by `NAME` or `PROVIDER/NAME`, where the provider in use is `at`. An error
    /// where there is none, or where it cannot be asked.
    fn meant(&self, typed: &str, at: &str) -> Result<Meant, String>;
    /// This is what was chosen: sessions that are begun from now on go by it. Waits for nothing.
    fn keep(&self, wish: &Wish);
    /// What is known of a model by name.
    fn model(&self, provider: &str, name: &str) -> Result<Model, String>;
    fn harnesses(&self, model: &Model) -> Vec<HarnessRow>;
    /// What becomes of a session's history under each harness, by its id. Empty where it is kept nowhere.
    fn carried(&self, model: &Model, session: &str) -> Vec<(String, Carried)>;
    fn models(&self) -> Vec<ModelRow>;
    /// Has the model make one call; what came back, in words.
    fn try_model(&self, provider: &str, name: &str) -> Result<String, String>;
    /// Makes a harness the usual one of a model's family; says of which, and where that is kept.
    fn make_usual(&self, model: &Model, harness: &str) -> Result<String, String>;
    fn providers(&self) -> Vec<ProviderRow>;
    /// Asks a provider's server what it has; what came back, in words.
    fn try_provider(&self, id: &str) -> Result<String, String>;
    /// Makes a server known, and stores its key; what came of it, a sentence each.
    fn add_provider(&self, new: &NewProvider) -> Result<Vec<String>, String>;
    /// Takes the person's own settings of a provider away.
    fn remove_provider(&self, id: &str) -> Result<String, String>;
    /// Stores a provider's key; says where.
    fn login(&self, provider: &str, key: &str) -> Result<String, String>;
    /// Removes a stored key; says from where.
    fn logout(&self, provider: &str) -> Result<String, String>;
    /// Makes a model the one that tack starts with; says where that is kept.
    fn make_first(&self, wish: &Wish) -> Result<String, String>;
    /// What a mode allows in the open session, and what to say of it.
    fn stance(&self, mode: SessionMode) -> Result<(Box<Stance>, Vec<String>), String>;
    /// Lets a folder be written in the open session, or no longer: what the mode allows then, and what to say
    /// of it.
    fn change_folder(&self, change: &Folder, mode: SessionMode)
    -> Result<(Box<Stance>, Vec<String>), String>;
    /// The stored rules.
    fn rules(&self) -> Vec<Rule>;
    /// Stores a rule, for this project or for all.
    fn add_rule(&self, text: &str, holds: Reach) -> Result<(), String>;
    fn forget_rule(&self, rule: &Rule) -> Result<(), String>;
    fn sessions(&self, reach: Reach) -> Vec<SessionRow>;
    /// What a session holds.
    fn items(&self, session: &str) -> Result<Vec<Item>, String>;
    /// Removes a session that is open nowhere, and all that belongs to it.
    fn forget_session(&self, session: &str) -> Result<(), String>;
    fn report(&self, what: Report) -> Result<String, String>;
}
