//! `tack harness list`.

use std::io::Write;

use serde_json::json;

use crate::cli::error::{CliError, shown};
use crate::harness::{Library, Listing};

pub(super) fn run(library: &Library, as_json: bool) -> Result<i32, CliError> {
    let mut out = std::io::stdout().lock();
    for (id, listing) in library.list() {
        match listing {
            Ok(one) if as_json => {
                let line = json!({
                    "id": one.id, "name": one.name, "summary": one.summary, "mirrors": one.mirrors,
                    "extends": one.extends, "folder": one.from, "built_in": one.built_in, "tokens": one.tokens,
                });
                writeln!(out, "{line}")?;
            }
            Ok(one) => {
                let row = format!("{:<16} {:>6} tokens  {}{}", one.id, one.tokens, one.summary, origin(&one));
                writeln!(out, "{}", shown(&row).replace('\n', " "))?;
            }
            Err(error) => writeln!(std::io::stderr(), "{}", shown(&format!("{id}: {error}")))?,
        }
    }
    Ok(0)
}

pub(super) fn origin(one: &Listing) -> String {
    let mut facts = Vec::new();
    facts.extend(one.mirrors.as_ref().map(|mirrors| format!("mirrors {mirrors}")));
    facts.extend(one.extends.as_ref().map(|base| format!("extends {base}")));
    facts.extend(one.from.as_ref().map(|folder| match one.built_in {
        true => format!("changed by {}", folder.join(&one.id).display()),
        false => folder.display().to_string(),
    }));
    if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) }
}
