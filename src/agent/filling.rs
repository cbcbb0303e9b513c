//! What fills the window, by part: for a person who wants to know, not for the loop.

use super::Agent;
use crate::wire::prompt::{Piece, Role, ToolSpec};

/// What of the window is taken by what, in about so many tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filling {
    pub system: u64,
    pub tools: u64,
    /// By what they are: prompts, replies, results, notes, summaries; the largest first.
    pub parts: Vec<(&'static str, u64)>,
    /// All of it, as the server counted last, with what came since.
    pub used: u64,
    pub window: Option<u64>,
    /// Where it is compacted.
    pub compacts_at: Option<u64>,
    /// Results that are sent as one line.
    pub masked: usize,
}

impl Agent {
    /// As the next request would be, in about so many tokens: a quarter of the bytes.
    pub(super) async fn filling(&self) -> Filling {
        let Ok(prompt) = self.harness.prompt(&self.view()).await else { return Filling::default() };
        let tokens = |bytes: usize| bytes as u64 / 4;
        let mut parts: Vec<(&'static str, u64)> = Vec::new();
        for message in &prompt.messages {
            for piece in &message.pieces {
                let (what, bytes) = kind(message.role, piece);
                match parts.iter_mut().find(|(name, _)| *name == what) {
                    Some((_, sum)) => *sum += tokens(bytes),
                    None => parts.push((what, tokens(bytes))),
                }
            }
        }
        let spec = |tool: &ToolSpec| tool.name.len() + tool.about.len() + tool.schema.to_string().len();
        let filling = Filling {
            system: tokens(prompt.system.iter().map(String::len).sum()),
            tools: tokens(prompt.tools.iter().map(spec).sum()),
            parts,
            used: self.estimate(),
            window: self.model.window,
            compacts_at: self.room(),
            masked: self.harness.masked(&self.view()).results,
        };
        filling.whole()
    }
}

impl Filling {
    /// Its parts, which are known by their bytes, in tokens that make up what the server counted.
    fn whole(mut self) -> Self {
        let used = self.used;
        let mut parts: Vec<&mut u64> = [&mut self.system, &mut self.tools].into_iter().collect();
        parts.extend(self.parts.iter_mut().map(|(_, tokens)| tokens));
        let sum: u64 = parts.iter().map(|tokens| **tokens).sum();
        if sum > 0 && used > 0 {
            parts.iter_mut().for_each(|tokens| **tokens = tokens.saturating_mul(used) / sum);
            let lost = used - parts.iter().map(|tokens| **tokens).sum::<u64>().min(used);
            // What rounding left out shows least where most is.
            if let Some(largest) = parts.into_iter().max() {
                *largest += lost;
            }
        }
        self.parts.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
        self
    }
}

/// What a piece is to a person, and its bytes.
fn kind(role: Role, piece: &Piece) -> (&'static str, usize) {
    match piece {
        Piece::Text(text) => match role {
            Role::User => ("your messages", text.len()),
            Role::Assistant => ("replies", text.len()),
            Role::System | Role::Developer => ("notes", text.len()),
            Role::Tool => ("results", text.len()),
        },
        Piece::Image { base64, .. } => ("images", base64.len()),
        Piece::Thinking { text, .. } => ("thinking", text.len()),
        Piece::Call { name, args, .. } => ("calls", name.len() + args.len()),
        Piece::Result { pieces, .. } => {
            ("results", pieces.iter().map(|piece| kind(Role::Tool, piece).1).sum())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_as_many_as_the_server_counted() {
        for (used, system, parts) in
            [(1_100, 630, [100, 237]), (7, 3, [2, 4]), (90, 400, [1, 200]), (0, 5, [1, 2])]
        {
            let parts = vec![("replies", parts[0]), ("results", parts[1])];
            let filling = Filling { used, system, parts, ..Filling::default() }.whole();
            let sum =
                filling.system + filling.tools + filling.parts.iter().map(|(_, tokens)| tokens).sum::<u64>();
            assert_eq!(sum, if used == 0 { 8 } else { used }, "{filling:?}");
            assert_eq!(filling.parts[0].0, "results", "the largest first");
        }
    }
}
