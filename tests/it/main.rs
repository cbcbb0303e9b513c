//! The integration tests, one module a subject, in one binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod config;
mod deps;
mod layers;
mod store;
