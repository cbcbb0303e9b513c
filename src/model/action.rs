//! Actions: what a tool call means, whatever the model calls the tool.
//!
//! Only harnesses know surfaces. Tools, sandbox, permissions, log and screens work on these.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Glob, Grep, Read};

/// Paths are as the model wrote them; `tools` resolves them against the working folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action {
    Shell {
        command: String,
        /// Milliseconds; the tool's default when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
        #[serde(default)]
        background: bool,
        /// Milliseconds after which a command that still runs goes on as a background job. It has no
        /// time limit then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        yield_after: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// The model's own one-line explanation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<String>,
        #[serde(flatten)]
        within: Within,
    },
    /// Background jobs that `Shell` started.
    Job {
        op: JobOp,
        /// Not of `list`; empty for `wait`: whichever ends first.
        #[serde(default)]
        id: String,
        /// Milliseconds to wait for its end before its output is taken.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<u64>,
        /// Typed into it. A job without a terminal or a pipe has an empty stdin, and Ctrl-C is all that
        /// works.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<String>,
        /// Nothing more will be typed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        close_stdin: bool,
    },
    Read(Read),
    Write {
        path: String,
        text: String,
        #[serde(default)]
        mode: WriteMode,
    },
    /// New text for a file, or for some of what it defines: which of the two it is, the text tells.
    Rewrite {
        path: String,
        text: String,
    },
    Edit {
        path: String,
        edits: Vec<Edit>,
        /// Of several places that an old text fits, the first is meant; otherwise that is a failure.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        first: bool,
    },
    /// Puts `text` after line `line` (0: at the top).
    Insert {
        path: String,
        line: u64,
        text: String,
    },
    /// Takes back this session's last change of the file.
    Undo {
        path: String,
    },
    /// A patch in Codex's `*** Begin Patch` format.
    Patch {
        text: String,
        /// Folder that its relative paths start from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    /// A unified diff, whole texts for files, or both: all of it is made, or nothing.
    Diff {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<NewText>,
        /// The one file that the diff is about, whatever its headers say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Lines of context at either end of a hunk that may differ, up to two.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fuzz: Option<u64>,
        /// A file that is missing counts as an empty one.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        create: bool,
    },
    Glob(Glob),
    Grep(Grep),
    /// Files whose names are like `query`, the likest first.
    Find {
        query: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// Only names that end so; without the dot.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        endings: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ignore: Vec<String>,
    },
    List {
        #[serde(default)]
        path: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ignore: Vec<String>,
        /// Levels of folders; one when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        depth: Option<u64>,
    },
    /// Replaces the task list, or only shows it.
    Todo {
        /// None: it stays as it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        items: Option<Vec<TodoItem>>,
    },
    /// One step on the task list.
    Tasks {
        op: TaskOp,
        /// Not of `add` and `list`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<TaskStatus>,
        /// What is given of these is laid over what the step has; ids are added.
        #[serde(flatten)]
        more: Box<TaskMore>,
    },
    /// Changes one cell of a Jupyter notebook.
    Notebook {
        path: String,
        op: CellOp,
        /// Id of the cell, or its number from 0; for `insert` the one that it comes after.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cell: Option<String>,
        /// `code` or `markdown`; as before when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<CellKind>,
        #[serde(default)]
        text: String,
    },
    /// Types into the session's terminal and shows what is on it then.
    Keys {
        text: String,
        /// Milliseconds to wait before looking: 1,000 when absent, 60,000 at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<u64>,
    },
    /// Gets a page from the network.
    Fetch {
        url: String,
        #[serde(default)]
        form: FetchForm,
        /// Most bytes that are read of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// Milliseconds; the tool's default when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// Runs a program that came with the harness; it gets `input` as JSON on stdin.
    Script {
        /// The tool's name, for people.
        tool: String,
        run: Vec<String>,
        /// Folder of the harness; words of `run` that name files in it mean those.
        dir: String,
        /// Boxed, as it would make every action large.
        input: Box<Map<String, Value>>,
        /// Milliseconds; that of commands when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
        /// As the harness says: it changes nothing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        only_reads: bool,
    },
    /// Looks among the tools that are only named, and has what fits offered from now on.
    Tools {
        query: String,
        /// The query is a regular expression.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        regex: bool,
        /// Names of what was found, by the harness that read the call.
        #[serde(default)]
        found: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
    },
    /// The model says the task is done.
    Submit {
        #[serde(default)]
        text: String,
    },
    /// Not an error: it becomes an answer that the model can act on. Never run.
    Unknown {
        name: String,
        why: String,
    },
}

/// What a command is connected to, and what it finds of the commands before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Within {
    /// It runs on a terminal of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tty: bool,
    /// Of a command without a terminal.
    #[serde(skip_serializing_if = "Stdin::is_empty")]
    pub stdin: Stdin,
    /// A shell whose folder and exported variables last from one command to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// That shell starts anew.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    #[default]
    Empty,
    /// A job's: `Job` writes to it.
    Pipe,
}

