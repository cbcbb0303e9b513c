//! Reading, writing, inserting and undoing; and that nothing is overwritten unseen.

use tack::model::{Action, Glob, Grep, Keep, Limits, Read, State, WriteMode};

use crate::tools_kit::{Bench, edit, read, write};

fn window(path: &str, line: u64, count: u64) -> Action {
    Action::Read(Read { path: path.into(), line: Some(line), count: Some(count), ..Read::default() })
}

fn create(path: &str, text: &str) -> Action {
    Action::Write { path: path.into(), text: text.into(), mode: WriteMode::Create }
}

fn insert(path: &str, line: u64, text: &str) -> Action {
    Action::Insert { path: path.into(), line, text: text.into() }
}

fn undo(path: &str) -> Action {
    Action::Undo { path: path.into() }
}

/// Bytes of a file, what is read of it, and the encoding that was found.
#[tokio::test]
async fn text_is_read_whatever_its_form() {
    let table: [(&[u8], &str, &str); 8] = [
        (b"a\nb\n", "a\nb\n", "utf-8"),
        (b"a\nb", "a\nb", "utf-8"),
        (b"a\r\nb\r\n", "a\nb\n", "utf-8"),
        (b"\xef\xbb\xbfa\n", "a\n", "utf-8"),
        (b"\xff\xfea\0\n\0", "a\n", "utf-16"),
        (b"caf\xe9\n", "café\n[not UTF-8; read as Latin-1]", "latin-1"),
        ("ü\n".as_bytes(), "ü\n", "utf-8"),
        (b"\xc3\xbc \xff\n", "ü \u{fffd}\n", "utf-8"),
    ];
    for (bytes, text, encoding) in table {
        let outcome = Bench::new().file("f", bytes).run(&read("f")).await;
        assert_eq!((outcome.state, outcome.text.as_str()), (State::Ok, text), "{bytes:?}");
        assert_eq!(outcome.data["encoding"], encoding);
        assert!(outcome.seen[0].whole);
    }
}

#[tokio::test]
async fn a_window_of_no_lines_is_the_usual_one() {
    let outcome = Bench::new().file("f", "a\nb\nc\n").run(&window("f", 0, 0)).await;
    assert_eq!(outcome.text, "a\nb\nc\n");
}

#[tokio::test]
async fn what_is_no_text_is_said() {
    let bench = Bench::new()
        .file("binary", b"ab\0c")
        .file("empty", "")
        .file("sub/f", "x")
        .file("late", [vec![b'x'; 100_000], vec![0]].concat());
    let table = [
        ("binary", State::Failed, "binary is a binary file of 4 bytes; it is not shown"),
        ("late", State::Failed, "late is a binary file of 100001 bytes; it is not shown"),
        ("empty", State::Ok, "empty is empty"),
        ("sub", State::Failed, "sub is a folder; list it, or name a file in it"),
        ("emtpy", State::Failed, "emtpy does not exist; near it: empty"),
        ("nowhere/f", State::Failed, "nowhere/f does not exist, nor does its folder nowhere"),
        ("", State::Failed, "the path is empty; name a file or folder"),
    ];
    for (path, state, text) in table {
        let outcome = bench.run(&read(path)).await;
        assert_eq!((outcome.state, outcome.text.as_str()), (state, text), "{path}");
    }
}

#[tokio::test]
async fn long_files_come_in_parts() {
    let text: String = (1..=1000).map(|n| format!("row {n}\n")).collect();
    let mut bench = Bench::new().file("f", &text);
    bench.limits = Limits { bytes: 10_000, lines: 3, keep: Keep::Tail };
    let first = bench.run(&read("f")).await;
    assert_eq!(first.text, "row 1\nrow 2\nrow 3");
    assert_eq!(
        (&first.data["next"], &first.data["total"], &first.data["more"]),
        (&4.into(), &1000.into(), &true.into())
    );
    assert!(!first.seen[0].whole);
    let last = bench.run(&window("f", 999, 50)).await;
    assert_eq!(last.text, "row 999\nrow 1000\n");
    assert_eq!(
        (&last.data["from"], &last.data["to"], &last.data["more"]),
        (&999.into(), &1000.into(), &false.into())
    );
    let past = bench.run(&window("f", 1001, 1)).await;
    assert_eq!(
        (past.state, past.text.as_str()),
        (State::Failed, "f has 1000 lines; line 1001 is past its end")
    );
    bench.limits = Limits { bytes: 17, lines: 100, keep: Keep::Head };
    let few_bytes = bench.run(&read("f")).await;
    assert_eq!(few_bytes.data["to"], 2, "{}", few_bytes.text);
}

