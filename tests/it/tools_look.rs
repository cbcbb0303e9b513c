//! What known clients ask of searches, globs, reads, writes and edits beyond the plain.

use tack::model::{Action, Edit, Glob, Grep, Keep, Limits, Read, Show, State, TodoItem, WriteMode};

use crate::tools_kit::Bench;

fn project() -> Bench {
    Bench::new()
        .file(".gitignore", "target\n")
        .file("a.rs", "one\nfn total() {\n    1\n}\ntwo\nfn total_2() {}\n")
        .file("b.py", "total = 1\ntotal += 1\n")
        .file("target/gen.rs", "fn total() {}\n")
        .file("dir/c.txt", "nothing\n")
}

fn grep() -> Grep {
    Grep { pattern: "total".into(), ..Grep::default() }
}

#[tokio::test]
async fn a_search_answers_with_lines_files_or_counts() {
    let bench = project();
    let table = [
        (grep(), "a.rs:2:fn total() {\na.rs:6:fn total_2() {}\nb.py:1:total = 1\nb.py:2:total += 1"),
        (Grep { show: Show::Files, ..grep() }, "a.rs\nb.py"),
        (Grep { show: Show::Counts, ..grep() }, "a.rs:2\nb.py:2"),
        (
            Grep { show: Show::Files, limit: Some(1), ..grep() },
            "a.rs\n[the first 1 of 2 files; narrow the pattern or the path]",
        ),
        (Grep { show: Show::Files, offset: Some(1), ..grep() }, "b.py"),
        (Grep { kind: Some("py".into()), ..grep() }, "b.py:1:total = 1\nb.py:2:total += 1"),
        (Grep { kind: Some("rust".into()), show: Show::Files, ..grep() }, "a.rs"),
        (Grep { ignored: true, show: Show::Files, ..grep() }, "a.rs\nb.py\ntarget/gen.rs"),
        (
            Grep { pattern: "total\\(".into(), before: Some(1), after: Some(1), ..grep() },
            "a.rs-1-one\na.rs:2:fn total() {\na.rs-3-    1",
        ),
        (
            Grep { pattern: "total\\(.*?\\}".into(), multiline: true, ..grep() },
            "a.rs:2:fn total() {\na.rs:3:    1\na.rs:4:}",
        ),
        (
            Grep { offset: Some(1), limit: Some(2), ..grep() },
            "a.rs:6:fn total_2() {}\nb.py:1:total = 1\n[2 to 3 of 4 matching lines in 2 files; narrow the pattern or the path]",
        ),
        (Grep { offset: Some(9), ..grep() }, "no further line matches total"),
    ];
    for (ask, want) in table {
        let outcome = bench.run(&Action::Grep(ask.clone())).await;
        assert_eq!(outcome.text, want, "{ask:?}");
    }
    let counts = bench.run(&Action::Grep(Grep { show: Show::Counts, ..grep() })).await;
    assert_eq!(counts.data["counts"][1]["count"], 2);
    let near = bench.run(&Action::Grep(Grep { pattern: "two".into(), before: Some(1), ..grep() })).await;
    assert_eq!(near.data["matches"][0]["context"], true);
    let wrong = bench.run(&Action::Grep(Grep { kind: Some("a b".into()), ..grep() })).await;
    assert_eq!(wrong.data["error"], "bad_type");
}

#[tokio::test]
async fn lines_near_a_match_that_is_passed_over_are_not_shown() {
    let bench = Bench::new().file("f", "a\nx1\nb\nc\nd\nx2\ne\n");
    let ask =
        Grep { pattern: "x".into(), before: Some(1), after: Some(1), offset: Some(1), ..Grep::default() };
    assert_eq!(bench.run(&Action::Grep(ask)).await.text, "f-5-d\nf:6:x2\nf-7-e");
}

