//! The file of keys: for its owner alone, replaced as a whole.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{LoginError, Place};

/// By the provider's id: `"keychain"`, or `{"file": KEY}`.
pub(super) type Entries = BTreeMap<String, Entry>;

#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Entry {
    Keychain,
    File(String),
}

impl Entry {
    pub(super) fn place(&self) -> Place {
        match self {
            Self::Keychain => Place::Keychain,
            Self::File(_) => Place::File,
        }
    }
}

/// Empty when there is no file. One that others may read is refused, as its keys may be known.
pub(super) fn read(path: &Path) -> Result<Entries, LoginError> {
    let shown = path.display();
    let failed = |why: &dyn std::fmt::Display| LoginError {
        message: format!("cannot read {shown}: {why}"),
        hint: Some("make it readable for you, or remove it and store the keys again".to_owned()),
    };
    let meta = match fs::metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Entries::new());
        }
        Err(error) => return Err(failed(&error)),
        Ok(meta) => meta,
    };
    if !meta.is_file() {
        return Err(failed(&"it is no file"));
    }
    if let Some(mode) = open_to_others(&meta) {
        return Err(LoginError {
            message: format!("{shown} holds keys, and others may read it (mode {mode:o})"),
            hint: Some(format!(
                "close it: chmod 600 {shown}; keys that somebody may have read want changing"
            )),
        });
    }
    let text = fs::read(path).map_err(|error| failed(&error))?;
    // The parser's own words could repeat a part of a key.
    serde_json::from_slice(&text).map_err(|error| failed(&format!("it is damaged in line {}", error.line())))
}

/// Reads, changes and replaces the file; gives the place of the entry that `change` took out.
pub(super) fn change(
    path: &Path,
    change: impl FnOnce(&mut Entries) -> Option<Entry>,
) -> Result<Option<Place>, LoginError> {
    let failed = |error: std::io::Error| LoginError {
        message: format!("cannot write {}: {error}", path.display()),
        hint: Some("make room or rights there, or set TACK_HOME to a folder that can be written".to_owned()),
    };
    let dir = path.parent().unwrap_or(Path::new("."));
    make_dir(dir).map_err(failed)?;
    let lock = File::create(dir.join("lock")).map_err(failed)?;
    if lock.try_lock().is_err() {
        return Err(LoginError {
            message: "another tack is changing the stored keys".to_owned(),
            hint: Some("run this again".to_owned()),
        });
    }
    let mut entries = read(path)?;
    let before = change(&mut entries).map(|entry| entry.place());
    replace(path, &entries).map_err(failed)?;
    Ok(before)
}

fn replace(path: &Path, entries: &Entries) -> std::io::Result<()> {
    let new = path.with_extension("new");
    // Left by a run that was killed: nobody else is at it, for the lock is ours.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut text = serde_json::to_vec_pretty(entries)?;
    text.push(b'\n');
    let mut file = options().write(true).create_new(true).open(&new)?;
    file.write_all(&text)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

#[cfg(unix)]
fn make_dir(dir: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).recursive(true).create(dir)
}

#[cfg(unix)]
fn options() -> fs::OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::OpenOptions::new();
    options.mode(0o600);
    options
}

/// The mode, when it lets anybody but the owner in.
#[cfg(unix)]
fn open_to_others(meta: &fs::Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = meta.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn make_dir(dir: &Path) -> std::io::Result<()> {
    fs::create_dir_all(dir)
}

#[cfg(not(unix))]
fn options() -> fs::OpenOptions {
    fs::OpenOptions::new()
}

/// The user's own folders are closed to others by the system here.
#[cfg(not(unix))]
fn open_to_others(_: &fs::Metadata) -> Option<u32> {
    None
}
