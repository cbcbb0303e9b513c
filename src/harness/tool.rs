//! What `tools.toml` may say: the tools a model sees, and how each one's parameters fill an action.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::manifest::Output;
pub use super::param::{Extra, Param, Type, Unit};
use super::param::{Raw, object_schema};

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
    /// Parameters of the harness it extends that it does not have.
    pub without: Vec<String>,
    pub needs: Option<Needs>,
    /// Template of the answer.
    pub result: Option<String>,
    /// Template of a text of its own ahead of the answer; an answer that is empty is left out then.
    pub status: Option<String>,
    pub output: Output,
    pub strict: Option<bool>,
    /// What the schema says of parameters it does not name; left out when absent.
    pub extra: Option<Extra>,
    /// Words of JSON Schema laid over what `params` comes to.
    pub schema: Raw,
    /// Fields of the action from templates over the parameters.
    pub fill: Ordered<String>,
    /// A program of the harness's folder and its arguments, for `does = "script"`.
    pub run: Vec<String>,
    /// Such a program changes nothing, so calls of it may run side by side.
    pub reads: bool,
    /// Only named until the model asks for it.
    pub defer: bool,
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
    pub fill: Ordered<String>,
}

impl Tool {
    /// JSON Schema of the arguments.
    pub fn schema(&self) -> Value {
        let mut schema = object_schema(&self.params, self.extra.as_ref());
        for (key, value) in &self.schema.0 {
            schema[key] = value.clone();
        }
        schema
    }

    /// It can be offered in a request.
    pub fn on_wire(&self) -> bool {
        self.wire != Some(false)
    }

    /// It is in a request from the start.
    pub fn at_once(&self) -> bool {
        self.on_wire() && !self.defer
    }

    /// Templates fill fields of its action, so that the action does not tell the call.
    pub fn filled(&self, variant: Option<&Variant>) -> bool {
        !self.fill.is_empty() || variant.is_some_and(|variant| !variant.fill.is_empty())
    }

    /// The kinds of action that this tool can be.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.does.iter().map(String::as_str).chain(self.when.iter().map(|(_, v)| v.does.as_str()))
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

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut T)> {
        self.0.iter_mut().map(|(name, value)| (name.as_str(), value))
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|(name, _)| keep(name));
    }

    /// In the order of `names`; others behind them, as they were.
    pub fn arrange(&mut self, names: &[String]) {
        self.0.sort_by_key(|(name, _)| names.iter().position(|n| n == name).unwrap_or(names.len()));
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
