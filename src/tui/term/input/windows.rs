//! Events of a console, by crossterm, which reads it. Pastes are told by their speed alone, and a console
//! is asked nothing. Type-checked only.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{self, KeyEventKind};
use ratatui::layout::Size;

use super::parse::Token;
use super::{Event, Paused, Source, held};

/// How often the thread looks whether the loop is there still.
const LOOK: Duration = Duration::from_millis(100);

/// Set when the loop goes.
#[derive(Debug)]
pub(super) struct Wake(Arc<AtomicBool>);

impl Wake {
    /// It looks often enough by itself.
    pub(super) fn look(&self) {}

    pub(super) fn end(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The console that stdin is.
///
/// # Errors
/// None.
pub(super) fn open(paused: Paused) -> io::Result<(impl Source, Wake)> {
    let left = Arc::new(AtomicBool::new(false));
    Ok((Console { left: left.clone(), paused }, Wake(left)))
}

struct Console {
    left: Arc<AtomicBool>,
    paused: Paused,
}

impl Source for Console {
    fn next(&mut self, until: Option<Instant>, tokens: &mut Vec<Token>) -> Event {
        if self.left.load(Ordering::SeqCst) {
            return Event::Left;
        }
        let due = until.map(|until| until.saturating_duration_since(Instant::now()));
        next(due.map_or(LOOK, |due| due.min(LOOK)), &self.paused, tokens)
    }
}

fn next(patience: Duration, paused: &Paused, tokens: &mut Vec<Token>) -> Event {
    if *held(paused) {
        std::thread::sleep(patience);
        return Event::Nothing;
    }
    match event::poll(patience) {
        Ok(true) => {}
        Ok(false) => return Event::Nothing,
        Err(_) => return Event::Gone,
    }
    let paused = held(paused);
    if *paused {
        return Event::Nothing;
    }
    match event::read() {
        Ok(event::Event::Key(key)) if key.kind == KeyEventKind::Release => return Event::Nothing,
        Ok(event::Event::Key(key)) => tokens.push(Token::Key(key)),
        Ok(event::Event::Paste(text)) => tokens.push(Token::Paste(text)),
        Ok(event::Event::FocusGained) => tokens.push(Token::Focus(true)),
        Ok(event::Event::FocusLost) => tokens.push(Token::Focus(false)),
        Ok(event::Event::Resize(columns, rows)) => return Event::Resized(Some(Size::new(columns, rows))),
        Ok(event::Event::Mouse(_)) => return Event::Nothing,
        Err(_) => return Event::Gone,
    }
    Event::Tokens
}
