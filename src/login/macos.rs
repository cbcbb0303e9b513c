//! The login keychain of macOS.

use security_framework::passwords::{delete_generic_password, get_generic_password, set_generic_password};

use super::{Keychain, Trouble};
use crate::wire::provider::Secret;

/// The service under which the keys stand; the account is the provider's id.
const SERVICE: &str = "tack";
// Codes of Security.framework (SecBase.h).
const NOT_FOUND: i32 = -25300; // errSecItemNotFound
const NO_INTERACTION: i32 = -25308; // errSecInteractionNotAllowed: locked, and nobody can be asked
const DENIED: i32 = -25293; // errSecAuthFailed
const CANCELLED: i32 = -128; // errSecUserCanceled

pub(super) struct Login;

fn trouble(error: security_framework::base::Error) -> Trouble {
    match error.code() {
        NO_INTERACTION | DENIED | CANCELLED => Trouble::Locked,
        code => Trouble::Failed(error.message().unwrap_or_else(|| format!("code {code}"))),
    }
}

impl Keychain for Login {
    fn name(&self) -> &'static str {
        "the login keychain"
    }

    fn store(&self, provider: &str, key: &Secret) -> Result<(), Trouble> {
        set_generic_password(SERVICE, provider, key.reveal().as_bytes()).map_err(trouble)
    }

    fn load(&self, provider: &str) -> Result<Option<Secret>, Trouble> {
        match get_generic_password(SERVICE, provider) {
            Ok(key) => Ok(Some(Secret::new(String::from_utf8_lossy(&key)))),
            Err(error) if error.code() == NOT_FOUND => Ok(None),
            Err(error) => Err(trouble(error)),
        }
    }

    fn remove(&self, provider: &str) -> Result<(), Trouble> {
        match delete_generic_password(SERVICE, provider) {
            Err(error) if error.code() != NOT_FOUND => Err(trouble(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
