//! Searching file contents by regular expression, in process.
//!
//! `data`: `pattern`, `count` (matches found), `files` (with a match), `offset`, `more`, `literal` (the
//! pattern was no valid expression and was searched for as it stands). Of lines: `matches` (`path`
//! absolute, `line` from 1, `text`, and `context` for a line that only stands near). Of files and counts:
//! `paths` (absolute) and `counts` (`path`, `count`).

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use ignore::types::{Types, TypesBuilder};
use serde_json::{Value, json};

use super::change::FILE_MOST;
use super::output::rows_that_fit;
use super::walk::{self, Hidden, Pattern, Stop, Walk};
use super::{ToolCx, failed, given, path, words};
use crate::model::{Grep, MOST_LINES, Outcome, Show};
use crate::sandbox::files;

const DEFAULT_LIMIT: u64 = 100;
const MOST_LIMIT: u64 = 2_000;
/// Matching lines that are counted at all.
const MOST_COUNTED: u64 = 10_000;
/// Characters of a line that are shown.
const LINE_MOST: usize = 500;
/// Lines around a match that are shown at most, on either side.
const NEAR_MOST: usize = 50;
/// A single line longer than this ends the search of its file.
const HEAP: usize = 16 * 1024 * 1024;

struct Search {
    walk: Walk,
    glob: Option<Pattern>,
    types: Option<Types>,
    matcher: RegexMatcher,
    searcher: Searcher,
    part: Part,
}

/// Which of the matches, or files with one, are shown.
#[derive(Clone, Copy)]
struct Part {
    show: Show,
    offset: u64,
    limit: u64,
}

impl Part {
    /// Whether the `nth`, from 1, is in it.
    fn has(self, nth: u64) -> bool {
        nth > self.offset && nth - self.offset <= self.limit
    }
}

#[derive(Default)]
struct Hits {
    shown: Vec<Hit>,
    /// Files with a match, and how many it has.
    found: Vec<(PathBuf, u64)>,
    count: u64,
}

struct Hit {
    path: PathBuf,
    line: u64,
    text: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Match,
    Context,
}

pub(super) async fn run(cx: &ToolCx<'_>, ask: &Grep) -> Outcome {
    let (search, literal) = match prepare(cx, ask) {
        Ok(ready) => ready,
        Err(refusal) => return refusal,
    };
    let part = search.part;
    match walk::blocking(cx, move || search.run()).await {
        Ok((hits, stop)) => Told { cx, ask, hits, stop, part }.outcome(literal.as_deref()),
        Err(refusal) => refusal,
    }
}

fn prepare(cx: &ToolCx<'_>, ask: &Grep) -> Result<(Search, Option<String>), Outcome> {
    if ask.pattern.is_empty() {
        return Err(failed(
            "bad_pattern",
            "the pattern is empty, which every line matches; give a word to look for",
        ));
    }
    let glob_text = ask.glob.as_deref().filter(|glob| !glob.is_empty());
    let hidden = match ask.ignored {
        true => Hidden::ShowIgnored,
        false => glob_text.map_or(Hidden::Skip, walk::wants_hidden),
    };
    let walk = Walk::new(cx, ask.path.as_deref(), hidden)?;
    let glob = glob_text.map(Pattern::new).transpose()?;
    let types = ask.kind.as_deref().filter(|kind| !kind.is_empty()).map(types).transpose()?;
    let many_lines = ask.multiline || ask.pattern.contains('\n') || ask.pattern.contains("\\n");
    let (matcher, literal) = matcher(ask, many_lines)?;
    let searcher = SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(if many_lines { usize::try_from(FILE_MOST).unwrap_or(HEAP) } else { HEAP }))
        .multi_line(many_lines)
        .before_context(lines_near(ask, ask.before))
        .after_context(lines_near(ask, ask.after))
        .build();
    let limit = given(ask.limit).unwrap_or(DEFAULT_LIMIT).min(MOST_LIMIT);
    let part = Part { show: ask.show, offset: ask.offset.unwrap_or(0), limit };
    Ok((Search { walk, glob, types, matcher, searcher, part }, literal))
}

fn lines_near(ask: &Grep, lines: Option<u32>) -> usize {
    match ask.show {
        Show::Lines => usize::try_from(lines.unwrap_or(0)).unwrap_or(usize::MAX).min(NEAR_MOST),
        Show::Files | Show::Counts => 0,
    }
}

