//! Runs the grammars, within bounds: a text that is too large or too much work has no tree.
//!
//! Grammars are tables in the binary that nothing touches before the first parse.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::language::Language;
use super::script;

/// Larger texts are not parsed, in bytes.
pub(super) const LARGEST: usize = 1_000_000;

/// A parse that takes longer is given up; a megabyte of code takes less.
const LONGEST: Duration = Duration::from_secs(2);

/// A tree of the text; none for a language without a grammar, or beyond the bounds.
pub(super) fn tree(language: Language, text: &str) -> Option<Tree> {
    if text.len() > LARGEST {
        return None;
    }
    let grammar = match language {
        Language::Python => tree_sitter_python::LANGUAGE,
        Language::JavaScript => tree_sitter_javascript::LANGUAGE,
        // The grammar without JSX would cost as much again, and differs in one thing: see `script`.
        Language::TypeScript | Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
        Language::Rust => tree_sitter_rust::LANGUAGE,
        Language::Go => tree_sitter_go::LANGUAGE,
        Language::Json | Language::Toml | Language::Braces => return None,
    };
    let plain = script::plain(language, text);
    let text = &plain[..];
    let mut parser = Parser::new();
    parser.set_language(&grammar.into()).ok()?;
    // The parser asks every hundred steps; code takes one or two a byte. Steps on a text full of errors can
    // be slow ones, so time has an end too.
    let mut left = 1_000 + text.len() / 20;
    let end = Instant::now() + LONGEST;
    let mut spend = |_: &_| match left.checked_sub(1).filter(|_| Instant::now() < end) {
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
