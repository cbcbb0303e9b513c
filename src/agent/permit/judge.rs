//! Whether a call has to be asked for, and what is asked then.

use std::path::{Path, PathBuf};

use super::needs::{self, Need};
use super::risk::{self, Risk};
use super::{Approval, Asker, Grants, Offer, Request, Rule, RuleBook, SessionMode, What};
use crate::agent::harmless::harmless;
use crate::model::{Action, JobOp, ToolCall};
use crate::sandbox::{Lift, broad};
use crate::tools::{ToolCx, Touch, preview, touches, web_host};

/// What decides, besides the call.
pub(super) struct Bench<'a> {
    pub(super) approval: Approval,
    pub(super) mode: SessionMode,
    pub(super) book: &'a RuleBook,
    pub(super) grants: &'a Grants,
    /// Root of the project.
    pub(super) project: &'a Path,
}

/// What is lifted for a call without asking, and the request, where one has to be made.
pub(super) struct Judged {
    pub(super) lifts: Vec<Lift>,
    pub(super) request: Option<Request>,
}

impl Bench<'_> {
    /// `cx` is made with what is lifted for every call.
    pub(super) fn judge(&self, call: &ToolCall, cx: &ToolCx<'_>) -> Judged {
        let mut needs = needs::needs(&call.action, cx);
        needs.retain(|need| self.may_offer(need));
        let mut lifts = Vec::new();
        let mut known = false;
        match &call.action {
            Action::Shell { command, .. } => {
                let wanted: Vec<Lift> = needs.iter().map(|need| need.lift.clone()).collect();
                let rule = self.book.find(command, (self.project, &wanted));
                known = rule.is_some() || self.grants.of_command(command).is_some();
                lifts.extend(rule.into_iter().flat_map(|rule| rule.lifts));
                lifts.extend(self.grants.of_command(command).into_iter().flatten().cloned());
            }
            Action::Fetch { url, .. } if self.grants.has_host(&host(url)) => lifts.push(Lift::Network),
            action if action.changes_files() => known = self.grants.has_files(&paths(action, cx)),
            _ => {}
        }
        if self.mode == SessionMode::Plan {
            lifts.retain(|lift| *lift == Lift::Network);
        }
        needs.retain(|need| !lifts.contains(&need.lift));
        let demanded = self.approval == Approval::Untrusted && !known && acts(&call.action);
        let asker = match (needs.is_empty(), demanded) {
            (false, _) => Asker::Sandbox,
            (true, true) => Asker::Mode,
            (true, false) => return Judged { lifts, request: None },
        };
        let why = match asker {
            Asker::Sandbox => needs.iter().map(|need| need.why.as_str()).collect::<Vec<_>>().join("; "),
            Asker::Mode if call.action.changes_files() => format!("mode {}: every edit", self.mode.name()),
            Asker::Mode => format!("mode {}: every command not known to be harmless", self.mode.name()),
        };
        let wanted = needs.into_iter().map(|need| need.lift).collect();
        let request = self.request(call, cx, (asker, why, wanted));
        Judged { lifts, request: Some(request) }
    }

    /// What is asked after the sandbox stopped a command; None: nothing may be lifted for it.
    pub(super) fn again(
        &self,
        call: &ToolCall,
        cx: &ToolCx<'_>,
        denied: Vec<(String, Lift)>,
    ) -> Option<Request> {
        let need = |(why, lift): (String, Lift)| {
            let reads = lift == Lift::Network;
            Need { lift, why, reads }
        };
        let needs: Vec<Need> = denied.into_iter().map(need).filter(|need| self.may_offer(need)).collect();
        if needs.is_empty() {
            return None;
        }
        let why: Vec<&str> = needs.iter().map(|need| need.why.as_str()).collect();
        let why = format!("blocked: {}", why.join("; "));
        let wanted = needs.into_iter().map(|need| need.lift).collect();
        Some(Request { again: true, ..self.request(call, cx, (Asker::Sandbox, why, wanted)) })
    }

    fn may_offer(&self, need: &Need) -> bool {
        self.mode != SessionMode::Plan || need.reads
    }

    fn request(&self, call: &ToolCall, cx: &ToolCx<'_>, asked: (Asker, String, Vec<Lift>)) -> Request {
        let (asker, why, mut lifts) = asked;
        lifts.sort();
        let risks = risk::risks(&call.action, &lifts, cx.policy);
        let mut offers = vec![self.offer(&call.action, cx, (&lifts, &risks))];
        let command = matches!(call.action, Action::Shell { .. });
        if command && !lifts.is_empty() && self.mode != SessionMode::Plan {
            let once = || "only once".to_owned();
            offers.push(Offer { lifts: vec![Lift::NoSandbox], session: Err(once()), always: Err(once()) });
        }
        Request {
            call: call.id.clone(),
            what: what(&call.action, cx),
            asker,
            why,
            risks,
            offers,
            again: false,
        }
    }

    fn offer(&self, action: &Action, cx: &ToolCx<'_>, (lifts, risks): (&[Lift], &[Risk])) -> Offer {
        let lasting: Vec<String> =
            lifts.iter().filter(|lift| **lift != Lift::Network).map(Lift::to_string).collect();
        let also = |what: String| match lasting.is_empty() {
            true => what,
            false => format!("{what}, and {} for all calls", lasting.join(" and ")),
        };
        // Each time, somebody has to look at what is written.
        let later = || "it steers what runs outside the sandbox".to_owned();
        let home = cx.env.iter().find(|(name, _)| name == "HOME").map(|(_, home)| Path::new(home));
        let broad = lifts.iter().find_map(|lift| match lift {
            Lift::Path(path) => broad(path, home),
            Lift::Steering(_) | Lift::GitCommit | Lift::Network | Lift::NoSandbox => None,
        });
        let later = || broad.map_or_else(later, str::to_owned);
        let session = match action {
            _ if broad.is_some() || risks.contains(&Risk::RunsLater) => Err(later()),
            Action::Shell { .. } if risks.contains(&Risk::RunsDownloaded) => {
                Err("it runs code from the network".to_owned())
            }
            Action::Shell { .. } => Ok(also("this very command".to_owned())),
            Action::Fetch { url, .. } => Ok(format!("pages of {}", host(url))),
            Action::Keys { .. } | Action::Job { .. } | Action::Script { .. } => {
                Err("each time it is something else".to_owned())
            }
            action if action.changes_files() => {
                let names: Vec<String> = paths(action, cx).iter().map(|path| short(path, cx)).collect();
                Ok(also(format!("changes of {}", names.join(", "))))
            }
            _ => Ok(lasting.join(" and ")),
        };
        let always = match action {
            _ if broad.is_some() || risks.contains(&Risk::RunsLater) => Err(later()),
            Action::Shell { .. } if risks.contains(&Risk::RunsDownloaded) => {
                Err("it runs code from the network".to_owned())
            }
            Action::Shell { command, .. } => Rule::suggest(command).map(|rule| Rule {
                lifts: lifts.to_vec(),
                project: Some(self.project.to_owned()),
                ..rule
            }),
            _ => Err("rules are for commands".to_owned()),
        };
        Offer { lifts: lifts.to_vec(), session, always }
    }
}

