//! The settings that are in force, by where each comes from: files with their lines, variables, flags, and
//! what was changed in the session. Never a secret.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::args::SessionFlags;
use super::super::error::CliError;
use super::super::setup::{self, Base};
use super::{Changed, shortened};
use crate::config::{self, Place, Setting};
use crate::wire::provider::shown;

/// What holds where nobody says anything.
const BUILT_IN: &[(&str, &str)] = &[
    ("model", "none; /model lists what is here"),
    ("harness", "auto"),
    ("model_reasoning_effort", "the model's own"),
    ("model_context_window", "as the catalog or the server says"),
    ("model_auto_compact_token_limit", "a share of the window"),
    ("approval_policy", "on-request"),
    ("sandbox_mode", "workspace-write"),
    ("sandbox.git", "read"),
    ("sandbox_workspace_write.network_access", "false"),
    ("check.command", "guessed from the project"),
];

const ROOTS: &str = "sandbox_workspace_write.writable_roots";
const SESSION: &str = "this session";
const NOBODY: &str = "built in";
/// Longest key that the values of a group are put behind, in columns.
const WIDE: usize = 44;

/// What of a running session is not in its flags.
pub(super) struct Since<'a> {
    pub(super) changed: &'a Changed,
    pub(super) folders: &'a [PathBuf],
}

pub(super) fn text(flags: &SessionFlags, since: &Since<'_>) -> Result<String, CliError> {
    let base = setup::base(flags)?;
    let mut all: BTreeMap<String, Setting> =
        base.settings.iter().map(|setting| (setting.key.clone(), setting.clone())).collect();
    by_flags(flags, &mut all);
    by_session(since, &mut all);
    for (key, value) in BUILT_IN {
        if !all.contains_key(*key) {
            set(&mut all, (key, NOBODY), (*value).to_owned());
        }
    }
    let mut text = grouped(all, base.dirs.home.as_deref());
    text.push_str(&served(&base));
    text.push_str(&files(&base));
    Ok(text)
}

fn set(all: &mut BTreeMap<String, Setting>, (key, source): (&str, &str), value: String) {
    let from = vec![Place { source: source.to_owned(), line: None }];
    all.insert(key.to_owned(), Setting { key: key.to_owned(), value, from });
}

/// Adds to a list instead of taking its place.
fn add(all: &mut BTreeMap<String, Setting>, source: &str, folders: &[PathBuf]) {
    if folders.is_empty() {
        return;
    }
    let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let place = Place { source: source.to_owned(), line: None };
    let known = all.entry(ROOTS.to_owned());
    let setting =
        known.or_insert_with(|| Setting { key: ROOTS.to_owned(), value: String::new(), from: Vec::new() });
    let before = (!setting.value.is_empty()).then(|| setting.value.clone());
    setting.value = before.into_iter().chain(names).collect::<Vec<_>>().join(", ");
    setting.from.push(place);
}

/// Flags that are no keys of the configuration.
fn by_flags(flags: &SessionFlags, all: &mut BTreeMap<String, Setting>) {
    use clap::ValueEnum as _;
    let word = |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_owned());
    let yolo = flags.yolo.then(|| "danger-full-access".to_owned());
    let rows = [
        ("sandbox_mode", "--sandbox", word(flags.sandbox.and_then(|mode| mode.to_possible_value()))),
        ("sandbox_mode", "--yolo", yolo),
        (
            "approval_policy",
            "--ask-for-approval",
            word(flags.ask_for_approval.and_then(|one| one.to_possible_value())),
        ),
        ("mode", "--mode", word(flags.mode.and_then(|mode| mode.to_possible_value()))),
        ("sandbox.git", "--git", word(flags.git.and_then(|git| git.to_possible_value()))),
        ("most requests of a turn", "--max-turns", flags.max_turns.map(|n| n.to_string())),
        ("most US dollars", "--max-cost", flags.max_cost.map(|n| n.to_string())),
        ("profile", "--profile", flags.profile.clone()),
    ];
    for (key, flag, value) in rows {
        if let Some(value) = value {
            set(all, (key, flag), value);
        }
    }
    if flags.oss || flags.local_provider.is_some() {
        let flag = if flags.oss { "--oss" } else { "--local-provider" };
        set(all, ("model", flag), "what the local server has loaded".to_owned());
    }
    add(all, "--add-dir", &flags.add_dir);
}

