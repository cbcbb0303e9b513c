//! The lists below the text: commands behind `/`, files behind `@`, what was sent before. Each takes the
//! keys of a list; all other keys go on to the text.

mod commands;
mod files;
mod search;

use crossterm::event::KeyEvent;
use ratatui::text::Line;

pub(super) use files::Files;
pub(super) use search::Search;

use super::act::{command_word, typed};
use super::buffer::{Pos, Step};
use super::keymap::Action;
use super::{Composer, Did};
use crate::tui::palette::Palette;

/// Rows of a list on the screen.
pub(super) const ROWS: usize = 8;

pub(super) enum Popup {
    /// Places in the table of commands, best first.
    Commands(List, Vec<usize>),
    Files(Files),
    Search(Search),
}

/// Which row of a list is chosen, and which is on top.
#[derive(Clone, Copy, Default)]
pub(super) struct List {
    pub(super) at: usize,
    top: usize,
}

impl List {
    /// Moves by an action of a list over `len` rows; false if it is none.
    fn go(&mut self, action: Action, len: usize) -> bool {
        let last = len.saturating_sub(1);
        self.at = match action {
            Action::Up if self.at == 0 => last,
            Action::Up => self.at - 1,
            Action::Down if self.at >= last => 0,
            Action::Down => self.at + 1,
            Action::PageUp => self.at.saturating_sub(ROWS),
            Action::PageDown => (self.at + ROWS).min(last),
            _ => return false,
        };
        self.top = self.top.clamp((self.at + 1).saturating_sub(ROWS), self.at);
        true
    }

    /// The rows that are on the screen if `height` fit.
    fn window(self, len: usize, height: usize) -> std::ops::Range<usize> {
        let height = height.min(ROWS);
        let top = self.top.max((self.at + 1).saturating_sub(height));
        top..(top + height).min(len)
    }
}

impl Popup {
    /// Rows it wants.
    pub(super) fn height(&self) -> usize {
        match self {
            // One more says how many there are besides.
            Self::Commands(_, found) => found.len().min(ROWS + 1),
            Self::Files(files) => files.height(),
            Self::Search(search) => search.height(),
        }
    }

    /// What is drawn, at most `size.1` rows of `size.0` columns; and the column of the cursor in the
    /// first, if it is there.
    pub(super) fn lines(
        &self,
        composer: &Composer,
        size: (usize, usize),
        palette: &Palette,
    ) -> (Vec<Line<'static>>, Option<usize>) {
        match self {
            Self::Commands(list, found) => {
                (commands::lines(&composer.commands, (*list, found), size, palette), None)
            }
            Self::Files(files) => (files.lines(size, palette), None),
            Self::Search(search) => search.lines(composer, size, palette),
        }
    }
}

impl Composer {
    /// A key while a list is open; none if it is not the list's.
    pub(super) fn popup_key(&mut self, key: &KeyEvent, action: Option<Action>) -> Option<Did> {
        let mut popup = self.popup.take()?;
        if let Popup::Search(search) = popup {
            return self.search_key(search, key, action);
        }
        let moved = action.is_some_and(|action| match &mut popup {
            Popup::Commands(list, found) => list.go(action, found.len()),
            Popup::Files(files) => files.go(action),
            Popup::Search(_) => false,
        });
        let accepts = matches!(action, Some(Action::Complete | Action::Submit));
        let closes = action == Some(Action::Escape);
        if closes {
            self.dismissed = true;
            return Some(Did::Edited);
        }
        self.popup = Some(popup);
        if accepts { self.accept(action?) } else { moved.then_some(Did::Edited) }
    }

    /// Tab or Enter on a list; none if it has nothing to give.
    fn accept(&mut self, action: Action) -> Option<Did> {
        match self.popup.take()? {
            Popup::Commands(list, found) => {
                let command = &self.commands[*found.get(list.at)?];
                let runs = action == Action::Submit && !command.args.starts_with('<');
                let name = format!("/{}", command.name);
                self.complete_command(&name);
                if runs { Some(self.submit()) } else { Some(Did::Edited) }
            }
            Popup::Files(mut files) => {
                files.settle(self.index.get());
                let whole = self.token();
                let Some(name) = files.chosen() else {
                    // Half a name must not be sent because Enter was faster than the index.
                    let waits = action == Action::Complete || !files.answered();
                    self.popup = Some(Popup::Files(files));
                    return waits.then_some(Did::Nothing);
                };
                // What is there in full already needs no completion: Enter sends it.
                if action == Action::Submit && whole.as_ref().is_some_and(|(_, text)| text == name) {
                    return None;
                }
                let (sign, _) = whole?;
                self.complete_file(sign, name, action);
                Some(Did::Edited)
            }
            Popup::Search(_) => None,
        }
    }

