//! One run: a subject, a task, a fresh folder; then the check on a copy of what was left there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::watch::Watched;
use super::{
    CheckResult, Entry, Key, Left, Own, Player, Room, Ruling, Subject, Task, Verdict, Void, folder,
    run_check, served, signs,
};
use crate::agent::{Agent, Bounds, End, Event, Launcher, Setup, Stopper, Why, events};
use crate::config::CheckKeys;
use crate::model::{Body, Item, Said, Usage, WireKind};
use crate::sandbox::{EnvWish, Op, Sandbox, Scratch, Verdict as Allowed, Wish};
use crate::store::Sessions;

/// How long an agent that was told to stop may take for it.
const LAST_WORDS: Duration = Duration::from_secs(20);

/// What all runs share.
pub struct Runner {
    pub sandbox: Arc<dyn Sandbox>,
    /// What every policy is made of; folders are filled in.
    pub wish: Wish,
    /// tack's own environment; filtered as for any command.
    pub vars: Vec<(OsString, OsString)>,
    /// Folders that the runs' folders may be made in, the best first. Neither in a repository nor
    /// below `/tmp`, of which commands see one of their own.
    pub places: Vec<PathBuf>,
    /// Where the sessions are kept.
    pub sessions: PathBuf,
    /// Where what the agents left is kept; None: it is removed.
    pub keep: Option<PathBuf>,
    /// Ends everything.
    pub cancel: CancellationToken,
}

/// One run that is to be made.
#[derive(Clone)]
pub struct Job<'a> {
    pub subject: &'a Subject,
    pub task: &'a Task,
    pub key: Key,
    /// The server is to sample with this seed.
    pub seed: Option<u64>,
    /// US dollars that may be spent.
    pub cost: Option<f64>,
}

/// What came of a job.
pub enum Ran {
    Done(Box<Entry>),
    /// Somebody stopped it: there is nothing to keep.
    Stopped,
    /// The money ran out in the middle, after this much: it says nothing of the harness.
    Broke(f64),
}

/// What the agent did, before anybody judged it.
#[derive(Default)]
struct Played {
    /// None: it is void, and why.
    void: Option<(Void, String)>,
    /// A limit of the task ended it.
    limit: bool,
    /// The money ran out in the middle.
    broke: bool,
    /// What ended it, if the model did not.
    ended: Option<String>,
    answer: String,
    items: Vec<Item>,
    usage: Usage,
    cost: Option<f64>,
    requests: u32,
    session: Option<String>,
}

impl Runner {
    pub async fn run(&self, job: &Job<'_>) -> anyhow::Result<Ran> {
        let before = match self.served(job.subject).await {
            Ok(before) => before,
            Err(why) => return Ok(Ran::done(entry(job, Played::void(Void::Server, why), 0.0))),
        };
        let scratch = self.place()?;
        let dir = scratch.path().join("work");
        job.task.lay_out(&dir).with_context(|| format!("laying out task {}", job.task.name))?;
        let began = Instant::now();
        let mut played = match &job.subject.player {
            Player::Harness(own) => self.agent(job, own, scratch.path()).await?,
            Player::External(agent) => self.external(job, agent, scratch.path()).await?,
        };
        let seconds = began.elapsed().as_secs_f64();
        if self.cancel.is_cancelled() {
            return Ok(Ran::Stopped);
        }
        if played.broke {
            return Ok(Ran::Broke(played.cost.unwrap_or(0.0)));
        }
        let after = self.served(job.subject).await;
        if let (None, Err(why)) = (&played.void, &after) {
            played.void = Some((Void::Server, why.clone()));
        }
        if let (Some(before), Ok(Some(after))) = (&before, &after)
            && before != after
        {
            let why = "the server changed its model during the run".to_owned();
            played.void = Some((Void::Model, why));
        }
        let kept = self.keep_left(job, &dir);
        let mut made = match played.void {
            Some(_) => entry(job, played, seconds),
            None => {
                let judged = self.judge(job, &played.answer, scratch.path()).await;
                let left = left(job.task, &dir, &scratch.path().join("before"));
                judged_entry(job, played, seconds, (judged, left))
            }
        };
        made.served = before;
        // No reason to throw away a result, and the runs that would follow.
        if let Err(error) = kept {
            let between = if made.why.is_empty() { "" } else { "; " };
            made.why += &format!("{between}what it left is not kept: {error}");
        }
        Ok(if self.cancel.is_cancelled() { Ran::Stopped } else { Ran::done(made) })
    }

