//! The keys there are, who may set them, and which one was meant.

use toml::Value;

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
    ("model_class", OneOf(&["S", "M", "L", "F"])),
    ("models", Named(MODEL)),
    ("families", Named(FAMILY)),
    ("check", Table(CHECK)),
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
    ("tui", Table(TUI)),
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
    ("auth", Table(AUTH)),
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

const MODEL: &[Key] = &[("class", OneOf(&["S", "M", "L", "F"])), ("harness", Text)];

const FAMILY: &[Key] = &[("harness", Text)];

/// Besides `keys`, what Codex has there.
const TUI: &[Key] = &[
    ("keys", TextMap),
    ("alternate_screen", Foreign),
    ("animations", Foreign),
    ("keymap", Foreign),
    ("model_availability_nux", Foreign),
    ("notification_condition", Foreign),
    ("notification_method", Foreign),
    ("notifications", Foreign),
    ("pet", Foreign),
    ("pet_anchor", Foreign),
    ("raw_output_mode", Foreign),
    ("resume_cwd", Foreign),
    ("session_picker_view", Foreign),
    ("show_tooltips", Foreign),
    ("status_line", Foreign),
    ("status_line_use_colors", Foreign),
    ("terminal_resize_reflow_max_rows", Foreign),
    ("terminal_title", Foreign),
    ("theme", Foreign),
    ("vim_mode_default", Foreign),
];

const CHECK: &[Key] = &[("command", Text), ("limit", Count)];

const AUTH: &[Key] = &[
    ("command", Text),
    ("args", Texts),
    ("refresh_interval_ms", Count),
    ("timeout_ms", Count),
    ("cwd", Text),
];

const PRICES: &[Key] =
    &[("input", Amount), ("cached_input", Amount), ("cache_write", Amount), ("output", Amount)];

/// What a project's file may not decide, though its folder is trusted: where keys and files are
/// sent, what a limit on money counts, and what widens the sandbox. `*` stands for any name.
pub(super) const USER_ONLY: &[&[&str]] = &[
    &["profile"],
    &["profiles"],
    &["openai_base_url"],
    &["check_for_update_on_startup"],
    &["model_providers"],
    &["prices"],
    &["sandbox", "reveal"],
    &["sandbox", "env_pass"],
    &["sandbox", "launcher"],
    &["sandbox_workspace_write", "writable_roots"],
    // A key that suddenly does something else is a trap.
    &["tui"],
];

/// A key that a project may only make stricter than the user's own file has it.
pub(super) struct Stricter {
    pub(super) path: &'static [&'static str],
    /// Its values, the strictest first.
    pub(super) order: &'static [&'static str],
    /// What holds where the user says nothing.
    pub(super) usual: &'static str,
}

pub(super) const STRICTER: &[Stricter] = &[
    Stricter {
        path: &["sandbox_mode"],
        order: &["read-only", "workspace-write", "danger-full-access"],
        usual: "workspace-write",
    },
    Stricter {
        path: &["approval_policy"],
        order: &["untrusted", "on-request", "never"],
        usual: "on-request",
    },
    Stricter { path: &["sandbox", "git"], order: &["read", "commit"], usual: "read" },
    Stricter {
        path: &["sandbox_workspace_write", "network_access"],
        order: &["false", "true"],
        usual: "false",
    },
];

impl Stricter {
    /// Whether `theirs` allows more than `own`, the user's value. Values of no known meaning do not.
    pub(super) fn widens(&self, own: Option<&Value>, theirs: &Value) -> bool {
        let rank = |value: &Value| {
            let text = match value {
                Value::String(text) if text == "on-failure" => "on-request".to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            self.order.iter().position(|known| *known == text)
        };
        let usual = self.order.iter().position(|known| *known == self.usual);
        rank(theirs) > own.map_or(usual, rank) && rank(theirs).is_some()
    }
}

pub(super) fn find(keys: &[Key], name: &str) -> Option<Kind> {
    keys.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// The name among `known` that is closest to `name`, if it is close.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    near(name, known).first().copied()
}

/// The names among `known` that are as close to `name` as any and not far.
pub fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let score = |known: &str| {
        // `provider` is close to `model_provider`: the last word counts, a little less.
        let last = known.rsplit('_').next().unwrap_or(known);
        let whole = strsim::normalized_damerau_levenshtein(&name, known);
        whole.max(strsim::normalized_damerau_levenshtein(&name, last) * 0.95)
    };
    let scored: Vec<(f64, &str)> = known.into_iter().map(|known| (score(known), known)).collect();
    let best = scored.iter().map(|(score, _)| *score).fold(0.65, f64::max);
    // A name or two may be equally likely; names a little worse are not worth a line.
    let mut near: Vec<&str> =
        scored.into_iter().filter(|(score, _)| *score >= best - 0.03).map(|(_, known)| known).collect();
    near.sort_unstable();
    near.dedup();
    near
}

/// ` (did you mean x?)` or nothing.
pub(super) fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |known| format!("; did you mean `{known}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_the_documentation() {
        fn look(keys: &[Key], docs: &str) {
            for (name, kind) in keys {
                match kind {
                    Foreign | Later => continue,
                    Table(inner) | Named(inner) => look(inner, docs),
                    Text | Flag | Count | Amount | Texts | TextMap | OneOf(_) | Profiles => {}
                }
                assert!(docs.contains(&format!("`{name}`")) || docs.contains(&format!("[{name}")), "{name}");
            }
        }
        look(ROOT, include_str!("../../docs/config.md"));
    }
}
