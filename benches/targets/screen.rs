//! The rows of the interactive session: the real program on a terminal.
//!
//! Beside it a shell stands as the floor where it does the like: comes to a prompt, waits, echoes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tack::model::{Body, CallId, Item, ItemId, Part};
use tack::store::Sessions;

use super::{Bench, Figure, Row, alone, mb, ms};
use crate::pty::{Cost, Pty};
use crate::server::Script;
use crate::text::{END, Text};

/// What stands in an empty composer, and what the floor's prompt ends with.
const READY: &str = "Ask, or";
const SHELL: &[&str] = &["# ", "$ "];
const STARTS: usize = 15;
pub(super) const LINES: usize = 5_000;
const KEYS: usize = 200;
pub(super) const IDLE: Duration = Duration::from_secs(10);
/// Longer than any animation stands still, so that a screen this quiet is one that is done.
pub(super) const QUIET: Duration = Duration::from_millis(300);
/// 50 deltas a second for 10 s.
pub(super) const PACED: Script = Script::Words(500, Duration::from_millis(20));
const ITEMS: u64 = 10_000;
const FILES: usize = 150_000;

/// What a stretch of a program's life took.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) cpu: f64,
    pub(super) memory: f64,
    pub(super) bytes: usize,
}

impl Bench {
    fn tty(&self, args: &[&str]) -> Result<Pty> {
        let pty = Pty::start(&self.command(&self.tack, args))?;
        pty.wait(&[READY], 0)?;
        Ok(pty)
    }

    fn shell(&self) -> Result<Pty> {
        let pty = Pty::start(&self.command("bash".as_ref(), &["-i"]))?;
        pty.wait(SHELL, 0)?;
        Ok(pty)
    }

    /// Spawn to a prompt.
    pub(super) fn prompt(&self) -> Result<Vec<Row>> {
        let (mut shells, mut tacks, mut cpus) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..STARTS {
            let shell = Pty::start(&self.command("bash".as_ref(), &["-i"]))?;
            shells.push(ms(shell.wait(SHELL, 0)? - shell.started));
            let tack = Pty::start(&self.command(&self.tack, &[]))?;
            tacks.push(ms(tack.wait(&[READY], 0)? - tack.started));
            tack.still(QUIET);
            cpus.push(ms(tack.cost().cpu));
            tack.end("\x04")?;
        }
        Ok(vec![
            // The shell that the target was set with read a person's files at its start; this one has none.
            beside("screen: spawn to a prompt", (shells, tacks), (100.0, None)),
            alone_of("screen: spawn to a prompt: CPU", cpus, 30.0),
        ])
    }

    /// Nothing happens.
    pub(super) fn idle(&self) -> Result<Vec<Row>> {
        let (shell, tack) = (self.shell()?, self.tty(&[])?);
        tack.still(QUIET * 2);
        let before = [shell.cost(), tack.cost()];
        std::thread::sleep(IDLE);
        let after = [shell.cost(), tack.cost()];
        let cpu = |which: usize| vec![ms(after[which].cpu - before[which].cpu)];
        let memory = |which: usize| vec![mb(after[which].memory)];
        tack.end("\x04")?;
        Ok(vec![
            beside("screen: idle for 10 s: CPU", (cpu(0), cpu(1)), (5.0, None)),
            beside("screen: idle: memory of all processes", (memory(0), memory(1)), (25.0, None)),
        ])
    }

