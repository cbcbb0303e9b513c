//! Character references: `&amp;`, `&#8364;`, `&#x20ac;`.

use std::borrow::Cow;

/// The names that prose and code need; the HTML standard has two thousand more.
#[rustfmt::skip]
const NAMES: [(&str, char); 48] = [
    ("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\''), ("nbsp", ' '), ("ensp", ' '), ("emsp", ' '),
    ("thinsp", ' '), ("shy", '\u{ad}'), ("zwj", '\u{200d}'), ("zwnj", '\u{200c}'), ("hellip", '…'), ("mdash", '—'),
    ("ndash", '–'), ("lsquo", '‘'), ("rsquo", '’'), ("sbquo", '‚'), ("ldquo", '“'), ("rdquo", '”'), ("bdquo", '„'),
    ("laquo", '«'), ("raquo", '»'), ("lsaquo", '‹'), ("rsaquo", '›'), ("bull", '•'), ("middot", '·'), ("copy", '©'),
    ("reg", '®'), ("trade", '™'), ("deg", '°'), ("plusmn", '±'), ("times", '×'), ("divide", '÷'), ("minus", '−'),
    ("le", '≤'), ("ge", '≥'), ("ne", '≠'), ("larr", '←'), ("rarr", '→'), ("uarr", '↑'), ("darr", '↓'), ("euro", '€'),
    ("pound", '£'), ("yen", '¥'), ("sect", '§'), ("para", '¶'), ("lbrace", '{'),
];
/// Longest reference that is looked at.
const LONGEST: usize = 12;

/// The text with its references read; what is none stays.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(LONGEST).position(|byte| byte == b';');
        match end.and_then(|end| Some((end, letter(&rest[1..end])?))) {
            Some((end, letter)) => {
                out.push(letter);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn letter(name: &str) -> Option<char> {
    let Some(number) = name.strip_prefix('#') else {
        return NAMES.iter().find(|(known, _)| *known == name).map(|(_, letter)| *letter);
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    char::from_u32(code.ok()?).filter(|letter| *letter == '\n' || *letter == '\t' || !letter.is_control())
}
