//! More of what a person may answer, over the real loop.
#![allow(clippy::unwrap_used)]

use serde_json::json;
use tack::agent::{Answer, SessionMode, What};
use tack::model::{Body, Decision, State};

use crate::permit::{Project, told};
use crate::server::*;

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
            meanwhile.map(|text| std::fs::write(&file, text).unwrap());
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
    let server = Server::start(vec![crate::permit::bash("a", "echo x > a"), says_done()]);
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

fn says_done() -> Reply {
    says("done")
}
