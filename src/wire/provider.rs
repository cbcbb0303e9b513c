//! A provider: where a model is served and how to speak to it there. Pure data.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
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
    /// The other APIs it speaks; see [`Provider::over`].
    pub others: Vec<Way>,
    /// The model where the user names none.
    pub default_model: Option<String>,
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
    /// Chat: takes one system message at the beginning, then user and assistant in turns.
    pub strict_roles: bool,
    /// How a model is asked to think, where nothing is known of the model itself.
    pub thinking: Thinking,
    /// Chat: assistant messages with calls must carry reasoning; this stands for what is not there.
    pub reasoning_required: Option<Placeholder>,
    /// Chat: calls must carry the seal they came with, and one that came from elsewhere a word instead
    /// (Google's `thought_signature`).
    pub call_seals: bool,
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
    #[serde(default)]
    env_key: Variables,
    wire: Option<WireKind>,
    default_model: Option<String>,
    #[serde(default)]
    local: bool,
    start: Option<String>,
    #[serde(default)]
    quirks: Quirks,
    #[serde(default)]
    over: BTreeMap<WireKind, Other>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Variables {
    One(String),
    Several(Vec<String>),
}

/// A table `[ID.over.WIRE]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Other {
    /// The provider's own when None.
    base_url: Option<String>,
    #[serde(default)]
    quirks: Quirks,
}

impl Default for Variables {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

const TABLE: &str = include_str!("providers.toml");

/// A provider that tack knows, without key and settings.
pub fn builtin(id: &str) -> Option<Provider> {
    // Parsing them all takes longer than the rest of the start, and only one is ever used.
    let mut tables: BTreeMap<String, Entry> =
        toml::from_str(text_of(id)?).expect("the embedded provider table is tested to parse");
    let entry = tables.remove(id)?;
    let plain = Provider::new(id, entry.base_url.as_str());
    let env_keys = match entry.env_key {
        Variables::One(name) => vec![name],
        Variables::Several(names) => names,
    };
    let way = |(wire, other): (WireKind, Other)| Way {
        wire,
        base_url: other.base_url.unwrap_or_else(|| entry.base_url.clone()),
        quirks: other.quirks,
    };
    Some(Provider {
        name: entry.name,
        wire: entry.wire.unwrap_or(plain.wire),
        others: entry.over.into_iter().map(way).collect(),
        default_model: entry.default_model,
        env_key: env_keys.first().cloned(),
        needs_key: !env_keys.is_empty(),
        env_keys,
        local: entry.local,
        start: entry.start,
        quirks: entry.quirks,
        ..plain
    })
}

/// All that [`builtin`] knows, sorted.
pub fn ids() -> Vec<&'static str> {
    let mut ids: Vec<&str> = TABLE.lines().filter_map(header).filter(|name| !name.contains('.')).collect();
    ids.sort_unstable();
    ids
}

/// The lines of one provider's tables.
fn text_of(id: &str) -> Option<&'static str> {
    let mut at = 0;
    let mut from = None;
    for line in TABLE.split_inclusive('\n') {
        let owner = header(line.trim_end()).map(|name| name.split('.').next().unwrap_or(name));
        match (owner, from) {
            (Some(owner), None) if owner == id => from = Some(at),
            (Some(owner), Some(from)) if owner != id => return Some(&TABLE[from..at]),
            _ => {}
        }
        at += line.len();
    }
    from.map(|from| &TABLE[from..])
}

fn header(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
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
            others: Vec::new(),
            default_model: None,
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

    /// The key without the white space and marks that a shell or an editor put around it; None when
    /// nothing is left.
    pub fn usable_key(&self) -> Option<&str> {
        let around = |c: char| c.is_whitespace() || c == '\u{FEFF}';
        self.key.as_ref().map(|key| key.reveal().trim_matches(around)).filter(|key| !key.is_empty())
    }

    /// The address for this path of a wire (`/chat/completions`). A base URL that is only a host gets
    /// `/v1`, for messages also one without a version, as `ANTHROPIC_BASE_URL` has it; one that ends with
    /// a path of a wire already is taken as it is.
    pub fn url(&self, path: &str) -> Result<Url, Failure> {
        let mut url = parse(&self.base_url).ok_or_else(|| {
            let (id, given) = (&self.id, &self.base_url);
            Failure::Setup(format!("the base_url of provider {id} is no http address: {given:?}"))
        })?;
        let base = url.path().trim_end_matches('/').to_owned();
        let whole = PATHS.iter().find_map(|known| base.strip_suffix(known));
        let versioned = base.split('/').any(is_version);
        let version = match (whole, path) {
            (Some(_), _) => "",
            (None, MESSAGES) if !versioned => "/v1",
            (None, _) if base.is_empty() => "/v1",
            (None, _) => "",
        };
        url.set_path(&format!("{}{version}{path}", whole.unwrap_or(&base)));
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }
}

