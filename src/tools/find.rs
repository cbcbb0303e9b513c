//! Finding files by a name that is only half known.
//!
//! `data`: `query`, `count` (files that are like it), `more`, `matches` (`path` below the folder that was
//! searched, `name`, `score` from 0 to 1).

use std::ops::ControlFlow;
use std::path::Path;

use serde_json::json;

use super::output::rows_that_fit;
use super::walk::{self, Hidden, Pattern, Stop, Walk};
use super::{ToolCx, failed, given, path};
use crate::model::Outcome;

const DEFAULT_LIMIT: u64 = 20;
const MOST_LIMIT: u64 = 200;
/// Files that are remembered, to sort them.
const MOST_FOUND: usize = 50_000;

pub(super) struct Ask<'a> {
    pub(super) query: &'a str,
    pub(super) path: Option<&'a str>,
    pub(super) limit: Option<u64>,
    pub(super) endings: &'a [String],
    pub(super) ignore: &'a [String],
}

struct Search {
    walk: Walk,
    query: String,
    endings: Vec<String>,
    ignore: Vec<Pattern>,
}

struct Hit {
    /// Below the folder that was searched.
    path: String,
    score: f64,
}

pub(super) async fn run(cx: &ToolCx<'_>, ask: Ask<'_>) -> Outcome {
    let search = match prepare(cx, &ask) {
        Ok(search) => search,
        Err(refusal) => return refusal,
    };
    match walk::blocking(cx, move || search.run()).await {
        Ok(found) => tell(cx, &ask, found),
        Err(refusal) => refusal,
    }
}

fn prepare(cx: &ToolCx<'_>, ask: &Ask<'_>) -> Result<Search, Outcome> {
    let query = ask.query.trim().trim_start_matches("./").to_lowercase();
    if query.is_empty() {
        return Err(failed("bad_pattern", "the query is empty; give part of a file's name"));
    }
    let walk = Walk::new(cx, ask.path, Hidden::Skip)?;
    let ignore = ask.ignore.iter().map(|glob| Pattern::new(glob)).collect::<Result<_, _>>()?;
    let endings =
        ask.endings.iter().map(|ending| format!(".{}", ending.trim_start_matches(['*', '.']).to_lowercase()));
    Ok(Search { walk, query, endings: endings.collect(), ignore })
}

impl Search {
    fn run(self) -> (Vec<Hit>, Stop) {
        let mut hits = Vec::new();
        let stop = self.walk.run(&mut |entry| {
            let inside = entry.path().strip_prefix(&self.walk.root).unwrap_or(entry.path());
            hits.extend(self.look(inside));
            if hits.len() >= MOST_FOUND { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        hits.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then(a.path.len().cmp(&b.path.len()))
                .then_with(|| a.path.cmp(&b.path))
        });
        (hits, stop)
    }

    fn look(&self, inside: &Path) -> Option<Hit> {
        let lower = inside.to_string_lossy().to_lowercase();
        let ends = self.endings.is_empty() || self.endings.iter().any(|ending| lower.ends_with(ending));
        if !ends || self.ignore.iter().any(|glob| inside.ancestors().any(|part| glob.fits(part))) {
            return None;
        }
        Some(Hit { path: path::show(inside), score: likeness(&self.query, &lower)? })
    }
}

/// How much a path is what was asked for; None when it is not. Both in small letters.
fn likeness(query: &str, path: &str) -> Option<f64> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let words = || query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let score = match () {
        () if name == query || path == query => 1.0,
        () if stem == query => 0.95,
        () if name.starts_with(query) => 0.9,
        () if name.contains(query) => 0.85,
        () if path.contains(query) => 0.8,
        () if words().all(|word| path.contains(word)) && words().next().is_some() => 0.7,
        () if query.len() > 2 && in_order(query, name) => 0.6,
        () if query.len() > 2 && in_order(query, path) => 0.5,
        () => {
            let alike = strsim::jaro_winkler(query, name).max(strsim::jaro_winkler(query, stem));
            return (alike > 0.85).then_some(alike / 2.0);
        }
    };
    Some(score)
}

/// Whether the letters of the query come in the text in this order.
fn in_order(query: &str, text: &str) -> bool {
    let mut letters = text.chars();
    query.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

fn tell(cx: &ToolCx<'_>, ask: &Ask<'_>, (mut hits, stop): (Vec<Hit>, Stop)) -> Outcome {
    let count = hits.len();
    let limit = given(ask.limit).unwrap_or(DEFAULT_LIMIT).min(MOST_LIMIT);
    hits.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let rows: Vec<String> = hits.iter().map(|hit| hit.path.clone()).collect();
    hits.truncate(rows_that_fit(&rows, &cx.limits));
    let left = (hits.len() < count).then(|| format!("the likest {} of {count} files", hits.len()));
    let more = left.is_some() || stop != Stop::Through;
    let mut text = rows[..hits.len()].join("\n");
    if count == 0 {
        text = format!("no file's name is like {}", path::show_str(ask.query));
    }
    text.push_str(&walk::rest_note(stop, left));
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let matches: Vec<_> = hits
        .iter()
        .map(|hit| json!({ "path": hit.path, "name": name(&hit.path), "score": (hit.score * 100.0).round() / 100.0 }))
        .collect();
    Outcome {
        data: json!({ "query": ask.query, "count": count, "more": more, "matches": matches }),
        ..Outcome::ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closer_a_name_is_the_higher_it_stands() {
        let order = [
            "cart.rs",
            "src/cart.rs.bak",
            "src/old_cart.rs",
            "cart.rs/x",
            "rs/cart",
            "src/cxaxrxt.xrs",
            "src/catr.rs",
        ];
        let scores: Vec<f64> = order.iter().map(|path| likeness("cart.rs", path).expect(path)).collect();
        assert!(scores.windows(2).all(|pair| pair[0] > pair[1]), "{scores:?}");
        assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)));
        for other in ["main.py", "README", "a/b/c"] {
            assert_eq!(likeness("cart.rs", other), None, "{other}");
        }
    }
}
