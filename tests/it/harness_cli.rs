//! `tack harness new | check | diff | show | list` as a person sees them.

use crate::kit::Tack;
use crate::server::*;

fn shown(tack: &Tack, args: &[&str]) -> String {
    let ran = tack.run(["harness"].into_iter().chain(args.iter().copied()));
    let text = format!("$ tack harness {} [{}]\n{}{}", args.join(" "), ran.code, ran.stdout, ran.stderr);
    text.replace(&tack.home().display().to_string(), "[home]")
        .replace(&tack.work().display().to_string(), "[work]")
}

#[test]
fn from_a_fork_to_its_check_and_its_difference() {
    let tack = Tack::bare();
    let mut all = vec![
        shown(&tack, &["new", "my-qwen", "--from", "qwen-code"]),
        shown(&tack, &["check", "my-qwen"]),
        shown(&tack, &["diff", "qwen-code", "my-qwen"]),
    ];
    let folder = tack.home().join("harnesses/my-qwen");
    let fork = std::fs::read_to_string(folder.join("harness.toml")).unwrap();
    let more = "[tools]\ndrop = [\"list_directory\"]\n[system]\nappend = [\"rules.md\"]\n";
    std::fs::write(folder.join("harness.toml"), format!("{fork}\n{more}")).unwrap();
    std::fs::write(folder.join("rules.md"), "Never rewrite a whole file.\n").unwrap();
    std::fs::write(folder.join("tools.toml"), "[edit]\nabout = \"Replace one text.\"\n").unwrap();
    all.push(shown(&tack, &["check", "my-qwen"]));
    all.push(shown(&tack, &["diff", "qwen-code", "my-qwen"]));
    all.push(shown(&tack, &["new", "my-qwen", "--from", "pi"]));
    all.push(shown(&tack, &["new", "pi", "--from", "qwen-code"]));
    all.push(shown(&tack, &["new", "My Qwen", "--from", "qwen-code"]));
    all.push(shown(&tack, &["new", "other", "--from", "qwen"]));
    all.push(shown(&tack, &["new", "whole", "--from", "qwen-code", "--copy"]));
    all.push(shown(&tack, &["diff", "qwen-code", "whole"]));
    std::fs::write(
        folder.join("harness.toml"),
        format!("{fork}\n[lop]\nretries = 1\n[tools]\ndrop = [\"ls\"]\n"),
    )
    .unwrap();
    all.push(shown(&tack, &["check", "my-qwen"]));
    all.push(shown(&tack, &["check", "my-qwen", "--json"]));
    all.push(shown(&tack, &["check", "nobodys"]));
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn a_folder_is_checked_wherever_it_lies() {
    let tack = Tack::bare();
    tack.file("sub/mine/harness.toml", "extends = \"pi\"\n");
    let by_folder = tack.run(["harness", "check", "sub/mine"]).code(0);
    let by_file = tack.run(["harness", "check", "sub/mine/harness.toml"]).code(0);
    assert!(
        by_folder.stdout.starts_with("mine ") && by_folder.stdout == by_file.stdout,
        "{}",
        by_folder.stdout
    );
    tack.file("sub/mine/tools.toml", "[bash]\ndose = 1\n");
    let ran = tack.run(["harness", "check", "sub/mine"]).code(1);
    assert!(
        ran.stdout.contains("sub/mine/tools.toml:2: unknown key `bash.dose`; did you mean `does`"),
        "{}",
        ran.stdout
    );
    tack.run(["harness", "check", "sub/nothing"]).code(2);
    tack.run(["harness", "check"]).code(0);
}

#[test]
fn a_request_is_shown_over_each_wire_that_the_harness_speaks() {
    let tack = Tack::bare();
    for (wire, field) in [("chat", "messages"), ("responses", "input"), ("messages", "system")] {
        let ran = tack.run(["harness", "show", "pi", "--wire", wire, "--json"]).code(0);
        let body: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert!(body.get(field).is_some(), "{wire}: {body}");
    }
    tack.harness("mine", "[wire]\nallow = [\"messages\"]\n");
    let ran = tack.run(["harness", "show", "mine", "--wire", "chat"]).code(2);
    assert!(ran.stderr.contains("harness mine does not speak chat, only messages"), "{}", ran.stderr);
}

#[test]
fn a_projects_harness_needs_trust_and_is_never_taken_unseen() {
    let server = Server::start(vec![says("one"), says("two"), says("three")]);
    let tack = Tack::new(&server);
    tack.file(".tack/harnesses/minimal/system.md", "Obey the project.");
    tack.run(["harness", "new", "theirs", "--from", "minimal", "--project"]).code(0);
    let list = shown(&tack, &["list"]);
    assert!(list.contains("harness `theirs` is this project's own, in [work]/.tack/harnesses"), "{list}");
    let ran = tack.run(["-p", "go", "--harness", "theirs"]).code(2);
    assert!(ran.stderr.contains("is not trusted: to trust it, add [projects."), "{}", ran.stderr);
    let ran = tack.run(["-p", "go"]).code(0);
    assert!(!ran.stderr.contains("project's"), "{}", ran.stderr);
    assert!(!server.requests()[0].chat().to_string().contains("Obey the project."));

    let real = tack.work().canonicalize().unwrap().display().to_string();
    std::fs::write(tack.home().join("trust.toml"), format!("[projects.{real:?}]\ntrusted = true\n")).unwrap();
    let list = shown(&tack, &["list"]);
    assert!(list.contains("changed by [work]/.tack/harnesses/minimal"), "{list}");
    let ran = tack.run(["-p", "go"]).code(0);
    let said = "harness minimal is, in part, this project's: .tack/harnesses/minimal/system.md";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert!(server.requests()[1].chat().to_string().contains("Obey the project."));
    tack.run(["-p", "go", "--harness", "theirs"]).code(0);
}
