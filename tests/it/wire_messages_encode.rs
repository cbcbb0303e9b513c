//! Requests as the Messages wire writes them, held against the rules of the API.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tack::model::{Model, Thinking, WireKind};
use tack::wire::of;
use tack::wire::prompt::{Form, Message, Piece, Prompt, Role, Style, ToolSpec};
use tack::wire::provider::Quirks;

fn model(thinking: Thinking, effort: Option<&str>) -> Model {
    let wire = WireKind::Messages;
    Model { wire, thinking, effort: effort.map(str::to_owned), ..super::wire_encode::model() }
}

fn encode(prompt: &Prompt, model: &Model, quirks: &Quirks) -> Value {
    let body = of(WireKind::Messages).encode(prompt, model, quirks);
    check(&body).unwrap_or_else(|fault| panic!("{fault}: {body:#}"));
    body
}

fn plain(prompt: &Prompt) -> Value {
    encode(prompt, &model(Thinking::Effort, None), &Quirks::default())
}

fn message(role: Role, pieces: Vec<Piece>) -> Message {
    Message { role, pieces }
}

fn text(text: &str) -> Piece {
    Piece::Text(text.into())
}

fn image() -> Piece {
    Piece::Image { mime: "image/png".into(), base64: "iVBORw0KGgo=".into() }
}

fn call(id: &str, args: &str) -> Piece {
    Piece::Call { id: id.into(), name: "read".into(), args: args.into() }
}

fn thinking(text: &str, seal: Value) -> Piece {
    let seal = (!seal.is_null()).then_some(seal);
    Piece::Thinking { text: text.into(), field: Some("thinking".into()), seal }
}

fn result(id: &str, pieces: Vec<Piece>, failed: bool) -> Message {
    let piece = Piece::Result { id: id.into(), name: "read".into(), pieces, failed };
    message(Role::Tool, vec![piece])
}

fn tool(name: &str) -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    ToolSpec { name: name.into(), about: "Reads a file".into(), schema, strict: Some(true), free: None }
}

fn of_messages(messages: Vec<Message>) -> Prompt {
    Prompt { messages, tools: vec![tool("read")], stream: true, ..Prompt::default() }
}

/// A session with all that a prompt can hold.
fn session() -> Prompt {
    let messages = vec![
        message(Role::User, vec![text("look at this"), image(), text(" \n")]),
        message(
            Role::Assistant,
            vec![
                thinking("hm", json!({"signature": "EqQB"})),
                text("I read both."),
                call("a", "{\"path\":\"a\"}"),
                call("b.1", ""),
            ],
        ),
        result("a", vec![text("one"), text("two")], false),
        result("b.1", vec![text("no such file")], true),
        message(Role::Developer, vec![text("a note")]),
        message(
            Role::Assistant,
            vec![
                thinking("", json!({"redacted": "EmwK"})),
                call("c", "{\"path\":\"c.png\"}"),
                call("d", "{\"pa"),
            ],
        ),
        result("c", vec![text("a picture"), image()], false),
        result("d", vec![text("")], false),
        message(Role::Assistant, vec![thinking("loose", Value::Null), text("done \n")]),
        message(Role::User, vec![text("first"), text("second")]),
        message(Role::User, vec![text("third")]),
    ];
    Prompt {
        system: vec!["You are careful.".into(), String::new(), "The folder is /w.".into()],
        tools: vec![tool("read"), tool("look")],
        session: Some("s-1".into()),
        ..of_messages(messages)
    }
}

