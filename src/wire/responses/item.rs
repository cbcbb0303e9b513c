//! One item of a reply: put together from events, or read as a whole. Pure.
//!
//! Its texts are pieces, each of one sort and number. A piece that the server has told as a whole
//! is settled: what comes for it after that came late or twice.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::FREE_FIELD;
use crate::wire::AnswerPart;
use crate::wire::json::{Raw, read, word};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Reasoning,
    Call,
    /// A call to a free-form tool.
    Free,
    /// Work of a tool that runs at the server, or something newer than this code.
    #[default]
    Other,
}

/// What a text in an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Text,
    Refusal,
    /// Of the reasoning, written for people.
    Summary,
    /// The reasoning itself, where a server shows it.
    Thought,
    /// Arguments of a call.
    Args,
    /// The text of a call to a free-form tool.
    Input,
}

#[derive(Debug, Default)]
pub(super) struct Item {
    pub id: Option<String>,
    /// Its place in the reply, where the server numbers them.
    pub index: Option<u64>,
    pub kind: Kind,
    pub call_id: Option<String>,
    pub name: String,
    /// The reasoning in a form that only its server can read.
    sealed: Option<String>,
    pieces: Vec<Piece>,
    /// The server told it as a whole.
    pub done: bool,
    /// The server told that it is not all of it.
    pub cut: bool,
    /// Its opening was passed on.
    pub opened: bool,
}

#[derive(Debug)]
struct Piece {
    sort: Sort,
    number: u64,
    text: String,
    settled: bool,
}

/// An item as the server writes it.
#[derive(Default, Deserialize)]
pub(super) struct Written<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    id: Raw<'a>,
    #[serde(borrow, default)]
    call_id: Raw<'a>,
    #[serde(borrow, default)]
    name: Raw<'a>,
    #[serde(borrow, default)]
    status: Raw<'a>,
    #[serde(borrow, default)]
    content: Raw<'a>,
    #[serde(borrow, default)]
    summary: Raw<'a>,
    #[serde(borrow, default)]
    encrypted_content: Raw<'a>,
    #[serde(borrow, default)]
    arguments: Raw<'a>,
    #[serde(borrow, default)]
    input: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Raw<'a>,
    #[serde(borrow, default)]
    refusal: Raw<'a>,
}

impl Sort {
    /// The kind of item that such a text belongs to.
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Text | Self::Refusal => Kind::Message,
            Self::Summary | Self::Thought => Kind::Reasoning,
            Self::Args => Kind::Call,
            Self::Input => Kind::Free,
        }
    }
}

impl Written<'_> {
    pub(super) fn kind(&self) -> Kind {
        match read::<String>(self.kind).as_deref() {
            Some("message") => Kind::Message,
            Some("reasoning") => Kind::Reasoning,
            Some("function_call") => Kind::Call,
            Some("custom_tool_call") => Kind::Free,
            Some(_) | None => Kind::Other,
        }
    }

    pub(super) fn id(&self) -> Option<String> {
        word(self.id)
    }

    pub(super) fn call_id(&self) -> Option<String> {
        word(self.call_id)
    }

    /// Every text in it that is not empty, with its sort and number.
    pub(super) fn texts(&self) -> Vec<(Sort, u64, String)> {
        match self.kind() {
            Kind::Message => parts(self.content, Sort::Text),
            Kind::Reasoning => {
                let mut texts = parts(self.summary, Sort::Summary);
                texts.extend(parts(self.content, Sort::Thought));
                texts
            }
            Kind::Call => args(self.arguments).map(|text| (Sort::Args, 0, text)).into_iter().collect(),
            Kind::Free => word(self.input).map(|text| (Sort::Input, 0, text)).into_iter().collect(),
            Kind::Other => Vec::new(),
        }
    }
}

/// Arguments that are an object instead of a string count as its text.
pub(super) fn args(raw: Raw) -> Option<String> {
    match raw?.get() {
        text if text.starts_with('"') => word(raw),
        text if text.starts_with('{') => Some(text.to_owned()),
        _ => None,
    }
}

/// The texts of a list of parts, or of a string that stands for one.
fn parts(raw: Raw, sort: Sort) -> Vec<(Sort, u64, String)> {
    if let Some(text) = word(raw) {
        return vec![(sort, 0, text)];
    }
    let parts: Vec<Raw> = read(raw).unwrap_or_default();
    let text = |raw| {
        let part: Part = read(raw).unwrap_or_default();
        word(part.text).map(|text| (sort, text)).or_else(|| word(part.refusal).map(|t| (Sort::Refusal, t)))
    };
    let numbered = (0..).zip(parts.into_iter().map(text));
    numbered.filter_map(|(number, found)| found.map(|(sort, text)| (sort, number, text))).collect()
}

impl Item {
    pub(super) fn new(kind: Kind, id: Option<String>, index: Option<u64>) -> Self {
        Self { kind, id, index, ..Self::default() }
    }

