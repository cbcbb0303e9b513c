//! Pastes where the terminal does not mark them: text that comes faster than anyone types.
//!
//! A *run* is text, each key of it less than [`GAP`] behind the one before; keys of one read have no
//! gap. The rule, in which a break is Enter or Ctrl+J:
//!
//! 1. A run that has a break with more text behind it is one paste, and all its breaks are line breaks,
//!    also the last. So a pasted log never sends itself, and one paste is one event.
//! 2. Any other run is keys: `hello` and Enter written at once is a word and Enter. If its text is
//!    longer than [`LONG`] characters, the text is a paste, and Enter behind it is still Enter.
//! 3. Nobody waits for a key that was typed: a run of a few characters without a break goes on at once,
//!    as does Enter with a pause before it. An Enter right behind text is held for [`ENTER`], which a
//!    script that types the next thing takes longer than; what is too much to be typed, until the next
//!    pause of [`GAP`]. In a large run that is [`SLOW`], as a busy machine makes pauses of its own; text
//!    as short as that after a paste belongs to the paste.
//!
//! Pure: the time is told.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::keys;
use super::parse::Token;

const GAP: Duration = Duration::from_millis(8);
const ENTER: Duration = Duration::from_millis(3);
const SLOW: Duration = Duration::from_millis(100);
/// Characters without a break that are passed on as they come, in one read.
const FEW: usize = 16;
/// Characters from which a run is large.
const LARGE: usize = 200;
/// Characters from which text without a break is a paste.
const LONG: usize = 1000;
/// Bytes after which a run is passed on while it lasts.
const MOST: usize = 32 << 20;

#[derive(Debug, Default)]
pub(super) struct Burst {
    /// What is held; Enter is `\r`, Ctrl+J `\n`.
    run: String,
    /// Characters in it, counted up to [`LONG`] and some.
    count: usize,
    /// A break has text behind it.
    pasted: bool,
    /// When the last text key came.
    last: Option<Instant>,
    /// The run began right behind text that was passed on.
    follows: bool,
    /// A paste ended then.
    paste_end: Option<Instant>,
}

impl Burst {
    /// The tokens of one read.
    pub(super) fn read(&mut self, tokens: Vec<Token>, now: Instant, out: &mut Vec<Token>) {
        for token in tokens {
            let text = if let Token::Key(key) = &token { text(*key) } else { None };
            match text {
                Some(c) => self.push(c, now),
                None => {
                    self.settle(out);
                    out.push(token);
                }
            }
        }
        let at_once = if self.has_break() { self.run.len() == 1 && !self.follows } else { self.count <= FEW };
        if (at_once && !self.pasted) || self.run.len() > MOST {
            self.settle(out);
        }
    }

    /// When [`Burst::settle`] is due.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.run.is_empty()).then(|| self.last.map(|last| last + self.gap()))?
    }

    /// The run is over.
    pub(super) fn settle(&mut self, out: &mut Vec<Token>) {
        let run = std::mem::take(&mut self.run);
        let count = std::mem::take(&mut self.count);
        if std::mem::take(&mut self.pasted) {
            out.push(Token::Paste(run.replace("\r\n", "\n").replace('\r', "\n")));
            self.paste_end = self.last;
            return;
        }
        let body = run.trim_end_matches(['\r', '\n']);
        if count > LONG {
            out.push(Token::Paste(body.to_owned()));
        } else {
            out.extend(body.chars().map(|c| Token::Key(key(c))));
        }
        out.extend(run[body.len()..].replace("\r\n", "\r").chars().map(|c| Token::Key(key(c))));
    }

    fn push(&mut self, c: char, now: Instant) {
        let since = |then: Option<Instant>| then.map(|then| now.saturating_duration_since(then));
        if self.run.is_empty() {
            self.follows = since(self.last).is_some_and(|pause| pause < GAP);
            self.pasted = since(self.paste_end).is_some_and(|pause| pause < SLOW);
        }
        self.pasted |= !is_break(c) && self.has_break();
        self.run.push(c);
        self.count += 1;
        self.last = Some(now);
    }

    fn has_break(&self) -> bool {
        // Without text behind it, a break can only be at the end.
        self.pasted || self.run.ends_with(is_break)
    }

    fn gap(&self) -> Duration {
        match self.pasted || self.count > LARGE {
            true => SLOW,
            false if self.has_break() => ENTER,
            false => GAP,
        }
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

/// The character a key is in a run.
fn text(key: KeyEvent) -> Option<char> {
    let plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    match key.code {
        KeyCode::Char('j') if key.modifiers == KeyModifiers::CONTROL => Some('\n'),
        KeyCode::Char(c) if plain => Some(c),
        KeyCode::Enter if key.modifiers.is_empty() => Some('\r'),
        KeyCode::Tab if key.modifiers.is_empty() => Some('\t'),
        _ => None,
    }
}

fn key(c: char) -> KeyEvent {
    match c {
        '\r' | '\n' | '\t' => keys::control(c as u8),
        c => keys::typed(c),
    }
}
