//! An answer, read as far as its pieces can be put into a file: out of the indentation that it came in, with
//! the file's own sort of it, and without the lines that stand for code it leaves out.

use super::adapt::{Misfit, Why, elided};
use super::elide::{self, Elision, Hole};
use super::findings::{self, Finding};
use super::language::Language;
use super::outline::{Kind, Outline, Piece, outline};
use super::place;

/// How much an answer's pieces say about what they do not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// A scope with all of the old one's functions is the whole scope.
    Full,
    /// A line says that something was left out.
    Partial,
}

/// What an answer's pieces are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Pieces as they stand at the top of a file.
    Pieces,
    /// Methods without the class that a script needs around them.
    Methods,
}

/// An answer and its pieces.
pub(super) struct Answer {
    pub text: String,
    pub outline: Outline,
    pub extent: Extent,
    pub form: Form,
}

/// What is put around methods so that a script's grammar reads them.
const CLASS: [&str; 2] = ["class _ {\n", "\n}\n"];

impl Answer {
    pub fn read(language: Language, old: &str, answer: &str) -> Result<Self, Misfit> {
        let text = place::dedent(answer);
        let first = parsed(language, &text);
        let comments = first.as_ref().ok().map(|outline| &outline.comments[..]);
        let elisions = elide::lines(&text, old, comments);
        if let Some(body) = elisions.iter().find(|one| one.hole == Hole::Body) {
            return Err(elided(body));
        }
        let text = blanked(language, text, &elisions);
        let (form, text, outline) = match pieces(language, text) {
            Ok(read) => read,
            Err(broken) => {
                let broken = Why::Broken(broken).into();
                return Err(elisions.first().map_or(broken, elided));
            }
        };
        let shift = if form == Form::Methods { CLASS[0].len() } else { 0 };
        if let Some(body) =
            elisions.iter().find(|one| elide::hides_body(one.at + shift, &outline, &text, language))
        {
            return Err(elided(body));
        }
        let extent = if elisions.is_empty() { Extent::Full } else { Extent::Partial };
        let (text, outline) = in_units(language, old, text, outline);
        Ok(Self { text, outline, extent, form })
    }

    /// What it is to put in.
    pub fn pieces(&self) -> &[Piece] {
        match self.form {
            Form::Pieces => &self.outline.pieces,
            Form::Methods => &self.outline.pieces[0].members,
        }
    }
}

fn parsed(language: Language, text: &str) -> Result<Outline, Finding> {
    let broken = findings::of(language, text).into_iter().next();
    let too_much = || Finding { line: 1, what: "too large to be parsed".to_owned() };
    broken.map_or_else(|| outline(language, text).ok_or_else(too_much), Err)
}

/// The pieces of a text; of a script those of a class, where they are methods without one.
fn pieces(language: Language, text: String) -> Result<(Form, String, Outline), Finding> {
    let plain = parsed(language, &text);
    let script = matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx);
    if script && !plain.as_ref().is_ok_and(|outline| outline.pieces.iter().any(Piece::defines)) {
        let wrapped = format!("{}{text}{}", CLASS[0], CLASS[1]);
        if let Ok(outline) = parsed(language, &wrapped)
            && let [class] = &outline.pieces[..]
            && !class.members.is_empty()
            && class.members.iter().all(|member| member.kind == Kind::Function)
        {
            return Ok((Form::Methods, wrapped, outline));
        }
    }
    plain.map(|outline| (Form::Pieces, text, outline))
}

/// The text with spaces for elisions, so that places stay as they are. Python needs its dots: they may be all
/// that a body holds.
fn blanked(language: Language, mut text: String, elisions: &[Elision]) -> String {
    for elision in elisions {
        let range = elision.at..elision.at + elision.line.len();
        if language != Language::Python
            || !text[range.clone()].ends_with("...")
            || text[range.clone()].contains('#')
        {
            let spaces = " ".repeat(range.len());
            text.replace_range(range, &spaces);
        }
    }
    text
}

/// With tabs where the file has tabs, and spaces where it has those.
fn in_units(language: Language, old: &str, text: String, found: Outline) -> (String, Outline) {
    let strings = outline(language, old).map_or_else(Vec::new, |outline| outline.strings);
    let units = (place::unit(&text, &found.strings), place::unit(old, &strings));
    let (Some(from), Some(to)) = units else { return (text, found) };
    if from.starts_with('\t') == to.starts_with('\t') {
        return (text, found);
    }
    let converted = place::converted(&text, &from, &to, &found.strings);
    match outline(language, &converted) {
        Some(outline) if outline.pieces.len() == found.pieces.len() => (converted, outline),
        _ => (text, found),
    }
}
