//! `[shell]`: how commands are run.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::model::ShellRules;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Shell {
    /// Laid over the environment of commands. What changes how programs load code is left out.
    pub env: BTreeMap<String, String>,
    /// Commands that begin with one of these, word by word, are not run.
    pub refuse: Vec<String>,
    /// Commands that are one of these and nothing else are not run.
    pub refuse_alone: Vec<String>,
    /// The shell parses a command before any of it runs.
    pub syntax: bool,
    /// Folder, exported variables and functions last from one command to the next.
    pub lasting: bool,
}

impl Shell {
    pub fn rules(&self) -> ShellRules {
        ShellRules {
            env: self.env.clone().into_iter().collect(),
            refuse: self.refuse.clone(),
            refuse_alone: self.refuse_alone.clone(),
            syntax: self.syntax,
            lasting: self.lasting,
        }
    }
}
