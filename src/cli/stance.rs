//! What a session's modes allow, by flags and configuration.

use std::path::Path;

use super::args::SessionFlags;
use super::error::CliError;
use super::setup::Base;
use crate::agent::{Approval, RuleBook, SessionMode, Stance};
use crate::config::ApprovalPolicy;
use crate::sandbox::Mode;

/// The person's rules, in the state folder.
const RULES: &str = "rules.toml";

impl Base {
    /// The mode that a session begins in.
    pub(super) fn first_mode(&self, flags: &SessionFlags) -> SessionMode {
        let approval = self.approval(flags);
        match (flags.mode, self.sandbox_mode(flags)) {
            _ if flags.yolo => SessionMode::Full,
            (Some(mode), _) => mode.into(),
            (None, _) if approval == Some(Approval::Untrusted) => SessionMode::Ask,
            (None, Mode::DangerFullAccess) => SessionMode::Full,
            (None, Mode::ReadOnly | Mode::WorkspaceWrite) => SessionMode::Edits,
        }
    }

    /// What a mode allows, and what to say of it. `tmp`: the session's private `/tmp`, which stays the same.
    pub(super) fn stance(
        &self,
        flags: &SessionFlags,
        (mode, tmp): (SessionMode, Option<&Path>),
    ) -> Result<(Stance, Vec<String>), CliError> {
        let first = mode == self.first_mode(flags);
        let sandbox = match mode {
            _ if first => self.sandbox_mode(flags),
            SessionMode::Plan => Mode::ReadOnly,
            SessionMode::Full => Mode::DangerFullAccess,
            SessionMode::Ask | SessionMode::Edits => flags.sandbox.map_or(Mode::WorkspaceWrite, Into::into),
        };
        let (policy, notices) = self.policy_in(flags, sandbox, tmp)?;
        let approval = flags.ask_for_approval.filter(|_| first).map(Into::into);
        let approval = approval.unwrap_or_else(|| self.approval_in(flags, mode));
        let wish = self.env_wish(&policy);
        let (env, online) = (wish.build(&policy), wish.online(&policy));
        Ok((Stance { approval, mode, policy, env, online }, notices))
    }

    /// The person's rules, and what to say where they cannot be read.
    pub(super) fn rules(&self) -> (RuleBook, Option<String>) {
        let file = self.dirs.state.as_ref().map(|state| state.join(RULES));
        match file.map(|file| RuleBook::open(&file)) {
            None => (RuleBook::default(), None),
            Some(Ok(book)) => (book, None),
            Some(Err(why)) => (RuleBook::default(), Some(format!("no rule of yours holds: {why}"))),
        }
    }

    fn approval(&self, flags: &SessionFlags) -> Option<Approval> {
        let configured = self.config.approval_policy.map(|policy| match policy {
            ApprovalPolicy::Untrusted => Approval::Untrusted,
            ApprovalPolicy::OnRequest => Approval::OnRequest,
            ApprovalPolicy::Never => Approval::Never,
        });
        flags.ask_for_approval.map(Into::into).or(configured)
    }

    fn approval_in(&self, flags: &SessionFlags, mode: SessionMode) -> Approval {
        let never = self.approval(flags) == Some(Approval::Never);
        match mode {
            SessionMode::Full => Approval::Never,
            SessionMode::Ask => Approval::Untrusted,
            SessionMode::Edits | SessionMode::Plan if never => Approval::Never,
            SessionMode::Edits | SessionMode::Plan => Approval::OnRequest,
        }
    }
}
