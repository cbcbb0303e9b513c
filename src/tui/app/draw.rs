//! One frame: rows that are due, and the viewport below them.

use std::io::{self, Write};
use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::{App, view};
use crate::tui::live;
use crate::tui::pager::Pager;
use crate::tui::status::Status;
use crate::tui::term::{Alternate, Replaced, Screen};
use crate::tui::text;

/// Rows of a composer, at most; it scrolls inside.
const COMPOSER: u16 = 12;
/// Rows put above the viewport at once: on the way to the terminal each is a few kilobytes, of which the
/// thousands that may have come since the last frame would leave tens of megabytes behind.
const BITE: usize = 128;
/// Screens smaller than this hold the composer only.
const SMALL: (u16, u16) = (20, 5);

/// The viewport, put together: rows over the composer, the composer, rows under it.
struct Parts {
    above: Vec<Line<'static>>,
    /// Rows of the composer; 0: something else stands in its place.
    composer: u16,
    /// Rows of the dialog.
    dialog: u16,
    below: Vec<Line<'static>>,
}

impl App {
    /// Draws what changed; writes nothing when nothing did.
    pub fn draw<W: Write>(&mut self, screen: &mut Screen<W>, now: Instant) -> io::Result<()> {
        let size = (self.size.width, self.size.height);
        if self.pager.is_some() || self.overlay.is_some() {
            self.unseen();
        }
        if let Some(pager) = &mut self.pager {
            screen.alternate(Alternate::Enter)?;
            let rows = pager.screen(self.transcript.cells(), size, &self.palette);
            return screen.frame(size.1, |area, buffer| {
                put(&rows, area, buffer);
                None
            });
        }
        if let Some(overlay) = self.overlay.as_mut().filter(|overlay| overlay.fills()) {
            screen.alternate(Alternate::Enter)?;
            let rows = overlay.rows(usize::from(size.0), usize::from(size.1), &self.palette);
            return screen.frame(size.1, |area, buffer| {
                put(&rows, area, buffer);
                None
            });
        }
        screen.alternate(Alternate::Leave)?;
        let due = self.transcript.take();
        let parts = self.parts(now);
        for (nth, dialog) in self.asks.iter_mut().enumerate() {
            if nth == 0 && parts.dialog > 0 { dialog.shown(now) } else { dialog.hidden() }
        }
        let height = parts.above.len() as u16 + parts.composer + parts.dialog + parts.below.len() as u16;
        let mut bites = due.chunks(BITE);
        loop {
            screen.commit(bites.next().unwrap_or_default());
            let dialog = self.asks.front_mut();
            let stands = Stands { composer: &self.composer, dialog, palette: &self.palette };
            screen.frame(height.max(1), |area, buffer| place(&parts, stands, (area, buffer)))?;
            if bites.len() == 0 {
                return Ok(());
            }
        }
    }

    /// Draws again what is to be seen, as after a change of width.
    pub fn repaint<W: Write>(&mut self, screen: &mut Screen<W>) {
        let view = view(self.size, &self.palette);
        // What is due is whole, so it is among these rows.
        self.transcript.take();
        let rows = self.transcript.last_rows(usize::from(self.size.height) * 2, view);
        screen.repaint(&rows);
        self.transcript.show_again(view);
    }

    /// Unfolds the newest folded cell, or folds it again: where it stands, if all of it can be seen and has room
    /// there, else in the pager.
    pub fn unfold<W: Write>(&mut self, screen: &mut Screen<W>, now: Instant) -> io::Result<()> {
        let Some(cell) = self.transcript.newest_fold(&self.palette) else {
            self.note("nothing is folded here; ctrl+t shows everything");
            return Ok(());
        };
        if !self.transcript.is_in_order(cell) {
            self.pager = Some(Pager::at(cell));
            return Ok(());
        }
        // What is due stands below the cell then.
        self.draw(screen, now)?;
        let view = view(self.size, &self.palette);
        let old = self.transcript.since(cell, view);
        self.transcript.turn(cell);
        if screen.replace(&old, &self.transcript.since(cell, view)) == Replaced::Not {
            self.transcript.turn(cell);
            self.pager = Some(Pager::at(cell));
        }
        Ok(())
    }

    fn parts(&mut self, now: Instant) -> Parts {
        let (width, height) = (usize::from(self.size.width), usize::from(self.size.height));
        if self.size.width < SMALL.0 || self.size.height < SMALL.1 {
            let composer = self.composer.height(self.size.width, self.size.height);
            return Parts { above: Vec::new(), composer: composer.max(1), dialog: 0, below: Vec::new() };
        }
        let free = self.editing.is_none() && self.overlay.is_none();
        if let Some(dialog) = self.asks.front().filter(|dialog| free && !dialog.waits(now)) {
            let dialog = dialog.height(self.size.width).min(self.size.height.saturating_sub(2)).max(1);
            let below = vec![self.status().row(width, &self.palette)];
            let room = height.saturating_sub(usize::from(dialog) + 1);
            return Parts { above: self.over(width, room, now), composer: 0, dialog, below };
        }
        let (composer, below) = match &mut self.overlay {
            Some(overlay) => {
                let mut rows = vec![rule(width, &self.palette)];
                rows.extend(overlay.rows(width, (height * 2 / 3).max(4), &self.palette));
                (0, rows)
            }
            None => {
                let most = COMPOSER.min(self.size.height.saturating_sub(3)).max(1);
                (self.composer.height(self.size.width, most), self.under(width))
            }
        };
        let room = height.saturating_sub(usize::from(composer) + below.len());
        Parts { above: self.over(width, room, now), composer, dialog: 0, below }
    }

