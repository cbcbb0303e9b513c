//! More of what a person may answer, over the real loop.
#![allow(clippy::unwrap_used)]

use serde_json::json;
use tack::agent::{Answer, Request, Risk, Scope, SessionMode, What};
use tack::harness::{Harness, Saying, sample_model};
use tack::model::{Body, Decision, Item, Model, Outcome, Part, State, WireKind};
use tack::sandbox::Lift;
use tack::wire::{self, provider::Quirks};

use crate::harness_kit::{Session, call, in_words_of};
use crate::matrix::{WIRES, all};
use crate::permit::{Project, bash, nobody, once, told};
use crate::server::{Reply, Server, calls, says};

fn edit(id: &str, old: &str, new: &str) -> Reply {
    calls(id, "edit", &json!({ "path": "a", "oldText": old, "newText": new }))
}

#[test]
fn an_edit_is_made_as_the_person_changed_it() {
    let Some(project) = Project::new(SessionMode::Ask) else { return };
    let file = project.cell.proj.join("a");
    // What is answered, what is done meanwhile, and how the call ends.
    let some = |text: &str| vec![Some(text.to_owned())];
    for (texts, meanwhile, state, says, left) in [
        (some("one\nmine\n"), None, State::Ok, "The user changed this edit", "one\nmine\n"),
        (some("one\ntwo\n"), None, State::Ok, "left as it is", "one\ntwo\n"),
        (some("mine\n"), Some("theirs\n"), State::Failed, "has changed since the user was asked", "theirs\n"),
        // Answers to another question refuse.
        (vec![None], None, State::Refused, "did not allow", "one\ntwo\n"),
        (vec![], None, State::Refused, "did not allow", "one\ntwo\n"),
    ] {
        std::fs::write(&file, "one\ntwo\n").unwrap();
        let server = Server::start(vec![edit("a", "two", "2"), says_done()]);
        let heard = project.play(&server, &["go"], &mut |requests, _| {
            let What::Edit { files } = &requests[0].what else { panic!("{:?}", requests[0].what) };
            assert_eq!(files[0].after.as_deref(), Some("one\n2\n"));
            if let Some(text) = meanwhile {
                std::fs::write(&file, text).unwrap();
            }
            Some(vec![Answer::Revised { texts: texts.clone() }])
        });
        assert_eq!(heard.states(), [state], "{texts:?}");
        assert!(told(&server).contains(says), "{}", told(&server));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), left);
        if says.starts_with("The user") {
            let told = told(&server);
            assert!(told.contains("-two") && told.contains("+mine") && !told.contains("+2"), "{told}");
            assert_eq!(heard.decided(), [Decision::Revised { files: vec!["a".into()] }]);
            let changes = heard.items.iter().find_map(|item| match &item.body {
                Body::Result(result) => Some(result.outcome.changes.clone()),
                _ => None,
            });
            assert!(changes.unwrap()[0].patch.contains("+mine"));
        }
    }
}

#[test]
fn texts_are_no_answer_to_a_command() {
    let Some(project) = Project::new(SessionMode::Ask) else { return };
    let server = Server::start(vec![bash("a", "echo x > a"), says_done()]);
    let heard = project
        .play(&server, &["go"], &mut |_, _| Some(vec![Answer::Revised { texts: vec![Some("x".into())] }]));
    assert_eq!(heard.states(), [State::Refused]);
    assert!(!project.cell.proj.join("a").exists());
}

#[test]
fn what_was_edited_lies_where_the_link_leads_only_if_the_policy_lets_it() {
    let Some(project) = Project::new(SessionMode::Ask) else { return };
    let (outside, link) = (project.other("secret"), project.cell.proj.join("a"));
    std::fs::write(&outside, "one\ntwo\n").unwrap();
    std::fs::write(&link, "one\ntwo\n").unwrap();
    let server = Server::start(vec![edit("a", "two", "2"), says_done()]);
    let heard = project.play(&server, &["go"], &mut |_, _| {
        // The file is swapped for a link while the person edits.
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        Some(vec![Answer::Revised { texts: vec![Some("mine\n".into())] }])
    });
    assert_eq!(heard.states(), [State::Refused], "{}", told(&server));
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "one\ntwo\n");
}

