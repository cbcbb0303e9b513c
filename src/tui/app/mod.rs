//! The state of the interactive session, and the one place where it changes.
//!
//! Three things come in: keys, the agent's events, and work that was done aside. What goes out are
//! operations for the agent, rows for the screen and the frame that [`App::draw`] makes. `loop` owns the
//! waiting; nothing here waits.

mod ask;
mod choose;
mod command;
mod draw;
mod facts;
mod hear;
mod keys;
mod past;
mod provider;
mod retry;
mod send;
mod speak;
mod work;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui::layout::Size;
use ratatui::text::Line;

use tokio::sync::mpsc::Receiver;

use crate::agent::Event;
use crate::model::{Body, Item, Mark, Model, Prices, TodoItem, Usage};

use super::approval::{Dialog, NewText};
use super::board;
use super::cell::{self, Cell, Fold, Tone, View};
use super::composer::{Command, Composer, Draft, Keymap, Settings};
use super::host::{Facts, Host, Link, Opened, Speaks};
use super::live::Live;
use super::overlay::Overlay;
use super::overlay::harness::History;
use super::pager::Pager;
use super::palette::{Extras, Palette, Theme};
use super::term::escape::TurnEnd;
use super::transcript::Transcript;
use super::turn::Turn;

pub(crate) use choose::{behind, compared};
pub use command::commands;
pub use work::{Done, Jobs};

/// What the loop around the app has to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Want {
    Nothing,
    /// Draw the next frame.
    Frame,
    /// What is on the screen is to be drawn anew.
    Repaint,
    /// Unfold the newest folded cell, or fold it again.
    Unfold,
    /// Give the terminal back, stop, and take it again when told to go on.
    Suspend,
    /// Give the terminal to an editor.
    Editor,
    /// The same, for the new texts of an edit that is asked about, one after the other.
    Revise(Vec<NewText>),
    PasteClipboard,
    /// For the system's clipboard.
    Copy(String),
    Exit(i32),
}

/// What was typed is kept at most so often.
const SAVE: Duration = Duration::from_secs(1);

pub struct App {
    host: Arc<dyn Host>,
    pub(super) link: Link,
    facts: Facts,
    palette: Palette,
    size: Size,
    transcript: Transcript,
    live: Option<Live>,
    composer: Composer,
    overlay: Option<Overlay>,
    /// What the person is asked, the oldest first.
    asks: VecDeque<Dialog>,
    /// A command that is asked about is being changed; what was typed before.
    editing: Option<String>,
    pager: Option<Pager>,
    /// What is to be said once the turn is over.
    queue: VecDeque<Draft>,
    todo: Vec<TodoItem>,
    spent: Spent,
    history: History,
    session: Option<String>,
    /// Ctrl+C was pressed with nothing to stop: a second one before this ends tack.
    leaving: Option<Instant>,
    focused: bool,
    /// What a person who looks elsewhere is to be told.
    notice: Option<&'static str>,
    /// The terminal was told that a turn began, and is to be told how it ended.
    marked: bool,
    ended: Option<TurnEnd>,
    /// Events of another session, for the loop to hear from now on.
    changed: Option<Receiver<Event>>,
    /// The harness before this one.
    before: Option<String>,
    /// Who is to speak, until the agent says that it is so.
    next: Option<Speaks>,
    save_at: Option<Instant>,
    turn: Turn,
    /// What can be done about the turn that failed.
    offer: Option<retry::Offer>,
    /// What failed is sent again once the summary is there.
    again_next: bool,
    /// A letter that may be a key, and from when on it is one.
    letter: Option<(char, Instant)>,
    /// How often somebody was wished to be spoken to.
    wishes: u64,
    /// Who was wished for last, while that is on its way.
    aim: Option<speak::Aim>,
    /// How often a list to choose from was asked for.
    listed: u64,
    /// Since when the model is being learnt of.
    learning: Option<Instant>,
    /// The next change of who speaks was told of already.
    quiet_switch: bool,
    /// Keeps the events of a session that is gone from ending again and again.
    kept_open: Option<tokio::sync::mpsc::Sender<Event>>,
    jobs: Jobs,
    settings: Kept,
}

/// What a composer is made with, whichever session it is for.
pub struct Kept {
    pub keymap: Keymap,
    pub state: Option<std::path::PathBuf>,
    pub wake: Arc<dyn Fn() + Send + Sync>,
}

/// What this session used.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    pub usage: Usage,
    pub cost: Option<f64>,
    /// Of the last request, answer included.
    pub context: u64,
    /// By provider, model and harness, in the order they came.
    pub by: Vec<(String, Usage)>,
    /// Of the models that spoke, by name and provider.
    prices: Vec<(String, Prices)>,
}

impl Spent {
    /// Of a session that begins with this model.
    pub fn new(model: &Model) -> Self {
        let mut spent = Self { cost: model.prices.map(|_| 0.0), ..Self::default() };
        spent.learn_price(model);
        spent
    }

