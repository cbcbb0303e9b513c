//! One model request: prompt out, reply in, and what to do when there is none.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use super::answer::Shaped;
use super::compact::Press;
use super::{Agent, End, Event};
use crate::harness::Saying;
use crate::model::{
    Action, Body, CallId, Calls, Mark, Model, NoteKind, Origin, Part, Probed, Reply, Stop, ToolCall,
    TroubleKind, Usage,
};
use crate::wire::prompt::{Piece, Prompt};
use crate::wire::{Answer, AnswerPart, Failure, Progress, RunOn};

/// How much of the end of a thought without an end is told back, in bytes.
const THOUGHT: usize = 2000;

/// Whether the model may think before it answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Thoughts {
    Free,
    /// It did, for too long.
    Over,
}

impl Agent {
    /// Asks for the next reply. The inner error is the turn's end.
    pub(super) async fn ask(&mut self) -> anyhow::Result<Result<Reply, End>> {
        let mut compacted = false;
        let mut thoughts = Thoughts::Free;
        loop {
            let (answer, heard, shaped) = self.request(thoughts).await?;
            let failure = match answer {
                Ok(answer) if answer.run_on == Some(RunOn::Thinking) && thoughts == Thoughts::Free => {
                    thoughts = Thoughts::Over;
                    self.act_now(answer).await;
                    continue;
                }
                Ok(answer) => return Ok(Ok(self.reply(answer))),
                Err(failure) => failure,
            };
            match failure {
                Failure::Cancelled if self.stopper.stopped() => {
                    return Ok(Err(self.interrupted_reply(heard).await));
                }
                // Somebody else is to be asked.
                Failure::Cancelled => self.hear_asides().await,
                Failure::NoImages(message) if !self.drop_images && self.has_images() => {
                    self.drop_images = true;
                    let (provider, model) = (self.model.provider.clone(), self.model.name.clone());
                    self.push(Body::Mark(Mark::Blind { provider, model })).await;
                    self.warn(format!("{message}; images are left out of what is sent")).await;
                }
                Failure::NoThinking(message) if !self.drop_thinking && self.has_thinking() => {
                    self.drop_thinking = true;
                    self.warn(format!("{message}; reasoning is left out of what is sent")).await;
                }
                Failure::NoSchema(message) if shaped == Shaped::Message => self.drop_schema(&message).await,
                Failure::NoSchema(message) if shaped == Shaped::Call => {
                    self.drop_call_schema(&message).await;
                }
                Failure::TooLong { message, window, trouble } => {
                    if let Some(window) = window {
                        self.model.window = Some(window);
                    }
                    if compacted {
                        let trouble = self.too_long(*trouble);
                        return Ok(Err(self.fail_by(message, trouble).await));
                    }
                    compacted = true;
                    if let Some(end) = self.compact(&message, Press::Refused(trouble)).await? {
                        return Ok(Err(end));
                    }
                }
                Failure::Failed { message, partial, trouble } => {
                    if !partial.is_empty() {
                        let reply = self.partial_reply(partial, Stop::Broken);
                        self.push(Body::Assistant(reply)).await;
                    }
                    return Ok(Err(self.fail_by(message, trouble).await));
                }
                Failure::NoTools(message) if self.goes_without_tools().await? => {
                    let said = format!("{message}; the calls of {} are text from now on", self.model.name);
                    self.warn(said).await;
                }
                Failure::NoTools(message) => {
                    let other = "; a harness whose calls are text needs no tools: --harness swe-agent";
                    let trouble = self.trouble(TroubleKind::NoTools);
                    return Ok(Err(self.fail_by(format!("{message}{other}"), trouble).await));
                }
                Failure::Setup { message, trouble } | Failure::Limited { message, trouble, .. } => {
                    return Ok(Err(self.fail_by(message, trouble).await));
                }
                Failure::NoImages(message) | Failure::NoThinking(message) | Failure::NoSchema(message) => {
                    return Ok(Err(self.fail(message).await));
                }
            }
        }
    }

    /// Takes the model for one whose server takes no tools, if that is news and the harness then offers
    /// none.
    async fn goes_without_tools(&mut self) -> anyhow::Result<bool> {
        let before = self.model.probed.clone();
        if before.as_ref().is_some_and(|probed| probed.calls == Calls::None) {
            return Ok(false);
        }
        let probed = before.clone().unwrap_or_default();
        self.model.probed = Some(Probed { calls: Calls::None, ..probed });
        let bare = self.harness.prompt(&self.view()).await?.tools.is_empty();
        if !bare {
            self.model.probed = before;
        }
        Ok(bare)
    }

