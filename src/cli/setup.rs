//! From flags, files and environment to a session that can run.
//!
//! The only place that reads the environment. What is missing is said before anything is sent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::Digest;

use super::args::{Approval, SessionFlags, SessionMode};
use super::error::CliError;
use crate::agent::{Bounds, Holds, Setup, Stopper, scene};
use crate::config::{self, Config, Dirs, Env, Inputs, Launcher, Override, Strictness};
use crate::harness::{Harness, Library};
use crate::model::{Body, Class, Item, Model, SessionId, Thinking, WireKind};
use crate::sandbox::{EnvWish, Mode, Net, Policy, PolicyError, Scratch, Wish};
use crate::store::{Session, Sessions};
use crate::wire::Client;
use crate::wire::catalog;
use crate::wire::client::HttpClient;
use crate::wire::local::Found;
use crate::wire::provider::{self, Provider};
use crate::wire::recorded::Recorded;

/// A window of fewer surfaces than this is tight.
const ROOM: u64 = 4;

/// Id of the provider whose model is a recording.
pub(super) const DEMO: &str = "demo";

/// What every command needs: the environment, the folders, the merged configuration.
pub(super) struct Base {
    pub(super) env: Env,
    pub(super) dirs: Dirs,
    pub(super) cwd: PathBuf,
    pub(super) config: Config,
    pub(super) warnings: Vec<String>,
    pub(super) library: Library,
    /// The model that was found on a local server.
    pub(super) found: Option<Found>,
}

/// Which session to work in.
pub(super) enum Which {
    New,
    /// Leaves nothing on disk.
    Ephemeral,
    /// The one whose id begins so.
    Id(String),
    /// The latest, of this folder before all others.
    Last,
}

/// A session about to start. `_scratch` is its private `/tmp`, removed when this is dropped.
pub(super) struct Ready {
    pub(super) setup: Setup,
    pub(super) warnings: Vec<String>,
    pub(super) _scratch: Option<Scratch>,
}

/// Reads folders, configuration and harness folders.
pub(super) fn base(flags: &SessionFlags) -> Result<Base, CliError> {
    let env = Env::of_process();
    let dirs = Dirs::find(&env);
    let cwd = working_folder(flags.cd.as_deref())?;
    let project = scene::git(&cwd).map_or_else(|| cwd.clone(), |git| PathBuf::from(git.root));
    let inputs = Inputs {
        dirs: dirs.clone(),
        project: Some(project.clone()),
        profile: flags.profile.clone(),
        overrides: overrides(flags)?,
        env: env.clone(),
        strict: if flags.strict_config { Strictness::Strict } else { Strictness::Lenient },
    };
    let loaded = config::load(inputs)?;
    let mut warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    warnings.extend(dirs.missing().map(str::to_owned));
    if loaded.config.sandbox.launcher == Launcher::Bwrap {
        warnings.push("sandbox.launcher: bwrap is not built yet, the built-in launcher is used".to_owned());
    }
    let mut folders: Vec<PathBuf> = dirs.harnesses().into_iter().collect();
    if loaded.project_trusted {
        folders.push(project.join(".tack/harnesses"));
    }
    let library = Library::new(folders);
    let mut base = Base { env, dirs, cwd, config: loaded.config, warnings, library, found: None };
    base.heed_ollama_host();
    Ok(base)
}

fn working_folder(given: Option<&Path>) -> Result<PathBuf, CliError> {
    let path = match given {
        Some(path) => path.to_path_buf(),
        None => std::env::current_dir().map_err(|error| {
            CliError::usage(format!("the working folder cannot be used: {error}"))
                .hint("change to a folder that exists, or name one with --cd")
        })?,
    };
    let real = path.canonicalize().map_err(|error| {
        CliError::usage(format!("the working folder {} cannot be used: {error}", path.display()))
            .hint("name one that exists with --cd")
    })?;
    if let Err(error) = std::fs::read_dir(&real) {
        return Err(CliError::usage(format!(
            "the working folder {} cannot be read: {error}",
            path.display()
        ))
        .hint("change its rights, or name another one with --cd"));
    }
    Ok(real)
}

