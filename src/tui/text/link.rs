//! Addresses within lines: which part of a text is one, and how a style carries where it leads.
//!
//! A style has no room for an address, so each address gets a number and the number travels as the colour of an
//! underline, which nothing else here uses; the screen looks the address up when it writes the text. So wrapping
//! and cutting keep a link whole without knowing of links. What is a link shows where it leads: an address leads
//! to itself, a path of tack's own titles to that file.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::restyle;

/// Addresses that are kept. What comes later is text.
const MOST: usize = 1 << 16;
/// Longest address, in bytes: terminals take about so much.
const LONGEST: usize = 2_000;
/// Marks the beginning of a turn; no number of an address.
const TURN: Color = Color::Indexed(133);

#[derive(Default)]
struct Known {
    numbers: HashMap<Arc<str>, u32>,
    all: Vec<Arc<str>>,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// What makes text lead to an address; nothing where it is none that is clean.
pub fn style(address: &str) -> Style {
    let number = if is_clean(address) { number(address) } else { None };
    number.map_or(Style::new(), |number| {
        let [_, high, middle, low] = number.to_be_bytes();
        Style::new().underline_color(Color::Rgb(high, middle, low))
    })
}

fn number(address: &str) -> Option<u32> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(number) = known.numbers.get(address) {
        return Some(*number);
    }
    let number = u32::try_from(known.all.len()).ok().filter(|_| known.all.len() < MOST)?;
    let address: Arc<str> = address.into();
    known.all.push(address.clone());
    known.numbers.insert(address, number);
    Some(number)
}

/// The number and the address that a style carries.
pub fn target(carried: Color) -> Option<(u32, Arc<str>)> {
    let Color::Rgb(high, middle, low) = carried else { return None };
    let number = u32::from_be_bytes([0, high, middle, low]);
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    Some((number, known.all.get(usize::try_from(number).ok()?)?.clone()))
}

/// What makes a row the beginning of a turn, on its first character.
pub fn turn() -> Style {
    Style::new().underline_color(TURN)
}

/// Whether it does.
pub fn begins_turn(carried: Color) -> bool {
    carried == TURN
}

/// The line in which each address leads to itself.
pub fn urls(line: Line<'static>) -> Line<'static> {
    let text = line.spans.iter().map(|span| &*span.content).collect::<String>();
    let found: Vec<_> = find(&text).map(|(from, to)| (from..to, style(&text[from..to]))).collect();
    if found.is_empty() { line } else { restyle(line, found) }
}

/// A path that leads to its file, if it is shown as it is.
pub fn path(shown: String, path: &str, folder: &Path) -> Span<'static> {
    if shown != path || path.is_empty() {
        return Span::raw(shown);
    }
    let whole = folder.join(path);
    let mut address = "file://".to_owned();
    for byte in whole.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                address.push(char::from(*byte));
            }
            other => address.push_str(&format!("%{other:02X}")),
        }
    }
    Span::styled(shown, style(&address))
}

/// Where addresses of the web begin and end.
fn find(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = &text[at..];
            let from = at + rest.find("http")?;
            let body = &text[from..];
            let scheme = ["https://", "http://"].iter().find(|scheme| body.starts_with(**scheme));
            let before = text[..from].chars().next_back();
            let Some(scheme) = scheme.filter(|_| !before.is_some_and(char::is_alphanumeric)) else {
                at = from + 4;
                continue;
            };
            let to = from + body.find(|c| !belongs(c)).unwrap_or(body.len());
            let to = from + trimmed(&text[from..to]).len();
            at = to.max(from + 4);
            if to > from + scheme.len() {
                return Some((from, to));
            }
        }
    })
}

/// Stands in an address: printed ASCII without what quotes or brackets one.
fn belongs(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '<' | '>' | '"' | '`' | '{' | '}' | '|' | '\\' | '^')
}

