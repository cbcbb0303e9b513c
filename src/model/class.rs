//! Model classes: how much a model can be trusted with.
//!
//! S under 4B parameters, M to 14B, L 30B mixtures and 27 to 32B dense and local models above, F
//! hosted. Unknown is M. Manifests hold defaults by class.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Class {
    S,
    #[default]
    M,
    L,
    F,
}

impl Class {
    pub fn letter(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::M => "M",
            Self::L => "L",
            Self::F => "F",
        }
    }

    /// By the parameter count in a model's name (`qwen2.5-coder-1.5b`, `Qwen3-30B-A3B`); without
    /// one, F for a hosted provider's model and M for a local one.
    pub fn of(name: &str, hosted: bool) -> Self {
        match billions(name) {
            Some(size) if size < 4.0 => Self::S,
            Some(size) if size <= 14.0 => Self::M,
            Some(size) if size <= 40.0 || !hosted => Self::L,
            Some(_) => Self::F,
            None if hosted => Self::F,
            None => Self::M,
        }
    }
}

/// The first `<number>b` that stands as a word of its own in the name.
fn billions(name: &str) -> Option<f64> {
    name.to_ascii_lowercase()
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
        .filter_map(|word| word.strip_suffix('b'))
        .find_map(|number| {
            let starts_right = number.starts_with(|c: char| c.is_ascii_digit());
            starts_right.then(|| number.parse().ok()).flatten()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_comes_from_the_size_in_the_name() {
        let table = [
            ("qwen2.5-coder-1.5b-instruct", false, Class::S),
            ("qwen2.5-coder:7b", false, Class::M),
            ("Qwen/Qwen3-Coder-30B-A3B-Instruct", false, Class::L),
            ("llama-3.3-70b", true, Class::F),
            ("llama-3.3-70b", false, Class::L),
            ("deepseek-chat", true, Class::F),
            ("my-finetune", false, Class::M),
            ("gemma3:270m", false, Class::M),
        ];
        for (name, hosted, want) in table {
            assert_eq!(Class::of(name, hosted), want, "{name}");
        }
    }
}
