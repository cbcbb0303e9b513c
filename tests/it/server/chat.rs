//! What the server says, in the events of the chat API.

use serde_json::{Value, json};

use super::frame::{Say, Tongue};

pub(super) struct Chat;

impl Tongue for Chat {
    fn say(&mut self, say: &Say) -> String {
        let choice = |delta: &Value, reason: Option<&str>| {
            chunk(&json!([{"index": 0, "delta": delta, "finish_reason": reason}]))
        };
        let data = match say {
            Say::Delta(delta) => choice(delta, None),
            Say::End(reason) => choice(&json!({}), Some(reason)),
            Say::Usage { input, output } => json!({"choices": [], "usage": {
                "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}}),
            Say::Done => return "data: [DONE]\n\n".into(),
            Say::Fails(message) => json!({"error": {"message": message, "code": 500}}),
        };
        format!("data: {data}\n\n")
    }
}

fn chunk(choices: &Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices})
}
