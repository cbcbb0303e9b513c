//! The interactive session by lines alone: for terminals that cannot be drawn on, and for screen readers.
//!
//! Nothing is ever drawn over and no escape sequence is sent. The terminal stays as it is: it echoes what is
//! typed and hands it over by lines. Marks are words, what is asked is a question of `y` or `n`, and a turn
//! that takes long says so every ten seconds. Knows nothing of the screen of `app`, whose sibling it is.

mod ask;
mod choose;
mod command;
mod facts;
mod hear;
mod lines;
mod retry;
mod signals;
#[cfg(test)]
mod tests;
mod words;

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{Receiver, Sender};
use tokio::task::JoinSet;

use super::app::Spent;
use super::approval::NewText;
use super::cell::{self, Cell, Fold, Tone, View};
use super::host::{Facts, Host, Link, Opened};
use super::live::Live;
use super::palette::{Palette, Theme};
use super::run::{Start, revise};
use super::term::{Output, input};
use super::transcript::Transcript;
use super::turn::Turn;
use super::{board, text};
use crate::agent::{Event, Op, Told, Why};
use crate::model::{Item, Said, TodoItem};
use ask::Question;
use lines::Lines;
use signals::Signals;

/// A turn that says nothing for so long says that it runs.
const PROGRESS: Duration = Duration::from_secs(10);
/// How long a first Ctrl+C counts.
const LEAVING: Duration = Duration::from_secs(2);
/// Cells of an earlier session that are told again.
const RECALLED: usize = 10;

/// What is done once work aside is over.
type Done = Box<dyn FnOnce(&mut Plain) + Send>;

/// Whether the session goes on.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    On,
    /// These go to the person's editor first.
    Edit(Vec<NewText>),
    /// It is over, with this exit code.
    Leave(i32),
}

/// Runs it to its end; gives the exit code.
///
/// # Errors
/// If there is no terminal to be had.
pub async fn run(host: Arc<dyn Host>, opened: Opened, start: Start) -> io::Result<i32> {
    let mut signals = Signals::listen()?;
    let mut lines = Lines::start()?;
    let (mut plain, mut events) = Plain::new(host, opened, input::size().width);
    plain.begin_with(&start, Instant::now());
    loop {
        plain.prompt();
        if std::mem::take(&mut plain.stale) {
            // What was half typed belongs to no question. Before it is there: what comes then is an answer.
            lines.drain();
        }
        Output.write_all(plain.take(Instant::now()).as_bytes())?;
        let (due, free) = (plain.due(), plain.is_free());
        let next = tokio::select! {
            biased;
            said = signals.next() => match said {
                Some(code) => Next::Leave(code),
                None => plain.interrupted(Instant::now()),
            },
            line = lines.next(), if free => plain.typed(line, Instant::now()),
            event = events.recv() => plain.heard(event, input::size().width, Instant::now()),
            Some(done) = plain.aside.join_next() => {
                plain.done(done);
                Next::On
            }
            () = until(due) => {
                plain.progress(Instant::now());
                Next::On
            }
        };
        if let Some(other) = plain.changed.take() {
            events = other;
        }
        match next {
            Next::On => {}
            Next::Edit(texts) => {
                // The editor reads the terminal, so nobody else may.
                drop(lines);
                plain.revised(revise(&texts, start.env), Instant::now());
                lines = Lines::start()?;
            }
            Next::Leave(code) => {
                plain.link.stopper.stop(Why::Person);
                plain.end_line();
                Output.write_all(plain.take(Instant::now()).as_bytes())?;
                return Ok(code);
            }
        }
    }
}

/// Waits for a time; for ever when there is none.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// The state of the session, and what is to be written.
struct Plain {
    host: Arc<dyn Host>,
    link: Link,
    facts: Facts,
    palette: Palette,
    /// Columns that prose is broken to.
    width: u16,
    /// What is to be written.
    out: String,
    /// The terminal's cursor stands behind something: a prompt, or the `^C` that it echoed.
    mid_line: bool,
    /// When something was written last.
    wrote: Instant,
    /// The reply that streams.
    reply: Transcript,
    live: Option<Live>,
    asks: VecDeque<Question>,
    /// A question was put: what is typed on the row already is no answer to it.
    stale: bool,
    /// What is to be said once the turn is over.
    queue: VecDeque<String>,
    todo: Vec<TodoItem>,
    spent: Spent,
    /// Id of the session, where it is recorded.
    session: Option<String>,
    turn: Turn,
    /// What can be done about the turn that failed.
    offer: Option<retry::Offer>,
    /// What failed is sent again once the summary is there.
    again_next: bool,
    /// The newest answer.
    said: String,
    /// The harness before this one.
    before: Option<String>,
    /// Ctrl+C was pressed: another one before this leaves.
    leaving: Option<Instant>,
    aside: JoinSet<Done>,
    /// Events of another session, for the loop to hear from now on.
    changed: Option<Receiver<Event>>,
    /// Keeps the events of a session that is gone from ending again and again.
    kept_open: Option<Sender<Event>>,
}

