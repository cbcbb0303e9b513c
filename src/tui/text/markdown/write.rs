//! One block of Markdown as rows.

use pulldown_cmark::{BlockQuoteKind, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::code::Code;
use super::super::measure::columns;
use super::super::{Hang, clean, clean_line, linked, wrap};
use super::CODE;
use super::table::Table;
use crate::tui::palette::Palette;

/// What the item that a block is begins with.
#[derive(Clone, Copy)]
pub(super) enum Number {
    /// As it says itself.
    Own,
    Of(u64),
    /// It began earlier.
    Hidden,
}

/// The rows of a block; none of them is blank at the start or the end. Never empty for a block that says anything.
pub(super) fn block(source: &str, number: Number, width: usize, palette: &Palette) -> Vec<Line<'static>> {
    if source.trim().is_empty() {
        return Vec::new();
    }
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM;
    let mut writer = Writer::new(number, width, palette);
    let parser = Parser::new_ext(source, options);
    // What references mean is not looked up, so that they must be seen.
    let mut defined: Vec<_> =
        parser.reference_definitions().iter().map(|(_, def)| def.span.clone()).collect();
    for event in parser {
        writer.event(event);
    }
    defined.sort_by_key(|span| span.start);
    for span in defined {
        writer.lone(&source[span]);
    }
    writer.finish()
}

struct Writer<'p> {
    rows: Vec<Line<'static>>,
    width: usize,
    palette: &'p Palette,
    number: Number,
    levels: Vec<Level>,
    /// The innermost last.
    styles: Vec<Style>,
    /// The open paragraph, by lines.
    text: Vec<Vec<Span<'static>>>,
    /// Code and its language.
    code: Option<(String, String)>,
    /// Address and text of the open links.
    links: Vec<(String, String)>,
    table: Option<Table>,
}

/// A container of blocks.
#[derive(Default)]
struct Level {
    kind: Kind,
    first: Line<'static>,
    rest: Line<'static>,
    /// The first row is out.
    used: bool,
    /// A block was begun in it.
    filled: bool,
    /// Its blocks are kept apart.
    loose: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The top, a quote, a footnote.
    #[default]
    Blocks,
    List(Option<u64>),
    Item,
}

