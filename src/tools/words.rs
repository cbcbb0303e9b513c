//! Numbers in words, as outcomes say them.

/// `1 line`, `2 lines`.
pub(super) fn count(n: impl TryInto<u64>, noun: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    let plural = match (n, noun.ends_with("ss")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{n} {noun}{plural}")
}

/// `line 3`, `lines 3 to 5`.
pub(super) fn span(from: impl TryInto<u64>, to: impl TryInto<u64>) -> String {
    let (from, to) = (from.try_into().unwrap_or(u64::MAX), to.try_into().unwrap_or(u64::MAX));
    if from >= to { format!("line {from}") } else { format!("lines {from} to {to}") }
}
