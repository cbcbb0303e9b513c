//! A text for a file that may be the whole file or only some of what it defines: which of the two, the
//! text itself tells. What it does not speak of is not lost.
//!
//! Where the harness does not ask for that, and where there is no file or none with lines, the text is
//! the whole. `data`: `path`, `how` (`whole`, `parts`), `names` (what was replaced or is new), `created`,
//! `lines`, `bytes`, and for a change of a file `from` and `snippet`, its rows around the change. A text
//! that is neither: `error` is `lost_names`, `unknown_names`, `elided` or `unparsable`, with `missing`,
//! `unknown` and `known` names.

use serde_json::{Value, json};

use super::change::{self, Change, Loaded};
use super::guard::{Basis, Plan};
use super::rows;
use super::seen::Intent;
use super::text::{self, Text};
use super::{ToolCx, Toolbox, edit, failed, path, words, write};
use crate::code::{self, Adapted, Going, Misfit, Why};
use crate::model::Outcome;

/// Names listed in a text.
const NAMES: usize = 12;

pub(super) fn run(toolbox: &Toolbox, cx: &ToolCx<'_>, raw: &str, new: &str) -> Outcome {
    rewrite(toolbox, cx, raw, new).unwrap_or_else(|refusal| refusal)
}

fn rewrite(toolbox: &Toolbox, cx: &ToolCx<'_>, raw: &str, new: &str) -> Result<Outcome, Outcome> {
    let old = write::target(cx, raw)?;
    let form = old.as_ref().and_then(|old| Text::decode(&old.raw)).filter(|form| !form.bytes.is_empty());
    let (Some(old), Some(form), true) = (&old, form, cx.guards.keep_names) else {
        return write::put(toolbox, cx, raw, (old.as_ref(), new));
    };
    toolbox.allow_rewrite(cx, old)?;
    let before = text::normal(&String::from_utf8_lossy(&form.bytes));
    match fit(cx, raw, (&before, &text::normal(new)))? {
        Adapted::Whole(text) => whole(toolbox, cx, raw, (old, &before, text)),
        Adapted::Parts { text, names } => parts(toolbox, cx, raw, (old, &form), (&before, &text, &names)),
    }
}

/// What it would make of a file; None where it would be refused.
pub(super) fn made(cx: &ToolCx<'_>, raw: &str, (old, new): (Option<&[u8]>, &str)) -> Option<Vec<u8>> {
    let form = old.and_then(Text::decode).filter(|form| !form.bytes.is_empty());
    let (Some(form), true) = (form, cx.guards.keep_names) else {
        return Some(write::in_form(old, new).0);
    };
    let before = text::normal(&String::from_utf8_lossy(&form.bytes));
    match fit(cx, raw, (&before, &text::normal(new))).ok()? {
        Adapted::Whole(text) => {
            let text = ended(&before, text);
            Some(write::in_form(old, mixed(&form.bytes, &before, &text).as_ref().unwrap_or(&text)).0)
        }
        Adapted::Parts { text, .. } => change::encode(raw, &form, &graft(&form.bytes, &before, &text)).ok(),
    }
}

