//! What a program says, as pure values: what is taken, what is mended, what is refused and how it is
//! told. Real programs are run by `tests/it/external*.rs`.

use serde_json::{Map, Value, json};

use super::*;
use crate::harness::dialect::text_of;
use crate::harness::testing::{Bench, call, item, loaded, reply as replied, result, text, user};
use crate::harness::{Library, render};
use crate::model::{Action, Body, Image, Item, Note, NoteKind, Said, Stop};
use crate::wire::prompt::{Message, Piece, Role};

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other}"),
    }
}

/// A session with reasoning, images, notes and parallel calls.
fn items(harness: &str) -> Vec<Item> {
    let (loaded, bench) = (loaded(harness), Bench::new());
    let kit = loaded.kit(&bench.model);
    let thinking =
        Part::Thinking { text: "hm".to_owned(), field: Some("reasoning_content".to_owned()), seal: None };
    let image = Image { mime: "image/png".to_owned(), blob: crate::model::BlobId("b".to_owned()) };
    let ls = "{\"command\":   \"ls\"}";
    let parts = vec![thinking, text("I look."), call("a", "bash", ls), call("b", "bash", "{\"command\": 1}")];
    vec![
        item(1, Body::User(Said { text: "go".to_owned(), images: vec![image] })),
        item(2, Body::Assistant(replied(kit, parts, Stop::Calls))),
        result(3, "a", "one"),
        result(4, "b", "two"),
        item(
            5,
            Body::Note(Note { kind: NoteKind::Guard, text: "careful".to_owned(), harness: None, file: None }),
        ),
    ]
}

fn prompt_of(harness: &str, wire: WireKind) -> Prompt {
    let (loaded, bench, items) = (loaded(harness), Bench::new(), items(harness));
    let view = View { wire, ..bench.view(&items) };
    render::prompt(loaded.kit(&bench.model), &view).unwrap()
}

const WIRES: [WireKind; 3] = [WireKind::Chat, WireKind::Responses, WireKind::Messages];

#[test]
fn a_draft_that_comes_back_is_the_same_prompt_to_the_byte() {
    for id in Library::new(Vec::new()).ids() {
        for wire in WIRES {
            let prompt = prompt_of(&id, wire);
            let back = object(json!({"id": 1, "prompt": words::draft(&prompt)}));
            let got = read_prompt(&back, &prompt, wire).unwrap_or_else(|why| panic!("{id}: {why}"));
            assert_eq!(got, prompt, "{id} over {wire:?}");
        }
    }
}

fn read(given: &Value, wire: WireKind) -> Result<Prompt, String> {
    read_prompt(&object(json!({"prompt": given})), &prompt_of("minimal", wire), wire)
}

#[test]
fn a_prompt_that_no_server_takes_is_refused_with_what_is_wrong_in_it() {
    let user = json!({"role": "user", "content": "go"});
    let call = |id: &str| json!({"call": id, "name": "bash", "args": {"command": "ls"}});
    let said = |pieces: Value| json!({"role": "assistant", "content": pieces});
    let answer = |id: &str| json!({"role": "tool", "content": [{"result": id, "content": "x"}]});
    let messages = |messages: Value| json!({"messages": messages});
    let table = [
        (json!({"sistem": []}), "`prompt` has `sistem`"),
        (json!({"system": 7}), "`system` has to be a list of texts"),
        (json!({"system": [7]}), "`system` has to be a list of texts"),
        (json!({"body": []}), "`body` has to be an object"),
        (json!({"body": {"messages": []}}), "`messages`, which tack writes itself"),
        (json!({"tools": [{"name": "a b"}]}), "it takes 1 to 64 letters"),
        (json!({"tools": [{"name": "new"}]}), "the `schema` of tool `new`"),
        (json!({"tools": [{"name": "bash"}, {"name": "bash"}]}), "two tools are called `bash`"),
        (messages(json!({})), "`messages` has to be a list"),
        (messages(json!([])), "no message says anything"),
        (messages(json!([{"role": "user", "content": " "}])), "no message says anything"),
        (messages(json!([{"role": "bot", "content": "x"}])), "message 0 has role `\"bot\"`"),
        (messages(json!([{"role": "user"}])), "message 0 has no `content`"),
        (messages(json!([{"role": "user", "content": [{"txt": 1}]}])), "holds the piece"),
        (messages(json!([{"role": "user", "content": [{"image": 9}]}])), "names the image 9"),
        (messages(json!([{"role": "user", "content": [{"image": 1}]}])), "names the image 1"),
        (messages(json!([user, said(json!([{"thinking": "made up"}])), user])), "names the thinking"),
        (messages(json!([{"role": "user", "content": [call("a")]}])), "holds a call, which has no place"),
        (messages(json!([user, {"role": "tool", "content": "x"}])), "holds a text, which has no place"),
        (
            messages(json!([user, said(json!("x")), {"role": "system", "content": "y"}, user])),
            "in the middle",
        ),
        (messages(json!([said(json!("x")), user])), "the first message has to be the user's"),
        (messages(json!([user, said(json!("x"))])), "the last message is the assistant's"),
        (messages(json!([user, said(json!([call("a")]))])), "the call `a` has no result"),
        (messages(json!([user, said(json!([call("a")])), user, answer("a")])), "the call `a` has no result"),
        (messages(json!([user, answer("a")])), "the result `a` answers no call"),
        (
            messages(json!([user, said(json!([call("a")])), answer("a"), answer("a")])),
            "the result `a` answers no call",
        ),
        (messages(json!([user, said(json!([call("a"), call("a")]))])), "empty or there twice"),
        (messages(json!([user, said(json!([call("")]))])), "empty or there twice"),
        (messages(json!([user, said(json!([{"call": "a", "args": {}}]))])), "without a `name`"),
        (
            messages(json!([user, said(json!([{"call": "a", "name": "b", "args": "{"}]))])),
            "whose `args` are no object",
        ),
    ];
    for (given, want) in table {
        for wire in WIRES {
            let why = read(&given, wire).expect_err(want);
            assert!(why.contains(want), "{given}: {why}");
        }
    }
    for answer in [json!({"id": 1}), json!({"prompt": "x"}), json!({"prompt": null})] {
        let why = read_prompt(&object(answer), &Prompt::default(), WireKind::Chat).unwrap_err();
        assert!(why.contains("neither `prompt`"), "{why}");
    }
}

