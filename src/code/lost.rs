//! What an old text defines and a new one does not.

use std::time::Duration;

use similar::TextDiff;

use super::outline::{Kind, Piece};

/// Pieces beside each other, and the text they are of.
#[derive(Clone, Copy)]
pub(super) struct Level<'a> {
    pub text: &'a str,
    pub pieces: &'a [Piece],
    pub depth: Depth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// All definitions count.
    Top,
    /// Functions and classes count; a field may go.
    Members,
}

impl<'a> Level<'a> {
    fn counted(self) -> impl Iterator<Item = &'a Piece> {
        self.pieces.iter().filter(move |piece| match self.depth {
            Depth::Top => piece.defines(),
            Depth::Members => matches!(piece.kind, Kind::Function | Kind::Scope),
        })
    }

    fn core(self, piece: &Piece) -> &'a str {
        &self.text[piece.core..piece.end]
    }

    fn below(self, piece: &'a Piece) -> Self {
        Self { pieces: &piece.members, depth: Depth::Members, ..self }
    }
}

/// Names that the old level defines and the new one lacks, members too, as `Class.method`. Of namesakes there
/// have to be as many. A definition that only has another name is not lost.
pub(super) fn names(old: Level, new: Level) -> Vec<String> {
    if renamed(old, new) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut left: Vec<&Piece> = new.counted().collect();
    for piece in old.counted() {
        let key = piece.key();
        let Some(same) = left.iter().position(|new| new.key() == key) else {
            // Of a variable that is set more than once, one place is enough; and one of several names may have
            // got more of them.
            let covers = |new: &Piece| {
                new.kind == piece.kind && piece.names.iter().all(|name| new.names.contains(name))
            };
            if !matches!(piece.kind, Kind::Value | Kind::Block) || !new.counted().any(covers) {
                found.push(key);
            }
            continue;
        };
        let same = left.remove(same);
        if same.kind == Kind::Scope {
            found.extend(
                names(old.below(piece), new.below(same)).into_iter().map(|name| format!("{key}.{name}")),
            );
        }
    }
    found
}

/// Whether what had this name is defined elsewhere in the new text, as in a class or a function that was made of
/// it, and as often. What a script exports may be exported in the other way.
pub(super) fn moved(name: &str, old: &str, new: &str) -> bool {
    if name == "default" || name == "module.exports" || name.starts_with("exports.") {
        return new.lines().any(|line| line.starts_with("export "))
            && !old.lines().any(|line| line.starts_with("export "));
    }
    name.rsplit('.').next().unwrap_or(name).split(", ").all(|name| {
        let name = regex::escape(name);
        let words = "def|class|fn|func|function|const|let|var|struct|enum|trait|interface|static|type|mod";
        let form = format!(
            r"(?m)\b(?:{words})\s(?:[^\n=({{]*\s|\([^)\n]*\)\s*)?{name}\b|^\s*{name}\s*(?::[^=\n]+)?=[^=]|^\s*(?:async\s+)?{name}\s*\([^)\n]*\)\s*\{{"
        );
        let Ok(form) = regex::Regex::new(&form) else { return false };
        let (before, after) = (form.find_iter(old).count(), form.find_iter(new).count());
        before > 0 && after >= before
    })
}

/// Whether the levels define the same in the same order, some of it under other names.
fn renamed(old: Level, new: Level) -> bool {
    let (before, after): (Vec<_>, Vec<_>) = (old.counted().collect(), new.counted().collect());
    let keys = |pieces: &[&Piece]| pieces.iter().map(|piece| piece.key()).collect::<Vec<_>>();
    let (old_keys, new_keys) = (keys(&before), keys(&after));
    if before.len() != after.len() || old_keys == new_keys {
        return false;
    }
    (0..before.len()).all(|at| {
        let (was, is) = (&old_keys[at], &new_keys[at]);
        let (was_piece, is_piece) = (before[at], after[at]);
        let complete =
            || was_piece.kind != Kind::Scope || names(old.below(was_piece), new.below(is_piece)).is_empty();
        if was == is {
            return complete();
        }
        let renamed = |text: &str| {
            let pairs = old_keys.iter().zip(&new_keys).filter(|(was, is)| was != is);
            pairs.fold(text.to_owned(), |text, (was, is)| text.replace(was.as_str(), is))
        };
        was_piece.kind == is_piece.kind
            && !new_keys.contains(was)
            && !old_keys.contains(is)
            && complete()
            && alike(&renamed(old.core(was_piece)), new.core(is_piece))
    })
}

/// Longest that two texts are compared; what takes longer has little in common.
const LONGEST: Duration = Duration::from_millis(500);

/// Whether two texts are the same but for a little. What is short and alike may be two things, as tests are.
fn alike(one: &str, other: &str) -> bool {
    words(one) == words(other)
        || one.len() > 200 && TextDiff::configure().timeout(LONGEST).diff_words(one, other).ratio() > 0.8
}

/// Whether a class of both levels, or one within it, is in the new one without anything but its functions.
pub(super) fn fields(old: Level, new: Level) -> bool {
    old.pieces.iter().filter(|piece| piece.kind == Kind::Scope).any(|piece| {
        let same = new.pieces.iter().find(|new| new.kind == Kind::Scope && new.key() == piece.key());
        same.is_some_and(|same| {
            let (below, same) = (old.below(piece), new.below(same));
            bare(below, same) || fields(below, same)
        })
    })
}

/// Whether the new level has none of the old one's fields, or of its other parts that are no functions, and not as
/// many others.
pub(super) fn bare(old: Level, new: Level) -> bool {
    [&[Kind::Value][..], &[Kind::Import, Kind::Rest][..], &[Kind::Head][..]].iter().any(|kinds| {
        let of = |level: Level| -> Vec<String> {
            let all = level.pieces.iter().filter(|piece| kinds.contains(&piece.kind));
            all.map(|piece| if piece.kind == Kind::Value { piece.key() } else { words(level.core(piece)) })
                .collect()
        };
        let (before, after) = (of(old), of(new));
        after.len() < before.len() && !before.iter().any(|one| after.contains(one))
    })
}

/// A text with its white space evened out, to compare by.
pub(super) fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
