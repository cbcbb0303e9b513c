//! The loop: from one prompt to the end of its turn.

use tokio::task::JoinHandle;

use super::calls::Missed;
use super::check::Room;
use super::{Agent, End, Event, Schema, Why};
use crate::harness::{Saying, Verdict, asks_for_change};
use crate::model::{Body, Item, Mark, Note, NoteKind, Reply, Said, Stop, ToolResult, Trouble, TroubleKind};

/// Steps before the end at which the model is told.
const LAST_STEPS: u32 = 3;

impl Agent {
    /// Runs one prompt to its end; its last message has to fit `schema`. Whatever happens, the
    /// history it leaves is valid.
    pub async fn turn(&mut self, said: Said, schema: Option<Schema>) -> End {
        self.turn += 1;
        self.turn_about(Some(said), schema).await
    }

    /// Goes on with what failed: the model is asked again for what it was to answer. Where it answered,
    /// the newest prompt is said once more.
    pub(super) async fn again(&mut self) -> End {
        let said = match awaits_answer(&self.items) {
            true => None,
            false => self.items.iter().rev().find_map(|item| match &item.body {
                Body::User(said) => Some(said.clone()),
                _ => None,
            }),
        };
        self.turn_about(said, None).await
    }

    async fn turn_about(&mut self, said: Option<Said>, schema: Option<Schema>) -> End {
        let end = match self.run(said, schema).await {
            Ok(end) => end,
            Err(error) => self.fail(format!("{error:#}")).await,
        };
        if let End::Completed { .. } = end {
            self.push(Body::Mark(Mark::Completed { usage: self.usage })).await;
        }
        if let Some(trouble) = self.harness.trouble() {
            self.warn(trouble).await;
        }
        self.settle().await;
        if !self.session.recording() {
            self.out.send(Event::NotRecorded).await;
        }
        self.out.send(Event::TurnEnded { end: end.clone(), usage: self.usage, cost: self.cost }).await;
        end
    }

    async fn run(&mut self, said: Option<Said>, schema: Option<Schema>) -> anyhow::Result<End> {
        self.guard = super::Guard::default();
        self.gate.begin_turn();
        self.reads = super::Reads::default();
        self.let_grow = false;
        self.out.send(Event::TurnStarted).await;
        self.look_at_harness().await;
        if let Some(said) = said {
            self.show_named(&said.text).await;
            self.push(Body::User(said)).await;
        }
        self.begin_form(schema).await;
        // The prompt has to be on disk before anything is done about it, not before it is asked.
        let mut settling = Some(self.settling());
        let mut steps = 0;
        let mut corrections = 0;
        loop {
            self.hear_asides().await;
            while let Some(said) = self.steered.pop_front() {
                self.push(Body::User(said)).await;
            }
            // Another harness may have taken over.
            let rules = self.harness.rules(&self.model);
            let most_steps = [self.bounds.steps, rules.steps].into_iter().flatten().min();
            if let Some(end) = self.over(steps, most_steps).await {
                return Ok(end);
            }
            self.due_notes(most_steps.map(|most| most - steps)).await?;
            if let Some(end) = self.make_room().await? {
                return Ok(end);
            }
            let mut reply = match self.ask().await? {
                Ok(reply) => reply,
                Err(end) => return Ok(end),
            };
            steps += 1;
            let verdict = self.understand(&mut reply).await?;
            self.push(Body::Assistant(reply.clone())).await;
            if let Some(settling) = settling.take() {
                self.settled(settling).await;
            }
            let end = match verdict {
                Verdict::Calls => {
                    corrections = 0;
                    self.run_calls(&reply).await?
                }
                Verdict::Retry(correction) => {
                    corrections += 1;
                    self.correct(correction, corrections, rules.retries).await?
                }
                Verdict::Done => Some(self.done(&reply).await),
            };
            let Some(end) = end else { continue };
            self.hear_asides().await;
            if !self.steered.is_empty() && matches!(end, End::Completed { .. }) {
                continue;
            }
            let room = if self.spent(steps, most_steps).is_some() { Room::None } else { Room::Left };
            let Some(end) = self.held_to_check(end, room).await else { continue };
            if let Some(end) = self.held_to_form(end).await {
                return Ok(end);
            }
        }
    }

