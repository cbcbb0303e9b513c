//! What a scripted server says: frames of a stream, and whole replies. Most are free of any wire;
//! [`render`] puts them into the words of the wire that was asked.

use std::time::Duration;

use serde_json::{Value, json};
use tack::model::WireKind;

use super::chat::Chat;
use super::messages::Messages;
use super::responses::Responses;
use super::{Request, Seal};

/// A piece of a reply's body, or something that happens between two pieces.
#[derive(Clone, Debug)]
pub enum Frame {
    /// In the words of whatever wire was asked.
    Say(Say),
    /// The same bytes on every wire.
    Bytes(Vec<u8>),
    Pause(Duration),
    /// Says nothing more and keeps the connection open until the client closes it.
    Hang,
    /// Breaks the connection in the middle of the body.
    Cut,
}

/// What every wire can say, each in its way.
#[derive(Clone, Debug)]
pub enum Say {
    /// In the shape of a chat delta: `content`, `reasoning_content`, `refusal`, `tool_calls`.
    Delta(Value),
    /// The chat API's reason: `stop`, `tool_calls`, `length`, `content_filter`.
    End(String),
    Usage {
        input: u64,
        output: u64,
    },
    /// The stream's own end mark, where the wire has one.
    Done,
    /// An error in the middle of the stream.
    Fails(String),
}

#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Body,
    /// Bytes per write; 0: a frame at a time.
    pub(super) flush: usize,
    pub(super) manner: Manner,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    Frames(Vec<Frame>),
    /// An error body in the shape of the wire that was asked.
    Refusal(Refusal),
}

/// Why a request is refused.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    Words(String),
    NoImages,
    TooLong { asked: u64, window: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Manner {
    Answers,
    /// Keeps the connection open and never says a word.
    Silent,
    /// Closes the connection without an answer.
    HangsUp,
}

// Frames.

/// One chat event with this JSON as data; on every wire, so only for tests of chat's own form.
pub fn event(data: &Value) -> Frame {
    raw(format!("data: {data}\n\n"))
}

/// A chunk with this delta.
pub fn delta(delta: &Value) -> Frame {
    Frame::Say(Say::Delta(delta.clone()))
}

pub fn txt(text: &str) -> Frame {
    delta(&json!({"content": text}))
}

/// Reasoning; sealed on the wires that seal it.
pub fn thought(text: &str) -> Frame {
    delta(&json!({"reasoning_content": text}))
}

pub fn call(index: u32, id: &str, name: &str, args: &str) -> Frame {
    let function = json!({"name": name, "arguments": args});
    delta(&json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}))
}

pub fn end(reason: &str) -> Frame {
    Frame::Say(Say::End(reason.into()))
}

pub fn usage(input: u64, output: u64) -> Frame {
    Frame::Say(Say::Usage { input, output })
}

pub fn done() -> Frame {
    Frame::Say(Say::Done)
}

/// An error inside the stream, after which nothing comes.
pub fn fails(message: &str) -> Frame {
    Frame::Say(Say::Fails(message.into()))
}

/// These bytes as they are.
pub fn raw(bytes: impl AsRef<[u8]>) -> Frame {
    Frame::Bytes(bytes.as_ref().to_vec())
}

// Replies.

/// An event stream. The connection is closed after the last frame.
pub fn sse(frames: impl IntoIterator<Item = Frame>) -> Reply {
    Reply {
        status: 200,
        headers: vec![("content-type".into(), "text/event-stream".into())],
        body: Body::Frames(frames.into_iter().collect()),
        flush: 0,
        manner: Manner::Answers,
    }
}

/// A whole turn that says `text`.
pub fn says(text: &str) -> Reply {
    sse([txt(text), end("stop"), done()])
}

/// A whole turn with one call.
pub fn calls(id: &str, name: &str, args: &Value) -> Reply {
    sse([call(0, id, name, &args.to_string()), end("tool_calls"), done()])
}

pub fn json_body(status: u16, body: &Value) -> Reply {
    text_body(status, "application/json", &body.to_string())
}

/// An error with these words, in the shape that the wire's own service uses.
pub fn error(status: u16, message: &str) -> Reply {
    refusal(status, Refusal::Words(message.into()))
}

/// A text-only model got an image.
pub fn no_images() -> Reply {
    refusal(400, Refusal::NoImages)
}

