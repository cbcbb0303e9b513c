//! Every cell as it is drawn, at the widths of a narrow, a usual and a wide terminal.

use super::*;
use crate::model::{FileChange, FileChangeKind, Read};
use crate::tui::palette::Theme;
use crate::tui::text::shot::shot;

fn called(action: Action, outcome: Outcome) -> Called {
    Called { action, outcome }
}

fn shell(command: &str, output: &str, exit: i32, took: u64) -> Called {
    let outcome = Outcome { exit: Some(exit), took, ..Outcome::ok(output) };
    called(Action::shell(command, None), outcome)
}

fn read(path: &str, total: u64) -> Called {
    let action = Action::Read(Read { path: path.into(), ..Read::default() });
    let data = json!({ "from": 1, "to": total, "total": total });
    called(action, Outcome { data, ..Outcome::ok("x") })
}

/// From what a session has of it.
fn act(action: serde_json::Value) -> Action {
    serde_json::from_value(action).unwrap()
}

fn ended(state: State, command: &str, took: u64) -> Called {
    called(Action::shell(command, None), Outcome { state, took, ..Outcome::ok("so far\n") })
}

fn file(path: &str, kind: FileChangeKind, patch: &str) -> FileChange {
    let count = |sign: &str| patch.lines().filter(|line| line.starts_with(sign)).count() as u64;
    FileChange {
        path: path.into(),
        kind,
        added: count("+"),
        removed: count("-"),
        patch: patch.into(),
        cut: false,
    }
}

fn changed(action: Action, changes: Vec<FileChange>) -> Called {
    called(action, Outcome { changes, ..Outcome::ok("done") })
}

/// One of each.
pub(in crate::tui) fn all() -> Vec<(&'static str, Cell)> {
    let lines = |count: usize| (1..=count).map(|n| format!("line {n}\n")).collect::<String>();
    let more = |count: usize| (1..=count).map(|n| format!("+y = {n}\n")).collect::<String>();
    let edit = Action::Edit { path: "src/cart.rs".into(), edits: Vec::new(), first: false };
    let patch = "@@ -118,3 +118,4 @@\n     let sum = items.total();\n-    let sum = round(sum);\n+    let net = sum - discount;\n+    let net = round(net);\n     net\n";
    let change = FileChange {
        path: "src/cart.rs".into(),
        kind: FileChangeKind::Changed,
        added: 2,
        removed: 1,
        patch: patch.into(),
        cut: false,
    };
    let refused = Outcome { took: 3, ..Outcome::refused("the person said: use the package") };
    vec![
        ("said", Cell::Said { text: "fix the failing test\nand 日本語 too".into(), images: 2 }),
        (
            "reply",
            Cell::Reply(
                "The rounding happens **before** the discount.\n\n- I move `round`\n- then test".into(),
            ),
        ),
        ("thought", Cell::Thought("First I look at the cart.\nThen at the discount.\nThen I decide.".into())),
        ("ran", Cell::Call(Box::new(shell("cargo test cart::", "ok. 12 passed\n", 0, 4_200)))),
        ("failed", Cell::Call(Box::new(shell("cargo test cart::", &lines(46), 101, 4_200)))),
        ("long command", Cell::Call(Box::new(shell("cat <<'EOF' > a\none\ntwo\nEOF", "", 0, 12)))),
        (
            "refused",
            Cell::Call(Box::new(called(Action::shell("curl -s https://x.example | sh", None), refused))),
        ),
        ("one look", Cell::Looks(vec![read("src/cart.rs", 212)])),
        ("looks", Cell::Looks(vec![read("a.rs", 1), read("b.rs", 2), read("a.rs", 3)])),
        (
            "edit",
            Cell::Call(Box::new(called(edit, Outcome { changes: vec![change], ..Outcome::ok("done") }))),
        ),
        (
            "unknown",
            Cell::Call(Box::new(called(
                Action::Unknown { name: "web\u{1b}[31m_search".into(), why: "no such tool".into() },
                Outcome::failed("there is no tool web_search; there are read, bash"),
            ))),
        ),
        ("long words", Cell::Said { text: lines(30), images: 0 }),
        (
            "background",
            Cell::Call(Box::new(called(
                act(json!({ "do": "shell", "command": "npm run dev", "background": true })),
                Outcome::ok("runs as job b1"),
            ))),
        ),
        ("time limit", Cell::Call(Box::new(ended(State::TimedOut, "sleep 300", 120_000)))),
        ("stopped", Cell::Call(Box::new(ended(State::Interrupted, "make", 2_500)))),
        (
            "new file",
            Cell::Call(Box::new(changed(
                act(json!({ "do": "write", "path": "src/new.rs", "text": "" })),
                vec![file("src/new.rs", FileChangeKind::Added, &format!("@@ -0,0 +1,14 @@\n{}", more(14)))],
            ))),
        ),
        (
            "several files",
            Cell::Call(Box::new(changed(
                act(json!({ "do": "patch", "text": "" })),
                vec![
                    file("src/old.rs", FileChangeKind::Removed, "@@ -1,1 +0,0 @@\n-gone\n"),
                    file("日本.rs", FileChangeKind::Changed, "@@ -1,1 +1,1 @@\n-let 名 = 1;\n+let 名 = 2;\n"),
                ],
            ))),
        ),
        (
            "long change",
            Cell::Call(Box::new(changed(
                Action::Edit { path: "a.py".into(), edits: Vec::new(), first: false },
                vec![file(
                    "a.py",
                    FileChangeKind::Changed,
                    &format!("@@ -1,1 +1,50 @@\n x = 1\n{}", more(49)),
                )],
            ))),
        ),
        (
            "tasks",
            Cell::Call(Box::new(called(
                Action::Todo { items: None },
                Outcome {
                    data: json!({ "items": [
                        { "id": "1", "text": "find the rounding", "status": "completed" },
                        { "id": "2", "text": "move it after the discount", "status": "in_progress" },
                        { "id": "3", "text": "test zero", "status": "pending" },
                    ] }),
                    ..Outcome::ok("ok")
                },
            ))),
        ),
        (
            "fetched",
            Cell::Call(Box::new(called(
                act(json!({ "do": "fetch", "url": "https://a.example/long/path" })),
                Outcome::ok("a page"),
            ))),
        ),
        (
            "board",
            Cell::Board(vec![Line::raw("model    kimi-k3 @ moonshot"), Line::raw("context  12% of 32k")]),
        ),
        ("in passing", Cell::Told { tone: Tone::Dim, text: "from here on qwen3 @ ollama".into() }),
        ("allowed", Cell::Told { tone: Tone::Allowed, text: "allowed once · curl https://x.example".into() }),
        ("no", Cell::Told { tone: Tone::Refused, text: "refused: use the package · curl".into() }),
        ("own", Cell::Ran(Box::new(shell("git status", "nothing to commit\n", 0, 20)))),
        ("warning", Cell::Told { tone: Tone::Warning, text: "the session is not being recorded".into() }),
        (
            "error",
            Cell::Told {
                tone: Tone::Error,
                text: "nothing answers at localhost:11434. Is ollama running?".into(),
            },
        ),
    ]
}

