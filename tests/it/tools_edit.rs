//! Each folder of `tests/fixtures/edit` is a test: `before`, `edit.json` and `after`, compared as
//! bytes, and `says`, what the model reads. Where there is no `after`, the edit has to be refused.

use tack::model::{Action, State};

use crate::tools_kit::{Bench, cases, expect_text};

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
