//! Markdown that arrives in pieces, as lines: what can no longer change is given once, the open rest as it looks
//! now.
//!
//! Decides line by line where the blocks at the top end, so that the result does not depend on how the text was
//! cut. A block, and of a list an item, is parsed when it is complete (CommonMark 0.31 and GitHub's tables, task
//! boxes and strikethrough); code in a fence is given line by line. No work goes by the length of the answer.
//! References to links and footnotes are not resolved, because what they name comes later.

mod lines;
mod table;
mod write;

use ratatui::text::{Line, Span};

use self::lines::{Fence, Marker, Shape, Source};
use self::write::Number;
use super::code::Code;
use super::{Hang, clean, fit, linked, wrap};
use crate::tui::palette::{Extras, Palette};

/// An open block that holds more bytes is given as far as it has come.
const BLOCK: usize = 16 * 1024;

/// Markdown from first to last character. Widths are in columns, and may change: what was given stays as it was.
#[derive(Clone, Default)]
pub struct Markdown {
    source: Source,
    open: Open,
    /// The clean lines of the open block.
    block: String,
    /// Whether a row was given.
    begun: bool,
    /// Whether a blank row is due before the next one.
    gap: bool,
    /// The number of the item before, in a list that goes on.
    count: Option<u64>,
    /// The open block is the rest of one that was too long.
    continued: bool,
}

#[derive(Clone, Default)]
enum Open {
    #[default]
    Nothing,
    /// A paragraph, a table, HTML.
    Text,
    Indented,
    Quote {
        fence: Option<Fence>,
        /// A line without a mark goes on with the paragraph in the quote.
        lazy: bool,
    },
    Item(Item),
    Fence {
        fence: Fence,
        code: Code,
        /// Blank lines that are drawn when another line follows.
        blanks: usize,
    },
}

#[derive(Clone)]
struct Item {
    marker: Marker,
    number: Option<u64>,
    /// Columns that are added to lines, as what is nested here was not indented far enough.
    shift: usize,
    fence: Option<Fence>,
    /// The line before was blank.
    blank: bool,
    /// A line that is not indented goes on with the paragraph in the item.
    lazy: bool,
}

/// The whole of a text, as it comes out when it is streamed.
pub fn render(source: &str, width: usize, palette: &Palette) -> Vec<Line<'static>> {
    let mut markdown = Markdown::new();
    markdown.push(source);
    let mut rows = markdown.finished(width, palette);
    rows.extend(markdown.end(width, palette));
    rows
}

impl Markdown {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes what has arrived: not yet cleaned, cut anywhere.
    pub fn push(&mut self, text: &str) {
        self.source.push(text);
    }

