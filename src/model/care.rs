//! What a harness asks of tools and client for a model that slips: plain values, all off by default.

use serde::{Deserialize, Serialize};

/// What becomes of an edit after which a file that parsed does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Broken {
    /// It is made, and nothing is said of it.
    #[default]
    Allowed,
    /// It is made, and the new errors are told with the result.
    Told,
    /// It is not made; after two refusals of the same file it is, and told.
    Refused,
}

/// What file tools hold a call to. See the manifest's `[edit]` and `[read]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    pub parse: Broken,
    /// A text for a whole file has to define all that the file defined.
    pub keep_names: bool,
    /// Only lines that were shown may be changed.
    pub seen: bool,
    /// Most lines of a file that is overwritten whole.
    pub whole: Option<u64>,
    /// Lines shown where a call asks for no number of them.
    pub window: Option<u64>,
    /// Lines that are still before the model are not sent again.
    pub once: bool,
    /// A command is not run that would put its output in place of a file of the project.
    pub keep_from_shell: bool,
    /// A bare name at the root, where nothing of that name is, means one in the working folder.
    pub root_is_here: bool,
    /// No new file gets a name that Windows keeps for devices.
    pub safe_names: bool,
    /// Bytes of a file that is shown where a call asks for no number of lines; a larger one is not.
    pub most: Option<u64>,
}

/// When a reply that runs on is cut. None: never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Line breaks in a row with nothing else between.
    pub blank_lines: Option<u32>,
    /// The same line in a row.
    pub same_lines: Option<u32>,
    /// Tokens of reasoning, at four bytes each.
    pub thinking: Option<u32>,
}

/// How a harness has commands run. See the manifest's `[shell]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellRules {
    /// Laid over the environment of commands.
    pub env: Vec<(String, String)>,
    /// A command that begins with one of these, word by word, is not run.
    pub refuse: Vec<String>,
    /// A command that is one of these is not run.
    pub refuse_alone: Vec<String>,
    /// What the shell cannot parse is not run in part.
    pub syntax: bool,
    /// Commands that name no session share one.
    pub lasting: bool,
}
