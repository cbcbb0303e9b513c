//! Indentation: how an answer's lines are brought to where they belong.

use std::ops::Range;

/// The white space that a line starts with.
pub(super) fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The white space before a place on its line; empty where something else stands before it.
pub(super) fn indent_at(text: &str, at: usize) -> &str {
    let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..at];
    if line.trim_start_matches([' ', '\t']).is_empty() { line } else { "" }
}

/// The text without blank lines around it and without the indentation that its first line has, where the
/// lines after have it too.
pub(super) fn dedent(text: &str) -> String {
    let start =
        text.lines().take_while(|line| line.trim().is_empty()).map(|line| line.len() + 1).sum::<usize>();
    let text = text.get(start..).unwrap_or_default();
    let margin = indent(text);
    let filled = text.lines().filter(|line| !line.trim().is_empty());
    if margin.is_empty() || !filled.clone().all(|line| line.starts_with(margin)) {
        return text.to_owned();
    }
    text.split_inclusive('\n')
        .map(|line| line.strip_prefix(margin).unwrap_or(line.trim_start_matches([' ', '\t'])))
        .collect()
}

/// One step of a text's indentation: a tab or some spaces; none where it has both sorts or neither. The rows
/// `fixed` do not count.
pub(super) fn unit(text: &str, fixed: &[Range<usize>]) -> Option<String> {
    let indents = || {
        let lines =
            text.lines().enumerate().filter(|(row, line)| !line.trim().is_empty() && !in_any(fixed, *row));
        lines.map(|(_, line)| indent(line)).filter(|indent| !indent.is_empty())
    };
    if indents().all(|indent| indent.starts_with('\t')) {
        return indents().next().map(|_| "\t".to_owned());
    }
    let spaces = indents().all(|indent| indent.bytes().all(|b| b == b' '));
    indents().min_by_key(|indent| indent.len()).filter(|_| spaces).map(str::to_owned)
}

/// The text with its steps of indentation as others: tabs for spaces or spaces for tabs.
pub(super) fn converted(text: &str, from: &str, to: &str, fixed: &[Range<usize>]) -> String {
    let line = |(row, line): (usize, &str)| {
        let mut rest = line;
        let mut steps = 0;
        while let Some(less) = rest.strip_prefix(from).filter(|_| !in_any(fixed, row)) {
            (rest, steps) = (less, steps + 1);
        }
        to.repeat(steps) + rest
    };
    text.split_inclusive('\n').enumerate().map(line).collect()
}

/// A part of a text as it has to stand elsewhere: lines after the first go from one indentation to another.
/// The rows `fixed` stay as they are; `row` is that of the part's first line.
pub(super) fn moved(part: &str, [from, to]: [&str; 2], row: usize, fixed: &[Range<usize>]) -> String {
    let line = |(at, line): (usize, &str)| {
        if at == 0 || line.trim().is_empty() || in_any(fixed, row + at) {
            return line.to_owned();
        }
        format!("{to}{}", line.strip_prefix(from).unwrap_or(line))
    };
    part.split_inclusive('\n').enumerate().map(line).collect()
}

fn in_any(rows: &[Range<usize>], row: usize) -> bool {
    rows.iter().any(|range| range.contains(&row))
}