/// Flags that are configuration keys, in order: `-c` first, so that a flag of its own wins.
fn overrides(flags: &SessionFlags) -> Result<Vec<Override>, CliError> {
    let mut overrides = Vec::new();
    for text in &flags.config {
        overrides.push(Override::parse(text)?);
    }
    let named = [("model", &flags.model), ("model_provider", &flags.provider), ("harness", &flags.harness)];
    for (key, value) in named {
        overrides.extend(value.as_ref().map(|value| Override::text(key, value)));
    }
    Ok(overrides)
}

impl Base {
    /// The model and who serves it, with the key that is wanted there.
    pub(super) fn model(&self) -> Result<(Model, Option<Provider>), CliError> {
        let (model, mut provider) = self.chosen()?;
        if let Some(provider) = &mut provider {
            self.give_key(provider)?;
        }
        Ok((model, provider))
    }

    /// The same without looking for stored keys, by configuration and catalog.
    pub(super) fn chosen(&self) -> Result<(Model, Option<Provider>), CliError> {
        if self.config.model_provider.as_deref() == Some(DEMO) {
            return Ok((demo_model(), None));
        }
        let known = config::known(&self.config);
        if let (Some(name), None) = (&self.config.model, &self.config.model_provider)
            && known.contains(name)
        {
            return Err(CliError::usage(format!("{name} is a provider, and no model of it is named"))
                .hint(format!("name one: -m {name}/MODEL")));
        }
        let choice = match config::usual_model(&self.config, &self.env) {
            Some((provider, model)) => config::Choice { provider, model },
            None => config::choose(&self.config, &known, |provider, name| {
                let found = self.found.as_ref().is_some_and(|found| found.name == name);
                (found || catalog::models(provider).any(|model| model == name)).then_some(true)
            })?,
        };
        let provider = config::resolve(&self.config, &choice.provider, &self.env, &self.dirs)?;
        let facts = catalog::facts(&choice.provider, &choice.model);
        let told = self.found.clone().unwrap_or_default();
        let prices = self.config.prices.get(&format!("{}/{}", choice.provider, choice.model)).copied();
        let model = Model {
            wire: provider.wire,
            class: Class::of(&choice.model, !provider.local),
            window: self.config.model_context_window.or(told.window).or(facts.window),
            max_output: facts.max_output,
            vision: told.vision.or(facts.vision),
            effort: self.config.model_reasoning_effort.clone(),
            thinking: thinking(facts.thinking, &provider),
            local: provider.local,
            prices: prices.or(facts.prices),
            provider: choice.provider,
            name: choice.model,
        };
        Ok((model, Some(provider)))
    }

    pub(super) fn key_missing(&self, provider: &Provider) -> CliError {
        let (name, id) = (&provider.name, &provider.id);
        let Some(variable) = &provider.env_key else {
            return CliError::usage(format!("{name} wants a key, and none is configured"))
                .hint(format!("store one: tack login {id}; or set env_key in [model_providers.{id}]"));
        };
        let state = match (self.env.get(variable), self.env.text(variable)) {
            (None, _) => "not set",
            (Some(_), None) => "not UTF-8",
            (Some(_), Some(_)) => "blank",
        };
        let other = self.other_provider(id).unwrap_or_default();
        CliError::usage(format!("{name} wants a key, and {variable} is {state}"))
            .hint(format!("export {variable}=… or store one: tack login {id}{other}"))
    }

    /// A hint for a bare name that may have been meant for somebody else than the usual provider.
    fn other_provider(&self, usual: &str) -> Option<String> {
        let model = self.config.model.as_deref().filter(|model| !model.contains('/'))?;
        let has = |id: &str| catalog::models(id).any(|known| known == model);
        if self.config.model_provider.is_some() || has(usual) {
            return None;
        }
        let meant = provider::ids().into_iter().find(|id| has(id)).unwrap_or("ollama");
        Some(format!("; or name another provider: -m PROVIDER/MODEL, such as -m {meant}/{model}"))
    }

