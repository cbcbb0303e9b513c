//! What changes after replies that could not be used, and how hard the model is to think.

use super::*;
use crate::harness::kit::Loaded;
use crate::harness::testing::{calls, forked};
use crate::model::Probed;
use crate::wire::prompt::Prompt;

const AGAIN: &str = r#"
[request]
temperature = 0
tool_choice = "auto"
[[again]]
body = { temperature = 0.4 }
[[again]]
schema = true
[[again]]
body = { temperature = 0.7 }
"#;

/// A bench whose server is known to hold a reply to a schema, or not to.
fn bench(schema: bool) -> Bench {
    let mut bench = Bench::new();
    bench.model.probed = Some(Probed { schema, ..Probed::default() });
    bench
}

fn asked(loaded: &Loaded, bench: &Bench, items: &[Item]) -> Prompt {
    prompt(loaded.kit(&bench.model), &bench.view(items)).unwrap()
}

/// A session whose last replies were corrected so often.
fn corrected(times: u64) -> Vec<Item> {
    let mut items = vec![user(1, "go")];
    for nth in 0..times {
        items.push(said("minimal", 2 + 2 * nth, vec![text("no call")], Stop::Done));
        items.push(note(3 + 2 * nth, NoteKind::Correction, "call a tool"));
    }
    items
}

/// Temperature, and whether the reply is held to a schema.
fn conditions(prompt: &Prompt) -> (f64, bool) {
    assert_eq!(prompt.answer.is_some(), prompt.tools.is_empty());
    assert_eq!(prompt.answer.is_some(), !prompt.body.contains_key("tool_choice"));
    (prompt.body["temperature"].as_f64().unwrap(), prompt.answer.is_some())
}

#[test]
fn each_reply_in_a_row_that_came_to_nothing_changes_the_conditions() {
    let loaded = forked("minimal", AGAIN);
    let table = [
        (true, [(0.0, false), (0.4, false), (0.0, true), (0.7, false), (0.7, false)]),
        (false, [(0.0, false), (0.4, false), (0.7, false), (0.7, false), (0.7, false)]),
    ];
    for (schema, want) in table {
        for (times, want) in (0..).zip(want) {
            let got = conditions(&asked(&loaded, &bench(schema), &corrected(times)));
            assert_eq!(got, want, "schema {schema}, {times} times");
        }
    }
    // A reply that was cut in its thoughts is asked for again under the same conditions.
    let mut items = corrected(2);
    items.push(said("minimal", 6, vec![thinking("hm")], Stop::Done));
    items.push(note(7, NoteKind::Guard, "act now"));
    assert_eq!(conditions(&asked(&loaded, &bench(true), &items)), (0.0, true));
    let unknown = Bench::new();
    assert_eq!(conditions(&asked(&loaded, &unknown, &corrected(2))), (0.7, false));
}

#[test]
fn a_reply_that_can_be_used_and_a_new_prompt_end_it() {
    let loaded = forked("minimal", AGAIN);
    let mut items = corrected(2);
    items.push(said("minimal", 6, vec![call("c", "bash", "{\"command\": \"ls\"}")], Stop::Calls));
    items.push(result(7, "c", "a"));
    assert_eq!(conditions(&asked(&loaded, &bench(true), &items)), (0.0, false));
    // A call that nobody understands came to nothing too.
    items.push(said("minimal", 8, vec![call("d", "nonsense", "{}")], Stop::Calls));
    items.push(result(9, "d", "there is no such tool"));
    assert_eq!(conditions(&asked(&loaded, &bench(true), &items)), (0.4, false));
    items.push(user(10, "and now?"));
    assert_eq!(conditions(&asked(&loaded, &bench(true), &items)), (0.0, false));
}

#[test]
fn the_same_call_with_the_same_result_came_to_nothing() {
    let loaded = forked("minimal", AGAIN);
    let list = |id: u64, gave: &str| {
        let id_of = format!("c{id}");
        let one = call(&id_of, "bash", "{\"command\": \"ls\"}");
        let mut came = result(id + 1, &id_of, gave);
        if let Body::Result(result) = &mut came.body {
            gave.clone_into(&mut result.outcome.text);
        }
        [said("minimal", id, vec![one], Stop::Calls), came]
    };
    let mut items = vec![user(1, "go")];
    for (at, (gave, want)) in
        [("a", 0.0), ("a", 0.4), ("a", 0.7), ("a b", 0.0), ("a b", 0.4)].iter().enumerate()
    {
        items.extend(list(2 + 2 * at as u64, gave));
        assert_eq!(conditions(&asked(&loaded, &bench(false), &items)), (*want, false), "{at}");
    }
    items.push(user(20, "again"));
    items.extend(list(21, "a b"));
    assert_eq!(conditions(&asked(&loaded, &bench(false), &items)), (0.0, false));
}

#[test]
fn the_schema_holds_all_calls_and_bounds_their_texts() {
    let loaded = forked("pi", "[[again]]\nschema = true\n");
    let schema = asked(&loaded, &bench(true), &corrected(1)).answer.unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&schema).unwrap());
}

#[test]
fn what_a_schema_brought_is_a_call_in_every_dialect() {
    let words = "{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}";
    for base in ["minimal", "pi", "swe-agent"] {
        let loaded = forked(base, "[[again]]\nschema = true\n[dialect]\nsalvage = []\n");
        let kit = loaded.kit(&Bench::new().model);
        let read = |bench: &Bench| {
            let mut reply = reply(kit, vec![text(words)], Stop::Done);
            let verdict = dialect::interpret(kit, &mut reply, &bench.view(&corrected(1))).unwrap();
            (verdict, reply)
        };
        let (verdict, reply) = read(&bench(true));
        assert_eq!(verdict, Verdict::Calls, "{base}");
        let [call] = calls(&reply)[..] else { panic!("{base}: {reply:?}") };
        assert!(
            matches!(&call.action, crate::model::Action::Shell { command, .. } if command == "ls"),
            "{base}"
        );
        let (verdict, _) = read(&bench(false));
        assert_ne!(verdict, Verdict::Calls, "{base}: it was not asked for");
    }
}

#[test]
fn a_model_thinks_more_where_a_turn_begins_and_after_a_check() {
    let both = forked("minimal", "[thinking]\neffort = \"off\"\neffort_first = \"high\"\n");
    let one = forked("minimal", "[thinking]\neffort = \"low\"\n");
    let none = forked("minimal", "");
    let effort = |loaded: &Loaded, items: &[Item]| asked(loaded, &Bench::new(), items).effort;
    let mut items = vec![user(1, "go"), note(2, NoteKind::Fact, "a fact")];
    let high = Some("high".to_owned());
    assert_eq!(effort(&both, &items), high);
    items.push(said("minimal", 3, vec![call("c", "bash", "{\"command\": \"ls\"}")], Stop::Calls));
    items.push(result(4, "c", "a"));
    assert_eq!(effort(&both, &items), Some("off".to_owned()));
    items.push(said("minimal", 5, vec![text("done")], Stop::Done));
    items.push(note(6, NoteKind::Check, "2 failed"));
    assert_eq!(effort(&both, &items), high);
    assert_eq!(effort(&one, &items), Some("low".to_owned()));
    assert_eq!(effort(&none, &items), None);
}
