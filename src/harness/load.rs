//! The library: finds harnesses, loads the one that is wanted, chooses one for `auto`.

use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::model::{Class, Model, hex};

use super::Harness;
use super::check::{self, Report};
use super::claim::Claimants;
use super::external::{External, Program};
use super::files::{self, COMMON, Files};
use super::kit::Loaded;
use super::layers::Chain;
use super::manifest::Manifest;
use super::sample::{self, Sample};

/// The harness for local models.
pub const LOCAL: &str = "local";

/// Why a harness cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("there is no harness `{id}`{}", meant(.near))]
    Unknown { id: String, near: Vec<String> },
    #[error("{file}{}: {what}", line.map(|n| format!(":{n}")).unwrap_or_default())]
    Broken { file: String, line: Option<usize>, what: String },
    #[error("harness `{id}` is this project's own, in {}, and the folder is not trusted: {how}", folder.display())]
    Untrusted {
        id: String,
        folder: PathBuf,
        /// How to trust it, for people.
        how: String,
    },
}

impl LoadError {
    pub(super) fn broken(file: String, line: Option<usize>, what: String) -> Self {
        Self::Broken { file, line, what }
    }
}

fn meant(near: &[String]) -> String {
    match near {
        [] => "; `tack harness list` shows all".to_owned(),
        near => format!(
            "; did you mean {}?",
            near.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(" or ")
        ),
    }
}

/// A row of `tack harness list`.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    pub id: String,
    pub name: String,
    pub summary: String,
    /// The client and version it follows.
    pub mirrors: Option<String>,
    /// The day on which that client was looked at.
    pub mirrored: Option<String>,
    /// The folder that has a part of it; None when all of it is built in.
    pub from: Option<PathBuf>,
    pub extends: Option<String>,
    /// The binary has one of this id.
    pub built_in: bool,
    /// Estimate of system prompt, opening and tools on a sample scene: characters through 4.
    pub tokens: usize,
}

/// The harnesses of the binary and of some folders.
#[derive(Clone)]
pub struct Library {
    pub(super) files: Files,
    untrusted: Option<Untrusted>,
}

/// A folder of harnesses that is not used, and what to do about it.
#[derive(Clone)]
struct Untrusted {
    folder: PathBuf,
    how: String,
}

impl Library {
    /// Of the folders, which need not exist, a later one wins over an earlier one.
    pub fn new(dirs: Vec<PathBuf>) -> Self {
        Self { files: Files::new(dirs), untrusted: None }
    }

    /// The same, where this folder's harnesses are named but not used. `how` says what would trust it.
    pub fn without(self, folder: PathBuf, how: String) -> Self {
        Self { untrusted: Some(Untrusted { folder, how }), ..self }
    }

    /// The same with one more folder, which wins over the others.
    pub fn with(self, folder: PathBuf) -> Self {
        Self { files: self.files.with(folder), ..self }
    }

    pub fn ids(&self) -> Vec<String> {
        self.files.ids().into_keys().collect()
    }

    /// All harnesses in order of their ids; one that does not load says why.
    pub fn list(&self) -> Vec<(String, Result<Listing, LoadError>)> {
        let row = |id: String| (id.clone(), self.sample(&id, &sample::model()).map(|s| s.listing));
        let mut rows: Vec<_> = self.ids().into_iter().map(row).collect();
        rows.extend(self.refused().into_iter().map(|id| (id.clone(), Err(self.distrust(&id)))));
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows
    }

    /// Harnesses of a folder that is not trusted. One may have the id of another that is used.
    fn refused(&self) -> Vec<String> {
        let folders = self.untrusted.iter().flat_map(|untrusted| files::folders(&untrusted.folder));
        folders.filter(|id| id != COMMON).collect()
    }

    fn distrust(&self, id: &str) -> LoadError {
        let untrusted = self.untrusted.clone();
        let (folder, how) = untrusted.map(|untrusted| (untrusted.folder, untrusted.how)).unwrap_or_default();
        LoadError::Untrusted { id: id.to_owned(), folder, how }
    }

    /// The files in folders that this harness is made of, those of what it extends and of `COMMON` too.
    pub fn own_files(&self, id: &str) -> Vec<PathBuf> {
        let ids =
            Chain::read(&self.files, id).map(|chain| chain.ids()).unwrap_or_else(|_| vec![id.to_owned()]);
        ids.iter().map(String::as_str).chain([COMMON]).flat_map(|id| self.files.own(id)).collect()
    }

    /// Whether the binary has a harness of this id.
    pub fn is_built_in(&self, id: &str) -> bool {
        files::is_built_in(id)
    }

    /// The files of a harness's own folder, those it extends left out, as they are in use.
    pub fn sources(&self, id: &str) -> Result<Vec<(String, String)>, LoadError> {
        self.known(id)?;
        let mut sources = Vec::new();
        for name in self.files.names(id)? {
            sources.extend(self.files.read(id, &name)?.map(|found| (name, found.text)));
        }
        Ok(sources)
    }

    pub fn get(&self, id: &str) -> Result<Arc<dyn Harness>, LoadError> {
        self.load(id).map(finished)
    }

