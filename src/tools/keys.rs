//! Keys by the names that tmux gives them, as the bytes a terminal sends for them.

/// What typing `text` sends: the key of that name when the whole text is one, else the text itself,
/// with Enter for each line end. `application`: the other codes of the arrow keys.
pub(super) fn bytes(text: &str, application: bool) -> Vec<u8> {
    named(text, application).unwrap_or_else(|| text.replace("\r\n", "\n").replace('\n', "\r").into_bytes())
}

fn named(text: &str, application: bool) -> Option<Vec<u8>> {
    if let Some(key) = text.strip_prefix("M-") {
        let rest = named(key, application).or_else(|| single(key).map(|c| c.to_string().into_bytes()))?;
        return Some([vec![0x1b], rest].concat());
    }
    if let Some(key) = text.strip_prefix("C-") {
        return Some(vec![control(single(key)?)?]);
    }
    if let Some(number) = text.strip_prefix('F').and_then(|number| number.parse::<usize>().ok()) {
        const FUNCTION: [&str; 12] =
            ["OP", "OQ", "OR", "OS", "[15~", "[17~", "[18~", "[19~", "[20~", "[21~", "[23~", "[24~"];
        return FUNCTION.get(number.checked_sub(1)?).map(|code| format!("\u{1b}{code}").into_bytes());
    }
    let arrow = |letter: char| format!("\u{1b}{}{letter}", if application { 'O' } else { '[' });
    Some(
        match text {
            "Enter" | "KPEnter" => "\r".to_owned(),
            "Escape" => "\u{1b}".to_owned(),
            "Tab" => "\t".to_owned(),
            "BTab" => "\u{1b}[Z".to_owned(),
            "Space" => " ".to_owned(),
            "BSpace" => "\u{7f}".to_owned(),
            "Up" => arrow('A'),
            "Down" => arrow('B'),
            "Right" => arrow('C'),
            "Left" => arrow('D'),
            "Home" => "\u{1b}[1~".to_owned(),
            "End" => "\u{1b}[4~".to_owned(),
            "IC" | "Insert" => "\u{1b}[2~".to_owned(),
            "DC" | "Delete" => "\u{1b}[3~".to_owned(),
            "PageUp" | "PgUp" | "PPage" => "\u{1b}[5~".to_owned(),
            "PageDown" | "PgDn" | "NPage" => "\u{1b}[6~".to_owned(),
            _ => return None,
        }
        .into_bytes(),
    )
}

fn single(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

/// Ctrl and a key, see ascii(7).
fn control(key: char) -> Option<u8> {
    match key {
        '?' => Some(0x7f),
        '@'..='_' | 'a'..='z' => Some(key as u8 & 0x1f),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_by_the_whole_text() {
        let table: [(&str, &[u8]); 14] = [
            ("C-c", b"\x03"),
            ("C-d", b"\x04"),
            ("C-[", b"\x1b"),
            ("C-Z", b"\x1a"),
            ("M-x", b"\x1bx"),
            ("M-Up", b"\x1b\x1b[A"),
            ("Enter", b"\r"),
            ("F5", b"\x1b[15~"),
            ("F13", b"F13"),
            ("Escape", b"\x1b"),
            ("C-c\n", b"C-c\r"),
            ("C-cc", b"C-cc"),
            ("ls -la\n", b"ls -la\r"),
            ("q", b"q"),
        ];
        for (text, want) in table {
            assert_eq!(bytes(text, false), want, "{text}");
        }
        assert_eq!(bytes("Up", true), b"\x1bOA");
    }
}
