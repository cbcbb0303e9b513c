//! How a picker is laid out: its list, what is to be said of the row under the cursor (at its right where
//! there is room, else below), and the lines under both. Knows nothing of what is listed.

use ratatui::text::{Line, Span};

use super::list::List;
use crate::tui::palette::Palette;
use crate::tui::text::{self, Hang};

/// Columns from which the detail stands at the right.
const WIDE: usize = 110;
/// Columns of it there.
const DETAIL: std::ops::RangeInclusive<usize> = 46..=80;
/// What stands between.
const GAP: &str = " │ ";
/// Rows from which there is a detail below.
const HIGH: usize = 12;
/// Columns of a label.
const LABEL: usize = 9;

/// Which end of a detail is shown where not all of it fits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Head,
    Tail,
}

pub(super) struct Parts<'a> {
    pub head: Line<'static>,
    pub list: &'a mut List,
    /// Said where no row fits.
    pub none: &'static str,
    pub detail: Vec<Line<'static>>,
    pub end: End,
    /// Under it all.
    pub said: Vec<Line<'static>>,
    pub keys: String,
}

impl Parts<'_> {
    pub fn rows(self, width: usize, height: usize, p: &Palette) -> Vec<Line<'static>> {
        let Self { head, list, none, detail, end, said, keys } = self;
        let small = height < HIGH;
        let keys = fold(&[Line::styled(keys, p.dim)], width, if small { 1 } else { 3 });
        let left = height.saturating_sub(1 + keys.len());
        let said = fold(&said, width, (left / 3).max(1));
        let room = left.saturating_sub(said.len()).max(1);
        let wanted = list.sight_of_all().max(1);
        let mut out = vec![text::fit(head, width)];
        if width >= WIDE && !detail.is_empty() {
            let right = columns(width);
            let left = width - right - text::width(GAP);
            let detail = ended(fold(&detail, right, usize::MAX), end, room);
            let rows = listed(list, none, (left, room.min(wanted.max(detail.len()))), p);
            out.extend(beside(rows, detail, left, p));
        } else {
            let detail = fold(&detail, width, usize::MAX);
            let under = if small { 0 } else { detail.len().min(room / 2).max(room.saturating_sub(wanted)) };
            let rows = listed(list, none, (width, room.saturating_sub(under).max(1)), p);
            let rest = room.saturating_sub(rows.len()).min(if small { 0 } else { usize::MAX });
            out.extend(rows);
            out.extend(ended(detail, end, rest));
        }
        out.extend(said);
        out.extend(keys);
        out.truncate(height.max(1));
        out
    }
}

/// Columns that a detail has.
pub(super) fn columns(width: usize) -> usize {
    if width >= WIDE { (width / 3).clamp(*DETAIL.start(), *DETAIL.end()) } else { width }
}

/// A fact with its name before it.
pub(super) fn fact(label: &str, what: &str, p: &Palette) -> Line<'static> {
    let what = text::clean_line(what).into_owned();
    Line::from(vec![Span::styled(format!("{label:<LABEL$} "), p.dim), Span::raw(what)])
}

fn listed(
    list: &mut List,
    none: &'static str,
    (width, most): (usize, usize),
    p: &Palette,
) -> Vec<Line<'static>> {
    if list.counts().0 == 0 {
        return vec![text::fit(Line::styled(format!("  {none}"), p.dim), width)];
    }
    list.rows(width, most, p)
}

/// Lines as rows, at most so many. A fact's own rows stand under its first.
fn fold(lines: &[Line<'static>], width: usize, most: usize) -> Vec<Line<'static>> {
    let wrap = |line: &Line<'static>| {
        if let [label, rest @ ..] = &*line.spans
            && !rest.is_empty()
            && text::width(&label.content) == LABEL + 1
        {
            let rest = Line::from(rest.to_vec()).style(line.style);
            return text::wrap(&rest, width, Hang::under(Line::from(label.clone())));
        }
        text::wrap(line, width, Hang::none())
    };
    lines.iter().flat_map(wrap).take(most).collect()
}

fn ended(mut rows: Vec<Line<'static>>, end: End, most: usize) -> Vec<Line<'static>> {
    if end == End::Tail {
        rows.drain(..rows.len().saturating_sub(most));
        let blank = rows.iter().take_while(|row| row.width() == 0).count();
        rows.drain(..blank);
    }
    rows.truncate(most);
    rows
}

fn beside(
    left: Vec<Line<'static>>,
    right: Vec<Line<'static>>,
    columns: usize,
    p: &Palette,
) -> Vec<Line<'static>> {
    let count = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let row = |_| {
        let mut line = text::pad(left.next().unwrap_or_default(), columns);
        line.spans.push(Span::styled(GAP, p.dim));
        let detail = right.next().unwrap_or_default();
        line.spans.extend(
            detail.spans.into_iter().map(|span| Span::styled(span.content, detail.style.patch(span.style))),
        );
        line
    };
    (0..count).map(row).collect()
}
