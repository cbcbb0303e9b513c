//! Reading one reply that began with a success status, whatever then comes.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::bytes::Bytes;

use super::error::{self, Fault, Place};
use super::retry::Cause;
use super::{Call, Hear};
use crate::model::Watch;
use crate::wire::fold::{Broken, Fold};
use crate::wire::sse::{Event, Parser};
use crate::wire::watch::Watcher;
use crate::wire::{Answer, Decoder, Progress, fault};

/// Most bytes of a whole reply.
const MOST: usize = 64 << 20;
/// After the finish reason only counts are still wanted, and they are not worth a long wait.
const AFTER_STOP: Duration = Duration::from_secs(5);
/// After the end mark: time for the connection's own end, so that it can be used again.
const AFTER_END: Duration = Duration::from_millis(20);

/// What the body is. Servers label it wrongly, its first character tells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Events,
    Json,
    Page,
}

/// The body's bytes under the limits of time and size.
struct Body<'a> {
    at: &'a Place<'a>,
    response: reqwest::Response,
    first_byte: Instant,
    received: usize,
}

/// Why there are no more bytes.
enum Gone {
    End,
    Broken(String),
    Silent,
    TooMuch,
}

pub(super) async fn read(
    call: &Call<'_>,
    response: reqwest::Response,
    first_byte: Instant,
    hear: Hear<'_>,
) -> Result<Answer, Fault> {
    let at = &call.at;
    let mut body = Body { at, response, first_byte, received: 0 };
    let mut head: Vec<u8> = Vec::new();
    let shape = loop {
        match body.next(at.provider.idle_timeout).await {
            Ok(bytes) => head.extend_from_slice(&bytes),
            Err(Gone::Silent) if body.received == 0 => {
                return Err(error::silent(at, at.provider.first_byte_timeout));
            }
            Err(gone) => return Err(body.broken(&gone, "the body is empty", String::new())),
        }
        if let Some(shape) = shape(&head) {
            break shape;
        }
    };
    let decoder = call.wire.decoder();
    match shape {
        Shape::Events => events(body, &head, (decoder, call.watch), hear).await,
        Shape::Json => json(body, head, decoder, hear).await,
        Shape::Page => Err(error::from_page(at)),
    }
}

async fn events(
    mut body: Body<'_>,
    head: &[u8],
    (decoder, watch): (Box<dyn Decoder>, Watch),
    hear: Hear<'_>,
) -> Result<Answer, Fault> {
    let mut listener = Listener::new(decoder, hear, watch);
    let mut parser = Parser::default();
    let mut found: Vec<Event> = Vec::new();
    let mut warned = false;
    let mut fed = parser.feed(head, &mut found);
    let why = loop {
        if parser.invalid() && !warned {
            warned = true;
            (listener.hear)(Progress::Waiting("the server sent bytes that are not UTF-8".into()));
        }
        listener.take(&mut found);
        if let Err(oversize) = fed {
            break oversize.to_string();
        }
        if listener.cut {
            // Dropped with the body, the connection ends, and with it the server's work.
            break String::new();
        }
        if listener.fold.ended() {
            body.drain().await;
            break String::new();
        }
        let idle = body.at.provider.idle_timeout;
        let idle = if listener.fold.stopped() { idle.min(AFTER_STOP) } else { idle };
        match body.next(idle).await {
            Ok(bytes) => fed = parser.feed(&bytes, &mut found),
            Err(gone) => {
                if matches!(gone, Gone::End) {
                    parser.finish(&mut found);
                    listener.take(&mut found);
                }
                break gone.say("the stream ended before a finish reason");
            }
        }
    };
    let skipped = listener.decoder.skipped();
    let broken = match listener.fold.finish() {
        // An end without anything before it, where something was that nobody could read.
        Ok(answer) if answer.parts.is_empty() && skipped > 0 => {
            let why = unreadable(skipped);
            return Err(error::broken(body.at, Cause::Stream, &why, String::new()));
        }
        Ok(answer) => {
            if skipped > 0 {
                (listener.hear)(Progress::Waiting(format!(
                    "{skipped} events of the reply were not readable"
                )));
            }
            return Ok(answer);
        }
        Err(broken) => broken,
    };
    let why = match (why.is_empty(), skipped) {
        (true, 0) => "the stream ended without a reply".to_owned(),
        (true, n) => unreadable(n),
        (false, 0) => why,
        (false, n) => format!("{why}; {}", unreadable(n)),
    };
    Err(fail(body.at, broken, &why))
}

