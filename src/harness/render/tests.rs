//! Tests of rendering: valid histories and stable prefixes.

use proptest::prelude::*;

use super::*;
use crate::harness::Verdict;
use crate::harness::dialect;
use crate::harness::testing::{Bench, call, item, loaded, reply, result, text, user};
use crate::model::{BlobId, CallId, ItemId, Mark, Outcome, Stop, Summary};
use crate::wire::prompt::Message;

const ALL: [&str; 5] = ["minimal", "pi", "swe-agent", "mini-swe-agent", "qwen-code"];

fn rendered(harness: &str, items: &[Item]) -> Vec<Message> {
    let (loaded, bench) = (loaded(harness), Bench::new());
    prompt(loaded.kit(&bench.model), &bench.view(items)).unwrap().messages
}

/// Messages as lines, one per piece.
fn lines(messages: &[Message]) -> Vec<String> {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Image { .. } => "<image>".to_owned(),
        Piece::Thinking { text, .. } => format!("<thinking {text}>"),
        Piece::Call { id, name, args } => format!("<{id} {name} {args}>"),
        Piece::Result { id, pieces, .. } => format!("<{id} gave {}>", pieces.len()),
    };
    messages
        .iter()
        .map(|m| format!("{:?}: {}", m.role, m.pieces.iter().map(piece).collect::<Vec<_>>().join(" | ")))
        .collect()
}

fn tail(harness: &str, items: &[Item], count: usize) -> Vec<String> {
    let lines = lines(&rendered(harness, items));
    lines[lines.len().saturating_sub(count)..].to_vec()
}

/// A reply as this harness would have stored it.
fn said(harness: &str, id: u64, parts: Vec<Part>, stop: Stop) -> Item {
    let (loaded, bench) = (loaded(harness), Bench::new());
    let kit = loaded.kit(&bench.model);
    let mut reply = reply(kit, parts, stop);
    let before = [item(id - 1, Body::Mark(Mark::Interrupted))];
    dialect::interpret(kit, &mut reply, &bench.view(&before)).unwrap();
    item(id, Body::Assistant(reply))
}

fn note(id: u64, kind: NoteKind, text: &str) -> Item {
    item(id, Body::Note(Note { kind, text: text.to_owned(), harness: None }))
}

fn thinking(text: &str) -> Part {
    Part::Thinking { text: text.to_owned(), field: Some("reasoning_content".to_owned()), seal: None }
}

#[test]
fn recovered_calls_go_back_as_calls() {
    let items = [
        user(1, "go"),
        said(
            "minimal",
            2,
            vec![text("I look.\n```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n```")],
            Stop::Done,
        ),
        result(3, "call_2_0", "a"),
    ];
    assert_eq!(
        tail("minimal", &items, 2),
        ["Assistant: I look. | <call_2_0 bash {\"command\":\"ls\"}>", "Tool: <call_2_0 gave 1>",]
    );
}

#[test]
fn thinking_is_echoed_to_its_origin_only() {
    let parts = || vec![thinking("hm"), text("ok"), call("c", "bash", "{\"command\": \"ls\"}")];
    let mut items = vec![user(1, "go"), said("minimal", 2, parts(), Stop::Calls), result(3, "c", "a")];
    assert_eq!(
        tail("minimal", &items, 2)[0],
        "Assistant: <thinking hm> | ok | <c bash {\"command\": \"ls\"}>"
    );
    let Body::Assistant(reply) = &mut items[1].body else { panic!() };
    reply.origin.model = "another".to_owned();
    assert_eq!(tail("minimal", &items, 2)[0], "Assistant: ok | <c bash {\"command\": \"ls\"}>");
    assert!(!lines(&rendered("swe-agent", &items)).join("\n").contains("<thinking"));
}

