//! Keys that a command prints: run when a request first needs one, kept, asked for again.
//!
//! The command is the user's own and runs with the user's rights. What it prints on standard output
//! is a secret, so no message ever holds it.

use std::borrow::Cow;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout};

use super::hide;
use crate::model::steers;
use crate::wire::Failure;
use crate::wire::provider::{Auth, Provider, Secret};

/// Most bytes of a key, and of what the command says about a failure.
const MOST: u64 = 64 << 10;
/// How long the output of a command that ended is waited for.
const LAST: Duration = Duration::from_millis(200);
/// Most characters of its last words.
const WORDS: usize = 300;

/// Which key will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// One that is not too old.
    Any,
    /// Another one: the server refused the last.
    New,
}

/// The last key and when it came.
#[derive(Default)]
pub(super) struct Keys {
    last: Mutex<Option<(Secret, Instant)>>,
}

impl Keys {
    /// The provider with the key to send.
    pub(super) async fn fill<'a>(
        &self,
        provider: &'a Provider,
        wanted: Wanted,
    ) -> Result<Cow<'a, Provider>, Failure> {
        let Some(auth) = &provider.auth else { return Ok(Cow::Borrowed(provider)) };
        let kept = self.kept(auth).filter(|_| wanted == Wanted::Any);
        let key = match kept {
            Some(key) => key,
            None => {
                let key = run(auth, provider).await?;
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some((key.clone(), Instant::now()));
                key
            }
        };
        let key_from = Some(format!("the output of {}", auth.command));
        Ok(Cow::Owned(Provider { key: Some(key), key_from, ..provider.clone() }))
    }

    fn kept(&self, auth: &Auth) -> Option<Secret> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (key, since) = last.as_ref()?;
        let fresh = auth.refresh.is_none_or(|limit| since.elapsed() < limit);
        fresh.then(|| key.clone())
    }
}

/// Dropping this future kills the command and what it started.
async fn run(auth: &Auth, provider: &Provider) -> Result<Secret, Failure> {
    let setup = |why: String| {
        let (command, id) = (&auth.command, &provider.id);
        Failure::setup(format!("the key command of provider {id} failed: {command}: {why}"))
    };
    let mut command = Command::new(&auth.command);
    command.args(&auth.args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(cwd) = &auth.cwd {
        command.current_dir(cwd);
    }
    #[cfg(unix)]
    command.process_group(0);
    let child = command.kill_on_drop(true).spawn().map_err(|error| setup(error.to_string()))?;
    let mut group = Group(child);
    let (out, err) = (group.0.stdout.take(), group.0.stderr.take());
    let (mut said, mut words) = (Vec::new(), Vec::new());
    let ended = timeout(auth.timeout, async {
        let reading = async { tokio::join!(read(out, &mut said), read(err, &mut words)) };
        tokio::pin!(reading);
        tokio::select! {
            biased;
            _ = &mut reading => group.0.wait().await,
            status = group.0.wait() => {
                // What it left running may hold its output open for ever.
                let _ = timeout(LAST, reading).await;
                status
            }
        }
    })
    .await;
    let Ok(status) = ended else {
        return Err(setup(format!("no key within {}", seconds(auth.timeout))));
    };
    let status = status.map_err(|error| setup(error.to_string()))?;
    if said.len() as u64 >= MOST {
        return Err(setup(format!("it printed more than {} KB", MOST >> 10)));
    }
    if !status.success() {
        // It may repeat there what it printed as the key.
        let printed = String::from_utf8_lossy(&said);
        let words = last_line(&words).map(|words| hide::secrets(&words, printed.split_whitespace()));
        return Err(setup(match words {
            Some(words) => format!("{status}: {words}"),
            None => status.to_string(),
        }));
    }
    match String::from_utf8(said) {
        Ok(text) if text.trim().is_empty() => Err(setup("it printed nothing".into())),
        Ok(text) => Ok(Secret::new(text.trim())),
        Err(_) => Err(setup("its output is not UTF-8".into())),
    }
}

/// The command and all that it started, ended together.
struct Group(Child);

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        // No id: it was waited for, and its number may be somebody else's by now.
        let id = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(id) = id {
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
    }
}

async fn read(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
    if let Some(from) = from {
        // What came before a failure is what there is.
        let _ = from.take(MOST).read_to_end(into).await;
    }
}

fn last_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    let clean = line.chars().map(|c| if steers(c) { ' ' } else { c });
    Some(clean.take(WORDS).collect())
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}