#[test]
fn what_has_one_way_to_be_right_is_mended() {
    let given = json!({"system": "mine", "messages": [
        {"role": "system", "content": "more"},
        {"role": "user", "content": "a"},
        {"role": "user", "content": ["b", {"text": "  "}]},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": [{"call": "x", "name": "bash", "args": "{}"}, {"call": "y", "name": "bash", "args": {}}]},
        {"role": "tool", "content": [{"result": "y", "content": "2"}, {"result": "x", "content": ""}]},
    ]});
    let got = read(&given, WireKind::Chat).unwrap();
    assert_eq!(got.system, ["mine", "more"]);
    let shape: Vec<(Role, usize)> = got.messages.iter().map(|m| (m.role, m.pieces.len())).collect();
    assert_eq!(shape, [(Role::User, 2), (Role::Assistant, 2), (Role::Tool, 1), (Role::Tool, 1)]);
}

#[test]
fn a_sealed_thought_goes_only_with_the_words_that_followed_it() {
    let seal = Some(json!({"encrypted_content": "x"}));
    let thought = Piece::Thinking { text: String::new(), field: None, seal };
    let said = vec![thought, Piece::Text("I look.".to_owned())];
    let messages = vec![
        Message::text(Role::User, "go"),
        Message { role: Role::Assistant, pieces: said },
        Message::text(Role::User, "on"),
    ];
    let draft = Prompt { messages, ..Prompt::default() };
    for (wire, words, want) in [
        (WireKind::Responses, "I look.", 2),
        (WireKind::Responses, "Other.", 1),
        (WireKind::Messages, "Other.", 2),
    ] {
        let mut given = words::draft(&draft);
        given["messages"][1]["content"][1]["text"] = json!(words);
        let got = read_prompt(&object(json!({"prompt": given})), &draft, wire).unwrap();
        assert_eq!(got.messages[1].pieces.len(), want, "{wire:?} {words}");
    }
}

/// What a program's answer makes of a reply under this harness.
fn applied(harness: &str, parts: Vec<Part>, answer: Value) -> Result<(Reply, Verdict), String> {
    let (loaded, bench) = (loaded(harness), Bench::new());
    let kit = loaded.kit(&bench.model);
    let raw = replied(kit, parts, Stop::Done);
    let items = [user(1, "go")];
    let view = bench.view(&items);
    let mut read = raw.clone();
    let verdict = crate::harness::dialect::interpret(kit, &mut read, &view).unwrap();
    let base = reply::base(kit, &raw, &read, &verdict);
    reply::apply(kit, base, &object(answer), &view)
}

#[test]
fn a_program_makes_calls_of_what_it_reads() {
    let ls = || call("w", "bash", "{\"command\": \"ls\"}");
    let shell = json!({"do": "shell", "command": "make"});
    let run = json!({"action": shell, "quote": "RUN: make"});
    let read = |parts, answer| {
        let (reply, verdict) = applied("minimal", parts, answer).unwrap();
        assert_eq!(verdict, Verdict::Calls);
        let line = |call: &ToolCall| {
            let what = match &call.action {
                Action::Shell { command, .. } => command.clone(),
                Action::Unknown { .. } => "-".to_owned(),
                other => other.kind().to_owned(),
            };
            format!("{} {} {what} {:?}", call.id.0, call.name, call.span)
        };
        reply.calls().map(line).collect::<Vec<_>>()
    };
    let words = || text("So.\nRUN: make\n");
    assert_eq!(read(vec![words()], json!({"calls": [run]})), ["call_2_0 bash make Some((4, 13))"]);
    let named = json!({"name": "bash", "args": {"command": "make"}});
    assert_eq!(read(vec![words()], json!({"calls": [named]})), ["call_2_0 bash make None"]);
    // A call of the wire keeps its words, whatever it is taken for; one that is passed over is not run.
    let both = || vec![words(), ls(), call("v", "read", "{\"path\": \"a\"}")];
    let taken = json!({"calls": [{"id": "w", "action": shell}, run]});
    let want = ["w bash make None", "v read - None", "call_2_0 bash make Some((4, 13))"];
    assert_eq!(read(both(), taken), want);
    // What tack read out of the text goes where it is passed over.
    let fenced = "{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}";
    assert_eq!(read(vec![text(fenced)], json!({"calls": [named]})).len(), 1);
    // Work is not handed in beside other calls.
    let hands = json!({"calls": [named, {"action": {"do": "submit", "text": "done"}}]});
    assert!(read(vec![words()], hands)[1].contains(" - "));
}

