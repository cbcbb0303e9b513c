//! Changing cells of a notebook: what changes, and that nothing else does.

use tack::model::{Action, CellKind, CellOp, Outcome};

use crate::tools_kit::{Bench, read};

const BOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\n",
    "Text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "sum",
   "metadata": {"kept": 1.50},
   "outputs": [{"name": "stdout", "text": ["3\n"]}],
   "source": "1 + 2"
  }
 ],
 "metadata": {  "odd":   1e2, "ключ": "\u00e9" },
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

async fn cell(bench: &Bench, op: CellOp, cell: Option<&str>, text: &str) -> Outcome {
    let (path, cell) = ("a.ipynb".to_owned(), cell.map(str::to_owned));
    bench.run(&Action::Notebook { path, op, cell, kind: None, text: text.to_owned() }).await
}

fn now(bench: &Bench) -> String {
    String::from_utf8(bench.bytes("a.ipynb")).unwrap()
}

#[tokio::test]
async fn only_the_cell_changes() {
    let bench = Bench::new().file("a.ipynb", BOOK);
    let done = cell(&bench, CellOp::Replace, Some("sum"), "x = 1\nx").await;
    assert_eq!(done.text, "replaced cell sum of a.ipynb; 2 cells");
    let whole = now(&bench);
    let (head, tail) =
        (BOOK.find("  {\n   \"cell_type\": \"code\"").unwrap(), BOOK.find(" ],\n \"metadata\"").unwrap());
    assert!(whole.starts_with(&BOOK[..head]) && whole.ends_with(&BOOK[tail..]), "{whole}");
    insta::assert_snapshot!(&whole[head..whole.len() - (BOOK.len() - tail)]);

    let undone = bench.run(&Action::Undo { path: "a.ipynb".to_owned() }).await;
    assert_eq!((undone.text.contains("took back"), now(&bench).as_str()), (true, BOOK));

    cell(&bench, CellOp::Insert, Some("0"), "new\n").await;
    let inserted = now(&bench);
    assert!(inserted.starts_with(&BOOK[..head - 2]) && inserted.ends_with(&BOOK[head..]), "{inserted}");
    cell(&bench, CellOp::Delete, Some("cell-1"), "").await;
    assert_eq!(now(&bench), BOOK, "what was inserted and deleted leaves no trace");
    cell(&bench, CellOp::Insert, None, "first").await;
    cell(&bench, CellOp::Delete, Some("0"), "").await;
    assert_eq!(now(&bench), BOOK);
    cell(&bench, CellOp::Delete, Some("1"), "").await;
    cell(&bench, CellOp::Delete, Some("0"), "").await;
    assert!(now(&bench).starts_with("{\n \"cells\": [],\n"));
    cell(&bench, CellOp::Insert, None, "only").await;
    assert!(now(&bench).starts_with("{\n \"cells\": [\n  {\n   \"cell_type\": \"code\""), "{}", now(&bench));
}

#[tokio::test]
async fn a_cell_may_become_of_another_kind_and_a_notebook_may_be_in_one_line() {
    let line = r#"{"cells": [{"cell_type":"code","execution_count":1,"metadata":{},"outputs":[1],"source":["a"]}], "nbformat": 4, "nbformat_minor": 2}"#;
    let bench = Bench::new().file("a.ipynb", line);
    let (path, cell) = ("a.ipynb".to_owned(), Some("0".to_owned()));
    let kind = Some(CellKind::Markdown);
    bench.run(&Action::Notebook { path, op: CellOp::Replace, cell, kind, text: "b".to_owned() }).await;
    assert_eq!(
        now(&bench),
        r#"{"cells": [{"cell_type":"markdown","metadata":{},"source":["b"]}], "nbformat": 4, "nbformat_minor": 2}"#
    );
}

#[tokio::test]
async fn what_cannot_be_changed_is_left_and_said() {
    let cases = [
        ("{\"cells\": [", Some("0"), "it is no notebook"),
        ("[]", Some("0"), "it is no notebook"),
        ("{\"cells\": 3, \"nbformat\": 4}", Some("0"), "its `cells` are no list"),
        ("{\"cells\": [3], \"nbformat\": 4}", Some("0"), "its cell 0 is no object"),
        ("{\"cells\": [], \"nbformat\": 3}", Some("0"), "its format is 3"),
        (BOOK, Some("2"), "it has no cell `2`; it has 2 cells: intro, sum"),
        (BOOK, None, "say which of its 2 cells is meant"),
    ];
    for (text, which, why) in cases {
        let bench = Bench::new().file("a.ipynb", text);
        let outcome = cell(&bench, CellOp::Replace, which, "x").await;
        assert!(outcome.data["error"].is_string() && outcome.text.contains(why), "{why}: {}", outcome.text);
        assert_eq!(now(&bench), text);
    }
}

#[tokio::test]
async fn it_has_to_be_read_where_that_is_asked_for() {
    let mut bench = Bench::new().file("a.ipynb", BOOK);
    bench.needs_read = true;
    assert_eq!(cell(&bench, CellOp::Replace, Some("sum"), "x").await.data["error"], "unread");
    bench.run(&read("a.ipynb")).await;
    assert_eq!(cell(&bench, CellOp::Replace, Some("sum"), "x").await.data["op"], "replace");
    bench.put("a.ipynb", BOOK);
    assert_eq!(cell(&bench, CellOp::Replace, Some("sum"), "y").await.data["error"], "changed");
}
