//! What is sent, when and how, from prompt to wire: masks, conditions that change after replies that
//! came to nothing, how hard to think, how long the context may grow. Over the real loop, in-process,
//! so that a test can say what is known of the model.

use std::sync::Arc;

use serde_json::{Value, json};
use tack::agent::End;
use tack::harness::{Library, sample_model};
use tack::model::{Calls, Model, Probed, WireKind};

use crate::agent_kit::Run;
use crate::kit::{on_every_wire, wire};
use crate::server::*;
use crate::tools_kit;

/// A model at a local server, of which trying it out showed this.
fn model(probed: Option<Probed>) -> Model {
    Model { provider: "mock".into(), name: "m".into(), wire: wire(), local: true, probed, ..sample_model() }
}

fn probed(schema: bool) -> Option<Probed> {
    Some(Probed { calls: Calls::Wire, form: None, schema, thinking: None })
}

/// Runs the prompts, each to the end of its turn; gives the last one's end and all that was warned of.
async fn play(server: &Server, manifest: &str, model: Model, prompts: &[&str]) -> (End, Vec<String>) {
    let asked: Vec<_> = prompts.iter().map(|prompt| (*prompt, None)).collect();
    play_formed(server, manifest, model, &asked).await
}

/// The same, with a schema for a turn's last message.
async fn play_formed(
    server: &Server,
    manifest: &str,
    model: Model,
    prompts: &[(&str, Option<&str>)],
) -> (End, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("mine")).unwrap();
    std::fs::write(dir.path().join("mine/harness.toml"), manifest).unwrap();
    let harness = Library::new(vec![dir.path().to_owned()]).get("mine").unwrap_or_else(|e| panic!("{e}"));
    let bench = tools_kit::Bench::new().file("long.txt", long());
    Run { bench: &bench, server, harness, model, check: Default::default() }.turns(prompts).await
}

fn long() -> String {
    (1..=60).map(|n| format!("line {n} of a file that is long\n")).collect()
}

/// A reply that reads the file, each another part of it.
fn read(nth: usize) -> Reply {
    calls(&format!("c{nth}"), "read", &part(nth))
}

fn part(nth: usize) -> Value {
    json!({"path": "long.txt", "offset": nth + 1, "limit": 40})
}

on_every_wire! { async:
    old_results_are_masked_in_blocks_and_every_call_stays_answered,
}

async fn old_results_are_masked_in_blocks_and_every_call_stays_answered() {
    let server = Server::start((0..8).map(read).collect());
    let manifest = "schema = 1\nextends = \"minimal\"\n[context]\nresults = 2\nblock = 3\n";
    let (end, _) = play(&server, manifest, model(None), &["look"]).await;
    assert_eq!(end, End::Completed { message: Some("ok".into()) });
    let requests = server.requests();
    assert_eq!(requests.len(), 9);
    let masked: Vec<usize> = requests.iter().map(|r| r.said().matches("[no longer shown").count()).collect();
    assert_eq!(masked, [0, 0, 0, 0, 0, 3, 3, 3, 6]);
    for pair in requests.windows(2) {
        let [before, now] = [&pair[0], &pair[1]].map(|request| request.chat()["messages"].clone());
        let (before, now) = (before.as_array().unwrap(), now.as_array().unwrap());
        let grew = plain(now).starts_with(&plain(before));
        let border =
            pair[0].said().matches("[no longer").count() != pair[1].said().matches("[no longer").count();
        assert_eq!(grew, !border);
    }
    let last = requests[8].said();
    assert!(last.contains("of read long.txt]") && last.matches("line 20 of").count() == 2, "{last}");
}

/// What the model still has is not sent again where the manifest says so; what was masked is.
#[tokio::test]
async fn what_was_masked_can_be_read_again() {
    let masking = "[context]\nresults = 2\nblock = 3\n";
    for (more, whole) in [(masking, true), ("", false)] {
        let again = [0, 1, 2, 3, 4, 0].into_iter().enumerate();
        let read = |(nth, place)| calls(&format!("c{nth}"), "read", &part(place));
        let server = Server::start(again.map(read).collect());
        let manifest = format!("schema = 1\nextends = \"minimal\"\n[read]\nonce = true\n{more}");
        play(&server, &manifest, model(None), &["look"]).await;
        let last = server.requests()[6].body["messages"].as_array().unwrap().last().unwrap().to_string();
        assert_eq!(last.contains("line 20 of"), whole, "{last}");
    }
}

/// The messages without the marks for the prompt cache, which move.
fn plain(messages: &[Value]) -> Vec<String> {
    messages
        .iter()
        .map(|message| message.to_string().replace(",\"cache_control\":{\"type\":\"ephemeral\"}", ""))
        .collect()
}

