//! Running a reply's calls: readers side by side, the rest in order, every one answered.

use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;

use super::guard::Advice;
use super::permit::{Leave, Under};
use super::{Agent, End, Event};
use crate::harness::{Rules, Saying, Submitted};
use crate::model::{Action, Body, NoteKind, Outcome, Part, REPEAT, Reply, State, ToolCall, ToolResult};
use crate::sandbox::{Mode, Tier, env};
use crate::store::unanswered;
use crate::tools::{Elsewhere, ToolCx};

/// How long a tool may take to wind up after the stopper was pulled.
const WIND_UP: Duration = Duration::from_secs(3);

impl Agent {
    /// Runs them all. Some: the turn is over.
    pub(super) async fn run_calls(&mut self, reply: &Reply) -> anyhow::Result<Option<End>> {
        let calls: Vec<ToolCall> = reply.calls().cloned().collect();
        let rules = self.harness.rules(&self.model);
        let spill = self.session.spill_dir();
        let mut end = None;
        let mut leaves = self.permit(&calls, &rules).await.unwrap_or_default();
        let mut next = 0;
        for group in groups(&calls, rules.parallel) {
            if end.is_some() || self.stopper.stopped() {
                break;
            }
            self.note_base(group).await;
            self.before_changes(group).await;
            if self.hear_stances() {
                self.permit_again((&calls, next), &mut leaves, &rules).await;
            }
            if self.stopper.stopped() {
                break;
            }
            let ran = next..next + group.len();
            next = ran.end;
            for leave in &leaves[ran.clone()] {
                let makes_file = self.makes_file(&leave.call().action);
                self.out.send(Event::CallStarted { call: leave.call().clone(), makes_file }).await;
            }
            let running = leaves[ran.clone()].iter().map(|leave| self.run_leave(leave, &rules, &spill));
            let outcomes = join_all(running).await;
            env::keep_fetched(&mut self.env, &self.online);
            for (leave, outcome) in leaves[ran].iter().zip(outcomes) {
                let outcome = self.offer_again(leave, outcome, &rules).await;
                end = self.answer(leave.call(), outcome).await?.or(end);
            }
        }
        self.answer_open_calls(Missed::NeverRan).await?;
        self.say_what_is_reduced().await;
        if end.is_none() && self.stopper.stopped() {
            end = Some(self.stopped().await);
        }
        Ok(end)
    }

    fn makes_file(&self, action: &Action) -> bool {
        let (Action::Write { path, .. } | Action::Rewrite { path, .. } | Action::Edit { path, .. }) = action
        else {
            return false;
        };
        !self.policy.cwd.join(path).exists()
    }

    /// What is allowed changed between two calls: those to come are looked at anew, but for what the person
    /// decided about.
    async fn permit_again(
        &mut self,
        (calls, next): (&[ToolCall], usize),
        leaves: &mut [Leave],
        rules: &Rules,
    ) {
        let open: Vec<usize> = (next..calls.len()).filter(|nth| !leaves[*nth].asked()).collect();
        let again: Vec<ToolCall> = open.iter().map(|nth| calls[*nth].clone()).collect();
        for (nth, leave) in open.into_iter().zip(self.permit(&again, rules).await.unwrap_or_default()) {
            leaves[nth] = leave;
        }
    }

    /// The first line of what the call gave before, where it is not run again.
    pub(super) fn repeats(&self, call: &ToolCall, rules: &Rules) -> Option<&str> {
        // Work that was not taken may be handed in again, in the same words too.
        let may_repeat = call.action.only_reads() || matches!(call.action, Action::Submit { .. });
        if rules.refuse_repeats && !may_repeat { self.guard.knows(call) } else { None }
    }

    pub(super) async fn run_one(
        &self,
        call: &ToolCall,
        under: &Under<'_>,
        (rules, spill): (&Rules, &Path),
    ) -> Outcome {
        if let Some(first) = self.repeats(call, rules) {
            let text = self.harness.say(&Saying::RepeatRefused { first });
            return Outcome { data: json!({ REPEAT: true }), ..Outcome::refused(text) };
        }
        self.act(&call.action, &self.tool_cx(call, (rules, spill), under)).await
    }

