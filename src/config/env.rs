//! The environment as a value, so that it can be given, tested and hold any bytes.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// A set of environment variables. Empty ones count as unset.
#[derive(Clone, Default)]
pub struct Env(BTreeMap<OsString, OsString>);

impl Env {
    pub fn of_process() -> Self {
        std::env::vars_os().collect()
    }

    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The value when it is text; what is not UTF-8 counts as unset.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.to_str()
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Env {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
