//! Which failed attempts leave the context.

use std::collections::HashSet;

use crate::harness::manifest::{Forget, Vain};
use crate::harness::tell::is_vain;
use crate::model::{Body, Item, NoteKind, Reply};

/// Places of the items that are not sent. What another surface was corrected for would only
/// mislead on this one, so neither the attempt nor the correction is sent there.
pub(super) fn forgotten(items: &[Item], forget: Forget, surface: u64) -> HashSet<usize> {
    let mut out = HashSet::new();
    let is_reply = |item: &Item| matches!(item.body, Body::Assistant(_));
    let mut reply: Option<usize> = None;
    // Attempts that no good reply has followed yet.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        if let Body::Note(note) = &item.body
            && note.kind == NoteKind::Correction
            && let Some(failed) = reply.take()
        {
            match forget {
                _ if is_foreign(&items[failed], surface) => out.extend([failed, at]),
                Forget::Nothing => {}
                Forget::Reply => {
                    out.insert(failed);
                }
                Forget::Corrected => open.push((failed, at)),
            }
        }
        if is_reply(item) {
            let next = items[at + 1..].iter().take_while(|item| !is_reply(item));
            let corrected =
                |item: &Item| matches!(&item.body, Body::Note(n) if n.kind == NoteKind::Correction);
            if !next.into_iter().any(corrected) {
                out.extend(open.drain(..).flat_map(|(failed, note)| [failed, note]));
            }
            reply = Some(at);
        }
        if matches!(item.body, Body::User(_)) {
            reply = None;
            open.clear();
        }
    }
    out
}

/// Places of the replies of which nothing is left but what came of the last one, and that one where it
/// is the newest: see [`Vain`].
pub(super) fn vain(items: &[Item], vain: Vain) -> (HashSet<usize>, Option<usize>) {
    let mut out = HashSet::new();
    let mut newest = None;
    if vain == Vain::Kept {
        return (out, newest);
    }
    for (at, item) in items.iter().enumerate() {
        match &item.body {
            Body::Assistant(reply) if changes_nothing(answers(items, at), reply) => {
                out.insert(at);
                newest = Some(at);
            }
            Body::Assistant(_) | Body::User(_) => newest = None,
            Body::Note(_) | Body::Result(_) | Body::Scene(_) | Body::Summary(_) | Body::Mark(_) => {}
        }
    }
    (out, newest)
}

/// What follows a reply up to the next one: its results are there.
fn answers(items: &[Item], at: usize) -> &[Item] {
    let after = &items[at + 1..];
    let next = after.iter().position(|item| matches!(item.body, Body::Assistant(_)));
    &after[..next.unwrap_or(after.len())]
}

/// Its calls were all changes of files, and none was made.
fn changes_nothing(items: &[Item], reply: &Reply) -> bool {
    let mut calls = reply.calls().peekable();
    calls.peek().is_some() && calls.all(|call| is_vain(items, call))
}

fn is_foreign(item: &Item, surface: u64) -> bool {
    matches!(&item.body, Body::Assistant(reply) if reply.origin.surface != surface)
}
