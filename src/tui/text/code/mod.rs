//! Source code coloured line by line, by what a lexer sees: comments, strings, numbers, words of the language, types
//! and calls. What is open at the end of a line is all that is remembered, so that a line costs what it holds,
//! and a line that was given never changes.

mod words;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use self::words::{Habit, Lexicon};
use crate::tui::palette::Palette;

/// Code from its first line to its last.
#[derive(Clone, Debug, Default)]
pub struct Code {
    lexicon: Option<&'static Lexicon>,
    open: Option<Open>,
}

/// A comment or string that goes on in the next line.
#[derive(Clone, Copy, Debug)]
struct Open {
    end: &'static str,
    token: Token,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Plain,
    Keyword,
    String,
    Comment,
    Number,
    Kind,
    Function,
    Added,
    Removed,
}

impl Code {
    /// `language` as a fence names it, or the path of a file. One that is not known stays plain.
    pub fn new(language: &str) -> Self {
        Self { lexicon: Lexicon::of(language), open: None }
    }

    /// The next line, clean and without its end.
    pub fn line(&mut self, line: &str, palette: &Palette) -> Line<'static> {
        let Some(lexicon) = self.lexicon else { return Line::raw(line.to_owned()) };
        let mut lexer = Lexer { lexicon, line, at: 0, plain: 0, spans: Vec::new(), palette, first: true };
        self.open = lexer.run(self.open);
        Line::from(lexer.spans)
    }
}

struct Lexer<'a> {
    lexicon: &'static Lexicon,
    line: &'a str,
    at: usize,
    /// Where text begins that no span holds yet.
    plain: usize,
    spans: Vec<Span<'static>>,
    palette: &'a Palette,
    /// Nothing but blanks and marks was seen.
    first: bool,
}

