//! Which failed attempts leave the context.

use std::collections::HashSet;

use crate::harness::manifest::Forget;
use crate::model::{Body, Item, NoteKind};

/// Places of the items that are not sent.
pub(super) fn forgotten(items: &[Item], forget: Forget) -> HashSet<usize> {
    let mut out = HashSet::new();
    if forget == Forget::Nothing {
        return out;
    }
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
                Forget::Reply => {
                    out.insert(failed);
                }
                Forget::Corrected | Forget::Nothing => open.push((failed, at)),
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