    /// Keeps what the agent left, in the place of what it left when it was run before.
    fn keep_left(&self, job: &Job<'_>, dir: &Path) -> io::Result<()> {
        let Some(keep) = &self.keep else { return Ok(()) };
        let place = keep.join(format!("{}-{}-{}", job.task.name, job.subject.name, job.key.run));
        folder::remove(&place)?;
        folder::copy(dir, &place)
    }

    /// A fresh folder where the sandbox lets an agent write.
    pub fn place(&self) -> anyhow::Result<Scratch> {
        let mut trouble = None;
        for place in &self.places {
            let scratch = match Scratch::make(place) {
                Ok(scratch) => scratch,
                Err(error) => {
                    trouble = Some(anyhow::Error::from(error).context(place.display().to_string()));
                    continue;
                }
            };
            if crate::agent::scene::git(scratch.path()).is_some() {
                continue;
            }
            let work = scratch.path().join("work");
            std::fs::create_dir_all(&work)?;
            let policy = Wish { cwd: work.clone(), ..self.wish.clone() }.settle()?.policy;
            std::fs::remove_dir(&work)?;
            if policy.explain(&work.join("file"), Op::Write) == Allowed::Allowed {
                return Ok(scratch);
            }
        }
        let trouble =
            trouble.unwrap_or_else(|| anyhow::anyhow!("set XDG_CACHE_HOME to a folder outside of any"));
        Err(trouble.context("no folder outside of repositories for the agents to work in"))
    }

    /// What a local server says it has. Others are not asked.
    async fn served(&self, subject: &Subject) -> Result<Option<String>, String> {
        match subject.provider.as_ref().filter(|provider| provider.local) {
            Some(provider) => served::served(provider, &subject.model.name).await,
            None => Ok(None),
        }
    }

    async fn agent(&self, job: &Job<'_>, own: &Own, scratch: &Path) -> anyhow::Result<Played> {
        let Job { subject, task, .. } = job;
        let tmp = scratch.join("tmp");
        std::fs::create_dir(&tmp)?;
        let wish = Wish { cwd: scratch.join("work"), tmp: Some(tmp), ..self.wish.clone() };
        let policy = wish.settle()?.policy;
        let sessions = Sessions::new(self.sessions.clone());
        let session = sessions.create(&policy.cwd);
        let id = session.id().clone();
        let seed = job.seed.filter(|_| subject.model.local && subject.model.wire == WireKind::Chat);
        let watched = Arc::new(Watched::new(own.client.clone(), seed));
        let stopper = Stopper::default();
        let log = session.log().map(Path::to_path_buf);
        let env = EnvWish { vars: self.vars.clone(), ..EnvWish::default() }.build(&policy);
        let programs = Launcher {
            sandbox: self.sandbox.clone(),
            policy: policy.clone(),
            env: env.clone(),
            session: id.to_string(),
            data: Some(scratch.join("data")),
            own: None,
            stopper: stopper.clone(),
        };
        let setup = Setup {
            online: env.clone(),
            env,
            programs: Arc::new(programs),
            sandbox: self.sandbox.clone(),
            model: subject.model.clone(),
            client: watched.clone(),
            harness: own.harness.clone(),
            // What is measured stays what it is.
            live: None,
            policy,
            session,
            loaded: None,
            // Nothing of the machine's owner: neither instructions nor the check of another project.
            config_dir: None,
            check: CheckKeys::default(),
            bounds: Bounds { steps: Some(task.limits.turns), cost: job.cost, compact_at: own.compact_at },
            unattended: true,
            permit: crate::agent::Permit::default(),
            desk: crate::agent::Desk::default(),
            holds: own.holds,
            stopper: stopper.clone(),
        };
        let mut played = self.turn(task, setup, &stopper).await?;
        if self.cancel.is_cancelled() {
            let _ = sessions.remove(&id);
            return Ok(played);
        }
        played.requests = watched.requests();
        played.session = log.and_then(|log| self.beside(&log));
        let local = subject.provider.as_ref().is_some_and(|provider| provider.local);
        let limit = Duration::from_secs(task.limits.seconds);
        if let Some(trouble) = watched.trouble().filter(|_| played.ended.is_some()) {
            played.void = Some((Void::Server, trouble));
        } else if stopper.why() == Some(Why::Time(task.limits.seconds))
            && !local
            && watched.silent() > limit / 2
        {
            // A local server is asked whether it lives; it may well need that long for a prompt.
            let silent = watched.silent().as_secs();
            played.void = Some((Void::Server, format!("the server sent nothing for {silent} s")));
        }
        Ok(played)
    }