    /// Sends one request and passes on what is heard meanwhile. Also gives the text heard, and
    /// what schema went along.
    async fn request(
        &mut self,
        thoughts: Thoughts,
    ) -> anyhow::Result<(Result<Answer, Failure>, String, Shaped)> {
        self.heed_masks();
        let mut prompt = self.harness.prompt(&self.view()).await?;
        prompt.session = Some(self.session.id().to_string());
        let shaped = self.shape(&mut prompt);
        self.leave_out_thinking(&mut prompt);
        let mut heard = String::new();
        let client = self.client.clone();
        let cancel = self.stopper.token().child_token();
        // Before a try that comes later nothing is lost by asking somebody else.
        let waits = AtomicBool::new(false);
        let out = &mut self.out;
        let mut hear = |progress: Progress| match progress {
            Progress::Text(text) => {
                waits.store(false, Ordering::Relaxed);
                heard.push_str(&text);
                out.post(Event::Text(text));
            }
            Progress::Thinking(text) => {
                waits.store(false, Ordering::Relaxed);
                out.post(Event::Thinking(text));
            }
            Progress::Call(_) => waits.store(false, Ordering::Relaxed),
            Progress::Again { attempt, of, wait_ms, why, trouble } => {
                heard.clear();
                waits.store(true, Ordering::Relaxed);
                if self.desk.wants_another() {
                    cancel.cancel();
                }
                out.post(Event::Again { attempt, of, wait_ms, why, trouble });
            }
            Progress::Waiting(what) => out.post(Event::Waiting(what)),
            Progress::Warning(what) => out.post(Event::Warning(what)),
        };
        let model = match thoughts {
            Thoughts::Free => Cow::Borrowed(&self.model),
            Thoughts::Over => {
                prompt.watch.thinking = None;
                Cow::Owned(Model { effort: Some("none".to_owned()), ..self.model.clone() })
            }
        };
        let answer = {
            let mut asked = std::pin::pin!(client.ask(&model, &prompt, &mut hear, &cancel));
            tokio::select! {
                biased;
                answer = &mut asked => answer,
                () = self.desk.another(&waits) => {
                    cancel.cancel();
                    asked.await
                }
            }
        };
        self.out.flush().await;
        if let Ok(answer) = &answer {
            self.count(answer.usage);
        }
        Ok((answer, heard, shaped))
    }

    /// For a server that wants none back.
    pub(super) fn leave_out_thinking(&self, prompt: &mut Prompt) {
        if self.drop_thinking {
            for message in &mut prompt.messages {
                message.pieces.retain(|piece| !matches!(piece, Piece::Thinking { .. }));
            }
        }
    }

    /// What will no longer be before the model, it may be shown again.
    fn heed_masks(&mut self) {
        let masked = self.harness.masked(&self.view()).results;
        if masked > self.masked {
            self.toolbox.forget_shown();
        }
        self.masked = masked;
    }

    /// Keeps what a model thought that came to no point, and tells it to act on that.
    async fn act_now(&mut self, answer: Answer) {
        let reply = self.reply(answer);
        let thought: String = reply
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Thinking { text, .. } => Some(text.as_str()),
                Part::Text { .. } | Part::Image(_) | Part::Call(_) => None,
            })
            .collect();
        let from = thought.len().saturating_sub(THOUGHT);
        let from = (from..thought.len()).find(|&at| thought.is_char_boundary(at)).unwrap_or(0);
        let text = self.harness.say(&Saying::ActNow { thought: &thought[from..] });
        let parts = reply.parts.into_iter().filter(|part| matches!(part, Part::Thinking { .. })).collect();
        self.push(Body::Assistant(Reply { parts, ..reply })).await;
        self.note(NoteKind::Guard, text).await;
        self.out.send(Event::Waiting("the model thought for too long; it is told to act".to_owned())).await;
    }

    pub(super) fn count(&mut self, usage: Usage) {
        self.usage += usage;
        if let (Some(cost), Some(prices)) = (&mut self.cost, &self.model.prices) {
            *cost += prices.cost(&usage);
        }
    }

    pub(super) fn reply(&self, answer: Answer) -> Reply {
        let item = self.next_id();
        let mut given_here = Vec::new();
        let mut calls = 0;
        let parts = answer.parts.into_iter().map(|part| match part {
            AnswerPart::Text(text) => Part::Text { text },
            AnswerPart::Thinking { text, field, seal } => Part::Thinking { text, field, seal },
            AnswerPart::Call { id, name, args } => {
                let fresh =
                    |id: &String| !id.is_empty() && !self.given.contains(id) && !given_here.contains(id);
                let given = id.filter(fresh);
                given_here.extend(given.clone());
                calls += 1;
                let action = Action::Unknown { name: name.clone(), why: String::new() };
                let id = CallId::of(item, calls - 1);
                Part::Call(ToolCall { id, given, name, args, action, span: None, recovered: false })
            }
        });
        Reply::new(self.origin(), parts.collect(), answer.usage, answer.stop)
    }

    fn origin(&self) -> Origin {
        Origin {
            provider: self.model.provider.clone(),
            model: self.model.name.clone(),
            wire: self.model.wire,
            harness: self.harness.id().to_owned(),
            surface: self.harness.surface(&self.model),
        }
    }

    fn partial_reply(&self, text: String, stop: Stop) -> Reply {
        let usage = Usage::default();
        Reply::new(self.origin(), vec![Part::Text { text }], usage, stop)
    }

    /// Keeps what had been heard when the stopper was pulled, and ends the turn.
    async fn interrupted_reply(&mut self, heard: String) -> End {
        if !heard.trim().is_empty() {
            let reply = self.partial_reply(heard, Stop::Interrupted);
            self.push(Body::Assistant(reply)).await;
        }
        self.stopped().await
    }

    fn has_thinking(&self) -> bool {
        self.items.iter().any(|item| match &item.body {
            Body::Assistant(reply) => reply.parts.iter().any(|part| matches!(part, Part::Thinking { .. })),
            _ => false,
        })
    }

    fn has_images(&self) -> bool {
        self.items.iter().any(|item| match &item.body {
            Body::User(said) => !said.images.is_empty(),
            Body::Result(result) => result.shown.iter().any(|part| matches!(part, Part::Image(_))),
            Body::Note(_) | Body::Assistant(_) | Body::Scene(_) | Body::Summary(_) | Body::Mark(_) => false,
        })
    }
}
