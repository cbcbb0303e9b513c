//! Compaction: when the context nears the window's end, a summary takes the place of the history.
//!
//! It stops when it does not help: a summary that leaves no more room than before ends the turn
//! with a sentence, instead of asking for summaries of summaries. Where only the harness wanted a
//! shorter context, and it would fit, the turn goes on without. How a summary is got is in
//! [`summarise`], what stays beside it in [`stays`].

mod stays;
mod summarise;

use super::{Agent, End, Event};
use crate::harness::{Compaction, Saying, View};
use crate::model::{Body, Item, Part, Summary, Trouble, TroubleKind, asked};
use crate::wire::Failure;

use stays::Stays;

/// Share of the window, in percent, at which the history is compacted when nothing else is set.
const FULL: u8 = 80;
/// Replies between two summaries that are too few to get anything done.
const QUICK: usize = 3;

const AT_ONCE: &str = "it filled up again right after each summary";

/// Why the history is to be shorter.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Press {
    /// The harness likes it so.
    Wanted,
    /// The window is nearly full.
    Near,
    /// The person does.
    Asked,
    /// The server refused it as it is: what it said.
    Refused(Box<Trouble>),
}

/// Why the history is as it was.
enum Vain {
    /// The stopper was pulled.
    Stopped,
    /// It fills up right after each summary.
    AtOnce,
    /// It could not be made shorter; what went wrong with a request for a summary.
    Because(String, Option<Box<Trouble>>),
}

impl Agent {
    /// Compacts if the next request would come near the window's end, or is longer than the harness
    /// wants it. Some: the turn is over.
    pub(super) async fn make_room(&mut self) -> anyhow::Result<Option<End>> {
        let room = self.room();
        let wanted = self.harness.rules(&self.model).compact_at.filter(|_| !self.let_grow);
        if room.or(wanted).is_none() {
            return Ok(None);
        }
        let size = self.estimate();
        let reached = |most: Option<u64>| most.filter(|most| size >= *most && self.has_history());
        if let Some(most) = reached(room) {
            let why = format!("the context is nearly full: about {size} of {most} tokens");
            return self.compact(&why, Press::Near).await;
        }
        let Some(most) = reached(wanted) else { return Ok(None) };
        let why = format!("the context is longer than is good: about {size} of {most} tokens");
        let message = match self.shorten(&why, &Press::Wanted).await? {
            Ok(()) => return Ok(None),
            Err(Vain::Stopped) => return Ok(Some(self.stopped().await)),
            Err(Vain::AtOnce) => format!("{why}; {AT_ONCE}"),
            Err(Vain::Because(message, _)) => message,
        };
        self.let_grow = true;
        self.warn(format!("{message}; going on with all of it")).await;
        Ok(None)
    }

    /// Tokens the context can grow to; None when nothing is known.
    pub(super) fn room(&self) -> Option<u64> {
        let Compaction { at, reserve, .. } = self.harness.rules(&self.model).compaction;
        let by_window = self.model.window.map(|window| {
            let share = |percent: u8| window.saturating_mul(u64::from(percent)) / 100;
            let free = reserve.filter(|reserve| window / 2 >= *reserve).map(|reserve| window - reserve);
            let least = [free, at.map(share)].into_iter().flatten().min();
            least.unwrap_or_else(|| share(FULL))
        });
        match (self.bounds.compact_at, by_window) {
            (Some(set), Some(window)) => Some(set.min(window)),
            (set, window) => set.or(window),
        }
    }

    /// About how many tokens the next request has: what the server counted last, and a quarter of
    /// the bytes that came since and of those that were masked since.
    pub(super) fn estimate(&self) -> u64 {
        let saved = |items: &[Item]| self.harness.masked(&View { items, ..self.view() }).bytes;
        let now = saved(&self.items);
        let mut since = 0;
        for (at, item) in self.items.iter().enumerate().rev() {
            match &item.body {
                Body::Assistant(reply) if reply.usage.input > 0 => {
                    let less = now.saturating_sub(saved(&self.items[..at]));
                    return (reply.usage.input + reply.usage.output + since / 4).saturating_sub(less / 4);
                }
                Body::Summary(summary) => {
                    let stays = |item: &&Item| item.id > summary.upto || summary.kept.contains(&item.id);
                    let before = self.items[..at].iter().filter(stays).map(|item| bytes(&item.body));
                    return (since + bytes(&item.body) + before.sum::<u64>()).saturating_sub(now) / 4;
                }
                body => since += bytes(body),
            }
        }
        since.saturating_sub(now) / 4
    }

