//! What this module is held to, by table and over generated input.

use proptest::prelude::*;

use super::super::hunk::{Misfit, apply};
use super::*;

/// The one file after the diff.
fn after(file: &str, diff: &str, fuzz: usize) -> Result<String, String> {
    let mut files = parse(diff, None, fuzz)?;
    let Section::Update { hunks, .. } = &mut files[0].section else { return Err("no update".to_owned()) };
    match apply(file.as_bytes(), hunks) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(Misfit::Nowhere(_)) => Err("nowhere".to_owned()),
        Err(Misfit::Several(_, places)) => Err(format!("at {places:?}")),
    }
}

const FILE: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

#[test]
fn hunks_go_where_their_lines_are() {
    let names = "--- a/f\n+++ b/f\n";
    let table: [(&str, usize, Result<&str, &str>); 14] = [
        ("@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n", 0, Ok("one\ntwo\n3\nfour\nfive\nsix\n")),
        // Wrong numbers, wrong counts, none at all.
        ("@@ -9,1 +9,7 @@\n two\n-three\n+3\n four\n", 0, Ok("one\ntwo\n3\nfour\nfive\nsix\n")),
        ("@@\n two\n-three\n+3\n four\n", 0, Ok("one\ntwo\n3\nfour\nfive\nsix\n")),
        ("@@ ... @@\n-three\n+3\n", 0, Ok("one\ntwo\n3\nfour\nfive\nsix\n")),
        ("@@ -1 +1 @@\n-one\n+1\n@@ -6 +6,2 @@\n six\n+7\n", 0, Ok("1\ntwo\nthree\nfour\nfive\nsix\n7\n")),
        ("@@ -2,0 +3 @@\n+2.5\n", 0, Ok("one\ntwo\n2.5\nthree\nfour\nfive\nsix\n")),
        // Blanks at the end are forgiven, other differences only with fuzz.
        ("@@ -2,2 +2,2 @@\n two \n-three\n+3\n", 0, Ok("one\ntwo\n3\nfour\nfive\nsix\n")),
        ("@@ -2,3 +2,3 @@\n TWO\n-three\n+3\n four\n", 0, Err("nowhere")),
        ("@@ -2,3 +2,3 @@\n TWO\n-three\n+3\n four\n", 1, Ok("one\ntwo\n3\nfour\nfive\nsix\n")),
        ("@@ -1,4 +1,4 @@\n ONE\n TWO\n-three\n+3\n four\n", 1, Err("nowhere")),
        ("@@ -2,3 +2,3 @@\n two\n-THREE\n+3\n four\n", 2, Err("nowhere")),
        ("@@\n+7\n", 0, Err("nowhere")),
        ("@@ -6 +6 @@\n-six\n+6\n\\ No newline at end of file\n", 0, Ok("one\ntwo\nthree\nfour\nfive\n6")),
        ("@@ -5,2 +5,3 @@\n five\n six\n+\n", 0, Ok("one\ntwo\nthree\nfour\nfive\nsix\n\n")),
    ];
    for (diff, fuzz, want) in table {
        let got = after(FILE, &format!("{names}{diff}"), fuzz);
        assert_eq!(got, want.map(str::to_owned).map_err(str::to_owned), "{diff}");
    }
}

#[test]
fn of_several_places_the_number_chooses_and_nothing_else() {
    let file = "a\nx\nb\nx\nc\nx\n";
    let diff = |at: &str| after(file, &format!("--- f\n+++ f\n@@ {at} @@\n-x\n+y\n"), 0);
    assert_eq!(diff("-4 +4"), Ok("a\nx\nb\ny\nc\nx\n".to_owned()));
    assert_eq!(diff("-3 +3"), Err("at [2, 4, 6]".to_owned()));
    assert_eq!(diff(""), Err("at [2, 4, 6]".to_owned()));
    // The second is found by how far the first was off.
    let both = "--- f\n+++ f\n@@ -11 +11 @@\n-a\n+A\n@@ -14 +14 @@\n-x\n+y\n";
    assert_eq!(after(file, both, 0), Ok("A\nx\nb\ny\nc\nx\n".to_owned()));
}

