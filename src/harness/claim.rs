//! Which harness speaks for a model that nobody named one for: patterns of names, and who claims a name.
//!
//! Knows the head of a manifest and nothing else of a harness.

use globset::{GlobBuilder, GlobMatcher};

use crate::model::{Class, Model};

use super::load::LOCAL;
use super::manifest::Manifest;

/// Who gets what nobody claims.
const ANYBODY: &str = "minimal";
/// Letters that tell a family apart.
const TELLING: usize = 3;

/// What all harnesses claim, read once for many models: a folder's come before the binary's own.
pub struct Claimants {
    all: Vec<Claimant>,
    /// There is one for models on this machine.
    has_local: bool,
}

pub(super) struct Claimant {
    pub id: String,
    /// A folder has a part in it.
    pub own: bool,
    pub models: Vec<String>,
    pub providers: Vec<String>,
}

/// A choice for a model, and the pattern by which the harness claims it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    pub id: String,
    /// None: nobody claims the model.
    pub by: Option<String>,
}

impl Claimants {
    pub(super) fn new(mut all: Vec<Claimant>, has_local: bool) -> Self {
        all.sort_by(|a, b| (!a.own, &a.id).cmp(&(!b.own, &b.id)));
        Self { all, has_local }
    }

    /// The harness whose `match` claims the model. A small local model is spared the tools that its larger
    /// kin knows, unless a folder of the user's says so. What nobody claims gets `local` on this machine,
    /// else `minimal`.
    pub fn pick(&self, model: &Model) -> Pick {
        let small = model.local && model.class == Class::S;
        let claimed = self
            .all
            .iter()
            .filter(|one| one.own || !small)
            .find_map(|one| Some(Pick { id: one.id.clone(), by: Some(one.claims(model)?.to_owned()) }));
        claimed.unwrap_or_else(|| {
            let id = if model.local && self.has_local { LOCAL } else { ANYBODY };
            Pick { id: id.to_owned(), by: None }
        })
    }
}

impl Claimant {
    fn claims(&self, model: &Model) -> Option<&str> {
        let first = |patterns: &'_ [String], name: &str| -> Option<usize> {
            patterns.iter().position(|pattern| glob(pattern).is_some_and(|glob| glob.is_match(name)))
        };
        let by_name = first(&self.models, &model.name).map(|at| &*self.models[at]);
        by_name.or_else(|| first(&self.providers, &model.provider).map(|at| &*self.providers[at]))
    }
}

impl Manifest {
    /// What it claims; None: a pattern is none, so that nobody knows what it means.
    pub(super) fn claimant(self, id: &str, own: bool) -> Option<Claimant> {
        let (models, providers) = (self.claims.models, self.claims.providers);
        let sound = models.iter().chain(&providers).all(|pattern| wrong_pattern(pattern).is_none());
        sound.then(|| Claimant { id: id.to_owned(), own, models, providers })
    }
}

/// The pattern of a model's kin: `kimi-*` of `kimi-k3`, `qwen*` of `org/Qwen3-8B`. Who made it is left out,
/// as [`in_family`] does.
pub fn family(model: &str) -> String {
    let name = own_name(model).to_ascii_lowercase();
    let letters = name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len());
    let stem = if letters >= TELLING {
        letters
    } else {
        // `o3-mini` is of `o3-*`: its letters alone tell nothing.
        name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len())
    };
    let dash = usize::from(name[stem..].starts_with('-'));
    format!("{}*", &name[..stem + dash])
}

/// Whether a model is of the family that a pattern names: by its whole name, or by that without who made it.
pub fn in_family(pattern: &str, model: &str) -> bool {
    glob(pattern).is_some_and(|glob| glob.is_match(model) || glob.is_match(own_name(model)))
}

fn own_name(model: &str) -> &str {
    model.rsplit('/').find(|part| !part.is_empty()).unwrap_or(model)
}

pub(super) fn matches_any(globs: &[String], name: &str) -> bool {
    globs.iter().filter_map(|pattern| glob(pattern)).any(|glob| glob.is_match(name))
}

fn glob(pattern: &str) -> Option<GlobMatcher> {
    GlobBuilder::new(pattern).case_insensitive(true).build().ok().map(|glob| glob.compile_matcher())
}

/// Names that have nothing in common: what matches them all matches any.
const ANY: [&str; 6] = ["a", "Zq-7", "gpt-5.1", "qwen2.5-coder:7b", "org/Name.x_1B", "0"];

/// What is wrong with a pattern of names, if anything.
pub fn wrong_pattern(pattern: &str) -> Option<String> {
    if pattern.trim().is_empty() {
        return Some("an empty pattern matches nothing; leave it out".to_owned());
    }
    let built = match GlobBuilder::new(pattern).case_insensitive(true).build() {
        Ok(built) => built.compile_matcher(),
        Err(e) => return Some(format!("`{pattern}` is no pattern: {}", e.kind())),
    };
    ANY.iter().all(|name| built.is_match(name)).then(|| {
        format!(
            "`{pattern}` would catch every model; name the harness where it is wanted instead, with --harness or \
             `harness` in the configuration"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_family_of_a_model_is_what_its_kin_have_in_common() {
        for (model, pattern, kin, other) in [
            ("kimi-k3", "kimi-*", "moonshotai/kimi-k2.5", "kimiko"),
            ("moonshotai/Kimi-K3", "kimi-*", "kimi-k3", "k3"),
            ("qwen3-coder:30b", "qwen*", "org/Qwen2.5-7B", "aqwen"),
            ("gpt-5.1", "gpt-*", "openai/gpt-oss:20b", "chatgpt-4"),
            ("o3-mini", "o3-*", "o3-pro", "o4-mini"),
            ("o3", "o3*", "o3-mini", "o4"),
            ("01-yi", "01-*", "01-x", "02-x"),
            ("llama", "llama*", "llama3", "codellama"),
        ] {
            assert_eq!(family(model), pattern, "{model}");
            assert!(in_family(pattern, model) && in_family(pattern, kin), "{model}");
            assert!(!in_family(pattern, other), "{model}");
            assert_eq!(wrong_pattern(pattern), None, "{pattern}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_name_is_of_its_own_family(name in "\\PC{0,12}") {
            let pattern = family(&name);
            // Signs that mean something in a pattern never get into it.
            proptest::prop_assert!(!pattern[..pattern.len() - 1].contains(['*', '[', '?', '{']), "{}", pattern);
            proptest::prop_assert!(in_family(&pattern, &name), "{}", pattern);
        }
    }
}
