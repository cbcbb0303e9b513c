//! Sessions that move: begun at one service, gone on with at another with another harness, and back.
//! The servers are as strict as the services, and none may find a mistake of ours in what it gets:
//! not in calls and their ids, not in reasoning that another one sealed, not in images.

use serde_json::json;
use tack::model::WireKind;

use crate::kit::Tack;
use crate::server::*;

const DOT: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";

/// A service: its model, the wire it speaks, and how its ids of calls look.
struct Target {
    model: &'static str,
    wire: WireKind,
    ids: [&'static str; 2],
}

const TARGETS: [Target; 6] = [
    // Refuses calls without their reasoning, whoever made them, and sees no images.
    Target { model: "deepseek/deepseek-v4-pro", wire: WireKind::Chat, ids: ["call_00_aB", "call_01_aB"] },
    // Counts its calls anew in each reply, and adds characters that others do not take.
    Target { model: "mine/m", wire: WireKind::Chat, ids: ["functions.read:0", "functions.bash:1"] },
    Target {
        model: "openai/gpt-5.4",
        wire: WireKind::Responses,
        ids: ["call_Zg9TMTkychQZA8FnTEwMzsE3", "call_2"],
    },
    Target { model: "local/m", wire: WireKind::Responses, ids: [LONG, "call|fc_2"] },
    Target {
        model: "anthropic/claude-sonnet-4-5",
        wire: WireKind::Messages,
        ids: ["toolu_01AbCd", "toolu_02AbCd"],
    },
    Target { model: "other/m", wire: WireKind::Messages, ids: ["TkDvs45qF8tfKN37ejf2pHF3nI73Zm4d", "7"] },
];
const LONG: &str = "call_0123456789012345678901234567890123456789012345678";

impl Target {
    fn provider(&self) -> &'static str {
        self.model.split_once('/').unwrap().0
    }

    fn sees(&self) -> bool {
        self.provider() != "deepseek"
    }

    /// A turn of reasoning, words and two calls, and one that ends it.
    fn script(&self, said: &str, calls: [(&str, serde_json::Value); 2]) -> Vec<Reply> {
        let [first, second] = calls;
        let call = |n: usize, (name, args): (&str, serde_json::Value)| {
            call(n as u32, self.ids[n], name, &args.to_string())
        };
        let thinks = sse([
            thought(&format!("thinks of {said}")),
            txt("I look."),
            call(0, first),
            call(1, second),
            end("tool_calls"),
            usage(10, 5),
            done(),
        ]);
        let ends = sse([thought("enough"), txt(said), end("stop"), usage(20, 2), done()]);
        vec![thinks, ends]
    }

    fn serve(&self, script: Vec<Reply>) -> Server {
        let strict = self.provider() == "deepseek";
        Server::with(script, move |request| {
            let chat = request.chat();
            let messages = chat["messages"].as_array()?;
            let bare = |m: &serde_json::Value| {
                m["tool_calls"].is_array() && m["reasoning_content"].as_str().is_none_or(str::is_empty)
            };
            (strict && messages.iter().any(bare))
                .then(|| error(400, "the reasoning_content in the thinking mode must be passed back"))
        })
    }

    /// The flags that lead to this service, served by `server`.
    fn flags(&self, server: &Server, harness: &str) -> Vec<String> {
        let (provider, wire) = (self.provider(), self.wire.name());
        let settings = [
            format!("model_providers.{provider}.base_url={}", server.url()),
            format!("model_providers.{provider}.wire_api={wire}"),
            "model_reasoning_effort=high".to_owned(),
        ];
        let set = settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]);
        set.chain(["-m".into(), self.model.into(), "--harness".into(), harness.into()]).collect()
    }
}

fn moves(from: &Target) {
    for to in &TARGETS {
        let there = from.model == to.model;
        let way = format!("{} to {} and back", from.model, to.model);
        let shell = |command: &str| json!({ "command": command });
        let here = |said: &str| {
            from.script(
                said,
                [
                    ("read", json!({"path": "dot.png"})),
                    ("bash", shell(&format!("echo out-of-{said}; exit 3"))),
                ],
            )
        };
        let other = to.script(
            "two",
            [("run_shell_command", shell("echo out-of-two")), ("no such tool", json!({"x": [1]}))],
        );
        // The same service knows its own reasoning again.
        let (first, second) = match there {
            true => (from.serve([here("one"), other, here("three")].concat()), None),
            false => (from.serve([here("one"), here("three")].concat()), Some(to.serve(other))),
        };
        let second = second.as_ref().unwrap_or(&first);
        let mut tack = Tack::bare();
        for key in ["DEEPSEEK_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
            tack = tack.env(key, "key");
        }
        tack.file("dot.png", DOT);
        let ran = |server: &Server, target: &Target, harness: &str, args: &[&str]| {
            let flags = target.flags(server, harness);
            let ran = tack.run(
                ["exec"].into_iter().chain(args.iter().copied()).chain(flags.iter().map(String::as_str)),
            );
            assert_eq!(ran.code, 0, "{way}: {}", ran.stderr);
            ran.stdout
        };
        assert_eq!(ran(&first, from, "minimal", &["look"]), "one\n", "{way}");
        assert_eq!(ran(second, to, "qwen-code", &["resume", "--last", "again"]), "two\n", "{way}");
        assert_eq!(ran(&first, from, "minimal", &["resume", "--last", "and here"]), "three\n", "{way}");

        let echoed = first.requests()[1].said();
        assert!(echoed.contains("thinks of one"), "{way}: a turn's reasoning goes on with it: {echoed}");
        let begun = &second.requests()[if there { 2 } else { 0 }];
        assert!(begun.said().contains("out-of-one"), "{way}");
        assert_eq!(begun.has_image(), to.sees(), "{way}");
        let budget = &first.requests()[1].body["thinking"]["type"];
        assert!(from.provider() != "anthropic" || budget == "enabled", "{way}: {budget}");
        let last = first.requests().pop().unwrap();
        for said in ["out-of-one", "out-of-two", "out-of-three"] {
            assert!(last.said().contains(said), "{way}: {said} is not in {}", last.said());
        }
        valid_history(&last.chat()).unwrap_or_else(|wrong| panic!("{way}: {wrong}"));
    }
}

#[test]
fn from_a_chat_service_that_wants_reasoning_to_any_and_back() {
    moves(&TARGETS[0]);
}

#[test]
fn from_a_chat_service_to_any_and_back() {
    moves(&TARGETS[1]);
}

#[test]
fn from_a_responses_service_to_any_and_back() {
    moves(&TARGETS[2]);
}

#[test]
fn from_a_local_responses_server_to_any_and_back() {
    moves(&TARGETS[3]);
}

#[test]
fn from_a_messages_service_with_a_budget_to_any_and_back() {
    moves(&TARGETS[4]);
}

#[test]
fn from_another_messages_service_to_any_and_back() {
    moves(&TARGETS[5]);
}
