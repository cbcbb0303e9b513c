//! The floor: the least a client can do for the same work.
//!
//! reqwest and tokio, the history in a vector, the stream read line by line, each call run with
//! `bash -c`. No configuration, no session, no sandbox, no bounds. tack's figures are read as
//! multiples of its.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::io::Write;

/// Runs with the arguments that follow `floor`: `--version`, or the server's address.
pub fn main(args: &[String]) -> Result<()> {
    let mut out = std::io::stdout();
    let [what] = args else { anyhow::bail!("floor --version, or floor URL") };
    if what == "--version" {
        return Ok(writeln!(out, "floor {}", env!("CARGO_PKG_VERSION"))?);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let said = runtime.block_on(turn(&format!("{what}/chat/completions")))?;
    Ok(writeln!(out, "{said}")?)
}

async fn turn(url: &str) -> Result<String> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).tcp_nodelay(true).build()?;
    let tools = json!([{ "type": "function", "function": {
        "name": "bash", "description": "Runs a command.",
        "parameters": { "type": "object", "properties": { "command": { "type": "string" } } },
    } }]);
    let mut messages = vec![json!({ "role": "user", "content": "go on" })];
    loop {
        let body = json!({ "model": "m", "stream": true, "tools": tools, "messages": messages });
        let reply = ask(&client, url, body.to_string()).await?;
        messages.push(reply.clone());
        let Some(calls) = reply["tool_calls"].as_array() else {
            return Ok(reply["content"].as_str().unwrap_or_default().to_owned());
        };
        for call in calls {
            let arguments = call["function"]["arguments"].as_str().context("a call without arguments")?;
            let arguments: Value = serde_json::from_str(arguments)?;
            let command = arguments["command"].as_str().context("a call without a command")?;
            let done = tokio::process::Command::new("bash").args(["-c", command]).output().await?;
            let output = String::from_utf8_lossy(&done.stdout);
            messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": output }));
        }
    }
}

/// One request; the reply as a message.
async fn ask(client: &reqwest::Client, url: &str, body: String) -> Result<Value> {
    let request = client.post(url).header("content-type", "application/json").body(body);
    let mut response = request.send().await?.error_for_status()?;
    let (mut text, mut calls) = (String::new(), Vec::new());
    let mut rest = Vec::new();
    while let Some(bytes) = response.chunk().await? {
        rest.extend_from_slice(&bytes);
        let Some(end) = memchr::memrchr(b'\n', &rest) else { continue };
        for line in rest[..end].split(|b| *b == b'\n') {
            let Some(data) = line.strip_prefix(b"data: ").filter(|data| *data != b"[DONE]") else { continue };
            let event: Value = serde_json::from_slice(data)?;
            let delta = &event["choices"][0]["delta"];
            text.push_str(delta["content"].as_str().unwrap_or_default());
            calls.extend(delta["tool_calls"].as_array().into_iter().flatten().cloned());
        }
        rest.drain(..=end);
    }
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    Ok(message)
}
