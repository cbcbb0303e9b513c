//! The agent: one session, and the loop that works in it.
//!
//! Owns the items and everything that acts on them. A frontend gives it prompts, hears [`Event`]s
//! and may pull the [`Stopper`]; nothing else goes in or out. The loop is in `turn` and reads from
//! top to bottom; this module holds what it works on.

mod answer;
mod calls;
mod changes;
mod check;
mod compact;
mod desk;
mod event;
mod filling;
mod fingerprint;
mod guard;
mod harmless;
mod instructions;
mod live;
mod named;
mod own;
mod permit;
mod programs;
mod project;
mod reads;
mod request;
pub mod scene;
mod stop;
mod turn;

use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::CheckKeys;
use crate::harness::{Blobs, Harness, Live, Programs, View};
use crate::model::{BlobId, Body, Item, ItemId, Mark, Model, Outcome, Part, Said, Scene, Seen, Usage};
use crate::sandbox::{Policy, Sandbox};
use crate::store::{BlobStore, Loaded, Session};
use crate::tools::{KeepBlob, Toolbox};
use crate::wire::Client;

pub use answer::{Holds, Schema};
pub use changes::Changes;
pub use desk::{Allowed, Aside, Desk, Op, Speaker, Told};
pub use event::{End, Event, Outbox, events};
pub use filling::Filling;
pub use permit::{
    Answer, Approval, Asker, Offer, Permit, Request, Risk, Rule, RuleBook, Scope, SessionMode, Stance, What,
};
pub use programs::Launcher;
pub use stop::{Stopper, Why};

use check::Gate;
use guard::Guard;
use reads::Reads;

/// What an agent is made of. Put together by the command line.
pub struct Setup {
    pub model: Model,
    pub client: Arc<dyn Client>,
    pub harness: Arc<dyn Harness>,
    /// Where the harness comes from, when edits of its files are to count in this session.
    pub live: Option<Live>,
    /// Starts what an external harness runs.
    pub programs: Arc<dyn Programs>,
    pub policy: Policy,
    pub sandbox: Arc<dyn Sandbox>,
    /// The environment of commands, already cleaned.
    pub env: Vec<(OsString, OsString)>,
    /// The same for those that the network is lifted for.
    pub online: Vec<(OsString, OsString)>,
    pub session: Session,
    /// What the session held, when it is an earlier one.
    pub loaded: Option<Loaded>,
    /// Folder of the user's own AGENTS.md.
    pub config_dir: Option<PathBuf>,
    pub bounds: Bounds,
    /// What the user set about the project's check.
    pub check: CheckKeys,
    /// Nobody is there to answer questions.
    pub unattended: bool,
    /// What runs without asking, when somebody is there.
    pub permit: Permit,
    /// What the server does about a schema for the last message.
    pub holds: Holds,
    pub stopper: Stopper,
    /// Where a frontend lays what is to be heard in the middle of a turn.
    pub desk: Desk,
}

/// Limits of a run, over and above the harness's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// Model requests in one turn.
    pub steps: Option<u32>,
    /// US dollars in this run.
    pub cost: Option<f64>,
    /// Tokens of context at which it is compacted; a share of the window when None.
    pub compact_at: Option<u64>,
}

pub struct Agent {
    model: Model,
    client: Arc<dyn Client>,
    harness: Arc<dyn Harness>,
    live: Option<Live>,
    programs: Arc<dyn Programs>,
    policy: Policy,
    sandbox: Arc<dyn Sandbox>,
    env: Vec<(OsString, OsString)>,
    online: Vec<(OsString, OsString)>,
    session: Session,
    blobs: SessionBlobs,
    config_dir: Option<PathBuf>,
    bounds: Bounds,
    check_keys: CheckKeys,
    unattended: bool,
    permit: Permit,
    /// What the person allowed in this session.
    grants: permit::Grants,
    holds: Holds,
    /// The form this turn's last message has to have.
    form: Option<answer::Form>,
    stopper: Stopper,
    desk: Desk,
    /// What the person said since the last request of this turn.
    steered: VecDeque<Said>,
    /// What a summary that the person asked for should not leave out.
    focus: Option<String>,

