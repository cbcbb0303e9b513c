//! A change that the person revised: their text is written, by the way that every change goes.

use tack::model::{Action, Broken, FileChangeKind, Guards, Outcome, State};
use tack::tools::{Preview, preview};

use crate::tools_kit::{Bench, edit, read, write};

/// What the action would make of its files, with these texts in place of the model's.
fn revise(bench: &Bench, action: &Action, texts: &[Option<&str>]) -> (Vec<Preview>, Outcome) {
    let files = preview(action, &bench.cx()).unwrap();
    assert_eq!(files.len(), texts.len());
    let with = |(file, text): (Preview, &Option<&str>)| Preview { after: text.map(str::to_owned), ..file };
    let files: Vec<Preview> = files.into_iter().zip(texts).map(with).collect();
    let outcome = bench.toolbox.revise(&bench.cx(), &files);
    (files, outcome)
}

#[tokio::test]
async fn the_persons_text_is_written_and_told_as_a_difference() {
    let bench = Bench::new().file("a.txt", "one\ntwo\nthree\n").file("crlf", "a\r\nb\r\n");
    for (action, text, wrote, says) in [
        (edit("a.txt", "two", "2"), "one\nzwei\nthree\n", "one\nzwei\nthree\n", "-two\n+zwei"),
        (write("new/b", "theirs\n"), "mine\n", "mine\n", "+mine"),
        // Line ends stay, as they do for a model.
        (write("crlf", "a\nc\n"), "a\nd\n", "a\r\nd\r\n", "+d"),
    ] {
        let (files, outcome) = revise(&bench, &action, &[Some(text)]);
        let path = &files[0].path;
        assert_eq!(outcome.state, State::Ok, "{}", outcome.text);
        assert!(outcome.text.contains(says), "{}", outcome.text);
        assert_eq!(bench.bytes(path), wrote.as_bytes(), "{path}");
        assert_eq!(outcome.changes.len(), 1);
        assert_eq!(outcome.data["revised"], true);
        let undone = bench.run(&Action::Undo { path: path.clone() }).await;
        assert_eq!(
            (undone.state, bench.exists(path)),
            (State::Ok, files[0].before.is_some()),
            "{}",
            undone.text
        );
    }
}

#[tokio::test]
async fn all_files_of_a_patch_are_checked_before_one_is_written() {
    let text = "*** Begin Patch\n*** Add File: new\n+x\n*** Update File: a\n*** Move to: moved\n@@\n-1\n+2\n*** Delete File: b\n*** End Patch\n";
    let patch = Action::Patch { text: text.into(), cwd: None };
    let bench = || Bench::new().file("a", "1\n").file("b", "1\n");
    let texts = [Some("y\n"), None, Some("3\n"), None];
    let one = bench();
    let (_, outcome) = revise(&one, &patch, &texts);
    assert_eq!(outcome.state, State::Ok, "{}", outcome.text);
    assert_eq!((one.bytes("new"), one.bytes("moved")), (b"y\n".to_vec(), b"3\n".to_vec()));
    assert!(!one.exists("a") && !one.exists("b"));
    let kinds: Vec<FileChangeKind> = outcome.changes.iter().map(|change| change.kind).collect();
    use FileChangeKind::{Added, Removed};
    assert_eq!(kinds, [Added, Added, Removed, Removed], "what moves is there before it goes");

    let other = bench();
    let files = preview(&patch, &other.cx()).unwrap();
    other.put("b", "changed by somebody\n");
    let outcome = other.toolbox.revise(&other.cx(), &files);
    assert_eq!((outcome.state, &outcome.data["error"]), (State::Failed, &"changed".into()));
    assert!(!other.exists("new") && !other.exists("moved") && other.exists("a"), "{}", outcome.text);
}

#[tokio::test]
async fn what_guards_every_change_guards_this_one() {
    let mut bench = Bench::new().file("a", "1\n").file("kept/b", "1\n");
    bench.policy.mode = tack::sandbox::Mode::WorkspaceWrite;
    bench.policy.protect = vec![bench.cwd.join("kept")];
    std::os::unix::fs::symlink("kept/b", bench.cwd.join("link")).unwrap();
    for path in ["kept/b", "link", "../outside"] {
        let (_, outcome) = revise(&bench, &write(path, "x\n"), &[Some("mine\n")]);
        assert_eq!(outcome.data["error"], "denied", "{path}: {}", outcome.text);
    }
    assert_eq!(bench.bytes("kept/b"), b"1\n");
    // What the model knows to be otherwise.
    bench.run(&read("a")).await;
    bench.put("a", "changed by somebody\n");
    let (_, outcome) = revise(&bench, &write("a", "x\n"), &[Some("mine\n")]);
    assert_eq!(outcome.data["error"], "changed", "{}", outcome.text);
}

#[tokio::test]
async fn what_holds_only_a_model_back_holds_no_person() {
    let mut bench = Bench::new().file("a.rs", "fn a() {}\n");
    bench.guards = Guards { seen: true, parse: Broken::Refused, whole: Some(1), ..Guards::default() };
    let action = edit("a.rs", "fn a() {}", "fn b() {}");
    let (_, outcome) = revise(&bench, &action, &[Some("fn a( {\n// todo\n")]);
    assert_eq!(outcome.state, State::Ok, "{}", outcome.text);
    assert!(outcome.text.contains("does not parse now"), "{}", outcome.text);
    // As it was, and longer than is shown.
    let bench = Bench::new().file("a", "1\n");
    let (_, outcome) = revise(&bench, &write("a", "2\n"), &[Some("1\n")]);
    assert_eq!((outcome.text.as_str(), outcome.changes.len()), ("a was left as it is", 0));
    let (_, outcome) = revise(&bench, &write("a", "2\n"), &[Some(&"a word\n".repeat(5000))]);
    assert!(outcome.text.contains("read it before you change it again"), "{}", outcome.text);
    assert!(outcome.seen.is_empty());
}

#[tokio::test]
async fn a_whole_or_partial_text_is_shown_as_what_it_makes_of_the_file() {
    let file = "def first(x):\n    return x[0]\n\n\ndef last(x):\n    return x[-1]\n";
    let mut bench = Bench::new().file("stats.py", file);
    bench.guards.keep_names = true;
    for text in [
        "def last(x):\n    return x[len(x) - 1]\n".to_owned(),
        format!("{file}\n\ndef smallest(x):\n    return min(x)"),
    ] {
        let action = Action::Rewrite { path: "stats.py".into(), text };
        let shown = preview(&action, &bench.cx()).unwrap();
        assert_eq!(shown[0].before.as_deref().map(str::as_bytes), Some(&bench.bytes("stats.py")[..]));
        let outcome = bench.run(&action).await;
        assert_eq!(outcome.state, State::Ok, "{}", outcome.text);
        assert_eq!(shown[0].after.as_deref().map(str::as_bytes), Some(&bench.bytes("stats.py")[..]));
        bench.run(&Action::Undo { path: "stats.py".into() }).await;
    }
    let lost = Action::Rewrite { path: "stats.py".into(), text: "x = 1\n".into() };
    assert_eq!(preview(&lost, &bench.cx()), None, "it would be refused");
}
