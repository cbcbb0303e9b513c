//! Getting a summary out of a model: what it is shown, and what is tried when it gives none.
//!
//! A model may call tools instead, say nothing, run on, or find the history too long even for this.
//! Each time it is asked again in plainer words or about less, the oldest first, and only so often.
//! What the person said is always among what it is shown.

use super::Press;
use crate::agent::Agent;
use crate::harness::Verdict;
use crate::harness::{Compaction, Saying, Show, Strategy, Told, View, past_thinking};
use crate::model::{Body, Item, Note, NoteKind, Part, Reply, Stop, WireKind};
use crate::wire::prompt::{LIMITS, Message, Piece, Prompt, Role};
use crate::wire::{Answer, Failure};

/// How often a model is asked for one text.
const ASKS: usize = 8;
/// Words around a call that are too few to be a summary, in characters.
const AROUND: usize = 80;

/// How much of a history is shown.
struct Cut {
    /// Bytes of each result.
    result: usize,
    /// Percent of the replies, the oldest, that are left out.
    replies: usize,
    /// Bytes of whatever else but the person's words, which takes a transcript.
    each: Option<usize>,
}

const CUTS: [Cut; 6] = [
    Cut { result: usize::MAX, replies: 0, each: None },
    Cut { result: 4_000, replies: 0, each: None },
    Cut { result: 400, replies: 0, each: None },
    Cut { result: 0, replies: 50, each: None },
    Cut { result: 0, replies: 75, each: None },
    Cut { result: 0, replies: 75, each: Some(400) },
];

/// How the history is shown now. What a first question found out holds for the next.
struct Sight {
    show: Show,
    cut: usize,
}

impl Sight {
    fn plainer(&mut self) {
        match self.show {
            Show::Session => self.show = Show::Words,
            Show::Words => self.show = Show::Transcript,
            Show::Transcript => self.shorter(),
        }
    }

    fn shorter(&mut self) {
        self.cut = (self.cut + 1).min(CUTS.len() - 1);
    }
}

impl Agent {
    /// What is to stand for the items before `from`. None: the model gave nothing of use.
    pub(super) async fn sum_up(
        &mut self,
        from: usize,
        press: &Press,
    ) -> anyhow::Result<Result<Option<String>, Failure>> {
        let rules = self.harness.rules(&self.model).compaction;
        // What the server has just refused need not be tried again.
        let mut sight = Sight { show: rules.show, cut: usize::from(matches!(press, Press::Refused(_))) };
        let mut ask = self.harness.say(&Saying::Compact);
        if let Some(focus) = &self.focus {
            // The person's own words, which need no others around them.
            ask.push_str("\n\n");
            ask.push_str(focus);
        }
        let summary = match self.ask_about(from, &ask, &mut sight).await? {
            Ok(Some(summary)) => summary,
            other => return Ok(other),
        };
        match rules.strategy {
            Strategy::Summary => Ok(Ok(Some(summary))),
            Strategy::Handoff => self.hand_over(from, &summary, &mut sight).await,
        }
    }

    /// Lets who knows the summary alone ask, and who knows all answer. The summary is good without.
    async fn hand_over(
        &mut self,
        from: usize,
        summary: &str,
        sight: &mut Sight,
    ) -> anyhow::Result<Result<Option<String>, Failure>> {
        let request = self.last_request().to_owned();
        let ask = self.harness.say(&Saying::Questions { summary, request: &request });
        let mut prompt = self.harness.prompt(&View { items: &[], ..self.view() }).await?;
        prompt.messages.push(Message::text(Role::User, ask));
        prompt.tools.clear();
        let questions = match self.text(prompt).await? {
            Ok(questions) => questions.unwrap_or_default(),
            Err(failure) => return Ok(Err(failure)),
        };
        let mut answers = None;
        if !questions.is_empty() {
            let ask = self.harness.say(&Saying::Answers { summary, questions: &questions });
            answers = match self.ask_about(from, &ask, sight).await? {
                Ok(answers) => answers,
                Err(failure) => return Ok(Err(failure)),
            };
        }
        let answers = answers.unwrap_or_default();
        Ok(Ok(Some(self.harness.say(&Saying::Handoff { summary, questions: &questions, answers: &answers }))))
    }

    /// Asks about the items before `from` until there is a text, a failure, or no use in it.
    async fn ask_about(
        &mut self,
        from: usize,
        ask: &str,
        sight: &mut Sight,
    ) -> anyhow::Result<Result<Option<String>, Failure>> {
        for _ in 0..ASKS {
            let prompt = self.prompt_about(from, ask, sight).await?;
            match self.text(prompt).await? {
                Ok(Some(text)) => return Ok(Ok(Some(text))),
                Ok(None) => sight.plainer(),
                Err(Failure::TooLong { .. }) => sight.shorter(),
                Err(failure) => return Ok(Err(failure)),
            }
        }
        Ok(Ok(None))
    }