impl Plain {
    fn new(host: Arc<dyn Host>, opened: Opened, width: u16) -> (Self, Receiver<Event>) {
        let Opened { link, events, facts, items, warnings } = opened;
        let mut plain = Self {
            host,
            link,
            palette: Palette::new(Theme::Plain),
            width,
            out: String::new(),
            mid_line: false,
            wrote: Instant::now(),
            reply: Transcript::default(),
            live: None,
            asks: VecDeque::new(),
            stale: false,
            queue: VecDeque::new(),
            todo: Vec::new(),
            spent: Spent::new(&facts.speaks.model),
            session: None,
            turn: Turn::default(),
            offer: None,
            again_next: false,
            said: String::new(),
            before: None,
            leaving: None,
            aside: JoinSet::new(),
            changed: None,
            kept_open: None,
            facts,
        };
        plain.take_up(items, warnings);
        (plain, events)
    }

    /// Says where one is, and the end of what was said there.
    fn take_up(&mut self, items: Vec<Item>, warnings: Vec<String>) {
        self.show(&Cell::Board(board::head(&self.facts, &self.palette)));
        self.write("/help lists commands; ctrl+c stops a turn, ctrl+d leaves");
        items.iter().for_each(|item| self.spent.count(item));
        let failed = cell::failed_last(&items).cloned();
        let cells = cell::of_items(items);
        for cell in &cells[cells.len().saturating_sub(RECALLED)..] {
            self.show(cell);
        }
        for warning in warnings {
            self.tell(Tone::Warning, warning);
        }
        if let Some(trouble) = failed {
            self.turn = Turn::unanswered();
            self.offer(retry::Offer::of(&trouble));
        }
        if self.facts.mute {
            let how = "/model lists what is here, /model PROVIDER/NAME chooses one";
            self.tell(Tone::Warning, format!("no model is set up: {how}"));
        }
        if self.facts.learns {
            self.learn();
        }
    }

    /// Goes on with another session. The old one ends as nobody holds its ends any more.
    fn change_session(&mut self, opened: Opened) {
        let Opened { link, events, facts, items, warnings } = opened;
        (self.link, self.changed) = (link, Some(events));
        self.spent = Spent::new(&facts.speaks.model);
        (self.facts, self.live, self.before, self.session) = (facts, None, None, None);
        self.reply = Transcript::default();
        self.asks.clear();
        self.queue.clear();
        self.todo.clear();
        (self.turn, self.offer, self.again_next) = (Turn::default(), None, false);
        self.take_up(items, warnings);
    }

    fn begin_with(&mut self, start: &Start, now: Instant) {
        if let Some(reach) = start.choose {
            self.list_sessions(reach);
        }
        self.queue.extend(start.prompt.clone());
        // What is learnt of the model first, sends it.
        if self.is_free() {
            self.send_next(now);
        }
    }

    /// Sends what waits for it, the oldest first.
    fn send_next(&mut self, now: Instant) {
        if let Some(next) = self.queue.pop_front() {
            self.show(&Cell::Said { text: next.clone(), images: 0 });
            self.send(&next, now);
        }
    }

    /// A line, or several that came at once; None: the input is at its end.
    fn typed(&mut self, line: Option<String>, now: Instant) -> Next {
        let Some(line) = line else { return Next::Leave(0) };
        (self.mid_line, self.leaving) = (false, None);
        let line = text::clean(&line);
        let line = line.trim();
        let enters = self.asks.front().is_some_and(Question::enters);
        if let Some((name, args)) = command::split(line).filter(|_| !enters) {
            return self.command(name, args, now);
        }
        if !self.asks.is_empty() {
            return self.answer(line, now);
        }
        if !line.is_empty() {
            if self.live.is_some() {
                self.queue.push_back(line.to_owned());
                self.tell(Tone::Dim, "said once this turn is over");
            } else if let Some(op) = self.retried(line) {
                self.begin(op, now);
            } else {
                self.send(line, now);
            }
        }
        Next::On
    }

