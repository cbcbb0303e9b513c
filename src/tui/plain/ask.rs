//! What the person is asked, as a question of `y` or `n`.
//!
//! An answer is a whole line that is nothing else, and one that came before the question could be read does
//! not count.

use std::time::{Duration, Instant};

use super::words::{WIDE, text_of};
use super::{Plain, Tone};
use crate::agent::{Answer, Offer, Request, Scope, What};
use crate::tui::approval::{asked, risks, title};
use crate::tui::palette::Palette;
use crate::tui::text::reveal;

/// How long a question stands before an answer counts.
const SHOWN: Duration = Duration::from_millis(500);

/// All that is asked at once, and what was answered.
pub(super) struct Question {
    id: u64,
    requests: Vec<Request>,
    answers: Vec<Answer>,
    shown: Instant,
}

impl Question {
    fn request(&self) -> Option<&Request> {
        self.requests.get(self.answers.len())
    }
}

impl Plain {
    pub(super) fn asked(&mut self, id: u64, requests: Vec<Request>, now: Instant) {
        self.asks.push_back(Question { id, requests, answers: Vec::new(), shown: now });
        if self.asks.len() == 1 {
            self.put_question(now);
        }
    }

    /// Nobody waits for the answer any more.
    pub(super) fn ask_void(&mut self, id: u64, now: Instant) {
        let before = self.asks.len();
        self.asks.retain(|question| question.id != id);
        if self.asks.len() < before {
            self.tell(Tone::Dim, "no answer is wanted any more");
            self.put_question(now);
        }
    }

    /// Shows the oldest question, if there is one.
    fn put_question(&mut self, now: Instant) {
        let Some(question) = self.asks.front_mut() else { return };
        question.shown = now;
        let (at, count) = (question.answers.len() + 1, question.requests.len());
        let Some(request) = question.request() else { return };
        let which = if count > 1 { format!(" {at} of {count}") } else { String::new() };
        let mut rows =
            vec![format!("question{which}, asked by {}: {}", request.asker.name(), title(request))];
        rows.extend(told(request, &self.palette));
        rows.iter().for_each(|row| self.write(row));
    }

    pub(super) fn answer(&mut self, line: &str, now: Instant) {
        let Some(question) = self.asks.front_mut() else { return };
        if now.saturating_duration_since(question.shown) < SHOWN {
            return self.tell(Tone::Warning, "that came before the question could be read; answer it now");
        }
        let Some(request) = question.request() else { return };
        match meant(line, request) {
            Err(why) => self.tell(Tone::Warning, why),
            Ok(answer) => {
                question.answers.push(answer);
                if question.request().is_none()
                    && let Some(question) = self.asks.pop_front()
                {
                    self.link.desk.answer(question.id, question.answers);
                }
                self.put_question(now);
            }
        }
    }
}

/// What is asked, all of it and with everything drawn that would be hidden; why; what can be answered.
fn told(request: &Request, palette: &Palette) -> Vec<String> {
    let mut rows: Vec<String> =
        asked(request, WIDE.into(), palette).iter().map(|row| format!(" {}", text_of(row))).collect();
    let one_line = |text: &str| reveal(text).replace('\n', " ");
    if let What::Command { cwd, .. } = &request.what {
        rows.push(format!("in: {}", one_line(&cwd.display().to_string())));
    }
    rows.push(format!("why: {}", one_line(&request.why)));
    rows.extend(risks(request).iter().map(|risk| format!("risk: {risk}")));
    let Some(offer) = request.offers.first() else { return rows };
    rows.push(format!("y: once{}", with(offer)));
    rows.push(match &offer.session {
        Ok(what) => format!("a: this session: {}", one_line(what)),
        Err(why) => format!("a, this session, is not offered: {}", one_line(why)),
    });
    if request.offers.len() > 1 {
        rows.push("w: once, without the sandbox".to_owned());
    }
    rows.push("n: no; what stands behind it is told to the model".to_owned());
    rows
}

fn with(offer: &Offer) -> String {
    let lifts: Vec<String> = offer.lifts.iter().map(ToString::to_string).collect();
    if lifts.is_empty() { String::new() } else { format!(", with {}", lifts.join(" and ")) }
}

/// The answer that a line is; Err: why it is none.
pub(super) fn meant(line: &str, request: &Request) -> Result<Answer, String> {
    let (word, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
    let allow = |offer, scope| Ok(Answer::Allow { offer, scope });
    match (word.to_lowercase().as_str(), rest.trim()) {
        ("n" | "no", reason) => {
            Ok(Answer::Refuse { reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()) })
        }
        ("y" | "yes", "") => allow(0, Scope::Once),
        ("a", "") => match request.offers.first().map(|offer| &offer.session) {
            Some(Err(why)) => Err(format!("not offered: {why}")),
            Some(Ok(_)) | None => allow(0, Scope::Session),
        },
        ("w", "") if request.offers.len() > 1 => allow(1, Scope::Once),
        _ => Err("an answer is y, a, or n and why not".to_owned()),
    }
}
