//! The library: finds harnesses, loads the one that is wanted, chooses one for `auto`.

use std::path::PathBuf;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use sha2::{Digest, Sha256};

use crate::model::{Class, Model, hex};

use super::Harness;
use super::external::{External, Program};
use super::files::{COMMON, Files};
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
    #[error("`extends` goes in a circle: {chain}")]
    Cycle { chain: String },
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
    /// The folder that has a part of it; None when all of it is built in.
    pub from: Option<PathBuf>,
    pub extends: Option<String>,
    /// Estimate of system prompt, opening and tools on a sample scene: characters through 4.
    pub tokens: usize,
}

/// The harnesses of the binary and of some folders.
pub struct Library {
    files: Files,
}

impl Library {
    /// Of the folders, which need not exist, a later one wins over an earlier one.
    pub fn new(dirs: Vec<PathBuf>) -> Self {
        Self { files: Files::new(dirs) }
    }

    pub fn ids(&self) -> Vec<String> {
        self.files.ids().into_keys().collect()
    }

    /// All harnesses in order of their ids; one that does not load says why.
    pub fn list(&self) -> Vec<(String, Result<Listing, LoadError>)> {
        self.ids()
            .into_iter()
            .map(|id| (id.clone(), self.sample(&id, &sample::model()).map(|s| s.listing)))
            .collect()
    }

    pub fn get(&self, id: &str) -> Result<Arc<dyn Harness>, LoadError> {
        self.load(id).map(finished)
    }

    /// The same, ready for this model: also what only its class and its probe see is known to be sound.
    pub fn fit(&self, id: &str, model: &Model) -> Result<Arc<dyn Harness>, LoadError> {
        self.load(id)?.ready(model).map(finished)
    }

    /// Reads all there is of a harness: every class's table, with every result of a probe.
    pub fn check(&self, id: &str) -> Result<(), LoadError> {
        self.load(id)?.check()
    }

    /// Hash of every file that the harness is made of, 16 hex digits: with another it is another one.
    pub fn hash(&self, id: &str) -> Result<String, LoadError> {
        let chain = Chain::read(&self.files, id)?;
        let mut ids = chain.ids();
        ids.push(COMMON.to_owned());
        let mut hasher = Sha256::new();
        for path in chain.program().iter().flat_map(|program| program.files()) {
            let bytes = std::fs::read(&path).unwrap_or_default();
            hasher.update(format!("{} {}", path.display(), bytes.len()));
            hasher.update(bytes);
        }
        for id in ids {
            let names = ["harness.toml", "tools.toml"].map(str::to_owned).into_iter();
            for name in names.chain(self.files.texts(&id)) {
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

    /// The harness for a model when the user named none: the one whose `match` claims it, a folder's
    /// before a built-in one. A small local model is spared the tools that its larger kin knows, unless a
    /// folder of the user's says so. What nobody claims gets `local` on this machine, else `minimal`.
    pub fn pick(&self, model: &Model) -> String {
        let mut ids: Vec<_> = self.files.ids().into_iter().collect();
        ids.sort_by_key(|(_, from)| from.is_none());
        let small = model.local && model.class == Class::S;
        let claims = |id: &str| self.head(id).is_some_and(|head| head.claims(&model.provider, &model.name));
        let claimed = ids.iter().find(|(id, from)| (from.is_some() || !small) && claims(id));
        match claimed {
            Some((id, _)) => id.clone(),
            None if model.local && self.has(LOCAL) => LOCAL.to_owned(),
            None => "minimal".to_owned(),
        }
    }

    pub(super) fn load(&self, id: &str) -> Result<Loaded, LoadError> {
        let ids = self.files.ids();
        if !ids.contains_key(id) {
            let mut near: Vec<_> = ids.into_keys().map(|known| (similarity(id, &known), known)).collect();
            near.retain(|(score, _)| *score > 0.7);
            near.sort_by(|a, b| b.0.total_cmp(&a.0));
            let near = near.into_iter().take(3).map(|(_, known)| known).collect();
            return Err(LoadError::Unknown { id: id.to_owned(), near });
        }
        Loaded::new(self.files.clone(), Chain::read(&self.files, id)?)
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

impl Manifest {
    fn claims(&self, provider: &str, model: &str) -> bool {
        matches_any(&self.claims.models, model) || matches_any(&self.claims.providers, provider)
    }
}

pub(super) fn matches_any(globs: &[String], name: &str) -> bool {
    globs.iter().filter_map(|pattern| glob(pattern)).any(|glob| glob.is_match(name))
}

fn glob(pattern: &str) -> Option<GlobMatcher> {
    GlobBuilder::new(pattern).case_insensitive(true).build().ok().map(|glob| glob.compile_matcher())
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
