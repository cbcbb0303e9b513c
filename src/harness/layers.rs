//! Layers: from the files of a chain of `extends` to one manifest and one set of tools per class.
//!
//! The lowest layer is the root of the chain. Each harness lays its base over what is below, then
//! its table for the class, so that a fork's word wins over its parent's word for a class.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::model::{Calls, Class};

use super::external::Program;
use super::files::{Files, Found};
use super::load::{LoadError, nearest};
use super::manifest::{Dialect, DialectKind, Manifest, SCHEMA};
use super::place::{find, line};
use super::tool::{Ordered, Tool, Tools};

/// What a manifest may have a table of its own for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Case {
    pub class: Option<Class>,
    pub calls: Option<Calls>,
}

/// A chain of harnesses as read, the root first.
pub(super) struct Chain {
    layers: Vec<Layer>,
}

struct Layer {
    id: String,
    manifest: Sheet,
    tools: Sheet,
    program: Word,
}

/// What a harness says of a program.
enum Word {
    /// Nothing: it keeps what it extends.
    Nothing,
    /// It names another dialect, and so does without.
    Without,
    Program(Program),
}

/// One file of tables.
#[derive(Default)]
struct Sheet {
    path: String,
    text: String,
    table: Table,
    /// The harness's folder; None: built in.
    dir: Option<PathBuf>,
}

/// Which file of a harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    Manifest,
    Tools,
}

/// Where something stands: for an error, and for the lines of a template that stands in a table.
pub(super) struct At {
    pub file: String,
    pub line: Option<usize>,
    /// The first line of the value's text.
    pub text: usize,
}

/// Harnesses that may extend each other.
const LONGEST: usize = 16;

impl Chain {
    pub fn read(files: &Files, id: &str) -> Result<Self, LoadError> {
        let mut faults = Vec::new();
        let chain = Self::read_all(files, id, &mut faults);
        match (faults.into_iter().next(), chain) {
            (None, Some(chain)) => Ok(chain),
            (Some(fault), _) => Err(fault),
            (None, None) => unreachable!("a chain that is not read has a fault"),
        }
    }

    /// Goes on after a fault as far as that makes sense. Where no chain comes of it, there is a fault.
    pub fn read_all(files: &Files, id: &str, faults: &mut Vec<LoadError>) -> Option<Self> {
        let mut chain = Self { layers: Vec::new() };
        let mut next = Some(id.to_owned());
        while let Some(id) = next {
            if let Some(fault) = chain.turns_back(&id) {
                faults.push(fault);
                return None;
            }
            let found = match files.read(&id, "harness.toml") {
                Ok(Some(found)) => found,
                Ok(None) => {
                    faults.push(chain.missing(files, &id));
                    return None;
                }
                Err(fault) => {
                    faults.push(fault);
                    return None;
                }
            };
            let tools = files.read(&id, "tools.toml").unwrap_or_else(|fault| {
                faults.push(fault);
                None
            });
            let (read, mut manifest) = parse::<Manifest>(found, faults)?;
            check_head(&read, &id, &manifest, faults);
            let program = take_program(&id, &read, &mut manifest, faults);
            let tools = match tools {
                Some(found) => parse::<Ordered<Tool>>(found, faults)?.1,
                None => Sheet::default(),
            };
            next = read.extends;
            chain.layers.insert(0, Layer { id, manifest, tools, program });
        }
        Some(chain)
    }

    /// The ids, the wanted harness first: where a file of the harness may lie.
    pub fn ids(&self) -> Vec<String> {
        self.layers.iter().rev().map(|layer| layer.id.clone()).collect()
    }

    /// The program that is asked, where one is.
    pub fn program(&self) -> Option<&Program> {
        let said = self.layers.iter().rev().find(|layer| !matches!(layer.program, Word::Nothing))?;
        match &said.program {
            Word::Program(program) => Some(program),
            Word::Nothing | Word::Without => None,
        }
    }

    /// Whether it runs programs of its folder: one that is asked, or those of tools.
    pub fn runs(&self) -> bool {
        let mut tools = self.layers.iter().flat_map(|layer| layer.tools.table.values());
        self.program().is_some() || tools.any(|tool| tool.get("run").is_some())
    }

    /// Whether models of this class get something of their own.
    pub fn minds(&self, class: Class) -> bool {
        self.layers.iter().any(|layer| class_table(&layer.manifest.table, class).is_some())
    }

