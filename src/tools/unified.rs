//! The text of a unified diff, as `diff -u` and git write it and models do from memory.
//!
//! Format: GNU diffutils manual, "Detailed Description of Unified Format"; git's extra headers: git-diff
//! documentation, "Generating patch text with -p". Models count lines badly, so the numbers of a hunk
//! tell where its lines end only as long as they fit.

use super::hunk::{Hunk, Row, Stated};
use super::patch_text::Section;
use super::text;

/// One file of a diff.
#[derive(Debug)]
pub(super) struct FileDiff {
    pub(super) section: Section,
    /// The file may not be there yet.
    pub(super) is_new: bool,
    /// All that goes with a deleted file; empty when the diff does not show it.
    pub(super) gone: Vec<Hunk>,
}

/// Name of no file.
const NONE: &str = "/dev/null";

#[derive(Debug, Default)]
struct Draft {
    old: Option<String>,
    new: Option<String>,
    /// The names are git's guess, which the next header may better.
    guessed: bool,
    moved: bool,
    hunks: Vec<Body>,
}

#[derive(Debug, Default)]
struct Body {
    before: Option<usize>,
    /// Lines of the old and the new file that are still to come, by the header.
    left: Option<(usize, usize)>,
    rows: Vec<Row>,
    /// Rows at the end that were empty lines of the diff, without even a blank.
    bare: usize,
    open: Option<bool>,
}

/// Reads a diff. `only` is the name of its one file; `fuzz` is kept with each hunk.
pub(super) fn parse(diff: &str, only: Option<&str>, fuzz: usize) -> Result<Vec<FileDiff>, String> {
    let diff = text::normal(diff);
    let lines: Vec<&str> = diff.lines().collect();
    let mut drafts: Vec<Draft> = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if let Some(rest) = line.strip_prefix("diff --git ") {
            drafts.push(Draft::of_git(rest));
            at += 1;
        } else if names_at(&lines, at) {
            if !drafts.last().is_some_and(|draft| draft.guessed) {
                drafts.push(Draft::default());
            }
            if let Some(draft) = drafts.last_mut() {
                draft.names(&line[4..], &lines[at + 1][4..]);
            }
            at += 2;
        } else if line.starts_with("@@") {
            let hunk = Body::read(&lines, &mut at)?;
            match drafts.last_mut() {
                Some(draft) => draft.hunks.push(hunk),
                None => drafts.push(Draft { hunks: vec![hunk], ..Draft::default() }),
            }
        } else {
            if let Some(draft) = drafts.last_mut() {
                draft.header(line)?;
            }
            at += 1;
        }
    }
    match (&mut drafts[..], only) {
        ([], _) => {
            return Err("the diff holds no hunk; a hunk begins with a line `@@ -1,3 +1,4 @@`".to_owned());
        }
        ([one], Some(only)) => one.rename(only),
        ([_, _, ..], Some(_)) => {
            return Err("the diff is about several files, so leave out `path`".to_owned());
        }
        (_, None) => {}
    }
    drafts.into_iter().map(|draft| draft.finish(fuzz)).collect()
}

/// The lines `---` and `+++` of a file.
fn names_at(lines: &[&str], at: usize) -> bool {
    lines[at].starts_with("--- ") && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ "))
}

impl Draft {
    /// `a/path b/path`
    fn of_git(rest: &str) -> Self {
        let half = rest.len() / 2;
        let same = match (rest.get(..half), rest.get(half + 1..)) {
            (Some(old), Some(new)) => {
                old.strip_prefix("a/").filter(|old| new.strip_prefix("b/") == Some(*old)).map(str::to_owned)
            }
            _ => None,
        };
        Self { old: same.clone(), new: same, guessed: true, ..Self::default() }
    }

    fn names(&mut self, old: &str, new: &str) {
        let (old, new) = (name(old), name(new));
        let marked = |name: &str, mark: &str| name == NONE || name.starts_with(mark);
        let strip = marked(&old, "a/") && marked(&new, "b/");
        let bare = |name: String| if strip && name != NONE { name[2..].to_owned() } else { name };
        (self.old, self.new, self.guessed) = (Some(bare(old)), Some(bare(new)), false);
    }

    fn rename(&mut self, only: &str) {
        for place in [&mut self.old, &mut self.new] {
            if place.as_deref() != Some(NONE) {
                *place = Some(only.to_owned());
            }
        }
    }

