//! Templates: texts with holes, filled from frozen facts.
//!
//! Pure: a template reads what it is given, never the machine. Its names are checked when it is
//! loaded, so that a typing error is found before a session starts.

mod folder;
mod lists;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use anyhow::Context;
use minijinja::value::{Kwargs, Serde, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, UndefinedBehavior};

use crate::model::{Instructions, Model, Scene};

use super::load::{LoadError, nearest};
use super::tool::{Param, Tools};

/// Known to every template.
pub(super) const BARE: &[&str] = &["tools", "tool", "deferred", "harness", "offer"];

/// Known to templates of a request or a result, as the session's facts are at hand.
#[rustfmt::skip]
pub(super) const FACTS: &[&str] = &[
    "tools", "tool", "deferred", "harness", "offer", "cwd", "os", "os_version", "arch", "shell", "git", "agents_md", "instructions",
    "model", "class", "local", "unattended", "reduced", "sandbox", "network", "date", "listing", "tree", "file",
    "facts", "first_prompt",
];

/// The templates of one harness, compiled.
pub(super) struct Texts {
    env: Environment<'static>,
    /// The text of each, and where it stands.
    places: BTreeMap<String, (String, Origin)>,
}

/// Where a template's text begins: in this file, behind so many lines.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub file: String,
    pub before: usize,
}

impl Origin {
    pub fn file(file: &str) -> Self {
        Self { file: file.to_owned(), before: 0 }
    }

    pub fn broken(&self, line: Option<usize>, what: String) -> LoadError {
        let line = line.map(|line| line + self.before).or((self.before > 0).then_some(self.before));
        LoadError::broken(self.file.clone(), line, what)
    }
}

/// Work that one text may take, in instructions of minijinja and what it charges for memory: far above
/// what a long answer needs, and over in less than a second.
const WORK: u64 = 500_000;

/// Bytes that one text may come to.
const LONGEST: usize = 2 * 1024 * 1024;

impl Texts {
    pub fn new() -> Self {
        let mut env = Environment::new();
        env.set_undefined_behavior(UndefinedBehavior::SemiStrict);
        env.set_auto_escape_callback(|_| AutoEscape::None);
        env.set_fuel(Some(WORK));
        env.set_recursion_limit(DEEPEST);
        // With it a loop nests lists within lists, of which to drop one takes more stack than there is.
        env.remove_global("namespace");
        // The built-in filter writes `<` as `\u003c`, for web pages.
        env.add_filter("tojson", |value: Value, named: Kwargs| {
            let wrong = |e: serde_json::Error| Error::new(ErrorKind::BadSerialization, e.to_string());
            let pretty = named.get::<Option<bool>>("pretty")?.unwrap_or(false);
            named.assert_all_used()?;
            // A list that holds itself twice, and so on, is small and comes to more than any memory.
            let mut text = Bounded(Vec::new());
            let made = match pretty {
                true => serde_json::to_writer_pretty(&mut text, &value),
                false => serde_json::to_writer(&mut text, &value),
            };
            made.map_err(|e| if e.is_io() { too_long() } else { wrong(e) })?;
            Ok(text.into_text())
        });
        env.add_filter("string", |value: Value| {
            let mut text = Bounded(Vec::new());
            write!(text, "{value}").map_err(|_| too_long())?;
            Ok::<_, Error>(text.into_text())
        });
        env.add_filter("numbered", |text: &str, named: Kwargs| {
            let from = named.get::<Option<u64>>("from")?.unwrap_or(1);
            let width = named.get::<Option<usize>>("width")?.unwrap_or(0).min(WIDEST);
            let gap = named.get::<Option<String>>("gap")?.unwrap_or_else(|| "\t".to_owned());
            named.assert_all_used()?;
            numbered(text, from, (width, &gap))
        });
        env.add_filter("middle", middle);
        env.add_filter("chomp", |text: &str| text.trim_end_matches(['\n', '\r']).to_owned());
        Self { env, places: BTreeMap::new() }
    }

    /// Templates for fields of an action. An absent parameter is nothing; in a `command`, what a hole holds
    /// is one word of the shell, a list one for each element.
    pub fn for_fields() -> Self {
        let Self { mut env, places } = Self::new();
        env.set_undefined_behavior(UndefinedBehavior::Chainable);
        env.set_auto_escape_callback(|name| match name.ends_with(".command") {
            true => AutoEscape::Custom("shell".into()),
            false => AutoEscape::None,
        });
        env.set_formatter(|out, state, value| match state.auto_escape() {
            AutoEscape::Custom(_) if value.is_undefined() || value.is_none() => Ok(()),
            AutoEscape::Custom(_) => Ok(write!(out, "{}", quote(value)?)?),
            _ => minijinja::escape_formatter(out, state, value),
        });
        env.add_filter("quote", |value: Value| quote(&value).map(Value::from_safe_string));
        Self { env, places }
    }

