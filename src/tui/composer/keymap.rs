//! Which key does what: one table of actions with their names, keys and a line of help, which the
//! configuration may change. Knows nothing of what the actions do.

use std::collections::HashMap;
use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with its modifiers, the same however a terminal reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chord {
    code: KeyCode,
    mods: KeyModifiers,
}

macro_rules! actions {
    ($($action:ident $name:literal [$($chord:literal),*] $help:literal;)*) => {
        /// Everything a key can do besides typing itself.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action { $($action),* }

        /// Name, usual keys and help of each action, in the order of the key sheet.
        const TABLE: &[(Action, &str, &[&str], &str)] = &[
            $((Action::$action, $name, &[$($chord),*], $help)),*
        ];
    };
}

actions! {
    Submit "submit" ["enter"] "send; while a turn runs: queue";
    Newline "newline" ["shift+enter", "alt+enter", "ctrl+j"] "new line (also \\ before enter)";
    Steer "steer" ["ctrl+s"] "put the draft aside, or back; while a turn runs: send now";
    Escape "escape" ["esc"] "close a list; stop the turn; twice on an empty line: rewind";
    Interrupt "interrupt" ["ctrl+c"] "clear the text; stop the turn; twice: exit";
    Complete "complete" ["tab"] "take the completion";
    CycleMode "cycle-mode" ["shift+tab"] "next mode: ask, edits, plan";
    SearchHistory "search-history" ["ctrl+r"] "search what was sent; again: in all folders";
    Editor "editor" ["ctrl+g"] "write in $VISUAL or $EDITOR";
    Paste "paste" ["ctrl+v"] "paste, or attach the image in the clipboard";
    Fold "fold" ["ctrl+o"] "unfold a paste, or the newest folded result";
    Transcript "transcript" ["ctrl+t"] "everything, to scroll and search";
    ModelPicker "model-picker" ["alt+m"] "choose the model";
    HarnessPicker "harness-picker" ["alt+h"] "choose the harness";
    KeySheet "key-sheet" ["?"] "this list (on an empty line)";
    Redraw "redraw" ["ctrl+l"] "draw the screen again";
    Suspend "suspend" ["ctrl+z"] "back to the shell; fg returns";
    DeleteOrExit "delete-or-exit" ["ctrl+d"] "delete the character under the cursor; on an empty line: exit";
    Up "up" ["up", "ctrl+p"] "row above, then older text; empty with a queue: edit the last queued";
    Down "down" ["down", "ctrl+n"] "row below, then newer text";
    PageUp "page-up" ["pageup"] "a page up in a list";
    PageDown "page-down" ["pagedown"] "a page down in a list";
    Left "left" ["left", "ctrl+b"] "character left";
    Right "right" ["right", "ctrl+f"] "character right";
    WordLeft "word-left" ["alt+b", "ctrl+left", "alt+left"] "word left";
    WordRight "word-right" ["alt+f", "ctrl+right", "alt+right"] "word right";
    LineStart "line-start" ["ctrl+a", "home"] "start of the line";
    LineEnd "line-end" ["ctrl+e", "end"] "end of the line";
    TextStart "text-start" ["ctrl+home", "alt+<"] "start of the text";
    TextEnd "text-end" ["ctrl+end", "alt+>"] "end of the text";
    Backspace "backspace" ["backspace", "shift+backspace", "ctrl+h"] "delete the character before the cursor";
    Delete "delete" ["delete"] "delete the character under the cursor";
    CutRun "cut-run" ["ctrl+w"] "cut back to the blank before";
    CutWordLeft "cut-word-left" ["alt+backspace", "ctrl+backspace"] "cut the word before the cursor";
    CutWordRight "cut-word-right" ["alt+d", "ctrl+delete", "alt+delete"] "cut the word after the cursor";
    CutToStart "cut-to-start" ["ctrl+u"] "cut to the start of the line";
    CutToEnd "cut-to-end" ["ctrl+k"] "cut to the end of the line";
    Yank "yank" ["ctrl+y"] "put back what was cut";
    YankOlder "yank-older" ["alt+y"] "after that: what was cut before it";
    Undo "undo" ["ctrl+_", "ctrl+7", "ctrl+/"] "undo";
}

/// Keys to actions.
#[derive(Clone, Debug)]
pub struct Keymap {
    actions: HashMap<Chord, Action>,
    /// In the order of the table; the keys as they are bound now.
    rows: Vec<(Action, Vec<Chord>)>,
}

impl Default for Keymap {
    fn default() -> Self {
        Self::with(std::iter::empty()).0
    }
}

