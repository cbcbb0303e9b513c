//! Model servers on this machine: which run, and what they have loaded.
//!
//! Asked only when the user wants it. A port proves nothing, as several of these servers share one
//! with each other and with programs that are none: a server is what its answer says it is. Reading
//! the answers is pure and stands in [`read`].

pub mod cut;
pub mod read;

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Url;
use serde_json::Value;

use super::Failure;
use super::client::HttpClient;
use super::client::get::{Limits, Page};
use super::provider::Provider;
use crate::model::short_hash;

const CONNECT: Duration = Duration::from_millis(200);
const LIMITS: Limits = Limits { time: Duration::from_millis(1200), bytes: 8 << 20 };

/// A server that tack can tell from others. The names are ids of providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Ollama,
    LmStudio,
    LlamaCpp,
    Vllm,
}

/// A running server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    pub kind: Kind,
    /// With `/v1`.
    pub base_url: String,
    pub state: State,
    pub models: Vec<Found>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Ready,
    /// It runs and still reads its model.
    Loading,
}

/// A model that a server has. None: not told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub name: String,
    pub loaded: bool,
    /// Tokens of the context that is loaded.
    pub window: Option<u64>,
    /// Tokens that the model was trained for.
    pub trained: Option<u64>,
    pub vision: Option<bool>,
    /// Its template has tool calls.
    pub tools: Option<bool>,
    /// How many it has.
    pub parameters: Option<u64>,
    /// The sort of server.
    pub kind: Option<Kind>,
    /// A hash of what decides how the model's calls come back, as far as the server tells it: its
    /// version, the model's file, the chat template.
    pub mark: String,
}

/// What stands at an address that was tried.
#[derive(Clone, Debug, PartialEq)]
pub enum Saw {
    Nothing,
    /// Something that is none of these servers.
    Other,
    Server(Server),
}

/// One address that was tried, for this kind of server.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    pub kind: Kind,
    pub base_url: String,
    pub saw: Saw,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Ollama, Self::LmStudio, Self::LlamaCpp, Self::Vllm];

    /// The id of its provider.
    pub fn id(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::LmStudio => "lmstudio",
            Self::LlamaCpp => "llamacpp",
            Self::Vllm => "vllm",
        }
    }

    pub fn of(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.id() == id)
    }

    /// The paths whose answers tell it apart.
    fn signs(self) -> &'static [&'static str] {
        match self {
            Self::Ollama => &["/api/version"],
            Self::LmStudio => &["/api/v1/models"],
            Self::LlamaCpp => &["/props", "/v1/models"],
            Self::Vllm => &["/v1/models"],
        }
    }

    /// What tells of its models; asked once it is known, where it was not before.
    fn more(self) -> &'static [&'static str] {
        match self {
            Self::Ollama => &["/api/ps", "/api/tags"],
            Self::LmStudio => &[],
            Self::LlamaCpp => &["/props", "/v1/models"],
            Self::Vllm => &["/v1/models", "/version"],
        }
    }
}

/// Asks at each of these providers' addresses, all at once. Fails only when an address or a header
/// cannot be used.
pub async fn find(places: Vec<(Kind, Provider)>) -> Result<Vec<Tried>, Failure> {
    let asked = places.into_iter().map(|(kind, provider)| Place::new(kind, provider));
    let asked: Vec<Place> = asked.collect::<Result<_, _>>()?;
    Ok(join_all(asked.iter().map(Place::look)).await)
}

/// One address, and how to ask there.
struct Place {
    kind: Kind,
    root: Url,
    client: HttpClient,
}

type Pages = BTreeMap<&'static str, Page>;

impl Place {
    fn new(kind: Kind, provider: Provider) -> Result<Self, Failure> {
        let mut root = provider.url("")?;
        let path = root.path().trim_end_matches('/');
        let path = path.strip_suffix("/v1").unwrap_or(path).to_owned();
        root.set_path(&path);
        let client = HttpClient::new(Provider { connect_timeout: CONNECT, ..provider })?;
        Ok(Self { kind, root, client })
    }

