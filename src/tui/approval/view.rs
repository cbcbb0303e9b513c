//! What the dialog looks like. Where there is little room the choices shrink first, then the reasons; what is
//! asked scrolls.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::{Choice, Dialog, Entry, Place, risks};
use crate::agent::{Answer, Request, What};
use crate::tui::palette::{Palette, Theme};
use crate::tui::text::diff::{self, Extent, Look};
use crate::tui::text::{Hang, fit, reveal, width, wrap};

/// The rows of one request at one width.
pub(super) struct Drawn {
    of: (usize, usize, Theme),
    rows: Arc<Vec<Line<'static>>>,
}

/// Rows of what is asked that are wanted before the rest is shortened.
const LEAST: usize = 3;
/// Requests in the list above.
const LISTED: usize = 6;

/// How much goes with what is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    All,
    /// Choices in one row.
    Short,
    /// Nothing but that row.
    Keys,
}

impl Dialog {
    /// Rows that it would like to have.
    pub fn height(&self, width: u16) -> u16 {
        let (palette, width) = (Palette::new(Default::default()), usize::from(width.max(1)));
        let rows = self.head(width, &palette, Detail::All).len()
            + self.body_rows(width, &palette)
            + self.foot(width, &palette, Detail::All).len();
        u16::try_from(rows).unwrap_or(u16::MAX)
    }

    /// Draws it, and takes note of what was on screen.
    pub fn render(&mut self, area: Rect, buffer: &mut Buffer, palette: &Palette) {
        if area.is_empty() {
            return;
        }
        for (row, line) in (area.y..area.bottom()).zip(self.rows((area.width, area.height), palette)) {
            line.render(Rect { y: row, height: 1, ..area }, buffer);
        }
    }

