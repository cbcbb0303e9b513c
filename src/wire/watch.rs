//! Watching a reply for a model that has lost its way: line breaks without end, the same lines over
//! and over, reasoning that does not come to a point. Pure; the client cuts the stream.
//!
//! What a reply holds for good reason is left alone: a file may have rows alike, so between code
//! fences and in a call's arguments repeats have to be four times as many, and short lines such as a
//! closing brace do not count.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Delta;
use crate::model::Watch;

/// Why a reply was cut before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOn {
    /// Nothing but line breaks came any more: what is before them may be whole.
    BlankLines,
    /// The same lines again and again.
    SameLines,
    /// Reasoning without an end.
    Thinking,
}

/// Longest circle of lines that is noticed.
const CIRCLE: usize = 8;
/// How many times as many repeats code may have.
const IN_CODE: u32 = 4;
/// Letters and digits that make a line worth counting.
const SUBSTANCE: usize = 4;

pub struct Watcher {
    watch: Watch,
    text: Lines,
    thinking: Lines,
    thought: usize,
    /// White space in a row in the arguments of the call that is being written.
    gap: u32,
    slot: Option<usize>,
}

impl Watcher {
    pub fn new(watch: Watch) -> Self {
        Self { watch, text: Lines::default(), thinking: Lines::default(), thought: 0, gap: 0, slot: None }
    }

    /// Takes one delta. Some: enough of it.
    pub fn hear(&mut self, delta: &Delta) -> Option<RunOn> {
        if self.watch == Watch::default() {
            return None;
        }
        match delta {
            Delta::Text(text) | Delta::Refusal(text) => self.text(text),
            Delta::Thinking { text, .. } => self.thinking(text),
            Delta::CallArgs { slot, text } => self.args(*slot, text),
            Delta::CallStart { .. }
            | Delta::Usage(_)
            | Delta::Stop(_)
            | Delta::Whole(_)
            | Delta::Error { .. }
            | Delta::End => None,
        }
    }

    fn text(&mut self, text: &str) -> Option<RunOn> {
        let (watch, lines) = (self.watch, &mut self.text);
        for c in text.chars() {
            lines.push(c);
            // The first line break ends a line that says something.
            if watch.blank_lines.is_some_and(|most| lines.blank > most) {
                return Some(RunOn::BlankLines);
            }
            if c == '\n' && watch.same_lines.is_some_and(|most| lines.circles(most)) {
                return Some(RunOn::SameLines);
            }
        }
        None
    }

    fn thinking(&mut self, text: &str) -> Option<RunOn> {
        self.thought += text.len();
        if self.watch.thinking.is_some_and(|most| self.thought / 4 > most as usize) {
            return Some(RunOn::Thinking);
        }
        for c in text.chars() {
            self.thinking.push(c);
            if c == '\n' && self.watch.same_lines.is_some_and(|most| self.thinking.circles(most)) {
                return Some(RunOn::Thinking);
            }
        }
        None
    }

    /// White space between the tokens of JSON is free, and where a sampler is held to a schema it is
    /// what a model without an idea goes on with.
    fn args(&mut self, slot: usize, text: &str) -> Option<RunOn> {
        let most = self.watch.blank_lines?;
        if self.slot != Some(slot) {
            (self.slot, self.gap) = (Some(slot), 0);
        }
        for c in text.chars() {
            self.gap = match c {
                '\n' => self.gap + 1,
                c if c.is_whitespace() => self.gap,
                _ => 0,
            };
            if self.gap > most {
                return Some(RunOn::BlankLines);
            }
        }
        None
    }
}

/// Lines as they come in.
#[derive(Default)]
struct Lines {
    current: String,
    /// Hashes of the last lines that say something, the newest last.
    last: VecDeque<u64>,
    /// How often in a row a line was the one so many before it, by the length of the circle.
    alike: [u32; CIRCLE],
    /// Line breaks in a row with nothing but white space between.
    blank: u32,
    in_code: bool,
}

impl Lines {
    fn push(&mut self, c: char) {
        if c != '\n' {
            if !c.is_whitespace() {
                self.blank = 0;
            }
            self.current.push(c);
            return;
        }
        self.blank += 1;
        let line = std::mem::take(&mut self.current);
        let line = line.trim();
        if line.starts_with("```") {
            self.in_code = !self.in_code;
            self.alike = [0; CIRCLE];
        }
        if line.chars().filter(|c| c.is_alphanumeric()).count() >= SUBSTANCE {
            self.count(line);
        }
    }