/// What the API is documented, or reported, to refuse.
fn check(body: &Value) -> Result<(), String> {
    let ensure = |fine: bool, fault: &str| if fine { Ok(()) } else { Err(fault.to_owned()) };
    let limit = body["max_tokens"].as_u64().unwrap_or(0);
    ensure(limit > 0, "no max_tokens")?;
    let empty = Vec::new();
    let messages = body["messages"].as_array().unwrap_or(&empty);
    ensure(messages.first().is_some_and(|m| m["role"] == "user"), "the first is not the user's")?;
    ensure(messages.last().is_some_and(|m| m["role"] == "user"), "the last is not the user's")?;
    ensure(messages.windows(2).all(|two| two[0]["role"] != two[1]["role"]), "no alternation")?;
    let is_word = |value: &Value, most: usize| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        value.as_str().is_some_and(|text| !text.is_empty() && text.len() <= most && text.chars().all(fits))
    };
    let mut ids = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for message in messages {
        let blocks = message["content"].as_array().ok_or("content is no list")?;
        ensure(!blocks.is_empty(), "a message without content")?;
        let kinds: Vec<&str> = blocks.iter().map(|block| block["type"].as_str().unwrap_or("")).collect();
        check_blocks(blocks)?;
        if message["role"] == "assistant" {
            let thought = |kind: &&str| matches!(*kind, "thinking" | "redacted_thinking");
            ensure(!kinds.iter().any(thought) || thought(&kinds[0]), "reasoning is not first")?;
            ensure(!thought(&kinds[kinds.len() - 1]), "reasoning is last")?;
            let calls = kinds.iter().position(|kind| *kind == "tool_use").unwrap_or(kinds.len());
            ensure(kinds[calls..].iter().all(|kind| *kind != "text"), "text after a call")?;
            for call in blocks.iter().filter(|block| block["type"] == "tool_use") {
                ensure(is_word(&call["id"], 64) && is_word(&call["name"], 128), "a bad id or name")?;
                ensure(call["input"].is_object(), "input is no object")?;
                let id = call["id"].as_str().unwrap_or("");
                ensure(ids.insert(id.to_owned()), "an id twice")?;
                open.insert(id);
            }
            continue;
        }
        let results: Vec<&Value> = blocks.iter().take_while(|block| block["type"] == "tool_result").collect();
        let count = kinds.iter().filter(|kind| **kind == "tool_result").count();
        ensure(results.len() == count, "results are not first")?;
        let answered: BTreeSet<&str> = results.iter().filter_map(|r| r["tool_use_id"].as_str()).collect();
        ensure(answered == open && count == open.len(), "calls and results do not match")?;
        open.clear();
    }
    let names: Vec<&Value> = body["tools"].as_array().unwrap_or(&empty).iter().map(|t| &t["name"]).collect();
    ensure(ids.is_empty() || !names.is_empty(), "calls without tools")?;
    ensure(names.iter().all(|name| is_word(name, 128)), "a tool's name")?;
    let system = body["system"].as_array().unwrap_or(&empty);
    check_blocks(system)?;
    ensure(body.to_string().matches("\"cache_control\"").count() <= 4, "too many marks")?;
    check_thinking(body, limit)
}

fn check_blocks(blocks: &[Value]) -> Result<(), String> {
    for block in blocks {
        let blank = |block: &Value| block["text"].as_str().unwrap_or_default().trim().is_empty();
        let fault = match block["type"].as_str().unwrap_or_default() {
            "text" if blank(block) => "an empty text",
            "thinking" | "redacted_thinking" if block.get("cache_control").is_some() => "a mark on reasoning",
            "tool_result" => {
                let content = &block["content"];
                let parts = content.as_array().map_or(&[][..], Vec::as_slice);
                check_blocks(parts)?;
                let empty = content.as_str().is_none_or(str::is_empty) && parts.is_empty();
                let only_text = parts.iter().all(|part| part["type"] == "text");
                match block["is_error"] == true && (empty || !only_text) {
                    true => "a failure without text, or with an image",
                    false => continue,
                }
            }
            "text" | "thinking" | "redacted_thinking" | "image" | "tool_use" => continue,
            _ => "an unknown block",
        };
        return Err(fault.to_owned());
    }
    Ok(())
}

