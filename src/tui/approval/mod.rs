//! The dialog in which a person decides about calls: what is asked, by whom and why, and the answer.
//!
//! Pure: keys and times in, what was done and rows out. A key counts only once the dialog could be read, and
//! nothing is allowed whose end was not on screen.

mod choice;
mod view;

use std::cell::RefCell;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::agent::{Answer, Offer, Request, Rule, Scope, What};

pub use choice::{Choice, NewText, choices, new_texts, revision, risks};
pub use view::{asked, first_row, title};

/// How long the dialog is on screen before a key counts.
const SHOWN: Duration = Duration::from_millis(500);
/// How long nothing was typed before that.
const QUIET: Duration = Duration::from_millis(300);

/// All that is asked at once.
pub struct Dialog {
    id: u64,
    requests: Vec<Request>,
    answers: Vec<Option<Answer>>,
    /// The end of what is asked was on screen.
    seen: Vec<bool>,
    /// The request that is shown.
    at: usize,
    /// The chosen row.
    row: usize,
    /// First row of the request that is shown, and how many of how many there were.
    scroll: usize,
    room: (usize, usize),
    /// The arrows scroll.
    whole: bool,
    entry: Option<Entry>,
    /// Why the last key did nothing.
    note: Option<String>,
    guard: Guard,
    /// The rows of what is asked, as they were drawn last.
    drawn: RefCell<Option<view::Drawn>>,
}

/// What is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Reason(String),
    Rule { text: String, place: Place },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Project,
    Everywhere,
}

/// What a key did.
#[derive(Clone, Debug, PartialEq)]
pub enum Did {
    Nothing,
    /// It is the composer's: it was typed before the dialog could be read, or is about the terminal.
    Typed(KeyEvent),
    /// All is decided, in the order of the requests.
    Answered(Vec<Answer>),
    /// The person wants to change this command; [`Dialog::edited`] takes it.
    EditCommand(String),
    /// The person wants to change these in their editor; [`Dialog::revised`] takes what comes of it.
    EditFiles(Vec<NewText>),
    /// The turn is to stop.
    Stop,
}

/// Keeps keys from answering what nobody can have read.
#[derive(Clone, Copy, Debug)]
struct Guard {
    /// None: nobody can have read it yet.
    shown: Option<Instant>,
    last: Option<Instant>,
    open: bool,
    /// What is typed before it opens goes to the composer; not so between two of the dialog's own questions.
    passes: bool,
}

impl Guard {
    fn new(shown: Option<Instant>, passes: bool) -> Self {
        Self { shown, last: None, open: false, passes }
    }

    /// Whether a key that comes now counts.
    fn counts(&mut self, now: Instant) -> bool {
        // While somebody types, the dialog waits: it is on screen once they paused.
        let shown = self.shown.map(|shown| self.last.map_or(shown, |last| shown.max(last + QUIET)));
        self.open |= shown.is_some_and(|shown| now.saturating_duration_since(shown) >= SHOWN);
        self.last = Some(now);
        self.open
    }
}

impl Dialog {
    /// There is at least one request.
    pub fn new(id: u64, requests: Vec<Request>) -> Self {
        let count = requests.len();
        let mut dialog = Self {
            id,
            requests,
            answers: vec![None; count],
            seen: vec![false; count],
            at: 0,
            row: 0,
            scroll: 0,
            room: (0, 0),
            whole: false,
            entry: None,
            note: None,
            guard: Guard::new(None, true),
            drawn: RefCell::new(None),
        };
        dialog.show(0);
        dialog
    }

    /// It is on the screen.
    pub fn shown(&mut self, now: Instant) {
        self.guard.shown.get_or_insert(now);
    }

    /// Something else stands in its place: once that goes, it has to be read anew before a key counts.
    pub fn hidden(&mut self) {
        (self.guard.shown, self.guard.open) = (None, false);
    }

    /// Something came at once that is not for it: what follows right behind belongs to that.
    pub fn passed_by(&mut self, now: Instant) {
        self.guard = Guard { last: Some(now), open: false, passes: true, ..self.guard };
    }

    /// Of [`Event::Ask`](crate::agent::Event::Ask).
    pub fn id(&self) -> u64 {
        self.id
    }

    /// How many decisions are wanted still.
    pub fn open(&self) -> usize {
        self.answers.iter().filter(|answer| answer.is_none()).count()
    }