impl Lexer<'_> {
    /// Goes through the line. What is open at its end.
    fn run(&mut self, open: Option<Open>) -> Option<Open> {
        if let Some(open) = open
            && !self.close(0, open)
        {
            return Some(open);
        }
        if self.lexicon.habit == Habit::Diff {
            self.patch();
            return None;
        }
        while let Some(c) = self.rest().chars().next() {
            let from = self.at;
            if let Some(open) = self.opens() {
                return Some(open);
            }
            if self.at == from {
                self.one(c);
            }
        }
        self.paint(self.line.len(), Token::Plain);
        None
    }

    fn rest(&self) -> &str {
        &self.line[self.at..]
    }

    /// Reads comments and long strings that begin here; one that the line does not end.
    fn opens(&mut self) -> Option<Open> {
        let lexicon = self.lexicon;
        for (start, end) in lexicon.block {
            if self.rest().starts_with(start) {
                return self.pair(start, Open { end, token: Token::Comment });
            }
        }
        if lexicon.line.iter().any(|mark| self.comments(mark)) {
            self.paint(self.at, Token::Plain);
            self.paint(self.line.len(), Token::Comment);
            return None;
        }
        for (start, end) in lexicon.long {
            if self.rest().starts_with(start) && (["\"", "`"].contains(start) || !self.within_word()) {
                self.first = false;
                return self.pair(start, Open { end, token: Token::String });
            }
        }
        None
    }

    /// Whether a comment up to the end of the line begins here. In a shell or a table `#` may be part of a word.
    fn comments(&self, mark: &str) -> bool {
        let before = self.line[..self.at].chars().next_back();
        self.rest().starts_with(mark)
            && match mark {
                "#" | ";" => before.is_none_or(|c| c.is_whitespace() || ")}];,".contains(c)),
                // An address, `http://`.
                "//" => before != Some(':'),
                _ => true,
            }
    }

    fn pair(&mut self, start: &str, open: Open) -> Option<Open> {
        let from = self.at;
        self.paint(from, Token::Plain);
        (!self.close(from + start.len(), open)).then_some(open)
    }

    /// Paints up to the end of a comment or string whose content begins at `from`; false when it goes on.
    fn close(&mut self, from: usize, open: Open) -> bool {
        let literal = match self.lexicon.habit {
            Habit::Sql => true,
            Habit::Shell => open.end == "'",
            Habit::Code | Habit::Rust | Habit::Keys | Habit::Markup | Habit::Diff => open.end.len() == 2,
        };
        let escapes = open.token == Token::String && !literal;
        let mut at = from;
        while let Some(c) = self.line[at..].chars().next() {
            if self.line[at..].starts_with(open.end) {
                self.paint(at + open.end.len(), open.token);
                return true;
            }
            at += c.len_utf8();
            if c == '\\' && escapes {
                at += self.line[at..].chars().next().map_or(0, char::len_utf8);
            }
        }
        self.paint(self.line.len(), open.token);
        false
    }

    /// One token that begins with this character.
    fn one(&mut self, c: char) {
        let markup = self.lexicon.habit == Habit::Markup;
        if self.lexicon.quotes.contains(c) && (!markup || self.within_tag()) {
            self.quoted(c);
        } else if c.is_ascii_digit() && !markup && !self.within_word() {
            let end = self.while_in(|c| c.is_alphanumeric() || c == '_' || c == '.');
            let number = self.line[self.at..end].find("..").map_or(end, |range| self.at + range);
            self.token(number, Token::Number);
        } else if c.is_alphabetic() || "_@#$".contains(c) {
            self.word(c);
        } else if c == '\\' && self.lexicon.habit == Habit::Shell {
            self.at += self.rest().chars().take(2).map(char::len_utf8).sum::<usize>();
        } else {
            self.first &= c.is_whitespace() || "-[{<+*.\"".contains(c);
            self.at += c.len_utf8();
        }
    }

    fn word(&mut self, c: char) {
        let lexicon = self.lexicon;
        let dashes = matches!(lexicon.habit, Habit::Keys | Habit::Markup | Habit::Shell);
        let start = self.at;
        self.at += c.len_utf8();
        let end = self.while_in(|c| c.is_alphanumeric() || c == '_' || dashes && "-./".contains(c));
        self.at = start;
        let word = self.line[start..end].trim_end_matches(['.', '/']);
        let end = start + word.len().max(c.len_utf8());
        let behind = self.line[end..].trim_start();
        let path = self.line[..start].ends_with(['.', '>']);
        let capital =
            c.is_uppercase() && word.chars().any(char::is_lowercase) || c.is_uppercase() && word.len() == 1;
        let token = match lexicon.habit {
            Habit::Markup => match self.line[..start].ends_with(['<', '/']) {
                true => Token::Keyword,
                false if self.within_tag() && behind.starts_with('=') => Token::Kind,
                false => Token::Plain,
            },
            Habit::Keys if lexicon.keyword(word) => Token::Keyword,
            Habit::Keys if self.first && behind.starts_with([':', '=', ']']) => Token::Kind,
            Habit::Keys => Token::Plain,
            Habit::Shell if c == '$' => Token::Kind,
            Habit::Shell if lexicon.keyword(word) => Token::Keyword,
            Habit::Shell => Token::Plain,
            Habit::Diff => Token::Plain,
            Habit::Code | Habit::Rust | Habit::Sql if lexicon.keyword(word) && !path => Token::Keyword,
            Habit::Code | Habit::Rust | Habit::Sql if lexicon.kind(word) => Token::Kind,
            Habit::Sql => Token::Plain,
            Habit::Rust if behind.starts_with('!') && !behind.starts_with("!=") => Token::Function,
            Habit::Code | Habit::Rust if behind.starts_with('(') => Token::Function,
            Habit::Code | Habit::Rust if capital || c == '@' => Token::Kind,
            Habit::Code | Habit::Rust => Token::Plain,
        };
        self.first = false;
        self.token(end, token);
    }

    /// A string within the line.
    fn quoted(&mut self, quote: char) {
        let start = self.at;
        let mut escaped = false;
        let inside = &self.line[start + quote.len_utf8()..];
        let end = inside.char_indices().find(|(_, c)| {
            let ends = *c == quote && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let Some((length, _)) = end else {
            // An apostrophe, or a string that nobody closed.
            match quote {
                '"' => self.token(self.line.len(), Token::String),
                _ => self.at += quote.len_utf8(),
            }
            return;
        };
        let end = start + length + 2 * quote.len_utf8();
        // `'a, 'b`: lifetimes.
        let chars = inside[..length].chars().count();
        if self.lexicon.habit == Habit::Rust && quote == '\'' && chars != 1 && !inside.starts_with('\\') {
            self.at += 1;
            let end = self.while_in(|c| c.is_alphanumeric() || c == '_');
            self.at = start;
            self.token(end, Token::Kind);
            return;
        }
        let key = self.lexicon.habit == Habit::Keys && self.line[end..].trim_start().starts_with([':', '=']);
        self.token(end, if key { Token::Kind } else { Token::String });
    }

    /// A row of a diff.
    fn patch(&mut self) {
        let token = match self.line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', b' ', ..] => {
                Token::Comment
            }
            [b'@', b'@', ..] => Token::Function,
            [b'+', ..] => Token::Added,
            [b'-', ..] => Token::Removed,
            _ => Token::Plain,
        };
        self.paint(self.line.len(), token);
    }

    fn within_word(&self) -> bool {
        self.line[..self.at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
    }

    fn within_tag(&self) -> bool {
        let before = &self.line[..self.at];
        match (before.rfind('<'), before.rfind('>')) {
            (Some(open), Some(shut)) => open > shut,
            (open, None) => open.is_some() || before.trim().is_empty() || self.line.trim_end().ends_with('>'),
            (None, Some(_)) => false,
        }
    }

    /// Where the characters of a kind end.
    fn while_in(&self, of: impl Fn(char) -> bool) -> usize {
        self.line.len() - self.rest().trim_start_matches(of).len()
    }

    /// Text up to `end` is a token; what stands before it is plain.
    fn token(&mut self, end: usize, token: Token) {
        if token != Token::Plain {
            self.paint(self.at, Token::Plain);
            self.paint(end, token);
        }
        self.at = end;
    }

    fn paint(&mut self, end: usize, token: Token) {
        if end > self.plain {
            self.spans.push(Span::styled(self.line[self.plain..end].to_owned(), self.style(token)));
        }
        (self.plain, self.at) = (end, end);
    }

    fn style(&self, token: Token) -> Style {
        let syntax = &self.palette.syntax;
        match token {
            Token::Plain => Style::new(),
            Token::Keyword => syntax.keyword,
            Token::String => syntax.string,
            Token::Comment => syntax.comment,
            Token::Number => syntax.number,
            Token::Kind => syntax.kind,
            Token::Function => syntax.function,
            Token::Added => self.palette.good,
            Token::Removed => self.palette.bad,
        }
    }
}

#[cfg(test)]
mod tests;
