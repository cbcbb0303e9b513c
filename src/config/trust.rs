//! Which folders the user trusts: only there a project's own settings and harnesses count.

use std::path::Path;

use toml::{Table, Value};

use super::load::{self, Warning};
use super::{ConfigError, Dirs};

/// Whether `root` is listed as trusted, and what is wrong with the list.
pub(super) fn trusts(dirs: &Dirs, root: &Path) -> (bool, Option<Warning>) {
    let Some(file) = dirs.trust_file() else { return (false, None) };
    match table(&file) {
        Ok(table) => (names(&table, root), None),
        Err(e) => (false, Some(Warning::notice("trust", format!("{e}; no folder is trusted")))),
    }
}

/// What a person does to trust this folder.
pub fn how_to_trust(dirs: &Dirs, root: &Path) -> String {
    let real = root.canonicalize().unwrap_or_else(|_| root.to_path_buf()).display().to_string();
    match dirs.trust_file() {
        Some(file) => {
            format!("to trust it, add [projects.{real:?}] with trusted = true to {}", file.display())
        }
        None => "to trust it, set HOME or TACK_HOME first".to_owned(),
    }
}

fn table(file: &Path) -> Result<Table, ConfigError> {
    load::read(file)?.map_or_else(|| Ok(Table::new()), |text| load::parse(file, &text))
}

fn names(table: &Table, root: &Path) -> bool {
    let real = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let listed = |path: &Path| {
        let project = table.get("projects")?.get(path.to_str()?)?;
        project.get("trusted").and_then(Value::as_bool)
    };
    // By its real path alone: a link must not borrow another folder's trust.
    listed(&real) == Some(true)
}
