//! Fits an answer that was meant as a file, or as a part of one, into the file: whole, by its parts, or not.
//!
//! No definition of the file is lost on the way; where that cannot be told, the answer is refused.

use std::collections::HashSet;

use super::answer::{Answer, Extent, Form};
use super::data;
use super::elide::{self, Elision};
use super::findings::{self, Finding};
use super::going::Going;
use super::language::{Language, language};
use super::lost::{self, Depth, Level};
use super::merge::{Merge, Source, Unfit, example};
use super::outline::{Kind, Piece, outline};
use super::parse::LARGEST;
use super::plain;

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
    /// It has so many lines where the file has so many.
    Short([usize; 2]),
}

/// Most names that are looked for elsewhere.
const MOVED: usize = 50;

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
/// It is the whole if it defines all that the file defines, at its top level and in its classes, and shows some of
/// what else there is; a definition that only has another name is not lost, nor one that was to go. Else its
/// definitions take the places of those that they are known as, members of a class included; new ones go beside
/// their neighbours, new imports to the others. What is written before a definition (comments, decorators,
/// `export`) stays if the answer does not give it, and so do the comments that open a file.
pub fn adapt(path: &str, old: &str, answer: &str, going: &Going) -> Result<Adapted, Misfit> {
    if old.trim().is_empty() || old.trim_end() == answer.trim_end() {
        return Ok(Adapted::Whole(ended(answer, old)));
    }
    let refused = |misfit: Misfit| Err(Misfit { known: names(path, old), ..misfit });
    if answer.trim().is_empty() {
        return refused(Misfit { missing: names(path, old), ..Misfit::default() });
    }
    let plain = plain::unnumbered(old, answer);
    let answer = plain.as_deref().unwrap_or(answer);
    let fit = Fit { path, old, going };
    let adapted = match language(path) {
        Some(language @ (Language::Json | Language::Toml)) => fit.data(language, answer),
        Some(Language::Braces) | None => fit.text(answer),
        Some(language) => match outline(language, old) {
            Some(outline) => fit.code(language, Source { text: old, outline: &outline }, answer),
            None => fit.text(answer),
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

/// The file that an answer has to fit into.
struct Fit<'a> {
    path: &'a str,
    old: &'a str,
    going: &'a Going,
}

impl Fit<'_> {
    fn whole(&self, answer: &str) -> Result<Adapted, Misfit> {
        Ok(Adapted::Whole(ended(answer, self.old)))
    }

    /// Text that nothing reads is taken as it is, unless it says itself that it is not all.
    fn text(&self, answer: &str) -> Result<Adapted, Misfit> {
        plain::check(self.path, self.old, answer, self.going)?;
        self.whole(answer)
    }

    /// A data file has to parse if it did, and one of half the keys is a fragment.
    fn data(&self, language: Language, answer: &str) -> Result<Adapted, Misfit> {
        if let Some(broken) = data::findings(language, answer)
            && self.old.len() <= LARGEST
            && data::findings(language, self.old).is_none()
        {
            return Err(Why::Broken(broken).into());
        }
        let (before, after) = (data::paths(language, self.old), data::paths(language, answer));
        if before.is_empty() {
            return self.text(answer);
        }
        let after: HashSet<String> = after.into_iter().collect();
        let missing = before.iter().filter(|key| !after.contains(*key) && !self.going.key(key));
        let missing: Vec<String> = missing.cloned().collect();
        if before.len() >= 3 && missing.len() * 2 >= before.len() && !self.going.less() {
            return Err(Misfit { missing, ..Misfit::default() });
        }
        if let Some(elision) = elide::lines(answer, self.old, None).first() {
            return Err(elided(elision));
        }
        self.whole(answer)
    }

    fn code(&self, language: Language, old: Source, answer: &str) -> Result<Adapted, Misfit> {
        let was_broken = || !findings::of(language, old.text).is_empty();
        let new = match Answer::read(language, old.text, answer) {
            Err(Misfit { why: Why::Broken(_), .. }) if was_broken() => return self.broken(answer),
            read => read?,
        };
        if !old.outline.sound {
            return self.broken(answer);
        }
        let pieces = new.pieces();
        let before = Level { text: old.text, pieces: &old.outline.pieces, depth: Depth::Top };
        let after = Level { text: &new.text, pieces, depth: Depth::Top };
        let mut missing = lost::names(before, after);
        let count = missing.len();
        if missing.len() <= MOVED {
            missing.retain(|name| !lost::moved(name, old.text, &new.text));
        }
        let moved = missing.len() < count;
        missing.retain(|name| !self.going.name(name));
        let all = missing.is_empty() && new.extent == Extent::Full;
        let whole = || {
            // In the file's own sort of indentation, unless that is all that was to change.
            let kept = ended(if new.form == Form::Pieces { &new.text } else { answer }, old.text);
            let text = if kept == old.text { ended(answer, old.text) } else { kept };
            Ok(Adapted::Whole(headed(old.text, &text)))
        };
        if all && (is_whole(before, after) || moved && shows_enough(before, after)) {
            return whole();
        }
        match Merge::new(language, old, &new).run(pieces) {
            Err(_) if all && shows_enough(before, after) => whole(),
            Err(Unfit { missing: narrow, unknown }) => {
                let missing = if narrow.is_empty() { missing } else { narrow };
                Err(Misfit { missing, unknown, ..Misfit::default() })
            }
            // What was meant to change is then not in the definitions: something was to go.
            Ok((text, _)) if text == old.text && all && (shows_any(before, after) || self.going.any()) => {
                whole()
            }
            Ok((text, _)) if text == old.text && new.extent == Extent::Full => {
                Err(Misfit { missing, ..Misfit::default() })
            }
            Ok((text, names)) => Ok(Adapted::Parts { text, names }),
        }
    }

    /// A file that does not parse can only be taken as a whole: what its errors hide is not known. What looks
    /// like a definition has to be there still.
    fn broken(&self, answer: &str) -> Result<Adapted, Misfit> {
        plain::check(self.path, self.old, answer, self.going)?;
        let missing = plain::missing(self.path, self.old, answer, self.going);
        if missing.is_empty() { self.whole(answer) } else { Err(Misfit { missing, ..Misfit::default() }) }
    }
}

/// The answer below the comments that open the file, such as a licence or a program to run it with, if it has none.
fn headed(old: &str, answer: &str) -> String {
    let comment = |line: &&str| line.starts_with('#') && !line.starts_with("#[") || line.starts_with("//");
    let head: usize = old.split_inclusive('\n').take_while(comment).map(str::len).sum();
    let rest = &old[head..];
    let blank = rest.len() - rest.trim_start_matches('\n').len();
    // Comments that stand right above a definition are its own, save for those that programs read.
    let apart = blank > 0 || old.starts_with("#!");
    let same = || old[head + blank..].trim_end() == answer.trim();
    if head == 0 || !apart || answer.lines().next().is_some_and(|line| comment(&line)) || same() {
        return answer.to_owned();
    }
    format!("{}{}", &old[..head + blank], answer.trim_start_matches('\n'))
}

/// The first line of a piece, to know it by.
fn line(level: Level, piece: &Piece) -> String {
    lost::words(level.text[piece.core..piece.end].lines().next().unwrap_or_default())
}

/// Whether an answer that defines everything is all of the file: it also has what runs there, and shows at
/// least some of what is no definition. Otherwise it is only its definitions, such as the one function of a
/// file without the imports above it.
fn is_whole(old: Level, new: Level) -> bool {
    // What ran there may run in a function now.
    let there: Vec<String> = new.text.lines().map(lost::words).collect();
    let mut runs = old.pieces.iter().filter(|piece| matches!(piece.kind, Kind::Rest | Kind::Guard));
    shows_any(old, new) && runs.all(|piece| there.contains(&line(old, piece))) && !lost::fields(old, new)
}

/// Whether the answer shows some of what is no definition, if there is any.
fn shows_any(old: Level, new: Level) -> bool {
    let there: Vec<String> = new.pieces.iter().map(|piece| line(new, piece)).collect();
    let mut others = old.pieces.iter().filter(|piece| !piece.defines()).peekable();
    others.peek().is_none() || others.any(|piece| there.contains(&line(old, piece)))
}

/// Whether an answer with statements that the file does not have is all of it nevertheless: it has about as many,
/// of all sorts.
fn shows_enough(old: Level, new: Level) -> bool {
    let shown = old.pieces.iter().any(|piece| example(&old.text[piece.core..piece.end]));
    let counted = |level: Level, kinds: &[Kind]| {
        let all = level.pieces.iter().filter(|piece| kinds.contains(&piece.kind));
        all.filter(|piece| shown || !example(&level.text[piece.core..piece.end])).count()
    };
    let sorts = [Kind::Rest, Kind::Guard].map(|kind| [kind]);
    let all = &[Kind::Rest, Kind::Guard, Kind::Import];
    sorts.iter().all(|kind| counted(old, kind) == 0 || counted(new, kind) > 0)
        && counted(new, all) * 2 >= counted(old, all)
}