    /// The harness asked for, or the one that suits the model.
    pub(super) fn harness(&self, model: &Model) -> Result<Arc<dyn Harness>, CliError> {
        let id = match self.config.harness.as_deref() {
            None | Some("auto") => self.library.pick(&model.provider, &model.name),
            Some(id) => id.to_owned(),
        };
        let harness = self.library.get(&id).map_err(|error| CliError::usage(error.to_string()))?;
        Ok(harness)
    }

    /// Provider and model over the wire that both the harness and the provider speak: the one that was
    /// set, else the provider's usual one, else the harness's first.
    pub(super) fn over_wire(
        &self,
        harness: &dyn Harness,
        provider: &Provider,
        model: &mut Model,
    ) -> Result<Provider, CliError> {
        let spoken = harness.wires();
        let offered = provider.wires();
        let usual = offered.first().filter(|wire| spoken.contains(wire));
        let wire = usual.or_else(|| spoken.iter().find(|wire| offered.contains(wire)));
        let Some(found) = wire.and_then(|wire| provider.over(*wire)) else {
            return Err(no_wire(harness, provider));
        };
        model.wire = found.wire;
        let facts = catalog::facts(&provider.id, &model.name);
        model.thinking = thinking(facts.thinking, &found);
        Ok(found)
    }

    /// Says so when a local model's window leaves the harness little room, and gives it the surface
    /// for small models, unless the user chose the harness.
    pub(super) fn fit_window(&self, model: &mut Model, harness: &dyn Harness) -> Option<String> {
        let window = model.window.filter(|_| model.local)?;
        let surface = self.library.sample(harness.id(), model).ok()?.listing.tokens;
        if window >= ROOM * surface as u64 {
            return None;
        }
        let tight = format!(
            "the window of {} has {window} tokens, and harness {} takes about {surface} of them",
            model.name,
            harness.id()
        );
        let chosen = self.config.harness.as_deref().is_some_and(|id| id != "auto");
        if chosen || model.class == Class::S {
            return Some(format!("{tight}; start the server with a larger one"));
        }
        model.class = Class::S;
        Some(format!("{tight}: its form for small models is used; start the server with a larger one"))
    }

    pub(super) fn sessions(&self) -> Option<Sessions> {
        self.dirs.sessions().map(Sessions::new)
    }

    /// The policy for commands and file tools, what to say of it, and its private `/tmp`.
    pub(super) fn policy(
        &self,
        flags: &SessionFlags,
    ) -> Result<(Policy, Vec<String>, Option<Scratch>), CliError> {
        let mode = flags.mode().or(self.config.sandbox_mode).unwrap_or(Mode::WorkspaceWrite);
        let scratch = match mode {
            Mode::DangerFullAccess => None,
            Mode::ReadOnly | Mode::WorkspaceWrite => Some(self.scratch()?),
        };
        let mut add_dirs = self.config.sandbox_workspace_write.writable_roots.clone();
        add_dirs.extend(flags.add_dir.iter().cloned());
        let network = self.config.sandbox_workspace_write.network_access;
        let wish = Wish {
            add_dirs,
            git: flags.git.map_or(self.config.sandbox.git, Into::into),
            net: if network { Net::Full } else { Net::Off },
            hide: self.config.sandbox.hide.clone(),
            reveal: self.config.sandbox.reveal.clone(),
            home: self.dirs.home.clone(),
            config_dirs: self.own_folders(),
            tmp: scratch.as_ref().map(|scratch| scratch.path().to_path_buf()),
            caches: self.caches(mode),
            ..Wish::new(mode, &self.cwd)
        };
        let settled = wish.settle().map_err(|error| {
            let said = CliError::usage(error.to_string());
            match error {
                PolicyError::Folder { .. } | PolicyError::NotFolder(_) => {
                    said.hint("--cd, --add-dir and writable_roots name folders that exist")
                }
                PolicyError::Hidden { .. } | PolicyError::Root => said,
            }
        })?;
        Ok((settled.policy, settled.notices, scratch))
    }

