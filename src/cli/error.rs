//! Errors for people: a sentence, a hint, an exit code. The only place where they are printed.

use std::io::Write;

use crate::config::ConfigError;
use crate::store::StoreError;

/// What a command may fail with.
#[derive(Debug)]
pub(super) struct CliError {
    message: String,
    hint: Option<String>,
    code: i32,
}

/// The turn, the provider or the machine failed.
const FAILED: i32 = 1;
/// Usage, configuration, no model set up.
const USAGE: i32 = 2;

impl CliError {
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, code: USAGE }
    }

    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, code: FAILED }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn code(mut self, code: i32) -> Self {
        self.code = code;
        self
    }
}

/// A chain becomes one sentence: `doing this: because of that`.
impl From<anyhow::Error> for CliError {
    fn from(error: anyhow::Error) -> Self {
        // A reader that went away is no failure worth words.
        let closed = error
            .chain()
            .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
            .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe);
        if closed {
            return Self { message: String::new(), hint: None, code: 141 };
        }
        Self::failed(format!("{error:#}"))
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        Self { message: error.message, hint: error.hint, code: USAGE }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let code = match error {
            StoreError::NotFound(_) | StoreError::Ambiguous { .. } => USAGE,
            StoreError::Busy { .. } | StoreError::NotRecorded { .. } | StoreError::Io { .. } => FAILED,
        };
        Self { message: error.to_string(), hint: None, code }
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        anyhow::Error::from(error).into()
    }
}

pub(super) fn report(error: &CliError) -> i32 {
    let mut stderr = std::io::stderr();
    if !error.message.is_empty() {
        let _ = writeln!(stderr, "tack: {}", error.message);
    }
    if let Some(hint) = &error.hint {
        let _ = writeln!(stderr, "hint: {hint}");
    }
    error.code
}

/// Prints what the argument parser has to say: help and version to stdout, the rest to stderr.
pub(super) fn usage(error: &clap::Error) -> i32 {
    let printed = error.print();
    match printed {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => 141,
        Err(_) => FAILED,
        Ok(()) => error.exit_code(),
    }
}
