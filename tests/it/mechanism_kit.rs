//! One mechanism under every harness: the real loop runs in a fork in which everything of its kind is off,
//! and in one in which it alone is on.
//!
//! How a call is said is asked of the fork, and whether a mechanism has anything to work on of what the
//! harness's files say. No harness is known here by its name.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tack::agent::End;
use tack::config::CheckKeys;
use tack::harness::{Harness, Library, LoadError, sample_model};
use tack::model::{Action, Class, Model, Part, Probed, WireKind};

use crate::agent_kit::Run;
use crate::harness_kit::{actions, in_words_for, sent};
use crate::server::{Frame, Reply, Request, Server, sse};
use crate::tools_kit::{self, Bench};

/// No mechanism at work, whatever the harness forked says; words end a turn.
const OFF: &str = r#"
again      = []
output     = { bytes = 30000, lines = 1000, preview = 0 }
edit       = { parse = "allowed", keep_names = false, seen = false, whole = 0, keep_from_shell = false, root_is_here = false, safe_names = false }
read       = { window = 0, once = false, most = 0 }
stream     = { blank_lines = 0, same_lines = 0 }
check      = { rounds = 0 }
context    = { tokens = 0, results = 0, facts = 0, instructions = 100000, named = 0 }
thinking   = { effort = "", effort_first = "", most = 0 }
loop       = { ends = "silence", calls = "optional", bad_calls = "answer", empty = "ends", retries = 3, forget = "nothing", vain = "kept", repeats = "run", reads = 1000, steps = 1000, timeouts = 0 }
submit     = { early = "taken" }
shell      = { syntax = false, lasting = false, refuse = [], refuse_alone = [] }
dialect.salvage = []
"#;

pub const CALC: &str = "def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n";
/// The fork's own correction.
const CORRECTION: &str = "Say it as a call.";
pub const RULE: &str = "Rule 77: names are short.";

/// A switch, how it comes into play, and what shows that it did.
pub struct Mechanism {
    pub name: &'static str,
    /// Keys of a manifest that turn it on.
    pub on: &'static str,
    /// Why it has nothing to work on under such a harness.
    pub fits: fn(&Surface) -> Result<(), &'static str>,
    pub script: fn(&Surface) -> Vec<Step>,
    /// Whether it was seen at work.
    pub shows: fn(&Seen) -> bool,
    pub prompt: &'static str,
    pub check: Option<&'static str>,
    pub probed: Option<Probed>,
    /// More of the fork's `tools.toml`.
    pub tools: &'static str,
    /// The wire; otherwise one after the other.
    pub wire: Option<WireKind>,
    /// Without it the script would never end.
    pub only_on: bool,
}

pub const fn mechanism(
    name: &'static str,
    on: &'static str,
    script: fn(&Surface) -> Vec<Step>,
    shows: fn(&Seen) -> bool,
) -> Mechanism {
    Mechanism {
        name,
        on,
        fits: |_| Ok(()),
        script,
        shows,
        prompt: "Change what the file does.",
        check: None,
        probed: None,
        tools: "",
        wire: None,
        only_on: false,
    }
}

/// What the model does next.
#[derive(Clone)]
pub enum Step {
    /// The first of these actions that the harness has words for.
    Does(Vec<Action>),
    /// The action as a call that is written out: from the tool's name and its arguments.
    Writes(Action, fn(&str, &Value) -> String),
    Says(&'static str),
    Calls(&'static str, Value),
    Streams(Vec<Frame>),
    /// The action, after which the server counts so many tokens.
    Counts(Action, u64),
}

pub fn shell(command: &str) -> Step {
    Step::Does(vec![tools_kit::shell(command)])
}

/// Reads the file, by whatever means.
pub fn look(path: &str) -> Step {
    Step::Does(vec![tools_kit::read(path), tools_kit::shell(&format!("cat {path}"))])
}

/// What a harness offers, as its files say.
pub struct Surface {
    keys: BTreeMap<String, String>,
    tools: Vec<(String, BTreeMap<String, String>)>,
    texts: BTreeMap<String, String>,
}

impl Surface {
    fn of(library: &Library, id: &str) -> Self {
        let spelled = library.spelled(id).unwrap_or_else(|e| panic!("{e}"));
        Self { keys: spelled.keys, tools: spelled.tools, texts: spelled.texts }
    }

    pub fn key(&self, key: &str) -> &str {
        self.keys.get(key).map_or("", String::as_str)
    }

    /// Where calls are: `calls`, `fenced`, `json`.
    pub fn kind(&self) -> &str {
        Some(self.key("dialect.kind")).filter(|kind| !kind.is_empty()).unwrap_or("calls")
    }

    /// Tables of tools, and of their choices, that do one of these.
    pub fn doing<'a>(&'a self, kinds: &'a [&str]) -> impl Iterator<Item = Doing<'a>> {
        self.tools.iter().flat_map(move |(_, tool)| {
            let does = tool.iter().filter(|(key, _)| *key == "does" || key.ends_with(".does"));
            let does = does.filter(|(_, kind)| kinds.contains(&kind.as_str()));
            does.map(|(key, _)| Doing { tool, at: key.strip_suffix("does").unwrap_or_default() })
        })
    }

    pub fn does(&self, kinds: &[&str]) -> bool {
        self.doing(kinds).next().is_some()
    }

    pub fn texts(&self, word: &str) -> bool {
        self.texts.values().any(|text| text.contains(word))
    }
}

pub struct Doing<'a> {
    tool: &'a BTreeMap<String, String>,
    at: &'a str,
}

impl Doing<'_> {
    /// The word of the choice, else of the tool.
    pub fn word(&self, key: &str) -> &str {
        let own = self.tool.get(&format!("{}{key}", self.at));
        own.or_else(|| self.tool.get(key)).map_or("", String::as_str)
    }