    /// In the cache folder; where that cannot be written, among the system's temporary files.
    fn scratch(&self) -> Result<Scratch, CliError> {
        let made = match &self.dirs.cache {
            Some(cache) => Scratch::make(&cache.join("tmp")).or_else(|_| Scratch::make_in_temp()),
            None => Scratch::make_in_temp(),
        };
        made.map_err(|error| {
            CliError::failed(format!("no private folder for temporary files: {error}"))
                .hint("make room, or set TMPDIR or XDG_CACHE_HOME to a folder that can be written")
        })
    }

    /// tack's own folders, which commands must not write.
    fn own_folders(&self) -> Vec<PathBuf> {
        let dirs = [&self.dirs.config, &self.dirs.data, &self.dirs.state];
        dirs.into_iter().flatten().cloned().collect()
    }

    /// Where build tools keep their caches when their own folders cannot be written.
    pub(super) fn caches(&self, mode: Mode) -> Option<PathBuf> {
        if mode == Mode::DangerFullAccess {
            return None;
        }
        // By a hash of the whole path: no project may write what another one's tools will read.
        let hash = sha2::Sha256::digest(self.cwd.as_os_str().as_encoded_bytes());
        let name: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let path = self.dirs.cache.as_ref()?.join("projects").join(name);
        std::fs::create_dir_all(&path).ok()?;
        Some(path)
    }

    /// The clean environment of commands.
    pub(super) fn command_env(&self, policy: &Policy) -> Vec<(OsString, OsString)> {
        let pass = self.config.sandbox.env_pass.iter().map(OsString::from).collect();
        let caches = self.caches(policy.mode);
        EnvWish { vars: std::env::vars_os().collect(), pass, caches }.build(policy)
    }

    fn session(&self, which: &Which) -> Result<(Session, Option<crate::store::Loaded>), CliError> {
        let Some(sessions) = self.sessions() else {
            return match which {
                Which::New | Which::Ephemeral => Ok((Session::ephemeral(), None)),
                Which::Id(_) | Which::Last => {
                    Err(CliError::usage("there is no folder of sessions: set HOME or TACK_HOME"))
                }
            };
        };
        let id = match which {
            Which::Ephemeral => return Ok((Session::ephemeral(), None)),
            Which::New => return Ok((sessions.create(&self.cwd), None)),
            Which::Id(prefix) => sessions.find(prefix)?,
            Which::Last => last(&sessions, &self.cwd)?,
        };
        let (session, loaded) = sessions.open(&id)?;
        Ok((session, Some(loaded)))
    }

    /// An earlier session goes on with the model and the harness that it had, while they are there and
    /// nothing names others for this run.
    fn go_on_as(&mut self, items: &[Item]) {
        let last = items.iter().rev().find_map(|item| match &item.body {
            Body::Assistant(reply) => Some(&reply.origin),
            Body::User(_)
            | Body::Result(_)
            | Body::Note(_)
            | Body::Scene(_)
            | Body::Summary(_)
            | Body::Mark(_) => None,
        });
        let known = config::known(&self.config);
        let Some(last) = last.filter(|last| known.contains(&last.provider)) else { return };
        if self.config.model_is_for_this_run || self.found.is_some() {
            return;
        }
        self.config.model_provider = Some(last.provider.clone());
        self.config.model = Some(last.model.clone());
        if !self.config.harness_is_for_this_run && self.library.get(&last.harness).is_ok() {
            let usual = self.library.pick(&last.provider, &last.model) == last.harness;
            self.config.harness = (!usual).then(|| last.harness.clone());
        }
    }

