//! Edits of a harness's files take effect at the next turn; a broken one leaves the harness as it was.

use std::path::Path;
use std::sync::Arc;

use tack::agent::{Agent, Bounds, End, Event, Holds, Setup, Stopper, events};
use tack::harness::{Library, Live, NoPrograms, sample_model};
use tack::model::{Model, Said};
use tack::sandbox::Plain;
use tack::store::Session;
use tack::wire::client::HttpClient;
use tack::wire::provider::Provider;

use crate::kit::{Tack, on_every_wire, wire};
use crate::server::*;
use crate::tools_kit;

const MINE: &str = "extends = \"minimal\"\n[system]\nblocks = [\"s.md\"]\n";

/// Runs one turn for each edit, which is made ahead of it: a file of the harness and its text.
async fn play(server: &Server, edits: &[(&str, &str)]) -> Vec<String> {
    let bench = tools_kit::Bench::new();
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("mine")).unwrap();
    std::fs::write(dir.path().join("mine/harness.toml"), MINE).unwrap();
    std::fs::write(dir.path().join("mine/s.md"), "first words").unwrap();
    let library = Library::new(vec![dir.path().to_owned()]);
    let model = Model { provider: "mock".into(), name: "m".into(), wire: wire(), ..sample_model() };
    let provider = Provider { stream_retries: 0, request_retries: 0, ..Provider::new("mock", server.url()) };
    let stopper = Stopper::default();
    let (out, mut heard) = events(stopper.token().clone());
    let setup = Setup {
        programs: Arc::new(NoPrograms),
        live: Some(Live::new(library.clone(), "mine")),
        harness: library.fit("mine", &model).unwrap(),
        model,
        client: Arc::new(HttpClient::new(provider).unwrap()),
        policy: bench.policy.clone(),
        sandbox: Arc::new(Plain),
        env: bench.env.clone(),
        session: Session::ephemeral(),
        loaded: None,
        config_dir: None,
        check: Default::default(),
        bounds: Bounds::default(),
        unattended: true,
        desk: tack::agent::Desk::default(),
        holds: Holds::Alone,
        stopper,
    };
    let run = async {
        let mut agent = Agent::new(setup, out);
        agent.open(Vec::new()).await.unwrap();
        for (file, text) in edits {
            if !file.is_empty() {
                std::fs::write(dir.path().join(file), text).unwrap();
            }
            let said = Said { text: "go on".to_owned(), images: Vec::new() };
            let end = agent.turn(said, None).await;
            assert!(matches!(end, End::Completed { .. }), "{end:?}");
        }
        agent.close().await;
    };
    let hear = async {
        let mut warned = Vec::new();
        while let Some(event) = heard.recv().await {
            if let Event::Warning(text) = event {
                warned.push(text.replace(&format!("{}/", dir.path().display()), ""));
            }
        }
        warned
    };
    tokio::join!(run, hear).1
}

on_every_wire! { async:
    edits_count_from_the_next_turn_and_broken_ones_are_told_once,
}

async fn edits_count_from_the_next_turn_and_broken_ones_are_told_once() {
    let edits = [
        ("", ""),
        ("mine/s.md", "other words"),
        ("mine/s.md", "{{ cdw }}"),
        ("", ""),
        ("elsewhere.md", "no part of it"),
        ("mine/s.md", "mended words"),
        (
            "mine/harness.toml",
            "extends = \"minimal\"\n[system]\nblocks = [\"s.md\"]\n[tools]\ndrop = [\"write\"]\n",
        ),
        ("mine/harness.toml", "extends = \"minimal\"\n[loop\n"),
        ("mine/harness.toml", MINE),
    ];
    let server = Server::start((0..edits.len()).map(|n| says(&format!("answer {n}"))).collect());
    let warned = play(&server, &edits).await;
    let requests = server.requests();
    assert_eq!(requests.len(), edits.len());
    let words = ["first", "other", "other", "other", "other", "mended", "mended", "mended", "mended"];
    for (nth, request) in requests.iter().enumerate() {
        assert!(request.chat().to_string().contains(&format!("{} words", words[nth])), "request {nth}");
        let writes = request.chat()["tools"].to_string().contains("\"write\"");
        assert_eq!(writes, ![6, 7].contains(&nth), "request {nth}");
        for said in 0..nth {
            assert!(request.said().contains(&format!("answer {said}")), "{nth}: the history stays");
        }
        valid_history(&request.chat()).unwrap();
    }
    // Where nothing changed, what was sent is the beginning of what is sent.
    for (before, after) in [(1, 2), (2, 3), (3, 4)] {
        let messages = |nth: usize| requests[nth].chat()["messages"].as_array().unwrap().clone();
        assert!(messages(after).starts_with(&messages(before)), "{before} {after}");
        assert_eq!(requests[before].chat()["tools"], requests[after].chat()["tools"]);
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(warned.join("\n"), @r"
        harness mine was edited and is broken, so it stays as it was: mine/s.md:1: the template uses `cdw`, which is not known here
        harness mine was edited and is broken, so it stays as it was: mine/harness.toml:2: unclosed table, expected `]`
        ");
    }
}

/// What is edited between two runs of a session counts too; a broken harness ends the second with its
/// fault, as any other one would see the session in another way.
#[test]
fn a_resumed_session_takes_the_edit_or_says_what_is_wrong_with_it() {
    let server = Server::start(vec![says("one"), says("two"), says("three")]);
    let tack = Tack::new(&server);
    tack.harness("mine", "");
    tack.run(["-p", "begin", "--harness", "mine"]).code(0);
    tack.harness("mine", "[tools]\ndrop = [\"write\"]\n");
    tack.run(["exec", "resume", "--last", "go on"]).code(0);
    let tools = |nth: usize| server.requests()[nth].chat()["tools"].to_string();
    assert!(tools(0).contains("\"write\"") && !tools(1).contains("\"write\""));
    assert!(server.requests()[1].said().contains("begin"));

    tack.harness("mine", "[tools]\ndrop = [\"wirte\"]\n");
    let ran = tack.run(["exec", "resume", "--last", "go on"]).code(2);
    let place = Path::new("harnesses/mine/harness.toml:5: `tools` names `wirte`").display().to_string();
    assert!(ran.stderr.contains(&place), "{}", ran.stderr);
    std::fs::remove_dir_all(tack.home().join("harnesses/mine")).unwrap();
    let ran = tack.run(["exec", "resume", "--last", "go on"]).code(0);
    assert!(ran.stderr.contains("there is no harness `mine`"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "three\n");
}
