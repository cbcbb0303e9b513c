//! Programs of the person's own choice that get the terminal: an editor. Not confined, as the person
//! runs them; never for anything that a model asked for.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Command;

/// Runs a program on the terminal and waits for it; true when it ended well.
///
/// # Errors
/// If it cannot be started.
pub fn run_with_terminal(program: &str, args: &[impl AsRef<OsStr>], file: &Path) -> io::Result<bool> {
    Ok(Command::new(program).args(args).arg(file).status()?.success())
}
