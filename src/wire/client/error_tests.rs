//! Every answer and every break of a connection becomes a sentence that names what to do.

use super::*;
use crate::model::KeySent;
use crate::wire::provider::{self, Secret};

const KEY: &str = "sk-test-0123456789";

fn hosted() -> Provider {
    let mut provider = provider::builtin("openrouter").unwrap();
    provider.key = Some(Secret::new(KEY));
    provider
}

fn status(status: u16, text: &str) -> Fault {
    let provider = hosted();
    let url = provider.url("/chat/completions").unwrap();
    from_status(&Place { provider: &provider, model: "acme/x", url: &url }, status, text)
}

/// The kind of a failure in one word, with the window where there is one.
fn kind(fault: &Fault) -> String {
    let kind = match &fault.failure {
        Failure::Cancelled => "cancelled".to_owned(),
        Failure::Setup { .. } => "setup".to_owned(),
        Failure::TooLong { window, .. } => format!("too long {}", window.unwrap_or(0)),
        Failure::NoImages(_) => "no images".to_owned(),
        Failure::NoTools(_) => "no tools".to_owned(),
        Failure::NoThinking(_) => "no thinking".to_owned(),
        Failure::NoSchema(_) => "no schema".to_owned(),
        Failure::Limited { .. } => "limited".to_owned(),
        Failure::Failed { .. } => "failed".to_owned(),
    };
    let cause = match fault.cause {
        Cause::Final => "final",
        Cause::Request => "again",
        Cause::Stream => "again from stream",
        Cause::Loading => "loading",
        Cause::Key => "another key",
    };
    format!("{kind}, {cause}")
}

fn error(message: &str) -> String {
    serde_json::json!({"error": {"message": message, "type": "t"}}).to_string()
}

