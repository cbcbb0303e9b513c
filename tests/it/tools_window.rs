//! Reading as a harness for small models asks for it: a window around a line, and nothing sent twice.

use std::fmt::Write;

use serde_json::json;
use tack::harness::{Harness, Library};
use tack::model::{Action, Keep, Limits, Outcome, Part, Read, State, ToolCall};

use crate::harness_kit::{Session, call};
use crate::tools_kit::{Bench, edit, read, shell, write};

fn at(path: &str, line: u64) -> Action {
    Action::Read(Read { path: path.into(), line: Some(line), ..Read::default() })
}

fn part(path: &str, line: u64, count: u64) -> Action {
    Action::Read(Read { path: path.into(), line: Some(line), count: Some(count), ..Read::default() })
}

fn rows(count: u64) -> String {
    (1..=count).map(|n| format!("row {n}\n")).collect()
}

fn windowed(lines: u64) -> Bench {
    let mut bench = Bench::new().file("f", rows(300)).file("short", "a\nb\n");
    bench.guards.window = Some(lines);
    bench
}

#[tokio::test]
async fn a_read_without_a_number_of_lines_shows_a_window_around_the_line() {
    let table = [
        (read("f"), (1, 10), "row 1\n"),
        (at("f", 3), (1, 10), "row 1\n"),
        (at("f", 100), (95, 104), "row 95\n"),
        (at("f", 299), (294, 300), "row 294\n"),
        (part("f", 100, 3), (100, 102), "row 100\n"),
        (part("f", 1, 50), (1, 50), "row 1\n"),
        (read("short"), (1, 2), "a\n"),
    ];
    for (action, (from, to), first) in table {
        let outcome = windowed(10).run(&action).await;
        assert_eq!((outcome.data["from"].as_u64(), outcome.data["to"].as_u64()), (Some(from), Some(to)));
        assert_eq!(outcome.data["before"], from - 1);
        assert!(outcome.text.starts_with(first), "{}", outcome.text);
        let total = outcome.data["total"].as_u64().unwrap();
        assert_eq!(outcome.data["more"], to < total);
        assert_eq!(outcome.data["next"].as_u64(), (to < total).then_some(to + 1));
    }
    let past = windowed(10).run(&at("f", 301)).await;
    assert_eq!(past.text, "f has 300 lines; line 301 is past its end");
}

#[tokio::test]
async fn going_on_shows_what_comes_next_and_not_the_half_again() {
    let bench = windowed(10);
    bench.run(&read("f")).await;
    let next = bench.run(&at("f", 11)).await;
    assert_eq!((&next.data["from"], &next.data["to"]), (&11.into(), &20.into()));
    let elsewhere = bench.run(&at("f", 200)).await;
    assert_eq!(elsewhere.data["from"], 195);
}

#[tokio::test]
async fn the_line_that_was_asked_for_is_shown_however_small_the_room() {
    let mut bench = windowed(100);
    for (bytes, lines) in [(60, 400), (20, 400), (9, 400), (16_000, 5), (16_000, 1)] {
        bench.limits = Limits { bytes, lines, keep: Keep::Head };
        let outcome = bench.run(&at("f", 150)).await;
        assert!(outcome.text.lines().any(|line| line == "row 150"), "{bytes} {lines}: {}", outcome.text);
        let (from, to) = (outcome.data["from"].as_u64().unwrap(), outcome.data["to"].as_u64().unwrap());
        let want: Vec<String> = (from..=to).map(|n| format!("row {n}")).collect();
        assert_eq!(outcome.text.trim_end(), want.join("\n"));
    }
}