    /// What the person said, or a command of their own behind `!`, of which the model hears, or `!!`.
    fn send(&mut self, line: &str, now: Instant) {
        let shell = |command: &str, told| Op::Shell { command: command.trim().to_owned(), told };
        let op = match (line.strip_prefix("!!"), line.strip_prefix('!')) {
            (Some(command), _) => shell(command, Told::Nobody),
            (None, Some(command)) => shell(command, Told::Model),
            (None, None) => Op::Prompt(Said { text: line.to_owned(), images: Vec::new() }),
        };
        self.begin(op, now);
    }

    fn begin(&mut self, op: Op, now: Instant) {
        self.turn.begin(&op);
        match self.link.ops.try_send(op) {
            Ok(()) => (self.live, self.wrote, self.offer) = (Some(Live::begin(now)), now, None),
            Err(_) => self.tell(Tone::Error, "the session has ended; /new starts another one"),
        }
    }

    /// Ctrl+C stops the turn; twice within two seconds leaves.
    fn interrupted(&mut self, now: Instant) -> Next {
        // The terminal wrote `^C`.
        self.mid_line = true;
        let working = self.live.is_some();
        if self.leaving.is_some_and(|until| now <= until) {
            return Next::Leave(if working { 130 } else { 0 });
        }
        self.leaving = Some(now + LEAVING);
        if working {
            self.link.stopper.stop(Why::Person);
        }
        self.tell(Tone::Dim, "ctrl+c again leaves");
        Next::On
    }

    /// Does `work` aside, and `then` with what came of it.
    fn work<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(Arc<dyn Host>) -> T + Send + 'static,
        then: impl FnOnce(&mut Self, T) + Send + 'static,
    ) {
        let host = self.host.clone();
        self.aside.spawn_blocking(move || {
            let came = work(host);
            Box::new(move |plain: &mut Self| then(plain, came)) as Done
        });
    }

    /// Waits for an answer of the agent's.
    fn wait<T: Send + 'static>(
        &mut self,
        answer: tokio::sync::oneshot::Receiver<T>,
        then: impl FnOnce(&mut Self, T) + Send + 'static,
    ) {
        self.aside.spawn(async move {
            let came = answer.await;
            Box::new(move |plain: &mut Self| {
                if let Ok(came) = came {
                    then(plain, came);
                }
            }) as Done
        });
    }

    fn done(&mut self, done: Result<Done, tokio::task::JoinError>) {
        match done {
            Ok(done) => done(self),
            Err(error) => self.tell(Tone::Error, format!("something went wrong in tack itself: {error}")),
        }
    }

    /// Whether a line is heard now: what is typed next may depend on what is being done. A turn's questions
    /// have to be answered whatever else is.
    fn is_free(&self) -> bool {
        self.aside.is_empty() || self.live.is_some()
    }

    /// When a turn that says nothing is to say that it runs, or other work for which the person waits.
    fn due(&self) -> Option<Instant> {
        let waits = self.live.is_some() || !self.aside.is_empty();
        (waits && self.asks.is_empty()).then(|| self.wrote + PROGRESS)
    }

    fn progress(&mut self, now: Instant) {
        let said = match &self.live {
            Some(live) => live.words(&self.facts.speaks.model.provider, now),
            None => "still at it".to_owned(),
        };
        self.write(&said);
    }

    /// Asks for a line where one is wanted and none was asked for yet.
    fn prompt(&mut self) {
        if self.mid_line || !self.is_free() {
            return;
        }
        match (self.asks.front(), &self.live) {
            (Some(question), _) => self.out.push_str(question.prompt()),
            (None, None) => self.out.push_str("> "),
            (None, Some(_)) => return,
        }
        self.mid_line = true;
    }

    /// What is to be written now.
    fn take(&mut self, now: Instant) -> String {
        if !self.out.is_empty() {
            self.wrote = now;
        }
        std::mem::take(&mut self.out)
    }

    fn tell(&mut self, tone: Tone, text: impl Into<String>) {
        self.show(&Cell::Told { tone, text: text.into() });
    }

    fn show(&mut self, cell: &Cell) {
        for row in words::of(cell, self.view()) {
            self.write(&row);
        }
    }

    /// A line; clean already.
    fn write(&mut self, line: &str) {
        self.end_line();
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.mid_line) {
            self.out.push('\n');
        }
    }

    /// How prose is set.
    fn view(&self) -> View<'_> {
        // Some terminals go to the next row by themselves behind a full one.
        View { width: self.width.saturating_sub(1).max(1), fold: Fold::Folded, palette: &self.palette }
    }
}