    /// Whether models whose calls come to this get something of their own.
    pub fn tells(&self, calls: Calls) -> bool {
        self.layers.iter().any(|layer| probed_table(&layer.manifest.table, calls).is_some())
    }

    /// What the chain comes to in this case.
    pub fn merge(&self, case: Case, faults: &mut Vec<LoadError>) -> Option<(Manifest, Tools)> {
        let mut manifest = Table::new();
        let mut tools = Table::new();
        for layer in &self.layers {
            let mut base = layer.manifest.table.clone();
            base.remove("class");
            base.remove("probed");
            lay(&mut manifest, base);
            let class = case.class.and_then(|class| class_table(&layer.manifest.table, class));
            let probed = case.calls.and_then(|calls| probed_table(&layer.manifest.table, calls));
            for over in class.into_iter().chain(probed) {
                lay(&mut manifest, over.clone());
            }
            lay(&mut tools, layer.tools.table.clone());
        }
        let top = self.top();
        manifest.insert("id".to_owned(), Value::String(top.id.clone()));
        let mut broken = |path: &str, e: toml::de::Error| {
            faults.push(LoadError::broken(path.to_owned(), None, e.message().to_owned()));
        };
        let read = Manifest::deserialize(Value::Table(manifest));
        let manifest = read.map_err(|e| broken(&top.manifest.path, e)).ok()?;
        let read = Tools::deserialize(Value::Table(tools));
        let mut tools = read.map_err(|e| broken(&top.tools.path, e)).ok()?;
        self.choose(&manifest, &mut tools, case, faults);
        Some((manifest, tools))
    }

    /// The tables as they were written, each harness's laid over what is below it.
    pub fn spelled(&self) -> (Table, Table) {
        let (mut manifest, mut tools) = (Table::new(), Table::new());
        for layer in &self.layers {
            lay(&mut manifest, layer.manifest.table.clone());
            lay(&mut tools, layer.tools.table.clone());
        }
        (manifest, tools)
    }

    fn top(&self) -> &Layer {
        self.layers.last().expect("a chain has at least the harness itself")
    }

    fn choose(&self, manifest: &Manifest, tools: &mut Tools, case: Case, faults: &mut Vec<LoadError>) {
        let choice = &manifest.tools;
        let named = choice.keep.iter().map(|name| ("keep", name));
        for (key, name) in named.chain(choice.drop.iter().map(|name| ("drop", name))) {
            if tools.find(name).is_none() {
                let near = near(name, tools.names());
                let what = format!("`tools` names `{name}`, which is no tool of this harness{near}");
                faults.push(self.fault((File::Manifest, &["tools", key], Some(name)), case, what));
            }
        }
        tools.retain(|name| {
            (choice.keep.is_empty() || choice.keep.iter().any(|kept| kept == name))
                && !choice.drop.iter().any(|dropped| dropped == name)
        });
        if !choice.keep.is_empty() {
            tools.arrange(&choice.keep);
        }
        for (_, tool) in tools.iter_mut() {
            let without = std::mem::take(&mut tool.without);
            tool.params.retain(|name| !without.iter().any(|left_out| left_out == name));
        }
    }

    /// An error at the key, or at `word` in its value.
    pub fn fault(&self, key: (File, &[&str], Option<&str>), case: Case, what: String) -> LoadError {
        let at = self.place(key, case);
        LoadError::broken(at.file, at.line, what)
    }