    /// The rows of what has become complete since the last call.
    pub fn finished(&mut self, width: usize, palette: &Palette) -> Vec<Line<'static>> {
        let mut out = Out { rows: Vec::new(), width: width.max(1), palette };
        while let Some(line) = self.source.next() {
            self.lines(&line, &mut out);
        }
        out.rows
    }

    /// The rows of the rest, as they would be if nothing followed. Changes with the next piece.
    pub fn tail(&self, width: usize, palette: &Palette) -> Vec<Line<'static>> {
        let mut ended = self.clone();
        // An address that is not whole leads somewhere else, and with each piece elsewhere.
        let palette = palette.clone().with(Extras::None);
        let mut rows = ended.finished(width, &palette);
        ended.source.hide_marks();
        rows.extend(ended.end(width, &palette));
        rows
    }

    /// The rows of the rest; a new text may begin.
    pub fn end(&mut self, width: usize, palette: &Palette) -> Vec<Line<'static>> {
        let mut out = Out { rows: self.finished(width, palette), width: width.max(1), palette };
        let rest = self.source.rest();
        if !rest.is_empty() {
            self.lines(&rest, &mut out);
        }
        self.close(&mut out);
        *self = Self::new();
        out.rows
    }

    /// One line as it arrived; separators may make several of it.
    fn lines(&mut self, raw: &str, out: &mut Out<'_>) {
        let clean = clean(raw);
        for line in clean.split('\n') {
            self.line(line, out);
            if self.block.len() > BLOCK {
                self.give_half(out);
            }
        }
    }

    fn line(&mut self, line: &str, out: &mut Out<'_>) {
        let shape = Shape::of(line);
        let goes_on = match &mut self.open {
            Open::Nothing => false,
            Open::Text => {
                if lines::underline(line) {
                    self.add(line);
                    self.close(out);
                    return;
                }
                match shape {
                    Shape::Text | Shape::Indented => true,
                    Shape::Item(marker) => !marker.interrupts(line),
                    Shape::Blank | Shape::Fence(_) | Shape::Heading | Shape::Rule | Shape::Quote => false,
                }
            }
            Open::Indented => matches!(shape, Shape::Indented | Shape::Blank),
            Open::Quote { fence, lazy } => match shape {
                Shape::Quote => {
                    *lazy = lines::inside(lines::quoted(line), fence);
                    true
                }
                Shape::Text | Shape::Indented => *lazy,
                Shape::Blank | Shape::Fence(_) | Shape::Heading | Shape::Rule | Shape::Item(_) => false,
            },
            Open::Item(item) => {
                if let Some(line) = item.takes(line, &shape) {
                    self.block.push_str(&line);
                    self.block.push('\n');
                    return;
                }
                false
            }
            Open::Fence { fence, .. } => {
                if fence.closed_by(line) {
                    self.open = Open::Nothing;
                } else {
                    self.code(line, out);
                }
                return;
            }
        };
        if goes_on {
            self.add(line);
        } else {
            self.begin(line, shape, out);
        }
    }

    /// A line that does not belong to the open block.
    fn begin(&mut self, line: &str, shape: Shape, out: &mut Out<'_>) {
        let sibling = matches!(&self.open, Open::Item(item) if !item.blank);
        let listed = matches!(self.open, Open::Item(_));
        self.close(out);
        if matches!(shape, Shape::Blank) {
            return;
        }
        let item = matches!(shape, Shape::Item(_));
        self.gap = !(item && sibling);
        if !(item && listed) {
            self.count = None;
        }
        match shape {
            Shape::Blank => {}
            Shape::Heading | Shape::Rule => {
                self.add(line);
                self.open = Open::Text;
                self.close(out);
            }
            Shape::Fence(fence) => {
                let label = fence.label(out.palette);
                let code = Code::new(&fence.language);
                self.open = Open::Fence { fence, code, blanks: 0 };
                if let Some(label) = label {
                    self.give(vec![fit(label, out.width)], out);
                }
            }
            Shape::Quote => {
                let mut fence = None;
                let lazy = lines::inside(lines::quoted(line), &mut fence);
                self.open = Open::Quote { fence, lazy };
                self.add(line);
            }
            Shape::Item(marker) => {
                let number = marker.number.map(|own| self.count.map_or(own, |count| count.saturating_add(1)));
                self.count = number;
                let mut fence = None;
                let lazy = lines::inside(lines::behind(line, marker.content), &mut fence);
                self.open = Open::Item(Item { marker, number, shift: 0, fence, blank: false, lazy });
                self.add(line);
            }
            Shape::Indented => {
                self.open = Open::Indented;
                self.add(line);
            }
            Shape::Text => {
                self.open = Open::Text;
                self.add(line);
            }
        }
    }

    fn add(&mut self, line: &str) {
        self.block.push_str(line);
        self.block.push('\n');
    }

    /// Gives the open block, which is complete.
    fn close(&mut self, out: &mut Out<'_>) {
        let number = match &self.open {
            Open::Item(_) if self.continued => Number::Hidden,
            Open::Item(item) => item.number.map_or(Number::Own, Number::Of),
            Open::Nothing | Open::Text | Open::Indented | Open::Quote { .. } | Open::Fence { .. } => {
                Number::Own
            }
        };
        let block = std::mem::take(&mut self.block);
        let rows = write::block(&block, number, out.width, out.palette);
        self.give(rows, out);
        self.continued = false;
        self.open = Open::Nothing;
    }

    /// Gives the open block as far as it has come; what follows is the same block.
    fn give_half(&mut self, out: &mut Out<'_>) {
        let open = std::mem::take(&mut self.open);
        let again = match &open {
            Open::Text => lines::table_head(&self.block).unwrap_or_default().to_owned(),
            Open::Quote { fence: Some(fence), .. } => format!("> {}\n", fence.opening()),
            Open::Item(Item { marker, fence, .. }) => {
                let opening = fence.as_ref().map(Fence::opening).unwrap_or_default();
                format!("{}{opening}\n", marker.again())
            }
            Open::Quote { fence: None, .. } | Open::Nothing | Open::Indented | Open::Fence { .. } => {
                String::new()
            }
        };
        self.open = open.clone();
        self.close(out);
        (self.open, self.block, self.continued, self.gap) = (open, again, true, false);
    }

    /// A line of code in a fence.
    fn code(&mut self, line: &str, out: &mut Out<'_>) {
        let Open::Fence { fence, code, blanks } = &mut self.open else { return };
        let line = fence.content(line);
        let painted = code.line(line, out.palette);
        if line.trim().is_empty() {
            *blanks += 1;
            return;
        }
        let held = std::mem::take(blanks);
        let mut rows = Vec::new();
        // A fence without a label does not begin with blank rows.
        if !self.gap {
            rows.resize(held, Line::default());
        }
        let painted = linked(painted, out.palette);
        rows.extend(wrap(&painted, out.width, Hang::new(CODE, hang(line))));
        self.give(rows, out);
    }

    fn give(&mut self, rows: Vec<Line<'static>>, out: &mut Out<'_>) {
        if rows.is_empty() {
            return;
        }
        if self.gap && self.begun {
            out.rows.push(Line::default());
        }
        (self.gap, self.begun) = (false, true);
        out.rows.extend(rows);
    }
}