/// The prompt does not fit.
pub fn too_long(asked: u64, window: u64) -> Reply {
    refusal(400, Refusal::TooLong { asked, window })
}

fn refusal(status: u16, refusal: Refusal) -> Reply {
    let headers = vec![("content-type".into(), "application/json".into())];
    Reply { status, headers, body: Body::Refusal(refusal), flush: 0, manner: Manner::Answers }
}

pub fn text_body(status: u16, mime: &str, text: &str) -> Reply {
    let headers =
        vec![("content-type".into(), mime.into()), ("content-length".into(), text.len().to_string())];
    Reply { status, headers, body: Body::Frames(vec![raw(text)]), flush: 0, manner: Manner::Answers }
}

/// Takes the request and never answers.
pub fn silent() -> Reply {
    Reply { manner: Manner::Silent, ..sse([]) }
}

/// Takes the request and closes the connection.
pub fn hangs_up() -> Reply {
    Reply { manner: Manner::HangsUp, ..sse([]) }
}

impl Reply {
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sends the body `bytes` at a time, each in a write of its own.
    pub fn flush(mut self, bytes: usize) -> Self {
        self.flush = bytes;
        self
    }
}

// Words.

/// Says one thing after the other in the events of one wire.
pub(super) trait Tongue {
    fn say(&mut self, say: &Say) -> String;
}

/// The frames of a reply's body, all of them bytes or happenings.
pub(super) fn render(reply: &Reply, request: &Request, seal: &Seal) -> Vec<Frame> {
    let wire = request.wire();
    let frames = match &reply.body {
        Body::Frames(frames) => frames,
        Body::Refusal(refusal) => return vec![raw(refused(refusal, wire, reply.status).to_string())],
    };
    let counted = frames.iter().find_map(|frame| match frame {
        Frame::Say(Say::Usage { input, output }) => Some((*input, *output)),
        Frame::Say(_) | Frame::Bytes(_) | Frame::Pause(_) | Frame::Hang | Frame::Cut => None,
    });
    let mut tongue: Box<dyn Tongue> = match wire {
        WireKind::Chat => Box::new(Chat),
        WireKind::Responses => Box::new(Responses::new(&request.body, counted, seal)),
        WireKind::Messages => Box::new(Messages::new(counted, seal)),
    };
    let word = |frame: &Frame| match frame {
        Frame::Say(say) => raw(tongue.say(say)),
        Frame::Bytes(_) | Frame::Pause(_) | Frame::Hang | Frame::Cut => frame.clone(),
    };
    frames.iter().map(word).collect()
}

/// An error body as OpenAI, Anthropic and most compatible servers write it.
fn refused(refusal: &Refusal, wire: WireKind, status: u16) -> Value {
    let message = match (refusal, wire) {
        (Refusal::Words(words), _) => words.clone(),
        (Refusal::NoImages, WireKind::Chat) => "unknown variant `image_url`, expected `text`".into(),
        (Refusal::NoImages, WireKind::Responses) => {
            "Invalid content type. image_url is only supported by certain models.".into()
        }
        (Refusal::NoImages, WireKind::Messages) => "this model does not support image input".into(),
        (Refusal::TooLong { asked, window }, WireKind::Chat) => format!(
            "This model's maximum context length is {window} tokens. However, you requested {asked} tokens."
        ),
        (Refusal::TooLong { .. }, WireKind::Responses) => {
            "Your input exceeds the context window of this model. Please adjust your input and try again."
                .into()
        }
        (Refusal::TooLong { asked, window }, WireKind::Messages) => {
            format!("prompt is too long: {asked} tokens > {window} maximum")
        }
    };
    let code = match refusal {
        Refusal::TooLong { .. } => json!("context_length_exceeded"),
        Refusal::Words(_) | Refusal::NoImages => Value::Null,
    };
    match wire {
        WireKind::Chat => json!({"error": {"message": message, "type": "error", "code": code}}),
        WireKind::Responses => {
            json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": code}})
        }
        WireKind::Messages => {
            let kind = match status {
                401 => "authentication_error",
                402 => "billing_error",
                403 => "permission_error",
                404 => "not_found_error",
                413 => "request_too_large",
                429 => "rate_limit_error",
                529 => "overloaded_error",
                500.. => "api_error",
                _ => "invalid_request_error",
            };
            json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
        }
    }
}
