//! `@path` in what is typed: found, read, and written so that it is read the same again.
//!
//! `@src/a.rs`, `@src/`, `@src/a.rs:10-40`; `@"a b.rs":10` for names with blanks or quotes. Within quotes
//! `\"`, `\\`, `\n`, `\t` and `\xHH` (a byte) stand for what cannot be typed. What is there is taken as it
//! is written first: brackets, colons and a comma at the end may belong to a name.

use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A file or folder that was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// As written, relative to the folder unless absolute.
    pub path: PathBuf,
    /// First and last line, counted from 1.
    pub lines: Option<(u32, u32)>,
    pub there: There,
    /// Where it stands in the text it was read from, with the `@`.
    pub span: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum There {
    File,
    Folder,
    Missing,
}

/// A mention as it stands, not yet looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// From the `@` to its end.
    pub(super) span: Range<usize>,
    name: Vec<u8>,
    quoted: bool,
    /// Behind the closing quote.
    suffix: String,
}

/// Every token of `text`.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(sign) = text[at..].find('@').map(|i| i + at) {
        at = sign + 1;
        let begins =
            text[..sign].chars().next_back().is_none_or(|c| c.is_whitespace() || "([{'\"`".contains(c));
        if !begins {
            continue;
        }
        let token = token(text, sign);
        if token.span.len() > 1 {
            at = token.span.end;
            found.push(token);
        }
    }
    found
}

/// The token that begins with the `@` at `sign`.
fn token(text: &str, sign: usize) -> Token {
    let rest = &text[sign + 1..];
    let until_blank = |text: &str| text.find(char::is_whitespace).unwrap_or(text.len());
    let Some(inside) = rest.strip_prefix('"') else {
        let end = until_blank(rest);
        let name = rest.as_bytes()[..end].to_vec();
        return Token { span: sign..sign + 1 + end, name, quoted: false, suffix: String::new() };
    };
    let (name, used) = unquote(inside);
    let tail = &inside[used..];
    let suffix = if tail.starts_with(':') { &tail[..until_blank(tail)] } else { "" };
    let end = sign + 2 + used + suffix.len();
    Token { span: sign..end, name, quoted: true, suffix: suffix.to_owned() }
}

/// The bytes up to the closing quote, and how much of the text they took with it.
fn unquote(text: &str) -> (Vec<u8>, usize) {
    let mut name = Vec::new();
    let mut chars = text.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return (name, i + 1),
            '\n' => return (name, i),
            '\\' => match chars.next() {
                Some((_, 'n')) => name.push(b'\n'),
                Some((_, 't')) => name.push(b'\t'),
                Some((x, 'x')) => {
                    match text.get(x + 1..x + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
                        Some(byte) => {
                            name.push(byte);
                            chars.nth(1);
                        }
                        None => name.extend(b"\\x"),
                    }
                }
                Some((_, other)) => name.extend(other.to_string().bytes()),
                None => name.push(b'\\'),
            },
            other => name.extend(other.to_string().bytes()),
        }
    }
    (name, text.len())
}

impl Token {
    /// Looks for the file: as it is written, then without a range, then without closing punctuation.
    pub(super) fn find(&self, folder: &Path) -> Mention {
        let mut tries = Vec::new();
        if self.quoted {
            tries.push((self.name.clone(), range(&self.suffix), 0));
        } else {
            let name = String::from_utf8_lossy(&self.name).into_owned();
            let trimmed = name.trim_end_matches(|c| ".,;:!?)]}'\"`".contains(c));
            for text in [name.as_str(), trimmed] {
                let left = name.len() - text.len();
                tries.push((text.as_bytes().to_vec(), None, left));
                if let Some((path, lines)) =
                    text.rsplit_once(':').filter(|(_, r)| range(&format!(":{r}")).is_some())
                {
                    tries.push((path.as_bytes().to_vec(), range(&format!(":{lines}")), left));
                }
            }
            tries.retain(|(name, ..)| !name.is_empty());
        }
        let span = |left: usize| self.span.start..self.span.end - left;
        for (name, lines, left) in &tries {
            let path = os_path(name);
            let there = match folder.join(&path).metadata() {
                Ok(meta) if meta.is_dir() => There::Folder,
                Ok(_) => There::File,
                Err(_) => continue,
            };
            return Mention { path, lines: *lines, there, span: span(*left) };
        }
        // The fewest marks around it: what a person would call its name.
        let (name, lines, left) = tries.pop().unwrap_or((self.name.clone(), None, 0));
        Mention { path: os_path(&name), lines, there: There::Missing, span: span(left) }
    }
}

/// `:10` or `:10-40`.
fn range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.strip_prefix(':').map(|r| r.split_once('-').unwrap_or((r, r)))?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first > 0 && last >= first).then_some((first, last))
}

/// What is behind `@` to name `path`.
pub(super) fn written(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let text = path.to_str();
    let plain = text.is_some_and(|text| {
        let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\\') || invisible(c);
        let ends_oddly = text.ends_with(|c| ".,;:!?)]}'`".contains(c))
            || text.rsplit_once(':').is_some_and(|(_, r)| range(&format!(":{r}")).is_some());
        !text.contains(odd) && !ends_oddly
    });
    match text {
        Some(text) if plain => text.to_owned(),
        _ => format!("\"{}\"", escaped(bytes)),
    }
}

fn escaped(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                c if c.is_control() || invisible(c) => {
                    let mut buffer = [0; 4];
                    for byte in c.encode_utf8(&mut buffer).bytes() {
                        out.push_str(&format!("\\x{byte:02x}"));
                    }
                }
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// Turns text around or is not seen: a name that holds one could pass for another.
fn invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(unix)]
fn os_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(bytes.to_vec()).into()
}

#[cfg(not(unix))]
fn os_path(bytes: &[u8]) -> PathBuf {
    OsString::from(String::from_utf8_lossy(bytes).into_owned()).into()
}
