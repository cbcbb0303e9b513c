//! A change with the old text at the left and the new one at the right.

use ratatui::text::{Line, Span};

use super::super::{Code, Hang, clean_line, pad, wrap};
use super::{Look, Parts, Row, line};

/// What stands between the two.
const BETWEEN: &str = " │ ";

/// The rows of a change; `words` are the parts of each that changed, `digits` those of its longest number.
pub(super) fn draw(rows: &[Row], words: &[Parts], digits: usize, look: &Look<'_>) -> Vec<Line<'static>> {
    let half = look.width.saturating_sub(BETWEEN.chars().count()) / 2;
    let mut pen = Pen { look, half, digits, code: Code::new(look.path), out: Vec::new() };
    let mut at = 0;
    while at < rows.len() {
        let run = |from: usize, of: fn(&Row) -> bool| rows[from..].iter().take_while(|row| of(row)).count();
        let old = run(at, |row| matches!(row, Row::Removed(..)));
        let new = run(at + old, |row| matches!(row, Row::Added(..)));
        for pair in 0..old.max(new) {
            let side =
                |from: usize, count: usize| (pair < count).then(|| (&rows[from + pair], &words[from + pair]));
            let (left, right) = (side(at, old), side(at + old, new));
            let (left, right) = (pen.side(left), pen.side(right));
            pen.put(left, right);
        }
        at += old + new;
        if old + new == 0 {
            pen.lone(&rows[at]);
            at += 1;
        }
    }
    pen.out
}

struct Pen<'a> {
    look: &'a Look<'a>,
    /// Columns of each side.
    half: usize,
    digits: usize,
    /// Follows the new text.
    code: Code,
    out: Vec<Line<'static>>,
}

impl Pen<'_> {
    fn side(&mut self, row: Option<(&Row, &Parts)>) -> Vec<Line<'static>> {
        let p = self.look.palette;
        match row {
            Some((Row::Removed(number, text), parts)) => {
                self.text(*number, "-", &line(text, parts, p.removed_word).style(p.removed))
            }
            Some((Row::Added(number, text), parts)) => {
                self.code.line(&clean_line(text), p);
                self.text(*number, "+", &line(text, parts, p.added_word).style(p.added))
            }
            Some((Row::Same(..) | Row::Gap | Row::Note, _)) | None => Vec::new(),
        }
    }

    /// A row that both texts have, or that is of neither.
    fn lone(&mut self, row: &Row) {
        let p = self.look.palette;
        match row {
            Row::Same((old, new), text) => {
                let line = self.code.line(&clean_line(text), p);
                let (left, right) = (self.text(*old, " ", &line), self.text(*new, " ", &line));
                self.put(left, right);
            }
            Row::Gap | Row::Note => {
                if matches!(row, Row::Gap) {
                    self.code = Code::new(self.look.path);
                }
                let said = Line::styled(row.said(), p.dim);
                self.out.extend(wrap(&said, self.look.width, Hang::under(" ".repeat(self.digits + 3))));
            }
            Row::Removed(..) | Row::Added(..) => {}
        }
    }

    fn text(&self, number: usize, sign: &str, line: &Line<'static>) -> Vec<Line<'static>> {
        let digits = self.digits;
        let first = Line::from_iter([
            Span::styled(format!("  {number:>digits$} "), self.look.palette.dim),
            Span::raw(format!("{sign} ")),
        ]);
        wrap(line, self.half, Hang::under(first))
    }

    fn put(&mut self, left: Vec<Line<'static>>, right: Vec<Line<'static>>) {
        let (mut left, mut right) = (left.into_iter(), right.into_iter());
        loop {
            let (one, other) = (left.next(), right.next());
            if one.is_none() && other.is_none() {
                return;
            }
            let mut row = self.half_row(one);
            row.push(Span::styled(BETWEEN, self.look.palette.dim));
            row.extend(self.half_row(other));
            self.out.push(Line::from(row));
        }
    }

    /// One side's part of a row, with its tint up to the middle.
    fn half_row(&self, line: Option<Line<'static>>) -> Vec<Span<'static>> {
        let line = pad(line.unwrap_or_default(), self.half);
        line.spans.into_iter().map(|span| Span::styled(span.content, line.style.patch(span.style))).collect()
    }
}