    /// Keys, prose, and keys and prose once more below it.
    pub(super) fn prose(&self) -> Result<Vec<Row>> {
        let floor = echoes(&self.shell()?)?;
        let characters: usize = Text::Prose.lines(LINES).iter().map(String::len).sum();
        let paced: usize = Text::words(500).iter().map(String::len).sum();
        let mut rows = Vec::new();
        let (mut many, mut slow, mut late) = (Vec::new(), Vec::new(), Vec::new());
        let mut keys = [Vec::new(), Vec::new()];
        for round in 0..3 {
            let tack = self.tty(&[])?;
            if round == 0 {
                keys[0] = echoes(&tack)?;
                slow.push(self.say(&tack, PACED)?);
            }
            tack.end("\x04")?;
            let tack = self.tty(&[])?;
            many.push(self.say(&tack, Script::Lines(Text::Prose, LINES))?);
            if round == 0 {
                keys[1] = echoes(&tack)?;
                late.push(self.say(&tack, PACED)?);
            }
            tack.end("\x04")?;
        }
        for (name, keys) in ["", ", after 5,000 lines"].iter().zip(keys) {
            let at = |part: f64| (vec![percentile(&floor, part)], vec![percentile(&keys, part)]);
            rows.push(beside(format!("screen: key to echo, median{name}"), at(0.5), (2.0, Some(0.4))));
            rows.push(beside(format!("screen: key to echo, p95{name}"), at(0.95), (10.0, None)));
        }
        let of = |spans: &[Span], figure: fn(&Span) -> f64| spans.iter().map(figure).collect();
        let each =
            |spans: &[Span], of: usize| spans.iter().map(|span| span.bytes as f64 / of as f64).collect();
        rows.extend([
            alone_of("screen: 5,000 lines of prose: CPU", of(&many, |span| span.cpu), 300.0),
            alone_of("screen: 5,000 lines of prose: memory growth", of(&many, |span| span.memory), 10.0),
            alone_of("screen: 5,000 lines: bytes a character", each(&many, characters), 8.0),
            alone_of("screen: 50 deltas a second, 10 s: CPU", of(&slow, |span| span.cpu), 150.0),
            alone_of("screen: ... after 5,000 lines: CPU", of(&late, |span| span.cpu), 150.0),
            alone_of("screen: 50 deltas a second: bytes a character", each(&slow, paced), 8.0),
        ]);
        Ok(rows)
    }

    pub(super) fn code(&self) -> Result<Vec<Row>> {
        let mut cpus = Vec::new();
        for _ in 0..3 {
            let tack = self.tty(&[])?;
            cpus.push(self.say(&tack, Script::Lines(Text::Code, LINES))?.cpu);
            tack.end("\x04")?;
        }
        Ok(vec![alone_of("screen: 5,000 lines of code: CPU", cpus, 1000.0)])
    }

    /// Has the model say this, until the screen is quiet.
    pub(super) fn say(&self, tack: &Pty, script: Script) -> Result<Span> {
        self.server.play(script);
        tack.keys("go on")?;
        // Enter by itself: right behind other keys it may be taken for part of a paste.
        tack.still(QUIET);
        let (before, from) = (tack.cost(), tack.written());
        tack.keys("\r")?;
        tack.wait(&[END], from)?;
        tack.still(QUIET);
        let (Cost { cpu, memory, .. }, bytes) = (tack.cost(), tack.written() - from);
        Ok(Span { cpu: ms(cpu - before.cpu), memory: mb(memory) - mb(before.memory), bytes })
    }

    /// A session of many items is taken up again.
    pub(super) fn resume(&self) -> Result<Vec<Row>> {
        self.long_session()?;
        let (mut times, mut cpus) = (Vec::new(), Vec::new());
        for _ in 0..8 {
            let tack = Pty::start(&self.command(&self.tack, &["resume", "--last"]))?;
            times.push(ms(tack.wait(&[READY], 0)? - tack.started));
            tack.still(QUIET);
            cpus.push(ms(tack.cost().cpu));
            tack.end("\x04")?;
        }
        let cpu = Row { target: None, ..alone_of("screen: resume of 10,000 items: CPU", cpus, 0.0) };
        Ok(vec![alone_of("screen: resume of 10,000 items", times, 150.0), cpu])
    }

    /// Runs tack once, and gives its calls so often that there are enough.
    fn long_session(&self) -> Result<()> {
        self.server.play(Script::Calls(2));
        let once = self.command(&self.tack, &["-p", "go on", "--yolo"]).output()?;
        ensure!(once.status.success(), "{}", String::from_utf8_lossy(&once.stderr));
        let folder = self.dir.path().join("home/sessions");
        let sessions = Sessions::new(folder);
        let id = sessions.last(None).context("the run left a session")?;
        let (mut session, loaded) = sessions.open(&id)?;
        let calls = |body: &Body| match body {
            Body::Assistant(reply) => reply.calls().next().is_some(),
            Body::Result(_) => true,
            _ => false,
        };
        let pair: Vec<&Item> = loaded.items.iter().filter(|item| calls(&item.body)).take(2).collect();
        ensure!(pair.len() == 2, "a call and its result");
        let first = loaded.next().0;
        for n in (first..ITEMS).step_by(2) {
            let call = CallId::of(ItemId(n), 0);
            for (item, id) in pair.iter().zip(n..) {
                let mut item = Item { id: ItemId(id), ..(*item).clone() };
                match &mut item.body {
                    Body::Assistant(reply) => reply.parts.iter_mut().for_each(|part| {
                        if let Part::Call(own) = part {
                            own.id = call.clone();
                            own.given = None;
                        }
                    }),
                    Body::Result(result) => result.call = call.clone(),
                    _ => {}
                }
                session.append(&item)?;
            }
        }
        Ok(session.settle()()?)
    }

