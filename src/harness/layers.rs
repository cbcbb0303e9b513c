//! Layers: from the files of a chain of `extends` to one manifest and one set of tools per class.
//!
//! The lowest layer is the root of the chain. Each harness lays its base over what is below, then
//! its table for the class, so that a fork's word wins over its parent's word for a class.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::model::{Calls, Class};

use super::external::Program;
use super::files::{Files, Found};
use super::load::{LoadError, nearest};
use super::manifest::{Dialect, DialectKind, Manifest, SCHEMA};
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
    path: String,
    manifest: Table,
    tools: Table,
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

impl Chain {
    pub fn read(files: &Files, id: &str) -> Result<Self, LoadError> {
        let mut layers: Vec<Layer> = Vec::new();
        let mut next = Some(id.to_owned());
        while let Some(id) = next {
            if layers.iter().any(|layer| layer.id == id) {
                let mut ids: Vec<&str> = layers.iter().map(|layer| layer.id.as_str()).collect();
                ids.push(&id);
                return Err(LoadError::Cycle { chain: ids.join(" -> ") });
            }
            let Some(found) = files.read(&id, "harness.toml")? else {
                return Err(missing_base(files, &layers, &id));
            };
            let read: Manifest = check(&found)?;
            if read.schema != SCHEMA {
                let what = format!("`schema` is {}; this tack reads {SCHEMA}", read.schema);
                return Err(LoadError::broken(found.path, None, what));
            }
            if !read.id.is_empty() && read.id != id {
                let what = format!("`id` is `{}` but the folder is `{id}`; make them the same", read.id);
                return Err(LoadError::broken(found.path, None, what));
            }
            let tools = match files.read(&id, "tools.toml")? {
                Some(tools) => {
                    check::<Ordered<Tool>>(&tools)?;
                    table(&tools)?
                }
                None => Table::new(),
            };
            let mut manifest = table(&found)?;
            let program = take_program(&id, &read, &found, &mut manifest)?;
            next = read.extends;
            layers.push(Layer { manifest, path: found.path, id, tools, program });
        }
        layers.reverse();
        Ok(Self { layers })
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

    /// Whether models of this class get something of their own.
    pub fn minds(&self, class: Class) -> bool {
        self.layers.iter().any(|layer| class_table(&layer.manifest, class).is_some())
    }

    /// Whether models whose calls come to this get something of their own.
    pub fn tells(&self, calls: Calls) -> bool {
        self.layers.iter().any(|layer| probed_table(&layer.manifest, calls).is_some())
    }

    /// What the chain comes to in this case.
    pub fn merge(&self, case: Case) -> Result<(Manifest, Tools), LoadError> {
        let mut manifest = Table::new();
        let mut tools = Table::new();
        for layer in &self.layers {
            let mut base = layer.manifest.clone();
            base.remove("class");
            base.remove("probed");
            lay(&mut manifest, base);
            let class = case.class.and_then(|class| class_table(&layer.manifest, class));
            let probed = case.calls.and_then(|calls| probed_table(&layer.manifest, calls));
            for over in class.into_iter().chain(probed) {
                lay(&mut manifest, over.clone());
            }
            lay(&mut tools, layer.tools.clone());
        }
        let top = self.layers.last().expect("a chain has at least the harness itself");
        manifest.insert("id".to_owned(), Value::String(top.id.clone()));
        let broken = |e: toml::de::Error| LoadError::broken(top.path.clone(), None, e.message().to_owned());
        let manifest = Manifest::deserialize(Value::Table(manifest)).map_err(broken)?;
        let mut tools = Tools::deserialize(Value::Table(tools)).map_err(broken)?;
        choose(&manifest, &mut tools, &top.path)?;
        Ok((manifest, tools))
    }
}

fn choose(manifest: &Manifest, tools: &mut Tools, path: &str) -> Result<(), LoadError> {
    let choice = &manifest.tools;
    for name in choice.keep.iter().chain(&choice.drop) {
        if tools.find(name).is_none() {
            let near =
                nearest(name, tools.names()).map(|n| format!("; did you mean `{n}`")).unwrap_or_default();
            let what = format!("`tools` names `{name}`, which is no tool of this harness{near}");
            return Err(LoadError::broken(path.to_owned(), None, what));
        }
    }
    tools.retain(|name| {
        (choice.keep.is_empty() || choice.keep.iter().any(|kept| kept == name))
            && !choice.drop.iter().any(|dropped| dropped == name)
    });
    for (_, tool) in tools.iter_mut() {
        let without = std::mem::take(&mut tool.without);
        tool.params.retain(|name| !without.iter().any(|left_out| left_out == name));
    }
    Ok(())
}

fn missing_base(files: &Files, layers: &[Layer], id: &str) -> LoadError {
    match layers.last() {
        Some(from) => {
            let ids = files.ids();
            let near = nearest(id, ids.keys().map(String::as_str));
            let near = near.map(|n| format!("; did you mean `{n}`")).unwrap_or_default();
            LoadError::broken(
                from.path.clone(),
                None,
                format!("`extends` names `{id}`, which does not exist{near}"),
            )
        }
        None => LoadError::broken(format!("{id}/harness.toml"), None, "the file is missing".to_owned()),
    }
}

/// Takes what is said of a program out of the table, so that below it the base's dialect stays.
fn take_program(id: &str, read: &Manifest, found: &Found, table: &mut Table) -> Result<Word, LoadError> {
    let broken = |what: &str| Err(LoadError::broken(found.path.clone(), None, what.to_owned()));
    let classes = [&read.class.s, &read.class.m, &read.class.l, &read.class.f];
    let probed = [&read.probed.wire, &read.probed.text, &read.probed.none];
    let over = classes.into_iter().chain(probed).flatten().map(|manifest| &manifest.dialect);
    let names = |dialect: &Dialect| dialect.kind == DialectKind::External || !dialect.command.is_empty();
    if over.into_iter().any(names) {
        return broken("a program is for all models: name it under `[dialect]`, not for a class or probe");
    }
    let dialect = &read.dialect;
    if dialect.kind != DialectKind::External {
        if names(dialect) {
            return broken("`dialect.command` needs `kind = \"external\"` beside it");
        }
        let said = table.get("dialect").is_some_and(|dialect| dialect.get("kind").is_some());
        return Ok(if said { Word::Without } else { Word::Nothing });
    }
    if dialect.command.first().is_none_or(|program| program.trim().is_empty()) {
        return broken(
            "`kind = \"external\"` needs `command`, such as `command = [\"python3\", \"harness.py\"]`",
        );
    }
    let Some(dir) = &found.dir else { return broken("a harness that is built in cannot name a program") };
    if let Some(Value::Table(dialect)) = table.get_mut("dialect") {
        for key in ["kind", "command", "network", "limit"] {
            dialect.remove(key);
        }
    }
    Ok(Word::Program(Program::new(id, dialect, dir)))
}

fn class_table(manifest: &Table, class: Class) -> Option<&Table> {
    manifest.get("class")?.get(class.letter())?.as_table()
}

fn probed_table(manifest: &Table, calls: Calls) -> Option<&Table> {
    let name = match calls {
        Calls::Wire => "wire",
        Calls::Text => "text",
        Calls::None => "none",
    };
    manifest.get("probed")?.get(name)?.as_table()
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

fn table(found: &Found) -> Result<Table, LoadError> {
    check::<Table>(found)
}

/// Reads a file by itself, so that an error has its line.
fn check<T: DeserializeOwned>(found: &Found) -> Result<T, LoadError> {
    toml::from_str(&found.text).map_err(|e| {
        let at = e.span().map(|span| span.start.min(found.text.len()));
        let line = at.map(|at| found.text[..at].matches('\n').count() + 1);
        let section = at.map(|at| section(&found.text[..at])).unwrap_or_default();
        LoadError::broken(found.path.clone(), line, explain(e.message(), &section))
    })
}

/// The table whose header stands last in `text`.
fn section(text: &str) -> String {
    let header = text.lines().rev().map(str::trim).find(|line| line.starts_with('['));
    let name = header.and_then(|line| line.split(']').next()).map(|line| line.trim_start_matches('['));
    name.map(|name| format!("{}.", name.trim())).unwrap_or_default()
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
