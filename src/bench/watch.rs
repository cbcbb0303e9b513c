//! A client that remembers what it saw: whether the server failed, and how long it has been silent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::model::Model;
use crate::wire::prompt::Prompt;
use crate::wire::{Answer, Client, Failure, Progress};

/// Passes everything on.
pub struct Watched {
    client: Arc<dyn Client>,
    /// Sent with every request, where the run is to be repeatable.
    seed: Option<u64>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    requests: u32,
    /// How the last request failed.
    failure: Option<Failure>,
    /// When the request went out that nothing has been heard of yet.
    waiting: Option<Instant>,
}

impl Watched {
    pub fn new(client: Arc<dyn Client>, seed: Option<u64>) -> Self {
        Self { client, seed, seen: Mutex::default() }
    }

    pub fn requests(&self) -> u32 {
        self.seen().requests
    }

    /// What the server did to end the run: nothing that a harness could help.
    pub fn trouble(&self) -> Option<String> {
        match self.seen().failure.as_ref()? {
            Failure::Setup { message, .. }
            | Failure::Limited { message, .. }
            | Failure::Failed { message, .. } => Some(message.clone()),
            // It asks for what this server or model does not have: that is the harness's.
            Failure::TooLong { .. } | Failure::NoImages(_) | Failure::NoTools(_) | Failure::NoThinking(_)
            | Failure::NoSchema(_)
            // The run was stopped.
            | Failure::Cancelled => None,
        }
    }

    /// How long the request that is under way has been without any answer.
    pub fn silent(&self) -> Duration {
        self.seen().waiting.map(|since| since.elapsed()).unwrap_or_default()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Client for Watched {
    async fn ask(
        &self,
        model: &Model,
        prompt: &Prompt,
        hear: &mut (dyn FnMut(Progress) + Send),
        cancel: &CancellationToken,
    ) -> Result<Answer, Failure> {
        let mut prompt = prompt.clone();
        if let Some(seed) = self.seed {
            prompt.body.entry("seed").or_insert_with(|| seed.into());
        }
        *self.seen() = Seen { requests: self.requests() + 1, failure: None, waiting: Some(Instant::now()) };
        let mut listen = |progress: Progress| {
            self.seen().waiting = None;
            hear(progress);
        };
        let answer = self.client.ask(model, &prompt, &mut listen, cancel).await;
        let mut seen = self.seen();
        match &answer {
            Ok(_) => seen.waiting = None,
            // How long it had been silent when the run was stopped is asked for afterwards.
            Err(failure) => seen.failure = Some(failure.clone()),
        }
        drop(seen);
        answer
    }
}