impl Keymap {
    /// The usual keys, with those actions changed that `[tui.keys]` of the configuration names: an action and
    /// its keys, with blanks between. Never fails: what could not be taken is told, one line each, and the
    /// rest holds. A key that was asked for wins over a usual one, and both actions are named.
    pub fn with<'a>(changes: impl IntoIterator<Item = (&'a str, &'a str)>) -> (Self, Vec<String>) {
        let mut wrong = Vec::new();
        let mut rows: Vec<(Action, Vec<Chord>)> = TABLE
            .iter()
            .map(|(action, _, keys, _)| (*action, keys.iter().filter_map(|key| Chord::parse(key)).collect()))
            .collect();
        let mut changed = Vec::new();
        for (name, keys) in changes {
            let Some(at) = TABLE.iter().position(|(_, known, ..)| *known == name) else {
                wrong.push(format!("tui.keys: there is no action {name}; /keys lists them"));
                continue;
            };
            let parse = |key: &str| {
                let chord = Chord::parse(key);
                if chord.is_none() {
                    wrong
                        .push(format!("tui.keys.{name}: {key} is no key; write it like ctrl+x or alt+enter"));
                }
                chord
            };
            rows[at].1 = keys.split_whitespace().filter_map(parse).collect();
            changed.push(at);
        }
        // Those that were asked for first, so that they win.
        let usual = (0..rows.len()).filter(|at| !changed.contains(at));
        let order: Vec<usize> = changed.iter().copied().chain(usual).collect();
        let mut actions = HashMap::new();
        for at in order {
            let (action, keys) = &mut rows[at];
            keys.retain(|key| match actions.insert(*key, *action) {
                Some(other) if other != *action => {
                    actions.insert(*key, other);
                    wrong.push(format!(
                        "tui.keys: {key} is bound to {} and {}; it stays with {}",
                        other.name(),
                        action.name(),
                        other.name()
                    ));
                    false
                }
                _ => true,
            });
        }
        (Self { actions, rows }, wrong)
    }

    pub(super) fn action(&self, key: &KeyEvent) -> Option<Action> {
        self.actions.get(&Chord::of(key)).copied()
    }

    /// The keys of an action as a person reads them, `enter, ctrl+j`; empty if it has none.
    pub fn keys(&self, action: Action) -> String {
        let row = self.rows.iter().find(|(a, _)| *a == action);
        row.map_or_else(String::new, |(_, keys)| joined(keys))
    }
}

/// The key sheet: keys, name of the action, help. Actions without a key are listed too.
pub fn sheet(keymap: &Keymap) -> Vec<(String, &'static str, &'static str)> {
    keymap
        .rows
        .iter()
        .zip(TABLE)
        .map(|((_, keys), (_, name, _, help))| (joined(keys), *name, *help))
        .collect()
}

fn joined(keys: &[Chord]) -> String {
    keys.iter().map(Chord::to_string).collect::<Vec<_>>().join(", ")
}

impl Action {
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|(action, ..)| *action == self).map_or("", |(_, name, ..)| name)
    }
}

const NAMES: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("tab", KeyCode::Tab),
    ("esc", KeyCode::Esc),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
];

const MODS: &[(&str, KeyModifiers)] = &[
    ("ctrl", KeyModifiers::CONTROL),
    ("alt", KeyModifiers::ALT),
    ("shift", KeyModifiers::SHIFT),
    ("super", KeyModifiers::SUPER),
];

impl Chord {
    /// `ctrl+x`, `alt+enter`, `f5`, `?`; none if it is no key.
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let mut mods = KeyModifiers::NONE;
        let mut rest = lower.as_str();
        while let Some((name, mask, after)) = MODS
            .iter()
            .find_map(|(name, mask)| Some((name, mask, rest.strip_prefix(name)?.strip_prefix('+')?)))
            .filter(|(.., after)| !after.is_empty())
        {
            debug_assert!(!name.is_empty());
            mods |= *mask;
            rest = after;
        }
        let named = NAMES.iter().find(|(name, _)| *name == rest).map(|(_, code)| *code);
        let code = named.or_else(|| match rest.strip_prefix('f').and_then(|n| n.parse().ok()) {
            Some(n @ 1..=24) => Some(KeyCode::F(n)),
            _ => {
                // As it was written: a capital letter is another key where no Ctrl is held.
                let mut chars = text[text.len() - rest.len()..].chars();
                chars.next().filter(|c| !c.is_control() && chars.next().is_none()).map(KeyCode::Char)
            }
        })?;
        Some(Self::of(&KeyEvent::new(code, mods)))
    }

    #[cfg(test)]
    pub(super) fn event(self) -> KeyEvent {
        KeyEvent::new(self.code, self.mods)
    }

    /// Shift is part of a character, and letters held with Ctrl have no case.
    pub(super) fn of(key: &KeyEvent) -> Self {
        let held = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SUPER;
        match key.code {
            KeyCode::BackTab => {
                Self { code: KeyCode::Tab, mods: (key.modifiers & held) | KeyModifiers::SHIFT }
            }
            KeyCode::Char(c) => {
                let mods = key.modifiers & held;
                let shift = key.modifiers.contains(KeyModifiers::SHIFT);
                let c = match c {
                    c if mods.contains(KeyModifiers::CONTROL) => c.to_ascii_lowercase(),
                    c if shift => c.to_ascii_uppercase(),
                    c => c,
                };
                Self { code: KeyCode::Char(c), mods }
            }
            code => Self { code, mods: key.modifiers & (held | KeyModifiers::SHIFT) },
        }
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, mask) in MODS {
            if self.mods.contains(*mask) {
                write!(f, "{name}+")?;
            }
        }
        match (NAMES.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::Char(c)) => write!(f, "{c}"),
            (None, KeyCode::F(n)) => write!(f, "f{n}"),
            (None, other) => write!(f, "{other}"),
        }
    }
}
