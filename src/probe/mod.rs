//! The probe: two tiny requests that show what becomes of a model's tool calls at its server, and
//! whether the server holds an answer to a schema.
//!
//! Knows nothing of when it may be asked or who is told. Whatever comes back, also nothing or a reply
//! without an end, is an outcome. [`memory`] keeps outcomes; texts are in `harnesses/common/probe.toml`.

pub mod memory;

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::harness::read_loose;
use crate::model::{Calls, Model, Probed, Stop, Usage};
use crate::wire::prompt::{Message, Prompt, Role, ToolSpec};
use crate::wire::{Answer, AnswerPart, Client, Failure, Progress};

/// Most tokens of the two replies. A call in JSON takes about thirty.
const CALL_TOKENS: u32 = 64;
const SCHEMA_TOKENS: u32 = 16;
/// Bytes of a reply at which it is cut: its server does not heed the limit.
const MOST: usize = 2_000;
/// How long a reply may take that has begun; one token a second is enough.
const REST: Duration = Duration::from_secs(120);

const TEXTS: &str = include_str!("../../harnesses/common/probe.toml");

/// Hears what is worth a line while a server is waited for.
pub type Say<'a> = &'a mut (dyn FnMut(&str) + Send);

#[derive(Deserialize)]
struct Texts {
    /// Of both requests. Templates put a longer one of their own where there is none.
    system: String,
    call: CallTexts,
    schema: SchemaTexts,
}

#[derive(Deserialize)]
struct CallTexts {
    task: String,
    tool: Tool,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    schema: Value,
}

#[derive(Deserialize)]
struct SchemaTexts {
    task: String,
    schema: Value,
}

/// What came of the one tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    pub came: Came,
    /// The field that reasoning came in.
    pub thinking: Option<String>,
    pub usage: Usage,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Came {
    /// A call, as a call.
    Call,
    /// A call, though not one that can be read.
    Garbled,
    /// A call in the text, in this form.
    Text(&'static str),
    Words,
    /// The server takes no tools; its words.
    Refused(String),
    /// The model was still thinking when the reply was cut.
    Thoughts,
}

/// What both requests showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// None: the model thought for too long to tell.
    pub probed: Option<Probed>,
    pub usage: Usage,
}

/// Makes both requests. An error means that the server could not be asked at all.
pub async fn ask(client: &dyn Client, model: &Model, say: Say<'_>) -> Result<Outcome, Failure> {
    let tried = call(client, model, say).await?;
    let mut usage = tried.usage;
    let (calls, form) = match &tried.came {
        Came::Call | Came::Garbled => (Calls::Wire, None),
        Came::Text(form) => (Calls::Text, Some((*form).to_owned())),
        Came::Words | Came::Refused(_) => (Calls::None, None),
        Came::Thoughts => return Ok(Outcome { probed: None, usage }),
    };
    let (schema, thinking) = match schema(client, model, say).await {
        Ok(answer) => {
            usage += answer.usage;
            (fits(&answer), field(&answer))
        }
        // Whoever answered the first one and not this one has no schema to offer.
        Err(_) => (false, None),
    };
    let probed = Probed { calls, form, schema, thinking: tried.thinking.or(thinking) };
    Ok(Outcome { probed: Some(probed), usage })
}

/// Asks for one call of one tool.
pub async fn call(client: &dyn Client, model: &Model, say: Say<'_>) -> Result<Tried, Failure> {
    let CallTexts { task, tool } = texts().call;
    let name = tool.name.clone();
    let spec =
        ToolSpec { name: tool.name, about: String::new(), schema: tool.schema, strict: None, free: None };
    let prompt = Prompt { tools: vec![spec], ..prompt(&task, CALL_TOKENS) };
    match hear_out(client, model, &prompt, say).await {
        Ok(answer) => {
            Ok(Tried { came: judge(&answer, &name), thinking: field(&answer), usage: answer.usage })
        }
        Err(Failure::NoTools(words)) => {
            Ok(Tried { came: Came::Refused(words), thinking: None, usage: Usage::default() })
        }
        Err(failure) => Err(failure),
    }
}

async fn schema(client: &dyn Client, model: &Model, say: Say<'_>) -> Result<Answer, Failure> {
    let SchemaTexts { task, schema } = texts().schema;
    let prompt = Prompt { answer: Some(schema), ..prompt(&task, SCHEMA_TOKENS) };
    hear_out(client, model, &prompt, say).await
}

