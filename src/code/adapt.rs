//! Fits an answer that was meant as a file, or as a part of one, into the file: whole, by its parts, or not.
//!
//! No definition of the file is lost on the way; where that cannot be told, the answer is refused.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::answer::{Answer, Extent};
use super::data;
use super::elide::{self, Elision};
use super::findings::{self, Finding};
use super::language::{Language, language};
use super::lost::{self, Depth, Level};
use super::merge::{Merge, Source, Unfit};
use super::outline::{Kind, Piece, outline};
use super::parse::LARGEST;

/// What an answer that was meant for a file turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adapted {
    /// The whole new text.
    Whole(String),
    /// Some definitions, put in the place of the old ones: the whole new text, and the names of those that
    /// changed or are new.
    Parts { text: String, names: Vec<String> },
}

/// An answer that is neither the whole nor known parts of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Misfit {
    pub why: Why,
    /// Names that the file defines and the answer lacks; those of a class as `Class.method`.
    pub missing: Vec<String>,
    /// Names that the answer defines and the file does not, or that the file has more than once; or a
    /// statement that has no place in the file.
    pub unknown: Vec<String>,
    /// All names of the file.
    pub known: Vec<String>,
}

/// What is wrong with a misfit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Why {
    /// The names that it lacks, or those that the file does not know.
    #[default]
    Names,
    /// A line of the answer stands for code that it leaves out, such as `# ... rest unchanged`.
    Elided(String),
    /// It does not parse; the line is one of the answer.
    Broken(Finding),
}

/// Names that the text defines at its top level, in order, each once: functions, classes and other types,
/// variables and constants; methods of Go as `Type.method`, of Rust `impl Type`. Of a data file its keys.
pub fn names(path: &str, text: &str) -> Vec<String> {
    match language(path) {
        Some(language @ (Language::Json | Language::Toml)) => data::keys(language, text),
        Some(language) => outline(language, text).map_or_else(Vec::new, |outline| listed(&outline.pieces)),
        None => Vec::new(),
    }
}

fn listed(pieces: &[Piece]) -> Vec<String> {
    let mut seen = HashSet::new();
    let names = pieces.iter().filter(|piece| piece.defines()).flat_map(|piece| &piece.names);
    names.filter(|name| seen.insert(name.as_str())).cloned().collect()
}

/// Fits an answer into the file it was meant for.
///
/// It is the whole if it defines all that the file defines, at its top level and in its classes; a definition
/// that only has another name is not lost. Else its definitions take the places of those that they are known
/// as, members of a class included; new ones go beside their neighbours, new imports to the others. What is
/// written before a definition (comments, decorators, `export`) stays if the answer does not give it.
pub fn adapt(path: &str, old: &str, answer: &str) -> Result<Adapted, Misfit> {
    let whole = || Ok(Adapted::Whole(ended(answer, old)));
    if old.trim().is_empty() || old.trim_end() == answer.trim_end() {
        return whole();
    }
    let refused = |misfit: Misfit| Err(Misfit { known: names(path, old), ..misfit });
    if answer.trim().is_empty() {
        return refused(Misfit { missing: names(path, old), ..Misfit::default() });
    }
    let adapted = match language(path) {
        Some(language @ (Language::Json | Language::Toml)) => fit_data(language, old, answer),
        Some(Language::Braces) | None => fit_text(old, answer),
        Some(language) => match outline(language, old) {
            Some(outline) => fit_code(language, Source { text: old, outline: &outline }, answer),
            None => fit_text(old, answer),
        },
    };
    adapted.or_else(refused)
}

/// The answer, with a last line end if the file had one.
fn ended(answer: &str, old: &str) -> String {
    let end = if old.ends_with('\n') && !answer.ends_with('\n') { "\n" } else { "" };
    format!("{answer}{end}")
}

impl From<Why> for Misfit {
    fn from(why: Why) -> Self {
        Self { why, ..Self::default() }
    }
}

pub(super) fn elided(elision: &Elision) -> Misfit {
    Why::Elided(elision.line.clone()).into()
}

/// Text that nothing reads is taken as it is, unless it says itself that it is not all.
fn fit_text(old: &str, answer: &str) -> Result<Adapted, Misfit> {
    match elide::lines(answer, old, None).first() {
        Some(elision) => Err(elided(elision)),
        None => Ok(Adapted::Whole(ended(answer, old))),
    }
}

