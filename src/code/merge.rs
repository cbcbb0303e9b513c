//! Puts the pieces of an answer into the places of those that they replace, and new ones beside them.

use std::ops::Range;

use super::answer::{Answer, Extent, Form};
use super::imports;
use super::language::Language;
use super::lost;
use super::outline::{Kind, Outline, Piece};
use super::place;

/// Names that keep an answer from being put in.
#[derive(Debug, Default)]
pub(super) struct Unfit {
    pub missing: Vec<String>,
    pub unknown: Vec<String>,
}

impl Unfit {
    pub fn unknown(what: impl Into<String>) -> Self {
        Self { unknown: vec![what.into()], ..Self::default() }
    }
}

/// A text with its outline.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub text: &'a str,
    pub outline: &'a Outline,
}

/// A text and the edits that it is to have.
pub(super) struct Merge<'a> {
    pub language: Language,
    pub old: Source<'a>,
    pub new: Source<'a>,
    extent: Extent,
    form: Form,
    edits: Vec<(Range<usize>, String)>,
    names: Vec<String>,
}

impl<'a> Merge<'a> {
    pub fn new(language: Language, old: Source<'a>, answer: &'a Answer) -> Self {
        let new = Source { text: &answer.text, outline: &answer.outline };
        let (extent, form) = (answer.extent, answer.form);
        Self { language, old, new, extent, form, edits: Vec::new(), names: Vec::new() }
    }

    /// The old text with the pieces of the answer, and the names of what changed.
    pub fn run(mut self, pieces: &'a [Piece]) -> Result<(String, Vec<String>), Unfit> {
        let old = &self.old.outline.pieces;
        self.level(old, pieces, None)?;
        self.edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut text = String::new();
        let mut done = 0;
        for (range, put) in &self.edits {
            text.push_str(&self.old.text[done..range.start]);
            text.push_str(put);
            done = range.end;
        }
        text.push_str(&self.old.text[done..]);
        self.names.dedup();
        Ok((text, self.names))
    }

    /// Fits pieces among old ones, at the top of the file or in a scope.
    fn level(&mut self, old: &'a [Piece], new: &'a [Piece], scope: Option<&'a Piece>) -> Result<(), Unfit> {
        self.rest(old, new)?;
        imports::merge(self, old, new)?;
        let new: Vec<&Piece> =
            new.iter().filter(|piece| piece.defines() || piece.kind == Kind::Guard).collect();
        let mut places = Vec::new();
        for piece in &new {
            places.push(self.partner(old, &new, piece)?);
        }
        if scope.is_none() && places.iter().all(Option::is_none) {
            let unknown = new.iter().flat_map(|piece| piece.names.clone()).collect();
            return Err(Unfit { unknown, ..Unfit::default() });
        }
        // A new piece goes beside a neighbour of its own level, not into the class of a method.
        let near =
            |place: &Option<&'a Piece>| place.filter(|place| self.form == Form::Methods || is_of(place, old));
        let near: Vec<Option<&Piece>> = places.iter().map(near).collect();
        for (at, piece) in new.iter().enumerate() {
            if let Some(old) = places[at] {
                self.replace(old, piece)?;
                continue;
            }
            let before = near[..at].iter().rev().find_map(|place| *place);
            let after = near[at..].iter().find_map(|place| *place);
            if scope.is_none() && before.or(after).is_none() {
                return Err(Unfit::unknown(piece.key()));
            }
            let last = old.iter().rfind(|piece| piece.defines());
            match (before.or(if after.is_some() { None } else { last }), after) {
                (Some(before), _) => self.insert(before, piece, Side::After),
                (None, Some(after)) => self.insert(after, piece, Side::Before),
                (None, None) => return Err(Unfit::unknown(piece.key())),
            }
        }
        Ok(())
    }

    /// Statements that define nothing have to be those of the old text: there is no telling where others go.
    fn rest(&mut self, old: &'a [Piece], new: &'a [Piece]) -> Result<(), Unfit> {
        let shown = old.iter().any(|piece| example(&self.old.text[piece.core..piece.end]));
        for piece in new.iter().filter(|piece| matches!(piece.kind, Kind::Rest | Kind::Head)) {
            let text = &self.new.text[piece.core..piece.end];
            let same = |old: &&Piece| lost::words(&self.old.text[old.core..old.end]) == lost::words(text);
            if piece.kind == Kind::Rest
                && !old.iter().any(|old| same(&old))
                && (shown || !example(text))
                && text != "..."
            {
                return Err(Unfit::unknown(text.lines().next().unwrap_or_default()));
            }
        }
        Ok(())
    }

