//! Unified diffs on real files, and finding files and folders.

use tack::model::{Action, NewText, Outcome, State};

use super::tools_kit::Bench;

fn diff(text: &str) -> Action {
    Action::Diff { text: text.into(), files: vec![], path: None, fuzz: None, create: false }
}

async fn apply(bench: &Bench, text: &str) -> Outcome {
    bench.run(&diff(text)).await
}

#[tokio::test]
async fn a_diff_changes_adds_moves_and_deletes() {
    let bench = Bench::new().file("a.py", "x = 1\r\ny = 2\r\n").file("old", "gone\n").file("from", "same\n");
    let text = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 3\n y = 2\n\
                --- /dev/null\n+++ b/new/b\n@@ -0,0 +1 @@\n+hi\n\\ No newline at end of file\n\
                --- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\
                diff --git a/from b/to\nrename from from\nrename to to\n";
    let outcome = apply(&bench, text).await;
    assert_eq!(outcome.state, State::Ok, "{}", outcome.text);
    assert_eq!(outcome.text, "updated a.py\nadded new/b\ndeleted old\nmoved from to to");
    assert_eq!(bench.bytes("a.py"), b"x = 3\r\ny = 2\r\n");
    assert_eq!(bench.bytes("new/b"), b"hi");
    assert_eq!(bench.bytes("to"), b"same\n");
    assert!(!bench.exists("old") && !bench.exists("from"));
    let kinds: Vec<&str> =
        outcome.data["files"].as_array().unwrap().iter().map(|f| f["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["update", "add", "delete", "move"]);
}

#[tokio::test]
async fn a_diff_that_does_not_fit_changes_nothing() {
    let good = "--- a\n+++ a\n@@ -1 +1 @@\n-one\n+1\n";
    let table = [
        ("--- b\n+++ b\n@@ -1 +1 @@\n-other\n+2\n", "no_match"),
        ("--- b\n+++ b\n@@ -9 +9 @@\n-two\n+2\n", "ambiguous"),
        ("--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n", "exists"),
        ("--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-two\n", "no_match"),
        ("--- c\n+++ c\n@@ -1 +1 @@\n-two\n+2\n", "not_found"),
        ("--- a\n+++ a\n@@ -2 +2 @@\n-x\n+y\n", "bad_patch"),
        ("--- b\n+++ b\n@@ -1 +1 @@\noops\n", "bad_patch"),
    ];
    let mut said = String::new();
    for (bad, error) in table {
        let bench = Bench::new().file("a", "one\n").file("b", "two\ntwo\n");
        let outcome = apply(&bench, &format!("{good}{bad}")).await;
        assert_eq!(
            (outcome.state, &outcome.data["error"]),
            (State::Failed, &error.into()),
            "{}",
            outcome.text
        );
        assert_eq!(
            (bench.bytes("a"), bench.bytes("b")),
            (b"one\n".to_vec(), b"two\ntwo\n".to_vec()),
            "{bad}"
        );
        said += &format!("{error}: {}\n", outcome.text);
    }
    insta::assert_snapshot!(said);
}

#[tokio::test]
async fn whole_texts_a_path_and_a_missing_file() {
    let bench = Bench::new().file("a", "one\n").file("b", "two\n");
    let files = vec![
        NewText { path: "b".into(), text: "2\n".into() },
        NewText { path: "c/d".into(), text: "3\n".into() },
    ];
    let both = Action::Diff {
        text: "@@ -1 +1 @@\n-one\n+1\n".into(),
        files,
        path: Some("a".into()),
        fuzz: None,
        create: false,
    };
    assert_eq!(bench.run(&both).await.text, "updated a\noverwrote b\nadded c/d");
    assert_eq!([bench.bytes("a"), bench.bytes("b"), bench.bytes("c/d")].concat(), b"1\n2\n3\n");
    let lines = "--- e\n+++ e\n@@ -0,0 +1,2 @@\n+x\n+y\n".to_owned();
    let create = |create| Action::Diff { text: lines.clone(), files: vec![], path: None, fuzz: None, create };
    assert_eq!(bench.run(&create(false)).await.data["error"], "not_found");
    assert_eq!(bench.run(&create(true)).await.text, "added e");
    assert_eq!(bench.bytes("e"), b"x\ny\n");
    let nothing = bench.run(&diff("")).await;
    assert_eq!((nothing.state, &nothing.data["error"]), (State::Failed, &"bad_patch".into()));
}

#[tokio::test]
async fn files_are_found_by_half_a_name() {
    let bench = Bench::new()
        .file("src/shopping_cart.rs", "")
        .file("src/cart.rs", "")
        .file("docs/cart.md", "")
        .file(".gitignore", "out\n")
        .file("out/cart.rs", "")
        .file("main.py", "");
    let find = |query: &str, endings: &[&str], ignore: &[&str]| Action::Find {
        query: query.into(),
        path: None,
        limit: Some(2),
        endings: endings.iter().map(|e| (*e).to_owned()).collect(),
        ignore: ignore.iter().map(|e| (*e).to_owned()).collect(),
    };
    let outcome = bench.run(&find("cart", &[], &[])).await;
    assert_eq!(
        outcome.text,
        "src/cart.rs\ndocs/cart.md\n[the likest 2 of 3 files; narrow the pattern or the path]"
    );
    let first = &outcome.data["matches"][0];
    assert_eq!(
        (&first["path"], &first["name"], &first["score"]),
        (&"src/cart.rs".into(), &"cart.rs".into(), &0.95.into())
    );
    assert_eq!(bench.run(&find("Cart", &["md"], &[])).await.text, "docs/cart.md");
    assert_eq!(bench.run(&find("cart", &[".rs"], &["shop*"])).await.text, "src/cart.rs");
    assert_eq!(bench.run(&find("crt", &[], &["src", "docs"])).await.text, "no file's name is like crt");
    assert_eq!(bench.run(&find(" ", &[], &[])).await.data["error"], "bad_pattern");
}

#[tokio::test]
async fn several_levels_of_folders() {
    let bench = Bench::new()
        .file("src/deep/er/x", "")
        .file("src/main.rs", "")
        .file("README", "")
        .file(".gitignore", "out\n")
        .file("src/out/x", "");
    std::os::unix::fs::symlink("..", bench.cwd.join("src/up")).unwrap();
    let list = |depth| Action::List { path: String::new(), ignore: vec![], depth };
    assert_eq!(bench.run(&list(None)).await.text, "src/\n.gitignore\nREADME");
    let outcome = bench.run(&list(Some(3))).await;
    assert_eq!(outcome.text, "src/\n  deep/\n    er/\n  up/\n  main.rs\n.gitignore\nREADME\n[1 ignored]");
    assert_eq!(outcome.data["entries"][2], serde_json::json!({ "name": "src/deep/er", "dir": true }));
}
