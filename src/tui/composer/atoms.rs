//! The pastes and images that stand in the text as one character each. Knows the parts, not the cursor.

use super::draft::Part;
use super::glyph;
use crate::tui::text::width;

#[derive(Default)]
pub(super) struct Atoms {
    kept: Vec<(Part, String)>,
}

impl Atoms {
    /// The character for a part; the same for the same part. None for text, and when there are no more.
    pub(super) fn add(&mut self, part: Part) -> Option<char> {
        if let Some(at) = self.kept.iter().position(|(kept, _)| *kept == part) {
            return glyph::atom(at);
        }
        let c = glyph::atom(self.kept.len())?;
        let label = part.label()?;
        self.kept.push((part, label));
        Some(c)
    }

    pub(super) fn part(&self, c: char) -> Option<&Part> {
        self.kept.get(glyph::atom_index(c)?).map(|(part, _)| part)
    }

    pub(super) fn label(&self, c: char) -> &str {
        glyph::atom_index(c).and_then(|at| self.kept.get(at)).map_or("", |(_, label)| label)
    }

    pub(super) fn columns(&self, c: char) -> usize {
        width(self.label(c)).max(1)
    }

    /// The text of the buffer in pieces.
    pub(super) fn parts(&self, text: &str) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(glyph::is_atom) {
            let (before, from) = rest.split_at(at);
            let c = from.chars().next().unwrap_or_default();
            push_text(&mut parts, before);
            parts.extend(self.part(c).cloned());
            rest = &from[c.len_utf8()..];
        }
        push_text(&mut parts, rest);
        parts
    }

    /// The pieces as text of the buffer.
    pub(super) fn text(&mut self, parts: &[Part]) -> String {
        let mut text = String::new();
        for part in parts {
            match part {
                Part::Text(plain) => text.push_str(&without_atoms(plain)),
                Part::Paste(_) | Part::Image { .. } => match self.add(part.clone()) {
                    Some(c) => text.push(c),
                    None => text.push_str(&without_atoms(&part.full())),
                },
            }
        }
        text
    }

    /// The smallest number no image in `text` has.
    pub(super) fn free_number(&self, text: &str) -> usize {
        let taken: Vec<usize> = text
            .chars()
            .filter_map(|c| match self.part(c)? {
                Part::Image { number, .. } => Some(*number),
                Part::Text(_) | Part::Paste(_) => None,
            })
            .collect();
        (1..).find(|n| !taken.contains(n)).unwrap_or(1)
    }

    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    if !text.is_empty() {
        parts.push(Part::Text(text.to_owned()));
    }
}

/// Foreign text must not be taken for a paste of ours.
pub(super) fn without_atoms(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains(glyph::is_atom) { text.replace(glyph::is_atom, "\u{fffd}").into() } else { text.into() }
}