#[test]
fn ids_of_the_server_go_back_to_that_server() {
    let mut items = vec![
        user(1, "go"),
        said("minimal", 2, vec![call("c", "bash", "{\"command\": \"ls\"}")], Stop::Calls),
        result(3, "c", "a"),
    ];
    let edit = |items: &mut Vec<Item>, change: &dyn Fn(&mut Reply)| match &mut items[1].body {
        Body::Assistant(reply) => change(reply),
        _ => panic!(),
    };
    edit(&mut items, &|reply| match &mut reply.parts[0] {
        Part::Call(call) => call.given = Some("srv-9".to_owned()),
        _ => panic!(),
    });
    assert!(tail("minimal", &items, 1)[0].contains("srv-9"));
    edit(&mut items, &|reply| reply.origin.provider = "another".to_owned());
    assert!(tail("minimal", &items, 1)[0].contains("<c gave"));
}

#[test]
fn what_was_corrected_is_forgotten_as_the_manifest_says() {
    let items = [
        user(1, "go"),
        said("swe-agent", 2, vec![text("no block")], Stop::Done),
        note(3, NoteKind::Correction, "write a block"),
        said("swe-agent", 4, vec![text("```\nls\n```")], Stop::Done),
        result(5, "call_4_0", "a"),
    ];
    let before = tail("swe-agent", &items[..3], 2);
    assert_eq!(before, ["Assistant: no block", "User: write a block"]);
    let after = lines(&rendered("swe-agent", &items)).join("\n");
    assert!(!after.contains("no block") && !after.contains("write a block"), "{after}");
    let foreign = lines(&rendered("pi", &items[..3]));
    assert_eq!(foreign, ["User: go"]);
    let failed = |harness| {
        let reply = said(harness, 2, vec![text("no block")], Stop::Done);
        lines(&rendered(harness, &[user(1, "go"), reply, note(3, NoteKind::Correction, "write a block")]))
            .join("\n")
    };
    let mini = failed("mini-swe-agent");
    assert!(!mini.contains("no block") && mini.contains("write a block"), "{mini}");
    let pi = failed("pi");
    assert!(pi.contains("no block") && pi.contains("write a block"), "{pi}");
}

#[test]
fn notes_keep_to_the_role_of_the_harness() {
    let mut items = vec![user(1, "go"), said("pi", 2, vec![text("hm")], Stop::Done)];
    items.extend([note(3, NoteKind::Fact, "a fact"), note(4, NoteKind::Guard, "a guard")]);
    assert_eq!(tail("minimal", &items, 1), ["User: a fact\n\na guard"]);
    assert_eq!(tail("swe-agent", &items, 1), ["User: a guard"]);
    assert!(tail("qwen-code", &items, 1)[0].starts_with("User: <system-reminder>\na fact"));
    items.push(item(
        5,
        Body::Note(Note {
            kind: NoteKind::Reminder,
            text: "mine".to_owned(),
            harness: Some("pi".to_owned()),
        }),
    ));
    assert!(!tail("minimal", &items, 1)[0].contains("mine"));
    assert!(tail("pi", &items, 1)[0].contains("mine"));
}

#[test]
fn a_summary_stands_for_what_is_before_it() {
    let items = [
        user(1, "first wish"),
        said("minimal", 2, vec![call("c", "bash", "{\"command\": \"ls\"}")], Stop::Calls),
        result(3, "c", "a"),
        said("minimal", 4, vec![text("later words")], Stop::Done),
        item(
            5,
            Body::Summary(Summary {
                text: "THE SUMMARY".to_owned(),
                request: "THE REQUEST".to_owned(),
                upto: ItemId(3),
            }),
        ),
        user(6, "second wish"),
    ];
    let got = lines(&rendered("minimal", &items));
    assert_eq!(got.len(), 3, "{got:?}");
    assert!(
        got[0].contains("THE SUMMARY") && got[1].contains("later words") && got[2].contains("second wish")
    );
    assert!(lines(&rendered("mini-swe-agent", &items))[0].contains("COMPLETE_TASK"));
}