#[tokio::test]
async fn long_lines_are_cut_between_characters() {
    let bench = Bench::new().file("f", format!("{}\nshort\n", "ü".repeat(5000)));
    let outcome = bench.run(&read("f")).await;
    let (long, rest) = outcome.text.split_once('\n').unwrap();
    assert_eq!(long, format!("{}… [8000 more bytes in this line]", "ü".repeat(1000)));
    assert_eq!(rest, "short\n");
    assert!(!outcome.seen[0].whole, "a part of a line was not shown");
}

#[tokio::test]
async fn g15_an_image_becomes_an_image() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR not really";
    let bench = Bench::new()
        .file("a.png", png)
        .file("b.gif", b"GIF89a...")
        .file("c.webp", b"RIFF1234WEBPVP8 ")
        .file("d", b"\xff\xd8\xff\xe0..");
    let outcome = bench.run(&read("a.png")).await;
    assert_eq!((outcome.state, outcome.text.as_str()), (State::Ok, "a.png: image/png, 27 bytes"));
    assert_eq!(outcome.images.len(), 1);
    assert_eq!(bench.blobs.0.lock().unwrap()[0], png);
    for (path, mime) in [("b.gif", "image/gif"), ("c.webp", "image/webp"), ("d", "image/jpeg")] {
        assert_eq!(bench.run(&read(path)).await.images[0].mime, mime);
    }
    let only = |path: &str| Action::Read(Read { path: path.into(), image: true, ..Read::default() });
    bench.put("text", "no image\n");
    let none = bench.run(&only("text")).await;
    assert_eq!((none.state, &none.data["error"], none.seen.len()), (State::Failed, &"no_image".into(), 0));
    assert_eq!(bench.run(&only("a.png")).await.images.len(), 1);
    bench.put("huge.png", [png.to_vec(), vec![0; 6 << 20]].concat());
    assert_eq!(bench.run(&read("huge.png")).await.state, State::Failed);
}

#[tokio::test]
async fn g26_names_are_names() {
    let names = [
        "src/[id]/(auth)/a b.ts",
        "it's \"q\".md",
        "-rf",
        "näme",
        "new\nline",
        "esc\u{1b}[31m",
        "*",
        "~x",
        "$HOME",
    ];
    for name in names {
        let bench = Bench::new();
        assert_eq!(bench.run(&write(name, "one\n")).await.state, State::Ok, "{name:?}");
        assert_eq!(bench.run(&read(name)).await.text, "one\n", "{name:?}");
        let changed = bench.run(&edit(name, "one", "two")).await;
        assert_eq!(changed.state, State::Ok, "{name:?}: {}", changed.text);
        assert_eq!(bench.bytes(name), b"two\n");
        assert!(!changed.text.contains('\u{1b}') && !changed.text.contains("new\nline"), "{}", changed.text);
        let root = name.split('/').next().unwrap();
        let listed = bench.run(&Action::List { path: ".".into(), ignore: vec![], depth: None }).await;
        let shown = root.replace('\n', "\\n").replace('\u{1b}', "\\u{1b}");
        assert_eq!(listed.text.trim_end_matches('/'), shown, "{name:?}");
    }
}

#[tokio::test]
async fn the_home_folder_is_meant_by_a_tilde() {
    let bench = Bench::new();
    assert_eq!(bench.run(&write("~/in home.txt", "x")).await.state, State::Ok);
    assert!(bench.cwd.parent().unwrap().join("in home.txt").exists());
}

#[tokio::test]
async fn writing_makes_folders_and_says_what_it_did() {
    let bench = Bench::new();
    let made = bench.run(&write("new/deep/f.txt", "a\nb\n")).await;
    assert_eq!(made.text, "created new/deep/f.txt: 2 lines, 4 bytes");
    assert_eq!(
        (&made.data["created"], &made.data["bytes"], &made.data["lines"]),
        (&true.into(), &4.into(), &2.into())
    );
    assert_eq!(
        bench.run(&write("new/deep/f.txt", "c")).await.text,
        "overwrote new/deep/f.txt: 1 line, 1 byte"
    );
    let refused = bench.run(&create("new/deep/f.txt", "d")).await;
    assert_eq!((refused.state, &refused.data["error"]), (State::Failed, &"exists".into()));
    assert_eq!(bench.bytes("new/deep/f.txt"), b"c");
    assert_eq!(bench.run(&write("new/deep", "x")).await.state, State::Failed);
    assert_eq!(bench.run(&write("new/", "x")).await.state, State::Failed);
}

