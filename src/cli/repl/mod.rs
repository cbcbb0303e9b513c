//! `tack` without a prompt to run: the interactive session. Puts together what the frontend in `tui`
//! asks for.

mod folders;
mod meant;
mod mute;
mod report;
mod rows;
mod settings;

use std::collections::{BTreeMap, HashMap};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use super::args::{self, SessionFlags};
use super::choice::DEMO;
use super::error::CliError;
use super::learn::Ask;
use super::setup::{self, Base, Ready};
use super::{providers, runtime};
use crate::agent::{Agent, Rule, SessionMode, Setup, Speaker, Stance, Stopper, events, scene};
use crate::config;
use crate::harness::{self, Carried, Library, Live, LoadError};
use crate::model::{Item, Model, SessionId};
use crate::sandbox::Policy;
use crate::tui::host::{
    Because, Facts, Folder, HarnessRow, Host, Lasts, Link, Meant, ModelRow, NewProvider, Opened, ProviderRow,
    Reach, Report, SessionRow, Speaks, Spoken, Which, Wish,
};
use crate::tui::transcript::Speech;
use crate::tui::{self, Start};
use crate::wire::local::Found;

/// Operations that may wait for a session.
const ROOM: usize = 16;
/// How long sessions that were left may take to end what they run.
const FAREWELL: Duration = Duration::from_secs(3);

const NO_SESSIONS: &str = "there is no folder of sessions: set HOME or TACK_HOME";

/// Which session to begin with.
pub(super) enum First {
    New,
    Id(String),
    Last,
    /// The person chooses from a list.
    Choose(Reach),
}

/// How it is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Face {
    Screen,
    /// By lines alone.
    Plain,
}

impl Face {
    /// As the flag says; a terminal that cannot be drawn on decides by itself.
    pub(super) fn of(plain: bool) -> Self {
        let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        if plain || dumb { Self::Plain } else { Self::Screen }
    }
}

pub(super) fn run(
    prompt: Option<String>,
    first: &First,
    (flags, face): (&SessionFlags, Face),
) -> Result<i32, CliError> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(CliError::usage("an interactive session needs a terminal")
            .hint("run one prompt without one: tack exec PROMPT"));
    }
    let repl = Arc::new(Repl::new(flags.clone()));
    let which = match first {
        First::New | First::Choose(_) => setup::Which::New,
        First::Id(id) => setup::Which::Id(id.clone()),
        First::Last => setup::Which::Last,
    };
    let (opened, kept) = repl.open_first(&which)?;
    let start = Start {
        prompt,
        choose: if let First::Choose(reach) = first { Some(*reach) } else { None },
        state: kept.state,
        env: |name| std::env::var(name).ok(),
        keys: kept.keys,
    };
    let code = match face {
        Face::Plain => runtime()?.block_on(tui::run_plain(repl.clone(), opened, start)),
        Face::Screen => runtime()?.block_on(tui::run(repl.clone(), opened, start)),
    };
    repl.farewell();
    if let Some(line) = repl.way_back() {
        // A courtesy: a terminal that is gone is no failure.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    match code {
        // Its window was closed: as if the signal for that had come first.
        Err(error) if error.raw_os_error() == Some(IO_ERROR) => Ok(129),
        code => code.map_err(|error| CliError::failed(format!("the terminal cannot be used: {error}"))),
    }
}

/// EIO, which a terminal that is gone answers with.
const IO_ERROR: i32 = 5;

/// What of the settings the frontend keeps to.
struct Kept {
    state: Option<PathBuf>,
    keys: BTreeMap<String, String>,
}

struct Repl {
    flags: SessionFlags,
    /// Each tells when a session's thread is over.
    ended: Mutex<Vec<std::sync::mpsc::Receiver<()>>>,
    /// The open session's private `/tmp`.
    tmp: Mutex<Option<PathBuf>>,
    /// The open session, where it is kept.
    open: Mutex<Option<SessionId>>,
    /// What the person changed, for the next new session.
    changed: Mutex<Changed>,
    /// Folders that may be written in the open session, besides those of flags and settings.
    folders: Mutex<Vec<PathBuf>>,
    /// Providers whose servers the person had asked, or gave a key for.
    asked: Mutex<Vec<String>>,
    /// What their servers told of models, by provider and name.
    told: Mutex<HashMap<(String, String), Found>>,
}

/// What was chosen in a session.
#[derive(Clone, Default)]
struct Changed {
    wish: Option<Wish>,
    mode: Option<SessionMode>,
}

