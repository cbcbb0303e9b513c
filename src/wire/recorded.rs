//! A client that plays a recording: the model of the `demo` provider.
//!
//! Its replies ship in the binary: one recording for each harness that has one, or what whoever makes it
//! brings for another. Nothing is sent anywhere. What the replies bring about is as real as with any model.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::prompt::Prompt;
use super::{Answer, AnswerPart, Client, Failure, Progress};
use crate::model::{Model, Stop, Usage};

/// Harness ids and the recordings made for them.
const RECORDINGS: &[(&str, &str)] = &[
    ("mini-swe-agent", include_str!("recorded/mini-swe-agent.json")),
    ("minimal", include_str!("recorded/minimal.json")),
    ("swe-agent", include_str!("recorded/swe-agent.json")),
];

/// Plays its replies in order, one for each request.
pub struct Recorded {
    replies: Vec<Line>,
    next: AtomicUsize,
}

/// One reply.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub calls: Vec<Called>,
}

/// A call over the wire: a tool's name and its arguments, an object.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Called {
    pub name: String,
    pub args: Value,
}

impl Recorded {
    /// The recording for this harness, from its start; else for the nearest of those that it starts from,
    /// which follow it in `chain`. None where none of them has one.
    pub fn new<S: AsRef<str>>(chain: &[S]) -> Option<Self> {
        let recorded = |id: &S| RECORDINGS.iter().find(|(known, _)| *known == id.as_ref());
        let (_, text) = chain.iter().find_map(recorded)?;
        Some(Self::of(serde_json::from_str(text).expect("recordings ship with tack, and a test reads them")))
    }

    /// Plays these.
    pub fn of(replies: Vec<Line>) -> Self {
        Self { replies, next: AtomicUsize::new(0) }
    }
}

/// The harnesses that have a recording.
pub fn harnesses() -> impl Iterator<Item = &'static str> {
    RECORDINGS.iter().map(|(id, _)| *id)
}

#[async_trait]
impl Client for Recorded {
    async fn ask(
        &self,
        _model: &Model,
        _prompt: &Prompt,
        hear: &mut (dyn FnMut(Progress) + Send),
        cancel: &CancellationToken,
    ) -> Result<Answer, Failure> {
        if cancel.is_cancelled() {
            return Err(Failure::Cancelled);
        }
        let Some(line) = self.replies.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
            return Err(Failure::failed(
                "the recording has ended; the demo's model knows this one task only",
            ));
        };
        let mut parts = Vec::new();
        if !line.text.is_empty() {
            hear(Progress::Text(line.text.clone()));
            parts.push(AnswerPart::Text(line.text.clone()));
        }
        for call in &line.calls {
            hear(Progress::Call(call.name.clone()));
            parts.push(AnswerPart::Call { id: None, name: call.name.clone(), args: call.args.to_string() });
        }
        let stop = if line.calls.is_empty() { Stop::Done } else { Stop::Calls };
        Ok(Answer { parts, usage: Usage::default(), stop, requests: 0, run_on: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recording_can_be_read_and_is_not_empty() {
        for harness in harnesses() {
            let recorded = Recorded::new(&[harness]).unwrap();
            assert!(recorded.replies.len() > 3, "{harness}");
        }
        assert!(Recorded::new(&["other"]).is_none());
    }
}
