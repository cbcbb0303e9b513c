//! One source of settings: read, parsed and checked against the known keys.
//!
//! Messages name file, line and key, never a value: it may be a secret.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::ConfigError;
use super::keys::{self, Key, Kind};
use super::origin::{Origins, Place};

/// Something in a source that was ignored, or has an effect one may not expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// `file:line`, a flag or a variable.
    pub place: String,
    pub text: String,
    pub weight: Weight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// An unknown key or a value of the wrong type: an error under `--strict-config`.
    Mistake,
    /// Right as it stands, but without effect here.
    Notice,
}

impl Warning {
    pub(super) fn notice(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { place: place.into(), text: text.into(), weight: Weight::Notice }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// The flag that sets any key.
const CONFIG: &str = "--config";

/// One `-c key=value`, or another flag that sets a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    path: Vec<String>,
    value: Value,
    /// The flag or variable, for messages.
    name: String,
}

impl Override {
    /// `dotted.key=value`; a value that is no TOML is a text.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let wrong = |why: &str| {
            ConfigError::new(format!("--config: {why}"))
                .hint("write it as KEY=VALUE, such as -c model=qwen3-coder")
        };
        let (key, value) =
            text.split_once('=').ok_or_else(|| wrong("there is no = between key and value"))?;
        let path = path(key.trim()).ok_or_else(|| wrong("the key is no dotted TOML key"))?;
        let value = value.trim();
        let parsed = toml::from_str::<Table>(&format!("value = {value}"));
        // More than one key means that the value went on in a second line.
        let parsed = parsed.ok().filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
        let value = parsed.unwrap_or_else(|| Value::String(value.to_owned()));
        Ok(Self { path, value, name: CONFIG.to_owned() })
    }

    /// A dotted key that another flag or a variable sets: `-m` is `model`.
    pub fn text(key: &str, value: impl Into<String>) -> Self {
        let path = key.split('.').map(str::to_owned).collect();
        Self { path, value: Value::String(value.into()), name: CONFIG.to_owned() }
    }

    /// The same, set by this flag or variable.
    pub fn by(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    fn into_table(self) -> Table {
        let nest = |inner, key| Value::Table(Table::from_iter([(key, inner)]));
        match self.path.into_iter().rev().fold(self.value, nest) {
            Value::Table(table) => table,
            // A dotted key has at least one part.
            _ => Table::new(),
        }
    }
}

/// The parts of a dotted key. Programs that embed Codex join them by dots without quoting, so
/// what is no TOML key is taken as it stands between the dots.
fn path(key: &str) -> Option<Vec<String>> {
    if let Ok(parts) = toml_edit::Key::parse(key) {
        return Some(parts.iter().map(|key| key.get().to_owned()).collect());
    }
    let parts: Vec<String> = key.split('.').map(|part| part.trim().to_owned()).collect();
    let odd = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
    parts.iter().all(|part| !part.is_empty() && !part.contains(odd)).then_some(parts)
}

/// A source's settings: only known keys, each of its type.
#[derive(Debug, Default)]
pub(super) struct Layer {
    pub(super) table: Table,
    pub(super) origins: Origins,
    pub(super) warnings: Vec<Warning>,
}

/// Who wrote a source, and so what it may set.
#[derive(Clone, Copy)]
pub(super) enum Author<'a> {
    User,
    /// A trusted folder's file; with the user's own settings, which it may not widen.
    Project(&'a Table),
}

/// A file's layer; an empty one when there is no such file.
pub(super) fn file(path: &Path, author: Author<'_>) -> Result<Layer, ConfigError> {
    let Some(text) = read(path)? else { return Ok(Layer::default()) };
    let table = parse(path, &text)?;
    let spans = DeTable::parse(&text).ok();
    let source =
        Source { name: path.display().to_string(), text: &text, spans: spans.as_ref().map(|s| s.get_ref()) };
    Ok(check(table, &source, author))
}

/// A layer of one key, from a flag or a variable.
pub(super) fn flag(setting: Override) -> Layer {
    let source = Source { name: setting.name.clone(), text: "", spans: None };
    check(setting.into_table(), &source, Author::User)
}