impl Repl {
    fn new(flags: SessionFlags) -> Self {
        Self {
            flags,
            ended: Mutex::default(),
            tmp: Mutex::default(),
            open: Mutex::default(),
            changed: Mutex::default(),
            folders: Mutex::default(),
            asked: Mutex::default(),
            told: Mutex::default(),
        }
    }

    /// Opens a session with other flags, and holds it as one of its own.
    fn open_under(
        &self,
        flags: SessionFlags,
        which: &setup::Which,
        change: impl FnOnce(&mut Setup),
    ) -> Result<(Opened, Kept), CliError> {
        let other = Self::new(flags);
        let base = setup::base(&other.flags)?;
        let came = other.open_with(which, base, change)?;
        *held(&self.tmp) = held(&other.tmp).take();
        *held(&self.open) = held(&other.open).take();
        held(&self.folders).clear();
        held(&self.ended).append(&mut held(&other.ended));
        Ok(came)
    }

    /// The flags as the person changed them since. Without a sandbox nothing begins by itself.
    fn as_changed(&self) -> SessionFlags {
        let Changed { wish, mode } = held(&self.changed).clone();
        let mut flags = wish.map_or_else(|| self.flags.clone(), |wish| self.with(&wish));
        flags.mode = match mode {
            Some(SessionMode::Ask) => Some(args::SessionMode::Ask),
            Some(SessionMode::Edits) => Some(args::SessionMode::Edits),
            Some(SessionMode::Plan) => Some(args::SessionMode::Plan),
            Some(SessionMode::Full) | None => flags.mode,
        };
        flags
    }

    /// How to come back, where something was said.
    fn way_back(&self) -> Option<String> {
        let id = held(&self.open).take()?;
        let read = setup::base(&self.flags).ok()?.sessions()?.read(&id).ok()?;
        (read.turns() > 0).then(|| format!("tack resume {id} goes on with this session"))
    }

    /// The session to begin with. Where no model is set up, one that can be looked around in.
    fn open_first(&self, which: &setup::Which) -> Result<(Opened, Kept), CliError> {
        let base = setup::base(&self.flags)?;
        let asked = self.flags.oss || self.flags.local_provider.is_some();
        if asked
            || base.config.model.is_some()
            || base.config.model_provider.is_some()
            || base.chosen().is_ok()
        {
            return self.open_as(which, base);
        }
        let mut flags = self.flags.clone();
        flags.provider = Some(DEMO.to_owned());
        flags.model = Some(mute::NAME.to_owned());
        flags.harness.get_or_insert_with(|| "minimal".to_owned());
        let mut came = self.open_under(flags, which, |setup| setup.client = Arc::new(mute::Mute))?;
        (came.0.facts.mute, came.0.facts.speaks.because) = (true, Because::Unclaimed);
        Ok(came)
    }

    fn open_as(&self, which: &setup::Which, base: Base) -> Result<(Opened, Kept), CliError> {
        self.open_with(which, base, |_| {})
    }

    fn open_with(
        &self,
        which: &setup::Which,
        base: Base,
        change: impl FnOnce(&mut Setup),
    ) -> Result<(Opened, Kept), CliError> {
        let kept = Kept { state: base.dirs.state.clone(), keys: base.config.tui.keys.clone() };
        let home = base.dirs.home.clone();
        let library = base.library.clone();
        let stopper = Stopper::default();
        let Ready { mut setup, warnings, because, learns, _scratch } =
            base.ready_to(&self.flags, (which, setup::Learn::Later), stopper.clone())?;
        setup.unattended = false;
        change(&mut setup);
        let desk = setup.desk.clone();
        let facts = Facts {
            speaks: speaks(&library, &setup.model, (setup.harness.id(), because)),
            session: setup.session.id().to_string(),
            folder: shortened(&setup.policy.cwd, home.as_deref()),
            branch: scene::git(&setup.policy.cwd).map(|git| format!("git {}", git.branch)),
            mode: setup.permit.mode,
            sandbox: sandbox(&setup.policy),
            instructions: instructions(&setup.policy.cwd),
            log: setup.session.log().map(std::path::Path::to_path_buf),
            cwd: setup.policy.cwd.clone(),
            mute: false,
            learns,
        };
        let items = setup.loaded.as_ref().map(|loaded| loaded.items.clone()).unwrap_or_default();
        *held(&self.tmp) = setup.policy.tmp.clone();
        *held(&self.open) = setup.session.log().map(|_| setup.session.id().clone());
        held(&self.folders).clear();
        let blobs = setup.session.blobs();
        let (ops, asked) = mpsc::channel(ROOM);
        // Pulled only when all of tack ends: between turns the channel is as before.
        let (out, heard) = events(tokio_util::sync::CancellationToken::new());
        let (over, ended) = std::sync::mpsc::sync_channel(1);
        let work = move || {
            let _over = over;
            let _scratch = _scratch;
            let Ok(runtime) = runtime() else { return };
            runtime.block_on(async {
                let mut agent = Agent::new(setup, out);
                if agent.open(Vec::new()).await.is_ok() {
                    agent.serve(asked).await;
                }
                agent.close().await;
            });
            runtime.shutdown_background();
        };
        let started = std::thread::Builder::new().name("session".to_owned()).spawn(work);
        started.map_err(|error| CliError::failed(format!("cannot start: {error}")))?;
        held(&self.ended).push(ended);
        let keep = Box::new(move |bytes: &[u8]| blobs.keep(bytes));
        let link = Link { ops, desk, stopper, keep };
        let warnings = warnings.iter().map(|warning| in_session(warning)).collect();
        Ok((Opened { link, events: heard, facts, items, warnings }, kept))
    }

