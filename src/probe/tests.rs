//! The probe against clients of known habits: what it makes of their replies, and that it ends.

use std::sync::Mutex;

use async_trait::async_trait;

use super::*;
use crate::harness::sample_model;

/// Gives these replies, and keeps the prompts.
struct Scripted {
    replies: Mutex<std::vec::IntoIter<Reply>>,
    prompts: Mutex<Vec<Prompt>>,
}

enum Reply {
    Says(Result<Answer, Failure>),
    /// Text without an end, and without a stop for whoever does not stop it.
    Endless(&'static str),
    /// These words, and then nothing.
    Stalls(&'static str),
}

#[async_trait]
impl Client for Scripted {
    async fn ask(
        &self,
        _: &Model,
        prompt: &Prompt,
        hear: &mut (dyn FnMut(Progress) + Send),
        cancel: &CancellationToken,
    ) -> Result<Answer, Failure> {
        self.prompts.lock().unwrap().push(prompt.clone());
        let reply = self.replies.lock().unwrap().next();
        match reply.expect("no more than two requests") {
            Reply::Says(answer) => answer,
            Reply::Endless(text) => loop {
                hear(Progress::Text(text.to_owned()));
                if cancel.is_cancelled() {
                    return Err(Failure::Cancelled);
                }
            },
            Reply::Stalls(text) => {
                hear(Progress::Text(text.to_owned()));
                std::future::pending().await
            }
        }
    }
}

fn says(parts: Vec<AnswerPart>, stop: Stop) -> Reply {
    let usage = Usage { input: 60, output: 20, ..Usage::default() };
    Reply::Says(Ok(Answer { parts, usage, stop, requests: 1, run_on: None }))
}

fn text(text: &str) -> Reply {
    says(vec![AnswerPart::Text(text.to_owned())], Stop::Done)
}

fn calls(name: &str, args: &str) -> Reply {
    says(vec![AnswerPart::Call { id: None, name: name.to_owned(), args: args.to_owned() }], Stop::Calls)
}

fn thinks(then: &[AnswerPart]) -> Reply {
    let thinking =
        AnswerPart::Thinking { text: "hm".to_owned(), field: Some("reasoning".to_owned()), seal: None };
    says([&[thinking], then].concat(), Stop::Length)
}

fn fails(failure: Failure) -> Reply {
    Reply::Says(Err(failure))
}

fn broken() -> Failure {
    Failure::failed("gone")
}

async fn asked(replies: Vec<Reply>) -> (Result<Outcome, Failure>, Vec<Prompt>) {
    let client = Scripted { replies: Mutex::new(replies.into_iter()), prompts: Mutex::default() };
    let outcome = ask(&client, &sample_model(), &mut |_| {}).await;
    (outcome, client.prompts.into_inner().unwrap())
}

/// One line: calls, form, schema, thinking.
fn shown(outcome: &Result<Outcome, Failure>) -> String {
    match outcome {
        Ok(Outcome { probed: None, .. }) => "not known".to_owned(),
        Ok(Outcome { probed: Some(probed), .. }) => {
            let form = probed.form.as_ref().map(|form| format!(" ({form})")).unwrap_or_default();
            let schema = if probed.schema { ", schema" } else { "" };
            let thinking = probed.thinking.as_ref().map(|field| format!(", {field}")).unwrap_or_default();
            format!("{:?}{form}{schema}{thinking}", probed.calls).to_lowercase()
        }
        Err(failure) => failure.to_string(),
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_comes_back_is_an_outcome() {
    let json = "```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n```";
    let ok = || text("{ \"ok\": true }\n");
    let story = || text("Once upon a time");
    let args = "{\"command\": \"ls\"}";
    let call = AnswerPart::Call { id: None, name: "bash".to_owned(), args: args.to_owned() };
    let table: Vec<(&str, Vec<Reply>)> = vec![
        ("wire, schema", vec![calls("bash", args), ok()]),
        ("wire", vec![calls("bash", args), story()]),
        ("wire", vec![calls("bash", "{\"comm"), story()]),
        ("wire, schema, reasoning", vec![thinks(&[call]), ok()]),
        ("wire, reasoning", vec![calls("bash", args), thinks(&[])]),
        ("text (json), schema", vec![text(json), ok()]),
        ("text (shell)", vec![text("```bash\nls\n```"), story()]),
        ("text (hermes)", vec![text("<tool_call>{\"name\":\"bash\",\"arguments\":{}}</tool_call>"), story()]),
        ("none", vec![text("There is a README."), story()]),
        ("none", vec![text(""), text("")]),
        ("none", vec![text("\u{0}\u{fffd}]]>{{{"), text("{\"ok\": false}")]),
        ("none, schema", vec![fails(Failure::NoTools("m does not support tools".to_owned())), ok()]),
        ("wire", vec![calls("bash", args), fails(Failure::NoSchema("no".to_owned()))]),
        ("wire", vec![calls("bash", args), fails(broken())]),
        ("not known", vec![thinks(&[])]),
        ("gone", vec![fails(broken())]),
        ("none", vec![Reply::Endless("la "), Reply::Endless("la ")]),
        (
            "text (json)",
            vec![Reply::Endless("{\"name\": \"bash\", \"arguments\": {}}\n"), Reply::Endless("{")],
        ),
        ("none", vec![Reply::Stalls("Well"), Reply::Stalls("{")]),
    ];
    for (want, replies) in table {
        let (outcome, _) = asked(replies).await;
        assert_eq!(shown(&outcome), want);
    }
}

#[tokio::test]
async fn two_requests_and_their_replies_stay_below_200_tokens() {
    let json = "```json\n{\n  \"name\": \"bash\",\n  \"arguments\": {\n    \"command\": \"ls\"\n  }\n}\n```";
    let (_, prompts) = asked(vec![text(json), text("{\"ok\": true}")]).await;
    let [call, schema] = &prompts[..] else { panic!("two requests") };
    assert_eq!((call.tools.len(), &call.answer), (1, &None));
    assert!(schema.tools.is_empty() && schema.answer.is_some());
    let most = |prompt: &Prompt| prompt.body["max_tokens"].as_u64().unwrap();
    assert!(most(call) <= 64 && most(schema) <= 16);
    assert!(prompts.iter().all(|prompt| prompt.body["temperature"] == 0));
    let sent: usize = prompts.iter().map(crate::harness::tokens).sum();
    let came = json.len().div_ceil(4) + most(&prompts[1]) as usize;
    assert!(sent + came < 200, "{sent} + {came}");
}

#[test]
fn a_memory_that_cannot_be_read_is_none() {
    use super::memory::{Asked, Memory, Record, mark};
    let dir = tempfile::tempdir().unwrap();
    let memory = Memory::new(dir.path(), "http://127.0.0.1:8080/v1", "m");
    let fresh = memory.read();
    let probed = Probed { calls: Calls::Text, form: Some("json".to_owned()), schema: true, thinking: None };
    let mut kept: Record = fresh.clone();
    kept.window = Some(8192);
    kept.asked = Some(Asked { mark: "a".to_owned(), probed: Some(probed) });
    memory.write(&kept).unwrap();
    assert_eq!(memory.read(), kept);
    assert_eq!(Memory::new(dir.path(), "http://127.0.0.1:8080/", "m").read(), kept, "the same server");
    for (url, model) in [("http://127.0.0.1:8081/v1", "m"), ("http://127.0.0.1:8080/v1", "n")] {
        assert_eq!(Memory::new(dir.path(), url, model).read().asked, None);
    }
    let files = || std::fs::read_dir(dir.path().join("models")).unwrap().flatten().map(|entry| entry.path());
    let path = files().next().unwrap();
    assert_eq!(files().count(), 1, "nothing is left over");
    let text = std::fs::read_to_string(&path).unwrap();
    let old = text.replace("\"version\":1", "\"version\":0");
    for bad in ["", "{", "[]", "\u{0}", &old, &text[..text.len() - 1], &"x".repeat(1 << 20)] {
        std::fs::write(&path, bad).unwrap();
        assert_eq!(memory.read(), fresh);
    }
    memory.write(&kept).unwrap();
    assert_eq!(memory.read(), kept, "and it is written anew");
    assert_ne!(mark("a", crate::model::WireKind::Chat), mark("b", crate::model::WireKind::Chat));
}
