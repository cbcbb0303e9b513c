//! Model classes: how much a model can be trusted with.
//!
//! S under 4B parameters, M to 14B, L 30B mixtures and 27 to 32B dense and local models above, F
//! hosted. Manifests hold defaults by class.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Class {
    S,
    #[default]
    M,
    L,
    F,
}

/// What a class was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clue {
    /// The user's word.
    Set,
    /// What tack knows of this model.
    Catalog,
    /// The size that its server tells.
    Server,
    /// The size in its name.
    Name,
    /// Nothing: it is what most of its sort are.
    Nothing,
}

/// All there is to tell a model's class by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clues<'a> {
    pub set: Option<Class>,
    pub catalog: Option<Class>,
    /// Parameters, as the server counts them.
    pub parameters: Option<u64>,
    pub name: &'a str,
    pub hosted: bool,
}

/// Billions of parameters below which a model is S: those sold as "4B" begin at 3.88.
const SMALL: f64 = 3.85;
/// And M: those sold as "14B" have up to 14.8.
const MIDDLE: f64 = 15.0;
/// Larger models are always hosted ones to whoever rents them.
const LARGE: f64 = 40.0;

impl Class {
    pub const ALL: [Self; 4] = [Self::S, Self::M, Self::L, Self::F];

    pub fn letter(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::M => "M",
            Self::L => "L",
            Self::F => "F",
        }
    }

    /// By billions of parameters, all of a mixture's together.
    fn of_size(billions: f64, hosted: bool) -> Self {
        match billions {
            size if size < SMALL => Self::S,
            size if size < MIDDLE => Self::M,
            size if hosted && size > LARGE => Self::F,
            _ => Self::L,
        }
    }
}

impl Clue {
    /// For people, behind the class.
    pub fn words(self) -> &'static str {
        match self {
            Self::Set => "by the configuration",
            Self::Catalog => "by what tack knows of it",
            Self::Server => "by the size its server tells",
            Self::Name => "by the size in its name",
            Self::Nothing => "as no size is known",
        }
    }

    /// For programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Catalog => "catalog",
            Self::Server => "server",
            Self::Name => "name",
            Self::Nothing => "nothing",
        }
    }
}

impl Clues<'_> {
    /// The class, and the strongest clue there is for it.
    pub fn read(&self) -> (Class, Clue) {
        if let Some(class) = self.set {
            return (class, Clue::Set);
        }
        if let Some(class) = self.catalog {
            return (class, Clue::Catalog);
        }
        if let Some(count) = self.parameters {
            return (Class::of_size(count as f64 / 1e9, self.hosted), Clue::Server);
        }
        match billions(self.name) {
            Some(size) => (Class::of_size(size, self.hosted), Clue::Name),
            None if self.hosted => (Class::F, Clue::Nothing),
            None => (Class::M, Clue::Nothing),
        }
    }
}

/// The size that a model's name tells (`qwen2.5-coder-1.5b`, `gemma3:270m`), in billions. Of a mixture
/// (`30B-A3B`, `8x7b`) it is the whole.
pub fn billions(name: &str) -> Option<f64> {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = words(&name).collect();
    let thousands = || words.iter().find_map(|word| millions(word)).map(|size| size / 1e3);
    words.iter().find_map(|word| size(word)).or_else(thousands)
}

/// Runs of letters and digits; a point between digits belongs to the number.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let bytes = name.as_bytes();
    let digit = move |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let mut start = 0;
    let mut ends: Vec<(usize, usize)> = Vec::new();
    for (at, c) in name.char_indices().chain([(name.len(), ' ')]) {
        let inside =
            c.is_ascii_alphanumeric() || (c == '.' && digit(at.checked_sub(1)) && digit(Some(at + 1)));
        if !inside {
            ends.push((start, at));
            start = at + c.len_utf8();
        }
    }
    ends.into_iter().map(|(from, to)| &name[from..to]).filter(|word| !word.is_empty())
}

/// `7b`, `1.5b`, `8x7b`, and `e4b`, which has so many at work at a time.
fn size(word: &str) -> Option<f64> {
    let number = word.strip_suffix('b')?;
    let number = number.strip_prefix('e').unwrap_or(number);
    match number.split_once('x') {
        Some((times, each)) => Some(plain(times)? * plain(each)?),
        None => plain(number),
    }
}

