//! What each provider is known to refuse, and to demand: a second turn of a session with reasoning and
//! calls, written for it on each of its wires, is held to the rules that the service documents or that
//! clients of it ran into.

use serde_json::{Map, Value, json};
use tack::model::{Thinking, WireKind};
use tack::wire::prompt::{Empty, Message, Piece, Prompt, Role, Style, ToolSpec};
use tack::wire::provider::{self, Provider};
use tack::wire::{AnswerPart, catalog, of};

use super::wire_encode::model;
use super::wire_providers::read;

/// All that harnesses set in a body, and a strict tool.
fn prompt(pieces: &[Piece]) -> Prompt {
    let results = pieces.iter().filter_map(|piece| match piece {
        Piece::Call { id, name, .. } => {
            let (id, name) = (id.clone(), name.clone());
            let pieces = vec![Piece::Text("done".into())];
            Some(Message {
                role: Role::Tool,
                pieces: vec![Piece::Result { id, name, pieces, failed: false }],
            })
        }
        _ => None,
    });
    let mut messages = vec![
        Message::text(Role::Developer, "Be brief."),
        Message::text(Role::User, "look"),
        Message { role: Role::Assistant, pieces: pieces.to_vec() },
    ];
    messages.extend(results);
    messages.push(Message::text(Role::User, "go on"));
    let body = json!({
        "store": false, "temperature": 0, "top_p": 0.95, "parallel_tool_calls": true, "max_tokens": 100,
    });
    Prompt {
        system: vec!["You are careful.".into()],
        messages,
        tools: vec![ToolSpec {
            name: "sh".into(),
            about: "Runs".into(),
            schema: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
            strict: Some(true),
            free: None,
        }],
        body: body.as_object().cloned().unwrap_or_default(),
        stream: true,
        session: Some("s-1".into()),
        style: Style { system_role: Role::Developer, empty: Empty::Null, ..Style::default() },
        ..Prompt::default()
    }
}

/// The pieces of a reply that the provider itself made.
fn replied(name: &str, wire: WireKind) -> Vec<Piece> {
    let parts = read(name, wire).unwrap().parts.into_iter();
    let mut pieces: Vec<Piece> = parts
        .map(|part| match part {
            AnswerPart::Text(text) => Piece::Text(text),
            AnswerPart::Thinking { text, field, seal } => Piece::Thinking { text, field, seal },
            AnswerPart::Call { id, name, args } => Piece::Call { id: id.unwrap(), name, args },
        })
        .collect();
    pieces.sort_by_key(|piece| matches!(piece, Piece::Call { .. }));
    pieces
}

/// The second request after this reply, of this model with this effort.
fn request(id: &str, reply: (&str, WireKind), name: &str, effort: Option<&str>) -> Value {
    let provider = provider::builtin(id).unwrap().over(reply.1).unwrap();
    encode(&provider, &prompt(&replied(reply.0, reply.1)), name, effort)
}

fn encode(provider: &Provider, prompt: &Prompt, name: &str, effort: Option<&str>) -> Value {
    let mut model = model();
    model.name = name.into();
    model.wire = provider.wire;
    model.effort = effort.map(str::to_owned);
    model.thinking = match provider.quirks.thinking {
        Thinking::None => Thinking::None,
        usual => catalog::facts(&provider.id, name).thinking.unwrap_or(usual),
    };
    of(provider.wire).encode(prompt, &model, &provider.quirks)
}

fn assistant(body: &Value) -> &Value {
    let messages = body["messages"].as_array().or_else(|| body["input"].as_array()).unwrap();
    messages.iter().find(|message| message["role"] == "assistant").unwrap()
}

fn fields(body: &Value) -> &Map<String, Value> {
    body.as_object().unwrap()
}

