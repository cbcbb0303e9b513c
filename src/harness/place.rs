//! Where in a file of TOML a key stands, for the line of an error.

use std::ops::Range;

use toml_edit::{Document, Item, Table, Value};

/// A place in a text, and how far the way to it was found.
pub(super) struct Place {
    pub line: usize,
    /// How many of the keys were found.
    pub depth: usize,
    /// The value's text starts in this line; of a text over several lines, with its first one.
    pub text: usize,
}

/// The deepest of `keys` that is there. A number is a place in a list. `word` is a text within the value:
/// where it is there, its line is meant.
pub(super) fn find(text: &str, keys: &[&str], word: Option<&str>) -> Option<Place> {
    let document = Document::parse(text).ok()?;
    let mut at: Option<(Range<usize>, Option<Range<usize>>)> = None;
    let mut depth = 0;
    let mut node = Node::Table(document.as_table());
    for key in keys {
        let Some((span, value, next)) = node.step(key) else { break };
        at = Some((span, value));
        depth += 1;
        node = next;
    }
    let (key, value) = at?;
    let within = value.clone().unwrap_or(key.clone());
    let word =
        word.and_then(|word| Some(within.start + text.get(within.clone())?.find(&format!("\"{word}\""))?));
    let line = line(text, word.unwrap_or(key.start));
    let opening = value.map_or(key.start, |value| value.start);
    let several = ["\"\"\"\n", "'''\n"].iter().any(|open| text[opening..].starts_with(open));
    let depth = if word.is_some() { depth + 1 } else { depth };
    Some(Place { line, depth, text: self::line(text, opening) + usize::from(several) })
}

/// The line of a byte, from 1.
pub(super) fn line(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

enum Node<'a> {
    Table(&'a Table),
    Item(&'a Item),
    Value(&'a Value),
}

type Step<'a> = (Range<usize>, Option<Range<usize>>, Node<'a>);

impl<'a> Node<'a> {
    /// The key's span, the value's, and the value.
    fn step(&self, key: &str) -> Option<Step<'a>> {
        match self {
            Self::Table(table) => named(table, key),
            Self::Item(Item::Table(table)) => named(table, key),
            Self::Item(Item::ArrayOfTables(list)) => {
                let table = list.get(key.parse().ok()?)?;
                Some((table.span()?, None, Node::Table(table)))
            }
            Self::Item(Item::Value(value)) => within(value, key),
            Self::Item(Item::None) => None,
            Self::Value(value) => within(value, key),
        }
    }
}

fn named<'a>(table: &'a Table, key: &str) -> Option<Step<'a>> {
    let (key, item) = table.get_key_value(key)?;
    // A table that only its own tables make has no header.
    let span = key.span().or_else(|| item.span())?;
    let value = item.as_value().and_then(Value::span);
    Some((span, value, Node::Item(item)))
}

fn within<'a>(value: &'a Value, key: &str) -> Option<Step<'a>> {
    match value {
        Value::InlineTable(table) => {
            let (key, item) = table.get_key_value(key)?;
            let inner = item.as_value()?;
            Some((key.span().or_else(|| inner.span())?, inner.span(), Node::Value(inner)))
        }
        Value::Array(list) => {
            let inner = list.get(key.parse().ok()?)?;
            Some((inner.span()?, inner.span(), Node::Value(inner)))
        }
        Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_words_and_texts_have_their_lines() {
        let text = "a = 1\n[b]\nc = [\n  \"x\",\n  \"y\",\n]\nd = { e = 1,\n f = 2 }\ng.h = 1\nt = '''\nline\n'''\n\n[[r]]\nk = 1\n[[r]]\nk = 2\n[t.p.q]\nz = 1\n";
        let at = |keys: &[&str], word| find(text, keys, word).map(|place| (place.line, place.depth));
        let table: [(&[&str], Option<&str>, _); 9] = [
            (&["a"], None, Some((1, 1))),
            (&["b", "c"], None, Some((3, 2))),
            (&["b", "c"], Some("y"), Some((5, 3))),
            (&["b", "c", "0"], None, Some((4, 3))),
            (&["b", "d", "f"], None, Some((8, 3))),
            (&["b", "g", "h"], None, Some((9, 3))),
            (&["b", "nothing"], None, Some((2, 1))),
            (&["r", "1", "k"], None, Some((17, 3))),
            (&["nothing"], None, None),
        ];
        for (keys, word, want) in table {
            assert_eq!(at(keys, word), want, "{keys:?} {word:?}");
        }
        assert_eq!(find(text, &["b", "t"], None).map(|place| place.text), Some(11));
    }
}