    pub(super) fn tool_cx<'a>(
        &'a self,
        call: &ToolCall,
        (rules, spill): (&'a Rules, &'a Path),
        under: &'a Under<'a>,
    ) -> ToolCx<'a> {
        ToolCx {
            cwd: &self.policy.cwd,
            policy: &under.policy,
            sandbox: &*self.sandbox,
            env: &under.env,
            limits: self.harness.limits(call, &self.model),
            shell_timeout: rules.shell_timeout,
            shell_timeout_most: rules.shell_timeout_most,
            needs_read: self.harness.needs_read(call),
            guards: rules.guards,
            shell: &rules.shell,
            elsewhere: match under.policy.net == self.policy.net {
                true => Elsewhere::Followed,
                false => Elsewhere::Told,
            },
            asked: self.last_request(),
            spill,
            blobs: &self.blobs,
            cancel: self.stopper.token(),
        }
    }

    /// Runs an action; one that does not wind up when the stopper was pulled is left behind.
    pub(super) async fn act(&self, action: &Action, cx: &ToolCx<'_>) -> Outcome {
        let hang = async {
            self.stopper.token().cancelled().await;
            tokio::time::sleep(WIND_UP).await;
        };
        tokio::select! {
            outcome = self.toolbox.run(action, cx) => outcome,
            () = hang => Outcome::interrupted(String::new()),
        }
    }

    /// Stores what came of a call and heeds it.
    async fn answer(&mut self, call: &ToolCall, outcome: Outcome) -> anyhow::Result<Option<End>> {
        let submitted = self.harness.submitted(call, &outcome, &self.view()).await?;
        let shown = match &submitted {
            Submitted::Review(shown) => shown.clone(),
            Submitted::No | Submitted::Yes(_) => self.harness.tell(call, &outcome, &self.view()).await?,
        };
        let advice = self.guard.note(call, &outcome);
        self.gate.note(&call.action, &outcome);
        let rules = self.harness.rules(&self.model);
        let timeouts = self.guard.timeouts(call, &outcome);
        let too_slow =
            outcome.state == State::TimedOut && rules.timeouts.is_some_and(|most| timeouts >= most);
        if rules.reads.is_some() {
            self.reads.note(&call.action, &outcome, &self.policy.cwd);
        }
        self.push(Body::Result(ToolResult { call: call.id.clone(), outcome, shown })).await;
        if let Submitted::Yes(message) = submitted {
            return Ok(Some(End::Completed { message: Some(message).filter(|text| !text.is_empty()) }));
        }
        if too_slow {
            let message = format!("{timeouts} commands in a row ran into their time limit");
            return Ok(Some(self.limit(message).await));
        }
        match advice {
            Advice::GoOn => Ok(None),
            Advice::Tell(times) => {
                self.pending_guard = Some(times);
                Ok(None)
            }
            Advice::Stop(times) => {
                let message = format!("{} made the same call {times} times in a row", self.model.name);
                Ok(Some(self.limit(message).await))
            }
        }
    }

    /// Gives every call without a result one, so that the history is valid whatever happened.
    pub(super) async fn answer_open_calls(&mut self, missed: Missed) -> anyhow::Result<()> {
        let open: Vec<ToolCall> = unanswered(&self.items).into_iter().cloned().collect();
        for call in open {
            let outcome = Outcome::interrupted(String::new());
            let shown = match missed {
                Missed::Unknown => self.harness.tell(&call, &outcome, &self.view()).await?,
                Missed::NeverRan => vec![Part::Text { text: self.harness.say(&Saying::NotExecuted) }],
            };
            self.push(Body::Result(ToolResult { call: call.id, outcome, shown })).await;
        }
        if let Some(times) = self.pending_guard.take() {
            let text = self.harness.say(&Saying::Repeat { times });
            self.note(NoteKind::Guard, text).await;
        }
        Ok(())
    }

    /// Once the first command showed what the sandbox can hold here.
    async fn say_what_is_reduced(&mut self) {
        if self.told_reduced || self.policy.mode == Mode::DangerFullAccess {
            return;
        }
        let reduced = match self.sandbox.tier() {
            Tier::Landlock => "sandbox: reduced (no namespaces)",
            Tier::Namespaces | Tier::Seatbelt | Tier::WindowsToken | Tier::None => return,
        };
        self.told_reduced = true;
        self.warn(reduced.to_owned()).await;
        self.note(NoteKind::Fact, reduced.to_owned()).await;
    }
}

/// Why a call has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missed {
    /// A crash came between: it may have run, in part or whole.
    Unknown,
    /// The turn ended before its time came.
    NeverRan,
}

/// Neighbours that only read form a group; every other call stands alone.
fn groups(calls: &[ToolCall], parallel: bool) -> Vec<&[ToolCall]> {
    if !parallel {
        return calls.chunks(1).collect();
    }
    calls.chunk_by(|a, b| a.action.only_reads() && b.action.only_reads()).collect()
}
