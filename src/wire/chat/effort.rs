//! How hard to think, in the words of each kind of server.
//!
//! The fields are those that the services document; see `Thinking`.

use serde_json::{Map, Value, json};

use crate::model::Thinking;
use crate::wire::effort;

/// Writes the effort for a model that is asked in this way.
pub(super) fn write(body: &mut Map<String, Value>, mode: Thinking, effort: &str) {
    let (on, word) = (effort::is_on(effort), effort::word(effort));
    let switch = if on { "enabled" } else { "disabled" };
    let mut set = |field: &str, value: Value| body.insert(field.into(), value);
    match mode {
        Thinking::None => None,
        Thinking::Effort => set("reasoning_effort", word.into()),
        Thinking::Object => set("reasoning", json!({"effort": word})),
        Thinking::Toggle => set("thinking", json!({"type": switch})),
        Thinking::Switch if on => {
            set("thinking", json!({"type": switch}));
            set("reasoning_effort", effort.into())
        }
        Thinking::Switch => set("thinking", json!({"type": switch})),
        Thinking::Flag => set("enable_thinking", on.into()),
        Thinking::Template => set("chat_template_kwargs", json!({"enable_thinking": on})),
        Thinking::Budget | Thinking::Adaptive if effort::is_none(effort) => {
            set("thinking", json!({"type": "disabled"}))
        }
        Thinking::Budget => {
            set("thinking", json!({"type": "enabled", "budget_tokens": effort::budget(effort)}))
        }
        Thinking::Adaptive => {
            set("thinking", json!({"type": "adaptive"}));
            set("reasoning_effort", word.into())
        }
    };
}
