//! What each provider's quirks make of the same request, and what its replies give to send back.

use serde_json::{Value, json};
use tack::model::{Thinking, WireKind};
use tack::wire::fold::Fold;
use tack::wire::prompt::{Free, Message, Piece, Prompt, Role, ToolSpec};
use tack::wire::provider::{self, Quirks};
use tack::wire::{AnswerPart, of};

use super::wire_encode::model;

fn message(role: Role, pieces: Vec<Piece>) -> Message {
    Message { role, pieces }
}

fn call(id: &str) -> Piece {
    Piece::Call { id: id.into(), name: "sh".into(), args: "{}".into() }
}

fn result(id: &str) -> Message {
    let pieces = vec![Piece::Text("done".into())];
    message(Role::Tool, vec![Piece::Result { id: id.into(), name: "sh".into(), pieces, failed: false }])
}

fn session(reasoning: Vec<Piece>) -> Prompt {
    let calls = reasoning.into_iter().chain([call("call/1"), call("b")]).collect();
    let tool = ToolSpec {
        name: "sh".into(),
        about: "Runs".into(),
        schema: json!({"type": "object"}),
        strict: Some(true),
        free: Some(Free { field: "command".into(), grammar: None }),
    };
    Prompt {
        system: vec!["Be brief.".into()],
        messages: vec![
            Message::text(Role::Developer, "Early."),
            Message::text(Role::User, "hi"),
            message(Role::Assistant, calls),
            result("call/1"),
            result("b"),
            Message::text(Role::Developer, "Late."),
            Message::text(Role::User, "go on"),
        ],
        tools: vec![tool],
        body: [("max_tokens".to_owned(), json!(100))].into_iter().collect(),
        stream: true,
        session: Some("s-1".into()),
        ..Prompt::default()
    }
}

fn encode(prompt: &Prompt, name: &str, quirks: &Quirks) -> Value {
    let mut model = model();
    model.name = name.into();
    model.effort = Some("high".into());
    model.thinking = quirks.thinking;
    of(WireKind::Chat).encode(prompt, &model, quirks)
}

/// Every hosted and local provider once, over chat: the whole request, one line a field.
#[test]
fn every_provider_gets_its_own_form() {
    let mut shown = String::new();
    for id in provider::ids() {
        let Some(provider) = provider::builtin(id).unwrap().over(WireKind::Chat) else { continue };
        let body = encode(&session(Vec::new()), "some-model", &provider.quirks);
        shown += &format!("{id}\n");
        for (field, value) in body.as_object().unwrap() {
            match value.as_array() {
                Some(list) => list.iter().for_each(|one| shown += &format!("    {field} {one}\n")),
                None => shown += &format!("    {field} {value}\n"),
            }
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn thinking_is_asked_for_in_the_words_of_the_server() {
    let mut shown = String::new();
    for thinking in [
        Thinking::None,
        Thinking::Effort,
        Thinking::Budget,
        Thinking::Adaptive,
        Thinking::Toggle,
        Thinking::Flag,
        Thinking::Object,
        Thinking::Template,
    ] {
        for effort in [None, Some("none"), Some("low"), Some("high")] {
            let mut model = model();
            (model.thinking, model.effort) = (thinking, effort.map(str::to_owned));
            let body = of(WireKind::Chat).encode(&Prompt::default(), &model, &Quirks::default());
            let mut body = body.as_object().unwrap().clone();
            body.retain(|field, _| !matches!(field.as_str(), "model" | "messages" | "stream"));
            assert!(effort.is_some() || body.is_empty());
            shown += &format!("{thinking:?} {}: {}\n", effort.unwrap_or("-"), Value::from(body));
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn an_answer_to_a_schema_is_asked_for_strictly() {
    let prompt = Prompt { answer: Some(json!({"type": "object"})), ..session(Vec::new()) };
    let body = encode(&prompt, "m", &Quirks::default());
    let format = json!({"name": "answer", "strict": true, "schema": {"type": "object"}});
    assert_eq!(body["response_format"], json!({"type": "json_schema", "json_schema": format}));
}

#[test]
fn missing_reasoning_gets_its_placeholder_and_only_beside_calls() {
    let quirks = provider::builtin("deepseek").unwrap().quirks;
    let thought = |text: &str| Piece::Thinking {
        text: text.into(),
        field: Some("reasoning_content".into()),
        seal: None,
    };
    for (reasoning, expected) in
        [(vec![], json!(" ")), (vec![thought("")], json!(" ")), (vec![thought("hm")], json!("hm"))]
    {
        let body = encode(&session(reasoning), "deepseek-v4-pro", &quirks);
        let said = body["messages"].as_array().unwrap().iter().find(|m| m["role"] == "assistant").unwrap();
        assert_eq!(said["reasoning_content"], expected);
    }
    let plain = Prompt { messages: vec![Message::text(Role::Assistant, "x")], ..Prompt::default() };
    assert_eq!(encode(&plain, "m", &quirks)["messages"][0].get("reasoning_content"), None);
}

#[test]
fn what_is_to_be_cached_is_marked_for_claude_behind_a_router() {
    let quirks = provider::builtin("openrouter").unwrap().quirks;
    let marked = |name: &str| {
        let body = encode(&session(Vec::new()), name, &quirks);
        let messages = body["messages"].as_array().unwrap().clone();
        let has = |m: &Value| m["content"].to_string().contains("cache_control");
        messages.iter().enumerate().filter(|(_, m)| has(m)).map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(marked("anthropic/claude-opus-4.6"), [0, 7]);
    assert!(marked("openai/gpt-5").is_empty());
}

fn read(events: &[Value]) -> Vec<AnswerPart> {
    let mut decoder = of(WireKind::Chat).decoder();
    let mut fold = Fold::default();
    for event in events {
        for delta in decoder.event("", &event.to_string()) {
            fold.push(delta);
        }
    }
    fold.finish().unwrap().parts
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"delta": delta}]})
}

fn end() -> Value {
    json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
}

/// The reply as a prompt has it: reasoning before text before calls, under a name the harness chose.
fn replay(parts: &[AnswerPart]) -> Vec<Piece> {
    let thoughts = parts.iter().filter_map(|part| match part {
        AnswerPart::Thinking { text, seal, .. } => {
            let field = Some("reasoning_content".to_owned());
            Some(Piece::Thinking { text: text.clone(), field, seal: seal.clone() })
        }
        AnswerPart::Text(_) | AnswerPart::Call { .. } => None,
    });
    thoughts.collect()
}

#[test]
fn reasoning_details_go_back_as_they_came() {
    let text = |text: &str, signature: Value| json!({"type": "reasoning.text", "index": 0, "format": "f", "text": text, "signature": signature});
    let sealed = json!({"type": "reasoning.encrypted", "index": 1, "data": "abc", "id": "r"});
    let parts = read(&[
        delta(&json!({"reasoning": "I ", "reasoning_details": [text("I ", Value::Null)]})),
        delta(&json!({"reasoning": "see", "reasoning_details": [text("see", Value::Null)]})),
        delta(&json!({"content": "ok", "reasoning_details": [text("", json!("sig"))]})),
        delta(&json!({"reasoning_details": [sealed]})),
        delta(
            &json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "sh", "arguments": "{}"}}]}),
        ),
        end(),
    ]);
    let body = encode(&session(replay(&parts)), "m", &provider::builtin("openrouter").unwrap().quirks);
    let said = body["messages"].as_array().unwrap().iter().find(|m| m["role"] == "assistant").unwrap();
    assert_eq!(said["reasoning_details"], json!([text("I see", json!("sig")), sealed]));
    assert_eq!(said.get("reasoning_content"), None, "it would say the same twice");
    assert!(!said["content"].as_str().unwrap_or_default().contains("think"));
}

