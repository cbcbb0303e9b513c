use std::process::ExitCode;

fn main() -> ExitCode {
    // A helper of the sandbox: before anything is parsed, and with one thread.
    #[cfg(target_os = "linux")]
    if let Some(code) = tack::sandbox::intercept() {
        return code;
    }
    ExitCode::SUCCESS
}
