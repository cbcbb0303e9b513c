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
