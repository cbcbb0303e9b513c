//! Searching file contents by regular expression, in process.
//!
//! `data`: `pattern`, `count` (matching lines found), `files` (with a match), `more`, `literal` (the
//! pattern was no valid expression and was searched for as it stands), `matches`
//! (`path` absolute, `line` from 1, `text`).

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks};
use serde_json::json;

use super::change::FILE_MOST;
use super::output::rows_that_fit;
use super::walk::{self, Hidden, Pattern, Stop, Walk};
use super::{ToolCx, failed, given, path, words};
use crate::model::Outcome;
use crate::sandbox::files;

const DEFAULT_LIMIT: u64 = 100;
const MOST_LIMIT: u64 = 2_000;
/// Matching lines that are counted at all.
const MOST_COUNTED: u64 = 10_000;
/// Characters of a line that are shown.
const LINE_MOST: usize = 500;
/// A single line longer than this ends the search of its file.
const HEAP: usize = 16 * 1024 * 1024;

pub(super) struct Ask<'a> {
    pub(super) pattern: &'a str,
    pub(super) path: Option<&'a str>,
    pub(super) glob: Option<&'a str>,
    pub(super) limit: Option<u64>,
    pub(super) ignore_case: bool,
}

struct Search {
    walk: Walk,
    glob: Option<Pattern>,
    matcher: RegexMatcher,
    searcher: Searcher,
    limit: u64,
}

#[derive(Default)]
struct Hits {
    shown: Vec<Hit>,
    count: u64,
    files: u64,
}

struct Hit {
    path: PathBuf,
    line: u64,
    text: String,
}

pub(super) async fn run(cx: &ToolCx<'_>, ask: Ask<'_>) -> Outcome {
    let (search, literal) = match prepare(cx, &ask) {
        Ok(ready) => ready,
        Err(refusal) => return refusal,
    };
    match walk::blocking(cx, move || search.run()).await {
        Ok((hits, stop)) => tell(cx, &ask, (hits, stop, literal)),
        Err(refusal) => refusal,
    }
}

fn prepare(cx: &ToolCx<'_>, ask: &Ask<'_>) -> Result<(Search, Option<String>), Outcome> {
    if ask.pattern.is_empty() {
        return Err(failed(
            "bad_pattern",
            "the pattern is empty, which every line matches; give a word to look for",
        ));
    }
    let glob_text = ask.glob.filter(|glob| !glob.is_empty());
    let hidden = glob_text.map_or(Hidden::Skip, walk::wants_hidden);
    let walk = Walk::new(cx, ask.path, hidden)?;
    let glob = glob_text.map(Pattern::new).transpose()?;
    let many_lines = ask.pattern.contains('\n') || ask.pattern.contains("\\n");
    let (matcher, literal) = matcher(ask, many_lines)?;
    let searcher = SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(if many_lines { usize::try_from(FILE_MOST).unwrap_or(HEAP) } else { HEAP }))
        .multi_line(many_lines)
        .build();
    let limit = given(ask.limit).unwrap_or(DEFAULT_LIMIT).min(MOST_LIMIT);
    Ok((Search { walk, glob, matcher, searcher, limit }, literal))
}

/// The expression; or, where it is none, the same characters, and what was wrong with them.
fn matcher(ask: &Ask<'_>, many_lines: bool) -> Result<(RegexMatcher, Option<String>), Outcome> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(ask.ignore_case).multi_line(true);
    if !many_lines {
        builder.line_terminator(Some(b'\n'));
    }
    match builder.build(ask.pattern) {
        Ok(matcher) => Ok((matcher, None)),
        Err(why) => {
            let matcher = builder.fixed_strings(true).build(ask.pattern).map_err(|error| {
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
        let Self { walk, glob, matcher, searcher, limit } = &mut self;
        let stop = walk.run(&mut |entry| {
            let inside = entry.path().strip_prefix(&walk.root).unwrap_or(entry.path());
            let plain = entry.file_type().is_some_and(|kind| kind.is_file());
            let wanted = entry.depth() == 0 || (plain && glob.as_ref().is_none_or(|glob| glob.fits(inside)));
            if wanted {
                hits.search(entry.path(), (walk, matcher, searcher), *limit);
            }
            if hits.count >= MOST_COUNTED { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (hits, stop)
    }
}

impl Hits {
    fn search(&mut self, path: &Path, with: (&Walk, &RegexMatcher, &mut Searcher), limit: u64) {
        let (walk, matcher, searcher) = with;
        let Ok(opened) = files::open(&walk.policy, path) else { return };
        if opened.file.metadata().map_or(true, |meta| meta.len() > FILE_MOST) {
            return;
        }
        let before = self.count;
        let sink = sinks::Bytes(|line, bytes| {
            self.count += 1;
            if self.count <= limit {
                self.shown.push(Hit { path: path.to_owned(), line, text: clip(bytes) });
            }
            Ok(self.count < MOST_COUNTED && !walk.bound.over())
        });
        // What cannot be read to its end still showed what it had.
        let _ = searcher.search_file(matcher, &opened.file, sink);
        self.files += u64::from(self.count > before);
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

fn tell(cx: &ToolCx<'_>, ask: &Ask<'_>, (hits, stop, literal): (Hits, Stop, Option<String>)) -> Outcome {
    let mut rows: Vec<String> = hits
        .shown
        .iter()
        .map(|hit| format!("{}:{}:{}", path::short(cx.cwd, &hit.path), hit.line, hit.text))
        .collect();
    rows.truncate(rows_that_fit(&rows, &cx.limits));
    let shown = &hits.shown[..rows.len()];
    let left = hits.count > rows.len() as u64;
    let more = left || stop != Stop::Through;
    let left = left.then(|| {
        let (lines, files) = (words::count(hits.count, "matching line"), words::count(hits.files, "file"));
        format!("the first {} of {lines} in {files}", rows.len())
    });
    let mut text = rows.join("\n");
    if rows.is_empty() {
        text = format!("no line matches {}", path::show_str(ask.pattern));
    }
    text.push_str(&walk::rest_note(stop, left));
    if let Some(why) = &literal {
        text.push_str(&format!(
            "\n[searched for the pattern as plain text; as an expression it is not valid: {why}]"
        ));
    }
    let matches: Vec<_> = shown
        .iter()
        .map(|hit| json!({ "path": path::show(&hit.path), "line": hit.line, "text": hit.text }))
        .collect();
    let data = json!({
        "pattern": ask.pattern,
        "count": hits.count,
        "files": hits.files,
        "more": more,
        "literal": literal.is_some(),
        "matches": matches,
    });
    Outcome { data, ..Outcome::ok(text) }
}
