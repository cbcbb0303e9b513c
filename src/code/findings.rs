//! What keeps a text from parsing, in a compiler's words.

use tree_sitter::{Node, Tree};

use super::language::{Language, language};
use super::{brackets, data, parse, python};

/// Something that keeps a text from parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// From 1.
    pub line: usize,
    /// In a few words, as a compiler would say it.
    pub what: String,
}

/// More than these help nobody.
const MOST: usize = 5;

/// Errors of syntax, by the file's name, at most five; empty where it parses, where no parser reads it, and
/// for texts over a megabyte.
pub fn findings(path: &str, text: &str) -> Vec<Finding> {
    let mut found = language(path).map_or_else(Vec::new, |language| of(language, text));
    found.truncate(MOST);
    found
}

/// What a change does to a text's syntax.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The text parses after it.
    pub parses: bool,
    /// It does not, and did before.
    pub breaks: bool,
    /// What it has now and had not, at most five.
    pub new: Vec<Finding>,
}

/// Compares a text with what becomes of it. None where no parser reads the file.
///
/// Grammars are behind their languages, so a text may have had findings all along. They are told apart by
/// their words, not lines, which move; and they must have become more, since an edit within what a grammar
/// does not know changes the words.
pub fn change(path: &str, before: &str, after: &str) -> Option<Change> {
    let language = language(path)?;
    let mut new = of(language, after);
    if new.is_empty() {
        return Some(Change { parses: true, breaks: false, new });
    }
    let mut old = of(language, before);
    let breaks = old.is_empty();
    let more = new.len().saturating_sub(old.len());
    new.retain(|new| match old.iter().position(|old| old.what == new.what) {
        Some(same) => {
            old.swap_remove(same);
            false
        }
        None => true,
    });
    new.truncate(more.min(MOST));
    Some(Change { parses: false, breaks, new })
}

/// All findings, in order.
pub(super) fn of(language: Language, text: &str) -> Vec<Finding> {
    match language {
        Language::Json | Language::Toml => data::findings(language, text).into_iter().collect(),
        Language::Braces => brackets::findings(text).into_iter().collect(),
        Language::Python
        | Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Rust
        | Language::Go => {
            parse::tree(language, text).map_or_else(Vec::new, |tree| in_tree(language, &tree, text))
        }
    }
}

fn in_tree(language: Language, tree: &Tree, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut unsure = false;
    parse::walk(tree.root_node(), |node| {
        if node.is_missing() {
            found.push(at(node, format!("missing {}", expected(node))));
        } else if node.is_error() && tolerated(language, node, text) || node.has_error() && free(node) {
            unsure = true;
            return false;
        } else if node.is_error() {
            found.push(unexpected(node, text));
        }
        node.has_error() && !node.is_error()
    });
    if (unsure || !found.is_empty())
        && let Some(unbalanced) = brackets::in_tree(tree, text)
    {
        // Where brackets do not match, whatever else is said is a consequence.
        found = vec![unbalanced];
    }
    if language == Language::Python && found.is_empty() {
        return python::layout(tree, text);
    }
    found
}

/// What is in a macro is up to the macro.
fn free(node: Node) -> bool {
    matches!(node.kind(), "token_tree" | "token_tree_pattern" | "macro_rule")
}

/// Valid Rust that its grammar does not know: attributes on expressions and fields of patterns, negative
/// numbers as generic arguments, a macro named as a type, `safe fn`.
fn tolerated(language: Language, node: Node, text: &str) -> bool {
    let word = text[node.byte_range()].trim();
    let before = text[..node.start_byte()].trim_end();
    language == Language::Rust
        && (word.starts_with("#[") && word.ends_with(']')
            || word == "-" && before.ends_with(['<', ','])
            || word == "!" && before.ends_with("str")
            || word == "safe")
}

fn at(node: Node, what: String) -> Finding {
    Finding { line: node.start_position().row + 1, what }
}

/// A token as itself, anything else by its name in the grammar.
fn expected(node: Node) -> String {
    if node.is_named() { node.kind().replace('_', " ") } else { format!("`{}`", node.kind()) }
}

fn unexpected(node: Node, text: &str) -> Finding {
    let all = text[node.byte_range()].trim();
    let first = all.lines().next().unwrap_or_default();
    let short: String = first.chars().take(40).collect();
    let what = if all.is_empty() {
        "syntax error".to_owned()
    } else if all.split_whitespace().nth(1).is_none() {
        format!("unexpected `{short}`")
    } else {
        format!("syntax error in `{short}`")
    };
    at(node, what)
}
