//! Sending again what failed: a letter alone on a line.

use super::Plain;
use crate::agent::Op;
use crate::model::{Trouble, TroubleKind};
use crate::tui::cell::{Cell, Tone};

/// What may be done about the turn that failed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    Again,
    /// Also with a summary first.
    Shorter,
}

impl Offer {
    pub(super) fn of(trouble: &Trouble) -> Self {
        match trouble.kind {
            TroubleKind::TooLong { alone: false, .. } => Self::Shorter,
            _ => Self::Again,
        }
    }
}

impl Plain {
    pub(super) fn failed(&mut self, message: &str, trouble: &Trouble) {
        self.show(&Cell::failed(message, trouble));
        if self.turn.is_unanswered() {
            self.offer(Offer::of(trouble));
        }
    }

    pub(super) fn offer(&mut self, offer: Offer) {
        self.offer = Some(offer);
        self.tell(
            Tone::Dim,
            match offer {
                Offer::Again => "r alone on a line sends it again",
                Offer::Shorter => "r alone on a line sends it again, c compacts first",
            },
        );
    }

    /// What is to be done where the line is one of these letters.
    pub(super) fn retried(&mut self, line: &str) -> Option<Op> {
        match (self.offer?, line) {
            (_, "r") => Some(Op::Again),
            (Offer::Shorter, "c") => {
                self.again_next = true;
                Some(Op::Compact { focus: None })
            }
            _ => None,
        }
    }
}