    /// Waits for the sessions to end what they run, but not for ever.
    fn farewell(&self) {
        let ended = std::mem::take(&mut *held(&self.ended));
        for one in ended {
            // Nothing is ever sent: the thread's end is what is waited for.
            let _ = one.recv_timeout(FAREWELL);
        }
    }

    /// The settings with another model or harness for this run.
    fn with(&self, wish: &Wish) -> SessionFlags {
        let mut flags = self.flags.clone();
        if let Some((provider, name)) = &wish.model {
            (flags.provider, flags.model) = (Some(provider.clone()), Some(name.clone()));
        }
        flags.harness.clone_from(&wish.harness);
        if let Some(effort) = &wish.effort {
            flags.config.push(format!("model_reasoning_effort={effort}"));
        }
        flags
    }

    /// What a mode allows, with the folders that were added.
    fn stance_in(&self, mode: SessionMode) -> Result<(Stance, Vec<String>), CliError> {
        let mut flags = self.flags.clone();
        flags.add_dir.extend(held(&self.folders).iter().cloned());
        let tmp = held(&self.tmp).clone();
        setup::base(&flags)?.stance(&flags, (mode, tmp.as_deref()))
    }

    /// A server of the person's own is only asked where the harness hangs on it. What it told before holds.
    fn remember(&self, base: &mut Base) {
        let Ok((model, _)) = base.chosen() else { return };
        let (mut told, model) = (held(&self.told), (model.provider, model.name));
        match &base.found {
            Some(found) => drop(told.insert(model, found.clone())),
            None => base.found = told.get(&model).cloned(),
        }
    }

    fn speaker_for(&self, wish: &Wish) -> Result<Spoken, CliError> {
        let flags = self.with(wish);
        let mut base = setup::base(&flags)?;
        if let Some(id) = wish.harness.as_deref().filter(|id| *id != "auto")
            && let Err(LoadError::Unknown { near, .. }) = base.library.get(id)
            && near.is_empty()
        {
            return Err(CliError::usage(format!("there is no harness {id}; /harness lists them")));
        }
        let lines = Arc::new(Mutex::new(Vec::new()));
        let told = lines.clone();
        base.say = Arc::new(move |line: &str| {
            held(&told).push(line.to_owned());
        });
        base.use_local(&flags)?;
        base.learn(Ask::ForAuto, flags.timeout)?;
        self.remember(&mut base);
        let chosen = base.priced(&flags)?;
        let because = base.because(&chosen.model, chosen.harness.id());
        let (client, holds) = (chosen.client()?, chosen.holds());
        let speaks = speaks(&base.library, &chosen.model, (chosen.harness.id(), because));
        let live = Some(Live::new(base.library.clone(), chosen.harness.id()));
        let speaker = Speaker { model: chosen.model, client, harness: chosen.harness, live, holds };
        // Of several the last one says what came of it.
        let notes = held(&lines).pop().into_iter().collect();
        let warnings = chosen.tight.iter().map(|warning| in_session(warning)).collect();
        Ok(Spoken { speaker: Box::new(speaker), speaks, warnings, notes })
    }
}

impl Host for Repl {
    fn open(&self, which: &Which) -> Result<Opened, String> {
        let which = match which {
            Which::New => {
                let opened = self.open_under(self.as_changed(), &setup::Which::New, |_| {});
                return opened.map(|(opened, _)| opened).map_err(said);
            }
            Which::Id(id) => setup::Which::Id(id.clone()),
            Which::Last => setup::Which::Last,
        };
        let base = setup::base(&self.flags).map_err(said)?;
        self.open_as(&which, base).map(|(opened, _)| opened).map_err(said)
    }