    /// Everything together.
    pub(super) fn ready(
        mut self,
        flags: &SessionFlags,
        which: &Which,
        stopper: Stopper,
    ) -> Result<Ready, CliError> {
        self.use_local(flags)?;
        let opened = match which {
            Which::Id(_) | Which::Last => Some(self.session(which)?),
            Which::New | Which::Ephemeral => None,
        };
        if let Some((_, Some(loaded))) = &opened {
            self.go_on_as(&loaded.items);
        }
        let (mut model, provider) = self.model()?;
        let harness = self.harness(&model)?;
        let provider = match provider {
            Some(provider) => Some(self.over_wire(&*harness, &provider, &mut model)?),
            None => None,
        };
        let holds = match &provider {
            Some(provider) if provider.quirks.schema => Holds::BesideTools,
            // llama.cpp, Ollama, LM Studio and vLLM all do, over this wire.
            Some(provider) if provider.local && provider.wire == WireKind::Chat => Holds::Alone,
            Some(_) | None => Holds::Nothing,
        };
        let client: Arc<dyn Client> = match provider {
            Some(provider) => {
                Arc::new(HttpClient::new(provider).map_err(|failure| CliError::usage(failure.to_string()))?)
            }
            None => {
                Arc::new(Recorded::new(harness.id()).map_err(|failure| CliError::usage(failure.to_string()))?)
            }
        };
        if flags.max_cost.is_some() && model.prices.is_none() && model.provider != DEMO {
            return Err(no_price(&model));
        }
        let tight = self.fit_window(&mut model, &*harness);
        model.prices = model.prices.or(model.local.then(Default::default));
        let (policy, notices, scratch) = self.policy(flags)?;
        let (session, loaded) = match opened {
            Some(opened) => opened,
            None => self.session(which)?,
        };
        let mut warnings = self.warnings.clone();
        warnings.extend(notices);
        warnings.extend(tight);
        warnings.extend(approvals(flags));
        if let Some(loaded) = &loaded {
            warnings.extend(loaded.warnings.clone());
        }
        let setup = Setup {
            env: self.command_env(&policy),
            sandbox: crate::sandbox::system().into(),
            model,
            client,
            harness,
            policy,
            session,
            loaded,
            config_dir: self.dirs.config.clone(),
            bounds: Bounds {
                steps: flags.max_turns,
                cost: flags.max_cost,
                compact_at: self.config.model_auto_compact_token_limit,
            },
            unattended: true,
            holds,
            stopper,
        };
        Ok(Ready { setup, warnings, _scratch: scratch })
    }
}

/// What is known of the model, unless the service takes no such thing over this wire.
fn thinking(known: Option<Thinking>, provider: &Provider) -> Thinking {
    match provider.quirks.thinking {
        Thinking::None => Thinking::None,
        usual => known.unwrap_or(usual),
    }
}

fn no_wire(harness: &dyn Harness, provider: &Provider) -> CliError {
    let names = |wires: &[WireKind]| wires.iter().map(|wire| wire.name()).collect::<Vec<_>>().join(", ");
    let (id, at) = (harness.id(), &provider.id);
    let (speaks, offers) = (names(harness.wires()), names(&provider.wires()));
    CliError::usage(format!("harness {id} speaks {speaks}, and provider {at} speaks {offers}")).hint(format!(
        "choose another harness with --harness, or set wire_api in [model_providers.{at}] if it speaks {speaks} too"
    ))
}

fn last(sessions: &Sessions, cwd: &Path) -> Result<SessionId, CliError> {
    let found = sessions.last(Some(cwd)).or_else(|| sessions.last(None));
    found.ok_or_else(|| CliError::usage("there is no earlier session").hint("start one with: tack -p PROMPT"))
}

fn demo_model() -> Model {
    Model {
        provider: DEMO.to_owned(),
        name: "recorded".to_owned(),
        wire: WireKind::Chat,
        class: Class::M,
        window: None,
        max_output: None,
        vision: Some(false),
        effort: None,
        thinking: Thinking::default(),
        local: true,
        prices: None,
    }
}

fn no_price(model: &Model) -> CliError {
    CliError::usage(format!(
        "--max-cost cannot hold: no price is known for {} at {}",
        model.name, model.provider
    ))
    .hint(format!(
        "set [prices.\"{}/{}\"] input and output in the configuration (0 for a server of your own)",
        model.provider, model.name
    ))
}

/// Nobody can be asked in one-shot mode, which is said where a flag expects otherwise.
fn approvals(flags: &SessionFlags) -> Option<String> {
    let asks = matches!(flags.ask_for_approval, Some(Approval::Untrusted))
        || matches!(flags.mode, Some(SessionMode::Ask));
    asks.then(|| {
        "nobody can be asked in a one-shot run: what the sandbox allows is done, the rest is refused"
            .to_owned()
    })
}
