//! Token counts as servers report them.

use serde::{Deserialize, Serialize};

/// Tokens of one reply, or summed over several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All prompt tokens, the cached ones included.
    #[serde(default)]
    pub input: u64,
    /// Prompt tokens that came from a cache.
    #[serde(default)]
    pub cached: u64,
    /// Prompt tokens that were written to a cache.
    #[serde(default)]
    pub cache_write: u64,
    /// All output tokens, reasoning included.
    #[serde(default)]
    pub output: u64,
    #[serde(default)]
    pub reasoning: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.cached = self.cached.saturating_add(more.cached);
        self.cache_write = self.cache_write.saturating_add(more.cache_write);
        self.output = self.output.saturating_add(more.output);
        self.reasoning = self.reasoning.saturating_add(more.reasoning);
    }
}
