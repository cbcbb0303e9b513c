//! The done gate: work counts as done once the project's own check passes.
//!
//! The check is run right before the first call of a turn that may change files, and again when the
//! model says that it is done and something changed. What it says then is weighed against what it
//! said before, as a turn answers only for what it did:
//!
//! | before | now | what follows |
//! | --- | --- | --- |
//! | anything | passes | done |
//! | passed | fails | its output goes back |
//! | failed | fails with trouble that was not there before, or another exit code | its output goes back |
//! | failed | fails as before | it goes back if the request is about something broken, else done |
//! | not known | fails | done, as nobody can tell why |
//!
//! Output goes back a bounded number of times in a turn, and never when no further request is
//! possible; then the turn ends as completed and the person is told that the check fails. A check
//! that takes longer than its limit, or whose runner is not there, is none: that is said once.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::fingerprint::{self, Fingerprint};
use super::harmless::harmless;
use super::{Agent, End, Event};
use crate::harness::Saying;
use crate::harness::{asks_for_repair, only_asks};
use crate::model::{
    Action, Body, Keep, Limits, MOST_BYTES, MOST_LINES, Mark, NoteKind, Outcome, ShellRules, State, ToolCall,
};
use crate::sandbox::{self, Mode};
use crate::tools;

/// What programs are told when the check runs them: that nobody watches, and to leave no compiled
/// files, which Python would take for fresh when a source changes within the same second.
const ENV: [(&str, &str); 2] = [("CI", "true"), ("PYTHONDONTWRITEBYTECODE", "1")];

/// What is known of the check in this run.
#[derive(Default)]
pub(super) struct Gate {
    /// How it ended last, and how the workspace was right after.
    last: Option<(Fingerprint, Ran)>,
    /// It cannot work here, which was said.
    useless: bool,
    turn: Turn,
}

/// What is known of it in the turn at hand.
#[derive(Default)]
struct Turn {
    /// How things were before anything was changed. None: nothing ran yet that may change files.
    before: Option<Before>,
    /// A file tool changed something.
    edited: bool,
    /// The same, since the check was run last.
    edited_since: bool,
    /// How often the output went back.
    rounds: u32,
    /// The person was told how it ended.
    told: bool,
}

struct Before {
    workspace: Fingerprint,
    /// None: not known.
    ran: Option<Ran>,
}

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ran {
    Passed,
    Failed {
        exit: Option<i32>,
        output: String,
    },
    /// Nothing is known of the work by it.
    Nothing,
}

/// The check as it is to be run.
struct Check {
    command: String,
    /// Milliseconds.
    limit: u64,
    rounds: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Before,
    After,
}

/// Whether the turn can go on after its end is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Left,
    None,
}

/// What a check that fails after a turn's work says of that work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blame {
    /// It passed before.
    New,
    /// It failed before, in another way.
    Worse,
    /// It failed before just so.
    Same,
    Unknown,
}

impl Gate {
    pub(super) fn begin_turn(&mut self) {
        self.turn = Turn::default();
    }

    /// Takes note of a call that ended.
    pub(super) fn note(&mut self, action: &Action, outcome: &Outcome) {
        if action.changes_files() && outcome.state == State::Ok {
            self.turn.edited = true;
            self.turn.edited_since = true;
        }
    }
}

/// How a call may change files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    Nothing,
    /// A command that may, or may not.
    Perhaps,
    Files,
}

impl Reach {
    pub(super) fn of(action: &Action) -> Self {
        // What is typed into a shell is a command once its line ends.
        let acts = |typed: &str| !typed.trim().is_empty() && !harmless(typed.trim());
        let perhaps = matches!(action, Action::Shell { command, .. } if !harmless(command))
            || matches!(action, Action::Keys { text, .. } if acts(text))
            || matches!(
                action,
                Action::Job { input: Some(_), .. } | Action::Script { only_reads: false, .. }
            );
        match perhaps {
            _ if action.changes_files() => Self::Files,
            true => Self::Perhaps,
            false => Self::Nothing,
        }
    }
}

impl Agent {
    /// To be called before these calls run: learns how the check does while nothing has changed yet.
    pub(super) async fn before_changes(&mut self, calls: &[ToolCall]) {
        if self.gate.turn.before.as_ref().is_some_and(|before| before.ran.is_some()) {
            return;
        }
        let Some(check) = self.check() else { return };
        let reach = calls.iter().map(|call| Reach::of(&call.action)).max().unwrap_or(Reach::Nothing);
        if reach == Reach::Nothing {
            return;
        }
        let workspace = self.workspace().await;
        if self.gate.turn.before.as_ref().is_some_and(|before| !before.workspace.same(workspace)) {
            return;
        }
        let before = if let Some((at, ran)) = &self.gate.last
            && at.same(workspace)
        {
            Before { workspace, ran: Some(ran.clone()) }
        } else if reach == Reach::Perhaps && only_asks(self.last_request()) {
            // A command run for an answer seldom changes anything, so it need not wait for the check.
            Before { workspace, ran: None }
        } else {
            let Some((workspace, ran)) = self.run_check(&check, When::Before).await else { return };
            Before { workspace, ran: Some(ran) }
        };
        self.gate.turn.before = Some(before);
    }

