//! Asking: from a reply's calls to what runs, what is lifted for it, and what the model is told.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::judge::{Bench, Judged, host, paths};
use super::{Answer, Approval, Offer, Request, Scope, SessionMode, Stance, What};
use crate::agent::{Agent, Event};
use crate::harness::{Rules, Saying};
use crate::model::{Action, Body, Decision, Mark, NoteKind, Outcome, State, ToolCall};
use crate::sandbox::{Lift, Policy, denied, env};
use crate::tools::Preview;

/// What becomes of a call.
pub enum Leave {
    Run(Box<Allowed>),
    Refused(Box<(ToolCall, Outcome)>),
}

/// A call that may run.
pub struct Allowed {
    /// As the person changed it, if they did.
    call: ToolCall,
    lifts: Vec<Lift>,
    /// What the person made of an edit, which is done in its place.
    revised: Option<Vec<Preview>>,
    /// What goes before its result.
    told: Option<String>,
    /// The person decided about it.
    asked: bool,
}

impl Allowed {
    fn new(call: &ToolCall, lifts: Vec<Lift>, asked: bool) -> Self {
        Self { call: call.clone(), lifts, revised: None, told: None, asked }
    }
}

/// What a call runs under.
pub struct Under<'a> {
    pub policy: Cow<'a, Policy>,
    pub env: Cow<'a, [(OsString, OsString)]>,
}

impl Leave {
    /// The call that runs, or would have.
    pub fn call(&self) -> &ToolCall {
        match self {
            Self::Run(allowed) => &allowed.call,
            Self::Refused(refused) => &refused.0,
        }
    }

    pub fn asked(&self) -> bool {
        match self {
            Self::Run(allowed) => allowed.asked,
            Self::Refused(_) => true,
        }
    }
}

impl Agent {
    /// Asks for what has to be asked for, all at once. None: the turn was stopped meanwhile.
    pub async fn permit(&mut self, calls: &[ToolCall], rules: &Rules) -> Option<Vec<Leave>> {
        let judged: Vec<Judged> = calls.iter().map(|call| self.judge(call, rules)).collect();
        let requests: Vec<Request> = judged.iter().filter_map(|judged| judged.request.clone()).collect();
        let mut answers = Vec::new();
        if !requests.is_empty() {
            answers = self.ask_person(requests).await?;
        }
        let mut answers = answers.into_iter();
        let mut leaves = Vec::new();
        for (call, Judged { lifts, request }) in calls.iter().zip(judged) {
            let allowed = Allowed::new(call, lifts, request.is_some());
            leaves.push(match request {
                None => Leave::Run(Box::new(allowed)),
                Some(request) => {
                    let answer = answers.next().unwrap_or(Answer::Refuse { reason: None });
                    self.heed(allowed, (&request, answer), rules).await
                }
            });
        }
        Some(leaves)
    }

    fn judge(&self, call: &ToolCall, rules: &Rules) -> Judged {
        let lifts = self.lasting();
        if !self.asks() || self.repeats(call, rules).is_some() {
            return Judged { lifts, request: None };
        }
        let (under, spill) = (self.under(&lifts), self.session.spill_dir());
        let project = self.project();
        let judged = self.bench(&project).judge(call, &self.tool_cx(call, (rules, &spill), &under));
        Judged { lifts: [lifts, judged.lifts].concat(), ..judged }
    }

    fn bench<'a>(&'a self, project: &'a Path) -> Bench<'a> {
        let (approval, mode) = (self.permit.approval, self.permit.mode);
        Bench { approval, mode, book: &self.permit.book, grants: &self.grants, project }
    }

    /// Whether anybody is asked anything.
    fn asks(&self) -> bool {
        !self.unattended && self.permit.approval != Approval::Never
    }

    /// What is lifted for every call.
    fn lasting(&self) -> Vec<Lift> {
        match self.asks() && self.permit.mode != SessionMode::Plan {
            true => self.grants.lifts().to_vec(),
            false => Vec::new(),
        }
    }

    fn project(&self) -> PathBuf {
        let cwd = &self.policy.cwd;
        cwd.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(cwd).to_owned()
    }

