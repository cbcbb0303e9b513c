//! Answers for texts without a grammar, and for those that do not parse: what their lines alone can tell.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::adapt::{Misfit, Why, elided};
use super::elide;
use super::findings::Finding;
use super::going::Going;
use super::language::{Language, language};

/// A definition that starts a line, in any of the languages.
static DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
    let before = r"(?:export |default |public |private |protected |internal |final |sealed |partial |pub(?:\([^)\n]*\))? |async |unsafe |abstract |static |declare |local )*";
    let word = r"(?:def|class|fn|func|fun|function\*?|sub|struct|enum|trait|interface|record|type|mod|module|const|let|var)";
    let form = format!(r"(?m)^{before}{word}\s+(?:\([^)\n]*\)\s*)?([A-Za-z_$][\w$]*)");
    Regex::new(&form).expect("the form is valid")
});

/// A function with its type before its name, as in C and its kin, or with nothing before it, as in a shell.
static FUNCTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^[ \t]*(?:[\w:<>\[\],*&~?.]+[ \t*&]+)*([A-Za-z_]\w*)[ \t]*\([^;{}()]*\)[^;{}()=]*\{")
        .expect("the form is valid")
});

/// What stands before brackets and a brace, too.
const CLAUSES: [&str; 13] = [
    "if",
    "for",
    "while",
    "switch",
    "catch",
    "else",
    "do",
    "return",
    "new",
    "foreach",
    "using",
    "lock",
    "synchronized",
];

/// Names of what looks like a definition, in order.
pub(super) fn names(text: &str) -> Vec<String> {
    DEFINITION.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

fn functions(text: &str) -> Vec<String> {
    let clause = |head: &str| head.split(|c: char| !c.is_alphanumeric()).any(|word| CLAUSES.contains(&word));
    let found =
        FUNCTION.captures_iter(text).filter(|found| !clause(found[0].split('(').next().unwrap_or_default()));
    found.map(|found| found[1].to_owned()).collect()
}

/// Names that the old text defines and the answer does not, unless they were to go.
pub(super) fn missing(path: &str, old: &str, answer: &str, going: &Going) -> Vec<String> {
    let all = |text: &str| {
        let mut names = names(text);
        if braced(path) {
            names.extend(functions(text));
        }
        names
    };
    let after: HashSet<String> = all(answer).into_iter().collect();
    let mut missing: Vec<String> = all(old).into_iter().filter(|name| !after.contains(name)).collect();
    missing.retain(|name| !going.name(name));
    missing.dedup();
    missing
}

fn braced(path: &str) -> bool {
    language(path) == Some(Language::Braces)
        || ["sh", "bash", "zsh", "awk", "swift", "groovy", "scala", "php"].contains(&ending(path))
}

/// Whether a file without a grammar holds code all the same.
fn code(path: &str) -> bool {
    let endings = ["rb", "lua", "pl", "ex", "jl", "r", "zig", "nim", "ps1"];
    braced(path) || endings.contains(&ending(path))
}

fn ending(path: &str) -> &str {
    path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map_or("", |(_, ending)| ending)
}

/// Whether an answer can be all of a text that nothing here reads.
pub(super) fn check(path: &str, old: &str, answer: &str, going: &Going) -> Result<(), Misfit> {
    if let Some(elision) = elide::lines(answer, old, None).first() {
        return Err(elided(elision));
    }
    if difference(answer) && !difference(old) {
        let what = "this is a difference, not the text of the file".to_owned();
        return Err(Why::Broken(Finding { line: 1, what }).into());
    }
    let missing = if code(path) { missing(path, old, answer, going) } else { Vec::new() };
    if !missing.is_empty() {
        return Err(Misfit { missing, ..Misfit::default() });
    }
    let filled = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count();
    let (before, after) = (filled(old), filled(answer));
    match before >= SHORT && after * 2 < before && !going.less() {
        true => Err(Why::Short([after, before]).into()),
        false => Ok(()),
    }
}

/// A text of fewer lines has no parts.
const SHORT: usize = 5;

/// What programs that compare files print.
fn difference(text: &str) -> bool {
    let mut lines =
        text.lines().map(str::trim_end).skip_while(|line| line.is_empty() || line.starts_with("diff "));
    let first = lines.next().unwrap_or_default();
    let hunk = |line: &str| line.starts_with("@@ ") || line == "@@";
    hunk(first) || first.starts_with("--- ") && lines.next().is_some_and(|line| line.starts_with("+++ "))
}

/// The text without numbers before its lines, where the file has none.
pub(super) fn unnumbered(old: &str, answer: &str) -> Option<String> {
    let plain = strip(answer)?;
    strip(old).is_none().then_some(plain)
}

/// Every line without its number, where each is one more than that of the line before.
fn strip(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut wanted: Option<u64> = None;
    let mut style = None;
    for line in text.lines() {
        let bare = line.trim_start();
        if bare.is_empty() {
            return None;
        }
        let digits = bare.len() - bare.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = bare[..digits].parse().ok()?;
        let mark = bare[digits..].chars().next();
        if wanted.is_some_and(|wanted| wanted != number) {
            return None;
        }
        let mark = mark.filter(|mark| [':', '|', '\t', '→'].contains(mark))?;
        if *style.get_or_insert(mark) != mark {
            return None;
        }
        let rest = &bare[digits + mark.len_utf8()..];
        let rest = if mark == '\t' || mark == '→' { rest } else { rest.strip_prefix(' ').unwrap_or(rest) };
        plain.push_str(rest);
        plain.push('\n');
        wanted = Some(number.checked_add(1)?);
    }
    wanted.is_some_and(|next| next > 2).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_before_lines_are_taken_off_where_each_is_one_more() {
        let table = [
            ("a\n", "1: a\n2: b\n", Some("a\nb\n")),
            ("a\n", "1: a\n3: b\n", None),
            ("1: a\n2: b\n", "1: a\n2: c\n", None),
            ("a\n", "18446744073709551615: a\n", None),
        ];
        for (old, answer, want) in table {
            assert_eq!(unnumbered(old, answer).as_deref(), want, "{answer}");
        }
    }
}