#[test]
fn what_starts_programs_later_is_asked_for_once_and_only_where_all_of_it_is_shown() {
    let Some(project) = Project::new(SessionMode::Edits) else { return };
    let hook = project.cell.proj.join(".git/hooks/pre-commit");
    let write = || calls("a", "write", &json!({ "path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n" }));
    let server = Server::start(vec![write(), write(), says_done()]);
    let heard = project.play(&server, &["go"], &mut |requests, _| {
        let request = &requests[0];
        assert_eq!(request.risks, [Risk::RunsLater]);
        assert!(request.why.contains("git starts programs by it"), "{}", request.why);
        let offer = &request.offers[0];
        assert_eq!(
            (request.offers.len(), offer.lifts.as_slice()),
            (1, &[Lift::Steering(hook.canonicalize().unwrap_or(hook.clone()))][..])
        );
        assert!(offer.session.is_err() && offer.always.is_err());
        Some(vec![Answer::Allow { offer: 0, scope: Scope::Session }])
    });
    assert_eq!((heard.asked.len(), heard.states()), (2, vec![State::Ok, State::Ok]), "{}", told(&server));
    assert_eq!(std::fs::read_to_string(&hook).unwrap(), "#!/bin/sh\n");
    // A command, and what nothing opens.
    let server = Server::start(vec![
        bash("a", "echo x >> .git/hooks/pre-commit; git config core.pager x"),
        calls("b", "write", &json!({ "path": ".tack/config.toml", "content": "x" })),
        calls("c", "write", &json!({ "path": ".git/commondir", "content": "x" })),
        says_done(),
    ]);
    let heard = project.play(&server, &["go"], &mut nobody);
    assert_eq!(heard.states(), [State::Failed, State::Refused, State::Refused]);
    assert_eq!(std::fs::read_to_string(&hook).unwrap(), "#!/bin/sh\n");
}

#[test]
fn a_command_that_the_network_is_lifted_for_reaches_it() {
    let Some(project) = Project::new(SessionMode::Edits) else { return };
    let listener = std::net::TcpListener::bind("127.0.0.2:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asks = format!(
        "exec 3<>/dev/tcp/127.0.0.2/{port} && echo hello >&3 && read -r said <&3 && echo \"$said $HTTPS_PROXY\"\n"
    );
    std::fs::write(project.cell.proj.join("ask.sh"), asks).unwrap();
    let answers = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 6];
        stream.read_exact(&mut asked).unwrap();
        stream.write_all(b"reached\n").unwrap();
    });
    // Without it, it does not.
    let server = Server::start(vec![bash("a", "bash ask.sh"), says_done()]);
    assert_eq!(project.play(&server, &["go"], &mut nobody).states(), [State::Failed]);
    let line = "curl --max-time 1 -s http://127.0.0.3:9; bash ask.sh";
    let server =
        Server::start(vec![bash("a", line), bash("b", "echo \"proxy: $HTTPS_PROXY.\""), says_done()]);
    let heard = project.play(&server, &["go"], &mut |requests, _| {
        assert_eq!(requests[0].offers[0].lifts, [Lift::Network]);
        once()
    });
    assert_eq!((heard.asked.len(), heard.states()), (1, vec![State::Ok, State::Ok]));
    let results: Vec<&str> = heard.items.iter().filter_map(result).collect();
    assert!(results[0].contains("reached http://proxy.example:1"), "{results:?}");
    assert!(results[1].contains("proxy: ."), "only for the one command: {results:?}");
    answers.join().unwrap();
}

/// What the model is sent after a call in the harness's own words came to this; None where it has no words for
/// the call.
async fn sent(harness: &dyn Harness, call: Part, (wire, comes): (WireKind, Outcome)) -> Option<String> {
    let model = Model { wire, ..sample_model() };
    let said = in_words_of(harness, vec![call], &model).await?;
    let mut session = Session { model, comes: Some(comes), ..Session::new() };
    session.user("go");
    session.reply(harness, said).await;
    let prompt = session.prompt(harness).await;
    Some(wire::of(wire).encode(&prompt, &session.model, &Quirks::default()).to_string())
}

