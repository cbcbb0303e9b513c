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
    /// How this model is asked to think as much as `effort` says.
    pub thinking: Thinking,
    /// The server runs on this machine.
    pub local: bool,
    pub prices: Option<Prices>,
    /// What trying it out showed. None: nobody has.
    #[serde(default)]
    pub probed: Option<Probed>,
}

/// What two tiny requests showed of a model at its server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    pub calls: Calls,
    /// The form of a call that came as text: `json`, `hermes`, `shell`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// The server holds an answer to a JSON Schema.
    pub schema: bool,
    /// The field that reasoning came in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
}

/// What becomes of a model's tool calls at its server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Calls {
    /// They arrive as calls.
    Wire,
    /// They arrive as text that can be read as a call.
    Text,
    /// None was made, or the server takes no tools.
    #[default]
    None,
}

impl Calls {
    pub const ALL: [Self; 3] = [Self::Wire, Self::Text, Self::None];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireKind {
    Chat,
    Responses,
    Messages,
}

/// How a request says how much a model is to think. Nothing is said where the user set no effort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// It is not asked for.
    None,
    /// By a word: `reasoning_effort` (chat), `reasoning.effort` (responses), `output_config.effort` (messages).
    #[default]
    Effort,
    /// By a number of tokens: `thinking` of type `enabled` with `budget_tokens`.
    Budget,
    /// The model decides: `thinking` of type `adaptive`, with the word as in `Effort` beside it.
    Adaptive,
    /// On or off: `thinking` of type `enabled` or `disabled`.
    Toggle,
    /// Both: on or off as in `Toggle`, and how much by the word of `Effort`.
    Switch,
    /// On or off: `enable_thinking`.
    Flag,
    /// By a word inside an object: `reasoning: { effort }`.
    Object,
    /// On or off, for the server's chat template: `chat_template_kwargs: { enable_thinking }`.
    Template,
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    pub input: f64,
    #[serde(default)]
    pub cached_input: Option<f64>,
    /// Of tokens written to a cache, where that costs more than `input`.
    #[serde(default)]
    pub cache_write: Option<f64>,
    pub output: f64,
}

impl Prices {
    /// What `usage` costs, in US dollars.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let cached = usage.cached.min(usage.input);
        let written = usage.cache_write.min(usage.input - cached);
        let fresh = usage.input - cached - written;
        let price = |tokens: u64, price: Option<f64>| tokens as f64 * price.unwrap_or(self.input);
        let input = price(fresh, None) + price(cached, self.cached_input) + price(written, self.cache_write);
        (input + usage.output as f64 * self.output) / 1e6
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