    /// Somebody types in the composer, which stays until they pause.
    pub fn waits(&self, now: Instant) -> bool {
        let typed = self.guard.last.is_some_and(|last| now.saturating_duration_since(last) < QUIET);
        !self.guard.open && self.guard.passes && typed
    }

    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Did {
        if key.kind == KeyEventKind::Release {
            return Did::Nothing;
        }
        let passes = self.guard.passes;
        if !self.guard.counts(now) {
            return if passes { Did::Typed(key) } else { Did::Nothing };
        }
        self.note = None;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match self.entry.take() {
            _ if control && key.code == KeyCode::Char('c') => Did::Stop,
            Some(entry) => self.typed(entry, key, now),
            // The terminal's business, not the question's.
            None if control && matches!(key.code, KeyCode::Char('z' | 'l')) => Did::Typed(key),
            None if control || key.modifiers.contains(KeyModifiers::ALT) => Did::Nothing,
            None => self.pressed(key.code, now),
        }
    }

    /// The command as the person changed it; an empty one changes nothing.
    pub fn edited(&mut self, command: String, now: Instant) -> Did {
        match command.trim().is_empty() {
            true => Did::Nothing,
            false => self.answer(Answer::Edited { command }, now),
        }
    }

    /// The texts as the person's editor left them, or why there are none: then it is asked again.
    pub fn revised(&mut self, came: Result<Vec<String>, String>, now: Instant) -> Did {
        let Some(request) = self.requests.get(self.at) else { return Did::Nothing };
        match came.and_then(|texts| revision(request, texts)) {
            Ok(answer) => self.answer(answer, now),
            Err(why) => {
                // What was typed in the editor answers nothing.
                (self.note, self.guard) = (Some(why), Guard::new(Some(now), false));
                Did::Nothing
            }
        }
    }

    fn pressed(&mut self, code: KeyCode, now: Instant) -> Did {
        let choices = self.choices();
        match code {
            KeyCode::Up if self.whole => self.scroll_by(-1),
            KeyCode::Down if self.whole => self.scroll_by(1),
            KeyCode::Up => self.row = self.row.saturating_sub(1),
            KeyCode::Down => self.row = (self.row + 1).min(choices.len().saturating_sub(1)),
            KeyCode::PageUp => self.scroll_by(-self.page()),
            KeyCode::PageDown => self.scroll_by(self.page()),
            KeyCode::Home => self.scroll_by(isize::MIN),
            KeyCode::End => self.scroll_by(isize::MAX),
            KeyCode::Tab | KeyCode::Right => self.turn(1),
            KeyCode::BackTab | KeyCode::Left => self.turn(self.requests.len() - 1),
            KeyCode::Char('v') => self.whole = !self.whole,
            KeyCode::Esc => return self.all(|| Answer::Refuse { reason: None }),
            KeyCode::Char('N') if self.requests.len() > 1 => {
                return self.all(|| Answer::Refuse { reason: None });
            }
            KeyCode::Char('Y') if self.requests.len() > 1 => return self.allow_all(),
            KeyCode::Enter => {
                if let Some((choice, offered)) = choices.into_iter().nth(self.row) {
                    return self.choose((choice, offered), now);
                }
            }
            KeyCode::Char(c) => {
                if let Some(chosen) = choices.into_iter().find(|(choice, _)| choice.key() == c) {
                    return self.choose(chosen, now);
                }
            }
            _ => {}
        }
        Did::Nothing
    }

    fn choose(&mut self, (choice, offered): (Choice, Result<String, String>), now: Instant) -> Did {
        if let Err(why) = offered {
            self.note = Some(format!("not offered: {why}"));
            return Did::Nothing;
        }
        let files = new_texts(&self.requests[self.at]);
        if (choice.allows() || choice == Choice::Edit && !files.is_empty()) && !self.seen[self.at] {
            self.note = Some("look at all of it first".to_owned());
            return Did::Nothing;
        }
        let allow = |offer, scope| Answer::Allow { offer, scope };
        match choice {
            Choice::Once => self.answer(allow(0, Scope::Once), now),
            Choice::Session => self.answer(allow(0, Scope::Session), now),
            Choice::Open => self.answer(allow(1, Scope::Once), now),
            Choice::Always => {
                if let Some(Ok(rule)) = self.offer().map(|offer| offer.always.clone()) {
                    self.entry = Some(Entry::Rule { text: rule.allow, place: Place::Project });
                }
                Did::Nothing
            }
            Choice::Edit if files.is_empty() => match &self.requests[self.at].what {
                What::Command { line, .. } => Did::EditCommand(line.clone()),
                What::Typed { .. }
                | What::Script { .. }
                | What::Edit { .. }
                | What::Write { .. }
                | What::Read { .. }
                | What::Fetch { .. } => Did::Nothing,
            },
            Choice::Edit => Did::EditFiles(files),
            Choice::No => {
                self.entry = Some(Entry::Reason(String::new()));
                Did::Nothing
            }
        }
    }

