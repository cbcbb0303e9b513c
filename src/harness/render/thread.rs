//! The growing list of messages, and how neighbours join.

use crate::wire::prompt::{Message, Piece, Role};

pub(super) struct Thread {
    pub messages: Vec<Message>,
    merge: bool,
}

impl Thread {
    pub fn new(merge: bool) -> Self {
        Self { messages: Vec::new(), merge }
    }

    /// Adds a message, or its pieces to the last one when that has the same role and no calls.
    pub fn push(&mut self, role: Role, pieces: Vec<Piece>) {
        if pieces.is_empty() {
            return;
        }
        let joins = self.merge && matches!(role, Role::User | Role::Assistant);
        match self.messages.last_mut() {
            Some(last) if joins && last.role == role && !last.pieces.iter().any(is_call) => {
                join(last, pieces);
            }
            _ => self.messages.push(Message { role, pieces }),
        }
    }

    /// Adds a message, or its pieces to the last one as [`push`](Self::push) does. Its texts stay apart.
    pub fn push_parts(&mut self, role: Role, pieces: Vec<Piece>) {
        match self.messages.last_mut() {
            Some(last) if self.merge && last.role == role && !last.pieces.iter().any(is_call) => {
                last.pieces.extend(pieces);
            }
            _ => self.messages.push(Message { role, pieces }),
        }
    }

    /// Puts the text at the end of the newest result that no reply followed. False: there is none.
    pub fn add_to_result(&mut self, text: &str) -> bool {
        let fresh = self.messages.iter_mut().rev().take_while(|message| message.role != Role::Assistant);
        let mut results = fresh.flat_map(|message| message.pieces.iter_mut().rev());
        let found = results.find_map(|piece| match piece {
            Piece::Result { pieces, .. } => Some(pieces),
            Piece::Text(_) | Piece::Image { .. } | Piece::Thinking { .. } | Piece::Call { .. } => None,
        });
        let Some(pieces) = found else { return false };
        match pieces.last_mut() {
            Some(Piece::Text(last)) => *last = format!("{last}\n\n{text}"),
            _ => pieces.push(Piece::Text(text.to_owned())),
        }
        true
    }
}

fn join(last: &mut Message, pieces: Vec<Piece>) {
    let is_thinking = |piece: &Piece| matches!(piece, Piece::Thinking { .. });
    last.pieces.retain(|piece| !is_thinking(piece));
    for piece in pieces.into_iter().filter(|piece| !is_thinking(piece)) {
        match (last.pieces.last_mut(), piece) {
            (Some(Piece::Text(before)), Piece::Text(more)) => {
                before.push_str("\n\n");
                before.push_str(&more);
            }
            (_, piece) => last.pieces.push(piece),
        }
    }
}

fn is_call(piece: &Piece) -> bool {
    matches!(piece, Piece::Call { .. })
}