    /// The item that stands written here, whole.
    pub(super) fn whole(written: &Written) -> Self {
        let mut item = Self::new(written.kind(), None, None);
        item.name(written);
        for (sort, number, text) in written.texts() {
            item.settle(sort, number, text);
        }
        item.done = true;
        item
    }

    /// Takes over what is written beside the texts.
    pub(super) fn name(&mut self, written: &Written) {
        self.kind = written.kind();
        self.id = written.id().or(self.id.take());
        self.call_id = written.call_id().or(self.call_id.take());
        if let Some(name) = word(written.name) {
            self.name = name;
        }
        self.sealed = word(written.encrypted_content).or(self.sealed.take());
        self.cut = read::<String>(written.status).as_deref() == Some("incomplete");
    }

    /// Adds to a piece. None when it is settled; else whether this opened it.
    pub(super) fn add(&mut self, sort: Sort, number: u64, text: &str) -> Option<bool> {
        let at = self.pieces.iter().rposition(|piece| piece.sort == sort && piece.number == number);
        let Some(at) = at else {
            self.pieces.push(Piece { sort, number, text: text.to_owned(), settled: false });
            return Some(true);
        };
        let piece = &mut self.pieces[at];
        if piece.settled {
            return None;
        }
        piece.text.push_str(text);
        Some(false)
    }

    /// Takes a piece as a whole, and gives the end of it that had not come, and whether none had.
    pub(super) fn settle(&mut self, sort: Sort, number: u64, text: String) -> Option<(String, bool)> {
        let at = self.pieces.iter().rposition(|piece| piece.sort == sort && piece.number == number);
        let Some(at) = at else {
            self.pieces.push(Piece { sort, number, text: text.clone(), settled: true });
            return Some((text, true));
        };
        let piece = &mut self.pieces[at];
        let rest = text.strip_prefix(piece.text.as_str()).filter(|rest| !rest.is_empty());
        let rest = rest.map(|rest| (rest.to_owned(), false));
        piece.text = text;
        piece.settled = true;
        rest
    }

    pub(super) fn refused(&self) -> bool {
        self.kind == Kind::Message && self.pieces.iter().any(|piece| piece.sort == Sort::Refusal)
    }

    /// No text of it was told.
    pub(super) fn is_bare(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self.kind, Kind::Call | Kind::Free)
    }

    /// The arguments as an [`AnswerPart`] has them.
    pub(super) fn args(&self) -> String {
        match self.kind {
            Kind::Free => json!({ FREE_FIELD: self.texts(Sort::Input).concat() }).to_string(),
            Kind::Call | Kind::Message | Kind::Reasoning | Kind::Other => self.texts(Sort::Args).concat(),
        }
    }

    /// What it is in an answer; None when it says nothing.
    pub(super) fn part(&self) -> Option<AnswerPart> {
        match self.kind {
            Kind::Message => {
                let text: String = self.pieces.iter().map(|piece| piece.text.as_str()).collect();
                (!text.is_empty()).then_some(AnswerPart::Text(text))
            }
            Kind::Reasoning => self.thinking(),
            Kind::Call | Kind::Free => {
                let id = self.call_id.clone().or_else(|| self.id.clone());
                Some(AnswerPart::Call { id, name: self.name.clone(), args: self.args() })
            }
            Kind::Other => None,
        }
    }

    /// The seal holds all that a request needs to have the item again.
    fn thinking(&self) -> Option<AnswerPart> {
        let (summary, content) = (self.texts(Sort::Summary), self.texts(Sort::Thought));
        let (field, texts) = if summary.is_empty() { ("content", &content) } else { ("summary", &summary) };
        if texts.is_empty() && self.sealed.is_none() {
            return None;
        }
        let list = |kind: &str, texts: &[&str]| -> Value {
            texts.iter().map(|text| json!({"type": kind, "text": text})).collect()
        };
        let mut seal = Map::new();
        if let Some(id) = &self.id {
            seal.insert("id".into(), id.as_str().into());
        }
        seal.insert("summary".into(), list("summary_text", &summary));
        if !content.is_empty() {
            seal.insert("content".into(), list("reasoning_text", &content));
        }
        if let Some(sealed) = &self.sealed {
            seal.insert("encrypted_content".into(), sealed.as_str().into());
        }
        let (text, field) = (texts.join("\n"), Some(field.to_owned()));
        Some(AnswerPart::Thinking { text, field, seal: Some(seal.into()) })
    }

    /// The texts of one sort by their numbers.
    fn texts(&self, sort: Sort) -> Vec<&str> {
        let mut pieces: Vec<&Piece> = self.pieces.iter().filter(|piece| piece.sort == sort).collect();
        pieces.sort_by_key(|piece| piece.number);
        pieces.into_iter().map(|piece| piece.text.as_str()).collect()
    }
}
