//! From a key to what it does: popups first, then the keymap, then typing. And from a text to a draft.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::draft::{self, Part};
use super::{Act, Composer, Did, Draft, Image, Kind, Last, Mention, Offered, State};
use super::{keymap::Action, mention, rows};
use crate::config::near;

impl Composer {
    pub fn key(&mut self, key: KeyEvent) -> Did {
        if key.kind == KeyEventKind::Release {
            return Did::Nothing;
        }
        self.quiet = false;
        let noted = self.note.take().is_some();
        let last = std::mem::take(&mut self.last);
        let action = self.keymap.action(&key);
        let before = (self.buffer.revision(), self.buffer.cursor());
        let did = match self.popup_key(&key, action) {
            Some(did) => did,
            None => self.act_or_type(&key, action, last),
        };
        if before.0 != self.buffer.revision() || (before.1 != self.buffer.cursor() && self.popup.is_some()) {
            self.refresh();
        }
        if did == Did::Nothing && noted { Did::Edited } else { did }
    }

    fn act_or_type(&mut self, key: &KeyEvent, action: Option<Action>, last: Last) -> Did {
        let typed = typed(key);
        // A bare character is a key of its own only where it would begin a text.
        match action.filter(|_| typed.is_none() || self.buffer.is_empty()) {
            Some(action) => self.act(action, last),
            None => match typed {
                Some(c) => {
                    self.insert(c.encode_utf8(&mut [0; 4]));
                    Did::Edited
                }
                None => Did::Nothing,
            },
        }
    }

    fn act(&mut self, action: Action, last: Last) -> Did {
        let working = self.state == State::Working;
        let empty = self.buffer.is_empty();
        match action {
            Action::Submit => self.submit(),
            Action::Newline => {
                self.insert("\n");
                Did::Edited
            }
            Action::Steer if working => self.steer(),
            Action::Steer => self.stash(),
            Action::Escape if working => Did::Act(Act::Stop),
            Action::Escape if empty && last == Last::Escape => Did::Act(Act::Rewind),
            Action::Escape if self.buffer.text() == "/" => {
                self.set_text("");
                Did::Edited
            }
            Action::Escape => {
                self.last = if empty { Last::Escape } else { Last::Other };
                Did::Nothing
            }
            Action::Interrupt if working || empty => Did::Act(Act::ClearOrExit),
            Action::Interrupt => {
                self.clear();
                Did::Edited
            }
            Action::DeleteOrExit if empty => Did::Act(Act::Exit),
            Action::DeleteOrExit => self.edit(Action::Delete, last),
            Action::Up if empty && self.queued > 0 => Did::Act(Act::EditLastQueued),
            Action::Up | Action::Down => self.vertical(action, last),
            Action::SearchHistory => {
                self.open_search();
                Did::Edited
            }
            Action::Fold if self.expand() => Did::Edited,
            Action::Fold => Did::Act(Act::Fold),
            Action::Editor => Did::Act(Act::Editor),
            Action::Paste => Did::Act(Act::PasteClipboard),
            Action::CycleMode => Did::Act(Act::CycleMode),
            Action::Transcript => Did::Act(Act::Transcript),
            Action::ModelPicker => Did::Act(Act::ModelPicker),
            Action::HarnessPicker => Did::Act(Act::HarnessPicker),
            Action::KeySheet => Did::Act(Act::KeySheet),
            Action::Redraw => Did::Act(Act::Redraw),
            Action::Suspend => Did::Act(Act::Suspend),
            Action::Complete => self.complete(),
            Action::PageUp | Action::PageDown => Did::Nothing,
            editing => self.edit(editing, last),
        }
    }

    /// Up and Down: by rows of the screen, beyond the first and the last into the history.
    fn vertical(&mut self, action: Action, last: Last) -> Did {
        let width = self.view.text_width();
        let label = |c| self.atoms.columns(c);
        let here = self.buffer.cursor();
        let line = self.buffer.line(here.line);
        let starts = self.buffer.rows(here.line, width, &label);
        let row = rows::row_of(&starts, here.byte);
        let goal = match last {
            Last::Row(goal) => goal,
            Last::Other | Last::Cut | Last::Yank(..) | Last::Escape => {
                rows::column_of(line, starts[row], here.byte, &label)
            }
        };
        let target = match action {
            Action::Up if row > 0 => Some((here.line, row - 1)),
            Action::Up => here.line.checked_sub(1).map(|l| (l, usize::MAX)),
            _ if row + 1 < starts.len() => Some((here.line, row + 1)),
            _ => Some((here.line + 1, 0)).filter(|(l, _)| *l < self.buffer.count()),
        };
        let Some((to, row)) = target else {
            return match action {
                Action::Up => self.older(),
                _ => self.newer(),
            };
        };
        let line = self.buffer.line(to);
        let starts = self.buffer.rows(to, width, &label);
        let row = row.min(starts.len() - 1);
        // The end of a folded row is where the next begins.
        let end = starts.get(row + 1).map_or(line.len(), |next| super::glyph::prev(line, *next));
        let byte = rows::at_column(line, starts[row]..=end.max(starts[row]), goal, &label);
        self.buffer.move_to(super::buffer::Pos { line: to, byte });
        self.last = Last::Row(goal);
        Did::Edited
    }

    fn older(&mut self) -> Did {
        let parts = self.parts();
        match self.history.older(&parts) {
            Some(parts) => {
                self.set_parts(&parts);
                Did::Edited
            }
            None => Did::Nothing,
        }
    }

