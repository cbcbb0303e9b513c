//! What the person is asked, and what they say.

use std::time::Instant;

use crossterm::event::KeyEvent;

use crate::agent::{Aside, Request, SessionMode};
use crate::model::Mark;

use super::{App, Want};
use crate::tui::approval::{Dialog, Did};
use crate::tui::cell::{Tone, decided};
use crate::tui::host;

impl App {
    pub(super) fn asked(&mut self, id: u64, requests: Vec<Request>) {
        self.asks.push_back(Dialog::new(id, requests));
        self.notice = (!self.focused).then_some("tack needs you");
    }

    /// Nobody waits for the answer any more.
    pub(super) fn ask_void(&mut self, id: u64) {
        self.asks.retain(|dialog| dialog.id() != id);
        self.stop_editing();
    }

    /// Another program had the screen: what is asked has to be read anew.
    pub fn unseen(&mut self) {
        self.asks.iter_mut().for_each(Dialog::hidden);
    }

    pub(super) fn dialog_key(&mut self, key: KeyEvent, now: Instant) -> Want {
        let Some(dialog) = self.asks.front_mut() else { return Want::Nothing };
        let did = dialog.key(key, now);
        self.dialog_did(did, now)
    }

    pub(super) fn dialog_did(&mut self, did: Did, now: Instant) -> Want {
        match did {
            Did::Nothing => Want::Frame,
            Did::Typed(key) => self.composer_key(key, now),
            Did::Answered(answers) => {
                if let Some(dialog) = self.asks.pop_front() {
                    self.link.desk.answer(dialog.id(), answers);
                }
                Want::Frame
            }
            Did::EditCommand(command) => {
                self.editing = Some(self.composer.editor_text());
                self.composer.set_text(&command);
                self.composer.set_note("change the command; enter runs it, esc goes back");
                Want::Frame
            }
            Did::EditFiles(texts) => Want::Revise(texts),
            Did::Stop => self.stop(),
        }
    }

    /// What came of the person's editor.
    pub fn revised(&mut self, came: Result<Vec<String>, String>, now: Instant) -> Want {
        let Some(dialog) = self.asks.front_mut() else { return Want::Frame };
        let did = dialog.revised(came, now);
        self.dialog_did(did, now)
    }

    /// The command was changed.
    pub(super) fn edited_command(&mut self, command: String, now: Instant) -> Want {
        self.stop_editing();
        let Some(dialog) = self.asks.front_mut() else { return Want::Frame };
        let did = dialog.edited(command, now);
        self.dialog_did(did, now)
    }

    /// What was typed before stands there again.
    pub(super) fn stop_editing(&mut self) {
        if let Some(before) = self.editing.take() {
            self.composer.set_text(&before);
        }
    }

    /// What was decided, in a line.
    pub(super) fn marked(&mut self, mark: &Mark) {
        match mark {
            Mark::Decided { what, decision, .. } => {
                let (tone, text) = decided(what, decision);
                self.tell(tone, text);
            }
            Mark::Stance { mode, sandbox } => {
                self.tell(Tone::Dim, format!("mode {mode} · {sandbox} sandbox"));
            }
            Mark::Switched { .. }
            | Mark::Checked { .. }
            | Mark::Blind { .. }
            | Mark::Interrupted
            | Mark::Failed { .. }
            | Mark::Limit { .. }
            | Mark::Completed { .. } => {}
        }
    }

    pub(super) fn mode_command(&mut self, args: &str) -> Want {
        let modes = [SessionMode::Ask, SessionMode::Edits, SessionMode::Plan, SessionMode::Full];
        match modes.into_iter().find(|mode| mode.name() == args) {
            Some(mode) => self.set_mode(mode),
            None if args.is_empty() => {
                let now = self.facts.mode.name();
                self.tell(
                    Tone::Dim,
                    format!("mode {now}; /mode ask, edits, plan or full sets it, shift+tab goes on"),
                );
                Want::Frame
            }
            None => {
                self.tell(Tone::Error, format!("there is no mode {args}; there are ask, edits, plan, full"));
                Want::Frame
            }
        }
    }

    pub(super) fn cycle_mode(&mut self) -> Want {
        self.set_mode(host::next(self.facts.mode))
    }

    fn set_mode(&mut self, mode: SessionMode) -> Want {
        // Shown at once; it counts from the next call on.
        self.facts.mode = mode;
        self.aside(
            move |host| host.stance(mode),
            move |app, came| {
                match came {
                    Ok((stance, notices)) => {
                        for notice in notices {
                            app.tell(Tone::Warning, notice);
                        }
                        app.link.desk.lay(Aside::Stance(stance));
                    }
                    Err(why) => app.tell(Tone::Error, why),
                }
                Want::Frame
            },
        );
        Want::Frame
    }
}
