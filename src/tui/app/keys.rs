//! Keys and pastes: to what stands on top, else to the composer.

use std::time::{Duration, Instant};

use crossterm::event::{KeyEvent, KeyEventKind};

use super::{App, Want};
use crate::tui::composer::{Act, Did};
use crate::tui::overlay::Overlay;
use crate::tui::pager::{self, Pager};

/// How long a first Ctrl+C counts.
const LEAVING: Duration = Duration::from_secs(2);

impl App {
    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Want {
        if key.kind == KeyEventKind::Release {
            return Want::Nothing;
        }
        if self.pager.is_some() {
            return self.pager_key(key);
        }
        if self.overlay.is_some() {
            return self.overlay_key(key);
        }
        if !self.asks.is_empty() && self.editing.is_none() {
            return self.dialog_key(key, now);
        }
        self.composer_key(key, now)
    }

    pub(super) fn composer_key(&mut self, key: KeyEvent, now: Instant) -> Want {
        if let Some(want) = self.offered_key(key, now) {
            return want;
        }
        let did = self.composer.key(key);
        self.typed(&did, now);
        match did {
            Did::Nothing => Want::Nothing,
            Did::Edited => Want::Frame,
            Did::Send(draft) | Did::Act(Act::Queue(draft)) if self.editing.is_some() => {
                self.edited_command(draft.text, now)
            }
            Did::Act(Act::Stop) if self.editing.is_some() => {
                self.stop_editing();
                Want::Frame
            }
            Did::Send(draft) => self.send(&draft, now),
            Did::Act(act) => self.act(act, now),
        }
    }

    pub fn paste(&mut self, text: &str, now: Instant) -> Want {
        if let Some(Overlay::Key(entry)) = &mut self.overlay {
            entry.paste(text);
            return Want::Frame;
        }
        if let Some(Overlay::Server(form)) = &mut self.overlay {
            form.paste(text);
            return Want::Frame;
        }
        if self.pager.is_some() || self.overlay.is_some() {
            return Want::Nothing;
        }
        if let Some(dialog) = self.asks.front_mut().filter(|_| self.editing.is_none())
            && dialog.paste(text)
        {
            return Want::Frame;
        }
        if let Some(dialog) = self.asks.front_mut() {
            dialog.passed_by(now);
        }
        self.composer.paste(text);
        Want::Frame
    }

    fn act(&mut self, act: Act, now: Instant) -> Want {
        match act {
            Act::Queue(draft) => self.queue(draft, now),
            Act::Steer(draft) => self.steer(draft, now),
            Act::Stop => self.stop(),
            // Nothing to go back to yet: a later issue's.
            Act::Rewind => Want::Nothing,
            Act::ClearOrExit => self.leave(now),
            Act::Exit => Want::Exit(0),
            Act::EditLastQueued => {
                if let Some(draft) = self.queue.pop_back() {
                    self.composer.set_queued(self.queue.len());
                    self.composer.restore(&draft);
                }
                Want::Frame
            }
            Act::Editor => Want::Editor,
            Act::PasteClipboard => Want::PasteClipboard,
            Act::CycleMode => self.cycle_mode(),
            Act::Transcript => self.open_pager(),
            Act::Fold => Want::Unfold,
            Act::ModelPicker => self.command("model", "", now),
            Act::HarnessPicker => self.command("harness", "", now),
            Act::KeySheet => self.command("keys", "", now),
            Act::Redraw => Want::Repaint,
            Act::Suspend => Want::Suspend,
        }
    }

    /// Ctrl+C with nothing to clear: stops the turn; twice within two seconds ends tack.
    fn leave(&mut self, now: Instant) -> Want {
        if self.leaving.is_some_and(|until| now <= until) {
            return Want::Exit(if self.working() { 130 } else { 0 });
        }
        self.leaving = Some(now + LEAVING);
        if self.working() {
            self.stop();
        }
        self.note("ctrl+c again to leave");
        Want::Frame
    }

    pub(super) fn open_pager(&mut self) -> Want {
        self.pager = Some(Pager::new());
        Want::Frame
    }

    fn pager_key(&mut self, key: KeyEvent) -> Want {
        let Some(pager) = &mut self.pager else { return Want::Nothing };
        match pager.key(key, self.transcript.cells()) {
            pager::Did::Nothing => Want::Nothing,
            pager::Did::Redraw => Want::Frame,
            pager::Did::Copy(text) => Want::Copy(text),
            pager::Did::Left => {
                self.pager = None;
                Want::Frame
            }
        }
    }

    pub(super) fn overlay_key(&mut self, pressed: KeyEvent) -> Want {
        use crate::tui::overlay::{key, list, server};
        let Some(overlay) = &mut self.overlay else { return Want::Nothing };
        match overlay {
            Overlay::Harness(_) => self.harness_key(pressed),
            Overlay::Model(_) => self.model_key(pressed),
            Overlay::Sessions(_) => self.sessions_key(pressed),
            Overlay::Provider(picker) => {
                let did = picker.key(pressed);
                self.provider_did(did)
            }
            Overlay::Server(form) => match form.key(pressed) {
                server::Did::Nothing => Want::Nothing,
                server::Did::Redraw => Want::Frame,
                server::Did::Left => self.close_overlay(),
                server::Did::Entered(new) => self.add_provider(new),
            },
            Overlay::Key(entry) => match entry.key(pressed) {
                key::Did::Nothing => Want::Nothing,
                key::Did::Redraw => Want::Frame,
                key::Did::Left => self.close_overlay(),
                key::Did::Entered { provider, key } => {
                    self.overlay = None;
                    self.login(provider, key)
                }
            },
            Overlay::Board(board) => match board.key(pressed) {
                list::Did::Left => self.close_overlay(),
                _ => Want::Frame,
            },
            Overlay::Coming(coming) => match coming.key(pressed) {
                list::Did::Left => self.close_overlay(),
                _ => Want::Frame,
            },
        }
    }

    pub(super) fn close_overlay(&mut self) -> Want {
        self.overlay = None;
        Want::Frame
    }
}
