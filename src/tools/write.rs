//! Writing a whole file.
//!
//! An existing file keeps what a model does not see: mode, byte-order mark, encoding where it can say
//! the new text, and CRLF where every line had it and the new text has none.

use serde_json::json;

use super::change::{self, Change, Loaded};
use super::guard::{Basis, Plan};
use super::seen::Intent;
use super::text::{self, Text};
use super::{ToolCx, Toolbox, failed, path, words};
use crate::model::{Outcome, WriteMode};

pub(super) fn run(toolbox: &Toolbox, cx: &ToolCx<'_>, raw: &str, what: (&str, WriteMode)) -> Outcome {
    write(toolbox, cx, raw, what).unwrap_or_else(|refusal| refusal)
}

fn write(
    toolbox: &Toolbox,
    cx: &ToolCx<'_>,
    raw: &str,
    (new, mode): (&str, WriteMode),
) -> Result<Outcome, Outcome> {
    let old = target(cx, raw)?;
    if old.is_some() && mode == WriteMode::Create {
        let shown = path::show_str(raw);
        let text = format!("{shown} exists already and was left as it is; edit it, or choose another name");
        return Err(failed("exists", text));
    }
    match (&old, mode) {
        (Some(old), WriteMode::Append) => append(toolbox, cx, raw, (old, new)),
        (_, WriteMode::Append | WriteMode::Create | WriteMode::Replace) => {
            put(toolbox, cx, raw, (old.as_ref(), new))
        }
    }
}

/// Adds to the end, in the file's own encoding and with its own line ends.
fn append(
    toolbox: &Toolbox,
    cx: &ToolCx<'_>,
    raw: &str,
    (old, new): (&Loaded, &str),
) -> Result<Outcome, Outcome> {
    toolbox.allow(cx, old, Intent::Change)?;
    let form = change::decode(raw, old)?;
    let crlf = text::all_crlf(&form.bytes) && !new.contains('\r');
    let more = if crlf { new.replace('\n', "\r\n") } else { new.to_owned() };
    let after = change::encode(raw, &form, &[form.bytes.as_slice(), more.as_bytes()].concat())?;
    let parsed = toolbox.clear(cx, &Plan { raw, old: Some(old), after: &after, basis: Basis::Difference })?;
    let change = Change { before: Some(&old.raw), after: &after, intent: Intent::Change };
    let stored =
        toolbox.store(cx, &old.path, (&change, &parsed)).map_err(|error| path::fault(cx, raw, error))?;
    let (lines, bytes) = (text::count_lines(new.as_bytes()), after.len() - old.raw.len());
    let said = format!(
        "added {}, {} to the end of {}",
        words::count(lines, "line"),
        words::count(bytes, "byte"),
        path::show_str(raw)
    );
    let outcome = Outcome {
        seen: vec![stored.seen],
        data: json!({ "path": raw, "created": false, "appended": true, "bytes": bytes, "lines": lines }),
        ..Outcome::ok(said)
    };
    Ok(parsed.tell(raw, outcome))
}

/// What is there already.
pub(super) fn target(cx: &ToolCx<'_>, raw: &str) -> Result<Option<Loaded>, Outcome> {
    path::resolve(cx, raw)?;
    if raw.ends_with('/') {
        let shown = path::show_str(raw);
        return Err(failed("is_folder", format!("{shown} names a folder; add the file's name")));
    }
    change::load(cx, raw)
}

/// Whether the file may be overwritten whole as long as it is.
pub(super) fn short_enough(cx: &ToolCx<'_>, raw: &str, old: &Loaded) -> Result<(), Outcome> {
    let Some(most) = cx.guards.whole else { return Ok(()) };
    let lines = Text::decode(&old.raw).map_or(0, |text| text::count_lines(&text.bytes));
    if lines <= most {
        return Ok(());
    }
    let text = format!(
        "{} was left as it is: it has {}, and no file of more than {most} is overwritten whole. Change only the part that has to change: quote its old text, and give the new text for it",
        path::show_str(raw),
        words::count(lines, "line"),
    );
    let data = json!({ "error": "too_long_to_overwrite", "path": raw, "lines": lines, "most": most });
    Err(Outcome { data, ..failed("too_long_to_overwrite", text) })
}

/// Puts the text in place of the whole file.
pub(super) fn put(
    toolbox: &Toolbox,
    cx: &ToolCx<'_>,
    raw: &str,
    (old, new): (Option<&Loaded>, &str),
) -> Result<Outcome, Outcome> {
    let shown = path::show_str(raw);
    let target = path::resolve(cx, raw)?;
    if let Some(old) = old {
        toolbox.allow(cx, old, Intent::Overwrite)?;
        short_enough(cx, raw, old)?;
    }
    let before = old.map(|old| old.raw.as_slice());
    let (after, kept) = in_form(before, new);
    let parsed = toolbox.clear(cx, &Plan { raw, old, after: &after, basis: Basis::Difference })?;
    let change = Change { before, after: &after, intent: Intent::Overwrite };
    let stored =
        toolbox.store(cx, &target, (&change, &parsed)).map_err(|error| path::fault(cx, raw, error))?;
    let lines = text::count_lines(new.as_bytes());
    let bytes = after.len();
    let verb = if stored.created { "created" } else { "overwrote" };
    let mut said =
        format!("{verb} {shown}: {}, {}", words::count(lines, "line"), words::count(bytes, "byte"));
    if let Some(kept) = kept {
        said.push_str("; kept its ");
        said.push_str(kept);
    }
    let outcome = Outcome {
        seen: vec![stored.seen],
        data: json!({
            "path": raw, "created": stored.created, "bytes": bytes, "lines": lines,
            "diff": before.and_then(|before| change::unified(raw, before, &after)),
        }),
        ..Outcome::ok(said)
    };
    Ok(parsed.tell(raw, outcome))
}

/// The new text in the form of the old file, and what was kept of that form.
pub(super) fn in_form(old: Option<&[u8]>, new: &str) -> (Vec<u8>, Option<&'static str>) {
    let plain = || (new.as_bytes().to_vec(), None);
    let Some(form) = old.and_then(Text::decode) else { return plain() };
    let crlf = text::all_crlf(&form.bytes) && !new.contains('\r');
    let body = if crlf { new.replace('\n', "\r\n") } else { new.to_owned() };
    let body = body.strip_prefix('\u{feff}').unwrap_or(&body);
    match form.encode(body.as_bytes()) {
        Ok(bytes) => (bytes, crlf.then_some("CRLF line ends")),
        Err(_) => plain(),
    }
}