    /// The old piece that a new one stands for, if there is one.
    fn partner(
        &self,
        old: &'a [Piece],
        new: &[&'a Piece],
        piece: &'a Piece,
    ) -> Result<Option<&'a Piece>, Unfit> {
        let key = piece.key();
        let known: Vec<&Piece> =
            old.iter().filter(|old| old.key() == key && old.kind != Kind::Import).collect();
        let same: Vec<&&Piece> = new.iter().filter(|new| new.key() == key).collect();
        if known.is_empty() {
            return self.method(old, piece);
        }
        if self.form == Form::Methods {
            return Err(Unfit::unknown(key));
        }
        let place = same.iter().position(|one| one.start == piece.start).unwrap_or(0);
        if known.len() == same.len() {
            return Ok(Some(known[place]));
        }
        let mut alike = known.iter().filter(|old| old.mark == piece.mark);
        match (alike.next(), alike.next()) {
            (Some(one), None) if same.iter().filter(|new| new.mark == piece.mark).count() == 1 => {
                Ok(Some(one))
            }
            _ => Err(Unfit::unknown(key)),
        }
    }

    /// The method that a function without its class stands for; none if it is new.
    fn method(&self, old: &'a [Piece], piece: &'a Piece) -> Result<Option<&'a Piece>, Unfit> {
        let shared = |old: &&Piece| old.defines() && old.names.iter().any(|name| piece.names.contains(name));
        if let Some(wider) = old.iter().find(shared) {
            let missing: Vec<String> =
                wider.names.iter().filter(|name| !piece.names.contains(name)).cloned().collect();
            if missing.is_empty() && wider.kind == piece.kind {
                return Ok(Some(wider));
            }
            return Err(Unfit { missing, ..Unfit::default() });
        }
        if piece.kind != Kind::Function {
            return Ok(None);
        }
        let mut found = Vec::new();
        methods(old, &piece.key(), &mut found);
        let takes = |text: &str, piece: &Piece| takes_self(&text[piece.core..piece.end]);
        let own = takes(self.new.text, piece);
        match found[..] {
            [one] if own == takes(self.old.text, one) => Ok(Some(one)),
            [] if !own || !self.at_top(old) => Ok(None),
            _ => Err(Unfit::unknown(piece.key())),
        }
    }

    fn at_top(&self, old: &[Piece]) -> bool {
        std::ptr::eq(old, &raw const self.old.outline.pieces[..])
    }

    fn replace(&mut self, old: &'a Piece, new: &'a Piece) -> Result<(), Unfit> {
        let scopes = old.kind == Kind::Scope && new.kind == Kind::Scope && !old.members.is_empty();
        if scopes
            && (self.extent == Extent::Partial
                || !lost::names(self.members(old), self.members_new(new)).is_empty()
                || lost::bare(self.members(old), self.members_new(new)))
        {
            self.header(old, new);
            return self.level(&old.members, &new.members, Some(old));
        }
        let put = self.fitted(old, new);
        if put != self.old.text[old.range()] {
            self.names.extend(new.names.iter().cloned());
            self.edits.push((old.range(), put));
        }
        Ok(())
    }

    fn members(&self, piece: &'a Piece) -> lost::Level<'a> {
        lost::Level { text: self.old.text, pieces: &piece.members, depth: lost::Depth::Members }
    }

    fn members_new(&self, piece: &'a Piece) -> lost::Level<'a> {
        lost::Level { text: self.new.text, pieces: &piece.members, depth: lost::Depth::Members }
    }

    /// The line that opens a class, where the answer's says more than the bare name.
    fn header(&mut self, old: &Piece, new: &Piece) {
        let (Some(old_body), Some(new_body)) = (old.body, new.body) else { return };
        let (before, after) = (&self.old.text[old.core..old_body], &self.new.text[new.core..new_body]);
        let bare = lost::words(after);
        let bare = bare.trim_end_matches([':', '{', ' ']);
        if self.language == Language::Rust || lost::words(before).starts_with(bare) {
            return;
        }
        let (before, after) = (before.trim_end(), after.trim_end());
        self.names.extend(new.names.iter().cloned());
        self.edits.push((old.core..old.core + before.len(), after.to_owned()));
    }

    /// A new piece as it has to stand in the place of an old one. What it does not say stays: comments before
    /// it, decorators, `export`.
    fn fitted(&self, old: &Piece, new: &Piece) -> String {
        let to = place::indent_at(self.old.text, old.start);
        let part = |from: [usize; 2], of: [usize; 2]| {
            let new_part = &self.new.text[from[0]..from[1]];
            if new_part.trim().is_empty() {
                self.old.text[of[0]..of[1]].to_owned()
            } else {
                self.moved(new, from, to)
            }
        };
        let mut put = part([new.start, new.marks], [old.start, old.marks]);
        put += &part([new.marks, new.head], [old.marks, old.head]);
        put += &part([new.head, new.core], [old.head, old.core]);
        let core = self.moved(new, [new.core, new.end], to);
        let core =
            if self.script() && !is_of(old, &self.old.outline.pieces) { unfunction(&core) } else { core };
        put + &core
    }

    fn script(&self) -> bool {
        matches!(self.language, Language::JavaScript | Language::TypeScript | Language::Tsx)
    }

    fn moved(&self, new: &Piece, [start, end]: [usize; 2], to: &str) -> String {
        let from = place::indent_at(self.new.text, new.start);
        let row = self.new.text[..start].matches('\n').count();
        place::moved(&self.new.text[start..end], [from, to], row, &self.new.outline.strings)
    }

    fn insert(&mut self, beside: &'a Piece, new: &'a Piece, side: Side) {
        let to = place::indent_at(self.old.text, beside.start);
        let put = self.moved(new, [new.start, new.end], to);
        let gap = self.gap(new);
        self.names.extend(new.names.iter().cloned());
        self.edits.push(match side {
            Side::After => (beside.end..beside.end, format!("{gap}{to}{put}")),
            Side::Before => (beside.start..beside.start, format!("{put}{gap}{to}")),
        });
    }

    /// The line ends between a new piece and its neighbour in the answer.
    fn gap(&self, new: &Piece) -> String {
        let text = self.new.text;
        let before = text[..new.start].trim_end_matches([' ', '\t', '\n']);
        let above = text[before.len()..new.start].matches('\n').count();
        let after = &text[new.end..];
        let below = after[..after.len() - after.trim_start().len()].matches('\n').count();
        let found = if before.is_empty() || before.ends_with([':', '{']) { below } else { above };
        "\n".repeat(if found == 0 { 2 } else { found.min(3) })
    }

    /// Puts a text at a place between pieces.
    pub fn put(&mut self, range: Range<usize>, text: String) {
        self.edits.push((range, text));
    }
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

fn is_of(piece: &Piece, level: &[Piece]) -> bool {
    level.iter().any(|one| one.range() == piece.range())
}

/// A call that shows how to use what was written; not part of the file.
pub(super) fn example(text: &str) -> bool {
    ["print(", "console.log("].iter().any(|call| text.starts_with(call))
}

/// Whether a function's first parameter is the object it belongs to.
fn takes_self(core: &str) -> bool {
    let Some((_, parameters)) = core.split_once('(') else { return false };
    let first = parameters.split([',', ')', ':']).next().unwrap_or_default();
    matches!(first.rsplit([' ', '&']).next().unwrap_or_default().trim(), "self" | "cls")
}

/// A function of a script as a method: without its keyword.
fn unfunction(core: &str) -> String {
    match core.strip_prefix("async function ") {
        Some(rest) => format!("async {rest}"),
        None => core.strip_prefix("function ").unwrap_or(core).to_owned(),
    }
}

/// All functions of a name below some pieces.
fn methods<'a>(pieces: &'a [Piece], key: &str, found: &mut Vec<&'a Piece>) {
    for piece in pieces {
        found.extend(piece.members.iter().filter(|one| one.kind == Kind::Function && one.key() == key));
        methods(&piece.members, key, found);
    }
}
