//! Changing one cell of a Jupyter notebook.
//!
//! Only the cell's own text in the file changes; all else keeps its bytes: indentation, keys that nobody
//! here knows, the line end at the end. `data`: `path`, `op`, `cell` (its id, else its number), `place`
//! (from 0), `kind`, `cells` (how many there are now).

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::change::{self, Change};
use super::guard::{Basis, Plan};
use super::seen::Intent;
use super::{ToolCx, Toolbox, failed, path, words};
use crate::model::{CellKind, CellOp, Outcome, hash};

pub(super) struct Ask<'a> {
    pub(super) op: CellOp,
    pub(super) cell: Option<&'a str>,
    pub(super) kind: Option<CellKind>,
    pub(super) text: &'a str,
}

/// What is needed of a notebook; the rest is not looked at.
#[derive(Deserialize)]
struct Outer<'a> {
    #[serde(default)]
    nbformat: u64,
    #[serde(default)]
    nbformat_minor: u64,
    #[serde(borrow)]
    cells: &'a RawValue,
}

/// The notebook's text, and where in it the cells are.
struct Notebook<'a> {
    text: &'a str,
    /// The list with its brackets.
    list: (usize, usize),
    cells: Vec<Cell>,
    ids: bool,
}

struct Cell {
    from: usize,
    to: usize,
    fields: Map<String, Value>,
}

/// A text that takes the place of another.
struct Patch {
    from: usize,
    to: usize,
    text: String,
}

pub(super) fn run(toolbox: &Toolbox, cx: &ToolCx<'_>, raw: &str, ask: &Ask<'_>) -> Outcome {
    edit(toolbox, cx, raw, ask).unwrap_or_else(|refusal| refusal)
}

fn edit(toolbox: &Toolbox, cx: &ToolCx<'_>, raw: &str, ask: &Ask<'_>) -> Result<Outcome, Outcome> {
    let shown = path::show_str(raw);
    if !raw.ends_with(".ipynb") {
        let text = format!("{shown} is no notebook (.ipynb); change it as any other file");
        return Err(failed("no_notebook", text));
    }
    let loaded = change::load_existing(cx, raw)?;
    toolbox.allow(cx, &loaded, Intent::Change)?;
    let broken = |why: String| {
        let text = format!("{shown} was left as it is: {why}; mend it as a text first");
        failed("bad_notebook", text)
    };
    let text = std::str::from_utf8(&loaded.raw).map_err(|_| broken("it is not UTF-8".to_owned()))?;
    let book = Notebook::read(text).map_err(broken)?;
    let (patch, place) =
        book.plan(ask).map_err(|(word, why)| failed(word, format!("{shown} was left as it is: {why}")))?;
    let after = [&text[..patch.from], &patch.text, &text[patch.to..]].concat();
    let now = Notebook::read(&after).map_err(broken)?;
    let plan = Plan { raw, old: Some(&loaded), after: after.as_bytes(), basis: Basis::Quote };
    let parsed = toolbox.clear(cx, &plan)?;
    let change = Change { before: Some(&loaded.raw), after: after.as_bytes(), intent: Intent::Change };
    let stored =
        toolbox.store(cx, &loaded.path, (&change, &parsed)).map_err(|error| path::fault(cx, raw, error))?;
    let cell = if ask.op == CellOp::Delete { book.cells.get(place) } else { now.cells.get(place) };
    let kind = cell.and_then(|cell| cell.fields.get("cell_type")).cloned();
    let id = cell.and_then(|cell| cell.id()).map_or_else(|| place.to_string(), str::to_owned);
    let done = match ask.op {
        CellOp::Replace => "replaced",
        CellOp::Insert => "inserted",
        CellOp::Delete => "deleted",
    };
    let said = format!("{done} cell {id} of {shown}; {}", words::count(now.cells.len(), "cell"));
    let data = json!({
        "path": raw, "op": ask.op, "cell": id, "place": place, "kind": kind, "cells": now.cells.len(),
    });
    Ok(Outcome { seen: vec![stored.seen], data, ..Outcome::ok(said) })
}