    /// The open end of the transcript, what runs, the tasks: the last of it where it does not fit.
    fn over(&mut self, width: usize, room: usize, now: Instant) -> Vec<Line<'static>> {
        let view = view(self.size, &self.palette);
        let mut rows = self.transcript.tail(view);
        let mut state = Vec::new();
        if let Some(live) = &self.live {
            state.extend(live.thought_row(width, &self.palette));
            state.extend(live::tasks_row(&self.todo, width, &self.palette));
            state.extend(match self.asks.is_empty() {
                true => live.rows(width, &self.facts.speaks.model.provider, now, &self.palette),
                false => vec![Line::styled("● waiting for you", self.palette.warn)],
            });
        }
        if let (Some(since), None) = (self.learning, &self.live) {
            state.push(live::learning_row(&self.facts.speaks.model.name, (since, now), width, &self.palette));
        }
        state.extend(self.offer_row(now));
        if !rows.is_empty() || !state.is_empty() {
            state.insert(0, Line::default());
        }
        rows.extend(state);
        // An empty row keeps the composer apart from what was said.
        if rows.is_empty() {
            rows.push(Line::default());
        }
        let over = rows.len().saturating_sub(room);
        rows.drain(..over);
        rows
    }

    /// What is queued, and the statusline.
    fn under(&self, width: usize) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        if !self.asks.is_empty() {
            let count = self.asks.iter().map(crate::tui::approval::Dialog::open).sum::<usize>();
            let noun = if count == 1 { "decision" } else { "decisions" };
            rows.push(Line::styled(format!("  {count} {noun} waiting"), self.palette.warn));
        }
        if let Some(last) = self.queue.back() {
            let count = match self.queue.len() {
                1 => "queued: ".to_owned(),
                more => format!("{more} queued, last: "),
            };
            let words = text::clean_line(&last.shown).into_owned();
            // An earlier run may have left it: nothing runs that it could be thrown into.
            let keys = match (self.working(), self.learning) {
                (true, _) => " (↑ edits, ctrl+s sends now)",
                (false, Some(_)) => " (↑ edits)",
                (false, None) => " (↑ edits; sent after what you send next)",
            };
            let room = width.saturating_sub(text::width(keys) + 2).max(8);
            let said = text::fit(Line::raw(format!("{count}{words}")), room);
            let line = format!("  {said}{keys}");
            rows.push(text::fit(Line::styled(line, self.palette.dim), width));
        }
        rows.push(self.status().row(width, &self.palette));
        rows
    }

    fn status(&self) -> Status<'_> {
        Status {
            speaks: (!self.facts.mute).then_some(&self.facts.speaks),
            mode: self.facts.mode,
            used: self.spent.context,
            cost: self.spent.cost,
            hint: "? keys",
        }
    }

    /// What the terminal's title says.
    pub fn title(&self) -> String {
        let folder = self.facts.cwd.file_name().map(|name| name.to_string_lossy().into_owned());
        let folder = text::clean_line(&folder.unwrap_or_default()).into_owned();
        let mark = match (self.asks.is_empty(), self.working()) {
            (false, _) => "● needs you · ",
            (true, true) => "⠸ ",
            (true, false) => "",
        };
        format!("{mark}tack · {folder}")
    }
}

fn rule(width: usize, palette: &crate::tui::palette::Palette) -> Line<'static> {
    Line::styled("─".repeat(width), palette.dim)
}

fn put(rows: &[Line<'static>], area: Rect, buffer: &mut Buffer) {
    for (row, y) in rows.iter().zip(area.y..area.bottom()) {
        buffer.set_line(area.x, y, row, area.width);
    }
}

/// What draws itself.
struct Stands<'a> {
    composer: &'a crate::tui::composer::Composer,
    dialog: Option<&'a mut crate::tui::approval::Dialog>,
    palette: &'a crate::tui::palette::Palette,
}

fn place(parts: &Parts, stands: Stands<'_>, (area, buffer): (Rect, &mut Buffer)) -> Option<Position> {
    let Stands { composer, dialog, palette } = stands;
    let above = (parts.above.len() as u16).min(area.height);
    put(&parts.above, Rect { height: above, ..area }, buffer);
    let left = area.height - above;
    let height = (parts.composer + parts.dialog).min(left);
    let here = Rect { y: area.y + above, height, ..area };
    if let Some(dialog) = dialog.filter(|_| parts.dialog > 0) {
        dialog.render(here, buffer, palette);
    }
    let cursor = (parts.composer > 0 && height > 0).then(|| composer.render(here, buffer, palette));
    let below = Rect { y: here.bottom(), height: left - height, ..area };
    put(&parts.below, below, buffer);
    cursor
}
