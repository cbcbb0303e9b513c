//! HTML as Markdown or plain text: headings, links, lists, quotes, tables and code are kept, scripts and
//! styles are not.
//!
//! A page is a stream of tags to it, never a tree: nothing recurses, and what is not closed or closed
//! twice does no harm.

mod entity;
mod tag;

use reqwest::Url;

use tag::{Piece, Pieces, Tag};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    #[default]
    Markdown,
    Text,
}

pub(super) struct Read {
    pub(super) text: String,
    pub(super) title: Option<String>,
}

/// Elements whose content is not for readers.
const HIDDEN: [&str; 10] =
    ["script", "style", "template", "svg", "iframe", "object", "canvas", "noscript", "select", "math"];
/// A line of their own.
const LINES: [&str; 19] = [
    "div",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "nav",
    "aside",
    "figure",
    "figcaption",
    "form",
    "fieldset",
    "address",
    "details",
    "summary",
    "dt",
    "dd",
    "tr",
    "option",
];
/// Space around them.
const PARAGRAPHS: [&str; 4] = ["p", "table", "dl", "hr"];
/// Deepest list or quote that shows as one.
const DEEPEST: usize = 8;
/// Bytes of text after which no more of a page is read: whole addresses make much of little.
const MOST: usize = 16 * 1024 * 1024;
/// Characters of a title.
const TITLE: usize = 300;

/// The page as text; addresses in it are made whole by `base`.
pub(super) fn read(page: &str, form: Form, base: &Url) -> Read {
    let mut out = Out { form, ..Out::default() };
    let mut hidden: Option<(String, usize)> = None;
    let mut title = None;
    let mut pieces = Pieces::new(page);
    while out.text.len() < MOST
        && let Some(piece) = pieces.next()
    {
        match (piece, &mut hidden) {
            (Piece::Tag(tag), Some((name, depth))) if tag.name == *name => {
                *depth = if tag.closes { *depth - 1 } else { *depth + usize::from(!tag.empty) };
                if *depth == 0 {
                    hidden = None;
                }
            }
            (_, Some(_)) => {}
            (Piece::Text(text), None) => out.say(&entity::decode(text)),
            (Piece::Tag(tag), None) if HIDDEN.contains(&tag.name.as_str()) => {
                if !tag.closes && !tag.empty {
                    // What is in a script is no markup, so no tag inside counts.
                    let raw = matches!(tag.name.as_str(), "script" | "style");
                    if raw {
                        pieces.raw(&tag.name);
                    } else {
                        hidden = Some((tag.name, 1));
                    }
                }
            }
            (Piece::Tag(tag), None) if tag.name == "title" && !tag.closes => {
                let text = entity::decode(pieces.raw("title"));
                let words: Vec<&str> = text.split_whitespace().collect();
                let words: String = words.join(" ").chars().take(TITLE).collect();
                title = title.or(Some(words)).filter(|title| !title.is_empty());
            }
            (Piece::Tag(tag), None) => out.tag(&tag, base),
        }
    }
    out.end_link();
    let text = out.text.trim_end().to_owned();
    Read { text, title }
}

/// The text as it grows.
#[derive(Default)]
struct Out {
    form: Form,
    text: String,
    /// Line ends that are due before the next word.
    breaks: usize,
    /// A blank is due before it.
    blank: bool,
    /// What is to stand at the start of the next line, behind quotes and indents: a bullet, a heading's
    /// marks.
    lead: String,
    /// Open lists: the next number, none for bullets.
    lists: Vec<Option<u32>>,
    quotes: usize,
    /// Open `pre`.
    exact: usize,
    /// Where the open link's text begins, and where it leads.
    link: Option<(usize, String)>,
    /// Cells of the open table row.
    cells: usize,
}

impl Out {
    fn say(&mut self, text: &str) {
        if self.exact > 0 {
            return self.say_exactly(text);
        }
        for (nth, word) in text.split(|c: char| c.is_ascii_whitespace()).enumerate() {
            self.blank |= nth > 0;
            if !word.is_empty() {
                self.due();
                self.text.push_str(word);
            }
        }
    }

    fn say_exactly(&mut self, text: &str) {
        for (nth, line) in text.replace("\r\n", "\n").split('\n').enumerate() {
            if nth > 0 {
                self.text.push('\n');
                self.text.push_str(&self.margin());
            }
            self.text.push_str(line);
        }
    }

    /// Puts what is due before the next word.
    fn due(&mut self) {
        let starts = self.text.is_empty();
        if starts || self.breaks > 0 {
            if !starts {
                let margin = self.margin();
                for nth in (0..self.breaks).rev() {
                    self.text.push('\n');
                    self.text.push_str(if nth == 0 { &margin } else { margin.trim_end() });
                }
            } else {
                self.text.push_str(&self.margin());
            }
            // The bullet stands in the margin of its own item.
            if self.lead.starts_with(['-', '1', '2', '3', '4', '5', '6', '7', '8', '9', '0'])
                && self.depth() > 0
            {
                self.text.truncate(self.text.len() - 2);
            }
            self.text.push_str(&std::mem::take(&mut self.lead));
        } else if self.blank {
            self.text.push(' ');
        }
        (self.breaks, self.blank) = (0, false);
    }

