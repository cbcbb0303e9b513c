//! Choosing the platform's sandbox, saying what it holds, and running one command in it.

use std::time::Duration;

use serde::Serialize;

use super::{Cmd, Exit, Policy, Running, Sandbox, SandboxError, Tier};

/// What `tack sandbox run` ends with when the sandbox could not be set up.
pub const SETUP_FAILED: u8 = 125;

/// The machine's sandbox. Cheap: what the machine holds is found at the first command.
pub fn system() -> Box<dyn Sandbox> {
    #[cfg(target_os = "linux")]
    return Box::new(super::Linux::default());
    #[cfg(not(target_os = "linux"))]
    Box::new(Nothing)
}

/// What this machine holds, each layer tried.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub tier: Tier,
    /// Version of the kernel's Landlock interface; 0 if there is none.
    pub landlock_abi: i32,
    pub layers: Vec<Layer>,
    /// Milliseconds from the start to the end of a command that does nothing, median of some.
    pub start_ms: Option<f64>,
    /// What to do about a missing layer.
    pub advice: Vec<String>,
}

/// One way to hold a command, and how its trial went.
#[derive(Clone, Debug, Serialize)]
pub struct Layer {
    pub name: &'static str,
    pub holds: bool,
    /// The step that failed, for one that does not hold.
    pub fault: Option<String>,
}

/// Tries every layer. Takes some tens of milliseconds.
#[cfg(target_os = "linux")]
pub async fn check() -> Report {
    examine("/proc/self/exe".into()).await
}

#[cfg(not(target_os = "linux"))]
pub async fn check() -> Report {
    let advice = vec![
        "tack has no sandbox on this system yet; -s danger-full-access runs commands as they are".into(),
    ];
    Report { tier: Tier::None, landlock_abi: 0, layers: Vec::new(), start_ms: None, advice }
}

/// The same with a given image of tack.
#[cfg(target_os = "linux")]
pub async fn examine(image: std::path::PathBuf) -> Report {
    let mut layers = Vec::new();
    let mut tier = Tier::None;
    let mut start_ms = None;
    for (name, candidate) in
        [("namespaces, Landlock and seccomp", Tier::Namespaces), ("Landlock and seccomp", Tier::Landlock)]
    {
        let linux = super::Linux::with_tier(image.clone(), candidate);
        let tried = linux.try_out(candidate).await;
        if tried.is_ok() && tier == Tier::None {
            tier = candidate;
            start_ms = cost(&linux, candidate).await;
        }
        layers.push(Layer { name, holds: tried.is_ok(), fault: tried.err().map(|e| e.to_string()) });
    }
    Report { tier, landlock_abi: super::Linux::landlock_abi(), layers, start_ms, advice: advice(tier) }
}

#[cfg(target_os = "linux")]
async fn cost(linux: &super::Linux, tier: Tier) -> Option<f64> {
    let mut times = Vec::new();
    for _ in 0..9 {
        times.push(linux.try_out(tier).await.ok()?);
    }
    times.sort();
    times.get(times.len() / 2).map(|t| t.as_secs_f64() * 1000.0)
}

#[cfg(target_os = "linux")]
fn advice(tier: Tier) -> Vec<String> {
    let restricted = std::fs::read_to_string("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
        .is_ok_and(|text| text.trim() == "1");
    let mut advice = Vec::new();
    if tier != Tier::Namespaces && restricted {
        advice.push(
            "AppArmor keeps programs from user namespaces here; a profile lifts that for tack alone. Put into \
             /etc/apparmor.d/tack:\n  abi <abi/4.0>,\n  include <tunables/global>\n  profile tack /PATH/TO/tack \
             flags=(unconfined) {\n    userns,\n  }\nand load it: sudo apparmor_parser -r /etc/apparmor.d/tack"
                .into(),
        );
    } else if tier != Tier::Namespaces {
        advice.push(
            "in a container, let it make namespaces: --security-opt seccomp=unconfined --security-opt \
             systempaths=unconfined (docker, podman)"
                .into(),
        );
    }
    if tier == Tier::None {
        advice.push("or run tack where nothing can be lost, with -s danger-full-access".into());
    }
    advice
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tier = match self.tier {
            Tier::Namespaces => "full (namespaces, Landlock, seccomp)",
            Tier::Landlock => "reduced (no namespaces)",
            Tier::Seatbelt => "full (Seatbelt)",
            Tier::WindowsToken => "reduced (restricted token)",
            Tier::None => "none",
        };
        writeln!(f, "sandbox: {tier}")?;
        writeln!(f, "Landlock interface: {}", self.landlock_abi)?;
        for layer in &self.layers {
            match &layer.fault {
                None => writeln!(f, "  {}: holds", layer.name)?,
                Some(fault) => writeln!(f, "  {}: does not hold: {fault}", layer.name)?,
            }
        }
        if let Some(ms) = self.start_ms {
            writeln!(f, "a command that does nothing takes {ms:.1} ms")?;
        }
        for line in &self.advice {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

/// Runs one command with the caller's own descriptors, for `tack sandbox run`. Returns what the
/// process should end with: the command's status, or 128 and the signal that ended it. SIGTERM,
/// SIGINT and SIGHUP are passed on to the command.
pub async fn run(sandbox: &dyn Sandbox, policy: &Policy, cmd: &Cmd) -> Result<u8, SandboxError> {
    let mut running = sandbox.spawn(policy, cmd).await?;
    let exit =
        wait(running.as_mut()).await.map_err(|source| SandboxError::Setup { step: "wait".into(), source })?;
    running.end(Duration::ZERO).await;
    Ok(match exit {
        Exit::Code(code) => u8::try_from(code & 0xff).unwrap_or(u8::MAX),
        Exit::Signal(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
    })
}

#[cfg(unix)]
async fn wait(running: &mut dyn Running) -> std::io::Result<Exit> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    let mut hup = signal(SignalKind::hangup())?;
    loop {
        let got = tokio::select! {
            exit = running.wait() => return exit,
            _ = term.recv() => libc::SIGTERM,
            _ = int.recv() => libc::SIGINT,
            _ = hup.recv() => libc::SIGHUP,
        };
        running.signal(got);
    }
}

#[cfg(not(unix))]
async fn wait(running: &mut dyn Running) -> std::io::Result<Exit> {
    running.wait().await
}

/// A system without a sandbox: only full access runs.
#[cfg(not(target_os = "linux"))]
struct Nothing;

#[cfg(not(target_os = "linux"))]
#[async_trait::async_trait]
impl Sandbox for Nothing {
    fn tier(&self) -> Tier {
        Tier::None
    }

    async fn spawn(&self, policy: &Policy, cmd: &Cmd) -> Result<Box<dyn Running>, SandboxError> {
        #[cfg(unix)]
        if policy.mode == super::Mode::DangerFullAccess {
            return super::Plain.spawn(policy, cmd).await;
        }
        let _ = (policy, cmd);
        Err(SandboxError::Unavailable(
            "tack has no sandbox on this system yet; run it in a container or virtual machine of your own with -s \
             danger-full-access"
                .into(),
        ))
    }
}