/// `store` is OpenAI's own. Gemini, Groq, Mistral and Cerebras refuse it in so many words.
#[test]
fn what_only_openai_knows_is_sent_to_it_alone() {
    for id in provider::ids() {
        let known = provider::builtin(id).unwrap();
        let Some(chat) = known.over(WireKind::Chat).filter(|chat| !chat.local) else { continue };
        let body = encode(&chat, &prompt(&[Piece::Text("x".into())]), "some-model", None);
        let takes = matches!(id, "openai" | "openrouter" | "anthropic" | "fireworks");
        assert_eq!(fields(&body).contains_key("store"), takes, "{id}");
        let developer = body["messages"].to_string().contains("\"developer\"");
        assert_eq!(developer, id == "openai", "{id}");
        let key = fields(&body).contains_key("prompt_cache_key");
        assert_eq!(key, ["openai", "moonshotai", "kimi-for-coding"].contains(&id), "{id}");
        let limits: Vec<&str> = ["max_tokens", "max_completion_tokens"]
            .into_iter()
            .filter(|field| fields(&body).contains_key(*field))
            .collect();
        let newer = ["openai", "moonshotai", "kimi-for-coding", "groq", "cerebras"].contains(&id);
        assert_eq!(limits, [if newer { "max_completion_tokens" } else { "max_tokens" }], "{id}");
    }
}

/// Models that think have one temperature: another is refused by OpenAI, Moonshot and Anthropic.
#[test]
fn sampling_is_left_to_models_that_have_their_own() {
    let (chat, responses, messages) = (WireKind::Chat, WireKind::Responses, WireKind::Messages);
    for (id, wire, name, takes) in [
        ("openai", responses, "gpt-5.6-sol", false),
        ("openai", responses, "gpt-5", false),
        ("openai", chat, "gpt-5-mini", false),
        ("openai", chat, "gpt-6.1-sol", false),
        ("openai", responses, "gpt-4.1", true),
        ("moonshotai", chat, "kimi-k2.6", false),
        ("moonshotai", chat, "kimi-k3", false),
        ("moonshotai", messages, "kimi-k3", false),
        ("moonshotai", chat, "moonshot-v1-128k", true),
        ("kimi-for-coding", chat, "kimi-for-coding", false),
        ("anthropic", messages, "claude-opus-5", false),
        ("github-models", chat, "openai/gpt-5", false),
        ("deepseek", chat, "deepseek-v4-pro", true),
        ("mistral", chat, "devstral-2512", true),
    ] {
        let provider = provider::builtin(id).unwrap().over(wire).unwrap();
        let body = encode(&provider, &prompt(&[Piece::Text("x".into())]), name, None);
        for field in ["temperature", "top_p"] {
            assert_eq!(fields(&body).contains_key(field), takes, "{id} {name} over {wire:?}: {field}");
        }
    }
}

#[test]
fn thinking_is_switched_as_each_service_documents_it() {
    let (chat, messages) = (WireKind::Chat, WireKind::Messages);
    let on = |more: Value| {
        let mut fields = json!({"thinking": {"type": "enabled"}});
        fields.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        fields
    };
    let kept = json!({"type": "enabled", "clear_thinking": false});
    let cases = [
        ("deepseek", chat, "deepseek-v4-pro", Some("max"), on(json!({"reasoning_effort": "max"}))),
        ("deepseek", chat, "deepseek-v4-pro", Some("none"), json!({"thinking": {"type": "disabled"}})),
        (
            "deepseek",
            messages,
            "deepseek-v4-pro",
            Some("low"),
            json!({"thinking": {"type": "enabled", "budget_tokens": 2048}, "output_config": {"effort": "low"}}),
        ),
        ("moonshotai", chat, "kimi-k2.6", Some("high"), on(json!({}))),
        ("moonshotai", chat, "kimi-k3", Some("high"), json!({"reasoning_effort": "high"})),
        ("kimi-for-coding", chat, "kimi-for-coding", Some("low"), json!({"reasoning_effort": "low"})),
        ("zai", chat, "glm-4.7", None, json!({"thinking": kept})),
        ("zai", chat, "glm-4.7", Some("high"), json!({"thinking": kept})),
        ("zai", chat, "glm-5.3", Some("max"), json!({"thinking": kept, "reasoning_effort": "max"})),
        (
            "zai",
            chat,
            "glm-4.7",
            Some("none"),
            json!({"thinking": {"type": "disabled", "clear_thinking": false}}),
        ),
        ("zai-coding-plan", chat, "glm-4.7", None, json!({})),
        ("alibaba", chat, "qwen3.7-max", Some("high"), json!({"enable_thinking": true})),
        ("siliconflow", chat, "x", Some("none"), json!({"enable_thinking": false})),
        (
            "nvidia",
            chat,
            "z-ai/glm5",
            Some("high"),
            json!({"chat_template_kwargs": {"enable_thinking": true}}),
        ),
        ("openrouter", chat, "x", Some("high"), json!({"reasoning": {"effort": "high"}})),
        ("google", chat, "gemini-3.5-flash", Some("low"), json!({"reasoning_effort": "low"})),
        ("cerebras", chat, "gpt-oss-120b", Some("low"), json!({"reasoning_effort": "low"})),
        (
            "openai",
            WireKind::Responses,
            "gpt-5.6-sol",
            Some("xhigh"),
            json!({"reasoning": {"effort": "xhigh", "summary": "auto"}}),
        ),
        (
            "deepseek",
            WireKind::Responses,
            "deepseek-v4-flash",
            Some("max"),
            json!({"reasoning": {"effort": "max", "summary": "auto"}}),
        ),
    ];
    for (id, wire, name, effort, expected) in cases {
        let provider = provider::builtin(id).unwrap().over(wire).unwrap();
        let body = encode(&provider, &prompt(&[Piece::Text("x".into())]), name, effort);
        let about = [
            "thinking",
            "reasoning_effort",
            "reasoning",
            "enable_thinking",
            "chat_template_kwargs",
            "output_config",
        ];
        let found: Map<String, Value> = fields(&body)
            .iter()
            .filter(|(key, _)| about.contains(&key.as_str()))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        assert_eq!(Value::from(found), expected, "{id} {name} over {wire:?}, {effort:?}");
    }
}

