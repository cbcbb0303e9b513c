//! Flags that several commands share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::agent;
use crate::sandbox::{GitAccess, Mode};
use crate::wire::local::Kind;

/// Flags of a session, interactive or one-shot. They may stand before or after the subcommand.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct SessionFlags {
    /// Model to use; also PROVIDER/NAME
    #[arg(short, long, value_name = "NAME")]
    pub(super) model: Option<String>,
    /// Provider to ask
    #[arg(long, value_name = "ID")]
    pub(super) provider: Option<String>,
    /// Harness to speak through, or `auto`
    #[arg(long, value_name = "ID")]
    pub(super) harness: Option<String>,
    /// Profile of the configuration to lay on top
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,
    /// Set a configuration key: dotted key, TOML value (repeatable)
    #[arg(short, long = "config", value_name = "KEY=VALUE")]
    pub(super) config: Vec<String>,
    /// What commands may do
    #[arg(short, long, value_enum, value_name = "MODE")]
    pub(super) sandbox: Option<SandboxMode>,
    /// When to ask before acting
    #[arg(short = 'a', long, value_enum, value_name = "POLICY")]
    pub(super) ask_for_approval: Option<Approval>,
    /// No questions and no sandbox: commands may do anything you may do
    #[arg(long, visible_alias = "dangerously-bypass-approvals-and-sandbox")]
    pub(super) yolo: bool,
    /// Working folder
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    pub(super) cd: Option<PathBuf>,
    /// Further folder that may be written (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(super) add_dir: Vec<PathBuf>,
    /// Image to send with the prompt; several are separated by commas (repeatable)
    #[arg(short, long = "image", value_name = "FILE[,FILE]")]
    pub(super) image: Vec<String>,
    /// Stop after this many model requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_turns: Option<u32>,
    /// Stop when this much money is spent, in US dollars
    #[arg(long, value_name = "USD", value_parser = amount, allow_negative_numbers = true)]
    pub(super) max_cost: Option<f64>,
    /// Stop after this long
    #[arg(long, value_name = "SECONDS")]
    pub(super) timeout: Option<u64>,
    /// Unknown or ill-typed configuration keys are errors
    #[arg(long)]
    pub(super) strict_config: bool,
    /// Approvals and sandbox in one word
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) mode: Option<SessionMode>,
    /// What commands may do with the repository's .git
    #[arg(long, value_enum, value_name = "ACCESS")]
    pub(super) git: Option<Git>,
    /// Never look at standard input
    #[arg(long)]
    pub(super) no_stdin: bool,
    /// Use the model that a local server has loaded
    #[arg(long)]
    pub(super) oss: bool,
    /// The same, of this server
    #[arg(long, value_enum, value_name = "NAME")]
    pub(super) local_provider: Option<LocalProvider>,
    /// Interactive: lines of text alone, nothing is drawn; for screen readers and simple terminals
    #[arg(long)]
    pub(super) plain: bool,
}

