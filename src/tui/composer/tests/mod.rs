//! Keys in, text out. `|` is the cursor; atoms show as their placeholder.

mod editing;
mod files;
mod kept;
mod pasting;
mod random;
mod screen;
mod sending;

use std::path::Path;
use std::sync::{Arc, mpsc};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tempfile::TempDir;

use super::buffer::Pos;
use super::*;

/// A composer in a folder of its own, and where it keeps things.
pub(super) struct Kit {
    pub(super) composer: Composer,
    pub(super) folder: TempDir,
    pub(super) state: TempDir,
    /// Hears the index.
    pub(super) woken: mpsc::Receiver<()>,
}

pub(super) fn command(name: &str, args: &str, help: &str) -> Command {
    let (name, args, help) = (name.to_owned(), args.to_owned(), help.to_owned());
    Command { name, args, help, aliases: Vec::new(), offered: Offered::Always }
}

fn commands() -> Vec<Command> {
    vec![
        command("model", "[name]", "choose model; shows price, window, tools"),
        command("harness", "[id|auto]", "change how tack speaks to the model"),
        Command { offered: Offered::Idle, ..command("compact", "[focus]", "summarise old turns now") },
        command("rename", "<name>", "name this session"),
        Command { aliases: vec!["quit".to_owned()], ..command("exit", "", "leave") },
    ]
}

impl Kit {
    pub(super) fn new() -> Self {
        let (folder, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let (wake, woken) = mpsc::channel();
        let wake = Arc::new(move || {
            let _ = wake.send(());
        });
        let composer = Composer::new(Settings { wake, ..settings(folder.path(), state.path(), "one") });
        Self { composer, folder, state, woken }
    }

    /// With a text in it, the cursor at `|`.
    pub(super) fn with(text: &str) -> Self {
        let mut kit = Self::new();
        kit.set(text);
        kit
    }

    pub(super) fn set(&mut self, text: &str) {
        let at = text.find('|').unwrap_or(text.len());
        let (before, behind) = (&text[..at], text[at..].strip_prefix('|').unwrap_or(""));
        self.composer.set_text(&format!("{before}{behind}"));
        let line = before.matches('\n').count();
        let byte = before.len() - before.rfind('\n').map_or(0, |i| i + 1);
        self.composer.buffer.move_to(Pos { line, byte });
    }

    /// What the text is now, the cursor as `|`.
    pub(super) fn text(&self) -> String {
        let buffer = &self.composer.buffer;
        let show = |text: String| draft::shown(&self.composer.atoms.parts(&text));
        let before = buffer.slice(Pos::default(), buffer.cursor());
        let behind = buffer.slice(buffer.cursor(), buffer.end());
        format!("{}|{}", show(before), show(behind))
    }

    /// Presses keys, with blanks between; what the last one did.
    pub(super) fn keys(&mut self, keys: &str) -> Did {
        let mut did = Did::Nothing;
        for key in keys.split_whitespace() {
            did = self.composer.key(press(key));
        }
        did
    }

    pub(super) fn types(&mut self, text: &str) -> Did {
        let mut did = Did::Nothing;
        for c in text.chars() {
            did = self.composer.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
        }
        did
    }

    /// Types a text and sends it.
    pub(super) fn sends(&mut self, text: &str) -> Draft {
        self.types(text);
        match self.keys("enter") {
            Did::Send(draft) => draft,
            other => panic!("{text}: {other:?}"),
        }
    }

    pub(super) fn write(&self, name: impl AsRef<Path>, bytes: &[u8]) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

pub(super) fn settings(folder: &Path, state: &Path, session: &str) -> Settings {
    Settings {
        commands: commands(),
        keymap: Keymap::default(),
        folder: folder.to_owned(),
        state: Some(state.to_owned()),
        session: session.to_owned(),
        placeholder: "Ask, or / for commands".to_owned(),
        wake: Arc::new(|| {}),
    }
}

pub(super) fn press(key: &str) -> KeyEvent {
    Chord::parse(key).unwrap_or_else(|| panic!("{key} is no key")).event()
}
