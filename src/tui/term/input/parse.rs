//! Bytes from the terminal, told apart: keys, pastes, the focus, answers.
//!
//! Pure and incremental: bytes may be split anywhere. What is understood: UTF-8; control characters;
//! Alt as a leading ESC; CSI and SS3 keys with xterm's modifiers; kitty's protocol (CSI u) and xterm's
//! modifyOtherKeys; bracketed paste; focus; OSC, DCS and CSI answers. Mouse reports, which are never
//! asked for, and unknown sequences are dropped.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::keys;
use crate::tui::palette::Theme;
use crate::tui::term::{Reflow, probe};

/// What bytes turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Key(KeyEvent),
    Paste(String),
    Focus(bool),
    Background(Theme),
    Reflow(Reflow),
    /// The terminal knows kitty's keyboard protocol.
    Kitty,
    /// The last question is answered.
    Answered,
}

/// An ESC with nothing, or one byte, behind it may be a key of its own.
const AMBIGUOUS: Duration = Duration::from_millis(40);
/// The rest of a sequence may come over a slow line.
const UNFINISHED: Duration = Duration::from_millis(500);
/// As may the rest of a paste.
const PASTING: Duration = Duration::from_secs(2);
/// No sequence of a terminal is longer.
const LONGEST: usize = 4096;

const PASTE_END: &[u8] = b"\x1b[201~";

#[derive(Debug, Default)]
pub(super) struct Parser {
    bytes: Vec<u8>,
    /// What was pasted so far.
    paste: Option<Vec<u8>>,
}

/// What the first bytes are: so many of them, and their meaning if they have one; or not known yet.
enum Step {
    Took(usize, Option<Token>),
    PasteBegins(usize),
    More,
}

impl Parser {
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut Vec<Token>) {
        self.bytes.extend_from_slice(bytes);
        let mut at = 0;
        loop {
            if self.paste.is_some() {
                self.bytes.drain(..at);
                at = 0;
                if !self.end_of_paste(out) {
                    return;
                }
            }
            match step(&self.bytes[at..]) {
                Step::Took(count, token) => {
                    at += count;
                    out.extend(token);
                }
                Step::PasteBegins(count) => {
                    at += count;
                    self.paste = Some(Vec::new());
                }
                Step::More => break,
            }
        }
        self.bytes.drain(..at);
    }

    /// How long to wait for more before [`Parser::give_up`].
    pub(super) fn patience(&self) -> Option<Duration> {
        match (&self.paste, self.bytes.len()) {
            (Some(_), _) => Some(PASTING),
            (None, 0) => None,
            (None, 1 | 2) => Some(AMBIGUOUS),
            (None, _) => Some(UNFINISHED),
        }
    }

    /// Nothing more comes: what is there has to mean something by itself.
    pub(super) fn give_up(&mut self, out: &mut Vec<Token>) {
        if let Some(mut pasted) = self.paste.take() {
            pasted.append(&mut self.bytes);
            out.push(Token::Paste(text(&pasted)));
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let alt = |c: u8| {
            let key = keys::typed(c.into());
            KeyEvent::new(key.code, key.modifiers | KeyModifiers::ALT)
        };
        match bytes.as_slice() {
            [] => {}
            [0x1b] => out.push(Token::Key(KeyCode::Esc.into())),
            [0x1b, c @ 0x20..=0x7e] => out.push(Token::Key(alt(*c))),
            // The rest of an answer or of an unknown key.
            [0x1b, ..] => {}
            _ => out.push(Token::Key(KeyCode::Char(char::REPLACEMENT_CHARACTER).into())),
        }
    }

    /// Takes pasted bytes; true once the paste ended.
    fn end_of_paste(&mut self, out: &mut Vec<Token>) -> bool {
        let Some(pasted) = &mut self.paste else { return true };
        // The mark may have begun in what came before.
        let from = pasted.len().saturating_sub(PASTE_END.len() - 1);
        pasted.append(&mut self.bytes);
        let Some(found) = memchr::memmem::find(&pasted[from..], PASTE_END) else { return false };
        self.bytes = pasted.split_off(from + found + PASTE_END.len());
        pasted.truncate(from + found);
        out.push(Token::Paste(text(pasted)));
        self.paste = None;
        true
    }
}

/// Of a paste: terminals send line breaks as carriage returns.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n")
}

