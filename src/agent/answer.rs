//! The form of a turn's last message: a JSON Schema that it has to fit.
//!
//! Owns the schema and the check. Whether a server holds its answers to it or the model is only
//! told, what comes is checked all the same; a message that does not fit is asked for once more.
//! Nothing outside the schema's own text is loaded: a `$ref` to another place is an error.

use std::borrow::Cow;

use boon::{CompileError, Compiler, SchemaIndex, Schemas, UrlLoader};
use serde_json::Value;

use super::{Agent, End};
use crate::harness::Saying;
use crate::model::{NoteKind, Part, Reply};
use crate::wire::prompt::Prompt;

/// Name of the schema among the validator's documents; seen by nobody.
const NAME: &str = "schema:/";
/// Most characters of what does not fit that anybody is told.
const WORDS: usize = 1_500;

/// A JSON Schema that was read and understood.
pub struct Schema {
    value: Value,
    known: Schemas,
    index: SchemaIndex,
}

/// What a server does about a schema that goes along with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Its answers fit, also while tools are offered.
    BesideTools,
    /// Its answers fit where no tools are offered.
    Alone,
    /// Nothing, or nobody knows.
    Nothing,
}

/// What a server is asked to hold a reply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shaped {
    Freely,
    /// The turn's schema, for its last message.
    Message,
    /// The harness's, for a call.
    Call,
}

/// The schema of a turn, and how far its message has come.
pub(super) struct Form {
    schema: Schema,
    /// A message did not fit, and the model was asked again.
    again: bool,
}

impl Schema {
    /// Reads a schema of draft 4 to 2020-12. The error is a sentence without a subject.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
        let wrong = |error: CompileError| {
            let why = match &error {
                CompileError::ValidationError { src, .. } => causes(&src.to_string()),
                CompileError::Bug(why) => why.to_string(),
                // Where the schema is among the validator's documents says nothing to anybody.
                error => format!("{error:#}").replace(NAME, ""),
            };
            format!("is no JSON Schema: {}", one_line(&why))
        };
        let mut compiler = Compiler::new();
        compiler.use_loader(Box::new(Nowhere));
        compiler.add_resource(NAME, value.clone()).map_err(wrong)?;
        let mut known = Schemas::new();
        let index = compiler.compile(NAME, &mut known).map_err(wrong)?;
        Ok(Self { value, known, index })
    }

    /// The JSON in `text`, without the fence a model may have put around it; or what does not fit.
    fn check<'a>(&self, text: &'a str) -> Result<&'a str, String> {
        let bare = unfenced(text);
        let value: Value = serde_json::from_str(bare).map_err(|error| format!("it is not JSON: {error}"))?;
        match self.known.validate(&value, self.index) {
            Ok(()) => Ok(bare),
            Err(error) => Err(shortened(&causes(&error.to_string()))),
        }
    }
}

/// Loads nothing.
struct Nowhere;

impl UrlLoader for Nowhere {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err(format!("{url} is outside the schema").into())
    }
}

impl Agent {
    /// Takes this turn's schema; tells the model of it where the server will not hold it to one.
    pub(super) async fn begin_form(&mut self, schema: Option<Schema>) {
        self.form = schema.map(|schema| Form { schema, again: false });
        if self.holds != Holds::BesideTools {
            self.say_form().await;
        }
    }

    async fn say_form(&mut self) {
        let Some(form) = &self.form else { return };
        let schema = form.schema.value.to_string();
        let text = self.harness.say(&Saying::Form { schema: &schema });
        self.note(NoteKind::Guard, text).await;
    }

    /// Puts the schema into a request where that helps; gives what schema is there.
    pub(super) fn shape(&self, prompt: &mut Prompt) -> Shaped {
        let before = if prompt.answer.is_some() { Shaped::Call } else { Shaped::Freely };
        let Some(form) = &self.form else { return before };
        match self.holds {
            // A call is wanted, and the message will come after it.
            Holds::BesideTools if before == Shaped::Call && !form.again => return before,
            Holds::BesideTools => {}
            // Such servers refuse the one beside the other; now only the words are wanted.
            Holds::Alone if form.again => prompt.tools.clear(),
            Holds::Nothing if form.again => {
                prompt.answer = None;
                return Shaped::Freely;
            }
            Holds::Alone | Holds::Nothing => return before,
        }
        prompt.answer = Some(form.schema.value.clone());
        Shaped::Message
    }

    /// The server took no schema of the calls: from here on it gets none.
    pub(super) async fn drop_call_schema(&mut self, message: &str) {
        if let Some(probed) = &mut self.model.probed {
            probed.schema = false;
        }
        self.warn(format!("{message}; calls are no longer held to a schema")).await;
    }

    /// The server took no schema, or not this one: from here on the model is only told.
    pub(super) async fn drop_schema(&mut self, message: &str) {
        let before = std::mem::replace(&mut self.holds, Holds::Nothing);
        self.warn(format!("{message}; the form of the answer is asked for in words")).await;
        if before == Holds::BesideTools {
            self.say_form().await;
        }
    }

