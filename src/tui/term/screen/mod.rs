//! What tack draws: a small viewport on the terminal's main screen, and lines put above it for good.
//!
//! The screen is reached by relative moves alone: where on it the viewport stands is not known, only a
//! lower bound of the rows above (`Screen::depth`). One frame is one write. The lines to be put above
//! and the viewport together are compared with the viewport that stands there; so a line that leaves the
//! viewport upwards, the common case while an answer streams, costs nothing.
//!
//! A terminal that wraps its lines anew when its width changes ([`Reflow::Yes`]) leaves the old viewport
//! on more rows than it had; from what was drawn follows where its top went. What such a terminal pushes
//! out of reach is remembered as `Ghost`s, for it comes back when the terminal grows.
//!
//! Knows nothing of what the rows mean.

mod paint;
mod place;
mod row;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, Write};

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};
use ratatui::text::Line;

use crate::tui::palette::Theme;
use paint::{Paint, Region};
use place::Ghosts;
use row::Row;

/// Whether a terminal breaks its lines anew when its width changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reflow {
    Yes,
    No,
}

impl Reflow {
    /// By what the environment says. xterm, screen and the Linux console cut lines or leave them; all
    /// other terminals in use wrap them.
    pub fn guess(variable: impl Fn(&str) -> Option<String>) -> Self {
        let console = variable("TERM").is_some_and(|term| term == "linux" || term.starts_with("screen."));
        let multiplexed = variable("TMUX").is_some();
        let cuts = variable("XTERM_VERSION").is_some() || variable("STY").is_some() || console;
        if cuts && !multiplexed { Self::No } else { Self::Yes }
    }
}

/// Into the full-screen buffer, for a pager, and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alternate {
    Enter,
    Leave,
}

/// Whether [`Screen::replace`] did so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    Yes,
    Not,
}

/// The inline screen. Nothing is written before the first [`Screen::frame`].
pub struct Screen<W: Write> {
    out: W,
    size: Size,
    reflow: Reflow,
    theme: Theme,
    /// The viewport as it stands.
    view: Region,
    /// The pager's screen, with the size the main one had when it was left.
    full: Option<(Region, Size)>,
    /// Rows to be put above the viewport with the next frame.
    pending: Vec<Row>,
    /// Texts of the newest rows above the viewport, for [`Screen::repaint`].
    recent: VecDeque<String>,
    ghosts: Ghosts,
    /// At least so many rows of the screen end with the viewport's last one.
    depth: usize,
    /// Whether `depth` is no bound but the truth: it is once the screen has scrolled.
    known: bool,
    started: bool,
    cursor_shown: bool,
    /// Escape sequences to go out before the next frame.
    queued: Vec<u8>,
}

impl<W: Write> Screen<W> {
    pub fn new(out: W, size: Size) -> Self {
        Self {
            out,
            size: at_least_one(size),
            reflow: Reflow::Yes,
            theme: Theme::Dark,
            view: Region::start(),
            full: None,
            pending: Vec::new(),
            recent: VecDeque::new(),
            ghosts: Ghosts::default(),
            depth: 1,
            known: false,
            started: false,
            cursor_shown: true,
            queued: Vec::new(),
        }
    }

    /// How the terminal treats its lines when its width changes; [`Reflow::Yes`] unless said.
    pub fn reflow(mut self, reflow: Reflow) -> Self {
        self.reflow = reflow;
        self
    }

    /// The same, once the terminal has said what it is.
    pub fn set_reflow(&mut self, reflow: Reflow) {
        self.reflow = reflow;
    }