    /// The policy with these lifts, and the environment that goes with it.
    pub fn under(&self, lifts: &[Lift]) -> Under<'_> {
        if lifts.is_empty() {
            return Under { policy: Cow::Borrowed(&self.policy), env: Cow::Borrowed(&self.env) };
        }
        let mut policy = self.policy.clone();
        for lift in lifts {
            policy = policy.lifted(lift).unwrap_or(policy);
        }
        let env = env::under(&self.env, &self.online, &policy);
        Under { policy: Cow::Owned(policy), env: Cow::Owned(env) }
    }

    /// The person's answers, one for each request. None: the turn was stopped.
    async fn ask_person(&mut self, requests: Vec<Request>) -> Option<Vec<Answer>> {
        let (id, answered) = self.desk.ask();
        self.out.send(Event::Ask { id, requests }).await;
        let stop = self.stopper.token();
        let answers = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            // Nobody is left to answer, which refuses everything.
            () = self.out.gone() => Some(Vec::new()),
            answers = answered => Some(answers.unwrap_or_default()),
        };
        if answers.is_none() {
            self.desk.void(id);
            self.out.send(Event::AskVoid(id)).await;
        }
        answers
    }

    /// Does what the answer says: remembers it, writes it down, and lets the call run or not.
    async fn heed(
        &mut self,
        mut allowed: Allowed,
        (request, answer): (&Request, Answer),
        rules: &Rules,
    ) -> Leave {
        let call = allowed.call.clone();
        let first = || request.offers.first().into_iter().flat_map(|offer| offer.lifts.clone());
        let (leave, decision) = match fitting(answer, (request, &call)) {
            Answer::Refuse { reason } => {
                let text = self.harness.say(&Saying::Declined { reason: reason.as_deref() });
                let data = json!({ "error": "declined", "reason": reason });
                let outcome = Outcome { data, ..Outcome::refused(text) };
                (Leave::Refused(Box::new((call.clone(), outcome))), Decision::Refused { reason })
            }
            Answer::Edited { command } => {
                if let Action::Shell { command: line, .. } = &mut allowed.call.action {
                    line.clone_from(&command);
                    allowed.told = Some(self.harness.say(&Saying::Edited { command: &command }));
                }
                allowed.lifts.extend(first());
                (Leave::Run(Box::new(allowed)), Decision::Edited { command })
            }
            Answer::Revised { texts } => {
                allowed.revised = revised(&request.what, &texts);
                allowed.told = Some(self.harness.say(&Saying::Revised));
                allowed.lifts.extend(first());
                let files = allowed.revised.iter().flatten().map(|file| file.path.clone()).collect();
                (Leave::Run(Box::new(allowed)), Decision::Revised { files })
            }
            Answer::Allow { offer, scope } => {
                let offered = request.offers.get(offer);
                allowed.lifts.extend(offered.into_iter().flat_map(|offer| offer.lifts.clone()));
                let decision = self.consent((&call, rules), offered, scope).await;
                (Leave::Run(Box::new(allowed)), decision)
            }
        };
        let what = request.what.brief();
        self.push(Body::Mark(Mark::Decided { call: call.id.clone(), what, decision })).await;
        leave
    }

    /// Remembers what else is allowed now.
    async fn consent(
        &mut self,
        (call, rules): (&ToolCall, &Rules),
        offered: Option<&Offer>,
        scope: Scope,
    ) -> Decision {
        let lifts = offered.map(|offer| offer.lifts.clone()).unwrap_or_default();
        let session = offered.is_some_and(|offer| offer.session.is_ok());
        let always = offered.is_some_and(|offer| offer.always.is_ok());
        let words: Vec<String> = lifts.iter().map(Lift::to_string).collect();
        match scope {
            Scope::Session if session => {
                self.grant(call, &lifts, rules);
                Decision::Session { lifts: words }
            }
            Scope::Always(rule) if always => {
                let rule = super::Rule { lifts, ..rule };
                let text = rule.allow.clone();
                match self.permit.book.add(rule) {
                    Ok(()) => Decision::Always { rule: text },
                    Err(why) => {
                        self.warn(why).await;
                        Decision::Once { lifts: words }
                    }
                }
            }
            Scope::Once | Scope::Session | Scope::Always(_) => Decision::Once { lifts: words },
        }
    }

    fn grant(&mut self, call: &ToolCall, lifts: &[Lift], rules: &Rules) {
        let named = {
            let (under, spill) = (self.under(&[]), self.session.spill_dir());
            paths(&call.action, &self.tool_cx(call, (rules, &spill), &under))
        };
        match &call.action {
            Action::Shell { command, .. } => self.grants.command(command, lifts),
            Action::Fetch { url, .. } => self.grants.host(host(url)),
            action if action.changes_files() => self.grants.files(named, lifts),
            _ => self.grants.files([], lifts),
        }
    }

    /// Runs what may run.
    pub async fn run_leave(&self, leave: &Leave, rules: &Rules, spill: &Path) -> Outcome {
        match leave {
            Leave::Refused(refused) => refused.1.clone(),
            Leave::Run(allowed) => {
                let under = self.under(&allowed.lifts);
                let outcome = match &allowed.revised {
                    Some(files) => {
                        self.toolbox.revise(&self.tool_cx(&allowed.call, (rules, spill), &under), files)
                    }
                    None => self.run_one(&allowed.call, &under, (rules, spill)).await,
                };
                let said = allowed.told.as_deref().filter(|_| {
                    // What came of it instead says so itself.
                    allowed.revised.is_none() || outcome.state == State::Ok
                });
                let mut outcome = told(outcome, said);
                if let (Some(_), None, Action::Shell { command, .. }) =
                    (said, &allowed.revised, &allowed.call.action)
                    && let Value::Object(data) = &mut outcome.data
                {
                    data.insert("edited".into(), command.as_str().into());
                }
                outcome
            }
        }
    }

    /// Offers to run a command again that the sandbox stopped, with what it lacked.
    pub async fn offer_again(&mut self, leave: &Leave, outcome: Outcome, rules: &Rules) -> Outcome {
        let Leave::Run(allowed) = leave else { return outcome };
        let Allowed { call, lifts, .. } = &**allowed;
        let stopped = outcome.state == State::Failed && outcome.data["background"] == false;
        if !self.asks() || !stopped || !matches!(call.action, Action::Shell { .. }) {
            return outcome;
        }
        let (spill, project) = (self.session.spill_dir(), self.project());
        let request = {
            let under = self.under(lifts);
            let found = denied(&under.policy, &outcome.text);
            self.bench(&project).again(call, &self.tool_cx(call, (rules, &spill), &under), found)
        };
        let Some(request) = request else { return outcome };
        // Stopped: the first run's result is all there is.
        let Some(answers) = self.ask_person(vec![request.clone()]).await else { return outcome };
        let answer = answers.into_iter().next().unwrap_or(Answer::Refuse { reason: None });
        let again = Allowed::new(call, lifts.clone(), true);
        match self.heed(again, (&request, answer), rules).await {
            Leave::Refused(refused) => {
                let reason = refused.1.data["reason"].as_str();
                let text = self.harness.say(&Saying::NotAgain { reason });
                Outcome { text: format!("{}\n{text}", outcome.text.trim_end()), ..outcome }
            }
            leave @ Leave::Run(_) => {
                let text = self.harness.say(&Saying::Again);
                told(self.run_leave(&leave, rules, &spill).await, Some(&text))
            }
        }
    }

    /// What is allowed from here on.
    pub fn take_stance(&mut self, stance: Stance) {
        let Stance { approval, mode, policy, env, online } = stance;
        (self.permit.approval, self.permit.mode) = (approval, mode);
        (self.policy, self.env, self.online) = (policy, env, online);
    }

    /// Tells the model when what it may do has changed.
    pub async fn tell_stance(&mut self) {
        if self.unattended {
            return;
        }
        let (mode, sandbox) = (self.permit.mode.name(), self.policy.mode.name());
        let last = self.items.iter().rev().find_map(|item| match &item.body {
            Body::Mark(Mark::Stance { mode, sandbox }) => Some((mode.clone(), sandbox.clone())),
            _ => None,
        });
        // What the scene says is known; that this is for a plan is not in it.
        let (was, held) = last.unwrap_or_else(|| (String::new(), self.scene.sandbox.clone()));
        if was == mode && held == sandbox
            || was.is_empty() && self.permit.mode != SessionMode::Plan && held == sandbox
        {
            return;
        }
        self.push(Body::Mark(Mark::Stance { mode: mode.to_owned(), sandbox: sandbox.to_owned() })).await;
        let plans = [was.as_str(), mode].contains(&"plan") && was != mode;
        if plans || held != sandbox {
            let text = self.harness.say(&Saying::Stance { mode, sandbox, was: &was });
            self.note(NoteKind::Fact, text).await;
        }
    }
}

