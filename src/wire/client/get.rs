//! One GET: a server's list of models, or what it says of itself. Never repeated.

use std::time::Duration;

use reqwest::Url;
use serde_json::Value;

use super::HttpClient;
use super::auth::Wanted;
use super::error::{self, Place};
use crate::wire::{Failure, of};

/// How much is taken.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From the request to the end of the body.
    pub time: Duration,
    /// Of the body.
    pub bytes: usize,
}

/// What came back, whatever its status.
#[derive(Clone, Debug)]
pub struct Page {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Page {
    /// The body, when it is JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

impl HttpClient {
    /// The page at `url`, with this provider's headers, proxies and certificates.
    pub async fn get(&self, url: &Url, limits: Limits) -> Result<Page, Failure> {
        let wire = of(self.provider.wire);
        let (provider, headers) = self.keyed(wire, Wanted::Any).await?;
        let at = Place { provider: &provider, model: "", url };
        let fetch = async {
            let request = self.http(url)?.get(url.clone()).headers(headers.clone());
            let mut response =
                request.send().await.map_err(|error| error::from_connection(&at, &error).failure)?;
            let status = response.status().as_u16();
            let mut body = Vec::new();
            while let Some(bytes) =
                response.chunk().await.map_err(|error| error::from_connection(&at, &error).failure)?
            {
                if body.len() + bytes.len() > limits.bytes {
                    let what = format!("{} sent more than {} MiB", at.who(), limits.bytes >> 20);
                    return Err(Failure::failed(what));
                }
                body.extend_from_slice(&bytes);
            }
            Ok(Page { status, body })
        };
        match tokio::time::timeout(limits.time, fetch).await {
            Ok(page) => page,
            Err(_) => Err(error::silent(&at, limits.time).failure),
        }
    }

    /// The same, when it has to be JSON and well.
    pub async fn get_json(&self, url: &Url, limits: Limits) -> Result<Value, Failure> {
        let page = self.get(url, limits).await?;
        let at = Place { provider: &self.provider, model: "", url };
        if !(200..300).contains(&page.status) {
            return Err(error::from_status(&at, page.status, &String::from_utf8_lossy(&page.body)).failure);
        }
        let is_page = page.body.trim_ascii_start().starts_with(b"<");
        page.json().ok_or_else(|| match is_page {
            true => error::from_page(&at).failure,
            false => error::from_garbage(&at).failure,
        })
    }
}
