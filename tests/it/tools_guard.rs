//! What a change is held to where a harness asks for it: lines that were shown, files that are not
//! overwritten whole. And that a refused change leaves the file as it was, to the byte.

use tack::model::{Action, Edit, Grep, Outcome, Read, State};

use crate::tools_kit::{Bench, edit, read, shell, write};

fn insert(path: &str, line: u64, text: &str) -> Action {
    Action::Insert { path: path.into(), line, text: text.into() }
}

fn all(path: &str, old: &str, new: &str) -> Action {
    Action::Edit {
        path: path.into(),
        edits: vec![Edit { old: old.into(), new: new.into(), all: true }],
        first: false,
    }
}

fn part(path: &str, line: u64, count: u64) -> Action {
    Action::Read(Read { path: path.into(), line: Some(line), count: Some(count), ..Read::default() })
}

fn rewrite(path: &str, text: &str) -> Action {
    Action::Rewrite { path: path.into(), text: text.into() }
}

fn patch(text: &str) -> Action {
    Action::Patch { text: format!("*** Begin Patch\n{text}*** End Patch\n"), cwd: None }
}

fn rows(count: u64) -> String {
    (1..=count).map(|n| format!("row {n}\n")).collect()
}

fn seen() -> Bench {
    let mut bench = Bench::new().file("f", rows(100));
    bench.guards.seen = true;
    bench
}

fn refused(outcome: &Outcome, error: &str) {
    assert_eq!((outcome.state, &outcome.data["error"]), (State::Failed, &error.into()), "{}", outcome.text);
}

#[tokio::test]
async fn a_line_number_needs_the_line_to_have_been_shown() {
    let bench = seen();
    let call = insert("f", 40, "new");
    let outcome = bench.run(&call).await;
    refused(&outcome, "unseen");
    assert_eq!(
        outcome.text,
        "f was left as it is: line 40 of it, which this would change, has not been shown yet. Look at what stands there, and send the same again if it still fits.\n=== f as it is ===\n40: row 40"
    );
    assert_eq!(bench.bytes("f"), rows(100).as_bytes());
    assert_eq!(bench.run(&call).await.state, State::Ok, "the refusal showed it");
}

#[tokio::test]
async fn a_quote_is_proof_enough_and_so_is_what_the_model_wrote() {
    let bench = seen();
    assert_eq!(bench.run(&edit("f", "row 50\n", "row fifty\n")).await.state, State::Ok);
    assert_eq!(bench.run(&insert("f", 50, "after it")).await.state, State::Ok, "the edit showed the place");
    let hunk = patch("*** Update File: f\n@@\n-row 90\n+row ninety\n");
    assert_eq!(bench.run(&hunk).await.state, State::Ok);
    bench.run(&write("own", &rows(60))).await;
    assert_eq!(bench.run(&insert("own", 30, "x")).await.state, State::Ok);
    assert_eq!(bench.run(&write("own", "y\n")).await.state, State::Ok);
}

#[tokio::test]
async fn every_place_of_a_replacement_has_to_be_known() {
    let bench = seen();
    bench.run(&part("f", 1, 15)).await;
    let outcome = bench.run(&all("f", "row 1", "line 1")).await;
    refused(&outcome, "unseen");
    assert_eq!((&outcome.data["from"], &outcome.data["to"]), (&16.into(), &100.into()));
    assert!(outcome.text.ends_with("\n16: row 16\n17: row 17\n18: row 18\n19: row 19\n100: row 100"));
    assert_eq!(bench.run(&all("f", "row 1", "line 1")).await.state, State::Ok);
    assert_eq!(bench.run(&all("f", "row 77", "line 77")).await.state, State::Ok, "one place is a quote");
}

#[tokio::test]
async fn shown_lines_stay_known_when_others_change() {
    let bench = seen();
    bench.run(&part("f", 1, 20)).await;
    bench.run(&edit("f", "row 5\n", "five\nand\nmore\n")).await;
    assert_eq!(bench.run(&insert("f", 22, "x")).await.state, State::Ok, "row 20 is there now");
    refused(&bench.run(&insert("f", 60, "x")).await, "unseen");
}