    /// Whether the model was asked for nothing but its last message.
    pub(super) fn only_words(&self) -> bool {
        self.form.as_ref().is_some_and(|form| form.again)
    }

    /// Takes the fence off a reply whose text fits without it; gives whether it fits.
    pub(super) fn fits(&self, reply: &mut Reply) -> bool {
        let Some(form) = &self.form else { return false };
        let said = reply.said();
        let Ok(bare) = form.schema.check(&said) else { return false };
        if bare != said {
            reply.parts.retain(|part| !matches!(part, Part::Text { .. }));
            reply.parts.push(Part::Text { text: bare.to_owned() });
        }
        true
    }

    /// Looks at how the turn is about to end. None: the message does not fit, and the model was
    /// asked for another.
    pub(super) async fn held_to_form(&mut self, end: End) -> Option<End> {
        let (Some(form), End::Completed { message }) = (&mut self.form, &end) else { return Some(end) };
        let why = match form.schema.check(message.as_deref().unwrap_or_default()) {
            Ok(bare) => return Some(End::Completed { message: Some(bare.to_owned()) }),
            Err(why) => why,
        };
        if form.again {
            let model = &self.model.name;
            let message =
                format!("the last message of {model} does not fit the output schema, asked twice: {why}");
            return Some(self.fail(one_line(&message)).await);
        }
        form.again = true;
        let schema = form.schema.value.to_string();
        let text = self.harness.say(&Saying::Unfit { why: &why, schema: &schema });
        self.note(NoteKind::Correction, text).await;
        None
    }
}

/// The text inside a code fence that is all of `text`.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inside = || {
        let (language, rest) = text.strip_prefix("```")?.split_once('\n')?;
        let plain = language.trim().chars().all(char::is_alphanumeric);
        plain.then(|| rest.strip_suffix("```"))?
    };
    inside().map_or(text, str::trim)
}

/// What the validator says, without its first line, which names the schema.
fn causes(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    match lines.as_slice() {
        [first, rest @ ..] if first.starts_with("jsonschema") && !rest.is_empty() => rest.join("\n"),
        lines => lines.join("\n"),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shortened(text: &str) -> String {
    let cut: Cow<'_, str> = match text.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    };
    cut.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CITY: &str = r##"{"type": "object",
        "properties": {"city": {"type": "string"}, "size": {"$ref": "#/$defs/size"}},
        "required": ["city"], "additionalProperties": false,
        "$defs": {"size": {"type": "integer", "minimum": 1}}}"##;

    #[test]
    fn a_message_fits_or_is_told_what_does_not() {
        let schema = Schema::parse(CITY).unwrap();
        let table = [
            (r#"{"city":"Oslo"}"#, Ok(r#"{"city":"Oslo"}"#)),
            ("  {\"city\":\"Oslo\",\"size\":3}\n", Ok("{\"city\":\"Oslo\",\"size\":3}")),
            ("```json\n{\"city\":\"Oslo\"}\n```", Ok(r#"{"city":"Oslo"}"#)),
            ("```\n{\"city\":\"Oslo\"}\n```\n", Ok(r#"{"city":"Oslo"}"#)),
            ("", Err("not JSON")),
            ("Oslo", Err("not JSON")),
            ("Here: {\"city\":\"Oslo\"}", Err("not JSON")),
            (r#"{"city":"Oslo"} {"city":"Bergen"}"#, Err("not JSON")),
            (r#"{"city":7}"#, Err("at '/city'")),
            (r#"{"city":"Oslo","size":0}"#, Err("at '/size'")),
            (r#"{"town":"Oslo"}"#, Err("city")),
            ("[]", Err("object")),
        ];
        for (text, want) in table {
            match (schema.check(text), want) {
                (Ok(bare), Ok(want)) => assert_eq!(bare, want),
                (Err(why), Err(want)) => assert!(why.contains(want), "{text}: {why}"),
                (got, want) => panic!("{text}: {got:?}, wanted {want:?}"),
            }
        }
    }

    #[test]
    fn a_schema_that_is_none_is_refused_before_anything_is_sent() {
        let table = [
            ("", "not JSON"),
            ("{", "not JSON"),
            ("7", "no JSON Schema"),
            (r#"{"type": "strin"}"#, "no JSON Schema"),
            (r##"{"$ref": "#/nowhere"}"##, "no JSON Schema"),
            (r#"{"$ref": "file:///etc/passwd"}"#, "outside the schema"),
            (r#"{"$ref": "http://127.0.0.1:1/x"}"#, "outside the schema"),
            (r#"{"pattern": "(a{1000}){1000}"}"#, "regex exceeds size limit"),
        ];
        for (text, want) in table {
            let error = Schema::parse(text).err().unwrap_or_else(|| panic!("{text} was taken"));
            assert!(error.contains(want), "{text}: {error}");
            assert!(!error.contains('\n') && !error.contains(NAME), "{text}: {error}");
        }
        for text in ["{}", "true", CITY, r#"{"$schema": "http://json-schema.org/draft-07/schema#"}"#] {
            assert!(Schema::parse(text).is_ok(), "{text}");
        }
    }
}
