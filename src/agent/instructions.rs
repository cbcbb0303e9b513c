//! AGENTS.md: what a project, and the user, want every agent to know.
//!
//! From the repository root down to the working folder, the user's own file first. A folder without
//! AGENTS.md may have CLAUDE.md instead. Read through the sandbox's file gate, so a FIFO or a link
//! to a secret is refused there.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::model::Instructions;
use crate::sandbox::Policy;
use crate::sandbox::files::{self, FileError};

/// Most bytes of one file and of all together.
const CAP: usize = 32 * 1024;
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The files in the order a model should read them, and what could not be read.
pub fn read(
    policy: &Policy,
    cwd: &Path,
    root: Option<&Path>,
    config_dir: Option<&Path>,
) -> (Vec<Instructions>, Vec<String>) {
    let mut found = Vec::new();
    let mut warnings = Vec::new();
    let mut room = CAP;
    for (folder, names) in folders(cwd, root, config_dir) {
        for name in names {
            let path = folder.join(name);
            match read_one(policy, &path, room) {
                Ok(Some(one)) => {
                    room = room.saturating_sub(one.text.len());
                    found.push(one);
                    break;
                }
                // An empty file still stands for its folder.
                Ok(None) => break,
                Err(FileError::NotFound(_)) => {}
                // No folder, so no file in it.
                Err(FileError::Io { source, .. }) if source.kind() == ErrorKind::NotADirectory => {}
                Err(error) => warnings.push(format!("{name} is not used: {error}")),
            }
        }
    }
    (found, warnings)
}

fn folders(
    cwd: &Path,
    root: Option<&Path>,
    config_dir: Option<&Path>,
) -> Vec<(PathBuf, &'static [&'static str])> {
    let mut folders: Vec<(PathBuf, &'static [&'static str])> = Vec::new();
    if let Some(dir) = config_dir {
        folders.push((dir.to_path_buf(), &NAMES[..1]));
    }
    let root = root.unwrap_or(cwd);
    let mut down: Vec<_> = cwd.ancestors().take_while(|dir| dir.starts_with(root)).collect();
    down.reverse();
    folders.extend(down.into_iter().map(|dir| (dir.to_path_buf(), &NAMES[..])));
    folders
}

fn read_one(policy: &Policy, path: &Path, room: usize) -> Result<Option<Instructions>, FileError> {
    let opened = files::open(policy, path)?;
    let mut bytes = Vec::new();
    // One byte more than there is room for tells whether something is left out.
    let limit = room as u64 + 1;
    opened
        .file
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|source| FileError::Io { path: path.to_path_buf(), source })?;
    let cut = bytes.len() > room;
    bytes.truncate(room);
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}').trim_end_matches('\u{fffd}').trim();
    if text.is_empty() {
        return Ok(None);
    }
    Ok(Some(Instructions { path: path.display().to_string(), text: text.to_owned(), cut }))
}
