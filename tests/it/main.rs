//! Integration tests, one binary. Each module says what part of tack it looks at.

#[cfg(target_os = "linux")]
mod cell;
#[cfg(target_os = "linux")]
mod sandbox;
mod tools_edit;
mod tools_files;
mod tools_find;
mod tools_kit;
mod tools_patch;
mod tools_shell;