    /// Whether there is anything to summarise but the prompt itself.
    fn has_history(&self) -> bool {
        let live = self.items.iter().rev().take_while(|item| !matches!(item.body, Body::Summary(_)));
        live.filter(|item| matches!(item.body, Body::Assistant(_))).count() > 0
    }

    /// Puts a summary in place of the history. Some: it could not be done, and the turn is over.
    pub(super) async fn compact(&mut self, why: &str, press: Press) -> anyhow::Result<Option<End>> {
        let vain = match self.shorten(why, &press).await? {
            Ok(()) => return Ok(None),
            Err(Vain::Stopped) => return Ok(Some(self.stopped().await)),
            Err(vain) => vain,
        };
        let (message, failed) = match vain {
            Vain::Stopped | Vain::AtOnce => {
                (format!("{why}; {AT_ONCE}: the window is too small for this task"), None)
            }
            Vain::Because(message, failed) => (message, failed),
        };
        let of_itself =
            |trouble: &Trouble| !matches!(trouble.kind, TroubleKind::Other | TroubleKind::TooLong { .. });
        let trouble = match (failed.filter(|trouble| of_itself(trouble)), press) {
            (Some(trouble), _) => trouble,
            (None, Press::Wanted | Press::Asked) => Box::default(),
            (None, Press::Near) => {
                let kind = TroubleKind::TooLong { tokens: None, window: None, alone: false };
                self.too_long(*self.trouble(kind))
            }
            (None, Press::Refused(trouble)) => self.too_long(*trouble),
        };
        Ok(Some(self.fail_by(message, trouble).await))
    }

    /// What the server said, with what it did not say and is known here.
    pub(super) fn too_long(&self, mut trouble: Trouble) -> Box<Trouble> {
        if let TroubleKind::TooLong { tokens, window, alone } = &mut trouble.kind {
            *window = window.or(self.model.window);
            let estimate = Some(self.estimate()).filter(|estimate| Some(*estimate) > *window);
            *tokens = tokens.or(estimate.filter(|_| window.is_some()));
            *alone = !self.has_history();
        }
        Box::new(trouble)
    }

    async fn shorten(&mut self, why: &str, press: &Press) -> anyhow::Result<Result<(), Vain>> {
        let vain = |message: String| Ok(Err(Vain::Because(message, None)));
        if !self.has_history() {
            return vain(match press {
                Press::Asked => "there is nothing to summarise yet".to_owned(),
                Press::Wanted | Press::Near | Press::Refused(_) => {
                    format!("{why}; the prompt alone does not fit {}", self.model.name)
                }
            });
        }
        if fills_at_once(&self.items, self.turn) {
            return Ok(Err(Vain::AtOnce));
        }
        self.out.send(Event::Waiting(format!("{why}; summarising the conversation"))).await;
        let before = self.estimate();
        let keep = self.harness.rules(&self.model).compaction.keep;
        let stays = self.what_stays(keep);
        let (text, stays) = match self.sum_up(stays.from, press).await? {
            Ok(Some(text)) => (text, stays),
            Ok(None) if matches!(press, Press::Wanted | Press::Asked) => {
                return vain(format!("{why}; {} gave no summary", self.model.name));
            }
            Ok(None) => {
                let name = &self.model.name;
                let message = format!("{name} gave no summary; the oldest steps are left out without one");
                self.warn(message).await;
                (self.harness.say(&Saying::NoSummary), self.what_stays(stays::ALL_THAT_FITS))
            }
            Err(Failure::Cancelled) => return Ok(Err(Vain::Stopped)),
            Err(failure) => {
                let trouble = failure.trouble().cloned().map(Box::new);
                return Ok(Err(Vain::Because(format!("{why}; no summary: {failure}"), trouble)));
            }
        };
        let Some(upto) = self.items[..stays.from].last().map(|item| item.id) else { return Ok(Ok(())) };
        let Stays { request, kept, .. } = stays;
        self.push(Body::Summary(Summary { text, request, upto, kept })).await;
        self.toolbox.forget_shown();
        let scene = self.scene.clone();
        self.push(Body::Scene(Box::new(scene))).await;
        if self.estimate() >= before {
            // It stands now, and whoever asked for it needs no room for a next request.
            if matches!(press, Press::Asked) {
                self.warn("the summary is no shorter than what it stands for".to_owned()).await;
                return Ok(Ok(()));
            }
            return vain(format!("{why}; a summary did not make it smaller: start a new session"));
        }
        Ok(Ok(()))
    }