    pub fn fills(&self, field: &str) -> bool {
        self.tool.iter().any(|(key, to)| key.ends_with(".to") && to == field)
    }
}

/// What came of a run.
pub struct Seen {
    bench: Bench,
    pub end: End,
    pub requests: Vec<Request>,
}

impl Seen {
    /// All of the request, or nothing where there was none.
    pub fn sent(&self, nth: usize) -> String {
        self.requests.get(nth).map(|request| request.body.to_string()).unwrap_or_default()
    }

    pub fn last(&self) -> String {
        self.sent(self.requests.len() - 1)
    }

    pub fn exists(&self, file: &str) -> bool {
        self.bench.exists(file)
    }

    pub fn file(&self, file: &str) -> String {
        String::from_utf8(self.bench.bytes(file)).unwrap()
    }
}

/// A harness that a user may have forked, and the fork in which nothing is on.
struct Base {
    id: String,
    surface: Surface,
    off: Arc<dyn Harness>,
}

impl Base {
    fn of(id: &str) -> Self {
        let surface = Surface::of(&Library::new(Vec::new()), id);
        let off = fork(id, "", "").unwrap_or_else(|e| panic!("{id}: {e}"));
        Self { id: id.to_owned(), surface, off }
    }
}

/// A fork in which nothing is on, forked once more.
fn fork(id: &str, on: &str, tools: &str) -> Result<Arc<dyn Harness>, LoadError> {
    let dir = tempfile::tempdir().unwrap();
    let file = |id: &str, name: &str, text: &str| {
        std::fs::create_dir_all(dir.path().join(id)).unwrap();
        std::fs::write(dir.path().join(id).join(name), text).unwrap();
    };
    file("off", "harness.toml", &format!("schema = 1\nextends = \"{id}\"\n{OFF}"));
    file("mine", "harness.toml", &format!("schema = 1\nextends = \"off\"\n{on}"));
    file("mine", "tools.toml", tools);
    file("mine", "mine.md", CORRECTION);
    // With what its class sees, for the folder goes away.
    Library::new(vec![dir.path().to_owned()]).fit("mine", &Model { class: Class::L, ..sample_model() })
}

/// Runs all of these under every harness. Each has to show where it is on, not where it is off, and to
/// have nothing to work on only for the reason that it gives.
pub async fn all_work_in_every_harness(mechanisms: &[Mechanism]) {
    let bases: Vec<Base> = Library::new(Vec::new()).ids().iter().map(|id| Base::of(id)).collect();
    let cells = mechanisms.iter().enumerate().flat_map(|(row, mechanism)| {
        bases.iter().enumerate().map(move |(column, base)| (mechanism, base, row + column))
    });
    let cells: Vec<_> = cells.collect();
    let came = stream::iter(cells).map(|(mechanism, base, nth)| cell(mechanism, base, nth));
    let came: Vec<Result<bool, String>> = came.buffered(16).collect().await;
    let mut faults = String::new();
    for (mechanism, row) in mechanisms.iter().zip(came.chunks(bases.len())) {
        let works = row.iter().filter(|cell| matches!(cell, Ok(true))).count();
        let _ = writeln!(std::io::stderr(), "{}: works in {works} of {}", mechanism.name, bases.len());
        assert!(works > 0 || row.iter().any(Result::is_err), "{} is tried nowhere", mechanism.name);
        row.iter().filter_map(|cell| cell.as_ref().err()).for_each(|fault| faults.push_str(fault));
    }
    assert!(faults.is_empty(), "{faults}");
}

