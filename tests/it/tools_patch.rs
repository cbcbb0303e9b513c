//! Each folder of `tests/fixtures/patch` is a test: the files of `input`, `patch.txt`, the files of
//! `expected`, and `says`, what the model reads. Without `expected` nothing may change.

use std::collections::BTreeMap;
use std::path::Path;

use tack::model::{Action, State};

use crate::tools_kit::{Bench, cases, expect_text};

fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let walk = ignore_nothing(folder);
    for path in walk {
        let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
        files.insert(name, std::fs::read(&path).unwrap());
    }
    files
}

fn ignore_nothing(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { ignore_nothing(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn fixtures_of_patch() {
    for case in cases("patch") {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let bench = Bench::new();
        let input = tree(&case.join("input"));
        for (file, bytes) in &input {
            bench.put(file, bytes);
        }
        let text = std::fs::read_to_string(case.join("patch.txt")).unwrap();
        let outcome = bench.run(&Action::Patch { text }).await;
        let refused = !case.join("expected").is_dir();
        let state = if refused { State::Failed } else { State::Ok };
        assert_eq!(outcome.state, state, "{name}: {}", outcome.text);
        let wanted = if refused { input } else { tree(&case.join("expected")) };
        assert_eq!(tree(&bench.cwd), wanted, "{name}");
        expect_text(&case.join("says"), &outcome.text);
    }
}

#[tokio::test]
async fn a_patch_that_a_file_lost_meanwhile_refuses_is_not_half_done() {
    let bench = Bench::new().file("a", "1\n").file("b", "1\n");
    bench.run(&crate::tools_kit::read("b")).await;
    bench.put("b", "changed by somebody\n1\n");
    let text =
        "*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** Update File: b\n@@\n-1\n+2\n*** End Patch\n";
    let outcome = bench.run(&Action::Patch { text: text.into() }).await;
    assert_eq!(outcome.state, State::Failed);
    assert_eq!(outcome.data["error"], "changed");
    assert_eq!(bench.bytes("a"), b"1\n");
}
