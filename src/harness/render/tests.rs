//! Tests of rendering, one case each; `histories` has those over any history.

use super::*;
use crate::harness::Verdict;
use crate::harness::dialect;
use crate::harness::testing::{Bench, call, item, loaded, reply, result, text, user};
use crate::model::{BlobId, CallId, ItemId, Mark, Outcome, Said, Stop, Summary};
use crate::wire::prompt::Message;

fn rendered(harness: &str, items: &[Item]) -> Vec<Message> {
    rendered_over(harness, WireKind::Chat, items)
}

fn rendered_over(harness: &str, wire: WireKind, items: &[Item]) -> Vec<Message> {
    let (loaded, bench) = (loaded(harness), Bench::new());
    let view = View { wire, ..bench.view(items) };
    prompt(loaded.kit(&bench.model), &view).unwrap().messages
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
    item(id, Body::Note(Note { kind, text: text.to_owned(), harness: None, file: None }))
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

/// A reply over a wire, its reasoning sealed there.
fn sealed_over(wire: WireKind, parts: Vec<Part>) -> [Item; 3] {
    let seal = |part| match part {
        Part::Thinking { text, .. } => {
            Part::Thinking { text, field: None, seal: Some(serde_json::json!(wire.name())) }
        }
        other => other,
    };
    let parts = parts.into_iter().map(seal).collect();
    let mut items = [user(1, "go"), said("minimal", 2, parts, Stop::Calls), result(3, "c", "a")];
    if let Body::Assistant(reply) = &mut items[1].body {
        reply.origin.wire = wire;
    }
    items
}

/// The responses API wants a sealed item beside the very item that followed it; a signature of the
/// messages API is of the reasoning alone, and is wanted while calls wait for their answers.
#[test]
fn a_seal_goes_with_other_words_only_where_it_holds() {
    let parts = || vec![thinking("hm"), text("ok"), call("c", "bash", "{\"command\": \"ls\"}")];
    let table = [
        (WireKind::Responses, "minimal", true),
        (WireKind::Responses, "qwen-code", false),
        (WireKind::Responses, "swe-agent", false),
        (WireKind::Messages, "minimal", true),
        (WireKind::Messages, "qwen-code", true),
        (WireKind::Chat, "qwen-code", true),
    ];
    for (wire, harness, want) in table {
        let items = sealed_over(wire, parts());
        let all = lines(&rendered_over(harness, wire, &items)).join("\n");
        assert_eq!(all.contains("<thinking hm>"), want, "{harness} over {wire:?}: {all}");
        for other in [WireKind::Chat, WireKind::Responses, WireKind::Messages] {
            let all = lines(&rendered_over(harness, other, &items)).join("\n");
            assert!(other == wire || !all.contains("<thinking"), "{wire:?} sealed, {other:?} sent: {all}");
        }
    }
}

#[test]
fn reasoning_stands_before_what_it_led_to() {
    let ls = || call("c", "bash", "{\"command\": \"ls\"}");
    let parts = vec![thinking("one"), text("so"), thinking("two"), ls(), thinking("and")];
    let items = sealed_over(WireKind::Responses, parts);
    let got = lines(&rendered_over("minimal", WireKind::Responses, &items));
    assert_eq!(
        got[1], "Assistant: <thinking one> | so | <thinking two> | <c bash {\"command\": \"ls\"}>",
        "what led to nothing is left out"
    );
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
            file: None,
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
                kept: Vec::new(),
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

#[test]
fn an_opening_that_says_nothing_is_no_message() {
    let (loaded, mut bench) = (loaded("native"), Bench::new());
    bench.scene.instructions.clear();
    let items = [user(1, "go")];
    let messages = prompt(loaded.kit(&bench.model), &bench.view(&items)).unwrap().messages;
    let heads: Vec<String> = lines(&messages).iter().map(|line| line.chars().take(12).collect()).collect();
    assert_eq!(heads, ["User: <envir", "User: go"]);
}

#[test]
fn fields_that_only_some_models_take_are_sent_to_those() {
    let loaded = loaded("native");
    let sent = |name: &str, wire| {
        let mut bench = Bench::new();
        bench.model.name = name.to_owned();
        let view = View { wire, ..bench.view(&[]) };
        prompt(loaded.kit(&bench.model), &view).unwrap().body.get("text").is_some()
    };
    for (name, wire, want) in [
        ("gpt-5.5", WireKind::Responses, true),
        ("openai/GPT-6-sol", WireKind::Responses, true),
        ("gpt-5.5", WireKind::Chat, false),
        ("gpt-4.1", WireKind::Responses, false),
        ("o3", WireKind::Responses, false),
        ("gpt-oss-20b", WireKind::Responses, false),
    ] {
        assert_eq!(sent(name, wire), want, "{name} over {wire:?}");
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

mod again;
mod carried;
mod histories;
mod masks;