/// The text of a settings file, without a byte-order mark; None when there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let shown = path.display();
    let failed = |e: &std::io::Error| {
        ConfigError::new(format!("cannot read {shown}: {e}"))
            .hint("make it readable for you, or move it away")
    };
    match fs::metadata(path) {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(e) => return Err(failed(&e)),
        // Opening a FIFO would wait for ever.
        Ok(meta) if !meta.is_file() => {
            let what = if meta.is_dir() { "is a folder" } else { "is no regular file" };
            let hint = "move it away; tack runs without a configuration file too";
            return Err(ConfigError::new(format!("{shown} {what}, not a configuration file")).hint(hint));
        }
        Ok(_) => {}
    }
    let bytes = fs::read(path).map_err(|e| failed(&e))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let line = 1 + e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|&&b| b == b'\n').count();
        ConfigError::new(format!("{shown}:{line}: the file is not UTF-8")).hint("save it as UTF-8")
    })?;
    Ok(Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)))
}

pub(super) fn parse(path: &Path, text: &str) -> Result<Table, ConfigError> {
    toml::from_str(text).map_err(|e| {
        let at = e.span().map_or(0, |span| span.start);
        let (line, column) = position(text, at);
        let mut message = e.message().lines().collect::<Vec<_>>().join(", ");
        if let Some(key) = e.span().and_then(|span| text.get(span)).filter(|_| message == "duplicate key") {
            message.push_str(&format!(" `{key}`"));
        }
        ConfigError::new(format!("{}:{line}:{column}: {message}", path.display()))
            .hint("mend that line; nothing of the file was used")
    })
}

/// Line and column, in characters, both from 1.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// Where a layer comes from, to say where a key stands.
struct Source<'a> {
    name: String,
    text: &'a str,
    spans: Option<&'a DeTable<'a>>,
}

impl Source<'_> {
    fn place(&self, path: &[String]) -> Place {
        Place { source: self.name.clone(), line: self.line(path) }
    }

    fn line(&self, path: &[String]) -> Option<usize> {
        let (last, above) = path.split_last()?;
        let mut table = self.spans?;
        for name in above {
            let (_, value) = table.iter().find(|(key, _)| key.get_ref() == name.as_str())?;
            let DeValue::Table(inner) = value.get_ref() else { return None };
            table = inner;
        }
        let (key, _) = table.iter().find(|(key, _)| key.get_ref() == last.as_str())?;
        Some(position(self.text, key.span().start).0)
    }
}

fn check(table: Table, source: &Source<'_>, author: Author<'_>) -> Layer {
    let mut checker = Checker { source, author, path: Vec::new(), warnings: Vec::new() };
    let table = checker.table(table, keys::ROOT);
    let origins = Origins::of(&table, |path| source.place(path));
    Layer { table, origins, warnings: checker.warnings }
}

struct Checker<'a> {
    source: &'a Source<'a>,
    author: Author<'a>,
    /// The keys down to the one being looked at.
    path: Vec<String>,
    warnings: Vec<Warning>,
}