    fn speaker(&self, wish: &Wish) -> Result<Spoken, String> {
        self.speaker_for(wish).map_err(said)
    }

    fn keep(&self, wish: &Wish) {
        if wish.lasts == Lasts::Run {
            held(&self.changed).wish = Some(wish.clone());
        }
    }

    fn model(&self, provider: &str, name: &str) -> Result<Model, String> {
        let wish = Wish { model: Some((provider.to_owned(), name.to_owned())), ..Wish::default() };
        let chosen = setup::base(&self.with(&wish)).and_then(|base| base.chosen()).map_err(said)?;
        Ok(chosen.0)
    }

    fn meant(&self, typed: &str, at: &str) -> Result<Meant, String> {
        let base = setup::base(&self.flags).map_err(said)?;
        meant::find(&base, typed, at).map_err(said)
    }

    fn harnesses(&self, model: &Model) -> Vec<HarnessRow> {
        setup::base(&self.flags).map(|base| rows::harnesses(&base, model)).unwrap_or_default()
    }

    fn carried(&self, model: &Model, session: &str) -> Vec<(String, Carried)> {
        let Ok(base) = setup::base(&self.flags) else { return Vec::new() };
        let Ok(items) = self.items(session) else { return Vec::new() };
        let one = |id: String| {
            let harness = base.library.fit(&id, model).ok()?;
            Some((id, harness::carried(&*harness, model, &items)?))
        };
        base.library.ids().into_iter().filter_map(one).collect()
    }

    fn models(&self) -> Vec<ModelRow> {
        let asked = held(&self.asked).clone();
        setup::base(&self.flags).map(|base| rows::models(&base, &asked)).unwrap_or_default()
    }

    fn try_model(&self, provider: &str, name: &str) -> Result<String, String> {
        report::try_model(&self.flags, provider, name).map_err(said)
    }

    fn make_usual(&self, model: &Model, harness: &str) -> Result<String, String> {
        let base = setup::base(&self.flags).map_err(said)?;
        let file = base.dirs.config_file().ok_or("there is no folder of settings: set HOME or TACK_HOME")?;
        let name = format!("{}/{}", model.provider, model.name);
        let pattern = harness::family(&model.name);
        config::keep_family(&file, (&pattern, &name), harness).map_err(|error| error.to_string())?;
        Ok(format!("{harness} is the default for {pattern} from now on; set in {}", file.display()))
    }

    fn stance(&self, mode: SessionMode) -> Result<(Box<Stance>, Vec<String>), String> {
        let (stance, notices) = self.stance_in(mode).map_err(said)?;
        held(&self.changed).mode = Some(mode);
        Ok((Box::new(stance), notices))
    }

    fn change_folder(
        &self,
        change: &Folder,
        mode: SessionMode,
    ) -> Result<(Box<Stance>, Vec<String>), String> {
        let mut said_of_it = match change {
            Folder::Add(folder) => self.add_folder(folder).map_err(said)?,
            Folder::Remove(folder) => vec![self.remove_folder(folder).map_err(said)?],
        };
        let (stance, notices) = self.stance_in(mode).map_err(said)?;
        said_of_it.extend(notices);
        said_of_it.extend(match mode {
            SessionMode::Plan => Some("plan writes nothing: it counts in the next mode that does".to_owned()),
            SessionMode::Full => {
                Some("mode full has no sandbox: it counts in the modes that have".to_owned())
            }
            SessionMode::Ask | SessionMode::Edits => None,
        });
        Ok((Box::new(stance), said_of_it))
    }

    fn rules(&self) -> Vec<Rule> {
        setup::base(&self.flags).map(|base| base.rules().0.list()).unwrap_or_default()
    }

    fn add_rule(&self, text: &str, holds: Reach) -> Result<(), String> {
        let base = setup::base(&self.flags).map_err(said)?;
        let project = match holds {
            Reach::Folder => Some(base.project.clone()),
            Reach::All => None,
        };
        base.rules().0.add(Rule { project, ..Rule::parse(text)? })
    }

    fn forget_rule(&self, rule: &Rule) -> Result<(), String> {
        let base = setup::base(&self.flags).map_err(said)?;
        base.rules().0.remove(rule).map(drop)
    }

    fn providers(&self) -> Vec<ProviderRow> {
        setup::base(&self.flags).map(|base| providers::rows(&base)).unwrap_or_default()
    }

    fn try_provider(&self, id: &str) -> Result<String, String> {
        let base = setup::base(&self.flags).map_err(said)?;
        held(&self.asked).push(id.to_owned());
        providers::test::test(&base, id).map_err(said)
    }