/// Files of a type by its name in ripgrep, or by the end of their names.
fn types(kind: &str) -> Result<Types, Outcome> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let known = builder.definitions().iter().any(|type_| type_.name() == kind);
    let added = known || builder.add(kind, &format!("*.{}", globset::escape(kind))).is_ok();
    let built = builder.select(kind).build();
    match built {
        Ok(types) if added => Ok(types),
        Ok(_) | Err(_) => {
            Err(failed("bad_type", format!("`{kind}` is no type of file; give one such as rust, py or js")))
        }
    }
}

/// The expression; or, where it is none, the same characters, and what was wrong with them.
fn matcher(ask: &Grep, many_lines: bool) -> Result<(RegexMatcher, Option<String>), Outcome> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(ask.ignore_case).multi_line(true).dot_matches_new_line(ask.multiline);
    if !many_lines {
        builder.line_terminator(Some(b'\n'));
    }
    match builder.build(&ask.pattern) {
        Ok(matcher) => Ok((matcher, None)),
        Err(why) => {
            let matcher = builder.fixed_strings(true).build(&ask.pattern).map_err(|error| {
                failed("bad_pattern", format!("the pattern cannot be searched for: {error}"))
            })?;
            let why = why.to_string();
            Ok((matcher, Some(why.lines().last().unwrap_or_default().trim().to_owned())))
        }
    }
}

impl Search {
    fn run(mut self) -> (Hits, Stop) {
        let mut hits = Hits::default();
        let Self { walk, glob, types, matcher, searcher, part } = &mut self;
        let stop = walk.run(&mut |entry| {
            let inside = entry.path().strip_prefix(&walk.root).unwrap_or(entry.path());
            let plain = entry.file_type().is_some_and(|kind| kind.is_file());
            let of_type =
                || types.as_ref().is_none_or(|types| types.matched(entry.path(), false).is_whitelist());
            let wanted = entry.depth() == 0
                || (plain && of_type() && glob.as_ref().is_none_or(|glob| glob.fits(inside)));
            if wanted {
                hits.search(entry.path(), (walk, matcher, searcher), *part);
            }
            let full = hits.count >= MOST_COUNTED;
            if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (hits, stop)
    }
}

impl Hits {
    fn search(&mut self, path: &Path, with: (&Walk, &RegexMatcher, &mut Searcher), part: Part) {
        let (walk, matcher, searcher) = with;
        let Ok(opened) = files::open(&walk.policy, path) else { return };
        if opened.file.metadata().map_or(true, |meta| meta.len() > FILE_MOST) {
            return;
        }
        let before = self.count;
        let mut taker = Taker { hits: self, walk, path, part, near: Vec::new(), takes: false };
        // What cannot be read to its end still showed what it had.
        let _ = searcher.search_file(matcher, &opened.file, &mut taker);
        if self.count > before {
            self.found.push((path.to_owned(), self.count - before));
        }
    }
}

/// Takes what the search of one file finds.
struct Taker<'a> {
    hits: &'a mut Hits,
    walk: &'a Walk,
    path: &'a Path,
    part: Part,
    /// Lines before a match that may come.
    near: Vec<Hit>,
    /// The last match is one that is shown.
    takes: bool,
}

impl Taker<'_> {
    /// No more than can be shown: one match may be all of a file.
    fn rows(&self, line: Option<u64>, bytes: &[u8], kind: Kind) -> Vec<Hit> {
        let rows = bytes.split_inclusive(|byte| *byte == b'\n').zip(line.unwrap_or(1)..);
        let rows = rows.take(MOST_LINES + 1);
        rows.map(|(row, line)| Hit { path: self.path.to_owned(), line, text: clip(row), kind }).collect()
    }
}

impl Sink for Taker<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.hits.count += 1;
        self.takes = self.part.has(self.hits.count);
        let near = std::mem::take(&mut self.near);
        if self.part.show == Show::Files {
            return Ok(false);
        }
        if self.takes && self.part.show == Show::Lines {
            self.hits.shown.extend(near);
            let rows = self.rows(found.line_number(), found.bytes(), Kind::Match);
            self.hits.shown.extend(rows);
        }
        Ok(self.hits.count < MOST_COUNTED && !self.walk.bound.over())
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let rows = self.rows(near.line_number(), near.bytes(), Kind::Context);
        match near.kind() {
            SinkContextKind::Before => self.near.extend(rows),
            SinkContextKind::After if self.takes => self.hits.shown.extend(rows),
            SinkContextKind::After | SinkContextKind::Other => {}
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.near.clear();
        Ok(true)
    }
}

