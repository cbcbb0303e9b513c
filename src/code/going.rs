//! What a person's words let go of. Without such words an answer that holds less than the file is a part of it.

/// Beginnings of words for what makes a name go.
const NAMES: [&str; 8] = ["remov", "delet", "drop", "renam", "move", "moving", "inlin", "merg"];
/// And for what makes a whole text shorter.
const LESS: [&str; 5] = ["rewrit", "simplif", "shorten", "reduc", "truncat"];

/// The words of who asks, if they let something go.
#[derive(Debug, Default)]
pub struct Going {
    names: Vec<String>,
    less: bool,
}

impl Going {
    pub fn asked(asked: &str) -> Self {
        let part = |c: char| c.is_alphanumeric() || c == '_';
        let words: Vec<&str> = asked.split(|c| !part(c)).collect();
        let says = |list: &[&str]| {
            let mut lower = words.iter().map(|word| word.to_ascii_lowercase());
            lower.any(|word| list.iter().any(|going| word.starts_with(going)))
        };
        let names = says(&NAMES);
        let less = says(&LESS);
        let words = words.iter().filter(|word| names && !word.is_empty());
        Self { names: words.map(|word| (*word).to_owned()).collect(), less }
    }

    /// Whether some name is to go.
    pub(super) fn any(&self) -> bool {
        !self.names.is_empty()
    }

    /// Whether a shorter text is asked for.
    pub(super) fn less(&self) -> bool {
        self.less
    }

    /// Whether each part of a name is among the words: of `Class.method` the method.
    pub(super) fn name(&self, name: &str) -> bool {
        let last = name.rsplit('.').next().unwrap_or(name);
        let mut parts = last.split(", ").map(|part| part.rsplit(' ').next().unwrap_or(part));
        parts.all(|part| self.word(part))
    }

    /// Whether a key or one above it is among the words.
    pub(super) fn key(&self, path: &str) -> bool {
        path.split('.').any(|key| self.word(key))
    }

    fn word(&self, word: &str) -> bool {
        self.names.iter().any(|one| one == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_where_the_person_asks_for_it() {
        let table = [
            ("Remove the unused `mean()` from stats.py", "mean", true),
            ("rename total to total_all", "total", true),
            ("rename total_all to x", "total", false),
            ("add a function mode next to mean", "mean", false),
            ("Delete what is unused", "mean", false),
            ("Delete the method clear of Cart", "Cart.clear", true),
            ("Delete the constants A and B", "A, B", true),
            ("", "mean", false),
        ];
        for (asked, name, want) in table {
            assert_eq!(Going::asked(asked).name(name), want, "{asked}");
        }
    }
}
