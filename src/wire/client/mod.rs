//! The real client: sends a prompt to a provider and gathers the reply.
//!
//! The only part of the wire that does input and output. Deciding is pure and stands beside it:
//! [`retry`] says whether to send again, [`error`] what to tell the person.

pub mod error;
pub mod get;
pub mod http;
pub mod retry;

mod auth;
mod hide;
mod refused;
mod reply;
mod trouble;

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use reqwest::Url;
use reqwest::header::HeaderMap;
use tokio::time::Instant;
use tokio_util::bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::prompt::Prompt;
use super::provider::{Provider, Quirks};
use super::{Answer, Client, Failure, Progress, Wire, catalog, effort, models};
use crate::model::{Model, Trouble, TroubleKind, Watch};
use auth::{Keys, Wanted};
use error::{Fault, Place};
use get::Limits;
use retry::{Cause, Next, Tries};

/// Most bytes of an error body that are read, and how long that may take.
const ERROR_BODY: usize = 64 << 10;
const ERROR_TIME: Duration = Duration::from_secs(10);

/// A list of models that a sentence is to be made of.
const MODELS: Limits = Limits { time: Duration::from_secs(3), bytes: 4 << 20 };

/// Waits between attempts. Tests put one in that returns at once and notes the time.
pub type Sleep = Arc<dyn Fn(Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

type Hear<'a> = &'a mut (dyn FnMut(Progress) + Send);

/// Talks to one provider over HTTP. Cheap to make: TLS is set up with the first request.
pub struct HttpClient {
    provider: Provider,
    /// The provider's, and what it was found to refuse.
    quirks: Mutex<Quirks>,
    keys: Keys,
    http: OnceLock<reqwest::Client>,
    sleep: Sleep,
}

/// One request, ready to be sent as often as needed.
struct Call<'a> {
    at: Place<'a>,
    wire: &'static dyn Wire,
    http: reqwest::Client,
    headers: HeaderMap,
    body: Bytes,
    watch: Watch,
}

/// How all attempts with one key ended.
enum Ended {
    Failed(Failure),
    /// The server refused the key.
    Refused(Failure),
}

impl HttpClient {
    /// Fails when the provider's address or a header cannot be used.
    pub fn new(provider: Provider) -> Result<Self, Failure> {
        provider.url("")?;
        http::headers(&provider)?;
        let sleep: Sleep = Arc::new(|time| Box::pin(tokio::time::sleep(time)));
        let quirks = Mutex::new(provider.quirks.clone());
        Ok(Self { provider, quirks, keys: Keys::default(), http: OnceLock::new(), sleep })
    }

    /// The same client with another way to wait between attempts.
    pub fn with_sleep(self, sleep: Sleep) -> Self {
        Self { sleep, ..self }
    }

    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    fn http(&self, url: &Url) -> Result<reqwest::Client, Failure> {
        if let Some(http) = self.http.get() {
            return Ok(http.clone());
        }
        let http = http::build(&self.provider, url)?;
        Ok(self.http.get_or_init(|| http).clone())
    }

    /// One answer; without the fields that the server says it does not take.
    async fn answer(&self, model: &Model, prompt: &Prompt, hear: Hear<'_>) -> Result<Answer, Failure> {
        let mut without = 0;
        loop {
            let quirks = self.quirks.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let body = super::of(model.wire).encode(prompt, model, &quirks).to_string();
            let failure = match self.send(model, (body.into(), prompt.watch), hear).await {
                Ok(answer) => return Ok(Answer { requests: answer.requests + without, ..answer }),
                Err(failure) => failure,
            };
            let wished = effort::wanted(prompt, model, &quirks).is_some();
            let fields: Vec<&str> = if wished && refused::is_effort(&failure) {
                effort::FIELDS.to_vec()
            } else {
                let field = refused::field(&prompt.body, &failure);
                field.into_iter().filter(|field| quirks.takes(field, &model.name)).collect()
            };
            if fields.is_empty() {
                return Err(failure);
            }
            let mut quirks = self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
            for field in fields {
                quirks.drop.entry(field.to_owned()).or_default().push(model.name.clone());
            }
            drop(quirks);
            without += 1;
            let (why, trouble) = (failure.to_string(), TroubleKind::Other);
            hear(Progress::Again { attempt: without, of: without, wait_ms: 0, why, trouble });
        }
    }

    /// One request, with another key once where the first is refused and a command gives keys.
    async fn send(
        &self,
        model: &Model,
        (body, watch): (Bytes, Watch),
        hear: Hear<'_>,
    ) -> Result<Answer, Failure> {
        let wire = super::of(model.wire);
        let url = self.provider.url(wire.path())?;
        let mut wanted = Wanted::Any;
        loop {
            let (provider, headers) = self.keyed(wire, wanted).await?;
            let provider = &*provider;
            if provider.needs_key && provider.usable_key().is_none() {
                let key = provider.env_key.as_deref().unwrap_or("its key");
                let message = format!("{} (model {}) needs a key: set {key}", provider.name, model.name);
                let kind = TroubleKind::NoKey { variable: provider.env_key.clone() };
                let (provider, model) = (provider.id.clone(), model.name.clone());
                let trouble = Box::new(Trouble { kind, provider, model, ..Trouble::default() });
                return Err(Failure::Setup { message, trouble });
            }
            let at = Place { provider, model: &model.name, url: &url };
            let call = Call { at, wire, http: self.http(&url)?, headers, body: body.clone(), watch };
            match self.attempts(&call, hear).await {
                Ok(answer) => return Ok(answer),
                Err(Ended::Refused(_)) if provider.auth.is_some() && wanted == Wanted::Any => {
                    wanted = Wanted::New;
                }
                Err(Ended::Refused(mut failure) | Ended::Failed(mut failure)) => {
                    if trouble::lacks_model(&failure) {
                        trouble::name_others(&mut failure, &model.name, self.models().await);
                    }
                    return Err(failure);
                }
            }
        }
    }

