//! What a paste is: text, a block of text, or pictures given by their paths. Reads the first bytes of a
//! file that is named like a picture, and nothing else.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A paste of more lines or characters than this stands as a placeholder.
const MOST_LINES: usize = 8;
const MOST_CHARS: usize = 1_000;
/// A longer paste is no list of paths.
const MOST_PATHS: usize = 8_000;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pasted {
    Text(String),
    Block(String),
    /// Paths and sizes in bytes.
    Images(Vec<(PathBuf, u64)>),
}

/// Reads a paste; paths are relative to `folder`. Line ends of other systems become `\n`.
pub(super) fn read(text: &str, folder: &Path) -> Pasted {
    if let Some(images) = images(text.trim(), folder) {
        return Pasted::Images(images);
    }
    let text =
        if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() };
    let block = text.lines().nth(MOST_LINES).is_some() || text.chars().nth(MOST_CHARS).is_some();
    if block { Pasted::Block(text) } else { Pasted::Text(text) }
}

/// Pictures, if the text names nothing else: as it is, or quoted, escaped or as `file://`, as terminals
/// paste what was dropped on them.
fn images(text: &str, folder: &Path) -> Option<Vec<(PathBuf, u64)>> {
    if text.is_empty() || text.len() > MOST_PATHS || !looks_like_images(text) {
        return None;
    }
    if let Some(one) = image(text, folder) {
        return Some(vec![one]);
    }
    let by_line: Option<Vec<_>> = text.lines().map(|line| image(line.trim(), folder)).collect();
    by_line.or_else(|| shlex::split(text)?.iter().map(|word| image(word, folder)).collect())
}

fn looks_like_images(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    [".png", ".jpg", ".jpeg", ".gif", ".webp"].iter().any(|end| lower.contains(end))
}

fn image(path: &str, folder: &Path) -> Option<(PathBuf, u64)> {
    let path = path.strip_prefix("file://").map_or_else(|| path.to_owned(), from_url);
    let path = match path.strip_prefix("~/") {
        Some(rest) => std::env::home_dir()?.join(rest),
        None => folder.join(path),
    };
    let size = path.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let mut head = [0; 12];
    let read = File::open(&path).ok()?.read(&mut head).ok()?;
    is_image(&head[..read]).then_some((path, size))
}

/// By the signatures of PNG, JPEG, GIF and WebP.
fn is_image(head: &[u8]) -> bool {
    [&b"\x89PNG\r\n\x1a\n"[..], b"\xff\xd8\xff", b"GIF87a", b"GIF89a"]
        .iter()
        .any(|sign| head.starts_with(sign))
        || (head.starts_with(b"RIFF") && head.ends_with(b"WEBP"))
}

/// The path of a `file://` address, its host left out.
fn from_url(rest: &str) -> String {
    let path = &rest[rest.find('/').unwrap_or(0)..];
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.as_bytes();
    while let [first, after @ ..] = left {
        let code = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                left = &after[2..];
            }
            None => {
                bytes.push(*first);
                left = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
