//! What went wrong, in one sentence for the person and one kind for the loop. Pure.
//!
//! A sentence names provider and model, keeps the server's own words and says what to do. It never
//! holds a key, not even when the server repeats it.

use std::error::Error;
use std::io;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use reqwest::Url;
use serde_json::Value;

use super::hide;
use super::retry::{self, Cause};
use super::trouble::{asked_for, keep_body};
use crate::model::{TroubleKind, steers};
use crate::wire::Failure;
use crate::wire::fault::{self, Said};
use crate::wire::provider::{Provider, shown};

/// Most characters of a server's own words.
const WORDS: usize = 500;

/// Who was asked, for the sentences.
pub struct Place<'a> {
    pub provider: &'a Provider,
    pub model: &'a str,
    pub url: &'a Url,
}

/// A failed attempt.
#[derive(Debug)]
pub struct Fault {
    pub failure: Failure,
    pub cause: Cause,
    /// How long the server asks to wait.
    pub hint: Option<Duration>,
}

impl Fault {
    fn new(failure: Failure, cause: Cause) -> Self {
        Self { failure, cause, hint: None }
    }

    /// The same, when about as many tokens of the reply had come.
    pub(super) fn after(mut self, tokens: u64) -> Self {
        if let Some(trouble) = self.failure.trouble_mut() {
            trouble.kind = TroubleKind::Lost { tokens };
        }
        self
    }
}

/// What a server's words mean for tack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Loading,
    TooLong,
    NoImages,
    NoTools,
    NoThinking,
    NoSchema,
    NoModel,
    NoPath,
    Key,
    /// The key is good, but not for this.
    Denied,
    Paid,
    Limited,
    TooLarge,
    Proxy,
    Passing,
    Final,
}

const IMAGES: &[&str] = &[
    "image input is not supported",
    "unknown variant `image_url`",
    "unknown variant image_url",
    "does not support image",
    "doesn't support image",
    "not support image input",
    "support image input", // OpenRouter: "No endpoints found that support image input"
    "is not a multimodal model",
    "image_url is only supported",
    "images are not supported",
    "does not support vision",
    // Anthropic, of an image that no later request can hold either.
    "image exceeds",
    "image dimensions exceed",
    "could not process image",
];

const TOOLS: &[&str] = &[
    "does not support tools",
    "--enable-auto-tool-choice",
    "does not support function calling",
    "does not support tool use",
    "support tool use", // OpenRouter: "No endpoints found that support tool use"
    "tools are not supported",
    "tool calling is not supported",
];

/// Names of the field that an answer's form is asked for with.
const SCHEMA: &[&str] = &[
    "response_format",
    "json mode",
    "json_schema",
    "text.format",
    "output_config.format",
    "structured output",
    // llama.cpp, of a schema that it cannot make a grammar of.
    "failed to parse grammar",
    "json schema conversion failed",
];

/// Names of the field that reasoning goes back in: a server that complains of it refuses it,
const THINKING: &[&str] =
    &["reasoning_content", "`reasoning`", "'reasoning'", "\"reasoning\"", "thinking", "encrypted content"];
/// unless it complains that it is not there.
/// or of how much is to be thought.
const MISSING: &[&str] = &[
    "missing",
    "required",
    "must be passed",
    "must be provided",
    "must include",
    "invalid thinking",
    "budget_tokens",
];

/// Words for a prompt that does not fit, right before the size of the window.
const WINDOW: &[&str] = &[
    "maximum context length is",
    "maximum context length of",
    "context length of only",
    "available context size (",
    "context window of",
    "maximum number of tokens allowed (",
    "maximum prompt length is",
    "input length should be [1,",
    "exceeded model token limit: ",                   // Moonshot
    "`inputs` tokens + `max_new_tokens` must be <= ", // Together
    "too large for model with ",                      // Mistral
    "while limit is ",                                // Cerebras
];

/// Words for the same that give no size, or give it elsewhere.
const LONG: &[&str] = &[
    "prompt is too long",
    "exceeds the context",
    "exceeds context",
    "exceeds the maximum context",
    "context the overflows",
    "exceed context limit",      // Anthropic, of prompt and answer together
    "prompt exceeds max length", // Z.AI
];

