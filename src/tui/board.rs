//! What tack answers to commands that only tell something, as rows: the same on a screen and without one.

use std::path::{Path, PathBuf};

use ratatui::text::{Line, Span};

use super::app::Spent;
use super::cell::{self, View};
use super::host::Facts;
use super::overlay::harness::tokens;
use super::palette::Palette;
use super::text;
use crate::agent::{Allowed, Changes, Filling, Rule, SessionMode};
use crate::model::{Class, FileChange};
use crate::sandbox::{GitAccess, Mode, Net};
use crate::tools::Job;

/// Two lines that say where one is.
pub fn head(facts: &Facts, p: &Palette) -> Vec<Line<'static>> {
    let speaks = &facts.speaks;
    let auto = speaks.because.mark();
    let clean = |text: &str| text::clean_line(text).into_owned();
    let (model, provider) = (clean(&speaks.model.name), clean(&speaks.model.provider));
    let who = match facts.mute {
        true => " · no model yet: /model".to_owned(),
        false => format!(" · {model} @ {provider} · harness {}{auto}", clean(&speaks.harness)),
    };
    let version = Span::styled(format!("tack {}", env!("CARGO_PKG_VERSION")), p.strong);
    let first = Line::from(vec![version, Span::raw(who)]);
    let mut place = vec![clean(&facts.folder)];
    place.extend(facts.branch.as_deref().map(clean));
    place.push(clean(&facts.sandbox));
    place.extend(facts.instructions.iter().map(|name| clean(name)));
    vec![first, Line::styled(place.join(" · "), p.dim)]
}

/// Model, harness and why that one, wire, window, mode, sandbox, folder, files, session; `session`: its id, where it is recorded.
pub fn status(facts: &Facts, spent: &Spent, session: Option<&str>, p: &Palette) -> Vec<Line<'static>> {
    let model = &facts.speaks.model;
    let window =
        model.window.map_or_else(|| "not known".to_owned(), |window| format!("{} tokens", tokens(window)));
    let who = match facts.mute {
        true => "none yet: /model lists what is on this machine".to_owned(),
        false => {
            format!(
                "{} @ {} · class {}, {}",
                model.name,
                model.provider,
                model.class.letter(),
                size(model.class)
            )
        }
    };
    let files = if facts.instructions.is_empty() { "none".to_owned() } else { facts.instructions.join(", ") };
    let rows = [
        ("model", who),
        ("harness", format!("{} · {}", facts.speaks.harness, facts.speaks.because.words())),
        ("wire", model.wire.name().to_owned()),
        ("window", format!("{window}, about {} used", tokens(spent.context))),
        ("effort", model.effort.clone().unwrap_or_else(|| "the model's own".to_owned())),
        ("mode", format!("{} · {}", facts.mode.name(), facts.sandbox)),
        ("folder", facts.cwd.display().to_string()),
        ("instructions", files),
        ("session", session.unwrap_or("not recorded").to_owned()),
        ("kept in", facts.log.as_ref().map_or_else(|| "no file".to_owned(), |log| log.display().to_string())),
    ];
    let row = |(name, what): (&str, String)| {
        let what = text::clean_line(&what).into_owned();
        Line::from(vec![Span::styled(format!("{name:<13} "), p.dim), Span::raw(what)])
    };
    rows.into_iter().map(row).collect()
}

/// What a class of models is to a person.
fn size(class: Class) -> &'static str {
    match class {
        Class::S => "a small model",
        Class::M => "a middling model",
        Class::L => "a large model",
        Class::F => "a hosted model",
    }
}

