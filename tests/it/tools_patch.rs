//! Each folder of `tests/fixtures/patch` is a test: the files of `input`, `patch.txt`, the files of
//! `expected`, and `says`, what the model reads. Without `expected` nothing may change.

use std::collections::BTreeMap;
use std::path::Path;

use tack::model::{Action, State};

use crate::tools_kit::{Bench, cases, expect_text};

fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let name = |path: &Path| path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
    files(folder).iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
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
        let outcome = bench.run(&Action::Patch { text, cwd: None }).await;
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
    let outcome = bench.run(&Action::Patch { text: text.into(), cwd: None }).await;
    assert_eq!(outcome.state, State::Failed);
    assert_eq!(outcome.data["error"], "changed");
    assert_eq!(bench.bytes("a"), b"1\n");
}

#[tokio::test]
async fn a_patch_that_the_policy_forbids_in_part_changes_nothing() {
    let mut bench = Bench::new().file("a", "1\n").file("kept/b", "1\n");
    bench.policy.mode = tack::sandbox::Mode::WorkspaceWrite;
    bench.policy.protect = vec![bench.cwd.join("kept")];
    for second in [
        "*** Update File: kept/b\n@@\n-1\n+2\n",
        "*** Add File: kept/new/c\n+2\n",
        "*** Delete File: kept/b\n",
    ] {
        let text = format!("*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n{second}*** End Patch\n");
        let outcome = bench.run(&Action::Patch { text, cwd: None }).await;
        assert_eq!(outcome.state, State::Refused, "{}", outcome.text);
        assert_eq!(bench.bytes("a"), b"1\n");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_patch_that_the_disk_stops_says_what_was_applied() {
    let bench = Bench::new().file("a", "1\n").file("small/.keep", "");
    let Some(_mount) = crate::tools_kit::SmallDisk::mount(&bench.cwd.join("small")) else { return };
    let big = format!("+{}\n", "x".repeat(1000)).repeat(200);
    let text = format!(
        "*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** Add File: small/b\n{big}*** Add File: c\n+x\n*** End Patch\n"
    );
    let outcome = bench.run(&Action::Patch { text, cwd: None }).await;
    assert_eq!(outcome.state, State::Failed);
    assert!(
        outcome.text.starts_with("the patch stopped half way: small/b: No space left on device"),
        "{}",
        outcome.text
    );
    assert!(outcome.text.ends_with("Applied: updated a. Not applied: small/b, c"), "{}", outcome.text);
    assert_eq!(bench.bytes("a"), b"2\n");
    assert!(!bench.exists("small/b") && !bench.exists("c"));
}

#[tokio::test]
async fn a_patch_of_another_folder_starts_there() {
    let bench = Bench::new().file("sub/a", "1\n").file("a", "1\n");
    let text = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-1\n+2\n*** End Patch\n".to_owned();
    let outcome = bench.run(&Action::Patch { text, cwd: Some("sub".into()) }).await;
    assert_eq!((outcome.state, outcome.text.as_str()), (State::Ok, "moved sub/a to sub/b"));
    assert_eq!((bench.bytes("sub/b"), bench.bytes("a")), (b"2\n".to_vec(), b"1\n".to_vec()));
    let text = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n".to_owned();
    let here = bench.cwd.to_string_lossy().into_owned();
    assert_eq!(bench.run(&Action::Patch { text, cwd: Some(here) }).await.text, "deleted a");
}
