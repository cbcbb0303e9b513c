//! What is in force in this session, and the keys of providers.

use super::{App, Want};
use crate::tui::board;
use crate::tui::cell::{Cell, Tone};
use crate::tui::overlay::Overlay;
use crate::tui::overlay::key::KeyEntry;
use crate::tui::overlay::model::Purpose;

impl App {
    /// Model, harness, wire, window, mode, sandbox, folder, session.
    pub(super) fn show_status(&mut self) -> Want {
        let lines = board::status(&self.facts, &self.spent, self.session.as_deref(), &self.palette);
        self.show(Cell::Board(lines));
        Want::Frame
    }

    /// Asks for a provider's key; of the one in use unless named.
    pub(super) fn login_command(&mut self, args: &str) -> Want {
        if args.is_empty() && self.facts.mute {
            return self.pick_model(Purpose::First);
        }
        let provider =
            if args.is_empty() { self.facts.speaks.model.provider.clone() } else { args.to_owned() };
        self.overlay = Some(Overlay::Key(KeyEntry::new(provider)));
        Want::Frame
    }

    /// Takes a stored key away.
    pub(super) fn logout_command(&mut self, args: &str) -> Want {
        let provider =
            if args.is_empty() { self.facts.speaks.model.provider.clone() } else { args.to_owned() };
        self.aside(
            move |host| host.logout(&provider),
            |app, came| {
                match came {
                    Ok(said) => app.tell(Tone::Dim, said),
                    Err(why) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
        Want::Nothing
    }
}
