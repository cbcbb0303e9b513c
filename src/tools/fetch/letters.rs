//! A page's bytes as characters: UTF-8, UTF-16 and the western single-byte sets. Of others only ASCII
//! can be read, and that is said.

use regex::bytes::Regex;
use std::sync::LazyLock;

use super::super::text::{Encoding, Text};

pub(super) struct Letters {
    pub(super) text: String,
    /// The name of a charset that could not be read.
    pub(super) strange: Option<String>,
}

/// What Windows-1252 has at 0x80 to 0x9F, where Latin-1 has control characters (the Encoding Standard's
/// index; from memory).
const WESTERN: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// How far into a page it may say what its letters are, as browsers look.
const SNIFFED: usize = 1024;

/// None for what is no text.
pub(super) fn read(raw: &[u8], kind: &str, charset: Option<&str>) -> Option<Letters> {
    if !may_be_text(kind) {
        return None;
    }
    let known = |text: String| Some(Letters { text, strange: None });
    let named = charset.map(str::to_owned).or_else(|| named_inside(raw));
    match named.as_deref() {
        Some("utf-16" | "utf-16le") if !raw.starts_with(b"\xFE\xFF") => {
            return known(utf16(raw, u16::from_le_bytes));
        }
        Some("utf-16be") => return known(utf16(raw, u16::from_be_bytes)),
        Some(_) | None => {}
    }
    let text = Text::decode(raw)?;
    let is_utf8 = std::str::from_utf8(&text.bytes).is_ok();
    match named.as_deref() {
        // What reads as UTF-8 is UTF-8, whatever the server says.
        _ if is_utf8 && text.encoding != Encoding::Latin1 => {
            known(String::from_utf8_lossy(&text.bytes).into_owned())
        }
        Some("iso-8859-1" | "latin1" | "windows-1252" | "cp1252" | "us-ascii") => known(western(raw)),
        Some("utf-8" | "utf8") | None if text.encoding == Encoding::Latin1 => known(western(raw)),
        Some("utf-8" | "utf8") | None => known(String::from_utf8_lossy(raw).into_owned()),
        Some(name) => {
            let ascii = raw.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { '\u{fffd}' });
            Some(Letters { text: ascii.collect(), strange: Some(super::path::show_str(name)) })
        }
    }
}

fn may_be_text(kind: &str) -> bool {
    let (family, name) = kind.split_once('/').unwrap_or((kind, ""));
    match family {
        "image" => name == "svg+xml",
        "audio" | "video" | "font" | "model" => false,
        "application" => {
            let packed = [
                "pdf",
                "zip",
                "gzip",
                "wasm",
                "msword",
                "x-tar",
                "x-7z-compressed",
                "x-bzip2",
                "java-archive",
            ];
            !packed.contains(&name) && !name.starts_with("vnd.openxmlformats") && !name.starts_with("vnd.ms-")
        }
        _ => true,
    }
}

fn named_inside(raw: &[u8]) -> Option<String> {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?i)(?:<meta[^>]+charset|<\?xml[^>]+encoding)\s*=\s*["']?([A-Za-z0-9_:-]+)"#)
            .expect("a fixed expression")
    });
    let found = NAME.captures(&raw[..raw.len().min(SNIFFED)])?;
    Some(String::from_utf8_lossy(&found[1]).to_ascii_lowercase())
}

fn western(raw: &[u8]) -> String {
    let letter = |byte: &u8| match byte {
        0x80..=0x9f => WESTERN[usize::from(byte - 0x80)],
        _ => char::from(*byte),
    };
    raw.iter().map(letter).collect()
}

fn utf16(raw: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = raw.as_chunks::<2>().0.iter().map(|pair| unit(*pair));
    let text: String = char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect();
    text.trim_start_matches('\u{feff}').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_read_by_what_they_are_then_by_what_is_said_of_them() {
        let meta = b"<meta http-equiv=x content='text/html; charset=windows-1252'>\x93caf\xE9\x94";
        type Case<'a> = (&'a [u8], Option<&'a str>, &'a str, Option<&'a str>);
        let table: [Case<'_>; 9] = [
            ("na\u{ef}ve €".as_bytes(), None, "naïve €", None),
            ("na\u{ef}ve €".as_bytes(), Some("iso-8859-1"), "naïve €", None),
            (b"caf\xE9", Some("utf-8"), "café", None),
            (b"\x93caf\xE9\x94", Some("iso-8859-1"), "“café”", None),
            (meta, None, "“café”", None),
            (b"h\0i\0", Some("utf-16le"), "hi", None),
            (b"\xFE\xFF\0h\0i", None, "hi", None),
            (b"ok \x82\xA0", Some("shift_jis"), "ok \u{fffd}\u{fffd}", Some("shift_jis")),
            (b"\xEF\xBB\xBFmarked", Some("shift_jis"), "marked", None),
        ];
        for (raw, charset, want, strange) in table {
            let got = read(raw, "text/html", charset).expect("text");
            let text = got.text.rsplit('>').next().unwrap_or_default();
            assert_eq!((text, got.strange.as_deref()), (want, strange), "{raw:?} as {charset:?}");
        }
        for (raw, kind) in
            [(&b"a\0b"[..], "text/plain"), (b"GIF89a", "image/gif"), (b"%PDF-1.7", "application/pdf")]
        {
            assert!(read(raw, kind, None).is_none(), "{kind}");
        }
        assert!(read(b"{}", "application/vnd.api+json", None).is_some());
    }
}
