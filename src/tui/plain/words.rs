//! Cells as lines of text in which marks are words. Pure.

use ratatui::text::Line;

use crate::tui::cell::{Called, Cell, Tone, View};
use crate::tui::{text, trouble};

/// Columns of what is not broken into rows: the terminal or the reader does that.
pub(super) const WIDE: u16 = 1_000;

/// What stands behind the title of a call that did not run.
const REFUSED: &str = "  ⊘ refused";

/// The lines of a cell, without blanks at their ends.
pub(super) fn of(cell: &Cell, view: View<'_>) -> Vec<String> {
    let wide = View { width: WIDE, ..view };
    match cell {
        Cell::Said { text, images } => {
            let images = match images {
                0 => String::new(),
                1 => " [1 image]".to_owned(),
                more => format!(" [{more} images]"),
            };
            under("you: ", &format!("{text}{images}"))
        }
        Cell::Reply(_) => cell.rows(view).iter().map(text_of).collect(),
        Cell::Thought(source) => {
            let clean = text::clean(source.trim());
            let first = clean.lines().next().unwrap_or_default();
            match clean.lines().count() {
                0 | 1 => vec![format!("thought: {first}")],
                more => vec![format!("thought: {first} ({more} lines)")],
            }
        }
        Cell::Told { tone, text } => under(tone_word(*tone), text),
        Cell::Failed { text, .. } => under(tone_word(Tone::Error), &trouble::by_lines(text)),
        Cell::Board(_) => cell.rows(wide).iter().map(board_row).collect(),
        Cell::Call(_) | Cell::Ran(_) => cell.rows(wide).iter().map(row).collect(),
        Cell::Looks(all) => all.iter().flat_map(|called| look(called, wide)).collect(),
    }
}

fn look(called: &Called, view: View<'_>) -> Vec<String> {
    of(&Cell::Call(Box::new(called.clone())), view)
}

/// A line's text alone.
pub(super) fn text_of(line: &Line<'_>) -> String {
    line.to_string().trim_end().to_owned()
}

/// A word before the first line, the others as far in as their own.
fn under(word: &str, source: &str) -> Vec<String> {
    let clean = text::clean(source.trim());
    let mut rows: Vec<String> = clean.lines().map(|line| line.trim_end().to_owned()).collect();
    match rows.first_mut() {
        Some(first) => first.insert_str(0, word),
        None => rows.push(word.trim_end().to_owned()),
    }
    rows
}

/// What was decided begins with a word of its own.
fn tone_word(tone: Tone) -> &'static str {
    match tone {
        Tone::Dim => "note: ",
        Tone::Warning => "warning: ",
        Tone::Error => "error: ",
        Tone::Allowed | Tone::Refused => "",
    }
}

/// A task's box is a word; a bar says nothing that its number does not.
fn board_row(line: &Line<'_>) -> String {
    let text = text_of(line);
    let text = text.trim_end_matches('█').trim_end();
    let boxes = [("  ☑ ", "done: "), ("  ▸ ", "now: "), ("  ☐ ", "open: ")];
    let found = boxes.iter().find_map(|(mark, word)| Some(format!("{word}{}", text.strip_prefix(mark)?)));
    found.unwrap_or_else(|| text.to_owned())
}

/// A row of a call: what it is comes from its first parts, which no foreign text can be.
fn row(line: &Line<'_>) -> String {
    let spans: Vec<&str> = line.spans.iter().map(|span| span.content.as_ref()).collect();
    let said = match spans.split_first() {
        Some((&"• ", [_, what, rest @ ..])) if rest.contains(&REFUSED) => format!("not done:{what}"),
        Some((&"• ", [verb, rest @ ..])) => title(&format!("{}:", verb.to_lowercase()), rest),
        Some((&"! ", rest)) => title("ran: ", rest),
        Some((&("  │ " | "  └ "), rest)) => format!("  {}", rest.concat()),
        // Tells how many lines are left out.
        Some((only, [])) => {
            let bare = only.strip_prefix("  │ ").or_else(|| only.strip_prefix("  └ "));
            let bare = bare.map_or_else(|| (*only).to_owned(), |bare| format!("  {bare}"));
            bare.strip_suffix(text::UNFOLDS).map(str::to_owned).unwrap_or(bare)
        }
        _ => spans.concat(),
    };
    said.trim_end().to_owned()
}

/// A title: the first part of `rest` is what was done it to, the others how it went.
fn title(word: &str, rest: &[&str]) -> String {
    let mut said = word.to_owned();
    for (nth, part) in rest.iter().enumerate() {
        match (nth, *part) {
            (0, what) => said.push_str(what),
            (_, "  ✓") => said.push_str(", ok"),
            (_, "  ✗") => said.push_str(", failed"),
            (_, part) => {
                let marks = ["  ✗ ", " · ", "  +"];
                match marks.iter().find_map(|mark| Some((mark, part.strip_prefix(mark)?))) {
                    Some((&"  +", added)) => said.push_str(&format!(", +{added}")),
                    Some((_, how)) => said.push_str(&format!(", {how}")),
                    None => said.push_str(part),
                }
            }
        }
    }
    said
}
