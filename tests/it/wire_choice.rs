//! Which wire a run speaks, and what it costs there.

use serde_json::json;

use super::kit::{Ran, Tack};
use super::server::*;

/// A harness of this id that allows only these wires.
fn harness(tack: &Tack, id: &str, allow: &str) {
    let folder = tack.home().join("harnesses").join(id);
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!("id = \"{id}\"\nname = \"{id}\"\nextends = \"minimal\"\n[wire]\nallow = {allow}\n");
    std::fs::write(folder.join("harness.toml"), text).unwrap();
}

#[test]
fn a_wire_that_nobody_shares_is_said_with_what_would_work() {
    let server = Server::start(Vec::new());
    let tack = Tack::new(&server);
    harness(&tack, "letters", "[\"messages\"]");
    let mut said = String::new();
    for flags in [
        // Set by the user.
        &["-m", "mock/mock"][..],
        // Not offered by a built-in provider.
        &["--provider", "together", "-m", "some-model"],
    ] {
        let mut command = tack.command(flags.iter().chain(&["-p", "hi", "--harness", "letters"]));
        let out = command.env("TOGETHER_API_KEY", "sk-together").output().unwrap();
        assert_eq!(out.status.code(), Some(2));
        said += &String::from_utf8(out.stderr).unwrap();
    }
    assert!(server.requests().is_empty());
    insta::assert_snapshot!(said);
}

#[test]
fn the_users_wire_wins_over_the_providers_usual_one() {
    let server = Server::start(vec![says("over chat")]);
    let tack = Tack::bare().env("OPENAI_API_KEY", "sk-openai");
    tack.config(&format!(
        "model = \"gpt-5\"\nharness = \"minimal\"\n\
         [model_providers.openai]\nbase_url = \"{}\"\nwire_api = \"chat\"\n",
        server.url()
    ));
    assert_eq!(tack.run(["-p", "hi"]).code(0).stdout, "over chat\n");
    assert_eq!(server.requests()[0].path, "/v1/chat/completions");
}

/// 1000 tokens in, of which 400 were read from the cache and 200 written to it, and 100 out.
fn counted() -> Reply {
    let details = json!({"cached_tokens": 400, "cache_write_tokens": 200});
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": details});
    sse([txt("done"), end("stop"), event(&json!({"choices": [], "usage": usage})), done()])
}

fn priced(prices: &str, args: &[&str]) -> Ran {
    let server = Server::start(vec![counted()]);
    let tack = Tack::new(&server);
    let path = tack.home().join("config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    tack.config(&format!("{text}\n[prices.\"mock/mock\"]\n{prices}\n"));
    tack.run(["-p", "hi"].iter().chain(args)).code(0)
}

#[test]
fn the_cost_is_in_the_summary_and_in_the_events() {
    for (prices, cost) in [
        // 400 + 200 + 400 at ten dollars a million, 100 at a hundred.
        ("input = 10.0\noutput = 100.0", 0.02),
        ("input = 10.0\ncached_input = 1.0\noutput = 100.0", 0.0164),
        ("input = 10.0\ncached_input = 1.0\ncache_write = 20.0\noutput = 100.0", 0.0184),
    ] {
        let text = priced(prices, &[]);
        assert!(text.stderr.contains(&format!("· ${cost:.4}")), "{prices}: {}", text.stderr);
        let events = priced(prices, &["--json"]).events();
        let last = events.iter().find(|event| event["type"] == "turn.completed").unwrap();
        let said = last["cost_usd"].as_f64().unwrap();
        assert!((said - cost).abs() < 1e-9, "{prices}: {last}");
    }
}
