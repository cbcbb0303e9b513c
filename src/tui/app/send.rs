//! What the person sends: prompts, commands, what is queued and what is thrown in.

use std::time::{Duration, Instant};

use crate::agent::{Aside, Op, Told, Why};
use crate::model::Said;

use super::{App, Want};
use crate::tui::cell::Tone;
use crate::tui::composer::{Draft, Image, Kind, State};
use crate::tui::live::Live;

/// A turn that took longer is told of when nobody looks.
const LONG: Duration = Duration::from_secs(20);

impl App {
    /// What was typed and sent while nothing ran.
    pub(super) fn send(&mut self, draft: &Draft, now: Instant) -> Want {
        match draft.kind.clone() {
            Kind::Prompt if self.learning.is_some() => {
                self.queue.push_back(draft.clone());
                self.composer.set_queued(self.queue.len());
                Want::Frame
            }
            Kind::Prompt => {
                let said = self.said(draft);
                self.begin(Op::Prompt(said), Some(draft), now);
                Want::Frame
            }
            Kind::Shell(command) => {
                self.begin(Op::Shell { command, told: Told::Model }, Some(draft), now);
                Want::Frame
            }
            Kind::PrivateShell(command) => {
                self.begin(Op::Shell { command, told: Told::Nobody }, Some(draft), now);
                Want::Frame
            }
            Kind::Command { name, args } => self.command(&name, &args, now),
        }
    }

    /// Hands over an operation. The person sees at once that something runs.
    pub(super) fn begin(&mut self, op: Op, draft: Option<&Draft>, now: Instant) {
        self.turn.begin(&op);
        match self.link.ops.try_send(op) {
            Ok(()) => {
                self.offer = None;
                self.live = Some(Live::begin(now));
                self.composer.set_state(State::Working);
            }
            Err(_) => {
                self.tell(Tone::Error, "the session has ended; /new starts another one");
                if let Some(draft) = draft {
                    self.composer.restore(draft);
                }
            }
        }
    }

    pub(super) fn queue(&mut self, draft: Draft, now: Instant) -> Want {
        // A command of tack's own does not wait for the model.
        if let Kind::Command { name, args } = draft.kind.clone() {
            return self.command(&name, &args, now);
        }
        self.queue.push_back(draft);
        self.composer.set_queued(self.queue.len());
        Want::Frame
    }

    /// Throws in what was typed, or else all that is queued, at the next safe point.
    pub(super) fn steer(&mut self, draft: Option<Draft>, now: Instant) -> Want {
        let drafts: Vec<Draft> = match draft {
            Some(draft) => vec![draft],
            None => self.queue.drain(..).collect(),
        };
        self.composer.set_queued(self.queue.len());
        for draft in drafts {
            match &draft.kind {
                Kind::Prompt => {
                    let said = self.said(&draft);
                    self.link.desk.lay(Aside::Steer(said));
                }
                Kind::Command { name, args } => {
                    let (name, args) = (name.clone(), args.clone());
                    self.command(&name, &args, now);
                }
                Kind::Shell(_) | Kind::PrivateShell(_) => {
                    self.queue.push_back(draft);
                    self.composer.set_queued(self.queue.len());
                }
            }
        }
        Want::Frame
    }

    /// Stops what runs, at once.
    pub(super) fn stop(&mut self) -> Want {
        self.link.stopper.stop(Why::Person);
        Want::Frame
    }

    /// The turn is over and went well: what waits is next.
    pub(super) fn send_next(&mut self, now: Instant) {
        if let Some(draft) = self.queue.pop_front() {
            self.composer.set_queued(self.queue.len());
            self.send(&draft, now);
        }
    }

    /// The turn was stopped: what waits goes back to where it was typed, ahead of what stands there.
    pub(super) fn give_back(&mut self) {
        for said in self.link.desk.take_back() {
            self.tell(Tone::Dim, format!("not said: {}", said.text));
        }
        if self.queue.is_empty() {
            return;
        }
        let drafts: Vec<Draft> = self.queue.drain(..).collect();
        self.composer.set_queued(0);
        for draft in drafts.iter().rev() {
            self.composer.restore(draft);
        }
    }

    fn said(&mut self, draft: &Draft) -> Said {
        let mut images = Vec::new();
        for image in &draft.images {
            let bytes = match image {
                Image::File(path) => match std::fs::read(path) {
                    Ok(bytes) => bytes,
                    Err(error) => {
                        self.tell(Tone::Warning, format!("{}: {error}", path.display()));
                        continue;
                    }
                },
                Image::Bytes(bytes) => bytes.to_vec(),
            };
            match crate::tools::image_type(&bytes) {
                Some(mime) => images.push((mime.to_owned(), bytes)),
                None => self.tell(Tone::Warning, "an image that is no PNG, JPEG, GIF or WebP was left out"),
            }
        }
        let image =
            |(mime, bytes): (String, Vec<u8>)| crate::model::Image { mime, blob: (self.link.keep)(&bytes) };
        let images = images.into_iter().map(image).collect();
        Said { text: draft.text.clone(), images }
    }

    /// Tells a person who looks elsewhere that the turn is over.
    pub(super) fn mark_attention(&mut self, lasted: Duration, stopped: bool) {
        // What is queued goes on at once.
        let done = lasted >= LONG && self.queue.is_empty();
        let words = if stopped { "tack stopped" } else { "tack is done" };
        self.notice = (!self.focused && (done || stopped)).then_some(words);
    }
}