/// Reasoning goes back in the field and the form that it came in; services without it in the message
/// refuse it (DeepSeek, Moonshot), others refuse the other's field (Cerebras, Mistral).
#[test]
fn reasoning_goes_back_where_its_service_takes_it() {
    let chat = WireKind::Chat;
    let plain = |field: &str, text: &str| json!({ field: text });
    for (id, reply, name, expected) in [
        (
            "deepseek",
            "deepseek-chat-thinking-call",
            "deepseek-v4-pro",
            plain("reasoning_content", "List first."),
        ),
        ("moonshotai", "moonshotai-chat-text", "kimi-k3", plain("reasoning_content", "Hm.")),
        // It came with none.
        ("moonshotai", "moonshotai-chat-calls", "kimi-k3", plain("reasoning_content", " ")),
        (
            "kimi-for-coding",
            "kimi-for-coding-chat-call",
            "kimi-for-coding",
            plain("reasoning_content", "Look."),
        ),
        ("zai", "zai-chat-call", "glm-4.7", plain("reasoning_content", "Look.")),
        ("alibaba", "alibaba-chat-thinking-call", "qwen3.7-max", plain("reasoning_content", "Look.")),
        ("cerebras", "cerebras-chat-call", "zai-glm-4.7", plain("reasoning", "Look.")),
        ("groq", "groq-chat-call", "openai/gpt-oss-120b", plain("reasoning", "Look.")),
        ("mistral", "mistral-chat-thinking", "magistral-medium", json!({})),
        ("google", "google-chat-calls", "gemini-3.5-flash", json!({})),
        (
            "openrouter",
            "openrouter-chat-call",
            "anthropic/claude-opus-4.6",
            json!({"reasoning_details": [{
                "index": 0, "format": "anthropic-claude-v1", "type": "reasoning.text", "text": "Look.", "signature": "c2ln"
            }]}),
        ),
    ] {
        let body = request(id, (reply, chat), name, None);
        let about = ["reasoning_content", "reasoning", "reasoning_details"];
        let said = assistant(&body).as_object().unwrap();
        let found: Map<String, Value> = said
            .iter()
            .filter(|(key, _)| about.contains(&key.as_str()))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        assert_eq!(Value::from(found), expected, "{id}");
        assert!(!body.to_string().contains("<think>"), "{id}");
    }
    let body = request("mistral", ("mistral-chat-thinking", chat), "magistral-medium", None);
    let thought = json!({"type": "thinking", "thinking": [{"type": "text", "text": "Two and two."}]});
    assert_eq!(assistant(&body)["content"], json!([thought, {"type": "text", "text": "Four."}]));
    let body = request("google", ("google-chat-calls", chat), "gemini-3.5-flash", None);
    let seals: Vec<&Value> = assistant(&body)["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| &call["extra_content"])
        .collect();
    assert_eq!(seals, [&json!({"google": {"thought_signature": "c2ln"}}), &Value::Null]);
}

#[test]
fn reasoning_of_the_other_wires_goes_back_as_it_came() {
    let thinking = |signature: Option<&str>| {
        let mut block = json!({"type": "thinking", "thinking": "Look."});
        if let Some(signature) = signature {
            block["signature"] = signature.into();
        }
        block
    };
    for (id, reply, name, signature) in [
        ("anthropic", "anthropic-messages-call", "claude-opus-5", Some("c2ln")),
        ("deepseek", "deepseek-messages-call", "deepseek-v4-pro", Some("fe1a")),
        ("zai", "zai-messages-call", "glm-4.7", None),
        ("moonshotai", "moonshotai-messages-call", "kimi-k3", None),
    ] {
        let body = request(id, (reply, WireKind::Messages), name, Some("high"));
        assert_eq!(assistant(&body)["content"][0], thinking(signature), "{id}");
    }
    for (id, reply, expected) in [
        (
            "openai",
            "openai-responses-sealed-call",
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look"}], "encrypted_content": "ZW5j"}),
        ),
        (
            "xai",
            "xai-responses-sealed-call",
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look"}], "encrypted_content": "ZW5j"}),
        ),
        (
            "deepseek",
            "deepseek-responses-call",
            json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Look."}]}),
        ),
    ] {
        let body = request(id, (reply, WireKind::Responses), "m", None);
        let found = body["input"].as_array().unwrap().iter().find(|item| item["type"] == "reasoning");
        assert_eq!(found, Some(&expected), "{id}");
        let asked = body.get("include").is_some();
        assert_eq!(asked, id != "deepseek", "{id}: sealed reasoning is asked for where there is some");
        assert_eq!(body["store"], false, "{id}");
    }
}

#[test]
fn what_is_said_on_the_way_is_told_from_the_end() {
    let openai = provider::builtin("openai").unwrap();
    let call = Piece::Call { id: "call_1".into(), name: "sh".into(), args: "{}".into() };
    for (pieces, phase) in [
        (vec![Piece::Text("I look.".into()), call], "commentary"),
        (vec![Piece::Text("All is well.".into())], "final_answer"),
    ] {
        let body = encode(&openai, &prompt(&pieces), "gpt-5.6-sol", None);
        assert_eq!(assistant(&body)["phase"], phase);
        let other = provider::builtin("ollama").unwrap().over(WireKind::Responses).unwrap();
        assert_eq!(assistant(&encode(&other, &prompt(&pieces), "m", None)).get("phase"), None);
    }
}

/// Ids are those of the service itself; of others only what it takes.
#[test]
fn ids_of_calls_are_kept_where_they_can_be() {
    let chat = WireKind::Chat;
    for (id, reply, kept) in [
        ("moonshotai", "moonshotai-chat-calls", true),
        ("fireworks", "fireworks-chat-call", true),
        ("vllm", "vllm-chat-call", true),
        ("mistral", "mistral-chat-call", true),
        ("openai", "openai-chat-calls", true),
    ] {
        let ids: Vec<Value> = replied(reply, chat)
            .into_iter()
            .filter_map(|piece| if let Piece::Call { id, .. } = piece { Some(id.into()) } else { None })
            .collect();
        let body = request(id, (reply, chat), "m", None);
        let sent: Vec<Value> = assistant(&body)["tool_calls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|call| call["id"].clone())
            .collect();
        assert_eq!(sent == ids, kept, "{id}");
        let answered: Vec<Value> = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| message["tool_call_id"].clone())
            .collect();
        assert_eq!(answered, sent, "{id}");
    }
    // From Moonshot to Mistral and to OpenAI.
    let pieces = replied("moonshotai-chat-calls", chat);
    let over =
        |id: &str| encode(&provider::builtin(id).unwrap().over(chat).unwrap(), &prompt(&pieces), "m", None);
    for (id, length) in [("mistral", 9), ("openai", 23)] {
        let body = over(id);
        let sent = assistant(&body)["tool_calls"][0]["id"].as_str().unwrap().to_owned();
        assert_eq!(sent.len(), length, "{id}: {sent}");
    }
}

#[test]
fn counts_are_asked_for_unless_that_is_refused() {
    for id in provider::ids() {
        let known = provider::builtin(id).unwrap();
        let Some(chat) = known.over(WireKind::Chat) else { continue };
        let body = encode(&chat, &prompt(&[Piece::Text("x".into())]), "m", None);
        assert_eq!(fields(&body).contains_key("stream_options"), id != "mistral", "{id}");
    }
}
