//! What runs right now, and the lines that say so: what is being done, since when, what comes next, how
//! to stop it.

use std::time::{Duration, Instant};

use ratatui::text::{Line, Span};

use crate::model::{Action, CallId, TodoItem, TodoStatus, ToolCall, TroubleKind};

use super::cell::seconds;
use super::overlay::harness::tokens;
use super::palette::{Palette, Theme};
use super::text;
use super::trouble;

/// Silence after which it is said how long it lasts.
const SILENCE: Duration = Duration::from_secs(10);
/// Steps of the spinner, and how long each stands.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
pub const STEP: Duration = Duration::from_millis(120);
/// Bytes of a token, about.
const TOKEN: u64 = 4;

/// The turn that runs.
pub struct Live {
    began: Instant,
    /// Calls that were started and are not over.
    calls: Vec<Open>,
    /// What the model thinks, so far and of this reply.
    thought: String,
    /// Bytes of the replies of this turn.
    received: u64,
    /// As many of them as are told, and in which second: a count that moved with each piece would cost
    /// more than the piece.
    told: (u64, u64),
    last_byte: Instant,
    state: State,
}

struct Open {
    call: ToolCall,
    since: Instant,
}

/// What the turn is at when no call runs.
enum State {
    /// The request is out.
    Asked,
    Thinking,
    Writing,
    /// In words that came with it.
    Waiting(String, Instant),
    Again(Pause, Instant),
}

/// A request goes out again.
#[derive(Clone, Debug)]
pub struct Pause {
    /// The how many-th time, of so many.
    pub attempt: u32,
    pub of: u32,
    pub wait_ms: u64,
    pub trouble: TroubleKind,
    /// In a sentence.
    pub why: String,
}

impl Live {
    pub fn begin(now: Instant) -> Self {
        Self {
            began: now,
            calls: Vec::new(),
            thought: String::new(),
            received: 0,
            told: (0, 0),
            last_byte: now,
            state: State::Asked,
        }
    }

    pub fn lasted(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }

    pub fn text(&mut self, more: &str, now: Instant) {
        self.heard(more, now);
        self.state = State::Writing;
    }

    pub fn thinking(&mut self, more: &str, now: Instant) {
        self.heard(more, now);
        self.thought.push_str(more);
        self.state = State::Thinking;
    }

    /// The thought so far, which is over.
    pub fn take_thought(&mut self) -> Option<String> {
        let thought = std::mem::take(&mut self.thought);
        (!thought.trim().is_empty()).then_some(thought)
    }

    pub fn waiting(&mut self, what: String, now: Instant) {
        // It is announced again and again while it lasts.
        if !matches!(&self.state, State::Waiting(before, _) if *before == what) {
            self.state = State::Waiting(what, now);
        }
    }

    pub fn again(&mut self, pause: Pause, now: Instant) {
        self.thought.clear();
        let at = now + Duration::from_millis(pause.wait_ms);
        self.state = State::Again(pause, at);
    }

    /// The next request is another model's.
    pub fn asked_anew(&mut self, now: Instant) {
        if let State::Again(..) = self.state {
            (self.state, self.last_byte) = (State::Asked, now);
        }
    }

    /// A service wants no request for some time; another one might.
    pub fn waits_for_limit(&self) -> bool {
        matches!(&self.state, State::Again(Pause { trouble: TroubleKind::Limited { .. }, .. }, _))
    }

    pub fn call_started(&mut self, call: ToolCall, now: Instant) {
        self.calls.push(Open { call, since: now });
    }

    pub fn call_ended(&mut self, id: &CallId, now: Instant) -> Option<ToolCall> {
        let at = self.calls.iter().position(|open| open.call.id == *id)?;
        let open = self.calls.remove(at);
        if self.calls.is_empty() {
            (self.state, self.last_byte) = (State::Asked, now);
        }
        Some(open.call)
    }

    fn heard(&mut self, more: &str, now: Instant) {
        self.received += more.len() as u64;
        self.last_byte = now;
        let second = self.lasted(now).as_secs();
        if second != self.told.1 {
            self.told = (self.received, second);
        }
    }