/// The answer; what answers another question than this one refuses.
fn fitting(answer: Answer, (request, call): (&Request, &ToolCall)) -> Answer {
    let fits = match &answer {
        Answer::Refuse { .. } => true,
        Answer::Edited { .. } => matches!(call.action, Action::Shell { .. }),
        Answer::Revised { texts } => revised(&request.what, texts).is_some(),
        Answer::Allow { offer, .. } => *offer < request.offers.len(),
    };
    if fits { answer } else { Answer::Refuse { reason: None } }
}

/// The change with the person's texts in place of the model's; None where they do not fit it.
fn revised(what: &What, texts: &[Option<String>]) -> Option<Vec<Preview>> {
    let What::Edit { files } = what else { return None };
    let alike = |(file, text): (&Preview, &Option<String>)| file.after.is_some() == text.is_some();
    let fits = files.len() == texts.len() && files.iter().zip(texts).all(alike);
    let with = |(file, text): (&Preview, &Option<String>)| Preview { after: text.clone(), ..file.clone() };
    fits.then(|| files.iter().zip(texts).map(with).collect())
}

/// The outcome with something said before it.
fn told(mut outcome: Outcome, before: Option<&str>) -> Outcome {
    if let Some(before) = before {
        outcome.text = format!("{}\n{}", before.trim_end(), outcome.text);
        if let Value::Object(data) = &mut outcome.data {
            // Whoever shows it to the person leaves that out; the newest stands first.
            let rest = data.get("told").and_then(Value::as_str).map(|rest| format!("\n{rest}"));
            let all = format!("{}{}", before.trim_end(), rest.unwrap_or_default());
            data.insert("told".into(), all.into());
        }
        if let Some(cut) = &mut outcome.cut {
            cut.head = format!("{}\n{}", before.trim_end(), cut.head);
        }
    }
    outcome
}
