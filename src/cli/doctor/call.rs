//! One real request with one tool: does the model's call come back as a call?

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::super::runtime;
use super::{Check, CliError};
use crate::model::Model;
use crate::wire::client::HttpClient;
use crate::wire::prompt::{Message, Prompt, Role, ToolSpec};
use crate::wire::provider::Provider;
use crate::wire::{Answer, AnswerPart, Client, Failure};

#[derive(Deserialize)]
struct Texts {
    task: String,
    tool: Tool,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    about: String,
    schema: Value,
}

pub(super) fn try_out(model: &Model, provider: Provider) -> Check {
    let texts: Texts = toml::from_str(include_str!("../../../harnesses/common/doctor.toml"))
        .expect("the embedded texts are tested to parse");
    match ask(model, provider, &texts) {
        Ok(answer) => judge(model, &texts.tool.name, &answer),
        Err(error) => Check::failed("call", error),
    }
}

fn ask(model: &Model, provider: Provider, texts: &Texts) -> Result<Answer, CliError> {
    let failed = |failure: Failure| CliError::failed(failure.to_string());
    let tool = ToolSpec {
        name: texts.tool.name.clone(),
        about: texts.tool.about.clone(),
        schema: texts.tool.schema.clone(),
        strict: None,
        free: None,
    };
    let prompt = Prompt {
        messages: vec![Message::text(Role::User, texts.task.trim())],
        tools: vec![tool],
        body: Map::new(),
        stream: true,
        ..Prompt::default()
    };
    let client = HttpClient::new(provider).map_err(failed)?;
    let cancel = CancellationToken::new();
    runtime()?.block_on(client.ask(model, &prompt, &mut |_| {}, &cancel)).map_err(failed)
}

fn judge(model: &Model, tool: &str, answer: &Answer) -> Check {
    let usage = &answer.usage;
    let cost = model.prices.map(|prices| format!(", ${:.4}", prices.cost(usage))).unwrap_or_default();
    let spent = format!("{} tokens in, {} out{cost}", usage.input, usage.output);
    let is_call = |part: &AnswerPart| match part {
        AnswerPart::Call { name, args, .. } => {
            name == tool && serde_json::from_str::<Map<String, Value>>(args).is_ok()
        }
        AnswerPart::Text(_) | AnswerPart::Thinking { .. } => false,
    };
    if answer.parts.iter().any(is_call) {
        return Check::ok("call", format!("a tool call came back ({spent})"));
    }
    let written = |part: &AnswerPart| match part {
        AnswerPart::Text(text) => text.contains(tool),
        AnswerPart::Call { .. } | AnswerPart::Thinking { .. } => false,
    };
    if answer.parts.iter().any(written) {
        return Check::note("call", format!("the call came back as text ({spent})"))
            .hint("start the server with a template or parser for this model's calls; until then tack reads them from its text");
    }
    let broken = answer.parts.iter().any(|part| matches!(part, AnswerPart::Call { .. }));
    let what = if broken {
        "a call came back that cannot be read"
    } else {
        "the model answered in words, without a call"
    };
    Check::note("call", format!("{what} ({spent})")).hint("another model may do better with tools")
}