#[tokio::test]
async fn a_glob_finds_folders_and_ignored_files_when_asked() {
    let bench = project();
    let glob = |pattern: &str| Glob { pattern: pattern.into(), ..Glob::default() };
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let table: [(Glob, &[&str]); 4] = [
        (glob("*"), &["a.rs", "b.py", "dir/c.txt"]),
        (Glob { dirs: true, ..glob("./*") }, &["a.rs", "b.py", "dir/"]),
        (Glob { ignored: true, ..glob("**/*.rs") }, &["a.rs", "target/gen.rs"]),
        (Glob { offset: Some(3), ..glob("*") }, &["no file after those matches *"]),
    ];
    for (ask, want) in table {
        let outcome = bench.run(&Action::Glob(ask.clone())).await;
        assert_eq!(sorted(&outcome.text), want, "{ask:?}");
    }
    let two = bench.run(&Action::Glob(Glob { offset: Some(1), limit: Some(1), ..glob("*") })).await;
    assert!(two.text.contains("[2 to 2 of 3 files"), "{}", two.text);
}

fn read(path: &str) -> Read {
    Read { path: path.into(), ..Read::default() }
}

#[tokio::test]
async fn a_file_is_read_from_either_end_and_by_columns() {
    let bench = Bench::new()
        .file("f", "1\n2\n3\n4\n5\n")
        .file("open", "1\n2")
        .file("wide", format!("{}é12345\nend\n", "x".repeat(3000)).as_bytes());
    let table = [
        (Read { last: Some(2), ..read("f") }, "4\n5\n", 4),
        (Read { last: Some(4), count: Some(2), ..read("f") }, "2\n3", 2),
        (Read { last: Some(99), ..read("f") }, "1\n2\n3\n4\n5\n", 1),
        (Read { last: Some(1), ..read("open") }, "2", 2),
        (Read { line: Some(3), last: Some(1), ..read("f") }, "3\n4\n5\n", 3),
        (Read { column: Some(3001), ..read("wide") }, "12345\nend\n", 1),
        (Read { column: Some(3000), count: Some(1), ..read("wide") }, "é12345", 1),
        (Read { column: Some(9), ..read("f") }, "\n2\n3\n4\n5\n", 1),
    ];
    for (ask, text, from) in table {
        let outcome = bench.run(&Action::Read(ask.clone())).await;
        assert_eq!((outcome.text.as_str(), &outcome.data["from"]), (text, &from.into()), "{ask:?}");
    }
    let cut = bench.run(&Action::Read(Read { chars: Some(10), ..read("wide") })).await;
    assert_eq!(
        (cut.text.as_str(), &cut.data["next"], &cut.data["next_column"]),
        ("xxxxxxxxxx", &1.into(), &10.into())
    );
    let next = Read { line: Some(1), column: Some(2995), chars: Some(6), ..read("wide") };
    let next = bench.run(&Action::Read(next)).await;
    assert_eq!(
        (next.text.as_str(), &next.data["next_column"]),
        ("xxxxx", &3000.into()),
        "no character is cut in two"
    );
}

#[tokio::test]
async fn a_folder_is_listed_by_a_read_that_allows_it() {
    let bench = project();
    let plain = bench.run(&Action::Read(read("."))).await;
    assert_eq!((plain.state, &plain.data["error"]), (State::Failed, &"is_folder".into()));
    let all = bench.run(&Action::Read(Read { folders: true, ..read(".") })).await;
    assert_eq!(
        (&all.data["kind"], &all.data["total"], &all.data["more"]),
        (&"folder".into(), &4.into(), &false.into())
    );
    assert_eq!(all.data["entries"][0]["name"], "dir");
    let some = Read { folders: true, line: Some(2), count: Some(2), ..read(".") };
    let some = bench.run(&Action::Read(some)).await;
    assert_eq!((some.text.as_str(), &some.data["next"]), (".gitignore\na.rs", &4.into()));
}

