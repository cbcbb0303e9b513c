//! What the wires need of a program's messages: mended where there is one way, else refused.
//!
//! Servers want one leading system prompt, users and assistants in turn, and each call followed by
//! exactly one answer. Every error is the end of a sentence.

use std::collections::HashSet;

use crate::model::WireKind;
use crate::wire::prompt::{Message, Piece, Prompt, Role};

/// The prompt with its messages in order. `draft` are those that the manifest makes, which are sound.
pub(super) fn mended(mut prompt: Prompt, draft: &[Message], wire: WireKind) -> Result<Prompt, String> {
    let steered = |message: &Message| matches!(message.role, Role::System | Role::Developer);
    let may_steer = draft.iter().any(steered);
    // Some harnesses keep neighbours apart, as their servers take them.
    let apart = draft.windows(2).any(|two| two[0].role == two[1].role && two[0].role != Role::Tool);
    let mut messages: Vec<Message> = Vec::new();
    for (at, mut message) in std::mem::take(&mut prompt.messages).into_iter().enumerate() {
        if steered(&message) && !may_steer {
            if !messages.is_empty() {
                let role = if message.role == Role::System { "system" } else { "developer" };
                return Err(format!(
                    "message {at} has role {role} in the middle; put its text into `system`, or into a user's message"
                ));
            }
            prompt.system.extend(texts(message));
            continue;
        }
        // A sealed thought goes only with the words that followed it.
        let is_sealed = |piece: &Piece| matches!(piece, Piece::Thinking { seal: Some(_), .. });
        if wire == WireKind::Responses && message.pieces.iter().any(is_sealed) && !draft.contains(&message) {
            message.pieces.retain(|piece| !is_sealed(piece));
        }
        message.pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.trim().is_empty()));
        let only_thought = message.pieces.iter().all(|piece| matches!(piece, Piece::Thinking { .. }));
        if !only_thought {
            add(&mut messages, message, apart);
        }
    }
    prompt.system.retain(|block| !block.trim().is_empty());
    paired(&messages)?;
    ends(&messages)?;
    prompt.messages = messages;
    Ok(prompt)
}

fn texts(message: Message) -> impl Iterator<Item = String> {
    message.pieces.into_iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text),
        Piece::Image { .. } | Piece::Thinking { .. } | Piece::Call { .. } | Piece::Result { .. } => None,
    })
}

/// Neighbours of one role become one message, unless they may stand apart; several results become a
/// message each.
fn add(messages: &mut Vec<Message>, message: Message, apart: bool) {
    if message.role == Role::Tool {
        let one = |piece| Message { role: Role::Tool, pieces: vec![piece] };
        messages.extend(message.pieces.into_iter().map(one));
        return;
    }
    let calls = |message: &Message| message.pieces.iter().any(|piece| matches!(piece, Piece::Call { .. }));
    match messages.last_mut() {
        Some(last) if !apart && last.role == message.role && !calls(last) => {
            last.pieces.extend(message.pieces);
        }
        _ => messages.push(message),
    }
}

/// Each call has its one result right after its message, and no result is without its call.
fn paired(messages: &[Message]) -> Result<(), String> {
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if message.role != Role::Tool
            && let Some(id) = open.first()
        {
            return Err(format!("the call `{id}` has no result right after it"));
        }
        for piece in &message.pieces {
            match piece {
                Piece::Call { id, .. } if id.is_empty() || !ids.insert(id.as_str()) => {
                    return Err(format!("the call id `{id}` is empty or there twice"));
                }
                Piece::Call { id, .. } => open.push(id),
                Piece::Result { id, .. } => {
                    let Some(at) = open.iter().position(|call| call == id) else {
                        return Err(format!("the result `{id}` answers no call right before it"));
                    };
                    open.remove(at);
                }
                Piece::Text(_) | Piece::Image { .. } | Piece::Thinking { .. } => {}
            }
        }
    }
    match open.first() {
        Some(id) => Err(format!("the call `{id}` has no result right after it")),
        None => Ok(()),
    }
}

fn ends(messages: &[Message]) -> Result<(), String> {
    let spoken = |message: &&Message| !matches!(message.role, Role::System | Role::Developer);
    match messages.iter().find(spoken) {
        None => return Err("no message says anything".to_owned()),
        Some(first) if first.role != Role::User => {
            return Err("the first message has to be the user's".to_owned());
        }
        Some(_) => {}
    }
    match messages.iter().rev().find(spoken) {
        Some(last) if last.role == Role::Assistant => {
            Err("the last message is the assistant's; end with the user's words or a result".to_owned())
        }
        _ => Ok(()),
    }
}
