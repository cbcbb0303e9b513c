//! What a line of Markdown may be by itself: CommonMark 0.31, chapters 4 and 5, as far as the borders of blocks at
//! the top need it. Knows nothing of what is drawn.

use super::super::clean_line;

/// A line that holds more bytes is taken in parts.
const LINE: usize = 8 * 1024;

/// Containers in one another whose marks are followed.
const DEPTH: usize = 32;

/// Text that has arrived, line by line.
#[derive(Clone, Default)]
pub(super) struct Source {
    text: String,
    /// What was read already.
    at: usize,
}

impl Source {
    pub(super) fn push(&mut self, text: &str) {
        self.text.drain(..self.at);
        self.at = 0;
        self.text.push_str(text);
    }

    /// The next complete line, or part of a long one.
    pub(super) fn next(&mut self) -> Option<String> {
        let left = &self.text[self.at..];
        let within = (0..=LINE.min(left.len())).rev().find(|at| left.is_char_boundary(*at));
        let start = &left[..within.unwrap_or_default()];
        let (line, end) = match start.split_once('\n') {
            Some((line, _)) => (line, line.len() + 1),
            None if left.len() < LINE => return None,
            None => {
                let end = start.rfind(' ').map_or(start.len(), |blank| blank + 1);
                (&start[..end], end)
            }
        };
        let line = line.to_owned();
        self.at += end;
        Some(line)
    }

    /// Bytes that no line was made of.
    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        self.text.len() - self.at
    }

    /// What is left without an end of line.
    pub(super) fn rest(&mut self) -> String {
        let rest = self.text.split_off(self.at);
        *self = Self::default();
        rest
    }

    /// Drops a last line that may become the mark of anything: what it is now would only flicker.
    pub(super) fn hide_marks(&mut self) {
        let mark = |c: char| c.is_ascii_digit() || " \t-=*_#>`~|:+.)[]".contains(c);
        if self.text[self.at..].chars().all(mark) {
            self.text.truncate(self.at);
        }
    }
}

pub(super) enum Shape {
    Blank,
    /// By four columns or more.
    Indented,
    Fence(Fence),
    Heading,
    Rule,
    Quote,
    Item(Marker),
    Text,
}

impl Shape {
    pub(super) fn of(line: &str) -> Self {
        let body = line.trim_start_matches([' ', '\t']);
        if body.trim().is_empty() {
            return Self::Blank;
        }
        if indent(line) >= 4 {
            return Self::Indented;
        }
        if let Some(fence) = Fence::of(line) {
            return Self::Fence(fence);
        }
        let hashes = body.len() - body.trim_start_matches('#').len();
        if (1..=6).contains(&hashes) && body[hashes..].chars().next().is_none_or(char::is_whitespace) {
            return Self::Heading;
        }
        if rule(body) {
            return Self::Rule;
        }
        if body.starts_with('>') {
            return Self::Quote;
        }
        Marker::of(line, body).map_or(Self::Text, Self::Item)
    }
}

/// Columns before the first character.
pub(super) fn indent(line: &str) -> usize {
    let blanks = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    blanks.fold(0, |column, c| if c == '\t' { (column / 4 + 1) * 4 } else { column + 1 })
}

/// The line from a column on, where nothing but ASCII stands before that.
pub(super) fn behind(line: &str, column: usize) -> &str {
    let mut at = 0;
    let start = line.char_indices().find(|(_, c)| {
        let here = at;
        at = if *c == '\t' { (at / 4 + 1) * 4 } else { at + 1 };
        here >= column
    });
    start.map_or("", |(at, _)| &line[at..])
}

fn rule(body: &str) -> bool {
    ['-', '*', '_'].into_iter().any(|mark| {
        body.chars().filter(|c| *c == mark).count() >= 3
            && body.chars().all(|c| c == mark || c.is_whitespace())
    })
}

/// Whether the line makes a heading of the paragraph above it.
pub(super) fn underline(line: &str) -> bool {
    let body = line.trim();
    indent(line) < 4 && !body.is_empty() && ['-', '='].iter().any(|mark| body.chars().all(|c| c == *mark))
}

/// The first two lines of a table.
pub(super) fn table_head(block: &str) -> Option<&str> {
    let first = block.find('\n')? + 1;
    let second = block[first..].find('\n')? + first + 1;
    let bar = block[first..second].trim();
    let is_bar = bar.contains('-') && bar.contains('|') && bar.chars().all(|c| "|-: ".contains(c));
    is_bar.then(|| &block[..second])
}

