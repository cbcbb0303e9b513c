//! Deltas put together to one answer. Pure.
//!
//! Here it is decided whether a reply is whole. One that ended before the server gave a reason is
//! broken, and a broken reply is never handed out as an answer: half a call must not run.

use serde::de::IgnoredAny;

use super::{Answer, AnswerPart, Delta, Progress, RunOn};
use crate::model::{Stop, Usage};

#[derive(Default)]
pub struct Fold {
    parts: Vec<AnswerPart>,
    /// Where in `parts` the call of each slot is.
    slots: Vec<(usize, usize)>,
    usage: Usage,
    stop: Option<Stop>,
    refused: bool,
    ended: bool,
    error: Option<(String, Option<String>)>,
    run_on: Option<RunOn>,
}

/// Why a reply is no answer, with the text that had arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The server's own words when it reported an error in the stream, and their kind.
    pub error: Option<(String, Option<String>)>,
    pub partial: String,
    /// About as many tokens had arrived, of whatever kind.
    pub tokens: u64,
}

impl Fold {
    /// Takes one delta and says what of it a listener should hear.
    pub fn push(&mut self, delta: Delta) -> Option<Progress> {
        match delta {
            Delta::Text(text) => self.text(text),
            Delta::Refusal(text) => {
                self.refused = true;
                self.text(text)
            }
            Delta::Thinking { text, field, seal } => {
                self.thinking(AnswerPart::Thinking { text, field, seal })
            }
            Delta::CallStart { slot, id, name } => self.call(slot, id, name),
            Delta::CallArgs { slot, text } => {
                if let Some(AnswerPart::Call { args, .. }) = self.slot(slot) {
                    args.push_str(&text);
                }
                None
            }
            Delta::Usage(usage) => {
                self.usage = usage;
                None
            }
            Delta::Stop(stop) => {
                self.stop = Some(stop);
                None
            }
            Delta::Whole(parts) => {
                self.parts = parts;
                let is_call = |part: &AnswerPart| matches!(part, AnswerPart::Call { .. });
                let calls = self.parts.iter().enumerate().filter(|(_, part)| is_call(part));
                self.slots = calls.enumerate().map(|(slot, (at, _))| (slot, at)).collect();
                None
            }
            Delta::Error { message, kind } => {
                self.error.get_or_insert((message, kind));
                None
            }
            Delta::End => {
                self.ended = true;
                None
            }
        }
    }

    /// Nothing more will change the answer: it need not be waited for.
    pub fn ended(&self) -> bool {
        self.ended || self.error.is_some()
    }

    /// The server gave a reason for the end: only counts may still come.
    pub fn stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// The text so far.
    pub fn partial(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            AnswerPart::Text(text) => Some(text.as_str()),
            AnswerPart::Thinking { .. } | AnswerPart::Call { .. } => None,
        });
        texts.collect()
    }

    /// At four bytes a token.
    fn tokens(&self) -> u64 {
        self.parts.iter().map(size).sum::<usize>() as u64 / 4
    }

    /// The reply goes no further: its stream is cut. What only line breaks followed may be whole; the
    /// rest is cut off, and so a call in it never runs. The server tells no counts then: they are
    /// estimated at four bytes a token.
    pub fn cut(&mut self, why: RunOn) {
        self.run_on = Some(why);
        if let Some(AnswerPart::Text(text)) = self.parts.last_mut() {
            text.truncate(text.trim_end().len());
        }
        self.parts.retain(|part| !matches!(part, AnswerPart::Text(text) if text.is_empty()));
        let said = |part: &AnswerPart| match part {
            AnswerPart::Text(_) | AnswerPart::Call { .. } => true,
            AnswerPart::Thinking { .. } => false,
        };
        let whole =
            why == RunOn::BlankLines && self.parts.iter().any(said) && self.parts.iter().all(is_whole);
        self.stop = Some(if whole { Stop::Done } else { Stop::RunOn });
        if self.usage == Usage::default() {
            self.usage.output = self.tokens();
        }
    }

    /// The answer, if the reply is whole. `requests` is left at 1.
    pub fn finish(self) -> Result<Answer, Broken> {
        let stop = self.stop.clone().or_else(|| self.end_without_reason());
        let (Some(stop), None) = (stop, &self.error) else {
            return Err(Broken { partial: self.partial(), tokens: self.tokens(), error: self.error });
        };
        let stop = match stop {
            Stop::Done | Stop::Calls if self.refused => Stop::Refused,
            Stop::Done | Stop::Calls if self.slots.is_empty() => Stop::Done,
            Stop::Done | Stop::Calls => Stop::Calls,
            stop @ (Stop::Length
            | Stop::RunOn
            | Stop::Refused
            | Stop::Broken
            | Stop::Interrupted
            | Stop::Other(_)) => stop,
        };
        Ok(Answer { parts: self.parts, usage: self.usage, stop, requests: 1, run_on: self.run_on })
    }

    /// Some gateways end with their end mark and no reason. That is whole if something came and no
    /// call is visibly cut.
    fn end_without_reason(&self) -> Option<Stop> {
        (self.ended && !self.parts.is_empty() && self.parts.iter().all(is_whole)).then_some(Stop::Done)
    }

    fn text(&mut self, text: String) -> Option<Progress> {
        match self.parts.last_mut() {
            Some(AnswerPart::Text(so_far)) => so_far.push_str(&text),
            _ => self.parts.push(AnswerPart::Text(text.clone())),
        }
        Some(Progress::Text(text))
    }

    fn thinking(&mut self, part: AnswerPart) -> Option<Progress> {
        let AnswerPart::Thinking { text, field, seal } = part else { return None };
        match self.parts.last_mut() {
            // A seal closes its piece of reasoning.
            Some(AnswerPart::Thinking { text: so_far, field: same, seal: open @ None }) if *same == field => {
                so_far.push_str(&text);
                *open = seal;
            }
            _ => self.parts.push(AnswerPart::Thinking { text: text.clone(), field, seal }),
        }
        (!text.is_empty()).then_some(Progress::Thinking(text))
    }

    /// Opens a call, or goes on with the name of one that is open.
    fn call(&mut self, slot: usize, id: Option<String>, name: String) -> Option<Progress> {
        if let Some(AnswerPart::Call { id: given, name: so_far, .. }) = self.slot(slot) {
            so_far.push_str(&name);
            if id.is_some() {
                *given = id;
            }
            return None;
        }
        self.slots.push((slot, self.parts.len()));
        self.parts.push(AnswerPart::Call { id, name: name.clone(), args: String::new() });
        Some(Progress::Call(name))
    }

    fn slot(&mut self, slot: usize) -> Option<&mut AnswerPart> {
        let (_, at) = self.slots.iter().rev().find(|(number, _)| *number == slot)?;
        self.parts.get_mut(*at)
    }
}

