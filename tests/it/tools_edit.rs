//! Each folder of `tests/fixtures/edit` is a test: `before`, `edit.json` and `after`, compared as
//! bytes, and `says`, what the model reads. Where there is no `after`, the edit has to be refused.

use tack::model::{Action, State};

use crate::tools_kit::{Bench, cases, edit, expect_text, write};

#[tokio::test]
async fn fixtures_of_edit() {
    for case in cases("edit") {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let bench = Bench::new();
        let before = std::fs::read(case.join("before")).ok();
        if let Some(before) = &before {
            bench.put("f.txt", before);
        }
        let edits = serde_json::from_slice(&std::fs::read(case.join("edit.json")).unwrap()).expect(&name);
        let outcome = bench.run(&Action::Edit { path: "f.txt".into(), edits, first: false }).await;
        let wanted = std::fs::read(case.join("after")).ok();
        let state = if wanted.is_some() { State::Ok } else { State::Failed };
        assert_eq!(outcome.state, state, "{name}: {}", outcome.text);
        let now = std::fs::read(bench.cwd.join("f.txt")).ok();
        assert_eq!(now, wanted.or(before), "{name}");
        expect_text(&case.join("says"), &outcome.text);
    }
}

/// What a change did, as models read it that know changes by diffs.
#[tokio::test]
async fn a_change_is_known_as_a_diff() {
    let bench = Bench::new().file("a.txt", "one\ntwo\nthree\n");
    let changed = bench.run(&edit("a.txt", "two", "deux")).await;
    let diff = "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+deux\n three";
    assert_eq!(changed.data["diff"], diff);
    let over = bench.run(&write("a.txt", "one\nthree\n")).await;
    assert_eq!(over.data["diff"], "--- a.txt\n+++ a.txt\n@@ -1,3 +1,2 @@\n one\n-deux\n three");
    let new = bench.run(&write("b.txt", "one\n")).await;
    assert!(new.data["diff"].is_null(), "of a new file the text is known: {}", new.data);
    let long = "line\n".repeat(5000);
    bench.put("long.txt", format!("first\n{long}"));
    let far = bench.run(&edit("long.txt", "first", "1st")).await;
    assert!(far.state == State::Ok && far.data["diff"].is_null(), "{}", far.data);
}
