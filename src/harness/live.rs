//! A harness that is looked at again: edits of its files count from the next turn on.

use std::sync::Arc;

use crate::model::Model;

use super::files::Stamp;
use super::{Harness, Library, LoadError};

/// What a session's harness is made of, and how that was when it was last looked at.
pub struct Live {
    library: Library,
    id: String,
    stamp: Stamp,
    /// Of the files in use.
    hash: Option<String>,
    /// The fault of the edit that stands, in the words that it was told in.
    told: Option<String>,
}

/// What came of a look.
pub enum Look {
    /// Nothing that matters to the harness changed.
    Same,
    New(Arc<dyn Harness>),
    /// Told once for each edit. The harness from before stays in use.
    Broken(LoadError),
}

impl Live {
    /// To be made before the harness is loaded, so that no edit falls between the two.
    pub fn new(library: Library, id: &str) -> Self {
        let (stamp, hash) = (library.files.stamp(), library.hash(id).ok());
        Self { library, id: id.to_owned(), stamp, hash, told: None }
    }

    /// The harness anew if its files changed since the last look. It has to speak the model's wire, as a
    /// session keeps to one.
    pub fn look(&mut self, model: &Model) -> Look {
        let stamp = self.library.files.stamp();
        if stamp == self.stamp {
            return Look::Same;
        }
        self.stamp = stamp;
        let hash = match self.library.hash(&self.id) {
            Ok(hash) => hash,
            Err(fault) => return self.broken(fault),
        };
        if self.hash.as_ref() == Some(&hash) {
            self.told = None;
            return Look::Same;
        }
        match self.library.fit(&self.id, model) {
            Ok(harness) if harness.wires().contains(&model.wire) => {
                (self.hash, self.told) = (Some(hash), None);
                Look::New(harness)
            }
            Ok(_) => {
                let what =
                    format!("`wire.allow` no longer has {}, which this session speaks", model.wire.name());
                self.broken(LoadError::broken(format!("{}/harness.toml", self.id), None, what))
            }
            Err(fault) => self.broken(fault),
        }
    }

    fn broken(&mut self, fault: LoadError) -> Look {
        let text = fault.to_string();
        if self.told.as_ref() == Some(&text) {
            return Look::Same;
        }
        self.told = Some(text);
        Look::Broken(fault)
    }
}
