//! Linux: namespaces, Landlock and seccomp around each command, or the last two alone.
//!
//! The parent starts its own image as a helper ([`launch`]); the helper builds the cell and runs
//! the command in it ([`helper`] and what it calls). Which tier holds is found by a real start.

mod guard;
mod helper;
mod init;
mod landlock;
mod launch;
mod mounts;
mod order;
mod pin;
mod seccomp;
mod snapshot;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::policy::real;
use super::{Cmd, Exit, Io, Mode, Net, Policy, Running, Sandbox, SandboxError, Tier, Wish, git, none};
use guard::Guard;
pub use helper::intercept;
use order::Order;

/// The folder a session is known by, and the network of its commands where one can be entered.
type Shared = (PathBuf, Option<Arc<launch::Network>>);

/// The Linux sandbox. One for the process: it remembers which tier the machine holds.
pub struct Linux {
    image: PathBuf,
    tier: OnceLock<Tier>,
    nested: Arc<Mutex<git::Nested>>,
    /// What a background server listens on has to be there for the session's next command too.
    network: Arc<Mutex<Option<Shared>>>,
}

impl Default for Linux {
    fn default() -> Linux {
        // Our own image, also after the file was replaced by an update.
        Linux::with_image("/proc/self/exe")
    }
}

impl Linux {
    /// With another image of tack as helper; for tests, whose own image is not tack.
    pub fn with_image(image: impl Into<PathBuf>) -> Linux {
        Linux { image: image.into(), tier: OnceLock::new(), nested: Arc::default(), network: Arc::default() }
    }

    /// Holds one tier whatever the machine could do. For tests and checks.
    pub fn with_tier(image: impl Into<PathBuf>, tier: Tier) -> Linux {
        let linux = Linux::with_image(image);
        let _ = linux.tier.set(tier);
        linux
    }

    async fn start(&self, tier: Tier, policy: &Policy, cmd: &Cmd) -> Result<launch::Held, SandboxError> {
        let found =
            guard::with_nested(policy, &mut self.nested.lock().unwrap_or_else(PoisonError::into_inner));
        let guard = Guard::raise(&found, tier);
        let mut cmd = cmd.clone();
        if tier == Tier::Landlock {
            // Nothing is mounted: the private folder has to be called by its own name.
            cmd.cwd = real(&policy.host(&cmd.cwd));
            if let Some(tmp) = &policy.tmp {
                cmd.env.retain(|(name, _)| name != "TMPDIR");
                cmd.env.push(("TMPDIR".into(), tmp.clone().into_os_string()));
            }
        }
        let order = Order::new(tier, &found, &cmd.cwd);
        let session = policy.tmp.as_ref().filter(|_| tier == Tier::Namespaces && policy.net == Net::Off);
        let known = self.shared().clone().filter(|(of, _)| session == Some(of));
        let network = known.as_ref().and_then(|(_, network)| network.clone());
        let joins = network.is_some();
        let started = launch::start(&self.image, order, &cmd, (guard, network)).await;
        match (&started, session) {
            // A command that is over already takes its network with it: the next makes another.
            (Ok(held), Some(session)) if known.is_none() => {
                let made = launch::Network::of(held).ok();
                *self.shared() = made.map(|network| (session.clone(), Some(Arc::new(network))));
            }
            // Some containers let namespaces be made but not entered: then each command has its own.
            (Err(SandboxError::Setup { step, .. }), Some(session)) if joins && step == "join" => {
                *self.shared() = Some((session.clone(), None));
                return Box::pin(self.start(tier, policy, &cmd)).await;
            }
            (Ok(_) | Err(_), _) => {}
        }
        started
    }

    fn shared(&self) -> MutexGuard<'_, Option<Shared>> {
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a program that need not exist under a tier: what counts is that the cell stands.
    pub(super) async fn try_out(&self, tier: Tier) -> Result<Duration, SandboxError> {
        let begun = Instant::now();
        let policy = Wish::new(Mode::ReadOnly, "/").settle().map(|s| s.policy);
        let policy = policy.map_err(|e| SandboxError::Unavailable(e.to_string()))?;
        let cmd = Cmd {
            program: "/bin/true".into(),
            args: Vec::new(),
            cwd: "/".into(),
            env: Vec::<(OsString, OsString)>::new(),
            io: Io::Captured,
        };
        match self.start(tier, &policy, &cmd).await {
            Ok(mut held) => {
                let exit = held.wait().await;
                match exit {
                    Ok(Exit::Code(_) | Exit::Signal(_)) => Ok(begun.elapsed()),
                    Err(source) => Err(SandboxError::Setup { step: "wait".into(), source }),
                }
            }
            Err(SandboxError::Spawn { .. }) => Ok(begun.elapsed()),
            Err(error) => Err(error),
        }
    }

    pub(super) fn landlock_abi() -> i32 {
        landlock::abi()
    }
}

#[async_trait]
impl Sandbox for Linux {
    /// Known after the first command; until then what is hoped for.
    fn tier(&self) -> Tier {
        self.tier.get().copied().unwrap_or(Tier::Namespaces)
    }

    async fn spawn(&self, policy: &Policy, cmd: &Cmd) -> Result<Box<dyn Running>, SandboxError> {
        if policy.mode == Mode::DangerFullAccess {
            return Ok(Box::new(none::start(cmd).await?));
        }
        if let Some(tier) = self.tier.get() {
            return Ok(Box::new(self.start(*tier, policy, cmd).await?));
        }
        // The first command is the trial: nothing of it ran when the setup failed.
        let first = match self.start(Tier::Namespaces, policy, cmd).await {
            Err(SandboxError::Setup { step, source }) => SandboxError::Setup { step, source },
            started => {
                let _ = self.tier.set(Tier::Namespaces);
                return Ok(Box::new(started?));
            }
        };
        // Is it the machine, or something about this command?
        if self.try_out(Tier::Namespaces).await.is_ok() {
            let _ = self.tier.set(Tier::Namespaces);
            return Err(first);
        }
        if let Err(second) = self.try_out(Tier::Landlock).await {
            return Err(SandboxError::Unavailable(refusal(&first, &second)));
        }
        tracing::warn!(reason = %first, "sandbox: reduced (no namespaces)");
        let _ = self.tier.set(Tier::Landlock);
        Ok(Box::new(self.start(Tier::Landlock, policy, cmd).await?))
    }
}

fn refusal(first: &SandboxError, second: &SandboxError) -> String {
    format!(
        "this machine offers neither user namespaces ({first}) nor Landlock {} ({second}); run tack in a container \
         or virtual machine of your own and start it with -s danger-full-access",
        landlock::LEAST
    )
}
