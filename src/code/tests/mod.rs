//! What each language's files and answers come to, as tables; and what holds for any text.

use super::*;

mod kept;
mod language;
mod others;
mod props;
mod python;
mod sound;

/// What became of an answer, in a few words: `whole`, `parts: names`, or why it was refused.
fn said(path: &str, old: &str, answer: &str) -> String {
    told_of(adapt(path, old, answer, &Going::default()))
}

fn told_of(adapted: Result<Adapted, Misfit>) -> String {
    match adapted {
        Ok(Adapted::Whole(_)) => "whole".to_owned(),
        Ok(Adapted::Parts { names, .. }) => format!("parts: {}", names.join(", ")),
        Err(Misfit { why: Why::Elided(line), .. }) => format!("elided: {line}"),
        Err(Misfit { why: Why::Broken(Finding { line, what }), .. }) => format!("broken: {line}: {what}"),
        Err(Misfit { why: Why::Short([has, of]), .. }) => format!("short: {has} of {of}"),
        Err(Misfit { why: Why::Names, missing, unknown, .. }) => {
            format!("missing: {}; unknown: {}", missing.join(", "), unknown.join(", "))
        }
    }
}

/// The text that came of an answer.
fn fitted(path: &str, old: &str, answer: &str) -> String {
    match adapt(path, old, answer, &Going::default()) {
        Ok(Adapted::Whole(text) | Adapted::Parts { text, .. }) => text,
        Err(misfit) => panic!("refused: {misfit:?}"),
    }
}

/// The findings as lines.
fn told(path: &str, text: &str) -> String {
    findings(path, text).iter().map(|f| format!("{}: {}\n", f.line, f.what)).collect()
}
