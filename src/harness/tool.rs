//! What `tools.toml` may say: the tools a model sees, and how each one's parameters fill an action.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::manifest::Output;

/// The offered tools, in the order the model sees them.
pub type Tools = Ordered<Tool>;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tool {
    /// The action: a word of [`crate::model::Action::kind`].
    pub does: Option<String>,
    pub about: String,
    /// How the tool is called in a dialect of words; shown to the model.
    pub signature: Option<String>,
    /// Parameters that are words without a flag, in this order.
    pub args: Vec<String>,
    /// The parameter that decides what the call does, and what each of its values means.
    pub pick: Option<String>,
    pub when: Ordered<Variant>,
    /// The parameter that is all of the input, for wires with tools of free form. Empty: none.
    #[serde(deserialize_with = "super::manifest::named")]
    pub free: Option<String>,
    /// What that input has to look like.
    pub grammar: Option<Grammar>,
    /// The word by which models ask a shell for a patch: a command that is only this word and a
    /// here-document means the patch in it.
    #[serde(deserialize_with = "super::manifest::named")]
    pub patch_word: Option<String>,
    /// The parameter in which a call says how many tokens of output it wants, at four bytes each.
    pub tokens: Option<String>,
    /// False: never sent as a tool. The system prompt says how it is called, and the call goes back
    /// as the text that it was.
    pub wire: Option<bool>,
    /// Arguments of a call as it might be made, where the model is shown one.
    pub example: Map<String, Value>,
    /// Fields of the action that are always the same.
    pub with: Map<String, Value>,
    pub params: Ordered<Param>,
    pub needs: Option<Needs>,
    /// Template of the answer.
    pub result: Option<String>,
    /// Template of a text of its own ahead of the answer; an answer that is empty is left out then.
    pub status: Option<String>,
    pub output: Output,
    pub strict: Option<bool>,
    /// What the schema says of parameters it does not name; left out when absent.
    pub extra: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Grammar {
    /// `lark` or `regex`.
    pub syntax: String,
    /// A file of the harness, `.lark` or `.md`.
    pub file: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Needs {
    /// The file must have been read in this session.
    Read,
}

/// What one value of the `pick` parameter does.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Variant {
    pub does: String,
    /// Parameters that have to be there.
    pub needs: Vec<String>,
    /// Parameters that may be there.
    pub uses: Vec<String>,
    /// Parameters that fill another field than their `to` says.
    pub rename: Map<String, Value>,
    pub with: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Param {
    #[serde(rename = "type")]
    pub kind: Type,
    pub about: String,
    pub required: bool,
    /// The field of the action, dotted: `edits.0.old`.
    pub to: Option<String>,
    #[serde(rename = "as")]
    pub unit: Unit,
    #[serde(rename = "enum")]
    pub choices: Vec<String>,
    /// What a word of the surface is called in the action, where that differs.
    pub means: Ordered<String>,
    /// Taken when the parameter is absent; not told to the model.
    pub default: Option<Value>,
    pub min: Option<i64>,
    pub max: Option<i64>,
    /// Smallest and largest value that has an effect; not told to the model.
    pub clamp: Option<Clamp>,
    /// Type of a list's elements.
    pub items: Option<Type>,
    /// For a list of objects: the element's parameters. For an object: its own.
    pub each: Ordered<Param>,
    /// What the elements' schema says of further keys.
    pub extra: Option<bool>,
}

/// A range, both ends in it: `[least, most]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "[u64; 2]")]
pub struct Clamp {
    least: u64,
    most: u64,
}

impl TryFrom<[u64; 2]> for Clamp {
    type Error = &'static str;

    fn try_from([least, most]: [u64; 2]) -> Result<Self, Self::Error> {
        if least > most {
            return Err("`clamp` is [least, most], and the first is the larger one");
        }
        Ok(Self { least, most })
    }
}

impl Clamp {
    pub fn of(self, number: f64) -> f64 {
        number.clamp(self.least as f64, self.most as f64)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    #[default]
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
}

impl Type {
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// How a parameter's value is said in the action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    #[default]
    #[serde(rename = "plain")]
    Plain,
    /// Seconds; the action has milliseconds.
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "ms")]
    Millis,
    /// Counted from 0; the action counts from 1.
    #[serde(rename = "from-0")]
    FromZero,
    /// `[first, last]`, -1 for the end; fills `line` and `count`.
    #[serde(rename = "range")]
    Range,
    /// A line from 1 up; from -1 down it is counted from the end and fills `last`.
    #[serde(rename = "line")]
    Line,
    /// As many lines `before` as `after`, where these are not given themselves.
    #[serde(rename = "around")]
    Around,
    /// The number in the id of a job: 3 of `job3`.
    #[serde(rename = "job")]
    Job,
}

impl Tool {
    /// JSON Schema of the arguments.
    pub fn schema(&self) -> Value {
        object_schema(&self.params, self.extra)
    }

    /// It can be offered in a request.
    pub fn on_wire(&self) -> bool {
        self.wire != Some(false)
    }

    /// The kinds of action that this tool can be.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.does.iter().map(String::as_str).chain(self.when.iter().map(|(_, v)| v.does.as_str()))
    }
}

fn object_schema(params: &Ordered<Param>, extra: Option<bool>) -> Value {
    let required: Vec<&str> = params.iter().filter(|(_, p)| p.required).map(|(name, _)| name).collect();
    let properties: Map<String, Value> =
        params.iter().map(|(name, p)| (name.to_owned(), p.schema())).collect();
    let mut schema = json!({ "type": "object" });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["properties"] = Value::Object(properties);
    if let Some(extra) = extra {
        schema["additionalProperties"] = json!(extra);
    }
    schema
}

impl Param {
    /// The action's word for one of the surface.
    pub fn meant(&self, said: Value) -> Value {
        said.as_str().and_then(|word| self.means.find(word)).map_or(said.clone(), |meant| json!(meant))
    }

    /// The surface's word for one of the action.
    pub fn said(&self, meant: Value) -> Value {
        let word = self.means.iter().find(|(_, word)| meant == **word);
        word.map_or(meant.clone(), |(said, _)| json!(said))
    }

    /// The words that are taken; none: any.
    pub fn words(&self) -> Vec<&str> {
        let listed = self.choices.iter().map(String::as_str);
        if self.choices.is_empty() { self.means.names().collect() } else { listed.collect() }
    }

    fn schema(&self) -> Value {
        let mut schema = json!({ "type": self.kind.name() });
        if !self.about.is_empty() {
            schema["description"] = json!(self.about);
        }
        if !self.choices.is_empty() {
            schema["enum"] = json!(self.choices);
        }
        if let Some(min) = self.min {
            schema["minimum"] = json!(min);
        }
        if let Some(max) = self.max {
            schema["maximum"] = json!(max);
        }
        if self.kind == Type::Object {
            let inner = object_schema(&self.each, self.extra);
            for key in ["required", "properties", "additionalProperties"] {
                if let Some(value) = inner.get(key) {
                    schema[key] = value.clone();
                }
            }
        } else if !self.each.is_empty() {
            schema["items"] = object_schema(&self.each, self.extra);
        } else if let Some(items) = self.items {
            schema["items"] = json!({ "type": items.name() });
        }
        schema
    }
}

/// A table that keeps the order it was written in: order is part of a prompt, and of its cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordered<T>(Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Ordered<T> {
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub fn find(&self, name: &str) -> Option<&T> {
        self.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|(name, _)| keep(name));
    }
}

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Ordered<T>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Ordered(entries))
            }
        }
        from.deserialize_map(Entries(PhantomData))
    }
}