fn check_thinking(body: &Value, limit: u64) -> Result<(), String> {
    let ensure = |fine: bool, fault: &str| if fine { Ok(()) } else { Err(fault.to_owned()) };
    let kind = body["thinking"]["type"].as_str();
    let on = matches!(kind, Some("enabled" | "adaptive"));
    if kind == Some("enabled") {
        let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
        ensure((1024..limit).contains(&budget), "a budget out of bounds")?;
    }
    ensure(!on || (body["temperature"].is_null() && body["top_k"].is_null()), "sampling beside thinking")?;
    ensure(!on || !matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")), "a forced call")?;
    let has = |message: &Value, kind: &str| {
        message["content"].as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == kind))
    };
    let messages = body["messages"].as_array().unwrap();
    let ongoing = messages.iter().rev().take_while(|m| m["role"] == "assistant" || has(m, "tool_result"));
    let turn: Vec<&Value> = ongoing.filter(|message| message["role"] == "assistant").collect();
    let thought = turn.iter().any(|m| has(m, "thinking") || has(m, "redacted_thinking"));
    ensure(
        kind != Some("enabled") || turn.is_empty() || thought,
        "thinking asked in a turn that began without",
    )?;
    ensure(kind != Some("disabled") || !thought, "reasoning sent while thinking is off")
}

#[test]
fn a_whole_session() {
    insta::assert_json_snapshot!(plain(&session()));
}

#[test]
fn a_whole_session_in_parts_without_marks_and_images_apart() {
    let mut prompt = session();
    prompt.style = Style { result: Form::Parts, ..Style::default() };
    let quirks = Quirks { no_result_images: true, cache_marks: Some(false), ..Quirks::default() };
    insta::assert_json_snapshot!(
        encode(&prompt, &model(Thinking::Adaptive, Some("high")), &quirks)["messages"]
    );
}

#[test]
fn how_much_to_think_is_said_as_the_model_wants_it() {
    let asked = |mode, effort| {
        let prompt = of_messages(vec![message(Role::User, vec![text("hi")])]);
        let mut body = encode(&prompt, &model(mode, effort), &Quirks::default());
        for key in ["model", "messages", "stream", "tools"] {
            body.as_object_mut().unwrap().shift_remove(key);
        }
        body.to_string()
    };
    let modes = [
        Thinking::None,
        Thinking::Effort,
        Thinking::Budget,
        Thinking::Adaptive,
        Thinking::Toggle,
        Thinking::Flag,
        Thinking::Object,
        Thinking::Template,
    ];
    let efforts = [None, Some("none"), Some("minimal"), Some("low"), Some("high"), Some("xhigh")];
    let mut rows = Vec::new();
    for (mode, effort) in modes.iter().flat_map(|mode| efforts.map(|effort| (*mode, effort))) {
        let name = serde_json::to_string(&mode).unwrap();
        rows.push(format!("{name} {}: {}", effort.unwrap_or("-"), asked(mode, effort)));
    }
    insta::assert_snapshot!(rows.join("\n"));
    // Some clients' other word for it.
    for mode in modes {
        assert_eq!(asked(mode, Some("off")), asked(mode, Some("none")));
    }
}