/// What fills the window, by part.
pub fn filling(filling: &Filling, p: &Palette) -> Vec<Line<'static>> {
    let whole = filling.window.unwrap_or(0);
    let of = match filling.window {
        Some(window) => format!(" of {}", tokens(window)),
        None => String::new(),
    };
    let mut lines = vec![Line::from(vec![
        Span::styled("Context", p.strong),
        Span::raw(format!(" about {}{of} tokens", tokens(filling.used))),
    ])];
    let parts = [("system prompt", filling.system), ("tools", filling.tools)].into_iter();
    for (name, count) in parts.chain(filling.parts.iter().copied()).filter(|(_, count)| *count > 0) {
        let bar = match whole {
            0 => String::new(),
            whole => "█".repeat(usize::try_from((count * 40).div_ceil(whole)).unwrap_or(0).min(40)),
        };
        lines.push(Line::from(vec![
            Span::raw(format!("  {name:<14} {:>7}  ", tokens(count))),
            Span::styled(bar, p.accent),
        ]));
    }
    if filling.masked > 0 {
        lines
            .push(Line::styled(format!("  {} old results are sent as one line each", filling.masked), p.dim));
    }
    if let Some(at) = filling.compacts_at {
        lines.push(Line::styled(format!("  is summarised at {}", tokens(at)), p.dim));
    }
    lines
}

/// Tokens and money of the session, by who was asked.
pub fn cost(spent: &Spent, p: &Palette) -> Vec<Line<'static>> {
    let usage = spent.usage;
    let money = spent.cost.map_or_else(|| "price not known".to_owned(), |cost| format!("${cost:.4}"));
    let mut lines = vec![Line::from(vec![
        Span::styled("This session", p.strong),
        Span::raw(format!(
            " {} tokens in ({} cached), {} out · {money}",
            tokens(usage.input),
            tokens(usage.cached),
            tokens(usage.output)
        )),
    ])];
    for (who, usage) in &spent.by {
        let money = spent.cost_of(who, usage).map_or_else(String::new, |cost| format!(" · ${cost:.4}"));
        let who = text::clean_line(who).into_owned();
        lines.push(Line::styled(
            format!(
                "  {who}: {} in ({} cached), {} out{money}",
                tokens(usage.input),
                tokens(usage.cached),
                tokens(usage.output)
            ),
            p.dim,
        ));
    }
    lines
}

/// What runs in the background.
pub fn jobs(jobs: &[Job], p: &Palette) -> Vec<Line<'static>> {
    let row = |job: &Job| {
        let state = match (job.running, job.exit) {
            (true, _) => "runs".to_owned(),
            (false, Some(code)) => format!("exit {code}"),
            (false, None) => "ended".to_owned(),
        };
        let file = job.output_file.as_deref().map(|file| format!(" · {file}")).unwrap_or_default();
        let command = text::clean_line(&job.command).into_owned();
        Line::raw(format!("{}  {state}  {command}{file}", job.id))
    };
    let mut lines: Vec<Line<'static>> = jobs.iter().map(row).collect();
    lines.push(Line::styled("/ps tail ID shows the end of its output, /ps stop ID ends it", p.dim));
    lines
}

/// The stored rules, numbered.
pub fn rules(rules: &[Rule], p: &Palette) -> Vec<Line<'static>> {
    let row = |(nth, rule): (usize, &Rule)| {
        let place = match &rule.project {
            Some(project) => format!(" · in {}", project.display()),
            None => " · everywhere".to_owned(),
        };
        let lifts: Vec<String> = rule.lifts.iter().map(ToString::to_string).collect();
        let with = if lifts.is_empty() { String::new() } else { format!(" · with {}", lifts.join(", ")) };
        Line::raw(text::clean_line(&format!("{:>3}  {}{place}{with}", nth + 1, rule.allow)).into_owned())
    };
    let mut lines: Vec<Line<'static>> = rules.iter().enumerate().map(row).collect();
    lines.push(Line::styled("/permissions add RULE, here RULE (this project), rm N", p.dim));
    lines
}

/// What to say where there are none.
pub fn no_rules(mode: SessionMode) -> String {
    let mode = mode.name();
    format!(
        "no rule is stored; mode {mode} decides what is asked for; /permissions add RULE stores one such as cargo test *"
    )
}

