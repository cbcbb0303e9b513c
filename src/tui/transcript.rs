//! What was said and done, as cells, and which rows of it are due above the viewport.
//!
//! A row is given to the screen once. The reply that streams and a group of looks that may still grow are
//! the open end: drawn in the viewport until they are whole.

use std::collections::BTreeSet;

use ratatui::text::{Line, Span};

use super::cell::{Called, Cell, Fold, View, is_look};
use super::palette::Palette;
use super::text::{self, Markdown};

/// How a reply's text is to be taken while it streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speech {
    /// Prose: it is shown as it comes.
    #[default]
    Prose,
    /// Calls stand in the text: what looks like one is held back until the reply is understood.
    WithCalls,
}

impl Speech {
    /// Of a harness that offers so many tools over the wire.
    pub fn with_tools(count: usize) -> Self {
        if count == 0 { Self::WithCalls } else { Self::Prose }
    }
}

#[derive(Default)]
pub struct Transcript {
    cells: Vec<Cell>,
    /// Rows that are due.
    due: Vec<Line<'static>>,
    reply: Option<Stream>,
    /// Looks in a row.
    looks: Vec<Called>,
    last: Option<Sort>,
    /// Cells that were unfolded where they stand.
    unfolded: BTreeSet<usize>,
    /// Something was told in the middle of the reply that streams.
    mixed: bool,
    /// The cells before this one stand on the screen in another order.
    apart: usize,
}

/// What decides whether an empty row stands between two cells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// Calls and thoughts follow one another closely.
    Work,
    Words,
}

struct Stream {
    markdown: Markdown,
    speech: Speech,
    /// All that came.
    raw: String,
    /// Bytes of it that the Markdown was given.
    fed: usize,
    /// Something that looks like a call stands at `fed`.
    held: bool,
    /// A row of it was given.
    begun: bool,
}

impl Transcript {
    /// The cells so far, whole ones only.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// A new one below an old one on the same screen.
    pub fn after(before: &Self) -> Self {
        Self { last: before.last.map(|_| Sort::Words), ..Self::default() }
    }

    /// Nothing of the turn is open any more.
    pub fn settle(&mut self, view: View<'_>) {
        self.close_reply(None, view);
        self.close_looks(view);
    }

    /// What the model said last.
    pub fn last_reply(&self) -> Option<&str> {
        self.cells.iter().rev().find_map(|cell| match cell {
            Cell::Reply(source) => Some(source.trim()),
            Cell::Said { .. }
            | Cell::Thought(_)
            | Cell::Call(_)
            | Cell::Looks(_)
            | Cell::Ran(_)
            | Cell::Told { .. }
            | Cell::Failed { .. }
            | Cell::Board(_) => None,
        })
    }

    /// The newest cell is a thought, or the reply to it streams.
    pub fn has_thought(&self) -> bool {
        self.reply.is_some() || matches!(self.cells.last(), Some(Cell::Thought(_)))
    }

    /// Takes up what an earlier run left; its last rows are due.
    pub fn restore(&mut self, cells: Vec<Cell>, rows: usize, view: View<'_>) {
        self.cells = cells;
        self.due = self.last_rows(rows, view);
        self.last = self.cells.last().map(sort);
    }

    /// Adds a cell after what is open.
    ///
    /// What is only told while a reply streams stands before or within it: the reply goes on.
    pub fn push(&mut self, cell: Cell, view: View<'_>) {
        if let (Some(stream), Cell::Told { .. } | Cell::Board(_)) = (&self.reply, &cell) {
            let begun = stream.begun;
            self.emit(&cell, view);
            if begun {
                self.due.push(Line::default());
                self.mixed = true;
            }
            self.cells.push(cell);
            return;
        }
        self.close_reply(None, view);
        self.close_looks(view);
        self.emit(&cell, view);
        self.cells.push(cell);
    }

    /// Adds a call that ended.
    pub fn called(&mut self, called: Called, view: View<'_>) {
        if is_look(&called) {
            self.close_reply(None, view);
            self.looks.push(called);
        } else {
            self.push(Cell::Call(Box::new(called)), view);
        }
    }

    /// More of the reply's text.
    pub fn text(&mut self, more: &str, speech: Speech, view: View<'_>) {
        self.close_looks(view);
        let stream = self.reply.get_or_insert_with(|| Stream {
            markdown: Markdown::new(),
            speech,
            raw: String::new(),
            fed: 0,
            held: false,
            begun: false,
        });
        stream.raw.push_str(more);
        stream.feed();
        let rows = stream.markdown.finished(view.columns(), view.palette);
        self.emit_reply(rows);
    }