/// A quote's line without its mark.
pub(super) fn quoted(line: &str) -> &str {
    let body = line.trim_start().strip_prefix('>').unwrap_or(line);
    body.strip_prefix(' ').unwrap_or(body)
}

/// Follows fences within an item or a quote. Whether the line, without what the container puts before it, is of
/// a paragraph.
pub(super) fn inside(mut line: &str, fence: &mut Option<Fence>) -> bool {
    if let Some(open) = fence {
        if open.closed_by(line) {
            *fence = None;
        }
        return false;
    }
    // Deeper than anybody nests; each level costs the whole line.
    for _ in 0..DEPTH {
        match Shape::of(line) {
            Shape::Text => return true,
            // Nested, and so on; what holds the text there need not be known.
            Shape::Item(marker) => line = behind(line, marker.content),
            Shape::Quote => line = quoted(line),
            Shape::Fence(opened) => {
                *fence = Some(opened);
                return false;
            }
            Shape::Indented => {
                let opened = Fence::of(line.trim_start());
                *fence = opened.map(|opened| Fence { indent: indent(line), ..opened });
                return fence.is_none();
            }
            Shape::Blank | Shape::Heading | Shape::Rule => return false,
        }
    }
    true
}

/// A fence that was opened.
#[derive(Clone)]
pub(super) struct Fence {
    mark: char,
    count: usize,
    indent: usize,
    /// The first word behind the marks, clean.
    pub(super) language: String,
}

impl Fence {
    fn of(line: &str) -> Option<Self> {
        let body = line.trim_start();
        let mark = body.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let behind = body.trim_start_matches(mark);
        let count = body.len() - behind.len();
        if count < 3 || mark == '`' && behind.contains('`') {
            return None;
        }
        let word = behind.split([' ', '\t', ',', '{']).find(|word| !word.is_empty()).unwrap_or_default();
        Some(Self { mark, count, indent: indent(line), language: clean_line(word).trim().to_owned() })
    }

    pub(super) fn closed_by(&self, line: &str) -> bool {
        let body = line.trim();
        let behind = body.trim_start_matches(self.mark);
        behind.is_empty() && body.len() >= self.count && indent(line) < self.indent.max(3) + 4
    }

    /// A line of the code, without the indentation of the fence.
    pub(super) fn content<'l>(&self, line: &'l str) -> &'l str {
        let blanks = line.bytes().take_while(|b| *b == b' ').count();
        &line[blanks.min(self.indent)..]
    }

    /// The line that opens it.
    pub(super) fn opening(&self) -> String {
        format!("{}{}", self.mark.to_string().repeat(self.count), self.language)
    }
}

/// What stands before the text of a list's item.
#[derive(Clone, Copy)]
pub(super) struct Marker {
    pub(super) indent: usize,
    pub(super) number: Option<u64>,
    /// The column where the item's text begins.
    pub(super) content: usize,
    mark: char,
}

impl Marker {
    fn of(line: &str, body: &str) -> Option<Self> {
        let digits = body.bytes().take_while(u8::is_ascii_digit).count();
        let mark = body[digits..].chars().next()?;
        let number = match (digits, mark) {
            (0, '-' | '*' | '+') => None,
            (1..=9, '.' | ')') => Some(body[..digits].parse().ok()?),
            _ => return None,
        };
        let behind = &body[digits + 1..];
        let blanks = indent(behind);
        if blanks == 0 && !behind.is_empty() {
            return None;
        }
        let indent = indent(line);
        // An item that begins with code, or with nothing, has its text one column behind the mark.
        let gap = if (1..=4).contains(&blanks) && !behind.trim().is_empty() { blanks } else { 1 };
        Some(Self { indent, number, content: indent + digits + 1 + gap, mark })
    }

    /// Whether a list may begin with this line right below a paragraph.
    pub(super) fn interrupts(&self, line: &str) -> bool {
        !behind(line, self.content).trim().is_empty() && matches!(self.number, None | Some(1))
    }

    /// The marker of an item that goes on, up to its text.
    pub(super) fn again(&self) -> String {
        let mark = match self.number {
            Some(_) => format!("1{}", self.mark),
            None => self.mark.to_string(),
        };
        format!("{:indent$}{mark:<width$}", "", indent = self.indent, width = self.content - self.indent)
    }
}
