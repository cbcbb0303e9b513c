//! Requests as the Responses wire writes them.

use serde_json::{Map, Value, json};
use tack::model::{Model, Thinking, WireKind};
use tack::wire::of;
use tack::wire::prompt::{Form, Free, Grammar, Message, Piece, Prompt, Role, Style, ToolSpec};
use tack::wire::provider::Quirks;

fn encode_with(prompt: &Prompt, model: &Model, quirks: &Quirks) -> Value {
    of(WireKind::Responses).encode(prompt, model, quirks)
}

fn encode(prompt: &Prompt, quirks: &Quirks) -> Value {
    encode_with(prompt, &super::wire_encode::model(), quirks)
}

/// The items of a prompt that is these messages.
fn items(messages: Vec<Message>, quirks: &Quirks) -> Vec<Value> {
    let prompt = Prompt { messages, tools: vec![patch(None)], ..Prompt::default() };
    encode(&prompt, quirks)["input"].as_array().unwrap().clone()
}

fn message(role: Role, pieces: Vec<Piece>) -> Message {
    Message { role, pieces }
}

fn text(text: &str) -> Piece {
    Piece::Text(text.into())
}

fn thinking(seal: Value) -> Piece {
    Piece::Thinking { text: "hm".into(), field: Some("summary".into()), seal: Some(seal) }
}

fn sealed() -> Piece {
    thinking(
        json!({"id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAAA"}),
    )
}

fn call(id: &str, name: &str, args: &str) -> Piece {
    Piece::Call { id: id.into(), name: name.into(), args: args.into() }
}

fn image() -> Piece {
    Piece::Image { mime: "image/png".into(), base64: "iVBORw0KGgo=".into() }
}

fn result(id: &str, name: &str, pieces: Vec<Piece>) -> Message {
    let piece = Piece::Result { id: id.into(), name: name.into(), pieces, failed: false };
    message(Role::Tool, vec![piece])
}

fn read(strict: Option<bool>) -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    ToolSpec { name: "read".into(), about: "Reads a file".into(), schema, strict, free: None }
}

fn patch(grammar: Option<Grammar>) -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"diff": {"type": "string"}}, "required": ["diff"]});
    let free = Some(Free { field: "diff".into(), grammar });
    ToolSpec { name: "patch".into(), about: "Edits files".into(), schema, strict: None, free }
}

fn custom() -> Quirks {
    Quirks { custom_tools: true, ..Quirks::default() }
}

/// A session with all that a prompt can hold.
fn session() -> Prompt {
    let grammar = Grammar { syntax: "lark".into(), definition: "start: \"x\"".into() };
    Prompt {
        system: vec!["You are careful.".into(), "The folder is /w.".into()],
        messages: vec![
            message(Role::Developer, vec![text("a note")]),
            message(Role::User, vec![text("look at this"), image()]),
            message(
                Role::Assistant,
                vec![sealed(), text("I "), text("read."), call("a", "read", "{\"path\":\"a\"}")],
            ),
            result("a", "read", vec![text("one"), text("two")]),
            message(
                Role::Assistant,
                vec![
                    call("b", "read", "{\"path\":\"b.png\"}"),
                    call("c", "read", "{\"pa"),
                    call("d", "patch", "{\"diff\":\"x\"}"),
                    call("e", "gone", "{}"),
                ],
            ),
            result("b", "read", vec![text("a picture"), image()]),
            result("c", "read", vec![text("cut off")]),
            result("d", "patch", vec![]),
            result("e", "gone", vec![text("no such tool")]),
            message(Role::Assistant, vec![text("done"), sealed()]),
            message(Role::User, vec![text("first"), text("second")]),
        ],
        tools: vec![read(None), patch(Some(grammar))],
        body: Map::new(),
        stream: true,
        answer: Some(json!({"type": "object", "properties": {}, "additionalProperties": false})),
        session: Some("session-1".into()),
        effort: None,
        watch: Default::default(),
        style: Style::default(),
    }
}

/// Each call is answered once, under its id and in its kind, before anyone else speaks.
fn valid_history(body: &Value) {
    let mut open: Vec<(String, String)> = Vec::new();
    for item in body["input"].as_array().unwrap() {
        let id = || item["call_id"].as_str().unwrap().to_owned();
        match item["type"].as_str().unwrap() {
            kind @ ("function_call" | "custom_tool_call") => open.push((format!("{kind}_output"), id())),
            kind @ ("function_call_output" | "custom_tool_call_output") => {
                let at = open.iter().position(|call| *call == (kind.to_owned(), id())).unwrap();
                open.remove(at);
            }
            _ if item["role"] == "assistant" || item["type"] == "reasoning" => {}
            _ => assert_eq!(open, [], "before {item}"),
        }
        assert_eq!((item.get("id"), item.get("status")), (None, None));
    }
    assert_eq!(open, []);
}

