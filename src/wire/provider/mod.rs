//! A provider: where a model is served and how to speak to it there. Pure data.
//!
//! `table` has those that tack knows, `quirks` is where they differ, `address` makes the address of a
//! request.

mod address;
mod quirks;
mod table;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::model::WireKind;

pub use address::{is_loopback, shown};
pub use quirks::{Placeholder, Quirks};
pub use table::{builtin, ids};

/// Fully resolved: defaults, config and environment are already merged in.
#[derive(Clone, Debug)]
pub struct Provider {
    pub id: String,
    /// For people.
    pub name: String,
    /// With or without `/v1`, with or without a final slash; see [`Provider::url`].
    pub base_url: String,
    pub wire: WireKind,
    /// The other APIs it speaks; see [`Provider::over`].
    pub others: Vec<Way>,
    /// The model where the user names none.
    pub default_model: Option<String>,
    /// Its models are called after who made them: `maker/name`.
    pub makers: bool,
    /// The variables its key may come from, in their order.
    pub env_keys: Vec<String>,
    /// The one of them that is set, else the first, for messages.
    pub env_key: Option<String>,
    pub key: Option<Secret>,
    /// Where `key` was found, for messages: a variable, a keychain.
    pub key_from: Option<String>,
    /// A command that prints the key. It goes before `key`.
    pub auth: Option<Auth>,
    /// A key is wanted: without one the request is not sent.
    pub needs_key: bool,
    pub headers: Vec<(String, Secret)>,
    pub query: Vec<(String, Secret)>,
    /// Tries again before anything of the reply came.
    pub request_retries: u32,
    /// Tries again after a stream broke.
    pub stream_retries: u32,
    pub connect_timeout: Duration,
    /// From the request's end to the first byte of the reply.
    pub first_byte_timeout: Duration,
    /// Between two bytes.
    pub idle_timeout: Duration,
    /// Served on this machine.
    pub local: bool,
    /// The command that starts a local server, for messages.
    pub start: Option<String>,
    /// Further certificates to trust, PEM.
    pub ca_file: Option<PathBuf>,
    pub quirks: Quirks,
}

/// Another API of the same service.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    pub wire: WireKind,
    pub base_url: String,
    pub quirks: Quirks,
}

/// A command that prints a key on its standard output. Run without a sandbox: it is the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Auth {
    pub command: String,
    pub args: Vec<String>,
    /// How long a key is used. None: until the server refuses it.
    pub refresh: Option<Duration>,
    /// How long the command may take.
    pub timeout: Duration,
    pub cwd: Option<PathBuf>,
}

impl Provider {
    /// A provider at this address with default settings: no key, and local if the address is.
    pub fn new(id: &str, base_url: impl Into<String>) -> Self {
        let base_url = base_url.into();
        let local = address::parse(&base_url).is_some_and(|url| is_loopback(&url));
        Self {
            id: id.to_owned(),
            name: id.to_owned(),
            base_url,
            wire: WireKind::Chat,
            others: Vec::new(),
            default_model: None,
            makers: false,
            env_keys: Vec::new(),
            env_key: None,
            key: None,
            key_from: None,
            auth: None,
            needs_key: false,
            headers: Vec::new(),
            query: Vec::new(),
            request_retries: 4,
            stream_retries: 5,
            connect_timeout: Duration::from_secs(10),
            // A local server may first load the model and read the whole prompt on a slow machine.
            first_byte_timeout: Duration::from_secs(if local { 600 } else { 300 }),
            idle_timeout: Duration::from_secs(300),
            local,
            start: None,
            ca_file: None,
            // Only the service that has the role is known to take it.
            quirks: Quirks { no_developer_role: true, ..Quirks::default() },
        }
    }

    /// The APIs it speaks, the usual one first.
    pub fn wires(&self) -> Vec<WireKind> {
        let others = self.others.iter().map(|way| way.wire);
        std::iter::once(self.wire).chain(others).collect()
    }

    /// The same provider over this API; None where it does not speak it.
    pub fn over(&self, wire: WireKind) -> Option<Self> {
        if wire == self.wire {
            return Some(self.clone());
        }
        let Way { wire, base_url, quirks } = self.others.iter().find(|way| way.wire == wire)?.clone();
        let usual = Way { wire: self.wire, base_url: self.base_url.clone(), quirks: self.quirks.clone() };
        let mut others: Vec<Way> = self.others.iter().filter(|way| way.wire != wire).cloned().collect();
        others.insert(0, usual);
        Some(Self { wire, base_url, quirks, others, ..self.clone() })
    }

    /// The key without the white space that a shell or an editor put around it; None when nothing is left.
    pub fn usable_key(&self) -> Option<&str> {
        // Also without the mark that some editors begin a file with.
        let around = |c: char| c.is_whitespace() || c == '\u{FEFF}';
        self.key.as_ref().map(|key| key.reveal().trim_matches(around)).filter(|key| !key.is_empty())
    }
}

/// A key, or a header or parameter that may hold one. Shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the request and for nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}
