//! Which failed attempts leave the context.

use std::collections::HashSet;

use crate::harness::manifest::Forget;
use crate::model::{Body, Item, NoteKind};

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

fn is_foreign(item: &Item, surface: u64) -> bool {
    matches!(&item.body, Body::Assistant(reply) if reply.origin.surface != surface)
}
