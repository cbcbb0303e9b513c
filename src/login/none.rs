//! A system whose keychain tack does not know yet: keys go to the file.

use super::{Keychain, Trouble};
use crate::wire::provider::Secret;

pub(super) struct None;

fn absent<T>() -> Result<T, Trouble> {
    Err(Trouble::Absent("tack knows no keychain on this system yet".to_owned()))
}

impl Keychain for None {
    fn name(&self) -> &'static str {
        "the keychain"
    }

    fn store(&self, _: &str, _: &Secret) -> Result<(), Trouble> {
        absent()
    }

    fn load(&self, _: &str) -> Result<Option<Secret>, Trouble> {
        absent()
    }

    fn remove(&self, _: &str) -> Result<(), Trouble> {
        absent()
    }
}
