//! The HTTP client itself: TLS, proxies, certificates, headers.

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, Client, Url, redirect};

use crate::wire::Failure;
use crate::wire::provider::{Provider, is_loopback};

const AGENT: &str = concat!("tack/", env!("CARGO_PKG_VERSION"));

/// Proxies come from the usual variables (never for this machine), certificates from the system,
/// `SSL_CERT_FILE` or `SSL_CERT_DIR`, and the provider's own file. No redirect is followed: it
/// could carry the key to another host.
pub fn build(provider: &Provider, url: &Url) -> Result<Client, Failure> {
    // Fails only when it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(AGENT)
        .redirect(redirect::Policy::none())
        .connect_timeout(provider.connect_timeout)
        .tcp_nodelay(true);
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        // Reading the system's certificates takes longer than the whole rest of the start. Local
        // servers close idle connections early (llama.cpp after 5 s) and a request that meets the
        // closing fails, while a new connection costs next to nothing: so none is kept.
        builder = builder.tls_certs_only([]).pool_max_idle_per_host(0);
    } else if let Some(path) = &provider.ca_file {
        let shown = path.display();
        let setup = |why: String| Failure::setup(format!("cannot use the certificates in {shown}: {why}"));
        let pem = std::fs::read(path).map_err(|e| setup(e.to_string()))?;
        let certs = Certificate::from_pem_bundle(&pem).map_err(|e| setup(e.to_string()))?;
        if certs.is_empty() {
            return Err(setup("it holds none; PEM is wanted".into()));
        }
        builder = builder.tls_certs_merge(certs);
    }
    builder.build().map_err(|error| {
        let why = super::error::chain(&error);
        Failure::setup(format!(
            "cannot set up TLS: {why}; install the system's CA certificates or name them in SSL_CERT_FILE"
        ))
    })
}

/// The headers of every request to this provider. The user's own come last and win.
pub fn headers(provider: &Provider) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(key) = provider.usable_key() {
        let source = provider.key_from.as_deref().or(provider.env_key.as_deref()).unwrap_or("the key");
        match provider.quirks.x_api_key {
            true => headers.insert(HeaderName::from_static("x-api-key"), value(key, source)?),
            false => headers.insert(AUTHORIZATION, value(&format!("Bearer {key}"), source)?),
        };
    }
    for (name, secret) in &provider.headers {
        let parsed = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| Failure::setup(format!("{name:?} is no name for an HTTP header")))?;
        headers.insert(parsed, value(secret.reveal(), &format!("header {name}"))?);
    }
    Ok(headers)
}

/// What the API wants on every request, unless the user set it.
pub fn add(headers: &mut HeaderMap, wanted: &[(&'static str, &'static str)]) {
    for (name, text) in wanted {
        headers.entry(*name).or_insert(HeaderValue::from_static(text));
    }
}

fn value(text: &str, source: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        Failure::setup(format!("{source} holds characters that cannot be sent, such as a line break"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}
