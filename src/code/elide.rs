//! Lines that stand for code which an answer leaves out: `# ... rest unchanged`, `// existing code`, `...`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::language::Language;
use super::outline::{Kind, Outline, Piece};

/// Such a line, or the comment at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Elision {
    /// Of its first letter, in the answer.
    pub at: usize,
    pub line: String,
    pub hole: Hole,
}

/// What is known to be left out, from the line alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hole {
    /// Depends on where the line stands.
    Place,
    /// The body of the function that the line opens.
    Body,
}

/// What such comments say, without dots.
static SAYS: LazyLock<Regex> = LazyLock::new(|| {
    let code = "code|file|class|functions?|modules?|methods?|implementation|script|program|body|logic|imports?|definitions?";
    let forms = [
        format!(r"^(the )?(rest|remainder) of (the |your |this |my )?(\w+ )?({code})\b"),
        format!(
            r"^(the |your |keep )?(rest|remaining|existing|previous|other|original) (\w+ )?({code})( (here|above|below|unchanged|omitted|(goes|go|continues?|remains?|stays?|are|is)\b.*))?$"
        ),
        format!(
            r"^(\w+ )?({code}) (unchanged|omitted|(remains?|stays?|is|are) (unchanged|the same|omitted|as before))\b"
        ),
        r"^(unchanged|no changes?( here| needed)?|(the )?same as (before|above|original))$".to_owned(),
        r"\bomitted for brevity\b".to_owned(),
    ];
    Regex::new(&format!("(?i){}", forms.join("|"))).expect("the forms are valid")
});

/// What such comments say after dots.
static AFTER_DOTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(rest|unchanged|existing|remain\w*|same|others?|omitted|previous|before|keep|more|code|etc|methods?|functions?)\b")
        .expect("the words are valid")
});

/// Whether a comment, without its marks, stands for code.
fn stands_for_code(comment: &str) -> bool {
    let marks = |c: char| c.is_whitespace() || "#/*-;<!>{}()[]".contains(c);
    let said = comment.trim_matches(marks);
    let words = said.trim_matches(|c: char| c == '.' || c == '…' || c.is_whitespace());
    let dotted = said.starts_with("...") || said.starts_with('…');
    dotted && (words.is_empty() || AFTER_DOTS.is_match(words)) || SAYS.is_match(words)
}

/// Lines of the answer that stand for code and are not in the old text. Comments are found as given, else by
/// the way that lines start.
pub(super) fn lines(answer: &str, old: &str, comments: Option<&[Range<usize>]>) -> Vec<Elision> {
    let mut found = Vec::new();
    let (mut start, mut stub) = (0, false);
    for line in answer.split_inclusive('\n') {
        let end = start + line.len();
        let trimmed = line.trim();
        let at = start + line.len() - line.trim_start().len();
        let known = || old.lines().any(|old| old.trim() == trimmed);
        let comment = match comments {
            Some(all) => {
                all.iter().find(|range| (start..end).contains(&range.start)).map(|range| range.start)
            }
            None => COMMENTS.iter().any(|mark| trimmed.starts_with(mark)).then_some(at),
        };
        let comment = comment.map(|at| (at, answer[at..end].trim_end()));
        if let Some((at, text)) = comment.filter(|(_, text)| stands_for_code(text) && !known()) {
            found.push(Elision { at, line: text.to_owned(), hole: Hole::Place });
        } else if let Some(hole) =
            dots(trimmed).filter(|hole| !stub && !known() && !bodiless(trimmed, *hole, old))
        {
            found.push(Elision { at, line: trimmed.to_owned(), hole });
        }
        // A stub's dots follow its header, which follows its decorator.
        stub = trimmed.starts_with("@overload")
            || trimmed.starts_with("@abstract")
            || trimmed.starts_with("@typing.overload")
            || stub && trimmed.contains("def ") && !trimmed.ends_with("...");
        start = end;
    }
    found
}

/// How lines start that are comments in one language or another.
const COMMENTS: [&str; 7] = ["#", "//", "/*", "--", ";", "<!--", "{/*"];

/// What a line of dots leaves out.
fn dots(line: &str) -> Option<Hole> {
    let opens = line.ends_with(": ...") && !line.starts_with("class ") || line.ends_with("{ ... }");
    match line {
        "..." | "…" => Some(Hole::Place),
        _ => opens.then_some(Hole::Body),
    }
}

/// Whether the function that a line opens has no body in the old text either: it is a stub there, or not there.
fn bodiless(line: &str, hole: Hole, old: &str) -> bool {
    let name = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("async ").unwrap_or(line).strip_prefix("def ")?;
        line.split_once('(').map(|(name, _)| name.trim().to_owned())
    };
    let Some(wanted) = name(line).filter(|_| hole == Hole::Body) else { return false };
    let mut same = old.lines().filter(|old| name(old).as_ref() == Some(&wanted));
    same.all(|old| dots(old.trim()) == Some(Hole::Body))
}

/// Whether a place lies within a function or a value, whose text is then not known.
pub(super) fn hides_body(at: usize, outline: &Outline, answer: &str, language: Language) -> bool {
    let Some(last) = innermost(&outline.pieces, at) else { return false };
    if last.kind == Kind::Scope {
        return false;
    }
    let column = |at: usize| answer[..at].len() - answer[..at].rfind('\n').map_or(0, |end| end + 1);
    // A comment at the end of a Python block may lie outside of the block's node.
    let behind = language == Language::Python && at >= last.end && column(at) > column(last.start);
    (last.core + 1..last.end).contains(&at)
        || behind && matches!(last.kind, Kind::Function | Kind::Block | Kind::Guard)
}

/// The piece that holds a place, or else the last that ends before it.
fn innermost(pieces: &[Piece], at: usize) -> Option<&Piece> {
    let piece = pieces.iter().rfind(|piece| piece.start <= at)?;
    let member = innermost(&piece.members, at);
    Some(member.unwrap_or(piece))
}