#[tokio::test]
async fn only_what_was_really_shown_counts() {
    let mut bench = seen();
    bench.limits.bytes = 30;
    bench.run(&read("f")).await;
    refused(&bench.run(&insert("f", 20, "x")).await, "unseen");
    let mut bench = Bench::new().file("long", format!("{}\nshort\n", "x".repeat(5000)));
    bench.guards.seen = true;
    bench.run(&read("long")).await;
    refused(&bench.run(&insert("long", 1, "y")).await, "unseen");
    assert_eq!(bench.run(&insert("long", 2, "y")).await.state, State::Ok);
}

#[tokio::test]
async fn what_commands_and_searches_print_has_been_shown() {
    for command in ["cat f", "cat -n f", "grep -n '' f", "sed -n 35,45p f"] {
        let bench = seen();
        bench.run(&shell(command)).await;
        assert_eq!(bench.run(&insert("f", 40, "x")).await.state, State::Ok, "{command}");
    }
    let bench = seen();
    bench.run(&shell("sed -n 1,20p f")).await;
    refused(&bench.run(&insert("f", 40, "x")).await, "unseen");
    let grep = Action::Grep(Grep { pattern: "40".into(), ..Grep::default() });
    let bench = seen();
    bench.run(&grep).await;
    assert_eq!(bench.run(&insert("f", 40, "x")).await.state, State::Ok);
}

#[tokio::test]
async fn an_unseen_file_is_overwritten_only_line_by_line_shown() {
    let bench = seen();
    let new = rows(100).replace("row 7\n", "seven\n");
    let outcome = bench.run(&write("f", &new)).await;
    refused(&outcome, "unseen");
    assert!(outcome.text.ends_with(" ===\n7: row 7"), "only what would change: {}", outcome.text);
    assert_eq!(bench.run(&write("f", &new)).await.state, State::Ok);
    let outcome = bench.run(&patch("*** Add File: f\n+gone\n")).await;
    assert_eq!(outcome.state, State::Ok, "written whole by the model just now");
    let bench = seen();
    let outcome = bench.run(&write("f", "gone\n")).await;
    refused(&outcome, "unseen");
    assert_eq!(outcome.data["left"], 60);
    assert!(
        outcome.text.ends_with("\n40: row 40") && outcome.text.contains("Read the file first: 60 lines more")
    );
    bench.run(&part("f", 41, 60)).await;
    assert_eq!(bench.run(&write("f", "gone\n")).await.state, State::Ok);
}

#[tokio::test]
async fn a_definition_is_not_replaced_blindly() {
    let code = "def a():\n    return 1\n\n\ndef b():\n    return 2\n";
    let call = rewrite("f.py", "def b():\n    return 3\n");
    let bench = || {
        let mut bench = seen().file("f.py", code);
        bench.guards.keep_names = true;
        bench
    };
    let blind = bench();
    let outcome = blind.run(&call).await;
    refused(&outcome, "unseen");
    assert_eq!((&outcome.data["rows"], &outcome.data["retry"]), (&"6:     return 2".into(), &true.into()));
    assert_eq!(blind.run(&call).await.state, State::Ok, "the same again, now that it was shown");
    let printed = bench();
    printed.run(&shell("cat f.py")).await;
    assert_eq!(printed.run(&call).await.state, State::Ok);
    let mut given = bench();
    given.asked = format!("Make b return 3. This is f.py:\n{code}");
    assert_eq!(given.run(&call).await.state, State::Ok);
    let mut unread = seen().file("f.py", code);
    unread.guards = tack::model::Guards { keep_names: true, ..Default::default() };
    unread.needs_read = true;
    assert_eq!(unread.run(&call).await.state, State::Ok, "a part loses nothing, read or not");
    let whole = rewrite("f.py", "def a():\n    return 0\n\n\ndef b():\n    return 0\n");
    let mut unread = bench();
    unread.guards.seen = false;
    unread.needs_read = true;
    refused(&unread.run(&whole).await, "unread");
}

