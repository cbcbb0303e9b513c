//! Names for things: sessions, items, calls, blobs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A session's id: a UUID of version 7, so that ids sort by the time they were made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub String);

/// An item's place in its session, counted from 1 without gaps. Item order is the only order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ItemId(pub u64);

/// tack's own name for a tool call: `[a-z0-9_]`, at most 20 bytes, unique in its session.
/// Valid as a call id on every wire, whatever the server called it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

/// Bytes kept beside the session file, named by the SHA-256 of their content in hex.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlobId(pub String);

impl CallId {
    /// The id of the `nth` call (from 0) in the reply that will be stored as item `item`.
    pub fn of(item: ItemId, nth: usize) -> Self {
        Self(format!("call_{}_{nth}", item.0))
    }
}

impl SessionId {
    pub fn new() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }
}

impl Default for SessionId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