    /// What the harness makes of a reply. Words that fit the wanted form are the last ones, whatever
    /// a dialect would make of them; and where only they are wanted, no words are a call.
    async fn understand(&self, reply: &mut Reply) -> anyhow::Result<Verdict> {
        let calls = reply.calls().next().is_some();
        if self.only_words() && !calls {
            self.fits(reply);
            return Ok(Verdict::Done);
        }
        let verdict = self.harness.interpret(reply, &self.view()).await?;
        match verdict {
            Verdict::Retry(_) | Verdict::Done if !calls && self.fits(reply) => Ok(Verdict::Done),
            verdict => Ok(verdict),
        }
    }

    /// The model has nothing more to do.
    async fn done(&mut self, reply: &Reply) -> End {
        let said = reply.said();
        if said.is_empty() && reply.stop == Stop::Refused {
            return self.fail("the model refused to answer".to_owned()).await;
        }
        End::Completed { message: Some(said).filter(|said| !said.is_empty()) }
    }

    /// Tells the model that its reply could not be read, `most` times in a row.
    async fn correct(&mut self, correction: String, times: u32, most: u32) -> anyhow::Result<Option<End>> {
        self.answer_open_calls(Missed::NeverRan).await?;
        // Also where it is the last time: who asks again goes on from here.
        self.note(NoteKind::Correction, correction).await;
        if times <= most {
            return Ok(None);
        }
        let harness = self.harness.id().to_owned();
        let often = match times {
            1 => "once".to_owned(),
            times => format!("{times} times in a row"),
        };
        let message = format!(
            "{} answered {often} in a form that harness {harness} cannot read; try another with --harness",
            self.model.name
        );
        let trouble = self.trouble(TroubleKind::Unreadable { times, harness });
        Ok(Some(self.fail_by(message, trouble).await))
    }

    /// What went wrong with the model at hand.
    pub(super) fn trouble(&self, kind: TroubleKind) -> Box<Trouble> {
        let (provider, model) = (self.model.provider.clone(), self.model.name.clone());
        Box::new(Trouble { kind, provider, model, ..Trouble::default() })
    }

    /// Whether the turn has to end before another request.
    async fn over(&mut self, steps: u32, most_steps: Option<u32>) -> Option<End> {
        if self.stopper.stopped() {
            return Some(self.stopped().await);
        }
        let limit = self.spent(steps, most_steps)?;
        Some(self.limit(limit).await)
    }

    /// The limit that allows no further request.
    fn spent(&self, steps: u32, most_steps: Option<u32>) -> Option<String> {
        if let Some(most) = most_steps
            && steps >= most
        {
            return Some(format!("the limit of {most} model requests (--max-turns)"));
        }
        if let (Some(most), Some(spent)) = (self.bounds.cost, self.cost)
            && spent >= most
        {
            return Some(format!("${spent:.4} spent of ${most} (--max-cost)"));
        }
        None
    }

    /// Stores whatever the model is to be told before the next request.
    async fn due_notes(&mut self, steps_left: Option<u32>) -> anyhow::Result<()> {
        self.tell_stance().await;
        for ended in self.toolbox.ended() {
            let text = self.harness.say(&Saying::JobEnded {
                id: &ended.id,
                call: self.call_of_job(&ended.id),
                command: &ended.command,
                exit: ended.exit,
                tail: &ended.tail,
                file: ended.output_file.as_deref(),
            });
            self.note(NoteKind::Job, text).await;
        }
        if steps_left == Some(LAST_STEPS) {
            let text = self.harness.say(&Saying::StepsLeft { left: LAST_STEPS });
            self.note(NoteKind::Guard, text).await;
        }
        if let Some(files) = self.reads.due(self.harness.rules(&self.model).reads)
            && asks_for_change(self.last_request())
        {
            let text = self.harness.say(&Saying::ReadsEnough { files: &files });
            self.note(NoteKind::Guard, text).await;
        }
        for note in self.harness.notes(&self.view()).await? {
            self.push(Body::Note(note)).await;
        }
        Ok(())
    }

    /// The id, as the server knows it, of the call that started a job.
    fn call_of_job(&self, job: &str) -> &str {
        let started = self.items.iter().rev().find_map(|item| match &item.body {
            // Only a start tells the folder.
            Body::Result(ToolResult { call, outcome, .. })
                if outcome.data["job"] == job && outcome.data["cwd"].is_string() =>
            {
                Some(call)
            }
            _ => None,
        });
        let Some(started) = started else { return "" };
        let calls = self.items.iter().rev().filter_map(|item| match &item.body {
            Body::Assistant(reply) => Some(reply),
            _ => None,
        });
        let call = calls.flat_map(Reply::calls).find(|call| call.id == *started);
        call.and_then(|call| call.given.as_deref()).unwrap_or(&started.0)
    }

