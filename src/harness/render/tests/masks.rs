//! Masking: which results become a line, and that what was sent stays between two borders.

use proptest::prelude::*;

use super::histories::check_valid;
use super::*;
use crate::harness::kit::Loaded;
use crate::harness::testing::forked;
use crate::model::{Outcome, ToolResult};

const MASKING: &str = "[context]\nresults = 2\nblock = 3\n";
const BASES: [&str; 4] = ["minimal", "swe-agent", "mini-swe-agent", "native"];

fn long(name: &str) -> String {
    format!("{name}\n{}", "a line of some length\n".repeat(20))
}

/// What a reply of this harness looks like that makes one call, and what it calls.
fn reply_of(base: &str, id: u64) -> Vec<Part> {
    match base {
        "swe-agent" => vec![text(&format!("DISCUSSION\nso\n\n```\ncat file{id}\n```"))],
        "native" => vec![call("", "exec_command", &format!("{{\"cmd\": \"cat file{id}\"}}"))],
        _ => vec![text("so"), call("", "bash", &format!("{{\"command\": \"cat file{id}\"}}"))],
    }
}

struct Log<'a> {
    loaded: &'a Loaded,
    base: &'a str,
    items: Vec<Item>,
}

impl<'a> Log<'a> {
    fn new(loaded: &'a Loaded, base: &'a str) -> Self {
        Self { loaded, base, items: vec![user(1, "go")] }
    }

    fn next(&self) -> u64 {
        self.items.len() as u64 + 1
    }

    /// A reply with so many calls, each answered with `shown`.
    fn calls(&mut self, count: usize, exit: i32, shown: &str) {
        let bench = Bench::new();
        let kit = self.loaded.kit(&bench.model);
        let id = self.next();
        // One block is one command.
        let count = if self.base == "swe-agent" { 1 } else { count };
        let mut parts: Vec<Part> = (0..count).flat_map(|_| reply_of(self.base, id)).collect();
        for (nth, part) in parts.iter_mut().enumerate() {
            if let Part::Call(call) = part {
                call.id = CallId(format!("call_{id}_{nth}"));
            }
        }
        let mut reply = reply(kit, parts, Stop::Calls);
        dialect::interpret(kit, &mut reply, &bench.view(&self.items)).unwrap();
        let ids: Vec<CallId> = crate::harness::testing::calls(&reply).iter().map(|c| c.id.clone()).collect();
        assert!(!ids.is_empty());
        self.items.push(item(id, Body::Assistant(reply)));
        for call in ids {
            let outcome = Outcome { exit: Some(exit), ..Outcome::ok(shown) };
            let shown = vec![text(shown)];
            self.items.push(item(self.next(), Body::Result(ToolResult { call, outcome, shown })));
        }
    }

    fn sent(&self, wire: WireKind) -> Vec<Message> {
        let bench = Bench::new();
        let view = View { wire, ..bench.view(&self.items) };
        prompt(self.loaded.kit(&bench.model), &view).unwrap().messages
    }

    fn masked(&self) -> Masked {
        let bench = Bench::new();
        masked(self.loaded.kit(&bench.model), &bench.view(&self.items))
    }

