//! Writing a whole file.
//!
//! An existing file keeps what a model does not see: mode, byte-order mark, encoding where it can say
//! the new text, and CRLF where every line had it and the new text has none.

use serde_json::json;

use super::change::{self, Change};
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
    let shown = path::show_str(raw);
    let target = path::resolve(cx, raw)?;
    if raw.ends_with('/') {
        return Err(failed("is_folder", format!("{shown} names a folder; add the file's name")));
    }
    let old = change::load(cx, raw)?;
    if let Some(old) = &old {
        if mode == WriteMode::Create {
            let text =
                format!("{shown} exists already and was left as it is; edit it, or choose another name");
            return Err(failed("exists", text));
        }
        toolbox.allow(cx, old, Intent::Overwrite)?;
    }
    let (after, kept) = in_form(old.as_ref().map(|old| old.raw.as_slice()), new);
    let change = Change {
        before: old.as_ref().map(|old| old.raw.as_slice()),
        after: &after,
        intent: Intent::Overwrite,
    };
    let (written, seen) = toolbox.store(cx, &target, &change).map_err(|error| path::fault(cx, raw, error))?;
    let lines = text::count_lines(new.as_bytes());
    let bytes = after.len();
    let verb = if written.created { "created" } else { "overwrote" };
    let mut said =
        format!("{verb} {shown}: {}, {}", words::count(lines, "line"), words::count(bytes, "byte"));
    if let Some(kept) = kept {
        said.push_str("; kept its ");
        said.push_str(kept);
    }
    Ok(Outcome {
        seen: vec![seen],
        data: json!({ "path": raw, "created": written.created, "bytes": bytes, "lines": lines }),
        ..Outcome::ok(said)
    })
}

/// The new text in the form of the old file, and what was kept of that form.
fn in_form(old: Option<&[u8]>, new: &str) -> (Vec<u8>, Option<&'static str>) {
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