    fn newer(&mut self) -> Did {
        match self.history.newer() {
            Some(parts) => {
                self.set_parts(&parts);
                Did::Edited
            }
            None => Did::Nothing,
        }
    }

    /// Enter: a new line after `\`, else the draft, if there is one and it is none of a command we lack.
    pub(super) fn submit(&mut self) -> Did {
        let here = self.buffer.cursor();
        if self.buffer.line(here.line)[..here.byte].ends_with('\\') {
            let left = self.buffer.left();
            self.buffer.replace(left, here, "\n", super::buffer::Step::Whole);
            return Did::Edited;
        }
        match (self.send(), self.state) {
            (None, _) => Did::Edited,
            (Some(draft), State::Idle) => Did::Send(draft),
            (Some(draft), State::Working) => Did::Act(Act::Queue(draft)),
        }
    }

    fn steer(&mut self) -> Did {
        if self.buffer.is_empty() {
            return Did::Act(Act::Steer(None));
        }
        self.send().map_or(Did::Edited, |draft| Did::Act(Act::Steer(Some(draft))))
    }

    /// Puts the text aside, or gives it back in exchange.
    fn stash(&mut self) -> Did {
        let parts = self.take();
        let before = std::mem::take(&mut self.stash);
        if parts.is_empty() && before.is_none() {
            return Did::Nothing;
        }
        self.stash = Some(parts).filter(|parts| !parts.is_empty());
        if let Some(before) = before {
            self.set_parts(&before);
        } else {
            self.set_note(format!("put aside; {} gives it back", self.keymap.keys(Action::Steer)));
        }
        Did::Edited
    }

    /// The text as a draft, if it can be one; the composer is empty then. Else a note says why not.
    fn send(&mut self) -> Option<Draft> {
        let parts = self.parts();
        if draft::full(&parts).trim().is_empty() {
            return None;
        }
        let kind = match self.kind(&parts) {
            Ok(kind) => kind,
            Err(note) => {
                self.set_note(note);
                return None;
            }
        };
        self.take();
        self.history.push(&parts);
        Some(self.draft(kind, parts))
    }

    pub(super) fn draft(&self, kind: Kind, parts: Vec<Part>) -> Draft {
        let mut text = String::new();
        let mut mentions: Vec<Mention> = Vec::new();
        let mut images: Vec<Image> = Vec::new();
        for part in &parts {
            match part {
                Part::Text(plain) => mentions.extend(mention::tokens(plain).iter().map(|token| {
                    let found = token.find(&self.folder);
                    let span = found.span.start + text.len()..found.span.end + text.len();
                    Mention { span, ..found }
                })),
                Part::Paste(_) => {}
                Part::Image { image, .. } => images.push(image.clone()),
            }
            text.push_str(&part.full());
        }
        Draft { kind, shown: draft::shown(&parts), text, images, mentions, parts }
    }

    /// What the text asks for, or why it cannot.
    pub(super) fn kind(&self, parts: &[Part]) -> Result<Kind, String> {
        let Some(Part::Text(first)) = parts.first() else { return Ok(Kind::Prompt) };
        let full = draft::full(parts);
        if let Some(command) = first.strip_prefix('!').map(|_| &full[1..]) {
            return match command.strip_prefix('!') {
                _ if command.trim_start_matches('!').trim().is_empty() => {
                    Err("write a command behind !, like !git status".to_owned())
                }
                Some(command) => Ok(Kind::PrivateShell(command.trim().to_owned())),
                None => Ok(Kind::Shell(command.trim().to_owned())),
            };
        }
        let Some(word) = command_word(&full) else { return Ok(Kind::Prompt) };
        let Some(command) = self.command(word) else {
            let names = self.commands.iter().map(|command| command.name.as_str());
            return Err(unknown(word, names));
        };
        if self.state == State::Working && command.offered == Offered::Idle {
            return Err(format!("/{} waits for the end of the turn; esc stops it", command.name));
        }
        Ok(Kind::Command { name: command.name.clone(), args: full[1 + word.len()..].trim().to_owned() })
    }

    pub(super) fn command(&self, word: &str) -> Option<&super::Command> {
        let named = self.commands.iter().find(|c| c.name == word);
        named.or_else(|| self.commands.iter().find(|c| c.aliases.iter().any(|a| a == word)))
    }
}

/// That there is no such command, and which may have been meant.
pub fn unknown<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let meant: Vec<String> = near(word, names).into_iter().map(|name| format!("/{name}")).collect();
    match meant.is_empty() {
        true => format!("there is no command /{word}; / lists them"),
        false => format!("there is no command /{word}; did you mean {}?", meant.join(" or ")),
    }
}

/// The word behind a `/` at the very start; none if it is a path or a comment and so no command.
pub(super) fn command_word(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('/')?;
    let word = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
    (!word.contains(['/', '*'])).then_some(word)
}

/// The character a key types. Ctrl and Alt held together are AltGr on some systems.
pub(super) fn typed(key: &KeyEvent) -> Option<char> {
    let KeyCode::Char(c) = key.code else { return None };
    let held = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SUPER);
    let alt_gr = cfg!(windows) && held == KeyModifiers::CONTROL | KeyModifiers::ALT;
    let shifted = key.modifiers.contains(KeyModifiers::SHIFT) && c.is_ascii_lowercase();
    (held.is_empty() || alt_gr).then(|| if shifted { c.to_ascii_uppercase() } else { c })
}
