//! Changes of files as rows: real line numbers, `+` and `-`, tints over the full width, changed words brighter.
//!
//! Takes two texts, or the hunks of a unified diff as a file change carries them.

mod beside;

use std::fmt::Display;
use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use similar::{ChangeTag, TextDiff};
use unicode_segmentation::UnicodeSegmentation;

use super::{Code, Hang, clean_line, fit, pad, wrap};
use crate::model::{FileChange, FileChangeKind};
use crate::tui::palette::Palette;

/// Lines of a change that are shown before it is folded in the middle.
const MOST: usize = 40;

/// Lines of a new file that are shown.
const NEW: usize = 10;

/// Columns from which the old and the new text of a whole change stand side by side: 140, less the pager's margin.
const BESIDE: usize = 138;

/// Unchanged lines around a change.
const AROUND: usize = 3;

/// Two texts are compared no longer than this; what is left then counts as changed.
const LONGEST: Duration = Duration::from_millis(500);

/// Words of lines that have less in common than this are not compared.
const ALIKE: f32 = 0.4;

/// A line with more bytes than this is not compared by words.
const WORDS: usize = 2_000;

/// How a change is shown.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The file, whose name tells the language.
    pub path: &'a str,
    /// In columns.
    pub width: usize,
    pub palette: &'a Palette,
    pub extent: Extent,
}

/// How much of a change is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// As in a conversation: folded in the middle, of a new file the start.
    Folded,
    Whole,
}

