//! What a person is told that a switch does to a history is what rendering it does.

use super::*;
use crate::harness::Carried;

/// Three turns of `minimal`: words, a command, and a search that few others have a name for.
fn history() -> Vec<Item> {
    let say = |id, parts, stop| said("minimal", id, parts, stop);
    let edit = r#"{"path": "a", "oldText": "x", "newText": "y"}"#;
    let turns = [
        vec![user(1, "hello"), say(2, vec![text("Hello.")], Stop::Done)],
        vec![
            user(3, "list"),
            say(4, vec![call("c", "bash", r#"{"command": "ls"}"#)], Stop::Calls),
            result(5, "c", "a"),
            say(6, vec![text("There is a.")], Stop::Done),
        ],
        vec![
            user(7, "change it"),
            say(8, vec![call("d", "edit", edit), call("e", "bash", r#"{"command": "cat a"}"#)], Stop::Calls),
            result(9, "d", "done"),
        ],
    ];
    let with_turn = |(turn, items): (usize, Vec<Item>)| {
        items.into_iter().map(move |item| Item { turn: turn as u32 + 1, ..item })
    };
    turns.into_iter().enumerate().flat_map(with_turn).collect()
}

fn of(harness: &str, items: &[Item]) -> Carried {
    let (loaded, bench) = (loaded(harness), Bench::new());
    carried(loaded.kit(&bench.model), &bench.view(items)).unwrap()
}

#[test]
fn turns_are_counted_by_what_becomes_of_them() {
    let items = history();
    let all = Carried { kept: 3, respoken: 0, told: 0, messages: 7, calls: 3, open: 1 };
    for (harness, kept, respoken, told) in
        [("minimal", 3, 0, 0), ("qwen-code", 1, 2, 0), ("claude-code", 1, 2, 0), ("mini-swe-agent", 1, 1, 1)]
    {
        assert_eq!(of(harness, &items), Carried { kept, respoken, told, ..all }, "{harness}");
        // As it is sent: what is told is no call any more.
        let sent = rendered(harness, &items);
        let calls = sent.iter().flat_map(|m| &m.pieces).filter(|p| matches!(p, Piece::Call { .. })).count();
        assert_eq!(calls, if told > 0 { 1 } else { 3 }, "{harness}: {:?}", lines(&sent));
    }
}

#[test]
fn what_is_not_sent_is_not_counted() {
    let mut items = history();
    items.push(said("minimal", 10, vec![text("half a")], Stop::Broken));
    assert_eq!(of("minimal", &items), of("minimal", &history()));
    // A summary stands for what is before it.
    let text = "They said hello.".to_owned();
    let summary = Summary { text, request: String::new(), upto: ItemId(6), kept: Vec::new() };
    items.push(item(11, Body::Summary(summary)));
    let rest = of("minimal", &items);
    assert_eq!((rest.kept, rest.messages, rest.calls), (1, 2, 2));
}
