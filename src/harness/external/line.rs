//! One running program: a line out, a line back, and everything that can go wrong on the way.
//!
//! Owns time limits, lengths and the end of what the program wrote on stderr. It must not know what
//! the lines are about. Nothing is read while nobody asks, so a program that floods its pipes only
//! holds up itself.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::program::{Program, Started};

/// Bytes of one line of a program.
const LONGEST: usize = 16 << 20;
/// Bytes of stderr that are kept.
const KEPT: usize = 4_000;
/// Lines of them that a person is shown, and characters of each.
const LINES: usize = 8;
const WIDTH: usize = 200;
/// For the exit of a program that closed its output, and for what it wrote last.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// For the exit of a program whose session is over.
const FAREWELL: Duration = Duration::from_secs(2);

/// What went wrong, as the end of a sentence about the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Start(String),
    Slow,
    /// With how it ended, where it ended by itself.
    Gone,
    Junk(String),
    Long,
    /// An answer that tack cannot use, and why.
    Wrong(String),
}

/// A program that answers.
pub(super) struct Line {
    ends: Started,
    /// What it printed after its last answer.
    ahead: Vec<u8>,
    errors: Vec<u8>,
    errors_open: bool,
    next: u64,
}

impl Line {
    pub fn new(ends: Started) -> Self {
        Self { ends, ahead: Vec::new(), errors: Vec::new(), errors_open: true, next: 0 }
    }

    /// Where the program may write.
    pub fn data(&self) -> Option<String> {
        self.ends.data.as_ref().map(|dir| dir.display().to_string())
    }

    /// Asks and waits for the answer, which has to carry the question's number.
    pub async fn ask(
        &mut self,
        mut question: Map<String, Value>,
        limit: Duration,
    ) -> Result<Map<String, Value>, Fault> {
        let id = self.next;
        self.next += 1;
        question.insert("id".to_owned(), id.into());
        let asked = tokio::time::timeout(limit, self.exchange(&written(question))).await;
        let line = asked.map_err(|_| Fault::Slow)??;
        let junk = || Fault::Junk(shown(&String::from_utf8_lossy(&line)));
        let Ok(Value::Object(answer)) = serde_json::from_slice(&line) else { return Err(junk()) };
        match answer.get("id") {
            Some(given) if given.as_u64() == Some(id) => Ok(answer),
            Some(given) => {
                let given = shown(&given.to_string());
                Err(Fault::Wrong(format!("its `id` is {given}, and the question's was {id}")))
            }
            None => Err(Fault::Wrong(format!("it has no `id`; the question's was {id}"))),
        }
    }

    /// Says something that wants no answer.
    pub async fn tell(&mut self, message: Map<String, Value>, limit: Duration) -> Result<(), Fault> {
        let line = written(message);
        let told = async {
            let mut at = 0;
            let mut errors = [0; 4096];
            while at < line.len() {
                tokio::select! {
                    wrote = self.ends.stdin.write(&line[at..]) => match wrote {
                        Ok(0) | Err(_) => return Err(Fault::Gone),
                        Ok(some) => at += some,
                    },
                    got = self.ends.stderr.read(&mut errors), if self.errors_open => {
                        self.errors_open = keep(&mut self.errors, &errors, &got);
                    }
                }
            }
            Ok(())
        };
        tokio::time::timeout(limit, told).await.map_err(|_| Fault::Slow)?
    }

    /// Writes the question while it reads: a program that printed before it was asked is found out, and
    /// does not hold both sides up.
    async fn exchange(&mut self, question: &[u8]) -> Result<Vec<u8>, Fault> {
        let Line { ends, ahead, errors, errors_open, .. } = self;
        let mut at = 0;
        let mut closed = false;
        let mut searched = 0;
        let (mut out, mut err) = (vec![0; 64 << 10], [0; 4096]);
        loop {
            if let Some(end) = memchr::memchr(b'\n', &ahead[searched..]).map(|found| searched + found) {
                let rest = ahead.split_off(end + 1);
                let line = std::mem::replace(ahead, rest);
                if at < question.len() && !closed {
                    return Err(Fault::Junk(shown(&String::from_utf8_lossy(&line))));
                }
                return Ok(line);
            }
            searched = ahead.len();
            if searched > LONGEST {
                return Err(Fault::Long);
            }
            tokio::select! {
                wrote = ends.stdin.write(&question[at..]), if at < question.len() && !closed => match wrote {
                    // What it printed before it closed its input may say more.
                    Ok(0) | Err(_) => closed = true,
                    Ok(some) => at += some,
                },
                got = ends.stdout.read(&mut out) => match got {
                    Ok(0) | Err(_) => return Err(Fault::Gone),
                    Ok(some) => ahead.extend_from_slice(&out[..some]),
                },
                got = ends.stderr.read(&mut err), if *errors_open => {
                    *errors_open = keep(errors, &err, &got);
                }
            }
        }
    }

