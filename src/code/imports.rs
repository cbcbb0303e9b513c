//! Import lines of an answer that the file has not yet.

use super::language::Language;
use super::lost;
use super::merge::{Merge, Unfit};
use super::outline::{Kind, Piece};
use super::place;

/// Adds what is new. Where a name may be brought in only once, an import that says more takes the place of
/// the one it contains.
pub(super) fn merge<'a>(merge: &mut Merge<'a>, old: &'a [Piece], new: &'a [Piece]) -> Result<(), Unfit> {
    let is = |piece: &&Piece| piece.kind == Kind::Import;
    let known: Vec<&Piece> = old.iter().filter(is).collect();
    let mut added = Vec::new();
    for piece in new.iter().filter(is) {
        let text = &merge.new.text[piece.start..piece.end];
        let core = lost::words(&merge.new.text[piece.core..piece.end]);
        let same = |old: &&Piece| lost::words(&merge.old.text[old.core..old.end]) == core;
        // One that is tried, or brought in on a condition, is there as well.
        let within = |old: &Piece| merge.old.text[old.range()].lines().any(|line| lost::words(line) == core);
        let blocks = || old.iter().filter(|piece| matches!(piece.kind, Kind::Rest | Kind::Block));
        if known.iter().any(same) || blocks().any(within) {
            continue;
        }
        match merge.language {
            Language::Python => added.push(text.to_owned()),
            Language::Go => added.extend(specs(piece, &known)),
            Language::JavaScript
            | Language::TypeScript
            | Language::Tsx
            | Language::Rust
            | Language::Json
            | Language::Toml
            | Language::Braces => match clash(piece, &known) {
                Clash::None => added.push(text.to_owned()),
                Clash::Within => {}
                Clash::Wider(at) => merge.put(known[at].range(), text.to_owned()),
                Clash::Mixed => return Err(Unfit::unknown(text)),
            },
        }
    }
    if added.is_empty() {
        return Ok(());
    }
    let block = added.join("\n");
    // After the imports that stand first; those further down have their reasons.
    let first = old.iter().position(|piece| !matches!(piece.kind, Kind::Import | Kind::Head));
    let top = &old[..first.unwrap_or(old.len())];
    match (top.last(), old.first()) {
        (Some(last), _) => {
            let indent = place::indent_at(merge.old.text, last.start);
            let gap = if last.kind == Kind::Import { "\n" } else { "\n\n" };
            merge.put(
                last.end..last.end,
                format!("{gap}{indent}{}", block.replace('\n', &format!("\n{indent}"))),
            );
        }
        (None, Some(first)) => {
            let indent = place::indent_at(merge.old.text, first.start);
            merge.put(first.start..first.start, format!("{block}\n\n{indent}"));
        }
        (None, None) => {}
    }
    Ok(())
}

/// Each package of a Go import that is not yet there, as a line of its own.
fn specs(piece: &Piece, known: &[&Piece]) -> Vec<String> {
    let new = piece.names.iter().filter(|spec| !known.iter().any(|old| old.names.contains(spec)));
    new.map(|spec| format!("import {spec}")).collect()
}

/// How the names of an import meet those of the file.
enum Clash {
    None,
    Within,
    /// It holds all of the import at this place, and meets no other.
    Wider(usize),
    Mixed,
}

fn clash(piece: &Piece, known: &[&Piece]) -> Clash {
    let shares = |old: &Piece| old.names.iter().any(|name| piece.names.contains(name));
    let met: Vec<usize> = (0..known.len()).filter(|at| shares(known[*at])).collect();
    let within = piece.names.iter().all(|name| known.iter().any(|old| old.names.contains(name)));
    match met[..] {
        [] => Clash::None,
        _ if within => Clash::Within,
        [one] if known[one].names.iter().all(|name| piece.names.contains(name)) => Clash::Wider(one),
        _ => Clash::Mixed,
    }
}