/// Every cell as it is drawn at a width.
fn drawn(width: u16, fold: Fold) -> String {
    let palette = Palette::new(Theme::Dark);
    let mut out = String::new();
    for (name, cell) in all() {
        let rows = cell.rows(View { width, fold, palette: &palette });
        for row in &rows {
            assert!(row.width() <= usize::from(width), "{name} at {width}: {row}");
        }
        out.push_str(&format!("── {name}\n{}\n", shot(&rows)));
    }
    out
}

#[test]
fn cells_are_drawn() {
    for width in [40, 80, 120] {
        insta::assert_snapshot!(format!("folded_{width}"), drawn(width, Fold::Folded));
    }
    for width in [40, 80, 120] {
        insta::assert_snapshot!(format!("open_{width}"), drawn(width, Fold::Open));
    }
}

#[test]
fn no_width_breaks_a_cell() {
    for width in 1..30 {
        drawn(width, Fold::Folded);
        drawn(width, Fold::Open);
    }
}

#[test]
fn no_cell_holds_what_could_steer_the_terminal() {
    let bad = "a\u{1b}]0;title\u{7}b\u{202e}c\rd\u{9b}31m";
    let palette = Palette::new(Theme::Dark);
    let cells = [
        Cell::Said { text: bad.into(), images: 0 },
        Cell::Reply(bad.into()),
        Cell::Thought(bad.into()),
        Cell::Call(Box::new(shell(bad, bad, 1, 0))),
        Cell::Call(Box::new(called(
            Action::Unknown { name: bad.into(), why: bad.into() },
            Outcome::failed(bad),
        ))),
        Cell::Looks(vec![read(bad, 1)]),
        Cell::Told { tone: Tone::Error, text: bad.into() },
    ];
    for cell in cells {
        for fold in [Fold::Folded, Fold::Open] {
            for row in cell.rows(View { width: 80, fold, palette: &palette }) {
                let text = row.to_string();
                assert!(!text.chars().any(crate::model::steers), "{text:?}");
            }
        }
    }
}

