//! The sections that steer a turn: when it ends, what a bad reply becomes, time limits, handing in.

use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Turn {
    pub ends: Ends,
    pub calls: Need,
    /// What a call that cannot be understood becomes.
    pub bad_calls: BadCalls,
    /// What follows a reply with neither text nor calls.
    pub empty: Empty,
    /// Template file of the format correction.
    pub retry: Option<String>,
    pub retries: u32,
    pub forget: Forget,
    /// What stays in the context of a reply whose calls were all changes of files that were not made.
    pub vain: Vain,
    pub parallel: bool,
    /// Model requests in one turn.
    pub steps: Option<u32>,
    pub repeats: Repeats,
    /// Calls that only read, in a row, before the model is told to act. None: no limit.
    pub reads: Option<u32>,
    /// Commands in a row that ran into their time limit before the turn is ended. None: no limit.
    pub timeouts: Option<u32>,
}

impl Default for Turn {
    fn default() -> Self {
        Self {
            ends: Ends::Silence,
            calls: Need::Optional,
            bad_calls: BadCalls::Answer,
            empty: Empty::Ends,
            retry: None,
            retries: 2,
            forget: Forget::Nothing,
            vain: Vain::Kept,
            parallel: true,
            steps: None,
            repeats: Repeats::Run,
            reads: None,
            timeouts: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// A reply without calls ends the turn.
    Silence,
    /// Handing in ends it; a reply without calls is corrected.
    Submit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Empty {
    /// The turn is over.
    Ends,
    /// The model is asked again.
    Retry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    Optional,
    Required,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BadCalls {
    /// An answer to the call.
    Answer,
    /// A format correction; the reply's calls are not run.
    Retry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Forget {
    Nothing,
    /// The failed reply is never sent back; the correction stays.
    Reply,
    /// Once the model has corrected itself, the failed reply and the correction leave the context.
    Corrected,
}

/// A small model that sees its failed text writes it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vain {
    Kept,
    /// The reply is left out, and what came of the last one is told as the user; both are left out
    /// once another reply followed.
    Told,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Repeats {
    Run,
    Refused,
}

/// `[timeouts]`, in seconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    pub shell: u64,
    pub shell_most: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { shell: 120, shell_most: 600 }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Submit {
    /// The first line with text that a successful command prints to hand in.
    pub first_line: Option<String>,
    /// Template file shown at the first `submit`; the second one counts. Empty: none, whatever a base
    /// manifest says.
    #[serde(deserialize_with = "named")]
    pub confirm: Option<String>,
    /// Handing in before any other call of the turn is refused, once.
    pub early: Early,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Early {
    #[default]
    Taken,
    Refused,
}

/// A file's name; TOML has no null, so an empty one takes back what was named before.
pub fn named<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.filter(|name| !name.is_empty()))
}
