//! Integration tests, one binary. Each module says what part of tack it looks at.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[cfg(target_os = "linux")]
mod cell;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod tools_cell;
mod tools_edit;
mod tools_files;
mod tools_find;
mod tools_kit;
mod tools_patch;
#[cfg(target_os = "linux")]
mod tools_shell;