const LONG_KINDS: &[&str] = &["context_length_exceeded", "exceed_context_size_error"];

const PAID_KINDS: &[&str] = &[
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "exceeded_current_quota_error",
    "Arrearage", // Alibaba
    "1113",      // Z.AI
];

/// Anthropic and SiliconFlow say it in words only.
const PAID: &[&str] = &["credit balance is too low", "account balance is insufficient"];

/// Google and xAI say so with status 400.
const KEY: &[&str] = &["api key not valid", "incorrect api key provided"];

/// The model wrote no call that the server could read (Groq). The next try may.
const MISFIT: &str = "tool_use_failed";

/// A reply with an error status. `text` is its body.
pub fn from_status(at: &Place, status: u16, text: &str) -> Fault {
    let body: Option<Value> = serde_json::from_str(text.trim_start_matches('\u{FEFF}')).ok();
    let said = body.as_ref().and_then(fault::find);
    let is_json = said.is_some();
    let said = said.unwrap_or_else(|| Said { message: plain(text), ..Said::default() });
    let mut sort = sort(status, &said);
    if !is_json {
        sort = match (sort, status) {
            (Sort::NoModel, _) => Sort::NoPath,
            // The page of a proxy that limits the bytes of a body.
            (Sort::TooLong, 413) => Sort::TooLarge,
            (sort, _) => sort,
        };
    }
    let mut fault = explain(at, Some(status), sort, &said);
    fault.hint = retry::hint_in(&said.message);
    keep_body(&mut fault.failure, at, text);
    fault
}

/// An error object inside a reply that began well.
pub fn from_stream(at: &Place, message: String, kind: Option<String>, partial: String) -> Fault {
    let said = Said { message, kind, window: None };
    let status = said.kind.as_deref().and_then(|kind| kind.parse().ok());
    let known = match said.kind.as_deref().unwrap_or_default() {
        "invalid_request_error" | "BadRequestError" | "invalid_prompt" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_exceeded" | "rate_limit_error" | "slow_down" => 429,
        // Also `overloaded_error`, `server_is_overloaded`, `api_error`, `server_error`.
        _ => 500,
    };
    let mut fault = explain(at, None, sort(status.unwrap_or(known), &said), &said);
    fault.hint = retry::hint_in(&said.message);
    if fault.cause == Cause::Request {
        fault.cause = Cause::Stream;
    }
    if let Failure::Failed { partial: kept, .. } = &mut fault.failure {
        *kept = partial;
    }
    fault
}

/// A web page where JSON or a stream was expected.
pub fn from_page(at: &Place) -> Fault {
    let message = format!("{} answered with a web page; {}", at.who(), at.check_url());
    Fault::new(at.setup(message, TroubleKind::Other), Cause::Final)
}

/// Neither JSON nor a web page where JSON was expected.
pub fn from_garbage(at: &Place) -> Fault {
    let message = format!("{} answered with something that is no JSON; {}", at.who(), at.check_url());
    Fault::new(at.setup(message, TroubleKind::Other), Cause::Final)
}

/// The reply stopped before it was whole.
pub fn broken(at: &Place, cause: Cause, why: &str, partial: String) -> Fault {
    let why = at.clean(why);
    let message = format!("the reply of {} broke off: {why}", at.who());
    let trouble = at.trouble(TroubleKind::Lost { tokens: 0 }, why);
    Fault::new(Failure::Failed { message, partial, trouble }, cause)
}

/// Nothing came within the limit.
pub fn silent(at: &Place, limit: Duration) -> Fault {
    let message = format!("{} sent nothing for {} s", at.who(), limit.as_secs_f64());
    // A slow machine would only begin to read the same prompt anew.
    let cause = if at.provider.local { Cause::Final } else { Cause::Request };
    Fault::new(at.failed(message, TroubleKind::Lost { tokens: 0 }), cause)
}

