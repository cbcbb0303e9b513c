//! A scripted model server on loopback: it answers each request with the next reply of its script.
//!
//! It runs on a thread of its own, so that tests of the library and of the real binary use it
//! alike. Frames are named as in the recipes for faults: [`txt`], [`call`], [`end`], [`done`]. One
//! script serves all wires: what a frame looks like depends on the path that is asked.
//!
//! It is as strict as the real services: a request that those would refuse gets a 400 with the rule's
//! words, and fails the test when the server is dropped, whatever the test is about.
//!
//! ```ignore
//! let server = Server::start(vec![sse([txt("hi"), end("stop"), done()])]);
//! // … talk to server.url() …
//! assert_eq!(server.requests().len(), 1);
//! ```
#![allow(dead_code)] // each test module uses another part

mod chat;
mod frame;
mod messages;
mod responses;
mod strict;
mod strict_messages;
mod strict_responses;
mod tests;
mod view;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tack::model::WireKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use frame::Manner;
pub use frame::*;
pub use strict::check;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Null when the body was no JSON.
    pub body: Value,
    pub at: Instant,
    /// The client closed the connection before the reply was complete.
    pub closed_early: bool,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// The API that was asked, by the path.
    pub fn wire(&self) -> WireKind {
        let path = self.path.split('?').next().unwrap_or_default();
        if path.ends_with("/responses") {
            WireKind::Responses
        } else if path.ends_with("/messages") {
            WireKind::Messages
        } else {
            WireKind::Chat
        }
    }

    /// The body as the chat API would have it: `messages` and `tools`, for assertions on any wire.
    pub fn chat(&self) -> Value {
        view::chat(self.wire(), &self.body)
    }

    /// The messages of [`Self::chat`], as text.
    pub fn said(&self) -> String {
        self.chat()["messages"].to_string()
    }

    /// Whether an image is anywhere in the messages.
    pub fn has_image(&self) -> bool {
        self.said().contains("{\"url\":\"data:image/")
    }
}

// The server.

type Hook = dyn Fn(&Request) -> Option<Reply> + Send + Sync;

/// How this server marks reasoning as its own: with its address, the wire and a hash of the text.
#[derive(Clone, Debug)]
pub struct Seal(String);

impl Seal {
    pub fn named(name: &str) -> Self {
        Self(name.to_owned())
    }

    pub fn make(&self, wire: WireKind, text: &str) -> String {
        let mut hash = DefaultHasher::new();
        (self.prefix(wire), text).hash(&mut hash);
        format!("{}{:016x}", self.prefix(wire), hash.finish())
    }

    pub fn is_own(&self, wire: WireKind, sealed: &str) -> bool {
        sealed.strip_prefix(&self.prefix(wire)).is_some_and(|hash| hash.len() == 16)
    }

    fn prefix(&self, wire: WireKind) -> String {
        format!("sealed-{}-{}-", wire.name(), self.0)
    }
}

struct Shared {
    script: Mutex<std::vec::IntoIter<Reply>>,
    requests: Mutex<Vec<Request>>,
    changed: Condvar,
    hook: Box<Hook>,
    seal: Seal,
    /// What a real service would have refused.
    broken: Mutex<Vec<String>>,
}

/// Stops when it is dropped.
pub struct Server {
    url: String,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Answers the n-th POST with the n-th reply, and "ok" after the last.
    pub fn start(script: Vec<Reply>) -> Self {
        Self::with(script, |_| None)
    }

    /// The same, but `hook` sees each request first; a reply of its own does not use up the script.
    pub fn with(
        script: Vec<Reply>,
        hook: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound address");
        let shared = Arc::new(Shared {
            script: Mutex::new(script.into_iter()),
            requests: Mutex::default(),
            changed: Condvar::new(),
            hook: Box::new(hook),
            seal: Seal(address.port().to_string()),
            broken: Mutex::default(),
        });
        let url = format!("http://{address}/v1");
        let (stop, stopped) = oneshot::channel();
        let inner = shared.clone();
        let thread = std::thread::spawn(move || serve(listener, &inner, stopped));
        Self { url, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// The base URL, `/v1` included.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// All requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Waits (at most 20 s) until the requests satisfy `ready`.
    pub fn wait(&self, ready: impl Fn(&[Request]) -> bool) {
        let requests = self.shared.requests.lock().unwrap();
        let limit = Duration::from_secs(20);
        let (_guard, waited) =
            self.shared.changed.wait_timeout_while(requests, limit, |r| !ready(r)).unwrap();
        assert!(!waited.timed_out(), "the server waited in vain");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let broken = std::mem::take(&mut *self.shared.broken.lock().unwrap());
        assert!(broken.is_empty() || std::thread::panicking(), "a real service refuses this: {broken:#?}");
    }
}

fn serve(listener: std::net::TcpListener, shared: &Arc<Shared>, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        listener.set_nonblocking(true).expect("a socket that can be polled");
        let listener = TcpListener::from_std(listener).expect("a listening socket");
        let accept = async {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                let shared = shared.clone();
                // Ends with the runtime at the latest.
                tokio::spawn(async move { connection(stream, &shared).await });
            }
        };
        tokio::select! { () = accept => {} _ = stopped => {} }
    });
}