/// Flags of one-shot runs only.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct ExecFlags {
    /// Print events as JSON lines; `--json=full` adds tack's own
    #[arg(
        long, alias = "experimental-json", value_name = "DETAIL", value_enum,
        num_args = 0..=1, require_equals = true, default_missing_value = "codex"
    )]
    pub(super) json: Option<JsonDetail>,
    /// Write the last message to this file as well
    #[arg(short, long, value_name = "FILE")]
    pub(super) output_last_message: Option<PathBuf>,
    /// Leave nothing on disk
    #[arg(long)]
    pub(super) ephemeral: bool,
    /// Colour of the progress on stderr
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(super) color: Option<Color>,
    /// JSON Schema that the last message has to fit
    #[arg(long, value_name = "FILE")]
    pub(super) output_schema: Option<PathBuf>,
    // Accepted because programs that embed Codex send them.
    #[arg(long, hide = true)]
    pub(super) skip_git_repo_check: bool,
    #[arg(long, hide = true, value_name = "S")]
    pub(super) thread_source: Option<String>,
    #[arg(long, hide = true, value_name = "V")]
    pub(super) cyber_access_program: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SandboxMode {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Approval {
    Untrusted,
    OnRequest,
    OnFailure,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SessionMode {
    Ask,
    Edits,
    Plan,
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LocalProvider {
    Ollama,
    Lmstudio,
    Llamacpp,
    Vllm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Git {
    Read,
    Commit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum JsonDetail {
    Codex,
    Full,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    Always,
    Never,
    #[default]
    Auto,
}

pub(super) fn amount(text: &str) -> Result<f64, &'static str> {
    let amount = text.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0);
    amount.ok_or("not a number from 0 up")
}

impl From<SandboxMode> for Mode {
    fn from(mode: SandboxMode) -> Self {
        match mode {
            SandboxMode::ReadOnly => Self::ReadOnly,
            SandboxMode::WorkspaceWrite => Self::WorkspaceWrite,
            SandboxMode::DangerFullAccess => Self::DangerFullAccess,
        }
    }
}

impl From<SessionMode> for agent::SessionMode {
    fn from(mode: SessionMode) -> Self {
        match mode {
            SessionMode::Ask => Self::Ask,
            SessionMode::Edits => Self::Edits,
            SessionMode::Plan => Self::Plan,
            SessionMode::Full => Self::Full,
        }
    }
}

impl From<Approval> for agent::Approval {
    fn from(approval: Approval) -> Self {
        match approval {
            Approval::Untrusted => Self::Untrusted,
            Approval::OnRequest | Approval::OnFailure => Self::OnRequest,
            Approval::Never => Self::Never,
        }
    }
}

impl From<LocalProvider> for Kind {
    fn from(provider: LocalProvider) -> Self {
        match provider {
            LocalProvider::Ollama => Self::Ollama,
            LocalProvider::Lmstudio => Self::LmStudio,
            LocalProvider::Llamacpp => Self::LlamaCpp,
            LocalProvider::Vllm => Self::Vllm,
        }
    }
}

impl From<Git> for GitAccess {
    fn from(git: Git) -> Self {
        match git {
            Git::Read => Self::Read,
            Git::Commit => Self::Commit,
        }
    }
}

impl SessionFlags {
    /// The mode that flags ask for, the strongest word first; None when they say nothing.
    pub(super) fn mode(&self) -> Option<Mode> {
        if self.yolo {
            return Some(Mode::DangerFullAccess);
        }
        if let Some(mode) = self.sandbox {
            return Some(mode.into());
        }
        self.mode.map(|mode| match mode {
            SessionMode::Ask | SessionMode::Edits => Mode::WorkspaceWrite,
            SessionMode::Plan => Mode::ReadOnly,
            SessionMode::Full => Mode::DangerFullAccess,
        })
    }

    /// These flags, with what `inner` (given after the subcommand) says on top.
    pub(super) fn merge(self, inner: Self) -> Self {
        let joined = |mut a: Vec<String>, b: Vec<String>| {
            a.extend(b);
            a
        };
        let mut add_dir = self.add_dir;
        add_dir.extend(inner.add_dir);
        Self {
            model: inner.model.or(self.model),
            provider: inner.provider.or(self.provider),
            harness: inner.harness.or(self.harness),
            profile: inner.profile.or(self.profile),
            config: joined(self.config, inner.config),
            sandbox: inner.sandbox.or(self.sandbox),
            ask_for_approval: inner.ask_for_approval.or(self.ask_for_approval),
            yolo: self.yolo || inner.yolo,
            cd: inner.cd.or(self.cd),
            add_dir,
            image: joined(self.image, inner.image),
            max_turns: inner.max_turns.or(self.max_turns),
            max_cost: inner.max_cost.or(self.max_cost),
            timeout: inner.timeout.or(self.timeout),
            strict_config: self.strict_config || inner.strict_config,
            mode: inner.mode.or(self.mode),
            git: inner.git.or(self.git),
            no_stdin: self.no_stdin || inner.no_stdin,
            oss: self.oss || inner.oss,
            local_provider: inner.local_provider.or(self.local_provider),
            plain: self.plain || inner.plain,
        }
    }
}

impl ExecFlags {
    pub(super) fn merge(self, inner: Self) -> Self {
        Self {
            json: inner.json.or(self.json),
            output_last_message: inner.output_last_message.or(self.output_last_message),
            ephemeral: self.ephemeral || inner.ephemeral,
            color: inner.color.or(self.color),
            output_schema: inner.output_schema.or(self.output_schema),
            skip_git_repo_check: self.skip_git_repo_check || inner.skip_git_repo_check,
            thread_source: inner.thread_source.or(self.thread_source),
            cyber_access_program: inner.cyber_access_program.or(self.cyber_access_program),
        }
    }
}