#[test]
fn the_limit_of_the_answer_is_always_there_and_above_the_budget() {
    let limit = |body: Value, model: Model| {
        let body = body.as_object().unwrap().clone();
        let prompt = Prompt { body, ..of_messages(vec![message(Role::User, vec![text("hi")])]) };
        let body = encode(&prompt, &model, &Quirks::default());
        (body["max_tokens"].as_u64().unwrap(), body["thinking"]["budget_tokens"].as_u64().unwrap_or(0))
    };
    let of = |max_output, window, effort: Option<&str>| Model {
        max_output,
        window,
        ..model(Thinking::Budget, effort)
    };
    assert_eq!(limit(json!({}), of(None, None, None)), (8192, 0));
    assert_eq!(limit(json!({}), of(None, Some(200_000), None)), (32_000, 0));
    assert_eq!(limit(json!({}), of(None, Some(16_384), None)), (4096, 0));
    assert_eq!(limit(json!({}), of(None, Some(2048), None)), (1024, 0));
    assert_eq!(limit(json!({}), of(Some(64_000), Some(200_000), None)), (50_000, 0));
    for key in ["max_tokens", "max_completion_tokens", "max_output_tokens"] {
        assert_eq!(limit(json!({key: 77}), of(Some(64_000), None, None)), (77, 0));
    }
    assert_eq!(limit(json!({}), of(Some(64_000), None, Some("high"))), (64_000, 16_384));
    assert_eq!(limit(json!({"max_tokens": 500}), of(None, None, Some("low"))), (2548, 2048));
    assert_eq!(limit(json!({}), of(Some(8192), None, Some("high"))), (8192, 6144));
    let claude = json!({"max_tokens": 32_000, "thinking": {"type": "enabled", "budget_tokens": 31_999}});
    assert_eq!(limit(claude, of(Some(64_000), None, None)), (32_000, 31_999));
}

/// G22 and its like: reasoning of a turn is sent altogether, or thinking is off and none is.
#[test]
fn reasoning_is_all_or_none() {
    let turn = |thought: Vec<Piece>| {
        let mut pieces = thought;
        pieces.push(call("a", "{}"));
        vec![
            message(Role::User, vec![text("q")]),
            message(Role::Assistant, vec![thinking("old", json!({"signature": "O"})), text("r")]),
            message(Role::User, vec![text("q")]),
            message(Role::Assistant, pieces),
            result("a", vec![text("x")], false),
        ]
    };
    let seen = |messages: Vec<Message>, mode, effort: Option<&str>| {
        let body = encode(&of_messages(messages), &model(mode, effort), &Quirks::default());
        let sent = body["messages"].to_string().matches("\"signature\"").count();
        (body["thinking"]["type"].as_str().unwrap_or("-").to_owned(), sent)
    };
    let signed = || vec![thinking("hm", json!({"signature": "S"}))];
    let budget = Thinking::Budget;
    assert_eq!(seen(turn(signed()), budget, Some("high")), ("enabled".into(), 2));
    assert_eq!(seen(turn(vec![]), budget, Some("high")), ("disabled".into(), 0));
    assert_eq!(seen(turn(signed()), budget, None), ("-".into(), 0));
    assert_eq!(seen(turn(signed()), budget, Some("none")), ("disabled".into(), 0));
    // A model that decides itself need not have begun with reasoning.
    assert_eq!(seen(turn(vec![]), Thinking::Adaptive, Some("high")), ("adaptive".into(), 1));
    // What thinks unasked gets back what it thought.
    assert_eq!(seen(turn(signed()), Thinking::Effort, None), ("-".into(), 2));
    // One reply of the turn has some: the others need none. A new question begins a new turn.
    let mut longer = turn(signed());
    longer.extend([message(Role::Assistant, vec![call("b", "{}")]), result("b", vec![text("y")], false)]);
    assert_eq!(seen(longer, budget, Some("low")), ("enabled".into(), 2));
    let mut asked = turn(vec![]);
    asked.extend([message(Role::Assistant, vec![text("done")]), message(Role::User, vec![text("next")])]);
    assert_eq!(seen(asked, budget, Some("low")), ("enabled".into(), 1));
}

#[test]
fn reasoning_goes_back_as_it_came() {
    let cases = [
        (
            thinking("hm ", json!({"signature": "S"})),
            json!([{"type": "thinking", "thinking": "hm ", "signature": "S"}]),
        ),
        (
            thinking("", json!({"signature": "S"})),
            json!([{"type": "thinking", "thinking": "", "signature": "S"}]),
        ),
        (
            thinking("hm", json!({"signature": ""})),
            json!([{"type": "thinking", "thinking": "hm", "signature": ""}]),
        ),
        (thinking("", json!({"redacted": "R"})), json!([{"type": "redacted_thinking", "data": "R"}])),
        (thinking("hm", Value::Null), json!([{"type": "thinking", "thinking": "hm"}])),
        (thinking("", Value::Null), json!([])),
    ];
    for (piece, expected) in cases {
        let body = plain(&of_messages(vec![
            message(Role::User, vec![text("q")]),
            message(Role::Assistant, vec![piece, text("r")]),
            message(Role::User, vec![text("q")]),
        ]));
        let content = body["messages"][1]["content"].as_array().unwrap();
        assert_eq!(json!(content[..content.len() - 1]), expected);
    }
}