impl<'a> Notebook<'a> {
    fn read(text: &'a str) -> Result<Self, String> {
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let outer: Outer<'a> =
            serde_json::from_str(body).map_err(|error| format!("it is no notebook ({error})"))?;
        if outer.nbformat < 4 {
            return Err(format!("its format is {}, and only 4 and later are known", outer.nbformat));
        }
        let place = |raw: &RawValue| {
            let from = raw.get().as_ptr() as usize - text.as_ptr() as usize;
            (from, from + raw.get().len())
        };
        let cells: Vec<&RawValue> = serde_json::from_str(outer.cells.get())
            .map_err(|error| format!("its `cells` are no list ({error})"))?;
        let cells = cells.into_iter().enumerate().map(|(at, raw)| {
            let (from, to) = place(raw);
            let fields = serde_json::from_str(raw.get())
                .map_err(|error| format!("its cell {at} is no object ({error})"))?;
            Ok(Cell { from, to, fields })
        });
        let cells: Vec<Cell> = cells.collect::<Result<_, String>>()?;
        let ids = outer.nbformat > 4 || outer.nbformat_minor >= 5 || cells.iter().any(|c| c.id().is_some());
        Ok(Self { text, list: place(outer.cells), cells, ids })
    }

    /// The change, and the place of the cell that it is about. An error is a word and the reason.
    fn plan(&self, ask: &Ask<'_>) -> Result<(Patch, usize), (&'static str, String)> {
        let named = ask.cell.map(str::trim).filter(|cell| !cell.is_empty());
        let at = named.map(|name| self.find(name)).transpose()?;
        match (ask.op, at) {
            (CellOp::Insert, at) => {
                let place = at.map_or(0, |at| at + 1);
                let cell = self.new_cell(ask.kind.unwrap_or(CellKind::Code), ask.text);
                Ok((self.insert(place, &cell), place))
            }
            (CellOp::Replace | CellOp::Delete, None) => {
                Err(("no_cell", format!("say which of its {} is meant", self.count())))
            }
            (CellOp::Replace, Some(at)) => {
                let (from, to) = (self.cells[at].from, self.cells[at].to);
                let text = self.write(&replaced(&self.cells[at].fields, ask));
                Ok((Patch { from, to, text }, at))
            }
            (CellOp::Delete, Some(at)) => Ok((self.delete(at), at)),
        }
    }

    fn count(&self) -> String {
        words::count(self.cells.len(), "cell")
    }

    /// By its id; else by its number from 0, with or without `cell-` before it.
    fn find(&self, name: &str) -> Result<usize, (&'static str, String)> {
        let by_id = self.cells.iter().position(|cell| cell.id() == Some(name));
        let number = || name.strip_prefix("cell-").unwrap_or(name).parse().ok();
        let found = by_id.or_else(number).filter(|at| *at < self.cells.len());
        found.ok_or_else(|| {
            let ids: Vec<&str> = self.cells.iter().filter_map(Cell::id).take(20).collect();
            let ids = if ids.is_empty() { String::new() } else { format!(": {}", ids.join(", ")) };
            ("no_cell", format!("it has no cell `{name}`; it has {}{ids}", self.count()))
        })
    }

    fn new_cell(&self, kind: CellKind, text: &str) -> Map<String, Value> {
        let mut cell = Map::new();
        let (word, code) = match kind {
            CellKind::Code => ("code", true),
            CellKind::Markdown => ("markdown", false),
        };
        cell.insert("cell_type".into(), word.into());
        if code {
            cell.insert("execution_count".into(), Value::Null);
        }
        if self.ids {
            cell.insert("id".into(), self.new_id(text).into());
        }
        cell.insert("metadata".into(), json!({}));
        if code {
            cell.insert("outputs".into(), json!([]));
        }
        cell.insert("source".into(), lines(text));
        cell
    }

    /// Eight hex digits that no cell has; the same notebook and text give the same.
    fn new_id(&self, text: &str) -> String {
        let mut salt = self.cells.len();
        loop {
            let id = hash(format!("{salt}\n{text}").as_bytes())[..8].to_owned();
            if self.cells.iter().all(|cell| cell.id() != Some(&id)) {
                return id;
            }
            salt += 1;
        }
    }

