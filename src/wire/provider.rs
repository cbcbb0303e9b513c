//! A provider: where a model is served and how to speak to it there. Pure data.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use reqwest::Url;
use serde::Deserialize;

use super::Failure;
use super::ids::IdForm;
use crate::model::{Thinking, WireKind};

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
    /// The command that starts a local server, for messages.
    pub start: Option<String>,
    /// Further certificates to trust, PEM.
    pub ca_file: Option<PathBuf>,
    pub quirks: Quirks,
}

/// Where services of one wire differ, as data.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// `max_tokens` or `max_completion_tokens`; the wire's usual one when None.
    pub max_tokens_field: Option<String>,
    /// Takes no `stream_options`.
    pub no_stream_options: bool,
    /// Has no developer role: it is sent as system.
    pub no_developer_role: bool,
    /// How a model is asked to think, where nothing is known of the model itself.
    pub thinking: Thinking,
    /// Chat: assistant messages with calls must carry reasoning; this stands for what is not there.
    pub reasoning_required: Option<Placeholder>,
    /// What ids of calls have to look like.
    pub ids: IdForm,
    /// Refuses `strict` in tools.
    pub no_strict: bool,
    /// Responses: has free-form tools.
    pub custom_tools: bool,
    /// Responses: knows no sealed reasoning, and refuses to be asked for it.
    pub no_sealed_reasoning: bool,
    /// Takes no images in the result of a call: they follow as the user's.
    pub no_result_images: bool,
    /// Holds an answer to a JSON Schema also while tools are offered.
    pub schema: bool,
    /// Takes `prompt_cache_key`.
    pub cache_key: bool,
    /// Takes marks on what to cache. The wire's usual when None: yes for messages, no for the others.
    pub cache_marks: Option<bool>,
    /// The key goes in `x-api-key` and not in `authorization`.
    pub x_api_key: bool,
}

/// Text for a field that must not be missing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placeholder {
    pub field: String,
    pub text: String,
}

/// One table of `providers.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    base_url: String,
    env_key: Option<String>,
    #[serde(default)]
    local: bool,
    start: Option<String>,
    #[serde(default)]
    quirks: Quirks,
}

static ENTRIES: LazyLock<BTreeMap<String, Entry>> = LazyLock::new(|| {
    toml::from_str(include_str!("providers.toml")).expect("the embedded provider table is tested to parse")
});

/// A provider that tack knows, without key and settings.
pub fn builtin(id: &str) -> Option<Provider> {
    let entry = ENTRIES.get(id)?;
    let plain = Provider::new(id, entry.base_url.as_str());
    Some(Provider {
        name: entry.name.clone(),
        env_key: entry.env_key.clone(),
        needs_key: entry.env_key.is_some(),
        local: entry.local,
        start: entry.start.clone(),
        quirks: entry.quirks.clone(),
        ..plain
    })
}

/// All that [`builtin`] knows, sorted.
pub fn ids() -> Vec<&'static str> {
    ENTRIES.keys().map(String::as_str).collect()
}

impl Provider {
    /// A provider at this address with default settings: no key, and local if the address is.
    pub fn new(id: &str, base_url: impl Into<String>) -> Self {
        let base_url = base_url.into();
        let local = parse(&base_url).is_some_and(|url| is_loopback(&url));
        Self {
            id: id.to_owned(),
            name: id.to_owned(),
            base_url,
            wire: WireKind::Chat,
            env_key: None,
            key: None,
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

    /// The key without the white space that a shell or an editor put around it; None when nothing is left.
    pub fn usable_key(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.reveal().trim()).filter(|key| !key.is_empty())
    }

    /// The address for this path of a wire (`/chat/completions`). A base URL that is only a host
    /// gets `/v1`; one that already ends with the path is taken as it is.
    pub fn url(&self, path: &str) -> Result<Url, Failure> {
        let mut url = parse(&self.base_url).ok_or_else(|| {
            let (id, given) = (&self.id, &self.base_url);
            Failure::Setup(format!("the base_url of provider {id} is no http address: {given:?}"))
        })?;
        let base = url.path().trim_end_matches('/').to_owned();
        let base = base.strip_suffix(path).unwrap_or(&base);
        let base = if base.is_empty() { "/v1" } else { base };
        url.set_path(&format!("{base}{path}"));
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }
}

/// Served on this machine, so that no proxy is asked and no certificate needed.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let named = host == "localhost" || host.ends_with(".localhost");
    named || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified())
}

fn parse(base_url: &str) -> Option<Url> {
    let text = base_url.trim();
    let url = match text.contains("://") {
        true => Url::parse(text).ok()?,
        // `localhost:8080`: plain HTTP on this machine, TLS elsewhere.
        false => Url::parse(&format!("http://{text}"))
            .ok()
            .filter(is_loopback)
            .or_else(|| Url::parse(&format!("https://{text}")).ok())?,
    };
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_has_an_address_and_a_name() {
        assert!(ids().len() >= 20);
        for id in ids() {
            let provider = builtin(id).unwrap();
            let url = provider.url("/chat/completions").unwrap();
            assert!(url.path().ends_with("/chat/completions"), "{id}");
            assert_eq!(provider.local, is_loopback(&url), "{id}");
            assert_eq!(provider.local, !provider.needs_key, "{id}");
            assert_eq!(provider.local, provider.start.is_some(), "{id}");
            assert_eq!(url.scheme() == "http", provider.local, "{id}: a key must not travel in the clear");
        }
        assert!(builtin("nobody").is_none());
    }

    #[test]
    fn an_address_is_taken_however_it_is_written() {
        let cases = [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/chat/completions"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1/chat/completions"),
            ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/chat/completions"),
            ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/chat/completions"),
            (" localhost:8080 ", "http://localhost:8080/v1/chat/completions"),
            ("api.example.com", "https://api.example.com/v1/chat/completions"),
            ("https://h.example/api/paas/v4", "https://h.example/api/paas/v4/chat/completions"),
            ("https://h.example/v1/chat/completions", "https://h.example/v1/chat/completions"),
            ("https://h.example/x?api-version=1", "https://h.example/x/chat/completions?api-version=1"),
        ];
        for (base, expected) in cases {
            let url = Provider::new("x", base).url("/chat/completions").unwrap();
            assert_eq!(url.as_str(), expected);
        }
        for base in ["", "ftp://h.example", "http://", "not a host"] {
            assert!(matches!(Provider::new("x", base).url("/p"), Err(Failure::Setup(_))), "{base}");
        }
    }

    #[test]
    fn queries_are_added() {
        let mut provider = Provider::new("x", "https://h.example/v1?a=1");
        provider.query = vec![("b c".into(), "2&3".into())];
        assert_eq!(provider.url("/p").unwrap().query(), Some("a=1&b+c=2%263"));
    }

    #[test]
    fn only_this_machine_is_local() {
        for (base, local) in [
            ("http://localhost:1", true),
            ("http://[::1]:1", true),
            ("http://127.9.9.9", true),
            ("http://0.0.0.0:8000", true),
            ("https://localhost.example.com", false),
            ("http://192.168.1.2:8080", false),
        ] {
            assert_eq!(Provider::new("x", base).local, local, "{base}");
        }
    }
}