    /// The line over the composer, and those above it for more calls than one.
    pub fn rows(&self, width: usize, provider: &str, now: Instant, p: &Palette) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        if self.calls.len() > 1 {
            for open in &self.calls[..self.calls.len() - 1] {
                let line = format!("  {} · {}", doing(&open.call.action), since(open.since, now));
                rows.push(text::fit(Line::styled(line, p.dim), width));
            }
        }
        let step = (self.lasted(now).as_millis() / STEP.as_millis()) as usize % SPINNER.len();
        let mut spans = vec![Span::styled(format!("{} ", SPINNER[step]), p.accent)];
        spans.extend(self.what(provider, now, p));
        let mut facts = Vec::new();
        match &self.state {
            State::Again(pause, _) if self.calls.is_empty() => {
                facts.push("esc stops".to_owned());
                match &pause.trouble {
                    TroubleKind::Limited { .. } => facts.push("s other model".to_owned()),
                    known if trouble::waits_for(known).is_some() => {}
                    // Behind what counts: on a narrow screen it is cut.
                    _ => facts.push(trouble::bare(&pause.why)),
                }
            }
            _ => {
                facts.push(since(self.began, now));
                if self.told.0 >= TOKEN {
                    facts.push(format!("↓{} tok", tokens(self.told.0 / TOKEN)));
                }
                facts.push("esc to stop".to_owned());
            }
        }
        spans.push(Span::styled(format!(" · {}", facts.join(" · ")), p.dim));
        rows.push(text::fit(Line::from(spans), width));
        rows
    }

    /// The same in one line of words, for those to whom nothing is drawn.
    pub fn words(&self, provider: &str, now: Instant) -> String {
        let what = self.what(provider, now, &Palette::new(Theme::Plain));
        let what: String = what.iter().map(|span| span.content.as_ref()).collect();
        format!("{what} · {}", since(self.began, now))
    }

    fn what(&self, provider: &str, now: Instant, p: &Palette) -> Vec<Span<'static>> {
        if let Some(open) = self.calls.last() {
            return vec![Span::raw(doing(&open.call.action))];
        }
        let silent = now.saturating_duration_since(self.last_byte);
        match &self.state {
            State::Asked | State::Thinking | State::Writing if silent >= SILENCE => {
                let provider = text::clean_line(provider);
                let silent = silent.as_secs();
                let what = match self.received {
                    0 => format!("waiting for {provider} · {silent}s since it was asked"),
                    _ => format!("waiting for {provider} · {silent}s since last byte"),
                };
                vec![Span::styled(what, p.warn)]
            }
            State::Asked => vec![Span::raw("Waiting for the model")],
            State::Thinking => vec![Span::raw("Thinking")],
            State::Writing => vec![Span::raw("Writing")],
            State::Waiting(what, at) => {
                let what = text::clean_line(what).into_owned();
                vec![Span::raw(what), Span::styled(format!(" · {}", since(*at, now)), p.dim)]
            }
            State::Again(Pause { attempt, of, trouble, .. }, at) => {
                let left = at.saturating_duration_since(now).as_secs_f64().ceil();
                let when = if left > 0.0 { format!("in {left}s") } else { "now".to_owned() };
                let what = trouble::waits_for(trouble).map(|what| format!("{what} · ")).unwrap_or_default();
                vec![Span::styled(format!("{what}try {attempt} of {of} {when}"), p.warn)]
            }
        }
    }

    /// The newest line of the thought.
    pub fn thought_row(&self, width: usize, p: &Palette) -> Option<Line<'static>> {
        let last = self.thought.lines().rev().find(|line| !line.trim().is_empty())?;
        let clean = text::clean_line(last.trim()).into_owned();
        Some(text::fit(Line::styled(format!("∴ {clean}"), p.dim), width))
    }
}

/// While a model on this machine is being learnt of.
pub fn learning_row(
    model: &str,
    (since_when, now): (Instant, Instant),
    width: usize,
    p: &Palette,
) -> Line<'static> {
    let lasted = now.saturating_duration_since(since_when);
    let step = (lasted.as_millis() / STEP.as_millis()) as usize % SPINNER.len();
    let model = text::clean_line(model).into_owned();
    let what = format!("Looking at {model}: its window, and once how it calls tools");
    let line = Line::from(vec![
        Span::styled(format!("{} ", SPINNER[step]), p.accent),
        Span::raw(what),
        Span::styled(format!(" · {} · what you send waits", since(since_when, now)), p.dim),
    ]);
    text::fit(line, width)
}

