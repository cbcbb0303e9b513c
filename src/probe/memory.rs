//! What was learnt of a model at its server, kept in the cache folder: one small file for each.
//!
//! A file that is not there, cannot be read or is of another version counts as nothing.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::{Probed, WireKind, short_hash};

const VERSION: u32 = 1;
/// Larger files are not ours.
const MOST: u64 = 64 << 10;

/// One model at one address.
#[derive(Clone, Debug)]
pub struct Memory {
    path: PathBuf,
    model: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// For people.
    model: String,
    /// Tokens of the context when it was last seen loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
}

/// An outcome of the probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// See [`mark`].
    pub mark: String,
    /// None: it was tried and did not come out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probed: Option<Probed>,
}

/// Stands for all that an outcome depends on: what the server tells of itself and the model, the API,
/// and the requests.
pub fn mark(server: &str, wire: WireKind) -> String {
    short_hash(format!("{server} {} {}", wire.name(), super::TEXTS))
}

impl Memory {
    pub fn new(cache: &Path, base_url: &str, model: &str) -> Self {
        let server = base_url.trim_end_matches('/').trim_end_matches("/v1");
        let name = short_hash(format!("{server} {model}"));
        Self { path: cache.join("models").join(format!("{name}.json")), model: model.to_owned() }
    }

    pub fn read(&self) -> Record {
        let fresh = Record { version: VERSION, model: self.model.clone(), ..Record::default() };
        let small = self.path.metadata().is_ok_and(|about| about.is_file() && about.len() <= MOST);
        let bytes = small.then(|| std::fs::read(&self.path).ok()).flatten().unwrap_or_default();
        let kept: Option<Record> = serde_json::from_slice(&bytes).ok();
        kept.filter(|record| record.version == VERSION && record.model == self.model).unwrap_or(fresh)
    }

    /// Readers see the old or the new file, never half a one.
    pub fn write(&self, record: &Record) -> io::Result<()> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(dir)?;
        let part = self.path.with_extension(format!("{}.new", std::process::id()));
        std::fs::write(&part, serde_json::to_vec(record)?)
            .and_then(|()| std::fs::rename(&part, &self.path))
            .inspect_err(|_| drop(std::fs::remove_file(&part)))
    }
}