#[test]
fn every_answer_of_a_server_has_its_kind() {
    let fixture = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/wire");
        std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap()
    };
    let cases: Vec<(u16, String, &str)> = vec![
        // llama.cpp, as recorded.
        (400, fixture("err-context-chat"), "too long 24576, final"),
        (500, fixture("err-image"), "no images, final"),
        (400, fixture("err-bad-grammar"), "no schema, final"),
        // Google.
        (400, error("API key not valid. Please pass a valid API key."), "setup, another key"),
        (404, fixture("err-unknown-path"), "setup, final"),
        (503, error("Loading model"), "failed, loading"),
        // The prompt does not fit: vLLM, LM Studio, OpenAI, Anthropic, Google, xAI, Alibaba.
        (
            400,
            error("This model's maximum context length is 32,768 tokens. However, you requested 40000"),
            "too long 32768, final",
        ),
        (
            400,
            error(
                "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
            ),
            "too long 4096, final",
        ),
        (
            400,
            r#"{"error":{"message":"too big","code":"context_length_exceeded"}}"#.into(),
            "too long 0, final",
        ),
        (400, error("prompt is too long: 210000 tokens > 200000 maximum"), "too long 200000, final"),
        (
            400,
            error("The input token count (9) exceeds the maximum number of tokens allowed (1048576)."),
            "too long 1048576, final",
        ),
        (
            400,
            error("This model's maximum prompt length is 131072 but the request contains 200000"),
            "too long 131072, final",
        ),
        (400, error("Range of input length should be [1, 98304]"), "too long 98304, final"),
        (413, error("Request exceeds the maximum size"), "too long 0, final"),
        (413, error("maximum context length is 8192 tokens"), "too long 8192, final"),
        // A proxy's limit on bytes is another matter.
        (413, String::new(), "failed, final"),
        (413, "<html><h1>413 Request Entity Too Large</h1>".into(), "failed, final"),
        // No tools: Ollama, vLLM, OpenRouter.
        (400, error("registry.ollama.ai/library/gemma:2b does not support tools"), "no tools, final"),
        (
            400,
            error("\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"),
            "no tools, final",
        ),
        (404, error("No endpoints found that support tool use."), "no tools, final"),
        // No images.
        (400, error("unknown variant `image_url`, expected `text`"), "no images, final"),
        (400, error("unknown variant image_url, expected text"), "no images, final"),
        (404, error("No endpoints found that support image input"), "no images, final"),
        (400, error("llama3 is not a multimodal model"), "no images, final"),
        // No reasoning wanted back; one that is missing is another matter.
        (400, error("Extra inputs are not permitted: reasoning_content"), "no thinking, final"),
        (400, error("the reasoning_content of the tool turn is missing"), "failed, final"),
        // Anthropic: sealed reasoning that does not verify, is not signed, or is not wanted.
        (
            400,
            error("messages.1.content.0: Invalid `signature` in `thinking` block"),
            "no thinking, final",
        ),
        (400, error("messages.1.content.0.thinking.signature: Field required"), "no thinking, final"),
        (
            400,
            error("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`"),
            "no thinking, final",
        ),
        (
            400,
            error("messages.3.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`"),
            "no thinking, final",
        ),
        // Anthropic: prompt and answer together, images that no request can hold, an empty account.
        (
            400,
            error("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again"),
            "too long 200000, final",
        ),
        (413, r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#.into(), "too long 0, final"),
        (400, error("messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"), "no images, final"),
        (400, error("Could not process image"), "no images, final"),
        (400, error("Your credit balance is too low to access the API"), "limited, final"),
        (400, error("max_tokens: 64000 > 8192, which is the maximum allowed"), "failed, final"),
        (404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#.into(), "setup, final"),
        (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#.into(), "failed, again"),
        // Keys, accounts and limits.
        (401, error("bad key"), "setup, another key"),
        (407, "<html>who are you".into(), "setup, final"),
        (403, error("not in your country"), "setup, final"),
        (402, error("Insufficient credits"), "limited, final"),
        (
            429,
            r#"{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}"#.into(),
            "limited, final",
        ),
        (429, error("slow down"), "limited, again"),
        (429, error("Request too large, maximum context length of 1 token per minute"), "limited, again"),
        // Paths and models.
        (404, error("model \"x\" not found, try pulling it first"), "setup, final"),
        (404, "<html>model</html>".into(), "setup, final"),
        (405, String::new(), "setup, final"),
        (301, String::new(), "setup, final"),
        // Passing troubles and all the rest.
        (408, String::new(), "failed, again"),
        (409, error("busy"), "failed, again"),
        (500, error("oops"), "failed, again"),
        (502, "<html><title>Bad gateway</title></html>".into(), "failed, again"),
        (503, error("no capacity"), "failed, again"),
        (529, error("Overloaded"), "failed, again"),
        (
            400,
            error("Invalid parameter: 'response_format' of type 'json_schema' is not supported"),
            "no schema, final",
        ),
        (400, error("Invalid schema for response_format 'answer'"), "no schema, final"),
        (400, error("bad parameter"), "failed, final"),
        (422, r#"{"detail":[{"msg":"Extra inputs are not permitted"}]}"#.into(), "failed, final"),
    ];
    for (code, body, expected) in cases {
        assert_eq!(kind(&status(code, &body)), expected, "{code} {body}");
    }
}

#[test]
fn errors_inside_a_stream_are_sorted_alike_and_spend_the_other_budget() {
    let provider = hosted();
    let url = provider.url("/chat/completions").unwrap();
    let at = Place { provider: &provider, model: "acme/x", url: &url };
    for (message, code, expected) in [
        ("oops", None, "failed, again from stream"),
        ("Overloaded", Some("503"), "failed, again from stream"),
        ("slow down", Some("rate_limit_exceeded"), "limited, again from stream"),
        ("bad role", Some("invalid_request_error"), "failed, final"),
        ("no such key", Some("401"), "setup, another key"),
        ("Overloaded", Some("overloaded_error"), "failed, again from stream"),
        ("slow down", Some("rate_limit_error"), "limited, again from stream"),
        ("too big", Some("request_too_large"), "too long 0, final"),
        ("not yours", Some("permission_error"), "setup, final"),
        ("no money", Some("billing_error"), "limited, final"),
        ("Invalid schema for text.format", Some("invalid_request_error"), "no schema, final"),
        ("oops", Some("api_error"), "failed, again from stream"),
        ("no such key", Some("authentication_error"), "setup, another key"),
        ("model: x", Some("not_found_error"), "setup, final"),
        ("x", Some("context_length_exceeded"), "too long 0, final"),
    ] {
        let fault = from_stream(&at, message.into(), code.map(str::to_owned), "par".into());
        assert_eq!(kind(&fault), expected, "{message}");
        if let Failure::Failed { partial, .. } = fault.failure {
            assert_eq!(partial, "par");
        }
    }
}

#[test]
fn sentences_name_what_to_do() {
    let local = provider::builtin("ollama").unwrap();
    let url = local.url("/chat/completions").unwrap();
    let at = Place { provider: &local, model: "qwen3", url: &url };
    let shown = [
        status(401, &error("No auth credentials found")).failure,
        status(404, "<!doctype html><p>hi").failure,
        status(404, &error("The model `x` does not exist")).failure,
        status(429, &error("Rate limit exceeded")).failure,
        status(402, &error("Insufficient credits")).failure,
        status(500, "").failure,
        status(407, "").failure,
        status(413, "<html>too large").failure,
        from_page(&at).failure,
        from_status(&at, 401, &error("who are you")).failure,
        broken(&at, Cause::Stream, "connection reset", String::new()).failure,
        silent(&at, Duration::from_millis(1500)).failure,
        after(status(503, &error("no capacity")), 5, Timestamp::UNIX_EPOCH),
    ];
    let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_long_wait_says_when_it_ends() {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let stop = too_long(&status(429, &error("slow down")).failure, Duration::from_secs(11180), now);
    let Failure::Limited { message, retry_at, .. } = stop else { panic!() };
    assert_eq!(retry_at.unwrap().to_string(), "2026-01-01T03:06:20Z");
    assert!(message.contains("slow down; it resets at 202"), "{message}");
    // A server may name a day that no calendar has.
    let never = too_long(&status(429, &error("slow down")).failure, Duration::from_secs(1 << 60), now);
    let Failure::Limited { message, retry_at: None, .. } = never else { panic!() };
    assert!(message.ends_with("slow down; it wants no request any more"), "{message}");
}

#[test]
fn words_of_a_server_are_cut_cleaned_and_never_show_a_secret() {
    let mut provider = hosted();
    provider.headers = vec![("x-auth".into(), Secret::new("Basic dXNlcjpwYXNz"))];
    provider.query = vec![("key".into(), Secret::new("query-secret")), ("v".into(), Secret::new("1"))];
    provider.base_url = "https://user:url-secret@h.example/v1?token=base-secret".into();
    let url = provider.url("/chat/completions").unwrap();
    let at = Place { provider: &provider, model: "m", url: &url };
    let echo = format!(
        "bad key {KEY}, dXNlcjpwYXNz and query-secret\u{1b}[31m\r\nred\0 \u{202e}url-secret base-secret {}",
        "x".repeat(9000)
    );
    for code in [401, 404, 500] {
        let text = from_status(&at, code, &error(&echo)).failure.to_string();
        for secret in [KEY, "dXNlcjpwYXNz", "query-secret", "url-secret", "base-secret"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert!(!text.chars().any(steers));
        assert!(text.contains("bad key [secret], [secret] and [secret] [31m red"), "{text}");
        assert!(text.chars().count() < WORDS + 300);
    }
}

#[test]
fn what_the_responses_api_refuses_for_good_is_not_asked_again() {
    // OpenAI, of sealed reasoning that it cannot open.
    let sealed = "The encrypted content gAAA...DQ== could not be verified.";
    assert_eq!(kind(&status(400, &error(sealed))), "no thinking, final");
    let provider = hosted();
    let url = provider.url("/responses").unwrap();
    let at = Place { provider: &provider, model: "acme/x", url: &url };
    let said = |code: &str| kind(&from_stream(&at, "boom".into(), Some(code.into()), String::new()));
    assert_eq!(said("invalid_prompt"), "failed, final");
    assert_eq!(said("server_error"), "failed, again from stream");
}

#[test]
fn what_can_be_done_about_is_known_without_reading_the_sentence() {
    let sent =
        |ends: Option<&str>| KeySent { from: "OPENROUTER_API_KEY".into(), ends: ends.map(str::to_owned) };
    let ends = Some("6789");
    let table = [
        (401, error("bad key"), TroubleKind::Key(sent(ends))),
        (400, error("API key not valid."), TroubleKind::Key(sent(ends))),
        (403, error("not in your country"), TroubleKind::Denied(sent(ends))),
        (402, error("Insufficient credits"), TroubleKind::Paid { from: "OPENROUTER_API_KEY".into() }),
        (404, error("The model `x` does not exist"), TroubleKind::NoModel { has: Vec::new() }),
        (429, error("slow down"), TroubleKind::Limited { resets: None }),
        (503, error("no capacity"), TroubleKind::Server { status: Some(503) }),
        (400, error("bad parameter"), TroubleKind::Other),
        (404, "<html>nothing here".to_owned(), TroubleKind::Other),
        (
            400,
            error(
                "This model's maximum context length is 32,768 tokens. However, you requested 40,030 tokens",
            ),
            TroubleKind::TooLong { tokens: Some(40_030), window: Some(32_768), alone: false },
        ),
        (
            400,
            error("prompt is too long: 210000 tokens > 200000 maximum"),
            TroubleKind::TooLong { tokens: Some(210_000), window: Some(200_000), alone: false },
        ),
        (
            413,
            error("maximum context length is 8192 tokens, at 2026"),
            TroubleKind::TooLong { tokens: None, window: Some(8_192), alone: false },
        ),
    ];
    for (code, body, expected) in table {
        let failure = status(code, &body).failure;
        let trouble = failure.trouble().unwrap();
        assert_eq!(trouble.kind, expected, "{body}");
        assert_eq!((trouble.provider.as_str(), trouble.model.as_str()), ("openrouter", "acme/x"));
        assert_eq!(trouble.body, body, "what the server sent is kept");
    }
}

#[test]
fn a_place_without_an_answer_is_named_by_host_and_port() {
    for (base, expected) in [
        ("http://127.0.0.1:11434/v1", "localhost:11434"),
        ("https://user:secret@h.example/v1?key=secret", "h.example"),
        ("http://[::1]:8080", "localhost:8080"),
    ] {
        let provider = Provider::new("x", base);
        let url = provider.url("").unwrap();
        let at = Place { provider: &provider, model: "m", url: &url };
        let TroubleKind::Unreachable { address, .. } = at.silence() else { panic!() };
        assert_eq!(address, expected);
    }
}

#[test]
fn only_the_end_of_a_long_key_is_told_and_no_body_holds_it() {
    let echo = error(&format!("no such key: {KEY}"));
    let failure = status(401, &echo).failure;
    let trouble = failure.trouble().unwrap();
    assert!(trouble.body.contains("[secret]") && trouble.said.contains("[secret]"));
    assert!(!format!("{trouble:?} {failure}").contains(&KEY[..12]));
    let mut provider = hosted();
    provider.key = Some(Secret::new("short-key"));
    let url = provider.url("").unwrap();
    assert_eq!(Place { provider: &provider, model: "m", url: &url }.sent().ends, None);
}