    fn rows(&mut self, (columns, rows): (u16, u16), palette: &Palette) -> Vec<Line<'static>> {
        let (width, height) = (usize::from(columns.max(1)), usize::from(rows));
        let body = self.body(width, palette);
        let around = |detail| (self.head(width, palette, detail), self.foot(width, palette, detail));
        let mut all = around(Detail::All);
        for detail in [Detail::Short, Detail::Keys] {
            if height.saturating_sub(all.0.len() + all.1.len()) < body.len().min(LEAST) {
                all = around(detail);
            }
        }
        let (mut head, mut foot) = all;
        let room = height.saturating_sub(head.len() + foot.len()).min(body.len());
        self.room = (room, body.len());
        self.scroll = self.scroll.min(body.len() - room);
        self.seen[self.at] |= self.scroll + room == body.len();
        let left = body.len() - room - self.scroll;
        if left > 0
            && self.entry.is_none()
            && let Some(last) = foot.last_mut()
        {
            let note = self.note.as_ref().map_or(String::new(), |note| format!(" {} ·", reveal(note)));
            *last = fit(Line::styled(format!("{note} ⋯ {left} more: pgdn"), palette.warn), width);
        }
        head.extend(body.iter().skip(self.scroll).take(room).cloned());
        head.extend(foot);
        // The end of what is being entered stays in sight.
        let over = if self.entry.is_some() { head.len().saturating_sub(height) } else { 0 };
        head.drain(..over);
        head.truncate(height);
        head
    }

    fn request(&self) -> &Request {
        &self.requests[self.at]
    }

    fn head(&self, width: usize, palette: &Palette, detail: Detail) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        match detail {
            Detail::Keys => return rows,
            Detail::All => rows.push(Line::styled("─".repeat(width), palette.dim)),
            Detail::Short => {}
        }
        if self.requests.len() > 1 && detail == Detail::All {
            rows.extend(self.list(width, palette));
        }
        rows.extend(sides(title(self.request()), self.request().asker.name(), (width, palette)));
        rows
    }

    /// All requests, around the one that is shown.
    fn list(&self, width: usize, palette: &Palette) -> Vec<Line<'static>> {
        let first = self.at.saturating_sub(LISTED / 2).min(self.requests.len().saturating_sub(LISTED));
        let count = format!(" {} of {} decided", self.requests.len() - self.open(), self.requests.len());
        let mut rows = vec![fit(Line::styled(count, palette.strong), width)];
        for (nth, request) in self.requests.iter().enumerate().skip(first).take(LISTED) {
            let here = nth == self.at;
            let (mark, style) = if here { ("›", palette.accent) } else { (" ", Style::new()) };
            let decided = match &self.answers[nth] {
                None => Span::raw(""),
                Some(Answer::Allow { .. } | Answer::Edited { .. } | Answer::Revised { .. }) => {
                    Span::styled("✓ ", palette.good)
                }
                Some(Answer::Refuse { .. }) => Span::styled("⊘ ", palette.bad),
            };
            let what = format!("{} ", nth + 1);
            let what = Line::from(vec![
                Span::styled(format!(" {mark} "), palette.accent),
                Span::styled(what, style),
                decided,
                Span::styled(first_row(request), style),
            ]);
            rows.push(fit(what, width));
        }
        rows.push(Line::raw(""));
        rows
    }

    /// How many rows those are, whatever their colours.
    fn body_rows(&self, width: usize, palette: &Palette) -> usize {
        let known = self
            .drawn
            .borrow()
            .as_ref()
            .filter(|drawn| (drawn.of.0, drawn.of.1) == (self.at, width))
            .map(|drawn| drawn.rows.len());
        known.unwrap_or_else(|| self.body(width, palette).len())
    }

    /// What is asked; made once, as it may be large.
    fn body(&self, width: usize, palette: &Palette) -> Arc<Vec<Line<'static>>> {
        let of = (self.at, width, palette.theme);
        let mut drawn = self.drawn.borrow_mut();
        match &*drawn {
            Some(drawn) if drawn.of == of => drawn.rows.clone(),
            Some(_) | None => {
                let rows = Arc::new(asked(self.request(), width, palette));
                *drawn = Some(Drawn { of, rows: rows.clone() });
                rows
            }
        }
    }

    fn foot(&self, width: usize, palette: &Palette, detail: Detail) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        if detail == Detail::Keys && self.entry.is_none() && !risks(self.request()).is_empty() {
            let all = risks(self.request()).join(", ");
            rows.push(fit(Line::styled(format!(" ! {all}"), palette.warn), width));
        }
        if detail != Detail::Keys {
            let place = match &self.request().what {
                What::Command { cwd, .. } => format!("in {} · ", cwd.display()),
                _ => String::new(),
            };
            let why = reveal(&format!("{place}{}", self.request().why)).replace('\n', " ");
            rows.extend(wrap(&Line::styled(why, palette.dim), width, Hang::under("   ")));
            for risk in risks(self.request()) {
                rows.extend(wrap(
                    &Line::styled(risk, palette.warn),
                    width,
                    Hang::under(Span::styled(" ! ", palette.warn)),
                ));
            }
        }
        match (&self.entry, detail) {
            (Some(entry), _) => rows.extend(entered(entry, width, palette)),
            (None, Detail::All) => {
                rows.push(Line::raw(""));
                rows.extend(self.choice_rows(width, palette));
            }
            (None, Detail::Short | Detail::Keys) => rows.push(self.keys(width, palette)),
        }
        match (&self.note, detail) {
            (Some(note), _) => {
                rows.push(fit(Line::styled(format!(" {}", reveal(note)), palette.warn), width));
            }
            // What is being entered has a hint of its own.
            (None, Detail::All) if self.entry.is_none() => rows.push(fit(self.hint(palette), width)),
            (None, Detail::All | Detail::Short | Detail::Keys) => {}
        }
        rows
    }

    fn choice_rows(&self, width: usize, palette: &Palette) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        for (nth, (choice, offered)) in self.choices().into_iter().enumerate() {
            let here = nth == self.row;
            let (mark, style) = if here { ("›", palette.accent) } else { (" ", Style::new()) };
            let mark = Span::styled(format!(" {mark} {}  ", choice.key()), palette.accent);
            let text = match offered {
                Ok(text) => Line::styled(reveal(&text).replace('\n', " "), style),
                Err(why) => Line::styled(format!("{} – not offered: {why}", choice.name()), palette.dim),
            };
            rows.extend(wrap(&text, width, Hang::under(mark)));
        }
        rows
    }

    /// The choices in one row: by their keys alone where there is no room for a word.
    fn keys(&self, width: usize, palette: &Palette) -> Line<'static> {
        let choices = self.choices();
        let offered = choices.iter().enumerate().filter(|(_, (_, offered))| offered.is_ok());
        let row = |named: bool| {
            let one = |(nth, (choice, _)): (usize, &(Choice, _))| {
                let mark = if nth == self.row { "›" } else { " " };
                let name = if named { format!(" {} ", choice.name()) } else { String::new() };
                [Span::styled(format!("{mark}{}", choice.key()), palette.accent), Span::raw(name)]
            };
            Line::from(offered.clone().flat_map(one).collect::<Vec<_>>())
        };
        let named = row(true);
        if named.width() <= width { named } else { fit(row(false), width) }
    }

    fn hint(&self, palette: &Palette) -> Line<'static> {
        let whole = if self.whole { "v choices" } else { "v scroll" };
        let scrolls = if self.room.1 > self.room.0 { format!(" · {whole}") } else { String::new() };
        let keys = match self.requests.len() {
            0 | 1 => "enter choose · esc no",
            _ => "enter · tab next · Y all · esc none",
        };
        Line::styled(format!(" {keys}{scrolls}"), palette.dim)
    }
}