    /// The same, ready for this model: also what only its class and its probe see is known to be sound.
    pub fn fit(&self, id: &str, model: &Model) -> Result<Arc<dyn Harness>, LoadError> {
        self.load(id)?.ready(model).map(finished)
    }

    /// Reads and tries all there is of a harness: every class's table, with every result of a probe.
    pub fn check(&self, id: &str) -> Result<(), LoadError> {
        match self.report(id).faults.into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    /// All that is wrong with a harness.
    pub fn report(&self, id: &str) -> Report {
        match self.known(id) {
            Ok(()) => check::report(self, id),
            Err(fault) => Report::of(fault),
        }
    }

    /// Hash of every file that the harness is made of, 16 hex digits: with another it is another one. Where it
    /// runs programs, that is every file in its folder.
    pub fn hash(&self, id: &str) -> Result<String, LoadError> {
        let chain = Chain::read(&self.files, id)?;
        let mut ids = chain.ids();
        ids.push(COMMON.to_owned());
        let mut hasher = Sha256::new();
        for id in ids {
            let beside = if chain.runs() { self.files.beside_programs(&id) } else { Vec::new() };
            for (name, bytes) in beside {
                hasher.update(format!("{id}/{name} {} {}", name.len(), bytes.len()));
                hasher.update(bytes);
            }
            let names = ["harness.toml", "tools.toml"].map(str::to_owned).into_iter();
            for name in names.chain(self.files.texts(&id)?) {
                if let Some(found) = self.files.read(&id, &name)? {
                    // Lengths, so that no file can pass for two.
                    hasher.update(format!("{id}/{name} {} {}", name.len(), found.text.len()));
                    hasher.update(found.text);
                }
            }
        }
        Ok(hex(&hasher.finalize()[..8]))
    }

    /// The request that this harness makes of a sample session, and what the list says of it.
    pub fn sample(&self, id: &str, model: &Model) -> Result<Sample, LoadError> {
        let harness = self.load(id)?.ready(model)?;
        let from = self.files.ids().remove(id).flatten();
        sample::of(&harness, model, from)
    }

    /// The classes of models for which this harness has tables of its own.
    pub fn classes(&self, id: &str) -> Result<Vec<Class>, LoadError> {
        let chain = Chain::read(&self.files, id)?;
        Ok(Class::ALL.into_iter().filter(|class| chain.minds(*class)).collect())
    }

    pub fn has(&self, id: &str) -> bool {
        self.files.ids().contains_key(id)
    }

    /// The harness for a model when the user named none.
    pub fn pick(&self, model: &Model) -> String {
        self.claimants().pick(model).id
    }

    /// What the harnesses claim, for more than one question.
    pub fn claimants(&self) -> Claimants {
        let all = self.files.ids().into_iter();
        let claimant = |(id, from): (String, Option<PathBuf>)| self.head(&id)?.claimant(&id, from.is_some());
        Claimants::new(all.filter_map(claimant).collect(), self.has(LOCAL))
    }

    pub(super) fn load(&self, id: &str) -> Result<Loaded, LoadError> {
        self.known(id)?;
        Loaded::new(self.files.clone(), Chain::read(&self.files, id)?)
    }

    fn known(&self, id: &str) -> Result<(), LoadError> {
        let ids = self.files.ids();
        if ids.contains_key(id) {
            return Ok(());
        }
        if self.refused().iter().any(|refused| refused == id) {
            return Err(self.distrust(id));
        }
        let mut near: Vec<_> = ids.into_keys().map(|known| (similarity(id, &known), known)).collect();
        near.retain(|(score, _)| *score > 0.7);
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        let near = near.into_iter().take(3).map(|(_, known)| known).collect();
        Err(LoadError::Unknown { id: id.to_owned(), near })
    }

    /// This harness and those that it starts from, the nearest first.
    pub fn chain(&self, id: &str) -> Result<Vec<String>, LoadError> {
        Ok(Chain::read(&self.files, id)?.ids())
    }

    /// The program that this harness asks, where it names one.
    pub fn program(&self, id: &str) -> Result<Option<Program>, LoadError> {
        Ok(Chain::read(&self.files, id)?.program().cloned())
    }

    /// The harness's own manifest, without what it extends. None when it is broken: `auto` goes on.
    fn head(&self, id: &str) -> Option<Manifest> {
        let found = self.files.read(id, "harness.toml").ok()??;
        toml::from_str(&found.text).ok()
    }
}

/// A harness that names a program is asked through that.
fn finished(loaded: Loaded) -> Arc<dyn Harness> {
    match loaded.program() {
        Some(program) => Arc::new(External::new(Arc::new(loaded), program)),
        None => Arc::new(loaded),
    }
}

/// The name that was probably meant.
pub(super) fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = names.map(|name| (similarity(wrong, name), name));
    scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// From 0 to 1. A name that contains the other counts as close.
pub(super) fn similarity(a: &str, b: &str) -> f64 {
    let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
    let contained = a.len() > 2 && b.len() > 2 && (a.contains(&b) || b.contains(&a));
    let score = strsim::jaro_winkler(&a, &b);
    if contained { score.max(0.8) } else { score }
}