#[tokio::test]
async fn what_is_still_before_the_model_is_not_sent_again() {
    let mut bench = windowed(10);
    bench.guards.once = true;
    let first = bench.run(&read("f")).await;
    assert!(first.data["again"].is_null());
    let again = bench.run(&read("f")).await;
    assert_eq!(again.state, State::Ok);
    assert_eq!(
        again.text,
        "f, lines 1 to 10 of 300: unchanged since you were shown it; it is not sent again"
    );
    assert_eq!((&again.data["again"], &again.data["from"]), (&true.into(), &1.into()));
    let insists = bench.run(&read("f")).await;
    assert_eq!(insists.text, first.text, "a model that insists may have lost it");
    let part_of_it = bench.run(&part("f", 2, 3)).await;
    assert_eq!(part_of_it.data["again"], true);
    let beyond = bench.run(&part("f", 8, 5)).await;
    assert!(beyond.text.starts_with("row 8\n"), "lines 11 and 12 are new");
}

#[tokio::test]
async fn what_changed_or_was_forgotten_is_sent_again() {
    let mut bench = Bench::new().file("f", rows(9));
    bench.guards.once = true;
    bench.run(&read("f")).await;
    bench.toolbox.forget_shown();
    assert!(bench.run(&read("f")).await.data["again"].is_null(), "after a summary");
    bench.run(&edit("f", "row 2", "row two")).await;
    assert!(bench.run(&read("f")).await.text.contains("row two"), "after an edit");
    bench.put("f", "other\n");
    assert_eq!(bench.run(&read("f")).await.text, "other\n", "after somebody's change");
    bench.run(&write("f", "mine\n")).await;
    assert_eq!(bench.run(&read("f")).await.text, "mine\n", "after a write");
    assert_eq!(bench.run(&read("f")).await.data["again"], true);
    bench.put("empty", "");
    for _ in 0..2 {
        assert_eq!(bench.run(&read("empty")).await.text, "empty is empty");
    }
}

#[tokio::test]
async fn without_the_guard_everything_is_sent_every_time() {
    let bench = Bench::new().file("f", rows(9));
    let first = bench.run(&read("f")).await;
    let second = bench.run(&read("f")).await;
    assert_eq!((first.text, first.data), (second.text, second.data));
}

/// By a harness whose tools have no words of their own for results.
async fn told(harness: &dyn Harness, action: &Action, outcome: &Outcome) -> String {
    let Part::Call(call) = call(action.kind(), json!({})) else { panic!("no call") };
    let call = ToolCall { action: action.clone(), ..call };
    let parts = harness.tell(&call, outcome, &Session::new().view()).await.unwrap();
    let [Part::Text { text }] = &parts[..] else { panic!("no text") };
    text.clone()
}

#[tokio::test]
async fn the_text_itself_says_what_is_shown_and_how_to_go_on() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("mine")).unwrap();
    std::fs::write(dir.path().join("mine/harness.toml"), "schema = 1\n").unwrap();
    let tools = "[read]\ndoes = \"read\"\n[read.params]\npath = { type = \"string\", required = true, to = \"path\" }\n\
                 [bash]\ndoes = \"shell\"\n[bash.params]\ncommand = { type = \"string\", required = true, to = \"command\" }\n";
    std::fs::write(dir.path().join("mine/tools.toml"), tools).unwrap();
    let harness = Library::new(vec![dir.path().to_owned()]).get("mine").unwrap();
    let mut bench =
        windowed(3).file("one", "a\n").file("blank", "\n\n").file("empty", "").file("four", rows(4));
    bench.guards.once = true;
    let mut all = String::new();
    for action in [
        read("f"),
        read("f"),
        at("f", 100),
        at("f", 300),
        read("four"),
        at("four", 4),
        read("one"),
        read("blank"),
        read("empty"),
        read("none"),
        shell("true"),
        shell("exit 3"),
        shell("echo; echo"),
    ] {
        let outcome = bench.run(&action).await;
        let shown = told(&*harness, &action, &outcome).await;
        writeln!(all, "== {}\n{shown}\n", serde_json::to_string(&action).unwrap()).unwrap();
    }
    insta::assert_snapshot!(all);
}