#[test]
fn fields_of_the_manifest_get_this_apis_names() {
    let given = json!({
        "max_completion_tokens": 9, "reasoning_effort": "low", "stop": "END", "tool_choice": "required",
        "parallel_tool_calls": false, "top_k": 5, "metadata": {"user_id": "u"}, "temperature": 0.5,
        "output_config": {"x": 1}, "stream": false,
    });
    let answer = Some(json!({"type": "object"}));
    let body = given.as_object().unwrap().clone();
    let prompt = Prompt { body, answer, ..of_messages(vec![message(Role::User, vec![text("hi")])]) };
    let mut body = encode(&prompt, &model(Thinking::Effort, Some("high")), &Quirks::default());
    body.as_object_mut().unwrap().shift_remove("messages");
    insta::assert_json_snapshot!(body);
    let with = |choice: Value| {
        let body = Map::from_iter([("tool_choice".to_owned(), choice)]);
        plain(&Prompt { body, ..prompt.clone() })["tool_choice"].clone()
    };
    assert_eq!(with(json!("none")), json!({"type": "none"}));
    let named = json!({"type": "function", "function": {"name": "read"}});
    assert_eq!(with(named), json!({"type": "tool", "name": "read"}));
    assert_eq!(with(json!({"type": "any"})), json!({"type": "any"}));
}

#[test]
fn histories_that_the_api_would_refuse_are_made_fit() {
    let last = |messages: Vec<Message>| {
        let mut prompt = of_messages(messages);
        prompt.tools.clear();
        plain(&prompt)
    };
    assert_eq!(last(vec![])["messages"].as_array().unwrap().len(), 1);
    let body = last(vec![
        message(Role::Assistant, vec![text("I begin"), call("a:1", "[1]"), text("and end ")]),
        message(Role::User, vec![text("by the way")]),
        result("a:1", vec![image()], true),
        message(Role::Assistant, vec![thinking("only this", json!({"signature": "S"}))]),
        message(Role::System, vec![text("note")]),
        message(Role::Assistant, vec![text("said \n")]),
    ]);
    insta::assert_json_snapshot!(body);
}

/// The marks wander with the conversation; what is before them stays as it was.
#[test]
fn a_longer_history_begins_with_the_bytes_of_the_shorter() {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.shift_remove("cache_control");
                fields.values_mut().for_each(strip);
            }
            Value::Array(list) => list.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let whole = session();
    let ends = [1, 4, 8, 11];
    let bodies = ends.map(|end| plain(&Prompt { messages: whole.messages[..end].to_vec(), ..whole.clone() }));
    let marked = |body: &Value| -> Vec<usize> {
        let messages = body["messages"].as_array().unwrap();
        (0..messages.len()).filter(|at| messages[*at].to_string().contains("cache_control")).collect()
    };
    for (before, after) in bodies.iter().zip(&bodies[1..]) {
        let (last, marks) = (*marked(before).last().unwrap(), marked(after));
        assert_eq!(marks[marks.len() - 2], last, "the next request finds what this one cached");
        let (mut before, mut after) = (before.clone(), after.clone());
        strip(&mut before);
        strip(&mut after);
        let (before, after) = (before["messages"].to_string(), after["messages"].to_string());
        assert!(after.starts_with(before.trim_end_matches("]}]")), "{before}\n{after}");
    }
}

