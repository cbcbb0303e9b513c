//! SHA-256 as text. The same in every build, so it may be stored.

use sha2::{Digest, Sha256};

/// Of all the bytes: 64 hex digits.
pub fn hash(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes))
}

/// Its first 16 digits: enough where nobody tries to find two of a kind.
pub fn short_hash(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes)[..8])
}

/// Bytes as two hex digits each.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