    /// A name in a tree of many files.
    pub(super) fn files(&self) -> Result<Vec<Row>> {
        let work = self.dir.path().join("work");
        for n in 0..FILES {
            let folder = work.join(format!("part{}/of{}", n / 5000, n / 100));
            if n % 100 == 0 {
                std::fs::create_dir_all(&folder)?;
            }
            std::fs::write(folder.join(format!("file{n}.rs")), "")?;
        }
        let (mut first, mut all, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..5 {
            let tack = self.tty(&[])?;
            tack.still(QUIET);
            let (from, asked) = (tack.written(), Instant::now());
            tack.keys("@file")?;
            first.push(ms(tack.wait(&[".rs"], from)? - asked));
            // While the walk goes on.
            keys.extend(echoes_of(&tack, 20)?);
            tack.keys("\x03")?;
            tack.still(QUIET);
            let (from, asked) = (tack.written(), Instant::now());
            tack.keys("@149999")?;
            all.push(ms(tack.wait(&[".rs"], from)? - asked));
            tack.end("\x03\x04")?;
        }
        let worst = percentile(&keys, 1.0);
        let walked = Row { target: None, ..alone_of("screen: @149999: the hit, walked before", all, 0.0) };
        for n in 0..=(FILES - 1) / 5000 {
            std::fs::remove_dir_all(work.join(format!("part{n}")))?;
        }
        Ok(vec![
            alone_of("screen: @ in 150,000 files: first hits", first, 200.0),
            alone("screen: ... keys meanwhile, the slowest", worst, 50.0),
            walked,
        ])
    }

    /// A session with two calls is left.
    pub(super) fn left_behind(&self) -> Result<Vec<Row>> {
        let home = self.dir.path().join("home");
        let before = size(&home)?;
        self.server.play(Script::Calls(2));
        let tack = self.tty(&["--yolo"])?;
        let from = tack.written();
        tack.keys("go on\r")?;
        tack.wait(&["done"], from)?;
        tack.still(QUIET);
        let processes = tack.end("\x04")?;
        let grown = mb(size(&home)?.saturating_sub(before));
        Ok(vec![
            alone("screen: processes left behind", processes as f64, 0.0),
            alone("screen: left in the state folder", grown, 1.0),
        ])
    }
}

/// Times from a key to what it makes, for keys that come one by one.
pub(super) fn echoes(pty: &Pty) -> Result<Vec<f64>> {
    pty.still(QUIET);
    let times = echoes_of(pty, KEYS)?;
    // Empties the line again.
    pty.keys("\x15\x15\x15")?;
    pty.still(QUIET);
    Ok(times)
}

fn echoes_of(pty: &Pty, count: usize) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    for n in 0..count {
        // Letters that end no escape sequence in use, at moments that no animation shares.
        let key = ["Q", "W", "Y", "Z", "V"][n % 5];
        let (from, pressed) = (pty.written(), Instant::now());
        pty.keys(key)?;
        times.push(ms(pty.wait(&[key], from)?.saturating_duration_since(pressed)));
        std::thread::sleep(Duration::from_millis(23 + n as u64 * 7 % 19));
    }
    Ok(times)
}

pub(super) fn percentile(values: &[f64], part: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let at = ((values.len() - 1) as f64 * part).round() as usize;
    values.get(at).copied().unwrap_or(f64::NAN)
}

fn beside(
    name: impl Into<String>,
    (floor, tack): (Vec<f64>, Vec<f64>),
    (target, set_with): (f64, Option<f64>),
) -> Row {
    let (floor, tack) = (Some(Figure::from(floor)), Figure::from(tack));
    Row { name: name.into(), floor, tack, target: Some(target), set_with }
}

fn alone_of(name: &str, values: Vec<f64>, target: f64) -> Row {
    Row { tack: Figure::from(values), ..alone(name, 0.0, target) }
}

/// Bytes of all files below a folder.
fn size(folder: &std::path::Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.path().symlink_metadata()?;
        sum += if meta.is_dir() { size(&entry.path())? } else { meta.len() };
    }
    Ok(sum)
}
