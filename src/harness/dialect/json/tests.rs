//! Tests of the JSON dialect, on `terminus-2` and on a harness whose elements name their tool.

use proptest::prelude::*;

use super::*;
use crate::harness::dialect;
use crate::harness::kit::Loaded;
use crate::harness::testing::{Bench, call, calls, forked, loaded, reply, text};
use crate::model::Stop;

fn read_by(harness: &Loaded, parts: Vec<Part>, stop: Stop) -> (Verdict, Reply) {
    let bench = Bench::new();
    let kit = harness.kit(&bench.model);
    let mut reply = reply(kit, parts, stop);
    let verdict = dialect::interpret(kit, &mut reply, &bench.view(&[])).unwrap();
    (verdict, reply)
}

fn read(said: &str) -> (Verdict, Reply) {
    read_by(&loaded("terminus-2"), vec![text(said)], Stop::Done)
}

fn actions(reply: &Reply) -> Value {
    calls(reply).iter().map(|call| serde_json::to_value(&call.action).unwrap()).collect()
}

fn keys(text: &str, wait: u64) -> Value {
    json!({"do": "keys", "text": text, "wait": wait})
}

#[test]
fn an_object_is_read_wherever_it_stands() {
    let ls = r#"{"analysis": "a", "plan": "p", "commands": [{"keystrokes": "ls\n", "duration": 0.1}]}"#;
    let one = json!([keys("ls\n", 100)]);
    let table = [
        (ls.to_owned(), &one),
        (format!("```json\n{ls}\n```"), &one),
        (format!("<think>{{\"commands\": 1}}</think>\n{ls}"), &one),
        (format!("I use {{braces}} and {{ one open.\n{ls}\nDone."), &one),
        (format!("{ls}\n{ls}"), &one),
        (ls.replacen('{', "{{", 1) + "}", &one),
        (ls.replace("}]}", "},],}"), &one),
        (ls.replace("\"a\"", "\"a raw\nline and a } brace\""), &one),
        (
            ls.replace("[{", "\"[{").replace("}]", "}]\"").replace(
                "\"keystrokes\": \"ls\\n\", \"duration\": 0.1",
                r#"\"keystrokes\": \"ls\\n\", \"duration\": 0.1"#,
            ),
            &one,
        ),
    ];
    for (said, want) in table {
        let (verdict, reply) = read(&said);
        assert_eq!((verdict, &actions(&reply)), (Verdict::Calls, want), "{said}");
    }
    let two = r#"{"analysis": "", "plan": "", "commands": [{"keystrokes": "vi a\n"}, {"keystrokes": "C-c", "duration": 900}]}"#;
    assert_eq!(actions(&read(two).1), json!([keys("vi a\n", 1000), keys("C-c", 60_000)]));
}

