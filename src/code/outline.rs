//! The pieces of a text: what it defines at its top level and one level below, what it imports, and the rest.
//!
//! Knows where a piece begins and ends. What a node of a grammar is, is in `nodes.rs`.

use std::ops::Range;

use tree_sitter::Node;

use super::language::Language;
use super::{nodes, parse};

/// What a piece is to the text that it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Function,
    /// A class, an `impl`, a trait, a module: it may have members.
    Scope,
    /// Another type, a constant, a variable.
    Value,
    /// Definitions within an `if` or a `try`.
    Block,
    /// Its names are those that it brings in.
    Import,
    /// What runs when a Python file is the program.
    Guard,
    /// What has to come first: a docstring, a package clause, a directive.
    Head,
    /// Any other statement.
    Rest,
}

/// One of them. Its parts follow each other: comments, marks, head, core.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub kind: Kind,
    pub names: Vec<String>,
    /// Tells namesakes apart, such as the two halves of a property.
    pub mark: String,
    pub start: usize,
    /// Where decorators and attributes start.
    pub marks: usize,
    /// Where words like `export` and `pub` start.
    pub head: usize,
    pub core: usize,
    pub end: usize,
    /// Where the body starts, of a scope.
    pub body: Option<usize>,
    pub members: Vec<Piece>,
}

impl Piece {
    /// Defines something that may not be lost.
    pub fn defines(&self) -> bool {
        match self.kind {
            Kind::Function | Kind::Scope | Kind::Value | Kind::Block => true,
            Kind::Import | Kind::Guard | Kind::Head | Kind::Rest => false,
        }
    }

    /// What it is known by.
    pub fn key(&self) -> String {
        let names = self.names.join(", ");
        if self.kind == Kind::Block { format!("if: {names}") } else { names }
    }

    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// The pieces of a text, in order.
#[derive(Debug)]
pub(super) struct Outline {
    pub pieces: Vec<Piece>,
    /// No error lies between the pieces, so none is hidden.
    pub sound: bool,
    /// Strings over several lines, whose lines are not ours to indent; by row, from 0.
    pub strings: Vec<Range<usize>>,
    /// Where each comment is.
    pub comments: Vec<Range<usize>>,
}

/// The outline of a text in a language with a grammar, if it can be parsed within the bounds.
pub(super) fn outline(language: Language, text: &str) -> Option<Outline> {
    let tree = parse::tree(language, text)?;
    let root = tree.root_node();
    let mut cursor = root.walk();
    let sound = !root.is_error() && !root.children(&mut cursor).any(|child| child.is_error());
    let (mut strings, mut comments) = (Vec::new(), Vec::new());
    parse::walk(root, |node| {
        if parse::comment(node) {
            comments.push(node.byte_range());
        } else if nodes::string(node) {
            let rows = node.start_position().row + 1..node.end_position().row + 1;
            if !rows.is_empty() && !nodes::docstring(node) {
                strings.push(rows);
            }
        }
        true
    });
    Some(Outline { pieces: level(language, root, text), sound, strings, comments })
}

/// Comments and decorators that wait for the piece they belong to.
struct Waiting {
    start: usize,
    marks: Option<usize>,
    /// The row after the last of them.
    next: usize,
}

/// The pieces directly below a node.
pub(super) fn level(language: Language, parent: Node, text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut waiting: Option<Waiting> = None;
    let mut last_row = None;
    let mut cursor = parent.walk();
    for node in parent.named_children(&mut cursor) {
        let range = trimmed(node, text);
        let row = node.start_position().row;
        let next = row + text[range.clone()].matches('\n').count() + 1;
        let mark = nodes::mark(node);
        if parse::comment(node) || mark {
            if last_row == Some(row) && !mark {
                if let Some(last) = pieces.last_mut() {
                    last.end = range.end;
                }
                continue;
            }
            let now = waiting.take().filter(|before| before.next == row || before.marks.is_some());
            let start = now.as_ref().map_or(range.start, |before| before.start);
            let marks = now.and_then(|before| before.marks).or(mark.then_some(range.start));
            waiting = Some(Waiting { start, marks, next });
            continue;
        }
        let mut piece = nodes::piece(language, node, text);
        piece.end = range.end;
        if text[piece.end..].starts_with(';') && language != Language::Python {
            piece.end += 1;
        }
        if let Some(before) = waiting.take().filter(|before| before.next == row || before.marks.is_some()) {
            piece.start = before.start;
            if let Some(marks) = before.marks {
                piece.marks = marks;
            }
        }
        last_row = Some(next - 1);
        pieces.push(piece);
    }
    pieces
}

/// Some grammars count the line's end in.
fn trimmed(node: Node, text: &str) -> Range<usize> {
    let range = node.byte_range();
    range.start..range.start + text[range].trim_end().len()
}