impl Stdin {
    fn is_empty(&self) -> bool {
        *self == Self::Empty
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobOp {
    /// What it printed since it was last asked.
    Output,
    Stop,
    /// What runs, and what has run.
    List,
    /// As `Output`, once it has ended or the time is up.
    Wait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOp {
    Add,
    /// Its text or status, whichever is given.
    Change,
    Remove,
    Get,
    List,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellOp {
    #[default]
    Replace,
    Insert,
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellKind {
    Code,
    Markdown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchForm {
    /// HTML as Markdown, other text as it is.
    #[default]
    Markdown,
    /// HTML without its tags.
    Text,
    /// As it came.
    Raw,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    /// Makes the file or replaces what was there.
    #[default]
    Replace,
    /// Refused when the file exists.
    Create,
    /// Adds to the end of what was there, or makes the file.
    Append,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    pub old: String,
    pub new: String,
    /// Replace every occurrence; otherwise `old` has to occur exactly once.
    #[serde(default)]
    pub all: bool,
}

/// The whole text of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewText {
    pub path: String,
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoItem {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub text: String,
    #[serde(default)]
    pub status: TodoStatus,
    #[serde(flatten)]
    pub more: TaskMore,
}

/// What some surfaces say of a step besides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskMore {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// What is being done while the step is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// Ids of steps that wait for this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<String>,
    /// Ids of steps that this one waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
    /// The model's own keys; null takes one away.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
}

/// What becomes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Pending,
    InProgress,
    Completed,
    /// It leaves the list.
    Deleted,
}

impl Action {
    /// A plain command, waited for. `timeout`: milliseconds.
    pub fn shell(command: &str, timeout: Option<u64>) -> Self {
        Self::Shell {
            command: command.to_owned(),
            timeout,
            background: false,
            yield_after: None,
            cwd: None,
            about: None,
            within: Within::default(),
        }
    }

    /// The word manifests use for this kind of action (`does = "shell"`).
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Shell { .. } => "shell",
            Self::Job { .. } => "job",
            Self::Read(_) => "read",
            Self::Write { .. } => "write",
            Self::Rewrite { .. } => "rewrite",
            Self::Edit { .. } => "edit",
            Self::Insert { .. } => "insert",
            Self::Undo { .. } => "undo",
            Self::Patch { .. } => "patch",
            Self::Diff { .. } => "diff",
            Self::Glob(_) => "glob",
            Self::Grep(_) => "grep",
            Self::Find { .. } => "find",
            Self::List { .. } => "list",
            Self::Todo { .. } => "todo",
            Self::Tasks { .. } => "tasks",
            Self::Notebook { .. } => "notebook",
            Self::Keys { .. } => "keys",
            Self::Fetch { .. } => "fetch",
            Self::Script { .. } => "script",
            Self::Tools { .. } => "tools",
            Self::Submit { .. } => "submit",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// Whether it is a change of files as such, which is shown as one.
    pub fn changes_files(&self) -> bool {
        match self {
            Self::Write { .. }
            | Self::Rewrite { .. }
            | Self::Edit { .. }
            | Self::Insert { .. }
            | Self::Undo { .. }
            | Self::Notebook { .. }
            | Self::Diff { .. }
            | Self::Patch { .. } => true,
            Self::Shell { .. }
            | Self::Job { .. }
            | Self::Read(_)
            | Self::Glob(_)
            | Self::Grep(_)
            | Self::Find { .. }
            | Self::List { .. }
            | Self::Todo { .. }
            | Self::Tasks { .. }
            | Self::Keys { .. }
            | Self::Fetch { .. }
            | Self::Script { .. }
            | Self::Tools { .. }
            | Self::Submit { .. }
            | Self::Unknown { .. } => false,
        }
    }

    /// Whether running it can change anything but the session. Readers run side by side, the
    /// rest one after another.
    pub fn only_reads(&self) -> bool {
        match self {
            Self::Read(_)
            | Self::Glob(_)
            | Self::Grep(_)
            | Self::Find { .. }
            | Self::List { .. }
            | Self::Fetch { .. }
            | Self::Tools { .. }
            | Self::Unknown { .. } => true,
            Self::Shell { .. }
            | Self::Job { .. }
            | Self::Write { .. }
            | Self::Rewrite { .. }
            | Self::Edit { .. }
            | Self::Insert { .. }
            | Self::Undo { .. }
            | Self::Patch { .. }
            | Self::Diff { .. }
            | Self::Todo { .. }
            | Self::Tasks { .. }
            | Self::Notebook { .. }
            | Self::Keys { .. }
            | Self::Submit { .. } => false,
            Self::Script { only_reads, .. } => *only_reads,
        }
    }
}
