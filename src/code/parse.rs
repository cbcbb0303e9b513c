//! Runs the grammars, within bounds: a text that is too large or too much work has no tree.
//!
//! Grammars are tables in the binary that nothing touches before the first parse.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::language::Language;

/// Larger texts are not parsed, in bytes.
pub(super) const LARGEST: usize = 1_000_000;

/// A tree of the text; none for a language without a grammar, or beyond the bounds.
pub(super) fn tree(language: Language, text: &str) -> Option<Tree> {
    if text.len() > LARGEST {
        return None;
    }
    let grammar = match language {
        Language::Python => tree_sitter_python::LANGUAGE,
        Language::JavaScript => tree_sitter_javascript::LANGUAGE,
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
        Language::Rust => tree_sitter_rust::LANGUAGE,
        Language::Go => tree_sitter_go::LANGUAGE,
        Language::Json | Language::Toml | Language::Braces => return None,
    };
    let mut parser = Parser::new();
    parser.set_language(&grammar.into()).ok()?;
    // Steps, not time, so that the same text always gets the same answer. The parser asks every hundred
    // steps; sound code takes about one step a byte, and recovery from errors some times that.
    let mut left = 1_000 + text.len() / 5;
    let mut spend = |_: &_| match left.checked_sub(1) {
        Some(less) => {
            left = less;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut spend);
    parser.parse_with_options(&mut |at, _| &text.as_bytes()[at..], None, Some(options))
}

/// All nodes below (and with) one, parents first, without recursion: depth is in the text's hands.
/// `enter` says whether to go on below a node.
pub(super) fn walk<'t>(root: Node<'t>, mut enter: impl FnMut(Node<'t>) -> bool) {
    let mut cursor = root.walk();
    loop {
        if enter(cursor.node()) && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// Whether a node is a comment in any of the grammars.
pub(super) fn comment(node: Node) -> bool {
    matches!(node.kind(), "comment" | "line_comment" | "block_comment" | "html_comment" | "hash_bang_line")
}
