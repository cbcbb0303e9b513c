//! `tack harness check`: what is wrong with harnesses, and where.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::broken;
use crate::cli::error::{CliError, shown};
use crate::cli::setup::Base;
use crate::harness::{Library, LoadError, Report};

/// A harness is broken.
const BROKEN: i32 = 1;

pub(super) fn run(base: &Base, what: Option<&Path>, as_json: bool) -> Result<i32, CliError> {
    let (library, ids) = match what {
        None => (base.library.clone(), base.library.list().into_iter().map(|(id, _)| id).collect()),
        Some(what) => one(base, what)?,
    };
    let mut code = 0;
    let mut out = std::io::stdout().lock();
    for id in ids {
        let report = library.report(&id);
        if !report.faults.is_empty() {
            code = BROKEN;
        }
        match as_json {
            true => writeln!(out, "{}", row(&id, &report))?,
            false => print(&mut out, &id, &report)?,
        }
    }
    Ok(code)
}

/// By its id, or by its folder: that wins over all others of its id.
fn one(base: &Base, what: &Path) -> Result<(Library, Vec<String>), CliError> {
    let id = what.to_str().filter(|id| !id.contains('/'));
    if let Some(id) = id.filter(|_| !what.is_dir()) {
        let missing = base.library.report(id).faults.into_iter().next();
        return match missing {
            Some(error @ LoadError::Unknown { .. }) => Err(broken(error)),
            Some(LoadError::Broken { .. } | LoadError::Untrusted { .. }) | None => {
                Ok((base.library.clone(), vec![id.to_owned()]))
            }
        };
    }
    let wrong = |why: &dyn std::fmt::Display| CliError::usage(format!("{}: {why}", what.display()));
    let path = base.cwd.join(what).canonicalize().map_err(|error| wrong(&error))?;
    let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
    let named = folder.and_then(|folder| Some((folder.parent()?, folder.file_name()?.to_str()?)));
    let (above, id) = named.ok_or_else(|| wrong(&"is no folder of a harness"))?;
    Ok((base.library.clone().with(above.to_path_buf()), vec![id.to_owned()]))
}

fn row(id: &str, report: &Report) -> serde_json::Value {
    let fault = |fault: &LoadError| match fault {
        LoadError::Broken { file, line, what } => json!({ "file": file, "line": line, "what": what }),
        LoadError::Unknown { .. } | LoadError::Untrusted { .. } => json!({ "what": fault.to_string() }),
    };
    let sound = report.sound.as_ref();
    let wires = sound.map(|sound| sound.wires.iter().map(|wire| wire.name()).collect::<Vec<_>>());
    json!({
        "id": id, "ok": report.faults.is_empty(), "faults": report.faults.iter().map(fault).collect::<Vec<_>>(),
        "notes": report.notes, "tokens": sound.map(|sound| sound.listing.tokens), "wires": wires,
    })
}

fn print(out: &mut impl Write, id: &str, report: &Report) -> std::io::Result<()> {
    let id = shown(id);
    if let Some(sound) = &report.sound {
        let wires: Vec<&str> = sound.wires.iter().map(|wire| wire.name()).collect();
        let classes =
            sound.classes.iter().map(|(class, tokens)| format!(", {tokens} for {}", class.letter()));
        let classes: String = classes.collect();
        writeln!(out, "{id:<16} ok: {} tokens{classes}; {}", sound.listing.tokens, wires.join(", "))?;
    } else {
        let count = report.faults.len();
        writeln!(out, "{id:<16} broken: {count} {}", if count == 1 { "fault" } else { "faults" })?;
    }
    for fault in &report.faults {
        writeln!(out, "  {}", shown(&fault.to_string()))?;
    }
    for note in &report.notes {
        writeln!(out, "  note: {}", shown(note))?;
    }
    Ok(())
}
