//! A session without a model: everything can be looked at, nothing can be asked.

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::model::Model;
use crate::wire::prompt::Prompt;
use crate::wire::{Answer, Client, Failure, Progress};

/// What stands where a model's name would.
pub(super) const NAME: &str = "no-model";

/// Whoever is asked says how to choose somebody.
pub(super) struct Mute;

#[async_trait]
impl Client for Mute {
    async fn ask(
        &self,
        _model: &Model,
        _prompt: &Prompt,
        _hear: &mut (dyn FnMut(Progress) + Send),
        _cancel: &CancellationToken,
    ) -> Result<Answer, Failure> {
        Err(Failure::setup("no model is set up: /model lists what is on this machine".to_owned()))
    }
}