    out: Outbox,
    items: Vec<Item>,
    /// The highest id of an item.
    newest: ItemId,
    scene: Scene,
    toolbox: Toolbox,
    guard: Guard,
    gate: Gate,
    /// What the project is compared with.
    since: changes::Since,
    reads: Reads,
    turn: u32,
    /// Tokens of all turns, earlier runs included.
    usage: Usage,
    /// US dollars of this run.
    cost: Option<f64>,
    /// The model was found to take no images.
    drop_images: bool,
    /// The server was found to want no reasoning back.
    drop_thinking: bool,
    /// Results that the last request held only a line of.
    masked: usize,
    /// The context was not to be kept as short in this turn as the harness wants it.
    let_grow: bool,
    /// The person was told that the session is not recorded.
    told_unrecorded: bool,
    /// The person and the model were told what the sandbox does not hold.
    told_reduced: bool,
    /// The model is to be told that it repeats itself, once its calls are all answered.
    pending_guard: Option<u32>,
    /// Call ids that servers gave in this session; a repeated one would answer the wrong call.
    given: HashSet<String>,
}

impl Agent {
    /// Makes the agent; [`open`](Self::open) has to follow before the first turn.
    pub fn new(setup: Setup, out: Outbox) -> Self {
        let items = setup.loaded.map(|loaded| loaded.items).unwrap_or_default();
        let given = items.iter().flat_map(given_ids).collect();
        let toolbox = Toolbox::default();
        toolbox.restore(items.iter().flat_map(seen));
        for (session, cwd) in items.iter().filter_map(left_shell) {
            toolbox.restore_shell(session, cwd);
        }
        toolbox.restore_tasks(items.iter().filter_map(outcome));
        let drop_images = items.iter().any(|item| is_blind(item, &setup.model));
        Self {
            cost: setup.model.prices.map(|_| 0.0),
            model: setup.model,
            client: setup.client,
            harness: setup.harness.fresh().unwrap_or(setup.harness),
            live: setup.live,
            programs: setup.programs,
            policy: setup.policy,
            sandbox: setup.sandbox,
            env: setup.env,
            online: setup.online,
            blobs: SessionBlobs(setup.session.blobs()),
            session: setup.session,
            config_dir: setup.config_dir,
            bounds: setup.bounds,
            check_keys: setup.check,
            unattended: setup.unattended,
            permit: setup.permit,
            grants: permit::Grants::default(),
            holds: setup.holds,
            form: None,
            stopper: setup.stopper,
            desk: setup.desk,
            steered: VecDeque::new(),
            focus: None,
            out,
            scene: Scene::default(),
            toolbox,
            guard: Guard::default(),
            gate: Gate::default(),
            since: changes::Since::new(items.len()),
            reads: Reads::default(),
            turn: items.iter().map(|item| item.turn).max().unwrap_or(0),
            usage: total(&items),
            newest: items.iter().map(|item| item.id).max().unwrap_or(ItemId(0)),
            items,
            drop_images,
            drop_thinking: false,
            masked: 0,
            let_grow: false,
            told_unrecorded: false,
            told_reduced: false,
            pending_guard: None,
            given,
        }
    }

    /// Announces the session, makes an earlier one's history whole and freezes the scene.
    pub async fn open(&mut self, warnings: Vec<String>) -> anyhow::Result<()> {
        let resumed = !self.items.is_empty();
        let (id, cwd) = (self.session.id().clone(), self.policy.cwd.clone());
        self.out.send(Event::Session { id, resumed, cwd }).await;
        for warning in warnings {
            self.warn(warning).await;
        }
        let last = self.items.iter().rev().find_map(|item| match &item.body {
            Body::Scene(scene) => Some((**scene).clone()),
            _ => None,
        });
        self.scene = last.clone().unwrap_or_default();
        self.answer_open_calls(calls::Missed::Unknown).await?;
        self.note_switch().await;
        let now = self.look_around().await;
        if last.is_none_or(|last| !scene::same(&last, &now)) {
            self.scene = now.clone();
            self.push(Body::Scene(Box::new(now))).await;
        }
        Ok(())
    }

    /// The scene as it is now.
    async fn look_around(&mut self) -> Scene {
        let (now, warnings) = scene::gather(&scene::Given {
            policy: &self.policy,
            config_dir: self.config_dir.as_deref(),
            unattended: self.unattended,
            env: &self.env,
            project: self.harness.rules(&self.model).facts.then_some(&self.check_keys),
        });
        for warning in warnings {
            self.warn(warning).await;
        }
        now
    }

