//! Addresses: as people write them, as requests want them, as people may see them. Pure.

use std::net::IpAddr;

use reqwest::Url;

use super::Provider;
use crate::wire::Failure;

impl Provider {
    /// The address for this path of a wire (`/chat/completions`). A base URL that is only a host gets
    /// `/v1`, for messages also one without a version, as `ANTHROPIC_BASE_URL` has it; one that ends with
    /// a path of a wire already is taken as it is.
    pub fn url(&self, path: &str) -> Result<Url, Failure> {
        let mut url = parse(&self.base_url).ok_or_else(|| {
            let (id, given) = (&self.id, &self.base_url);
            Failure::setup(format!("the base_url of provider {id} is no http address: {given:?}"))
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
            let pairs = self.query.iter().map(|(name, secret)| (name, secret.reveal()));
            url.query_pairs_mut().extend_pairs(pairs);
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

/// An address for people: without user, password and query, which may hold a key.
pub fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

pub(super) fn parse(base_url: &str) -> Option<Url> {
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

#[cfg(test)]
mod tests {
    use super::super::Secret;
    use super::*;

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
            assert!(matches!(Provider::new("x", base).url("/p"), Err(Failure::Setup { .. })), "{base}");
        }
    }

    #[test]
    fn queries_are_added() {
        let mut provider = Provider::new("x", "https://h.example/v1?a=1");
        provider.query = vec![("b c".into(), Secret::new("2&3"))];
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
