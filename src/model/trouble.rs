//! Why a turn failed, as far as somebody can do something about it. Facts only: what is advised is for who
//! shows it, as a session has commands that a run does not have.

use serde::{Deserialize, Serialize};

/// What went wrong, and in whose words. None of it holds a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trouble {
    pub kind: TroubleKind,
    /// Id of the provider that was asked, and the model; empty: nobody was.
    pub provider: String,
    pub model: String,
    /// The server's own words in one line; empty: it had none.
    pub said: String,
    /// What it sent, as it came; empty where that is no more than `said`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum TroubleKind {
    /// The key was refused.
    Key(KeySent),
    /// The key is good, but not for this.
    Denied(KeySent),
    /// A key is wanted and there is none.
    NoKey {
        /// Where it would be looked for.
        variable: Option<String>,
    },
    /// The account has nothing left.
    Paid {
        /// Where its key comes from.
        from: String,
    },
    NoModel {
        /// What the provider has, the likest name first; empty: that is not known.
        has: Vec<String>,
    },
    /// More tokens than the model takes.
    TooLong {
        tokens: Option<u64>,
        window: Option<u64>,
        /// There is nothing that a summary could shorten.
        #[serde(default)]
        alone: bool,
    },
    /// Too many requests.
    Limited {
        /// When it is over, in local time, where that is too long to wait.
        resets: Option<String>,
    },
    /// Nothing answers.
    Unreachable {
        /// Host and port.
        address: String,
        local: bool,
    },
    /// The connection broke, or nothing more came.
    Lost {
        /// About as many of the reply had come.
        tokens: u64,
    },
    /// The server failed.
    Server { status: Option<u16> },
    /// It takes no tools, and the harness offers some.
    NoTools,
    /// Reply after reply held no call that could be read.
    Unreadable { times: u32, harness: String },
    /// Nothing that is known how to mend.
    #[default]
    #[serde(other)]
    Other,
}

/// The key that went along, told without telling it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySent {
    /// A variable, or where else it came from.
    pub from: String,
    /// Its last four characters, where it is long enough to show them. For the eyes of who sent it: they
    /// are not kept.
    #[serde(skip)]
    pub ends: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_later_version_knows_is_read_as_other() {
        let trouble: Trouble =
            serde_json::from_str(r#"{"kind":{"is":"flooded","deep":3},"said":"x","more":1}"#).unwrap();
        assert_eq!((trouble.kind, trouble.said.as_str()), (TroubleKind::Other, "x"));
        let key = |ends: Option<&str>| {
            let key = KeySent { from: "K".into(), ends: ends.map(str::to_owned) };
            Trouble { kind: TroubleKind::Key(key), ..Trouble::default() }
        };
        let text = serde_json::to_string(&key(Some("3f2a"))).unwrap();
        assert!(!text.contains("3f2a"), "{text}");
        assert_eq!(serde_json::from_str::<Trouble>(&text).unwrap(), key(None), "{text}");
    }
}
