//! What stays word for word when a history is summed up.
//!
//! A prompt that nothing was done about yet always does; the rest is the harness's wish, as far as
//! there is room for it. What the person said is never lost in silence: what does not stay was seen
//! by the summariser, and the last request is told beside the summary.

use super::bytes;
use crate::agent::Agent;
use crate::harness::Kept;
use crate::model::{Body, Item, ItemId, Said};

/// For a history that leaves without a summary.
pub(super) const ALL_THAT_FITS: Kept = Kept { user: true, messages: 0, tokens: 0, percent: 50 };

/// A quarter of the room is the most that the person's words take, and another the newest messages.
const SHARE: u64 = 4;

pub(super) struct Stays {
    /// Place of the first item that the summary does not stand for.
    pub from: usize,
    /// What the person said before.
    pub kept: Vec<ItemId>,
    /// The last request, where it is not among what stays.
    pub request: String,
}

impl Agent {
    pub(super) fn what_stays(&self, keep: Kept) -> Stays {
        let room = self.room().unwrap_or_else(|| self.estimate()).saturating_mul(4) / SHARE;
        let from = self.newest(keep, room);
        let mut kept = if keep.user { said(&self.items[..from], room) } else { Vec::new() };
        let asked = self.items.iter().rposition(|item| matches!(item.body, Body::User(_)));
        let asked = asked.filter(|at| *at < from).map(|at| &self.items[at]);
        let mut request = String::new();
        if let Some(Item { id, body: Body::User(Said { text, images }), .. }) = asked
            && !kept.contains(id)
        {
            // Words can stand beside the summary, images cannot.
            if images.is_empty() { request = text.clone() } else { kept.push(*id) }
        }
        Stays { from, kept, request }
    }

    /// Place of the first of the newest messages that stay; at least one reply is left to sum up.
    fn newest(&self, keep: Kept, room: u64) -> usize {
        let items = &self.items;
        let is_reply = |item: &Item| matches!(item.body, Body::Assistant(_));
        let waiting = items.iter().position(|item| item.turn == self.turn);
        let end = waiting.filter(|at| !items[*at..].iter().any(is_reply)).unwrap_or(items.len());
        let start =
            items.iter().rposition(|item| matches!(item.body, Body::Summary(_))).map_or(0, |at| at + 1);
        let Some(first) = items[start..end].iter().position(is_reply).map(|at| start + at) else {
            return end;
        };
        let all: u64 = items[start..end].iter().map(|item| bytes(&item.body)).sum();
        let share = all.saturating_mul(u64::from(keep.percent)) / 100;
        let (mut from, mut size, mut count) = (end, 0, 0);
        for at in (first + 1..end).rev() {
            size += bytes(&items[at].body);
            if !matches!(items[at].body, Body::Assistant(_) | Body::User(_)) {
                continue;
            }
            count += 1;
            let wanted = count <= keep.messages || size <= (keep.tokens.saturating_mul(4)).max(share);
            if !wanted || size > room {
                break;
            }
            from = at;
        }
        from
    }
}

/// What the person said, as much as there is room for: the last and the first words before all else.
fn said(items: &[Item], room: u64) -> Vec<ItemId> {
    let mut all: Vec<&Item> = items.iter().filter(|item| matches!(item.body, Body::User(_))).collect();
    let first = (all.len() > 1).then(|| all.remove(0));
    let (last, between) = match all.split_last() {
        Some((last, between)) => (Some(*last), between),
        None => (None, &[][..]),
    };
    let mut left = room;
    let by_weight = last.into_iter().chain(first).chain(between.iter().rev().copied());
    let fits = |item: &&Item| match left.checked_sub(bytes(&item.body)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let mut kept: Vec<ItemId> = by_weight.filter(fits).map(|item| item.id).collect();
    kept.sort_unstable();
    kept
}