/// The text with the end that the file has.
fn ended(before: &str, mut text: String) -> String {
    if before.ends_with('\n') && !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// What the answer is. A name may be gone where the person asked for that.
fn fit(cx: &ToolCx<'_>, raw: &str, (before, answer): (&str, &str)) -> Result<Adapted, Outcome> {
    match code::adapt(raw, before, answer, &Going::asked(cx.asked)) {
        Ok(adapted) => Ok(adapted),
        Err(_) if !answer.trim().is_empty() && before.contains(answer.trim()) => Err(same(raw)),
        // Its definitions are those of the file, so that putting them in changes nothing.
        Err(Misfit { why: Why::Names, missing, unknown, .. })
            if missing.is_empty() && unknown.is_empty() && !answer.trim().is_empty() =>
        {
            Err(same(raw))
        }
        Err(misfit) => Err(explain(raw, &misfit)),
    }
}

fn whole(
    toolbox: &Toolbox,
    cx: &ToolCx<'_>,
    raw: &str,
    (old, before, text): (&Loaded, &str, String),
) -> Result<Outcome, Outcome> {
    let text = ended(before, text);
    if text == before {
        return Err(same(raw));
    }
    let mixed = Text::decode(&old.raw).and_then(|form| mixed(&form.bytes, before, &text));
    let mut outcome = write::put(toolbox, cx, raw, (Some(old), mixed.as_ref().unwrap_or(&text)))?;
    let snippet = changed(before, &text);
    if let Value::Object(data) = &mut outcome.data {
        data.insert("how".into(), "whole".into());
        data.insert("names".into(), json!([]));
        data.insert("from".into(), snippet.from.into());
        data.insert("snippet".into(), snippet.text.into());
    }
    Ok(outcome)
}

fn parts(
    toolbox: &Toolbox,
    cx: &ToolCx<'_>,
    raw: &str,
    (old, form): (&Loaded, &Text),
    (before, text, names): (&str, &str, &[String]),
) -> Result<Outcome, Outcome> {
    if text == before {
        return Err(same(raw));
    }
    let after = change::encode(raw, form, &graft(&form.bytes, before, text))?;
    let parsed = toolbox.clear(cx, &Plan { raw, old: Some(old), after: &after, basis: Basis::Difference })?;
    let (earlier, intent) = (Some(old.raw.as_slice()), Intent::Change);
    let change = Change { before: earlier, after: &after, intent };
    let stored =
        toolbox.store(cx, &old.path, (&change, &parsed)).map_err(|error| path::fault(cx, raw, error))?;
    let snippet = changed(before, text);
    let said =
        format!("put {} into {}, the rest stays; {}", quoted(names), path::show_str(raw), snippet.said());
    let outcome = Outcome {
        seen: vec![toolbox.shows(cx, stored, &snippet.extent)],
        data: json!({
            "path": raw, "how": "parts", "names": names, "created": false, "bytes": after.len(),
            "lines": text::count_lines(text.as_bytes()), "from": snippet.from, "snippet": snippet.text,
        }),
        ..Outcome::ok(said)
    };
    Ok(parsed.tell(raw, outcome))
}

/// The file's bytes with the lines that are new; all others are its own, to the last byte.
fn graft(bytes: &[u8], before: &str, after: &str) -> Vec<u8> {
    let own = text::lines(bytes);
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let mut out = Vec::with_capacity(after.len());
    let mut at = 0;
    for hunk in rows::hunks(&old, &new) {
        out.extend(own[at..hunk.old.start].concat());
        let near = [hunk.old.start, hunk.old.start.saturating_sub(1), 0];
        let ends = near.iter().filter_map(|line| own.get(*line)).map(|line| text::end_of(line));
        let end = ends.into_iter().find(|end| !end.is_empty()).unwrap_or("\n");
        for line in &new[hunk.new.clone()] {
            match line.strip_suffix('\n') {
                Some(body) => out.extend([body, end].concat().bytes()),
                None => out.extend(line.bytes()),
            }
        }
        at = hunk.old.end;
    }
    out.extend(own[at..].concat());
    out
}

/// The new text with the line ends that its lines have, where the file has both sorts.
fn mixed(bytes: &[u8], before: &str, text: &str) -> Option<String> {
    let both = bytes.windows(2).any(|two| two == b"\r\n") && !text::all_crlf(bytes);
    String::from_utf8(graft(bytes, before, text)).ok().filter(|_| both)
}

/// The new text's lines from the first to the last difference.
fn changed(before: &str, after: &str) -> edit::Snippet {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let hunks = rows::hunks(&old, &new);
    let from = hunks.first().map_or(0, |hunk| hunk.new.start);
    let to = hunks.last().map_or(0, |hunk| hunk.new.end);
    edit::snippet(after.as_bytes(), from as u64 + 1, to.saturating_sub(from).max(1) as u64)
}

fn same(raw: &str) -> Outcome {
    let shown = path::show_str(raw);
    failed(
        "same",
        format!(
            "this is {shown} as it already was, so nothing has changed: something in it has to change, or a command has to be run"
        ),
    )
}

/// What was refused, the fact behind it, what the file has, the next call.
fn explain(raw: &str, misfit: &Misfit) -> Outcome {
    const WHOLE: &str = "Send the whole file, or only those of its definitions that change, each whole";
    let (error, why, next) = match misfit {
        Misfit { why: Why::Elided(line), .. } => {
            let why = format!("`{}` stands for code that was left out", line.trim());
            ("elided", why, "Send every line of it, or only the definitions that change, each whole")
        }
        Misfit { why: Why::Broken(wrong), .. } => {
            let why = format!("the text does not parse, line {}: {}", wrong.line, wrong.what);
            ("unparsable", why, "Send it again as code alone, with that put right")
        }
        Misfit { why: Why::Short([has, of]), .. } => {
            let why = format!("the text has {has} of its {}", words::count(*of, "line"));
            ("too_short", why, "Send every line of it, or change it with a command")
        }
        Misfit { unknown, .. } if !unknown.is_empty() => {
            ("unknown_names", format!("it has no one place for {}", quoted(unknown)), WHOLE)
        }
        Misfit { missing, known, .. } if missing == known => {
            ("lost_names", "the text defines nothing of what the file defines".to_owned(), WHOLE)
        }
        Misfit { missing, .. } => ("lost_names", format!("the text lacks {}", quoted(missing)), WHOLE),
    };
    let (shown, has) = (path::show_str(raw), quoted(&misfit.known));
    let text = format!("{shown} was left as it is: {why}. It defines {has}. {next}");
    let data = json!({
        "error": error, "path": raw,
        "missing": misfit.missing, "unknown": misfit.unknown, "known": misfit.known,
    });
    Outcome { data, ..failed(error, text) }
}

fn quoted(names: &[String]) -> String {
    let mut list: Vec<String> = names.iter().take(NAMES).map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => return "nothing by name".to_owned(),
        count if count > NAMES => list.push(format!("{} more", words::count(count - NAMES, "name"))),
        _ => {}
    }
    list.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_stay_keep_their_bytes() {
        let table: [(&[u8], &str, &[u8]); 4] = [
            (b"a\r\nb\nc\r\n", "a\nB\nc\n", b"a\r\nB\nc\r\n"),
            (b"a\r\nb\r\nc", "a\nb\nX\nc", b"a\r\nb\r\nX\r\nc"),
            (b"\xFF\na\nb\n", "\u{fffd}\na\nX\nY\n", b"\xFF\na\nX\nY\n"),
            (b"a\nb", "a\nc", b"a\nc"),
        ];
        for (own, after, want) in table {
            let before = text::normal(&String::from_utf8_lossy(own));
            assert_eq!(graft(own, &before, after), want, "{after:?}");
        }
    }
}
