//! What takes the place of a history that grew too long, by each strategy over every wire, through the
//! real binary.

use serde_json::{Value, json};

use crate::kit::{Tack, on_every_wire};
use crate::server::*;

on_every_wire! {
    a_summary_stands_for_the_session_and_the_tools_stay_offered,
    a_transcript_is_one_message_without_tools,
    what_the_person_said_and_the_newest_messages_stay,
    a_handoff_asks_and_answers,
    the_model_and_the_person_lead_on_from_a_summary,
    a_summariser_that_calls_says_nothing_or_runs_on_is_asked_again,
    a_session_without_a_summary_goes_on_with_what_fits,
    a_prompt_that_waits_is_not_summed_up,
}

const ASKS: &str = "Write a summary";

/// A reply after which the server counted so many tokens.
fn counted(id: &str, command: &str, tokens: u64) -> Reply {
    let args = json!({ "command": command }).to_string();
    sse([call(0, id, "bash", &args), end("tool_calls"), usage(tokens, 1), done()])
}

/// Works twice, is full, and sums up; `more` is the manifest's `[compact]`.
fn play(more: &str, script: Vec<Reply>) -> (Tack, Server) {
    let first = [counted("a", "echo first-step", 100), counted("b", "echo second-step", 7_000)];
    let server = Server::start(first.into_iter().chain(script).collect());
    let tack = Tack::new(&server);
    tack.harness("mine", &format!("[compact]\n{more}"));
    (tack, server)
}

fn run(tack: &Tack) {
    let ran = tack.run(["-p", "mend the boat", "--harness", "mine", "-c", "model_context_window=8000"]);
    let ran = ran.code(0);
    assert_eq!(ran.stdout, "all done\n", "{}", ran.stderr);
}

fn messages(request: &Request) -> Vec<(String, String)> {
    valid_history(&request.chat()).unwrap();
    let all = request.chat()["messages"].clone();
    let row = |message: &Value| {
        (message["role"].as_str().unwrap_or_default().to_owned(), message["content"].to_string())
    };
    all.as_array().unwrap().iter().map(row).filter(|(role, _)| role != "system").collect()
}

fn offers(request: &Request) -> bool {
    let none = request.body["tool_choice"]["type"] == "none";
    !none && request.body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
}

fn a_summary_stands_for_the_session_and_the_tools_stay_offered() {
    let (tack, server) = play("", vec![says("The hull is tight."), says("all done")]);
    run(&tack);
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests[2].said().contains(ASKS) && requests[2].said().contains("first-step"));
    assert_eq!(requests[2].body["tools"], requests[1].body["tools"]);
    let last = messages(&requests[3]);
    assert_eq!(last.len(), 1, "{last:?}");
    assert!(last[0].1.contains("The hull is tight.") && last[0].1.contains("mend the boat"), "{last:?}");
    assert!(!requests[3].said().contains("first-step"));
}

fn a_transcript_is_one_message_without_tools() {
    let (tack, server) = play("show = \"transcript\"\n", vec![says("The hull is tight."), says("all done")]);
    run(&tack);
    let asked = &server.requests()[2];
    assert!(!offers(asked));
    let all = messages(asked);
    let [(role, text)] = &all[..] else { panic!("{all:?}") };
    assert_eq!(role, "user");
    for part in
        ["<conversation>", "[user]\\nmend the boat", "[call bash]", "[result bash]\\nfirst-step", ASKS]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(offers(&server.requests()[3]));
}

fn what_the_person_said_and_the_newest_messages_stay() {
    let keep = "keep = { user = true, messages = 1 }\n";
    let (tack, server) = play(keep, vec![says("The hull is tight."), says("all done")]);
    run(&tack);
    let requests = server.requests();
    assert!(!requests[2].said().contains("second-step"), "what stays is not summed up");
    let last = messages(&requests[3]);
    let text = requests[3].said();
    assert!(text.find("mend the boat") < text.find("The hull is tight."), "{text}");
    assert_eq!(text.matches("mend the boat").count(), 1, "{text}");
    assert!(text.contains("second-step") && !text.contains("first-step"), "{text}");
    assert_eq!(last.iter().map(|(role, _)| role.as_str()).collect::<Vec<_>>(), ["user", "assistant", "tool"]);
}