#[test]
fn the_flag_hands_in_after_all_else() {
    for (flag, done) in [
        ("true", true),
        ("\"true\"", true),
        ("\"Yes\"", true),
        ("\"1\"", true),
        ("1", true),
        ("false", false),
        ("\"no\"", false),
        ("null", false),
    ] {
        let said = format!(
            r#"{{"analysis": "All is well.", "plan": "none", "commands": [{{"keystrokes": "ls\n"}}], "task_complete": {flag}}}"#
        );
        let (verdict, reply) = read(&said);
        assert_eq!(verdict, Verdict::Calls);
        let mut want = vec![keys("ls\n", 1000)];
        if done {
            want.push(json!({"do": "submit", "text": "All is well.\n\nnone"}));
        }
        assert_eq!(actions(&reply), Value::Array(want), "{flag}");
        assert_eq!(reply.said(), "All is well.\n\nnone");
    }
    let (_, reply) = read(r#"{"analysis": "", "plan": "", "task_complete": true}"#);
    assert_eq!(actions(&reply), json!([{"do": "submit", "text": ""}]));
}

#[test]
fn what_cannot_be_read_is_told_and_nothing_is_run() {
    let table = [
        ("I will list the files.", "no JSON object of the wanted form", ""),
        ("{}", "no JSON object of the wanted form", ""),
        ("{\"foo\": [1]}", "no JSON object of the wanted form", ""),
        ("{\"analysis\": \"a\", \"plan\" \"p\", \"commands\": []}", "not valid", ""),
        ("{\"analysis\": \"it's \\x41\", \"plan\": \"p\", \"commands\": []}", "not valid", ""),
        (
            "{\"analysis\": \"a\", \"plan\": \"p\", \"commands\": [{\"keystrokes\": \"rm -rf",
            "in the middle",
            "",
        ),
        (
            "{\"analysis\": \"a\", \"plan\": \"p\", \"commands\": [{\"keystrokes\": \"ls\\n\"}]",
            "in the middle",
            "",
        ),
        ("Well: {\"analysis\": \"a\"} ok", "lacks `plan`, `commands`", "before|after"),
        (
            "{\"analysis\": \"a\", \"plan\": \"p\", \"commands\": {\"keystrokes\": \"ls\"}}",
            "has to be a list",
            "",
        ),
        ("{\"analysis\": \"a\", \"plan\": \"p\", \"commands\": []} bye", "nothing to do", "after"),
        (
            "{\"analysis\": \"a\", \"plan\": \"p\", \"commands\": [{\"duration\": 1}]}",
            "lacks `keystrokes`",
            "",
        ),
        ("{\"analysis\": \"a\", \"plan\": \"p\", \"commands\": [\"ls\\n\"]}", "no JSON object", ""),
        (
            "{\"analysis\": \"a\", \"plan\": \"p\", \"commands\": [{\"keystrokes\": \"a\", \"duration\": \"soon\"}]}",
            "`duration` of a command",
            "",
        ),
        ("", "no JSON object", ""),
    ];
    for (said, want, around) in table {
        let (verdict, reply) = read(said);
        let Verdict::Retry(told) = verdict else { panic!("{said}: {verdict:?}") };
        assert!(told.contains("parsing errors:\nERROR: ") && told.contains(want), "{said}: {told}");
        assert_eq!(told.contains("WARNINGS:"), !around.is_empty(), "{said}: {told}");
        for side in around.split('|').filter(|side| !side.is_empty()) {
            assert!(told.contains(&format!("Extra text {side}")), "{told}");
        }
        assert!(calls(&reply).is_empty());
    }
}

#[test]
fn a_cut_reply_is_never_run() {
    let whole = r#"{"analysis": "a", "plan": "p", "commands": [{"keystrokes": "ls\n"}]}"#;
    for stop in [Stop::Length, Stop::RunOn] {
        let (verdict, reply) = read_by(&loaded("terminus-2"), vec![text(whole)], stop);
        assert!(matches!(verdict, Verdict::Retry(_)) && calls(&reply).is_empty());
    }
    let (verdict, reply) = read_by(&loaded("terminus-2"), vec![text(whole)], Stop::Broken);
    assert!(verdict == Verdict::Done && calls(&reply).is_empty());
}

#[test]
fn a_call_over_the_wire_is_written_out_as_the_object() {
    let parts = vec![text("I look."), call("c1", "Keys", r#"{"keystrokes": "ls\n"}"#)];
    let (verdict, reply) = read_by(&loaded("terminus-2"), parts, Stop::Calls);
    assert_eq!((verdict, actions(&reply)), (Verdict::Calls, json!([keys("ls\n", 1000)])));
    let written: Value = serde_json::from_str(&text_of(&reply)).unwrap();
    assert_eq!(written, json!({"analysis": "I look.", "plan": "", "commands": [{"keystrokes": "ls\n"}]}));
    let (verdict, _) = read_by(&loaded("terminus-2"), vec![call("c1", "nonsense", "{}")], Stop::Calls);
    assert!(matches!(verdict, Verdict::Retry(_)));
}

const NAMED: &str = r#"
[dialect]
kind  = "json"
says  = ["thought"]
calls = "actions"
"#;

/// Elements that name their tool, and a harness whose turns end with words.
#[test]
fn elements_may_name_their_tool() {
    let harness = forked("minimal", NAMED);
    let read = |said: &str| read_by(&harness, vec![text(said)], Stop::Done);
    let (verdict, reply) = read(
        r#"{"thought": "t", "actions": [{"name": "bash", "arguments": {"command": "ls"}}, {"tool": "read", "args": "{\"path\": \"a\"}"}, {"name": "fly", "arguments": {}}]}"#,
    );
    assert_eq!(verdict, Verdict::Calls);
    let got = actions(&reply);
    assert_eq!(
        (&got[0]["do"], &got[1]["do"], &got[2]["do"]),
        (&json!("shell"), &json!("read"), &json!("unknown"))
    );
    for words in ["It is done.", r#"{"thought": "It is done.", "actions": []}"#] {
        assert_eq!(read(words).0, Verdict::Done, "{words}");
    }
    assert!(matches!(read(r#"{"thought": "t", "actions": 7}"#).0, Verdict::Retry(_)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Any text is read, and what is run is what stands in it.
    #[test]
    fn any_text_is_read(pieces in proptest::collection::vec(prop_oneof![
        Just("{".to_owned()), Just("}".to_owned()), Just("\"".to_owned()), Just("\\".to_owned()),
        Just("[".to_owned()), Just("]".to_owned()), Just(",".to_owned()), Just("```json\n".to_owned()), Just("```".to_owned()),
        Just("<think>".to_owned()), Just("</think>".to_owned()),
        Just("\"analysis\": \"a\",".to_owned()), Just("\"plan\": \"p\",".to_owned()),
        Just("\"commands\": [{\"keystrokes\": \"ls\\n\"}],".to_owned()), Just("\"task_complete\": true".to_owned()),
        "\\PC{0,8}",
    ], 0..24)) {
        let said = pieces.concat();
        let (verdict, reply) = read(&said);
        prop_assert_eq!(text_of(&reply), said.clone());
        let found = calls(&reply);
        prop_assert_eq!(verdict == Verdict::Calls, !found.is_empty());
        for call in found {
            let (from, to) = call.span.unwrap();
            let whole = said.get(from..to).is_some_and(|object| object.starts_with('{') && object.ends_with('}'));
            prop_assert!(whole, "{}", said);
        }
    }
}
