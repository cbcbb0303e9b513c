//! The request: every hop is asked of the policy anew, and nothing of the person's goes along.

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Client, Response, Url, redirect};

use super::super::{Elsewhere, failed, path};
use crate::model::Outcome;
use crate::sandbox::{self, Policy};

const AGENT: &str = concat!("tack/", env!("CARGO_PKG_VERSION"));
/// Longest address, in bytes, and most characters of a name that a server gives a type or a charset.
const ADDRESS: usize = 8 * 1024;
const NAME: usize = 80;
/// Redirects that are followed.
const HOPS: usize = 10;
const CONNECT: std::time::Duration = std::time::Duration::from_secs(10);

pub(super) struct Page {
    pub(super) asked: Url,
    /// Where it was found.
    pub(super) url: Url,
    pub(super) status: u16,
    /// The media type in small letters, without its parameters; empty when the server named none.
    pub(super) kind: String,
    pub(super) charset: Option<String>,
    pub(super) body: Vec<u8>,
    /// The body was longer.
    pub(super) more: bool,
}

/// The page, at most so many bytes of it.
pub(super) async fn page(
    (policy, elsewhere): (&Policy, Elsewhere),
    raw: &str,
    most: usize,
) -> Result<Page, Outcome> {
    let asked = address(raw)?;
    let mut url = asked.clone();
    for _ in 0..=HOPS {
        allowed(policy, &url)?;
        let response = send(&url).await?;
        match onward(&url, &response) {
            Some(next) => {
                url = next?;
                if elsewhere == Elsewhere::Told && place(&url) != place(&asked) {
                    return Err(stray(raw, &url));
                }
            }
            None => return read(asked, url, (response, most)).await,
        }
    }
    let text = format!("{} leads on and on: {HOPS} redirects were followed", path::show_str(raw));
    Err(failed("redirects", text))
}

/// Host and port of an address as a request would take it, in small letters; the port only where it is not the
/// usual one. None: it is no address.
pub fn host(raw: &str) -> Option<String> {
    let url = address(raw).ok().filter(Url::has_host)?;
    let (host, port) = place(&url);
    Some(port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

fn place(url: &Url) -> (&str, Option<u16>) {
    (url.host_str().unwrap_or_default(), url.port())
}

fn stray(raw: &str, url: &Url) -> Outcome {
    let text = format!(
        "{} leads to another host and was not followed; if it is wanted, ask for this address: {}",
        path::show_str(raw),
        path::show_str(url.as_str())
    );
    failed("elsewhere", text)
}

/// The address; one without a scheme is taken for https.
fn address(raw: &str) -> Result<Url, Outcome> {
    let trimmed = raw.trim();
    let full = if trimmed.contains("://") { trimmed.to_owned() } else { format!("https://{trimmed}") };
    Url::parse(&full).map_err(|why| {
        let text = format!(
            "{} is no address: {why}; give one such as https://example.org/page",
            path::show_str(raw)
        );
        failed("bad_url", text)
    })
}

fn allowed(policy: &Policy, url: &Url) -> Result<(), Outcome> {
    if url.as_str().len() > ADDRESS {
        return Err(failed("bad_url", format!("an address of more than {ADDRESS} bytes is not fetched")));
    }
    let shown = path::show_str(url.as_str());
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(failed("bad_url", format!("{shown} cannot be fetched; only http and https can")));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(failed(
            "bad_url",
            "an address with a user name or password is not fetched; leave it out",
        ));
    }
    match sandbox::offline(policy) {
        Some(why) => {
            let data = serde_json::json!({ "error": "denied", "rule": "network" });
            Err(Outcome { data, ..Outcome::refused(format!("{shown} was not fetched\n{why}")) })
        }
        None => Ok(()),
    }
}

async fn send(url: &Url) -> Result<Response, Outcome> {
    let shown = path::show_str(url.as_str());
    let lost = |error: &reqwest::Error| {
        failed("unreachable", format!("{shown} cannot be reached: {}", causes(error)))
    };
    let client = client(url).map_err(|error| lost(&error))?;
    let request = client
        .get(url.clone())
        .header(ACCEPT, "text/markdown, text/html;q=0.9, text/plain;q=0.9, */*;q=0.5")
        .header(ACCEPT_ENCODING, "identity");
    request.send().await.map_err(|error| lost(&error))
}

/// Proxies and certificates as for the model's server: the usual variables, never for this machine.
fn client(url: &Url) -> reqwest::Result<Client> {
    // Fails only when it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(AGENT)
        .redirect(redirect::Policy::none())
        .referer(false)
        .connect_timeout(CONNECT);
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || ip.is_ok_and(|ip| ip.is_loopback())
}

/// Where a redirect leads; None for what is no redirect.
fn onward(url: &Url, response: &Response) -> Option<Result<Url, Outcome>> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let place = response.headers().get(LOCATION)?;
    let place = String::from_utf8_lossy(place.as_bytes()).into_owned();
    let next = url.join(&place).map_err(|why| {
        failed(
            "redirects",
            format!(
                "{} leads to {}, which is no address: {why}",
                path::show_str(url.as_str()),
                path::show_str(&place)
            ),
        )
    });
    Some(next)
}

async fn read(asked: Url, url: Url, (mut response, most): (Response, usize)) -> Result<Page, Outcome> {
    let status = response.status().as_u16();
    let (kind, charset) = media(response.headers());
    let packed = response.headers().get(CONTENT_ENCODING).filter(|how| *how != "identity");
    if let Some(how) = packed {
        let how = String::from_utf8_lossy(how.as_bytes()).into_owned();
        let text = format!(
            "{} sent its page packed as {}, although that was not asked for",
            path::show_str(url.as_str()),
            path::show_str(&how)
        );
        return Err(failed("packed", text));
    }
    let (mut body, mut more) = (Vec::new(), false);
    while !more {
        let chunk = response.chunk().await.map_err(|error| {
            failed("unreachable", format!("{} broke off: {}", path::show_str(url.as_str()), causes(&error)))
        })?;
        let Some(chunk) = chunk else { break };
        let room = most - body.len();
        more = chunk.len() > room;
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
    Ok(Page { asked, url, status, kind, charset, body, more })
}

/// The media type and the charset that stands with it.
fn media(headers: &HeaderMap) -> (String, Option<String>) {
    let value = headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let value = value.unwrap_or_default().to_ascii_lowercase();
    let mut parts = value.split(';').map(str::trim);
    let short = |name: &str| name.chars().take(NAME).collect::<String>();
    let kind = short(parts.next().unwrap_or_default());
    let charset = parts
        .find_map(|part| part.strip_prefix("charset="))
        .map(|name| short(name.trim_matches(['"', '\''])));
    (kind, charset)
}

/// The error and what caused it, without the address, which is said already.
fn causes(error: &reqwest::Error) -> String {
    let mut said = vec![];
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        said.push(path::show_str(&inner.to_string()));
        cause = inner.source();
    }
    said.pop().unwrap_or_else(|| "the request could not be made".to_owned())
}
