//! Properties of rendering: whatever the log holds, whoever made it over whatever wire, any harness
//! makes a history over any wire that servers take, and one that only grows.

use proptest::prelude::*;

use super::*;

const ALL: [&str; 7] = ["minimal", "pi", "swe-agent", "mini-swe-agent", "qwen-code", "native", "terminus-2"];
const WIRES: [WireKind; 3] = [WireKind::Chat, WireKind::Responses, WireKind::Messages];

const OBJECT: &str =
    r#"So: {"analysis": "a", "plan": "", "commands": [{"keystrokes": "ls\n"}, {"keystrokes": "C-c"}]}"#;
const DONE: &str = r#"{"analysis": "a", "plan": "", "commands": [], "task_complete": true}"#;

fn any_call() -> impl Strategy<Value = Part> {
    let named = prop_oneof![
        Just(("bash", "{\"command\": \"ls\"}")),
        Just(("read", "{\"path\": \"a\", \"offset\": 3}")),
        Just(("edit", "{\"path\": \"a\", \"oldText\": \"x\", \"newText\": \"y\"}")),
        Just(("nonsense", "{\"a\": 1}")),
        Just(("bash", "{\"command\": \"l")),
        Just(("run_shell_command", "{\"command\": \"ls\", \"is_background\": true}")),
        Just(("str_replace_editor", "{\"command\": \"view\", \"path\": \"/a\"}")),
        Just(("exec_command", "{\"cmd\": \"ls\", \"workdir\": \"/a\"}")),
        Just(("apply_patch", "{\"input\": \"*** Begin Patch\\n*** Delete File: a\\n*** End Patch\"}")),
        Just(("write_stdin", "{\"session_id\": 1}")),
        Just(("update_plan", "{\"plan\": [{\"step\": \"a\", \"status\": \"pending\"}]}")),
    ];
    (0u8..6, named).prop_map(|(id, (name, args))| call(&format!("c{id}"), name, args))
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        2 => any_call(),
        1 => Just(text("")),
        1 => Just(text("words")),
        1 => Just(text("```\nls\n```")),
        1 => Just(text(OBJECT)),
        1 => Just(text(DONE)),
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
    let replies = (0..ALL.len(), 0..WIRES.len(), proptest::collection::vec(any_part(), 0..4), any_stop());
    let loose = ToolResult { call: CallId("call_2_0".to_owned()), outcome: Outcome::ok(""), shown: vec![] };
    prop_oneof![
        2 => Just(user(1, "prompt").body),
        1 => kinds.prop_map(|kind| note(1, kind, "a note").body),
        4 => replies.prop_map(|(by, wire, parts, stop)| over(WIRES[wire], said(ALL[by], 2, parts, stop).body)),
        3 => (0u8..6).prop_map(|id| result(1, &format!("c{id}"), "gave").body),
        1 => Just(Body::Result(loose)),
        1 => Just(Body::Mark(Mark::Interrupted)),
        1 => (0u64..9).prop_map(|upto| Body::Summary(Summary { text: "sum".to_owned(), request: String::new(), upto: ItemId(upto), kept: Vec::new() })),
    ]
}

fn numbered(bodies: Vec<Body>) -> Vec<Item> {
    bodies.into_iter().enumerate().map(|(at, body)| item(at as u64 + 1, body)).collect()
}

/// The reply as it came over this wire: its reasoning names the wire as its seal.
fn over(wire: WireKind, mut body: Body) -> Body {
    if let Body::Assistant(reply) = &mut body {
        reply.origin.wire = wire;
        for part in &mut reply.parts {
            if let Part::Thinking { seal, .. } = part {
                *seal = Some(json!(wire.name()));
            }
        }
    }
    body
}

pub(super) fn check_valid(harness: &str, wire: WireKind, messages: &[Message]) -> Result<(), TestCaseError> {
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
                Piece::Thinking { seal, .. } => {
                    prop_assert_eq!(message.role, Role::Assistant);
                    prop_assert_eq!(seal.as_ref(), Some(&json!(wire.name())), "a seal of another wire");
                }
                Piece::Text(_) | Piece::Image { .. } => {}
            }
        }
        let last = message.pieces.last();
        prop_assert!(!matches!(last, Some(Piece::Thinking { .. })), "reasoning that led to nothing");
        if message.role != Role::Assistant && message.role != Role::Tool {
            prop_assert!(waiting.is_empty(), "calls without answers");
        }
    }
    prop_assert!(waiting.is_empty(), "calls without answers at the end");
    // native and mini-swe-agent keep neighbours apart: what stands before a prompt, a second correction.
    for pair in messages.windows(2).filter(|_| !["native", "mini-swe-agent"].contains(&harness)) {
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
        for (harness, wire) in ALL.into_iter().flat_map(|id| WIRES.map(|wire| (id, wire))) {
            check_valid(harness, wire, &rendered_over(harness, wire, &items))?;
        }
    }

    /// What was sent stays as it was: the server's cache holds.
    #[test]
    fn an_item_added_only_adds_to_the_end(turns in proptest::collection::vec((any_call(), 0usize..3), 1..5), by in 0..ALL.len()) {
        let mut items = vec![user(1, "go")];
        let mut sent: Vec<(usize, Vec<Message>)> = Vec::new();
        let harness = ["minimal", "pi", "qwen-code", "native"][by % 4];
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
