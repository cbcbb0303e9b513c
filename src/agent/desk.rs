//! The desk between a frontend and the session it shows: what is wanted next, what takes effect while
//! a turn runs, and what the person is asked.
//!
//! [`Op`]s are done one after the other, each to its end. [`Aside`]s are heard at the next safe point:
//! before a request, or at once while nothing runs. Nothing here waits for anything.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, mpsc::Receiver, oneshot};

use super::compact::Press;
use super::permit::{Answer, Stance};
use super::{Agent, Changes, Event, Filling, Holds, own};
use crate::harness::{Harness, Live, Saying};
use crate::model::{Action, Model, NoteKind, Said, ToolCall};
use crate::sandbox::Policy;
use crate::tools::Job;
use crate::wire::Client;

/// What a session is to do.
#[derive(Debug)]
pub enum Op {
    /// Run a turn.
    Prompt(Said),
    /// Ask once more for what a turn that failed was to answer.
    Again,
    /// Put a summary in place of the history; `focus`: what it should not leave out.
    Compact { focus: Option<String> },
    /// Run a command of the person's own, in the sandbox that the model's run in.
    Shell { command: String, told: Told },
}

/// Whether the model hears of what the person ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// With the next message.
    Model,
    Nobody,
}

/// What is heard in the middle of a turn, too.
pub enum Aside {
    /// More from the person, for the turn that runs; a turn of its own when none does.
    Steer(Said),
    /// What is allowed from the next call on.
    Stance(Box<Stance>),
    /// Go on with another model, harness or both.
    Speak(Box<Speaker>),
    /// What fills the window.
    Context(oneshot::Sender<Filling>),
    /// What runs in the background.
    Jobs(oneshot::Sender<Vec<Job>>),
    StopJob(String),
    /// The end of what one of them printed; None: there is none of that id.
    TailJob(String, oneshot::Sender<Option<String>>),
    /// What changed in the project.
    Changes(oneshot::Sender<Changes>),
    /// What may be done now.
    Allowed(oneshot::Sender<Allowed>),
}

/// What a session's calls may do.
#[derive(Clone, Debug)]
pub struct Allowed {
    pub policy: Policy,
    /// What the person allowed since, one thing each.
    pub grants: Vec<String>,
}

/// A model, whom to ask for it, and the harness that speaks for it.
pub struct Speaker {
    pub model: Model,
    pub client: Arc<dyn Client>,
    pub harness: Arc<dyn Harness>,
    pub live: Option<Live>,
    pub holds: Holds,
}

#[cfg(test)]
impl Speaker {
    /// For tests of what chooses somebody: nobody who says anything.
    pub(crate) fn silent(model: Model, harness: Arc<dyn Harness>) -> Self {
        let client = Arc::new(crate::wire::recorded::Recorded::of(Vec::new()));
        Self { model, client, harness, live: None, holds: Holds::Nothing }
    }
}

/// Clones share one desk.
#[derive(Clone, Default)]
pub struct Desk(Arc<Inner>);

#[derive(Default)]
struct Inner {
    asides: Mutex<VecDeque<Aside>>,
    laid: Notify,
    /// What the person was asked and has not answered.
    asked: Mutex<HashMap<u64, oneshot::Sender<Vec<Answer>>>>,
    newest: AtomicU64,
}

impl Desk {
    /// Lays something down for the session.
    pub fn lay(&self, aside: Aside) {
        self.asides().push_back(aside);
        self.0.laid.notify_one();
    }

    /// Takes back what was said for the running turn and not yet heard.
    pub fn take_back(&self) -> Vec<Said> {
        let mut asides = self.asides();
        let (steers, rest) = asides.drain(..).partition(|aside| matches!(aside, Aside::Steer(_)));
        *asides = rest;
        let steers: VecDeque<Aside> = steers;
        steers
            .into_iter()
            .filter_map(|aside| if let Aside::Steer(said) = aside { Some(said) } else { None })
            .collect()
    }

    /// Answers what [`Event::Ask`] asked, one answer for each request, in their order; those that are missing
    /// refuse. False: it is void, or was answered before.
    pub fn answer(&self, id: u64, answers: Vec<Answer>) -> bool {
        self.asked().remove(&id).is_some_and(|to| to.send(answers).is_ok())
    }

    /// The id of something new to ask, and where the answers come.
    pub(super) fn ask(&self) -> (u64, oneshot::Receiver<Vec<Answer>>) {
        let (to, from) = oneshot::channel();
        let id = self.0.newest.fetch_add(1, Ordering::Relaxed) + 1;
        self.asked().insert(id, to);
        (id, from)
    }

    /// Waits until somebody else is to be spoken to, while `waits`. What else is laid down stays for the
    /// next safe point.
    pub(super) async fn another(&self, waits: &AtomicBool) {
        loop {
            self.0.laid.notified().await;
            if waits.load(Ordering::Relaxed) && self.wants_another() {
                return;
            }
        }
    }

    /// Somebody else is to be spoken to.
    pub(super) fn wants_another(&self) -> bool {
        self.asides().iter().any(|aside| matches!(aside, Aside::Speak(_)))
    }