async fn json(
    mut body: Body<'_>,
    mut bytes: Vec<u8>,
    decoder: Box<dyn Decoder>,
    hear: Hear<'_>,
) -> Result<Answer, Fault> {
    let at = body.at;
    loop {
        match body.next(at.provider.idle_timeout).await {
            Ok(more) => bytes.extend_from_slice(&more),
            Err(Gone::End) => break,
            Err(gone) => return Err(body.broken(&gone, "", String::new())),
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let value: Value = match serde_json::from_str(text.trim_start_matches('\u{FEFF}')) {
        Ok(value) => value,
        Err(_) => return Err(error::broken(at, Cause::Stream, "the body is not JSON", String::new())),
    };
    if value.get("choices").is_none()
        && let Some(said) = fault::find(&value)
    {
        return Err(error::from_stream(at, said.message, said.kind, String::new()));
    }
    let mut listener = Listener::new(decoder, hear, Watch::default());
    for delta in listener.decoder.body(&value) {
        listener.fold.push(delta).map(&mut *listener.hear);
    }
    listener.fold.finish().map_err(|broken| fail(at, broken, "the body holds no reply"))
}

fn fail(at: &Place, broken: Broken, why: &str) -> Fault {
    match broken.error {
        Some((message, kind)) => error::from_stream(at, message, kind, broken.partial),
        None => Fault::after(error::broken(at, Cause::Stream, why, broken.partial), broken.tokens),
    }
}

/// Where events go: decoded, folded, and heard.
struct Listener<'a> {
    decoder: Box<dyn Decoder>,
    fold: Fold,
    hear: Hear<'a>,
    watcher: Watcher,
    /// The reply ran on and is not listened to any more.
    cut: bool,
}

impl<'a> Listener<'a> {
    fn new(decoder: Box<dyn Decoder>, hear: Hear<'a>, watch: Watch) -> Self {
        Self { decoder, fold: Fold::default(), hear, watcher: Watcher::new(watch), cut: false }
    }

    fn take(&mut self, events: &mut Vec<Event>) {
        for event in events.drain(..) {
            // What comes behind the end in the same bytes is as little of the reply as what comes later.
            if self.fold.ended() || self.cut {
                return;
            }
            for delta in self.decoder.event(&event.name, &event.data) {
                let run_on = if self.fold.stopped() { None } else { self.watcher.hear(&delta) };
                if let Some(progress) = self.fold.push(delta) {
                    (self.hear)(progress);
                }
                if let Some(why) = run_on {
                    self.fold.cut(why);
                    self.cut = true;
                    return;
                }
            }
        }
    }
}

impl Body<'_> {
    async fn next(&mut self, idle: Duration) -> Result<Bytes, Gone> {
        let chunk = if self.received == 0 {
            timeout_at(self.first_byte, self.response.chunk()).await
        } else {
            timeout(idle, self.response.chunk()).await
        };
        let bytes = match chunk {
            Err(_) => return Err(Gone::Silent),
            Ok(Err(error)) => return Err(Gone::Broken(error::chain(&error))),
            Ok(Ok(None)) => return Err(Gone::End),
            Ok(Ok(Some(bytes))) => bytes,
        };
        self.received += bytes.len();
        if self.received > MOST { Err(Gone::TooMuch) } else { Ok(bytes) }
    }

    /// Waits a moment for the end of a body that has nothing more to say.
    async fn drain(&mut self) {
        let _ = timeout(AFTER_END, async { while let Ok(Some(_)) = self.response.chunk().await {} }).await;
    }

    fn broken(&self, gone: &Gone, at_end: &str, partial: String) -> Fault {
        let cause = if self.received == 0 { Cause::Request } else { Cause::Stream };
        error::broken(self.at, cause, &gone.say(at_end), partial)
    }
}

impl Gone {
    fn say(&self, at_end: &str) -> String {
        match self {
            Self::End => at_end.to_owned(),
            Self::Broken(why) => why.clone(),
            Self::Silent => "the server went silent".to_owned(),
            Self::TooMuch => format!("it is larger than {} MB", MOST >> 20),
        }
    }
}

fn unreadable(events: usize) -> String {
    match events {
        1 => "1 event was not readable".to_owned(),
        n => format!("{n} events were not readable"),
    }
}

/// None while there is only white space.
fn shape(head: &[u8]) -> Option<Shape> {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    // A part of the mark cannot be told from text yet.
    if head.len() < 3 && b"\xEF\xBB\xBF".starts_with(head) {
        return None;
    }
    head.iter().find(|b| !b.is_ascii_whitespace()).map(|first| match first {
        b'{' | b'[' => Shape::Json,
        b'<' => Shape::Page,
        _ => Shape::Events,
    })
}