#[test]
fn signatures_of_calls_go_back_on_their_calls() {
    let quirks = provider::builtin("google").unwrap().quirks;
    let extra = |sign: &str| json!({"google": {"thought_signature": sign}});
    let call = |id: &str, extra: Option<Value>| {
        let mut call = json!({"id": id, "type": "function", "function": {"name": "sh", "arguments": "{}"}});
        if let Some(extra) = extra {
            call["extra_content"] = extra;
        }
        delta(&json!({"tool_calls": [call]}))
    };
    let alone = |extra: Value| delta(&json!({"tool_calls": [{"extra_content": extra}]}));
    let cases = [
        ("with the call", vec![call("a", Some(extra("s"))), call("b", None)], [Some("s"), None]),
        ("after the call", vec![call("a", None), alone(extra("s")), call("b", None)], [Some("s"), None]),
        ("on the second", vec![call("a", None), call("b", Some(extra("t")))], [None, Some("t")]),
        (
            "the first counts",
            vec![call("a", Some(extra("s"))), alone(extra("x")), call("b", None)],
            [Some("s"), None],
        ),
        (
            "from elsewhere",
            vec![call("a", None), call("b", None)],
            [Some("skip_thought_signature_validator"), None],
        ),
    ];
    for (name, mut events, expected) in cases {
        events.push(end());
        let parts = read(&events);
        assert_eq!(parts.iter().filter(|p| matches!(p, AnswerPart::Call { .. })).count(), 2, "{name}");
        let body = encode(&session(replay(&parts)), "gemini-3.5-flash", &quirks);
        let said = body["messages"].as_array().unwrap().iter().find(|m| m["role"] == "assistant").unwrap();
        for (at, sign) in expected.into_iter().enumerate() {
            let expected = sign.map(extra).unwrap_or_default();
            assert_eq!(said["tool_calls"][at]["extra_content"], expected, "{name}");
        }
    }
    // The generation before knows no signatures; and a seal without a call before it is nobody's.
    let body = encode(&session(Vec::new()), "gemini-2.5-pro", &quirks);
    assert!(!body.to_string().contains("extra_content"));
    assert_eq!(
        read(&[alone(extra("s")), delta(&json!({"content": "x"})), end()]),
        [AnswerPart::Text("x".into())]
    );
}
