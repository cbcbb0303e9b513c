//! The keys that change the text or move in it, and texts that arrive whole: pastes, recalled drafts,
//! what an editor wrote.

use super::buffer::{Pos, Step};
use super::draft::{self, Image, Part};
use super::paste::{self, Pasted};
use super::{Composer, Did, Draft, Last, atoms, glyph, keymap::Action};

/// What was cut, newest last.
#[derive(Default)]
pub(super) struct Ring {
    cut: Vec<String>,
    /// How far back the last yank went.
    back: usize,
}

const MOST_CUT: usize = 32;

/// Which side of what was cut just before a cut lies on.
#[derive(Clone, Copy)]
enum Side {
    Before,
    Behind,
}

impl Composer {
    /// Types `text` where the cursor is.
    pub(super) fn insert(&mut self, text: &str) {
        let text = atoms::without_atoms(text).into_owned();
        let at = self.buffer.cursor();
        self.buffer.replace(at, at, &text, Step::Type);
    }

    /// What was pasted or dropped: as text, as a block with a placeholder, or as images.
    pub fn paste(&mut self, text: &str) -> Did {
        self.note = None;
        self.last = Last::Other;
        if self.search_types(text) {
            return Did::Edited;
        }
        match paste::read(text, &self.folder) {
            Pasted::Text(text) if text.is_empty() => return Did::Nothing,
            Pasted::Text(text) => self.put(&[Part::Text(text)]),
            Pasted::Block(text) => self.put(&[Part::Paste(text)]),
            Pasted::Images(images) => {
                for (path, size) in images {
                    self.put_image(Image::File(path), size);
                }
            }
        }
        self.refresh();
        Did::Edited
    }

    /// An image of the clipboard.
    pub fn paste_image(&mut self, bytes: Vec<u8>) -> Did {
        let size = bytes.len() as u64;
        self.last = Last::Other;
        self.put_image(Image::Bytes(bytes.into()), size);
        self.refresh();
        Did::Edited
    }

    /// Takes a draft back, before what is typed by now.
    pub fn restore(&mut self, draft: &Draft) {
        let mut parts = draft.parts.clone();
        if !self.buffer.is_empty() {
            parts.push(Part::Text("\n".to_owned()));
            parts.extend(self.parts());
        }
        self.set_parts(&parts);
    }

    /// The text for an editor: pastes in full, images by placeholder.
    pub fn editor_text(&self) -> String {
        self.parts()
            .iter()
            .map(|part| match part {
                Part::Text(text) | Part::Paste(text) => text.clone(),
                Part::Image { .. } => part.shown(),
            })
            .collect()
    }

    /// What came back from an editor. Placeholders of images that were there are images again.
    pub fn set_text(&mut self, text: &str) {
        let images: Vec<Part> =
            self.parts().into_iter().filter(|p| matches!(p, Part::Image { .. })).collect();
        let mut parts = vec![Part::Text(text.to_owned())];
        for image in images {
            let label = image.shown();
            let split = parts.iter().enumerate().find_map(|(i, part)| match part {
                Part::Text(text) => text.split_once(&label).map(|(a, b)| (i, a.to_owned(), b.to_owned())),
                Part::Paste(_) | Part::Image { .. } => None,
            });
            if let Some((at, before, behind)) = split {
                parts.splice(at..=at, [Part::Text(before), image, Part::Text(behind)]);
            }
        }
        self.set_parts(&parts);
    }

    pub(super) fn parts(&self) -> Vec<Part> {
        self.atoms.parts(&self.buffer.text())
    }

    /// The whole text anew, cursor at its end; can be undone.
    pub(super) fn set_parts(&mut self, parts: &[Part]) {
        let text = self.atoms.text(parts);
        self.buffer.replace(Pos::default(), self.buffer.end(), &text, Step::Whole);
        self.buffer.move_to(self.buffer.end());
        self.popup = None;
        self.quiet = true;
        self.last = Last::Other;
    }

    fn put(&mut self, parts: &[Part]) {
        let text = self.atoms.text(parts);
        let at = self.buffer.cursor();
        self.buffer.replace(at, at, &text, Step::Whole);
    }

    fn put_image(&mut self, image: Image, size: u64) {
        let number = self.atoms.free_number(&self.buffer.text());
        self.put(&[Part::Image { number, size, image }]);
    }

    /// The paste under or before the cursor as its text; false if there is none.
    pub(super) fn expand(&mut self) -> bool {
        let (here, left, right) = (self.buffer.cursor(), self.buffer.left(), self.buffer.right());
        for (from, to) in [(here, right), (left, here)] {
            let Some(c) = self.buffer.slice(from, to).chars().next() else { continue };
            let Some(Part::Paste(text)) = self.atoms.part(c) else { continue };
            let text = atoms::without_atoms(text).into_owned();
            self.buffer.replace(from, to, &text, Step::Whole);
            return true;
        }
        false
    }

