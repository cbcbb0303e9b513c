//! What the person types: editing, history, paste and popups. Keys in, text out.
//!
//! The application gives every key to [`Composer::key`] and does what the [`Did`] says; it draws with
//! [`Composer::render`]. Must not know the terminal, the agent or the session; it reads file names below
//! its folder and keeps its history and drafts in the state folder, nothing else.

mod act;
mod atoms;
mod buffer;
mod draft;
mod drafts;
mod edit;
pub mod editor;
mod glyph;
mod history;
mod index;
mod keymap;
mod mention;
mod paste;
mod popup;
mod private;
mod rows;
mod view;

use std::path::PathBuf;
use std::sync::Arc;

pub use act::unknown;
use atoms::Atoms;
use buffer::Buffer;
pub use draft::{Draft, Image, Kind, Part};
pub use keymap::{Action, Chord, Keymap, sheet};
pub use mention::{Mention, There};
use popup::Popup;

/// A command of the `/` list. Their order in [`Settings`] is the one shown.
#[derive(Clone, Debug)]
pub struct Command {
    pub name: String,
    /// As shown: `<needed>` or `[optional]`; empty if it takes none.
    pub args: String,
    pub help: String,
    pub aliases: Vec<String>,
    pub offered: Offered,
}

/// When a command can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    Always,
    /// Not while a turn runs.
    Idle,
}

/// What a composer is made with.
pub struct Settings {
    pub commands: Vec<Command>,
    pub keymap: Keymap,
    /// The folder of the session: `@` looks below it, history is kept by it.
    pub folder: PathBuf,
    /// Where history and drafts are kept; none: they are not.
    pub state: Option<PathBuf>,
    /// Names the file of drafts.
    pub session: String,
    /// Shown while nothing is typed.
    pub placeholder: String,
    /// Called from another thread when [`Composer::poll`] would show more.
    pub wake: Arc<dyn Fn() + Send + Sync>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    Idle,
    /// A turn runs.
    Working,
}

/// What a key came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Did {
    /// Text, cursor or popup changed.
    Edited,
    Nothing,
    /// Enter while idle. The composer is empty now, the draft in the history.
    Send(Draft),
    Act(Act),
}

/// What the application has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Enter while a turn runs: after it. The composer is empty now. A command is for now, not for later.
    Queue(Draft),
    /// At the next safe point: this, or what is queued if nothing was typed.
    Steer(Option<Draft>),
    /// Esc while a turn runs.
    Stop,
    /// Esc twice on an empty composer.
    Rewind,
    /// Ctrl+C with nothing to clear, or while a turn runs: stop it, arm the exit, exit.
    ClearOrExit,
    Exit,
    /// Up on an empty composer while something is queued: give it to [`Composer::restore`].
    EditLastQueued,
    /// Write [`Composer::editor_text`] to a file, edit, give it to [`Composer::set_text`].
    Editor,
    /// Give what the clipboard holds to [`Composer::paste`] or [`Composer::paste_image`].
    PasteClipboard,
    CycleMode,
    Transcript,
    Fold,
    ModelPicker,
    HarnessPicker,
    KeySheet,
    Redraw,
    Suspend,
}

/// What the key before this one was, for keys that go on from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Other,
    Cut,
    /// What was put back lies between.
    Yank(buffer::Pos, buffer::Pos),
    Escape,
    /// Up or Down by rows, aiming at this column.
    Row(usize),
}

pub struct Composer {
    commands: Vec<Command>,
    keymap: Keymap,
    folder: PathBuf,
    placeholder: String,
    state: State,
    queued: usize,
    buffer: Buffer,
    atoms: Atoms,
    ring: edit::Ring,
    last: Last,
    popup: Option<Popup>,
    /// The popup was closed by Esc: it stays so until what it would complete is gone.
    dismissed: bool,
    /// The text came whole in this key: a list that opened would catch the arrows that leaf through the
    /// history.
    quiet: bool,
    index: index::Lazy,
    history: history::History,
    stash: Option<Vec<Part>>,
    /// A line in red under the text, until the next key.
    note: Option<String>,
    drafts: drafts::Drafts,
    view: view::View,
}

impl Composer {
    pub fn new(settings: Settings) -> Self {
        let Settings { commands, keymap, folder, state, session, placeholder, wake } = settings;
        Self {
            commands,
            keymap,
            placeholder,
            state: State::Idle,
            queued: 0,
            buffer: Buffer::default(),
            atoms: Atoms::default(),
            ring: edit::Ring::default(),
            last: Last::Other,
            popup: None,
            dismissed: false,
            quiet: false,
            index: index::Lazy::new(folder.clone(), wake),
            history: history::History::new(state.as_deref(), &folder),
            stash: None,
            note: None,
            drafts: drafts::Drafts::new(state.as_deref(), &folder, &session),
            view: view::View::default(),
            folder,
        }
    }

    pub fn keymap(&self) -> &Keymap {
        &self.keymap
    }

    /// Whether a turn runs.
    pub fn set_state(&mut self, state: State) {
        if self.state != state {
            self.state = state;
            self.last = Last::Other;
            self.refresh();
        }
    }

    /// How many drafts wait, so that Up can ask for the last.
    pub fn set_queued(&mut self, count: usize) {
        self.queued = count;
    }

    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Whether a list is open: then Esc and the arrows are its own.
    pub fn has_popup(&self) -> bool {
        self.popup.is_some()
    }

    /// A line in red under the text until the next key.
    pub fn set_note(&mut self, note: impl Into<String>) {
        self.note = Some(note.into());
    }

    /// Takes in what the file index found since. True if something changed on the screen.
    pub fn poll(&mut self) -> bool {
        let Some(Popup::Files(files)) = &mut self.popup else { return false };
        self.index.get().is_some_and(|index| files.take(index.hits()))
    }
}

#[cfg(test)]
mod tests;
