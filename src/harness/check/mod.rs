//! Whether a harness is sound: what its tables name is there, its tools can be called, its texts can be
//! filled in. Everything that is wrong is told, not only the first thing.
//!
//! [`tables()`] is looked at whenever a harness is loaded. [`try_out`] makes calls and fills in texts, so a
//! session does it only with what lies in a folder; tests do it with the binary's own.

mod bindings;
mod outcomes;
mod tables;
mod texts;

use crate::model::{Class, WireKind};

use super::files::TABLES;
use super::kit::{Kit, Source};
use super::layers::{Case, Chain, near};
use super::load::{Library, LoadError};
use super::sample;
use super::{Harness, Listing};

pub(super) use tables::check as tables;

/// What there is to say of a harness.
pub struct Report {
    /// A harness with one of these is not used.
    pub faults: Vec<LoadError>,
    /// What is odd and does no harm.
    pub notes: Vec<String>,
    /// Where nothing is wrong.
    pub sound: Option<Sound>,
}

/// Facts about a harness that can be used.
pub struct Sound {
    pub listing: Listing,
    pub wires: Vec<WireKind>,
    /// Tokens for the classes that get something of their own.
    pub classes: Vec<(Class, usize)>,
}

impl Report {
    pub(super) fn of(fault: LoadError) -> Self {
        Self { faults: vec![fault], notes: Vec::new(), sound: None }
    }
}

/// Calls every tool and fills in every text.
pub(super) fn try_out(kit: &Kit, source: &Source<'_>, faults: &mut Vec<LoadError>) {
    bindings::check(kit, source, faults);
    texts::check(kit, faults);
}

pub(super) fn report(library: &Library, id: &str) -> Report {
    let mut faults = Vec::new();
    let (mut kits, mut odd) = (Vec::new(), Vec::new());
    if let Some(chain) = Chain::read_all(&library.files, id, &mut faults) {
        for case in chain.cases() {
            let Some(kit) = Kit::make(&library.files, &chain, case, &mut faults) else { continue };
            let source = Source { chain: &chain, case };
            try_out(&kit, &source, &mut faults);
            odd.extend(bindings::aliases(&kit, &source).iter().map(ToString::to_string));
            kits.push(kit);
        }
    }
    let mut told = std::collections::BTreeSet::new();
    faults.retain(|fault| told.insert(fault.to_string()));
    faults.sort_by_key(|fault| match fault {
        LoadError::Broken { file, line, .. } => Some((file.clone(), *line)),
        LoadError::Unknown { .. } | LoadError::Untrusted { .. } => None,
    });
    let sound =
        if faults.is_empty() { sound(library, id).map_err(|fault| faults.push(fault)).ok() } else { None };
    let mut notes = Vec::new();
    if sound.is_some() {
        // What the binary has of this is meant.
        odd.retain(|note| !note.starts_with("built-in ") && told.insert(note.clone()));
        notes.extend(odd.into_iter().chain(unused(library, id, &kits)));
    }
    Report { notes, faults, sound }
}

fn sound(library: &Library, id: &str) -> Result<Sound, LoadError> {
    let model = sample::model();
    let tokens = |class| {
        let model = crate::model::Model { class, ..model.clone() };
        library.sample(id, &model).map(|sample| (class, sample.listing.tokens))
    };
    let classes = library.classes(id)?.into_iter().map(tokens).collect::<Result<_, _>>()?;
    let listing = library.sample(id, &model)?.listing;
    Ok(Sound { listing, wires: library.load(id)?.wires().to_vec(), classes })
}

/// Files of the user's that nothing reads.
fn unused(library: &Library, id: &str, kits: &[Kit]) -> Vec<String> {
    let mut notes = Vec::new();
    for path in library.files.own(id) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if TABLES.contains(&name) || kits.iter().any(|kit| kit.uses(name)) {
            continue;
        }
        if name.ends_with(".md") || name.ends_with(".lark") {
            notes.push(format!("{}: nothing in the harness reads this file", path.display()));
        } else if name.ends_with("toml") {
            let near = near(name, TABLES.into_iter());
            notes.push(format!("{}: tack does not read this file{near}", path.display()));
        }
    }
    notes
}

impl Chain {
    /// Everything this harness may be asked for.
    fn cases(&self) -> Vec<Case> {
        let classes = Class::ALL.into_iter().filter(|class| self.minds(*class)).map(Some);
        let classes: Vec<_> = [None].into_iter().chain(classes).collect();
        let calls = crate::model::Calls::ALL.into_iter().filter(|calls| self.tells(*calls)).map(Some);
        let calls: Vec<_> = [None].into_iter().chain(calls).collect();
        let with = |class| calls.iter().map(move |calls| Case { class, calls: *calls });
        classes.into_iter().flat_map(with).collect()
    }
}