const MESSAGES: &str = "/messages";
/// What the wires append to a base URL.
const PATHS: [&str; 3] = ["/chat/completions", "/responses", MESSAGES];

/// `v1`, `v4`, `v1beta`.
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
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
    fn every_builtin_has_an_address_and_a_name_on_each_of_its_wires() {
        let all: BTreeMap<String, Entry> = toml::from_str(TABLE).unwrap();
        assert_eq!(all.keys().map(String::as_str).collect::<Vec<_>>(), ids());
        assert!(ids().len() >= 26);
        for id in ids() {
            let usual = builtin(id).unwrap();
            for wire in usual.wires() {
                let provider = usual.over(wire).unwrap();
                assert_eq!(provider.wire, wire);
                let url = provider.url(path(wire)).unwrap();
                assert!(url.path().ends_with(path(wire)), "{url}");
                assert_eq!(provider.local, is_loopback(&url), "{id}");
                assert_eq!(provider.local, !provider.needs_key, "{id}");
                assert_eq!(provider.local, provider.start.is_some(), "{id}");
                assert_eq!(
                    url.scheme() == "http",
                    provider.local,
                    "{id}: a key must not travel in the clear"
                );
            }
        }
        assert!(builtin("nobody").is_none() && builtin("openai.over.chat").is_none());
    }

    fn path(wire: WireKind) -> &'static str {
        match wire {
            WireKind::Chat => "/chat/completions",
            WireKind::Responses => "/responses",
            WireKind::Messages => "/messages",
        }
    }

    #[test]
    fn a_provider_goes_over_to_another_wire_and_back() {
        let usual = builtin("deepseek").unwrap();
        assert_eq!(usual.wires(), [WireKind::Chat, WireKind::Messages]);
        let other = usual.over(WireKind::Messages).unwrap();
        assert_eq!(
            other.url("/messages").unwrap().as_str(),
            "https://api.deepseek.com/anthropic/v1/messages"
        );
        assert!(other.quirks.x_api_key && !usual.quirks.x_api_key);
        let back = other.over(WireKind::Chat).unwrap();
        assert_eq!(
            (back.base_url, back.quirks, back.wire),
            (usual.base_url.clone(), usual.quirks.clone(), usual.wire)
        );
        assert!(usual.over(WireKind::Responses).is_none());
        assert_eq!(builtin("openai").unwrap().wires(), [WireKind::Responses, WireKind::Chat]);
    }

    #[test]
    fn an_address_is_taken_however_it_is_written() {
        let (chat, messages, responses) = ("/chat/completions", "/messages", "/responses");
        let cases = [
            ("http://127.0.0.1:8080", chat, "http://127.0.0.1:8080/v1/chat/completions"),
            ("http://127.0.0.1:8080/", chat, "http://127.0.0.1:8080/v1/chat/completions"),
            ("http://127.0.0.1:8080/v1", chat, "http://127.0.0.1:8080/v1/chat/completions"),
            ("http://127.0.0.1:8080/v1/", chat, "http://127.0.0.1:8080/v1/chat/completions"),
            (" localhost:8080 ", chat, "http://localhost:8080/v1/chat/completions"),
            ("api.example.com", chat, "https://api.example.com/v1/chat/completions"),
            ("https://h.example/api/paas/v4", chat, "https://h.example/api/paas/v4/chat/completions"),
            ("https://h.example/v1/chat/completions", chat, "https://h.example/v1/chat/completions"),
            ("https://h.example/chat/completions/", chat, "https://h.example/chat/completions"),
            ("https://h.example/x?api-version=1", chat, "https://h.example/x/chat/completions?api-version=1"),
            ("https://h.example/inference", chat, "https://h.example/inference/chat/completions"),
            ("http://localhost:1", responses, "http://localhost:1/v1/responses"),
            ("http://localhost:1/v1/", responses, "http://localhost:1/v1/responses"),
            ("https://h.example/openai/v1", responses, "https://h.example/openai/v1/responses"),
            ("https://h.example/v1/responses", responses, "https://h.example/v1/responses"),
            (
                "https://h.example/openai?api-version=1",
                responses,
                "https://h.example/openai/responses?api-version=1",
            ),
            ("https://h.example", messages, "https://h.example/v1/messages"),
            ("https://h.example/v1", messages, "https://h.example/v1/messages"),
            ("https://h.example/anthropic", messages, "https://h.example/anthropic/v1/messages"),
            ("https://h.example/anthropic/", messages, "https://h.example/anthropic/v1/messages"),
            ("https://h.example/anthropic/v1/", messages, "https://h.example/anthropic/v1/messages"),
            ("https://h.example/v1beta/claude", messages, "https://h.example/v1beta/claude/messages"),
            ("https://h.example/a/messages", messages, "https://h.example/a/messages"),
            // The whole path of another wire: the same place, over this one.
            ("http://localhost:1/v1/chat/completions", messages, "http://localhost:1/v1/messages"),
        ];
        for (base, path, expected) in cases {
            let url = Provider::new("x", base).url(path).unwrap();
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