fn step(bytes: &[u8]) -> Step {
    let Some(first) = bytes.first() else { return Step::More };
    if *first != 0x1b {
        return character(bytes, KeyModifiers::NONE, 0);
    }
    let Some(second) = bytes.get(1) else { return Step::More };
    match second {
        b'[' => csi(bytes),
        b'O' => match bytes.get(2) {
            None => Step::More,
            Some(last) => match keys::ss3(*last) {
                Some(key) => Step::Took(3, Some(Token::Key(key))),
                None => character(&bytes[1..], KeyModifiers::ALT, 1),
            },
        },
        b']' | b'P' | b'_' => string(bytes),
        0x1b => Step::Took(1, Some(Token::Key(KeyCode::Esc.into()))),
        _ => character(&bytes[1..], KeyModifiers::ALT, 1),
    }
}

/// One character, `before` bytes behind the start of its key.
fn character(bytes: &[u8], modifiers: KeyModifiers, before: usize) -> Step {
    let took = |length: usize, mut key: KeyEvent| {
        key.modifiers |= modifiers;
        Step::Took(before + length, Some(Token::Key(key)))
    };
    let length = match bytes[0] {
        control @ (0..=0x1f | 0x7f) => return took(1, keys::control(control)),
        0x20..=0x7e => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return took(1, keys::typed(char::REPLACEMENT_CHARACTER)),
    };
    let there = &bytes[..length.min(bytes.len())];
    match std::str::from_utf8(there) {
        Ok(one) => took(length, keys::typed(one.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER))),
        Err(error) if error.error_len().is_none() && there.len() < length => Step::More,
        Err(error) => took(error.error_len().unwrap_or(1), keys::typed(char::REPLACEMENT_CHARACTER)),
    }
}

fn csi(bytes: &[u8]) -> Step {
    // The Linux console's F1 to F5.
    if bytes.get(2) == Some(&b'[') {
        return bytes.get(3).map_or(Step::More, |last| Step::Took(4, keys::console(*last).map(Token::Key)));
    }
    // A mouse report of old: three bytes behind.
    if bytes.get(2) == Some(&b'M') {
        return if bytes.len() < 6 { Step::More } else { Step::Took(6, None) };
    }
    let body = &bytes[2..];
    let Some(end) = body.iter().position(|byte| !(0x20..=0x3f).contains(byte)) else {
        return if body.len() > LONGEST { Step::Took(bytes.len(), None) } else { Step::More };
    };
    let last = body[end];
    if !(0x40..=0x7e).contains(&last) {
        // Broken off; what broke it is looked at anew.
        return Step::Took(2 + end, None);
    }
    let params = std::str::from_utf8(&body[..end]).unwrap_or_default();
    let whole = 2 + end + 1;
    match (params, last) {
        ("200", b'~') => Step::PasteBegins(whole),
        ("", b'I') => Step::Took(whole, Some(Token::Focus(true))),
        ("", b'O') => Step::Took(whole, Some(Token::Focus(false))),
        _ => Step::Took(whole, answer(params, last).or_else(|| keys::csi(params, last).map(Token::Key))),
    }
}

fn answer(params: &str, last: u8) -> Option<Token> {
    let params = params.strip_prefix('?')?;
    match (params, last) {
        (_, b'u') => Some(Token::Kitty),
        (_, b'c') => Some(Token::Answered),
        ("997;1", b'n') => Some(Token::Background(Theme::Dark)),
        ("997;2", b'n') => Some(Token::Background(Theme::Light)),
        _ => None,
    }
}

/// OSC, DCS and APC: answers, unless what follows cannot be one, as after Alt+] or Alt+P.
fn string(bytes: &[u8]) -> Step {
    let Some(third) = bytes.get(2) else { return Step::More };
    let begins = match bytes[1] {
        b']' => third.is_ascii_digit(),
        b'P' => third.is_ascii_digit() || b">!+$|".contains(third),
        _ => *third == b'G',
    };
    if !begins {
        return character(&bytes[1..], KeyModifiers::ALT, 1);
    }
    let body = &bytes[2..];
    let Some(end) = body.iter().position(|byte| *byte < 0x20) else {
        return if body.len() > LONGEST { Step::Took(bytes.len(), None) } else { Step::More };
    };
    let whole = match (body[end], body.get(end + 1)) {
        (7, _) => 2 + end + 1,
        (0x1b, None) => return Step::More,
        (0x1b, Some(b'\\')) => 2 + end + 2,
        // Broken off.
        _ => return Step::Took(2 + end, None),
    };
    let body = std::str::from_utf8(&body[..end]).unwrap_or_default();
    let answer = match bytes[1] {
        b']' => body.strip_prefix("11;").and_then(probe::background).map(Token::Background),
        b'P' => body.strip_prefix(">|").map(|name| Token::Reflow(probe::reflow(name))),
        _ => None,
    };
    Step::Took(whole, answer)
}