    /// Where a key got its value: in the uppermost harness that says it, there in the most special table.
    pub fn place(&self, (file, keys, word): (File, &[&str], Option<&str>), case: Case) -> At {
        let of = |layer: &'_ Layer| match file {
            File::Manifest => (layer.manifest.path.clone(), layer.manifest.text.clone()),
            File::Tools => (layer.tools.path.clone(), layer.tools.text.clone()),
        };
        let mut tables: Vec<Vec<&str>> = Vec::new();
        if file == File::Manifest {
            tables.extend(case.calls.map(|calls| vec!["probed", probed_name(calls)]));
            tables.extend(case.class.map(|class| vec!["class", class.letter()]));
        }
        tables.push(Vec::new());
        let mut best: Option<(usize, At)> = None;
        for layer in self.layers.iter().rev() {
            let (path, text) = of(layer);
            for table in &tables {
                let whole: Vec<&str> = table.iter().chain(keys).copied().collect();
                let Some(place) = find(&text, &whole, word) else { continue };
                let Some(depth) = place.depth.checked_sub(table.len()).filter(|depth| *depth > 0) else {
                    continue;
                };
                if best.as_ref().is_none_or(|(most, _)| depth > *most) {
                    best = Some((depth, At { file: path.clone(), line: Some(place.line), text: place.text }));
                }
            }
        }
        best.map(|(_, at)| at).unwrap_or_else(|| {
            let (tools, manifest) = (&self.top().tools.path, &self.top().manifest.path);
            let file = if file == File::Tools && !tools.is_empty() { tools } else { manifest };
            At { file: file.clone(), line: None, text: 1 }
        })
    }

    /// What is wrong when the harness that comes next is one that was there before.
    fn turns_back(&self, id: &str) -> Option<LoadError> {
        let last = self.layers.first()?;
        let circle = self.layers.iter().any(|layer| layer.id == id);
        let what = if circle {
            let mut ids: Vec<&str> = self.layers.iter().rev().map(|layer| layer.id.as_str()).collect();
            ids.push(id);
            format!("`extends` goes in a circle: {}", ids.join(" -> "))
        } else if self.layers.len() >= LONGEST {
            format!("`extends` is too long a way: more than {LONGEST} harnesses")
        } else {
            return None;
        };
        Some(last.at_extends(what))
    }

    fn missing(&self, files: &Files, id: &str) -> LoadError {
        match self.layers.first() {
            Some(from) => {
                let ids = files.ids();
                let near = near(id, ids.keys().map(String::as_str));
                from.at_extends(format!("`extends` names `{id}`, which does not exist{near}"))
            }
            None => LoadError::broken(
                files.folder(id).map_or(format!("{id}/harness.toml"), |dir| {
                    dir.join(id).join("harness.toml").display().to_string()
                }),
                None,
                "the file is missing; a harness has at least `harness.toml`".to_owned(),
            ),
        }
    }
}

impl Layer {
    fn at_extends(&self, what: String) -> LoadError {
        let line = find(&self.manifest.text, &["extends"], None).map(|place| place.line);
        LoadError::broken(self.manifest.path.clone(), line, what)
    }
}

/// What serde cannot see in a harness's own manifest.
fn check_head(read: &Manifest, id: &str, sheet: &Sheet, faults: &mut Vec<LoadError>) {
    let mut fault = |keys: &[&str], word: Option<&str>, what: String| {
        let line = find(&sheet.text, keys, word).map(|place| place.line);
        faults.push(LoadError::broken(sheet.path.clone(), line, what));
    };
    if sheet.table.is_empty() {
        fault(&[], None, "the file says nothing; a fork has at least `extends`".to_owned());
    }
    if read.schema != SCHEMA {
        fault(&["schema"], None, format!("`schema` is {}; this tack reads {SCHEMA}", read.schema));
    }
    if !read.id.is_empty() && read.id != id {
        let what = format!("`id` is `{}` but the folder is `{id}`; make them the same", read.id);
        fault(&["id"], None, what);
    }
    let claims = [("models", &read.claims.models), ("providers", &read.claims.providers)];
    for (key, patterns) in claims {
        for pattern in patterns {
            if let Some(what) = super::claim::wrong_pattern(pattern) {
                fault(&["match", key], Some(pattern), what);
            }
        }
    }
}

/// `; did you mean …`, or nothing.
pub(super) fn near<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> String {
    nearest(wrong, names).map(|near| format!("; did you mean `{near}`")).unwrap_or_default()
}

/// Takes what is said of a program out of the table, so that below it the base's dialect stays.
fn take_program(id: &str, read: &Manifest, sheet: &mut Sheet, faults: &mut Vec<LoadError>) -> Word {
    let mut broken = |keys: &[&str], what: &str| {
        let line = find(&sheet.text, keys, None).map(|place| place.line);
        faults.push(LoadError::broken(sheet.path.clone(), line, what.to_owned()));
        Word::Nothing
    };
    let classes = [&read.class.s, &read.class.m, &read.class.l, &read.class.f];
    let probed = [&read.probed.wire, &read.probed.text, &read.probed.none];
    let over = classes.into_iter().chain(probed).flatten().map(|manifest| &manifest.dialect);
    let names = |dialect: &Dialect| dialect.kind == DialectKind::External || !dialect.command.is_empty();
    if over.into_iter().any(names) {
        let what = "a program is for all models: name it under `[dialect]`, not for a class or probe";
        return broken(&["class"], what);
    }
    let dialect = &read.dialect;
    if dialect.kind != DialectKind::External {
        if names(dialect) {
            return broken(
                &["dialect", "command"],
                "`dialect.command` needs `kind = \"external\"` beside it",
            );
        }
        let said = sheet.table.get("dialect").is_some_and(|dialect| dialect.get("kind").is_some());
        return if said { Word::Without } else { Word::Nothing };
    }
    if dialect.command.first().is_none_or(|program| program.trim().is_empty()) {
        let what = "`kind = \"external\"` needs `command`, such as `command = [\"python3\", \"harness.py\"]`";
        return broken(&["dialect", "kind"], what);
    }
    let Some(dir) = sheet.dir.clone() else {
        return broken(&["dialect", "kind"], "a harness that is built in cannot name a program");
    };
    if let Some(Value::Table(dialect)) = sheet.table.get_mut("dialect") {
        for key in ["kind", "command", "network", "limit"] {
            dialect.remove(key);
        }
    }
    Word::Program(Program::new(id, dialect, &dir))
}

