//! What Python forbids and its grammar lets pass: layout.

use tree_sitter::{Node, Tree};

use super::findings::Finding;
use super::parse;

/// How far a line is indented, as Python measures it: with tabs to the next eighth column, and with tabs as
/// one. Two lines of a block agree in both.
type Indent = (usize, usize);

/// Blocks without a statement, and statements that are not in line with their block. Only for texts that
/// the grammar takes: elsewhere the tree says too little.
pub(super) fn layout(tree: &Tree, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    parse::walk(tree.root_node(), |node| {
        match node.kind() {
            "module" => siblings(node, text, Some((0, 0)), &mut found),
            "block" => siblings(node, text, None, &mut found),
            kind => {
                if let Some(body) = empty_body(node, kind) {
                    found.push(Finding {
                        line: body,
                        what: format!("no indented block after `{}`", word(kind)),
                    });
                }
            }
        }
        true
    });
    found.sort_by_key(|finding| finding.line);
    found
}

/// The line of a clause that has to hold statements and holds none.
fn empty_body(node: Node, kind: &str) -> Option<usize> {
    let field = match kind {
        "function_definition"
        | "class_definition"
        | "for_statement"
        | "while_statement"
        | "with_statement"
        | "try_statement"
        | "else_clause" => "body",
        "if_statement" | "elif_clause" | "case_clause" => "consequence",
        _ => return None,
    };
    let line = node.start_position().row + 1;
    let Some(body) = node.child_by_field_name(field) else { return Some(line) };
    let mut cursor = body.walk();
    let filled = body.named_children(&mut cursor).any(|child| !parse::comment(child));
    (!filled).then_some(line)
}

/// The word that starts a clause.
fn word(kind: &str) -> &str {
    match kind {
        "function_definition" => "def",
        "class_definition" => "class",
        kind => kind.split('_').next().unwrap_or(kind),
    }
}

/// Each statement that starts a line has the indentation of the first, which for a module is none.
fn siblings(block: Node, text: &str, fixed: Option<Indent>, found: &mut Vec<Finding>) {
    let mut wanted = fixed;
    let mut cursor = block.walk();
    for child in block.named_children(&mut cursor).filter(|child| !parse::comment(*child)) {
        let Some(indent) = indent(text, child.start_byte()) else { continue };
        let Some(wanted) = wanted else {
            wanted = Some(indent);
            continue;
        };
        let what = match (indent.0.cmp(&wanted.0), indent.1 == wanted.1) {
            (std::cmp::Ordering::Equal, true) => continue,
            (std::cmp::Ordering::Equal, false) => "inconsistent use of tabs and spaces",
            (std::cmp::Ordering::Greater, _) => "unexpected indent",
            (std::cmp::Ordering::Less, _) => "unindent does not match any outer block",
        };
        found.push(Finding { line: child.start_position().row + 1, what: what.to_owned() });
    }
}

/// None where something else stands before it on its line, or the line goes on from the one before.
fn indent(text: &str, start: usize) -> Option<Indent> {
    let (above, line) = text[..start].rsplit_once('\n').unwrap_or(("", &text[..start]));
    if above.trim_end_matches('\r').ends_with('\\') {
        return None;
    }
    line.trim_start_matches('\u{feff}').chars().try_fold((0, 0), |(wide, narrow), c| match c {
        ' ' => Some((wide + 1, narrow + 1)),
        '\t' => Some((wide / 8 * 8 + 8, narrow + 1)),
        '\u{c}' => Some((0, 0)),
        _ => None,
    })
}