#[tokio::test]
async fn text_is_added_to_the_end_in_the_form_of_the_file() {
    let bench =
        Bench::new().file("lf", "a\n").file("crlf", "a\r\n").file("bom", b"\xFF\xFEa\0").file("bin", b"a\0b");
    let append =
        |path: &str| Action::Write { path: path.into(), text: "b\n".into(), mode: WriteMode::Append };
    let table: [(&str, &[u8]); 4] =
        [("lf", b"a\nb\n"), ("crlf", b"a\r\nb\r\n"), ("bom", b"\xFF\xFEa\0b\0\n\0"), ("new", b"b\n")];
    for (path, want) in table {
        let outcome = bench.run(&append(path)).await;
        assert_eq!(outcome.state, State::Ok, "{path}: {}", outcome.text);
        assert_eq!(std::fs::read(bench.cwd.join(path)).unwrap(), want, "{path}");
    }
    assert_eq!(bench.run(&append("bin")).await.data["error"], "binary");
    let undone = bench.run(&Action::Undo { path: "lf".into() }).await;
    assert_eq!((undone.state, std::fs::read(bench.cwd.join("lf")).unwrap()), (State::Ok, b"a\n".to_vec()));
}

#[tokio::test]
async fn an_old_text_of_several_places_means_the_first_where_that_was_asked_for() {
    let edit = |first| Action::Edit {
        path: "f".into(),
        edits: vec![Edit { old: "x".into(), new: "y".into(), all: false }],
        first,
    };
    let bench = Bench::new().file("f", "x\nx\n");
    assert_eq!(bench.run(&edit(false)).await.data["error"], "many_matches");
    let outcome = bench.run(&edit(true)).await;
    assert_eq!((outcome.state, &outcome.data["count"]), (State::Ok, &1.into()));
    assert_eq!(std::fs::read(bench.cwd.join("f")).unwrap(), b"y\nx\n");
    let all = Action::Edit {
        path: "f".into(),
        edits: vec![Edit { old: "x".into(), new: "z".into(), all: true }],
        first: true,
    };
    let bench = Bench::new().file("f", "x\nx\n");
    assert_eq!(bench.run(&all).await.data["count"], 2);
}

#[tokio::test]
async fn a_task_list_that_is_only_looked_at_stays() {
    let bench = Bench::new();
    let items = vec![TodoItem { text: "t".into(), ..TodoItem::default() }];
    bench.run(&Action::Todo { items: Some(items) }).await;
    let seen = bench.run(&Action::Todo { items: None }).await;
    assert_eq!(seen.data["items"][0]["text"], "t");
    let empty = bench.run(&Action::Todo { items: Some(Vec::new()) }).await;
    assert_eq!(empty.data["total"], 0);
}

#[tokio::test]
async fn files_and_counts_keep_to_the_limits_too() {
    let mut bench = Bench::new();
    for nth in 0..30 {
        bench.put(&format!("file{nth:02}"), "total\n");
    }
    bench.limits = Limits { bytes: 2_000, lines: 6, keep: Keep::Head };
    let outcome = bench.run(&Action::Grep(Grep { show: Show::Files, ..grep() })).await;
    assert_eq!(outcome.data["paths"].as_array().unwrap().len(), 5);
    assert!(
        outcome.text.ends_with("[the first 5 of 30 files; narrow the pattern or the path]"),
        "{}",
        outcome.text
    );
}

#[tokio::test]
async fn a_match_over_all_of_a_long_file_shows_what_fits() {
    let bench = Bench::new().file("long", "x\n".repeat(400_000));
    let ask = Grep { pattern: "(?s).+".into(), multiline: true, ..grep() };
    let found = bench.run(&Action::Grep(ask)).await;
    assert_eq!((found.state, &found.data["count"]), (State::Ok, &1.into()), "{}", found.text.len());
    assert!(found.text.len() < 17_000 && found.text.contains("the first"), "{}", found.text.len());
}
