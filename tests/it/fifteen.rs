//! Every harness over every wire, through a whole turn of the real binary: it reads, edits, runs a
//! command that fails, makes two calls at once, slips, and ends.
//!
//! What is said is asked of the harness itself, so that one that is added is tried at once.

use serde_json::{Value, json};
use tack::harness::{Harness, Library, sample_model};
use tack::model::{Model, Part, WireKind};

use crate::harness_kit::{Session, actions, call, harness, in_words_of, sent};
use crate::kit::{Tack, on_every_wire, wire};
use crate::server::*;

on_every_wire! { a_whole_turn_under_every_harness }

const NOTES: &str = "first line\nsecond line\n";

/// The first of the ways that the harness has words for, and that it reads back as what it was.
async fn say(harness: &dyn Harness, ways: &[&[(&str, Value)]], model: &Model) -> Vec<Part> {
    for way in ways {
        let parts: Vec<Part> = way.iter().map(|(name, args)| call(name, args.clone())).collect();
        let Some(said) = in_words_of(harness, parts.clone(), model).await else { continue };
        if !actions(harness, said.clone(), model).await.is_empty() {
            return said;
        }
    }
    // Its only way to act is to type.
    let [(_, args), ..] = ways.last().unwrap() else { panic!("no way") };
    let keys = format!("{}\n", args["command"].as_str().unwrap());
    let typed = json!({"analysis": "", "plan": "", "commands": [{"keystrokes": keys, "duration": 1}]});
    vec![Part::Text { text: typed.to_string() }]
}

/// A call that was cut in the middle, or what its like is where calls are text.
async fn slip(harness: &dyn Harness, model: &Model) -> Vec<Part> {
    let mut session = Session { model: model.clone(), ..Session::new() };
    session.user("go");
    let tools = session.prompt(harness).await.tools;
    let Some(tool) = tools.first() else { return vec![Part::Text { text: "{\"commands\": [".to_owned() }] };
    let mut cut = call(&tool.name, json!({}));
    if let Part::Call(call) = &mut cut {
        call.args = "{\"command\": \"l".to_owned();
    }
    vec![cut]
}

/// How a session ends that does not end with words.
fn endings(id: &str) -> Vec<Vec<Part>> {
    let text = |text: &str| vec![Part::Text { text: text.to_owned() }];
    let flag = json!({"analysis": "", "plan": "", "commands": [], "task_complete": true}).to_string();
    match id {
        "local" => vec![vec![call("finish", json!({"answer": "It is done."}))]],
        "mini-swe-agent" => {
            vec![vec![call(
                "bash",
                json!({"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo It is done."}),
            )]]
        }
        "swe-agent" => vec![text("Done.\n\n```\nsubmit\n```"); 2],
        "terminus-2" => vec![text(&flag); 2],
        _ => vec![text("It is done.")],
    }
}

fn a_whole_turn_under_every_harness() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for id in Library::new(Vec::new()).ids() {
        runtime.block_on(one(&id, wire()));
    }
}

async fn one(id: &str, wire: WireKind) {
    let harness = harness(id);
    let model = Model { wire, ..sample_model() };
    let cat = |file: &str| ("bash", json!({"command": format!("cat {file}")}));
    let read = ("read", json!({"path": "notes.txt"}));
    let edit = ("edit", json!({"path": "notes.txt", "oldText": "second", "newText": "other"}));
    let sed = ("bash", json!({"command": "sed -i s/second/other/ notes.txt"}));
    let fails = ("bash", json!({"command": "cat nowhere-at-all; (exit 3)"}));
    let mut said = vec![
        say(&*harness, &[std::slice::from_ref(&read), &[cat("notes.txt")]], &model).await,
        say(&*harness, &[&[edit], &[sed]], &model).await,
        say(&*harness, &[&[fails]], &model).await,
        slip(&*harness, &model).await,
        say(
            &*harness,
            &[
                &[read.clone(), ("read", json!({"path": "b.txt"}))],
                &[cat("notes.txt"), cat("b.txt")],
                &[cat("b.txt")],
            ],
            &model,
        )
        .await,
    ];
    let both = said[4].iter().filter(|part| matches!(part, Part::Call(_))).count() != 1;
    said.extend(endings(id));
    let script: Vec<Reply> = said.iter().enumerate().map(|(nth, parts)| sent(nth, parts, 10)).collect();
    let server = Server::start(script);
    let tack = Tack::new(&server);
    tack.file("notes.txt", NOTES);
    tack.file("b.txt", "of b\n");
    let ran = tack.run(["--harness", id, "-p", "work"]);

    let place = format!("{id} over {}", wire.name());
    let requests = server.requests();
    let seen: Vec<String> = requests.iter().map(crate::server::Request::said).collect();
    assert_eq!(ran.code, 0, "{place}: {}\n{seen:#?}", ran.stderr);
    assert_eq!(requests.len(), said.len(), "{place}: {seen:#?}");
    assert_eq!(tack.read("notes.txt"), "first line\nother line\n", "{place}");
    assert!(seen[1].contains("second line"), "{place}: what was read is not told: {}", seen[1]);
    assert!(seen[3].contains("nowhere-at-all: No such file"), "{place}: no failure is told: {}", seen[3]);
    assert!(seen[4].len() > seen[3].len(), "{place}: nothing is said of the slip");
    assert!(seen[5].contains("of b") && (!both || seen[5].contains("other line")), "{place}: {}", seen[5]);
}
