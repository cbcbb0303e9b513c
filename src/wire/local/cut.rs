//! A client for servers that cut a prompt above their window without a word, as Ollama does: it holds
//! back what is known not to fit, and notices what was cut all the same.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::model::{Model, Trouble, TroubleKind};
use crate::wire::prompt::{Piece, Prompt};
use crate::wire::{Answer, Client, Failure, Progress};

/// Sizes below this are too small to tell a cut from an estimate that is off.
const LEAST: u64 = 1_000;
/// Growth in tokens of which something has to show in the count.
const GROWTH: u64 = 400;

/// What to do about a window of Ollama's that is too small.
pub const REMEDY: &str = "start it with more room: OLLAMA_CONTEXT_LENGTH=32768 ollama serve";

/// Asks through another client.
pub struct Cutting {
    inner: Arc<dyn Client>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The estimate of what was sent last, and what the server counted of it.
    last: Option<(u64, u64)>,
    warned: bool,
}

impl Cutting {
    pub fn new(inner: Arc<dyn Client>) -> Self {
        Self { inner, seen: Mutex::default() }
    }

    /// A sentence, once, when the counts tell that a prompt was cut.
    fn notice(&self, sent: u64, read: u64) -> Option<String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let last = seen.last.replace((sent, read));
        if seen.warned || !was_cut(last, sent, read) {
            return None;
        }
        seen.warned = true;
        Some(format!(
            "the server read {read} of about {sent} tokens: it cuts what does not fit and does not say so; {REMEDY}"
        ))
    }
}

/// By the estimate of what was sent and the count of what was read, now and the time before. Text has
/// seldom more than six characters a token, and the estimate takes four.
fn was_cut(last: Option<(u64, u64)>, sent: u64, read: u64) -> bool {
    // Zero is no count.
    if sent < LEAST || read == 0 {
        return false;
    }
    let flat = last.is_some_and(|(before, counted)| {
        let grown = sent.saturating_sub(before);
        counted > 0 && grown >= GROWTH && read.saturating_sub(counted) < grown / 4
    });
    read < sent / 2 || flat
}

/// About how many tokens a prompt has: its characters through four.
fn size(prompt: &Prompt) -> u64 {
    let system = prompt.system.iter().map(|block| block.chars().count());
    let messages = prompt.messages.iter().flat_map(|message| &message.pieces).map(characters);
    let tools = prompt
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.about.chars().count() + tool.schema.to_string().chars().count());
    (system.chain(messages).chain(tools).sum::<usize>() / 4) as u64
}

fn characters(piece: &Piece) -> usize {
    match piece {
        Piece::Text(text) | Piece::Thinking { text, .. } => text.chars().count(),
        Piece::Call { name, args, .. } => name.chars().count() + args.chars().count(),
        Piece::Result { pieces, .. } => pieces.iter().map(characters).sum(),
        Piece::Image { .. } => 0,
    }
}

#[async_trait]
impl Client for Cutting {
    async fn ask(
        &self,
        model: &Model,
        prompt: &Prompt,
        hear: &mut (dyn FnMut(Progress) + Send),
        cancel: &CancellationToken,
    ) -> Result<Answer, Failure> {
        let sent = size(prompt);
        if let Some(window) = model.window.filter(|window| sent > *window) {
            let message = format!(
                "about {sent} tokens are to be sent, {} has room for {window}, and its server would cut the rest \
                 without a word; {REMEDY}",
                model.name
            );
            let kind = TroubleKind::TooLong { tokens: Some(sent), window: Some(window), alone: false };
            let (provider, name) = (model.provider.clone(), model.name.clone());
            let trouble = Trouble { kind, provider, model: name, ..Trouble::default() };
            return Err(Failure::TooLong { message, window: None, trouble: Box::new(trouble) });
        }
        let answer = self.inner.ask(model, prompt, hear, cancel).await?;
        if let Some(warning) = self.notice(sent, answer.usage.input) {
            hear(Progress::Warning(warning));
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_shows_in_the_counts() {
        let table = [
            ("as sent", None, 3_000, 2_900, false),
            ("sparse text", None, 3_000, 1_900, false),
            ("dense text", None, 3_000, 4_400, false),
            ("far below", None, 6_000, 2_048, true),
            ("no count", None, 6_000, 0, false),
            ("small", None, 900, 100, false),
            ("grows with it", Some((3_000, 2_900)), 4_000, 3_800, false),
            ("flat while it grows", Some((3_000, 2_900)), 4_000, 2_950, true),
            ("less while it grows", Some((3_000, 4_000)), 4_000, 3_700, true),
            ("summed up", Some((4_000, 3_900)), 1_200, 1_150, false),
            ("a little more", Some((3_000, 2_900)), 3_100, 2_900, false),
            ("no count before", Some((3_000, 0)), 4_000, 3_900, false),
        ];
        for (what, last, sent, read, want) in table {
            assert_eq!(was_cut(last, sent, read), want, "{what}");
        }
    }
}