/// Whether it is an edit, or a command not known to be harmless.
fn acts(action: &Action) -> bool {
    match action {
        Action::Shell { command, .. } => !harmless(command),
        Action::Keys { text, .. } => !text.is_empty(),
        Action::Job { op, input, .. } => {
            *op == JobOp::Output && input.as_ref().is_some_and(|keys| !keys.is_empty())
        }
        Action::Script { only_reads, .. } => !only_reads,
        action => action.changes_files(),
    }
}

fn what(action: &Action, cx: &ToolCx<'_>) -> What {
    match action {
        Action::Shell { command, cwd, .. } => {
            let cwd = cwd.as_ref().map_or_else(|| cx.cwd.to_owned(), |cwd| cx.cwd.join(cwd));
            What::Command { line: command.clone(), cwd }
        }
        Action::Keys { text, .. } => What::Typed { text: text.clone() },
        Action::Job { input, .. } => What::Typed { text: input.clone().unwrap_or_default() },
        Action::Script { tool, input, .. } => {
            let input = serde_json::to_string_pretty(input).unwrap_or_default();
            What::Script { tool: tool.clone(), input }
        }
        Action::Fetch { url, .. } => What::Fetch { url: url.clone() },
        action if action.changes_files() => match preview(action, cx) {
            Some(files) => What::Edit { files },
            None => What::Write { path: names(action, cx), text: raw(action) },
        },
        action => What::Read { path: names(action, cx) },
    }
}

/// What a change that cannot be shown holds.
fn raw(action: &Action) -> String {
    match action {
        Action::Write { text, .. }
        | Action::Rewrite { text, .. }
        | Action::Insert { text, .. }
        | Action::Patch { text, .. }
        | Action::Notebook { text, .. } => text.clone(),
        Action::Diff { text, files, .. } => {
            let files = files.iter().map(|file| file.text.as_str());
            std::iter::once(text.as_str()).chain(files).collect::<Vec<_>>().join("\n")
        }
        Action::Edit { edits, .. } => {
            let rows = |text: &str, mark: char| -> String {
                text.lines().map(|row| format!("{mark}{row}\n")).collect()
            };
            edits.iter().map(|edit| rows(&edit.old, '-') + &rows(&edit.new, '+')).collect()
        }
        _ => String::new(),
    }
}

pub(super) fn paths(action: &Action, cx: &ToolCx<'_>) -> Vec<PathBuf> {
    touches(action, cx).into_iter().map(|Touch { path, .. }| path).collect()
}

fn names(action: &Action, cx: &ToolCx<'_>) -> String {
    paths(action, cx).iter().map(|path| short(path, cx)).collect::<Vec<_>>().join(", ")
}

fn short(path: &Path, cx: &ToolCx<'_>) -> String {
    path.strip_prefix(cx.cwd).unwrap_or(path).display().to_string()
}

/// The host that a request for this address would go to; the address itself where it is none.
pub(super) fn host(url: &str) -> String {
    web_host(url).unwrap_or_else(|| url.to_owned())
}
