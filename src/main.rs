//! The binary: hand the arguments over, pass the exit code on.

use std::process::ExitCode;

fn main() -> ExitCode {
    // A helper of the sandbox: before anything is parsed, and with one thread.
    #[cfg(target_os = "linux")]
    if let Some(code) = tack::sandbox::intercept() {
        return code;
    }
    // Exits here rather than by returning, so that a thread in a blocking read holds nothing up.
    std::process::exit(tack::cli::main(std::env::args_os()))
}
