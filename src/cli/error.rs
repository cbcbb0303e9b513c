//! Errors for people: a sentence, a hint, an exit code. The only place where they are printed.

use std::io::Write;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::config::{self, ConfigError};
use crate::login::LoginError;
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

    pub(super) fn unwritten(error: &dyn std::fmt::Display) -> Self {
        Self::failed(format!("the output cannot be written: {error}"))
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Message, hint and exit code, for a command that goes on.
    pub(super) fn into_parts(self) -> (String, Option<String>, i32) {
        (self.message, self.hint, self.code)
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
        // Bare ones come from writing; whoever reads says what.
        if error.chain().len() == 1 && error.is::<std::io::Error>() {
            return Self::unwritten(&error);
        }
        Self::failed(format!("{error:#}"))
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        Self { message: error.message, hint: error.hint, code: USAGE }
    }
}

impl From<LoginError> for CliError {
    fn from(error: LoginError) -> Self {
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

/// Text of files and folders for a terminal: what would steer it is replaced.
pub(super) fn shown(text: &str) -> String {
    let steers = |c: char| crate::model::steers(c) && c != '\n' && c != '\t';
    text.chars().map(|c| if steers(c) { '\u{FFFD}' } else { c }).collect()
}

pub(super) fn report(error: &CliError) -> i32 {
    let mut stderr = std::io::stderr();
    if !error.message.is_empty() {
        let _ = writeln!(stderr, "tack: {}", shown(&error.message));
    }
    if let Some(hint) = &error.hint {
        let _ = writeln!(stderr, "hint: {}", shown(hint));
    }
    error.code
}

/// Prints what the argument parser has to say: help and version to stdout as they are, a mistake as
/// one sentence and what to do.
pub(super) fn usage(error: &clap::Error, known: &clap::Command) -> i32 {
    if !error.use_stderr() {
        return match error.print() {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => 141,
            Err(error) => report(&CliError::unwritten(&error)),
            Ok(()) => 0,
        };
    }
    let text = error.to_string();
    let sentence: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| {
            !line.starts_with("Usage:") && !line.starts_with("For more") && !line.starts_with("tip:")
        })
        .filter(|line| !line.is_empty())
        .collect();
    let sentence = sentence.join(" ");
    let sentence = sentence.strip_prefix("error: ").unwrap_or(&sentence);
    report(&CliError::usage(sentence).hint(advice(error, known)))
}

/// What to do about a mistake on the command line.
fn advice(error: &clap::Error, known: &clap::Command) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        Some(ContextValue::Strings(texts)) => texts.first().map(String::as_str),
        _ => None,
    };
    let wrong = text(ContextKind::InvalidArg).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument if elsewhere(wrong).is_some() => {
            elsewhere(wrong).unwrap_or_default().to_owned()
        }
        ErrorKind::UnknownArgument if wrong.starts_with("--") => {
            let flags: Vec<String> = flags(known).collect();
            // A flag of another command is spelt right and still not taken here.
            let others = flags.iter().map(String::as_str).filter(|flag| *flag != wrong);
            let near = config::near(wrong, others);
            match near.as_slice() {
                [] => "tack --help lists the flags; a prompt that begins with - goes behind --".to_owned(),
                near => format!("did you mean {}?", near.join(" or ")),
            }
        }
        ErrorKind::UnknownArgument if !wrong.starts_with('-') => {
            "a prompt goes in quotes: tack -p \"PROMPT\"; tack --help lists the commands".to_owned()
        }
        ErrorKind::InvalidUtf8 => {
            "only names of folders and files may hold other bytes than UTF-8".to_owned()
        }
        ErrorKind::InvalidSubcommand => match text(ContextKind::SuggestedSubcommand) {
            Some(near) => format!("did you mean {near}?"),
            None => "tack --help lists the commands".to_owned(),
        },
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => match text(ContextKind::SuggestedValue) {
            Some(near) => format!("did you mean {near}?"),
            None => "tack --help says what each flag takes".to_owned(),
        },
        _ => {
            let text = error.to_string();
            let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
            usage.map_or_else(
                || "tack --help shows how it is written".to_owned(),
                |way| format!("write it as: {way}"),
            )
        }
    }
}

/// What other agents call differently.
fn elsewhere(flag: &str) -> Option<&'static str> {
    match flag {
        "--full-auto" => Some("leave it out: a run asks nobody and works in the sandbox; --yolo lifts that"),
        "--dangerously-skip-permissions" => Some("it is called --yolo"),
        "--output-format" => Some("it is called --json"),
        "--continue" | "--resume" => Some("go on with: tack exec resume --last PROMPT"),
        _ => None,
    }
}

/// Every long flag of the command and of those below it, with its dashes.
fn flags(command: &clap::Command) -> Box<dyn Iterator<Item = String> + '_> {
    let own = command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(|arg| arg.get_long());
    let below = command.get_subcommands().flat_map(flags);
    Box::new(own.map(|long| format!("--{long}")).chain(below))
}