    /// What the model reads as results: the first line of each.
    fn results(&self) -> Vec<String> {
        let first = |pieces: &[Piece]| match pieces {
            [Piece::Text(text), ..] => text.lines().next().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        let sent = self.sent(WireKind::Chat);
        let found = sent.iter().flat_map(|message| &message.pieces).filter_map(|piece| match piece {
            Piece::Result { pieces, .. } => Some(first(pieces)),
            _ => None,
        });
        found.collect()
    }
}

#[test]
fn old_results_become_lines_a_block_at_a_time() {
    let loaded = forked("minimal", MASKING);
    let mut log = Log::new(&loaded, "minimal");
    let mut counts = Vec::new();
    for nth in 0..9 {
        log.calls(1, 0, &long(&format!("result {nth}")));
        counts.push(log.masked().results);
    }
    assert_eq!(counts, [0, 0, 0, 0, 3, 3, 3, 6, 6]);
    let results = log.results();
    assert_eq!(&results[6..], ["result 6", "result 7", "result 8"]);
    assert_eq!(results[0], "[no longer shown: 21 lines, 449 bytes of bash cat file2, exit code 0]");
    let whole = long("result 0").len() as u64;
    let lines: usize = results[..6].iter().map(String::len).sum();
    assert_eq!(log.masked().bytes, 6 * whole - lines as u64);
}

#[test]
fn what_still_matters_stays() {
    let loaded = forked("minimal", MASKING);
    // The last command that failed, and what is as short as its line.
    let mut log = Log::new(&loaded, "minimal");
    log.calls(1, 1, &long("failed first"));
    log.calls(1, 1, &long("failed last"));
    log.calls(1, 1, "");
    for nth in 0..4 {
        log.calls(1, 0, &long(&format!("result {nth}")));
    }
    let results = log.results();
    assert!(
        results[0].starts_with("[no longer shown") && results[0].ends_with("exit code 1]"),
        "{results:?}"
    );
    assert_eq!(&results[1..4], ["failed last", "", "result 0"]);
    // The results of the newest reply, however many they are; all of them are old with the next.
    let mut log = Log::new(&loaded, "minimal");
    log.calls(7, 0, &long("at once"));
    assert_eq!(log.masked().results, 0);
    log.calls(1, 0, &long("next"));
    assert_eq!(log.masked().results, 6);
    // Nothing is masked where the manifest does not ask for it.
    let plain = forked("minimal", "");
    let mut log = Log::new(&plain, "minimal");
    (0..30).for_each(|_| log.calls(1, 0, &long("kept")));
    assert_eq!(log.masked(), Masked::default());
}

#[test]
fn a_summary_begins_the_count_anew() {
    let loaded = forked("minimal", MASKING);
    let mut log = Log::new(&loaded, "minimal");
    (0..5).for_each(|_| log.calls(1, 0, &long("early")));
    assert_eq!(log.masked().results, 3);
    let upto = ItemId(log.items.len() as u64);
    let summary = Summary { text: "sum".to_owned(), request: String::new(), upto, kept: Vec::new() };
    log.items.push(item(log.next(), Body::Summary(summary)));
    (0..4).for_each(|_| log.calls(1, 0, &long("late")));
    assert_eq!(log.masked().results, 0);
    assert!(log.results().iter().all(|result| result == "late"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// In every dialect, over every wire: between two borders the prompt grows at its end, and at a
    /// border too every call is answered.
    #[test]
    fn a_prompt_grows_at_its_end_between_borders(
        replies in proptest::collection::vec((1usize..4, 0i32..2, any::<bool>()), 1..14),
        base in 0..BASES.len(),
        wire in 0..3usize,
    ) {
        let (base, wire) = (BASES[base], [WireKind::Chat, WireKind::Responses, WireKind::Messages][wire]);
        let loaded = forked(base, MASKING);
        let mut log = Log::new(&loaded, base);
        let mut before: (Masked, Vec<Message>) = (log.masked(), log.sent(wire));
        for (count, exit, is_long) in replies {
            let shown = if is_long { long("shown") } else { "short".to_owned() };
            log.calls(count, exit, &shown);
            let now = (log.masked(), log.sent(wire));
            check_valid(base, wire, &now.1)?;
            prop_assert!(now.0.results >= before.0.results);
            if now.0 == before.0 {
                prop_assert!(grew_at_the_end(&before.1, &now.1), "{:?}\n{:?}", before.1, now.1);
            }
            before = now;
        }
    }
}

/// Whether all that was sent is still sent. Neighbours of one role join, so the last message may have
/// become longer.
fn grew_at_the_end(before: &[Message], now: &[Message]) -> bool {
    let text = |messages: &[Message]| lines(messages).join("\n");
    text(now).starts_with(&text(before)) && now.len() >= before.len()
}