/// What became of a text. An empty one stands for no file.
pub fn lines(before: &str, after: &str, look: &Look<'_>) -> Vec<Line<'static>> {
    let diff = TextDiff::configure().timeout(LONGEST).diff_lines(before, after);
    let mut rows = Vec::new();
    for (at, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if at > 0 {
            rows.push(Row::Gap);
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let text = change.value().trim_end_matches(['\r', '\n']).to_owned();
            let (old, new) =
                (change.old_index().map_or(0, |at| at + 1), change.new_index().map_or(0, |at| at + 1));
            rows.push(match change.tag() {
                ChangeTag::Equal => Row::Same((old, new), text),
                ChangeTag::Delete => Row::Removed(old, text),
                ChangeTag::Insert => Row::Added(new, text),
            });
            if change.missing_newline() && before.ends_with('\n') != after.ends_with('\n') {
                rows.push(Row::Note);
            }
        }
    }
    draw(&rows, look)
}

/// The hunks of a unified diff of one file; the names of files and whatever else stands before a hunk are passed
/// over.
pub fn patch(hunks: &str, look: &Look<'_>) -> Vec<Line<'static>> {
    let mut rows: Vec<Row> = Vec::new();
    // Lines of the old and the new file that are still to come, and their numbers.
    let (mut left, mut old, mut new) = ((0usize, 0usize), 0usize, 0usize);
    for line in hunks.lines() {
        if line.starts_with('\\') {
            rows.push(Row::Note);
            continue;
        }
        if left == (0, 0) {
            let Some((from, to)) = header(line) else { continue };
            ((old, left.0), (new, left.1)) = (from, to);
            if !rows.is_empty() {
                rows.push(Row::Gap);
            }
            continue;
        }
        let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        let text = text.to_owned();
        let row = match sign {
            "-" => Row::Removed(old, text),
            "+" => Row::Added(new, text),
            _ => Row::Same((old, new), text),
        };
        if !matches!(row, Row::Added(..)) {
            (left.0, old) = (left.0.saturating_sub(1), old.saturating_add(1));
        }
        if !matches!(row, Row::Removed(..)) {
            (left.1, new) = (left.1.saturating_sub(1), new.saturating_add(1));
        }
        rows.push(row);
    }
    draw(&rows, look)
}

/// What a call did to a file.
pub fn change(change: &FileChange, look: &Look<'_>) -> Vec<Line<'static>> {
    let removed = change.kind == FileChangeKind::Removed;
    if removed && look.extent == Extent::Folded || change.patch.is_empty() {
        let words = match change.kind {
            _ if change.added + change.removed == 0 => {
                "no text to show: empty, binary or too large".to_owned()
            }
            FileChangeKind::Removed => format!("removed, {}", counted(change.removed)),
            FileChangeKind::Added => format!("new, {}", counted(change.added)),
            FileChangeKind::Changed => format!("+{} -{}", change.added, change.removed),
        };
        return vec![note(&words, look)];
    }
    let mut rows = patch(&change.patch, look);
    if change.cut {
        rows.push(note("⋯ the rest is not kept", look));
    }
    rows
}

/// The file had another name before.
pub fn renamed(from: &str, look: &Look<'_>) -> Line<'static> {
    note(&format!("renamed {} to {}", clean_line(from), clean_line(look.path)), look)
}

/// A line about the change as a whole.
fn note(words: &str, look: &Look<'_>) -> Line<'static> {
    fit(Line::styled(format!("  {words}"), look.palette.dim), look.width)
}

/// First line and count of `@@ -3,4 +3,5 @@`, of both sides. Of no lines, the number is that of the line before.
fn header(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let mut words = line.strip_prefix("@@")?.split_whitespace();
    let mut side = |sign: char| {
        let range = words.next()?.strip_prefix(sign)?;
        let (from, count) = range.split_once(',').unwrap_or((range, "1"));
        Some((from.parse().ok()?, count.parse().ok()?))
    };
    Some((side('-')?, side('+')?))
}

/// A line of the change with its number: of one that stayed those in the old file and the new.
#[derive(Debug)]
enum Row {
    Same((usize, usize), String),
    Removed(usize, String),
    Added(usize, String),
    /// Lines between that did not change.
    Gap,
    /// The line before has no line break.
    Note,
}

impl Row {
    fn number(&self) -> usize {
        match self {
            Self::Same((_, number), _) | Self::Removed(number, _) | Self::Added(number, _) => *number,
            Self::Gap | Self::Note => 0,
        }
    }

    /// What is said where no line of text stands.
    fn said(&self) -> &'static str {
        match self {
            Self::Gap => "⋯",
            Self::Note => "no line break at the end",
            Self::Same(..) | Self::Removed(..) | Self::Added(..) => "",
        }
    }
}

fn draw(rows: &[Row], look: &Look<'_>) -> Vec<Line<'static>> {
    let folded = look.extent == Extent::Folded;
    let all = |of: fn(&Row) -> bool| rows.iter().all(|row| matches!(row, Row::Note) || of(row));
    if folded && !rows.is_empty() && all(|row| matches!(row, Row::Removed(..))) && rows[0].number() == 1 {
        let count = rows.iter().filter(|row| matches!(row, Row::Removed(..))).count();
        return vec![note(&format!("removed, {}", counted(count)), look)];
    }
    let created =
        all(|row| matches!(row, Row::Added(..))) && rows.first().is_some_and(|row| row.number() == 1);
    let (head, tail) = match (folded, created) {
        (true, true) if rows.len() > NEW => (NEW, 0),
        (true, false) if rows.len() > MOST => (MOST / 2, MOST - MOST / 2 - 1),
        _ => (rows.len(), 0),
    };
    let digits = rows.iter().map(Row::number).max().unwrap_or(0).to_string().len();
    let words = words(rows);
    let changed = |of: fn(&Row) -> bool| rows.iter().any(of);
    if !folded
        && look.width >= BESIDE
        && changed(|row| matches!(row, Row::Removed(..)))
        && changed(|row| matches!(row, Row::Added(..)))
    {
        return beside::draw(rows, &words, digits, look);
    }
    let mut pen = Pen { look, digits, code: Code::new(look.path), out: Vec::new() };
    let left_out = rows.len() - head - tail;
    for (at, row) in rows.iter().enumerate() {
        if at == head && left_out > 0 {
            pen.note(&format!("⋯ {}{}", counted(left_out), super::UNFOLDS));
        }
        if at < head || at >= head + left_out {
            pen.row(row, &words[at]);
        }
    }
    pen.out
}

fn counted(lines: impl Display) -> String {
    match lines.to_string() {
        one if one == "1" => "1 line".to_owned(),
        many => format!("{many} lines"),
    }
}

/// For each row the parts of its text, and whether they changed; none where the whole did.
fn words(rows: &[Row]) -> Vec<Parts> {
    let mut parts: Vec<Parts> = Vec::new();
    parts.resize_with(rows.len(), Vec::new);
    let mut at = 0;
    while at < rows.len() {
        let run = |from: usize, of: fn(&Row) -> bool| rows[from..].iter().take_while(|row| of(row)).count();
        let old = run(at, |row| matches!(row, Row::Removed(..)));
        let new = run(at + old, |row| matches!(row, Row::Added(..)));
        // A line became the one at the same place among the new ones.
        for pair in 0..old.min(new) {
            if let (Row::Removed(_, old_text), Row::Added(_, new_text)) =
                (&rows[at + pair], &rows[at + old + pair])
                && let Some((before, after)) = compare(old_text, new_text)
            {
                (parts[at + pair], parts[at + old + pair]) = (before, after);
            }
        }
        at += (old + new).max(1);
    }
    parts
}

type Parts = Vec<(bool, String)>;

/// Two lines by words, if they have enough in common.
fn compare(old: &str, new: &str) -> Option<(Parts, Parts)> {
    if old.len().max(new.len()) > WORDS {
        return None;
    }
    let split = |text: &str| -> Vec<String> { text.split_word_bounds().map(str::to_owned).collect() };
    let (old, new) = (split(old), split(new));
    let (old, new): (Vec<&str>, Vec<&str>) = (refs(&old), refs(&new));
    let diff = TextDiff::from_slices(&old, &new);
    if diff.ratio() < ALIKE {
        return None;
    }
    let (mut before, mut after): (Parts, Parts) = (Vec::new(), Vec::new());
    for change in diff.iter_all_changes() {
        let (word, changed) = (change.value(), change.tag() != ChangeTag::Equal);
        if change.tag() != ChangeTag::Insert {
            join(&mut before, changed, word);
        }
        if change.tag() != ChangeTag::Delete {
            join(&mut after, changed, word);
        }
    }
    Some((before, after))
}

fn refs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn join(parts: &mut Parts, changed: bool, word: &str) {
    match parts.last_mut() {
        Some((of, text)) if *of == changed => text.push_str(word),
        _ => parts.push((changed, word.to_owned())),
    }
}

/// Writes the rows.
struct Pen<'a> {
    look: &'a Look<'a>,
    digits: usize,
    /// Follows the new text.
    code: Code,
    out: Vec<Line<'static>>,
}

impl Pen<'_> {
    fn row(&mut self, row: &Row, parts: &[(bool, String)]) {
        let palette = self.look.palette;
        match row {
            Row::Same((_, number), text) => {
                let line = self.code.line(&clean_line(text), palette);
                self.put(*number, " ", &line);
            }
            Row::Removed(number, text) => {
                let line = line(text, parts, palette.removed_word).style(palette.removed);
                self.put(*number, "-", &line);
            }
            Row::Added(number, text) => {
                self.code.line(&clean_line(text), palette);
                let line = line(text, parts, palette.added_word).style(palette.added);
                self.put(*number, "+", &line);
            }
            Row::Gap => {
                // What is open is not known there.
                self.code = Code::new(self.look.path);
                self.note(row.said());
            }
            Row::Note => self.note(row.said()),
        }
    }

    fn put(&mut self, number: usize, sign: &str, line: &Line<'static>) {
        let (digits, width) = (self.digits, self.look.width.max(1));
        let first = Line::from_iter([
            Span::styled(format!("  {number:>digits$} "), self.look.palette.dim),
            Span::raw(format!("{sign} ")),
        ]);
        let tinted = line.style != Style::new();
        let rows = wrap(line, width, Hang::under(first)).into_iter();
        self.out.extend(rows.map(|row| if tinted { pad(row, width) } else { row }));
    }

    fn note(&mut self, text: &str) {
        let line = Line::styled(text.to_owned(), self.look.palette.dim);
        let hang = Hang::under(" ".repeat(self.digits + 3));
        self.out.extend(wrap(&line, self.look.width, hang));
    }
}

/// A changed line: its parts, or the whole.
fn line(text: &str, parts: &[(bool, String)], changed: Style) -> Line<'static> {
    if parts.is_empty() {
        return Line::raw(clean_line(text).into_owned());
    }
    let spans = parts.iter().map(|(of, part)| {
        Span::styled(clean_line(part).into_owned(), if *of { changed } else { Style::new() })
    });
    Line::from_iter(spans)
}

#[cfg(test)]
mod tests;
