//! Speed and memory of tack beside a floor client, against the targets: `cargo bench --bench targets`,
//! with `-- PATH` for another tack than this one, `-- --screen` for the rows of the interactive session alone, `-- --peer=PATH` with
//! those of another agent.
//!
//! Each figure is the quietest of several runs, since a shared machine only ever adds; the median
//! stands beside it, and where the two are far apart the machine was busy. Ratios to the floor count,
//! not times: a target in time was set together with a floor, and is scaled by what the floor needs
//! here. The numbers of targets and floors are those of the design's table of targets.

mod floor;
mod peer;
mod pty;
mod run;
mod screen;
mod server;
mod text;
mod wires;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use run::{Ran, run};
use server::{Script, Server};
use wires::Wire;

/// Calls in the loop, and in the long one that shows whether a turn's cost grows.
const TURNS: usize = 50;
const LONG: usize = 200;
/// Pieces of a streamed reply; and of a long one, which must not cost more apiece.
const DELTAS: usize = 20_000;
const MANY: usize = 80_000;

/// Where tack writes.
#[derive(PartialEq, Eq)]
enum On {
    Pipe,
    Screen,
}

type Part = (fn(&Bench) -> Result<Vec<Row>>, On);

const PARTS: [Part; 15] = [
    (Bench::version, On::Pipe),
    (Bench::once, On::Pipe),
    (Bench::turns, On::Pipe),
    (Bench::growth, On::Pipe),
    (Bench::stream, On::Pipe),
    (Bench::wires, On::Pipe),
    (Bench::prompt, On::Screen),
    (Bench::idle, On::Screen),
    (Bench::prose, On::Screen),
    (Bench::code, On::Screen),
    (Bench::left_behind, On::Screen),
    (Bench::files, On::Screen),
    (Bench::resume, On::Screen),
    (Bench::peer, On::Screen),
    (Bench::left, On::Pipe),
];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some((first, rest)) = args.split_first()
        && first == "floor"
    {
        return floor::main(rest);
    }
    // cargo hands on a flag of its own.
    let other = args.iter().find(|arg| !arg.starts_with('-'));
    let mut bench = Bench::new(other.map_or(env!("CARGO_BIN_EXE_tack"), |path| path))?;
    bench.peer = args.iter().find_map(|arg| arg.strip_prefix("--peer=")).map(PathBuf::from);
    let mut out = std::io::stdout();
    writeln!(
        out,
        "{:<48} {:>9} {:>9} {:>9} {:>7} {:>13}",
        "figure", "floor", "tack", "(median)", "ratio", "target"
    )?;
    let screen_only = args.iter().any(|arg| arg == "--screen");
    for part in PARTS.iter().filter(|part| !screen_only || part.1 == On::Screen) {
        for row in part.0(&bench)? {
            writeln!(out, "{row}")?;
        }
    }
    Ok(())
}

/// One figure. Times are in milliseconds unless the name says otherwise, memory in megabytes.
struct Row {
    name: String,
    floor: Option<Figure>,
    tack: Figure,
    /// None where the figure is only told.
    target: Option<f64>,
    /// The floor that the target was set with; None where the target holds as it is.
    set_with: Option<f64>,
}

/// The quietest run and the median of all.
#[derive(Clone, Copy)]
struct Figure {
    least: f64,
    median: f64,
}

impl Figure {
    fn of(runs: &[Ran], figure: impl Fn(&Ran) -> f64) -> Self {
        runs.iter().map(figure).collect::<Vec<f64>>().into()
    }

    fn alone(value: f64) -> Self {
        Self { least: value, median: value }
    }

    fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self { least: change(self.least), median: change(self.median) }
    }
}

impl From<Vec<f64>> for Figure {
    fn from(mut all: Vec<f64>) -> Self {
        Self { median: median(&mut all), least: all.first().copied().unwrap_or(f64::NAN) }
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, floor, tack: Figure { least, median }, target, set_with } = self;
        let scale = floor.zip(*set_with).map_or(1.0, |(floor, set)| floor.least / set);
        let dash = || "-".to_owned();
        let floors = floor.map_or_else(dash, |floor| format!("{:.2}", floor.least));
        let ratio = floor.filter(|floor| floor.least > 0.0);
        let ratio = ratio.map_or_else(dash, |floor| format!("{:.1}", least / floor.least));
        let target = target.map_or_else(dash, |target| {
            let met = if *least <= target * scale { "met" } else { "MISSED" };
            format!("{:.2} {met}", target * scale)
        });
        write!(f, "{name:<48} {floors:>9} {least:>9.2} {median:>9.2} {ratio:>7} {target:>13}")
    }
}

struct Bench {
    dir: tempfile::TempDir,
    server: Server,
    floor: PathBuf,
    tack: PathBuf,
    /// Another agent, see [`peer`].
    peer: Option<PathBuf>,
}

