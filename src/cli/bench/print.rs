//! What a person sees of a bench: progress on stderr, figures on stdout.

use std::fmt::Write as _;
use std::io::Write;

use serde_json::json;

use super::Bench;
use super::flags::Flags;
use crate::bench::{self, Compared, DECISIVE, Entry, Progress, Recommended, Row, Verdict};
use crate::cli::error::CliError;

/// Most signs that a row names.
const SIGNS: usize = 3;
/// Longest reason in a line of progress, in characters.
const WHY: usize = 100;

/// All that is shown in the end.
pub(super) struct Shown<'a> {
    pub(super) bench: &'a Bench,
    pub(super) recommended: &'a [Recommended],
    pub(super) compared: Option<&'a Compared>,
}

/// `[3/40] qwen2.5-coder local rename-file solved 12 s, 3 requests, 410 new tokens`
pub(super) fn progress(step: &Progress<'_>) {
    let Progress { done, of, entry } = step;
    let _ = writeln!(std::io::stderr(), "[{done}/{of}] {}", line(entry));
}

fn line(entry: &Entry) -> String {
    let key = &entry.key;
    let model = key.model.rsplit('/').next().unwrap_or_default();
    let mut line = format!("{model} {} {} {}", key.harness, key.task, entry.verdict.word());
    if entry.verdict != Verdict::Void {
        let _ = write!(line, " {:.0} s", entry.seconds);
        let new = entry.usage.input.saturating_sub(entry.usage.cached);
        if entry.requests > 0 {
            let _ = write!(line, ", {}, {} new tokens", count(entry.requests, "request"), thousands(new));
        }
    }
    if entry.verdict != Verdict::Solved && !entry.why.is_empty() {
        let why: String = entry.why.chars().take(WHY).collect();
        let _ = write!(line, ": {why}");
    }
    // A task may be called anything.
    line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

impl Shown<'_> {
    pub(super) fn print(&self, flags: &Flags) -> Result<(), CliError> {
        let rows = bench::rows(&self.bench.entries);
        let text = if flags.json { self.json(&rows)? } else { self.text(&rows, flags.by_task) };
        std::io::stdout().lock().write_all(text.as_bytes())?;
        Ok(())
    }

    fn json(&self, rows: &[Row]) -> Result<String, CliError> {
        let mut all = json!({
            "tasks": self.bench.which,
            "entries": self.bench.entries,
            "rows": rows,
            "recommended": self.recommended,
        });
        if let Some(compared) = self.compared {
            all["compared"] = json!(compared);
        }
        Ok(serde_json::to_string_pretty(&all).map_err(anyhow::Error::from)? + "\n")
    }

    fn text(&self, rows: &[Row], by_task: bool) -> String {
        let mut text = String::new();
        let mut models: Vec<&str> = rows.iter().map(|row| row.model.as_str()).collect();
        models.dedup();
        for model in models {
            let own: Vec<&Row> = rows.iter().filter(|row| row.model == model).collect();
            let class = own.first().map(|row| row.class.letter()).unwrap_or_default();
            let runs = count(self.bench.series.runs, "run");
            let _ = writeln!(text, "{model}, class {class}: {} of {} each\n", runs, self.bench.which);
            text.push_str(&table(&own));
            if by_task {
                text.push('\n');
                text.push_str(&task_table(&own));
            }
            let _ = writeln!(text);
        }
        if let Some(compared) = self.compared {
            text.push_str(&verdict(compared));
        }
        for one in self.recommended {
            text.push_str(&recommendation(one));
        }
        text
    }
}

