//! Files in a reply: a code block under a line that is a path, the form in which small models write
//! code best.
//!
//! Knows texts and places, not tools: which call such a block is, [`super::salvage`] says.

mod names;

use names::{extension, is_label_of, is_markdown, is_path, is_shell, is_text_of, label, suits};

use super::salvage::{begins_like_a_call, is_json_call};

/// What the blocks of a reply come to.
pub(super) enum Found {
    Files(Vec<File>),
    /// The block of a file that never ends.
    CutOff,
    Nothing,
}

/// A file's new text, and where it stands with its path and its fences.
#[derive(Debug, PartialEq)]
pub(super) struct File {
    pub path: String,
    pub text: String,
    pub span: (usize, usize),
}

struct Line<'a> {
    from: usize,
    to: usize,
    /// Without its end.
    text: &'a str,
}

struct Fence<'a> {
    mark: char,
    indent: usize,
    depth: usize,
    label: &'a str,
}

/// Where the path of a block was found: the line above it (its place), or in the block itself.
struct Head {
    path: String,
    line: Option<usize>,
    /// Lines of the block that are no part of the file.
    skip: usize,
    /// The reply has the path itself.
    named: bool,
}

/// What a block holds: in Markdown there are blocks too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    Markdown,
}

/// What the reading of a reply may know of its session.
pub(super) struct Known<'a> {
    /// Whether the project has this path.
    pub listed: &'a dyn Fn(&str) -> bool,
    /// Whether the talk has it.
    pub said: &'a dyn Fn(&str) -> bool,
    /// Paths of which the person's words speak: a block that names none is the only one of its kind.
    pub asked: Vec<String>,
    /// Blocks of commands are calls too.
    pub commands: bool,
}

/// The files that the text means to write. A call in another form ahead of them is what has to run
/// first: what follows a call is made up.
pub(super) fn files(body: &str, known: &Known<'_>) -> Found {
    let lines = lines(body);
    let mut found: Vec<File> = Vec::new();
    // Where the talk before the next block begins, as a place among the lines.
    let (mut at, mut talk) = (0, 0);
    while at < lines.len() {
        if is_call(lines[at].text) {
            break;
        }
        let Some(fence) = fence(lines[at].text) else {
            at += 1;
            continue;
        };
        let head = head(&lines[talk..=at], lines.get(at + 1).map_or("", |line| line.text), known);
        let head = head.map(|head| Head { line: head.line.map(|line| talk + line), ..head });
        let first = lines.get(at + 1).map_or("", |line| line.text);
        let head =
            head.filter(|head| suits(fence.label, &head.path) && is_text_of(&head.path, fence.label, first));
        // A second block that names nothing is how to use the first.
        let head = head.filter(|head| head.named || !found.iter().any(|file| file.path == head.path));
        let block = |head: &Head| head.line.is_some() || !is_call_block(&lines, at);
        let head = head.filter(block);
        let start = lines.get(at + 1).map_or(body.len(), |line| line.from);
        let commands = known.commands && is_shell(fence.label);
        if head.is_none() && (commands || begins_like_a_call(&body[start..])) {
            break;
        }
        let inside = head.as_ref().map_or(Inside::Code, |head| Inside::of(&head.path));
        let Some(end) = end(&lines, at, inside) else {
            return if head.is_some() { Found::CutOff } else { files_or_nothing(found) };
        };
        if let Some(head) = head {
            let from = lines[head.line.unwrap_or(at)].from;
            let text = content(&lines[(at + 1 + head.skip).min(end)..end], fence.indent);
            if !text.trim().is_empty() && !is_shown(&body[lines[talk].from..from]) {
                found.push(File { path: head.path, text, span: (from, lines[end].to) });
            }
        }
        at = end + 1;
        talk = at;
    }
    // What a call follows was told before the call's result was there.
    if at < lines.len()
        && let Some(last) = found.last_mut()
    {
        last.span.1 = body.len();
    }
    files_or_nothing(found)
}

fn files_or_nothing(found: Vec<File>) -> Found {
    if found.is_empty() { Found::Nothing } else { Found::Files(found) }
}

/// A file as a block, the one form in which it goes back to a model.
pub(crate) fn say(path: &str, text: &str) -> String {
    let longest = text.lines().map(|line| ticks(line.trim_start())).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{path}\n{fence}{}\n{text}{end}{fence}", label(path))
}

fn ticks(line: &str) -> usize {
    line.bytes().take_while(|b| *b == b'`').count()
}

fn lines(body: &str) -> Vec<Line<'_>> {
    let mut at = 0;
    let line = |text: &'_ str| {
        let from = at;
        at += text.len();
        (from, at)
    };
    let places: Vec<(usize, usize)> = body.split_inclusive('\n').map(line).collect();
    places
        .into_iter()
        .map(|(from, to)| Line { from, to, text: body[from..to].trim_end_matches(['\n', '\r']) })
        .collect()
}