/// What changed in the project.
pub fn changes(changes: &Changes, view: View<'_>) -> Vec<Line<'static>> {
    let p = view.palette;
    let sum = |count: fn(&FileChange) -> u64| changes.files.iter().map(count).sum::<u64>();
    let (added, removed) = (sum(|change| change.added), sum(|change| change.removed));
    let files = match changes.files.len() {
        0 => "Nothing changed since the session began".to_owned(),
        1 => "1 file changed since the session began".to_owned(),
        count => format!("{count} files changed since the session began"),
    };
    let mut head = vec![Span::styled(files, p.strong)];
    if !changes.files.is_empty() {
        head.push(Span::styled(format!("  +{added}"), p.good));
        head.push(Span::styled(format!(" -{removed}"), p.bad));
    }
    let mut lines = vec![Line::from(head)];
    lines.extend(cell::changes(&changes.files, view));
    if changes.left_out > 0 {
        lines.push(Line::styled(format!("and {} files more; git diff shows all", changes.left_out), p.dim));
    }
    lines.extend(changes.note.iter().map(|note| Line::styled(note.clone(), p.dim)));
    lines
}

/// Paths of one sort that are listed.
const PATHS: usize = 8;

/// What may be done in the session now; `machine`: what this machine can hold.
pub fn sandbox(allowed: &Allowed, machine: &str, p: &Palette) -> Vec<Line<'static>> {
    let Allowed { policy, grants } = allowed;
    let mut rows = vec![("mode", policy.mode.name().to_owned())];
    if policy.mode == Mode::DangerFullAccess {
        rows.push(("", "no sandbox: commands may do whatever you may".to_owned()));
    } else {
        rows.push((
            "network",
            if policy.net == Net::Full { "reachable" } else { "not reachable" }.to_owned(),
        ));
        let git = match policy.git {
            GitAccess::Read => "read; writing .git is asked for",
            GitAccess::Commit => "commit; what starts programs stays read-only",
        };
        rows.push(("git", git.to_owned()));
        let whole = |path: &Path| path.display().to_string();
        rows.extend(listed("may write", &policy.write_roots, whole));
        rows.extend(policy.tmp.as_ref().map(|_| ("", "/tmp, the session's own".to_owned())));
        let there =
            |paths: &[PathBuf]| paths.iter().filter(|path| path.exists()).cloned().collect::<Vec<_>>();
        let short = |path: &Path| {
            path.strip_prefix(&policy.cwd).map_or_else(|_| whole(path), |rest| rest.display().to_string())
        };
        rows.extend(listed("read-only", &there(&policy.protect), short));
        rows.extend(listed("hidden", &there(&policy.hide), whole));
    }
    let grants = grants
        .iter()
        .enumerate()
        .map(|(nth, grant)| (if nth == 0 { "you allowed" } else { "" }, grant.clone()));
    rows.extend(grants);
    let mut lines = vec![Line::styled("Sandbox of this session", p.strong)];
    lines.extend(rows.iter().map(|(name, what)| {
        let what = text::clean_line(what).into_owned();
        Line::from(vec![Span::styled(format!("  {name:<12} "), p.dim), Span::raw(what)])
    }));
    lines.push(Line::styled("This machine", p.strong));
    lines.extend(text::clean(machine).lines().map(|line| Line::raw(format!("  {line}"))));
    lines.push(Line::styled(
        "/sandbox add DIR lets a folder be written in this session, rm DIR takes that back",
        p.dim,
    ));
    lines
}

/// A few of the paths, the first with its name, and how many more there are.
fn listed(
    name: &'static str,
    paths: &[PathBuf],
    shown: impl Fn(&Path) -> String,
) -> Vec<(&'static str, String)> {
    let mut rows: Vec<(&'static str, String)> =
        paths.iter().take(PATHS).map(|path| ("", shown(path))).collect();
    if paths.len() > PATHS {
        rows.push(("", format!("and {} more", paths.len() - PATHS)));
    }
    if let Some(first) = rows.first_mut() {
        first.0 = name;
    }
    rows
}

/// Lines of a job's output that are shown.
const TAIL: usize = 20;

/// The end of what a job printed.
pub fn tail(id: &str, printed: &str, p: &Palette) -> Vec<Line<'static>> {
    let clean = text::clean(printed);
    let all: Vec<&str> = clean.lines().collect();
    let last = &all[all.len().saturating_sub(TAIL)..];
    let head = match last.len() {
        0 => format!("{id} printed nothing yet"),
        count => format!("{id}, the last {count} lines"),
    };
    let mut lines = vec![Line::styled(text::clean_line(&head).into_owned(), p.strong)];
    lines.extend(last.iter().map(|line| Line::raw(format!("  {line}"))));
    lines
}

#[cfg(test)]
mod tests;
