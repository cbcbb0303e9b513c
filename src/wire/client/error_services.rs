//! Errors in the shape and words that each service documents, or that clients of it reported.

use super::*;
use crate::wire::provider;

/// The failure in a word, the window where there is one, and whether it is tried again.
fn sorted(id: &str, status: u16, body: &str) -> String {
    let provider = provider::builtin(id).unwrap();
    let url = provider.url("/chat/completions").unwrap();
    let fault = from_status(&Place { provider: &provider, model: "m", url: &url }, status, body);
    let kind = match &fault.failure {
        Failure::Setup { .. } => "setup".to_owned(),
        Failure::TooLong { window, .. } => format!("too long {}", window.unwrap_or(0)),
        Failure::Limited { .. } => "limited".to_owned(),
        Failure::NoThinking(_) => "no thinking".to_owned(),
        Failure::NoSchema(_) => "no schema".to_owned(),
        Failure::NoImages(_) | Failure::NoTools(_) | Failure::Failed { .. } | Failure::Cancelled => {
            "failed".to_owned()
        }
    };
    let again = matches!(fault.cause, Cause::Request | Cause::Stream | Cause::Loading);
    format!("{kind}{}", if again { ", again" } else { "" })
}

#[test]
fn errors_of_each_service_are_what_they_mean() {
    for (id, status, body, expected) in [
        (
            "openai",
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-***.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
            "setup",
        ),
        (
            "openai",
            400,
            r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#,
            "too long 0",
        ),
        (
            "openai",
            429,
            r#"{"error":{"message":"Rate limit reached for m on tokens per min. Please try again in 1.2s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
            "limited, again",
        ),
        (
            "openai",
            400,
            r#"{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","type":"invalid_request_error","param":"temperature","code":null}}"#,
            "failed",
        ),
        (
            "anthropic",
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}"#,
            "setup",
        ),
        (
            "anthropic",
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit"}}"#,
            "limited, again",
        ),
        (
            "openrouter",
            400,
            r#"{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens.","code":400,"metadata":{"provider_name":null}}}"#,
            "too long 131072",
        ),
        (
            "openrouter",
            402,
            r#"{"error":{"message":"This request requires more credits, or fewer max_tokens.","code":402}}"#,
            "limited",
        ),
        (
            "openrouter",
            429,
            r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"m is temporarily rate-limited upstream","provider_name":"Acme"}}}"#,
            "limited, again",
        ),
        (
            "deepseek",
            401,
            r#"{"error":{"message":"Authentication Fails, Your api key: ****0000 is invalid","type":"authentication_error","param":null,"code":"invalid_request_error"}}"#,
            "setup",
        ),
        (
            "deepseek",
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#,
            "limited",
        ),
        (
            "deepseek",
            400,
            r#"{"error":{"message":"The `reasoning_content` in the thinking mode must be passed back to the API.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
            "failed",
        ),
        (
            "deepseek",
            400,
            r#"{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 140000 tokens","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
            "too long 131072",
        ),
        (
            "moonshotai",
            401,
            r#"{"error":{"message":"Invalid Authentication","type":"invalid_authentication_error"}}"#,
            "setup",
        ),
        (
            "moonshotai",
            429,
            r#"{"error":{"message":"Your account is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}"#,
            "limited",
        ),
        (
            "moonshotai",
            429,
            r#"{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}"#,
            "limited, again",
        ),
        (
            "moonshotai",
            400,
            r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)","type":"invalid_request_error"}}"#,
            "too long 262144",
        ),
        (
            "moonshotai",
            400,
            r#"{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 2","type":"invalid_request_error"}}"#,
            "failed",
        ),
        (
            "moonshotai",
            400,
            r#"{"error":{"message":"invalid thinking: only type=enabled is allowed for this model","type":"invalid_request_error"}}"#,
            "failed",
        ),
        (
            "moonshotai",
            400,
            r#"{"error":{"message":"invalid temperature: only 1 is allowed for this model","type":"invalid_request_error"}}"#,
            "failed",
        ),
        ("zai", 401, r#"{"error":{"code":"1000","message":"Authentication Failed"}}"#, "setup"),
        (
            "zai",
            429,
            r#"{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}"#,
            "limited",
        ),
        (
            "zai",
            429,
            r#"{"error":{"code":"1302","message":"High concurrency usage of this API"}}"#,
            "limited, again",
        ),
        ("zai", 400, r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#, "too long 0"),
        (
            "alibaba",
            401,
            r#"{"error":{"message":"Incorrect API key provided. ","type":"invalid_request_error","param":null,"code":"invalid_api_key"},"request_id":"r"}"#,
            "setup",
        ),
        (
            "alibaba",
            400,
            r#"{"error":{"message":"Access denied, please make sure your account is in good standing.","type":"Arrearage","param":null,"code":"Arrearage"},"id":"r"}"#,
            "limited",
        ),
        (
            "alibaba",
            400,
            r#"{"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 258048]","param":null,"type":"invalid_request_error"}}"#,
            "too long 258048",
        ),
        (
            "google",
            400,
            r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[]}}]"#,
            "setup",
        ),
        (
            "google",
            429,
            r#"[{"error":{"code":429,"message":"You exceeded your current quota. Please retry in 34.07s.","status":"RESOURCE_EXHAUSTED","details":[]}}]"#,
            "limited, again",
        ),
        (
            "google",
            400,
            r#"[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
            "too long 1048576",
        ),
        (
            "google",
            503,
            r#"[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]"#,
            "failed, again",
        ),
        (
            "groq",
            401,
            r#"{"error":{"message":"Invalid API Key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            "setup",
        ),
        (
            "groq",
            400,
            r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            "too long 0",
        ),
        (
            "groq",
            400,
            r#"{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<sh>"}}"#,
            "failed, again",
        ),
        (
            "groq",
            400,
            r#"{"error":{"message":"'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning' is unsupported)]","type":"invalid_request_error"}}"#,
            "no thinking",
        ),
        (
            "groq",
            400,
            r#"{"error":{"message":"json mode cannot be combined with tool/function calling","type":"invalid_request_error","param":"response_format"}}"#,
            "no schema",
        ),
        ("mistral", 401, r#"{"detail":"Unauthorized"}"#, "setup"),
        (
            "mistral",
            422,
            r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","store"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error","param":null,"code":null}"#,
            "failed",
        ),
        (
            "mistral",
            429,
            r#"{"object":"error","message":"Requests rate limit exceeded","type":"rate_limited","param":null,"code":"1300"}"#,
            "limited, again",
        ),
        (
            "mistral",
            400,
            r#"{"object":"error","message":"Prompt contains 300000 tokens and 0 draft tokens, too large for model with 262144 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"}"#,
            "too long 262144",
        ),
        (
            "xai",
            400,
            r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***."}"#,
            "setup",
        ),
        (
            "xai",
            400,
            r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 200000 tokens."}"#,
            "too long 131072",
        ),
        (
            "together",
            422,
            r#"{"error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 131073. Given: 140000 `inputs` tokens and 1000 `max_new_tokens`","type":"invalid_request_error"}}"#,
            "too long 131073",
        ),
        (
            "fireworks",
            400,
            r#"{"error":{"object":"error","type":"invalid_request_error","code":"invalid_request_error","message":"The prompt is too long: 140000, model maximum context length: 131071"}}"#,
            "too long 0",
        ),
        (
            "cerebras",
            400,
            r#"{"message":"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}"#,
            "too long 8192",
        ),
        (
            "cerebras",
            400,
            r#"{"message":"messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported","type":"invalid_request_error","param":"validation_error","code":"wrong_api_format"}"#,
            "no thinking",
        ),
        (
            "cerebras",
            500,
            r#"{"status_code":500,"error":{"message":"Encountered a server error, please try again.","type":"server_error","param":"","code":"","id":""}}"#,
            "failed, again",
        ),
        (
            "github-models",
            413,
            r#"{"error":{"code":"tokens_limit_reached","message":"Request body too large for m model. Max size: 8000 tokens."}}"#,
            "too long 0",
        ),
        ("huggingface", 401, r#"{"error":"Invalid username or password."}"#, "setup"),
        ("huggingface", 402, r#"{"error":"You have reached the free monthly usage limit."}"#, "limited"),
        ("nvidia", 403, r#"{"status":403,"title":"Forbidden","detail":"Authorization failed"}"#, "setup"),
        ("siliconflow", 401, "\"Invalid token\"", "setup"),
        (
            "siliconflow",
            403,
            r#"{"code":30001,"message":"Sorry, your account balance is insufficient","data":null}"#,
            "limited",
        ),
        (
            "modelscope",
            401,
            r#"{"errors":{"message":"Please bind your account before use."},"request_id":"r"}"#,
            "setup",
        ),
        (
            "ollama",
            404,
            r#"{"error":{"message":"model 'x' not found","type":"api_error","param":null,"code":null}}"#,
            "setup",
        ),
        (
            "lmstudio",
            400,
            r#"{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}"#,
            "too long 4096",
        ),
        (
            "llamacpp",
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}"#,
            "too long 4096",
        ),
        (
            "vllm",
            400,
            r#"{"error":{"message":"This model's maximum context length is 32768 tokens. However, your request has 40000 input tokens.","type":"BadRequestError","param":null,"code":400}}"#,
            "too long 32768",
        ),
    ] {
        assert_eq!(sorted(id, status, body), expected, "{id} {body}");
    }
}