    /// Adds a template that may use the `known` names.
    pub fn add(
        &mut self,
        name: &str,
        text: &str,
        known: &[&[&str]],
        origin: Origin,
    ) -> Result<(), LoadError> {
        if let Some(line) = too_intricate(text) {
            let what = format!("the template has more than {TAGS} bytes in its tags; make it shorter");
            return Err(origin.broken(Some(line), what));
        }
        let added = self.env.add_template_owned(name.to_owned(), text.to_owned());
        added.map_err(|e| origin.broken(e.line(), e.detail().unwrap_or("no valid template").to_owned()))?;
        if let Some((line, what)) = lists::fault(text) {
            return Err(origin.broken(Some(line), what));
        }
        let template = self.env.get_template(name).map_err(|e| origin.broken(None, e.to_string()))?;
        let globals: Vec<&str> = self.env.globals().map(|(name, _)| name).collect();
        let known = || known.iter().copied().flatten().chain(&globals).copied();
        let mut unknown: Vec<String> = template.undeclared_variables(false).into_iter().collect();
        unknown.sort();
        if let Some(wrong) = unknown.iter().find(|name| !known().any(|k| k == *name)) {
            let line = text.lines().position(|line| line.contains(wrong.as_str())).map(|at| at + 1);
            let near = nearest(wrong, known()).map(|n| format!("; did you mean `{n}`")).unwrap_or_default();
            let what = format!("the template uses `{wrong}`, which is not known here{near}");
            return Err(origin.broken(line, what));
        }
        self.places.insert(name.to_owned(), (text.to_owned(), origin));
        Ok(())
    }

    /// Whether the template has this fact in it.
    pub fn reads(&self, name: &str, fact: &str) -> bool {
        self.env.get_template(name).is_ok_and(|template| template.undeclared_variables(false).contains(fact))
    }

    pub fn has(&self, name: &str) -> bool {
        self.env.get_template(name).is_ok()
    }

    pub fn render(&self, name: &str, values: &Values) -> anyhow::Result<String> {
        self.filled(name, values.value()).with_context(|| format!("filling in the template {name}"))
    }

    /// What is wrong with the template when it is filled in so.
    pub fn fault(&self, name: &str, values: &Values) -> Option<LoadError> {
        let e = self.filled(name, values.value()).err()?;
        let place = |name: &str| self.places.get(name).map(|(_, origin)| origin);
        let origin = e.name().and_then(place).or_else(|| place(name))?;
        let what = match e.kind() {
            ErrorKind::OutOfFuel => "the template has no end, or makes too much".to_owned(),
            ErrorKind::WriteFailure => format!("the template comes to more than {LONGEST} bytes"),
            _ => format!("the template cannot be filled in: {}", e.detail().unwrap_or(&e.kind().to_string())),
        };
        Some(origin.broken(e.line(), what))
    }

    /// Names, and where each stands.
    pub fn names(&self) -> impl Iterator<Item = (&str, &Origin)> {
        self.places.iter().map(|(name, (_, origin))| (name.as_str(), origin))
    }

    /// The text of each, and where it stands.
    pub fn sources(&self) -> impl Iterator<Item = (&str, &Origin)> {
        self.places.values().map(|(text, origin)| (text.as_str(), origin))
    }

    /// The same from a call's parameters: each by its name, all of them as `args`.
    pub fn fill(
        &self,
        name: &str,
        given: &serde_json::Map<String, serde_json::Value>,
    ) -> anyhow::Result<String> {
        let all = std::iter::once(("args", Value::from(Serde(given))));
        let each = given.iter().map(|(name, value)| (name.as_str(), Value::from(Serde(value))));
        let values = Value::from_pairs(all.chain(each));
        self.filled(name, values).with_context(|| format!("filling in the template {name}"))
    }

    fn filled(&self, name: &str, values: Value) -> Result<String, Error> {
        let mut text = Bounded(Vec::new());
        self.env.get_template(name)?.render_captured_to(values, &mut text)?;
        Ok(text.into_text())
    }
}

/// Calls within calls. A deeper one would need more stack than a thread has.
const DEEPEST: usize = 60;

/// Bytes of tags in one text, quoted words left out. Each operator, branch or list may nest one deeper, in
/// the parser or in a value, and the stack bears only so many. The longest text that is built in has 700.
const TAGS: usize = 2_000;

/// Widest column of numbers.
const WIDEST: usize = 40;

