//! A model as tack knows it: where it is, what it takes, what it costs.

use serde::{Deserialize, Serialize};

use super::{Class, Usage};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub provider: String,
    /// As the server wants it.
    pub name: String,
    pub wire: WireKind,
    pub class: Class,
    /// Tokens the server has room for, prompt and answer together. None: unknown.
    pub window: Option<u64>,
    /// Most tokens of one answer. None: leave it to the server.
    pub max_output: Option<u64>,
    /// None: unknown, so try and learn.
    pub vision: Option<bool>,
    /// `minimal`, `low`, `medium`, `high`, … as the user set it.
    pub effort: Option<String>,
    /// The server runs on this machine.
    pub local: bool,
    pub prices: Option<Prices>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireKind {
    Chat,
    Responses,
    Messages,
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    pub input: f64,
    #[serde(default)]
    pub cached_input: Option<f64>,
    pub output: f64,
}

impl Prices {
    /// What `usage` costs, in US dollars.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let cached = usage.cached.min(usage.input);
        let fresh = usage.input - cached;
        let cached_price = self.cached_input.unwrap_or(self.input);
        (fresh as f64 * self.input + cached as f64 * cached_price + usage.output as f64 * self.output) / 1e6
    }
}

impl WireKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
        }
    }
}
