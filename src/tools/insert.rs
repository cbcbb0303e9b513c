//! Putting text after a line.

use serde_json::json;

use super::change::{self, Change};
use super::guard::{Basis, Plan};
use super::seen::Intent;
use super::{ToolCx, Toolbox, edit, failed, path, text, words};
use crate::model::Outcome;

pub(super) fn run(toolbox: &Toolbox, cx: &ToolCx<'_>, raw: &str, what: (u64, &str)) -> Outcome {
    insert(toolbox, cx, raw, what).unwrap_or_else(|refusal| refusal)
}

fn insert(
    toolbox: &Toolbox,
    cx: &ToolCx<'_>,
    raw: &str,
    (line, new): (u64, &str),
) -> Result<Outcome, Outcome> {
    let shown = path::show_str(raw);
    let loaded = change::load_existing(cx, raw)?;
    toolbox.allow(cx, &loaded, Intent::Change)?;
    let form = change::decode(raw, &loaded)?;
    let lines = text::lines(&form.bytes);
    if new.is_empty() {
        return Err(failed("empty", format!("{shown} was left as it is: the text to insert is empty")));
    }
    let Some(at) = usize::try_from(line).ok().filter(|at| *at <= lines.len()) else {
        let text = format!(
            "{shown} was left as it is: it has {}, so nothing can go after line {line}",
            words::count(lines.len(), "line")
        );
        return Err(failed("no_such_line", text));
    };
    let after = put(&lines, at, new);
    let raw_after = change::encode(raw, &form, &after)?;
    // The line above the new text, or the first one where it goes above all.
    let beside = if lines.is_empty() { Vec::new() } else { vec![(line.max(1), line.max(1))] };
    let plan = Plan { raw, old: Some(&loaded), after: &raw_after, basis: Basis::Lines(beside) };
    let parsed = toolbox.clear(cx, &plan)?;
    let (before, intent) = (Some(loaded.raw.as_slice()), Intent::Change);
    let change = Change { before, after: &raw_after, intent };
    let stored =
        toolbox.store(cx, &loaded.path, (&change, &parsed)).map_err(|error| path::fault(cx, raw, error))?;
    let from = line + 1;
    let count = text::count_lines(new.as_bytes());
    let snippet = edit::snippet(&after, from, count);
    let outcome = Outcome {
        seen: vec![toolbox.shows(cx, stored, &snippet.extent)],
        data: json!({ "path": raw, "count": 1, "from": snippet.from, "snippet": snippet.text }),
        ..Outcome::ok(format!("inserted {} into {shown}; {}", words::count(count, "line"), snippet.said()))
    };
    Ok(parsed.tell(raw, outcome))
}

/// What inserting would make of a file; None where it has no such line.
pub(super) fn made(old: &[u8], line: u64, new: &str) -> Option<Vec<u8>> {
    let lines = text::lines(old);
    let at = usize::try_from(line).ok().filter(|at| *at <= lines.len())?;
    Some(put(&lines, at, new))
}

/// The lines with `new` after the first `at` of them. The file's last line stays without an end if
/// it had none.
fn put(lines: &[&[u8]], at: usize, new: &str) -> Vec<u8> {
    let near = |line: Option<&&[u8]>| line.map(|line| text::end_of(line)).filter(|end| !end.is_empty());
    let before = at.checked_sub(1).and_then(|at| lines.get(at));
    let end = near(before).or_else(|| near(lines.get(at))).or_else(|| near(lines.first())).unwrap_or("\n");
    let open = at == lines.len() && before.is_some_and(|line| text::end_of(line).is_empty());
    let mut body = text::normal(new).replace('\n', end);
    let mut out = lines[..at].concat();
    if open {
        out.extend_from_slice(end.as_bytes());
        body.truncate(body.strip_suffix(end).map_or(body.len(), str::len));
    } else if !body.ends_with(end) {
        body.push_str(end);
    }
    out.extend_from_slice(body.as_bytes());
    out.extend_from_slice(&lines[at..].concat());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_between_lines_with_the_file_s_own_ends() {
        let table: [(&str, usize, &str, &str); 8] = [
            ("a\nb\n", 0, "x", "x\na\nb\n"),
            ("a\nb\n", 1, "x\ny\n", "a\nx\ny\nb\n"),
            ("a\nb\n", 2, "x", "a\nb\nx\n"),
            ("a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n"),
            ("a\nb", 2, "x\n", "a\nb\nx"),
            ("a\nb", 1, "x", "a\nx\nb"),
            ("", 0, "x\n", "x\n"),
            ("a", 0, "x", "x\na"),
        ];
        for (old, at, new, want) in table {
            let got = put(&text::lines(old.as_bytes()), at, new);
            assert_eq!(String::from_utf8_lossy(&got), want, "{old:?} {at} {new:?}");
        }
    }
}
