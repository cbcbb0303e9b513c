//! From flags, files and environment to a session that can run.
//!
//! The only place that reads the environment. Whom to ask is for `choice`. What is missing is said before
//! anything is sent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::{Approval, SessionFlags, SessionMode};
use super::choice::Chosen;
use super::error::CliError;
use super::learn::{Ask, Say, is_here, on_stderr};
use crate::agent::{Bounds, Launcher as Programs, Permit, Setup, Stance, Stopper, scene};
use crate::config::{self, Config, Dirs, Env, Inputs, Launcher, Override, Strictness};
use crate::harness::{Library, Live, wrong_pattern};
use crate::model::{Model, Probed, SessionId, short_hash};
use crate::sandbox::{EnvWish, Mode, Net, Policy, PolicyError, Sandbox, Scratch, Wish};
use crate::store::{Session, Sessions};
use crate::tui::host::Because;
use crate::wire::local::Found;
use crate::wire::provider::Provider;

/// What every command needs: the environment, the folders, the merged configuration.
#[derive(Clone)]
pub(super) struct Base {
    pub(super) env: Env,
    pub(super) dirs: Dirs,
    pub(super) cwd: PathBuf,
    /// Root of the project.
    pub(super) project: PathBuf,
    /// How to trust the project, where it is not.
    pub(super) distrust: Option<String>,
    pub(super) config: Config,
    pub(super) warnings: Vec<String>,
    pub(super) library: Library,
    /// What its server tells of the model.
    pub(super) found: Option<Found>,
    /// What trying the model out showed.
    pub(super) probed: Option<Probed>,
    /// Where it is told that something takes its time.
    pub(super) say: Say,
}

/// A project's harnesses, from its root.
const HARNESSES: &str = ".tack/harnesses";

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

/// When a model on this machine is looked at, and asked how it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learn {
    Now,
    /// Once the person sees that something happens.
    Later,
}

/// A session about to start. `_scratch` is its private `/tmp`, removed when this is dropped.
pub(super) struct Ready {
    pub(super) setup: Setup,
    pub(super) warnings: Vec<String>,
    /// Why this harness speaks.
    pub(super) because: Because,
    /// What the model's server tells of it is still to be learnt.
    pub(super) learns: bool,
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
    for pattern in loaded.config.families.keys() {
        warnings.extend(wrong_pattern(pattern).map(|what| format!("families: {what}")));
    }
    let own: Vec<PathBuf> = dirs.harnesses().into_iter().collect();
    let distrust = (!loaded.project_trusted).then(|| config::how_to_trust(&dirs, &project));
    let theirs = project.join(HARNESSES);
    let library = match &distrust {
        None => Library::new(own).with(theirs),
        Some(how) => Library::new(own).without(theirs, how.clone()),
    };
    let mut base = Base {
        env,
        dirs,
        cwd,
        project,
        distrust,
        config: loaded.config,
        warnings,
        library,
        found: None,
        probed: None,
        say: Arc::new(on_stderr),
    };
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
    pub(super) fn sessions(&self) -> Option<Sessions> {
        self.dirs.sessions().map(Sessions::new)
    }

    /// Says that the project has a hand in the harness: what it tells a model is not the user's word.
    fn projects_part(&self, harness: &str) -> Option<String> {
        let theirs = self.project.join(HARNESSES);
        let files = self.library.own_files(harness).into_iter();
        let names: Vec<String> = files
            .filter(|file| file.starts_with(&theirs))
            .filter_map(|file| Some(file.strip_prefix(&self.project).ok()?.display().to_string()))
            .collect();
        (!names.is_empty())
            .then(|| format!("harness {harness} is, in part, this project's: {}", names.join(", ")))
    }

    /// The policy for commands and file tools, what to say of it, and its private `/tmp`.
    pub(super) fn policy(
        &self,
        flags: &SessionFlags,
    ) -> Result<(Policy, Vec<String>, Option<Scratch>), CliError> {
        let scratch = self.session_tmp(flags)?;
        let mode = self.sandbox_mode(flags);
        let (policy, notices) = self.policy_in(flags, mode, scratch.as_ref().map(Scratch::path))?;
        Ok((policy, notices, scratch))
    }

    /// The private `/tmp`; none where nothing is private.
    fn session_tmp(&self, flags: &SessionFlags) -> Result<Option<Scratch>, CliError> {
        match self.sandbox_mode(flags) {
            Mode::DangerFullAccess => Ok(None),
            Mode::ReadOnly | Mode::WorkspaceWrite => self.scratch().map(Some),
        }
    }

    /// What flags and files say, the strongest word first.
    pub(super) fn sandbox_mode(&self, flags: &SessionFlags) -> Mode {
        flags.mode().or(self.config.sandbox_mode).unwrap_or(Mode::WorkspaceWrite)
    }

    /// The same for another mode, with `tmp` as the private `/tmp`.
    pub(super) fn policy_in(
        &self,
        flags: &SessionFlags,
        mode: Mode,
        tmp: Option<&Path>,
    ) -> Result<(Policy, Vec<String>), CliError> {
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
            tmp: tmp.map(Path::to_path_buf),
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
        Ok((settled.policy, settled.notices))
    }

