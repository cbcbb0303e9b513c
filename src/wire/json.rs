//! JSON from and for servers that are not exact about it. Pure.
//!
//! Values are read where they stand in an event's text, without a tree in between, as this runs once
//! for each token of a reply. Any of them may be missing, null or of another type than documented.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// A field as it stands in the text; None when it is missing or null.
pub(super) type Raw<'a> = Option<&'a RawValue>;

/// The value, if it is there and of this type.
pub(super) fn read<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// A string that says something.
pub(super) fn word(raw: Raw) -> Option<String> {
    read::<String>(raw).filter(|word| !word.is_empty())
}

/// A plain word, such as a type's name, as it stands in the text; empty when it is none.
pub(super) fn plain(raw: &RawValue) -> &str {
    raw.get().strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default()
}

/// Some gateways write counts as floating-point numbers.
pub(super) fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().filter(|count| *count >= 0.0).map(|count| count as u64))
}

/// Whether this is JSON as a whole.
pub(super) fn is_whole(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Arguments of a call of the past as the model wrote them, unless they are no JSON (a call that was
/// cut off): several servers parse the history and fail the whole request then.
pub(super) fn arguments(args: &str) -> String {
    if args.trim().is_empty() {
        "{}".to_owned()
    } else if is_whole(args) {
        args.to_owned()
    } else {
        invalid(args).to_string()
    }
}

/// The same for APIs that want an object.
pub(super) fn object(args: &str) -> Value {
    match serde_json::from_str(args) {
        Ok(Value::Object(args)) => args.into(),
        _ if args.trim().is_empty() => Map::new().into(),
        _ => invalid(args),
    }
}

fn invalid(args: &str) -> Value {
    json!({ "invalid": args })
}
