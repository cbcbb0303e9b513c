//! How a line that is typed folds into rows of the screen. Pure.

use super::glyph;

/// Where the rows of `line` begin, the first at 0. Rows break behind blanks where they can. A row that is
/// full to its last column is followed by an empty one if the line ends there: the cursor needs a place.
pub(super) fn starts(line: &str, width: usize, label: &dyn Fn(char) -> usize) -> Vec<usize> {
    #[cfg(test)]
    FOLDED.set(FOLDED.get() + 1);
    let width = width.max(1);
    let mut starts = vec![0];
    // Columns of the open row, and the last place it may break with the columns before that.
    let (mut used, mut blank) = (0, None);
    let mut at = 0;
    while at < line.len() {
        let end = glyph::next(line, at);
        let wide = columns(&line[at..end], width, label);
        while used + wide > width {
            let (start, kept) = blank.take().unwrap_or((at, used));
            starts.push(start);
            used -= kept;
        }
        used += wide;
        at = end;
        if line[..at].ends_with(char::is_whitespace) {
            blank = Some((at, used));
        }
    }
    // A run of blanks may end the row at its very end; the next row then begins there.
    if used >= width {
        starts.push(line.len());
    }
    starts
}

#[cfg(test)]
thread_local! {
    static FOLDED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How many lines were folded on this thread.
#[cfg(test)]
pub(super) fn folded() -> usize {
    FOLDED.get()
}

/// Columns of one character, never more than a row has.
pub(super) fn columns(cluster: &str, width: usize, label: &dyn Fn(char) -> usize) -> usize {
    let atom = cluster.chars().next().filter(|c| glyph::is_atom(*c));
    atom.map_or_else(|| glyph::shown(cluster).1, label).min(width.max(1))
}

/// The row that holds `byte`.
pub(super) fn row_of(starts: &[usize], byte: usize) -> usize {
    starts.partition_point(|start| *start <= byte).saturating_sub(1)
}

/// The columns of `line` from the start of a row to `byte`.
pub(super) fn column_of(line: &str, from: usize, byte: usize, label: &dyn Fn(char) -> usize) -> usize {
    let (mut at, mut column) = (from, 0);
    while at < byte {
        let end = glyph::next(line, at);
        column += columns(&line[at..end], usize::MAX, label);
        at = end;
    }
    column
}

/// The last place within `row`, both ends included, that is not right of `goal`.
pub(super) fn at_column(
    line: &str,
    row: std::ops::RangeInclusive<usize>,
    goal: usize,
    label: &dyn Fn(char) -> usize,
) -> usize {
    let (mut at, mut column) = (*row.start(), 0);
    while at < *row.end() {
        let end = glyph::next(line, at);
        column += columns(&line[at..end], usize::MAX, label);
        if column > goal {
            break;
        }
        at = end;
    }
    at
}
