//! A harness as it is written: every key it sets, what it extends included, for comparing two.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::kit::own_texts;
use super::layers::Chain;
use super::{Library, LoadError, sample};

/// Keys are dotted, lists in one line.
pub struct Spelled {
    /// Of each tool that is offered, in order.
    pub tools: Vec<(String, BTreeMap<String, String>)>,
    /// Of `harness.toml`, but for what only names the harness.
    pub keys: BTreeMap<String, String>,
    /// Text files that it reads, by name.
    pub texts: BTreeMap<String, String>,
    /// As in the list.
    pub tokens: usize,
}

/// Keys that make no difference to a model or a turn.
const NAMES: [&str; 8] = ["schema", "id", "name", "summary", "extends", "mirrors", "mirrored", "match"];

impl Library {
    /// What a harness comes to, written out.
    pub fn spelled(&self, id: &str) -> Result<Spelled, LoadError> {
        let tokens = self.sample(id, &sample::model())?.listing.tokens;
        let loaded = self.load(id)?;
        let kit = loaded.kit(&sample::model());
        let chain = Chain::read(&self.files, id)?;
        let (mut manifest, tools) = chain.spelled();
        manifest.retain(|key, _| !NAMES.contains(&key));
        let tools = tools.into_iter().filter(|(name, _)| kit.tool(name).is_some());
        let tools = tools.map(|(name, tool)| (name, flat(tool))).collect();
        let (mut texts, _) = own_texts(&self.files, &chain)?;
        texts.retain(|name, _| kit.uses(name));
        let mut keys = flat(Value::Table(manifest));
        keys.extend(chain.program().map(|program| ("dialect.command".to_owned(), program.command.join(" "))));
        Ok(Spelled { tools, keys, texts, tokens })
    }
}

fn flat(value: Value) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    spread(value, "", &mut out);
    out
}

fn spread(value: Value, at: &str, out: &mut BTreeMap<String, String>) {
    let below = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    match value {
        Value::Table(table) => spread_table(table, &below, out),
        Value::Array(list) if list.iter().any(Value::is_table) => {
            for (nth, value) in list.into_iter().enumerate() {
                spread(value, &below(&nth.to_string()), out);
            }
        }
        Value::String(text) => {
            out.insert(at.to_owned(), text);
        }
        value => {
            out.insert(at.to_owned(), value.to_string());
        }
    }
}

fn spread_table(table: Table, below: &dyn Fn(&str) -> String, out: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        spread(value, &below(&key), out);
    }
}