/// The connection failed before there was a reply.
pub fn from_connection(at: &Place, error: &reqwest::Error) -> Fault {
    let why = at.clean(&chain(error));
    let address = shown(at.url);
    if refused(error) && at.provider.local {
        let how = match &at.provider.start {
            Some(start) => format!("start it with `{start}`"),
            None => "start the server".to_owned(),
        };
        let (name, id) = (&at.provider.name, &at.provider.id);
        let who = if name == id { id.clone() } else { format!("{id} ({name})") };
        let message = format!("nothing listens at {address}: {how}, or set the base_url of provider {who}");
        // A server that is not there is not there half a second later either.
        return Fault::new(at.setup(message, at.silence()), Cause::Final);
    }
    if let Some(message) = tls(at, error).or_else(|| proxy(at, &why)) {
        return Fault::new(at.setup(message, TroubleKind::Other), Cause::Final);
    }
    let kind = if error.is_connect() { at.silence() } else { TroubleKind::Lost { tokens: 0 } };
    let message = if error.is_connect() && error.is_timeout() {
        format!(
            "cannot connect to {} at {address} within {} s",
            at.who(),
            at.provider.connect_timeout.as_secs_f64()
        )
    } else {
        format!("cannot reach {} at {address}: {why}", at.who())
    };
    Fault::new(at.failed(message, kind), Cause::Request)
}

/// What is wrong with the server's certificate, and who can mend it.
fn tls(at: &Place, error: &reqwest::Error) -> Option<String> {
    use rustls::CertificateError::{
        Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext,
        UnknownIssuer,
    };
    let rustls::Error::InvalidCertificate(bad) = cause::<rustls::Error>(error)? else { return None };
    let (id, name) = (&at.provider.id, &at.provider.name);
    let host = at.url.host_str().unwrap_or_default();
    let why = match bad {
        Expired | ExpiredContext { .. } => {
            "has expired: its owner has to renew it, unless the clock of this machine is wrong".to_owned()
        }
        NotValidYet | NotValidYetContext { .. } => {
            "is not valid yet: check the clock of this machine".to_owned()
        }
        NotValidForName | NotValidForNameContext { .. } => {
            format!("is for another host: check the base_url of provider {id}, and who answers in its place")
        }
        UnknownIssuer => format!(
            "is signed by nobody this machine trusts: if you do, name the file of the CA's certificate in \
             ca_certificate of [model_providers.{id}] or in SSL_CERT_FILE"
        ),
        other => format!(
            "cannot be trusted: {}; if your network has a CA of its own, name its file in SSL_CERT_FILE",
            at.clean(&other.to_string())
        ),
    };
    Some(format!("the certificate of {host} ({name}) {why}"))
}

/// A proxy that lets nobody through without a name. Which of the variables named it is not looked up,
/// for its value may hold a password.
fn proxy(at: &Place, why: &str) -> Option<String> {
    // The words of hyper-util for a CONNECT that was answered with 407.
    why.contains("proxy authorization required").then(|| at.proxy_key())
}

/// The error of this type in the chain; an `io::Error` hides the one it was made of.
fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(found) = error.downcast_ref().or_else(|| inner?.downcast_ref()) {
            return Some(found);
        }
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

/// A stop because the server wants a wait that is too long.
pub fn too_long(failure: &Failure, wait: Duration, now: Timestamp) -> Failure {
    let mut trouble = failure.trouble().cloned().unwrap_or_default();
    let Ok(retry_at) = now.checked_add(wait) else {
        // No calendar has such a day.
        let message = format!("{failure}; it wants no request any more");
        return Failure::Limited { message, retry_at: None, trouble: Box::new(trouble) };
    };
    let local = retry_at.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M %Z").to_string();
    let message = format!("{failure}; it resets at {local}");
    trouble.kind = TroubleKind::Limited { resets: Some(local) };
    Failure::Limited { message, retry_at: Some(retry_at), trouble: Box::new(trouble) }
}

/// The last fault after `made` requests.
pub fn after(fault: Fault, made: u32, now: Timestamp) -> Failure {
    let mut failure = fault.failure;
    match &mut failure {
        Failure::Failed { message, .. } => count(message, made),
        Failure::Limited { message, retry_at, .. } => {
            *retry_at = fault.hint.and_then(|wait| now.checked_add(wait).ok());
            count(message, made);
        }
        Failure::Cancelled
        | Failure::Setup { .. }
        | Failure::TooLong { .. }
        | Failure::NoImages(_)
        | Failure::NoTools(_)
        | Failure::NoThinking(_)
        | Failure::NoSchema(_) => {}
    }
    failure
}