/// The line where a text has had more in its tags than is read.
fn too_intricate(text: &str) -> Option<usize> {
    let (mut inside, mut quote, mut bytes) = (false, None, 0);
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match (inside, quote) {
            (false, _) => inside = before == '{' && (c == '{' || c == '%'),
            (true, Some(open)) if c == open && before != '\\' => quote = None,
            (true, Some(_)) => {}
            (true, None) if c == '"' || c == '\'' => quote = Some(c),
            (true, None) if c == '}' && (before == '}' || before == '%') => inside = false,
            (true, None) => bytes += c.len_utf8(),
        }
        before = c;
        if bytes > TAGS {
            return Some(super::place::line(text, at));
        }
    }
    None
}

fn too_long() -> Error {
    Error::new(ErrorKind::WriteFailure, "")
}

/// A text that does not grow without end.
struct Bounded(Vec<u8>);

impl Bounded {
    fn into_text(self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > LONGEST {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What a template is filled from.
#[derive(Clone, Default)]
pub(super) struct Values(BTreeMap<&'static str, Value>);

impl Values {
    pub fn with(mut self, name: &'static str, value: impl serde::Serialize) -> Self {
        self.0.insert(name, Value::from(Serde(value)));
        self
    }

    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn set(&mut self, name: &'static str, value: Value) {
        self.0.insert(name, value);
    }

    fn value(&self) -> Value {
        Value::from_pairs(self.0.iter().map(|(name, value)| (*name, value.clone())))
    }

    /// Facts that need no scene. Of each tool a text may name all that a request would say of it.
    pub fn of_tools(harness: &str, tools: &Tools) -> Self {
        let rows: Vec<_> = tools
            .iter()
            .filter(|(_, tool)| !tool.defer)
            .map(|(name, tool)| {
                serde_json::json!({
                    "name": name,
                    "about": tool.about,
                    "signature": tool.signature,
                    "params": tool.params.iter().map(row).collect::<Vec<_>>(),
                    "example": super::bind::example(name, tool),
                    "wire": tool.on_wire(),
                })
            })
            .collect();
        let deferred = tools.iter().filter(|(_, tool)| tool.defer && tool.on_wire());
        let first = |about: &str| about.lines().next().unwrap_or_default().to_owned();
        let deferred: Vec<_> = deferred
            .map(|(name, tool)| serde_json::json!({ "name": name, "about": first(&tool.about) }))
            .collect();
        // One that does a single fixed thing is not what a text means by the kind; the others come first.
        let plain = tools.iter().filter(|(_, tool)| tool.fill.is_empty());
        let filled =
            tools.iter().filter(|(_, tool)| !tool.fill.is_empty() && tool.fill.find("command").is_none());
        let kinds: Vec<(String, String)> = plain
            .chain(filled)
            .flat_map(|(name, tool)| tool.kinds().map(move |kind| (kind.to_owned(), name.to_owned())))
            .collect();
        let mut values =
            Self::default().with("harness", harness).with("tools", rows).with("deferred", deferred);
        values.set("tool", Value::from_function(move |kind: &str| tool_name(&kinds, kind)));
        values
    }

    pub fn add_instructions(self, instructions: &[Instructions]) -> Self {
        let agents = (!instructions.is_empty()).then(|| agents_md(instructions));
        self.with("agents_md", agents).with("instructions", instructions)
    }

    pub fn add_scene(mut self, scene: &Scene, files: &Arc<BTreeMap<String, String>>) -> Self {
        self = self
            .with("cwd", &scene.cwd)
            .with("os", &scene.os)
            .with("os_version", &scene.os_version)
            .with("arch", &scene.arch)
            .with("shell", &scene.shell)
            .with("git", &scene.git)
            .with("reduced", &scene.reduced)
            .with("sandbox", &scene.sandbox)
            .with("network", scene.network);
        let time = scene.time.clone();
        self.set("date", Value::from_function(move |format: &str| date(&time, format)));
        let (entries, cwd) = (Arc::new(scene.listing.clone()), scene.cwd.clone());
        let all = entries.clone();
        let tree = move |state: &State<'_, '_>, limit: usize| {
            state.consume_fuel(all.len() as u64)?;
            Ok::<_, Error>(folder::tree(&cwd, &all, limit))
        };
        self.set("tree", Value::from_function(tree));
        let listing = move |state: &State<'_, '_>, named: Kwargs| {
            let depth = named.get::<Option<usize>>("depth")?.unwrap_or(1);
            let limit = named.get::<Option<usize>>("limit")?.unwrap_or(20);
            let tree = named.get::<Option<bool>>("tree")?.unwrap_or(false);
            named.assert_all_used()?;
            state.consume_fuel(entries.len() as u64)?;
            Ok::<_, Error>(match tree {
                true => folder::outline(&entries, depth, limit),
                false => folder::listing(&entries, depth, limit),
            })
        };
        self.set("listing", Value::from_function(listing));
        let files = files.clone();
        self.set(
            "file",
            Value::from_function(move |name: &str| {
                files.get(name).cloned().ok_or_else(|| {
                    Error::new(ErrorKind::InvalidOperation, format!("the harness has no file {name}"))
                })
            }),
        );
        self
    }

    pub fn add_model(self, model: &Model) -> Self {
        self.with("model", &model.name).with("class", model.class.letter()).with("local", model.local)
    }
}

/// Words of a shell. What is marked as safe was made by the template or quoted already.
fn quote(value: &Value) -> Result<String, Error> {
    if value.is_undefined() || value.is_none() {
        return Ok(String::new());
    }
    if value.is_safe() {
        return Ok(value.to_string());
    }
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => value
            .try_iter()?
            .map(|one| quote(&one))
            .collect::<Result<Vec<_>, _>>()
            .map(|words| words.join(" ")),
        _ => Ok(super::bind::quoted(&value.to_string())),
    }
}

/// What is left of a text of more than `most` bytes when its middle goes: `head`, `tail`, `left_out`. None
/// for one that is short enough.
fn middle(text: &str, most: usize) -> Value {
    if text.len() <= most {
        return Value::from(());
    }
    let whole = |at: &usize| text.is_char_boundary(*at);
    let head = &text[..(0..=most / 2).rev().find(whole).unwrap_or(0)];
    let tail = &text[(text.len() - most / 2..).find(whole).unwrap_or(text.len())..];
    let left_out = text.len() - head.len() - tail.len();
    Value::from(Serde(serde_json::json!({ "head": head, "tail": tail, "left_out": left_out })))
}

fn row((name, param): (&str, &Param)) -> serde_json::Value {
    serde_json::json!({
        "name": name, "type": param.types_said(), "about": param.about, "required": param.required,
    })
}

/// The name of the tool that does `kind`. Work on files falls back to the shell, so that a text
/// still makes sense in a fork that drops a tool; other kinds to nothing, which a text can ask.
fn tool_name(kinds: &[(String, String)], kind: &str) -> String {
    let named = |kind: &str| kinds.iter().find(|(does, _)| does == kind).map(|(_, name)| name.clone());
    let file_work = ["read", "write", "edit", "grep", "glob", "list"].contains(&kind);
    named(kind).or_else(|| file_work.then(|| named("shell")).flatten()).unwrap_or_default()
}

fn agents_md(instructions: &[Instructions]) -> String {
    let texts = instructions.iter().map(|file| {
        let cut = if file.cut { "\n[cut here: the file is longer]" } else { "" };
        format!("## {}\n\n{}{cut}", file.path, file.text.trim_end())
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The scene's time in strftime's words.
fn date(time: &str, format: &str) -> Result<String, Error> {
    let wrong = |e: &dyn std::fmt::Display| Error::new(ErrorKind::InvalidOperation, format!("date: {e}"));
    let pieces = jiff::fmt::temporal::Pieces::parse(time).map_err(|e| wrong(&e))?;
    let moment = pieces.date().to_datetime(pieces.time().unwrap_or_default());
    let mut moment = jiff::fmt::strtime::BrokenDownTime::from(moment);
    moment.set_offset(pieces.to_numeric_offset());
    let zone = pieces.time_zone_annotation().map(|annotation| annotation.kind());
    if let Some(jiff::fmt::temporal::TimeZoneAnnotationKind::Named(name)) = zone {
        moment.set_iana_time_zone(Some(name.as_str().to_owned()));
    }
    moment.to_string(format).map_err(|e| wrong(&e))
}

/// Lines with their numbers, right-aligned to `width`, before the `gap`.
fn numbered(text: &str, from: u64, (width, gap): (usize, &str)) -> Result<String, Error> {
    let mut all = Bounded(Vec::new());
    for (at, line) in text.lines().enumerate() {
        let (number, end) = (from.saturating_add(at as u64), if at == 0 { "" } else { "\n" });
        write!(all, "{end}{number:>width$}{gap}{line}").map_err(|_| too_long())?;
    }
    Ok(all.into_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_as_a_template_asks() {
        assert_eq!(numbered("a\n\nb\n", 9, (6, "\t")).unwrap(), "     9\ta\n    10\t\n    11\tb");
        assert_eq!(numbered("a", 1, (0, ": ")).unwrap(), "1: a");
    }

    #[test]
    fn a_date_needs_no_time_zone_tables() {
        let got = date("2026-03-01T09:30:00+01:00[Nowhere/Town]", "%A, %B %-d, %Y").unwrap();
        assert_eq!(got, "Sunday, March 1, 2026");
    }

    #[test]
    fn a_wrong_name_is_found_at_load() {
        let mut texts = Texts::new();
        let error = texts
            .add("t", "one\n{% if agent_md %}x{% endif %}", &[FACTS], Origin::file("x/system.md"))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "x/system.md:2: the template uses `agent_md`, which is not known here; did you mean `agents_md`"
        );
    }
}