    /// Looks at how the turn is about to end. None: the check fails, and the model was told so.
    pub(super) async fn held_to_check(&mut self, end: End, room: Room) -> Option<End> {
        let End::Completed { .. } = end else { return Some(end) };
        let Some(check) = self.check() else { return Some(end) };
        let workspace = self.workspace().await;
        let turn = &self.gate.turn;
        if !turn.edited && turn.before.as_ref().is_none_or(|before| before.workspace.same(workspace)) {
            return Some(end);
        }
        let known = self.gate.last.as_ref().filter(|(at, _)| !turn.edited_since && at.same(workspace));
        let known = known.map(|(_, ran)| ran.clone());
        let news = known.is_none();
        let ran = match known {
            Some(ran) => ran,
            None => match self.run_check(&check, When::After).await {
                Some((_, ran)) => ran,
                None => return Some(self.stopped().await),
            },
        };
        let Ran::Failed { exit, output } = &ran else { return Some(end) };
        let blame = blame(self.gate.turn.before.as_ref().and_then(|before| before.ran.as_ref()), &ran);
        let goes_back = match blame {
            Blame::New | Blame::Worse => true,
            // What the sandbox blocks is nothing that the model could mend.
            Blame::Same => {
                let blocked = sandbox::denial_hint(&self.policy, output).is_some();
                news && !blocked && asks_for_repair(self.last_request())
            }
            Blame::Unknown => false,
        };
        if !goes_back || room == Room::None || self.gate.turn.rounds >= check.rounds {
            self.say_failing(&check, blame, *exit).await;
            return Some(end);
        }
        self.gate.turn.rounds += 1;
        let limits = Limits { keep: Keep::Tail, ..self.harness.limits(&check.call(), &self.model) };
        let (output, _) = tools::fit(output.trim(), &limits, None);
        let before = blame != Blame::New;
        let saying = Saying::CheckFailed { command: &check.command, exit: *exit, output: &output, before };
        let text = self.harness.say(&saying);
        self.note(NoteKind::Check, text).await;
        None
    }

    /// The check, where there is one and the harness asks for it.
    fn check(&self) -> Option<Check> {
        let rules = self.harness.rules(&self.model);
        if rules.check_rounds == 0 || self.gate.useless || self.policy.mode == Mode::ReadOnly {
            return None;
        }
        let command = self.scene.project.as_ref()?.check.clone()?;
        let limit =
            self.check_keys.limit.map_or(rules.check_limit, |limit| limit.saturating_mul(1000)).max(1);
        let check = Check { command, limit, rounds: rules.check_rounds };
        // Also one that an earlier run of this session found to be slow.
        let slow = self.items.iter().any(|item| check.was_too_slow(&item.body));
        (!slow).then_some(check)
    }

    async fn workspace(&self) -> Fingerprint {
        fingerprint::take(self.policy.cwd.clone(), self.stopper.token()).await
    }

    /// Runs it; also gives how the workspace is after that. None: the stopper was pulled.
    async fn run_check(&mut self, check: &Check, when: When) -> Option<(Fingerprint, Ran)> {
        let command = one_line(&check.command);
        let purpose = match when {
            When::Before => "to know how things are before the first change",
            When::After => "to check the work",
        };
        self.out.send(Event::Waiting(format!("running `{command}` {purpose}"))).await;
        let outcome = self.run_in_sandbox(check).await;
        if outcome.state == State::Interrupted {
            return None;
        }
        if outcome.exit.is_some() || outcome.state == State::TimedOut {
            self.push(Body::Mark(Mark::Checked {
                command: check.command.clone(),
                exit: outcome.exit,
                took: outcome.took,
                before: when == When::Before,
            }))
            .await;
        }
        let ran = match self.why_nothing(check, &outcome, when) {
            Some(why) => {
                self.gate.useless = true;
                self.warn(format!("nothing is checked with `{command}`: {why}")).await;
                Ran::Nothing
            }
            None if outcome.exit == Some(0) => Ran::Passed,
            None => Ran::Failed { exit: outcome.exit, output: outcome.text },
        };
        let workspace = self.workspace().await;
        self.gate.last = Some((workspace, ran.clone()));
        self.gate.turn.edited_since = false;
        Some((workspace, ran))
    }