    pub(super) async fn note(&mut self, kind: NoteKind, text: String) {
        self.push(Body::Note(Note { kind, text, harness: None, file: None })).await;
    }

    /// Tells the person something that does not end the turn.
    pub(super) async fn warn(&mut self, text: String) {
        self.out.send(Event::Warning(text)).await;
    }

    pub(super) async fn fail(&mut self, message: String) -> End {
        self.fail_by(message, Box::default()).await
    }

    /// The same, where it is known what went wrong.
    pub(super) async fn fail_by(&mut self, message: String, trouble: Box<Trouble>) -> End {
        let known = (*trouble != Trouble::default()).then(|| trouble.clone());
        self.push(Body::Mark(Mark::Failed { message: message.clone(), trouble: known })).await;
        End::Failed { message, trouble }
    }

    pub(super) async fn limit(&mut self, message: String) -> End {
        self.push(Body::Mark(Mark::Limit { message: message.clone() })).await;
        End::Limit { message }
    }

    /// The end of a turn whose stopper was pulled.
    pub(super) async fn stopped(&mut self) -> End {
        match self.stopper.why() {
            Some(Why::Time(seconds)) => {
                self.limit(format!("the time limit of {seconds} s (--timeout)")).await
            }
            Some(Why::Person | Why::Signal(_) | Why::OutputClosed) | None => {
                self.push(Body::Mark(Mark::Interrupted)).await;
                End::Interrupted
            }
            Some(Why::OutputFailed(error)) => {
                self.fail(format!("the output cannot be written: {error}")).await
            }
        }
    }

    /// Starts to bring what was appended onto the disk.
    fn settling(&self) -> JoinHandle<std::io::Result<()>> {
        tokio::task::spawn_blocking(self.session.settle())
    }

    async fn settled(&mut self, settling: JoinHandle<std::io::Result<()>>) {
        let trouble = match settling.await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        if !self.told_unrecorded {
            self.told_unrecorded = true;
            self.out.send(Event::NotRecorded).await;
            self.warn(format!("the session is not being recorded: {trouble}")).await;
        }
    }

    pub(super) async fn settle(&mut self) {
        let settling = self.settling();
        self.settled(settling).await;
    }
}

/// Whether the newest thing that a model would be sent is nothing of its own.
fn awaits_answer(items: &[Item]) -> bool {
    let newest = items.iter().rev().find_map(|item| match &item.body {
        // What broke off is not sent.
        Body::Assistant(reply) if reply.stop == Stop::Broken => None,
        Body::Assistant(_) => Some(false),
        Body::User(_) | Body::Result(_) | Body::Note(_) | Body::Summary(_) => Some(true),
        Body::Mark(_) | Body::Scene(_) => None,
    });
    newest.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ItemId, Origin, Usage, WireKind};

    #[test]
    fn what_is_sent_again_needs_no_new_words_unless_it_was_answered() {
        let reply = |stop| {
            let (provider, model, harness) = (String::new(), String::new(), String::new());
            let origin = Origin { provider, model, wire: WireKind::Chat, harness, surface: 0 };
            Body::Assistant(Reply::new(origin, Vec::new(), Usage::default(), stop))
        };
        let user = || Body::User(Said { text: "go".into(), images: Vec::new() });
        let failed = || Body::Mark(Mark::Failed { message: "no".into(), trouble: None });
        let note = |kind| Body::Note(Note { kind, text: "x".into(), harness: None, file: None });
        let table = [
            ("nothing was said", vec![], false),
            ("the prompt stands alone", vec![user(), failed()], true),
            ("the reply broke off", vec![user(), reply(Stop::Broken), failed()], true),
            (
                "it could not be read",
                vec![user(), reply(Stop::Done), note(NoteKind::Correction), failed()],
                true,
            ),
            ("it was answered", vec![user(), reply(Stop::Done), failed()], false),
        ];
        for (what, bodies, want) in table {
            let item = |body| Item { id: ItemId(1), turn: 1, at: jiff::Timestamp::UNIX_EPOCH, body };
            let items: Vec<Item> = bodies.into_iter().map(item).collect();
            assert_eq!(awaits_answer(&items), want, "{what}");
        }
    }
}