impl Bench {
    fn new(tack: &str) -> Result<Self> {
        // Not below /tmp, of which commands in the sandbox see one of their own.
        let dir = tempfile::tempdir_in("/var/tmp")?;
        let server = Server::start()?;
        for name in ["home", "work"] {
            std::fs::create_dir(dir.path().join(name))?;
        }
        let config = format!(
            "model = \"m\"\nmodel_provider = \"bench\"\nharness = \"minimal\"\n\
             [model_providers.bench]\nname = \"Bench\"\nbase_url = \"{}\"\nwire_api = \"chat\"\n",
            server.url
        );
        std::fs::write(dir.path().join("home/config.toml"), config)?;
        let tack = Path::new(tack).canonicalize().with_context(|| format!("looking for {tack}"))?;
        Ok(Self { dir, server, floor: std::env::current_exe()?, tack, peer: None })
    }

    fn command(&self, program: &Path, args: &[&str]) -> Command {
        let home = self.dir.path().join("home");
        let mut command = Command::new(program);
        command.args(args).current_dir(self.dir.path().join("work")).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &home).env("TACK_HOME", &home).env("LANG", "C.UTF-8");
        command
    }

    /// Runs the floor and tack with each list of arguments in turn, `rounds` times; the floor's first.
    fn rounds(&self, rounds: usize, script: Script, tack: &[&[&str]]) -> Result<Vec<Vec<Ran>>> {
        let floor = ["floor", &self.server.url];
        let mut all = vec![Vec::new(); tack.len() + 1];
        for _ in 0..rounds {
            all[0].push(run(self.command(&self.floor, &floor), &self.server, script)?);
            for (args, runs) in tack.iter().zip(&mut all[1..]) {
                runs.push(run(self.command(&self.tack, args), &self.server, script)?);
            }
        }
        for ran in all.iter().flatten() {
            let want = if let Script::Calls(calls) = script { calls + 1 } else { 1 };
            ensure!(ran.seen.len() == want, "{} requests instead of {want}", ran.seen.len());
        }
        Ok(all)
    }

    fn version(&self) -> Result<Vec<Row>> {
        let mut floor = Vec::new();
        let mut tack = Vec::new();
        for _ in 0..20 {
            let script = Script::Deltas(1);
            floor.push(run(self.command(&self.floor, &["floor", "--version"]), &self.server, script)?);
            tack.push(run(self.command(&self.tack, &["--version"]), &self.server, script)?);
        }
        Ok(vec![
            pair("--version: CPU", (&floor, &tack), cpu, (4.0, Some(1.2))),
            pair("--version: peak memory", (&floor, &tack), peak, (12.0, None)),
        ])
    }

    fn once(&self) -> Result<Vec<Row>> {
        let all = self.rounds(20, Script::Deltas(1), &[&["-p", "go on"]])?;
        let both = (&all[0][..], &all[1][..]);
        let first = |ran: &Ran| ms(ran.seen[0].asked - ran.started);
        Ok(vec![
            pair("one-shot: CPU", both, cpu, (20.0, Some(1.5))),
            pair("one-shot: spawn to the first request", both, first, (25.0, Some(1.7))),
            pair("one-shot: peak memory", both, peak, (25.0, None)),
        ])
    }

    fn turns(&self) -> Result<Vec<Row>> {
        let tack: [&[&str]; 2] = [&["-p", "go on", "--yolo"], &["-p", "go on"]];
        let all = self.rounds(8, Script::Calls(TURNS), &tack)?;
        let both = (&all[0][..], &all[1][..]);
        let a_turn = |ran: &Ran| cpu(ran) / TURNS as f64;
        let gap = |ran: &Ran| typical_gap(ran, 0..TURNS);
        let free = Figure::of(&all[1], gap);
        let more = Figure::of(&all[2], gap);
        let more = Figure { least: more.least - free.least, median: more.median - free.median };
        let floor_gap = Figure::of(&all[0], gap);
        let (sandboxed, scaled) = (Figure::of(&all[2], a_turn), 5.0 * floor_gap.least / 1.4);
        Ok(vec![
            pair("50 calls, no sandbox: CPU a turn", both, a_turn, (3.3, Some(1.3))),
            pair("50 calls, no sandbox: gap a turn", both, gap, (3.0, Some(1.4))),
            Row {
                name: "50 calls, sandbox: gap a turn, more by".into(),
                floor: None,
                tack: more,
                target: Some(scaled),
                set_with: None,
            },
            Row {
                name: "50 calls, sandbox: CPU a turn".into(),
                floor: None,
                tack: sandboxed,
                target: None,
                set_with: None,
            },
        ])
    }

    fn growth(&self) -> Result<Vec<Row>> {
        let all = self.rounds(5, Script::Calls(LONG), &[&["-p", "go on", "--yolo"]])?;
        let both = (&all[0][..], &all[1][..]);
        // Of the quietest stretches: a busy moment in the early one would flatter the ratio.
        let late = |runs| {
            let gap = |turns: std::ops::Range<usize>| Figure::of(runs, |ran| typical_gap(ran, turns.clone()));
            let (late, early) = (gap(LONG - 10..LONG), gap(5..15));
            Figure { least: late.least / early.least, median: late.median / early.median }
        };
        let grown = |ran: &Ran| mb(ran.seen[LONG - 1].memory) - mb(ran.seen[10].memory);
        Ok(vec![
            Row {
                name: "gap at turn 200 by that at turn 10".into(),
                floor: Some(late(&all[0])),
                tack: late(&all[1]),
                target: Some(1.3),
                set_with: Some(1.0),
            },
            pair("memory growth, turn 10 to 200", both, grown, (5.0, None)),
        ])
    }

    fn stream(&self) -> Result<Vec<Row>> {
        let tack: [&[&str]; 2] = [&["-p", "go on"], &["-p", "go on", "--json=full"]];
        let start = self.rounds(3, Script::Deltas(1), &tack)?;
        let some = self.rounds(6, Script::Deltas(DELTAS), &tack)?;
        let many = self.rounds(2, Script::Deltas(MANY), &tack)?;
        let us = |runs: &[Vec<Ran>], which: usize, deltas: usize| {
            let start = Figure::of(&start[which], cpu).least;
            Figure::of(&runs[which], cpu).map(|cpu| (cpu - start) * 1e3 / deltas as f64)
        };
        let row = |name, which, target| {
            let floor = Some(us(&some, 0, DELTAS));
            Row {
                name: String::from(name),
                floor,
                tack: us(&some, which, DELTAS),
                target: Some(target),
                set_with: Some(2.0),
            }
        };
        let bytes = some[2][0].written as f64 / DELTAS as f64;
        let linear = |which| us(&many, which, MANY).least / us(&some, which, DELTAS).least;
        Ok(vec![
            row("a delta, text: CPU in us", 1, 5.0),
            row("a delta, --json=full: CPU in us", 2, 8.0),
            alone("a delta, --json=full: bytes", bytes, 150.0),
            alone("a delta of 80,000 by one of 20,000, text", linear(1), 1.2),
            alone("a delta of 80,000 by one of 20,000, json", linear(2), 1.2),
        ])
    }

    /// The one-shot and stream rows once more, on the two wires that the floor does not speak: its
    /// figures are those of chat.
    fn wires(&self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for wire in Wire::ALL.into_iter().filter(|wire| *wire != Wire::Chat) {
            let set = format!("model_providers.bench.wire_api=\"{}\"", wire.name());
            let tack: [&[&str]; 2] =
                [&["-c", &set, "-p", "go on"], &["-c", &set, "-p", "go on", "--json=full"]];
            let once = self.rounds(12, Script::Deltas(1), &tack)?;
            let many = self.rounds(4, Script::Deltas(DELTAS), &tack)?;
            let both = (&once[0][..], &once[1][..]);
            let first = |ran: &Ran| ms(ran.seen[0].asked - ran.started);
            rows.push(pair(format!("{}: one-shot: CPU", wire.name()), both, cpu, (20.0, Some(1.5))));
            rows.push(pair(
                format!("{}: one-shot: first request", wire.name()),
                both,
                first,
                (25.0, Some(1.7)),
            ));
            for (which, what, target) in [(1, "text", 5.0), (2, "json=full", 8.0)] {
                let us = |which: usize| {
                    let start = Figure::of(&once[which], cpu).least;
                    Figure::of(&many[which], cpu).map(|cpu| (cpu - start) * 1e3 / DELTAS as f64)
                };
                rows.push(Row {
                    name: format!("{}: a delta, {what}: CPU in us", wire.name()),
                    floor: Some(us(0)),
                    tack: us(which),
                    target: Some(target),
                    set_with: Some(2.0),
                });
            }
        }
        Ok(rows)
    }

    /// What stays on the disk.
    fn left(&self) -> Result<Vec<Row>> {
        let size = std::fs::metadata(&self.tack).context("the size of tack")?.len();
        Ok(vec![alone("installed size", mb(size), 20.0)])
    }
}

/// A row from runs of floor and tack, with the target and the floor it was set with.
fn pair(
    name: impl Into<String>,
    (floor, tack): (&[Ran], &[Ran]),
    figure: impl Fn(&Ran) -> f64,
    (target, set_with): (f64, Option<f64>),
) -> Row {
    Row {
        name: name.into(),
        floor: Some(Figure::of(floor, &figure)),
        tack: Figure::of(tack, &figure),
        target: Some(target),
        set_with,
    }
}

/// A row that needs no floor.
fn alone(name: impl Into<String>, value: f64, target: f64) -> Row {
    Row { name: name.into(), floor: None, tack: Figure::alone(value), target: Some(target), set_with: None }
}

/// Median time between a reply's last byte and the next request, over some turns.
fn typical_gap(ran: &Ran, turns: std::ops::Range<usize>) -> f64 {
    let mut gaps: Vec<f64> = turns.map(|n| ms(ran.seen[n + 1].asked - ran.seen[n].answered)).collect();
    median(&mut gaps)
}

/// Sorts them, too.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn cpu(ran: &Ran) -> f64 {
    ms(ran.cpu)
}

fn peak(ran: &Ran) -> f64 {
    mb(ran.peak)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
