//! What a frontend hears, and how it gets there.
//!
//! Events go one way, over one bounded channel. The loop never waits for a slow reader while a
//! reply streams: text that finds the channel full is merged with the text before it.

use std::collections::VecDeque;
use std::path::PathBuf;

use tokio::sync::mpsc::{Receiver, Sender, channel, error::TrySendError};
use tokio_util::sync::CancellationToken;

use super::permit::Request;
use crate::model::{Item, Model, Outcome, SessionId, ToolCall, Trouble, TroubleKind, Usage};

/// How many events may wait for a frontend.
const ROOM: usize = 256;
/// How long a stopped run waits for its frontend to take an event.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(500);

#[derive(Clone, Debug)]
pub enum Event {
    /// Always first.
    Session {
        id: SessionId,
        resumed: bool,
        cwd: PathBuf,
    },
    /// The session cannot be kept from here on: no resuming it later.
    NotRecorded,
    /// Something the person should know; nothing stopped.
    Warning(String),
    TurnStarted,
    /// More of the reply's text.
    Text(String),
    /// More of the reply's reasoning.
    Thinking(String),
    /// What was heard of the current reply is void; the request goes out again.
    Again {
        attempt: u32,
        of: u32,
        wait_ms: u64,
        why: String,
        trouble: TroubleKind,
    },
    /// Waiting for something that takes long.
    Waiting(String),
    /// The person is to decide about these calls of the reply; the turn waits for
    /// [`Desk::answer`](super::Desk::answer).
    Ask {
        id: u64,
        requests: Vec<Request>,
    },
    /// The answer is no longer waited for.
    AskVoid(u64),
    /// A call is about to run.
    CallStarted {
        call: ToolCall,
        /// The file it will write is not there yet.
        makes_file: bool,
    },
    /// An item was added to the session. A `Result` ends the call of that id.
    Item(Box<Item>),
    /// From here on, this model and this harness.
    Speaks {
        model: Box<Model>,
        harness: String,
    },
    /// A command of the person's own came to its end.
    Ran {
        command: String,
        outcome: Box<Outcome>,
    },
    /// Always last in a turn.
    TurnEnded {
        end: End,
        /// All tokens of the session so far.
        usage: Usage,
        /// US dollars spent in this run; None when a price is not known.
        cost: Option<f64>,
    },
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The model's last message; None when it ended without words.
    Completed {
        message: Option<String>,
    },
    Failed {
        /// A sentence for who ran tack without a session.
        message: String,
        trouble: Box<Trouble>,
    },
    /// Steps, cost, time or the loop guard.
    Limit {
        message: String,
    },
    Interrupted,
}

/// The loop's side of the channel.
pub struct Outbox {
    to: Sender<Event>,
    waiting: VecDeque<Event>,
    stop: CancellationToken,
    /// Nobody hears what streams.
    whole: bool,
}

/// Makes the channel between a loop and its frontend. Once `stop` is pulled, a frontend that does
/// not take its events holds nothing up.
pub fn events(stop: CancellationToken) -> (Outbox, Receiver<Event>) {
    let (to, from) = channel(ROOM);
    (Outbox { to, waiting: VecDeque::new(), stop, whole: false }, from)
}

impl Outbox {
    /// For a frontend that shows replies as a whole: pieces of text are not handed over, as waking
    /// another thread costs more than reading the piece.
    pub fn whole_replies(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Hands over an event, waiting for room. A frontend that is gone is no error: it also stops
    /// the turn.
    pub async fn send(&mut self, event: Event) {
        self.flush().await;
        self.deliver(event).await;
    }

    /// Hands over an event without waiting; for use while a reply streams.
    pub fn post(&mut self, event: Event) {
        if self.whole && matches!(event, Event::Text(_) | Event::Thinking(_)) {
            return;
        }
        while let Some(first) = self.waiting.pop_front() {
            if let Err(TrySendError::Full(back)) = self.to.try_send(first) {
                self.waiting.push_front(back);
                self.merge(event);
                return;
            }
        }
        if let Err(TrySendError::Full(back)) = self.to.try_send(event) {
            self.waiting.push_back(back);
        }
    }

    /// Hands over everything that [`post`](Self::post) could not.
    pub async fn flush(&mut self) {
        while let Some(first) = self.waiting.pop_front() {
            self.deliver(first).await;
        }
    }

    /// Waits until nobody hears anything any more.
    pub async fn gone(&self) {
        self.to.closed().await;
    }

    async fn deliver(&self, event: Event) {
        let patience = async {
            self.stop.cancelled().await;
            tokio::time::sleep(PATIENCE).await;
        };
        tokio::select! {
            biased;
            room = self.to.reserve() => if let Ok(room) = room { room.send(event) },
            () = patience => {}
        }
    }

    fn merge(&mut self, event: Event) {
        match (self.waiting.back_mut(), event) {
            (Some(Event::Text(before)), Event::Text(more))
            | (Some(Event::Thinking(before)), Event::Thinking(more)) => before.push_str(&more),
            (_, event) => self.waiting.push_back(event),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_full_channel_merges_text_and_loses_nothing() {
        let (mut out, mut from) = events(CancellationToken::new());
        for n in 0..10_000 {
            out.post(Event::Text(format!("{n},")));
        }
        assert!(out.waiting.len() <= 1, "text waits in one piece, not in {}", out.waiting.len());
        let reader = async {
            let mut text = String::new();
            while let Some(event) = from.recv().await {
                match event {
                    Event::Text(more) => text.push_str(&more),
                    Event::TurnStarted => break,
                    other => panic!("unexpected {other:?}"),
                }
            }
            text
        };
        let (text, ()) = tokio::join!(reader, out.send(Event::TurnStarted));
        let want: String = (0..10_000).map(|n| format!("{n},")).collect();
        assert_eq!(text, want);
    }
}
