//! What the person is asked, as a question of `y` or `n`.
//!
//! An answer is a whole line that is nothing else, and one that came before the question could be read does
//! not count.

use std::time::{Duration, Instant};

use super::words::{WIDE, text_of};
use super::{Next, Plain, Tone};
use crate::agent::{Answer, Request, Rule, Scope, What};
use crate::tui::approval::{Choice, NewText, asked, choices, first_row, new_texts, revision, risks, title};
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
    /// What the next line is, where it is no answer.
    entry: Option<Entry>,
}

/// What is typed on a line of its own.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Entry {
    /// The command that runs in place of the model's.
    Command,
    /// The rule; what was offered.
    Rule(Rule),
    /// Where the rule holds: in the project that was offered, or everywhere.
    Place(Rule),
}

/// What a line of the person's means.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meant {
    Answer(Answer),
    /// No to this and to all that follow.
    NoneOfThem,
    Enter(Entry),
    /// For the person's editor.
    Edit(Vec<NewText>),
    /// Shows the question again.
    Again,
}

impl Question {
    fn request(&self) -> Option<&Request> {
        self.requests.get(self.answers.len())
    }

    /// Something other than an answer is typed.
    pub(super) fn enters(&self) -> bool {
        self.entry.is_some()
    }

    pub(super) fn prompt(&self) -> &'static str {
        match self.entry {
            None => "y/n? ",
            Some(Entry::Command) => "command> ",
            Some(Entry::Rule(_)) => "rule> ",
            Some(Entry::Place(_)) => "where> ",
        }
    }
}

impl Plain {
    pub(super) fn asked(&mut self, id: u64, requests: Vec<Request>, now: Instant) {
        self.asks.push_back(Question { id, requests, answers: Vec::new(), shown: now, entry: None });
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
        (question.shown, question.entry) = (now, None);
        let (at, count) = (question.answers.len() + 1, question.requests.len());
        let Some(request) = question.request() else { return };
        // Something half typed may stand on the row.
        let mut rows = vec![String::new()];
        if count > 1 && at == 1 {
            rows.push(format!("{count} decisions are wanted:"));
            rows.extend(
                question.requests.iter().enumerate().map(|(n, r)| format!(" {} {}", n + 1, first_row(r))),
            );
        }
        let which = if count > 1 { format!(" {at} of {count}") } else { String::new() };
        rows.push(format!("question{which}, asked by {}: {}", request.asker.name(), title(request)));
        rows.extend(told(request, &self.palette));
        if count > at {
            rows.push("none: no to this and to all that follow".to_owned());
        }
        rows.iter().for_each(|row| self.write(row));
        self.stale = true;
    }

    pub(super) fn answer(&mut self, line: &str, now: Instant) -> Next {
        let Some(question) = self.asks.front_mut() else { return Next::On };
        if now.saturating_duration_since(question.shown) < SHOWN {
            self.tell(Tone::Warning, "that came before the question could be read; answer it now");
            return Next::On;
        }
        let Some(request) = question.request() else { return Next::On };
        let meant = match &question.entry {
            None => meant(line, request),
            Some(entry) => entered(line, entry),
        };
        match meant {
            Ok(meant) => return self.heed(meant, now),
            Err(why) => self.tell(Tone::Warning, why),
        }
        Next::On
    }

    fn heed(&mut self, meant: Meant, now: Instant) -> Next {
        let Some(question) = self.asks.front_mut() else { return Next::On };
        match meant {
            Meant::Answer(answer) => question.answers.push(answer),
            Meant::NoneOfThem => {
                question.answers.resize(question.requests.len(), Answer::Refuse { reason: None });
            }
            Meant::Again => {}
            Meant::Edit(texts) => return Next::Edit(texts),
            Meant::Enter(entry) => {
                let hint = hint(&entry, question.request());
                (question.shown, question.entry) = (now, Some(entry));
                self.stale = true;
                hint.iter().for_each(|row| self.write(row));
                return Next::On;
            }
        }
        if question.request().is_none()
            && let Some(question) = self.asks.pop_front()
        {
            self.link.desk.answer(question.id, question.answers);
        }
        self.put_question(now);
        Next::On
    }

    /// What came of the person's editor.
    pub(super) fn revised(&mut self, came: Result<Vec<String>, String>, now: Instant) {
        let Some(request) = self.asks.front().and_then(Question::request) else { return };
        match came.and_then(|texts| revision(request, texts)) {
            Ok(answer) => drop(self.heed(Meant::Answer(answer), now)),
            Err(why) => {
                self.tell(Tone::Warning, why);
                self.put_question(now);
            }
        }
    }
}