/// What code stands behind.
const CODE: &str = "  ";

/// What the rest of a long line of code stands behind: further in than its start.
fn hang(line: &str) -> String {
    format!("{CODE}  {}", " ".repeat(lines::indent(line)))
}

/// Where rows go, and how they look.
struct Out<'p> {
    rows: Vec<Line<'static>>,
    width: usize,
    palette: &'p Palette,
}

impl Item {
    /// The line as it goes into the item, if it does.
    fn takes(&mut self, line: &str, shape: &Shape) -> Option<String> {
        if matches!(shape, Shape::Blank) {
            (self.blank, self.lazy) = (true, false);
            return Some(String::new());
        }
        let indent = lines::indent(line);
        let content = self.marker.content;
        // Bullets below a number are often indented by two, where the number's text begins later.
        if let Shape::Item(marker) = shape
            && self.shift == 0
            && self.number.is_some()
            && marker.number.is_none()
            && indent > self.marker.indent + 1
        {
            self.shift = content.saturating_sub(indent);
        }
        let shifted = if indent > self.marker.indent + 1 { indent + self.shift } else { indent };
        if shifted >= content {
            self.blank = false;
            let line = format!("{}{line}", " ".repeat(shifted - indent));
            self.lazy = lines::inside(lines::behind(&line, content), &mut self.fence);
            return Some(line);
        }
        let goes_on = match shape {
            Shape::Text | Shape::Indented => self.lazy,
            Shape::Item(_) | Shape::Blank | Shape::Fence(_) | Shape::Heading | Shape::Rule | Shape::Quote => {
                false
            }
        };
        goes_on.then(|| line.to_owned())
    }
}

impl Fence {
    /// The name of the language, in a row of its own.
    fn label(&self, palette: &Palette) -> Option<Line<'static>> {
        (!self.language.is_empty())
            .then(|| Line::from(Span::styled(format!("{CODE}{}", self.language), palette.dim)))
    }
}

#[cfg(test)]
mod tests;
