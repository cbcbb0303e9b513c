//! What `tools.toml` may say of a parameter, and the JSON Schema that a model is shown of it.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::tool::Ordered;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Param {
    /// One type or several. None: what `schema` says, else a string.
    #[serde(rename = "type")]
    pub kind: Option<Types>,
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
    /// Taken when the parameter is absent; not told to the model. In the action's unit.
    pub default: Option<Value>,
    /// The default that the model is told. It holds too, unless `default` says otherwise.
    pub shown: Option<Value>,
    pub min: Option<i64>,
    pub max: Option<i64>,
    /// Smallest and largest value that has an effect; not told to the model.
    pub clamp: Option<Clamp>,
    /// A list's elements: a type, or all that can be said of a parameter.
    pub items: Option<Items>,
    /// For a list of objects: the element's parameters. For an object: its own.
    pub each: Ordered<Param>,
    /// What the schema of the object, or of the elements, says of further keys.
    pub extra: Option<Extra>,
    /// Words of JSON Schema laid over those above, or, where they say what the value is, in their place.
    pub schema: Raw,
}

/// The types a value may have: `"string"` or `["object", "array"]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Types(Vec<Type>);

/// The elements of a list. A type's name stands for a parameter that says nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Items(Box<Param>);

/// Further keys of an object: allowed, not allowed, or values of this form.
#[derive(Clone, Debug, PartialEq)]
pub enum Extra {
    Allowed(bool),
    Values(Box<Param>),
}

// By hand, as serde says of untagged enums only that nothing fits.
impl<'de> Deserialize<'de> for Types {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let named = match Value::deserialize(from)? {
            Value::Array(named) if !named.is_empty() => named,
            one => vec![one],
        };
        named
            .iter()
            .map(|name| Type::deserialize(name).map_err(Error::custom))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let param = match Value::deserialize(from)? {
            named @ Value::String(_) => Type::deserialize(named)
                .map(|kind| Param { kind: Some(Types(vec![kind])), ..Param::default() }),
            whole => Param::deserialize(whole),
        };
        param.map(|param| Self(Box::new(param))).map_err(Error::custom)
    }
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::Bool(allowed) => Ok(Self::Allowed(allowed)),
            values => Param::deserialize(values).map(|p| Self::Values(Box::new(p))).map_err(Error::custom),
        }
    }
}

impl Extra {
    fn schema(&self) -> Value {
        match self {
            Self::Allowed(allowed) => json!(allowed),
            Self::Values(param) => param.schema(),
        }
    }
}

/// JSON Schema as it is: a table, or a string of JSON where it holds `null`, which TOML cannot say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Raw(pub Map<String, Value>);

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let wrong = |why: &dyn std::fmt::Display| {
            D::Error::custom(format!("`schema` is a table or a string of JSON with an object: {why}"))
        };
        let value = match Value::deserialize(from)? {
            Value::String(text) => serde_json::from_str(&text).map_err(|e| wrong(&e))?,
            other => other,
        };
        match value {
            Value::Object(fields) => Ok(Self(fields)),
            other => Err(wrong(&format!("it is `{other}`"))),
        }
    }
}

impl Raw {
    /// It says by itself what the value is.
    fn is_whole(&self) -> bool {
        ["type", "anyOf", "oneOf", "allOf", "$ref", "const"].iter().any(|key| self.0.contains_key(*key))
    }

    /// The types that it allows, as far as it says so.
    fn types(&self) -> Vec<Type> {
        let mut found = Vec::new();
        let mut schemas = vec![&self.0];
        while let Some(schema) = schemas.pop() {
            let named = schema.get("type").into_iter().flat_map(|kind| match kind {
                Value::Array(kinds) => kinds.iter().collect(),
                one => vec![one],
            });
            found.extend(named.filter_map(|kind| Type::deserialize(kind).ok()));
            let branches = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(*key)?.as_array());
            let mut branches: Vec<_> = branches.flatten().filter_map(Value::as_object).collect();
            branches.reverse();
            schemas.extend(branches);
        }
        found
    }
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
    Null,
    /// Whatever the model writes.
    Any,
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
            Self::Null => "null",
            Self::Any => "any",
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
    /// A number that the action has as text.
    #[serde(rename = "text")]
    Text,
    /// The number in the id of a job: 3 of `job3`.
    #[serde(rename = "job")]
    Job,
}

