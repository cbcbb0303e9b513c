//! Pure values: what a session is made of. No input or output, no clock, no environment.
//!
//! Everything in tack speaks these types. They are also the session file's format, so a field may
//! be added (with a default) but not renamed or given another meaning.

mod action;
mod care;
mod class;
mod hash;
mod ids;
mod item;
mod look;
mod outcome;
mod profile;
mod scene;
mod shown;
mod title;
mod trouble;
mod usage;

pub use action::{
    Action, CellKind, CellOp, Edit, FetchForm, JobOp, NewText, Stdin, TaskMore, TaskOp, TaskStatus, TodoItem,
    TodoStatus, Within, WriteMode,
};
pub use care::{Broken, Guards, ShellRules, Watch};
pub use class::{Class, Clue, Clues, billions};
pub use hash::{hash, hex, short_hash};
pub use ids::{BlobId, CallId, ItemId, SessionId};
pub use item::{
    Body, Decision, Image, Item, Mark, Note, NoteKind, Origin, Part, Reply, Said, Stop, Summary, ToolCall,
    ToolResult, asked,
};
pub use look::{Glob, Grep, Read, Show};
pub use outcome::{
    Cut, FileChange, FileChangeKind, Keep, Limits, MOST_BYTES, MOST_LINES, Outcome, REPEAT, Seen, State,
};
pub use profile::{Calls, Model, Prices, Probed, Thinking, WireKind};
pub use scene::{Entry, Git, Instructions, Project, Scene};
pub use shown::steers;
pub(crate) use title::words;
pub use trouble::{KeySent, Trouble, TroubleKind};
pub use usage::Usage;
