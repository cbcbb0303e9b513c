//! The text being typed: lines, a cursor, undo. Every change is one [`Buffer::replace`], whose work
//! depends on the change and the line it is in, not on the length of the text. Knows nothing of keys.

use std::cell::RefCell;
use std::rc::Rc;

use super::glyph;
use super::rows;

/// Steps that can be undone, and bytes they may hold together; the last can always.
const MOST_STEPS: usize = 1_000;
const MOST_HELD: usize = 16 << 20;

/// A place: a line, and a byte in it on a character boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pos {
    pub(super) line: usize,
    pub(super) byte: usize,
}

/// What a change is, so that a run of the same is undone at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Type,
    Erase,
    /// Never joined with another.
    Whole,
}

#[derive(Default)]
struct Line {
    text: String,
    /// Rows by width, until the line or the width changes.
    rows: RefCell<Option<(u16, Rc<[usize]>)>>,
}

struct Change {
    step: Step,
    at: Pos,
    removed: String,
    inserted: String,
    cursor: Pos,
}

pub(super) struct Buffer {
    /// Never empty.
    lines: Vec<Line>,
    cursor: Pos,
    undo: Vec<Change>,
    /// Whether the next change may join the last.
    open: bool,
    /// Counts changes.
    revision: u64,
}

impl Default for Buffer {
    fn default() -> Self {
        let lines = vec![Line::default()];
        Self { lines, cursor: Pos::default(), undo: Vec::new(), open: false, revision: 0 }
    }
}

impl Buffer {
    pub(super) fn cursor(&self) -> Pos {
        self.cursor
    }

