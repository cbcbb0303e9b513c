//! Keys that the user gave to tack: stored, found again, removed.
//!
//! A key lies in the system's keychain, or in a file for its owner alone where there is none. Which
//! of the two is in that same file, so that a start without stored keys runs no program. Knows
//! nothing of configuration: which provider's key is wanted, and whether a variable has it already,
//! is for the caller.

mod file;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod none;
#[cfg(target_os = "linux")]
mod secret_tool;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::wire::provider::Secret;
use file::Entry;

#[cfg(target_os = "linux")]
pub use secret_tool::SecretTool;

/// Longest key that is taken, in bytes.
pub const LONGEST: usize = 16 << 10;

/// A system's store of secrets. Calls come back within a bounded time.
pub trait Keychain {
    /// For people: `the Secret Service`.
    fn name(&self) -> &'static str;
    fn store(&self, provider: &str, key: &Secret) -> Result<(), Trouble>;
    /// None when it holds no such key.
    fn load(&self, provider: &str) -> Result<Option<Secret>, Trouble>;
    /// Also well when there was none.
    fn remove(&self, provider: &str) -> Result<(), Trouble>;
}

/// Why a keychain did not serve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// There is no keychain; says what is missing.
    #[error("{0}")]
    Absent(String),
    #[error("the keychain is locked")]
    Locked,
    #[error("the keychain did not answer within {} s", .0.as_secs_f64())]
    Silent(Duration),
    #[error("the keychain failed: {0}")]
    Failed(String),
}

/// Why a key could not be stored, found or removed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct LoginError {
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// Where a key lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Keychain,
    File,
}

/// Where the user wants a key to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The keychain; the file where there is none.
    Keychain,
    File,
}

/// A key was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub place: Place,
    /// Why it is not in the keychain, if that was wanted.
    pub why: Option<String>,
}

/// All stored keys.
pub struct Keys {
    dir: PathBuf,
    chain: Box<dyn Keychain>,
}

/// The keychain of this system.
pub fn system() -> Box<dyn Keychain> {
    #[cfg(target_os = "linux")]
    return Box::new(SecretTool::default());
    #[cfg(target_os = "macos")]
    return Box::new(macos::Login);
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    Box::new(none::None)
}

impl Keys {
    /// `data` is tack's data folder; the keys have a folder in it that commands cannot see.
    pub fn new(data: &Path, chain: Box<dyn Keychain>) -> Self {
        Self { dir: data.join("auth"), chain }
    }

    /// The file that holds the keys, or says which of them the keychain holds.
    pub fn file(&self) -> PathBuf {
        self.dir.join("keys.json")
    }

    /// For people: what the keychain is called here.
    pub fn keychain(&self) -> &'static str {
        self.chain.name()
    }

    /// Where this provider's key lies; None when none is stored. Asks no keychain.
    pub fn place(&self, provider: &str) -> Result<Option<Place>, LoginError> {
        Ok(file::read(&self.file())?.get(provider).map(Entry::place))
    }

    /// This provider's key. Asks the keychain only when it is said to be there.
    pub fn load(&self, provider: &str) -> Result<Option<Secret>, LoginError> {
        match file::read(&self.file())?.remove(provider) {
            None => Ok(None),
            Some(Entry::File(key)) => Ok(Some(Secret::new(key))),
            Some(Entry::Keychain) => match self.chain.load(provider) {
                Ok(Some(key)) => Ok(Some(key)),
                Ok(None) => Err(LoginError {
                    message: format!("the key of {provider} is no longer in {}", self.chain.name()),
                    hint: Some(format!("store it again with: tack login {provider}")),
                }),
                Err(trouble) => Err(self.explain(&trouble, "read", provider)),
            },
        }
    }

    /// Stores the key in place of an earlier one.
    pub fn save(&self, provider: &str, key: &Secret, wish: Wish) -> Result<Stored, LoginError> {
        let (entry, why) = match wish {
            Wish::File => (Entry::File(key.reveal().to_owned()), None),
            Wish::Keychain => match self.chain.store(provider, key) {
                Ok(()) => (Entry::Keychain, None),
                Err(Trouble::Absent(why)) => (Entry::File(key.reveal().to_owned()), Some(why)),
                Err(trouble) => return Err(self.explain(&trouble, "written", provider)),
            },
        };
        let place = entry.place();
        let before = file::change(&self.file(), |keys| keys.insert(provider.to_owned(), entry))?;
        if (before, place) == (Some(Place::Keychain), Place::File) {
            // Out of use now. Where the keychain cannot be asked, it stays there as unread as before.
            let _ = self.chain.remove(provider);
        }
        Ok(Stored { place, why })
    }

    /// Removes the key and says where it was; None when there was none.
    pub fn remove(&self, provider: &str) -> Result<Option<Place>, LoginError> {
        let place = self.place(provider)?;
        if place == Some(Place::Keychain) {
            self.chain.remove(provider).map_err(|trouble| self.explain(&trouble, "removed", provider))?;
        }
        if place.is_some() {
            file::change(&self.file(), |keys| keys.remove(provider))?;
        }
        Ok(place)
    }

    fn explain(&self, trouble: &Trouble, done: &str, provider: &str) -> LoginError {
        let name = self.chain.name();
        let way = match trouble {
            Trouble::Locked => format!("unlock {name} and run this again"),
            Trouble::Silent(_) => {
                "it may be asking for its password on a screen; unlock it and run this again".to_owned()
            }
            Trouble::Absent(_) => "run this in a session that has the keychain".to_owned(),
            Trouble::Failed(_) => format!("see whether {name} works"),
        };
        let hint = format!("{way}, or keep the key in a file: tack login --file {provider}");
        LoginError { message: format!("the key of {provider} cannot be {done}: {trouble}"), hint: Some(hint) }
    }
}

/// The key in what was typed or piped in. A key that no request could carry is refused here.
pub fn parse(text: &str) -> Result<Secret, LoginError> {
    let key = text.trim_start_matches('\u{feff}').trim();
    let wrong = |why: &str| LoginError {
        message: format!("that is no key: {why}"),
        hint: Some("give the key alone, in one line".to_owned()),
    };
    if key.is_empty() {
        return Err(wrong("it is empty"));
    }
    if key.len() > LONGEST {
        return Err(wrong("it is too long"));
    }
    if key.contains(['\n', '\r']) {
        return Err(wrong("it has a line break in it"));
    }
    if key.chars().any(char::is_control) {
        return Err(wrong("it has control characters in it"));
    }
    Ok(Secret::new(key))
}

#[cfg(test)]
mod tests;