    /// Ends the program that did this, and gives the sentence for the person.
    pub async fn over(mut self, program: &Program, asked: &str, fault: &Fault) -> String {
        if *fault != Fault::Gone {
            // What is in the pipe already; a program that floods it may not hold us up.
            self.drain().await;
        }
        let patience = if *fault == Fault::Gone { LAST_WORDS } else { Duration::ZERO };
        let exit = self.ends.tree.end(patience).await;
        if *fault == Fault::Gone {
            self.drain().await;
        }
        sentence(program, (asked, fault, exit.as_deref()), &last_lines(&self.errors))
    }

    async fn drain(&mut self) {
        let mut errors = [0; 4096];
        let until = tokio::time::Instant::now() + LAST_WORDS;
        for _ in 0..64 {
            if !self.errors_open {
                return;
            }
            let read = self.ends.stderr.read(&mut errors);
            let Ok(got) = tokio::time::timeout_at(until.min(soon()), read).await else { return };
            self.errors_open = keep(&mut self.errors, &errors, &got);
        }
    }

    /// The session is over: the program sees the end of its input and may finish what it does.
    pub async fn close(self) {
        let Started { stdin, mut tree, stdout, stderr, .. } = self.ends;
        drop(stdin);
        tree.end(FAREWELL).await;
        drop((stdout, stderr));
    }
}

/// What is there already comes at once.
fn soon() -> tokio::time::Instant {
    tokio::time::Instant::now() + Duration::from_millis(50)
}

fn written(message: Map<String, Value>) -> Vec<u8> {
    let mut line = Value::Object(message).to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Adds to the end of stderr that is kept; gives whether more may come.
fn keep(errors: &mut Vec<u8>, new: &[u8], got: &std::io::Result<usize>) -> bool {
    let Ok(some @ 1..) = *got else { return false };
    errors.extend_from_slice(&new[..some]);
    let spare = errors.len().saturating_sub(KEPT);
    errors.drain(..spare);
    true
}

/// What is wrong with the program, and what can be done.
pub(super) fn sentence(
    program: &Program,
    (asked, fault, exit): (&str, &Fault, Option<&str>),
    errors: &[String],
) -> String {
    let limit = program.limit.as_secs();
    let what = match fault {
        Fault::Start(why) => format!("cannot be started: {why}"),
        Fault::Slow => format!("gave no answer to `{asked}` within {limit} s"),
        Fault::Gone => {
            let ended = exit.map_or("closed its output".to_owned(), |exit| format!("ended ({exit})"));
            format!("{ended} instead of answering `{asked}`")
        }
        Fault::Junk(line) => format!(
            "printed what is no answer to `{asked}`: {line}; its standard output is for answers, print all else to stderr"
        ),
        Fault::Long => format!("answered `{asked}` with a line of more than {} MB", LONGEST >> 20),
        Fault::Wrong(why) => format!("answered `{asked}` wrongly: {why}"),
    };
    let (harness, command) = (&program.harness, program.command.join(" "));
    let dir = program.dir.display();
    let last = match errors {
        [] => String::new(),
        lines => format!("\nthe end of its stderr:\n  {}", lines.join("\n  ")),
    };
    format!(
        "the program `{command}` of harness {harness} {what}; mend it in {dir}, or take another harness with --harness{last}"
    )
}

fn last_lines(errors: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(errors);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].iter().map(|line| plain(line)).collect()
}

/// Without what a terminal would obey, and not too long.
fn plain(line: &str) -> String {
    let mut short: String = line.chars().filter(|c| !c.is_control()).take(WIDTH).collect();
    if line.chars().count() > WIDTH {
        short.push('…');
    }
    short
}

/// A piece of what a program printed, for a sentence.
pub(super) fn shown(text: &str) -> String {
    format!("`{}`", plain(text.trim()))
}
