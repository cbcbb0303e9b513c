//! What a call would touch, and what its change of files would make: looked at before it runs, and changing
//! nothing, not even what the toolbox remembers.

use std::path::PathBuf;

use super::patch_text::{self, Section};
use super::{ToolCx, change, diff, hunk, insert, path, rewrite, splice};
use crate::model::{Action, Edit, Outcome, WriteMode};
use crate::sandbox::Op;

/// A file or folder that a call names; links are not followed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    pub path: PathBuf,
    pub op: Op,
}

/// One file's change. None: the file is not there before, or not after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// As the model wrote it.
    pub path: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// The new bytes of a file, by the old ones.
type Make<'a> = &'a dyn Fn(Option<&[u8]>) -> Option<Vec<u8>>;

/// What the action itself names. Of commands nothing: they are for whoever reads command lines.
pub fn touches(action: &Action, cx: &ToolCx<'_>) -> Vec<Touch> {
    let written = |path: &String| (path.clone(), Op::Write);
    let raw: Vec<(String, Op)> = match action {
        Action::Write { path, .. }
        | Action::Rewrite { path, .. }
        | Action::Edit { path, .. }
        | Action::Insert { path, .. }
        | Action::Undo { path }
        | Action::Notebook { path, .. } => vec![written(path)],
        Action::Patch { .. } | Action::Diff { .. } => {
            sections(action, cx).iter().flat_map(names).map(|path| (path, Op::Write)).collect()
        }
        Action::Read(ask) => vec![(ask.path.clone(), Op::Read)],
        Action::List { path, .. } => vec![(path.clone(), Op::Read)],
        Action::Glob(ask) => ask.path.iter().map(|path| (path.clone(), Op::Read)).collect(),
        Action::Grep(ask) => ask.path.iter().map(|path| (path.clone(), Op::Read)).collect(),
        Action::Find { path, .. } => path.iter().map(|path| (path.clone(), Op::Read)).collect(),
        Action::Shell { .. }
        | Action::Job { .. }
        | Action::Todo { .. }
        | Action::Tasks { .. }
        | Action::Keys { .. }
        | Action::Fetch { .. }
        | Action::Script { .. }
        | Action::Tools { .. }
        | Action::Submit { .. }
        | Action::Unknown { .. } => Vec::new(),
    };
    let known = |(raw, op): (String, Op)| path::resolve(cx, &raw).ok().map(|path| Touch { path, op });
    raw.into_iter().filter_map(known).collect()
}

/// What the change would make of each file; None where that is not known before it is made, or where it
/// does not fit the files as they are now.
pub fn preview(action: &Action, cx: &ToolCx<'_>) -> Option<Vec<Preview>> {
    let one = |path: &str, make: Make<'_>| {
        let old = change::load(cx, path).ok()?.map(|loaded| loaded.raw);
        let after = Some(make(old.as_deref())?);
        Some(vec![Preview::of(path, (old, after))?])
    };
    match action {
        Action::Write { path, text, mode } => one(path, &|old| match (mode, old) {
            (WriteMode::Append, Some(old)) => Some([old, text.as_bytes()].concat()),
            (WriteMode::Append | WriteMode::Create | WriteMode::Replace, _) => {
                Some(text.clone().into_bytes())
            }
        }),
        Action::Rewrite { path, text } => one(path, &|old| rewrite::made(cx, path, (old, text))),
        Action::Edit { path, edits, .. } => one(path, &|old| edited(old.unwrap_or_default(), edits)),
        Action::Insert { path, line, text } => one(path, &|old| insert::made(old?, *line, text)),
        Action::Patch { .. } | Action::Diff { .. } => {
            let sections = sections(action, cx);
            let made: Option<Vec<_>> = sections.iter().map(|section| patched(section, cx)).collect();
            made.map(|made| made.into_iter().flatten().collect::<Vec<_>>()).filter(|made| !made.is_empty())
        }
        _ => None,
    }
}

impl Preview {
    fn of(path: &str, (before, after): (Option<Vec<u8>>, Option<Vec<u8>>)) -> Option<Self> {
        let text = |bytes: Option<Vec<u8>>| bytes.map(String::from_utf8).transpose().ok();
        Some(Self { path: path.to_owned(), before: text(before)?, after: text(after)? })
    }
}

fn edited(old: &[u8], edits: &[Edit]) -> Option<Vec<u8>> {
    if let [Edit { old: wanted, new, .. }] = edits
        && wanted.is_empty()
    {
        return old.is_empty().then(|| new.clone().into_bytes());
    }
    let mut all = Vec::new();
    for edit in edits {
        all.extend(splice::plan(old, edit).ok()?);
    }
    all.sort_by_key(|splice| splice.from);
    let apart = all.windows(2).all(|pair| pair[0].to <= pair[1].from);
    apart.then(|| splice::apply(old, &all).0)
}

fn sections(action: &Action, cx: &ToolCx<'_>) -> Vec<Section> {
    match action {
        Action::Patch { text, cwd } => {
            let mut sections = patch_text::parse(text).unwrap_or_default();
            if let Some(folder) = cwd {
                sections.iter_mut().for_each(|section| section.start_from(folder));
            }
            sections
        }
        Action::Diff { text, files, path, fuzz, create } => {
            let ask = diff::Ask { text, files, path: path.as_deref(), fuzz: *fuzz, create: *create };
            ask.sections(cx).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn names(section: &Section) -> Vec<String> {
    let to = match section {
        Section::Update { to, .. } => to.clone(),
        Section::Add { .. } | Section::Delete { .. } => None,
    };
    std::iter::once(section.path().to_owned()).chain(to).collect()
}

fn patched(section: &Section, cx: &ToolCx<'_>) -> Option<Vec<Preview>> {
    let load = |path: &str| -> Result<Option<Vec<u8>>, Outcome> {
        Ok(change::load(cx, path)?.map(|loaded| loaded.raw))
    };
    let old = load(section.path()).ok()?;
    let one = |path: &str, change| Preview::of(path, change).map(|made| vec![made]);
    match section {
        Section::Add { path, text } => one(path, (old, Some(text.clone().into_bytes()))),
        Section::Delete { path } => one(path, (old, None)),
        Section::Update { path, to, hunks } => {
            let old = old?;
            let after = hunk::apply(&old, hunks).ok()?;
            match to {
                None => one(path, (Some(old), Some(after))),
                Some(to) => {
                    let gone = Preview::of(path, (Some(old), None))?;
                    let there = Preview::of(to, (load(to).ok()?, Some(after)))?;
                    Some(vec![gone, there])
                }
            }
        }
    }
}