pub(super) fn object_schema(params: &Ordered<Param>, extra: Option<&Extra>) -> Value {
    let required: Vec<&str> = params.iter().filter(|(_, p)| p.required).map(|(name, _)| name).collect();
    let properties: Map<String, Value> =
        params.iter().map(|(name, p)| (name.to_owned(), p.schema())).collect();
    let mut schema = json!({ "type": "object" });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["properties"] = Value::Object(properties);
    if let Some(extra) = extra {
        schema["additionalProperties"] = extra.schema();
    }
    schema
}

impl Param {
    /// The action's word for one of the surface.
    pub fn meant(&self, said: Value) -> Value {
        match said.as_str().and_then(|word| self.means.find(word)) {
            Some(meant) => json!(meant),
            None => said,
        }
    }

    /// The surface's word for one of the action.
    pub fn said(&self, meant: Value) -> Value {
        match self.means.iter().find(|(_, word)| meant == **word) {
            Some((said, _)) => json!(said),
            None => meant,
        }
    }

    /// The words that are taken; none: any.
    pub fn words(&self) -> Vec<&str> {
        let listed = self.choices.iter().map(String::as_str);
        if self.choices.is_empty() { self.means.names().collect() } else { listed.collect() }
    }

    /// The types that are read, the likeliest first; never empty.
    pub fn types(&self) -> Vec<Type> {
        match &self.kind {
            Some(Types(kinds)) => kinds.clone(),
            None => match self.schema.types() {
                found if !found.is_empty() => found,
                _ if self.schema.is_whole() => vec![Type::Any],
                _ => vec![Type::String],
            },
        }
    }

    /// The first of the types.
    pub fn main(&self) -> Type {
        self.types().first().copied().unwrap_or_default()
    }

    pub fn allows(&self, kind: Type) -> bool {
        self.types().contains(&kind)
    }

    /// The types in words.
    pub fn types_said(&self) -> String {
        self.types().into_iter().map(Type::name).collect::<Vec<_>>().join(" or ")
    }

    /// The element of a list.
    pub fn element(&self) -> Option<&Param> {
        self.items.as_ref().map(|Items(param)| &**param)
    }

    pub fn schema(&self) -> Value {
        let mut schema = if self.schema.is_whole() { json!({}) } else { self.short() };
        for (key, value) in &self.schema.0 {
            schema[key] = value.clone();
        }
        if !self.about.is_empty() && schema.get("description").is_none() {
            schema["description"] = json!(self.about);
        }
        schema
    }

    /// What the keys say without `schema`.
    fn short(&self) -> Value {
        let mut schema = json!({});
        let types = self.types();
        match &types[..] {
            [Type::Any] => {}
            [one] => schema["type"] = json!(one.name()),
            several => schema["type"] = several.iter().map(|kind| kind.name()).collect(),
        }
        if !self.about.is_empty() {
            schema["description"] = json!(self.about);
        }
        if !self.choices.is_empty() {
            schema["enum"] = json!(self.choices);
        }
        if let Some(shown) = &self.shown {
            schema["default"] = shown.clone();
        }
        if let Some(min) = self.min {
            schema["minimum"] = json!(min);
        }
        if let Some(max) = self.max {
            schema["maximum"] = json!(max);
        }
        let list = types.contains(&Type::Array);
        if types.contains(&Type::Object) {
            let inner = object_schema(&self.each, self.extra.as_ref());
            for key in ["required", "properties", "additionalProperties"] {
                if let Some(value) = inner.get(key) {
                    schema[key] = value.clone();
                }
            }
        }
        if let Some(element) = self.element().filter(|_| list) {
            schema["items"] = element.schema();
        } else if list && !self.each.is_empty() {
            schema["items"] = object_schema(&self.each, self.extra.as_ref());
        }
        schema
    }
}

/// The schema without its texts.
pub(super) fn bare_schema(mut schema: Value) -> Value {
    if let Some(fields) = schema.as_object_mut() {
        if fields.get("description").is_some_and(Value::is_string) {
            fields.shift_remove("description");
        }
        for value in fields.values_mut() {
            *value = bare_schema(value.take());
        }
    }
    schema
}