fn is_whole(part: &AnswerPart) -> bool {
    match part {
        AnswerPart::Call { args, .. } => serde_json::from_str::<IgnoredAny>(args).is_ok(),
        AnswerPart::Text(_) | AnswerPart::Thinking { .. } => true,
    }
}

fn size(part: &AnswerPart) -> usize {
    match part {
        AnswerPart::Text(text) | AnswerPart::Thinking { text, .. } => text.len(),
        AnswerPart::Call { name, args, .. } => name.len() + args.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(deltas: impl IntoIterator<Item = Delta>) -> Result<Answer, Broken> {
        let mut fold = Fold::default();
        for delta in deltas {
            fold.push(delta);
        }
        fold.finish()
    }

    fn text(text: &str) -> Delta {
        Delta::Text(text.into())
    }

    fn call(args: &str) -> [Delta; 2] {
        let start = Delta::CallStart { slot: 0, id: Some("a".into()), name: "bash".into() };
        [start, Delta::CallArgs { slot: 0, text: args.into() }]
    }

    #[test]
    fn texts_merge_and_a_reason_makes_the_reply_whole() {
        let answer = fold([text("a"), text("b"), Delta::Stop(Stop::Done)]).unwrap();
        assert_eq!(answer.parts, [AnswerPart::Text("ab".into())]);
        assert_eq!(answer.stop, Stop::Done);
    }

    #[test]
    fn a_reply_without_a_reason_is_broken_whatever_it_holds() {
        assert_eq!(fold([text("par")]).unwrap_err().partial, "par");
        assert!(fold(call("{\"command\":\"ls\"}")).is_err());
        assert!(fold([]).is_err());
        assert!(fold([Delta::End]).is_err());
    }

    #[test]
    fn an_end_mark_stands_for_the_reason_unless_a_call_is_cut() {
        assert_eq!(fold([text("a"), Delta::End]).unwrap().stop, Stop::Done);
        assert_eq!(fold(call("{}").into_iter().chain([Delta::End])).unwrap().stop, Stop::Calls);
        assert!(fold(call("{\"com").into_iter().chain([Delta::End])).is_err());
    }

    #[test]
    fn the_reason_fits_what_came() {
        let stop = |deltas: Vec<Delta>| fold(deltas).unwrap().stop;
        let with_call = |stop: Stop| call("{}").into_iter().chain([Delta::Stop(stop)]).collect();
        assert_eq!(stop(with_call(Stop::Done)), Stop::Calls);
        assert_eq!(stop(with_call(Stop::Length)), Stop::Length);
        assert_eq!(stop(vec![text("a"), Delta::Stop(Stop::Calls)]), Stop::Done);
        assert_eq!(stop(vec![Delta::Refusal("no".into()), Delta::Stop(Stop::Done)]), Stop::Refused);
    }

    #[test]
    fn a_reply_that_is_cut_is_whole_only_if_nothing_but_line_breaks_followed() {
        let cut = |deltas: Vec<Delta>, why| {
            let mut fold = Fold::default();
            deltas.into_iter().for_each(|delta| drop(fold.push(delta)));
            fold.cut(why);
            fold.finish().unwrap()
        };
        let table = [
            (vec![text("done\n\n\n")], RunOn::BlankLines, Stop::Done),
            (vec![text("\n\n\n")], RunOn::BlankLines, Stop::RunOn),
            (call("{\"a\": 1}\n\n").to_vec(), RunOn::BlankLines, Stop::Calls),
            (call("{\"a\": \n\n").to_vec(), RunOn::BlankLines, Stop::RunOn),
            (vec![text("again\nagain\n")], RunOn::SameLines, Stop::RunOn),
        ];
        for (deltas, why, want) in table {
            let answer = cut(deltas, why);
            assert_eq!((answer.stop, answer.run_on), (want, Some(why)));
        }
        assert_eq!(cut(vec![text("done\n\n")], RunOn::BlankLines).parts, [AnswerPart::Text("done".into())]);
    }

    #[test]
    fn an_error_in_the_stream_breaks_it_even_after_a_reason() {
        let error = Delta::Error { message: "overloaded".into(), kind: None };
        let broken = fold([text("a"), Delta::Stop(Stop::Done), error]).unwrap_err();
        assert_eq!(broken.error, Some(("overloaded".into(), None)));
        assert_eq!(broken.partial, "a");
    }
}