/// An address without the marks of the sentence it stands in.
fn trimmed(mut address: &str) -> &str {
    loop {
        let count = |c| address.matches(c).count();
        let last = address.chars().next_back();
        let cut = match last {
            Some('.' | ',' | ':' | ';' | '!' | '?' | '\'' | '*' | '_') => true,
            Some(')') => count(')') > count('('),
            Some(']') => count(']') > count('['),
            _ => false,
        };
        if !cut {
            return address;
        }
        address = &address[..address.len() - 1];
    }
}

/// Nothing in it can end a sequence early, and it is of a kind that a person opens.
fn is_clean(address: &str) -> bool {
    address.len() <= LONGEST
        && ["http://", "https://", "file:///"].iter().any(|kind| address.starts_with(kind))
        && address.chars().all(|c| c.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Hang, wrap};
    use super::*;

    /// What leads where in a line.
    fn links(line: &Line<'_>) -> Vec<(String, String)> {
        let lead = |span: &Span<'_>| {
            let (_, address) = target(span.style.underline_color?)?;
            Some((span.content.to_string(), address.to_string()))
        };
        line.spans.iter().filter_map(lead).collect()
    }

    #[test]
    fn addresses_are_found_as_a_reader_takes_them() {
        for (text, want) in [
            ("see https://a.example/b?c=d#e.", &["https://a.example/b?c=d#e"][..]),
            ("(http://localhost:3000)", &["http://localhost:3000"]),
            ("https://en.example/x_(y), and", &["https://en.example/x_(y)"]),
            ("<https://a.example>`http://b.example`", &["https://a.example", "http://b.example"]),
            ("https://日本.example/", &[]),
            ("https://a.example/日本", &["https://a.example/"]),
            ("xhttps://a.example http:// https:/a httpshttp://b", &[]),
            ("**https://a.example**", &["https://a.example"]),
            ("javascript:alert(1) ftp://a.example", &[]),
        ] {
            let line = urls(Line::raw(text.to_owned()));
            let found: Vec<String> = links(&line).into_iter().map(|(_, address)| address).collect();
            assert_eq!(found, want, "{text}");
            assert_eq!(line.to_string(), text);
        }
    }

    #[test]
    fn a_link_is_whole_on_each_row_and_keeps_its_looks() {
        let bold = Style::new().bold();
        let line = Line::from_iter([Span::raw("at https://a.exam"), Span::styled("ple/long/way now", bold)]);
        let rows = wrap(&urls(line), 12, Hang::none());
        let all: Vec<_> = rows.iter().flat_map(links).collect();
        assert!(rows.len() > 2 && all.len() > 2, "{all:?}");
        assert!(all.iter().all(|(_, address)| address == "https://a.example/long/way"), "{all:?}");
        assert_eq!(all.iter().map(|(shown, _)| &**shown).collect::<String>(), "https://a.example/long/way");
    }

    #[test]
    fn a_path_leads_to_its_file() {
        let leads = |shown: &str, name: &str| {
            let span = path(shown.to_owned(), name, Path::new("/w/my shop"));
            links(&Line::from(span)).pop().map(|(_, address)| address)
        };
        assert_eq!(leads("src/a.rs", "src/a.rs").as_deref(), Some("file:///w/my%20shop/src/a.rs"));
        assert_eq!(leads("/etc/hosts", "/etc/hosts").as_deref(), Some("file:///etc/hosts"));
        assert_eq!(leads("日.rs", "日.rs").as_deref(), Some("file:///w/my%20shop/%E6%97%A5.rs"));
        assert_eq!(leads("a b", "a\u{202e} b"), None, "it is not shown as it is");
    }

    #[test]
    fn only_clean_addresses_are_carried() {
        let long = format!("https://a.example/{}", "x".repeat(LONGEST));
        for bad in
            ["https://a\u{1b}\\b", "https://a b", "javascript:alert(1)", "file://host/a", "https://日", &long]
        {
            assert_eq!(style(bad), Style::new(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn what_leads_somewhere_says_where(text in "(\\PC|https?://|[a-z./()]){0,30}") {
            let line = urls(Line::raw(text.clone()));
            prop_assert_eq!(line.to_string(), text);
            for (shown, address) in links(&line) {
                prop_assert_eq!(shown, address);
            }
        }
    }
}
