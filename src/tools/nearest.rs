//! Where a text that is not in a file was probably meant: shown so that the next try needs no read.

/// Rows shown, characters of one, and of all but the first together: about 80 tokens. A row that is cut
/// cannot be quoted, so fewer whole ones are better.
const ROWS: usize = 5;
const ROW_CHARS: usize = 240;
const ALL_CHARS: usize = 320;
/// Lines looked at; beyond it a hint costs more than it helps.
const MOST_LINES: usize = 20_000;
/// Below this, the likest line is not like at all.
const LIKE: f64 = 0.55;

pub(super) struct Place {
    /// From 1.
    pub(super) from: usize,
    pub(super) to: usize,
    /// `12: text`, one row a line.
    pub(super) rows: String,
}

/// The lines of `text` that are most like `wanted`.
pub(super) fn find(text: &str, wanted: &str) -> Option<Place> {
    let lines: Vec<&str> = text.lines().take(MOST_LINES).collect();
    let wanted: Vec<&str> = wanted.lines().map(str::trim).collect();
    // The longest line says most about the place.
    let (offset, anchor) = wanted.iter().enumerate().max_by_key(|(_, line)| line.len())?;
    let (best, likeness) = lines
        .iter()
        .enumerate()
        .map(|(at, line)| (at, likeness(line.trim(), anchor)))
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    if likeness < LIKE {
        return None;
    }
    let from = best.saturating_sub(offset.min(ROWS - 1));
    // The likest line itself is never crowded out.
    let before: usize = lines[from..=best].iter().map(|line| line.chars().count()).sum();
    let from = if before > ALL_CHARS { best } else { from };
    let to = (from + wanted.len().clamp(1, ROWS)).min(lines.len());
    let mut rows: Vec<String> = Vec::new();
    let mut room = ALL_CHARS;
    for (line, number) in lines[from..to].iter().zip(from + 1..) {
        let row = format!("{number}: {}", clip(line));
        let size = row.chars().count();
        if size > room && !rows.is_empty() {
            break;
        }
        room = room.saturating_sub(size);
        rows.push(row);
    }
    Some(Place { from: from + 1, to: from + rows.len(), rows: rows.join("\n") })
}

fn likeness(line: &str, wanted: &str) -> f64 {
    if line.is_empty() || wanted.is_empty() {
        return 0.0;
    }
    if line == wanted {
        return 1.0;
    }
    // Very long lines would cost more than they tell.
    let head = |text: &str| text.chars().take(300).collect::<String>();
    strsim::sorensen_dice(&head(line), &head(wanted))
}

fn clip(line: &str) -> String {
    match line.char_indices().nth(ROW_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likest_lines_are_shown_with_their_numbers() {
        let text = "import os\n\ndef total(items):\n    return sum(items)\n\ndef mean(items):\n    return sum(items) / len(items)\n";
        let place = find(text, "def mean(xs):\n    return sum(xs) / len(xs)").expect("place");
        assert_eq!((place.from, place.to), (6, 7));
        assert_eq!(place.rows, "6: def mean(items):\n7:     return sum(items) / len(items)");
    }

    #[test]
    fn long_lines_are_shown_whole_and_fewer() {
        let long = |n: usize| format!("    value_{n} = \"{}\"\n", "x".repeat(150));
        let text: String = (0..9).map(long).collect();
        let wanted = format!("{}{}{}", long(2), long(3), long(4).replace("value", "valve"));
        let place = find(&text, &wanted).expect("place");
        assert_eq!((place.from, place.to), (5, 5), "the likest line is never crowded out");
        assert_eq!(place.rows, format!("5: {}", long(4).trim_end_matches('\n')));
    }

    #[test]
    fn nothing_alike_is_not_shown() {
        assert!(find("a = 1\nb = 2\n", "class Parser(Base):").is_none());
        assert!(find("", "x").is_none());
    }
}