/// One step of a made-up history.
#[derive(Clone, Debug)]
enum Step {
    Said(Role, Vec<Option<String>>),
    Reply { thoughts: Vec<u8>, text: String, calls: Vec<(String, String, u8)>, note: bool },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let words = "[a-z \\n]{0,6}";
    let role = prop::sample::select(vec![Role::User, Role::Developer, Role::System]);
    let said =
        (role, prop::collection::vec(prop::option::of(words), 0..3)).prop_map(|(r, p)| Step::Said(r, p));
    let args =
        prop::sample::select(vec!["{\"a\":1}", "", "{\"a", "[1]", "null", " "]).prop_map(str::to_owned);
    let calls = prop::collection::vec((".{0,6}", args, any::<u8>()), 0..4);
    let reply = (prop::collection::vec(0u8..5, 0..3), words, calls, any::<bool>());
    let reply = reply.prop_map(|(thoughts, text, calls, note)| Step::Reply { thoughts, text, calls, note });
    prop::collection::vec(prop_oneof![said, reply], 0..10)
}

fn history(steps: Vec<Step>) -> Vec<Message> {
    let mut messages = Vec::new();
    for (at, step) in steps.into_iter().enumerate() {
        let Step::Reply { thoughts, text: words, calls, note } = step else {
            let Step::Said(role, pieces) = step else { unreachable!() };
            let piece = |words: Option<String>| words.map_or_else(image, Piece::Text);
            messages.push(message(role, pieces.into_iter().map(piece).collect()));
            continue;
        };
        let seals =
            [json!({"signature": "S"}), json!({"signature": ""}), json!({"redacted": "R"}), json!({"x": 1})];
        let thought = |kind: u8| thinking("hm", seals.get(usize::from(kind)).cloned().unwrap_or_default());
        let mut pieces: Vec<Piece> = thoughts.into_iter().map(thought).collect();
        pieces.insert(pieces.len() / 2, Piece::Text(words));
        let mut results = Vec::new();
        for (number, (name, args, kind)) in calls.into_iter().enumerate() {
            let id = format!("call.{at}/{number}");
            pieces.push(Piece::Call { id: id.clone(), name: name.clone(), args });
            let shown = match kind % 4 {
                0 => vec![],
                1 => vec![text("x"), image()],
                2 => vec![text("")],
                _ => vec![text("x"), text(" "), text("y")],
            };
            let piece = Piece::Result { id, name, pieces: shown, failed: kind > 99 };
            results.push(message(Role::Tool, vec![piece]));
        }
        messages.push(message(Role::Assistant, pieces));
        if note {
            // Somebody spoke before all calls were answered.
            results.insert(results.len() / 2, message(Role::User, vec![text("wait")]));
        }
        messages.extend(results);
    }
    messages
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn no_history_becomes_a_request_that_the_api_refuses(
        steps in steps(),
        mode in prop::sample::select(vec![Thinking::Effort, Thinking::Budget, Thinking::Adaptive, Thinking::Toggle]),
        effort in prop::sample::select(vec![None, Some("none"), Some("low"), Some("max")]),
        body in prop::sample::select(vec![
            json!({}),
            json!({"temperature": 0.2, "top_p": 0.5, "top_k": 3, "tool_choice": "required", "max_tokens": 1000}),
            json!({"thinking": {"type": "enabled", "budget_tokens": 2000}}),
        ]),
        tools in any::<bool>(),
        apart in any::<bool>(),
        parts in any::<bool>(),
    ) {
        let mut prompt = of_messages(history(steps));
        prompt.system = vec!["a".into(), " ".into(), "b".into()];
        prompt.body = body.as_object().unwrap().clone();
        if !tools {
            prompt.tools.clear();
        }
        if parts {
            prompt.style.result = Form::Parts;
        }
        let quirks = Quirks { no_result_images: apart, ..Quirks::default() };
        let body = of(WireKind::Messages).encode(&prompt, &model(mode, effort), &quirks);
        prop_assert_eq!(check(&body), Ok(()), "{:#}", body);
    }
}