fn table(rows: &[&Row]) -> String {
    let head = ["harness", "solved", "tokens/solved", "new", "cached", "output", "cost", "s/run", "signs"];
    let lines = rows.iter().map(|row| {
        let tokens = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), thousands);
        let signs: Vec<String> =
            row.frequent().iter().take(SIGNS).map(|(sign, n)| format!("{} {n}", sign.words())).collect();
        let void = if row.void > 0 { format!(" ({} void)", row.void) } else { String::new() };
        vec![
            row.harness.clone(),
            format!("{}/{}{void}", row.solved, row.runs),
            tokens(row.per_solved),
            tokens(row.new),
            tokens(row.usage.map(|usage| usage.cached)),
            tokens(row.usage.map(|usage| usage.output)),
            row.cost.filter(|_| row.usage.is_some()).map_or_else(|| "-".to_owned(), dollars),
            format!("{:.1}", row.seconds),
            signs.join(", "),
        ]
    });
    align(&std::iter::once(head.map(str::to_owned).to_vec()).chain(lines).collect::<Vec<_>>())
}

fn task_table(rows: &[&Row]) -> String {
    let mut names: Vec<&String> = rows.iter().flat_map(|row| row.tasks.keys()).collect();
    names.sort();
    names.dedup();
    let head: Vec<String> =
        std::iter::once("task".to_owned()).chain(rows.iter().map(|row| row.harness.clone())).collect();
    let lines = names.into_iter().map(|name| {
        let cell = |row: &&Row| match row.tasks.get(name) {
            None => "-".to_owned(),
            Some((_, 0)) => "void".to_owned(),
            Some((solved, runs)) => format!("{solved}/{runs}"),
        };
        std::iter::once(name.clone()).chain(rows.iter().map(cell)).collect()
    });
    align(&std::iter::once(head).chain(lines).collect::<Vec<_>>())
}

/// Columns two spaces apart; the first and the last to the left, figures to the right.
fn align(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut row = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let text_column = column == 0 || line.len() > 2 && column == 8;
            let _ = match text_column {
                true => write!(row, "{cell:<width$}  "),
                false => write!(row, "{cell:>width$}  "),
            };
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

fn verdict(compared: &Compared) -> String {
    let Compared { model, a, b, tasks, runs, wins, losses, .. } = compared;
    let mut text = format!("{a} against {b} on {model}: {wins} : {losses} of {} ", count(*tasks, "task"));
    if *runs > 1 {
        text.push_str("(a task counts once, by most of its runs) ");
    }
    let _ = writeln!(text, "\n{}", shown(compared));
    let figure = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), thousands);
    let (of_a, of_b) = compared.tokens;
    let _ = writeln!(text, "tokens per solved task: {} against {}", figure(of_a), figure(of_b));
    if compared.void > 0 {
        let _ = writeln!(text, "void runs, not counted: {}", compared.void);
    }
    text.replace(" \n", "\n")
}

/// Whether the difference is one, in a sentence.
fn shown(compared: &Compared) -> String {
    let decisive = compared.wins + compared.losses;
    let p = match compared.p {
        p if p < 0.001 => "p < 0.001".to_owned(),
        p => format!("p = {p:.3}"),
    };
    let p = format!("sign test over {decisive} decisive, {p}");
    if let Some(why) = &compared.invalid {
        return format!("void: {why}");
    }
    match (compared.shown, decisive < DECISIVE) {
        (true, _) if compared.wins > compared.losses => format!("shown: {} solves more ({p})", compared.a),
        (true, _) => format!("shown: {} solves more ({p})", compared.b),
        (false, true) => format!("not shown: fewer than {DECISIVE} decisive tasks ({p})"),
        (false, false) => format!("not shown: chance alone would do ({p})"),
    }
}

fn recommendation(one: &Recommended) -> String {
    let Recommended { model, harness, against } = one;
    format!(
        "use {harness} for {model}; against {}, {} : {}, {}\n",
        against.b,
        against.wins,
        against.losses,
        shown(against)
    )
}

fn dollars(cost: f64) -> String {
    if cost == 0.0 { "$0".to_owned() } else { format!("${cost:.4}") }
}

pub(super) fn count(n: u32, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
