//! Integration tests, one binary. Each module says what part of tack it looks at.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod config;
mod deps;
mod layers;
mod server;
mod store;
mod wire;
mod wire_client;
mod wire_encode;