    /// The history before `from` as `sight` has it, and the question behind it.
    async fn prompt_about(&self, from: usize, ask: &str, sight: &Sight) -> anyhow::Result<Prompt> {
        let cut = &CUTS[sight.cut];
        let show = if cut.each.is_some() { Show::Transcript } else { sight.show };
        let mut items = shortened(&self.items[..from], cut);
        if show != Show::Transcript {
            items.push(self.question(ask));
        }
        let mut prompt = self.harness.prompt(&View { items: &items, ..self.view() }).await?;
        prompt.answer = None;
        if show == Show::Session {
            prompt.session = Some(self.session.id().to_string());
            return Ok(prompt);
        }
        prompt.tools.clear();
        prompt.system = vec![self.harness.say(&Saying::Summariser)];
        if show == Show::Transcript {
            let messages = told(&prompt.messages, cut.each.unwrap_or(usize::MAX));
            let text = self.harness.say(&Saying::Transcript { messages: &messages, prompt: ask });
            prompt.messages = vec![Message::text(Role::User, text)];
        }
        Ok(prompt)
    }

    /// A guard's note, which no harness leaves out.
    fn question(&self, ask: &str) -> Item {
        let note = Note { kind: NoteKind::Guard, text: ask.to_owned(), harness: None, file: None };
        Item { id: self.next_id(), turn: self.turn, at: jiff::Timestamp::now(), body: Body::Note(note) }
    }

    /// Sends it. None: the reply is nothing, a call, or runs on.
    async fn text(&mut self, mut prompt: Prompt) -> anyhow::Result<Result<Option<String>, Failure>> {
        let Compaction { most, .. } = self.harness.rules(&self.model).compaction;
        if let Some(most) = most {
            limit(&mut prompt, self.model.wire, most);
        }
        self.leave_out_thinking(&mut prompt);
        let cancel = self.stopper.token();
        match self.client.ask(&self.model, &prompt, &mut |_| {}, &cancel).await {
            Ok(answer) => {
                self.count(answer.usage);
                Ok(Ok(self.read(answer).await?))
            }
            Err(failure) => Ok(Err(failure)),
        }
    }

    async fn read(&self, answer: Answer) -> anyhow::Result<Option<String>> {
        let mut reply = self.reply(answer);
        let called = reply.calls().next().is_some();
        if called || matches!(reply.stop, Stop::RunOn | Stop::Broken | Stop::Refused) {
            return Ok(None);
        }
        let said = text_of(&reply);
        let text = said[past_thinking(&said)..].trim().to_owned();
        if text.is_empty() {
            return Ok(None);
        }
        // A call may be a text, too.
        let verdict = self.harness.interpret(&mut reply, &self.view()).await?;
        let within: usize = reply.calls().filter_map(|call| call.span).map(|(from, to)| to - from).sum();
        if verdict == Verdict::Calls && text.len().saturating_sub(within) < AROUND {
            return Ok(None);
        }
        Ok(Some(text))
    }
}

fn limit(prompt: &mut Prompt, wire: WireKind, most: u64) {
    let usual = match wire {
        WireKind::Chat | WireKind::Messages => "max_tokens",
        WireKind::Responses => "max_output_tokens",
    };
    let key = LIMITS.into_iter().find(|key| prompt.body.contains_key(*key)).unwrap_or(usual);
    let set = prompt.body.get(key).and_then(serde_json::Value::as_u64);
    prompt.body.insert(key.to_owned(), set.map_or(most, |set| set.min(most)).into());
}

fn text_of(reply: &Reply) -> String {
    let texts = reply.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::Thinking { .. } | Part::Image(_) | Part::Call(_) => None,
    });
    texts.collect()
}

/// The same items with less in them. Results whose reply is left out are not sent either.
fn shortened(items: &[Item], cut: &Cut) -> Vec<Item> {
    let is_reply = |item: &Item| matches!(item.body, Body::Assistant(_));
    let start = items.iter().rposition(|item| matches!(item.body, Body::Summary(_))).unwrap_or(0);
    let replies = items[start..].iter().filter(|item| is_reply(item)).count();
    let mut out = replies * cut.replies / 100;
    let mut left = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        if out > 0 && at >= start && is_reply(item) {
            out -= 1;
            continue;
        }
        let mut item = item.clone();
        if let Body::Result(result) = &mut item.body {
            for part in &mut result.shown {
                if let Part::Text { text } = part {
                    shorten(text, cut.result);
                }
            }
        }
        left.push(item);
    }
    left
}

fn shorten(text: &mut String, most: usize) {
    if text.len() > most {
        let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
}

/// The messages as they are told. Of what is not the person's no more than `most` bytes each.
fn told(messages: &[Message], most: usize) -> Vec<Told> {
    let mut all = Vec::new();
    for message in messages {
        let role = match message.role {
            Role::System | Role::Developer => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "result",
        };
        for piece in &message.pieces {
            let (role, name, mut text) = match piece {
                Piece::Text(text) => (role, String::new(), text.clone()),
                Piece::Call { name, args, .. } => ("call", name.clone(), args.clone()),
                Piece::Result { name, pieces, .. } => ("result", name.clone(), texts(pieces)),
                Piece::Image { .. } | Piece::Thinking { .. } => continue,
            };
            if role != "user" {
                shorten(&mut text, most);
            }
            all.push(Told { role, text, name });
        }
    }
    all
}

fn texts(pieces: &[Piece]) -> String {
    let texts = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.as_str()),
        Piece::Image { .. } | Piece::Thinking { .. } | Piece::Call { .. } | Piece::Result { .. } => None,
    });
    texts.collect()
}