    /// With [`Theme::Plain`] no colour is written, whatever the cells say.
    pub fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
    }

    /// In columns and rows.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Puts lines above the viewport, once, with the next frame. A line wider than the screen takes
    /// several rows.
    pub fn commit(&mut self, lines: &[Line<'_>]) {
        for line in lines {
            self.pending.extend(Row::of_line(line, self.size.width));
        }
    }

    /// Draws the viewport on `height` rows, or on all there are; the pager, if it is open, on all.
    /// `draw` gets an empty buffer and says where the cursor is, if it is to be seen. One write, or
    /// none if nothing changed.
    pub fn frame(
        &mut self,
        height: u16,
        draw: impl FnOnce(Rect, &mut Buffer) -> Option<Position>,
    ) -> io::Result<()> {
        let height = if self.full.is_some() { self.size.height } else { height.clamp(1, self.size.height) };
        let area = Rect::new(0, 0, self.size.width, height);
        let mut buffer = Buffer::empty(area);
        // Never outside of what is drawn: it would make rows that nobody counts.
        let last = (area.width.saturating_sub(1), area.height.saturating_sub(1));
        let cursor = draw(area, &mut buffer).map(|at| Position::new(at.x.min(last.0), at.y.min(last.1)));
        let mut rows = if self.full.is_some() { Vec::new() } else { self.take_pending() };
        let above = rows.len();
        rows.extend((0..height).map(|y| Row::of_buffer(&buffer, y)));
        self.draw(rows, above, cursor)
    }

    /// Ends drawing: what was committed stands, the viewport is gone, the cursor is on an empty line. A
    /// frame after it starts anew from where the cursor is then.
    pub fn leave(&mut self) -> io::Result<()> {
        self.alternate(Alternate::Leave)?;
        if self.started || !self.pending.is_empty() {
            let mut rows = self.take_pending();
            let above = rows.len();
            rows.push(Row::default());
            self.draw(rows, above, Some(Position::ORIGIN))?;
        }
        self.view = Region::start();
        self.recent.clear();
        self.ghosts = Ghosts::default();
        (self.depth, self.known, self.started) = (1, false, false);
        Ok(())
    }

    /// Opens or closes the full screen. Committed lines wait until it is closed.
    pub fn alternate(&mut self, way: Alternate) -> io::Result<()> {
        match (way, self.full.take()) {
            (Alternate::Enter, None) => {
                self.queued.extend_from_slice(b"\x1b[?1049h");
                self.queued.extend_from_slice(super::guard::note_alternate(Alternate::Enter));
                self.queued.extend_from_slice(b"\x1b[H");
                self.full = Some((Region::unknown(self.size.height.into()), self.size));
                Ok(())
            }
            (Alternate::Leave, Some((_, before))) => {
                self.queued.extend_from_slice(super::guard::note_alternate(Alternate::Leave));
                self.queued.extend_from_slice(b"\x1b[?1049l");
                let now = std::mem::replace(&mut self.size, before);
                self.resize(now);
                let queued = std::mem::take(&mut self.queued);
                self.send(&queued)
            }
            (_, full) => {
                self.full = full;
                Ok(())
            }
        }
    }

    /// The terminal has another size now. Draw a frame next; it writes the whole viewport.
    pub fn resize(&mut self, size: Size) {
        let size = at_least_one(size);
        if size == self.size {
            return;
        }
        if let Some((region, _)) = &mut self.full {
            *region = Region::unknown(size.height.into());
            self.queued.extend_from_slice(b"\x1b[H");
            self.size = size;
            return;
        }
        let before = std::mem::replace(&mut self.size, size);
        if self.started {
            self.move_with(before);
        }
    }

    /// Writes everything that can be seen once more with the next frame. `lines` are those last
    /// committed, made anew for the width of now; two screens of them are enough, none leaves what
    /// stands above the viewport as it is. Only rows that are certainly on the screen are replaced, and
    /// from a place where the old rows and the new ones begin with the same text: so nothing is twice in
    /// the scrollback, and nothing lost.
    pub fn repaint(&mut self, lines: &[Line<'_>]) {
        if self.full.is_some() {
            self.queued.extend_from_slice(b"\x1b[H");
            self.full = Some((Region::unknown(self.size.height.into()), self.size));
            return;
        }
        self.view.forget();
        let rows: Vec<Row> = lines.iter().flat_map(|line| Row::of_line(line, self.size.width)).collect();
        self.replace_visible(rows);
    }

    /// Has the newest of the committed lines put again, in their place, with the next frame: `old` are they,
    /// made for the width of now, `new` what is to stand there. Nothing is done unless all of `old` is
    /// certainly on the screen and `new` has room on it: so nothing is twice in the scrollback, and it can
    /// be taken back.
    pub fn replace(&mut self, old: &[Line<'_>], new: &[Line<'_>]) -> Replaced {
        if self.full.is_some() {
            return Replaced::Not;
        }
        let rows = |lines: &[Line<'_>]| -> Vec<Row> {
            lines.iter().flat_map(|line| Row::of_line(line, self.size.width)).collect()
        };
        let (old, new) = (rows(old), rows(new));
        self.replace_rows(&old, new)
    }

    /// Sends an escape sequence that moves nothing, such as those of [`super::escape`], at once.
    pub fn send(&mut self, sequence: &[u8]) -> io::Result<()> {
        self.out.write_all(sequence)?;
        self.out.flush()
    }

    /// The size may have changed since they were committed.
    fn take_pending(&mut self) -> Vec<Row> {
        let width = self.size.width;
        self.pending.drain(..).flat_map(|row| row.split(width)).collect()
    }

    fn draw(&mut self, mut rows: Vec<Row>, above: usize, cursor: Option<Position>) -> io::Result<()> {
        if self.theme == Theme::Plain {
            rows.iter_mut().for_each(Row::bleach);
        }
        let mut bytes = std::mem::take(&mut self.queued);
        if !self.started && self.full.is_none() {
            self.started = true;
            // If the shell left something on this line, as many blanks as the screen has columns move
            // to the next one; if not, they do not.
            bytes.extend(std::iter::repeat_n(b' ', self.size.width.into()));
            bytes.push(b'\r');
        }
        let region = self.full.as_mut().map_or(&mut self.view, |(region, _)| region);
        let old = region.height();
        let mut paint = Paint::new(region, self.size, bytes);
        paint.rows(&rows);
        paint.cursor(above, cursor, &mut self.cursor_shown);
        let bytes = paint.end();
        if self.full.is_none() {
            let reached = self.depth + rows.len().saturating_sub(old);
            self.depth = reached.min(self.size.height.into());
            self.known |= reached >= self.size.height.into();
            self.depth -= old.saturating_sub(rows.len()).min(self.depth - 1);
            let view = rows.split_off(above);
            self.view.settle(view, above);
            self.record(&rows);
        } else if let Some((region, _)) = &mut self.full {
            region.settle(rows, 0);
        }
        if bytes.is_empty() { Ok(()) } else { self.send(&bytes) }
    }
}

fn at_least_one(size: Size) -> Size {
    Size::new(size.width.max(1), size.height.max(1))
}