/// A data file has to parse if it did, and one of less than half the keys is a fragment.
fn fit_data(language: Language, old: &str, answer: &str) -> Result<Adapted, Misfit> {
    let adapted = fit_text(old, answer)?;
    if let Some(broken) = data::findings(language, answer)
        && old.len() <= LARGEST
        && data::findings(language, old).is_none()
    {
        return Err(Why::Broken(broken).into());
    }
    let (before, after) = (data::keys(language, old), data::keys(language, answer));
    let missing: Vec<String> = before.iter().filter(|key| !after.contains(key)).cloned().collect();
    if before.len() >= 3 && missing.len() * 2 > before.len() {
        return Err(Misfit { missing, ..Misfit::default() });
    }
    Ok(adapted)
}

fn fit_code(language: Language, old: Source, answer: &str) -> Result<Adapted, Misfit> {
    let was_broken = || !findings::of(language, old.text).is_empty();
    let new = match Answer::read(language, old.text, answer) {
        Err(Misfit { why: Why::Broken(_), .. }) if was_broken() => return fit_broken(old.text, answer),
        read => read?,
    };
    if !old.outline.sound {
        return fit_broken(old.text, answer);
    }
    let pieces = new.pieces();
    let before = Level { text: old.text, pieces: &old.outline.pieces, depth: Depth::Top };
    let after = Level { text: &new.text, pieces, depth: Depth::Top };
    let missing = lost::names(before, after);
    let all = missing.is_empty() && new.extent == Extent::Full;
    let whole = || Ok(Adapted::Whole(ended(answer, old.text)));
    if all && is_whole(before, after) {
        return whole();
    }
    match Merge::new(language, old, &new).run(pieces) {
        Err(_) if all => whole(),
        Err(Unfit { missing: narrow, unknown }) => {
            let missing = if narrow.is_empty() { missing } else { narrow };
            Err(Misfit { missing, unknown, ..Misfit::default() })
        }
        // What was meant to change is then not in the definitions: something was to go.
        Ok((text, _)) if text == old.text && all => whole(),
        Ok((text, _)) if text == old.text && new.extent == Extent::Full => {
            Err(Misfit { missing, ..Misfit::default() })
        }
        Ok((text, names)) => Ok(Adapted::Parts { text, names }),
    }
}

/// Whether an answer that defines everything is all of the file: it also has what runs there, and shows at
/// least some of what is no definition. Otherwise it is only its definitions, such as the one function of a
/// file without the imports above it.
fn is_whole(old: Level, new: Level) -> bool {
    let line = |level: Level, piece: &Piece| {
        let first = level.text[piece.core..piece.end].lines().next();
        lost::words(first.unwrap_or_default())
    };
    let there: Vec<String> = new.pieces.iter().map(|piece| line(new, piece)).collect();
    let mut others = old.pieces.iter().filter(|piece| !piece.defines()).peekable();
    let shows = others.peek().is_none() || others.any(|piece| there.contains(&line(old, piece)));
    let mut runs = old.pieces.iter().filter(|piece| matches!(piece.kind, Kind::Rest | Kind::Guard));
    shows && runs.all(|piece| there.contains(&line(old, piece)))
}

/// A definition that starts a line, in any of the languages.
static DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
    let before = r"(?:export |default |pub(?:\([^)\n]*\))? |async |unsafe |abstract |static |declare )*";
    let word = r"(?:def|class|fn|func|function\*?|struct|enum|trait|interface|type|mod|const|let|var)";
    let form = format!(r"(?m)^{before}{word}\s+(?:\([^)\n]*\)\s*)?([A-Za-z_$][\w$]*)");
    Regex::new(&form).expect("the form is valid")
});

/// A file that does not parse can only be taken as a whole: what its errors hide is not known. What looks like
/// a definition has to be there still.
fn fit_broken(old: &str, answer: &str) -> Result<Adapted, Misfit> {
    if let Some(elision) = elide::lines(answer, old, None).first() {
        return Err(elided(elision));
    }
    let scan = |text: &str| -> Vec<String> {
        DEFINITION.captures_iter(text).map(|found| found[1].to_owned()).collect()
    };
    let after = scan(answer);
    let missing: Vec<String> = scan(old).into_iter().filter(|name| !after.contains(name)).collect();
    if missing.is_empty() {
        Ok(Adapted::Whole(ended(answer, old)))
    } else {
        Err(Misfit { missing, ..Misfit::default() })
    }
}
