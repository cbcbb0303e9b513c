//! Requests as the chat wire writes them.

use serde_json::{Map, Value, json};
use tack::model::{Class, Model, WireKind};
use tack::wire::of;
use tack::wire::prompt::{Empty, Form, Message, Piece, Prompt, Role, Style, ToolSpec};
use tack::wire::provider::Quirks;

pub fn model() -> Model {
    Model {
        provider: "acme".into(),
        name: "acme-coder".into(),
        wire: WireKind::Chat,
        class: Class::F,
        window: None,
        max_output: None,
        vision: None,
        probed: None,
        thinking: tack::model::Thinking::default(),
        effort: None,
        local: false,
        prices: None,
    }
}

fn encode(prompt: &Prompt) -> Value {
    of(WireKind::Chat).encode(prompt, &model(), &Quirks::default())
}

fn message(role: Role, pieces: Vec<Piece>) -> Message {
    Message { role, pieces }
}

fn text(text: &str) -> Piece {
    Piece::Text(text.into())
}

fn thinking(field: Option<&str>) -> Piece {
    Piece::Thinking { text: "hm".into(), field: field.map(str::to_owned), seal: None }
}

fn call(id: &str, args: &str) -> Piece {
    Piece::Call { id: id.into(), name: "read".into(), args: args.into() }
}

fn image() -> Piece {
    Piece::Image { mime: "image/png".into(), base64: "iVBORw0KGgo=".into() }
}

fn result(id: &str, pieces: Vec<Piece>) -> Message {
    let piece = Piece::Result { id: id.into(), name: "read".into(), pieces, failed: false };
    message(Role::Tool, vec![piece])
}

/// A session with all that a prompt can hold.
fn session() -> Prompt {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let tool = |name: &str, strict| ToolSpec {
        name: name.into(),
        about: "Reads a file".into(),
        schema: schema.clone(),
        strict,
        free: None,
    };
    Prompt {
        system: vec!["You are careful.".into(), "The folder is /w.".into()],
        messages: vec![
            message(Role::User, vec![text("look at this"), image()]),
            message(
                Role::Assistant,
                vec![
                    thinking(Some("reasoning_content")),
                    text("I "),
                    call("a", "{\"path\":\"a\"}"),
                    text("read."),
                ],
            ),
            result("a", vec![text("one"), text("two")]),
            message(Role::Assistant, vec![call("b", "{\"path\":\"b.png\"}"), call("c", "{\"pa")]),
            result("b", vec![text("a picture"), image()]),
            result("c", vec![text("cut off")]),
            message(Role::Developer, vec![text("a note")]),
            message(Role::Assistant, vec![thinking(None), text("done")]),
            message(Role::User, vec![text("first"), text("second")]),
        ],
        tools: vec![tool("read", None), tool("look", Some(true))],
        body: Map::new(),
        stream: true,
        answer: None,
        session: None,
        effort: None,
        watch: Default::default(),
        style: Style::default(),
    }
}

#[test]
fn a_whole_session() {
    insta::assert_json_snapshot!(encode(&session()));
}

#[test]
fn images_of_results_follow_the_whole_group_of_results() {
    let messages = vec![
        message(Role::Assistant, vec![call("a", "{}"), call("b", "{}")]),
        result("a", vec![image()]),
        result("b", vec![]),
    ];
    let body = encode(&Prompt { messages, ..Prompt::default() });
    let shown: Vec<&Value> = body["messages"].as_array().unwrap().iter().map(|m| &m["content"]).collect();
    assert_eq!(shown[..3], [&json!(""), &json!("the image follows"), &json!("")]);
    assert_eq!(shown[3][1]["type"], "image_url");
    super::server::valid_history(&body).unwrap();
}

#[test]
fn parts_everywhere_and_a_developer() {
    let mut prompt = session();
    prompt.tools.clear();
    prompt.style = Style {
        system_role: Role::Developer,
        user: Form::Parts,
        result: Form::Parts,
        empty: Empty::Null,
        empty_with_thinking: Empty::Absent,
    };
    insta::assert_json_snapshot!(encode(&prompt));
}