fn texts() -> Texts {
    toml::from_str(TEXTS).expect("the embedded texts are tested to parse")
}

fn prompt(task: &str, most: u32) -> Prompt {
    let body = [("max_tokens", Value::from(most)), ("temperature", Value::from(0))];
    Prompt {
        system: vec![texts().system],
        messages: vec![Message::text(Role::User, task)],
        body: body.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>(),
        stream: true,
        ..Prompt::default()
    }
}

/// The answer, or what there is of one that finds no end. Without reasoning where that can be had: it
/// would take all of the few tokens.
async fn hear_out(
    client: &dyn Client,
    model: &Model,
    prompt: &Prompt,
    say: Say<'_>,
) -> Result<Answer, Failure> {
    let model = Model { effort: Some("none".to_owned()), ..model.clone() };
    let (cancel, begun) = (CancellationToken::new(), Notify::new());
    let (mut heard, mut thought) = (String::new(), 0);
    let mut hear = |progress: Progress| {
        match progress {
            Progress::Text(text) => heard.push_str(&text),
            Progress::Thinking(text) => thought += text.len(),
            Progress::Call(_) => {}
            Progress::Again { .. } | Progress::Warning(_) => return,
            Progress::Waiting(what) => return say(&what),
        }
        begun.notify_one();
        if heard.len() + thought > MOST {
            cancel.cancel();
        }
    };
    let answer = tokio::select! {
        answer = client.ask(&model, prompt, &mut hear, &cancel) => answer,
        () = overtime(&begun) => Err(Failure::Cancelled),
    };
    match answer {
        Err(Failure::Cancelled) => {
            let parts = match heard.is_empty() && thought > 0 {
                true => AnswerPart::Thinking { text: String::new(), field: None, seal: None },
                false => AnswerPart::Text(heard),
            };
            Ok(Answer {
                parts: vec![parts],
                usage: Usage::default(),
                stop: Stop::Length,
                requests: 1,
                run_on: None,
            })
        }
        Ok(_) | Err(_) => answer,
    }
}

async fn overtime(begun: &Notify) {
    begun.notified().await;
    tokio::time::sleep(REST).await;
}

fn judge(answer: &Answer, tool: &str) -> Came {
    let call = answer.parts.iter().find_map(|part| match part {
        AnswerPart::Call { name, args, .. } => Some((name, args)),
        AnswerPart::Text(_) | AnswerPart::Thinking { .. } => None,
    });
    if let Some((name, args)) = call {
        let whole = name == tool && serde_json::from_str::<Map<String, Value>>(args).is_ok();
        return if whole { Came::Call } else { Came::Garbled };
    }
    let text = text(answer);
    let thinks = answer.parts.iter().any(|part| matches!(part, AnswerPart::Thinking { .. }));
    match read_loose(&text, tool) {
        Some(form) => Came::Text(form),
        None if text.trim().is_empty() && thinks && answer.stop == Stop::Length => Came::Thoughts,
        None => Came::Words,
    }
}

fn fits(answer: &Answer) -> bool {
    let value: Option<Value> = serde_json::from_str(text(answer).trim()).ok();
    value.is_some_and(|value| value["ok"] == true)
}

fn text(answer: &Answer) -> String {
    let texts = answer.parts.iter().filter_map(|part| match part {
        AnswerPart::Text(text) => Some(text.as_str()),
        AnswerPart::Thinking { .. } | AnswerPart::Call { .. } => None,
    });
    texts.collect()
}

fn field(answer: &Answer) -> Option<String> {
    answer.parts.iter().find_map(|part| match part {
        AnswerPart::Thinking { field, .. } => field.clone(),
        AnswerPart::Text(_) | AnswerPart::Call { .. } => None,
    })
}

/// For people: what is known of a model's calls.
pub fn words(probed: Option<&Probed>) -> String {
    let Some(probed) = probed else { return "how its calls come back is not known".to_owned() };
    match (probed.calls, &probed.form) {
        (Calls::Wire, _) => "its calls come back as calls".to_owned(),
        (Calls::Text, Some(form)) => format!("its calls come back as text that tack reads ({form})"),
        (Calls::Text, None) => "its calls come back as text that tack reads".to_owned(),
        (Calls::None, _) => "no call came back that tack can read".to_owned(),
    }
}

#[cfg(test)]
mod tests;