#[test]
fn broken_replies_are_not_sent_and_interrupted_ones_keep_their_words() {
    let one = |stop| said("minimal", 2, vec![text("half"), call("c", "bash", "{\"command\": \"ls\"}")], stop);
    let items = [user(1, "go"), one(Stop::Broken), user(3, "again")];
    assert_eq!(tail("minimal", &items, 2), ["User: go\n\nagain"]);
    let items = [user(1, "go"), one(Stop::Interrupted), user(3, "again")];
    assert_eq!(tail("minimal", &items, 2), ["Assistant: half", "User: again"]);
    let items = [user(1, "go"), one(Stop::Interrupted), result(3, "c", "stub"), user(4, "again")];
    assert_eq!(tail("minimal", &items, 3)[1], "Tool: <c gave 1>");
}

#[test]
fn arguments_that_a_server_would_choke_on_are_made_harmless() {
    let items = [
        user(1, "go"),
        said("minimal", 2, vec![call("c", "bash", "{\"command\": \"rm -rf")], Stop::Calls),
        result(3, "c", "cut off"),
    ];
    assert_eq!(tail("minimal", &items, 2)[0], "Assistant: <c bash {}>");
}

#[test]
fn images_are_left_out_where_the_model_is_blind() {
    let image = Image { mime: "image/png".to_owned(), blob: BlobId("b".to_owned()) };
    let gone = Image { blob: BlobId("gone".to_owned()), ..image.clone() };
    let said = Said { text: "see".to_owned(), images: vec![image, gone] };
    let items = [item(1, Body::User(said))];
    let seen = tail("minimal", &items, 1);
    assert!(seen[0].starts_with("User: see | <image> | [an image was here"), "{seen:?}");
    let (loaded, bench) = (loaded("minimal"), Bench::new());
    let view = View { drop_images: true, ..bench.view(&items) };
    let blind = prompt(loaded.kit(&bench.model), &view).unwrap();
    assert!(!lines(&blind.messages)[0].contains("<image>"));
}

fn any_call() -> impl Strategy<Value = Part> {
    let named = prop_oneof![
        Just(("bash", "{\"command\": \"ls\"}")),
        Just(("read", "{\"path\": \"a\", \"offset\": 3}")),
        Just(("edit", "{\"path\": \"a\", \"oldText\": \"x\", \"newText\": \"y\"}")),
        Just(("nonsense", "{\"a\": 1}")),
        Just(("bash", "{\"command\": \"l")),
        Just(("run_shell_command", "{\"command\": \"ls\", \"is_background\": true}")),
        Just(("str_replace_editor", "{\"command\": \"view\", \"path\": \"/a\"}")),
    ];
    (0u8..6, named).prop_map(|(id, (name, args))| call(&format!("c{id}"), name, args))
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        2 => any_call(),
        1 => Just(text("")),
        1 => Just(text("words")),
        1 => Just(text("```\nls\n```")),
        1 => Just(text("```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n```")),
        1 => Just(thinking("hm")),
    ]
}

fn any_stop() -> impl Strategy<Value = Stop> {
    prop_oneof![
        3 => Just(Stop::Done),
        1 => Just(Stop::Calls),
        1 => Just(Stop::Length),
        1 => Just(Stop::Broken),
        1 => Just(Stop::Interrupted),
    ]
}

/// Anything a damaged log might hold, in any order.
fn any_body() -> impl Strategy<Value = Body> {
    let kinds = prop_oneof![
        Just(NoteKind::Correction),
        Just(NoteKind::Guard),
        Just(NoteKind::Reminder),
        Just(NoteKind::Fact)
    ];
    let replies = (0usize..5, proptest::collection::vec(any_part(), 0..4), any_stop());
    let loose = ToolResult { call: CallId("call_2_0".to_owned()), outcome: Outcome::ok(""), shown: vec![] };
    prop_oneof![
        2 => Just(user(1, "prompt").body),
        1 => kinds.prop_map(|kind| note(1, kind, "a note").body),
        4 => replies.prop_map(|(by, parts, stop)| said(ALL[by], 2, parts, stop).body),
        3 => (0u8..6).prop_map(|id| result(1, &format!("c{id}"), "gave").body),
        1 => Just(Body::Result(loose)),
        1 => Just(Body::Mark(Mark::Interrupted)),
        1 => (0u64..9).prop_map(|upto| Body::Summary(Summary { text: "sum".to_owned(), request: String::new(), upto: ItemId(upto) })),
    ]
}