    /// One turn of an agent, until it ends, the time is over or everything is stopped.
    async fn turn(&self, task: &Task, setup: Setup, stopper: &Stopper) -> anyhow::Result<Played> {
        let bound = setup.bounds.cost;
        let (out, mut heard) = events(stopper.token());
        let prompt = Said { text: task.prompt.clone(), images: Vec::new() };
        let mut played = Played::default();
        let work = async {
            let mut agent = Agent::new(setup, out.whole_replies());
            let opened = agent.open(Vec::new()).await;
            if opened.is_ok() {
                agent.turn(prompt, None).await;
            }
            agent.close().await;
            opened
        };
        let listen = async {
            while let Some(event) = heard.recv().await {
                played.hear(event, bound);
            }
        };
        let watch = async {
            tokio::select! {
                () = self.cancel.cancelled() => stopper.stop(Why::Person),
                () = tokio::time::sleep(Duration::from_secs(task.limits.seconds)) => {
                    stopper.stop(Why::Time(task.limits.seconds));
                }
            }
            tokio::time::sleep(LAST_WORDS).await;
        };
        tokio::select! {
            (opened, ()) = async { tokio::join!(work, listen) } => opened?,
            () = watch => {}
        }
        // An agent that did not even end when it was told to.
        if stopper.stopped() && played.ended.is_none() && !played.completed() {
            played.limit = true;
        }
        Ok(played)
    }

    /// The path as it stands in an entry: below the folder of the results.
    fn beside(&self, log: &Path) -> Option<String> {
        let below = log.strip_prefix(self.sessions.parent()?).ok()?;
        Some(below.to_string_lossy().into_owned())
    }

    async fn external(
        &self,
        job: &Job<'_>,
        agent: &super::External,
        scratch: &Path,
    ) -> anyhow::Result<Played> {
        let place = scratch.join("scratch");
        let room = self.room(&self.wish, &place);
        let ran = agent.play((job.subject, job.task), &scratch.join("work"), &room).await?;
        if ran.never_ran() {
            let why = ran.output.lines().last().unwrap_or_default();
            return Ok(Played::void(Void::Agent, format!("{} did not run: {why}", job.subject.name)));
        }
        Ok(Played { limit: ran.timed_out(), answer: ran.output, ..Played::default() })
    }