fn since(from: Instant, now: Instant) -> String {
    let took = now.saturating_duration_since(from).as_millis();
    seconds(u64::try_from(took).unwrap_or(u64::MAX) / 1000 * 1000).replace(".0s", "s")
}

/// `Running cargo test`, `Editing src/cart.rs`.
fn doing(action: &Action) -> String {
    let title = match action {
        Action::Shell { command, .. } => {
            let first = command.trim().lines().next().unwrap_or_default();
            return format!("Running {}", text::reveal_line(first));
        }
        other => text::reveal_line(&other.title()),
    };
    let present = [
        ("Read ", "Reading "),
        ("Wrote ", "Writing "),
        ("Edited ", "Editing "),
        ("Applied ", "Applying "),
        ("Looked ", "Looking "),
        ("Searched ", "Searching "),
        ("Listed ", "Listing "),
        ("Fetched ", "Fetching "),
        ("Waited ", "Waiting "),
        ("Typed ", "Typing "),
        ("Ran ", "Running "),
    ];
    let found = present.iter().find_map(|(past, now)| Some(format!("{now}{}", title.strip_prefix(past)?)));
    found.unwrap_or(title)
}

/// One line about the model's tasks, while there are any left.
pub fn tasks_row(items: &[TodoItem], width: usize, p: &Palette) -> Option<Line<'static>> {
    let done = items.iter().filter(|item| item.status == TodoStatus::Completed).count();
    if items.is_empty() || done == items.len() {
        return None;
    }
    let at = items.iter().find(|item| item.status == TodoStatus::InProgress);
    let next = at.or_else(|| items.iter().find(|item| item.status == TodoStatus::Pending))?;
    let words = text::clean_line(&next.text).into_owned();
    Some(text::fit(Line::styled(format!("┄ tasks {done}/{} · {words}", items.len()), p.dim), width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::palette::Theme;

    fn line(live: &Live, now: Instant) -> String {
        live.rows(90, "acme", now, &Palette::new(Theme::Plain)).last().unwrap().to_string()
    }

    #[test]
    fn what_is_waited_for_is_said_since_when_and_how_to_stop_it() {
        let began = Instant::now();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let mut live = Live::begin(began);
        assert_eq!(line(&live, at(2))[4..], *"Waiting for the model · 2s · esc to stop");
        assert_eq!(
            line(&live, at(12))[4..],
            *"waiting for acme · 12s since it was asked · 12s · esc to stop"
        );
        live.text("some words of an answer", at(13));
        assert_eq!(line(&live, at(14))[4..], *"Writing · 14s · ↓5 tok · esc to stop");
        assert_eq!(
            line(&live, at(30))[4..],
            *"waiting for acme · 17s since last byte · 30s · ↓5 tok · esc to stop"
        );
        let pause = |trouble| Pause { attempt: 2, of: 6, wait_ms: 14_000, trouble, why: "busy".into() };
        for (trouble, says) in [
            (
                TroubleKind::Limited { resets: None },
                "rate limit · try 2 of 6 in 14s · esc stops · s other model",
            ),
            (
                TroubleKind::Lost { tokens: 1_204 },
                "connection lost after 1.2k tokens · try 2 of 6 in 14s · esc stops",
            ),
            (TroubleKind::Server { status: Some(503) }, "server error 503 · try 2 of 6 in 14s · esc stops"),
            (TroubleKind::Other, "try 2 of 6 in 14s · esc stops · busy"),
        ] {
            live.again(pause(trouble), at(30));
            assert_eq!(line(&live, at(30))[4..], *says);
        }
        live.waiting("acme is loading the model".into(), at(50));
        live.waiting("acme is loading the model".into(), at(55));
        assert_eq!(
            line(&live, at(62))[4..],
            *"acme is loading the model · 12s · 1m 02s · ↓5 tok · esc to stop"
        );
        let call = ToolCall::own(Action::shell("cargo test\nand more", None));
        let id = call.id.clone();
        live.call_started(call, at(63));
        assert_eq!(line(&live, at(65))[4..], *"Running cargo test · 1m 05s · ↓5 tok · esc to stop");
        assert!(live.call_ended(&id, at(66)).is_some() && live.call_ended(&id, at(66)).is_none());
    }
}
