//! What somebody meets who makes a harness of his own, or tries one of somebody else's.

use crate::kit::Tack;

#[test]
fn names_and_texts_of_folders_do_not_steer_the_terminal() {
    let tack = Tack::bare();
    let hostile = "\u{1b}]0;owned\u{7}";
    tack.harness("mine", "summary = \"x\\u001b[2Jy\\nfake 9 tokens\\u202e\"\nname = \"a\\u001b[2J\"\n");
    tack.harness("broken", "\"a\\u001b[2J\" = 1\n");
    tack.file(&format!(".tack/harnesses/{hostile}/harness.toml"), "extends = \"minimal\"\n");
    let runs: [&[&str]; 6] = [
        &["harness", "list"],
        &["harness", "check"],
        &["harness", "show", "mine"],
        &["harness", "diff", "minimal", "mine"],
        &["-p", "hi", "--harness", "broken"],
        &["-p", "hi", "--harness", hostile],
    ];
    for args in runs {
        let ran = tack.run(args);
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!all.is_empty() && !all.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{args:?}: {all:?}");
    }
    let listed = tack.run(["harness", "list"]).code(0).stdout;
    assert!(!listed.lines().any(|line| line.starts_with("fake")), "{listed}");
}

#[test]
fn a_script_that_is_not_there_is_one_fault() {
    let tack = Tack::bare();
    tack.harness("mine", "");
    let tools = "[count]\ndoes = \"script\"\nrun = [\"python3\", \"count.py\"]\nabout = \"Counts.\"\n";
    std::fs::write(tack.home().join("harnesses/mine/tools.toml"), tools).unwrap();
    let told = tack.run(["harness", "check", "mine"]).code(1).stdout;
    assert!(told.contains("broken: 1 fault") && told.contains("put the script there"), "{told}");
}

#[test]
fn a_diff_names_the_program_that_is_asked() {
    let tack = Tack::bare();
    tack.harness("mine", "[dialect]\nkind = \"external\"\ncommand = [\"python3\", \"mine.py\"]\n");
    std::fs::write(tack.home().join("harnesses/mine/mine.py"), "").unwrap();
    let told = tack.run(["harness", "diff", "minimal", "mine"]).code(0).stdout;
    assert!(told.contains("+ dialect.command: python3 mine.py"), "{told}");
}

#[test]
fn the_program_prints_the_reference_of_its_keys() {
    let told = Tack::bare().run(["harness", "keys"]).code(0).stdout;
    assert!(told.contains("| `[system]`, `[[opening]]` |"), "{told}");
}