#[tokio::test]
async fn an_edit_that_was_made_already_is_told_so() {
    let bench = Bench::new().file("f", "one = 1\n");
    let call = edit("f", "one = 1", "number = 12");
    assert_eq!(bench.run(&call).await.state, State::Ok);
    let again = bench.run(&call).await;
    refused(&again, "no_match");
    assert_eq!(
        again.text,
        "f was left as it is: the old text is not in it, but the new text is there already, at line 1; nothing is left to do for this edit"
    );
    let short = edit("f", "nothing like it", "12");
    assert!(bench.run(&short).await.data["already"].is_null());
}

#[tokio::test]
async fn a_long_file_is_not_overwritten_whole() {
    let mut bench = Bench::new().file("f", rows(100)).file("short", rows(80)).file("bin", b"a\0b");
    bench.guards.whole = Some(80);
    let outcome = bench.run(&write("f", "x\n")).await;
    refused(&outcome, "too_long_to_overwrite");
    assert_eq!(
        outcome.text,
        "f was left as it is: it has 100 lines, and no file of more than 80 is overwritten whole. Change only the part that has to change: quote its old text, and give the new text for it"
    );
    assert_eq!((&outcome.data["lines"], &outcome.data["most"]), (&100.into(), &80.into()));
    refused(&bench.run(&rewrite("f", "x\n")).await, "too_long_to_overwrite");
    refused(&bench.run(&patch("*** Add File: f\n+x\n")).await, "too_long_to_overwrite");
    assert_eq!(bench.bytes("f"), rows(100).as_bytes());
    for action in [write("short", "x\n"), write("new", &rows(200)), edit("f", "row 9\n", "nine\n")] {
        assert_eq!(bench.run(&action).await.state, State::Ok, "{action:?}");
    }
}

/// Whatever is refused for whatever reason.
#[tokio::test]
async fn a_refused_change_leaves_the_bytes_as_they_were() {
    let forms: [(&str, Vec<u8>); 6] = [
        ("lf", rows(30).into_bytes()),
        ("crlf", rows(30).replace('\n', "\r\n").into_bytes()),
        ("tabs", rows(30).replace("row", "\trow").into_bytes()),
        ("bom", [b"\xef\xbb\xbf".as_slice(), rows(30).as_bytes()].concat()),
        ("latin-1", [b"caf\xe9\n".as_slice(), rows(30).as_bytes()].concat()),
        ("binary", b"row 20\0row 21\n".to_vec()),
    ];
    for (name, bytes) in &forms {
        for action in [
            insert("f", 20, "x"),
            all("f", "row 2", "x"),
            write("f", "\u{20ac} gone\n"),
            rewrite("f", "gone\n"),
            patch("*** Add File: f\n+gone\n"),
        ] {
            let mut bench = Bench::new().file("f", bytes);
            bench.guards.seen = true;
            bench.guards.whole = Some(10);
            let outcome = bench.run(&action).await;
            if outcome.state != State::Ok {
                assert_eq!(&bench.bytes("f"), bytes, "{name} {action:?}");
            }
            let again = bench.run(&action).await;
            if again.state != State::Ok {
                assert_eq!(&bench.bytes("f"), bytes, "{name} {action:?}");
            }
        }
    }
}

#[tokio::test]
async fn somebody_else_s_change_is_not_overwritten_by_a_rewrite_and_held_back_only_once() {
    let mut bench = Bench::new().file("f", "one\n");
    bench.guards.keep_names = true;
    bench.run(&read("f")).await;
    bench.put("f", "one\nand more\n");
    refused(&bench.run(&rewrite("f", "1\n")).await, "changed");
    assert_eq!(bench.bytes("f"), b"one\nand more\n");
    assert_eq!(bench.run(&rewrite("f", "1\n")).await.state, State::Ok);
}
