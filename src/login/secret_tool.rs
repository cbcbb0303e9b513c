//! The Secret Service of Linux desktops, by libsecret's program `secret-tool`.
//!
//! A program and not a crate: it is there wherever the service is, and a D-Bus client would be a
//! hundred crates for one call. What it prints and ends with was seen on version 0.20 with
//! gnome-keyring, unlocked, locked, and without a bus.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::{Keychain, Trouble};
use crate::wire::provider::Secret;

/// Long enough for a person to type the keychain's password.
const LIMIT: Duration = Duration::from_secs(60);

/// Errors that mean that there is no service at all.
const ABSENT: &[&str] =
    &["autolaunch d-bus", "could not connect", "not provided by any .service", "no such file or directory"];
/// Errors that mean that it did not let us in.
const LOCKED: &[&str] =
    &["locked", "prompt", "dismissed", "no such secret collection", "does not exist at path"];

pub struct SecretTool {
    /// A name, looked for on the `PATH`, or a path.
    pub program: OsString,
    /// How long one call may take.
    pub limit: Duration,
}

impl Default for SecretTool {
    fn default() -> Self {
        Self { program: "secret-tool".into(), limit: LIMIT }
    }
}

/// How a call ended.
struct Said {
    good: bool,
    out: Vec<u8>,
    err: String,
}

impl SecretTool {
    fn call(&self, verb: &[&str], provider: &str, input: &str) -> Result<Said, Trouble> {
        let failed = |error: std::io::Error| Trouble::Failed(error.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let mut command = Command::new(&self.program);
        command
            .args(verb)
            .args(["service", "tack", "provider", provider])
            // Its words are compared.
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let run = async {
            let mut child = command.spawn().map_err(|error| match error.kind() {
                ErrorKind::NotFound => {
                    Trouble::Absent("secret-tool (of libsecret) is not installed".to_owned())
                }
                _ => Trouble::Failed(format!("secret-tool cannot be run: {error}")),
            })?;
            if let Some(mut stdin) = child.stdin.take() {
                // A program that ended early says why itself.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
            let ended = child.wait_with_output().await.map_err(failed)?;
            let err = String::from_utf8_lossy(&ended.stderr).into_owned();
            Ok(Said { good: ended.status.success(), out: ended.stdout, err })
        };
        runtime.block_on(async {
            tokio::time::timeout(self.limit, run).await.map_err(|_| Trouble::Silent(self.limit))?
        })
    }

    /// `lookup` and `clear` end alike for a locked key and for none; `search` shows both apart, as
    /// it lists what is locked without its secret.
    fn is_listed(&self, provider: &str) -> Result<bool, Trouble> {
        let said = self.call(&["search"], provider, "")?;
        let listed = |text: &str| text.contains("attribute.provider = ");
        if listed(&said.err) || listed(&String::from_utf8_lossy(&said.out)) {
            return Ok(true);
        }
        if said.good { Ok(false) } else { silence_or(&said).map(|()| false) }
    }
}

/// Ends without a word mean that there was nothing.
fn silence_or(said: &Said) -> Result<(), Trouble> {
    match said.err.trim() {
        "" => Ok(()),
        words => Err(trouble(words)),
    }
}

fn trouble(words: &str) -> Trouble {
    let low = words.to_lowercase();
    let says = |list: &[&str]| list.iter().any(|part| low.contains(part));
    if says(LOCKED) {
        return Trouble::Locked;
    }
    let line = words.lines().last().unwrap_or_default().trim();
    let line: String = line.chars().filter(|c| !c.is_control()).take(200).collect();
    let line = line.trim_start_matches("secret-tool: ").to_owned();
    if says(ABSENT) {
        Trouble::Absent(format!("no keychain answers ({line})"))
    } else {
        Trouble::Failed(line)
    }
}

impl Keychain for SecretTool {
    fn name(&self) -> &'static str {
        "the keychain (Secret Service)"
    }

    fn store(&self, provider: &str, key: &Secret) -> Result<(), Trouble> {
        let label = format!("--label=tack: key of {provider}");
        let said = self.call(&["store", &label], provider, key.reveal())?;
        if said.good {
            return Ok(());
        }
        silence_or(&said)?;
        Err(Trouble::Failed("secret-tool gave no reason".to_owned()))
    }

    fn load(&self, provider: &str) -> Result<Option<Secret>, Trouble> {
        let said = self.call(&["lookup"], provider, "")?;
        let key = String::from_utf8_lossy(&said.out);
        if said.good && !key.trim().is_empty() {
            return Ok(Some(Secret::new(key.trim())));
        }
        silence_or(&said)?;
        if self.is_listed(provider)? { Err(Trouble::Locked) } else { Ok(None) }
    }

    fn remove(&self, provider: &str) -> Result<(), Trouble> {
        let said = self.call(&["clear"], provider, "")?;
        if said.good {
            return Ok(());
        }
        silence_or(&said)?;
        if self.is_listed(provider)? { Err(Trouble::Locked) } else { Ok(()) }
    }
}