#[test]
fn what_a_diff_is_about() {
    let about = |diff: &str| -> Result<Vec<String>, String> {
        let one = |file: FileDiff| match (file.section, file.is_new) {
            (Section::Delete { path }, _) => format!("delete {path}"),
            (Section::Update { path, .. }, true) => format!("new {path}"),
            (Section::Update { path, to: Some(to), .. }, false) => format!("move {path} to {to}"),
            (Section::Update { path, hunks, .. }, false) => format!("{} in {path}", hunks.len()),
            (Section::Add { path, .. }, _) => format!("add {path}"),
        };
        Ok(parse(diff, None, 0)?.into_iter().map(one).collect())
    };
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    let table: Vec<(String, Vec<&str>)> = vec![
        (format!("--- a/x y.rs\t2026-01-01\n+++ b/x y.rs\t2026-01-02\n{hunk}"), vec!["1 in x y.rs"]),
        (format!("--- a/x\n+++ a/x\n{hunk}"), vec!["1 in a/x"]),
        (format!("Sure!\n```diff\n--- x\n+++ x\n{hunk}```\nDone.\n"), vec!["1 in x"]),
        (format!("--- x\n+++ x\n{hunk}\n{hunk}\n--- y\n+++ y\n{hunk}"), vec!["2 in x", "1 in y"]),
        (
            format!("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n{hunk}-- \n2.39.1\n"),
            vec!["1 in x"],
        ),
        ("--- /dev/null\n+++ b/n/x\n@@ -0,0 +1 @@\n+a\n".to_owned(), vec!["new n/x"]),
        ("diff --git a/x b/x\nnew file mode 100644\nindex 0..0\n".to_owned(), vec!["new x"]),
        ("diff --git a/x b/x\ndeleted file mode 100644\n".to_owned(), vec!["delete x"]),
        ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n".to_owned(), vec!["delete x"]),
        (
            "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n".to_owned(),
            vec!["move x to y"],
        ),
        (
            "--- \"a/n\\303\\244h\"\n+++ \"b/n\\303\\244h\"\n@@ -1 +1 @@\n-a\n+b\n".to_owned(),
            vec!["1 in näh"],
        ),
        // A line `-- x` that goes and a line `++ y` that comes.
        ("--- f\n+++ f\n@@ -1 +1 @@\n--- x\n+++ y\n@@ -5 +5 @@\n-a\n+b\n".to_owned(), vec!["2 in f"]),
    ];
    for (diff, want) in table {
        assert_eq!(
            about(&diff).map_err(|why| format!("{why}: {diff}")),
            Ok(want.iter().map(|w| (*w).to_owned()).collect())
        );
    }
    for (diff, why) in [
        ("", "no hunk"),
        ("--- x\n+++ x\n", "no hunk"),
        ("@@ -1 +1 @@\n-a\n+b\n", "does not name its file"),
        ("--- x\n+++ x\n@@ -1,2 +1,2 @@\nfn main\n", "diff line 4"),
        ("--- x\n+++ x\n@@ -1 +1 @@\n", "holds no lines"),
        ("diff --git a/x b/x\nBinary files a/x and b/x differ\n", "binary"),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "no hunk"),
    ] {
        assert!(about(diff).is_err_and(|said| said.contains(why)), "{diff}");
    }
    let named = parse("@@ -1 +1 @@\n-a\n+b\n", Some("z"), 0).expect("a diff");
    assert_eq!(named[0].section.path(), "z");
}

proptest! {
    /// What another program says is the difference leads from the one text to the other, and back.
    #[test]
    fn there_and_back(
        old in "([ab]?[ab]?(\n|\n|\\+ |-- |@@ )){0,12}[ab]?",
        new in "([ab]?[ab]?(\n|\n|\\+ |-- |@@ )){0,12}[ab]?",
        context in 0usize..4,
    ) {
        prop_assume!(old != new);
        let diff = |old: &str, new: &str| {
            similar::TextDiff::from_lines(old, new).unified_diff().context_radius(context).header("f", "f").to_string()
        };
        prop_assert_eq!(after(&old, &diff(&old, &new), 0), Ok(new.clone()));
        prop_assert_eq!(after(&new, &diff(&new, &old), 0), Ok(old.clone()));
    }

    #[test]
    fn no_text_is_too_odd(diff in "(--- f|\\+\\+\\+ f|@@ -[0-9]{1,2},?[0-9]? \\+1 @@|@@|[-+ ]a|\\\\ No|diff --git a/f b/f|rename to|\"|\n){0,14}") {
        let _ = after("a\nb\n", &diff, 2);
    }
}