#[test]
fn a_whole_session_with_all_that_the_service_has() {
    let quirks = Quirks { cache_key: true, ..custom() };
    let model = Model { effort: Some("high".into()), ..super::wire_encode::model() };
    let body = encode_with(&session(), &model, &quirks);
    valid_history(&body);
    insta::assert_json_snapshot!(body);
}

#[test]
fn a_whole_session_for_a_plain_server() {
    let quirks = Quirks {
        no_sealed_reasoning: true,
        no_result_images: true,
        no_developer_role: true,
        no_strict: true,
        ..Quirks::default()
    };
    let mut prompt = session();
    prompt.answer = None;
    prompt.style =
        Style { user: Form::Parts, result: Form::Parts, system_role: Role::Developer, ..Style::default() };
    let body = encode(&prompt, &quirks);
    valid_history(&body);
    insta::assert_json_snapshot!(body);
}

#[test]
fn the_system_prompt_is_the_instructions_or_the_first_message() {
    let mut prompt = Prompt { system: vec!["a".into(), "b".into()], ..Prompt::default() };
    let body = encode(&prompt, &Quirks::default());
    assert_eq!((&body["instructions"], &body["input"]), (&json!("a\n\nb"), &json!([])));
    prompt.style.system_role = Role::Developer;
    let body = encode(&prompt, &Quirks::default());
    assert_eq!(body.get("instructions"), None);
    assert_eq!(body["input"], json!([{"type": "message", "role": "developer", "content": "a\n\nb"}]));
    let body = encode(&prompt, &Quirks { no_developer_role: true, ..Quirks::default() });
    assert_eq!(body["input"][0]["role"], "system");
}

#[test]
fn tools_say_that_they_are_not_strict() {
    let strict = |strict, quirks: &Quirks| {
        let body = encode(&Prompt { tools: vec![read(strict)], ..Prompt::default() }, quirks);
        body["tools"][0].get("strict").cloned()
    };
    assert_eq!(strict(None, &Quirks::default()), Some(json!(false)));
    assert_eq!(strict(Some(true), &Quirks::default()), Some(json!(true)));
    assert_eq!(strict(Some(true), &Quirks { no_strict: true, ..Quirks::default() }), None);
}

#[test]
fn a_free_tool_is_offered_and_replayed_as_the_server_has_it() {
    let prompt = Prompt { tools: vec![patch(None)], ..Prompt::default() };
    let tool = |quirks: &Quirks| encode(&prompt, quirks)["tools"][0].clone();
    assert_eq!(tool(&custom())["format"], json!({"type": "text"}));
    assert_eq!(tool(&Quirks::default())["parameters"]["required"], json!(["diff"]));
    let turn = |args: &str| {
        vec![message(Role::Assistant, vec![call("a", "patch", args)]), result("a", "patch", vec![text("ok")])]
    };
    for (args, input) in [
        ("{\"diff\":\"*** x\"}", "*** x"),
        ("{\"input\":\"*** x\"}", "*** x"), // as the decoder has it
        ("*** x", "*** x"),
        ("{\"diff\":1}", "{\"diff\":1}"),
        ("", ""),
    ] {
        let items = items(turn(args), &custom());
        assert_eq!(
            items[0],
            json!({"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": input})
        );
        assert_eq!(items[1]["type"], "custom_tool_call_output", "{args}");
    }
    let items = items(turn("{\"diff\":\"x\"}"), &Quirks::default());
    assert_eq!(
        (&items[0]["type"], &items[0]["arguments"]),
        (&json!("function_call"), &json!("{\"diff\":\"x\"}"))
    );
    assert_eq!(items[1]["type"], "function_call_output");
}