    fn depth(&self) -> usize {
        self.lists.len().min(DEEPEST)
    }

    fn margin(&self) -> String {
        ["> ".repeat(self.quotes.min(DEEPEST)), "  ".repeat(self.depth())].concat()
    }

    fn ends(&mut self, lines: usize) {
        // Within a cell a row stays one line.
        if self.cells == 0 {
            self.breaks = self.breaks.max(lines);
        }
        self.blank = true;
    }

    fn tag(&mut self, tag: &Tag, base: &Url) {
        let opens = !tag.closes;
        match tag.name.as_str() {
            "br" => self.ends(1),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading(tag),
            "ul" | "ol" | "menu" => self.list(tag),
            "li" => self.item(opens),
            "blockquote" => {
                self.ends(2);
                self.quotes = if opens { self.quotes + 1 } else { self.quotes.saturating_sub(1) };
            }
            "pre" => self.block(opens),
            "code" | "kbd" | "samp" | "tt" if self.exact == 0 && self.form == Form::Markdown => {
                self.code(opens);
            }
            "a" => self.anchor(tag, base),
            "img" => self.image(tag, base),
            "td" | "th" if opens => {
                if self.cells > 0 {
                    self.say(" | ");
                }
                self.cells += 1;
            }
            "tr" => {
                self.cells = 0;
                self.ends(1);
            }
            "table" => {
                self.cells = 0;
                self.ends(2);
            }
            name if PARAGRAPHS.contains(&name) => self.ends(2),
            name if LINES.contains(&name) => self.ends(1),
            _ => {}
        }
    }

    fn heading(&mut self, tag: &Tag) {
        self.ends(2);
        let level = usize::from(tag.name.as_bytes()[1] - b'0');
        self.lead = match (tag.closes, self.form) {
            (false, Form::Markdown) => format!("{} ", "#".repeat(level)),
            (false, Form::Text) | (true, _) => String::new(),
        };
    }

    fn list(&mut self, tag: &Tag) {
        self.ends(if self.lists.is_empty() || tag.closes && self.lists.len() == 1 { 2 } else { 1 });
        if tag.closes {
            self.lists.pop();
            self.lead.clear();
        } else {
            let start = tag.value("start").and_then(|start| start.parse().ok()).unwrap_or(1);
            self.lists.push((tag.name == "ol").then_some(start));
        }
    }

    fn item(&mut self, opens: bool) {
        self.ends(1);
        self.lead.clear();
        if opens {
            self.lead = match self.lists.last_mut() {
                Some(Some(number)) => {
                    *number = number.saturating_add(1);
                    format!("{}. ", *number - 1)
                }
                Some(None) | None => "- ".to_owned(),
            };
        }
    }

    /// Code of several lines.
    fn block(&mut self, opens: bool) {
        if opens {
            self.ends(2);
            if self.exact == 0 {
                self.due();
                if self.form == Form::Markdown {
                    self.say_exactly("```\n");
                }
            }
            self.exact += 1;
        } else if self.exact > 0 {
            self.exact -= 1;
            if self.exact == 0 && self.form == Form::Markdown {
                if !self.text.trim_end_matches([' ', '>']).ends_with('\n') {
                    self.say_exactly("\n");
                }
                self.text.push_str("```");
            }
            self.ends(2);
        }
    }

    fn code(&mut self, opens: bool) {
        if opens {
            self.due();
        }
        self.text.push('`');
    }

    fn anchor(&mut self, tag: &Tag, base: &Url) {
        self.end_link();
        let place = tag.value("href").filter(|_| !tag.closes && self.form == Form::Markdown);
        let Some(place) = place.filter(|place| !place.starts_with('#')) else { return };
        let Ok(place) = base.join(place.trim()) else { return };
        if matches!(place.scheme(), "http" | "https" | "mailto" | "ftp") {
            self.due();
            self.link = Some((self.text.len(), place.to_string()));
        }
    }

    fn end_link(&mut self) {
        let Some((from, place)) = self.link.take() else { return };
        let words: Vec<&str> = self.text[from..].split_whitespace().collect();
        let words = words.join(" ");
        self.text.truncate(from);
        if words == place {
            self.text.push_str(&words);
        } else if !words.is_empty() {
            self.text.push_str(&format!("[{words}]({place})"));
        }
    }

    fn image(&mut self, tag: &Tag, base: &Url) {
        let Some(alt) = tag.value("alt").filter(|alt| !alt.trim().is_empty()) else { return };
        let place = tag.value("src").and_then(|place| base.join(place.trim()).ok());
        match place.filter(|place| self.form == Form::Markdown && place.scheme() != "data") {
            Some(place) => self.say(&format!("![{alt}]({place})")),
            None => self.say(alt),
        }
    }
}

#[cfg(test)]
mod tests;