    fn at(&self, path: &str) -> Url {
        let mut url = self.root.clone();
        url.set_path(&format!("{}{path}", self.root.path().trim_end_matches('/')));
        url
    }

    async fn pages(&self, paths: &[&'static str]) -> Pages {
        let all =
            paths.iter().map(|path| async move { (*path, self.client.get(&self.at(path), LIMITS).await) });
        let answers = join_all(all).await;
        answers.into_iter().filter_map(|(path, page)| Some((path, page.ok()?))).collect()
    }

    async fn look(&self) -> Tried {
        let base_url = self.at("/v1").to_string();
        let mut pages = self.pages(self.kind.signs()).await;
        let mut kind = recognise(&pages);
        if kind.is_none() && !pages.is_empty() && self.kind == Kind::LmStudio {
            // Versions before 0.4 have only this one.
            pages = self.pages(&["/api/v0/models"]).await;
            kind = recognise(&pages);
        }
        let saw = match kind {
            None if pages.is_empty() => Saw::Nothing,
            None => Saw::Other,
            Some(kind) => {
                let missing: Vec<_> =
                    kind.more().iter().filter(|path| !pages.contains_key(*path)).copied().collect();
                pages.extend(self.pages(&missing).await);
                Saw::Server(server(kind, base_url.clone(), &pages))
            }
        };
        Tried { kind: self.kind, base_url, saw }
    }
}

fn recognise(pages: &Pages) -> Option<Kind> {
    pages.iter().find_map(|(path, page)| read::kind(path, page.status, &page.json()?))
}

fn server(kind: Kind, base_url: String, pages: &Pages) -> Server {
    let loading =
        pages.values().any(|page| page.json().is_some_and(|body| read::is_loading(page.status, &body)));
    let page = |path: &str| {
        pages.get(path).filter(|page| page.status == 200).and_then(Page::json).unwrap_or(Value::Null)
    };
    let mut models = match kind {
        Kind::Ollama => read::ollama(&page("/api/tags"), &page("/api/ps")),
        Kind::LmStudio if pages.contains_key("/api/v0/models") => read::lmstudio_old(&page("/api/v0/models")),
        Kind::LmStudio => read::lmstudio(&page("/api/v1/models")),
        Kind::LlamaCpp => read::llamacpp(&page("/v1/models"), &page("/props")),
        Kind::Vllm => read::vllm(&page("/v1/models")),
    };
    let version = vec![page("/api/version"), page("/version"), page("/props")["build_info"].clone()];
    for found in &mut models {
        found.kind = Some(kind);
        found.mark = short_hash(format!("{} {} {}", kind.id(), Value::from(version.clone()), found.mark));
    }
    Server { kind, base_url, state: if loading { State::Loading } else { State::Ready }, models }
}

/// The address in `OLLAMA_HOST`, as Ollama itself reads it: scheme, port or both may be missing, and
/// an address to listen at everywhere means this machine. None when it is no address.
pub fn ollama_host(text: &str) -> Option<String> {
    let text = text.trim().trim_matches(['"', '\'']);
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let authority = match authority.matches(':').count() {
        _ if authority.starts_with('[') => authority.to_owned(),
        1 if authority.starts_with(':') => format!("127.0.0.1{authority}"),
        0 | 1 => authority.to_owned(),
        _ => format!("[{authority}]"),
    };
    let mut url = Url::parse(&format!("{scheme}://{authority}/{path}")).ok()?;
    if !matches!(url.scheme(), "http" | "https") || text.is_empty() {
        return None;
    }
    // A port that is the scheme's own is 80 or 443 there only if a scheme was written.
    let written = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if url.port().is_none() && !written && !text.contains("://") {
        url.set_port(Some(11434)).ok()?;
    }
    match url.host_str()? {
        "0.0.0.0" => url.set_host(Some("127.0.0.1")).ok()?,
        "[::]" => url.set_host(Some("[::1]")).ok()?,
        _ => {}
    }
    let path = url.path().trim_end_matches('/').to_owned();
    let path = if path.ends_with("/v1") { path } else { format!("{path}/v1") };
    url.set_path(&path);
    Some(url.to_string())
}

#[cfg(test)]
mod tests;