    /// In the cache folder; where that cannot be written, among the system's temporary files.
    pub(super) fn scratch(&self) -> Result<Scratch, CliError> {
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
        let name = short_hash(self.cwd.as_os_str().as_encoded_bytes());
        let path = self.dirs.cache.as_ref()?.join("projects").join(name);
        std::fs::create_dir_all(&path).ok()?;
        Some(path)
    }

    /// The clean environment of commands.
    pub(super) fn command_env(&self, policy: &Policy) -> Vec<(OsString, OsString)> {
        self.env_wish(policy).build(policy)
    }

    pub(super) fn env_wish(&self, policy: &Policy) -> EnvWish {
        let pass = self.config.sandbox.env_pass.iter().map(OsString::from).collect();
        EnvWish { vars: std::env::vars_os().collect(), pass, caches: self.caches(policy.mode) }
    }

    /// Starts the programs of harnesses for a session.
    pub(super) fn launcher(
        &self,
        sandbox: &Arc<dyn Sandbox>,
        policy: &Policy,
        (session, stopper): (String, &Stopper),
    ) -> Programs {
        Programs {
            sandbox: sandbox.clone(),
            policy: policy.clone(),
            env: self.command_env(policy),
            session,
            data: self.dirs.state.as_ref().map(|state| state.join("harness")),
            own: self.dirs.harnesses(),
            stopper: stopper.clone(),
        }
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

    /// Whom to ask, under which harness, and at what price.
    pub(super) fn priced(&self, flags: &SessionFlags) -> Result<Chosen, CliError> {
        let mut chosen = self.choose()?;
        if flags.max_cost.is_some() && chosen.model.prices.is_none() && chosen.provider.is_some() {
            return Err(no_price(&chosen.model));
        }
        // What runs here costs nothing, unless it wants a key: that passes on to who knows whom.
        let free = chosen.model.local && chosen.provider.as_ref().is_none_or(is_free);
        chosen.model.prices = chosen.model.prices.or(free.then(Default::default));
        Ok(chosen)
    }

    /// Everything together.
    pub(super) fn ready(
        self,
        flags: &SessionFlags,
        which: &Which,
        stopper: Stopper,
    ) -> Result<Ready, CliError> {
        self.ready_to(flags, (which, Learn::Now), stopper)
    }

    /// The same, where the model on this machine may be learnt of later.
    pub(super) fn ready_to(
        mut self,
        flags: &SessionFlags,
        (which, learn): (&Which, Learn),
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
        match learn {
            Learn::Now => drop(self.learn(Ask::ForAuto, flags.timeout)?),
            Learn::Later => {}
        }
        let chosen = self.priced(flags)?;
        let learns = learn == Learn::Later && chosen.provider.as_ref().is_some_and(is_here);
        let because = self.because(&chosen.model, chosen.harness.id());
        let (client, holds) = (chosen.client()?, chosen.holds());
        let scratch = self.session_tmp(flags)?;
        let place = (self.first_mode(flags), scratch.as_ref().map(Scratch::path));
        let (Stance { approval, mode, policy, env, online }, notices) = self.stance(flags, place)?;
        let (session, loaded) = match opened {
            Some(opened) => opened,
            None => self.session(which)?,
        };
        let mut warnings = self.warnings.clone();
        warnings.extend(notices);
        warnings.extend(self.projects_part(chosen.harness.id()));
        warnings.extend(chosen.tight);
        let (book, unread) = self.rules();
        warnings.extend(unread);
        if let Some(loaded) = &loaded {
            warnings.extend(loaded.warnings.clone());
        }
        let sandbox: Arc<dyn Sandbox> = crate::sandbox::system().into();
        let programs = self.launcher(&sandbox, &policy, (session.id().to_string(), &stopper));
        let setup = Setup {
            env,
            online,
            programs: Arc::new(programs),
            sandbox,
            model: chosen.model,
            client,
            live: Some(Live::new(self.library.clone(), chosen.harness.id())),
            harness: chosen.harness,
            policy,
            session,
            loaded,
            config_dir: self.dirs.config.clone(),
            bounds: Bounds {
                steps: flags.max_turns,
                cost: flags.max_cost,
                compact_at: self.config.model_auto_compact_token_limit,
            },
            check: self.config.check.clone(),
            unattended: true,
            permit: Permit { approval, mode, book },
            desk: crate::agent::Desk::default(),
            holds,
            stopper,
        };
        Ok(Ready { setup, warnings, because, learns, _scratch: scratch })
    }
}

/// What wants a key passes on to who knows whom.
pub(super) fn is_free(provider: &Provider) -> bool {
    provider.env_key.is_none() && provider.auth.is_none()
}

fn last(sessions: &Sessions, cwd: &Path) -> Result<SessionId, CliError> {
    let found = sessions.last(Some(cwd)).or_else(|| sessions.last(None));
    found.ok_or_else(|| CliError::usage("there is no earlier session").hint("start one with: tack -p PROMPT"))
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
pub(super) fn approvals(flags: &SessionFlags) -> Option<String> {
    let asks = matches!(flags.ask_for_approval, Some(Approval::Untrusted))
        || matches!(flags.mode, Some(SessionMode::Ask));
    asks.then(|| {
        "nobody can be asked in a one-shot run: what the sandbox allows is done, the rest is refused"
            .to_owned()
    })
}
