//! Facts about the machine and the project, in a text of limited length: what a model would else
//! spend its first calls on.

use crate::model::{Entry, Instructions, Scene, steers};

use super::kit::Kit;
use super::template::Values;

/// Names of the template's own.
pub(super) const NAMES: [&str; 3] = ["entries", "more", "project"];

/// Most entries of the folder, and how deep they may lie.
const ENTRIES: usize = 40;
const DEPTH: usize = 2;
/// Bytes that pass for a token.
const TOKEN: usize = 4;

/// The facts in at most `tokens` tokens. Entries of the folder are left out first, the last and
/// deepest before others; then whole lines from the end.
pub(super) fn text(kit: &Kit, scene: &Scene, values: &Values, tokens: u32) -> String {
    let most = (tokens as usize).saturating_mul(TOKEN);
    if most == 0 {
        return String::new();
    }
    // A name that would read as more than a name is left out.
    let plain = |entry: &&Entry| !entry.path.chars().any(steers) && entry.path.split('/').count() <= DEPTH;
    let near: Vec<&Entry> = scene.listing.iter().filter(plain).collect();
    let entries: Vec<String> =
        near.iter().take(ENTRIES).map(|e| format!("{}{}", e.path, if e.dir { "/" } else { "" })).collect();
    let values = values.clone().with("project", &scene.project);
    let with = |count: usize| {
        let values = values.clone().with("entries", &entries[..count]).with("more", near.len() - count);
        kit.common("facts", &values).trim().to_owned()
    };
    // The text grows with the entries, so that the most that fit are found by halving.
    let (mut fits, mut rest) = (0, entries.len());
    while fits < rest {
        let middle = fits + (rest - fits).div_ceil(2);
        if with(middle).len() <= most { fits = middle } else { rest = middle - 1 }
    }
    let text = with(fits);
    whole_lines(&text, most).to_owned()
}

/// As many whole lines as have room in so many bytes.
fn whole_lines(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = text.match_indices('\n').map(|(at, _)| at).take_while(|at| *at <= most).last();
    text[..end.unwrap_or(0)].trim_end()
}

/// The project's instructions in at most so many tokens, cut at the end of a line. None: all of them.
pub(super) fn instructions(all: &[Instructions], tokens: Option<u32>) -> Vec<Instructions> {
    let Some(tokens) = tokens else { return all.to_vec() };
    if tokens == 0 {
        return Vec::new();
    }
    let mut room = (tokens as usize).saturating_mul(TOKEN);
    let mut one = |file: &Instructions| {
        let text = whole_lines(&file.text, room);
        room -= text.len();
        let cut = file.cut || text.len() < file.text.len();
        Instructions { text: text.to_owned(), cut, ..file.clone() }
    };
    all.iter().map(&mut one).collect()
}