    fn add_provider(&self, new: &NewProvider) -> Result<Vec<String>, String> {
        let said_of_it = providers::add::add(&self.flags, new).map_err(said)?;
        held(&self.asked).push(new.id.trim().to_owned());
        Ok(said_of_it)
    }

    fn remove_provider(&self, id: &str) -> Result<String, String> {
        let base = setup::base(&self.flags).map_err(said)?;
        providers::add::remove(&base, id).map_err(said)
    }

    fn login(&self, provider: &str, key: &str) -> Result<String, String> {
        let base = setup::base(&self.flags).map_err(said)?;
        held(&self.asked).push(provider.to_owned());
        super::login::store(&base, provider, key).map_err(said)
    }

    fn logout(&self, provider: &str) -> Result<String, String> {
        let base = setup::base(&self.flags).map_err(said)?;
        super::login::forget(&base, Some(provider)).map_err(said)
    }

    fn make_first(&self, wish: &Wish) -> Result<String, String> {
        let (provider, name) = wish.model.as_ref().ok_or("no model is named")?;
        let base = setup::base(&self.flags).map_err(said)?;
        let file = base.dirs.config_file().ok_or("there is no folder of settings: set HOME or TACK_HOME")?;
        let set = |key: &str, value: &str| config::Change::Set(vec![key.to_owned()], value.into());
        let mut changes = vec![set("model", name), set("model_provider", provider)];
        changes.extend(wish.effort.as_ref().map(|effort| set("model_reasoning_effort", effort)));
        config::apply(&file, &changes).map_err(|error| error.to_string())?;
        Ok(format!("tack starts with {provider}/{name} from now on; set in {}", file.display()))
    }

    fn sessions(&self, reach: Reach) -> Vec<SessionRow> {
        setup::base(&self.flags).map(|base| rows::sessions(&base, reach)).unwrap_or_default()
    }

    fn items(&self, session: &str) -> Result<Vec<Item>, String> {
        let sessions = setup::base(&self.flags).map_err(said)?.sessions().ok_or(NO_SESSIONS)?;
        let read = sessions.find(session).and_then(|id| sessions.read(&id));
        read.map(|loaded| loaded.items).map_err(|error| error.to_string())
    }

    fn forget_session(&self, session: &str) -> Result<(), String> {
        let sessions = setup::base(&self.flags).map_err(said)?.sessions().ok_or(NO_SESSIONS)?;
        sessions.remove(&SessionId(session.to_owned())).map_err(|error| error.to_string())
    }

    fn report(&self, what: Report) -> Result<String, String> {
        let (changed, folders) = (held(&self.changed).clone(), held(&self.folders).clone());
        let since = settings::Since { changed: &changed, folders: &folders };
        report::of(&self.flags, what, &since).map(|text| in_session(&text)).map_err(said)
    }
}

fn held<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error as one sentence, its hint behind it.
fn said(error: CliError) -> String {
    let (message, hint, _) = error.into_parts();
    in_session(&match hint {
        Some(hint) => format!("{message} · {hint}"),
        None => message,
    })
}

/// The session's commands in place of the shell's and of flags.
fn in_session(text: &str) -> String {
    text.replace("tack login ", "/login ").replace(" --harness", " /harness")
}

fn speaks(library: &Library, model: &Model, (harness, because): (&str, Because)) -> Speaks {
    let tools = library.sample(harness, model).map_or(1, |sample| sample.prompt.tools.len());
    Speaks { model: model.clone(), harness: harness.to_owned(), because, speech: Speech::with_tools(tools) }
}

fn sandbox(policy: &Policy) -> String {
    match policy.mode {
        crate::sandbox::Mode::ReadOnly => "read-only sandbox".to_owned(),
        crate::sandbox::Mode::WorkspaceWrite => "workspace-write sandbox".to_owned(),
        crate::sandbox::Mode::DangerFullAccess => "no sandbox".to_owned(),
    }
}

/// Names of the instruction files of the folder and the project's root.
fn instructions(cwd: &Path) -> Vec<String> {
    let root = scene::git(cwd).map(|git| PathBuf::from(git.root));
    let mut places = vec![cwd.to_path_buf()];
    places.extend(root.filter(|root| root != cwd));
    let has = |name: &str| places.iter().any(|place| place.join(name).is_file());
    // The second is read only where the first is not.
    ["AGENTS.md", "CLAUDE.md"].into_iter().find(|name| has(name)).map(str::to_owned).into_iter().collect()
}

/// `~/src/shop`.
fn shortened(cwd: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| cwd.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => cwd.display().to_string(),
    }
}