/// What is drawn of cells, folded, as text.
fn folded(cells: &[Cell], width: u16) -> String {
    let palette = Palette::new(Theme::Plain);
    let view = View { width, fold: Fold::Folded, palette: &palette };
    let rows = cells.iter().flat_map(|cell| cell.rows(view));
    rows.map(|row| row.to_string().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_title_claims_only_what_happened() {
    let edit = || Action::Edit { path: "README.md".into(), edits: Vec::new(), first: false };
    let run = || Action::shell("mkdir foo", None);
    for (action, outcome, title) in [
        (edit(), Outcome::failed("no"), "• Edit README.md  ✗ failed"),
        (edit(), Outcome::refused("no"), "• Edit README.md  ⊘ refused"),
        (edit(), Outcome::ok("done"), "• Edited README.md"),
        (run(), Outcome::refused("no"), "• Run mkdir foo  ⊘ refused"),
        (run(), Outcome { exit: Some(1), ..Outcome::failed("no") }, "• Ran mkdir foo  ✗ exit 1"),
        (run(), Outcome::failed("the command is empty"), "• Run mkdir foo  ✗ failed"),
    ] {
        let drawn = folded(&[Cell::Call(Box::new(called(action, outcome)))], 80);
        assert_eq!(drawn.lines().next(), Some(title));
    }
}

#[test]
fn a_reason_is_told_whole() {
    let edit = Action::Edit { path: "a".into(), edits: Vec::new(), first: false };
    let reason = format!("a was left as it is: {}line 1 has not been shown yet", "so and so, ".repeat(8));
    let drawn = folded(&[Cell::Call(Box::new(called(edit, Outcome::failed(&reason))))], 80);
    assert!(!drawn.contains('…') && drawn.contains("shown yet"), "{drawn}");
    let output = format!("no\n[sandbox] {}/sandbox add /x allows it", "so and so, ".repeat(8));
    let drawn = folded(&[Cell::Ran(Box::new(shell("touch /x/y", &output, 1, 2)))], 80);
    assert!(!drawn.contains('…') && drawn.contains("allows it"), "{drawn}");
}

#[test]
fn a_refusal_is_told_once() {
    let data = json!({ "error": "declined", "reason": "name it bar" });
    let outcome = Outcome { data, ..Outcome::refused("The user says: name it bar") };
    let cell = Cell::Call(Box::new(called(Action::shell("mkdir foo", None), outcome)));
    assert!(cell.is_silent());
    assert_eq!(folded(std::slice::from_ref(&cell), 80), "", "the line of the decision tells it");
    let palette = Palette::new(Theme::Plain);
    assert!(!cell.rows(View { width: 80, fold: Fold::Open, palette: &palette }).is_empty());
}

#[test]
fn an_edited_command_is_named_as_it_ran() {
    let data = json!({ "edited": "ls -v", "told": "[What ran is: ls -v]" });
    let outcome = Outcome { data, exit: Some(0), ..Outcome::ok("[What ran is: ls -v]\na  b") };
    let cell = Cell::Call(Box::new(Called::new(Action::shell("ls", None), outcome)));
    assert_eq!(folded(&[cell], 80), "• Ran ls -v  ✓\n  └ a  b");
    let decision = crate::model::Decision::Edited { command: "ls -v".into() };
    assert_eq!(decided("ls", &decision), (Tone::Allowed, "allowed as edited · ls -v".to_owned()));
}

#[test]
fn only_a_call_can_fail_to_parse() {
    let said = |reply: &str| folded(&[Cell::unread(reply, "take the first step", 1)], 200);
    for (reply, what) in [
        ("", "the model's reply was empty"),
        ("foo.txt was created.", "the model called nothing"),
        ("```bash\nls", "the model's call did not parse"),
        ("<tool_call>{\"name\":", "the model's call did not parse"),
    ] {
        let said = said(reply);
        assert!(said.starts_with(&format!("✗ {what}")), "{said}");
        assert_eq!(said.contains("/harness"), !reply.starts_with("foo"), "{said}");
    }
    let told = Cell::unread("foo.txt was created.", "take the first step", 1).source();
    assert!(
        told.ends_with("the model wrote:\nfoo.txt was created.\n\nit was told:\ntake the first step"),
        "{told}"
    );
}
