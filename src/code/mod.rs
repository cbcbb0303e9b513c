//! Source code as far as tack has to understand it: which language a file is in, whether it parses, what
//! it defines at its top level, and how an answer that holds only some of it goes into the whole.
//!
//! Pure: texts in, texts and places out. Knows no files, actions or tools. What no parser here reads is
//! left alone: no findings, no names, and an answer is the whole text.

/// Something that keeps a text from parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// From 1.
    pub line: usize,
    /// In a few words, as a compiler would say it.
    pub what: String,
}

/// What an answer that was meant for a file turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adapted {
    /// The whole new text.
    Whole(String),
    /// Some definitions, put in the place of the old ones: the whole new text, and their names.
    Parts { text: String, names: Vec<String> },
}

/// An answer that is neither the whole nor known parts of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Misfit {
    /// Names that the file defines and the answer lacks.
    pub missing: Vec<String>,
    /// Names that the answer defines and the file does not.
    pub unknown: Vec<String>,
    /// All names of the file.
    pub known: Vec<String>,
    /// The line of the answer that stands for code it leaves out, such as `# ... rest unchanged`.
    pub elided: Option<String>,
    /// Why the answer does not parse; its line is one of the answer.
    pub broken: Option<Finding>,
}

/// The language of a file, if it is one of ours.
pub fn language(_path: &str) -> Option<()> {
    None
}

/// Errors of syntax, by the file's name; empty where it parses or where no parser reads it.
pub fn findings(_path: &str, _text: &str) -> Vec<Finding> {
    Vec::new()
}

/// What `after` has and `before` had not.
pub fn new_findings(path: &str, before: &str, after: &str) -> Vec<Finding> {
    let old = findings(path, before);
    findings(path, after).into_iter().filter(|new| !old.iter().any(|old| old.what == new.what)).collect()
}

/// Names that the text defines at its top level, in order.
pub fn names(_path: &str, _text: &str) -> Vec<String> {
    Vec::new()
}

/// Fits an answer into the file it was meant for.
pub fn adapt(_path: &str, _old: &str, answer: &str) -> Result<Adapted, Misfit> {
    Ok(Adapted::Whole(answer.to_owned()))
}
