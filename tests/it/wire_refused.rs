//! A field that a server does not take for a model: the request does without it, and so do the next.

use serde_json::json;
use tack::model::{Model, TroubleKind};
use tack::wire::client::HttpClient;
use tack::wire::prompt::{Message, Prompt, Role};
use tack::wire::provider::Provider;
use tack::wire::{Client, Failure, Progress};
use tokio_util::sync::CancellationToken;

use super::kit::{on_every_wire, wire};
use super::server::*;
use super::wire_encode::model;

on_every_wire! {
    async: a_refused_field_is_left_out_from_then_on,
    a_refusal_of_what_was_not_sent_is_told,
    a_model_that_is_not_there_is_answered_with_those_that_are,
    what_a_stream_brought_before_it_broke_is_counted,
}

fn prompt() -> Prompt {
    let body = json!({"temperature": 0, "top_p": 0.9, "max_tokens": 50});
    Prompt {
        messages: vec![Message::text(Role::User, "hi")],
        body: body.as_object().cloned().unwrap(),
        stream: true,
        ..Prompt::default()
    }
}

async fn a_refused_field_is_left_out_from_then_on() {
    let ok = || sse([txt("ok"), end("stop"), done()]);
    let server = Server::start(vec![
        error(400, "Unsupported parameter: 'temperature' is not supported with this model."),
        error(400, "Unsupported parameter: 'top_p' is not supported with this model."),
        ok(),
        ok(),
    ]);
    let client = HttpClient::new(Provider::new("test", server.url())).unwrap();
    let model = Model { wire: wire(), ..model() };
    let mut again = 0;
    let mut hear = |progress| again += usize::from(matches!(progress, Progress::Again { .. }));
    let token = CancellationToken::new();
    let first = client.ask(&model, &prompt(), &mut hear, &token).await.unwrap();
    let next = client.ask(&model, &prompt(), &mut hear, &token).await.unwrap();
    assert_eq!((first.requests, next.requests, again), (3, 1, 2));
    let sent = |body: &serde_json::Value| ["temperature", "top_p"].map(|field| body.get(field).is_some());
    let requests = server.requests();
    let sent: Vec<[bool; 2]> = requests.iter().map(|request| sent(&request.body)).collect();
    assert_eq!(sent, [[true, true], [false, true], [false, false], [false, false]]);
}

async fn a_refusal_of_what_was_not_sent_is_told() {
    let server = Server::start(vec![error(400, "Unsupported parameter: 'seed' is not supported")]);
    let client = HttpClient::new(Provider::new("test", server.url())).unwrap();
    let model = Model { wire: wire(), ..model() };
    let answer = client.ask(&model, &prompt(), &mut |_| {}, &CancellationToken::new()).await;
    assert!(matches!(answer, Err(Failure::Failed { .. })));
    assert_eq!(server.requests().len(), 1);
}

async fn a_model_that_is_not_there_is_answered_with_those_that_are() {
    let list = json!({ "data": [{ "id": "llama" }, { "id": "qwen3-coder:30b" }] });
    let server = Server::with(vec![error(404, "model 'qwen3-coder' not found")], move |request| {
        request.path.starts_with("/v1/models").then(|| json_body(200, &list))
    });
    let client = HttpClient::new(Provider::new("test", server.url())).unwrap();
    let model = Model { wire: wire(), name: "qwen3-coder".into(), ..model() };
    let answer = client.ask(&model, &prompt(), &mut |_| {}, &CancellationToken::new()).await;
    let failure = answer.unwrap_err();
    assert!(failure.to_string().ends_with("; it has qwen3-coder:30b, llama"), "{failure}");
    let has = vec!["qwen3-coder:30b".to_owned(), "llama".to_owned()];
    assert_eq!(failure.trouble().unwrap().kind, TroubleKind::NoModel { has });
}

async fn what_a_stream_brought_before_it_broke_is_counted() {
    let text = "word ".repeat(800);
    let server = Server::start(vec![sse([txt(&text), Frame::Cut])]);
    let provider = Provider { stream_retries: 0, ..Provider::new("test", server.url()) };
    let model = Model { wire: wire(), ..model() };
    let client = HttpClient::new(provider).unwrap();
    let failure = client.ask(&model, &prompt(), &mut |_| {}, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(failure.trouble().unwrap().kind, TroubleKind::Lost { tokens: 1_000 });
}
