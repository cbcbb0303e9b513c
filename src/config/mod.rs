//! Configuration: what the user set up, from files, environment and flags.
//!
//! Low to high: built in, user file, project file of a trusted folder, profile, environment, flags.
//! Names are those of Codex where it has the concept, so that its users can bring their file along.
//! Read from `agent` upwards only; below it, settings arrive as arguments. Never touches the
//! process environment itself but in [`Env::of_process`].

mod dirs;
mod edit;
mod env;
mod keys;
mod layers;
mod load;
mod model;
mod provider;
mod trust;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

pub use dirs::Dirs;
pub use edit::{Change, apply, keep_family, keep_harness};
pub use env::Env;
pub use keys::near;
pub use layers::{Inputs, Loaded, Strictness, load};
pub use load::{Override, Warning, Weight};
pub use model::{Choice, choose};
pub use provider::{known, resolve, usual_model};
pub use trust::how_to_trust;

use crate::model::{Class, Prices, WireKind};
use crate::sandbox::{GitAccess, Mode};

/// Why the configuration cannot be used. The program ends with status 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConfigError {
    /// What is wrong, and in which file.
    pub message: String,
    /// A second line: what to do.
    pub hint: Option<String>,
}

impl ConfigError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// All settings, merged. None or empty: not set by anyone, so what is built in holds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Config {
    pub model: Option<String>,
    pub model_provider: Option<String>,
    /// `model` was set above `model_provider`: a provider in its name was meant to replace that one.
    #[serde(skip)]
    pub model_is_later: bool,
    /// A profile, variable or flag set `model` or `model_provider`, or `harness`: not only a file.
    #[serde(skip)]
    pub model_is_for_this_run: bool,
    #[serde(skip)]
    pub harness_is_for_this_run: bool,
    /// An id or `auto`; `auto` when absent.
    pub harness: Option<String>,
    pub model_reasoning_effort: Option<String>,
    /// Tokens.
    pub model_context_window: Option<u64>,
    /// Tokens.
    pub model_auto_compact_token_limit: Option<u64>,
    pub approval_policy: Option<ApprovalPolicy>,
    pub sandbox_mode: Option<Mode>,
    pub openai_base_url: Option<String>,
    pub check_for_update_on_startup: bool,
    pub sandbox_workspace_write: WorkspaceWrite,
    pub sandbox: SandboxKeys,
    pub model_providers: BTreeMap<String, ProviderKeys>,
    /// The model's class, whatever its name says; `[models]` knows better for one of them.
    pub model_class: Option<Class>,
    pub check: CheckKeys,
    pub tui: TuiKeys,
    /// By `provider/model`.
    pub models: BTreeMap<String, ModelKeys>,
    /// By a pattern of models' names.
    pub families: BTreeMap<String, FamilyKeys>,
    /// By `provider/model`.
    pub prices: BTreeMap<String, Prices>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    Untrusted,
    #[serde(alias = "on-failure")]
    OnRequest,
    Never,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct WorkspaceWrite {
    pub network_access: bool,
    /// Folders that may be written to besides the workspace, as written.
    pub writable_roots: Vec<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SandboxKeys {
    pub git: GitAccess,
    /// Paths hidden besides the usual ones; every layer adds to it.
    pub hide: Vec<PathBuf>,
    pub reveal: Vec<PathBuf>,
    /// Names of variables that commands see besides the usual ones.
    pub env_pass: Vec<String>,
    pub launcher: Launcher,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Launcher {
    #[default]
    Builtin,
    Bwrap,
}

/// The project's own check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CheckKeys {
    /// The command; guessed from the project's manifests when absent. Empty: there is none.
    pub command: Option<String>,
    /// Seconds it may take; the harness's word when absent.
    pub limit: Option<u64>,
}

/// The interactive session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TuiKeys {
    /// By name of an action: its keys, with blanks between.
    pub keys: BTreeMap<String, String>,
}

/// A `[models."provider/model"]` table: what the user found out about one model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ModelKeys {
    pub class: Option<Class>,
    /// Used where no harness is named for the run.
    pub harness: Option<String>,
}

/// A `[families."kimi-*"]` table: what the user wants for all models of such a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FamilyKeys {
    /// Used where no harness is named for the run or for the model itself.
    pub harness: Option<String>,
}

/// A `[model_providers.<id>]` table: a provider of its own, or changes to a built-in one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ProviderKeys {
    pub name: Option<String>,
    pub base_url: Option<String>,
    pub wire_api: Option<WireKind>,
    pub env_key: Option<String>,
    pub auth: Option<AuthKeys>,
    pub http_headers: BTreeMap<String, String>,
    /// Header to the variable that holds its value.
    pub env_http_headers: BTreeMap<String, String>,
    pub query_params: BTreeMap<String, String>,
    pub request_max_retries: Option<u64>,
    pub stream_max_retries: Option<u64>,
    pub stream_idle_timeout_ms: Option<u64>,
    /// Further certificates to trust, a PEM file.
    pub ca_certificate: Option<PathBuf>,
}

/// `auth` of a provider: a command that prints the key. Names and defaults are Codex's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AuthKeys {
    pub command: String,
    pub args: Vec<String>,
    /// 0: only when the server refuses the key.
    pub refresh_interval_ms: Option<u64>,
    pub timeout_ms: Option<u64>,
    pub cwd: Option<PathBuf>,
}