#[tokio::test]
async fn an_overwritten_file_keeps_what_a_model_does_not_see() {
    let bench = Bench::new().file("w", "a\r\nb\r\n").file("bom", "\u{feff}a\n").file("run.sh", "#!/bin/sh\n");
    let outcome = bench.run(&write("w", "a\nc\n")).await;
    assert_eq!(outcome.text, "overwrote w: 2 lines, 6 bytes; kept its CRLF line ends");
    assert_eq!(bench.bytes("w"), b"a\r\nc\r\n");
    bench.run(&write("bom", "b\n")).await;
    assert_eq!(bench.bytes("bom"), b"\xef\xbb\xbfb\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let path = bench.cwd.join("run.sh");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        bench.run(&edit("run.sh", "sh", "bash")).await;
        bench.run(&write("run.sh", "#!/bin/sh\nexit\n")).await;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
    }
}

#[tokio::test]
async fn a_file_changed_since_it_was_read_is_never_overwritten() {
    let attempts = [edit("f", "one", "1"), write("f", "1\n"), insert("f", 0, "0\n")];
    for attempt in attempts {
        let bench = Bench::new().file("f", "one\n");
        bench.run(&read("f")).await;
        bench.put("f", "one\nand more\n");
        let outcome = bench.run(&attempt).await;
        assert_eq!(outcome.state, State::Failed);
        assert_eq!(outcome.text, "f was left as it is: it has changed since it was read; read it again");
        assert_eq!(bench.bytes("f"), b"one\nand more\n");
        bench.run(&read("f")).await;
        assert_eq!(bench.run(&attempt).await.state, State::Ok);
    }
}

#[tokio::test]
async fn where_reading_first_is_asked_for_it_is_kept() {
    let mut bench = Bench::new().file("f", "one\ntwo\nthree\n");
    bench.needs_read = true;
    assert_eq!(bench.run(&edit("f", "one", "1")).await.data["error"], "unread");
    assert_eq!(bench.run(&write("f", "1\n")).await.data["error"], "unread");
    bench.run(&window("f", 1, 1)).await;
    assert_eq!(bench.run(&write("f", "1\n")).await.data["error"], "read_in_part");
    assert_eq!(bench.run(&edit("f", "one", "1")).await.state, State::Ok);
    bench.run(&read("f")).await;
    assert_eq!(bench.run(&write("f", "1\n")).await.state, State::Ok);
    assert_eq!(bench.run(&write("own", "mine\n")).await.state, State::Ok);
    assert_eq!(bench.run(&edit("own", "mine", "still mine")).await.state, State::Ok);
    assert_eq!(bench.run(&write("own", "mine\n")).await.state, State::Ok);
}

#[tokio::test]
async fn what_was_seen_survives_a_resume() {
    let mut bench = Bench::new().file("f", "one\n");
    bench.needs_read = true;
    let seen = bench.run(&read("f")).await.seen;
    bench.toolbox = tack::tools::Toolbox::default();
    assert_eq!(bench.run(&edit("f", "one", "1")).await.state, State::Failed);
    bench.toolbox.restore(&seen);
    bench.put("f", "one, changed\n");
    assert_eq!(bench.run(&edit("f", "one", "1")).await.data["error"], "changed");
    bench.put("f", "one\n");
    assert_eq!(bench.run(&edit("f", "one", "1")).await.state, State::Ok);
}

#[tokio::test]
async fn text_is_inserted_after_a_line() {
    let bench = Bench::new().file("f", "a\nb\n");
    let outcome = bench.run(&insert("f", 1, "x")).await;
    assert_eq!(bench.bytes("f"), b"a\nx\nb\n");
    assert_eq!(outcome.text, "inserted 1 line into f; lines 1 to 3 are now:\na\nx\nb");
    let past = bench.run(&insert("f", 9, "x")).await;
    assert_eq!(past.text, "f was left as it is: it has 3 lines, so nothing can go after line 9");
    assert_eq!(bench.run(&insert("none", 0, "x")).await.state, State::Failed);
}

#[tokio::test]
async fn changes_are_taken_back_one_by_one() {
    let bench = Bench::new().file("f", "one\r\n");
    bench.run(&edit("f", "one", "two")).await;
    bench.run(&edit("f", "two", "three")).await;
    bench.run(&write("made", "x")).await;
    assert_eq!(bench.run(&undo("f")).await.state, State::Ok);
    assert_eq!(bench.bytes("f"), b"two\r\n");
    assert_eq!(bench.run(&undo("f")).await.text, "took back the last change of f");
    assert_eq!(bench.bytes("f"), b"one\r\n");
    assert_eq!(bench.run(&undo("f")).await.text, "f has no change of this session to take back");
    assert_eq!(bench.run(&undo("made")).await.text, "took back the making of made: the file is gone again");
    assert!(!bench.exists("made"));
    bench.run(&edit("f", "one", "two")).await;
    bench.put("f", "by somebody else\n");
    assert_eq!(bench.run(&undo("f")).await.data["error"], "changed");
    assert_eq!(bench.bytes("f"), b"by somebody else\n");
}