    /// Names of the provider's models: a server on this machine is asked for them, of others the catalog
    /// knows some. None where that tells nothing.
    pub async fn models(&self) -> Vec<String> {
        match self.provider.local {
            true => self.listed().await.unwrap_or_default(),
            false => catalog::models(&self.provider.id).map(str::to_owned).collect(),
        }
    }

    /// The names of the provider's own list; None where it gives none, or not soon.
    pub async fn listed(&self) -> Option<Vec<String>> {
        let url = models::url(&self.provider).ok()?;
        let body = self.get_json(&url, MODELS).await.ok()?;
        Some(models::list(&body)?.into_iter().map(|one| one.name).collect())
    }

    /// The provider with the key to send, and the headers of a request over this wire.
    async fn keyed(
        &self,
        wire: &dyn Wire,
        wanted: Wanted,
    ) -> Result<(Cow<'_, Provider>, HeaderMap), Failure> {
        let provider = self.keys.fill(&self.provider, wanted).await?;
        let mut headers = http::headers(&provider)?;
        http::add(&mut headers, wire.headers());
        Ok((provider, headers))
    }

    /// All attempts with one key.
    async fn attempts(&self, call: &Call<'_>, hear: Hear<'_>) -> Result<Answer, Ended> {
        let mut tries = Tries::new(&self.provider);
        let mut made = 0;
        loop {
            made += 1;
            let fault = match self.attempt(call, hear).await {
                Ok(answer) => return Ok(Answer { requests: made, ..answer }),
                Err(fault) => fault,
            };
            match tries.next(fault.cause, fault.hint, dice()) {
                Next::Again { wait, attempt, of } => {
                    let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                    let why = fault.failure.to_string();
                    let trouble = fault.failure.trouble().map(|known| known.kind.clone()).unwrap_or_default();
                    hear(Progress::Again { attempt, of, wait_ms, why, trouble });
                    (self.sleep)(wait).await;
                }
                Next::Poll(wait) => {
                    hear(Progress::Waiting(format!("{} is loading the model", self.provider.name)));
                    (self.sleep)(wait).await;
                }
                Next::TooLong(wait) => {
                    return Err(Ended::Failed(error::too_long(&fault.failure, wait, Timestamp::now())));
                }
                Next::Stop if fault.cause == Cause::Key => return Err(Ended::Refused(fault.failure)),
                Next::Stop => return Err(Ended::Failed(error::after(fault, made, Timestamp::now()))),
            }
        }
    }

    async fn attempt(&self, call: &Call<'_>, hear: Hear<'_>) -> Result<Answer, Fault> {
        let at = &call.at;
        let limit = self.provider.first_byte_timeout;
        let first_byte = Instant::now() + limit;
        let request = call.http.post(at.url.clone()).headers(call.headers.clone()).body(call.body.clone());
        let response = tokio::time::timeout_at(first_byte, request.send())
            .await
            .map_err(|_| error::silent(at, limit))?
            .map_err(|e| error::from_connection(at, &e))?;
        if response.status().is_success() {
            return reply::read(call, response, first_byte, hear).await;
        }
        let status = response.status().as_u16();
        let hint = retry::hint(response.headers(), Timestamp::now());
        let fault = error::from_status(at, status, &error_body(response).await);
        Err(Fault { hint: hint.or(fault.hint), ..fault })
    }
}

#[async_trait]
impl Client for HttpClient {
    async fn ask(
        &self,
        model: &Model,
        prompt: &Prompt,
        hear: &mut (dyn FnMut(Progress) + Send),
        cancel: &CancellationToken,
    ) -> Result<Answer, Failure> {
        // Dropping the attempt closes its connection.
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Failure::Cancelled),
            answer = self.answer(model, prompt, hear) => answer,
        }
    }
}

/// As much of an error's body as comes soon.
async fn error_body(mut response: reqwest::Response) -> String {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            let room = ERROR_BODY - body.len();
            body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if body.len() == ERROR_BODY {
                return;
            }
        }
    };
    // What came until then is enough for a sentence.
    let _ = tokio::time::timeout(ERROR_TIME, read).await;
    String::from_utf8_lossy(&body).into_owned()
}

/// Evenly spread in 0..1. The standard library seeds each of these hashers anew.
fn dice() -> f64 {
    (RandomState::new().build_hasher().finish() >> 11) as f64 / (1u64 << 53) as f64
}
