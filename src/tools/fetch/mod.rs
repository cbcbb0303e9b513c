//! Getting one page from the network, and showing its text.
//!
//! It runs in this process and asks the policy before every hop, rather than as a command in the
//! sandbox: it then needs neither a program nor certificates inside, uses the proxies and certificates
//! that the model's client uses, and is refused before anything is sent. What a policy says of the
//! network is one function of the sandbox ([`crate::sandbox::offline`]), and a kind of access that is
//! added there does not compile until it is answered for. So a page is reached exactly where a command
//! would reach it, this machine and the local network included. It carries no cookie, no key and no
//! referrer.
//!
//! `data`: `url` (where the page was in the end), `status`, `type`, `bytes` (read), `title`, `more` (the
//! page goes on), `charset` (of a page whose letters could not be read).

mod get;
mod html;
mod letters;

use std::time::Duration;

use serde_json::json;

use super::{ToolCx, failed, given, path, spill, words};
use crate::model::{FetchForm, Outcome, State};
use get::Page;

pub use get::host;

/// Bytes of a page that are read at most, and where a call gives no number.
const MOST: u64 = 4 * 1024 * 1024;
/// Time for all hops and the body, where a call gives none, and at most.
const TIME: u64 = 30_000;
const TIME_MOST: u64 = 120_000;

pub(super) struct Ask<'a> {
    pub(super) url: &'a str,
    pub(super) form: FetchForm,
    /// Bytes.
    pub(super) limit: Option<u64>,
    /// Milliseconds.
    pub(super) timeout: Option<u64>,
}

pub(super) async fn run(cx: &ToolCx<'_>, ask: Ask<'_>) -> Outcome {
    let most = given(ask.limit).unwrap_or(MOST).min(MOST);
    let time = given(ask.timeout).unwrap_or(TIME).min(TIME_MOST);
    let page = get::page((cx.policy, cx.elsewhere), ask.url, usize::try_from(most).unwrap_or(usize::MAX));
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Outcome::interrupted("stopped before the page was there"),
        page = tokio::time::timeout(Duration::from_millis(time), page) => match page {
            Ok(Ok(page)) => tell(cx, ask.form, &page),
            Ok(Err(refusal)) => refusal,
            Err(_) => {
                let text = format!(
                    "{} was not there after {} s; try again later or leave it out",
                    path::show_str(ask.url),
                    time.div_ceil(1000)
                );
                Outcome { state: State::TimedOut, ..failed("timeout", text) }
            }
        },
    }
}

/// What of a page a model is shown.
enum Shown {
    Text {
        text: String,
        title: Option<String>,
        strange: Option<String>,
    },
    /// Not text.
    Binary,
}

fn tell(cx: &ToolCx<'_>, form: FetchForm, page: &Page) -> Outcome {
    let url = path::show_str(page.url.as_str());
    let mut data = json!({
        "url": page.url.as_str(),
        "status": page.status,
        "type": page.kind,
        "bytes": page.body.len(),
        "more": page.more,
    });
    let (text, title, strange) = match shown(form, page) {
        Shown::Text { text, title, strange } => (text, title, strange),
        Shown::Binary => {
            let kind = if page.kind.is_empty() { "of no known type" } else { &page.kind };
            let size = words::count(page.body.len(), "byte");
            let least = if page.more { "more than " } else { "" };
            let text = format!("{url} is {kind}, {least}{size}: not text, so it is not shown");
            data["error"] = json!("binary");
            return Outcome { data, ..Outcome::failed(text) };
        }
    };
    data["title"] = json!(title);
    data["charset"] = json!(strange);
    let mut notes = Vec::new();
    if page.asked != page.url {
        notes.push(format!("[from {url}]"));
    }
    if page.more {
        let read = words::count(page.body.len(), "byte");
        notes.push(format!("[the page goes on; the first {read} of it were read]"));
    }
    if let Some(charset) = strange {
        notes.push(format!("[the page is in {charset}, of which only ASCII could be read]"));
    }
    let text = if text.trim().is_empty() { format!("{url} holds no text") } else { text };
    let (text, cut) = spill::fit(cx, &text);
    let text = notes.iter().fold(text, |text, note| format!("{text}\n{note}"));
    if (200..300).contains(&page.status) {
        return Outcome { data, cut, ..Outcome::ok(text) };
    }
    data["error"] = json!("status");
    let text = format!("{url} answered with status {}:\n{text}", page.status);
    Outcome { data, cut, ..Outcome::failed(text) }
}

fn shown(form: FetchForm, page: &Page) -> Shown {
    let Some(letters) = letters::read(&page.body, &page.kind, page.charset.as_deref()) else {
        return Shown::Binary;
    };
    let (text, strange) = (letters.text, letters.strange);
    let form = match form {
        FetchForm::Markdown => html::Form::Markdown,
        FetchForm::Text => html::Form::Text,
        FetchForm::Raw => return Shown::Text { text, title: None, strange },
    };
    if !is_html(&page.kind, &text) {
        return Shown::Text { text, title: None, strange };
    }
    let read = html::read(&text, form, &page.url);
    Shown::Text { text: read.text, title: read.title, strange }
}

fn is_html(kind: &str, text: &str) -> bool {
    let start: String = text.trim_start().chars().take(15).collect::<String>().to_ascii_lowercase();
    match kind {
        "text/html" | "application/xhtml+xml" => true,
        "" | "application/octet-stream" => start.starts_with("<!doctype html") || start.starts_with("<html"),
        _ => false,
    }
}