fn clip(bytes: &[u8]) -> String {
    let line = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * LINE_MOST + 4)]);
    let line = line.trim_end_matches(['\r', '\n']);
    match line.char_indices().nth(LINE_MOST) {
        Some((end, _)) => format!("{}… [line cut]", &line[..end]),
        None => line.to_owned(),
    }
}

/// What was found, on its way into an outcome.
struct Told<'a> {
    cx: &'a ToolCx<'a>,
    ask: &'a Grep,
    hits: Hits,
    stop: Stop,
    part: Part,
}

impl Told<'_> {
    fn outcome(&self, literal: Option<&str>) -> Outcome {
        let (mut text, left, shown) = match self.part.show {
            Show::Lines => self.lines(),
            Show::Files | Show::Counts => self.files(),
        };
        let more = left.is_some() || self.stop != Stop::Through;
        if text.is_empty() {
            let skipped = self.hits.count > 0;
            let what = if skipped { "no further line matches" } else { "no line matches" };
            text = format!("{what} {}", path::show_str(&self.ask.pattern));
        }
        text.push_str(&walk::rest_note(self.stop, left));
        if let Some(why) = literal {
            text.push_str(&format!(
                "\n[searched for the pattern as plain text; as an expression it is not valid: {why}]"
            ));
        }
        let mut data = json!({
            "pattern": self.ask.pattern,
            "count": self.hits.count,
            "files": self.hits.found.len(),
            "offset": self.part.offset,
            "more": more,
            "literal": literal.is_some(),
        });
        if let (Value::Object(data), Value::Object(shown)) = (&mut data, shown) {
            data.extend(shown);
        }
        Outcome { data, ..Outcome::ok(text) }
    }

    /// As text, what is left of them, and as data.
    fn lines(&self) -> (String, Option<String>, Value) {
        let Self { cx, hits, part, .. } = self;
        let row = |hit: &Hit| {
            let (path, line, text) = (path::short(cx.cwd, &hit.path), hit.line, &hit.text);
            match hit.kind {
                Kind::Match => format!("{path}:{line}:{text}"),
                Kind::Context => format!("{path}-{line}-{text}"),
            }
        };
        let mut rows: Vec<String> = hits.shown.iter().map(row).collect();
        rows.truncate(rows_that_fit(&rows, &cx.limits));
        let shown = &hits.shown[..rows.len()];
        // Several rows may be one match that goes over lines.
        let cut = rows.len() < hits.shown.len();
        let last = part.offset.saturating_add(part.limit).min(hits.count);
        let left = (cut || last < hits.count).then(|| {
            let all = words::count(hits.count, "matching line");
            let files = words::count(hits.found.len() as u64, "file");
            let matches = shown.iter().filter(|hit| hit.kind == Kind::Match).count() as u64;
            match part.offset {
                0 => format!("the first {matches} of {all} in {files}"),
                from => format!("{} to {} of {all} in {files}", from + 1, from + matches),
            }
        });
        let matches: Vec<Value> = shown
            .iter()
            .map(|hit| {
                let mut one = json!({ "path": path::show(&hit.path), "line": hit.line, "text": hit.text });
                if hit.kind == Kind::Context {
                    one["context"] = true.into();
                }
                one
            })
            .collect();
        (rows.join("\n"), left, json!({ "matches": matches }))
    }

    fn files(&self) -> (String, Option<String>, Value) {
        let Self { cx, hits, part, .. } = self;
        let found: Vec<&(PathBuf, u64)> =
            (1..).zip(&hits.found).filter(|(nth, _)| part.has(*nth)).map(|(_, found)| found).collect();
        let row = |(path, count): &&(PathBuf, u64)| match part.show {
            Show::Counts => format!("{}:{count}", path::short(cx.cwd, path)),
            Show::Files | Show::Lines => path::short(cx.cwd, path),
        };
        let mut rows: Vec<String> = found.iter().map(row).collect();
        rows.truncate(rows_that_fit(&rows, &cx.limits));
        let all = hits.found.len() as u64;
        let until = part.offset.saturating_add(rows.len() as u64);
        let left = (until < all).then(|| {
            let all = words::count(all, "file");
            match part.offset {
                0 => format!("the first {until} of {all}"),
                from => format!("{} to {until} of {all}", from + 1),
            }
        });
        let paths: Vec<String> = found[..rows.len()].iter().map(|(path, _)| path::show(path)).collect();
        let counts = found[..rows.len()]
            .iter()
            .map(|(path, count)| json!({ "path": path::show(path), "count": count }));
        let counts: Vec<Value> = counts.collect();
        (rows.join("\n"), left, json!({ "paths": paths, "counts": counts }))
    }
}