const WIRES: [WireKind; 3] = [WireKind::Chat, WireKind::Responses, WireKind::Messages];

/// True where it works, false where it has nothing to work on.
async fn cell(mechanism: &Mechanism, base: &Base, nth: usize) -> Result<bool, String> {
    let wire = mechanism.wire.unwrap_or(WIRES[nth % 3]);
    let place = format!("\n{} under {} over {}", mechanism.name, base.id, wire.name());
    if let Err(why) = (mechanism.fits)(&base.surface) {
        let _ = writeln!(std::io::stderr(), "{}: not under {}: {why}", mechanism.name, base.id);
        return Ok(false);
    }
    // In a class's table now and then.
    let table = if nth.is_multiple_of(4) { "class.L." } else { "" };
    let on: String = mechanism.on.lines().map(|line| format!("{table}{line}\n")).collect();
    let on = fork(&base.id, &on, mechanism.tools).map_err(|e| format!("{place}: {e}"))?;
    let off = Some((&base.off, false)).filter(|_| !mechanism.only_on);
    for (harness, is_on) in [(&on, true)].into_iter().chain(off) {
        let model = Model {
            provider: "mock".to_owned(),
            name: "m".to_owned(),
            local: true,
            wire,
            class: Class::L,
            probed: mechanism.probed.clone(),
            ..sample_model()
        };
        let seen = run(mechanism, harness, &base.surface, model).await;
        let seen = seen.map_err(|why| format!("{place}: {why}"))?;
        if (mechanism.shows)(&seen) != is_on {
            let word = if is_on { "does not show" } else { "shows though it is off" };
            let said: Vec<String> = seen.requests.iter().map(|request| end_of(&request.said())).collect();
            return Err(format!("{place}: {word}: {:?} {said:#?}", seen.end));
        }
    }
    Ok(true)
}

fn end_of(text: &str) -> String {
    let skip = text.chars().count().saturating_sub(700);
    text.chars().skip(skip).collect()
}

async fn run(
    mechanism: &Mechanism,
    harness: &Arc<dyn Harness>,
    surface: &Surface,
    model: Model,
) -> Result<Seen, String> {
    let mut script = Vec::new();
    for (nth, step) in (mechanism.script)(surface).into_iter().enumerate() {
        script.push(reply(nth, step, &**harness, &model).await?);
    }
    let server = Server::start(script);
    let long: String = (1..=60).map(|n| format!("line {n} of a long file\n")).collect();
    let bench = Bench::new()
        .file("calc.py", CALC)
        .file("long.txt", long)
        .file("a.txt", "good\n")
        .file("sub/b.txt", "b\n")
        .file("AGENTS.md", RULE);
    let check = CheckKeys { command: Some(mechanism.check.unwrap_or_default().to_owned()), limit: None };
    let run = Run { bench: &bench, server: &server, harness: harness.clone(), model, check };
    let (end, _) = run.turns(&[(mechanism.prompt, None)]).await;
    Ok(Seen { end, requests: server.requests(), bench })
}

async fn reply(nth: usize, step: Step, harness: &dyn Harness, model: &Model) -> Result<Reply, String> {
    let text = |text: &str| vec![Part::Text { text: text.to_owned() }];
    let parts = match step {
        Step::Streams(frames) => return Ok(sse(frames)),
        Step::Says(words) => text(words),
        Step::Calls(name, args) => vec![crate::harness_kit::call(name, args)],
        Step::Does(ways) => words(harness, &ways, model).await?,
        Step::Counts(action, tokens) => {
            return Ok(sent(nth, &words(harness, &[action], model).await?, tokens));
        }
        Step::Writes(action, form) => match &words(harness, &[action], model).await?[..] {
            [.., Part::Call(call)] => text(&form(&call.name, &serde_json::from_str(&call.args).unwrap())),
            // It writes its calls out by itself.
            [Part::Text { text: said }] => text(said),
            other => return Err(format!("no call to write out: {other:?}")),
        },
    };
    Ok(sent(nth, &parts, 10))
}

/// The first of these that the harness has words for which it reads back.
async fn words(harness: &dyn Harness, ways: &[Action], model: &Model) -> Result<Vec<Part>, String> {
    for way in ways {
        let Some(said) = in_words_for(harness, std::slice::from_ref(way), model).await else { continue };
        let calls = said.iter().any(|part| matches!(part, Part::Call(_)));
        if calls || !actions(harness, said.clone(), model).await.is_empty() {
            return Ok(said);
        }
    }
    Err(format!("no words for {}", json!(ways)))
}