    /// What this model costs, for [`cost_of`](Self::cost_of).
    pub fn learn_price(&mut self, model: &Model) {
        let who = format!("{} @ {}", model.name, model.provider);
        if let Some(prices) = model.prices.filter(|_| self.prices.iter().all(|(known, _)| *known != who)) {
            self.prices.push((who, prices));
        }
    }

    /// US dollars for what one of [`by`](Self::by) used; None where the price is not known.
    pub fn cost_of(&self, who: &str, usage: &Usage) -> Option<f64> {
        let model = who.rsplit_once(" · ").map_or(who, |(model, _)| model);
        let (_, prices) = self.prices.iter().find(|(known, _)| known == model)?;
        Some(prices.cost(usage))
    }

    /// Adds what an item tells.
    pub fn count(&mut self, item: &Item) {
        match &item.body {
            Body::Assistant(reply) => {
                if reply.usage.input > 0 {
                    self.context = reply.usage.input + reply.usage.output;
                }
                let origin = &reply.origin;
                let who = format!("{} @ {} · {}", origin.model, origin.provider, origin.harness);
                match self.by.iter_mut().find(|(name, _)| *name == who) {
                    Some((_, usage)) => *usage += reply.usage,
                    None => self.by.push((who, reply.usage)),
                }
            }
            Body::Mark(Mark::Completed { usage }) => self.usage = *usage,
            Body::Summary(_) => self.context = 0,
            Body::User(_) | Body::Result(_) | Body::Note(_) | Body::Scene(_) | Body::Mark(_) => {}
        }
    }
}

impl App {
    pub fn new(
        host: Arc<dyn Host>,
        opened: Opened,
        settings: Kept,
        (size, palette): (Size, Palette),
    ) -> Self {
        let Opened { link, events, facts, items, warnings } = opened;
        let composer = composer(&settings, &facts);
        let mut app = Self {
            host,
            link,
            palette,
            size,
            transcript: Transcript::default(),
            live: None,
            composer,
            overlay: None,
            asks: VecDeque::new(),
            editing: None,
            pager: None,
            queue: VecDeque::new(),
            todo: Vec::new(),
            spent: Spent::new(&facts.speaks.model),
            history: History::default(),
            session: None,
            leaving: None,
            focused: true,
            notice: None,
            marked: false,
            ended: None,
            changed: Some(events),
            before: None,
            next: None,
            save_at: None,
            turn: Turn::default(),
            offer: None,
            again_next: false,
            letter: None,
            wishes: 0,
            aim: None,
            listed: 0,
            learning: None,
            quiet_switch: false,
            kept_open: None,
            jobs: Jobs::default(),
            settings,
            facts,
        };
        app.take_up(items, warnings);
        app
    }

    /// Says where one is, and shows the end of what was there.
    fn take_up(&mut self, items: Vec<Item>, warnings: Vec<String>) {
        let mut head = board::head(&self.facts, &self.palette);
        if items.is_empty() {
            head.push(Line::styled("/ commands   @ files   ! shell   ? keys", self.palette.dim));
            self.show(Cell::Board(head));
        } else {
            for item in &items {
                self.count(item);
            }
            self.offer_after(&items);
            // The newest of it, then where one is: that stands right over the composer.
            let view = view(self.size, &self.palette);
            let rows = usize::from(self.size.height).saturating_mul(2);
            self.transcript.restore(cell::of_items(items), rows, view);
            self.transcript.push(Cell::Board(head), view);
        }
        for warning in warnings {
            self.tell(Tone::Warning, warning);
        }
        if self.facts.learns {
            self.learn();
        }
    }

    fn tell(&mut self, tone: Tone, text: impl Into<String>) {
        let view = view(self.size, &self.palette);
        self.transcript.push(Cell::Told { tone, text: text.into() }, view);
    }

    fn show(&mut self, cell: Cell) {
        let view = view(self.size, &self.palette);
        self.transcript.push(cell, view);
    }

    /// Takes up what the terminal says of its background, where colours were to be had at all. Some: colours are
    /// others from now on, also of what stands.
    pub fn set_background(&mut self, theme: Theme) -> Option<Theme> {
        let before = self.palette.theme;
        if !matches!(before, Theme::Dark | Theme::Light) || theme == before {
            return None;
        }
        let palette = Palette::new(theme).with(self.palette.extras.clone());
        self.transcript.recolour(&self.palette, &palette);
        self.palette = palette;
        Some(theme)
    }

    /// What the file index found since.
    pub fn poll(&mut self) -> Want {
        if self.composer.poll() { Want::Frame } else { Want::Nothing }
    }

    /// When what was typed is to be kept; None while all of it is.
    pub fn saves_at(&self) -> Option<Instant> {
        self.save_at
    }

    pub fn save(&mut self, now: Instant) {
        let queue: &[Draft] = self.queue.make_contiguous();
        let waits = self.composer.save_due(now, queue);
        self.save_at = waits.then(|| now + SAVE);
    }

