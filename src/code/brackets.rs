//! Brackets that do not match: the one error that can be told without a grammar, and the best words for it
//! with one.

use tree_sitter::Tree;

use super::findings::Finding;
use super::parse;

/// An open bracket and its line, from 1.
type Open = (char, usize);

/// The brackets seen so far, and the first that does not match.
#[derive(Default)]
struct Balance {
    open: Vec<Open>,
    wrong: Option<Finding>,
}

impl Balance {
    fn take(&mut self, bracket: char, line: usize) {
        if self.wrong.is_some() {
            return;
        }
        let wanted = match bracket {
            '(' | '[' | '{' => return self.open.push((bracket, line)),
            ')' => '(',
            ']' => '[',
            _ => '{',
        };
        let what = match self.open.pop() {
            Some((open, _)) if open == wanted => return,
            Some((open, from)) => format!("`{bracket}` does not close the `{open}` of line {from}"),
            None => format!("`{bracket}` closes nothing"),
        };
        self.wrong = Some(Finding { line, what });
    }

    fn end(mut self) -> Option<Finding> {
        let never = |(open, line)| Finding { line, what: format!("`{open}` is never closed") };
        self.wrong.or_else(|| self.open.pop().map(never))
    }
}

/// By the tokens of a tree, so that strings and comments are told apart as the grammar does.
pub(super) fn in_tree(tree: &Tree, text: &str) -> Option<Finding> {
    let mut balance = Balance::default();
    parse::walk(tree.root_node(), |node| {
        if node.child_count() == 0 && !node.is_missing() && !node.is_named() {
            let token = &text[node.byte_range()];
            let bracket = token.strip_prefix(['$', '#', '%']).unwrap_or(token);
            if matches!(bracket, "(" | ")" | "[" | "]" | "{" | "}") {
                balance.take(bracket.chars().next().unwrap_or('('), node.start_position().row + 1);
            }
        }
        true
    });
    balance.end()
}

/// By the rules that C and its kin share; nothing where one of them has its own, such as raw strings,
/// strings over several lines or code that is there by condition only.
pub(super) fn findings(text: &str) -> Option<Finding> {
    if text.len() > parse::LARGEST {
        return None;
    }
    let mut balance = Balance::default();
    let (mut rest, mut line) = (text, 1);
    while let Some(next) = rest.chars().next() {
        let taken = match next {
            '\n' => {
                line += 1;
                1
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => {
                let end = 2 + rest[2..].find("*/")? + 2;
                line += rest[..end].matches('\n').count();
                end
            }
            '"' => string(rest)?,
            '\'' => character(rest)?,
            // Conditional code, strings in other marks, and strings that read a backslash in their own way.
            '#' if conditional(rest) => return None,
            '`' => return None,
            'R' | '@' | '$' | 'r' if rest[1..].starts_with(['"', '\'']) => return None,
            '(' | ')' | '[' | ']' | '{' | '}' => {
                balance.take(next, line);
                1
            }
            other => other.len_utf8(),
        };
        rest = &rest[taken..];
    }
    balance.end()
}

fn conditional(rest: &str) -> bool {
    let word = rest[1..].trim_start_matches([' ', '\t']);
    word.starts_with("if") || word.starts_with("define")
}

/// The length of a string that ends on its line and holds nothing that some language would read as code.
fn string(rest: &str) -> Option<usize> {
    if rest.starts_with("\"\"\"") {
        return None;
    }
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return None,
            '"' => return Some(at + 1),
            // Kotlin and Dart run what stands in `${}`, quotes and all.
            '$' if rest[at + 1..].starts_with('{') => return None,
            _ => {}
        }
    }
    None
}

/// The length of a character or a short string in single quotes.
fn character(rest: &str) -> Option<usize> {
    let line = rest.lines().next().unwrap_or(rest);
    let mut escaped = false;
    for (at, c) in line.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' if at > 1 => return Some(at + 1),
            '\'' => return None,
            '$' if line[at + 1..].starts_with('{') => return None,
            _ => {}
        }
    }
    None
}
