//! Integration tests, one binary. Each module says what part of tack it looks at.

#![allow(clippy::unwrap_used)]

mod server;
mod wire;
mod wire_client;
mod wire_encode;