    /// What the person asked for last, word for word.
    pub(super) fn last_request(&self) -> &str {
        asked(&self.items)
    }
}

/// Whether the last two summaries of this turn, and now again, came within a few replies of each
/// other: each time the same work is done anew and nothing comes of it.
fn fills_at_once(items: &[Item], turn: u32) -> bool {
    let mut replies = 0;
    let mut quick = 0;
    for item in items.iter().rev().take_while(|item| item.turn == turn) {
        match item.body {
            Body::Assistant(_) => replies += 1,
            Body::Summary(_) if replies > QUICK => return false,
            Body::Summary(_) => {
                quick += 1;
                replies = 0;
            }
            _ => {}
        }
        if quick == 2 {
            return true;
        }
    }
    false
}

fn bytes(body: &Body) -> u64 {
    let part = |part: &Part| match part {
        Part::Text { text } | Part::Thinking { text, .. } => text.len(),
        Part::Call(call) => call.name.len() + call.args.len(),
        // What an image costs differs by model; this is the order of it.
        Part::Image(_) => 4_000,
    };
    let bytes = match body {
        Body::User(said) => said.text.len() + 4_000 * said.images.len(),
        Body::Note(note) => note.text.len(),
        Body::Assistant(reply) => reply.parts.iter().map(part).sum(),
        Body::Result(result) => result.shown.iter().map(part).sum(),
        Body::Scene(scene) => scene.instructions.iter().map(|one| one.text.len()).sum::<usize>() + 4_000,
        Body::Summary(summary) => summary.text.len() + summary.request.len(),
        Body::Mark(_) => 0,
    };
    bytes as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ItemId, Origin, Reply, Stop, Usage, WireKind};

    /// `r` is a reply, `s` a summary.
    fn items(history: &str) -> Vec<Item> {
        let origin = Origin {
            provider: String::new(),
            model: String::new(),
            wire: WireKind::Chat,
            harness: String::new(),
            surface: 0,
        };
        let reply = Reply::new(origin, Vec::new(), Usage::default(), Stop::Done);
        let summary =
            Summary { text: String::new(), request: String::new(), upto: ItemId(0), kept: Vec::new() };
        let body = |kind| match kind {
            's' => Body::Summary(summary.clone()),
            _ => Body::Assistant(reply.clone()),
        };
        let at = jiff::Timestamp::UNIX_EPOCH;
        let item = |(n, kind)| Item { id: ItemId(n), turn: 1, at, body: body(kind) };
        (1..).zip(history.chars()).map(item).collect()
    }

    #[test]
    fn only_two_quick_summaries_in_a_row_are_in_vain() {
        let table = [
            ("rrrrrrrr", false),
            ("rrrrrrsr", false),
            ("rrrrrrsrrsr", true),
            ("rrrrrrsrrsrrrr", false),
            ("rsrrrrrsr", false),
            ("rsrrrrrrsrrsr", true),
        ];
        for (history, want) in table {
            assert_eq!(fills_at_once(&items(history), 1), want, "{history}");
            assert!(!fills_at_once(&items(history), 2), "another turn: {history}");
        }
    }
}