    fn typed(&mut self, mut entry: Entry, key: KeyEvent, now: Instant) -> Did {
        let text = match &mut entry {
            Entry::Reason(text) | Entry::Rule { text, .. } => text,
        };
        match key.code {
            KeyCode::Esc => return Did::Nothing,
            KeyCode::Enter => return self.entered(entry, now),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => text.clear(),
            KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
                text.push(c);
            }
            KeyCode::Tab => {
                if let Entry::Rule { place, .. } = &mut entry {
                    *place = match place {
                        Place::Project => Place::Everywhere,
                        Place::Everywhere => Place::Project,
                    };
                }
            }
            _ => {}
        }
        self.entry = Some(entry);
        Did::Nothing
    }

    /// Pasted text, where something is being typed; otherwise it is not the dialog's.
    pub fn paste(&mut self, pasted: &str) -> bool {
        let Some(Entry::Reason(text) | Entry::Rule { text, .. }) = &mut self.entry else { return false };
        text.push_str(&pasted.replace(['\r', '\n'], " "));
        true
    }

    fn entered(&mut self, entry: Entry, now: Instant) -> Did {
        match entry {
            Entry::Reason(text) => {
                let reason = Some(text.trim().to_owned()).filter(|reason| !reason.is_empty());
                self.answer(Answer::Refuse { reason }, now)
            }
            Entry::Rule { text, place } => {
                let offered = self.offer().and_then(|offer| offer.always.clone().ok());
                match (Rule::parse(&text), offered) {
                    (Ok(rule), Some(offered)) => {
                        let project = offered.project.filter(|_| place == Place::Project);
                        let rule = Rule { lifts: offered.lifts, project, ..rule };
                        self.answer(Answer::Allow { offer: 0, scope: Scope::Always(rule) }, now)
                    }
                    (Err(why), _) => {
                        self.note = Some(why);
                        self.entry = Some(Entry::Rule { text, place });
                        Did::Nothing
                    }
                    (Ok(_), None) => Did::Nothing,
                }
            }
        }
    }

    /// Keeps the answer, and goes on to the next question, which has to be read before a key counts.
    fn answer(&mut self, answer: Answer, now: Instant) -> Did {
        self.answers[self.at] = Some(answer);
        let next = (self.at..self.answers.len()).chain(0..self.at).find(|nth| self.answers[*nth].is_none());
        match next {
            Some(next) => {
                self.show(next);
                self.guard = Guard::new(Some(now), false);
                Did::Nothing
            }
            None => self.answered(),
        }
    }

    fn all(&mut self, answer: impl Fn() -> Answer) -> Did {
        self.answers.iter_mut().filter(|known| known.is_none()).for_each(|known| *known = Some(answer()));
        self.answered()
    }

    fn allow_all(&mut self) -> Did {
        let unread = (0..self.requests.len()).find(|nth| self.answers[*nth].is_none() && !self.seen[*nth]);
        match unread {
            Some(unread) => {
                self.show(unread);
                self.note = Some("look at each of them first: tab".to_owned());
                Did::Nothing
            }
            None => self.all(|| Answer::Allow { offer: 0, scope: Scope::Once }),
        }
    }

    fn answered(&mut self) -> Did {
        Did::Answered(self.answers.drain(..).flatten().collect())
    }

    /// Shows a request; the first choice is the harmless one.
    fn show(&mut self, nth: usize) {
        (self.at, self.scroll, self.room, self.whole) = (nth, 0, (0, 0), false);
        let no = self.choices().iter().position(|(choice, _)| *choice == Choice::No).unwrap_or(0);
        let risky = self.requests.get(nth).is_none_or(|request| !request.risks.is_empty() || request.again);
        self.row = if risky { no } else { 0 };
    }

    fn turn(&mut self, by: usize) {
        if self.requests.len() > 1 {
            self.show((self.at + by) % self.requests.len());
        }
    }

    fn page(&self) -> isize {
        self.room.0.saturating_sub(1).max(1).cast_signed()
    }

    fn scroll_by(&mut self, rows: isize) {
        let (room, all) = self.room;
        self.scroll = self.scroll.saturating_add_signed(rows).min(all.saturating_sub(room));
    }

    fn offer(&self) -> Option<&Offer> {
        self.requests[self.at].offers.first()
    }

    fn choices(&self) -> Vec<(Choice, Result<String, String>)> {
        self.requests.get(self.at).map(choices).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