    /// Does an action of editing; [`Did::Nothing`] if it had nothing to do.
    pub(super) fn edit(&mut self, action: Action, last: Last) -> Did {
        let (revision, cursor) = (self.buffer.revision(), self.buffer.cursor());
        let b = &self.buffer;
        let Pos { line, .. } = cursor;
        let line_end = Pos { line, byte: b.line(line).len() };
        match action {
            Action::Left => self.move_to(b.left()),
            Action::Right => self.move_to(b.right()),
            Action::WordLeft => self.move_to(b.back(glyph::word_start)),
            Action::WordRight => self.move_to(b.forth()),
            Action::LineStart => self.move_to(Pos { line, byte: 0 }),
            Action::LineEnd => self.move_to(line_end),
            Action::TextStart => self.move_to(Pos::default()),
            Action::TextEnd => self.move_to(b.end()),
            Action::Backspace => self.erase(b.left(), cursor),
            Action::Delete => self.erase(cursor, b.right()),
            Action::CutRun => self.cut(b.back(glyph::run_start), Side::Before, last),
            Action::CutWordLeft => self.cut(b.back(glyph::word_start), Side::Before, last),
            Action::CutWordRight => self.cut(b.forth(), Side::Behind, last),
            // On a bare line end they go on, so that pressing again clears more.
            Action::CutToStart if cursor.byte == 0 => self.cut(b.left(), Side::Before, last),
            Action::CutToStart => self.cut(Pos { line, byte: 0 }, Side::Before, last),
            Action::CutToEnd if cursor == line_end => self.cut(b.right(), Side::Behind, last),
            Action::CutToEnd => self.cut(line_end, Side::Behind, last),
            Action::Yank => self.yank(),
            Action::YankOlder => self.yank_older(last),
            Action::Undo => {
                self.buffer.undo();
            }
            _ => return Did::Nothing,
        }
        let same = revision == self.buffer.revision() && cursor == self.buffer.cursor();
        if same { Did::Nothing } else { Did::Edited }
    }

    fn move_to(&mut self, at: Pos) {
        self.buffer.move_to(at);
    }

    fn erase(&mut self, from: Pos, to: Pos) {
        self.buffer.replace(from, to, "", Step::Erase);
    }

    fn cut(&mut self, to: Pos, side: Side, last: Last) {
        let here = self.buffer.cursor();
        let text = self.buffer.replace(here.min(to), here.max(to), "", Step::Whole);
        if text.is_empty() {
            return;
        }
        self.last = Last::Cut;
        match (self.ring.cut.last_mut().filter(|_| last == Last::Cut), side) {
            (Some(cut), Side::Before) => cut.insert_str(0, &text),
            (Some(cut), Side::Behind) => cut.push_str(&text),
            (None, _) => self.ring.push(text),
        }
    }

    fn yank(&mut self) {
        self.ring.back = 0;
        let Some(text) = self.ring.cut.last().cloned() else { return };
        let at = self.buffer.cursor();
        self.buffer.replace(at, at, &text, Step::Whole);
        self.last = Last::Yank(at, self.buffer.cursor());
    }

    fn yank_older(&mut self, last: Last) {
        let Last::Yank(from, to) = last else { return };
        self.ring.back = (self.ring.back + 1) % self.ring.cut.len().max(1);
        let Some(text) = self.ring.cut.iter().rev().nth(self.ring.back).cloned() else { return };
        self.buffer.replace(from, to, &text, Step::Whole);
        self.last = Last::Yank(from, self.buffer.cursor());
    }

    /// Clears the text, and keeps it where Yank finds it.
    pub(super) fn clear(&mut self) {
        let text = self.buffer.replace(Pos::default(), self.buffer.end(), "", Step::Whole);
        self.ring.push(text);
        self.history.leave();
    }

    /// Empties the composer for the next text. Nothing refers to the pastes of this one after.
    pub(super) fn take(&mut self) -> Vec<Part> {
        let parts = self.parts();
        for cut in &mut self.ring.cut {
            *cut = draft::full(&self.atoms.parts(cut));
        }
        self.atoms.clear();
        self.buffer.reset();
        self.history.leave();
        self.view.forget();
        self.popup = None;
        self.dismissed = false;
        self.last = Last::Other;
        parts
    }
}

impl Ring {
    fn push(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        if self.cut.len() == MOST_CUT {
            self.cut.remove(0);
        }
        self.cut.push(text);
    }
}
