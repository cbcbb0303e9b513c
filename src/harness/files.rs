//! Where the files of harnesses are: in the binary, and in folders that win over it file by file.
//!
//! Knows names and bytes, not what is in them. A folder may hold anything: a file that lies elsewhere, is
//! no text or has no end is refused before it is read.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use include_dir::{Dir, include_dir};

use super::load::LoadError;

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/harnesses");

/// Texts that harnesses share; not a harness itself.
pub(super) const COMMON: &str = "common";

/// The tables of a harness.
pub(super) const TABLES: [&str; 2] = ["harness.toml", "tools.toml"];

/// Bytes of the largest file that is read.
const LARGEST: u64 = 1024 * 1024;

/// Text files that one folder may have.
const MOST: usize = 500;

/// Bytes of a file beside a program that are looked at.
const LARGEST_PROGRAM: u64 = 16 * 1024 * 1024;

/// Folders within folders that a program's files may lie in.
const DEEPEST: usize = 5;

/// Folders of harness folders; a later one wins.
#[derive(Clone)]
pub(super) struct Files {
    dirs: Vec<PathBuf>,
}

/// A file's text and how to call the file when something in it is wrong.
pub(super) struct Found {
    pub text: String,
    pub path: String,
    /// The harness's folder on the disk that has it; None: it is built in.
    pub dir: Option<PathBuf>,
}

impl Files {
    pub fn new(dirs: Vec<PathBuf>) -> Self {
        Self { dirs }
    }

    pub fn with(mut self, dir: PathBuf) -> Self {
        self.dirs.push(dir);
        self
    }

    /// Every harness's id, and the last folder that has a part of it (None: only the binary).
    pub fn ids(&self) -> BTreeMap<String, Option<PathBuf>> {
        let embedded = EMBEDDED.dirs().filter_map(|dir| dir.path().to_str());
        let mut ids: BTreeMap<_, _> = embedded.map(|id| (id.to_owned(), None)).collect();
        for dir in &self.dirs {
            ids.extend(folders(dir).into_iter().map(|id| (id, Some(dir.clone()))));
        }
        ids.remove(COMMON);
        ids
    }

    /// The last folder that has a part of this harness.
    pub fn folder(&self, id: &str) -> Option<&PathBuf> {
        self.dirs.iter().rev().find(|dir| dir.join(id).is_dir())
    }

    /// The file of that name, from the last folder that has it. None when nobody does.
    pub fn read(&self, id: &str, name: &str) -> Result<Option<Found>, LoadError> {
        if !is_plain(id) || !is_plain(name) {
            return Err(LoadError::broken(
                format!("{id}/{name}"),
                None,
                "a harness's files lie inside its folder; use a plain relative name".to_owned(),
            ));
        }
        for dir in self.dirs.iter().rev() {
            if let Some(found) = read_in(&dir.join(id), name)? {
                return Ok(Some(found));
            }
        }
        let embedded = EMBEDDED.get_file(format!("{id}/{name}")).and_then(|file| file.contents_utf8());
        let path = format!("built-in {id}/{name}");
        Ok(embedded.map(|text| Found { text: text.to_owned(), path, dir: None }))
    }

    /// The folder in which a harness's program lies, from the last that has it. Built-in harnesses have none.
    pub fn program(&self, id: &str, name: &str) -> Option<PathBuf> {
        let name = name.strip_prefix("./").unwrap_or(name);
        let folders = self.dirs.iter().rev().map(|dir| dir.join(id));
        folders.filter(|_| is_plain(id) && is_plain(name)).find(|folder| folder.join(name).is_file())
    }

    /// Names of the text files (`*.md`) and grammars (`*.lark`) that a harness's folder has, wherever they lie.
    pub fn texts(&self, id: &str) -> Result<BTreeSet<String>, LoadError> {
        let mut names = self.names(id)?;
        names.retain(|name| name.ends_with(".md") || name.ends_with(".lark"));
        Ok(names)
    }

    /// Names of all files of a harness's folder, wherever they lie.
    pub fn names(&self, id: &str) -> Result<BTreeSet<String>, LoadError> {
        let embedded = EMBEDDED.get_dir(id).into_iter().flat_map(Dir::files).map(include_dir::File::path);
        let mut names: BTreeSet<String> = embedded.filter_map(file_name).collect();
        for dir in &self.dirs {
            names.extend(listed(&dir.join(id))?);
        }
        Ok(names)
    }

    /// What of this harness, or of the texts that all share, lies in the folders.
    pub fn own(&self, id: &str) -> Vec<PathBuf> {
        let in_dir = |dir: &PathBuf| {
            let folder = dir.join(id);
            listed(&folder).unwrap_or_default().into_iter().map(|name| folder.join(name)).collect::<Vec<_>>()
        };
        self.dirs.iter().flat_map(in_dir).collect()
    }