/// `270m`. A small number is something else: a window of one million, a version.
fn millions(word: &str) -> Option<f64> {
    word.strip_suffix('m').and_then(plain).filter(|size| *size >= 50.0)
}

fn plain(number: &str) -> Option<f64> {
    let digits = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    (digits && !number.is_empty()).then(|| number.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_comes_from_the_size_in_the_name() {
        let local = [
            (
                Class::S,
                "qwen2.5-coder-1.5b-instruct qwen2.5-coder:0.5b gemma3:270m gemma-3-270m-it SmolLM2-1.7B-Instruct \
                 smollm2:135m llama3.2:1b meta-llama/Llama-3.2-3B-Instruct phi3:3.8b-mini-128k-instruct-q4_K_M \
                 deepseek-r1:1.5b gemma3n:e2b Qwen3-0.6B-Q8_0.gguf qwen2.5-coder-3b.Q4_K_M.gguf granite3.3:2b \
                 TinyLlama-1.1B-Chat-v1.0 LFM2-350M /models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            ),
            (
                Class::M,
                "qwen2.5-coder:7b qwen3:4b qwen3:8b gemma3:4b gemma-3n-E4B-it gemma3:12b codellama:13b \
                 mlx-community/Qwen2.5-Coder-14B-Instruct-4bit Qwen2.5-7B-Instruct-1M internlm2_5-7b-chat-1m \
                 DeepSeek-R1-0528-Qwen3-8B glm-4-9b-chat-1m ministral-8b-2410 mistral-nemo:12b",
            ),
            (
                Class::L,
                "Qwen/Qwen3-Coder-30B-A3B-Instruct qwen3:30b-a3b gpt-oss:20b codestral:22b devstral:24b \
                 mistral-small3.2:24b gemma3:27b QwQ-32B qwen2.5-coder-32b-instruct mixtral:8x7b Mixtral-8x22B-v0.1 \
                 llama-3.3-70b qwen3-next-80b-a3b gpt-oss-120b Qwen3-235B-A22B-Thinking-2507 deepseek-r1:671b",
            ),
        ];
        for (want, names) in local {
            for name in names.split_whitespace() {
                assert_eq!(Clues { name, ..Clues::default() }.read(), (want, Clue::Name), "{name}");
            }
        }
        let hosted = [
            ("llama-3.1-8b-instant", Class::M),
            ("openai/gpt-oss-20b", Class::L),
            ("llama-3.3-70b-versatile", Class::F),
            ("Qwen3-235B-A22B", Class::F),
        ];
        for (name, want) in hosted {
            assert_eq!(Clues { name, hosted: true, ..Clues::default() }.read(), (want, Clue::Name), "{name}");
        }
    }

    #[test]
    fn without_a_size_it_is_what_most_are() {
        for name in
            ["deepseek-chat", "my-finetune", "b", "x", "gpt-5.1", "q4_k_m", "a3b", "e-b", "v2b", "ünb", ""]
        {
            let clues = Clues { name, ..Clues::default() };
            assert_eq!(clues.read(), (Class::M, Clue::Nothing), "{name}");
            assert_eq!(Clues { hosted: true, ..clues }.read(), (Class::F, Clue::Nothing), "{name}");
        }
    }

    #[test]
    fn the_nearer_clue_wins() {
        let clues = Clues { name: "tiny-7b", ..Clues::default() };
        assert_eq!(clues.read(), (Class::M, Clue::Name));
        let clues = Clues { parameters: Some(1_777_088_000), ..clues };
        assert_eq!(clues.read(), (Class::S, Clue::Server));
        let clues = Clues { catalog: Some(Class::L), ..clues };
        assert_eq!(clues.read(), (Class::L, Clue::Catalog));
        let clues = Clues { set: Some(Class::F), ..clues };
        assert_eq!(clues.read(), (Class::F, Clue::Set));
        for (parameters, want) in [
            (3_880_099_328, Class::M),
            (3_821_079_552, Class::S),
            (14_770_033_664, Class::M),
            (20_914_757_184, Class::L),
        ] {
            let clues = Clues { parameters: Some(parameters), ..Clues::default() };
            assert_eq!(clues.read().0, want, "{parameters}");
        }
    }
}
