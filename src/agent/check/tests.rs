//! What a check that fails says of a turn's work.

use super::*;

fn failed(exit: i32, output: &str) -> Ran {
    Ran::Failed { exit: Some(exit), output: output.to_owned() }
}

#[test]
fn a_failure_is_held_against_a_turn_that_brought_it() {
    let table = [
        ("both alike", "FAIL: test_a", "FAIL: test_a", Blame::Same),
        ("times and numbers", "1 failed in 0.12s", "1 failed in 11.5s", Blame::Same),
        ("a line moved", "a.py:12: error: x", "a.py:19: error: x", Blame::Same),
        (
            "one less",
            "FAIL: test_a\nFAIL: test_b\nFAILED (failures=2)",
            "FAIL: test_a\nFAILED (failures=1)",
            Blame::Same,
        ),
        ("one more", "FAIL: test_a", "FAIL: test_a\nFAIL: test_b", Blame::Worse),
        ("another one", "FAIL: test_a", "FAIL: test_b", Blame::Worse),
        ("the same twice", "AssertionError: no", "AssertionError: no\nAssertionError: no", Blame::Worse),
        ("another error", "ImportError: no name mul", "AssertionError: 3 != 4", Blame::Worse),
        ("a temporary file", "error: /tmp/abX1/out", "error: /tmp/cdY2/out", Blame::Same),
        ("more that passes", "ok a\nFAIL: test_b", "ok a\nok c\nFAIL: test_b", Blame::Same),
        ("pytest", "E   assert a", "E   assert b", Blame::Worse),
        ("marks", "✗ adds (3 ms)", "✗ adds (4 ms)\n✗ subtracts (1 ms)", Blame::Worse),
        ("silent", "", "", Blame::Same),
    ];
    for (what, before, now, want) in table {
        assert_eq!(blame(Some(&failed(1, before)), &failed(1, now)), want, "{what}");
    }
    assert_eq!(blame(Some(&failed(1, "")), &failed(2, "")), Blame::Worse, "another exit code");
    assert_eq!(blame(Some(&Ran::Passed), &failed(1, "")), Blame::New);
    assert_eq!(blame(Some(&Ran::Nothing), &failed(1, "")), Blame::Unknown);
    assert_eq!(blame(None, &failed(1, "")), Blame::Unknown);
}

#[test]
fn only_a_check_that_reached_its_limit_was_too_slow() {
    let check = Check { command: "make test".into(), limit: 1_000, rounds: 1 };
    let mark = |command: &str, exit, took| {
        Body::Mark(Mark::Checked { command: command.into(), exit, took, before: true })
    };
    assert!(check.was_too_slow(&mark("make test", None, 1_003)));
    assert!(!check.was_too_slow(&mark("make test", Some(2), 1_003)));
    assert!(!check.was_too_slow(&mark("make check", None, 1_003)), "another command");
    assert!(!check.was_too_slow(&mark("make test", None, 503)), "the limit was raised since");
}