impl<'p> Writer<'p> {
    fn new(number: Number, width: usize, palette: &'p Palette) -> Self {
        let top = Level { loose: true, ..Level::default() };
        Self {
            rows: Vec::new(),
            width,
            palette,
            number,
            levels: vec![top],
            styles: vec![palette.text],
            text: Vec::new(),
            code: None,
            links: Vec::new(),
            table: None,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::Text(text) => match &mut self.code {
                Some((code, _)) => code.push_str(&clean(&text)),
                None => self.say(&text, Style::new()),
            },
            Event::Code(text) => self.say(&text, self.palette.code),
            Event::Html(html) => {
                for line in html.lines() {
                    self.say(line, self.palette.dim);
                    self.break_line();
                }
            }
            Event::InlineHtml(html) if html.starts_with("<br") => self.break_line(),
            Event::InlineHtml(html) => self.say(&html, self.palette.dim),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.say(&text, self.palette.code),
            Event::FootnoteReference(label) => self.say(&format!("[^{label}]"), self.palette.dim),
            // Models mean the breaks that they make.
            Event::SoftBreak | Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.begin();
                let rule = "─".repeat(self.width.min(40));
                self.put(&Line::styled(rule, self.palette.dim));
            }
            Event::TaskListMarker(done) => self.say(if done { "[x] " } else { "[ ] " }, self.palette.accent),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let p = self.palette;
        match tag {
            Tag::Paragraph => {
                if let [.., list, item] = &mut self.levels[..]
                    && item.kind == Kind::Item
                {
                    (list.loose, item.loose) = (true, true);
                }
                self.begin();
            }
            Tag::HtmlBlock => self.begin(),
            Tag::Heading { .. } => {
                self.begin();
                self.styled(p.heading);
            }
            Tag::BlockQuote(kind) => {
                self.begin();
                self.styled(p.quote);
                let bar = Line::styled("│ ", p.quote);
                self.open(Level { first: bar.clone(), rest: bar, loose: true, ..Level::default() });
                if let Some(kind) = kind {
                    self.begin();
                    self.put(&Line::styled(title(kind), p.quote.patch(p.strong)));
                    self.level().filled = false;
                }
            }
            Tag::CodeBlock(kind) => {
                self.begin();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        let word = info.split([' ', '\t', ',', '{']).find(|word| !word.is_empty());
                        clean_line(word.unwrap_or_default()).trim().to_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((String::new(), language));
            }
            Tag::List(number) => {
                self.begin();
                self.open(Level { kind: Kind::List(number), ..Level::default() });
            }
            Tag::Item => self.item(),
            Tag::FootnoteDefinition(label) => {
                self.begin();
                let first = Line::styled(format!("[^{}]: ", clean_line(&label)), p.dim);
                self.open(Level { first, rest: Line::raw("  "), loose: true, ..Level::default() });
            }
            Tag::Table(sides) => {
                self.begin();
                self.table = Some(Table::new(sides));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.styled(p.emphasis),
            Tag::Strong => self.styled(p.strong),
            Tag::Strikethrough => self.styled(p.struck),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((clean_line(&dest_url).into_owned(), String::new()));
                self.styled(p.link);
            }
            // Not asked for.
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.shut();
                self.styles.pop();
            }
            TagEnd::CodeBlock => self.write_code(),
            TagEnd::List(_) | TagEnd::FootnoteDefinition => self.shut(),
            TagEnd::Item => {
                self.flush();
                if !self.level().used {
                    self.put(&Line::default());
                }
                self.shut();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let width = self.width.saturating_sub(self.indent().min(self.width / 2));
                    for row in table.rows(width, self.palette) {
                        self.put(&row);
                    }
                }
            }
            TagEnd::TableCell => {
                let text = std::mem::take(&mut self.text);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(text.into_iter().map(Line::from).collect());
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                let Some((address, text)) = self.links.pop() else { return };
                let bare = address.strip_prefix("mailto:").unwrap_or(&address);
                if !bare.is_empty() && bare != text {
                    self.say(&format!(" ({address})"), self.palette.dim);
                }
            }
            _ => {}
        }
    }

    fn item(&mut self) {
        let list = self.level();
        let number = match &mut list.kind {
            Kind::List(Some(number)) => {
                let own = *number;
                *number = own.saturating_add(1);
                Some(own)
            }
            Kind::List(None) | Kind::Blocks | Kind::Item => None,
        };
        let top = self.levels.len() == 2;
        let mark = match (number, self.number) {
            (Some(_), Number::Of(number)) if top => format!("{number}. "),
            (Some(own), _) => format!("{own}. "),
            (None, _) => "- ".to_owned(),
        };
        let rest = Line::raw(" ".repeat(mark.len()));
        let first = match self.number {
            Number::Hidden if top => rest.clone(),
            Number::Hidden | Number::Own | Number::Of(_) => Line::styled(mark, self.palette.dim),
        };
        self.begin();
        self.open(Level { kind: Kind::Item, first, rest, ..Level::default() });
    }

    fn write_code(&mut self) {
        let Some((text, language)) = self.code.take() else { return };
        let code_level = Level { first: Line::raw(CODE), rest: Line::raw(CODE), ..Level::default() };
        self.levels.push(code_level);
        if !language.is_empty() {
            self.put(&Line::styled(language.clone(), self.palette.dim));
        }
        let mut code = Code::new(&language);
        // A line of blanks cannot end a block at the top; see the fence there.
        let lines: Vec<&str> = text.lines().collect();
        let full = |line: &&str| !line.trim().is_empty();
        let end = lines.iter().rposition(full).map_or(0, |last| last + 1);
        let start = if language.is_empty() { lines.iter().position(full).unwrap_or(end) } else { 0 };
        for line in &lines[start..end] {
            let painted = code.line(line, self.palette);
            self.level().rest = Line::raw(super::hang(line));
            self.level().used = false;
            self.put(&painted);
        }
        self.levels.pop();
    }

    /// Adds to the open paragraph.
    fn say(&mut self, text: &str, style: Style) {
        let text = clean_line(text).into_owned();
        for (_, shown) in &mut self.links {
            shown.push_str(&text);
        }
        let style = self.styles.last().copied().unwrap_or_default().patch(style);
        match self.text.last_mut() {
            Some(line) => line.push(Span::styled(text, style)),
            None => self.text.push(vec![Span::styled(text, style)]),
        }
    }

    fn break_line(&mut self) {
        if self.text.is_empty() {
            self.text.push(Vec::new());
        }
        self.text.push(Vec::new());
    }

    /// A row of the source as it stands.
    fn lone(&mut self, source: &str) {
        self.levels.truncate(1);
        for line in source.lines() {
            self.put(&Line::styled(clean_line(line.trim()).into_owned(), self.palette.dim));
        }
    }

    fn finish(mut self) -> Vec<Line<'static>> {
        self.flush();
        let blank = |row: &Line<'_>| row.spans.iter().all(|span| span.content.trim().is_empty());
        let end = self.rows.iter().rposition(|row| !blank(row)).map_or(0, |last| last + 1);
        self.rows.truncate(end);
        let start = self.rows.iter().position(|row| !blank(row)).unwrap_or(0);
        self.rows.split_off(start)
    }

    fn styled(&mut self, style: Style) {
        let outer = self.styles.last().copied().unwrap_or_default();
        self.styles.push(outer.patch(style));
    }

    fn level(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    fn open(&mut self, level: Level) {
        self.levels.push(level);
    }

    fn shut(&mut self) {
        self.flush();
        if self.levels.len() > 1 {
            self.levels.pop();
        }
    }

    /// A block begins in the open container: behind a blank row where blocks are kept apart.
    fn begin(&mut self) {
        self.flush();
        let level = self.level();
        let apart = level.filled && level.loose;
        level.filled = true;
        if apart {
            let blank = Line::from_iter(self.hang().rest.spans);
            self.rows.push(blank);
        }
    }

    /// Gives the open paragraph.
    fn flush(&mut self) {
        if self.table.is_some() {
            return;
        }
        let mut lines = std::mem::take(&mut self.text);
        if lines.last().is_some_and(Vec::is_empty) {
            lines.pop();
        }
        for line in lines {
            self.level().filled = true;
            self.put(&Line::from(line));
        }
    }

    fn put(&mut self, line: &Line<'static>) {
        let hang = self.hang();
        for level in &mut self.levels {
            level.used = true;
        }
        let line = linked(line.clone(), self.palette);
        self.rows.extend(wrap(&line, self.width, hang));
    }

    /// What stands before the next rows.
    fn hang(&self) -> Hang {
        let mut hang = Hang::none();
        for level in &self.levels {
            // Deeper ones have no room any more.
            if columns(&hang.rest) >= self.width {
                break;
            }
            let first = if level.used { &level.rest } else { &level.first };
            hang.first.spans.extend(spans(first));
            hang.rest.spans.extend(spans(&level.rest));
        }
        hang
    }

    fn indent(&self) -> usize {
        columns(&self.hang().rest)
    }
}

/// What a quote of a kind says of itself.
fn title(kind: BlockQuoteKind) -> &'static str {
    match kind {
        BlockQuoteKind::Note => "Note",
        BlockQuoteKind::Tip => "Tip",
        BlockQuoteKind::Important => "Important",
        BlockQuoteKind::Warning => "Warning",
        BlockQuoteKind::Caution => "Caution",
    }
}

/// The spans of a line, with its style.
fn spans(line: &Line<'static>) -> impl Iterator<Item = Span<'static>> {
    line.spans.iter().map(|span| Span::styled(span.content.clone(), line.style.patch(span.style)))
}