    fn insert(&self, place: usize, cell: &Map<String, Value>) -> Patch {
        let cell = self.write(cell);
        match (place.checked_sub(1).and_then(|before| self.cells.get(before)), self.cells.first()) {
            (Some(before), _) => {
                Patch { from: before.to, to: before.to, text: format!(",{}{cell}", self.gap()) }
            }
            (None, Some(first)) => {
                Patch { from: first.from, to: first.from, text: format!("{cell},{}", self.gap()) }
            }
            (None, None) => {
                let (from, to) = self.list;
                let outer = self.unit();
                let end = if outer.is_empty() { String::new() } else { format!("\n{outer}") };
                Patch { from, to, text: format!("[{}{cell}{end}]", self.gap()) }
            }
        }
    }

    fn delete(&self, at: usize) -> Patch {
        let (from, to) = match (at.checked_sub(1), self.cells.get(at + 1)) {
            (Some(before), _) => (self.cells[before].to, self.cells[at].to),
            (None, Some(after)) => (self.cells[at].from, after.from),
            (None, None) => return Patch { from: self.list.0, to: self.list.1, text: "[]".to_owned() },
        };
        Patch { from, to, text: String::new() }
    }

    /// One step of indentation; empty where the notebook is all in one line.
    fn unit(&self) -> &'a str {
        let mut lines = self.text.trim_end().lines().skip(1);
        let indent = |line: &'a str| &line[..line.len() - line.trim_start().len()];
        lines.find(|line| !line.trim().is_empty()).map_or("", indent)
    }

    /// What stands between two cells, but for the comma.
    fn gap(&self) -> String {
        match self.unit() {
            "" => if self.cells.len() > 1 { " " } else { "" }.to_owned(),
            unit => format!("\n{unit}{unit}"),
        }
    }

    /// The cell as it stands in the list.
    fn write(&self, cell: &Map<String, Value>) -> String {
        let unit = self.unit();
        if unit.is_empty() {
            return json_text(cell, CompactFormatter);
        }
        let text = json_text(cell, PrettyFormatter::with_indent(unit.as_bytes()));
        // A line break within a JSON text is never part of a string.
        let mut out = String::new();
        for (at, line) in text.lines().enumerate() {
            let _ = if at == 0 { write!(out, "{line}") } else { write!(out, "\n{unit}{unit}{line}") };
        }
        out
    }
}

impl Cell {
    fn id(&self) -> Option<&str> {
        self.fields.get("id").and_then(Value::as_str)
    }
}

/// The cell with another source. What it printed was of the old one, and goes.
fn replaced(cell: &Map<String, Value>, ask: &Ask<'_>) -> Map<String, Value> {
    let mut cell = cell.clone();
    let kind = match ask.kind {
        Some(CellKind::Code) => Some("code"),
        Some(CellKind::Markdown) => Some("markdown"),
        None => None,
    };
    if let Some(kind) = kind {
        cell.insert("cell_type".into(), kind.into());
    }
    let as_text = cell.get("source").is_some_and(Value::is_string);
    let source = if as_text { ask.text.into() } else { lines(ask.text) };
    cell.insert("source".into(), source);
    if cell.get("cell_type").is_some_and(|kind| kind == "code") {
        cell.insert("execution_count".into(), Value::Null);
        cell.insert("outputs".into(), json!([]));
    } else {
        cell.shift_remove("execution_count");
        cell.shift_remove("outputs");
    }
    cell
}

/// A source as the format has it: a list of lines with their ends.
fn lines(text: &str) -> Value {
    text.split_inclusive('\n').collect::<Vec<_>>().into()
}

fn json_text(cell: &Map<String, Value>, form: impl Formatter) -> String {
    let mut out = Vec::new();
    let mut to = serde_json::Serializer::with_formatter(&mut out, form);
    // Writing to memory fails for nothing that JSON can hold.
    let _ = cell.serialize(&mut to);
    String::from_utf8(out).unwrap_or_default()
}
