//! The agent's events.

use std::time::Instant;

use crate::agent::{End, Event};
use crate::model::{Action, Body, Item, Reply, ToolResult, Usage};

use super::{App, Want, view};
use crate::tui::cell::{Called, Cell, Tone};
use crate::tui::host::Speaks;
use crate::tui::live::{Live, Pause};
use crate::tui::palette::Extras;
use crate::tui::term::escape::TurnEnd;
use crate::tui::turn;

impl App {
    pub fn hear(&mut self, event: Event, now: Instant) -> Want {
        match event {
            Event::Session { id, .. } => self.session = Some(id.to_string()),
            Event::NotRecorded => self.session = None,
            Event::Warning(text) => self.tell(Tone::Warning, text),
            Event::TurnStarted => {
                self.turn.started();
                self.live.get_or_insert_with(|| Live::begin(now));
            }
            Event::Text(more) => self.text(&more, now),
            Event::Thinking(more) => self.running(|live| live.thinking(&more, now)),
            Event::Again { attempt, of, wait_ms, why, trouble } => {
                self.running(|live| live.again(Pause { attempt, of, wait_ms, trouble, why }, now));
                if self.transcript.void_reply() {
                    return Want::Repaint;
                }
            }
            Event::Waiting(what) => self.running(|live| live.waiting(what, now)),
            Event::Ask { id, requests } => self.asked(id, requests),
            Event::AskVoid(id) => self.ask_void(id),
            Event::CallStarted { call, .. } => self.running(|live| live.call_started(call, now)),
            Event::Item(item) => self.item(*item, now),
            Event::Speaks { model, harness } => {
                let before = self.facts.speaks.harness.clone();
                let is_it = |next: &mut Speaks| next.model == *model && next.harness == harness;
                if let Some(next) = self.next.take_if(is_it) {
                    self.facts.speaks = next;
                }
                self.spent.learn_price(&model);
                (self.facts.speaks.model, self.facts.speaks.harness) = (*model, harness);
                self.running(|live| live.asked_anew(now));
                if !std::mem::take(&mut self.quiet_switch) {
                    self.told_switch(&before);
                }
            }
            Event::Ran { command, outcome } => {
                let called = Called { action: Action::shell(&command, None), outcome: *outcome };
                self.show(Cell::Ran(Box::new(called)));
            }
            Event::TurnEnded { end, usage, cost } => return self.turn_ended(&end, (usage, cost), now),
        }
        Want::Frame
    }

    /// Notes something of the turn that runs. Outside of one there is nothing to note it in.
    fn running(&mut self, note: impl FnOnce(&mut Live)) {
        if let Some(live) = &mut self.live {
            note(live);
        }
    }

    fn text(&mut self, more: &str, now: Instant) {
        self.end_thought();
        self.running(|live| live.text(more, now));
        let speech = self.facts.speaks.speech;
        let view = view(self.size, &self.palette);
        self.transcript.text(more, speech, view);
    }

    fn end_thought(&mut self) {
        if let Some(thought) = self.live.as_mut().and_then(Live::take_thought) {
            self.show(Cell::Thought(thought));
        }
    }

    fn item(&mut self, item: Item, now: Instant) {
        self.count(&item);
        if let Some(told) = self.turn.hear(&item.body) {
            self.show(told);
        }
        match item.body {
            Body::User(said) => {
                self.marked = self.palette.extras != Extras::None;
                self.show(Cell::Said { text: said.text, images: said.images.len() });
            }
            Body::Assistant(reply) => self.reply(&reply),
            Body::Result(result) => self.result(result, now),
            // Switches and ends are told of by events.
            Body::Mark(mark) => self.marked(&mark),
            // What the person ran is shown as that.
            Body::Note(_) | Body::Summary(_) | Body::Scene(_) => {}
        }
    }

    fn reply(&mut self, reply: &Reply) {
        let streamed = self.live.as_mut().and_then(Live::take_thought);
        let whole = || turn::thoughts(reply).filter(|_| !self.transcript.has_thought());
        if let Some(thought) = streamed.or_else(whole) {
            self.show(Cell::Thought(thought));
        }
        let view = view(self.size, &self.palette);
        self.transcript.end_reply(&reply.said(), view);
    }

    fn result(&mut self, result: ToolResult, now: Instant) {
        let ended = self.live.as_mut().and_then(|live| live.call_ended(&result.call, now));
        let Some(call) = ended else { return };
        let called = Called::new(call.action, result.outcome);
        if let Some(items) = turn::tasks(&called) {
            self.todo = items;
        }
        let view = view(self.size, &self.palette);
        self.transcript.called(called, view);
    }

    fn told_switch(&mut self, before: &str) {
        let now = &self.facts.speaks;
        let said = match before == now.harness {
            true => format!("from here on {} @ {}", now.model.name, now.model.provider),
            false => format!("from here on {} under {}", now.model.name, now.harness),
        };
        self.tell(Tone::Dim, said);
    }

    fn turn_ended(&mut self, end: &End, (usage, cost): (Usage, Option<f64>), now: Instant) -> Want {
        let lasted = self.live.take().map(|live| live.lasted(now)).unwrap_or_default();
        let view = view(self.size, &self.palette);
        self.transcript.settle(view);
        (self.spent.usage, self.spent.cost) = (usage, cost);
        let stopped = match end {
            End::Completed { message } => {
                let said = self.transcript.last_reply().map(str::to_owned);
                if let Some(cell) = self.turn.last_words(message.as_deref(), said.as_deref()) {
                    self.show(cell);
                }
                false
            }
            End::Failed { message, trouble } => {
                self.failed(message, trouble, now);
                true
            }
            End::Limit { message } => {
                self.tell(Tone::Warning, format!("stopped: {message}"));
                true
            }
            End::Interrupted => {
                self.tell(Tone::Dim, "stopped");
                true
            }
        };
        let how = if stopped { TurnEnd::Bad } else { TurnEnd::Good };
        self.ended = std::mem::take(&mut self.marked).then_some(how);
        self.link.stopper.rearm();
        self.composer.set_state(crate::tui::composer::State::Idle);
        self.mark_attention(lasted, stopped);
        if stopped {
            self.again_next = false;
            self.give_back();
        } else if !self.goes_on_again(now) {
            self.send_next(now);
        }
        Want::Frame
    }

    /// Adds an item to what is told of the session: tokens, messages, calls.
    pub(super) fn count(&mut self, item: &Item) {
        self.spent.count(item);
        match &item.body {
            Body::User(_) => self.history.messages += 1,
            Body::Assistant(reply) => {
                self.history.messages += 1;
                self.history.calls += reply.calls().count();
                if reply.usage.input > 0 {
                    self.history.cached = reply.usage.input;
                }
            }
            Body::Mark(_) | Body::Summary(_) | Body::Result(_) | Body::Note(_) | Body::Scene(_) => {}
        }
    }
}