fn a_handoff_asks_and_answers() {
    let replies = ["The hull is tight.", "1. Which glue?", "1. Resin.", "all done"];
    let (tack, server) = play("strategy = \"handoff\"\n", replies.map(says).to_vec());
    run(&tack);
    let requests = server.requests();
    assert_eq!(requests.len(), 6);
    let [asks, answers, last] = [3, 4, 5].map(|nth| &requests[nth]);
    assert!(asks.said().contains("The hull is tight.") && asks.said().contains("five questions"));
    assert!(!asks.said().contains("first-step") && !offers(asks), "who takes over knows the summary alone");
    assert!(answers.said().contains("first-step") && answers.said().contains("Which glue?"));
    let text = last.said();
    for part in ["mend the boat", "The hull is tight.", "Which glue?", "Resin."] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(messages(last).len(), 1);
}

fn the_model_and_the_person_lead_on_from_a_summary() {
    let more = "reply = \"reply.md\"\ngo_on = \"go.md\"\nback = \"back.md\"\n";
    let (tack, server) = play(more, vec![says("The hull is tight."), says("all done")]);
    let folder = tack.home().join("harnesses/mine");
    for (name, text) in [("reply.md", "{{ summary }}"), ("go.md", "Go on."), ("back.md", "What was done?")] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    run(&tack);
    let last = messages(&server.requests()[3]);
    let roles: Vec<&str> = last.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert!(last[1].1.contains("The hull is tight.") && last[2].1.contains("Go on."), "{last:?}");
}

fn a_summariser_that_calls_says_nothing_or_runs_on_is_asked_again() {
    let silent = || sse([txt("<think>hm</think>"), end("stop"), done()]);
    let script = vec![
        counted("c", "rm -rf nothing", 10),
        silent(),
        too_long(9_000, 8_000),
        says("{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}"),
        says("The hull is tight."),
        says("all done"),
    ];
    let (tack, server) = play("", script);
    run(&tack);
    let requests = server.requests();
    assert_eq!(requests.len(), 8);
    assert!(offers(&requests[2]) && !offers(&requests[3]));
    assert_eq!(messages(&requests[4]).len(), 1, "a transcript");
    assert!(requests[7].said().contains("The hull is tight."));
}

fn a_session_without_a_summary_goes_on_with_what_fits() {
    let nothing = || sse([end("stop"), done()]);
    let script = (0..8).map(|_| nothing()).chain([says("all done")]).collect();
    let (tack, server) = play("", script);
    run(&tack);
    let text = server.requests().last().unwrap().said();
    assert!(text.contains("mend the boat") && text.contains("no summary"), "{text}");
    assert!(text.contains("second-step") && !text.contains("first-step"), "{text}");
}

fn a_prompt_that_waits_is_not_summed_up() {
    let full = sse([txt("well"), end("stop"), usage(7_000, 1), done()]);
    let server = Server::start(vec![full, says("The hull is tight."), says("all done")]);
    let tack = Tack::new(&server);
    tack.harness("mine", "");
    let window = ["--harness", "mine", "-c", "model_context_window=8000"];
    tack.run(["exec", "mend the boat"].into_iter().chain(window)).code(0);
    tack.run(["exec", "resume", "--last", "paint it"].into_iter().chain(window)).code(0);
    let requests = server.requests();
    assert!(!requests[1].said().contains("paint it"));
    let last = requests[2].said();
    assert!(
        last.find("The hull is tight.") < last.find("paint it") && !last.contains("mend the boat"),
        "{last}"
    );
}

/// The requests themselves, for one harness of each strategy.
#[test]
fn requests_of_a_handoff() {
    let replies = ["The hull is tight.", "1. Which glue?", "1. Resin.", "all done"];
    let (tack, server) = play("strategy = \"handoff\"\n", replies.map(says).to_vec());
    run(&tack);
    let show = |request: &Request| {
        let rows = messages(request).into_iter().map(|(role, text)| format!("--- {role}\n{text}\n"));
        rows.collect::<String>()
    };
    let all: Vec<String> = server.requests().iter().skip(2).map(show).collect();
    insta::assert_snapshot!(all.join("=====\n"));
}