/// All of what is asked, with everything drawn that would be hidden.
pub fn asked(request: &Request, width: usize, palette: &Palette) -> Vec<Line<'static>> {
    let plain = |text: &str, mark: &'static str| -> Vec<Line<'static>> {
        let text = reveal(text);
        let rest = " ".repeat(self::width(mark));
        let rows = text.split('\n').enumerate();
        rows.flat_map(|(nth, row)| {
            let first = Span::styled(if nth == 0 { mark.to_owned() } else { rest.clone() }, palette.accent);
            wrap(&Line::raw(row.to_owned()), width, Hang::under(first))
        })
        .collect()
    };
    match &request.what {
        What::Command { line, .. } => plain(line, " $ "),
        What::Typed { text } => plain(text, " > "),
        What::Script { tool, input } => [plain(tool, " "), plain(input, "   ")].concat(),
        What::Read { path } => plain(path, " "),
        What::Fetch { url } => plain(url, " "),
        What::Write { path, text } => [plain(path, " "), plain(text, "   ")].concat(),
        What::Edit { files } => {
            let one = |file: &crate::tools::Preview| {
                let (before, after) = (file.before.as_deref(), file.after.as_deref());
                let kind = match (before, after) {
                    (None, _) => " (new)",
                    (_, None) => " (removed)",
                    (Some(_), Some(_)) => "",
                };
                let look = Look { path: &file.path, width, palette, extent: Extent::Whole };
                let [before, after] = [before, after].map(|text| reveal(text.unwrap_or_default()));
                let mut rows = plain(&format!("{}{kind}", file.path), " ");
                rows.extend(diff::lines(&before, &after, &look));
                rows
            };
            files.iter().flat_map(one).collect()
        }
    }
}

/// What is asked, as a question.
pub fn title(request: &Request) -> &'static str {
    match &request.what {
        _ if request.again => "Run it again, with what it lacked?",
        What::Command { .. } => "Run this command?",
        What::Typed { .. } => "Type this into a program that runs?",
        What::Script { .. } => "Run this tool?",
        What::Edit { .. } => "Make this change?",
        What::Write { .. } => "Write this?",
        What::Read { .. } => "Read this?",
        What::Fetch { .. } => "Get this page?",
    }
}

/// Of what is asked, what fits a row.
pub fn first_row(request: &Request) -> String {
    let mark = if let What::Command { .. } = request.what { "$ " } else { "" };
    let text = format!("{mark}{}", request.what.brief());
    reveal(&text).replace('\n', " ↵ ").replace('\t', " ")
}

/// The question, and at the other side of the row who asks it.
fn sides(question: &'static str, asker: &str, (columns, palette): (usize, &Palette)) -> Vec<Line<'static>> {
    let asked = format!("asked by: {asker}");
    let question = Span::styled(format!(" {question}"), palette.strong);
    let gap = columns.checked_sub(width(&question.content) + width(&asked) + 1).filter(|gap| *gap > 1);
    let asked = Span::styled(asked, palette.dim);
    match gap {
        Some(gap) => vec![Line::from(vec![question, Span::raw(" ".repeat(gap)), asked])],
        None => {
            vec![fit(Line::from(question), columns), fit(Line::from(vec![Span::raw(" "), asked]), columns)]
        }
    }
}

fn entered(entry: &Entry, width: usize, palette: &Palette) -> Vec<Line<'static>> {
    let (mark, text, hint) = match entry {
        Entry::Reason(text) => (" why not: ", text, "enter sends · esc back".to_owned()),
        Entry::Rule { text, place } => {
            let place = match place {
                Place::Project => "this project",
                Place::Everywhere => "everywhere",
            };
            (" rule: ", text, format!("in {place}: tab changes · enter saves and allows · esc back"))
        }
    };
    let text = Line::raw(format!("{}█", reveal(text)));
    let mut rows = wrap(&text, width, Hang::under(Span::styled(mark, palette.accent)));
    rows.extend(wrap(&Line::styled(hint, palette.dim), width, Hang::under(" ")));
    rows
}