fn numbered(bodies: Vec<Body>) -> Vec<Item> {
    bodies.into_iter().enumerate().map(|(at, body)| item(at as u64 + 1, body)).collect()
}

fn check_valid(messages: &[Message]) -> Result<(), TestCaseError> {
    let mut ids = std::collections::HashSet::new();
    let mut waiting: Vec<String> = Vec::new();
    for message in messages {
        prop_assert!(!message.pieces.is_empty());
        for piece in &message.pieces {
            match piece {
                Piece::Result { id, .. } => {
                    prop_assert_eq!(message.role, Role::Tool);
                    prop_assert!(
                        !waiting.is_empty() && waiting.remove(0) == *id,
                        "an answer without its call"
                    );
                }
                Piece::Call { id, args, .. } => {
                    prop_assert_eq!(message.role, Role::Assistant);
                    prop_assert!(ids.insert(id.clone()), "the id {} twice", id);
                    prop_assert!(serde_json::from_str::<Map<String, Value>>(args).is_ok());
                    waiting.push(id.clone());
                }
                Piece::Text(_) | Piece::Image { .. } | Piece::Thinking { .. } => {}
            }
        }
        if message.role != Role::Assistant && message.role != Role::Tool {
            prop_assert!(waiting.is_empty(), "calls without answers");
        }
    }
    prop_assert!(waiting.is_empty(), "calls without answers at the end");
    for pair in messages.windows(2) {
        let alike = pair[0].role == pair[1].role && matches!(pair[0].role, Role::User | Role::Assistant);
        prop_assert!(!alike, "two of {:?} in a row", pair[0].role);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_history_is_valid_whatever_the_log_holds(bodies in proptest::collection::vec(any_body(), 0..12)) {
        let items = numbered(bodies);
        for harness in ALL {
            check_valid(&rendered(harness, &items))?;
        }
    }

    /// What was sent stays as it was: the server's cache holds.
    #[test]
    fn an_item_added_only_adds_to_the_end(turns in proptest::collection::vec((any_call(), 0usize..3), 1..5), by in 0usize..5) {
        let mut items = vec![user(1, "go")];
        let mut sent: Vec<(usize, Vec<Message>)> = Vec::new();
        let harness = ["minimal", "pi", "qwen-code"][by % 3];
        for (at, (part, more)) in turns.into_iter().enumerate() {
            sent.push((items.len(), rendered(harness, &items)));
            let id = items.len() as u64 + 1;
            let Part::Call(mut call) = part else { unreachable!() };
            call.id = CallId(format!("k{at}"));
            items.push(said(ALL[by], id, vec![text("so"), Part::Call(call)], Stop::Calls));
            let ids: Vec<CallId> = match &items[items.len() - 1].body {
                Body::Assistant(reply) => reply.parts.iter().filter_map(|p| match p { Part::Call(c) => Some(c.id.clone()), _ => None }).collect(),
                _ => unreachable!(),
            };
            // A reply without calls is followed by a correction or ends the turn.
            let more = if ids.is_empty() { more.max(1) } else { more };
            for call in ids {
                let id = items.len() as u64 + 1;
                items.push(result(id, &call.0, "gave"));
            }
            for _ in 0..more {
                let id = items.len() as u64 + 1;
                items.push(note(id, NoteKind::Fact, "a fact"));
            }
        }
        let last = rendered(harness, &items);
        for (count, before) in sent {
            prop_assert!(last.starts_with(&before), "the first {} items", count);
        }
    }
}

#[test]
fn retries_hold_no_calls() {
    let (loaded, bench) = (loaded("mini-swe-agent"), Bench::new());
    let kit = loaded.kit(&bench.model);
    let mut reply = reply(kit, vec![call("c", "python", "{}")], Stop::Calls);
    let verdict = dialect::interpret(kit, &mut reply, &bench.view(&[])).unwrap();
    assert!(matches!(verdict, Verdict::Retry(_)));
    assert!(crate::harness::testing::calls(&reply).is_empty());
}