fn class_table(manifest: &Table, class: Class) -> Option<&Table> {
    manifest.get("class")?.get(class.letter())?.as_table()
}

fn probed_table(manifest: &Table, calls: Calls) -> Option<&Table> {
    manifest.get("probed")?.get(probed_name(calls))?.as_table()
}

fn probed_name(calls: Calls) -> &'static str {
    match calls {
        Calls::Wire => "wire",
        Calls::Text => "text",
        Calls::None => "none",
    }
}

/// Tables deeply, everything else as a whole.
fn lay(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => lay(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// Faults of one file that are told at once.
const MOST: usize = 40;

/// Reads a file by itself, so that an error has its line. Past a wrong key it goes on without it.
fn parse<T: DeserializeOwned>(found: Found, faults: &mut Vec<LoadError>) -> Option<(T, Sheet)> {
    let Found { mut text, path, dir } = found;
    for round in 0..MOST {
        let e = match toml::from_str::<T>(&text) {
            Ok(read) => {
                let table = toml::from_str(&text).ok()?;
                return Some((read, Sheet { path, text, table, dir }));
            }
            Err(e) => e,
        };
        let is_toml = toml::from_str::<Table>(&text).is_ok();
        // What a line that was left out has taken along is no fault of its own.
        if round > 0 && (!is_toml || e.message().starts_with("missing field")) {
            return None;
        }
        let at = e.span().map(|span| span.start.min(text.len()));
        let section = at.map(|at| section(&text[..at])).unwrap_or_default();
        let line = at.map(|at| line(&text, at));
        faults.push(LoadError::broken(path.clone(), line, explain(e.message(), &section)));
        text = at.filter(|_| is_toml).and_then(|at| without(&text, at))?;
    }
    None
}

/// The text with the line of this byte left empty; of a table's header, all of the table.
fn without(text: &str, at: usize) -> Option<String> {
    let number = line(text, at) - 1;
    let lines: Vec<&str> = text.split('\n').collect();
    let is_header = |line: &str| line.trim_start().starts_with('[');
    let wrong = lines.get(number).filter(|line| !line.trim().is_empty())?;
    let rest = &lines[number + 1..];
    let most =
        if is_header(wrong) { rest.iter().position(|line| is_header(line)).unwrap_or(rest.len()) } else { 0 };
    let gone = number..=number + most;
    let kept = lines.iter().enumerate().map(|(at, line)| if gone.contains(&at) { "" } else { line });
    Some(kept.collect::<Vec<_>>().join("\n"))
}

/// The table whose header stands last in `text`.
fn section(text: &str) -> String {
    let header = text.lines().rev().map(str::trim).find(|line| line.starts_with('['));
    let name = header.and_then(|line| line.split(']').next()).map(|line| line.trim_start_matches('['));
    let name = name.map(str::trim).filter(|name| !name.is_empty());
    name.map(|name| format!("{name}.")).unwrap_or_default()
}

/// Turns serde's list of all possible names into the one that was meant.
fn explain(message: &str, section: &str) -> String {
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (Some(wrong), true) = (words.first(), message.starts_with("unknown ")) else {
        return message.lines().collect::<Vec<_>>().join(" ");
    };
    let kind = if message.starts_with("unknown field") { "key" } else { "value" };
    let shown = if kind == "key" { format!("{section}{wrong}") } else { (*wrong).to_owned() };
    let possible = &words[1..];
    match nearest(wrong, possible.iter().copied()) {
        Some(near) => format!("unknown {kind} `{shown}`; did you mean `{near}`"),
        None if possible.is_empty() => format!("unknown {kind} `{shown}`"),
        None => format!("unknown {kind} `{shown}`; possible here: {}", possible.join(", ")),
    }
}