    /// What a program of this harness may read in its folder, and in the folders there: names from the
    /// harness's folder on, and texts.
    pub fn beside_programs(&self, id: &str) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        for folder in self.dirs.iter().map(|dir| dir.join(id)) {
            for path in within(&folder, DEEPEST).into_iter().filter(|path| path.is_file()) {
                let name = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
                let mut bytes = Vec::new();
                // One that cannot be read cannot be run.
                let file = std::fs::File::open(&path).ok();
                let _ = file.map(|file| file.take(LARGEST_PROGRAM).read_to_end(&mut bytes));
                found.push((name, bytes));
            }
        }
        found
    }

    /// Size and time of every file in every folder: where this is as before, nothing was edited.
    pub fn stamp(&self) -> Stamp {
        let mut stamp = Stamp::new();
        for dir in &self.dirs {
            for path in folders(dir).into_iter().flat_map(|id| within(&dir.join(id), DEEPEST)) {
                // Of what a link leads to, as that is what would be read.
                let facts = std::fs::metadata(&path).ok();
                let facts = facts.map(|facts| (facts.len(), facts.modified().ok()));
                stamp.insert(path, facts);
            }
        }
        stamp
    }
}

pub(super) type Stamp = BTreeMap<PathBuf, Option<(u64, Option<std::time::SystemTime>)>>;

/// Whether the binary has a harness of this id.
pub(super) fn is_built_in(id: &str) -> bool {
    id != COMMON && EMBEDDED.get_dir(id).is_some()
}

/// Ids of the harnesses in a folder, [`COMMON`] among them.
pub(super) fn folders(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| !name.starts_with('.')).collect()
}

/// The files of a folder and of those in it, in order. Hidden ones and what Python compiles are nobody's
/// work; folders that are links may lead round in a circle.
fn within(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST + 8);
    let is_ours = |entry: &std::fs::DirEntry| {
        entry.file_name().to_str().is_none_or(|name| !name.starts_with('.') && name != "__pycache__")
    };
    let mut entries: Vec<_> = entries.filter(is_ours).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 1 => files.extend(within(&entry.path(), depth - 1)),
            Ok(kind) if kind.is_dir() => {}
            Ok(_) | Err(_) => files.push(entry.path()),
        }
        files.truncate(MOST);
    }
    files
}

/// The names of a folder's files. None there is no error.
fn listed(folder: &Path) -> Result<BTreeSet<String>, LoadError> {
    let broken = |what: String| LoadError::broken(folder.display().to_string(), None, what);
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if is_absent(&e) => return Ok(BTreeSet::new()),
        Err(e) => return Err(broken(format!("the folder cannot be read: {e}"))),
    };
    let names: BTreeSet<String> =
        entries.flatten().take(MOST + 1).filter_map(|e| file_name(&e.path())).collect();
    if names.len() > MOST {
        return Err(broken(format!("the folder has more than {MOST} files; is it a harness")));
    }
    Ok(names)
}

fn is_absent(e: &std::io::Error) -> bool {
    matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn read_in(folder: &Path, name: &str) -> Result<Option<Found>, LoadError> {
    let path = folder.join(name);
    let broken = |line, what: String| LoadError::broken(path.display().to_string(), line, what);
    let facts = match std::fs::metadata(&path) {
        Ok(facts) => facts,
        Err(e) if is_absent(&e) && path.symlink_metadata().is_err() => return Ok(None),
        Err(e) if is_absent(&e) => return Err(broken(None, "the link leads nowhere".to_owned())),
        Err(e) => return Err(broken(None, format!("cannot be read: {e}"))),
    };
    // Before it is opened, as to open a pipe is to wait for its writer.
    if !facts.is_file() {
        return Err(broken(None, "is no plain file; put a text file in its place".to_owned()));
    }
    if facts.len() > LARGEST {
        let what = format!("has {} bytes; a file of a harness has at most {LARGEST}", facts.len());
        return Err(broken(None, what));
    }
    let cannot = |e: std::io::Error| broken(None, format!("cannot be read: {e}"));
    let (real, home) = (path.canonicalize().map_err(cannot)?, folder.canonicalize().map_err(cannot)?);
    if !real.starts_with(&home) {
        let what = format!("leads out of the harness's folder, to {}; copy the file into it", real.display());
        return Err(broken(None, what));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&path).map_err(cannot)?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(cannot)?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        broken(Some(line), "the file is not UTF-8; save it as UTF-8".to_owned())
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n");
    Ok(Some(Found { text, path: path.display().to_string(), dir: Some(folder.to_owned()) }))
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}