fn count(message: &mut String, made: u32) {
    if made > 1 {
        message.push_str(&format!(" (after {made} requests)"));
    }
}

/// The deepest cause: the outer ones only say that something was tried.
pub fn chain(error: &dyn Error) -> String {
    let mut deepest = error;
    while let Some(inner) = deepest.source() {
        deepest = inner;
    }
    deepest.to_string()
}

impl Place<'_> {
    pub fn who(&self) -> String {
        match self.model {
            // What is asked is no model.
            "" => self.provider.name.clone(),
            model => format!("{} (model {model})", self.provider.name),
        }
    }

    fn check_url(&self) -> String {
        let (url, id) = (shown(self.url), &self.provider.id);
        format!("tried {url}: check the base_url of provider {id}, which for most servers ends with /v1")
    }

    fn proxy_key(&self) -> String {
        let variable = if self.url.scheme() == "http" { "HTTP_PROXY" } else { "HTTPS_PROXY" };
        format!(
            "the proxy before {} wants a user and a password (status 407): put them into {variable} or \
             ALL_PROXY, whichever names it, as http://USER:PASSWORD@HOST:PORT",
            self.who()
        )
    }

    pub(super) fn key(&self) -> String {
        match self.provider.key_from.as_ref().or(self.provider.env_key.as_ref()) {
            Some(name) => name.clone(),
            None => format!("the key of provider {}", self.provider.id),
        }
    }

    fn setup(&self, message: String, kind: TroubleKind) -> Failure {
        Failure::Setup { message, trouble: self.trouble(kind, String::new()) }
    }

    fn failed(&self, message: String, kind: TroubleKind) -> Failure {
        Failure::Failed { message, partial: String::new(), trouble: self.trouble(kind, String::new()) }
    }

    /// Somebody else's words, made fit for a terminal: one line, nothing that steers it, no secrets.
    pub fn clean(&self, text: &str) -> String {
        let text = self.hidden(text);
        let line: String = text.chars().map(|c| if steers(c) { ' ' } else { c }).collect();
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(WORDS) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }

    /// The text without this provider's secrets.
    pub(super) fn hidden(&self, text: &str) -> String {
        let provider = self.provider;
        let given = provider.headers.iter().chain(&provider.query);
        let given = given.flat_map(|(_, value)| value.reveal().split(' '));
        let known = provider.usable_key().into_iter().chain(given);
        // The base URL may hold some too.
        let password = self.url.password().unwrap_or_default();
        let mut in_url = vec![password.to_owned()];
        in_url.push(String::from_utf8_lossy(&hide::from_percent(password)).into_owned());
        in_url.extend(self.url.query_pairs().map(|(_, value)| value.into_owned()));
        hide::secrets(text, known.chain(in_url.iter().map(String::as_str)))
    }
}