    async fn run_in_sandbox(&self, check: &Check) -> Outcome {
        let rules = self.harness.rules(&self.model);
        let spill = self.session.spill_dir();
        let mut env = self.env.clone();
        env.retain(|(name, _)| !ENV.iter().any(|(set, _)| name == set));
        env.extend(ENV.iter().map(|(name, value)| (name.into(), value.into())));
        let limits = Limits { bytes: MOST_BYTES, lines: MOST_LINES, keep: Keep::Tail };
        let plain = ShellRules::default();
        let under = self.under(&[]);
        let cx = tools::ToolCx {
            limits,
            shell: &plain,
            env: &env,
            shell_timeout_most: check.limit,
            ..self.tool_cx(&check.call(), (&rules, &spill), &under)
        };
        self.act(&check.call().action, &cx).await
    }

    /// Why a check that ended so says nothing of the work.
    fn why_nothing(&self, check: &Check, outcome: &Outcome, when: When) -> Option<String> {
        match outcome.state {
            State::TimedOut => {
                let limit = check.limit / 1000;
                return Some(format!(
                    "it takes longer than {limit} s; [check] sets another command or limit"
                ));
            }
            State::Refused => return Some(one_line(&outcome.text)),
            State::Ok | State::Failed | State::Interrupted => {}
        }
        let Some(exit) = outcome.exit else { return Some(one_line(&outcome.text)) };
        // What fails only after a change fails because of it.
        if exit == 0 || when == When::After {
            return None;
        }
        let missing = outcome.text.lines().find(|line| MISSING.is_match(line));
        missing.map(one_line).or_else(|| matches!(exit, 126 | 127).then(|| "it cannot be run".to_owned()))
    }

    /// Tells the person, once a turn, that work was taken although the check fails.
    async fn say_failing(&mut self, check: &Check, blame: Blame, exit: Option<i32>) {
        if std::mem::replace(&mut self.gate.turn.told, true) {
            return;
        }
        let since = match blame {
            Blame::New => ", which passed before",
            Blame::Worse => ", and not only as it did before",
            Blame::Same => " as it did before",
            Blame::Unknown => "; whether it did before is not known",
        };
        let command = one_line(&check.command);
        let exit = exit.map(|exit| format!(" (exit code {exit})")).unwrap_or_default();
        self.warn(format!("the check `{command}` fails{exit}{since}")).await;
    }
}

impl Check {
    /// As a call that nobody made.
    fn call(&self) -> ToolCall {
        ToolCall::own(Action::shell(&self.command, Some(self.limit)))
    }

    fn was_too_slow(&self, body: &Body) -> bool {
        matches!(body, Body::Mark(Mark::Checked { command, exit: None, took, .. })
            if *command == self.command && *took >= self.limit)
    }
}

/// A runner that is not there, in the words of shells, of make and of Python.
static MISSING: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"^(\S*/)?(ba|da)?sh: .*not found$|\bError 127$|No module named '?pytest'?$";
    Regex::new(pattern).expect("it is a valid pattern")
});

/// What a failure is told by, in the output of most test runners and compilers.
static TROUBLE: LazyLock<Regex> = LazyLock::new(|| {
    let words =
        "fail|failed|failing|fails|failure|failures|error|errors|exception|panicked|not ok|fatal|undefined";
    Regex::new(&format!(r"(?i)\b({words})\b|[A-Za-z](Error|Exception)\b|^E\s|[✗✕✖×]"))
        .expect("it is a valid pattern")
});

/// What differs from run to run: numbers, addresses, names of temporary files.
static CHANGING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"/(?:var/)?tmp/[^\s:'\x22]*|0x[0-9a-fA-F]+|\d+(?:\.\d+)?").expect("it is a valid pattern")
});

fn blame(before: Option<&Ran>, now: &Ran) -> Blame {
    let (Some(before), Ran::Failed { exit: exit_now, output: now }) = (before, now) else {
        return Blame::Unknown;
    };
    match before {
        Ran::Passed => Blame::New,
        Ran::Nothing => Blame::Unknown,
        Ran::Failed { exit, output } => {
            let (known, now) = (trouble(output), trouble(now));
            let more = now.iter().any(|(line, times)| known.get(line).is_none_or(|known| known < times));
            if more || exit != exit_now { Blame::Worse } else { Blame::Same }
        }
    }
}

/// The lines that tell of failures, without what differs from run to run, and how often each is there.
fn trouble(output: &str) -> HashMap<String, usize> {
    let mut found = HashMap::new();
    for line in output.lines().map(str::trim_end).filter(|line| TROUBLE.is_match(line)) {
        *found.entry(CHANGING.replace_all(line, "#").into_owned()).or_default() += 1;
    }
    found
}

/// For a message: the first line with text, not too long.
fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut short: String = line.chars().take(120).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests;