    fn count(&mut self, line: &str) {
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        let hash = hasher.finish();
        for (back, alike) in (1..).zip(&mut self.alike) {
            let before = self.last.len().checked_sub(back).and_then(|at| self.last.get(at));
            *alike = if before == Some(&hash) { *alike + 1 } else { 0 };
        }
        self.last.push_back(hash);
        if self.last.len() > CIRCLE {
            self.last.pop_front();
        }
    }

    /// Whether the last lines are a circle that was gone round `most` times.
    fn circles(&self, most: u32) -> bool {
        let most = if self.in_code { most.saturating_mul(IN_CODE) } else { most };
        (1..)
            .zip(self.alike)
            .any(|(length, alike): (u32, u32)| alike >= length * most.saturating_sub(1).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WATCH: Watch = Watch { blank_lines: Some(8), same_lines: Some(4), thinking: Some(100) };

    /// Heard a character at a time and all at once, which must not matter.
    fn cut(watch: Watch, text: &str) -> Option<RunOn> {
        let delta = |text: &str| Delta::Text(text.to_owned());
        let mut slow = Watcher::new(watch);
        let slowly = text.chars().find_map(|c| slow.hear(&delta(&c.to_string())));
        assert_eq!(slowly, Watcher::new(watch).hear(&delta(text)), "{text:?}");
        slowly
    }

    #[test]
    fn replies_that_run_on_are_cut() {
        let table = [
            ("done\n\n\n\n\n\n\n\n\n\n", Some(RunOn::BlankLines)),
            ("done\n \n\t\n \n\n\n\n\n\n", Some(RunOn::BlankLines)),
            ("I will look.\nI will look.\nI will look.\nI will look.\n", Some(RunOn::SameLines)),
            (&"first step\nsecond step\n".repeat(4), Some(RunOn::SameLines)),
            (&"one line\n\ntwo lines\n\nthree lines\n\n".repeat(4), Some(RunOn::SameLines)),
            (&format!("```\n{}", "0, 0, 0, 0\n".repeat(20)), Some(RunOn::SameLines)),
        ];
        for (text, want) in table {
            assert_eq!(cut(WATCH, text), want, "{text:?}");
            assert_eq!(cut(Watch::default(), text), None, "off: {text:?}");
        }
    }

    #[test]
    fn what_has_a_reason_to_repeat_is_left_alone() {
        let table = [
            "a\n\n\n\nb\n\n\n\nc\n\n\n\nd\n\n\n\n".to_owned(),
            "    }\n    }\n    }\n    }\n    }\n    }\n".to_owned(),
            format!("```\n{}```\n", "0, 0, 0, 0\n".repeat(12)),
            (0..40).map(|n| format!("line number {n}\n")).collect(),
            "look here\nlook here\nlook here\nno\nlook there\n".to_owned(),
        ];
        for text in table {
            assert_eq!(cut(WATCH, &text), None, "{text:?}");
        }
    }

    #[test]
    fn gaps_in_arguments_and_endless_thoughts_are_cut() {
        let args = |text: &str| Delta::CallArgs { slot: 0, text: text.to_owned() };
        let mut watcher = Watcher::new(WATCH);
        assert_eq!(watcher.hear(&args("{\"text\": \"a\\n\\n\\n\\n\\n\\n\\n\\n\\n\\nb\",\n\n\n")), None);
        assert_eq!(watcher.hear(&args("\n \n\n\n\n\n\n")), Some(RunOn::BlankLines));

        let thought = |text: String| Delta::Thinking { text, field: None, seal: None };
        let mut watcher = Watcher::new(WATCH);
        assert_eq!(watcher.hear(&thought("x".repeat(403))), None);
        assert_eq!(watcher.hear(&thought("x".repeat(4))), Some(RunOn::Thinking));
        let mut watcher = Watcher::new(Watch { thinking: None, ..WATCH });
        assert_eq!(watcher.hear(&thought("wait, no\n".repeat(5))), Some(RunOn::Thinking));
    }
}