#[test]
fn content_beside_calls_is_spelt_as_the_style_says() {
    let content = |empty, empty_with_thinking, pieces: Vec<Piece>| {
        let style = Style { empty, empty_with_thinking, ..Style::default() };
        let prompt = Prompt { messages: vec![message(Role::Assistant, pieces)], style, ..Prompt::default() };
        encode(&prompt)["messages"][0].get("content").cloned()
    };
    let plain = || vec![call("a", "{}")];
    let thought = || vec![thinking(Some("reasoning")), call("a", "{}")];
    assert_eq!(content(Empty::String, Empty::Null, plain()), Some(json!("")));
    assert_eq!(content(Empty::Null, Empty::String, plain()), Some(Value::Null));
    assert_eq!(content(Empty::Absent, Empty::String, plain()), None);
    assert_eq!(content(Empty::Absent, Empty::Null, thought()), Some(Value::Null));
    assert_eq!(content(Empty::Null, Empty::Absent, thought()), None);
    // Without calls the field is not optional.
    assert_eq!(content(Empty::Absent, Empty::Absent, vec![]), Some(json!("")));
}

#[test]
fn arguments_are_sent_as_written_unless_they_are_no_json() {
    let args = |args: &str| {
        let messages = vec![message(Role::Assistant, vec![call("a", args)])];
        let body = encode(&Prompt { messages, ..Prompt::default() });
        body["messages"][0]["tool_calls"][0]["function"]["arguments"].as_str().unwrap().to_owned()
    };
    assert_eq!(args("{ \"b\" : 1,\"a\":2}"), "{ \"b\" : 1,\"a\":2}");
    assert_eq!(args(""), "{}");
    assert_eq!(args("{\"pa"), r#"{"invalid":"{\"pa"}"#);
}

#[test]
fn the_body_of_the_manifest_lies_over_and_quirks_rename() {
    let body = |prompt: &Prompt, quirks: &Quirks, effort: Option<&str>| {
        let model = Model { effort: effort.map(str::to_owned), ..model() };
        let mut body = of(WireKind::Chat).encode(prompt, &model, quirks);
        body.as_object_mut().unwrap().shift_remove("messages");
        body.to_string()
    };
    let mut prompt = Prompt { stream: true, ..Prompt::default() };
    let plain = Quirks::default();
    assert_eq!(
        body(&prompt, &plain, Some("high")),
        r#"{"model":"acme-coder","reasoning_effort":"high","stream":true,"stream_options":{"include_usage":true}}"#
    );
    let quirks = Quirks { no_stream_options: true, ..Quirks::default() };
    assert_eq!(body(&prompt, &quirks, None), r#"{"model":"acme-coder","stream":true}"#);
    prompt.body = json!({"reasoning_effort": "low", "max_tokens": 9, "stream": false, "temperature": 0})
        .as_object()
        .unwrap()
        .clone();
    let quirks = Quirks { max_tokens_field: Some("max_completion_tokens".into()), ..Quirks::default() };
    assert_eq!(
        body(&prompt, &quirks, Some("high")),
        r#"{"model":"acme-coder","reasoning_effort":"low","stream":false,"max_completion_tokens":9,"temperature":0}"#
    );
    assert!(body(&prompt, &plain, None).contains("\"max_tokens\":9"));
}

#[test]
fn without_a_developer_role_it_is_the_system() {
    let quirks = Quirks { no_developer_role: true, ..Quirks::default() };
    let mut prompt = session();
    prompt.style.system_role = Role::Developer;
    let body = of(WireKind::Chat).encode(&prompt, &model(), &quirks);
    let roles: Vec<&str> =
        body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert!(!roles.contains(&"developer"));
    assert_eq!(roles[0], "system");
}

#[test]
fn a_session_is_a_valid_history() {
    super::server::valid_history(&encode(&session())).unwrap();
}