#[tokio::test]
async fn an_unknown_action_is_an_answer_and_runs_nothing() {
    let bench = Bench::new();
    let outcome = bench.run(&Action::Unknown { name: "x".into(), why: "there is no tool x".into() }).await;
    assert_eq!((outcome.state, outcome.text.as_str()), (State::Failed, "there is no tool x"));
}

#[tokio::test]
async fn the_task_list_is_replaced() {
    let bench = Bench::new();
    let item = |text: &str, status| tack::model::TodoItem {
        id: None,
        text: text.into(),
        status,
        ..Default::default()
    };
    use tack::model::TodoStatus::{Completed, InProgress, Pending};
    let items = vec![item("a", Completed), item("b", InProgress), item("c", Pending)];
    let outcome = bench.run(&Action::Todo { items: Some(items.clone()) }).await;
    assert_eq!(outcome.text, "task list: 1 done, 1 in progress, 1 to do");
    assert_eq!(bench.toolbox.todos(), items);
    bench.run(&Action::Todo { items: Some(vec![]) }).await;
    assert_eq!(bench.toolbox.todos(), []);
}

#[tokio::test]
async fn the_policy_holds_for_file_tools() {
    let mut bench = Bench::new().file("f", "one\n").file("hidden/f", "one\n").file("kept/f", "one\n");
    bench.policy.mode = tack::sandbox::Mode::WorkspaceWrite;
    bench.policy.hide = vec![bench.cwd.join("hidden")];
    bench.policy.protect = vec![bench.cwd.join("kept")];
    for action in [
        read("hidden/f"),
        edit("hidden/f", "one", "two"),
        edit("kept/f", "one", "two"),
        write("kept/g", "x"),
        write("../out", "x"),
    ] {
        let outcome = bench.run(&action).await;
        assert_eq!(outcome.state, State::Refused, "{action:?}: {}", outcome.text);
        assert!(outcome.data["rule"].is_string());
    }
    assert_eq!(bench.bytes("kept/f"), b"one\n");
    assert_eq!(bench.run(&read("kept/f")).await.state, State::Ok);
    assert_eq!(bench.run(&edit("f", "one", "two")).await.state, State::Ok);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn g24_a_working_folder_need_not_be_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let mut bench = Bench::new();
    bench.cwd = bench.cwd.join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir(&bench.cwd).unwrap();
    bench.put("f.txt", "one\n");
    assert_eq!(bench.run(&read("f.txt")).await.text, "one\n");
    assert_eq!(bench.run(&edit("f.txt", "one", "two")).await.state, State::Ok);
    assert_eq!(bench.shell("cat f.txt").await.text, "two\n");
    let grep = Action::Grep(Grep { pattern: "two".into(), ..Grep::default() });
    assert_eq!(bench.run(&grep).await.text, "f.txt:1:two");
    for pattern in ["f.txt", "*.txt"] {
        let glob = Action::Glob(Glob { pattern: pattern.into(), ..Glob::default() });
        assert_eq!(bench.run(&glob).await.text, "f.txt");
    }
    let patch = "*** Begin Patch\n*** Update File: f.txt\n@@\n-two\n+three\n*** End Patch\n";
    assert_eq!(bench.run(&Action::Patch { text: patch.into(), cwd: None }).await.state, State::Ok);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_is_no_plain_file_is_not_waited_for() {
    let bench = Bench::new();
    assert!(std::process::Command::new("mkfifo").arg(bench.cwd.join("pipe")).status().unwrap().success());
    std::os::unix::fs::symlink("loop", bench.cwd.join("loop")).unwrap();
    for path in ["pipe", "/dev/zero", "/dev/tty", "loop"] {
        for action in [read(path), write(path, "x"), edit(path, "a", "b"), insert(path, 0, "x")] {
            let outcome = bench.run(&action).await;
            assert_ne!(outcome.state, State::Ok, "{action:?}: {}", outcome.text);
        }
    }
    let status = bench.run(&read("/proc/self/status")).await;
    assert!(status.text.starts_with("Name:"), "a file of unknown size is read: {}", status.text);
}
