//! A provider: where a model is served and how to speak to it there. Pure data.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::model::WireKind;

/// Fully resolved: defaults, config and environment are already merged in.
#[derive(Clone, Debug)]
pub struct Provider {
    pub id: String,
    /// For people.
    pub name: String,
    /// With or without `/v1`, with or without a final slash; see [`Provider::url`].
    pub base_url: String,
    pub wire: WireKind,
    /// The variable its key comes from, for messages.
    pub env_key: Option<String>,
    pub key: Option<Secret>,
    /// A key is wanted: without one the request is not sent.
    pub needs_key: bool,
    pub headers: Vec<(String, Secret)>,
    pub query: Vec<(String, String)>,
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
    /// Further certificates to trust, PEM.
    pub ca_file: Option<PathBuf>,
    pub quirks: Quirks,
}

/// Where services of one wire differ, as data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quirks {
    /// `max_tokens` or `max_completion_tokens`; the wire's usual one when None.
    pub max_tokens_field: Option<String>,
    /// Takes no `stream_options`.
    pub no_stream_options: bool,
    /// Has no developer role: it is sent as system.
    pub no_developer_role: bool,
}

/// A key or a header that holds one. Shown nowhere.
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