    fn complete_command(&mut self, name: &str) {
        let line = self.buffer.line(0);
        let end = command_word(line).map_or(0, |word| word.len() + 1);
        let spaced = line[end..].starts_with(' ');
        let name = if spaced { name.to_owned() } else { format!("{name} ") };
        let to = Pos { line: 0, byte: end };
        self.buffer.replace(Pos::default(), to, &name, Step::Whole);
        if spaced {
            self.buffer.move_to(self.buffer.right());
        }
    }

    /// Puts a file where the token stands that begins at `sign`. Tab goes on into a folder.
    fn complete_file(&mut self, sign: Pos, name: &str, action: Action) {
        let name = match (name.strip_suffix("/\""), action) {
            // An open quote, so that what follows belongs to it.
            (Some(open), Action::Complete) => format!("{open}/"),
            _ if name.ends_with('/') && action == Action::Complete => name.to_owned(),
            _ => format!("{name} "),
        };
        let here = self.buffer.cursor();
        self.buffer.replace(Pos { byte: sign.byte + 1, ..sign }, here, &name, Step::Whole);
    }

    /// Opens, changes or closes the list by what stands before the cursor.
    pub(super) fn refresh(&mut self) {
        if matches!(self.popup, Some(Popup::Search(_))) {
            return;
        }
        let command = self.command_query();
        let token = if command.is_none() { self.token() } else { None };
        if command.is_none() && token.is_none() {
            self.dismissed = false;
        }
        let popup = self.popup.take();
        if self.dismissed || self.quiet {
            return;
        }
        if let Some(query) = command {
            let found = commands::rank(&self.commands, &query, self.state);
            self.popup = (!found.is_empty()).then(|| Popup::Commands(List::default(), found));
        } else if let Some((_, text)) = token {
            let before = match popup {
                Some(Popup::Files(files)) => Some(files),
                Some(Popup::Commands(..) | Popup::Search(_)) | None => None,
            };
            self.popup = self.index.start().map(|index| Popup::Files(Files::ask(index, &text, before)));
        }
    }

    /// Tab without a list: opens the one that was closed.
    pub(super) fn complete(&mut self) -> Did {
        self.dismissed = false;
        self.refresh();
        if self.popup.is_some() { Did::Edited } else { Did::Nothing }
    }

    /// What is typed of a command, up to the cursor in it.
    fn command_query(&self) -> Option<String> {
        let at = self.buffer.cursor();
        let word = command_word(self.buffer.line(0)).filter(|_| at.line == 0 && at.byte > 0)?;
        (at.byte <= word.len() + 1).then(|| self.buffer.line(0)[1..at.byte].to_owned())
    }

    /// Where the `@` before the cursor stands, and what is between; none if the cursor is behind the token.
    fn token(&self) -> Option<(Pos, String)> {
        let at = self.buffer.cursor();
        let (start, text) = files::token(&self.buffer.line(at.line)[..at.byte])?;
        Some((Pos { byte: start, ..at }, text.to_owned()))
    }

    pub(super) fn open_search(&mut self) {
        self.popup = Some(Popup::Search(Search::new(&mut self.history)));
    }

    /// Text that arrives whole while what was sent is searched belongs to the question.
    pub(super) fn search_types(&mut self, text: &str) -> bool {
        let Some(Popup::Search(search)) = &mut self.popup else { return false };
        search.add(text, &self.history);
        true
    }

    fn search_key(&mut self, mut search: Search, key: &KeyEvent, action: Option<Action>) -> Option<Did> {
        let history = &mut self.history;
        let did = match (action, typed(key)) {
            (_, Some(c)) => {
                search.add(c.encode_utf8(&mut [0; 4]), history);
                Did::Edited
            }
            (Some(Action::Backspace), _) => {
                search.shorten(history);
                Did::Edited
            }
            (Some(Action::SearchHistory), _) => {
                search.widen(history);
                Did::Edited
            }
            (Some(Action::Submit | Action::Complete), _) => {
                if let Some(parts) = search.chosen(history) {
                    self.set_parts(&parts);
                }
                return Some(Did::Edited);
            }
            (Some(Action::Escape | Action::Interrupt), _) => return Some(Did::Edited),
            (Some(action), _) if search.go(action) => Did::Edited,
            (Some(Action::Redraw | Action::Suspend), _) => {
                self.popup = Some(Popup::Search(search));
                return None;
            }
            _ => Did::Nothing,
        };
        self.popup = Some(Popup::Search(search));
        Some(did)
    }
}
