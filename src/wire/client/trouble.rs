//! What is known of a failed attempt besides its sentence: facts for whoever shows it. Pure.

use super::error::Place;
use crate::model::{KeySent, Trouble, TroubleKind};
use crate::wire::Failure;
use crate::wire::models;

/// Most bytes of what a server sent.
const BODY: usize = 4 << 10;
/// A shorter key would be half told by its end.
const LONG_KEY: usize = 16;
/// Characters of a key that tell it from another one.
const END: usize = 4;
/// Most models that a sentence names.
const NAMED: usize = 3;

impl Place<'_> {
    /// What went wrong here, in the server's words.
    pub(super) fn trouble(&self, kind: TroubleKind, said: String) -> Box<Trouble> {
        let (provider, model) = (self.provider.id.clone(), self.model.to_owned());
        Box::new(Trouble { kind, provider, model, said, body: String::new() })
    }

    /// The key that went along.
    pub(super) fn sent(&self) -> KeySent {
        let key = self.provider.usable_key().filter(|key| key.chars().count() >= LONG_KEY);
        let ends = key.map(|key| key.chars().skip(key.chars().count() - END).collect());
        KeySent { from: self.key(), ends }
    }

    /// Nothing answers here.
    pub(super) fn silence(&self) -> TroubleKind {
        let host = match self.url.host_str().unwrap_or_default() {
            "127.0.0.1" | "[::1]" => "localhost",
            host => host,
        };
        let address = match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        TroubleKind::Unreachable { address, local: self.provider.local }
    }
}

/// Keeps what the server sent.
pub(super) fn keep_body(failure: &mut Failure, at: &Place<'_>, body: &str) {
    let Some(trouble) = failure.trouble_mut() else { return };
    let body = at.hidden(body);
    let body = body.trim();
    if body != trouble.said {
        let end = (0..=body.len().min(BODY)).rev().find(|end| body.is_char_boundary(*end));
        trouble.body = body[..end.unwrap_or(0)].to_owned();
    }
}

/// Whether a model is missing whose provider may have others.
pub(super) fn lacks_model(failure: &Failure) -> bool {
    failure.trouble().is_some_and(|trouble| matches!(trouble.kind, TroubleKind::NoModel { .. }))
}

/// Says what there is instead of the model that there is not.
pub(super) fn name_others(failure: &mut Failure, wanted: &str, names: Vec<String>) {
    let mut has = models::nearest(wanted, names);
    has.retain(|name| name != wanted);
    if let Failure::Setup { message, trouble } = failure
        && !has.is_empty()
    {
        message.push_str(&format!("; it has {}", models::few(&has, NAMED)));
        trouble.kind = TroubleKind::NoModel { has };
    }
}

/// How many tokens a server says that it was sent: no number is larger, and it is more than the window.
pub(super) fn asked_for(words: &str, window: Option<u64>) -> Option<u64> {
    let window = window?;
    let digits = words.split(|c: char| !c.is_ascii_digit() && !matches!(c, ',' | '_'));
    let numbers = digits.filter_map(|group| group.replace([',', '_'], "").parse::<u64>().ok());
    numbers.filter(|tokens| *tokens > window && *tokens < window.saturating_mul(1_000)).max()
}
