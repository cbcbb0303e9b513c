//! Events as text: what is going on to stderr, the last message to stdout.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};

use super::Frontend;
use crate::agent::{End, Event};
use crate::model::{Action, Body, CallId, Item, Outcome, SessionId, State, Usage, steers};

/// Lines of a command's output that are shown, from its end.
const OUTPUT_LINES: usize = 4;

pub(super) struct Text {
    color: bool,
    session: Option<SessionId>,
    open: HashMap<CallId, Action>,
    /// Words of the latest reply: shown on stderr once it turns out that more follows.
    said: Option<String>,
    /// The wait that was announced last.
    waiting: Option<String>,
    /// stdout is a terminal: what a model says must not steer it.
    guarded: bool,
}

impl Text {
    pub(super) fn new(color: bool) -> Self {
        Self {
            color,
            session: None,
            open: HashMap::new(),
            said: None,
            waiting: None,
            guarded: std::io::stdout().is_terminal(),
        }
    }

    /// Progress is a courtesy: a closed stderr does not end the run.
    fn note(&self, style: Style, line: &str) {
        let line = harmless(line);
        let line = if self.color { format!("{}{line}\x1b[0m", style.code()) } else { line };
        let _ = writeln!(std::io::stderr(), "{line}");
    }

    fn item(&mut self, item: &Item) {
        match &item.body {
            Body::Assistant(reply) => {
                self.flush_said();
                self.said = Some(reply.said()).filter(|said| !said.is_empty());
            }
            Body::Result(result) => {
                if let Some(action) = self.open.remove(&result.call) {
                    self.ended(&action, &result.outcome);
                }
            }
            Body::User(_) | Body::Note(_) | Body::Scene(_) | Body::Summary(_) | Body::Mark(_) => {}
        }
    }

    fn flush_said(&mut self) {
        if let Some(said) = self.said.take() {
            self.note(Style::Dim, &said);
        }
    }

    fn ended(&self, action: &Action, outcome: &Outcome) {
        let mut line = format!("• {}", action.title_with(outcome));
        let style = match (outcome.state, outcome.exit) {
            (State::Ok, None | Some(0)) => Style::Plain,
            (State::Ok | State::Failed, Some(code)) => {
                line.push_str(&format!("  ✗ exit {code}"));
                Style::Bad
            }
            (State::Failed | State::Refused | State::TimedOut | State::Interrupted, _) => {
                let why = match outcome.state {
                    State::Refused => "⊘ refused",
                    State::TimedOut => "✗ time limit",
                    State::Interrupted => "✗ stopped",
                    State::Ok | State::Failed => "✗",
                };
                let first = outcome.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                line.push_str(&format!("  {why}: {}", shortened(first)));
                Style::Bad
            }
        };
        if outcome.took >= 1_000 {
            line.push_str(&format!(" · {:.1}s", outcome.took as f64 / 1e3));
        }
        self.note(style, &line);
        if let Action::Shell { .. } = action {
            let lines: Vec<_> = outcome.text.lines().collect();
            for line in &lines[lines.len().saturating_sub(OUTPUT_LINES)..] {
                self.note(Style::Dim, &format!("  │ {}", shortened(line)));
            }
        }
    }

    fn turn_ended(&mut self, end: &End, usage: &Usage, cost: Option<f64>) -> std::io::Result<()> {
        match end {
            End::Completed { message } => {
                if self.said != *message {
                    self.flush_said();
                }
                if let Some(message) = message {
                    let text = if self.guarded { harmless(message) } else { message.clone() };
                    let mut out = std::io::stdout();
                    out.write_all(text.as_bytes())?;
                    if !text.ends_with('\n') {
                        out.write_all(b"\n")?;
                    }
                    out.flush()?;
                } else {
                    self.note(Style::Warn, "warning: the model ended the turn without a word");
                }
            }
            End::Failed { message, .. } => {
                self.flush_said();
                self.note(Style::Bad, &format!("error: {message}"));
            }
            End::Limit { message } => {
                self.flush_said();
                self.note(Style::Bad, &format!("stopped: {message}"));
            }
            End::Interrupted => {
                self.flush_said();
                self.note(Style::Bad, "interrupted");
            }
        }
        let mut line = format!("{} tokens in", usage.input);
        if usage.cached > 0 {
            line.push_str(&format!(" ({} cached)", usage.cached));
        }
        line.push_str(&format!(", {} out", usage.output));
        if let Some(cost) = cost.filter(|cost| *cost > 0.0) {
            line.push_str(&format!(" · ${cost:.4}"));
        }
        if let Some(id) = &self.session {
            line.push_str(&format!(" · go on with: tack exec resume {id}"));
        }
        self.note(Style::Dim, &line);
        Ok(())
    }
}

impl Frontend for Text {
    fn hear(&mut self, event: &Event) -> std::io::Result<()> {
        match event {
            Event::Session { id, .. } => self.session = Some(id.clone()),
            Event::NotRecorded => self.session = None,
            Event::Warning(message) => self.note(Style::Warn, &format!("warning: {message}")),
            Event::TurnStarted | Event::Text(_) | Event::Thinking(_) => {}
            Event::Again { attempt, of, wait_ms, why, .. } => {
                let wait = *wait_ms as f64 / 1e3;
                self.note(Style::Warn, &format!("{why}; trying again in {wait:.1} s ({attempt}/{of})"));
            }
            // A wait is announced again and again while it lasts.
            Event::Waiting(what) if self.waiting.as_ref() == Some(what) => {}
            Event::Waiting(what) => {
                self.note(Style::Dim, what);
                self.waiting = Some(what.clone());
            }
            // Only a person at a session causes them.
            Event::Speaks { .. } | Event::Ran { .. } | Event::Ask { .. } | Event::AskVoid(_) => {}
            Event::CallStarted { call, .. } => {
                // What is said while handing in may turn out to be the last message.
                if !matches!(call.action, Action::Submit { .. }) {
                    self.flush_said();
                }
                self.open.insert(call.id.clone(), call.action.clone());
            }
            Event::Item(item) => self.item(item),
            Event::TurnEnded { end, usage, cost } => return self.turn_ended(end, usage, *cost),
        }
        Ok(())
    }

    /// Each line is out as soon as it is written.
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    fn close(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Style {
    Plain,
    Dim,
    Warn,
    Bad,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => "\x1b[2m",
            Self::Warn => "\x1b[33m",
            Self::Bad => "\x1b[31m",
        }
    }
}

fn shortened(line: &str) -> String {
    let mut short: String = line.chars().take(160).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

/// Without characters that could move the cursor, set the title, turn the text round or worse.
fn harmless(text: &str) -> String {
    text.chars().filter(|&c| c == '\n' || c == '\t' || !steers(c)).collect()
}