    /// Changes when the text does.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn line(&self, line: usize) -> &str {
        &self.lines[line].text
    }

    pub(super) fn count(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.len() == 1 && self.lines[0].text.is_empty()
    }

    pub(super) fn end(&self) -> Pos {
        let line = self.lines.len() - 1;
        Pos { line, byte: self.lines[line].text.len() }
    }

    pub(super) fn text(&self) -> String {
        self.slice(Pos::default(), self.end())
    }

    /// Where the rows of a line begin at `width` columns; `label` is the columns of an atom.
    pub(super) fn rows(&self, line: usize, width: u16, label: &dyn Fn(char) -> usize) -> Rc<[usize]> {
        let line = &self.lines[line];
        let mut kept = line.rows.borrow_mut();
        if let Some((at, rows)) = &*kept
            && *at == width
        {
            return Rc::clone(rows);
        }
        let rows: Rc<[usize]> = rows::starts(&line.text, usize::from(width), label).into();
        *kept = Some((width, Rc::clone(&rows)));
        rows
    }

    pub(super) fn slice(&self, from: Pos, to: Pos) -> String {
        if from.line == to.line {
            return self.lines[from.line].text[from.byte..to.byte].to_owned();
        }
        let mut text = self.lines[from.line].text[from.byte..].to_owned();
        for line in &self.lines[from.line + 1..to.line] {
            text.push('\n');
            text.push_str(&line.text);
        }
        text.push('\n');
        text.push_str(&self.lines[to.line].text[..to.byte]);
        text
    }

    /// Puts `text` in the place of what is between, and the cursor behind it. Gives back what was there.
    pub(super) fn replace(&mut self, from: Pos, to: Pos, text: &str, step: Step) -> String {
        let cursor = self.cursor;
        let removed = self.splice(from, to, text);
        if removed.is_empty() && text.is_empty() {
            return removed;
        }
        self.record(Change { step, at: from, removed: removed.clone(), inserted: text.to_owned(), cursor });
        removed
    }

    /// Takes back the last step; false if there is none.
    pub(super) fn undo(&mut self) -> bool {
        let Some(change) = self.undo.pop() else { return false };
        self.splice(change.at, after(change.at, &change.inserted), &change.removed);
        self.cursor = change.cursor;
        self.open = false;
        true
    }

    /// Moves the cursor, to the next boundary if that is none. Ends a run of changes.
    pub(super) fn move_to(&mut self, at: Pos) {
        let line = at.line.min(self.lines.len() - 1);
        self.cursor = Pos { line, byte: glyph::ceil(&self.lines[line].text, at.byte) };
        self.open = false;
    }

    /// Forgets the text and how it came to be.
    pub(super) fn reset(&mut self) {
        *self = Self { revision: self.revision + 1, ..Self::default() };
    }

    pub(super) fn left(&self) -> Pos {
        let Pos { line, byte } = self.cursor;
        match (byte, line) {
            (0, 0) => self.cursor,
            (0, _) => Pos { line: line - 1, byte: self.lines[line - 1].text.len() },
            _ => Pos { line, byte: glyph::prev(&self.lines[line].text, byte) },
        }
    }

    pub(super) fn right(&self) -> Pos {
        let Pos { line, byte } = self.cursor;
        let text = &self.lines[line].text;
        if byte < text.len() {
            return Pos { line, byte: glyph::next(text, byte) };
        }
        if line + 1 < self.lines.len() { Pos { line: line + 1, byte: 0 } } else { self.cursor }
    }

    /// Start of the word before the cursor, by `find` within a line; lines without one are passed over.
    pub(super) fn back(&self, find: fn(&str, usize) -> Option<usize>) -> Pos {
        let mut at = self.cursor;
        loop {
            if let Some(byte) = find(&self.lines[at.line].text, at.byte) {
                return Pos { byte, ..at };
            }
            if at.line == 0 {
                return Pos::default();
            }
            at = Pos { line: at.line - 1, byte: self.lines[at.line - 1].text.len() };
        }
    }

    /// End of the word after the cursor.
    pub(super) fn forth(&self) -> Pos {
        let mut at = self.cursor;
        loop {
            if let Some(byte) = glyph::word_end(&self.lines[at.line].text, at.byte) {
                return Pos { byte, ..at };
            }
            if at.line + 1 == self.lines.len() {
                return self.end();
            }
            at = Pos { line: at.line + 1, byte: 0 };
        }
    }

    fn splice(&mut self, from: Pos, to: Pos, text: &str) -> String {
        let removed = self.slice(from, to);
        if removed.is_empty() && text.is_empty() {
            return removed;
        }
        self.revision += 1;
        let end = after(from, text);
        if from.line == to.line && !text.contains('\n') {
            self.lines[from.line].text.replace_range(from.byte..to.byte, text);
            *self.lines[from.line].rows.get_mut() = None;
        } else {
            let tail = self.lines[to.line].text.split_off(to.byte);
            let mut first = std::mem::take(&mut self.lines[from.line].text);
            first.truncate(from.byte);
            let new = (first + text + &tail)
                .split('\n')
                .map(|t| Line { text: t.to_owned(), ..Line::default() })
                .collect::<Vec<_>>();
            self.lines.splice(from.line..=to.line, new);
        }
        // What stands before and behind a change may become one character.
        self.cursor = Pos { line: end.line, byte: glyph::ceil(&self.lines[end.line].text, end.byte) };
        removed
    }

    fn record(&mut self, change: Change) {
        if self.open
            && let Some(last) = self.undo.last_mut()
            && last.join(&change)
        {
            return;
        }
        self.open = change.step != Step::Whole;
        self.undo.push(change);
        let mut held: usize = self.undo.iter().map(Change::size).sum();
        while self.undo.len() > MOST_STEPS || (held > MOST_HELD && self.undo.len() > 1) {
            held -= self.undo.remove(0).size();
        }
    }
}

impl Change {
    fn size(&self) -> usize {
        self.removed.len() + self.inserted.len()
    }

    /// Takes `next` in, if both are typing in one go or erasing in one go.
    fn join(&mut self, next: &Change) -> bool {
        if self.step != next.step {
            return false;
        }
        match self.step {
            Step::Whole => false,
            Step::Type => {
                // A new word begins a new step, so that undoing gives back some of what was typed.
                let word = self.inserted.ends_with(char::is_whitespace)
                    && !next.inserted.starts_with(char::is_whitespace);
                let goes_on = next.removed.is_empty() && next.at == after(self.at, &self.inserted);
                if word || !goes_on {
                    return false;
                }
                self.inserted.push_str(&next.inserted);
                true
            }
            Step::Erase if !next.inserted.is_empty() || !self.inserted.is_empty() => false,
            Step::Erase if after(next.at, &next.removed) == self.at => {
                self.removed.insert_str(0, &next.removed);
                self.at = next.at;
                true
            }
            Step::Erase if next.at == self.at => {
                self.removed.push_str(&next.removed);
                true
            }
            Step::Erase => false,
        }
    }
}

/// Where `text` ends that begins at `at`.
fn after(at: Pos, text: &str) -> Pos {
    match text.rfind('\n') {
        None => Pos { byte: at.byte + text.len(), ..at },
        Some(last) => Pos { line: at.line + text.matches('\n').count(), byte: text.len() - last - 1 },
    }
}
