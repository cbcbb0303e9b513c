//! What a single key does about a request that failed, or that waits to be sent again.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;

use super::{App, Want};
use crate::agent::Op;
use crate::model::{Item, Trouble, TroubleKind};
use crate::tui::cell::{self, Cell};
use crate::tui::composer::Did;
use crate::tui::overlay::model::Purpose;
use crate::tui::turn::Turn;

/// Who begins to type as a turn fails means no key of these; nor who types on behind one.
const QUIET: Duration = Duration::from_millis(300);

/// The last turn failed, and the same can be sent again.
#[derive(Clone, Copy)]
pub(super) struct Offer {
    since: Instant,
    shorter: Shorter,
    /// It stands on the screen: from here on its keys count.
    shown: bool,
}

/// Whether a summary first would be of use.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shorter {
    Helps,
    No,
}

impl Shorter {
    fn of(trouble: &Trouble) -> Self {
        match trouble.kind {
            TroubleKind::TooLong { alone: false, .. } => Self::Helps,
            _ => Self::No,
        }
    }
}

impl App {
    /// The turn failed.
    pub(super) fn failed(&mut self, message: &str, trouble: &Trouble, now: Instant) {
        self.show(Cell::failed(message, trouble));
        // A summary of the person's own is no message.
        if self.turn.is_unanswered() {
            self.offer = Some(Offer { since: now, shorter: Shorter::of(trouble), shown: false });
        }
    }

    /// An earlier session may have ended so.
    pub(super) fn offer_after(&mut self, items: &[Item]) {
        if let Some(trouble) = cell::failed_last(items) {
            self.turn = Turn::unanswered();
            let shorter = Shorter::of(trouble);
            self.offer = Some(Offer { since: Instant::now(), shorter, shown: false });
        }
    }

    /// It waits to be shown.
    pub(super) fn offer_comes(&self) -> bool {
        self.offer.is_some_and(|offer| !offer.shown) && self.may_offer()
    }

    fn may_offer(&self) -> bool {
        !self.working() && self.learning.is_none() && self.composer.is_empty() && self.overlay.is_none()
    }

    /// The row that says which keys do something about it.
    pub(super) fn offer_row(&mut self, now: Instant) -> Option<Line<'static>> {
        if !self.may_offer() {
            return None;
        }
        let offer = self.offer.as_mut()?;
        offer.shown |= now.saturating_duration_since(offer.since) >= QUIET;
        let shorter = if offer.shorter == Shorter::Helps { "c compacts and retries · " } else { "" };
        let row = format!("{shorter}r retries · ↑ edits");
        offer.shown.then(|| Line::styled(row, self.palette.dim))
    }

    /// A key may mean more than its letter, on an empty composer: if nothing follows it. Until then it is text.
    pub(super) fn note_letter(&mut self, key: KeyEvent, now: Instant) {
        let before = self.letter.take();
        let KeyCode::Char(letter) = key.code else { return };
        let alone = before.is_none() && key.modifiers == KeyModifiers::NONE && self.composer.is_empty();
        if alone && self.editing.is_none() && self.offered(letter) {
            self.letter = Some((letter, now + QUIET));
        }
    }

    fn offered(&self, letter: char) -> bool {
        let offer = self.offer.filter(|offer| offer.shown && self.may_offer());
        match letter {
            's' => self.waits_for_limit(),
            'r' => offer.is_some(),
            'c' => offer.is_some_and(|offer| offer.shorter == Shorter::Helps),
            _ => false,
        }
    }

    fn waits_for_limit(&self) -> bool {
        self.live.as_ref().is_some_and(crate::tui::live::Live::waits_for_limit)
    }

    /// When the letter that was typed alone is no beginning of a text.
    pub fn letter_due(&self) -> Option<Instant> {
        self.letter.map(|(_, due)| due)
    }

    /// Does what the letter means that stands alone for long enough.
    pub fn heed_letter(&mut self, now: Instant) -> Want {
        let Some((letter, _)) = self.letter.filter(|(_, due)| now >= *due) else { return Want::Nothing };
        self.letter = None;
        let alone = self.composer.editor_text() == letter.to_string();
        let hidden = self.overlay.is_some() || self.pager.is_some();
        // What it was about may be over by now: then it is text.
        let due = if letter == 's' { self.waits_for_limit() } else { !self.working() };
        if !alone || hidden || !due {
            return Want::Nothing;
        }
        self.composer.set_text("");
        match letter {
            's' => return self.pick_model(Purpose::Meanwhile),
            'r' => self.begin(Op::Again, None, now),
            _ => {
                self.begin(Op::Compact { focus: None }, None, now);
                self.again_next = true;
            }
        }
        Want::Frame
    }

    /// A turn went well: what it made room for is next.
    pub(super) fn goes_on_again(&mut self, now: Instant) -> bool {
        let next = std::mem::take(&mut self.again_next);
        if next {
            self.begin(Op::Again, None, now);
        }
        next
    }

    /// The composer took a key: who types is not interrupted.
    pub(super) fn typed(&mut self, did: &Did, now: Instant) {
        if let (Some(offer), Did::Edited) = (&mut self.offer, did) {
            (offer.since, offer.shown) = (now, false);
        }
    }
}