    /// Nobody waits for the answer any more.
    pub(super) fn void(&self, id: u64) {
        self.asked().remove(&id);
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Vec<Answer>>>> {
        self.0.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was laid down about what is allowed.
    fn stances(&self) -> Vec<Stance> {
        let mut asides = self.asides();
        let (stances, rest): (VecDeque<Aside>, _) =
            asides.drain(..).partition(|aside| matches!(aside, Aside::Stance(_)));
        *asides = rest;
        let stance = |aside| if let Aside::Stance(stance) = aside { Some(*stance) } else { None };
        stances.into_iter().filter_map(stance).collect()
    }

    fn asides(&self) -> MutexGuard<'_, VecDeque<Aside>> {
        self.0.asides.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Agent {
    /// Does what is asked for until nobody can ask any more.
    pub async fn serve(&mut self, mut ops: Receiver<Op>) {
        loop {
            self.hear_asides().await;
            if let Some(said) = self.steered.pop_front() {
                self.turn(said, None).await;
                continue;
            }
            let desk = self.desk.clone();
            let op = tokio::select! {
                biased;
                op = ops.recv() => op,
                () = desk.0.laid.notified() => continue,
            };
            match op {
                None => return,
                Some(Op::Prompt(said)) => drop(self.turn(said, None).await),
                Some(Op::Again) => drop(self.again().await),
                Some(Op::Compact { focus }) => self.compact_now(focus).await,
                Some(Op::Shell { command, told }) => self.run_for_person(command, told).await,
            }
        }
    }

    /// Heeds what was laid down since.
    pub(super) async fn hear_asides(&mut self) {
        loop {
            let next = self.desk.asides().pop_front();
            match next {
                None => return,
                Some(Aside::Steer(said)) => self.steered.push_back(said),
                Some(Aside::Speak(speaker)) => self.speak_as(*speaker).await,
                Some(Aside::Stance(stance)) => self.take_stance(*stance),
                Some(Aside::Context(to)) => {
                    let _ = to.send(self.filling().await);
                }
                Some(Aside::Jobs(to)) => {
                    let _ = to.send(self.toolbox.jobs());
                }
                Some(Aside::TailJob(id, to)) => {
                    let _ = to.send(self.toolbox.tail_job(&id));
                }
                Some(Aside::Changes(to)) => {
                    let _ = to.send(self.changes().await);
                }
                Some(Aside::Allowed(to)) => {
                    let (policy, grants) = (self.policy.clone(), self.grants.words());
                    let _ = to.send(Allowed { policy, grants });
                }
                Some(Aside::StopJob(id)) => {
                    if !self.toolbox.stop_job(&id).await {
                        self.warn(format!("there is no background command {id}")).await;
                    }
                }
            }
        }
    }

    /// Heeds only what is allowed now: in the middle of a reply's calls. Whether there was anything.
    pub(super) fn hear_stances(&mut self) -> bool {
        let stances = self.desk.stances();
        let any = !stances.is_empty();
        stances.into_iter().for_each(|stance| self.take_stance(stance));
        any
    }

    async fn speak_as(&mut self, speaker: Speaker) {
        let Speaker { model, client, harness, live, holds } = speaker;
        let harness = harness.fresh().unwrap_or(harness);
        let before = std::mem::replace(&mut self.harness, harness);
        before.close().await;
        self.drop_images = self.items.iter().any(|item| super::is_blind(item, &model));
        self.drop_thinking = false;
        // What a model of unknown price adds would be missing from the sum.
        self.cost = self.cost.filter(|_| model.prices.is_some());
        (self.model, self.client, self.live, self.holds) = (model, client, live, holds);
        self.see_more().await;
        self.note_switch().await;
        let (model, harness) = (Box::new(self.model.clone()), self.harness.id().to_owned());
        self.out.send(Event::Speaks { model, harness }).await;
    }

    async fn compact_now(&mut self, focus: Option<String>) {
        self.turn += 1;
        self.out.send(Event::TurnStarted).await;
        let end = match self.compact_for(focus).await {
            Ok(None) => super::End::Completed { message: None },
            Ok(Some(end)) => end,
            Err(error) => self.fail(format!("{error:#}")).await,
        };
        self.settle().await;
        self.out.send(Event::TurnEnded { end, usage: self.usage, cost: self.cost }).await;
    }

    async fn compact_for(&mut self, focus: Option<String>) -> anyhow::Result<Option<super::End>> {
        self.focus = focus;
        let end = self.compact("as you asked", Press::Asked).await;
        self.focus = None;
        end
    }

    /// The person's own command: run as the model's would be, shown to the person at once.
    async fn run_for_person(&mut self, command: String, told: Told) {
        self.out.send(Event::TurnStarted).await;
        let call = ToolCall::own(Action::shell(&command, None));
        self.note_base(std::slice::from_ref(&call)).await;
        let rules = self.harness.rules(&self.model);
        let spill = self.session.spill_dir();
        let outcome = {
            let under = self.under(&[]);
            self.act(&call.action, &self.tool_cx(&call, (&rules, &spill), &under)).await
        };
        let shown = own::for_person(outcome.clone(), &self.policy);
        if told == Told::Model {
            let text = self.harness.say(&Saying::Ran {
                command: &command,
                exit: outcome.exit,
                output: &outcome.text,
            });
            self.note(NoteKind::Ran, text).await;
        }
        self.out.send(Event::Ran { command, outcome: Box::new(shown) }).await;
        let end = match self.stopper.stopped() {
            true => super::End::Interrupted,
            false => super::End::Completed { message: None },
        };
        self.out.send(Event::TurnEnded { end, usage: self.usage, cost: self.cost }).await;
    }
}
