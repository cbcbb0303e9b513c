//! The integration tests, one module a subject, in one binary.

mod config;
mod deps;
mod layers;
mod store;