    /// Git's lines between files; whatever else stands there is talk.
    fn header(&mut self, line: &str) -> Result<(), String> {
        if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            return Err("a diff of a binary file cannot be applied".to_owned());
        }
        if line.starts_with("copy from ") {
            return Err("copies are not made by a diff; write the new file as a whole".to_owned());
        }
        if let Some(old) = line.strip_prefix("rename from ") {
            (self.old, self.moved) = (Some(name(old)), true);
        } else if let Some(new) = line.strip_prefix("rename to ") {
            self.new = Some(name(new));
        } else if line.starts_with("new file mode ") {
            self.old = Some(NONE.to_owned());
        } else if line.starts_with("deleted file mode ") {
            self.new = Some(NONE.to_owned());
        }
        Ok(())
    }

    fn finish(self, fuzz: usize) -> Result<FileDiff, String> {
        let unnamed = "the diff does not name its file; begin it with `--- path` and `+++ path`";
        let (old, new) = (self.old.ok_or(unnamed)?, self.new.ok_or(unnamed)?);
        let path = if old == NONE { &new } else { &old }.clone();
        if path.is_empty() || path == NONE {
            return Err(unnamed.to_owned());
        }
        let (is_new, is_gone) = (old == NONE, new == NONE);
        if self.hunks.is_empty() && !self.moved && !is_new && !is_gone {
            return Err(format!(
                "the diff of {path} holds no hunk; a hunk begins with a line `@@ -1,3 +1,4 @@`"
            ));
        }
        let hunks =
            self.hunks.into_iter().map(|hunk| hunk.finish(&path, fuzz)).collect::<Result<Vec<_>, _>>()?;
        if is_gone {
            return Ok(FileDiff { section: Section::Delete { path }, is_new, gone: hunks });
        }
        let to = (self.moved || !is_new && old != new).then_some(new);
        Ok(FileDiff { section: Section::Update { path, to, hunks }, is_new, gone: Vec::new() })
    }
}

impl Body {
    /// Reads the hunk whose header is at `at`, and goes on to behind it.
    fn read(lines: &[&str], at: &mut usize) -> Result<Self, String> {
        let mut hunk = Self::of(lines[*at]);
        loop {
            *at += 1;
            let Some(line) = lines.get(*at) else { return Ok(hunk) };
            let full = hunk.left == Some((0, 0));
            // `-- x` taken out and `++ y` put in look the same as the names of the next file.
            let names = names_at(lines, *at) && hunk.left != Some((1, 1));
            let hunk_follows = lines.get(*at + 2).is_some_and(|line| line.starts_with("@@"));
            if names && (full || hunk_follows) || full && *line == "-- " {
                return Ok(hunk);
            }
            match line.split_at_checked(1) {
                Some(("+", rest)) => hunk.push(Row::New(rest.to_owned())),
                Some(("-", rest)) => hunk.push(Row::Old(rest.to_owned())),
                Some((" ", rest)) => hunk.push(Row::Keep(rest.to_owned())),
                Some(("\\", _)) => hunk.mark(),
                // Models drop the blank that stands for an empty line of context.
                None if line.is_empty() && !full => {
                    let bare = hunk.bare;
                    hunk.push(Row::Keep(String::new()));
                    hunk.bare = bare + 1;
                }
                _ if full || ["@@", "diff --git ", "```"].iter().any(|start| line.starts_with(start)) => {
                    return Ok(hunk);
                }
                _ => {
                    return Err(format!(
                        "diff line {} `{line}`: a hunk's line begins with ` `, `-` or `+`",
                        *at + 1
                    ));
                }
            }
        }
    }

    /// `@@ -3,4 +3,5 @@ fn main()`, or `@@` alone.
    fn of(header: &str) -> Self {
        let range = |word: Option<&str>, mark: char| {
            let (from, count) = match word?.strip_prefix(mark)?.split_once(',') {
                Some((from, count)) => (from, count.parse().ok()?),
                None => (&word?[1..], 1),
            };
            Some((usize::try_from(from.parse::<u32>().ok()?).ok()?, count))
        };
        let mut words = header[2..].split_whitespace();
        match (range(words.next(), '-'), range(words.next(), '+')) {
            (Some((from, old)), Some((_, new))) => {
                // Of a hunk without old lines the number is that of the line before it.
                let before = if old == 0 { from } else { from.saturating_sub(1) };
                Self { before: Some(before), left: Some((old, new)), ..Self::default() }
            }
            _ => Self::default(),
        }
    }

    fn push(&mut self, row: Row) {
        if let Some((old, new)) = &mut self.left {
            let takes = |count: &mut usize| *count = count.saturating_sub(1);
            match row {
                Row::Keep(_) => [old, new].into_iter().for_each(takes),
                Row::Old(_) => takes(old),
                Row::New(_) => takes(new),
            }
        }
        self.bare = 0;
        self.rows.push(row);
    }

    /// `\ No newline at end of file`: speaks of the row before it.
    fn mark(&mut self) {
        match self.rows.last() {
            Some(Row::Old(_)) => self.open = self.open.or(Some(false)),
            Some(Row::Keep(_) | Row::New(_)) => self.open = Some(true),
            None => {}
        }
    }

    fn finish(mut self, path: &str, fuzz: usize) -> Result<Hunk, String> {
        // Empty lines between the hunks of a diff that was written from memory.
        if self.left != Some((0, 0)) {
            self.rows.truncate(self.rows.len() - self.bare);
        }
        match self.rows.is_empty() {
            true => Err(format!("a hunk of {path} holds no lines")),
            false => Ok(Hunk::unified(self.rows, Stated { before: self.before, fuzz, open: self.open })),
        }
    }
}

/// A file's name: without what stands behind a tab, and out of git's quotes.
fn name(raw: &str) -> String {
    let raw = raw.split('\t').next().unwrap_or_default().trim_end();
    let Some(quoted) = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')) else {
        return raw.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = quoted.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                bytes.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = &after[3..];
            }
            (b'\\', [letter, ..]) => {
                bytes.push(match letter {
                    b'n' => b'\n',
                    b't' => b'\t',
                    other => *other,
                });
                rest = &after[1..];
            }
            (other, _) => bytes.push(*other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