#[tokio::test]
async fn what_a_person_says_reaches_the_model_in_every_dialect() {
    let command = || call("bash", json!({ "command": "ls" }));
    let edit = || call("edit", json!({ "path": "src/greet.py", "oldText": "'hi'", "newText": "'Good day'" }));
    for harness in all() {
        let mut edits = 0;
        for wire in WIRES {
            let text = harness.say(&Saying::Declined { reason: Some("use the package") });
            for call in [command(), edit()] {
                let Some(sent) = sent(&*harness, call, (wire, Outcome::refused(text.clone()))).await else {
                    continue;
                };
                let told =
                    sent.contains("The user says: use the package") && !sent.contains("go on without it");
                assert!(told, "{} {wire:?}: {sent}", harness.id());
            }
            let diff = format!("{}\n-'hi'\n+'mine'", harness.say(&Saying::Revised).trim_end());
            let made = Outcome { data: json!({ "revised": true, "files": ["a"] }), ..Outcome::ok(diff) };
            if let Some(sent) = sent(&*harness, edit(), (wire, made)).await {
                edits += 1;
                let told = sent.contains("The user changed this edit") && sent.contains("+'mine'");
                assert!(told, "{} {wire:?}: {sent}", harness.id());
            }
        }
        assert!([0, WIRES.len()].contains(&edits), "{}", harness.id());
    }
}

fn result(item: &Item) -> Option<&str> {
    match &item.body {
        Body::Result(result) => Some(&result.outcome.text),
        _ => None,
    }
}

fn says_done() -> Reply {
    says("done")
}

/// What a file in it is made for may be done once; that all of it is open from then on is no small thing.
#[test]
fn the_home_folder_is_never_opened_for_more_than_once() {
    let Some(project) = Project::new(SessionMode::Edits) else { return };
    let server =
        Server::start(vec![bash("a", "touch ~/made"), bash("b", "echo x >> ~/.bashrc"), says_done()]);
    let heard = project.play(&server, &["go"], &mut |requests, _| {
        let offer = &requests[0].offers[0];
        assert!(offer.session.is_err() && offer.always.is_err(), "{offer:?}");
        let wish =
            if requests[0].what == (What::Command { line: "touch ~/made".into(), cwd: cwd(&requests[0]) }) {
                Answer::Allow { offer: 0, scope: Scope::Session }
            } else {
                Answer::Refuse { reason: None }
            };
        Some(vec![wish])
    });
    assert_eq!(
        (heard.asked.len(), heard.states()),
        (2, vec![State::Ok, State::Refused]),
        "{}",
        told(&server)
    );
    assert!(!project.cell.home().join(".bashrc").exists());
}

fn cwd(request: &Request) -> std::path::PathBuf {
    match &request.what {
        What::Command { cwd, .. } => cwd.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_allowed_of_a_file_is_not_allowed_of_where_its_name_leads_later() {
    let Some(project) = Project::new(SessionMode::Ask) else { return };
    let (named, other) = (project.cell.proj.join("n.txt"), project.cell.proj.join("a"));
    std::fs::write(&other, "kept\n").unwrap();
    let write = |id| calls(id, "write", &json!({ "path": "n.txt", "content": "new\n" }));
    let server = Server::start(vec![
        write("a"),
        write("b"),
        bash("c", "rm n.txt; ln -s a n.txt"),
        write("d"),
        says_done(),
    ]);
    let mut asked = 0;
    let heard = project.play(&server, &["go"], &mut |requests, _| {
        asked += 1;
        match asked {
            1 => Some(vec![Answer::Allow { offer: 0, scope: Scope::Session }]),
            _ if matches!(requests[0].what, What::Command { .. }) => once(),
            _ => Some(vec![Answer::Refuse { reason: None }]),
        }
    });
    assert_eq!(heard.asked.len(), 3, "{}", told(&server));
    assert!(named.is_symlink());
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "kept\n");
}
