//! What a terminal can be asked, and what its answers mean.
//!
//! One write, after the first frame: background, name, keys, and last what every terminal answers (DA1). The
//! input thread knows an answer from a key at any time, so nothing waits for one, and a late one never
//! becomes text.

use super::screen::Reflow;
use crate::tui::palette::Theme;

const QUESTIONS: &[u8] = b"\x1b]11;?\x1b\\\x1b[>q\x1b[?u\x1b[c";

/// The bytes to send, once; none for a terminal that would print them.
pub fn questions(term: Option<&str>) -> &'static [u8] {
    if matches!(term, None | Some("" | "dumb" | "linux")) {
        return b"";
    }
    super::guard::note_asked(true);
    QUESTIONS
}

/// Whether the terminal passes over sequences that it does not know, as all in use do but the console of Linux,
/// those within Emacs, and GNU screen, which cuts long ones.
pub fn skips_unknown(variable: impl Fn(&str) -> Option<String>) -> bool {
    let term = variable("TERM").unwrap_or_default();
    let plain = ["", "dumb", "linux", "cons25"].contains(&term.as_str()) || term.starts_with("eterm");
    !plain && variable("STY").is_none() && variable("INSIDE_EMACS").is_none()
}

/// Dark or light by `COLORFGBG`, as rxvt and some others set it: the last number is the background's.
pub fn guess(colorfgbg: Option<&str>) -> Option<Theme> {
    match colorfgbg?.rsplit(';').next()?.trim().parse::<u8>().ok()? {
        0..=6 | 8 => Some(Theme::Dark),
        7 | 9..=15 => Some(Theme::Light),
        _ => None,
    }
}

/// Of an answer to XTVERSION, such as `XTerm(390)` or `tmux 3.4`: xterm cuts its lines.
pub(super) fn reflow(name: &str) -> Reflow {
    if name.starts_with("XTerm(") { Reflow::No } else { Reflow::Yes }
}

/// Of an answer to OSC 11: `rgb:1e1e/1e1e/2e2e`, also `rgba:…`, with one to four digits for each.
pub(super) fn background(colour: &str) -> Option<Theme> {
    let (_, parts) = colour.split_once(':')?;
    let mut channels = parts.split('/').map(|part| {
        let most = f64::from(16_u32.checked_pow(u32::try_from(part.len()).ok()?)?) - 1.0;
        (1..=4).contains(&part.len()).then_some(())?;
        Some(f64::from(u16::from_str_radix(part, 16).ok()?) / most)
    });
    let mut next = || channels.next().flatten();
    let (red, green, blue) = (next()?, next()?, next()?);
    // Perceived brightness, as ITU-R BT.601 weighs the channels.
    let light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5;
    Some(if light { Theme::Light } else { Theme::Dark })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_background_is_dark_or_light() {
        for (colour, want) in [
            ("rgb:0000/0000/0000", Some(Theme::Dark)),
            ("rgb:1e1e/1e1e/2e2e", Some(Theme::Dark)),
            ("rgb:ffff/ffff/ffff", Some(Theme::Light)),
            ("rgba:fd/f6/e3/ff", Some(Theme::Light)),
            ("rgb:f/f/f", Some(Theme::Light)),
            ("rgb:0000/0000", None),
            ("rgb:xxxx/0000/0000", None),
            ("rgb:00000/0/0", None),
            ("red", None),
            ("", None),
        ] {
            assert_eq!(background(colour), want, "{colour}");
        }
        for (value, want) in [
            (None, None),
            (Some("15;0"), Some(Theme::Dark)),
            (Some("0;15"), Some(Theme::Light)),
            (Some("12;default;8"), Some(Theme::Dark)),
            (Some("0;default"), None),
        ] {
            assert_eq!(guess(value), want, "{value:?}");
        }
    }
}
