//! The agent's events.

use std::time::Instant;

use super::words::text_of;
use super::{Next, Plain};
use crate::agent::{End, Event, Op};
use crate::model::{Action, Body, Item, Mark, Reply, ToolResult, Usage};
use crate::tui::cell::{Called, Cell, Tone};
use crate::tui::live::{Live, Pause};
use crate::tui::text;
use crate::tui::transcript::Transcript;
use crate::tui::{trouble, turn};

impl Plain {
    /// None: the session is over, although nobody asked it to end.
    pub(super) fn heard(&mut self, event: Option<Event>, width: u16, now: Instant) -> Next {
        self.width = width;
        match event {
            Some(event) => self.hear(event, now),
            None => {
                let (never, none) = tokio::sync::mpsc::channel(1);
                (self.changed, self.kept_open, self.live) = (Some(none), Some(never), None);
                self.asks.clear();
                self.tell(Tone::Error, "the session ended by itself; /new starts another one");
            }
        }
        Next::On
    }

    fn hear(&mut self, event: Event, now: Instant) {
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
                if self.reply.void_reply() {
                    self.tell(Tone::Dim, "what came of the answer is void");
                }
                let wait = wait_ms.div_ceil(1_000);
                let known = trouble::waits_for(&trouble).unwrap_or_else(|| trouble::bare(&why));
                self.tell(Tone::Warning, format!("{known}; try {attempt} of {of} in {wait}s"));
                self.running(|live| live.again(Pause { attempt, of, wait_ms, trouble, why }, now));
            }
            Event::Waiting(what) => self.running(|live| live.waiting(what, now)),
            Event::Ask { id, requests } => self.asked(id, requests, now),
            Event::AskVoid(id) => self.ask_void(id, now),
            Event::CallStarted { call, .. } => self.running(|live| live.call_started(call, now)),
            Event::Item(item) => self.item(*item, now),
            // The person heard of it when it was laid down.
            Event::Speaks { model, harness } => {
                self.spent.learn_price(&model);
                (self.facts.speaks.model, self.facts.speaks.harness) = (*model, harness);
            }
            Event::Ran { command, outcome } => {
                let called = Called { action: Action::shell(&command, None), outcome: *outcome };
                self.show(&Cell::Ran(Box::new(called)));
            }
            Event::TurnEnded { end, usage, cost } => self.turn_ended(&end, (usage, cost), now),
        }
    }

    /// Notes something of the turn that runs. Outside of one there is nothing to note it in.
    fn running(&mut self, note: impl FnOnce(&mut Live)) {
        if let Some(live) = &mut self.live {
            note(live);
        }
    }

    fn text(&mut self, more: &str, now: Instant) {
        if let Some(thought) = self.live.as_mut().and_then(Live::take_thought) {
            self.show(&Cell::Thought(thought));
        }
        self.running(|live| live.text(more, now));
        self.in_reply(|reply, view, speech| reply.text(more, speech, view));
    }

    /// Goes on with the reply, and writes what of it is whole.
    fn in_reply(
        &mut self,
        act: impl FnOnce(&mut Transcript, crate::tui::cell::View<'_>, crate::tui::transcript::Speech),
    ) {
        let mut reply = std::mem::take(&mut self.reply);
        act(&mut reply, self.view(), self.facts.speaks.speech);
        for row in reply.take() {
            self.write(&text_of(&row));
        }
        self.reply = reply;
    }

    fn item(&mut self, item: Item, now: Instant) {
        self.spent.count(&item);
        if let Some(told) = self.turn.hear(&item.body) {
            self.show(&told);
        }
        match item.body {
            Body::Assistant(reply) => self.replied(&reply),
            Body::Result(result) => self.result(result, now),
            Body::Mark(mark) => self.marked(&mark),
            // The person knows what they said.
            Body::User(_) | Body::Note(_) | Body::Summary(_) | Body::Scene(_) => {}
        }
    }

    fn replied(&mut self, reply: &Reply) {
        let streamed = self.live.as_mut().and_then(Live::take_thought);
        let whole = || turn::thoughts(reply).filter(|_| !self.reply.has_thought());
        if let Some(thought) = streamed.or_else(whole) {
            self.show(&Cell::Thought(thought));
        }
        let said = reply.said();
        self.in_reply(|reply, view, _| reply.end_reply(&said, view));
        (self.reply, self.said) = (Transcript::default(), said);
    }

    fn result(&mut self, result: ToolResult, now: Instant) {
        let ended = self.live.as_mut().and_then(|live| live.call_ended(&result.call, now));
        let Some(call) = ended else { return };
        let called = Called::new(call.action, result.outcome);
        if let Some(items) = turn::tasks(&called) {
            self.todo = items;
        }
        self.show(&Cell::Call(Box::new(called)));
    }

    /// What was decided, in a line.
    fn marked(&mut self, mark: &Mark) {
        match mark {
            Mark::Decided { what, decision, .. } => {
                let words = decision.words();
                let words = words.trim_start_matches(['✓', '⊘', ' ']);
                self.tell(Tone::Allowed, format!("{words}: {}", text::first_line(decision.about(what))));
            }
            Mark::Stance { mode, sandbox } => self.tell(Tone::Dim, format!("mode {mode}, {sandbox} sandbox")),
            Mark::Switched { .. }
            | Mark::Checked { .. }
            | Mark::Blind { .. }
            | Mark::Interrupted
            | Mark::Failed { .. }
            | Mark::Limit { .. }
            | Mark::Completed { .. } => {}
        }
    }

    fn turn_ended(&mut self, end: &End, (usage, cost): (Usage, Option<f64>), now: Instant) {
        self.in_reply(|reply, view, _| reply.settle(view));
        (self.reply, self.live) = (Transcript::default(), None);
        (self.spent.usage, self.spent.cost) = (usage, cost);
        self.link.stopper.rearm();
        match end {
            End::Completed { message } => {
                if let Some(cell) = self.turn.last_words(message.as_deref(), Some(self.said.trim())) {
                    self.show(&cell);
                }
                if std::mem::take(&mut self.again_next) {
                    return self.begin(Op::Again, now);
                }
                return self.send_next(now);
            }
            End::Failed { message, trouble } => self.failed(message, trouble),
            End::Limit { message } => self.tell(Tone::Warning, format!("stopped: {message}")),
            End::Interrupted => self.tell(Tone::Dim, "stopped"),
        }
        self.again_next = false;
        for lost in std::mem::take(&mut self.queue) {
            self.tell(Tone::Dim, format!("not said: {lost}"));
        }
    }
}