    /// tack is about to end: stops what runs.
    pub fn farewell(&mut self) {
        self.save_at = None;
        self.composer.save_due(Instant::now() + SAVE * 2, self.queue.make_contiguous());
        self.link.stopper.stop(crate::agent::Why::Person);
    }

    /// The agent is gone, although nobody asked it to go.
    pub fn session_ended(&mut self) -> Want {
        let (never, none) = tokio::sync::mpsc::channel(1);
        self.changed = Some(none);
        self.kept_open = Some(never);
        self.live = None;
        self.composer.set_state(super::composer::State::Idle);
        self.tell(Tone::Error, "the session ended by itself; /new starts another one");
        Want::Frame
    }

    /// Sends the prompt that tack was started with.
    pub fn begin_with(&mut self, prompt: &str, now: Instant) {
        self.composer.set_text(prompt);
        let enter = crossterm::event::KeyEvent::from(crossterm::event::KeyCode::Enter);
        self.key(enter, now);
    }

    /// Nobody chose a model yet: the list of what is here.
    pub fn welcome(&mut self) {
        if self.facts.mute {
            self.pick_model(super::overlay::model::Purpose::First);
        }
    }

    pub fn choose_session(&mut self, reach: super::host::Reach) {
        self.list_sessions(reach);
    }

    /// What a session that ended without a farewell left behind.
    pub fn recover(&mut self) {
        self.queue.extend(self.composer.recover());
        self.composer.set_queued(self.queue.len());
    }

    pub fn warn(&mut self, text: String) {
        self.tell(Tone::Warning, text);
    }

    /// A line under the composer, until the next key.
    pub fn note(&mut self, text: &str) {
        self.composer.set_note(text);
    }

    pub fn editor_text(&self) -> String {
        self.composer.editor_text()
    }

    /// What came back from the person's editor.
    pub fn edited(&mut self, came: Result<String, String>) {
        match came {
            Ok(text) => self.composer.set_text(&text),
            Err(why) => self.composer.set_note(why),
        }
    }

    pub fn working(&self) -> bool {
        self.live.is_some()
    }

    /// Something moves on the screen.
    pub fn moves(&self) -> bool {
        self.live.is_some() || self.learning.is_some() || self.offer_comes()
    }

    /// Goes on with another session. The old one ends as nobody holds its ends any more.
    fn change_session(&mut self, opened: Opened) {
        let Opened { link, events, facts, items, warnings } = opened;
        self.composer.save_due(Instant::now() + SAVE * 2, self.queue.make_contiguous());
        self.link = link;
        self.changed = Some(events);
        self.composer = composer(&self.settings, &facts);
        self.spent = Spent::new(&facts.speaks.model);
        if let Extras::Sent { folder: Some(folder) } = &mut self.palette.extras {
            folder.clone_from(&facts.cwd);
        }
        self.facts = facts;
        (self.live, self.session) = (None, None);
        // What was to be said waits where it was typed: it was meant for another session.
        let waiting: Vec<Draft> = self.queue.drain(..).collect();
        // What a crash left of the one that is opened now comes back as well.
        self.recover();
        waiting.iter().rev().for_each(|draft| self.composer.restore(draft));
        // Nor is whom that one was to speak to from now on.
        self.wishes += 1;
        self.aim = None;
        self.learning = None;
        (self.quiet_switch, self.turn) = (false, Turn::default());
        (self.before, self.next) = (None, None);
        (self.offer, self.again_next) = (None, false);
        self.asks.clear();
        self.editing = None;
        self.todo.clear();
        self.history = History::default();
        self.transcript = Transcript::after(&self.transcript);
        self.take_up(items, warnings);
    }

    /// The events of a session that took the place of the one before.
    pub fn changed(&mut self) -> Option<Receiver<Event>> {
        self.changed.take()
    }

    /// What somebody who looks elsewhere is to be told; once.
    pub fn notice(&mut self) -> Option<&'static str> {
        self.notice.take()
    }

    /// How a turn ended that the terminal saw begin; once.
    pub fn ended(&mut self) -> Option<TurnEnd> {
        self.ended.take()
    }

    pub fn set_focus(&mut self, focused: bool) {
        self.focused = focused;
    }

    pub fn resize(&mut self, size: Size) {
        self.size = size;
    }

    pub fn jobs(&mut self) -> &mut Jobs {
        &mut self.jobs
    }
}

/// How cells are drawn on the screen.
fn view(size: Size, palette: &Palette) -> View<'_> {
    View { width: size.width, fold: Fold::Folded, palette }
}

fn composer(kept: &Kept, facts: &Facts) -> Composer {
    Composer::new(Settings {
        commands: commands().iter().map(Command::from).collect(),
        keymap: kept.keymap.clone(),
        folder: facts.cwd.clone(),
        state: kept.state.clone(),
        session: facts.session.clone(),
        placeholder: "Ask, or / for commands".to_owned(),
        wake: kept.wake.clone(),
    })
}