#[test]
fn arguments_are_sent_as_written_unless_they_are_no_json() {
    for (args, sent) in
        [("{ \"b\" : 1}", "{ \"b\" : 1}"), ("", "{}"), (" ", "{}"), ("{\"pa", r#"{"invalid":"{\"pa"}"#)]
    {
        let items = items(vec![message(Role::Assistant, vec![call("a", "read", args)])], &Quirks::default());
        assert_eq!(items[0]["arguments"], sent, "{args}");
    }
}

#[test]
fn reasoning_goes_only_with_what_it_led_to() {
    let kinds = |pieces: Vec<Piece>| {
        let items = items(vec![message(Role::Assistant, pieces)], &Quirks::default());
        items.iter().map(|item| item["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(vec![sealed()]), [""; 0]);
    assert_eq!(kinds(vec![sealed(), text(" \n")]), [""; 0]);
    assert_eq!(kinds(vec![sealed(), text("a"), sealed()]), ["reasoning", "message"]);
    assert_eq!(
        kinds(vec![sealed(), call("a", "read", "{}"), sealed(), call("b", "read", "{}")]),
        ["reasoning", "function_call", "reasoning", "function_call"]
    );
    // What no server can read again stays here.
    let summary = thinking(json!({"id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}));
    let bare = Piece::Thinking { text: "hm".into(), field: None, seal: None };
    assert_eq!(kinds(vec![summary, bare, text("a")]), ["message"]);
}

#[test]
fn images_of_results_follow_the_whole_group_where_they_must() {
    let messages = || {
        vec![
            message(Role::Assistant, vec![call("a", "read", "{}"), call("b", "read", "{}")]),
            result("a", "read", vec![image()]),
            result("b", "read", vec![]),
        ]
    };
    let with = items(messages(), &Quirks::default());
    assert_eq!(with[2]["output"][0]["type"], "input_image");
    assert_eq!(with.len(), 4);
    let without = items(messages(), &Quirks { no_result_images: true, ..Quirks::default() });
    let outputs: Vec<&Value> = without[2..4].iter().map(|item| &item["output"]).collect();
    assert_eq!(outputs, [&json!("the image follows"), &json!("")]);
    assert_eq!(without[4]["content"][1]["image_url"], "data:image/png;base64,iVBORw0KGgo=");
}

#[test]
fn ids_of_other_services_are_made_to_fit() {
    let id = "toolu:1/".repeat(20);
    let messages = vec![message(Role::Assistant, vec![call(&id, "read", "{}")]), result(&id, "read", vec![])];
    let items = items(messages, &Quirks::default());
    let sent = items[0]["call_id"].as_str().unwrap();
    assert!(sent.len() <= 64 && sent.starts_with("call_"), "{sent}");
    assert_eq!(items[0]["call_id"], items[1]["call_id"]);
}

#[test]
fn effort_is_asked_for_as_the_model_takes_it() {
    let asked = |thinking, effort: &str| {
        let model = Model { effort: Some(effort.into()), thinking, ..super::wire_encode::model() };
        let mut body = encode_with(&Prompt::default(), &model, &Quirks::default());
        for key in ["model", "input", "store", "include", "stream"] {
            body.as_object_mut().unwrap().remove(key);
        }
        body.to_string()
    };
    let word = r#"{"reasoning":{"effort":"low","summary":"auto"}}"#;
    assert_eq!(asked(Thinking::Effort, "minimal"), word.replace("low", "minimal"));
    assert_eq!(asked(Thinking::Flag, "minimal"), r#"{"enable_thinking":false}"#);
    for (thinking, low, none) in [
        (Thinking::Effort, word, r#"{"reasoning":{"effort":"none"}}"#),
        (Thinking::Budget, word, r#"{"reasoning":{"effort":"none"}}"#),
        (Thinking::Adaptive, word, r#"{"reasoning":{"effort":"none"}}"#),
        (Thinking::Object, word, r#"{"reasoning":{"effort":"none"}}"#),
        (Thinking::None, "{}", "{}"),
        (Thinking::Toggle, r#"{"thinking":{"type":"enabled"}}"#, r#"{"thinking":{"type":"disabled"}}"#),
        (Thinking::Flag, r#"{"enable_thinking":true}"#, r#"{"enable_thinking":false}"#),
        (
            Thinking::Template,
            r#"{"chat_template_kwargs":{"enable_thinking":true}}"#,
            r#"{"chat_template_kwargs":{"enable_thinking":false}}"#,
        ),
    ] {
        assert_eq!(
            (asked(thinking, "low").as_str(), asked(thinking, "none").as_str()),
            (low, none),
            "{thinking:?}"
        );
    }
}

#[test]
fn the_body_of_the_manifest_lies_over() {
    let over = json!({"max_tokens": 9, "stream": false, "temperature": 0, "tool_choice": "required",
        "parallel_tool_calls": false, "text": {"verbosity": "low"}, "reasoning": {"summary": null}, "include": []});
    let mut prompt = session();
    prompt.body = over.as_object().unwrap().clone();
    let model = Model { effort: Some("high".into()), ..super::wire_encode::model() };
    let body = encode_with(&prompt, &model, &Quirks::default());
    assert_eq!(body["max_output_tokens"], 9);
    assert_eq!(body.get("max_tokens"), None);
    assert_eq!(
        (&body["stream"], &body["temperature"], &body["include"]),
        (&json!(false), &json!(0), &json!([]))
    );
    assert_eq!((&body["tool_choice"], &body["parallel_tool_calls"]), (&json!("required"), &json!(false)));
    // Of an object only what is named changes.
    assert_eq!(
        (&body["text"]["verbosity"], &body["text"]["format"]["name"]),
        (&json!("low"), &json!("answer"))
    );
    assert_eq!(body["reasoning"], json!({"effort": "high", "summary": null}));
    let bare = encode(&Prompt::default(), &Quirks::default());
    assert_eq!((bare.get("tool_choice"), bare.get("tools"), bare.get("text")), (None, None, None));
}
