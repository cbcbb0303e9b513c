//! Subjects: what is measured. One is a model under a harness, or under an agent that is not ours.

use std::sync::Arc;

use crate::agent::Holds;
use crate::harness::Harness;
use crate::model::{Class, Model, short_hash};
use crate::wire::Client;
use crate::wire::provider::Provider;

/// One row of the table.
#[derive(Clone)]
pub struct Subject {
    /// With its prices, where they are known.
    pub model: Model,
    /// The harness's id, or what the external agent is called.
    pub name: String,
    /// Hash of the harness's files, or of the command.
    pub surface: String,
    pub player: Player,
    /// Who serves the model; None where nobody is asked.
    pub provider: Option<Provider>,
}

/// Who works with the model.
#[derive(Clone)]
pub enum Player {
    Harness(Own),
    External(External),
}

/// tack's own agent.
#[derive(Clone)]
pub struct Own {
    pub client: Arc<dyn Client>,
    pub harness: Arc<dyn Harness>,
    pub holds: Holds,
    /// As in [`crate::agent::Bounds`].
    pub compact_at: Option<u64>,
}

/// Another agent, by the command that starts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// For `sh -c`. `{prompt}`, `{dir}`, `{model}` and `{base_url}` are filled in, quoted.
    pub template: String,
}

impl Subject {
    /// `provider/name`.
    pub fn model_id(&self) -> String {
        format!("{}/{}", self.model.provider, self.model.name)
    }

    pub fn class(&self) -> Class {
        self.model.class
    }
}

impl External {
    /// Reads `NAME=COMMAND`.
    pub fn parse(text: &str) -> Result<(String, Self), String> {
        let (name, template) = text.split_once('=').unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(plain) || template.trim().is_empty() {
            return Err(format!("`{text}` is not NAME='COMMAND'"));
        }
        if !template.contains("{prompt}") && !template.contains("TACK_PROMPT") {
            return Err(format!("the command of {name} has no {{prompt}} (or $TACK_PROMPT) in it"));
        }
        Ok((name.to_owned(), Self { template: template.to_owned() }))
    }

    pub fn surface(&self) -> String {
        short_hash(&self.template)
    }

    /// The command with its blanks filled in; values are quoted for the shell, and never filled in
    /// themselves.
    pub fn command(&self, values: &[(&str, &str)]) -> String {
        let mut command = String::new();
        let mut rest = self.template.as_str();
        while let Some(open) = rest.find('{') {
            let (before, after) = rest.split_at(open);
            command.push_str(before);
            let blank = values
                .iter()
                .find(|(name, _)| after[1..].strip_prefix(name).is_some_and(|after| after.starts_with('}')));
            let Some((name, value)) = blank else {
                command.push('{');
                rest = &after[1..];
                continue;
            };
            // Only a NUL cannot be quoted, and no prompt or folder has one.
            command.push_str(&shlex::try_quote(value).unwrap_or_default());
            rest = &after[name.len() + 2..];
        }
        command + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_filled_in_once_and_quoted() {
        let agent = External { template: "a -m {model} {prompt} {other} ${HOME} {dir".into() };
        let values = [("prompt", "say 'hi' in {dir}"), ("model", "m"), ("dir", "/d")];
        assert_eq!(agent.command(&values), r#"a -m m "say 'hi' in {dir}" {other} ${HOME} {dir"#);
    }

    #[test]
    fn a_command_needs_a_name_and_a_place_for_the_prompt() {
        let (name, agent) = External::parse("x='a b' run {prompt}").unwrap();
        assert_eq!((name.as_str(), agent.template.as_str()), ("x", "'a b' run {prompt}"));
        assert!(External::parse("x=sh -c \"$TACK_PROMPT\"").is_ok());
        for wrong in ["x", "=run {prompt}", "x=", "x=run", "a b=run {prompt}"] {
            assert!(External::parse(wrong).is_err(), "{wrong}");
        }
    }
}