/// What is asked, all of it and with everything drawn that would be hidden; why; what can be answered.
fn told(request: &Request, palette: &Palette) -> Vec<String> {
    let mut rows: Vec<String> =
        asked(request, WIDE.into(), palette).iter().map(|row| format!(" {}", text_of(row))).collect();
    if let What::Command { cwd, .. } = &request.what {
        rows.push(format!("in: {}", one_line(&cwd.display().to_string())));
    }
    rows.push(format!("why: {}", one_line(&request.why)));
    rows.extend(risks(request).iter().map(|risk| format!("risk: {risk}")));
    for (choice, offered) in choices(request) {
        let key = choice.key();
        rows.push(match (choice, offered) {
            (Choice::No, _) => "n: no; what stands behind it is told to the model".to_owned(),
            (_, Ok(what)) => format!("{key}: {}", one_line(&what)),
            (_, Err(why)) => format!("{key}, {}, is not offered: {}", choice.name(), one_line(&why)),
        });
    }
    rows.push("v: show it again".to_owned());
    rows
}

/// What is to be typed now.
fn hint(entry: &Entry, request: Option<&Request>) -> Vec<String> {
    match entry {
        Entry::Command => {
            let line = request.map(first_row).unwrap_or_default();
            vec![line, "type what runs in its place; an empty line goes back".to_owned()]
        }
        Entry::Rule(rule) => vec![
            format!("rule: {}", one_line(&rule.allow)),
            "an empty line keeps it, another rule takes its place, n goes back".to_owned(),
        ],
        Entry::Place(rule) => {
            let place = rule.project.as_ref().map(|root| root.display().to_string()).unwrap_or_default();
            vec![
                format!("an empty line saves it for this project, {}", one_line(&place)),
                "e saves it for everywhere, n goes back".to_owned(),
            ]
        }
    }
}

fn one_line(text: &str) -> String {
    reveal(text).replace('\n', " ")
}

/// The answer that a line is; Err: why it is none.
pub(super) fn meant(line: &str, request: &Request) -> Result<Meant, String> {
    let (word, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
    let (word, rest) = (word.to_lowercase(), rest.trim());
    let offered = choices(request);
    let chosen = offered.iter().find(|(choice, _)| {
        let long = matches!((choice, word.as_str()), (Choice::Once, "yes") | (Choice::No, "no"));
        long || word.chars().eq([choice.key()])
    });
    let answer = |offer, scope| Ok(Meant::Answer(Answer::Allow { offer, scope }));
    match (chosen, rest) {
        (Some((Choice::No, _)), reason) => {
            let reason = Some(reason.to_owned()).filter(|reason| !reason.is_empty());
            Ok(Meant::Answer(Answer::Refuse { reason }))
        }
        (Some((_, Err(why))), "") => Err(format!("not offered: {why}")),
        (Some((Choice::Once, _)), "") => answer(0, Scope::Once),
        (Some((Choice::Session, _)), "") => answer(0, Scope::Session),
        (Some((Choice::Open, _)), "") => answer(1, Scope::Once),
        (Some((Choice::Always, _)), "") => match request.offers.first().map(|offer| &offer.always) {
            Some(Ok(rule)) => Ok(Meant::Enter(Entry::Rule(rule.clone()))),
            Some(Err(_)) | None => Err("no rule is offered".to_owned()),
        },
        (Some((Choice::Edit, _)), "") => Ok(match new_texts(request) {
            texts if texts.is_empty() => Meant::Enter(Entry::Command),
            texts => Meant::Edit(texts),
        }),
        (None, "") if word == "v" => Ok(Meant::Again),
        (None, "") if word == "none" => Ok(Meant::NoneOfThem),
        (Some(_) | None, _) => {
            let keys: Vec<String> = offered
                .iter()
                .filter(|(choice, offered)| offered.is_ok() && *choice != Choice::No)
                .map(|(choice, _)| choice.key().to_string())
                .collect();
            Err(format!("an answer is {}, v, or n and why not", keys.join(", ")))
        }
    }
}

/// What a line means that is no answer.
pub(super) fn entered(line: &str, entry: &Entry) -> Result<Meant, String> {
    let line = line.trim();
    match (entry, line) {
        (Entry::Command, "") | (Entry::Rule(_) | Entry::Place(_), "n" | "no") => Ok(Meant::Again),
        (Entry::Command, command) => Ok(Meant::Answer(Answer::Edited { command: command.to_owned() })),
        (Entry::Rule(rule), "") => Ok(Meant::Enter(Entry::Place(rule.clone()))),
        (Entry::Rule(rule), text) => {
            let new = Rule::parse(text)?;
            Ok(Meant::Enter(Entry::Place(Rule { allow: new.allow, ..rule.clone() })))
        }
        (Entry::Place(rule), "") => Ok(always(rule.clone())),
        (Entry::Place(rule), "e") => Ok(always(Rule { project: None, ..rule.clone() })),
        (Entry::Place(_), _) => Err("an empty line, e or n".to_owned()),
    }
}

fn always(rule: Rule) -> Meant {
    Meant::Answer(Answer::Allow { offer: 0, scope: Scope::Always(rule) })
}