    /// Where scripts run under `wish`, with their folders in `scratch`.
    pub fn room<'a>(&'a self, wish: &'a Wish, scratch: &'a Path) -> Room<'a> {
        Room { sandbox: &*self.sandbox, wish, vars: &self.vars, scratch, cancel: &self.cancel }
    }

    async fn judge(&self, job: &Job<'_>, answer: &str, scratch: &Path) -> CheckResult {
        let copy = scratch.join("copy");
        if let Err(error) = folder::copy(&scratch.join("work"), &copy) {
            return CheckResult {
                ruling: Ruling::Failed,
                why: error.to_string(),
                output: String::new(),
                survivors: 0,
                denied: None,
            };
        }
        let place = scratch.join("check");
        let room = self.room(&self.wish, &place);
        run_check(job.task, &copy, answer, &room).await
    }
}

impl Ran {
    fn done(entry: Entry) -> Self {
        Self::Done(Box::new(entry))
    }
}

impl Played {
    fn void(void: Void, why: String) -> Self {
        Self { void: Some((void, why)), ..Self::default() }
    }

    fn completed(&self) -> bool {
        self.items.iter().any(|item| matches!(item.body, Body::Mark(crate::model::Mark::Completed { .. })))
    }

    fn hear(&mut self, event: Event, bound: Option<f64>) {
        match event {
            Event::Item(item) => {
                if let Body::Assistant(reply) = &item.body {
                    self.answer = reply.said();
                }
                self.items.push(*item);
            }
            Event::TurnEnded { end, usage, cost } => {
                (self.usage, self.cost) = (usage, cost);
                match end {
                    End::Completed { message } => self.answer = message.unwrap_or_default(),
                    End::Failed { message, .. } => self.ended = Some(message),
                    End::Limit { message } => {
                        self.broke = bound.zip(cost).is_some_and(|(bound, cost)| cost >= bound);
                        self.limit = true;
                        self.ended = Some(message);
                    }
                    End::Interrupted => self.ended = Some("stopped".to_owned()),
                }
            }
            Event::Session { .. }
            | Event::NotRecorded
            | Event::Warning(_)
            | Event::TurnStarted
            | Event::Text(_)
            | Event::Thinking(_)
            | Event::Again { .. }
            | Event::Waiting(_)
            | Event::Speaks { .. }
            | Event::Ran { .. }
            | Event::Ask { .. }
            | Event::AskVoid(_)
            | Event::CallStarted { .. } => {}
        }
    }
}

/// What cannot be compared was changed, whatever it was.
fn left(task: &Task, dir: &Path, before: &Path) -> Left {
    task.lay_out(before).and_then(|()| super::left::left(before, dir)).unwrap_or(Left::Changed)
}

fn judged_entry(
    job: &Job<'_>,
    mut played: Played,
    seconds: f64,
    (judged, left): (CheckResult, Left),
) -> Entry {
    let verdict = match (judged.ruling, played.limit) {
        (Ruling::Passed, _) => Verdict::Solved,
        (Ruling::Failed, true) => Verdict::Limit,
        (Ruling::Failed, false) => Verdict::Failed,
        (Ruling::Void, _) => {
            played.void = Some((Void::Check, format!("the check {}", judged.why)));
            return entry(job, played, seconds);
        }
    };
    let signs = signs::signs(&played.items, verdict, left);
    let why = match played.ended.take() {
        Some(ended) if verdict != Verdict::Solved => format!("{ended}; {}", judged.why),
        Some(_) | None => judged.why,
    };
    Entry { verdict, signs, why, ..entry(job, played, seconds) }
}

/// The entry as far as it does not need a verdict: a void one.
fn entry(job: &Job<'_>, played: Played, seconds: f64) -> Entry {
    let (void, why) = match played.void {
        Some((void, why)) => (Some(void), why),
        None => (None, String::new()),
    };
    Entry {
        key: job.key.clone(),
        verdict: Verdict::Void,
        void,
        why,
        usage: played.usage,
        cost: played.cost,
        requests: played.requests,
        seconds,
        signs: BTreeMap::new(),
        session: played.session,
        served: None,
        at: jiff::Timestamp::now(),
    }
}