const AGAIN: &str = r#"
schema = 1
extends = "minimal"
[dialect]
salvage = ["hermes"]
[request]
temperature = 0
[loop]
forget = "corrected"
retries = 4
[[again]]
body = { temperature = 0.4 }
[[again]]
schema = true
[[again]]
body = { temperature = 0.7 }
"#;
const MALFORMED: &str = "<tool_call>{\"name\": \"bash\", \"arguments\": </tool_call>";
const CALL: &str = "{\"name\": \"bash\", \"arguments\": {\"command\": \"echo made\"}}";

/// Temperature, whether tools are offered, whether the reply is held to a schema.
fn conditions(server: &Server) -> Vec<(f64, bool, bool)> {
    let one = |request: &Request| {
        let body = &request.body;
        let has = |key| body.get(key).is_some();
        (body["temperature"].as_f64().unwrap(), has("tools"), has("response_format"))
    };
    server.requests().iter().map(one).collect()
}

#[tokio::test]
async fn malformed_replies_change_the_conditions_until_one_can_be_used() {
    let server = Server::start(vec![says(MALFORMED), says(MALFORMED), says(CALL), says("done")]);
    let (end, warned) = play(&server, AGAIN, model(probed(true)), &["make it"]).await;
    assert_eq!(end, End::Completed { message: Some("done".into()) });
    assert_eq!(warned, [""; 0]);
    let usual = (0.0, true, false);
    assert_eq!(conditions(&server), [usual, (0.4, true, false), (0.0, false, true), usual]);
    let requests = server.requests();
    let schema = &requests[2].body["response_format"]["json_schema"]["schema"];
    assert_eq!(schema["oneOf"][0]["properties"]["name"], json!({"const": "bash"}));
    // What failed has left, and the call that came as text is a call.
    let last = requests[3].said();
    assert!(!last.contains("<tool_call>") && last.contains("\"tool_calls\""), "{last}");
    assert!(last.contains("made"), "{last}");
    assert!(requests[2].said().contains("<tool_call>"));
}

#[tokio::test]
async fn a_server_that_refuses_the_schema_is_not_asked_again() {
    let server =
        Server::with(vec![says(MALFORMED), says(MALFORMED), says(MALFORMED), says("done")], |request| {
            let asked = request.body.get("response_format");
            asked.map(|_| error(400, "Failed to initialize samplers: failed to parse grammar"))
        });
    let (end, warned) = play(&server, AGAIN, model(probed(true)), &["make it"]).await;
    assert_eq!(end, End::Completed { message: Some("done".into()) });
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("no longer held to a schema"), "{warned:?}");
    let usual = (0.0, true, false);
    let (second, last) = ((0.4, true, false), (0.7, true, false));
    assert_eq!(conditions(&server), [usual, second, (0.0, false, true), last, last]);
}

/// The schema of the calls is for a call, the user's for the last message.
#[tokio::test]
async fn each_schema_goes_with_the_request_it_is_for() {
    let form = r#"{"type":"object","properties":{"city":{"const":"Oslo"}},"required":["city"]}"#;
    let city = "{\"city\":\"Oslo\"}";
    let manifest = AGAIN.replace("body = { temperature = 0.4 }", "schema = true");
    let server = Server::start(vec![says(MALFORMED), says(CALL), says("It is Oslo."), says(city)]);
    let (end, _) = play_formed(&server, &manifest, model(probed(true)), &[("which?", Some(form))]).await;
    assert_eq!(end, End::Completed { message: Some(city.into()) });
    let schemas: Vec<Value> = server
        .requests()
        .iter()
        .map(|r| r.body["response_format"]["json_schema"]["schema"].clone())
        .collect();
    assert!(schemas[0].is_null() && schemas[1]["oneOf"].is_array() && schemas[2].is_null(), "{schemas:?}");
    assert_eq!(schemas[3]["required"], json!(["city"]));
}

#[tokio::test]
async fn a_schema_is_not_tried_where_nobody_knows_that_it_holds() {
    let server = Server::start(vec![says(MALFORMED), says(MALFORMED), says("done")]);
    play(&server, AGAIN, model(probed(false)), &["make it"]).await;
    assert_eq!(conditions(&server), [(0.0, true, false), (0.4, true, false), (0.7, true, false)]);
}

const EFFORT: &str =
    "schema = 1\nextends = \"minimal\"\n[thinking]\neffort = \"off\"\neffort_first = \"high\"\n";

fn efforts(server: &Server) -> Vec<Option<String>> {
    let word =
        |request: &Request| request.body.get("reasoning_effort").map(|word| word.as_str().unwrap().into());
    server.requests().iter().map(word).collect()
}