    /// The reply is whole: `said` is what of it is for the person.
    pub fn end_reply(&mut self, said: &str, view: View<'_>) {
        self.close_reply(Some(said), view);
    }

    /// What came of the reply is void. True: rows of it stand on the screen.
    pub fn void_reply(&mut self) -> bool {
        self.reply.take().is_some_and(|stream| stream.begun)
    }

    /// The open end, as it looks now.
    pub fn tail(&mut self, view: View<'_>) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        if !self.looks.is_empty() {
            rows.extend(self.gap(Sort::Work).then(Line::default));
            rows.extend(Cell::Looks(self.looks.clone()).rows(view));
        }
        let gap = self.gap(Sort::Words);
        if let Some(stream) = &mut self.reply {
            let tail = stream.tail(view);
            if !tail.is_empty() && !stream.begun && gap {
                rows.push(Line::default());
            }
            rows.extend(tail);
        }
        rows
    }

    /// Rows that are due; each is given once.
    pub fn take(&mut self) -> Vec<Line<'static>> {
        std::mem::take(&mut self.due)
    }

    /// The last rows of what is whole, to draw again after a change of width.
    pub fn last_rows(&self, most: usize, view: View<'_>) -> Vec<Line<'static>> {
        let mut blocks: Vec<Vec<Line<'static>>> = Vec::new();
        let mut count = 0;
        for (at, cell) in self.cells.iter().enumerate().rev() {
            if count >= most {
                break;
            }
            let mut rows = self.rows_of(at, view);
            let before = self.cells[..at].iter().rfind(|cell| !cell.is_silent()).map(sort);
            if gap(before, sort(cell)) && !rows.is_empty() {
                rows.insert(0, Line::default());
            }
            count += rows.len();
            blocks.push(rows);
        }
        let rows: Vec<Line<'static>> = blocks.into_iter().rev().flatten().collect();
        rows[rows.len().saturating_sub(most)..].to_vec()
    }

    /// The newest cell that leaves something out, or did before it was unfolded.
    pub fn newest_fold(&self, palette: &Palette) -> Option<usize> {
        self.cells.iter().rposition(|cell| cell.folds(palette))
    }

    /// Unfolds a cell where it stands, or folds it again. The next rows given of it are the other ones; those
    /// that stand are up to the caller.
    pub fn turn(&mut self, cell: usize) {
        if !self.unfolded.remove(&cell) {
            self.unfolded.insert(cell);
        }
    }

    /// All rows that were given from a cell on, made anew.
    pub fn since(&self, cell: usize, view: View<'_>) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        let mut last = None;
        for at in cell..self.cells.len() {
            let more = self.rows_of(at, view);
            if !more.is_empty() {
                rows.extend(gap(last, sort(&self.cells[at])).then(Line::default));
                last = Some(sort(&self.cells[at]));
                rows.extend(more);
            }
        }
        if let Some(stream) = self.reply.as_ref().filter(|stream| stream.begun) {
            rows.extend(gap(last, Sort::Words).then(Line::default));
            rows.extend(stream.anew().finished(view.columns(), view.palette));
        }
        rows
    }

    fn rows_of(&self, cell: usize, view: View<'_>) -> Vec<Line<'static>> {
        let fold = if self.unfolded.contains(&cell) { Fold::Open } else { view.fold };
        self.cells[cell].rows(View { fold, ..view })
    }

    /// What holds its colours has them of another palette from now on.
    pub fn recolour(&mut self, from: &Palette, to: &Palette) {
        for cell in &mut self.cells {
            if let Cell::Board(lines) = cell {
                lines.iter_mut().for_each(|line| from.recolour(line, to));
            }
        }
    }

    /// What of the open reply was given already was drawn over: it is given again.
    pub fn show_again(&mut self, view: View<'_>) {
        let Some(stream) = &mut self.reply else { return };
        stream.markdown = stream.anew();
        stream.begun = false;
        let rows = stream.markdown.finished(view.columns(), view.palette);
        self.emit_reply(rows);
    }

    fn close_looks(&mut self, view: View<'_>) {
        if !self.looks.is_empty() {
            let cell = Cell::Looks(std::mem::take(&mut self.looks));
            self.emit(&cell, view);
            self.cells.push(cell);
        }
    }

    fn close_reply(&mut self, said: Option<&str>, view: View<'_>) {
        let Some(mut stream) = self.reply.take() else {
            // Nothing of it was heard while it came.
            if let Some(said) = said.filter(|said| !said.trim().is_empty()) {
                self.push(Cell::Reply(said.to_owned()), view);
            }
            return;
        };
        stream.finish(said);
        let rows = stream.markdown.end(view.columns(), view.palette);
        self.reply = Some(stream);
        self.emit_reply(rows);
        let source = match (said, self.reply.take()) {
            (Some(said), _) => said.to_owned(),
            (None, Some(stream)) => stream.raw,
            (None, None) => String::new(),
        };
        if !source.trim().is_empty() {
            self.cells.push(Cell::Reply(source));
        }
        if std::mem::take(&mut self.mixed) {
            self.apart = self.cells.len();
        }
    }

    /// Whether the rows from a cell on stand on the screen in the order of the cells.
    pub fn is_in_order(&self, cell: usize) -> bool {
        !self.mixed && cell >= self.apart
    }

    fn emit_reply(&mut self, rows: Vec<Line<'static>>) {
        if rows.is_empty() {
            return;
        }
        let gap = self.gap(Sort::Words);
        if let Some(stream) = &mut self.reply
            && !stream.begun
        {
            stream.begun = true;
            self.due.extend(gap.then(Line::default));
        }
        self.last = Some(Sort::Words);
        self.due.extend(rows);
    }

    fn emit(&mut self, cell: &Cell, view: View<'_>) {
        let rows = cell.rows(view);
        if !rows.is_empty() {
            self.due.extend(self.gap(sort(cell)).then(Line::default));
            self.last = Some(sort(cell));
            self.due.extend(rows);
        }
    }

    fn gap(&self, next: Sort) -> bool {
        gap(self.last, next)
    }
}

fn gap(before: Option<Sort>, next: Sort) -> bool {
    before.is_some_and(|before| before == Sort::Words || next == Sort::Words)
}

fn sort(cell: &Cell) -> Sort {
    match cell {
        Cell::Thought(_) | Cell::Call(_) | Cell::Looks(_) => Sort::Work,
        Cell::Said { .. }
        | Cell::Reply(_)
        | Cell::Ran(_)
        | Cell::Told { .. }
        | Cell::Failed { .. }
        | Cell::Board(_) => Sort::Words,
    }
}

impl Stream {
    /// What it was given so far, of which no row was given yet.
    fn anew(&self) -> Markdown {
        let mut anew = Markdown::new();
        anew.push(&self.raw[..self.fed]);
        anew
    }

    /// Gives the Markdown what is surely prose.
    fn feed(&mut self) {
        if self.speech == Speech::Prose {
            self.markdown.push(&self.raw[self.fed..]);
            self.fed = self.raw.len();
            return;
        }
        // By whole lines: only its first characters tell whether one begins a call.
        while !self.held {
            let rest = &self.raw[self.fed..];
            if begins_call(rest) {
                self.held = true;
            } else if let Some(end) = rest.find('\n') {
                self.markdown.push(&rest[..=end]);
                self.fed += end + 1;
            } else {
                return;
            }
        }
    }

    /// Gives it the rest, as far as it is for the person.
    fn finish(&mut self, said: Option<&str>) {
        let Some(said) = said else {
            return self.markdown.push(&self.raw[self.fed..]);
        };
        let shown = self.raw[..self.fed].trim_start();
        match said.strip_prefix(shown).or_else(|| said.strip_prefix(shown.trim_end())) {
            Some(rest) => self.markdown.push(rest),
            // Where all was shown as it came, there is nothing to add.
            None if self.speech == Speech::Prose => {}
            None => self.markdown.push(said),
        }
    }

    fn tail(&mut self, view: View<'_>) -> Vec<Line<'static>> {
        let mut rows = self.markdown.tail(view.columns(), view.palette);
        if self.fed < self.raw.len() {
            let open = text::clean(&self.raw[self.fed..]);
            let lines = open.lines().map(|line| {
                let line = Line::from(Span::styled(line.to_owned(), view.palette.dim));
                text::fit(line, view.columns())
            });
            rows.extend(lines);
        }
        rows
    }
}

/// Whether a call may begin here: a block of code, a tag, JSON.
fn begins_call(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t']);
    line.starts_with(['`', '<', '{', '[', '~'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Action, Outcome, Read};
    use crate::tui::cell::Tone;
    use crate::tui::palette::Theme;

    fn with(act: impl Fn(&mut Transcript, View<'_>)) -> (String, String, Vec<Cell>) {
        let palette = Palette::new(Theme::Plain);
        let view = View { width: 60, fold: Fold::Folded, palette: &palette };
        let mut transcript = Transcript::default();
        act(&mut transcript, view);
        let text = |rows: Vec<Line<'static>>| {
            rows.iter().map(|row| row.to_string().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
        };
        let tail = text(transcript.tail(view));
        (text(transcript.take()), tail, transcript.cells)
    }

    fn look(path: &str) -> Called {
        let action = Action::Read(Read { path: path.into(), ..Read::default() });
        Called { action, outcome: Outcome::ok("x") }
    }

    #[test]
    fn a_reply_is_given_once_however_it_is_cut() {
        let reply = "One line.\n\n- a\n- b\n\nThe last.";
        for size in 1..reply.len() {
            let (due, tail, cells) = with(|transcript, view| {
                for piece in reply.as_bytes().chunks(size) {
                    transcript.text(std::str::from_utf8(piece).unwrap(), Speech::Prose, view);
                }
                transcript.end_reply(reply, view);
            });
            assert_eq!((due.matches("One line").count(), due.matches("The last").count()), (1, 1), "{due}");
            assert_eq!((tail.as_str(), cells.len()), ("", 1));
        }
    }

    #[test]
    fn what_is_told_while_a_reply_streams_breaks_no_word_of_it() {
        let note = || Cell::Told { tone: Tone::Dim, text: "a note".into() };
        for (before, after) in
            [("", "Hello wor"), ("First.\n\n", "print(\"Hello wor"), ("", "```\none\nHello wor")]
        {
            let (due, _, cells) = with(|transcript, view| {
                transcript.text(before, Speech::Prose, view);
                transcript.text(after, Speech::Prose, view);
                transcript.push(note(), view);
                transcript.text("ld, it goes on", Speech::Prose, view);
                let whole = format!("{before}{after}ld, it goes on");
                transcript.end_reply(&whole, view);
            });
            assert!(due.contains("Hello world, it goes on"), "{due}");
            assert_eq!(due.matches("a note").count(), 1, "{due}");
            assert!(
                matches!(cells.as_slice(), [Cell::Told { .. }, Cell::Reply(_)]),
                "one reply, and the note"
            );
        }
    }

    #[test]
    fn a_call_in_the_text_is_held_until_it_is_understood() {
        let raw = "I look first.\n\n```bash\nls\n```\n";
        let (due, tail, _) = with(|transcript, view| transcript.text(raw, Speech::WithCalls, view));
        assert!(!due.contains("ls"), "{due}");
        assert!(tail.contains("ls"), "{tail}");
        let (due, tail, _) = with(|transcript, view| {
            transcript.text(raw, Speech::WithCalls, view);
            transcript.end_reply("I look first.", view);
        });
        assert_eq!((due.as_str(), tail.as_str()), ("I look first.", ""));
        let (due, ..) = with(|transcript, view| {
            transcript.text("{\"analysis\": \"all good\", \"commands\": []}", Speech::WithCalls, view);
            transcript.end_reply("all good", view);
        });
        assert_eq!(due, "all good");
    }

    #[test]
    fn looks_are_one_line_that_waits_until_it_is_whole() {
        let (due, tail, _) = with(|transcript, view| {
            transcript.called(look("a"), view);
            transcript.called(look("b"), view);
        });
        assert_eq!((due.as_str(), tail.as_str()), ("", "• Read 2 files"));
        let (due, tail, cells) = with(|transcript, view| {
            transcript.called(look("a"), view);
            transcript.called(look("b"), view);
            transcript.push(Cell::Said { text: "more".into(), images: 0 }, view);
        });
        assert_eq!((due.as_str(), tail.as_str(), cells.len()), ("• Read 2 files\n\n› more", "", 2));
    }

    #[test]
    fn a_void_reply_leaves_nothing_behind() {
        let (_, tail, cells) = with(|transcript, view| {
            transcript.text("Half of an", Speech::Prose, view);
            assert!(!transcript.void_reply());
            transcript.text("Whole.\n\nHalf", Speech::Prose, view);
            assert!(transcript.void_reply());
        });
        assert_eq!((tail.as_str(), cells.len()), ("", 0));
    }

    #[test]
    fn what_is_drawn_again_is_what_was_given() {
        let palette = Palette::new(Theme::Plain);
        let view = View { width: 60, fold: Fold::Folded, palette: &palette };
        let mut transcript = Transcript::default();
        transcript.push(Cell::Said { text: "go".into(), images: 0 }, view);
        transcript.called(look("a"), view);
        transcript.text("Done.\n\nAll of it.", Speech::Prose, view);
        transcript.end_reply("Done.\n\nAll of it.", view);
        let due = transcript.take();
        assert_eq!(transcript.last_rows(100, view), due);
        assert_eq!(transcript.last_rows(2, view), due[due.len() - 2..]);
    }
}