    /// Notes in the log that another harness or model goes on from here.
    async fn note_switch(&mut self) {
        let last = self.items.iter().rev().find_map(|item| match &item.body {
            Body::Assistant(reply) => Some(&reply.origin),
            _ => None,
        });
        let Some(last) = last else { return };
        let same = last.harness == self.harness.id()
            && last.provider == self.model.provider
            && last.model == self.model.name;
        if !same {
            let mark = Mark::Switched {
                harness: self.harness.id().to_owned(),
                provider: self.model.provider.clone(),
                model: self.model.name.clone(),
            };
            self.push(Body::Mark(mark)).await;
        }
    }

    /// Adds an item: to the session file, to memory, to the frontend's events.
    async fn push(&mut self, body: Body) -> ItemId {
        let item = Item { id: self.next_id(), turn: self.turn, at: jiff::Timestamp::now(), body };
        let id = item.id;
        if let Err(error) = self.session.append(&item)
            && !self.told_unrecorded
        {
            self.told_unrecorded = true;
            self.out.send(Event::NotRecorded).await;
            self.warn(error.to_string()).await;
        }
        self.out.send(Event::Item(Box::new(item.clone()))).await;
        self.newest = id;
        self.given.extend(given_ids(&item));
        self.items.push(item);
        self.harness.heard(&self.view()).await;
        id
    }

    fn next_id(&self) -> ItemId {
        // Not the last one's: ids may be out of order in a log that was damaged.
        ItemId(self.newest.0 + 1)
    }

    fn view(&self) -> View<'_> {
        View {
            items: &self.items,
            scene: &self.scene,
            model: &self.model,
            wire: self.model.wire,
            blobs: &self.blobs,
            drop_images: self.drop_images,
            programs: &*self.programs,
        }
    }

    /// Ends what still runs. To be called before the agent is let go.
    pub async fn close(&mut self) {
        self.toolbox.stop_all().await;
        self.harness.close().await;
        self.out.flush().await;
    }
}

/// Files whose content the model knew by then.
fn seen(item: &Item) -> &[Seen] {
    match &item.body {
        Body::Result(result) => &result.outcome.seen,
        _ => &[],
    }
}

/// Where a command left the lasting shell that it ran in.
fn left_shell(item: &Item) -> Option<(&str, &Path)> {
    let Body::Result(result) = &item.body else { return None };
    let data = &result.outcome.data;
    Some((data["session"].as_str()?, Path::new(data["cwd"].as_str()?)))
}

fn outcome(item: &Item) -> Option<&Outcome> {
    match &item.body {
        Body::Result(result) => Some(&result.outcome),
        _ => None,
    }
}

/// Whether an earlier run of this session learnt that this model takes no images.
fn is_blind(item: &Item, now: &Model) -> bool {
    let Body::Mark(Mark::Blind { provider, model }) = &item.body else { return false };
    *provider == now.provider && *model == now.name
}

fn given_ids(item: &Item) -> Vec<String> {
    let Body::Assistant(reply) = &item.body else { return Vec::new() };
    let given = |part: &Part| match part {
        Part::Call(call) => call.given.clone(),
        Part::Text { .. } | Part::Thinking { .. } | Part::Image(_) => None,
    };
    reply.parts.iter().filter_map(given).collect()
}

/// Tokens so far: what the last turn that completed says, summaries and all, and the replies since.
fn total(items: &[Item]) -> Usage {
    let mut usage = Usage::default();
    for item in items {
        if let Body::Mark(Mark::Completed { usage: total }) = &item.body {
            usage = *total;
        } else if let Body::Assistant(reply) = &item.body {
            usage += reply.usage;
        }
    }
    usage
}

/// The session's blobs, as the layers below want to see them.
struct SessionBlobs(Arc<BlobStore>);

impl Blobs for SessionBlobs {
    fn base64(&self, id: &BlobId) -> Option<Arc<str>> {
        self.0.base64(id)
    }
}

impl KeepBlob for SessionBlobs {
    fn keep(&self, bytes: &[u8]) -> std::io::Result<BlobId> {
        Ok(self.0.keep(bytes))
    }
}