impl Checker<'_> {
    fn table(&mut self, table: Table, known: &[Key]) -> Table {
        self.each(table, |checker, name, value| match keys::find(known, name) {
            Some(kind) => checker.value(value, kind),
            None => {
                checker.unknown(name, &value, known);
                None
            }
        })
    }

    /// Runs `keep` on every entry with its key on the path.
    fn each(&mut self, table: Table, keep: impl Fn(&mut Self, &str, Value) -> Option<Value>) -> Table {
        let mut kept = Table::new();
        for (name, value) in table {
            self.path.push(name.clone());
            if let Some(value) = keep(self, &name, value) {
                kept.insert(name, value);
            }
            self.path.pop();
        }
        kept
    }

    fn value(&mut self, value: Value, kind: Kind) -> Option<Value> {
        if let Author::Project(own) = self.author
            && let Some(why) = self.overreach(own, &value)
        {
            self.warn(Weight::Notice, |key| format!("`{key}` is ignored: {why}"));
            return None;
        }
        let wanted = match (kind, value) {
            (Kind::Foreign, _) => return None,
            (Kind::Later, _) => {
                self.warn(Weight::Notice, |key| format!("`{key}` is not supported yet and is ignored"));
                return None;
            }
            (Kind::Table(keys), Value::Table(table)) => return Some(Value::Table(self.table(table, keys))),
            (Kind::Named(keys), Value::Table(table)) => return Some(Value::Table(self.named(table, keys))),
            (Kind::Profiles, Value::Table(table)) => {
                return Some(Value::Table(self.named(table, keys::ROOT)));
            }
            (Kind::Text, value @ Value::String(_)) => return Some(value),
            (Kind::Flag, value @ Value::Boolean(_)) => return Some(value),
            (Kind::Count, Value::Integer(n)) if n >= 0 => return Some(Value::Integer(n)),
            (Kind::Amount, Value::Integer(n)) if n >= 0 => return Some(Value::Float(n as f64)),
            (Kind::Amount, Value::Float(n)) if n >= 0.0 && n.is_finite() => return Some(Value::Float(n)),
            (Kind::Texts, Value::Array(list)) if list.iter().all(Value::is_str) => {
                return Some(Value::Array(list));
            }
            (Kind::TextMap, Value::Table(map)) if map.values().all(Value::is_str) => {
                return Some(Value::Table(map));
            }
            (Kind::OneOf(names), Value::String(name)) if names.contains(&name.as_str()) => {
                return Some(Value::String(name));
            }
            (Kind::OneOf(names), Value::String(name)) => {
                let meant = keys::meant(&name, names.iter().copied());
                let names = names.join(", ");
                self.warn(Weight::Mistake, |key| {
                    format!("`{key}` must be one of {names}; it is ignored{meant}")
                });
                return None;
            }
            (kind, value) => format!("must be {}, not {}", wanted(kind), found(&value)),
        };
        self.warn(Weight::Mistake, |key| format!("`{key}` {wanted}; it is ignored"));
        None
    }

    fn named(&mut self, table: Table, keys: &[Key]) -> Table {
        self.each(table, |checker, _, value| match value {
            Value::Table(table) => Some(Value::Table(checker.table(table, keys))),
            other => {
                checker.warn(Weight::Mistake, |key| {
                    format!("`{key}` must be a table, not {}; it is ignored", found(&other))
                });
                None
            }
        })
    }

    fn unknown(&mut self, name: &str, value: &Value, known: &[Key]) {
        let at_top = self.path.len() > 1 && keys::find(keys::ROOT, name).is_some();
        let is_table = value.is_table();
        let same_shape =
            known.iter().filter(|(_, kind)| holds_table(*kind) == is_table).map(|(name, _)| *name);
        let meant = match at_top {
            true => "; it belongs above the first [table] of the file".to_owned(),
            false => keys::meant(name, same_shape),
        };
        self.warn(Weight::Mistake, |key| format!("unknown key `{key}` is ignored{meant}"));
    }

    /// Why a project's file may not set this key to this value.
    fn overreach(&self, own: &Table, value: &Value) -> Option<&'static str> {
        if keys::USER_ONLY.iter().any(|rule| self.path == *rule) {
            return Some("only your own configuration file may set it");
        }
        let rule = keys::STRICTER.iter().find(|rule| self.path == rule.path)?;
        let (last, above) = rule.path.split_last()?;
        let table = above.iter().try_fold(own, |table, key| table.get(*key)?.as_table());
        let own = table.and_then(|table| table.get(*last));
        rule.widens(own, value)
            .then_some("a project may make this stricter than your own configuration, not wider")
    }

    fn warn(&mut self, weight: Weight, text: impl Fn(&str) -> String) {
        let place = self.source.place(&self.path).to_string();
        self.warnings.push(Warning { place, text: text(&self.path.join(".")), weight });
    }
}

fn holds_table(kind: Kind) -> bool {
    match kind {
        Kind::Table(_) | Kind::Named(_) | Kind::Profiles | Kind::TextMap | Kind::Later => true,
        Kind::Text
        | Kind::Flag
        | Kind::Count
        | Kind::Amount
        | Kind::Texts
        | Kind::OneOf(_)
        | Kind::Foreign => false,
    }
}

fn wanted(kind: Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::OneOf(_) => "a text in quotes",
        Kind::Flag => "true or false",
        Kind::Count => "a whole number from 0 up",
        Kind::Amount => "a number from 0 up",
        Kind::Texts => "a list of texts",
        Kind::TextMap => "a table of texts",
        Kind::Table(_) | Kind::Named(_) | Kind::Profiles => "a table",
        Kind::Foreign | Kind::Later => "anything",
    }
}

fn found(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(n) if *n < 0 => "a negative number",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number with a fraction",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(list) if list.iter().all(Value::is_str) => "a list",
        Value::Array(_) => "a list of other things",
        Value::Table(_) => "a table",
    }
}

/// The project's settings file.
pub fn project_file(root: &Path) -> PathBuf {
    root.join(".tack").join("config.toml")
}
