//! What tack answers to commands that only tell something, as rows: the same on a screen and without one.

use ratatui::text::{Line, Span};

use super::app::Spent;
use super::host::Facts;
use super::overlay::harness::tokens;
use super::palette::Palette;
use super::text;
use crate::agent::{Filling, Rule};
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

/// Model, harness, wire, window, mode, sandbox, folder, session; `session`: its id, where it is recorded.
pub fn status(facts: &Facts, spent: &Spent, session: Option<&str>, p: &Palette) -> Vec<Line<'static>> {
    let model = &facts.speaks.model;
    let window =
        model.window.map_or_else(|| "not known".to_owned(), |window| format!("{} tokens", tokens(window)));
    let who = match facts.mute {
        true => "none yet: /model lists what is on this machine".to_owned(),
        false => format!("{} @ {} · class {}", model.name, model.provider, model.class.letter()),
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
    ];
    let row = |(name, what): (&str, String)| {
        let what = text::clean_line(&what).into_owned();
        Line::from(vec![Span::styled(format!("{name:<13} "), p.dim), Span::raw(what)])
    };
    rows.into_iter().map(row).collect()
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
        let who = text::clean_line(who).into_owned();
        lines.push(Line::styled(
            format!(
                "  {who}: {} in ({} cached), {} out",
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
pub fn jobs(jobs: &[Job]) -> Vec<Line<'static>> {
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
    jobs.iter().map(row).collect()
}

/// The stored rules, numbered.
pub fn rules(rules: &[Rule], p: &Palette) -> Vec<Line<'static>> {
    let row = |(nth, rule): (usize, &Rule)| {
        let place = match &rule.project {
            Some(project) => format!(" · in {}", project.display()),
            None => " · everywhere".to_owned(),
        };
        Line::raw(text::clean_line(&format!("{:>3}  {}{place}", nth + 1, rule.allow)).into_owned())
    };
    let mut lines: Vec<Line<'static>> = rules.iter().enumerate().map(row).collect();
    lines.push(Line::styled("/permissions rm N forgets one", p.dim));
    lines
}