/// One request, one reply, then the connection is closed.
async fn connection(mut stream: TcpStream, shared: &Shared) {
    let _ = stream.set_nodelay(true);
    let Some(request) = read_request(&mut stream).await else { return };
    let reply = pick(&request, shared);
    let body = frame::render(&reply, &request, &shared.seal);
    let number = {
        let mut requests = shared.requests.lock().unwrap();
        requests.push(request);
        requests.len() - 1
    };
    shared.changed.notify_all();
    let (mut reader, mut writer) = stream.split();
    let gone = async {
        // The client has nothing more to say: whatever ends this read is its closing.
        let mut buf = [0; 64];
        while reader.read(&mut buf).await.is_ok_and(|n| n > 0) {}
    };
    let closed_early = tokio::select! {
        biased;
        sent = write_reply(&mut writer, &reply, &body) => sent.is_err(),
        () = gone => true,
    };
    shared.requests.lock().unwrap()[number].closed_early = closed_early;
    shared.changed.notify_all();
    if !closed_early {
        let _ = writer.shutdown().await;
    }
}

fn pick(request: &Request, shared: &Shared) -> Reply {
    if request.method == "POST"
        && let Err(rule) = strict::check(request.wire(), &request.body, &shared.seal)
    {
        shared.broken.lock().unwrap().push(format!("{} {rule}", request.wire().name()));
        return error(400, &rule);
    }
    if let Some(reply) = (shared.hook)(request) {
        return reply;
    }
    if request.method != "POST" {
        return error(404, "no such page");
    }
    shared.script.lock().unwrap().next().unwrap_or_else(|| says("ok"))
}

async fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length =
        headers.iter().find(|(n, _)| n == "content-length").map_or(0, |(_, v)| v.parse().unwrap_or(0));
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Request { method, path, headers, body, at: Instant::now(), closed_early: false })
}

async fn write_reply(
    out: &mut (impl AsyncWriteExt + Unpin),
    reply: &Reply,
    body: &[Frame],
) -> std::io::Result<()> {
    match reply.manner {
        Manner::Answers => {}
        Manner::Silent => std::future::pending().await,
        Manner::HangsUp => return Ok(()),
    }
    let cut = body.iter().any(|f| matches!(f, Frame::Cut));
    let mut head = format!("HTTP/1.1 {} Scripted\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    if cut {
        // Promises more than will come, so that the client sees a broken body.
        head += "content-length: 99999999\r\n";
    }
    head += "\r\n";
    out.write_all(head.as_bytes()).await?;
    for frame in body {
        match frame {
            Frame::Bytes(bytes) if reply.flush > 0 => {
                for piece in bytes.chunks(reply.flush) {
                    out.write_all(piece).await?;
                    out.flush().await?;
                    tokio::task::yield_now().await;
                }
            }
            Frame::Bytes(bytes) => out.write_all(bytes).await?,
            Frame::Say(_) => unreachable!("everything said was put into bytes"),
            Frame::Pause(time) => tokio::time::sleep(*time).await,
            Frame::Hang => std::future::pending().await,
            Frame::Cut => return Ok(()),
        }
    }
    Ok(())
}

/// Says what is wrong with the history in a chat body, or in [`Request::chat`]: each call of an assistant message needs
/// exactly one tool message right after it, and ids are unique.
pub fn valid_history(body: &Value) -> Result<(), String> {
    let empty = Vec::new();
    let messages = body["messages"].as_array().ok_or("no messages")?;
    let mut seen = std::collections::HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(found) = open.iter().position(|o| *o == id) else {
                return Err(format!("message {at}: a result for {id:?}, which no open call has"));
            };
            open.remove(found);
            continue;
        }
        if let Some(id) = open.first() {
            return Err(format!("message {at}: call {id:?} has no result"));
        }
        for call in message["tool_calls"].as_array().unwrap_or(&empty) {
            let id = call["id"].as_str().unwrap_or_default();
            if id.is_empty() || !seen.insert(id) {
                return Err(format!("message {at}: call id {id:?} is empty or used twice"));
            }
            open.push(id);
        }
    }
    open.first().map_or(Ok(()), |id| Err(format!("call {id:?} has no result at the end")))
}
