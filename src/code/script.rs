//! Scripts as their grammars know them: what these lack is blanked, or another word of the same length, so that
//! all places stay. Nothing that defines a name is touched.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::language::Language;

/// The text to parse in the place of a text.
pub(super) fn plain(language: Language, text: &str) -> Cow<'_, str> {
    let mut changes: Vec<(Range<usize>, Change)> = Vec::new();
    match language {
        Language::TypeScript | Language::Tsx => {
            if language == Language::TypeScript {
                changes.extend(types(text).map(|range| (range, Change::Blank)));
            }
            changes.extend(matches(&IMPORTED, text).map(|range| (range, Change::Blank)));
            changes.extend(matches(&VARIANCE, text).map(|range| (range, Change::Blank)));
            changes.extend(matches(&ALIAS, text).map(|range| (range, Change::Word)));
        }
        Language::JavaScript => changes.extend(matches(&ALIAS, text).map(|range| (range, Change::Word))),
        Language::Python
        | Language::Rust
        | Language::Go
        | Language::Json
        | Language::Toml
        | Language::Braces => {}
    }
    if changes.is_empty() {
        return Cow::Borrowed(text);
    }
    // Byte by byte: a change is within ASCII, and letters beyond it that are blanked stay whole.
    let mut plain = text.as_bytes().to_vec();
    for (range, change) in changes {
        match change {
            Change::Blank => plain[range].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' '),
            Change::Word => plain[range.start] = b'_',
        }
    }
    String::from_utf8(plain).map_or(Cow::Borrowed(text), Cow::Owned)
}

#[derive(Clone, Copy)]
enum Change {
    Blank,
    Word,
}

/// Variance of a type parameter: `<in out T>`.
static VARIANCE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[<,]\s*(in\s+out\s|in\s|out\s)\s*[\w$]").expect("the form is valid"));

/// The file that a type comes from: `import("./a").Type<T>`. What follows it stands alone as well.
static IMPORTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"\b(import\(["'][^"'\n]*["']\)\.)[\w$]"#).expect("the form is valid"));

/// A reserved word as the other name of an export: `export { nothing as void }`.
static ALIAS: LazyLock<Regex> = LazyLock::new(|| {
    let words = "break|case|catch|class|const|continue|debugger|delete|do|else|enum|extends|false|finally|for|\
                 function|if|import|in|instanceof|new|null|return|super|switch|this|throw|true|try|typeof|var|\
                 void|while|with";
    Regex::new(&format!(r"\bas\s+({words})\s*[,}}]")).expect("the words are valid")
});

fn matches<'t>(form: &'t Regex, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    form.captures_iter(text).filter_map(|found| found.get(1)).map(|found| found.range())
}

/// Type assertions `<T>x`, and type parameters of functions without a name, `<T>(x: T) => x`: where JSX has its
/// elements.
fn types(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    text.match_indices('<').filter_map(|(start, _)| {
        let before = text[..start].trim_end();
        let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let expression = before.is_empty()
            || before.ends_with(['=', '(', ',', ':', '?', '[', '{', '}', ';', '&', '|', '!', '<'])
            || before.ends_with("=>")
            || ["return", "await", "async", "yield", "default", "case"].contains(&word);
        let end = expression.then(|| closed(text, start)).flatten()?;
        let next = text[end..].trim_start().chars().next()?;
        (next.is_alphanumeric() || "_$({[\"'`<".contains(next)).then_some(start..end)
    })
}

/// Where angle brackets that open at a place are closed; not far away, as types are short.
fn closed(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0;
    for at in start..bytes.len().min(start + 2_000) {
        match bytes[at] {
            b'<' => depth += 1,
            b'>' if bytes[at - 1] != b'=' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}
