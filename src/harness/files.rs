//! Where the files of harnesses are: in the binary, and in folders that win over it file by file.
//!
//! Knows names and bytes, not what is in them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use include_dir::{Dir, include_dir};

use super::load::LoadError;

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/harnesses");

/// Texts that harnesses share; not a harness itself.
pub(super) const COMMON: &str = "common";

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

    /// Every harness's id, and the last folder that has a part of it (None: only the binary).
    pub fn ids(&self) -> BTreeMap<String, Option<PathBuf>> {
        let embedded = EMBEDDED.dirs().filter_map(|dir| dir.path().to_str());
        let mut ids: BTreeMap<_, _> = embedded.map(|id| (id.to_owned(), None)).collect();
        for dir in &self.dirs {
            let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
            for entry in entries.filter(|entry| entry.path().is_dir()) {
                if let Ok(id) = entry.file_name().into_string()
                    && !id.starts_with('.')
                {
                    ids.insert(id, Some(dir.clone()));
                }
            }
        }
        ids.remove(COMMON);
        ids
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
            let path = dir.join(id).join(name);
            match std::fs::read_to_string(&path) {
                Ok(text) => {
                    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n");
                    return Ok(Some(Found {
                        text,
                        path: path.display().to_string(),
                        dir: Some(dir.join(id)),
                    }));
                }
                Err(e)
                    if matches!(
                        e.kind(),
                        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                    ) => {}
                Err(e) => return Err(LoadError::broken(path.display().to_string(), None, e.to_string())),
            }
        }
        let embedded = EMBEDDED.get_file(format!("{id}/{name}")).and_then(|file| file.contents_utf8());
        Ok(embedded.map(|text| {
            let path = format!("built-in {id}/{name}");
            Found { text: text.to_owned(), path, dir: None }
        }))
    }
}

impl Files {
    /// The folder in which a harness's program lies, from the last that has it. Built-in harnesses have none.
    pub fn program(&self, id: &str, name: &str) -> Option<PathBuf> {
        let name = name.strip_prefix("./").unwrap_or(name);
        let folders = self.dirs.iter().rev().map(|dir| dir.join(id));
        folders.filter(|_| is_plain(id) && is_plain(name)).find(|folder| folder.join(name).is_file())
    }

    /// Names of the text files (`*.md`) and grammars (`*.lark`) that a harness's folder has, wherever they lie.
    pub fn texts(&self, id: &str) -> BTreeSet<String> {
        let embedded = EMBEDDED.get_dir(id).into_iter().flat_map(Dir::files).map(include_dir::File::path);
        let mut names: BTreeSet<String> = embedded.filter_map(file_name).collect();
        for dir in &self.dirs {
            let entries = std::fs::read_dir(dir.join(id)).into_iter().flatten().flatten();
            names.extend(entries.filter_map(|entry| file_name(&entry.path())));
        }
        names.retain(|name| name.ends_with(".md") || name.ends_with(".lark"));
        names
    }
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}