fn explain(at: &Place, status: Option<u16>, sort: Sort, said: &Said) -> Fault {
    let who = at.who();
    let how = status.map_or_else(|| "an error".to_owned(), |status| format!("status {status}"));
    let words = at.clean(&said.message);
    let reason = if words.is_empty() { "no reason given" } else { words.as_str() };
    let message = format!("{who} answered with {how}: {reason}");
    let trouble = |kind| at.trouble(kind, words.clone());
    let setup = |message, kind| Failure::Setup { message, trouble: trouble(kind) };
    let failed = |message, kind| Failure::Failed { message, partial: String::new(), trouble: trouble(kind) };
    let limited = |message, kind| Failure::Limited { message, retry_at: None, trouble: trouble(kind) };
    let stop = |failure| Fault::new(failure, Cause::Final);
    match sort {
        Sort::Loading => Fault::new(failed(message, TroubleKind::Server { status }), Cause::Loading),
        Sort::TooLong => {
            let window = window(said);
            let tokens = asked_for(&said.message, window);
            let trouble = trouble(TroubleKind::TooLong { tokens, window, alone: false });
            stop(Failure::TooLong { message, window, trouble })
        }
        Sort::NoImages => stop(Failure::NoImages(message)),
        Sort::NoTools => stop(Failure::NoTools(message)),
        Sort::NoThinking => stop(Failure::NoThinking(message)),
        Sort::NoSchema => stop(Failure::NoSchema(message)),
        Sort::NoModel => {
            let kind = TroubleKind::NoModel { has: Vec::new() };
            stop(setup(format!("{message}; check the name of the model"), kind))
        }
        Sort::NoPath => stop(setup(format!("{message}; {}", at.check_url()), TroubleKind::Other)),
        Sort::Key | Sort::Denied if at.provider.usable_key().is_none() => {
            let variable = at.provider.env_key.clone();
            let how = match &variable {
                Some(name) => format!("set {name}"),
                None => format!("name its variable with env_key in [model_providers.{}]", at.provider.id),
            };
            stop(setup(format!("{message}; no key was sent: {how}"), TroubleKind::NoKey { variable }))
        }
        Sort::Key => {
            let message = format!("{message}; check {}", at.key());
            Fault::new(setup(message, TroubleKind::Key(at.sent())), Cause::Key)
        }
        Sort::Denied => {
            let message = format!("{message}; check {}", at.key());
            stop(setup(message, TroubleKind::Denied(at.sent())))
        }
        Sort::TooLarge => {
            let how = "start a new session, or leave out images";
            let message = format!("{message}; a proxy or the server takes no request of this size: {how}");
            stop(failed(message, TroubleKind::Other))
        }
        Sort::Proxy => stop(setup(at.proxy_key(), TroubleKind::Other)),
        Sort::Paid => {
            let from = at.key();
            let message = format!("{message}; the account behind {from} has nothing left");
            stop(limited(message, TroubleKind::Paid { from }))
        }
        Sort::Limited => Fault::new(limited(message, TroubleKind::Limited { resets: None }), Cause::Request),
        Sort::Passing => Fault::new(failed(message, TroubleKind::Server { status }), Cause::Request),
        Sort::Final => stop(failed(message, TroubleKind::Other)),
    }
}

fn sort(status: u16, said: &Said) -> Sort {
    let text = said.message.to_lowercase();
    let kind = said.kind.as_deref().unwrap_or_default();
    let says = |list: &[&str]| list.iter().any(|words| text.contains(words));
    match status {
        503 if text.contains("loading model") => Sort::Loading,
        402 => Sort::Paid,
        _ if PAID_KINDS.contains(&kind) || says(PAID) => Sort::Paid,
        429 => Sort::Limited,
        401 => Sort::Key,
        400 if says(KEY) => Sort::Key,
        400 if kind == MISFIT => Sort::Passing,
        403 => Sort::Denied,
        407 => Sort::Proxy,
        // Some servers report what a client did wrong with a 5xx, so words go before numbers.
        _ if LONG_KINDS.contains(&kind) || says(WINDOW) || says(LONG) => Sort::TooLong,
        413 => Sort::TooLong,
        _ if says(IMAGES) => Sort::NoImages,
        _ if says(TOOLS) => Sort::NoTools,
        400 | 422 if says(SCHEMA) => Sort::NoSchema,
        // A signature that is wrong or not there: the reasoning is of no use to this server.
        400 | 422 if says(THINKING) && (text.contains("signature") || !says(MISSING)) => Sort::NoThinking,
        404 if text.contains("model") => Sort::NoModel,
        300..=399 | 404 | 405 => Sort::NoPath,
        408 | 409 | 425 | 500..=599 => Sort::Passing,
        _ => Sort::Final,
    }
}

/// The size of the window, from its own field or from the words.
fn window(said: &Said) -> Option<u64> {
    let text = said.message.to_lowercase();
    let after = |words: &&str| number(text.split_once(words)?.1);
    // Anthropic's dialect has the limit after a sign: "210000 tokens > 200000 maximum".
    said.window.or_else(|| WINDOW.iter().find_map(after)).or_else(|| after(&" > "))
}

/// The number that `text` begins with, after white space; digits may be grouped.
fn number(text: &str) -> Option<u64> {
    let digits: String = text
        .trim_start()
        .chars()
        .take_while(|c| c.is_ascii_digit() || matches!(c, ',' | '_'))
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// A body that is no JSON: a page is only named, text is kept.
fn plain(text: &str) -> String {
    if text.trim_start().starts_with('<') { "a web page instead of JSON".into() } else { text.to_owned() }
}

fn refused(error: &reqwest::Error) -> bool {
    cause::<io::Error>(error).is_some_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "error_services.rs"]
mod services;
