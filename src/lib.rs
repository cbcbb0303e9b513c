//! tack: a terminal coding agent whose harness is a folder of readable files.
//!
//! The way of a prompt, and so the map of the folders:
//!
//! ```text
//! cli -> exec -> agent -> harness -> wire -> model server
//!                  |                            |
//!                store <- tools in the sandbox <- harness reads the reply
//! ```
//!
//! Layers only point downwards, and a test reads the imports to keep it so:
//!
//! ```text
//! model <- wire, harness, sandbox, store, code <- tools <- agent <- exec, bench, tui <- cli
//! model <- wire, harness <- probe <- cli
//! ```
//!
//! `model` is pure values. `harness` knows of `wire` only [`wire::prompt`]. `tools` never sees the
//! name a model calls a tool by. `login` stores keys, and `cli` alone asks it. `config` is read from
//! `agent` upwards; below it, settings arrive as arguments. `docs/architecture.md` lists the
//! invariants.

pub mod model;

pub mod harness;
pub mod sandbox;
pub mod store;
pub mod wire;

pub mod code;

pub mod probe;

pub mod tools;

pub mod login;

pub mod config;

pub mod agent;

pub mod bench;

pub mod exec;

pub mod tui;

pub mod cli;
