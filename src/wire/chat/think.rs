//! Reasoning that a server leaves in the text: `<think>…</think>` at its very start.

use crate::wire::Delta;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Tells reasoning from text, piece by piece. Tags may be split anywhere.
#[derive(Default)]
pub(super) struct Think {
    state: State,
    /// Text that cannot be judged yet: it may be the beginning of a tag.
    held: String,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum State {
    /// Nothing but white space or a part of the opening tag so far.
    #[default]
    Start,
    Inside,
    /// Past the closing tag, before the first visible character.
    After,
    Text,
}

impl Think {
    /// No tag will come: the reply has a field for reasoning, or something else came first.
    pub(super) fn give_up(&mut self, out: &mut Vec<Delta>) {
        self.finish(out);
        self.state = State::Text;
    }

    pub(super) fn text(&mut self, text: String, out: &mut Vec<Delta>) {
        if self.state == State::Text {
            if !text.is_empty() {
                out.push(Delta::Text(text));
            }
            return;
        }
        self.held.push_str(&text);
        if self.state == State::Start {
            self.start(out);
        }
        if self.state == State::Inside {
            self.inside(out);
        }
        if self.state == State::After {
            let rest = self.held.trim_start().to_owned();
            self.held.clear();
            if !rest.is_empty() {
                self.state = State::Text;
                out.push(Delta::Text(rest));
            }
        }
    }

    /// Gives out what was held back.
    pub(super) fn finish(&mut self, out: &mut Vec<Delta>) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            _ if held.is_empty() => {}
            State::Inside => out.push(thinking(held)),
            State::Start | State::After | State::Text => out.push(Delta::Text(held)),
        }
    }

    fn start(&mut self, out: &mut Vec<Delta>) {
        let seen = self.held.trim_start();
        if let Some(rest) = seen.strip_prefix(OPEN) {
            self.held = rest.to_owned();
            self.state = State::Inside;
        } else if !OPEN.starts_with(seen) {
            self.state = State::Text;
            out.push(Delta::Text(std::mem::take(&mut self.held)));
        }
    }

    fn inside(&mut self, out: &mut Vec<Delta>) {
        let (thought, rest) = match self.held.split_once(CLOSE) {
            Some((thought, rest)) => {
                self.state = State::After;
                (thought, rest)
            }
            None => self.held.split_at(self.held.len() - tag_begun(&self.held)),
        };
        if !thought.is_empty() {
            out.push(thinking(thought.to_owned()));
        }
        self.held = rest.to_owned();
    }
}

/// How many bytes at the end of `text` may be the beginning of the closing tag.
fn tag_begun(text: &str) -> usize {
    (1..CLOSE.len()).rev().find(|n| text.ends_with(&CLOSE[..*n])).unwrap_or(0)
}

fn thinking(text: String) -> Delta {
    Delta::Thinking { text, field: None, seal: None }
}
