//! The keys there are, and which one was meant.

/// What a key may hold.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    Flag,
    /// A whole number, 0 or more.
    Count,
    /// A number, 0 or more.
    Amount,
    Texts,
    /// Names to texts.
    TextMap,
    OneOf(&'static [&'static str]),
    Table(&'static [Key]),
    /// Tables under names of the user's choice.
    Named(&'static [Key]),
    /// Tables under names of the user's choice that hold what a file holds.
    Profiles,
    /// Another program's key without a meaning here.
    Foreign,
    /// Not built yet; said once.
    Later,
}

pub(super) type Key = (&'static str, Kind);

use Kind::{Amount, Count, Flag, Foreign, Later, Named, OneOf, Profiles, Table, Text, TextMap, Texts};

pub(super) const ROOT: &[Key] = &[
    ("model", Text),
    ("model_provider", Text),
    ("harness", Text),
    ("profile", Text),
    ("model_reasoning_effort", Text),
    ("model_context_window", Count),
    ("model_auto_compact_token_limit", Count),
    ("approval_policy", OneOf(&["untrusted", "on-request", "never", "on-failure"])),
    ("sandbox_mode", OneOf(&["read-only", "workspace-write", "danger-full-access"])),
    ("openai_base_url", Text),
    ("check_for_update_on_startup", Flag),
    ("sandbox_workspace_write", Table(WORKSPACE_WRITE)),
    ("sandbox", Table(SANDBOX)),
    ("model_providers", Named(PROVIDER)),
    ("profiles", Profiles),
    ("prices", Named(PRICES)),
    ("mcp_servers", Later),
    ("hooks", Later),
    ("analytics", Foreign),
    ("disable_response_storage", Foreign),
    ("features", Foreign),
    ("file_opener", Foreign),
    ("hide_agent_reasoning", Foreign),
    ("history", Foreign),
    ("memories", Foreign),
    ("model_reasoning_summary", Foreign),
    ("model_verbosity", Foreign),
    ("notice", Foreign),
    ("notify", Foreign),
    ("personality", Foreign),
    ("projects", Foreign),
    ("show_raw_agent_reasoning", Foreign),
    ("tools", Foreign),
    ("tui", Foreign),
    ("web_search", Foreign),
];

const WORKSPACE_WRITE: &[Key] = &[
    ("network_access", Flag),
    ("writable_roots", Texts),
    ("exclude_slash_tmp", Foreign),
    ("exclude_tmpdir_env_var", Foreign),
];

const SANDBOX: &[Key] = &[
    ("git", OneOf(&["read", "commit"])),
    ("hide", Texts),
    ("reveal", Texts),
    ("env_pass", Texts),
    ("launcher", OneOf(&["builtin", "bwrap"])),
];

const PROVIDER: &[Key] = &[
    ("name", Text),
    ("base_url", Text),
    ("wire_api", OneOf(&["chat", "responses", "messages"])),
    ("env_key", Text),
    ("auth", Later),
    ("http_headers", TextMap),
    ("env_http_headers", TextMap),
    ("query_params", TextMap),
    ("request_max_retries", Count),
    ("stream_max_retries", Count),
    ("stream_idle_timeout_ms", Count),
    ("ca_certificate", Text),
    ("env_key_instructions", Foreign),
    ("requires_openai_auth", Foreign),
    ("supports_websockets", Foreign),
];

const PRICES: &[Key] = &[("input", Amount), ("cached_input", Amount), ("output", Amount)];

/// What a project's file may not decide, though its folder is trusted: what widens the sandbox or
/// runs a program outside it. `*` stands for any name.
pub(super) const USER_ONLY: &[&[&str]] = &[
    &["sandbox", "reveal"],
    &["sandbox", "launcher"],
    &["sandbox_workspace_write", "writable_roots"],
    &["model_providers", "*", "auth"],
];

pub(super) fn find(keys: &[Key], name: &str) -> Option<Kind> {
    keys.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// The name among `known` that is closest to `name`, if it is close.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let score = |known: &str| {
        // `provider` is close to `model_provider`: the last word counts, a little less.
        let last = known.rsplit('_').next().unwrap_or(known);
        let whole = strsim::normalized_damerau_levenshtein(&name, known);
        whole.max(strsim::normalized_damerau_levenshtein(&name, last) * 0.95)
    };
    known
        .into_iter()
        .map(|known| (score(known), known))
        .filter(|(score, _)| *score >= 0.65)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// ` (did you mean x?)` or nothing.
pub(super) fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |known| format!("; did you mean `{known}`?"))
}
