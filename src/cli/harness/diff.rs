//! `tack harness diff`: what another harness means for the model, and for how a turn runs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use serde_json::json;
use similar::{ChangeTag, TextDiff};

use super::broken;
use crate::cli::error::{CliError, shown};
use crate::harness::{Library, Spelled};

/// One thing that differs. None: not there.
struct Change {
    /// `tools`, `keys` or `texts`.
    section: &'static str,
    name: String,
    before: Option<String>,
    after: Option<String>,
}

pub(super) fn run(library: &Library, (before, after): (&str, &str), as_json: bool) -> Result<i32, CliError> {
    let old = library.spelled(before).map_err(broken)?;
    let new = library.spelled(after).map_err(broken)?;
    let mut changes = tools(&old, &new);
    changes.extend(compare("keys", &old.keys, &new.keys));
    changes.extend(compare("texts", &old.texts, &new.texts));
    let mut out = std::io::stdout().lock();
    if as_json {
        let row = |c: &Change| json!({ "section": c.section, "name": c.name, "before": c.before, "after": c.after });
        let rows: Vec<_> = changes.iter().map(row).collect();
        writeln!(
            out,
            "{}",
            json!({ "before": before, "after": after, "tokens": [old.tokens, new.tokens], "changes": rows })
        )?;
        return Ok(0);
    }
    writeln!(out, "{before}: {} tokens; {after}: {} tokens", old.tokens, new.tokens)?;
    if changes.is_empty() {
        writeln!(out, "nothing differs")?;
    }
    let mut section = "";
    for change in &changes {
        if change.section != section {
            section = change.section;
            writeln!(out, "\n{section}")?;
        }
        print(&mut out, change)?;
    }
    Ok(0)
}

/// A tool that only one has is one change; of others the keys are compared.
fn tools(old: &Spelled, new: &Spelled) -> Vec<Change> {
    let mut changes = Vec::new();
    let names: Vec<&String> = old.tools.iter().chain(&new.tools).map(|(name, _)| name).collect();
    let find = |of: &Spelled, name: &str| {
        of.tools.iter().find(|(known, _)| known == name).map(|(_, keys)| keys.clone())
    };
    let mut seen = BTreeSet::new();
    for name in names.into_iter().filter(|name| seen.insert(name.as_str())) {
        match (find(old, name), find(new, name)) {
            (Some(before), Some(after)) => {
                let changed = compare("tools", &before, &after);
                changes
                    .extend(changed.into_iter().map(|c| Change { name: format!("{name}.{}", c.name), ..c }));
            }
            (before, after) => {
                let (before, after) = (before.as_ref().map(outline), after.as_ref().map(outline));
                changes.push(Change { section: "tools", name: name.clone(), before, after });
            }
        }
    }
    changes
}

/// `does shell: command, timeout`.
fn outline(keys: &BTreeMap<String, String>) -> String {
    let does = keys.get("does").map_or("several things", String::as_str);
    let params: BTreeSet<&str> =
        keys.keys().filter_map(|key| key.strip_prefix("params.")?.split('.').next()).collect();
    format!("does {does}: {}", params.into_iter().collect::<Vec<_>>().join(", "))
}

fn compare(
    section: &'static str,
    old: &BTreeMap<String, String>,
    new: &BTreeMap<String, String>,
) -> Vec<Change> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let differs = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    let change = |name: &String| Change {
        section,
        name: name.clone(),
        before: old.get(name).cloned(),
        after: new.get(name).cloned(),
    };
    differs.map(change).collect()
}

fn print(out: &mut impl Write, change: &Change) -> std::io::Result<()> {
    let [before, after] = [&change.before, &change.after].map(|text| text.as_deref().map(shown));
    let (name, before, after) = (shown(&change.name), before.as_deref(), after.as_deref());
    let is_long = |text: Option<&str>| text.is_some_and(|text| text.contains('\n') || text.len() > 60);
    if !is_long(before) && !is_long(after) {
        return match (before, after) {
            (Some(before), Some(after)) => writeln!(out, "  {name}: {before} -> {after}"),
            (Some(before), None) => writeln!(out, "  - {name}: {before}"),
            (None, Some(after)) => writeln!(out, "  + {name}: {after}"),
            (None, None) => Ok(()),
        };
    }
    writeln!(out, "  {name}:")?;
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    for row in TextDiff::from_lines(before, after).iter_all_changes() {
        let sign = match row.tag() {
            ChangeTag::Equal => continue,
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        writeln!(out, "    {sign} {}", row.value().trim_end_matches('\n'))?;
    }
    Ok(())
}
