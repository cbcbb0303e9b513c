//! Finding files and lines, and listing folders.

use std::time::{Duration, SystemTime};

use tack::model::{Action, Glob, Grep, State};

use crate::tools_kit::Bench;

fn glob(pattern: &str) -> Action {
    Action::Glob(Glob { pattern: pattern.into(), ..Glob::default() })
}

fn grep(pattern: &str) -> Action {
    Action::Grep(Grep { pattern: pattern.into(), ..Grep::default() })
}

fn list(path: &str) -> Action {
    Action::List { path: path.into(), ignore: vec![], depth: None }
}

fn project() -> Bench {
    Bench::new()
        .file(".gitignore", "target\n*.log\n")
        .file("src/main.rs", "fn main() {}\nlet Total = 1;\n")
        .file("src/deep/lib.rs", "fn total() {}\n")
        .file("src/[id]/page.ts", "total\n")
        .file("target/debug/gen.rs", "fn total() {}\n")
        .file("run.log", "total\n")
        .file(".env", "total=1\n")
        .file(".git/config", "total\n")
        .file("bin", b"total\0\n")
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[tokio::test]
async fn globs_find_what_a_project_shows() {
    let bench = project();
    let table: [(&str, &[&str]); 8] = [
        ("*.rs", &["src/deep/lib.rs", "src/main.rs"]),
        ("src/*.rs", &["src/main.rs"]),
        ("**/*.{rs,ts}", &["src/[id]/page.ts", "src/deep/lib.rs", "src/main.rs"]),
        ("src/[id]/page.ts", &["src/[id]/page.ts"]),
        (".env", &[".env"]),
        ("*.log", &["no file matches *.log"]),
        ("../work/src/*.rs", &["src/main.rs"]),
        ("*.py", &["no file matches *.py"]),
    ];
    for (pattern, want) in table {
        let outcome = bench.run(&glob(pattern)).await;
        assert_eq!(outcome.state, State::Ok, "{pattern}: {}", outcome.text);
        assert_eq!(sorted(&outcome.text), want, "{pattern}");
    }
    let absolute = format!("{}/src/**/*.rs", bench.cwd.display());
    assert_eq!(sorted(&bench.run(&glob(&absolute)).await.text), ["src/deep/lib.rs", "src/main.rs"]);
    assert_eq!(bench.run(&glob("a[")).await.state, State::Failed);
}

#[tokio::test]
async fn globs_give_the_newest_first_and_say_when_there_are_more() {
    let bench = Bench::new();
    for (name, age) in [("old", 300), ("new", 10), ("mid", 100)] {
        bench.put(name, "");
        let file = std::fs::File::options().write(true).open(bench.cwd.join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    }
    let all = bench.run(&glob("*")).await;
    assert_eq!(all.text, "new\nmid\nold");
    let two = bench.run(&Action::Glob(Glob { pattern: "*".into(), limit: Some(2), ..Glob::default() })).await;
    assert_eq!(two.text, "new\nmid\n[the newest 2 of 3 files; narrow the pattern or the path]");
    assert_eq!((&two.data["count"], &two.data["more"]), (&3.into(), &true.into()));
    let none =
        bench.run(&Action::Glob(Glob { pattern: "*".into(), limit: Some(0), ..Glob::default() })).await;
    assert_eq!(none.text, all.text, "a limit of nothing is none that was given");
}

#[tokio::test]
async fn grep_finds_lines_and_counts() {
    let bench = project();
    let outcome = bench.run(&grep("total")).await;
    insta::assert_snapshot!(outcome.text, @r"
    src/[id]/page.ts:1:total
    src/deep/lib.rs:1:fn total() {}
    ");
    assert_eq!((&outcome.data["count"], &outcome.data["files"]), (&2.into(), &2.into()));
    assert_eq!(outcome.data["matches"][0]["line"], 1);
    let any_case = Action::Grep(Grep {
        pattern: "TOTAL".into(),
        path: Some("src".into()),
        glob: Some("*.rs".into()),
        limit: Some(1),
        ignore_case: true,
        ..Grep::default()
    });
    insta::assert_snapshot!(bench.run(&any_case).await.text, @r"
    src/deep/lib.rs:1:fn total() {}
    [the first 1 of 2 matching lines in 2 files; narrow the pattern or the path]
    ");
    let limit_0 = Action::Grep(Grep {
        pattern: "total".into(),
        path: Some("src".into()),
        limit: Some(0),
        ..Grep::default()
    });
    assert_eq!(bench.run(&limit_0).await.data["count"], 2);
    assert!(!bench.run(&limit_0).await.text.contains("the first"), "a limit of nothing is none");
    let ignored =
        Action::Grep(Grep { pattern: "total".into(), path: Some("run.log".into()), ..Grep::default() });
    assert_eq!(bench.run(&ignored).await.text, "run.log:1:total", "a file that is named is searched");
    assert_eq!(bench.run(&grep("nowhere at all")).await.text, "no line matches nowhere at all");
}

#[tokio::test]
async fn a_pattern_that_is_no_expression_is_searched_for_as_it_stands() {
    let bench = Bench::new().file("f", "call(x[\nother\n").file("g", "one\ntwo\nthree\n");
    let outcome = bench.run(&grep("call(x[")).await;
    assert!(
        outcome.text.starts_with("f:1:call(x[\n[searched for the pattern as plain text"),
        "{}",
        outcome.text
    );
    assert_eq!(outcome.data["literal"], true);
    assert_eq!(bench.run(&grep("one\\ntwo")).await.data["count"], 1, "over several lines");
}

#[tokio::test]
async fn long_lines_and_strange_names_stay_one_line() {
    let bench = Bench::new().file("n\nl", format!("{}needle\n", "x".repeat(2000)));
    let outcome = bench.run(&grep("needle")).await;
    assert_eq!(outcome.text, format!("n\\nl:1:{}… [line cut]", "x".repeat(500)));
}

#[cfg(unix)]
#[tokio::test]
async fn link_loops_and_pipes_are_survived() {
    let bench = Bench::new().file("a/f", "needle\n");
    std::os::unix::fs::symlink("..", bench.cwd.join("a/up")).unwrap();
    std::os::unix::fs::symlink("loop", bench.cwd.join("loop")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(bench.cwd.join("pipe")).status().unwrap();
    assert!(pipe.success());
    assert_eq!(bench.run(&grep("needle")).await.text, "a/f:1:needle");
    assert_eq!(sorted(&bench.run(&glob("f")).await.text), ["a/f"]);
    assert_eq!(bench.run(&list("a")).await.text, "up/\nf");
}

#[tokio::test]
async fn a_listing_has_folders_first_and_counts_what_is_ignored() {
    let bench = project();
    let outcome = bench.run(&list(".")).await;
    insta::assert_snapshot!(outcome.text, @r"
    .git/
    src/
    .env
    .gitignore
    bin
    [2 ignored]
    ");
    assert_eq!(outcome.data["ignored"], 2);
    assert_eq!(outcome.data["entries"][1], serde_json::json!({ "name": "src", "dir": true }));
    let less = bench
        .run(&Action::List { path: "".into(), ignore: vec![".*".into(), "src/".into()], depth: None })
        .await;
    assert_eq!(less.text, "bin\n[6 ignored]");
    assert_eq!(bench.run(&list("bin")).await.text, "bin is a file; read it, or list its folder");
    assert_eq!(bench.run(&list("none")).await.state, State::Failed);
}

#[tokio::test]
async fn a_cancelled_search_is_interrupted() {
    let bench = project();
    bench.cancel.cancel();
    assert_eq!(bench.run(&grep("x")).await.state, State::Interrupted);
    assert_eq!(bench.run(&glob("*")).await.state, State::Interrupted);
}

#[tokio::test]
async fn what_the_policy_hides_is_not_found() {
    let mut bench = Bench::new().file("open/f", "needle\n").file("secret/f", "needle\n");
    bench.policy.mode = tack::sandbox::Mode::WorkspaceWrite;
    bench.policy.hide = vec![bench.cwd.join("secret")];
    assert_eq!(bench.run(&grep("needle")).await.text, "open/f:1:needle");
    assert_eq!(bench.run(&glob("f")).await.text, "open/f");
}

#[tokio::test]
async fn a_long_answer_holds_whole_rows_and_says_so() {
    let mut bench = Bench::new();
    for n in 0..40 {
        bench.put(&format!("file-{n:02}"), "needle\n");
    }
    bench.limits.bytes = 500;
    let found = bench.run(&grep("needle")).await;
    assert!(found.text.len() <= 500, "{}", found.text);
    let shown = found.data["matches"].as_array().unwrap().len();
    assert_eq!(found.text.lines().count(), shown + 1);
    assert!(found.text.ends_with(&format!(
        "[the first {shown} of 40 matching lines in 40 files; narrow the pattern or the path]"
    )));
    let listed = bench.run(&list(".")).await;
    assert!(listed.text.ends_with(" of 40 entries]"), "{}", listed.text);
}