fn fence(line: &str) -> Option<Fence<'_>> {
    let bare = line.trim_start();
    let mark = bare.chars().next().filter(|mark| ['`', '~'].contains(mark))?;
    let depth = bare.chars().take_while(|c| *c == mark).count();
    let label = bare[depth..].trim();
    let indent = line.chars().count() - bare.chars().count();
    (depth >= 3 && !label.contains('`')).then_some(Fence { mark, indent, depth, label })
}

/// A call in another form than a block of a file.
pub(super) fn is_call(line: &str) -> bool {
    let line = line.trim_start();
    begins_like_a_call(line) || ["<tool_call", "<function="].iter().any(|tag| line.starts_with(tag))
}

/// A block that names no file above itself may be a call in JSON.
fn is_call_block(lines: &[Line<'_>], at: usize) -> bool {
    end(lines, at, Inside::Code).is_some_and(|end| is_json_call(&content(&lines[at + 1..end], 0)))
}

/// The line that closes the block. A fence with a label opens a block within; in Markdown, where one
/// without may do so too, the last one that makes the fences even closes.
fn end(lines: &[Line<'_>], at: usize, inside: Inside) -> Option<usize> {
    let opens = fence(lines[at].text)?;
    let fences = || {
        let inner = lines.iter().enumerate().skip(at + 1);
        let inner = inner.filter_map(|(place, line)| Some((place, fence(line.text)?)));
        inner.filter(|(_, inner)| inner.mark == opens.mark && inner.depth >= opens.depth)
    };
    if inside == Inside::Markdown {
        // Looked for only here: for each of many blocks it would be all that follows each time.
        let until = fences().find(|(place, _)| starts_file(lines, *place));
        let until = until.map_or(lines.len(), |(place, _)| place);
        let near = || fences().filter(|(place, _)| *place < until);
        let mut bare = near().filter(|(_, inner)| inner.label.is_empty());
        let labelled = near().count() - bare.clone().count();
        if bare.clone().count() > labelled && (bare.clone().count() - labelled) % 2 == 1 {
            return bare.next_back().map(|(place, _)| place);
        }
    }
    let mut within = 0;
    for (place, inner) in fences() {
        if !inner.label.is_empty() {
            within += 1;
        } else if within == 0 {
            return Some(place);
        } else {
            within -= 1;
        }
    }
    None
}

/// Whether the fence on this line has a path right above it.
fn starts_file(lines: &[Line<'_>], at: usize) -> bool {
    at > 0 && alone(lines[at - 1].text).is_some_and(|path| is_path(&path))
}

fn content(lines: &[Line<'_>], indent: usize) -> String {
    let mut text = String::new();
    for line in lines {
        let blank = line.text.chars().take(indent).take_while(|c| c.is_whitespace()).count();
        text.extend(line.text.chars().skip(blank));
        text.push('\n');
    }
    text
}

/// The path of a block: `above` are the lines of talk before it and its fence.
fn head(above: &[Line<'_>], first: &str, known: &Known<'_>) -> Option<Head> {
    let knows = |path: &str| (known.listed)(path) || (known.said)(path);
    let (opens, talk) = above.split_last()?;
    let label = fence(opens.text)?.label;
    let near = talk.iter().enumerate().rev().take(2).find(|(_, line)| !line.text.trim().is_empty());
    // The name of a method looks like a file that nobody knows.
    let odd = |path: &str| (known.said)(path) && ["", extension(path)].contains(&label);
    let is_known = |path: &String| is_path(path) || (known.listed)(path) || odd(path);
    if let Some((place, line)) = near {
        let path = alone(line.text).filter(is_known).or_else(|| announced(line.text).filter(|p| knows(p)));
        // The last of a list is not the one that is meant.
        let listed = place > 0 && alone(talk[place - 1].text).is_some_and(|path| is_path(&path));
        if let Some(path) = path.filter(|_| !listed) {
            return Some(Head { path, line: Some(place), skip: 0, named: true });
        }
    }
    if let Some(path) = in_label(label).filter(|path| is_path(path)) {
        return Some(Head { path, line: None, skip: 0, named: true });
    }
    if let Some(path) = in_comment(first).filter(|path| is_path(path)) {
        return Some(Head { path, line: None, skip: 1, named: true });
    }
    let mut alike = known.asked.iter().filter(|path| !label.is_empty() && is_label_of(label, path));
    let path = alike.next().filter(|path| knows(path))?.clone();
    let shows = near.is_some_and(|(_, line)| is_use(line.text));
    (alike.next().is_none() && !shows).then_some(Head { path, line: None, skip: 0, named: false })
}

/// Whether what stands before a block says that it is not meant to be written. Paths may have any name.
fn is_shown(before: &str) -> bool {
    let words = before.split_whitespace().filter(|word| {
        let word = word.trim_end_matches(['.', ',', ':', '!']);
        !word.contains(['/', '_', '`']) && !is_path(word)
    });
    let talk = words.collect::<Vec<_>>().join(" ").to_ascii_lowercase();
    [
        "for example",
        "for instance",
        "an example",
        "example:",
        "examples:",
        "example usage",
        "example of",
        "would look",
        "e.g.",
    ]
    .iter()
    .any(|word| talk.contains(word))
}

/// Whether a line announces how a file is used, or what it was.
fn is_use(line: &str) -> bool {
    let talk = line.to_ascii_lowercase();
    [
        "usage",
        "to test",
        "test it",
        "to run",
        "run it",
        "to use",
        "use it",
        "try it",
        "to verify",
        "to check",
        "output",
        "original",
        "current",
        "before:",
        "was:",
        "call it",
        "error",
    ]
    .iter()
    .any(|word| talk.contains(word))
}

/// The paths in what a person wrote, in order, each once.
pub(crate) fn paths(text: &str) -> Vec<String> {
    let words = text.split_whitespace().map(|word| {
        let word = word.trim_matches(['`', '*', '"', '\'', ',', ';', ':', '(', ')', '!', '?', '<', '>']);
        tidy(word.strip_suffix('.').unwrap_or(word))
    });
    let mut found: Vec<String> = Vec::new();
    for word in words.filter(|word| is_path(word)) {
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// A line that is a path, with the marks and the word that models put around one.
fn alone(line: &str) -> Option<String> {
    let plain = line.replace(['*', '`'], "");
    let plain = plain.trim().trim_start_matches(['#', '>']).trim();
    let plain = plain.strip_prefix("- ").or_else(|| plain.strip_prefix("+ ")).unwrap_or(plain).trim();
    let plain = plain.strip_suffix(':').unwrap_or(plain).trim();
    let plain = match plain.split_once(' ') {
        Some((_, rest)) if rest.starts_with('(') && !is_old(rest) => {
            plain.split(" (").next().unwrap_or(plain)
        }
        _ => plain,
    };
    let named = plain.split_once(':').filter(|(word, _)| {
        let word = word.to_ascii_lowercase();
        ["file", "path", "filename", "file name", "file path", "filepath"].contains(&word.as_str())
    });
    let path = named.map_or(plain, |(_, path)| path).trim().trim_matches(['"', '\'']);
    (!path.is_empty() && !path.contains(char::is_whitespace)).then(|| tidy(path))
}

/// Whether a remark says that a file's text is not a new one.
fn is_old(remark: &str) -> bool {
    let talk = remark.to_ascii_lowercase();
    ["before", "original", "current", "old", "existing", "output", "example", "usage"]
        .iter()
        .any(|word| talk.contains(word))
}

/// "Here is the new cart.py:". A sentence that may as well speak of what the file prints is none.
fn announced(line: &str) -> Option<String> {
    let line = line.trim();
    let talk = line.to_ascii_lowercase();
    let words: Vec<&str> = talk.split(|c: char| !c.is_alphanumeric()).collect();
    let says = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let new = says(&[
        "new",
        "updated",
        "modified",
        "corrected",
        "fixed",
        "complete",
        "full",
        "rewritten",
        "changed",
        "revised",
        "create",
        "write",
        "update",
        "here",
    ]);
    let old = says(&[
        "output", "prints", "run", "running", "result", "error", "original", "current", "old", "existing",
        "before", "was", "how", "use", "using", "usage", "call", "calls", "bug", "problem", "wrong",
        "instead", "where",
    ]);
    if !line.ends_with(':') || !new || old {
        return None;
    }
    let paths =
        line.split_whitespace().map(|word| word.trim_matches(['`', '*', '"', '\'', ',', ':', '(', ')']));
    let mut paths = paths.filter(|word| is_path(word));
    let path = paths.next()?;
    paths.all(|other| other == path).then(|| tidy(path))
}

/// `python cart.py`, `python:cart.py`, `title="cart.py"`, `cart.py`.
fn in_label(label: &str) -> Option<String> {
    let bare = |word: &str| word.trim_matches(['"', '\'', '{', '}']).to_owned();
    let mut words = label.split([' ', ':', '=']).map(bare).filter(|word| is_path(word));
    words.next_back().map(|path| tidy(&path))
}

/// A first line that is a comment with the path and nothing else.
fn in_comment(line: &str) -> Option<String> {
    let line = line.trim();
    let inside = ["//", "#", "--", ";", "/*", "<!--"].iter().find_map(|mark| line.strip_prefix(mark))?;
    let inside = inside.trim_end_matches("-->").trim_end_matches("*/").trim();
    let path = inside.strip_prefix("File:").or_else(|| inside.strip_prefix("file:")).unwrap_or(inside).trim();
    (!path.contains(char::is_whitespace)).then(|| tidy(path))
}

fn tidy(path: &str) -> String {
    path.strip_prefix("./").unwrap_or(path).to_owned()
}

impl Inside {
    fn of(path: &str) -> Self {
        if is_markdown(path) { Self::Markdown } else { Self::Code }
    }
}

#[cfg(test)]
mod tests;
