//! A page cut into tags and the text between them.

use super::entity;

pub(super) enum Piece<'a> {
    Text(&'a str),
    Tag(Tag),
}

/// A tag; its name and its attributes' names are in small letters.
pub(super) struct Tag {
    pub(super) name: String,
    pub(super) closes: bool,
    /// `<x/>`
    pub(super) empty: bool,
    values: Vec<(String, String)>,
}

impl Tag {
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

pub(super) struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(page: &'a str) -> Self {
        Self { rest: page }
    }

    /// All until the end tag of this element, which is passed over; whatever else is in there is no
    /// markup.
    pub(super) fn raw(&mut self, name: &str) -> &'a str {
        let bytes = self.rest.as_bytes();
        let ends = |at: usize| {
            let after = &bytes[at + 1..];
            after.first() == Some(&b'/')
                && after.get(1..=name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
        };
        let end = memchr::memchr_iter(b'<', bytes).find(|at| ends(*at)).unwrap_or(bytes.len());
        let (inside, rest) = self.rest.split_at(end);
        self.rest = rest;
        inside
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            match self.rest.find('<') {
                Some(0) => {}
                at => return Some(Piece::Text(self.take(at.unwrap_or(self.rest.len())))),
            }
            let bytes = self.rest.as_bytes();
            match bytes.get(1) {
                Some(b'!') if self.rest.starts_with("<!--") => {
                    let end = self.rest[4..].find("-->").map_or(bytes.len(), |at| at + 7);
                    self.take(end);
                }
                Some(b'!' | b'?') => {
                    let end = self.rest.find('>').map_or(bytes.len(), |at| at + 1);
                    self.take(end);
                }
                Some(next) if next.is_ascii_alphabetic() || *next == b'/' => {
                    let end = end_of_tag(self.rest);
                    let text = self.take(end);
                    if let Some(tag) = tag(text) {
                        return Some(Piece::Tag(tag));
                    }
                }
                Some(_) | None => return Some(Piece::Text(self.take(1))),
            }
        }
    }
}

/// Behind the `>` that closes the tag; one in quotes does not.
fn end_of_tag(text: &str) -> usize {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (byte, quote) {
            (b'>', None) => return at + 1,
            (b'"' | b'\'', None) if text.as_bytes()[..at].trim_ascii_end().ends_with(b"=") => {
                quote = Some(byte);
            }
            (byte, Some(open)) if byte == open => quote = None,
            _ => {}
        }
    }
    // A quote that never ends: then it was none.
    text.find('>').map_or(text.len(), |at| at + 1)
}

fn tag(text: &str) -> Option<Tag> {
    let inner = text.strip_prefix('<')?.trim_end_matches('>');
    let (closes, inner) = match inner.strip_prefix('/') {
        Some(inner) => (true, inner),
        None => (false, inner),
    };
    let empty = inner.ends_with('/');
    let stop = |c: char| c.is_ascii_whitespace() || c == '/';
    let end = inner.find(stop).unwrap_or(inner.len());
    let name = inner[..end].to_ascii_lowercase();
    (!name.is_empty()).then(|| Tag { name, closes, empty, values: values(&inner[end..]) })
}

fn values(mut rest: &str) -> Vec<(String, String)> {
    let mut values = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return values;
        }
        // A name holds at least one letter, whatever that is.
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest[first..].find(|c: char| c.is_ascii_whitespace() || c == '=' || c == '/');
        let (name, after) = rest.split_at(end.map_or(rest.len(), |at| at + first));
        let Some(given) = after.trim_ascii_start().strip_prefix('=') else {
            rest = after;
            continue;
        };
        let given = given.trim_ascii_start();
        let (value, left) = match given.chars().next() {
            Some(quote @ ('"' | '\'')) => given[1..].split_once(quote).unwrap_or((&given[1..], "")),
            Some(_) | None => {
                given.split_at(given.find(|c: char| c.is_ascii_whitespace()).unwrap_or(given.len()))
            }
        };
        values.push((name.to_ascii_lowercase(), entity::decode(value).into_owned()));
        rest = left;
    }
}