#[test]
fn a_reply_that_is_to_be_corrected_or_ends_the_turn_has_no_calls() {
    let ls = || vec![text("x"), call("w", "bash", "{\"command\": \"ls\"}")];
    for (answer, want) in [
        (json!({"retry": "again"}), Verdict::Retry("again".to_owned())),
        (json!({"done": true}), Verdict::Done),
    ] {
        let (reply, verdict) = applied("minimal", ls(), answer).unwrap();
        assert_eq!((verdict, reply.calls().count()), (want, 0));
        assert!(text_of(&reply).contains("bash {\"command\": \"ls\"}"), "the model sees what it did");
        assert_eq!(reply.said(), "x", "the person is shown words");
    }
}

#[test]
fn a_call_within_the_text_is_not_shown_to_the_person_where_it_is_corrected() {
    let said = "I look.\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}";
    for (harness, parts) in
        [("minimal", vec![text(said)]), ("minimal", vec![text("I look."), text(&said[7..])])]
    {
        let (reply, _) = applied(harness, parts, json!({"retry": "again"})).unwrap();
        assert_eq!((text_of(&reply).as_str(), reply.said().as_str()), (said, "I look."));
    }
}

#[test]
fn what_a_program_makes_up_about_a_reply_is_refused() {
    let go = json!({"do": "shell", "command": "ls"});
    let table = [
        (json!({}), "none of `calls`, `retry`, `done`"),
        (json!({"done": false}), "none of `calls`"),
        (json!({"retry": " "}), "`retry` has to be the text"),
        (json!({"retry": 1}), "`retry` has to be the text"),
        (json!({"calls": []}), "`calls` is empty"),
        (json!({"calls": vec![json!({"action": go}); 100]}), "100 are too many"),
        (json!({"calls": [{"id": "other"}]}), "the reply has no call `other`"),
        (json!({"calls": [{"id": 7}]}), "the reply has no call `7`"),
        (json!({"calls": [{"id": "w"}, {"id": "w"}]}), "it names the call `w` twice"),
        (json!({"calls": [{}]}), "needs `name` and `args`, or an `action`"),
        (json!({"calls": ["ls"]}), "needs `name` and `args`, or an `action`"),
        (json!({"calls": [{"name": "launch", "args": {}}]}), "it calls `launch`; the tools are "),
        (json!({"calls": [{"action": {"do": "launch"}}]}), "an `action` cannot be read: unknown variant"),
        (json!({"calls": [{"action": {"do": "shell"}}]}), "missing field `command`"),
        (json!({"calls": [{"action": go, "quote": "not there"}]}), "a `quote` is not in the reply"),
    ];
    for harness in ["minimal", "pi"] {
        for (answer, want) in &table {
            let parts = vec![text("x"), call("w", "bash", "{\"command\": \"ls\"}")];
            let why = applied(harness, parts, answer.clone()).expect_err(want);
            assert!(why.contains(want), "{answer}: {why}");
        }
    }
}

#[test]
fn a_greeting_says_what_is_wanted() {
    let greet = |answer: Value| greeting(&object(answer));
    assert_eq!(greet(json!({"protocol": 1})).unwrap().len(), VERBS.len());
    assert_eq!(greet(json!({"protocol": 1, "wants": ["tell"]})).unwrap(), ["tell"]);
    for (answer, want) in [
        (json!({}), "its `protocol` is none"),
        (json!({"protocol": 2}), "its `protocol` is 2"),
        (json!({"protocol": 1, "wants": ["promt"]}), "did you mean `prompt`"),
        (json!({"protocol": 1, "wants": 7}), "`wants` has to be a list"),
    ] {
        let why = greet(answer.clone()).unwrap_err();
        assert!(why.contains(want), "{answer}: {why}");
    }
}

#[test]
fn texts_have_a_limit() {
    let long = "x".repeat(MOST_BYTES + 1);
    assert!(one_text(&object(json!({"tell": long})), "tell").unwrap_err().contains("at most"));
    assert!(one_text(&object(json!({"tell": 7})), "tell").unwrap_err().contains("neither `tell`"));
    assert!(read_notes(&object(json!({"notes": [long]}))).unwrap_err().contains("at most"));
    assert!(read_notes(&object(json!({"notes": vec!["a"; 17]}))).unwrap_err().contains("17 texts"));
    assert_eq!(read_notes(&object(json!({"notes": ["a", " "]}))).unwrap(), ["a"]);
}