#[tokio::test]
async fn a_model_that_thinks_is_told_how_hard_and_others_are_not() {
    let some = |words: &[&str]| words.iter().map(|word| Some((*word).to_owned())).collect::<Vec<_>>();
    let thinks = Some(Probed { thinking: Some("reasoning".into()), ..Probed::default() });
    let script = || vec![read(0), read(1), says("done")];
    let server = Server::start(script());
    play(&server, EFFORT, model(thinks.clone()), &["look", "again"]).await;
    assert_eq!(efforts(&server), some(&["high", "none", "none", "high"]));
    // The user's word wins.
    let server = Server::start(script());
    let user = Model { effort: Some("medium".into()), ..model(thinks) };
    play(&server, EFFORT, user, &["look"]).await;
    assert_eq!(efforts(&server), some(&["medium", "medium", "medium"]));
    for silent in [model(None), model(probed(true))] {
        let server = Server::start(script());
        play(&server, EFFORT, silent, &["look"]).await;
        assert_eq!(efforts(&server), [None, None, None]);
    }
}

#[tokio::test]
async fn a_service_that_refuses_to_hear_of_thinking_is_not_told_again() {
    for refusal in [
        "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
        "\"m\" does not support thinking",
        "unknown field: reasoning_effort",
    ] {
        let server = Server::with(vec![read(0), says("done")], move |request| {
            request.body.get("reasoning_effort").map(|_| error(400, refusal))
        });
        let hosted = Model { local: false, ..model(None) };
        let (end, _) = play(&server, EFFORT, hosted, &["look"]).await;
        assert_eq!(end, End::Completed { message: Some("done".into()) });
        assert_eq!(efforts(&server), [Some("high".to_owned()), None, None], "{refusal}");
    }
}

/// A reply that read the file, after which the server counted so many tokens.
fn counted(nth: usize, tokens: u64) -> Reply {
    sse([
        call(0, &format!("c{nth}"), "read", &part(nth).to_string()),
        end("tool_calls"),
        usage(tokens, 1),
        done(),
    ])
}

#[tokio::test]
async fn the_context_is_kept_as_short_as_the_harness_wants_it_but_never_at_the_price_of_the_turn() {
    let manifest = "schema = 1\nextends = \"minimal\"\n[context]\ntokens = 1000\n";
    let says_sum = || sse([txt("the summary"), end("stop"), usage(10, 1), done()]);
    let server = Server::start(vec![counted(0, 900), says_sum(), says("done")]);
    let (end, warned) = play(&server, manifest, model(None), &["look"]).await;
    assert_eq!(end, End::Completed { message: Some("done".into()) });
    assert_eq!((server.requests().len(), warned.len()), (3, 0));
    let [before, asks] = [0, 1].map(|nth| server.requests()[nth].body.clone());
    assert_eq!(before["tools"], asks["tools"], "what the server has read is read once");
    assert!(server.requests()[2].said().contains("the summary"));

    // Full at once after each summary, or no summary to be had: on with all of it, and no loop.
    for (sum, summaries) in [("the summary", 2), ("", 8)] {
        let summed = Arc::new(std::sync::Mutex::new(0));
        let count = summed.clone();
        let ids = (0..12).map(|n| counted(n, 5000));
        let server = Server::with(ids.chain([says("done")]).collect(), move |request| {
            request.said().contains("Write a summary").then(|| {
                *count.lock().unwrap() += 1;
                says(sum)
            })
        });
        let (end, warned) = play(&server, manifest, model(None), &["look"]).await;
        assert_eq!(end, End::Completed { message: Some("done".into()) });
        assert_eq!(*summed.lock().unwrap(), summaries, "{warned:?}");
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(warned[0].contains("going on with all of it"), "{warned:?}");
    }
}

#[tokio::test]
async fn what_masks_take_away_counts() {
    // Each result is about 310 tokens: with two of them whole and the rest in lines it never fills.
    let manifest = "schema = 1\nextends = \"minimal\"\n[context]\ntokens = 3000\nresults = 2\nblock = 1\n";
    let server = Server::start((0..12).map(read).collect());
    play(&server, manifest, model(None), &["look"]).await;
    assert!(server.requests().iter().all(|request| request.body.get("tools").is_some()));
    let unmasked = "schema = 1\nextends = \"minimal\"\n[context]\ntokens = 3000\n";
    let server = Server::start((0..12).map(read).collect());
    play(&server, unmasked, model(None), &["look"]).await;
    assert!(server.requests().iter().any(|request| request.body.get("tools").is_none()));
    assert_eq!(wire(), WireKind::Chat);
}