fn by_session(since: &Since<'_>, all: &mut BTreeMap<String, Setting>) {
    // What is as the settings have it was not changed.
    let set = |all: &mut BTreeMap<String, Setting>, at: (&str, &str), value: String| {
        if all.get(at.0).is_none_or(|known| known.value != value) {
            set(all, at, value);
        }
    };
    if let Some(wish) = &since.changed.wish {
        if let Some((provider, name)) = &wish.model {
            set(all, ("model", SESSION), name.clone());
            set(all, ("model_provider", SESSION), provider.clone());
        }
        match &wish.harness {
            Some(harness) => set(all, ("harness", SESSION), harness.clone()),
            None if all.contains_key("harness") => set(all, ("harness", SESSION), "auto".to_owned()),
            None => {}
        }
        if let Some(effort) = &wish.effort {
            set(all, ("model_reasoning_effort", SESSION), effort.clone());
        }
    }
    if let Some(mode) = since.changed.mode {
        set(all, ("mode", SESSION), mode.name().to_owned());
    }
    add(all, SESSION, since.folders);
}

/// A row of a group: its line in the file, key, value and what there is to say of it.
type Row = (Option<usize>, String, String);

/// By source, the strongest first; in a file by line.
fn grouped(all: BTreeMap<String, Setting>, home: Option<&Path>) -> String {
    let mut groups: BTreeMap<(u8, String), Vec<Row>> = BTreeMap::new();
    for setting in all.into_values() {
        let Some((last, before)) = setting.from.split_last() else { continue };
        let (rank, heading) = group(last, home);
        let by = (heading != last.source && rank < 3).then(|| format!("  ({})", last.source));
        let also: Vec<String> = before.iter().map(ToString::to_string).collect();
        let also = (!also.is_empty()).then(|| format!("  (and {})", also.join(", ")));
        let value = [Some(setting.value), by, also].into_iter().flatten().collect();
        groups.entry((rank, heading)).or_default().push((last.line, setting.key, value));
    }
    let mut text = String::new();
    for ((_, heading), mut rows) in groups {
        rows.sort();
        let wide = rows.iter().map(|(_, key, _)| key.chars().count()).max().unwrap_or(0).min(WIDE);
        text.push_str(&format!("{heading}\n"));
        for (line, key, value) in rows {
            let line = line.map(|line| line.to_string()).unwrap_or_default();
            text.push_str(&format!("{line:>5}  {key:<wide$}  {value}\n"));
        }
    }
    text
}

/// The heading that a source stands under, and how strong it is.
fn group(place: &Place, home: Option<&Path>) -> (u8, String) {
    match place.source.as_str() {
        SESSION => (0, SESSION.to_owned()),
        flag if flag.starts_with("--") => (1, "flags".to_owned()),
        NOBODY => (9, NOBODY.to_owned()),
        other => match other.strip_prefix("profile ").and_then(|rest| rest.split_once(", ")) {
            Some((name, file)) => (3, format!("profile {name}, {}", shortened(Path::new(file), home))),
            None if Path::new(other).is_absolute() => (4, shortened(Path::new(other), home)),
            None => (2, "variables".to_owned()),
        },
    }
}

/// Whom the settings mean, with all that was set for it.
fn served(base: &Base) -> String {
    let Ok((model, Some(provider))) = base.chosen() else { return String::new() };
    let key = base.key_state(&provider).map(|state| state.text(&provider)).unwrap_or_default();
    let address = provider.url("").map(|url| shown(&url)).unwrap_or_default();
    let wires: Vec<&str> = provider.wires().into_iter().map(|wire| wire.name()).collect();
    let rows = [
        ("model", model.name),
        ("provider", format!("{} ({})", provider.id, provider.name)),
        ("address", address),
        ("wires", wires.join(" ")),
        ("key", key),
    ];
    let rows: String = rows.iter().map(|(name, what)| format!("       {name:<8}  {what}\n")).collect();
    format!("who these settings mean\n{rows}")
}

/// Where one changes them.
fn files(base: &Base) -> String {
    let home = base.dirs.home.as_deref();
    let Some(file) = base.dirs.config_file() else { return String::new() };
    let there = if file.exists() { "" } else { ", which is not there yet" };
    let mut text = format!("your file is {}{there}", shortened(&file, home));
    let theirs = config::project_file(&base.project);
    if theirs.exists() && theirs != file {
        let trust = base.distrust.as_ref().map_or(String::new(), |how| format!(", not heeded; {how}"));
        text.push_str(&format!("\nthe project's is {}{trust}", shortened(&theirs, home)));
    }
    text
}
