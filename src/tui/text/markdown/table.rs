//! A table as rows: in columns where they fit, else each of its rows as a record.

use pulldown_cmark::Alignment;
use ratatui::text::{Line, Span};

use super::super::measure::columns;
use super::super::{Hang, wrap};
use crate::tui::palette::Palette;

/// What stands between two columns.
const BETWEEN: &str = " │ ";

/// A column that has to be narrower than its text is not made narrower than this.
const NARROWEST: usize = 8;

pub(super) struct Table {
    sides: Vec<Alignment>,
    /// The head first.
    pub(super) rows: Vec<Vec<Cell>>,
}

/// The lines of a cell.
pub(super) type Cell = Vec<Line<'static>>;

impl Table {
    pub(super) fn new(sides: Vec<Alignment>) -> Self {
        Self { sides, rows: Vec::new() }
    }

    pub(super) fn rows(&self, width: usize, palette: &Palette) -> Vec<Line<'static>> {
        match self.widths(width) {
            Some(widths) => self.grid(&widths, palette),
            None => self.records(width, palette),
        }
    }

    /// Columns of each column: what it needs, or a fair part of what the others leave.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let need: Vec<usize> = (0..self.sides.len())
            .map(|at| {
                let cells = self.rows.iter().filter_map(|row| row.get(at));
                cells.flatten().map(columns).max().unwrap_or(0).max(1)
            })
            .collect();
        let mut room = width.checked_sub(BETWEEN.chars().count() * need.len().saturating_sub(1))?;
        let mut order: Vec<usize> = (0..need.len()).collect();
        order.sort_by_key(|at| need[*at]);
        let mut widths = need.clone();
        for (done, at) in order.into_iter().enumerate() {
            let fair = room / (need.len() - done);
            if need[at] > fair && fair < NARROWEST {
                return None;
            }
            widths[at] = need[at].min(fair);
            room -= widths[at];
        }
        Some(widths)
    }

    fn grid(&self, widths: &[usize], palette: &Palette) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<Line<'_>>> = widths
                .iter()
                .enumerate()
                .map(|(column, width)| {
                    let lines = row.get(column).map(Vec::as_slice).unwrap_or_default();
                    lines.iter().flat_map(|line| wrap(line, *width, Hang::none())).collect()
                })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
            for line in 0..height {
                let mut spans = Vec::new();
                for (column, width) in widths.iter().enumerate() {
                    if column > 0 {
                        spans.push(Span::styled(BETWEEN, palette.dim));
                    }
                    let cell = cells[column].get(line).cloned().unwrap_or_default();
                    let last = column + 1 == widths.len();
                    let (before, behind) = self.blanks(column, width - columns(&cell));
                    spans.push(Span::raw(" ".repeat(before)));
                    let strong = |span: Span<'static>| match at {
                        0 => Span { style: palette.strong.patch(span.style), ..span },
                        _ => span,
                    };
                    spans.extend(cell.spans.into_iter().map(strong));
                    if !last {
                        spans.push(Span::raw(" ".repeat(behind)));
                    }
                }
                spans.retain(|span| !span.content.is_empty());
                out.push(Line::from(spans));
            }
            if at == 0 {
                let bars: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                out.push(Line::styled(bars.join("─┼─"), palette.dim));
            }
        }
        out
    }

    /// Blanks before and behind a cell's text.
    fn blanks(&self, column: usize, left: usize) -> (usize, usize) {
        match self.sides.get(column) {
            Some(Alignment::Right) => (left, 0),
            Some(Alignment::Center) => (left / 2, left - left / 2),
            Some(Alignment::Left | Alignment::None) | None => (0, left),
        }
    }

    /// Each row as lines of `head: cell`.
    fn records(&self, width: usize, palette: &Palette) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        let Some((head, rows)) = self.rows.split_first() else { return out };
        let name = |at: usize| -> String {
            let spans = head.get(at).into_iter().flatten().flat_map(|line| &line.spans);
            spans.map(|span| &*span.content).collect()
        };
        if rows.is_empty() {
            let names = (0..head.len()).map(|at| Line::styled(name(at), palette.strong));
            return names.flat_map(|line| wrap(&line, width, Hang::none())).collect();
        }
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                out.push(Line::default());
            }
            for (column, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
                let mut lines = cell.iter().cloned();
                let mut first = lines.next().unwrap_or_default();
                let name = name(column);
                if !name.is_empty() {
                    first.spans.insert(0, Span::styled(format!("{name}: "), palette.strong));
                }
                let hang = || Hang::new("", "  ");
                out.extend(wrap(&first, width, hang()));
                out.extend(lines.flat_map(|line| wrap(&line, width, Hang::new("  ", "  "))));
            }
        }
        out
    }
}
