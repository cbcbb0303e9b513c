//! What is in force in this session, and the keys of providers.

use ratatui::text::{Line, Span};

use super::{App, Want};
use crate::tui::cell::{Cell, Tone};
use crate::tui::overlay::Overlay;
use crate::tui::overlay::harness::tokens;
use crate::tui::overlay::key::KeyEntry;
use crate::tui::text;

impl App {
    /// Model, harness, wire, window, mode, sandbox, folder, session.
    pub(super) fn show_status(&mut self) -> Want {
        let facts = &self.facts;
        let model = &facts.speaks.model;
        let window = model
            .window
            .map_or_else(|| "not known".to_owned(), |window| format!("{} tokens", tokens(window)));
        let auto = if facts.speaks.auto { " (auto)" } else { "" };
        let session = self.session.clone().unwrap_or_else(|| "not recorded".to_owned());
        let files =
            if facts.instructions.is_empty() { "none".to_owned() } else { facts.instructions.join(", ") };
        let rows = [
            ("model", format!("{} @ {} · class {}", model.name, model.provider, model.class.letter())),
            ("harness", format!("{}{auto}", facts.speaks.harness)),
            ("wire", model.wire.name().to_owned()),
            ("window", format!("{window}, about {} used", tokens(self.spent.context))),
            ("effort", model.effort.clone().unwrap_or_else(|| "the model's own".to_owned())),
            ("mode", format!("{} · {}", facts.mode.name(), facts.sandbox)),
            ("folder", facts.cwd.display().to_string()),
            ("instructions", files),
            ("session", session),
        ];
        let dim = self.palette.dim;
        let row = |(name, what): (&str, String)| {
            let what = text::clean_line(&what).into_owned();
            Line::from(vec![Span::styled(format!("{name:<13} "), dim), Span::raw(what)])
        };
        let lines = rows.into_iter().map(row).collect();
        self.show(Cell::Board(lines));
        Want::Frame
    }

    /// Asks for a provider's key; of the one in use unless named.
    pub(super) fn login_command(&mut self, args: &str) -> Want {
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
