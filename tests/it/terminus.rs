//! The harness `terminus-2` through whole turns of the real binary, its keys typed into a real terminal.

use serde_json::{Value, json};
use tack::model::{Body, Part};

use crate::harness_kit::{Session, harness, messages};
use crate::kit::{Tack, on_every_wire};
use crate::server::*;

on_every_wire! {
    a_whole_turn_of_keys_corrections_and_two_words_that_it_is_done,
    a_session_goes_over_to_another_harness_and_back,
}

fn object(analysis: &str, keys: &[&str], done: bool) -> String {
    let commands: Vec<Value> = keys.iter().map(|keys| json!({"keystrokes": keys, "duration": 0.5})).collect();
    json!({"analysis": analysis, "plan": "", "commands": commands, "task_complete": done}).to_string()
}

fn last_message(request: &Request) -> String {
    let all = request.chat()["messages"].clone();
    let last = all.as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["role"], "user");
    last["content"].as_str().unwrap().to_owned()
}

fn a_whole_turn_of_keys_corrections_and_two_words_that_it_is_done() {
    let chatty =
        format!("I type it.\n{}", object("I make it.", &["echo ma''de > a.txt\n", "cat a.txt\n"], false));
    let script = vec![
        says("I look around first."),
        says("{\"analysis\": \"a\", \"plan\": \"p\", \"commands\": [{\"keys\": 1}]}"),
        says(&chatty),
        says(&object("It is there.", &[], true)),
        says(&object("It is there indeed.", &[], true)),
    ];
    let server = Server::start(script);
    let tack = Tack::new(&server);
    let ran = tack.run(["-p", "make a.txt", "--harness", "terminus-2"]).code(0);
    assert_eq!(ran.stdout, "It is there indeed.\n");
    assert_eq!(tack.read("a.txt"), "made\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 5);
    for request in &requests {
        assert!(request.body.get("tools").is_none() && request.body.get("system").is_none());
        valid_history(&request.chat()).unwrap();
    }
    assert!(last_message(&requests[0]).contains("make a.txt"));
    assert!(
        last_message(&requests[1])
            .starts_with("Previous response had parsing errors:\nERROR: There was no JSON")
    );
    assert!(last_message(&requests[2]).contains("lacks `keystrokes`"), "{}", last_message(&requests[2]));
    let seen = last_message(&requests[3]);
    assert!(
        seen.starts_with("Previous response had warnings:\n- Extra text before the JSON object"),
        "{seen}"
    );
    assert!(seen.contains("New Terminal Output:") || seen.contains("Current Terminal Screen:"), "{seen}");
    assert!(seen.contains("\nmade"), "{seen}");
    assert!(last_message(&requests[4]).contains("answer once more with `\"task_complete\": true`"));
    // Word for word.
    let said = requests[4].chat()["messages"].clone();
    let words: Vec<&str> = said.as_array().unwrap().iter().filter_map(|m| m["content"].as_str()).collect();
    assert!(words.contains(&chatty.as_str()), "{words:?}");
}

fn a_session_goes_over_to_another_harness_and_back() {
    let server = Server::start(vec![
        calls("c1", "bash", &json!({"command": "echo by-command"})),
        says("so it is"),
        says(&object("Once more.", &["echo by-k''eys\n"], false)),
        says(&object("Seen.", &[], true)),
        says(&object("Seen.", &[], true)),
        says("over"),
    ]);
    let tack = Tack::new(&server);
    tack.run(["exec", "--harness", "minimal", "one"]).code(0);
    for (prompt, harness) in [("two", "terminus-2"), ("three", "minimal")] {
        tack.run(["exec", "resume", "--last", "--harness", harness, prompt]).code(0);
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 6);
    requests.iter().for_each(|request| valid_history(&request.chat()).unwrap());
    let taken = requests[2].chat()["messages"].clone();
    let typed = |message: &Value| {
        let object: Value = serde_json::from_str(message["content"].as_str()?).ok()?;
        Some(object["commands"][0]["keystrokes"].as_str()?.to_owned())
    };
    let typed: Vec<String> = taken.as_array().unwrap().iter().filter_map(typed).collect();
    assert_eq!(typed, ["echo by-command\n"], "{taken}");
    assert!(!taken.to_string().contains("tool_calls"), "{taken}");
    let back = requests[5].said();
    assert!(back.contains("tool_calls") && back.contains("Once more.") && back.contains("by-keys"), "{back}");
    assert!(!back.contains("commands"), "no JSON in what the model said: {back}");
}

#[tokio::test]
async fn an_observation_is_cut_as_a_whole() {
    let harness = harness("terminus-2");
    let mut session = Session::new();
    session.user("Count.");
    let said = object("Twice.", &["seq 1001 2200\n", "seq 3001 4200\n"], false);
    session.reply(&*harness, vec![Part::Text { text: said }]).await;
    let mut texts = [("1001", "2200"), ("3001", "4200")]
        .map(|(first, last)| format!("{first}\n{}{last}", "ääää\n".repeat(700)))
        .into_iter();
    for item in &mut session.items {
        if let Body::Result(result) = &mut item.body {
            result.shown = vec![Part::Text { text: texts.next().unwrap() }];
        }
    }
    let seen = messages(&session.prompt(&*harness).await.messages[2..]);
    assert!(seen.contains("1001") && seen.contains("4200") && !seen.contains("3001"), "{seen}");
    assert_eq!(seen.matches("[... output limited to 10000 bytes;").count(), 1, "{seen}");
    assert!(seen.len() < 10_200, "{} bytes", seen.len());
}
