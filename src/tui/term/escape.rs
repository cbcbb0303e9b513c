//! Sequences that move nothing: titles, notifications, and writing to the clipboard.
//!
//! All of them return bytes for [`super::Screen::send`]. Text given to them is stripped of control
//! characters, so that nothing can end a sequence early.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Sets the window's title (OSC 0); the one from before comes back when the terminal is restored.
pub fn title(text: &str) -> Vec<u8> {
    let mut bytes = super::guard::note_title().to_vec();
    bytes.extend(osc(&format!("0;{}", clean(text, 200))));
    bytes
}

/// How a person who looks elsewhere is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// A notification of the desktop (OSC 9), for the terminals that have it.
    Desktop,
    Bell,
}

impl Notify {
    /// By what the environment says of the terminal. Others may print or beep at OSC 9.
    pub fn guess(variable: impl Fn(&str) -> Option<String>) -> Self {
        const PROGRAMS: [&str; 4] = ["iTerm.app", "WezTerm", "ghostty", "WarpTerminal"];
        let program = variable("TERM_PROGRAM").is_some_and(|name| PROGRAMS.contains(&name.as_str()));
        let kitty = variable("KITTY_WINDOW_ID").is_some();
        if (program || kitty) && variable("TMUX").is_none() { Self::Desktop } else { Self::Bell }
    }
}

/// Tells a person who looks elsewhere.
pub fn notify(way: Notify, text: &str) -> Vec<u8> {
    match way {
        Notify::Desktop => osc(&format!("9;{}", clean(text, 200))),
        Notify::Bell => b"\x07".to_vec(),
    }
}

/// How a turn ended, as a command would: well, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    Good,
    Bad,
}

/// Tells a terminal that the answer to what was asked is over (OSC 133), which began with a row of its own.
pub fn turn_ended(how: TurnEnd) -> Vec<u8> {
    osc(match how {
        TurnEnd::Good => "133;D;0",
        TurnEnd::Bad => "133;D;1",
    })
}

/// Puts text into the clipboard of the terminal's own machine (OSC 52), also over ssh. Terminals take
/// about 100 kB; None for more.
pub fn copy(text: &str) -> Option<Vec<u8>> {
    (text.len() <= 74_000).then(|| osc(&format!("52;c;{}", STANDARD.encode(text))))
}

fn osc(body: &str) -> Vec<u8> {
    format!("\x1b]{body}\x1b\\").into_bytes()
}

fn clean(text: &str, most: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_end_its_sequence() {
        let bad = "a\x1b\\\x07\u{9c}\nb";
        assert!(title(bad).ends_with(b"\x1b]0;a\\b\x1b\\"));
        assert_eq!(notify(Notify::Desktop, bad), b"\x1b]9;a\\b\x1b\\");
        assert_eq!(copy("hé\n").unwrap(), b"\x1b]52;c;aMOpCg==\x1b\\");
        assert_eq!(copy(&"x".repeat(80_000)), None);
    }
}
