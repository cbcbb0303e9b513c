//! The scripted model server: blocking, on a thread of its own, so that its work is in nobody's figures.
//!
//! It knows one script at a time and notes when each request was complete and when the reply's last
//! byte had been handed to the kernel. It must not know who asks.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::text::Text;
use crate::wires::{Said, Wire};

/// What the server answers.
#[derive(Clone, Copy, Debug)]
pub enum Script {
    /// So many replies with one shell call each, then a closing text.
    Calls(usize),
    /// One reply, streamed in so many pieces of text.
    Deltas(usize),
    /// One reply of so many lines of this, streamed line by line.
    Lines(Text, usize),
    /// The same prose word by word: so many words, each after this time.
    Words(usize, Duration),
}

/// One request and its reply.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The whole request had arrived.
    pub asked: Instant,
    /// The reply's last bytes were about to be sent.
    pub answered: Instant,
    /// Memory of the asking process at that moment, in bytes; 0 when it is unknown.
    pub memory: u64,
}

/// Listens until the process ends.
pub struct Server {
    pub url: String,
    script: Arc<Mutex<Script>>,
    /// The process whose memory is looked at.
    client: Arc<AtomicU32>,
    seen: Receiver<Seen>,
}

impl Server {
    pub fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}/v1", listener.local_addr()?);
        let script = Arc::new(Mutex::new(Script::Deltas(1)));
        let client = Arc::new(AtomicU32::new(0));
        let (to, seen) = channel();
        let (inner, pid) = (script.clone(), client.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, pid, to) = (inner.clone(), pid.clone(), to.clone());
                // A connection that breaks is noticed by the requests that are missing.
                std::thread::spawn(move || serve(&stream, &script, &pid, &to));
            }
        });
        Ok(Self { url, script, client, seen })
    }

    /// Sets what is answered next and forgets what was seen.
    pub fn play(&self, script: Script) {
        *self.script.lock().expect("no holder of the script panics") = script;
        let _ = self.take();
    }

    pub fn watch(&self, pid: u32) {
        self.client.store(pid, Ordering::Relaxed);
    }

    /// The requests since the last call.
    pub fn take(&self) -> Vec<Seen> {
        self.seen.try_iter().collect()
    }
}

fn serve(
    stream: &TcpStream,
    script: &Mutex<Script>,
    pid: &AtomicU32,
    to: &Sender<Seen>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some((wire, body)) = request(&mut reader)? {
        let asked = Instant::now();
        let memory = resident(pid.load(Ordering::Relaxed));
        let script = *script.lock().expect("no holder of the script panics");
        let events = reply(script, wire, &serde_json::from_slice(&body)?);
        let mut out = stream;
        out.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        for (n, event) in events.iter().enumerate() {
            if let Script::Words(_, pause) = script {
                std::thread::sleep(pause);
            }
            // A write each, as servers flush once a token.
            let mut bytes = format!("{:x}\r\n{event}\r\n", event.len());
            if n + 1 == events.len() {
                bytes.push_str("0\r\n\r\n");
                // Noted before the write: the client may be done with it before we are back.
                let _ = to.send(Seen { asked, answered: Instant::now(), memory });
            }
            out.write_all(bytes.as_bytes())?;
        }
    }
    Ok(())
}

/// A request's API and body; None when the connection was closed.
fn request(reader: &mut impl BufRead) -> std::io::Result<Option<(Wire, Vec<u8>)>> {
    let mut length = 0;
    let mut wire = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_ascii_lowercase();
        wire = wire.or_else(|| line.split(' ').nth(1).map(Wire::of));
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(std::io::Error::other)?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((wire.unwrap_or(Wire::Chat), body)))
}

fn reply(script: Script, wire: Wire, request: &Value) -> Vec<String> {
    wire.events(&match script {
        Script::Deltas(pieces) => Said::Words(pieces),
        Script::Lines(text, lines) => Said::Pieces(text.lines(lines)),
        Script::Words(words, _) => Said::Pieces(Text::words(words)),
        Script::Calls(most) => match wire.results(request) {
            done if done < most => Said::Call(done, wire.shell(request)),
            _ => Said::Word("done"),
        },
    })
}

/// Resident memory of a process, in bytes, see proc_pid_statm(5).
pub fn resident(pid: u32) -> u64 {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
