//! One test binary; a module for each file beside this one.

mod tools_edit;
mod tools_files;
mod tools_find;
mod tools_kit;
mod tools_patch;
mod tools_shell;
